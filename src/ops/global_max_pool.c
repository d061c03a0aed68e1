/* SPDX-License-Identifier: Apache-2.0 */
/* global_max_pool.c - the largest element of each channel's whole plane. Source: ONNX operator GlobalMaxPool. */
#include "ops/common_nn.h"
#include <math.h>

static double largest(const hone_eval *eval, const hone_tensor *x, int64_t first, int64_t count, int64_t parameter) {
  (void)parameter;
  double best = -(double)INFINITY;
  for (int64_t i = 0; i < count && !isnan(best) && !hn_eval_ends(eval, i + 1); ++i) {
    const double value = hn_real(x, first + i);
    if (value > best || isnan(value)) best = value;
  }
  return best;
}

const hone_op hn_op_global_max_pool = {
    .struct_size = sizeof(hone_op),
    .name = "global_max_pool",
    .doc = "the largest element of each channel's plane",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0}},
    .out = {{"y", 't', 0, 0}},
    .traits = HONE_WINDOWED,
    .infer = hn_infer_global_pool,
    .eval = hn_eval_global_pool,
    .cost = hn_cost_pool,
    .details = &(const hn_pooling){.plane = largest},
    .report_class = "Pooling",
    .onnx = {{.name = "GlobalMaxPool", .first = 1, .last = HONE_LATEST}},
};
