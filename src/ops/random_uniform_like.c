/* SPDX-License-Identifier: Apache-2.0 */
/* random_uniform_like.c - numbers that are equally likely anywhere in [low, high), as many as the input has. Source:
 * ONNX operator RandomUniformLike. */
#include "ops/common_random.h"

const hone_op hn_op_random_uniform_like = {
    HN_RANDOM_FIELDS,
    .name = "random_uniform_like",
    .doc = "random numbers between two bounds, in the shape of the input",
    .in = {{"like", 0, HONE_TYPES_NUMBER | HONE_TYPES_BOOL}},
    .out = {{"y", 0, HONE_TYPES_FLOAT}},
    .attr = {HN_RANDOM_ATTRS, HONE_FLOAT_ATTR("low", 0.0), HONE_FLOAT_ATTR("high", 1.0)},
    .details = &(hn_random_draw *const){hn_draw_uniform},
    .onnx = {{"RandomUniformLike", 1, HONE_LATEST, .adapt = "random"}},
};
