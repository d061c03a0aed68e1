/* SPDX-License-Identifier: Apache-2.0 */
/* lp_pool.c - the p-norm under a sliding window; pads count as zeros. Source: ONNX operator LpPool (opset 1, where p
 * was a float, is not covered). */
#include "ops/common_nn.h"
#include <math.h>

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_int(infer, "p", 1, INT32_MAX));
  return hn_infer_pool(infer);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0];
  const double p = (double)hn_attr_int(eval->attrs, "p");
  hn_sliding sliding;
  HN_TRY(hn_eval_sliding(eval, x, NULL, &sliding));
  const int64_t taps = hn_sliding_taps(&sliding), plane = hn_sliding_in_size(&sliding), channels = hn_eval_dim(x, 1);
  int64_t first, last, at[HONE_MAX_RANK];
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    hn_unflatten(&eval->out[0].type.shape, flat, at);
    const int64_t base = (at[0] * channels + at[1]) * plane;
    double sum = 0;
    int64_t offset;
    for (int64_t tap = 0; tap < taps; ++tap)
      if (hn_sliding_tap(&sliding, at + 2, tap, &offset) == HN_TAP_INSIDE)
        sum += pow(fabs(hn_real(x, base + offset)), p);
    hn_store_real(&eval->out[0], flat, pow(sum, 1 / p));
  }
  return HONE_OK;
}

const hone_op hn_op_lp_pool = {
    .struct_size = sizeof(hone_op),
    .name = "lp_pool",
    .doc = "the p-norm under a sliding window",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HN_SLIDING_ATTRS, HONE_INT_ATTR("ceil_mode", 0), HONE_NEEDED_ATTR("kernel_shape", HONE_ATTR_INTS),
             HONE_INT_ATTR("p", 2)},
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_pool,
    .onnx = {{.name = "LpPool", .first = 2, .last = HONE_LATEST}},
};
