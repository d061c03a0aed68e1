/* SPDX-License-Identifier: Apache-2.0 */
/* random_normal.c - numbers of a normal distribution. Source: ONNX operator RandomNormal. */
#include "ops/common_random.h"

const hone_op hn_op_random_normal = {
    HN_RANDOM_FIELDS,
    .name = "random_normal",
    .doc = "random numbers of a normal distribution",

    .out = {{"y", 0, HONE_TYPES_FLOAT}},
    .attr = {HN_RANDOM_ATTRS, HONE_FLOAT_ATTR("mean", 0.0), HONE_FLOAT_ATTR("scale", 1.0),
             HONE_NEEDED_ATTR("shape", HONE_ATTR_INTS)},
    .details = &(hn_random_draw *const){hn_draw_normal},
    .onnx = {{"RandomNormal", 1, HONE_LATEST, .adapt = "random"}},
};
