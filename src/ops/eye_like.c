/* SPDX-License-Identifier: Apache-2.0 */
/* eye_like.c - ones on the k-th diagonal, else zeros, in the input's shape. */
#include "ops/common_move.h"
#include "ops/onnx_tensor.h"

static hone_status infer(hone_infer *infer) {
  hone_dtype dtype = infer->in[0].type.dtype;
  if (hn_attr_has(infer->attrs, "dtype")) {
    dtype = hn_dtype_of_onnx(hn_attr_int(infer->attrs, "dtype"));
    if (!(HONE_BIT(dtype) & (HONE_TYPES_NUMBER | HONE_TYPES_BOOL)))
      return HN_INFER_FAIL(infer, "dtype is %lld, which is not a numeric type",
                           (long long)hn_attr_int(infer->attrs, "dtype"));
  }
  hn_out_dtype(infer, 0, dtype);
  if (hn_in_rank(infer, 0) >= 0 && hn_in_rank(infer, 0) != 2)
    return HN_INFER_FAIL(infer, "input must have rank 2, but has rank %d", hn_in_rank(infer, 0));
  return hn_infer_same(infer);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  const int64_t columns = hn_eval_dim(&eval->out[0], 1), k = hn_attr_int(eval->attrs, "k");
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t at = first; at < last; ++at) hn_store_int(&eval->out[0], at, at % columns - at / columns == k);
  return HONE_OK;
}

const hone_op hn_op_eye_like = {
    .struct_size = sizeof(hone_op),
    .name = "eye_like",
    .doc = "ones on a diagonal, in the shape of the input",
    .in = {{"input", 0, HONE_TYPES_NUMBER | HONE_TYPES_BOOL}},
    .out = {{"output", 0, HONE_TYPES_NUMBER | HONE_TYPES_BOOL}},
    .attr = {HONE_OPTIONAL_ATTR("dtype", HONE_ATTR_INT), HONE_INT_ATTR("k", 0)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"EyeLike", 9, HONE_LATEST}},
};
