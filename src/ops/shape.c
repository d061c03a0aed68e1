/* SPDX-License-Identifier: Apache-2.0 */
/* shape.c - the extents start..end of its input, as a tensor. Known before running, possibly as symbols. */
#include "ops/common_move.h"

/* The slice of axes that the attributes name, clamped as in Python. */
static void axis_range(const hone_attrs *attrs, int rank, int *out_first, int *out_last) {
  int64_t first = hn_attr_int(attrs, "start"), last = hn_attr_has(attrs, "end") ? hn_attr_int(attrs, "end") : rank;
  if (first < 0) first = first < -rank ? 0 : first + rank;
  if (last < 0) last = last < -rank ? 0 : last + rank;
  if (first > rank) first = rank;
  if (last > rank) last = rank;
  *out_first = (int)first;
  *out_last = (int)(last < first ? first : last);
}

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  int first, last;
  if (rank < 0) return hn_out_after_run(infer, 0, 1, HONE_MAX_RANK);
  axis_range(infer->attrs, rank, &first, &last);
  const int64_t length = last - first;
  hn_out_shape(infer, 0, 1, &length);
  int64_t *value = hn_infer_value(infer, 0, length);
  for (int axis = first; value && axis < last; ++axis) value[axis - first] = hn_in_shape(infer, 0)->dim[axis];
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window;
  HN_TRY(hn_eval_sized(eval));
  const hone_shape *shape = &eval->in[0].type.shape;
  int first, last;
  axis_range(eval->attrs, shape->rank, &first, &last);
  HN_TRY(hn_eval_expect(eval, 0, 1, (int64_t[]){last - first}));
  for (int axis = first; axis < last; ++axis) hn_store_int(&eval->out[0], axis - first, shape->dim[axis]);
  return HONE_OK;
}

const hone_op hn_op_shape = {
    .struct_size = sizeof(hone_op),
    .name = "shape",
    .doc = "the extents of its input",
    .in = {{"data", 0, HONE_TYPES_ANY}},
    .out = {{"shape", 0, HONE_BIT(HONE_I64)}},
    .attr = {HONE_INT_ATTR("start", 0), HONE_OPTIONAL_ATTR("end", HONE_ATTR_INT)},
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"Shape", 1, HONE_LATEST}},
};
