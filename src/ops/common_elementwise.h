/* SPDX-License-Identifier: Apache-2.0 */
/* common_elementwise.h - elementwise rows that an expression alone does not describe: strings, absent inputs,
 * places. */
#ifndef HN_OPS_COMMON_ELEMENTWISE_H
#define HN_OPS_COMMON_ELEMENTWISE_H

#include "ops/op.h"

enum { HN_WALK_MAX = 3 };

/* Walks output 0 and up to HN_WALK_MAX inputs broadcast to it, in row-major order of the output. */
typedef struct hn_walk {
  int rank, count;
  int64_t dim[HONE_MAX_RANK], index[HONE_MAX_RANK];
  int64_t stride[HN_WALK_MAX][HONE_MAX_RANK];
  int64_t at[HN_WALK_MAX]; /* of each input */
} hn_walk;

/* Starts at output element `first`; absent inputs stay at 0. */
void hn_walk_start(hn_walk *walk, const hone_eval *eval, int input_count, int64_t first);
void hn_walk_next(hn_walk *walk);

/* Output 0 has the broadcast shape of all given inputs; nothing is known of its value. */
hone_status hn_infer_broadcast_given(hone_infer *infer);

/* The cosine windows (src/ops/common_window.c), y[n] = a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N); details:
 * double[3], a0 to a2. */
hone_status hn_infer_cosine_window(hone_infer *infer);
hone_status hn_eval_cosine_window(hone_eval *eval, const hone_window *window);
#define HN_WINDOW_FIELDS                                                                                               \
  .struct_size = sizeof(hone_op), .in = {{"size", 0, HONE_TYPES_INDEX}}, .out = {{"output", 0, HONE_TYPES_NUMBER}},    \
  .attr = {HONE_INT_ATTR("output_datatype", 1), HONE_INT_ATTR("periodic", 1)}, .traits = HONE_WINDOWED,                \
  .infer = hn_infer_cosine_window, .eval = hn_eval_cosine_window, .cost = hn_cost_elementwise

/* ---- conversion between element types, of cast and cast_like (src/ops/common_cast.c) ---- */
/* Sets output 0's type to dtype and input 0's shape; refuses what has no conversion here. */
hone_status hn_infer_cast(hone_infer *infer, hone_dtype dtype);
/* Converts input 0 to output 0's dtype; reads the attributes saturate and round_mode. */
hone_status hn_eval_cast(hone_eval *eval, const hone_window *window);

#endif
