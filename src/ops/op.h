/* SPDX-License-Identifier: Apache-2.0 */
/* ops/op.h - what every operator file includes: the row type and the helpers that infer, eval and cost share. */
#ifndef HN_OPS_OP_H
#define HN_OPS_OP_H

#include "base/diag.h"
#include "base/memory.h"
#include "tensor/attrs.h"
#include "tensor/dims.h"
#include "tensor/element.h"
#include "tensor/evaluate.h"
#include "tensor/expr.h"
#include "tensor/shape.h"
#include <hone/op.h>

/* Message and code for an infer or eval function: `return HN_INFER_FAIL(infer, "axis %ld, but x has rank %d", ...)`.
 * What a model says wrongly is MALFORMED. */
#define HN_INFER_FAIL(infer, ...) HN_FAIL((infer)->diagnostics, HONE_MALFORMED, __VA_ARGS__)
#define HN_INFER_UNSUPPORTED(infer, ...) HN_FAIL((infer)->diagnostics, HONE_UNSUPPORTED, __VA_ARGS__)

/* ---- infer (src/ops/common_infer.c) ---- */
bool hn_in_given(const hone_infer *infer, int input); /* an optional input that is there */
int hn_in_rank(const hone_infer *infer, int input);   /* -1: not known */
const hone_shape *hn_in_shape(const hone_infer *infer, int input);
/* The small integer value of an input, or NULL. Elements may be symbolic. */
const int64_t *hn_in_value(const hone_infer *infer, int input, int64_t *out_count);
/* Room for output `output`'s value: count elements, to be filled by the caller; NULL when too many or out of memory
 * (then the value just stays unknown). */
int64_t *hn_infer_value(hone_infer *infer, int output, int64_t count);
void hn_out_shape(hone_infer *infer, int output, int rank, const int64_t *dims);
void hn_out_dtype(hone_infer *infer, int output, hone_dtype dtype);
/* Shape of given rank whose dims are known only after running (fresh symbols; high: upper bound or INT64_MAX). */
hone_status hn_out_after_run(hone_infer *infer, int output, int rank, int64_t high);
/* Normalises an axis in [-rank, rank - 1] (or rank when for_insert) and fails in words. */
hone_status hn_infer_axis(hone_infer *infer, int64_t axis, int rank, int *out);
/* Joins two dims under numpy broadcasting; a symbolic dim against a number > 1 takes the number. */
hone_status hn_infer_join(hone_infer *infer, int64_t a, int64_t b, int64_t *out);
hone_status hn_infer_broadcast_shapes(hone_infer *infer, int count, const hone_shape *const *shapes, hone_shape *out);
/* Ready-made infer functions for rows. */
hone_status hn_infer_same(hone_infer *infer);       /* every output has input 0's shape (dtype as the ports say) */
hone_status hn_infer_along_axis(hone_infer *infer); /* the same, and the attribute axis must be one of input 0 */
hone_status
hn_infer_broadcast(hone_infer *infer); /* output 0 has the broadcast shape of all inputs; folds small values */

/* ---- eval (src/ops/common_eval.c) ---- */
/* Elementwise by the row's expr, any dtype, honouring the window. The eval of every elementwise row. */
hone_status hn_eval_expr(hone_eval *eval, const hone_window *window);
/* The part of output `output` to compute: [*first, *last). */
void hn_window_range(const hone_eval *eval, const hone_window *window, int output, int64_t *first, int64_t *last);
bool hn_eval_given(const hone_eval *eval, int input);
int64_t hn_eval_dim(const hone_tensor *tensor, int axis);   /* negative axes count from the end */
void hn_copy_bytes(hone_eval *eval, int output, int input); /* same bytes, other shape */
/* Runs the row's infer on the actual inputs (with the values of small integer ones) and calls resize for every output
 * whose data is NULL. MALFORMED when infer refuses them, UNSUPPORTED when the extents still are not known. */
hone_status hn_eval_reinfer(hone_eval *eval);
/* Runs the row's infer on facts that hold actual numbers; out: gets the shapes. */
hone_status hn_eval_infer(hone_eval *eval, hone_fact *in, hone_fact *out);

/* Rows along an axis: shape = [outer, len, inner]; row r of outer * inner rows. */
typedef struct hn_rows {
  int64_t outer, len, inner;
} hn_rows;
hn_rows hn_rows_along(const hone_shape *shape, int64_t axis); /* axis may be negative */
static inline int64_t hn_row_at(const hn_rows *rows, int64_t row, int64_t i) {
  return (row / rows->inner * rows->len + i) * rows->inner + row % rows->inner;
}
/* Rows touched by a window, [first, last): all rows that any element of the window lies in. */
void hn_rows_window(const hone_eval *eval, const hone_window *window, const hn_rows *rows, int64_t *first,
                    int64_t *last);

/* ---- cost (src/ops/common_cost.c); facts with known dims ---- */
hone_cost hn_cost_elementwise(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                              int out_count);
hone_cost hn_cost_copy(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                       int out_count); /* 0 flops */
hone_cost hn_cost_select(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                         int out_count);
double hn_cost_bytes(const hone_fact *facts, int count);

/* Shorthand of elementwise rows: unary float ops differ in name, doc and expression only. */
#define HN_ELEMENTWISE(op_name, op_doc, op_expr)                                                                       \
  .struct_size = sizeof(hone_op), .name = op_name, .doc = op_doc, .expr = op_expr, .infer = hn_infer_broadcast,        \
  .eval = hn_eval_expr, .cost = hn_cost_elementwise

#endif
