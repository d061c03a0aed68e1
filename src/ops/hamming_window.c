/* SPDX-License-Identifier: Apache-2.0 */
/* hamming_window.c - the Hamming window. */
#include "ops/common_elementwise.h"

const hone_op hn_op_hamming_window = {
    HN_WINDOW_FIELDS,
    .name = "hamming_window",
    .doc = "the Hamming window",
    .details = (const double[]){25.0 / 46, 21.0 / 46, 0},
    .onnx = {{"HammingWindow", 17, HONE_LATEST}},
};
