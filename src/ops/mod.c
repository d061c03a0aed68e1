/* SPDX-License-Identifier: Apache-2.0 */
/* mod.c - remainder with the sign of b, or with the sign of a when fmod is 1. */
#include "ops/op.h"

const hone_op hn_op_mod = {
    HN_ELEMENTWISE("mod", "remainder with the sign of b, or with the sign of a when fmod is 1",
                   "select($fmod, fmod(a, b), mod(a, b))"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"a", 'T', HONE_TYPES_NUMBER}, {"b", 'T', HONE_TYPES_NUMBER}},
    .out = {{"c", 'T'}},
    .attr = {HONE_INT_ATTR("fmod", 0)},
    .onnx = {{"Mod", 10, HONE_LATEST}},
};
