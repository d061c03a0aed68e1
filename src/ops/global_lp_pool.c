/* SPDX-License-Identifier: Apache-2.0 */
/* global_lp_pool.c - the p-norm of each channel's whole plane. Source: ONNX operator GlobalLpPool. */
#include "ops/common_nn.h"
#include <math.h>

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_int(infer, "p", 1, INT32_MAX));
  return hn_infer_global_pool(infer);
}

static double norm(const hone_eval *eval, const hone_tensor *x, int64_t first, int64_t count, int64_t parameter) {
  const double p = (double)parameter;
  double sum = 0;
  for (int64_t i = 0; i < count && !hn_eval_ends(eval, i + 1); ++i) sum += pow(fabs(hn_real(x, first + i)), p);
  return pow(sum, 1 / p);
}

const hone_op hn_op_global_lp_pool = {
    .struct_size = sizeof(hone_op),
    .name = "global_lp_pool",
    .doc = "the p-norm of each channel's plane",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HONE_INT_ATTR("p", 2)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = hn_eval_global_pool,
    .cost = hn_cost_pool,
    .details = &(const hn_pooling){.plane = norm, .parameter = "p"},
    .report_class = "Pooling",
    .onnx = {{.name = "GlobalLpPool", .first = 2, .last = HONE_LATEST}},
};
