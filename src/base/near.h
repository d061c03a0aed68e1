/* SPDX-License-Identifier: Apache-2.0 */
/* near.h - the names that a mistyped one may have meant; hone_nearest_name() is the one of them. */
#ifndef HN_BASE_NEAR_H
#define HN_BASE_NEAR_H

#include "base/text.h"

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
