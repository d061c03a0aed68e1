/* SPDX-License-Identifier: Apache-2.0 */
/* erf.c - Gauss error function. */
#include "ops/op.h"

const hone_op hn_op_erf = {
    HN_ELEMENTWISE("erf", "Gauss error function", "erf(input)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"input", 'T', HONE_TYPES_FLOAT}},
    .out = {{"output", 'T'}},
    .report_class = "Activation",
    .onnx = {{"Erf", 9, HONE_LATEST}},
};
