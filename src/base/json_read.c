/* SPDX-License-Identifier: Apache-2.0 */
/* json_read.c - a strict reader of RFC 8259: valid UTF-8, no lone surrogates, no duplicate keys, depth at most 64.
 * Items of open containers wait on one stack and move to the arena when their container closes, so that memory stays
 * in proportion to the text. Keys are compared after sorting, so that no choice of keys makes it slow. */
#include "base/json.h"
#include "base/letters.h"
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_LIMIT = 64 };

typedef struct reader {
  hn_arena *arena;
  hone_diagnostics *diag;
  const char *what, *text;
  size_t length, at;
  hn_json *stack; /* items whose containers are still open */
  int stack_count, stack_capacity;
  int depth;
  locale_t plain; /* the "C" locale: the process may use a decimal comma */
} reader;

static hone_status fail(reader *r, size_t at, const char *problem) {
  size_t line = 1, column = 1;
  for (size_t i = 0; i < at && i < r->length; ++i) {
    const bool ends = r->text[i] == '\n';
    line += ends;
    column = ends ? 1 : column + 1;
  }
  return HN_FAIL(r->diag, HONE_MALFORMED, "%s: line %zu, column %zu: %s", r->what, line, column, problem);
}

static void skip_space(reader *r) {
  while (r->at < r->length && r->text[r->at] && strchr(" \t\r\n", r->text[r->at])) ++r->at;
}

static char peek(const reader *r) { return r->at < r->length ? r->text[r->at] : '\0'; }

