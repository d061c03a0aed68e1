/* SPDX-License-Identifier: Apache-2.0 */
/* space_to_depth.c - moves b x b blocks of pixels into channels. */
#include "ops/common_move.h"

const hone_op hn_op_space_to_depth = {
    .struct_size = sizeof(hone_op),
    .name = "space_to_depth",
    .doc = "blocks of pixels into channels",
    .in = {{"input", 'T', HONE_TYPES_ANY}},
    .out = {{"output", 'T'}},
    .attr = {HONE_NEEDED_ATTR("blocksize", HONE_ATTR_INT), HONE_STRING_ATTR("mode", "DCR")},
    .traits = HONE_MOVES | HONE_WINDOWED,
    .infer = hn_infer_depth,
    .eval = hn_eval_depth,
    .cost = hn_cost_copy,
    .details = &(const bool){false},
    .report_class = "Data movement",
    .onnx = {{"SpaceToDepth", 1, HONE_LATEST}},
};
