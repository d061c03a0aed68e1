/* SPDX-License-Identifier: Apache-2.0 */
/* common_reduce.h - reductions over a set of axes: one loop, and a small description of each reduction. */
#ifndef HN_OPS_COMMON_REDUCE_H
#define HN_OPS_COMMON_REDUCE_H

#include "ops/op.h"

typedef enum hn_reduce_start { HN_START_ZERO, HN_START_ONE, HN_START_LOWEST, HN_START_HIGHEST } hn_reduce_start;

typedef struct hn_reduction { /* a row's details */
  hn_reduce_start start;      /* what nothing at all reduces to */
  double (*real)(double total, double x);
  int64_t (*integer)(int64_t total, int64_t x, bool is_unsigned); /* NULL: integers are reduced as reals */
  double (*finish)(double total, int64_t count);                  /* NULL: the total itself */
  bool shift_by_largest; /* real() sees x - max(x), finish()'s result gets max(x) back */
  int64_t (*fold)(hone_dims *dims, int64_t a, int64_t b); /* of small values in facts; NULL: none is known */
} hn_reduction;

hone_status hn_infer_reduce(hone_infer *infer);
hone_status hn_eval_reduce(hone_eval *eval, const hone_window *window);
hone_cost hn_cost_reduce(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                         int out_count);

double hn_reduce_add(double total, double x);
double hn_reduce_add_square(double total, double x);
double hn_reduce_log(double total, int64_t count);

/* What the rows of reductions have alike. */
#define HN_REDUCE_FIELDS                                                                                               \
  .struct_size = sizeof(hone_op), .out = {{"reduced", 'T'}},                                                           \
  .attr = {HONE_INT_ATTR("keepdims", 1), HONE_INT_ATTR("noop_with_empty_axes", 0)}, .traits = HONE_WINDOWED,           \
  .infer = hn_infer_reduce, .eval = hn_eval_reduce, .cost = hn_cost_reduce, .report_class = "Reduction"

/* arg_max and arg_min: the first (or last) place of the element that no other beats. details: bool, the largest? */
hone_status hn_infer_arg(hone_infer *infer);
hone_status hn_eval_arg(hone_eval *eval, const hone_window *window);

/* cum_sum and cum_prod. details: bool, a product? */
hone_status hn_infer_cumulate(hone_infer *infer);
hone_status hn_eval_cumulate(hone_eval *eval, const hone_window *window);

#endif
