/* SPDX-License-Identifier: Apache-2.0 */
/* average_pool.c - the mean under a sliding window. Source: ONNX operator AveragePool.
 * count_include_pad counts the pads as zeros, but never what lies beyond them (ceil_mode's last window). */
#include "ops/common_nn.h"

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0];
  const bool count_pads = hn_attr_int(eval->attrs, "count_include_pad") != 0;
  hn_sliding sliding;
  HN_TRY(hn_eval_sliding(eval, x, NULL, &sliding));
  const int64_t taps = hn_sliding_taps(&sliding), plane = hn_sliding_in_size(&sliding), channels = hn_eval_dim(x, 1);
  int64_t first, last, at[HONE_MAX_RANK];
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    hn_unflatten(&eval->out[0].type.shape, flat, at);
    const int64_t base = (at[0] * channels + at[1]) * plane;
    double sum = 0;
    int64_t count = 0, offset;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const hn_tap where = hn_sliding_tap(&sliding, at + 2, tap, &offset);
      if (where == HN_TAP_INSIDE) sum += hn_real(x, base + offset);
      count += where == HN_TAP_INSIDE || (where == HN_TAP_ON_PAD && count_pads);
    }
    hn_store_real(&eval->out[0], flat, count ? sum / (double)count : 0);
  }
  return HONE_OK;
}

const hone_op hn_op_average_pool = {
    .struct_size = sizeof(hone_op),
    .name = "average_pool",
    .doc = "the mean under a sliding window",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HN_SLIDING_ATTRS, HONE_INT_ATTR("ceil_mode", 0), HONE_INT_ATTR("count_include_pad", 0),
             HONE_NEEDED_ATTR("kernel_shape", HONE_ATTR_INTS)},
    .infer = hn_infer_pool,
    .eval = eval,
    .cost = hn_cost_pool,
    .onnx = {{.name = "AveragePool", .first = 1, .last = HONE_LATEST}},
};
