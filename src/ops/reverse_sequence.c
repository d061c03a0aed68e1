/* SPDX-License-Identifier: Apache-2.0 */
/* reverse_sequence.c - the first sequence_lens[b] steps of each batch entry, backwards; the rest stays. */
#include "ops/common_move.h"

static hone_status check_axes(hone_diagnostics *diagnostics, hone_status status, const hone_attrs *attrs) {
  const int64_t batch = hn_attr_int(attrs, "batch_axis"), time = hn_attr_int(attrs, "time_axis");
  if ((batch == 0 && time == 1) || (batch == 1 && time == 0)) return HONE_OK;
  return HN_FAIL(diagnostics, status, "batch_axis is %lld and time_axis %lld; one must be 0 and the other 1",
                 (long long)batch, (long long)time);
}

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  int64_t length, same;
  HN_TRY(check_axes(infer->diagnostics, HONE_MALFORMED, infer->attrs));
  HN_TRY(hn_in_length(infer, 1, "sequence_lens", &length));
  if (rank >= 0 && rank < 2) return HN_INFER_FAIL(infer, "input must have rank 2 or more, but has rank %d", rank);
  if (rank >= 2 && length >= 0)
    HN_TRY(hn_infer_same_dim(infer, length, hn_in_shape(infer, 0)->dim[hn_attr_int(infer->attrs, "batch_axis")],
                             "sequence_lens and the batch", &same));
  return hn_infer_same(infer);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_sized(eval));
  const hone_shape *shape = &eval->in[0].type.shape;
  int64_t strides[HONE_MAX_RANK], index[HONE_MAX_RANK], first, last;
  HN_TRY(check_axes(eval->diagnostics, HONE_INVALID, eval->attrs));
  const int batch = (int)hn_attr_int(eval->attrs, "batch_axis"), time = 1 - batch;
  if (shape->rank < 2 || hn_elems(&eval->in[1].type.shape) != shape->dim[batch])
    return HN_FAIL(eval->diagnostics, HONE_INVALID, "sequence_lens does not fit the batch");
  hn_strides(shape, strides);
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t at = first; at < last; ++at) {
    hn_unflatten(shape, at, index);
    const int64_t length = hn_int(&eval->in[1], index[batch]);
    if (length < 0 || length > shape->dim[time])
      return HN_FAIL(eval->diagnostics, HONE_INVALID, "a sequence length of %lld is outside [0, %lld]",
                     (long long)length, (long long)shape->dim[time]);
    if (index[time] < length) index[time] = length - 1 - index[time];
    hn_copy_element(&eval->out[0], at, &eval->in[0], hn_flatten(shape->rank, index, strides));
  }
  return HONE_OK;
}

const hone_op hn_op_reverse_sequence = {
    .struct_size = sizeof(hone_op),
    .name = "reverse_sequence",
    .doc = "each batch entry backwards up to its length",
    .in = {{"input", 'T', HONE_TYPES_ANY}, {"sequence_lens", 0, HONE_BIT(HONE_I64)}},
    .out = {{"y", 'T'}},
    .attr = {HONE_INT_ATTR("batch_axis", 1), HONE_INT_ATTR("time_axis", 0)},
    .traits = HONE_MOVES | HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"ReverseSequence", 10, HONE_LATEST}},
};
