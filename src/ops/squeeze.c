/* SPDX-License-Identifier: Apache-2.0 */
/* squeeze.c - drops axes of extent 1: the named ones, or all. */
#include "ops/common_move.h"

/* Without axes the rank follows from which extents are 1, so all of them must be numbers. */
static hone_status infer_all(hone_infer *infer, int rank) {
  const hone_shape *from = hn_in_shape(infer, 0);
  int64_t dims[HONE_MAX_RANK];
  int count = 0;
  for (int axis = 0; axis < rank; ++axis) {
    if (HONE_SYMBOLIC(from->dim[axis])) return HONE_OK;
    if (from->dim[axis] != 1) dims[count++] = from->dim[axis];
  }
  hn_out_shape(infer, 0, count, dims);
  hn_infer_keep_value(infer, 0, 0);
  return HONE_OK;
}

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  int64_t length = 0, count, dims[HONE_MAX_RANK];
  int axes[HONE_MAX_RANK], out_rank = 0;
  bool dropped[HONE_MAX_RANK] = {false};
  if (!hn_in_given(infer, 1)) return rank < 0 ? HONE_OK : infer_all(infer, rank);
  HN_TRY(hn_in_length(infer, 1, "axes", &length));
  const int64_t *value = hn_in_value(infer, 1, &count);
  if (length == 0)
    count = 0;
  else if (!value) {
    if (rank < 0 || length < 0) return HONE_OK;
    if (length > rank) return HN_INFER_FAIL(infer, "%lld axes are named, but the rank is %d", (long long)length, rank);
    return hn_out_after_run(infer, 0, rank - (int)length, INT64_MAX);
  }
  if (rank < 0) return HONE_OK;
  HN_TRY(hn_infer_axes(infer, value, count, rank, axes));
  const hone_shape *from = hn_in_shape(infer, 0);
  for (int64_t i = 0; i < count; ++i) {
    dropped[axes[i]] = true;
    if (from->dim[axes[i]] != 1 && !HONE_SYMBOLIC(from->dim[axes[i]]))
      return HN_INFER_FAIL(infer, "axis %d has extent %lld; only 1 can be dropped", axes[i],
                           (long long)from->dim[axes[i]]);
  }
  for (int axis = 0; axis < rank; ++axis)
    if (!dropped[axis]) dims[out_rank++] = from->dim[axis];
  hn_out_shape(infer, 0, out_rank, dims);
  hn_infer_keep_value(infer, 0, 0);
  return HONE_OK;
}

const hone_op hn_op_squeeze = {
    .struct_size = sizeof(hone_op),
    .name = "squeeze",
    .doc = "drops axes of extent 1",
    .in = {{"data", 'T', HONE_TYPES_ANY}, {"axes", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .out = {{"squeezed", 'T'}},
    .traits = HONE_MOVES | HONE_ALIASES,
    .infer = infer,
    .eval = hn_eval_same_bytes,
    .cost = hn_cost_copy,
    .onnx = {{"Squeeze", 1, 12, .to_input = "axes=1"}, {"Squeeze", 13, HONE_LATEST}},
};
