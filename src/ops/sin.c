/* SPDX-License-Identifier: Apache-2.0 */
/* sin.c - sine. */
#include "ops/op.h"

const hone_op hn_op_sin = {
    HN_ELEMENTWISE("sin", "sine", "sin(input)"), .traits = HONE_ELEMENTWISE,
    .in = {{"input", 'T', HONE_TYPES_FLOAT}},    .out = {{"output", 'T'}},
    .onnx = {{"Sin", 7, HONE_LATEST}},
};
