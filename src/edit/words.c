/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - reads the words, names, types and expressions of a script's line. */
#include "edit/words.h"
#include "export/wire.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hone_status hn_words_fail(hn_words *words, const char *format, ...) {
  char text[HN_DIAG_TEXT_BYTES];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(text, sizeof text, format, list);
  va_end(list);
  return HN_FAIL(&words->model->context->diag, HONE_INVALID, "line %d: %s", words->line, text);
}

static bool is_end(char c) { return !c || c == '\n' || c == ';'; }

hone_status hn_words_next(hn_words *words) {
  const char *at = words->at;
  size_t used = 0;
  while (*at == ' ' || *at == '\t' || *at == '\r') ++at;
  words->quoted = *at == '"';
  if (words->quoted) {
    for (++at; *at != '"'; ++at) {
      if (!*at || *at == '\n') return hn_words_fail(words, "a quoted name does not end");
      if (*at == '\\' && at[1] && at[1] != '\n') ++at;
      if (used + 1 < sizeof words->word) words->word[used++] = *at;
    }
    ++at;
  } else if (*at && strchr("(),=[]", *at)) {
    words->word[used++] = *at++;
  } else {
    while (!is_end(*at) && !strchr(" \t\r(),=[]\"", *at) && *at != '#') {
      if (used + 1 < sizeof words->word) words->word[used++] = *at;
      ++at;
    }
  }
  words->word[used] = 0;
  words->at = at;
  return used + 1 < sizeof words->word ? HONE_OK
                                       : hn_words_fail(words, "a name is longer than %d bytes", HN_WORD_BYTES);
}

bool hn_words_ahead(hn_words *words, const char *wanted) {
  const char *before = words->at;
  const int messages = words->model->context->diag.count;
  if (hn_words_next(words) == HONE_OK && !words->quoted && strcmp(words->word, wanted) == 0) return true;
  hn_diag_cut(&words->model->context->diag, messages); /* said when it is read */
  words->at = before;
  return false;
}

static bool is_sign(const char *word) {
  return strcmp(word, "->") == 0 || (strlen(word) == 1 && strchr("(),=[]", *word));
}

hone_status hn_words_name(hn_words *words, const char *what, const char **out) {
  HN_TRY(hn_words_next(words));
  if (!words->quoted && (!*words->word || is_sign(words->word)))
    return hn_words_fail(words, "expected %s, not %s", what, *words->word ? words->word : "the line's end");
  *out = hn_arena_text(&words->model->arena, words->word);
  return *out ? HONE_OK : HN_FAIL_MEMORY(&words->model->context->diag);
}

hone_status hn_words_type(hn_words *words, const char **out) {
  while (*words->at == ' ' || *words->at == '\t') ++words->at;
  size_t length = 0;
  int depth = 0;
  for (; !is_end(words->at[length]) && (depth > 0 || !strchr(" \t\r#", words->at[length])); ++length)
    depth += (words->at[length] == '[') - (words->at[length] == ']');
  if (length == 0) return hn_words_fail(words, "expected a type, as f32[1,3,224,224]");
  char *text = hn_arena_alloc(&words->model->arena, length + 1, 1);
  if (!text) return HN_FAIL_MEMORY(&words->model->context->diag);
  size_t used = 0;
  for (size_t i = 0; i < length; ++i)
    if (words->at[i] != ' ' && words->at[i] != '\t') text[used++] = words->at[i];
  text[used] = 0;
  words->at += length;
  *out = text;
  return HONE_OK;
}

hone_status hn_words_end(hn_words *words) {
  HN_TRY(hn_words_next(words));
  return *words->word || words->quoted ? hn_words_fail(words, "%s is too much", words->word) : HONE_OK;
}

hone_status hn_words_list(hn_words *words, const char *what, int least, const char **out, int room, int *out_count) {
  *out_count = 0;
  const char *before = words->at;
  if (least == 0 && hn_words_ahead(words, "->")) {
    words->at = before;
    return HONE_OK;
  }
  do {
    if (*out_count == room) return hn_words_fail(words, "more than %d names", room);
    HN_TRY(hn_words_name(words, what, &out[*out_count]));
    ++*out_count;
  } while (hn_words_ahead(words, ","));
  return HONE_OK;
}

/* ---- expressions ---- */

enum { ATTR_NAME = 1, ATTR_F = 2, ATTR_I = 3, ATTR_S = 4, ATTR_FLOATS = 7, ATTR_INTS = 8, ATTR_TYPE = 20 };
enum { TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_STRING = 3, TYPE_FLOATS = 6, TYPE_INTS = 7 };

/* One number: true when it is whole. */
static hone_status number(hn_words *words, double *out, bool *whole) {
  char *end;
  HN_TRY(hn_words_next(words));
  *out = strtod(words->word, &end);
  if (end == words->word || *end) return hn_words_fail(words, "expected a number, not %s", words->word);
  *whole = !strpbrk(words->word, ".eEn");
  return HONE_OK;
}

