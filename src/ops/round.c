/* SPDX-License-Identifier: Apache-2.0 */
/* round.c - nearest integer, halves to even. */
#include "ops/op.h"

const hone_op hn_op_round = {
    HN_ELEMENTWISE("round", "nearest integer, halves to even", "round(x)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_FLOAT}},
    .out = {{"y", 'T'}},
    .onnx = {{"Round", 11, HONE_LATEST}},
};
