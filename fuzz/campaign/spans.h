/* SPDX-License-Identifier: Apache-2.0 */
/* spans.h - where the values of a JSON text stand: enough to replace them. */
#ifndef FUZZ_SPANS_H
#define FUZZ_SPANS_H

#include <stdbool.h>
#include <stddef.h>

enum { MOST_SPANS = 1 << 12, SPAN_DEPTH = 64 };

/* One value. whole_start is where its key begins, or the value itself: what is taken out with it. */
typedef struct span {
  size_t start, length, whole_start, key_start, key_length; /* key_length 0: in an array */
  char kind;                                                /* '{' '[' '"' or 'n': numbers and words */
  int items;                                                /* of a container */
} span;

typedef struct spans {
  int count;
  span items[MOST_SPANS];
} spans;

/* The text must be JSON, or nearly: what cannot be read ends the list. Containers stand before what is in them. */
void spans_read(spans *out, const char *text, size_t length);
void spans_copy(spans *to, const spans *from);
bool span_same_key(const char *a_text, const span *a, const char *b_text, const span *b);

#endif
