/* SPDX-License-Identifier: Apache-2.0 */
/* sub.c - a - b. */
#include "ops/op.h"

const hone_op hn_op_sub = {
    HN_ELEMENTWISE("sub", "a - b", "sub(a, b)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"a", 'T', HONE_TYPES_NUMBER}, {"b", 'T', HONE_TYPES_NUMBER}},
    .out = {{"c", 'T'}},
    .onnx = {{"Sub", 1, 6, .drop = "consumed_inputs", .adapt = "legacy_broadcast"},
             {"Sub", 7, HONE_LATEST},
             {"Adagrad", 1, HONE_LATEST, "ai.onnx.preview.training", .adapt = "training_adagrad", .alias = true},
             {"Adam", 1, HONE_LATEST, "ai.onnx.preview.training", .adapt = "training_adam", .alias = true},
             {"Momentum", 1, HONE_LATEST, "ai.onnx.preview.training", .adapt = "training_momentum", .alias = true}},
};
