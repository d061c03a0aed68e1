/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - a growing byte string. Errors stick: after a failed append, failed is true and appends do nothing, so that
 * a writer checks once at its end. */
#ifndef HN_BASE_TEXT_H
#define HN_BASE_TEXT_H

#include "base/memory.h"
#include <hone/status.h>

typedef struct hn_text {
  hn_allocator allocator;
  char *data; /* always ends with a zero byte once something was appended */
  size_t length, capacity;
  bool failed;
} hn_text;

void hn_text_init(hn_text *text, hn_allocator allocator);
void hn_text_deinit(hn_text *text);
void hn_text_clear(hn_text *text);
void hn_text_add(hn_text *text, const char *string);
void hn_text_add_bytes(hn_text *text, const void *bytes, size_t count);
void hn_text_printf(hn_text *text, const char *format, ...) HONE_PRINTF(2, 3);
/* Shortest decimal that reads back as the same double (or float), with "inf", "-inf", "nan". */
void hn_text_double(hn_text *text, double value);
void hn_text_float(hn_text *text, float value);
/* "..." with \" \\ \n \t \u00XX escapes: JSON's form, also used by graph text. */
void hn_text_quoted(hn_text *text, const char *string, size_t length);
const char *hn_text_string(const hn_text *text); /* "" when nothing was appended; borrowed */

bool hn_name_equal(const char *a, const char *b); /* strcmp == 0, NULL equals NULL only */
/* How unlike a name is to the one that was written: 2 for each letter to change, add, drop or swap with its neighbour,
 * 1 for each that would only have to follow. Case does not count. */
size_t hn_text_unlike(const char *written, size_t length, const char *name);
/* snprintf into a fixed array, always terminated. */
void hn_copy_text(char *to, size_t room, const char *from);

/* ---- the names that a mistyped one may have meant (near.c); hone_nearest_name() is the one of them ---- */
enum { HN_NEAR_MOST = 4 };
/* Begins as {.wanted = ..., .length = ...}. */
typedef struct hn_near {
  const char *wanted; /* need not end after its length */
  size_t length;
  const char *names[HN_NEAR_MOST]; /* the nearest first, of equals the first that came; borrowed */
  size_t unlike[HN_NEAR_MOST];     /* hn_text_unlike() */
  int count;
} hn_near;

/* Takes the name if it is among the nearest, once. */
void hn_near_add(hn_near *near, const char *name);
void hn_near_tell(const hn_near *near, hn_text *out); /* "; near it: a, b", or nothing */
/* Few letters are wrong, or it is a part of the name. */
bool hn_is_near(const char *wanted, const char *name);

#endif
