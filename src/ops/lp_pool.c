/* SPDX-License-Identifier: Apache-2.0 */
/* lp_pool.c - the p-norm under a sliding window; pads count as zeros. Source: ONNX operator LpPool (opset 1, where p
 * was a float, is not covered). */
#include "ops/common_nn.h"
#include <math.h>

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_int(infer, "p", 1, INT32_MAX));
  return hn_infer_pool(infer);
}

static double norm(const hn_pool_window *window, int64_t parameter) {
  const double p = (double)parameter;
  double sum = 0;
  int64_t offset;
  hn_window_taps taps;
  for (bool more = hn_window_taps_begin(&taps, window->sliding, window->at, &offset); more;
       more = hn_window_taps_next(&taps, &offset))
    sum += pow(fabs(hn_real(window->x, window->base + offset)), p);
  return pow(sum, 1 / p);
}

const hone_op hn_op_lp_pool = {
    .struct_size = sizeof(hone_op),
    .name = "lp_pool",
    .doc = "the p-norm under a sliding window",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HN_SLIDING_ATTRS, HONE_INT_ATTR("ceil_mode", 0), HONE_NEEDED_ATTR("kernel_shape", HONE_ATTR_INTS),
             HONE_INT_ATTR("p", 2)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = hn_eval_pool,
    .cost = hn_cost_pool,
    .details = &(const hn_pooling){.window = norm, .parameter = "p"},
    .report_class = "Pooling",
    .onnx = {{.name = "LpPool", .first = 2, .last = HONE_LATEST}},
};
