/* SPDX-License-Identifier: Apache-2.0 */
/* hann_window.c - the Hann window. */
#include "ops/common_elementwise.h"

const hone_op hn_op_hann_window = {
    HN_WINDOW_FIELDS,
    .name = "hann_window",
    .doc = "the Hann window",
    .details = (const double[]){0.5, 0.5, 0},
    .onnx = {{"HannWindow", 17, HONE_LATEST}},
};
