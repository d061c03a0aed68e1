/* SPDX-License-Identifier: Apache-2.0 */
/* selu.c - gamma * x, or gamma * alpha * (exp(x) - 1) when not positive.
 * The defaults are the f32 numbers of the specification, so that a model that spells them out is the same node. */
#include "ops/op.h"

const hone_op hn_op_selu = {
    HN_ELEMENTWISE("selu", "gamma * x, or gamma * alpha * (exp(x) - 1) when not positive",
                   "mul($gamma, select(gt(x, 0), x, mul($alpha, sub(exp(x), 1))))"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_FLOAT}},
    .out = {{"y", 'T'}},
    .attr = {HONE_FLOAT_ATTR("alpha", 1.67326319217681884765625), HONE_FLOAT_ATTR("gamma", 1.05070102214813232421875)},
    .report_class = "Activation",
    .onnx = {{"Selu", 1, HONE_LATEST, .drop = "consumed_inputs"}},
};
