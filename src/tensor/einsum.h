/* SPDX-License-Identifier: Apache-2.0 */
/* einsum.h - an einsum's equation, for the operator, the rules that take it apart and kernels. */
#ifndef HN_TENSOR_EINSUM_H
#define HN_TENSOR_EINSUM_H

#include "base/diag.h"
#include <hone/op.h>

/* Labels are letters; the axes of an ellipsis have labels of their own, from HN_EINSUM_LETTERS on, numbered from the
 * right. */
enum {
  HN_EINSUM_LETTERS = 52,
  HN_EINSUM_LABELS = HN_EINSUM_LETTERS + HONE_MAX_RANK,
  HN_EINSUM_INPUTS = HONE_MAX_PORTS
};

typedef struct hn_einsum_term {
  int count, label[HONE_MAX_RANK]; /* one for each axis */
} hn_einsum_term;

typedef struct hn_einsum {
  hn_einsum_term in[HN_EINSUM_INPUTS], out;
  int64_t extent[HN_EINSUM_LABELS]; /* the operator's own */
  bool used[HN_EINSUM_LABELS];
} hn_einsum;

/* Fills a zeroed equation; MALFORMED in words. At most HN_EINSUM_INPUTS inputs, all of known rank. */
hone_status hn_einsum_read(hone_diagnostics *diag, const char *text, int inputs, const int *ranks, hn_einsum *equation);
char hn_einsum_letter(int label); /* of labels below HN_EINSUM_LETTERS */

#endif
