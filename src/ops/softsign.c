/* SPDX-License-Identifier: Apache-2.0 */
/* softsign.c - x / (1 + |x|). */
#include "ops/op.h"

const hone_op hn_op_softsign = {
    HN_ELEMENTWISE("softsign", "x / (1 + |x|)", "div(input, add(1, abs(input)))"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"input", 'T', HONE_TYPES_FLOAT}},
    .out = {{"output", 'T'}},
    .report_class = "Activation",
    .onnx = {{"Softsign", 1, HONE_LATEST}},
};
