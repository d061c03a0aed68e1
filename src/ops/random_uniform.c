/* SPDX-License-Identifier: Apache-2.0 */
/* random_uniform.c - numbers that are equally likely anywhere in [low, high). Source: ONNX operator RandomUniform. */
#include "ops/common_random.h"

const hone_op hn_op_random_uniform = {
    HN_RANDOM_FIELDS,
    .name = "random_uniform",
    .doc = "random numbers between two bounds",

    .out = {{"y", 0, HONE_TYPES_FLOAT}},
    .attr = {HN_RANDOM_ATTRS, HONE_FLOAT_ATTR("low", 0.0), HONE_FLOAT_ATTR("high", 1.0),
             HONE_NEEDED_ATTR("shape", HONE_ATTR_INTS)},
    .details = &(hn_random_draw *const){hn_draw_uniform},
    .onnx = {{"RandomUniform", 1, HONE_LATEST, .adapt = "random"}},
};
