/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool.c - the largest element under a sliding window, and where it was. Source: ONNX operator MaxPool.
 * The first of equal elements wins; a NaN wins over numbers. A window that holds padding only gives the lowest value of
 * the type and index -1. */
#include "ops/common_nn.h"
#include <math.h>

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_int(infer, "storage_order", 0, 1));
  return hn_infer_pool(infer);
}

/* The flat index of a spatial offset when the first spatial axis is the fastest. */
static int64_t column_major(const hn_sliding *sliding, int64_t offset) {
  int64_t index = 0, inner = hn_sliding_in_size(sliding);
  for (int i = sliding->spatial - 1; i >= 0; --i) {
    inner /= sliding->in[i];
    index += offset % sliding->in[i] * inner;
    offset /= sliding->in[i];
  }
  return index;
}

static double lowest(hone_dtype dtype) { return dtype == HONE_I8 ? -128 : dtype == HONE_U8 ? 0 : -(double)INFINITY; }

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0];
  const bool by_column = hn_attr_int(eval->attrs, "storage_order") == 1, indices = hn_eval_wanted(eval, 1);
  hn_sliding sliding;
  HN_TRY(hn_eval_sliding(eval, x, NULL, &sliding));
  hn_window_taps taps;
  const int64_t plane = hn_sliding_in_size(&sliding), channels = hn_eval_dim(x, 1);
  int64_t first, last, at[HONE_MAX_RANK];
  hn_window_joint(eval, window, &first, &last);
  for (int64_t flat = first; flat < last && !hn_eval_ends(eval, flat); ++flat) {
    hn_unflatten(&eval->out[0].type.shape, flat, at);
    const int64_t base = (at[0] * channels + at[1]) * plane;
    double best = lowest(x->type.dtype);
    int64_t best_offset = -1, offset;
    for (bool more = hn_window_taps_begin(&taps, &sliding, at + 2, &offset); more;
         more = hn_window_taps_next(&taps, &offset)) {
      const double value = hn_real(x, base + offset);
      if (best_offset >= 0 && !(value > best) && !(isnan(value) && !isnan(best))) continue;
      best = value, best_offset = offset;
    }
    if (hn_eval_wanted(eval, 0)) hn_store_real(&eval->out[0], flat, best);
    if (!indices) continue;
    const int64_t spatial = by_column && best_offset >= 0 ? column_major(&sliding, best_offset) : best_offset;
    hn_store_int(&eval->out[1], flat, best_offset < 0 ? -1 : base + spatial);
  }
  return HONE_OK;
}

const hone_op hn_op_max_pool = {
    .struct_size = sizeof(hone_op),
    .name = "max_pool",
    .doc = "the largest element under a sliding window",
    .in = {{"x", 't', HONE_TYPES_FLOAT | HONE_BIT(HONE_I8) | HONE_BIT(HONE_U8), 0}},
    .out = {{"y", 't', 0, 0}, {"indices", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .attr = {HN_SLIDING_ATTRS, HONE_INT_ATTR("ceil_mode", 0), HONE_NEEDED_ATTR("kernel_shape", HONE_ATTR_INTS),
             HONE_INT_ATTR("storage_order", 0)},
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_pool,
    .report_class = "Pooling",
    .onnx = {{.name = "MaxPool", .first = 1, .last = HONE_LATEST},
             {"NhwcMaxPool", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_pool_last", .alias = true}},
};
