/* SPDX-License-Identifier: Apache-2.0 */
/* top_k.c - the k largest or smallest elements along one axis, best first, and where they are. Of equal elements the
 * one with the lower index comes first; NaN counts as larger than every number. */
#include "ops/common_move.h"
#include <math.h>

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  int64_t k;
  int axis;
  if (rank < 0) return HONE_OK;
  HN_TRY(hn_infer_axis(infer, hn_attr_int(infer->attrs, "axis"), rank, &axis));
  hone_shape shape = *hn_in_shape(infer, 0);
  int64_t count;
  const int64_t *value = hn_in_value(infer, 1, &count), extent = shape.dim[axis];
  if (value && count != 1) return HN_INFER_FAIL(infer, "k must be one number, but has %lld", (long long)count);
  k = value ? value[0] : hn_dim_fresh(infer->dims, "top_k", true, HONE_SYMBOLIC(extent) ? INT64_MAX : extent);
  if (!HONE_SYMBOLIC(k) && (k < 0 || (!HONE_SYMBOLIC(extent) && k > extent)))
    return HN_INFER_FAIL(infer, "k is %lld, but axis %d has extent %lld", (long long)k, axis,
                         HONE_SYMBOLIC(extent) ? -1 : (long long)extent);
  shape.dim[axis] = k;
  hn_out_shape(infer, 0, rank, shape.dim);
  hn_out_shape(infer, 1, rank, shape.dim);
  return HONE_OK;
}

typedef struct ranking {
  const hone_tensor *x;
  const hn_rows *rows;
  int64_t row;
  bool largest;
} ranking;

/* -1, 0, 1 by value. */
static int compare(const hone_tensor *x, int64_t a, int64_t b) {
  if (hn_dtype_is_float(x->type.dtype)) {
    const double left = hn_real(x, a), right = hn_real(x, b);
    if (isnan(left) || isnan(right)) return isnan(left) - isnan(right);
    return (left > right) - (left < right);
  }
  const int64_t left = hn_int(x, a), right = hn_int(x, b);
  if (hn_dtype_is_unsigned(x->type.dtype))
    return ((uint64_t)left > (uint64_t)right) - ((uint64_t)left < (uint64_t)right);
  return (left > right) - (left < right);
}

static bool before(const void *context, int64_t a, int64_t b) {
  const ranking *by = context;
  const int order = compare(by->x, hn_row_at(by->rows, by->row, a), hn_row_at(by->rows, by->row, b));
  return order == 0 ? a < b : (order > 0) == by->largest;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window; /* whole rows are sorted */
  HN_TRY(hn_eval_sized(eval));
  const int64_t axis = hn_attr_int(eval->attrs, "axis");
  hone_shape shape = eval->in[0].type.shape;
  int normal;
  HN_TRY(hn_eval_axis(eval, axis, shape.rank, &normal));
  if (hn_elems(&eval->in[1].type.shape) != 1) return HN_FAIL(eval->diagnostics, HONE_INVALID, "k must be one number");
  const int64_t k = hn_int(&eval->in[1], 0);
  const hn_rows rows = hn_rows_along(&shape, axis);
  if (k < 0 || k > rows.len)
    return HN_FAIL(eval->diagnostics, HONE_INVALID, "k is %lld, but the axis has extent %lld", (long long)k,
                   (long long)rows.len);
  shape.dim[normal] = k;
  for (int output = 0; output < eval->out_count; ++output) HN_TRY(hn_eval_expect(eval, output, shape.rank, shape.dim));
  const hn_rows best = hn_rows_along(&shape, axis);
  int64_t *order = eval->scratch;
  for (int64_t row = 0; row < rows.outer * rows.inner; ++row) {
    const ranking by = {&eval->in[0], &rows, row, hn_attr_int(eval->attrs, "largest") != 0};
    if (!hn_sort_indices(eval, order, rows.len, before, &by)) break;
    for (int64_t i = 0; i < k && !hn_eval_ends(eval, i); ++i) {
      hn_copy_element(&eval->out[0], hn_row_at(&best, row, i), &eval->in[0], hn_row_at(&rows, row, order[i]));
      if (eval->out_count > 1) hn_store_int(&eval->out[1], hn_row_at(&best, row, i), order[i]);
    }
  }
  return HONE_OK;
}

static size_t eval_scratch(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                           int out_count) {
  (void)in_count;
  (void)out;
  (void)out_count;
  return (size_t)hn_rows_along(&in[0].type.shape, hn_attr_int(attrs, "axis")).len * sizeof(int64_t);
}

const hone_op hn_op_top_k = {
    .struct_size = sizeof(hone_op),
    .name = "top_k",
    .doc = "the k best elements along one axis, and their indices",
    .in = {{"x", 'T', HONE_TYPES_NUMBER}, {"k", 0, HONE_BIT(HONE_I64)}},
    .out = {{"values", 'T'}, {"indices", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .attr = {HONE_INT_ATTR("axis", -1), HONE_INT_ATTR("largest", 1), HONE_INT_ATTR("sorted", 1)},
    .infer = infer,
    .eval = eval,
    .eval_scratch = eval_scratch,
    .cost = hn_cost_copy,
    .onnx = {{"TopK", 1, 9, .to_input = "k=1"}, {"TopK", 10, HONE_LATEST}},
};