/* Four hexadecimal digits at `at`, or -1. */
static int32_t hex4(const reader *r, size_t at) {
  if (at > r->length || r->length - at < 4) return -1;
  int32_t value = 0;
  for (size_t i = at; i < at + 4; ++i) {
    const int digit = hn_hex_digit(r->text[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

static size_t put_utf8(char *to, int32_t code) {
  if (code < 0x80) {
    to[0] = (char)code;
    return 1;
  }
  const int tail = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3; /* bytes after the first */
  static const int lead[] = {0, 0xc0, 0xe0, 0xf0};
  to[0] = (char)(lead[tail] | code >> 6 * tail);
  for (int i = 1; i <= tail; ++i) to[i] = (char)(0x80 | (code >> 6 * (tail - i) & 0x3f));
  return (size_t)tail + 1;
}

/* \uXXXX, and a second one when the first is the upper half of a surrogate pair; r->at is at the 'u'. */
static hone_status read_code(reader *r, char *to, size_t *used) {
  const size_t start = r->at - 1;
  int32_t code = hex4(r, r->at + 1);
  if (code < 0) return fail(r, start, "\\u needs four hexadecimal digits");
  r->at += 5;
  if (code >= 0xd800 && code <= 0xdfff) {
    const bool pair = code < 0xdc00 && r->length - r->at >= 6 && r->text[r->at] == '\\' && r->text[r->at + 1] == 'u';
    const int32_t low = pair ? hex4(r, r->at + 2) : -1;
    if (low < 0xdc00 || low > 0xdfff) return fail(r, start, "half of a surrogate pair");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    r->at += 6;
  }
  *used += put_utf8(to + *used, code);
  return HONE_OK;
}

static hone_status read_escape(reader *r, char *to, size_t *used) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  ++r->at;
  const char name = peek(r);
  if (name == 'u') return read_code(r, to, used);
  const char *found = name ? strchr(names, name) : NULL;
  if (!found) return fail(r, r->at - 1, "an unknown escape");
  to[(*used)++] = values[found - names];
  ++r->at;
  return HONE_OK;
}

/* The closing quote's place, or the text's end. No escape is longer decoded than written, so the distance is room
 * enough. */
static size_t closing_quote(const reader *r) {
  size_t at = r->at;
  while (at < r->length && r->text[at] != '"') at += r->text[at] == '\\' ? 2 : 1;
  return at < r->length ? at : r->length;
}

static hone_status read_string(reader *r, const char **out, size_t *length) {
  const size_t start = r->at++;
  char *to = hn_arena_alloc(r->arena, closing_quote(r) - r->at + 1, 1);
  if (!to) return HN_FAIL_MEMORY(r->diag);
  size_t used = 0;
  while (peek(r) != '"') {
    if (r->at >= r->length) return fail(r, start, "the string does not end");
    const unsigned char *bytes = (const unsigned char *)r->text + r->at;
    if (*bytes == '\\') {
      HN_TRY(read_escape(r, to, &used));
      continue;
    }
    const size_t count = hn_utf8_bytes(bytes, r->length - r->at);
    if (count == 0) return fail(r, r->at, "not UTF-8");
    if (*bytes < 0x20) return fail(r, r->at, "a control character inside a string");
    memcpy(to + used, bytes, count);
    used += count;
    r->at += count;
  }
  ++r->at;
  to[used] = 0;
  *out = to;
  *length = used;
  return HONE_OK;
}

static size_t skip_digits(reader *r) {
  const size_t start = r->at;
  while (peek(r) >= '0' && peek(r) <= '9') ++r->at;
  return r->at - start;
}

/* Moves over a number; false when it is not one by the grammar. */
static bool scan_number(reader *r, bool *integer) {
  *integer = true;
  if (peek(r) == '-') ++r->at;
  if (peek(r) == '0') {
    ++r->at;
  } else if (skip_digits(r) == 0) {
    return false;
  }
  if (peek(r) == '.') {
    *integer = false;
    ++r->at;
    if (skip_digits(r) == 0) return false;
  }
  if (peek(r) == 'e' || peek(r) == 'E') {
    *integer = false;
    ++r->at;
    if (peek(r) == '-' || peek(r) == '+') ++r->at;
    if (skip_digits(r) == 0) return false;
  }
  return true;
}

static hone_status read_number(reader *r, hn_json *out) {
  const size_t start = r->at;
  bool integer;
  if (!scan_number(r, &integer)) return fail(r, r->at, "not a number");
  const size_t length = r->at - start;
  char near[64], *copy = near; /* the text need not end after the number; the functions below want an end */
  if (length >= sizeof near) copy = hn_arena_alloc(r->arena, length + 1, 1);
  if (!copy) return HN_FAIL_MEMORY(r->diag);
  memcpy(copy, r->text + start, length);
  copy[length] = 0;
  const double real = strtod_l(copy, NULL, r->plain);
  if (isinf(real)) return fail(r, start, "a number beyond the range of a double");
  *out = (hn_json){.kind = HN_JSON_REAL, .real = real};
  if (integer && strcmp(copy, "-0") != 0) { /* -0 as an integer would lose its sign */
    errno = 0;
    const long long value = strtoll(copy, NULL, 10);
    if (errno == 0) *out = (hn_json){.kind = HN_JSON_INT, .i = value, .real = real};
  }
  return HONE_OK;
}

static hone_status read_word(reader *r, hn_json *out) {
  static const struct {
    const char *word;
    hn_json value;
  } rows[] = {
      {"null", {.kind = HN_JSON_NULL}},
      {"true", {.kind = HN_JSON_BOOL, .i = 1}},
      {"false", {.kind = HN_JSON_BOOL, .i = 0}},
  };
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    const size_t length = strlen(rows[i].word);
    if (r->length - r->at >= length && memcmp(r->text + r->at, rows[i].word, length) == 0) {
      r->at += length;
      *out = rows[i].value;
      return HONE_OK;
    }
  }
  return fail(r, r->at, r->at < r->length ? "a value was expected" : "the text ends where a value was expected");
}

/* Heap sort: no recursion, no memory, no bad case. */
static void sift_down(const char **keys, size_t root, size_t count) {
  for (size_t child; (child = 2 * root + 1) < count; root = child) {
    if (child + 1 < count && strcmp(keys[child], keys[child + 1]) < 0) ++child;
    if (strcmp(keys[root], keys[child]) >= 0) return;
    const char *swapped = keys[root];
    keys[root] = keys[child];
    keys[child] = swapped;
  }
}

static void sort_keys(const char **keys, size_t count) {
  for (size_t i = count / 2; i-- > 0;) sift_down(keys, i, count);
  for (size_t end = count; end-- > 1;) {
    const char *last = keys[0];
    keys[0] = keys[end];
    keys[end] = last;
    sift_down(keys, 0, end);
  }
}

static hone_status check_keys(reader *r, const hn_json *object) {
  if (object->length < 2) return HONE_OK;
  const char **keys = hn_arena_zero(r->arena, object->length, sizeof *keys);
  if (!keys) return HN_FAIL_MEMORY(r->diag);
  for (size_t i = 0; i < object->length; ++i) keys[i] = object->items[i].key;
  sort_keys(keys, object->length);
  for (size_t i = 1; i < object->length; ++i) {
    if (strcmp(keys[i - 1], keys[i]) == 0) return fail(r, r->at - 1, "an object with the same key twice ends here");
  }
  return HONE_OK;
}

static hone_status read_value(reader *r, hn_json *out);

static hone_status read_key(reader *r, const char **key) {
  size_t length;
  const size_t start = r->at;
  if (peek(r) != '"') return fail(r, r->at, "a key was expected");
  HN_TRY(read_string(r, key, &length));
  if (strlen(*key) != length) return fail(r, start, "a key with a zero character");
  skip_space(r);
  if (peek(r) != ':') return fail(r, r->at, "a colon was expected");
  ++r->at;
  skip_space(r);
  return HONE_OK;
}

static hone_status read_item(reader *r, bool object) {
  const char *key = NULL;
  hn_json item;
  if (object) HN_TRY(read_key(r, &key));
  HN_TRY(read_value(r, &item));
  item.key = key;
  if (r->stack_count == INT32_MAX) return fail(r, r->at, "too many items");
  if (!hn_arena_grow(r->arena, (void **)&r->stack, &r->stack_capacity, r->stack_count + 1, sizeof *r->stack))
    return HN_FAIL_MEMORY(r->diag);
  r->stack[r->stack_count++] = item;
  return HONE_OK;
}

static hone_status read_container(reader *r, hn_json *out) {
  if (r->depth == DEPTH_LIMIT) return fail(r, r->at, "nested deeper than 64");
  ++r->depth;
  const bool object = r->text[r->at++] == '{';
  const char close = object ? '}' : ']';
  const int base = r->stack_count;
  skip_space(r);
  while (peek(r) != close) {
    if (r->stack_count > base) {
      if (peek(r) != ',') return fail(r, r->at, object ? "',' or '}' was expected" : "',' or ']' was expected");
      ++r->at;
      skip_space(r);
    }
    HN_TRY(read_item(r, object));
    skip_space(r);
  }
  ++r->at;
  --r->depth;
  *out = (hn_json){.kind = object ? HN_JSON_OBJECT : HN_JSON_ARRAY, .length = (size_t)(r->stack_count - base)};
  if (out->length > 0) {
    out->items = hn_arena_copy(r->arena, r->stack + base, out->length * sizeof *out->items);
    if (!out->items) return HN_FAIL_MEMORY(r->diag);
  }
  r->stack_count = base;
  return object ? check_keys(r, out) : HONE_OK;
}

/* Recursion is bounded by the depth limit. */
static hone_status read_value(reader *r, hn_json *out) {
  const char c = peek(r);
  if (c == '{' || c == '[') return read_container(r, out);
  if (c == '"') {
    *out = (hn_json){.kind = HN_JSON_STRING};
    return read_string(r, &out->string, &out->length);
  }
  if (c == '-' || hn_is_digit(c)) return read_number(r, out);
  return read_word(r, out);
}

const hn_json *hn_json_get(const hn_json *object, const char *key) {
  if (!object || object->kind != HN_JSON_OBJECT) return NULL;
  for (size_t i = 0; i < object->length; ++i) {
    if (strcmp(object->items[i].key, key) == 0) return &object->items[i];
  }
  return NULL;
}

/* The item under a key, with a message when there is none. */
static const hn_json *want(const hn_json *object, const char *key, hone_diagnostics *diag) {
  const hn_json *item = hn_json_get(object, key);
  if (!item) HN_FAIL(diag, HONE_MALFORMED, "\"%s\" is missing", key);
  return item;
}

hone_status hn_json_int(const hn_json *object, const char *key, int64_t low, int64_t high, int64_t *out,
                        hone_diagnostics *diag) {
  *out = 0;
  const hn_json *item = want(object, key, diag);
  if (!item) return HONE_MALFORMED;
  if (item->kind != HN_JSON_INT) return HN_FAIL(diag, HONE_MALFORMED, "\"%s\" is not an integer of 64 bits", key);
  if (item->i < low || item->i > high)
    return HN_FAIL(diag, HONE_MALFORMED, "\"%s\" is %" PRId64 ", not within %" PRId64 " to %" PRId64, key, item->i, low,
                   high);
  *out = item->i;
  return HONE_OK;
}

hone_status hn_json_real(const hn_json *object, const char *key, double *out, hone_diagnostics *diag) {
  *out = 0;
  const hn_json *item = want(object, key, diag);
  if (!item) return HONE_MALFORMED;
  if (item->kind == HN_JSON_INT || item->kind == HN_JSON_REAL) {
    *out = item->real;
  } else if (item->kind == HN_JSON_STRING && strcmp(item->string, "inf") == 0) { /* as the writer spells them */
    *out = INFINITY;
  } else if (item->kind == HN_JSON_STRING && strcmp(item->string, "-inf") == 0) {
    *out = -INFINITY;
  } else if (item->kind == HN_JSON_STRING && strcmp(item->string, "nan") == 0) {
    *out = NAN;
  } else {
    return HN_FAIL(diag, HONE_MALFORMED, "\"%s\" is not a number", key);
  }
  return HONE_OK;
}

hone_status hn_json_text(const hn_json *object, const char *key, const char **out, hone_diagnostics *diag) {
  *out = NULL;
  const hn_json *item = want(object, key, diag);
  if (!item) return HONE_MALFORMED;
  if (item->kind != HN_JSON_STRING) return HN_FAIL(diag, HONE_MALFORMED, "\"%s\" is not a string", key);
  if (strlen(item->string) != item->length) return HN_FAIL(diag, HONE_MALFORMED, "\"%s\" holds a zero character", key);
  *out = item->string;
  return HONE_OK;
}

hone_status hn_json_array(const hn_json *object, const char *key, const hn_json **out, hone_diagnostics *diag) {
  *out = NULL;
  const hn_json *item = want(object, key, diag);
  if (!item) return HONE_MALFORMED;
  if (item->kind != HN_JSON_ARRAY) return HN_FAIL(diag, HONE_MALFORMED, "\"%s\" is not a list", key);
  *out = item;
  return HONE_OK;
}

static hone_status read_all(reader *r, hn_json **out) {
  hn_json *value = HN_NEW(r->arena, hn_json, 1);
  if (!value) return HN_FAIL_MEMORY(r->diag);
  skip_space(r);
  HN_TRY(read_value(r, value));
  skip_space(r);
  if (r->at < r->length) return fail(r, r->at, "something follows the value");
  *out = value;
  return HONE_OK;
}

hone_status hn_json_read(hn_arena *arena, hone_diagnostics *diag, const char *what, const char *text, size_t length,
                         hn_json **out) {
  *out = NULL;
  reader r = {.arena = arena, .diag = diag, .what = what, .text = text, .length = length};
  r.plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!r.plain) return HN_FAIL_MEMORY(diag);
  const hone_status status = read_all(&r, out);
  freelocale(r.plain);
  return status;
}
