/* SPDX-License-Identifier: Apache-2.0 */
/* global_max_pool.c - the largest element of each channel's whole plane. Source: ONNX operator GlobalMaxPool. */
#include "ops/common_nn.h"
#include <math.h>

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0];
  const int64_t planes = hn_elems(&eval->out[0].type.shape), size = planes ? hn_elems(&x->type.shape) / planes : 0;
  int64_t first, last;

  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    double best = -(double)INFINITY;
    for (int64_t i = 0; i < size; ++i) {
      const double value = hn_real(x, flat * size + i);
      if (value > best || isnan(value)) best = value;
      if (isnan(best)) break;
    }
    hn_store_real(&eval->out[0], flat, best);
  }
  return HONE_OK;
}

const hone_op hn_op_global_max_pool = {
    .struct_size = sizeof(hone_op),
    .name = "global_max_pool",
    .doc = "the largest element of each channel's plane",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0}},
    .out = {{"y", 't', 0, 0}},

    .infer = hn_infer_global_pool,
    .eval = eval,
    .cost = hn_cost_pool,
    .onnx = {{.name = "GlobalMaxPool", .first = 1, .last = HONE_LATEST}},
};
