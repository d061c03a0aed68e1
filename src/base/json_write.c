/* SPDX-License-Identifier: Apache-2.0 */
/* json_write.c - JSON onto a text. Invariant: first[depth] says that the open container has no item yet.
 * No newline follows the outermost container: what is between values is the caller's. */
#include "base/json.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

void hn_json_begin(hn_json_writer *writer, hn_text *text) {
  *writer = (hn_json_writer){.text = text};
  writer->first[0] = true;
}

static void new_line(hn_json_writer *writer) {
  hn_text_add(writer->text, "\n");
  for (int i = 0; i < writer->depth; ++i) hn_text_add(writer->text, "  ");
}

/* What stands before an item: a comma, its place, its key. */
static void lead_in(hn_json_writer *writer, const char *key) {
  const bool first = writer->first[writer->depth];
  writer->first[writer->depth] = false;
  if (writer->depth > 0) {
    if (!first) hn_text_add(writer->text, ",");
    if (!writer->flat[writer->depth]) {
      new_line(writer);
    } else if (!first) {
      hn_text_add(writer->text, " ");
    }
  }
  if (key) {
    hn_text_quoted(writer->text, key, strlen(key));
    hn_text_add(writer->text, ": ");
  }
}

static void open_container(hn_json_writer *writer, const char *key, char bracket, bool flat) {
  assert(writer->depth + 1 < (int)(sizeof writer->first / sizeof writer->first[0]));
  assert(bracket == '{' || bracket == '[');
  lead_in(writer, key);
  hn_text_add_bytes(writer->text, &bracket, 1);
  const bool inside_flat = writer->flat[writer->depth];
  ++writer->depth;
  writer->first[writer->depth] = true;
  writer->flat[writer->depth] = flat || inside_flat;
}

void hn_json_open(hn_json_writer *writer, const char *key, char bracket) {
  open_container(writer, key, bracket, false);
}

void hn_json_open_flat(hn_json_writer *writer, const char *key, char bracket) {
  open_container(writer, key, bracket, true);
}

void hn_json_close(hn_json_writer *writer, char bracket) {
  assert(writer->depth > 0 && (bracket == '}' || bracket == ']'));
  const bool own_line = !writer->first[writer->depth] && !writer->flat[writer->depth];
  --writer->depth;
  if (own_line) new_line(writer);
  hn_text_add_bytes(writer->text, &bracket, 1);
}

void hn_json_put_int(hn_json_writer *writer, const char *key, int64_t value) {
  lead_in(writer, key);
  hn_text_printf(writer->text, "%" PRId64, value);
}

void hn_json_put_real(hn_json_writer *writer, const char *key, double value) {
  lead_in(writer, key);
  const char *quote = isfinite(value) ? "" : "\"";
  hn_text_add(writer->text, quote);
  hn_text_double(writer->text, value);
  hn_text_add(writer->text, quote);
}

void hn_json_put_bool(hn_json_writer *writer, const char *key, bool value) {
  lead_in(writer, key);
  hn_text_add(writer->text, value ? "true" : "false");
}

void hn_json_put_bytes(hn_json_writer *writer, const char *key, const char *value, size_t length) {
  lead_in(writer, key);
  hn_text_quoted(writer->text, value, length);
}

void hn_json_put_text(hn_json_writer *writer, const char *key, const char *value) {
  if (value) {
    hn_json_put_bytes(writer, key, value, strlen(value));
  } else {
    lead_in(writer, key);
    hn_text_add(writer->text, "null");
  }
}

void hn_json_put(hn_json_writer *writer, const char *key, const hn_json *value) {
  const bool array = value->kind == HN_JSON_ARRAY;
  switch (value->kind) {
  case HN_JSON_NULL: hn_json_put_text(writer, key, NULL); break;
  case HN_JSON_BOOL: hn_json_put_bool(writer, key, value->i != 0); break;
  case HN_JSON_INT: hn_json_put_int(writer, key, value->i); break;
  case HN_JSON_REAL: hn_json_put_real(writer, key, value->real); break;
  case HN_JSON_STRING: hn_json_put_bytes(writer, key, value->string, value->length); break;
  case HN_JSON_ARRAY:
  case HN_JSON_OBJECT:
    hn_json_open_flat(writer, key, array ? '[' : '{');
    for (size_t i = 0; i < value->length; ++i) hn_json_put(writer, value->items[i].key, &value->items[i]);
    hn_json_close(writer, array ? ']' : '}');
    break;
  }
}
