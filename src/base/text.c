/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - a growing byte string, and numbers as text that does not depend on the process's locale. */
#include "base/text.h"
#include "base/checked.h"
#include "base/letters.h"
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hn_text_init(hn_text *text, hn_allocator allocator) { *text = (hn_text){.allocator = allocator}; }

void hn_text_deinit(hn_text *text) {
  hn_free(&text->allocator, text->data, text->capacity);
  *text = (hn_text){.allocator = text->allocator};
}

void hn_text_clear(hn_text *text) {
  text->length = 0;
  text->failed = false;
  if (text->data) text->data[0] = 0;
}

/* Makes room for count more bytes and the final zero. */
static bool reserve(hn_text *text, size_t count) {
  if (text->failed) return false;
  size_t needed;
  if (!hn_add_size(text->length, count, &needed) || !hn_add_size(needed, 1, &needed)) {
    text->failed = true;
    return false;
  }
  if (needed <= text->capacity) return true;
  size_t capacity;
  if (!hn_mul_size(text->capacity, 2, &capacity) || capacity < needed) capacity = needed;
  if (capacity < 64) capacity = 64;
  char *data = hn_resize(&text->allocator, text->data, text->capacity, capacity);
  if (!data) {
    text->failed = true;
    return false;
  }
  text->data = data;
  text->capacity = capacity;
  return true;
}

void hn_text_add_bytes(hn_text *text, const void *bytes, size_t count) {
  if (!reserve(text, count)) return;
  if (count > 0) memcpy(text->data + text->length, bytes, count);
  text->length += count;
  text->data[text->length] = 0;
}

void hn_text_add(hn_text *text, const char *string) { hn_text_add_bytes(text, string, strlen(string)); }

void hn_text_printf(hn_text *text, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int length = vsnprintf(NULL, 0, format, arguments);
  if (length < 0) text->failed = true;
  if (length >= 0 && reserve(text, (size_t)length)) {
    vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
    text->length += (size_t)length;
  }
  va_end(again);
  va_end(arguments);
}

/* The C library prints the locale's decimal mark, which may be a comma or several bytes: it becomes a point. */
static void add_number(hn_text *text, const char *number) {
  char plain[40];
  size_t length = 0;
  bool marked = false;
  for (const char *c = number; *c && length < sizeof plain; ++c) {
    if ((*c >= '0' && *c <= '9') || *c == '-' || *c == '+' || *c == 'e') {
      plain[length++] = *c;
    } else if (!marked) {
      marked = true;
      plain[length++] = '.';
    }
  }
  hn_text_add_bytes(text, plain, length);
}

static bool add_special(hn_text *text, double value) {
  if (isnan(value)) {
    hn_text_add(text, "nan");
  } else if (isinf(value)) {
    hn_text_add(text, value > 0 ? "inf" : "-inf");
  } else {
    return false;
  }
  return true;
}

/* Normal numbers always read back from their type's full digits and always need most of them to be shortest;
 * subnormal ones have fewer significant bits, so the search begins at one digit. */
void hn_text_double(hn_text *text, double value) {
  if (add_special(text, value)) return;
  char number[40];
  for (int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG; digits <= DBL_DECIMAL_DIG; ++digits) {
    snprintf(number, sizeof number, "%.*g", digits, value);
    if (strtod(number, NULL) == value) break;
  }
  add_number(text, number);
}

void hn_text_float(hn_text *text, float value) {
  if (add_special(text, (double)value)) return;
  char number[40];
  for (int digits = fabsf(value) < FLT_MIN ? 1 : FLT_DIG; digits <= FLT_DECIMAL_DIG; ++digits) {
    snprintf(number, sizeof number, "%.*g", digits, (double)value);
    if (strtof(number, NULL) == value) break;
  }
  add_number(text, number);
}

static void add_escaped_byte(hn_text *text, unsigned char byte) {
  static const char digits[] = "0123456789abcdef";
  const char escape[6] = {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]};
  hn_text_add_bytes(text, escape, sizeof escape);
}

/* Bytes that are not UTF-8 become \u00XX too: whatever a model's names hold, the output is valid JSON. */
void hn_text_quoted(hn_text *text, const char *string, size_t length) {
  const unsigned char *bytes = (const unsigned char *)string;
  hn_text_add_bytes(text, "\"", 1);
  for (size_t i = 0; i < length;) {
    const size_t count = hn_utf8_bytes(bytes + i, length - i);
    if (bytes[i] == '"' || bytes[i] == '\\') {
      const char escape[2] = {'\\', (char)bytes[i]};
      hn_text_add_bytes(text, escape, 2);
    } else if (bytes[i] == '\n') {
      hn_text_add_bytes(text, "\\n", 2);
    } else if (bytes[i] == '\t') {
      hn_text_add_bytes(text, "\\t", 2);
    } else if (bytes[i] < 0x20 || count == 0) {
      add_escaped_byte(text, bytes[i]);
    } else {
      hn_text_add_bytes(text, bytes + i, count);
    }
    i += count == 0 ? 1 : count;
  }
  hn_text_add_bytes(text, "\"", 1);
}

const char *hn_text_string(const hn_text *text) { return text->data ? text->data : ""; }

bool hn_name_equal(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

void hn_copy_text(char *to, size_t room, const char *from) {
  if (room == 0) return;
  const size_t length = strnlen(from, room - 1);
  memcpy(to, from, length);
  to[length] = 0;
}

static size_t lesser(size_t a, size_t b) { return a < b ? a : b; }

static bool same_letter(char a, char b) { return hn_lower(a) == hn_lower(b); }

/* Damerau 1964 in the restricted form, row by row; behind the first LONGEST letters from where they differ,
 * all letters count as changed. */
size_t hn_text_unlike(const char *written, size_t length, const char *name) {
  enum { LONGEST = 128, EDIT = 2, FOLLOWS = 1 };
  size_t rows[3][LONGEST + 1];
  for (; length > 0 && *name && same_letter(*written, *name); --length) ++written, ++name;
  const size_t name_length = strlen(name), m = lesser(length, LONGEST), n = lesser(name_length, LONGEST);
  for (size_t j = 0; j <= n; ++j) rows[0][j] = j * EDIT;
  for (size_t i = 1; i <= m; ++i) {
    size_t *row = rows[i % 3];
    const size_t *above = rows[(i - 1) % 3], *two_above = rows[(i + 1) % 3];
    row[0] = i * EDIT;
    for (size_t j = 1; j <= n; ++j) {
      const size_t changed = above[j - 1] + (same_letter(written[i - 1], name[j - 1]) ? 0 : EDIT);
      row[j] = lesser(changed, lesser(above[j], row[j - 1]) + EDIT);
      if (i > 1 && j > 1 && same_letter(written[i - 1], name[j - 2]) && same_letter(written[i - 2], name[j - 1]))
        row[j] = lesser(row[j], two_above[j - 2] + EDIT);
    }
  }
  size_t least = m * EDIT + n * FOLLOWS;
  for (size_t j = 1; j <= n; ++j) least = lesser(least, rows[m % 3][j] + (n - j) * FOLLOWS);
  const size_t rest = length - m, name_rest = name_length - n;
  return least + rest * EDIT + (name_rest > rest ? name_rest - rest : 0) * FOLLOWS;
}
