/* SPDX-License-Identifier: Apache-2.0 */
/* cast_like.c - the same numbers in the element type of a second tensor, whose values do not matter. */
#include "ops/common_elementwise.h"

static hone_status infer(hone_infer *infer) { return hn_infer_cast(infer, infer->in[1].type.dtype); }

const hone_op hn_op_cast_like = {
    .struct_size = sizeof(hone_op),
    .name = "cast_like",
    .doc = "the same numbers in the element type of target_type",
    .in = {{"input", 0, HONE_TYPES_FIXED | HONE_BIT(HONE_STRING)}, {"target_type", 0, HONE_TYPES_ANY}},
    .out = {{"output", 0, HONE_TYPES_FIXED}},
    .attr = {HONE_INT_ATTR("saturate", 1), HONE_STRING_ATTR("round_mode", "up")},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = hn_eval_cast,
    .cost = hn_cost_copy,
    .onnx = {{"CastLike", 15, HONE_LATEST}},
};
