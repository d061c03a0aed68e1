/* SPDX-License-Identifier: Apache-2.0 */
/* acos.c - arc cosine. */
#include "ops/op.h"

const hone_op hn_op_acos = {
    HN_ELEMENTWISE("acos", "arc cosine", "acos(input)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"input", 'T', HONE_TYPES_FLOAT}},
    .out = {{"output", 'T'}},
    .onnx = {{"Acos", 7, HONE_LATEST}},
};
