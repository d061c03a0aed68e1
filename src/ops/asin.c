/* SPDX-License-Identifier: Apache-2.0 */
/* asin.c - arc sine. */
#include "ops/op.h"

const hone_op hn_op_asin = {
    HN_ELEMENTWISE("asin", "arc sine", "asin(input)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"input", 'T', HONE_TYPES_FLOAT}},
    .out = {{"output", 'T'}},
    .onnx = {{"Asin", 7, HONE_LATEST}},
};
