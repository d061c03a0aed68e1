/* SPDX-License-Identifier: Apache-2.0 */
/* rms_norm.c - x / sqrt(mean(x^2) + epsilon) * scale over the axes from `axis` on.
 * Source: ONNX operator RMSNormalization (Zhang, Sennrich 2019). */
#include "ops/common_nn.h"
#include <math.h>

static hone_status infer(hone_infer *infer) {
  int axis;
  HN_TRY(hn_want_rank(infer, 0, 1, HONE_MAX_RANK));
  const hone_shape *x = hn_in_shape(infer, 0), *scale = hn_in_shape(infer, 1);
  if (x->rank < 0) return HONE_OK;
  HN_TRY(hn_infer_axis(infer, hn_attr_int(infer->attrs, "axis"), x->rank, &axis));
  HN_TRY(hn_want_rank(infer, 1, 0, x->rank));
  for (int i = 0; i < scale->rank; ++i)
    if (scale->dim[i] != 1) HN_TRY(hn_want_dim(infer, 1, i, x->dim[x->rank - scale->rank + i], "that of x"));
  hn_out_shape(infer, 0, x->rank, x->dim);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0];
  const hone_shape *shape = &x->type.shape;
  const int64_t axis = hn_attr_int(eval->attrs, "axis");
  int64_t size = 1, first, last, stride[HONE_MAX_RANK], at[HONE_MAX_RANK];
  for (int64_t i = axis < 0 ? axis + shape->rank : axis; i < shape->rank; ++i) size *= shape->dim[i];
  hn_broadcast_strides(&eval->in[1].type.shape, shape, stride);
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t begin = first; begin < last;) { /* one row at a time */
    const int64_t row = begin / size, end = (row + 1) * size < last ? (row + 1) * size : last;
    double square = 0;
    for (int64_t i = row * size; i < (row + 1) * size; ++i) square += hn_real(x, i) * hn_real(x, i);
    const double root = sqrt(square / (double)size + hn_attr_float(eval->attrs, "epsilon"));
    for (int64_t i = begin; i < end; ++i) {
      hn_unflatten(shape, i, at);
      hn_store_real(&eval->out[0], i,
                    hn_real(x, i) / root * hn_real(&eval->in[1], hn_flatten(shape->rank, at, stride)));
    }
    begin = end;
  }
  return HONE_OK;
}

const hone_op hn_op_rms_norm = {
    .struct_size = sizeof(hone_op),
    .name = "rms_norm",
    .doc = "divides by the root mean square over the last axes, with scale",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0}, {"scale", 'v', HONE_TYPES_FLOAT, HONE_PORT_PARAM}},
    .out = {{"y", 'v', 0, 0}},
    .attr = {HONE_INT_ATTR("axis", -1), HONE_FLOAT_ATTR("epsilon", 1e-5f), HONE_INT_ATTR("stash_type", 1)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_norm,
    .report_class = "Normalization",
    .onnx = {{.name = "RMSNormalization", .first = 23, .last = HONE_LATEST},
             {.name = "SimplifiedLayerNormalization", .first = 1, .last = HONE_LATEST, .alias = true},
             {"SkipSimplifiedLayerNormalization", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_skip_norm",
              .alias = true}},
};
