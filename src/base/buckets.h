/* SPDX-License-Identifier: Apache-2.0 */
/* buckets.h - rows found by a number: those that share a bucket are linked, and the buckets grow with the rows. */
#ifndef HN_BASE_BUCKETS_H
#define HN_BASE_BUCKETS_H

#include "base/memory.h"

typedef struct hn_buckets {
  int count;    /* rows */
  int capacity; /* of both arrays */
  int *heads;   /* row of a bucket that came last, plus 1; 0: none */
  struct hn_bucket_row {
    uint64_t key;
    int next; /* plus 1 */
  } * rows;
} hn_buckets;

bool hn_buckets_add(hn_buckets *buckets, hn_arena *arena, uint64_t key); /* the next row; false when out of memory */
/* Rows with the key, the latest first: after = -1 begins; -1: no more. */
int hn_buckets_find(const hn_buckets *buckets, uint64_t key, int after);

#endif
