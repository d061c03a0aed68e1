/* SPDX-License-Identifier: Apache-2.0 */
/* one_hot.c - a new axis of extent depth that is on at the index and off elsewhere. An index outside
 * [-depth, depth - 1] is off everywhere. */
#include "ops/common_move.h"

enum { INDICES = 0, DEPTH = 1, VALUES = 2 };

/* depth may be of any number type, also a float constant. */
static bool depth_of(const hone_infer *infer, int64_t *out) {
  int64_t count;
  const int64_t *value = hn_in_value(infer, DEPTH, &count);
  const hone_tensor *constant = infer->in[DEPTH].constant;
  if (value && count == 1) {
    *out = value[0];
    return true;
  }
  if (!constant || !hn_elems_checked(&constant->type.shape, &count) || count != 1) return false;
  *out = hn_int(constant, 0);
  return true;
}

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, INDICES);
  int64_t depth, dims[HONE_MAX_RANK];
  int axis;
  const hone_shape *values = hn_in_shape(infer, VALUES);
  if (values->rank >= 0 && (values->rank != 1 || (!HONE_SYMBOLIC(values->dim[0]) && values->dim[0] != 2)))
    return HN_INFER_FAIL(infer, "values must be the list [off, on], not of rank %d or another length", values->rank);
  if (rank < 0) return HONE_OK;
  if (rank + 1 > HONE_MAX_RANK)
    return HN_INFER_UNSUPPORTED(infer, "rank %d; the largest is %d", rank + 1, HONE_MAX_RANK);
  HN_TRY(hn_infer_axis(infer, hn_attr_int(infer->attrs, "axis"), rank + 1, &axis));
  if (!depth_of(infer, &depth))
    depth = hn_dim_fresh(infer->dims, "one_hot", true, INT64_MAX);
  else if (!HONE_SYMBOLIC(depth) && depth < 1)
    return HN_INFER_FAIL(infer, "depth is %lld; it must be 1 or more", (long long)depth);
  for (int d = 0, from = 0; d <= rank; ++d) dims[d] = d == axis ? depth : hn_in_shape(infer, INDICES)->dim[from++];
  hn_out_shape(infer, 0, rank + 1, dims);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_sized(eval));
  const hone_tensor *indices = &eval->in[INDICES], *values = &eval->in[VALUES];
  const hn_rows rows = hn_rows_along(&eval->out[0].type.shape, hn_attr_int(eval->attrs, "axis"));
  int64_t first, last;
  if (rows.outer * rows.inner != hn_elems(&indices->type.shape) || hn_elems(&values->type.shape) != 2)
    return HN_FAIL(eval->diagnostics, HONE_INVALID, "indices or values do not fit the output");
  hn_rows_window(eval, window, &rows, &first, &last);
  for (int64_t row = first; row < last; ++row) {
    int64_t index = hn_int(indices, row);
    if (index < 0) index += rows.len;
    for (int64_t i = 0; i < rows.len && !hn_eval_ends(eval, row * rows.len + i); ++i)
      hn_copy_element(&eval->out[0], hn_row_at(&rows, row, i), values, i == index);
  }
  return HONE_OK;
}

const hone_op hn_op_one_hot = {
    .struct_size = sizeof(hone_op),
    .name = "one_hot",
    .doc = "a new axis that is on at the index and off elsewhere",
    .in = {{"indices", 0, HONE_TYPES_NUMBER}, {"depth", 0, HONE_TYPES_NUMBER}, {"values", 'T', HONE_TYPES_ANY}},
    .out = {{"output", 'T'}},
    .attr = {HONE_INT_ATTR("axis", -1)},
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"OneHot", 9, HONE_LATEST}},
};
