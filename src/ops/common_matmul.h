/* SPDX-License-Identifier: Apache-2.0 */
/* common_matmul.h - numpy's matmul, as the float, integer and quantised rows share it. */
#ifndef HN_OPS_COMMON_MATMUL_H
#define HN_OPS_COMMON_MATMUL_H

#include "ops/common_nn.h"

/* infer: output 0 from the inputs numbered a and b. */
hone_status hn_infer_matmul(hone_infer *infer, int a, int b);

/* Where the operands of an output element lie. */
typedef struct hn_matmul {
  hone_shape batch;                                         /* of the output */
  int64_t a_stride[HONE_MAX_RANK], b_stride[HONE_MAX_RANK]; /* of the batch axes, 0 where broadcast */
  int64_t m, n, k;
} hn_matmul;
void hn_matmul_make(const hone_shape *a, const hone_shape *b, hn_matmul *out);
/* Element i of the dot product of output element `flat` is a[*a_at + i] * b[*b_at + i * n]. */
void hn_matmul_at(const hn_matmul *matmul, int64_t flat, int64_t *a_at, int64_t *b_at);
/* Scales and zero points of one operand: one element, one for each row (of a) or column (of b), or an operand's shape
 * with 1 along the inner axis. */
hone_status hn_infer_side(hone_infer *infer, int matrix, int input, bool rows);
/* Which of them belongs to the operand's element `at` (as from hn_matmul_at). */
int64_t hn_side_at(const hn_matmul *matmul, const hone_eval *eval, int input, int64_t at, bool rows);
hone_cost hn_cost_matmul(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                         int out_count); /* input 0 is the left operand */

#endif
