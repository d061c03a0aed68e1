/* SPDX-License-Identifier: Apache-2.0 */
/* mean_variance_normalization.c - (x - mean) / (standard deviation + 1e-9) over any axes (by default 0, 2, 3).
 * Source: ONNX operator MeanVarianceNormalization. */
#include "ops/common_nn.h"
#include <math.h>

static const int64_t default_axes[] = {0, 2, 3};

static int axes_of(const hone_attrs *attrs, const int64_t **out) {
  if (hn_attr_has(attrs, "axes")) return hn_attr_ints(attrs, "axes", out);
  *out = default_axes;
  return (int)HN_COUNT(default_axes);
}

static hone_status infer(hone_infer *infer) {
  const int64_t *axes = NULL;
  const int count = axes_of(infer->attrs, &axes), rank = hn_in_rank(infer, 0);
  for (int i = 0, axis; rank >= 0 && i < count; ++i) HN_TRY(hn_infer_axis(infer, axes[i], rank, &axis));
  return hn_infer_same(infer);
}

/* Walks the elements that share their kept coordinates with `base`: inner is the shape of the reduced axes. */
static hn_moments moments_of(const hone_tensor *x, const hone_shape *inner, const int64_t *stride, int64_t base) {
  const int64_t count = hn_elems(inner);
  int64_t at[HONE_MAX_RANK];
  double sum = 0, square = 0;
  for (int64_t i = 0; i < count; ++i) {
    hn_unflatten(inner, i, at);
    sum += hn_real(x, base + hn_flatten(inner->rank, at, stride));
  }
  const double mean = sum / (double)count;
  for (int64_t i = 0; i < count; ++i) {
    hn_unflatten(inner, i, at);
    const double difference = hn_real(x, base + hn_flatten(inner->rank, at, stride)) - mean;
    square += difference * difference;
  }
  return (hn_moments){mean, square / (double)count};
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0];
  const int64_t *axes = NULL;
  const int count = axes_of(eval->attrs, &axes), rank = x->type.shape.rank;
  hone_shape inner = x->type.shape, outer = x->type.shape;
  bool reduced[HONE_MAX_RANK] = {false};
  int64_t stride[HONE_MAX_RANK], at[HONE_MAX_RANK];
  (void)window; /* one group's moments serve many elements: all are computed */
  hn_strides(&x->type.shape, stride);
  for (int i = 0; i < count; ++i) reduced[axes[i] < 0 ? axes[i] + rank : axes[i]] = true;
  for (int i = 0; i < rank; ++i) reduced[i] ? (outer.dim[i] = 1) : (inner.dim[i] = 1);
  const int64_t groups = hn_elems(&outer), size = hn_elems(&inner);
  for (int64_t group = 0; size && group < groups; ++group) {
    hn_unflatten(&outer, group, at);
    const int64_t base = hn_flatten(rank, at, stride);
    const hn_moments moments = moments_of(x, &inner, stride, base);
    for (int64_t i = 0; i < size; ++i) {
      hn_unflatten(&inner, i, at);
      const int64_t where = base + hn_flatten(rank, at, stride);
      hn_store_real(&eval->out[0], where, (hn_real(x, where) - moments.mean) / (sqrt(moments.variance) + 1e-9));
    }
  }
  return HONE_OK;
}

const hone_op hn_op_mean_variance_normalization = {
    .struct_size = sizeof(hone_op),
    .name = "mean_variance_normalization",
    .doc = "normalises to mean 0 and variance 1 over some axes",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HONE_OPTIONAL_ATTR("axes", HONE_ATTR_INTS)},
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_norm,
    .report_class = "Normalization",
    .onnx = {{.name = "MeanVarianceNormalization", .first = 9, .last = HONE_LATEST},
             {"MeanVarianceNormalization", 1, 8, .adapt = "experimental_mean_variance", .alias = true}},
};
