/* SPDX-License-Identifier: Apache-2.0 */
/* bit_cast.c - the same bits read as another element type of the same width. */
#include "ops/common_move.h"
#include "ops/onnx_tensor.h"

static hone_status infer(hone_infer *infer) {
  const int64_t to = hn_attr_int(infer->attrs, "to");
  const hone_dtype dtype = hn_dtype_of_onnx(to), from = infer->in[0].type.dtype;
  if (dtype == HONE_NONE || dtype == HONE_STRING)
    return HN_INFER_UNSUPPORTED(infer, "to is %lld, an element type not known here", (long long)to);
  if (hone_dtype_bits(dtype) != hone_dtype_bits(from))
    return HN_INFER_FAIL(infer, "to is %s, which is not as wide as %s", hone_dtype_name(dtype), hone_dtype_name(from));
  hn_out_dtype(infer, 0, dtype);
  return hn_infer_same(infer);
}

const hone_op hn_op_bit_cast = {
    .struct_size = sizeof(hone_op),
    .name = "bit_cast",
    .doc = "the same bits as another element type of the same width",
    .in = {{"input", 0, HONE_TYPES_FIXED | HONE_BIT(HONE_C64) | HONE_BIT(HONE_C128)}},
    .out = {{"output", 0, HONE_TYPES_FIXED | HONE_BIT(HONE_C64) | HONE_BIT(HONE_C128)}},
    .attr = {HONE_NEEDED_ATTR("to", HONE_ATTR_INT)},
    .traits = HONE_ALIASES,
    .infer = infer,
    .eval = hn_eval_same_bytes,
    .cost = hn_cost_copy,
    .onnx = {{"BitCast", 26, HONE_LATEST}},
};
