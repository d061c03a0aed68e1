/* SPDX-License-Identifier: Apache-2.0 */
/* center_crop_pad.c - crops or zero-pads each axis around its middle to a given extent. */
#include "ops/common_move.h"

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  const int64_t *given;
  const int given_count = hn_attr_ints(infer->attrs, "axes", &given);
  int64_t length, count, dims[HONE_MAX_RANK];
  int axes[HONE_MAX_RANK];
  HN_TRY(hn_in_length(infer, 1, "shape", &length));
  if (rank < 0) return HONE_OK;
  if (given) HN_TRY(hn_infer_axes(infer, given, given_count, rank, axes));
  const int axis_count = given ? given_count : rank;
  if (length >= 0 && length != axis_count)
    return HN_INFER_FAIL(infer, "shape has %lld extents for %d axes", (long long)length, axis_count);
  const int64_t *value = hn_in_value(infer, 1, &count);
  if (!value && length != 0) return hn_out_after_run(infer, 0, rank, INT64_MAX);
  for (int d = 0; d < rank; ++d) dims[d] = hn_in_shape(infer, 0)->dim[d];
  for (int i = 0; length > 0 && i < axis_count; ++i) {
    if (value[i] < 0 && !HONE_SYMBOLIC(value[i]))
      return HN_INFER_FAIL(infer, "shape[%d] is %lld; it must not be negative", i, (long long)value[i]);
    dims[given ? axes[i] : i] = value[i];
  }
  hn_out_shape(infer, 0, rank, dims);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_sized(eval));
  const hone_shape *from = &eval->in[0].type.shape, *to = &eval->out[0].type.shape;
  uint8_t zero[16] = {0};
  const hone_tensor nothing = {.type = eval->in[0].type, .data = zero, .bytes = sizeof zero};
  int64_t strides[HONE_MAX_RANK], index[HONE_MAX_RANK], first, last;
  if (from->rank != to->rank) return HN_FAIL(eval->diagnostics, HONE_INVALID, "the output has another rank");
  hn_strides(from, strides);
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t at = first; at < last; ++at) {
    bool inside = true;
    int64_t position = 0;
    hn_unflatten(to, at, index);
    for (int d = 0; inside && d < to->rank; ++d) {
      const int64_t a = from->dim[d], b = to->dim[d];
      const int64_t i = a >= b ? index[d] + (a - b) / 2 : index[d] - (b - a) / 2;
      inside = i >= 0 && i < a;
      position += i * strides[d];
    }
    hn_copy_element(&eval->out[0], at, inside ? &eval->in[0] : &nothing, inside ? position : 0);
  }
  return HONE_OK;
}

const hone_op hn_op_center_crop_pad = {
    .struct_size = sizeof(hone_op),
    .name = "center_crop_pad",
    .doc = "crops or pads each axis around its middle",
    .in = {{"input_data", 'T', HONE_TYPES_ANY}, {"shape", 0, HONE_TYPES_INDEX}},
    .out = {{"output_data", 'T'}},
    .attr = {HONE_OPTIONAL_ATTR("axes", HONE_ATTR_INTS)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_select,
    .onnx = {{"CenterCropPad", 18, HONE_LATEST}},
};
