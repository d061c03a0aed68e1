/* SPDX-License-Identifier: Apache-2.0 */
/* unsqueeze.c - inserts axes of extent 1; axes count in the output's rank. */
#include "ops/common_move.h"

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  int64_t length = 0, count = 0, dims[HONE_MAX_RANK];
  int axes[HONE_MAX_RANK];
  bool inserted[HONE_MAX_RANK] = {false};
  const int64_t *value = hn_in_value(infer, 1, &count);
  if (hn_in_rank(infer, 1) == 0)
    length = 1; /* exporters write a scalar for a single axis */
  else
    HN_TRY(hn_in_length(infer, 1, "axes", &length));
  if (length == 0) count = 0;
  if (rank < 0 || length < 0) return HONE_OK;
  if (rank + length > HONE_MAX_RANK)
    return HN_INFER_UNSUPPORTED(infer, "rank %lld; the largest is %d", (long long)(rank + length), HONE_MAX_RANK);
  const int out_rank = rank + (int)length;
  if (!value && length != 0) return hn_out_after_run(infer, 0, out_rank, INT64_MAX);
  HN_TRY(hn_infer_axes(infer, value, count, out_rank, axes));
  for (int64_t i = 0; i < count; ++i) inserted[axes[i]] = true;
  for (int axis = 0, from = 0; axis < out_rank; ++axis)
    dims[axis] = inserted[axis] ? 1 : hn_in_shape(infer, 0)->dim[from++];
  hn_out_shape(infer, 0, out_rank, dims);
  hn_infer_keep_value(infer, 0, 0);
  return HONE_OK;
}

const hone_op hn_op_unsqueeze = {
    .struct_size = sizeof(hone_op),
    .name = "unsqueeze",
    .doc = "inserts axes of extent 1",
    .in = {{"data", 'T', HONE_TYPES_ANY}, {"axes", 0, HONE_BIT(HONE_I64)}},
    .out = {{"expanded", 'T'}},
    .traits = HONE_MOVES | HONE_ALIASES,
    .infer = infer,
    .eval = hn_eval_same_bytes,
    .cost = hn_cost_copy,
    .onnx = {{"Unsqueeze", 1, 12, .to_input = "axes=1"},
             {"Unsqueeze", 13, HONE_LATEST},
             {"ExpandDims", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_expand_dims", .alias = true}},
};
