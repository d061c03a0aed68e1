/* SPDX-License-Identifier: Apache-2.0 */
/* random_normal_like.c - numbers of a normal distribution, as many as the input has. Source: ONNX operator
 * RandomNormalLike. */
#include "ops/common_random.h"

const hone_op hn_op_random_normal_like = {
    HN_RANDOM_FIELDS,
    .name = "random_normal_like",
    .doc = "random numbers of a normal distribution, in the shape of the input",
    .in = {{"like", 0, HONE_TYPES_NUMBER | HONE_TYPES_BOOL}},
    .out = {{"y", 0, HONE_TYPES_FLOAT}},
    .attr = {HN_RANDOM_ATTRS, HONE_FLOAT_ATTR("mean", 0.0), HONE_FLOAT_ATTR("scale", 1.0)},
    .details = &(hn_random_draw *const){hn_draw_normal},
    .onnx = {{"RandomNormalLike", 1, HONE_LATEST, .adapt = "random"}},
};
