/* SPDX-License-Identifier: Apache-2.0 */
/* average_pool.c - the mean under a sliding window. Source: ONNX operator AveragePool.
 * count_include_pad counts the pads as zeros, but never what lies beyond them (ceil_mode's last window). */
#include "ops/common_nn.h"

static double mean(const hn_pool_window *window, int64_t count_pads) {
  double sum = 0;
  int64_t offset;
  hn_window_taps taps;
  for (bool more = hn_window_taps_begin(&taps, window->sliding, window->at, &offset); more;
       more = hn_window_taps_next(&taps, &offset))
    sum += hn_real(window->x, window->base + offset);
  const double count = count_pads ? taps.padded : (double)taps.inside;
  return count > 0 ? sum / count : 0;
}

const hone_op hn_op_average_pool = {
    .struct_size = sizeof(hone_op),
    .name = "average_pool",
    .doc = "the mean under a sliding window",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HN_SLIDING_ATTRS, HONE_INT_ATTR("ceil_mode", 0), HONE_INT_ATTR("count_include_pad", 0),
             HONE_NEEDED_ATTR("kernel_shape", HONE_ATTR_INTS)},
    .traits = HONE_WINDOWED,
    .infer = hn_infer_pool,
    .eval = hn_eval_pool,
    .cost = hn_cost_pool,
    .details = &(const hn_pooling){.window = mean, .parameter = "count_include_pad"},
    .report_class = "Pooling",
    .onnx = {{.name = "AveragePool", .first = 1, .last = HONE_LATEST},
             {"QLinearAveragePool", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_average_of_bytes", .alias = true}},
};
