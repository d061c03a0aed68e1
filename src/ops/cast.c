/* SPDX-License-Identifier: Apache-2.0 */
/* cast.c - the same numbers in another element type. `to` is ONNX's number of the type. */
#include "ops/common_elementwise.h"
#include "ops/onnx_tensor.h"

static hone_status infer(hone_infer *infer) {
  const int64_t to = hn_attr_int(infer->attrs, "to");
  const hone_dtype dtype = hn_dtype_of_onnx(to);
  if (dtype == HONE_NONE)
    return HN_INFER_UNSUPPORTED(infer, "to is %lld, an element type not known here", (long long)to);
  return hn_infer_cast(infer, dtype);
}

const hone_op hn_op_cast = {
    .struct_size = sizeof(hone_op),
    .name = "cast",
    .doc = "the same numbers in another element type",
    .in = {{"input", 0, HONE_TYPES_FIXED | HONE_BIT(HONE_STRING)}},
    .out = {{"output", 0, HONE_TYPES_FIXED}},
    .attr = {HONE_NEEDED_ATTR("to", HONE_ATTR_INT), HONE_INT_ATTR("saturate", 1), HONE_STRING_ATTR("round_mode", "up")},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = hn_eval_cast,
    .cost = hn_cost_copy,
    .report_class = "Data movement",
    .onnx = {{"Cast", 1, 5, .adapt = "legacy_cast"}, {"Cast", 6, HONE_LATEST}},
};
