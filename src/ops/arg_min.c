/* SPDX-License-Identifier: Apache-2.0 */
/* arg_min.c - the index of the smallest element along one axis. */
#include "ops/common_reduce.h"

const hone_op hn_op_arg_min = {
    .struct_size = sizeof(hone_op),
    .name = "arg_min",
    .doc = "the index of the smallest element along one axis",
    .in = {{"data", 0, HONE_TYPES_NUMBER}},
    .out = {{"reduced", 0, HONE_BIT(HONE_I64)}},
    .attr = {HONE_INT_ATTR("axis", 0), HONE_INT_ATTR("keepdims", 1), HONE_INT_ATTR("select_last_index", 0)},
    .traits = HONE_WINDOWED,
    .infer = hn_infer_arg,
    .eval = hn_eval_arg,
    .cost = hn_cost_reduce,
    .details = &(const bool){false},
    .onnx = {{"ArgMin", 1, HONE_LATEST}},
};
