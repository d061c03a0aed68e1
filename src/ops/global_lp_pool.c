/* SPDX-License-Identifier: Apache-2.0 */
/* global_lp_pool.c - the p-norm of each channel's whole plane. Source: ONNX operator GlobalLpPool. */
#include "ops/common_nn.h"
#include <math.h>

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_int(infer, "p", 1, INT32_MAX));
  return hn_infer_global_pool(infer);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0];
  const int64_t planes = hn_elems(&eval->out[0].type.shape), size = planes ? hn_elems(&x->type.shape) / planes : 0;
  int64_t first, last;
  const double p = (double)hn_attr_int(eval->attrs, "p");
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    double sum = 0;
    for (int64_t i = 0; i < size; ++i) sum += pow(fabs(hn_real(x, flat * size + i)), p);
    hn_store_real(&eval->out[0], flat, pow(sum, 1 / p));
  }
  return HONE_OK;
}

const hone_op hn_op_global_lp_pool = {
    .struct_size = sizeof(hone_op),
    .name = "global_lp_pool",
    .doc = "the p-norm of each channel's plane",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HONE_INT_ATTR("p", 2)},
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_pool,
    .onnx = {{.name = "GlobalLpPool", .first = 2, .last = HONE_LATEST}},
};
