/* SPDX-License-Identifier: Apache-2.0 */
/* compress.c - the slices along an axis (or the elements, without one) whose condition holds. The condition may be
 * shorter than the axis; what lies beyond it is left out. */
#include "ops/common_move.h"

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  int64_t length, elems;
  int axis;
  HN_TRY(hn_in_length(infer, 1, "condition", &length));
  const int64_t high = length >= 0 ? length : INT64_MAX;
  if (!hn_attr_has(infer->attrs, "axis")) {
    const bool known = rank >= 0 && hn_elems_checked(hn_in_shape(infer, 0), &elems);
    return hn_out_after_run(infer, 0, 1, known && elems < high ? elems : high);
  }
  if (rank < 0) return HONE_OK;
  HN_TRY(hn_infer_axis(infer, hn_attr_int(infer->attrs, "axis"), rank, &axis));
  hone_shape shape = *hn_in_shape(infer, 0);
  const int64_t extent = shape.dim[axis];
  shape.dim[axis] =
      hn_dim_fresh(infer->dims, "compress", true, !HONE_SYMBOLIC(extent) && extent < high ? extent : high);
  hn_out_shape(infer, 0, rank, shape.dim);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window; /* where a slice comes from depends on all conditions before it */
  const hone_tensor *x = &eval->in[0], *condition = &eval->in[1];
  hone_shape shape = x->type.shape;
  int64_t kept = 0, at = 0;
  int axis = 0;
  if (hn_attr_has(eval->attrs, "axis"))
    HN_TRY(hn_eval_axis(eval, hn_attr_int(eval->attrs, "axis"), shape.rank, &axis));
  else
    shape = (hone_shape){.rank = 1, .dim = {hn_elems(&x->type.shape)}};
  const hn_rows rows = hn_rows_along(&shape, axis);
  const int64_t given = hn_elems(&condition->type.shape), length = given < rows.len ? given : rows.len;
  for (int64_t i = 0; i < length; ++i) kept += hn_int(condition, i) != 0;
  shape.dim[axis] = kept;
  if (!eval->out[0].data) HN_TRY(eval->resize(eval, 0, shape.rank, shape.dim));
  HN_TRY(hn_eval_expect(eval, 0, shape.rank, shape.dim));
  for (int64_t outer = 0; outer < rows.outer; ++outer) {
    for (int64_t i = 0; i < length; ++i) {
      if (!hn_int(condition, i)) continue;
      hn_copy_run(eval, &eval->out[0], at, x, (outer * rows.len + i) * rows.inner, rows.inner);
      at += rows.inner;
    }
  }
  return HONE_OK;
}

const hone_op hn_op_compress = {
    .struct_size = sizeof(hone_op),
    .name = "compress",
    .doc = "the slices whose condition holds",
    .in = {{"input", 'T', HONE_TYPES_ANY}, {"condition", 0, HONE_TYPES_BOOL}},
    .out = {{"output", 'T'}},
    .attr = {HONE_OPTIONAL_ATTR("axis", HONE_ATTR_INT)},
    .traits = HONE_AFTER_RUN,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_select,
    .onnx = {{"Compress", 9, HONE_LATEST}},
};
