/* SPDX-License-Identifier: Apache-2.0 */
/* concat_from_sequence.c - the tensors of a sequence side by side along one axis, which new_axis adds. */
#include "base/checked.h"
#include "ops/common_list.h"

static hone_status infer(hone_infer *infer) {
  const hone_shape *element = &infer->in[0].type.shape;
  const bool adds = hn_attr_int(infer->attrs, "new_axis") != 0;
  int64_t dims[HONE_MAX_RANK];
  int axis;
  HN_TRY(hn_infer_want_kind(infer, 0, HONE_SEQUENCE, "a sequence"));
  if (element->rank < 0) return HONE_OK;
  const int rank = element->rank + adds;
  if (rank > HONE_MAX_RANK) return HN_INFER_UNSUPPORTED(infer, "its output would have rank %d", rank);
  HN_TRY(hn_infer_axis(infer, hn_attr_int(infer->attrs, "axis"), rank, &axis));
  for (int d = 0; d < rank; ++d) dims[d] = element->dim[adds && d > axis ? d - 1 : d < element->rank ? d : 0];
  dims[axis] = hn_dim_fresh(infer->dims, "sequence", true, INT64_MAX);
  hn_out_shape(infer, 0, rank, dims);
  return HONE_OK;
}

/* An element as it lies beside the others: with an axis of one where that is added. */
static hone_shape beside(const hone_tensor *item, int axis, bool adds) {
  hone_shape shape = item->type.shape;
  if (!adds) return shape;
  for (int d = shape.rank; d > axis; --d) shape.dim[d] = shape.dim[d - 1];
  shape.dim[axis] = 1;
  ++shape.rank;
  return shape;
}

static hone_status join_extents(hone_eval *eval, int axis, bool adds, hone_shape *whole) {
  const hone_tensor *items = hn_list_items(&eval->in[0]);
  *whole = beside(&items[0], axis, adds);
  for (int64_t i = 1; i < hn_eval_list_count(eval, 0); ++i) {
    const hone_shape shape = beside(&items[i], axis, adds);
    bool fits = shape.rank == whole->rank;
    for (int d = 0; fits && d < whole->rank; ++d) fits = d == axis || shape.dim[d] == whole->dim[d];
    if (!fits || !hn_add_i64(whole->dim[axis], shape.dim[axis], &whole->dim[axis]))
      return HN_FAIL(eval->diagnostics, HONE_INVALID, "element %lld does not fit beside the others", (long long)i);
  }
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window;
  const int64_t count = hn_eval_list_count(eval, 0);
  const hone_tensor *items = hn_list_items(&eval->in[0]);
  const bool adds = hn_attr_int(eval->attrs, "new_axis") != 0;
  hone_shape whole;
  int axis;
  if (count < 1) return HN_FAIL(eval->diagnostics, HONE_INVALID, "the sequence is empty");
  const int rank = items[0].type.shape.rank + adds;
  if (rank > HONE_MAX_RANK) return HN_FAIL(eval->diagnostics, HONE_UNSUPPORTED, "its output would have rank %d", rank);
  HN_TRY(hn_eval_axis(eval, hn_attr_int(eval->attrs, "axis"), rank, &axis));
  HN_TRY(join_extents(eval, axis, adds, &whole));
  if (eval->out[0].data)
    HN_TRY(hn_eval_expect(eval, 0, whole.rank, whole.dim));
  else
    HN_TRY(eval->resize(eval, 0, whole.rank, whole.dim));
  const hn_rows rows = hn_rows_along(&whole, axis);
  int64_t begin = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t run = beside(&items[i], axis, adds).dim[axis] * rows.inner;
    for (int64_t outer = 0; outer < rows.outer; ++outer)
      hn_copy_run(eval, &eval->out[0], outer * rows.len * rows.inner + begin, &items[i], outer * run, run);
    begin += run;
  }
  return HONE_OK;
}

const hone_op hn_op_concat_from_sequence = {
    .struct_size = sizeof(hone_op),
    .name = "concat_from_sequence",
    .doc = "the tensors of a sequence side by side",
    .in = {{"input_sequence", 'T', HONE_TYPES_ANY}},
    .out = {{"concat_result", 'T'}},
    .attr = {HONE_NEEDED_ATTR("axis", HONE_ATTR_INT), HONE_INT_ATTR("new_axis", 0)},
    .traits = HONE_ANY_KIND | HONE_AFTER_RUN | HONE_WHOLE,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"ConcatFromSequence", 11, HONE_LATEST, .adapt = "concat_from_sequence"}},
};
