/* SPDX-License-Identifier: Apache-2.0 */
/* global_average_pool.c - the mean of each channel's whole plane. Source: ONNX operator GlobalAveragePool. */
#include "ops/common_nn.h"

static double mean(const hone_eval *eval, const hone_tensor *x, int64_t first, int64_t count, int64_t parameter) {
  (void)parameter;
  double sum = 0;
  for (int64_t i = 0; i < count && !hn_eval_ends(eval, i + 1); ++i) sum += hn_real(x, first + i);
  return sum / (double)count; /* NaN where there is nothing, as of every mean */
}

const hone_op hn_op_global_average_pool = {
    .struct_size = sizeof(hone_op),
    .name = "global_average_pool",
    .doc = "the mean of each channel's plane",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0}},
    .out = {{"y", 't', 0, 0}},
    .traits = HONE_WINDOWED,
    .infer = hn_infer_global_pool,
    .eval = hn_eval_global_pool,
    .cost = hn_cost_pool,
    .details = &(const hn_pooling){.plane = mean},
    .report_class = "Pooling",
    .onnx = {{.name = "GlobalAveragePool", .first = 1, .last = HONE_LATEST}},
};
