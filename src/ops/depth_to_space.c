/* SPDX-License-Identifier: Apache-2.0 */
/* depth_to_space.c - moves channels into b x b blocks of pixels. */
#include "ops/common_move.h"

static hone_status infer(hone_infer *infer) { return hn_infer_depth(infer, true); }

static hone_status eval(hone_eval *eval, const hone_window *window) { return hn_eval_depth(eval, window, true); }

const hone_op hn_op_depth_to_space = {
    .struct_size = sizeof(hone_op),
    .name = "depth_to_space",
    .doc = "channels into blocks of pixels",
    .in = {{"input", 'T', HONE_TYPES_ANY}},
    .out = {{"output", 'T'}},
    .attr = {HONE_NEEDED_ATTR("blocksize", HONE_ATTR_INT), HONE_STRING_ATTR("mode", "DCR")},
    .traits = HONE_MOVES | HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .report_class = "Data movement",
    .onnx = {{"DepthToSpace", 1, HONE_LATEST}},
};
