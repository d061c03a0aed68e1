/* SPDX-License-Identifier: Apache-2.0 */
/* depth_to_space.c - moves channels into b x b blocks of pixels. */
#include "ops/common_move.h"

const hone_op hn_op_depth_to_space = {
    .struct_size = sizeof(hone_op),
    .name = "depth_to_space",
    .doc = "channels into blocks of pixels",
    .in = {{"input", 'T', HONE_TYPES_ANY}},
    .out = {{"output", 'T'}},
    .attr = {HONE_NEEDED_ATTR("blocksize", HONE_ATTR_INT), HONE_STRING_ATTR("mode", "DCR")},
    .traits = HONE_MOVES | HONE_WINDOWED,
    .infer = hn_infer_depth,
    .eval = hn_eval_depth,
    .cost = hn_cost_copy,
    .details = &(const bool){true},
    .report_class = "Data movement",
    .onnx = {{"DepthToSpace", 1, HONE_LATEST}},
};
