/* SPDX-License-Identifier: Apache-2.0 */
/* spans.c - a scanner of JSON without a tree. */
#include "spans.h"
#include <string.h>

static size_t string_end(const char *text, size_t length, size_t at) { /* at: of the first quote */
  for (++at; at < length && text[at] != '"'; ++at) at += text[at] == '\\';
  return at < length ? at + 1 : length;
}

static size_t blanks_end(const char *text, size_t length, size_t at) {
  while (at < length && memchr(" \n\t\r,:", text[at], 6)) ++at;
  return at;
}

static size_t word_end(const char *text, size_t length, size_t at) {
  while (at < length && !memchr(" \n\t\r,:]}", text[at], 8)) ++at;
  return at;
}

void spans_read(spans *out, const char *text, size_t length) {
  int open[SPAN_DEPTH], depth = 0;
  size_t key_start = 0, key_length = 0;
  out->count = 0;
  for (size_t at = blanks_end(text, length, 0); at < length; at = blanks_end(text, length, at)) {
    if (text[at] == '}' || text[at] == ']') {
      if (depth == 0) return;
      span *container = &out->items[open[--depth]];
      container->length = ++at - container->start;
      continue;
    }
    const bool in_object = depth > 0 && out->items[open[depth - 1]].kind == '{';
    if (in_object && !key_length && text[at] == '"') { /* a key */
      key_start = at;
      at = string_end(text, length, at);
      key_length = at - key_start;
      continue;
    }
    if (out->count == MOST_SPANS || depth == SPAN_DEPTH) break;
    span *value = &out->items[out->count];
    *value = (span){.start = at,
                    .whole_start = key_length ? key_start : at,
                    .key_start = key_start,
                    .key_length = key_length,
                    .kind = text[at] == '{' || text[at] == '[' || text[at] == '"' ? text[at] : 'n'};
    key_length = 0;
    if (depth > 0) ++out->items[open[depth - 1]].items;
    if (value->kind == '{' || value->kind == '[') {
      open[depth++] = out->count;
      ++at;
    } else {
      const size_t end = value->kind == '"' ? string_end(text, length, at) : word_end(text, length, at);
      value->length = end - at;
      at = end > at ? end : at + 1;
    }
    ++out->count;
  }
  while (depth > 0) { /* what is not closed ends with the text */
    span *container = &out->items[open[--depth]];
    container->length = length - container->start;
  }
}

void spans_copy(spans *to, const spans *from) {
  to->count = from->count;
  memcpy(to->items, from->items, (size_t)from->count * sizeof *to->items);
}

bool span_same_key(const char *a_text, const span *a, const char *b_text, const span *b) {
  return a->key_length == b->key_length && a->kind == b->kind &&
         memcmp(a_text + a->key_start, b_text + b->key_start, a->key_length) == 0;
}
