/* SPDX-License-Identifier: Apache-2.0 */
/* add.c - a + b. */
#include "ops/op.h"

const hone_op hn_op_add = {
    HN_ELEMENTWISE("add", "a + b", "add(a, b)"),
    .traits = HONE_ELEMENTWISE | HONE_COMMUTES,
    .in = {{"a", 'T', HONE_TYPES_NUMBER}, {"b", 'T', HONE_TYPES_NUMBER}},
    .out = {{"c", 'T'}},
    .onnx = {{"Add", 1, 6, .drop = "consumed_inputs", .adapt = "legacy_broadcast"},
             {"Add", 7, HONE_LATEST},
             {"BiasAdd", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_bias_add", .alias = true},
             {"Affine", 1, HONE_LATEST, .adapt = "experimental_affine", .alias = true},
             {"ImageScaler", 1, HONE_LATEST, .adapt = "experimental_image_scaler", .alias = true}},
};
