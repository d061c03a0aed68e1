/* SPDX-License-Identifier: Apache-2.0 */
/* blackman_window.c - the Blackman window. */
#include "ops/common_elementwise.h"

const hone_op hn_op_blackman_window = {
    HN_WINDOW_FIELDS,
    .name = "blackman_window",
    .doc = "the Blackman window",
    .details = (const double[]){0.42, 0.5, 0.08},
    .onnx = {{"BlackmanWindow", 17, HONE_LATEST}},
};