static hone_status number_list(hn_words *words, hn_text *raw) {
  double values[64];
  int count = 0;
  bool all_whole = true, whole;
  while (!hn_words_ahead(words, "]")) {
    if (count == (int)HN_COUNT(values)) return hn_words_fail(words, "a list of more than %d numbers", count);
    HN_TRY(number(words, &values[count++], &whole));
    all_whole = all_whole && whole;
    (void)hn_words_ahead(words, ",");
  }
  for (int i = 0; i < count; ++i) {
    if (all_whole)
      hn_wire_int(raw, ATTR_INTS, (int64_t)values[i]);
    else
      hn_wire_float(raw, ATTR_FLOATS, (float)values[i]);
  }
  hn_wire_int(raw, ATTR_TYPE, all_whole ? TYPE_INTS : TYPE_FLOATS);
  return HONE_OK;
}

/* What follows NAME=. */
static hone_status attribute(hn_words *words, const char *name, hn_edit_attr *out) {
  hone_model *model = words->model;
  hn_text raw;
  hn_text_init(&raw, model->context->allocator);
  hn_wire_string(&raw, ATTR_NAME, name);
  hone_status status = HONE_OK;
  const char *before = words->at;
  if (hn_words_ahead(words, "[")) {
    status = number_list(words, &raw);
  } else if ((status = hn_words_next(words)) == HONE_OK && words->quoted) {
    hn_wire_string(&raw, ATTR_S, words->word);
    hn_wire_int(&raw, ATTR_TYPE, TYPE_STRING);
  } else if (status == HONE_OK) {
    double value = 0;
    bool whole = false;
    words->at = before;
    status = number(words, &value, &whole);
    if (whole)
      hn_wire_int(&raw, ATTR_I, (int64_t)value);
    else
      hn_wire_float(&raw, ATTR_F, (float)value);
    hn_wire_int(&raw, ATTR_TYPE, whole ? TYPE_INT : TYPE_FLOAT);
  }
  *out =
      (hn_edit_attr){.name = name, .raw = {hn_arena_copy(&model->arena, hn_text_string(&raw), raw.length), raw.length}};
  if (status == HONE_OK && (raw.failed || !out->raw.data)) status = HN_FAIL_MEMORY(&model->context->diag);
  hn_text_deinit(&raw);
  return status;
}

static hone_status read_term(hn_words *words, int depth, hn_edit_term **out);

/* One operand or attribute of an operator. */
static hone_status argument(hn_words *words, hn_edit_term *term, int depth) {
  const char *before = words->at, *name;
  HN_TRY(hn_words_name(words, "a value, an operator or an attribute", &name));
  if (hn_words_ahead(words, "=")) {
    if (term->attr_count == HN_EDIT_MAX_IN) return hn_words_fail(words, "more than %d attributes", HN_EDIT_MAX_IN);
    return attribute(words, name, &term->attrs[term->attr_count++]);
  }
  words->at = before;
  if (term->in_count == HN_EDIT_MAX_IN) return hn_words_fail(words, "more than %d operands", HN_EDIT_MAX_IN);
  return read_term(words, depth + 1, &term->in[term->in_count++]);
}

static hone_status read_term(hn_words *words, int depth, hn_edit_term **out) {
  hone_model *model = words->model;
  const char *name;
  HN_TRY(hn_words_name(words, "a value or an operator", &name));
  hn_edit_term *term = *out = HN_NEW(&model->arena, hn_edit_term, 1);
  if (!term) return HN_FAIL_MEMORY(&model->context->diag);
  term->name = name;
  if (!hn_words_ahead(words, "(")) return HONE_OK;
  if (depth == HN_EDIT_MAX_TERMS / 4) return hn_words_fail(words, "operators lie more than %d deep", depth);
  const char *colons = strstr(name, "::");
  term->op = colons ? colons + 2 : name;
  term->domain = colons ? hn_arena_printf(&model->arena, "%.*s", (int)(colons - name), name) : "";
  term->in = HN_NEW(&model->arena, hn_edit_term *, HN_EDIT_MAX_IN);
  term->attrs = HN_NEW(&model->arena, hn_edit_attr, HN_EDIT_MAX_IN);
  if (!term->domain || !term->in || !term->attrs) return HN_FAIL_MEMORY(&model->context->diag);
  if (hn_words_ahead(words, ")")) return HONE_OK;
  do HN_TRY(argument(words, term, depth));
  while (hn_words_ahead(words, ","));
  return hn_words_ahead(words, ")") ? HONE_OK : hn_words_fail(words, "expected , or ) after an operand of %s", name);
}

hone_status hn_words_term(hn_words *words, hn_edit_term **out) { return read_term(words, 0, out); }
