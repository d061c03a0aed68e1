/* SPDX-License-Identifier: Apache-2.0 */
/* where.c - x where the condition holds, else y. */
#include "ops/op.h"

const hone_op hn_op_where = {
    HN_ELEMENTWISE("where", "x where the condition holds, else y", "select(condition, x, y)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"condition", 0, HONE_TYPES_BOOL}, {"x", 'T', HONE_TYPES_ANY}, {"y", 'T', HONE_TYPES_ANY}},
    .out = {{"output", 'T'}},
    .onnx = {{"Where", 9, HONE_LATEST},
             {"Imputer", 1, HONE_LATEST, "ai.onnx.ml", .adapt = "ml_imputer", .alias = true},
             {"QLinearWhere", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_qlinear_where", .alias = true}},
};
