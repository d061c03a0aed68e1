/* SPDX-License-Identifier: Apache-2.0 */
/* instance_norm.c - normalises each channel's plane of each image. Source: ONNX operator InstanceNormalization. */
#include "ops/common_nn.h"
#include <math.h>

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_rank(infer, 0, 2, HONE_MAX_RANK));
  const hone_shape *x = hn_in_shape(infer, 0);
  for (int i = 1; i < 3; ++i) {
    HN_TRY(hn_want_rank(infer, i, 1, 1));
    if (x->rank >= 0) HN_TRY(hn_want_dim(infer, i, 0, x->dim[1], "the number of channels"));
  }
  hn_out_shape(infer, 0, x->rank, x->dim);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0];
  const int64_t total = hn_elems(&x->type.shape), channels = hn_eval_dim(x, 1);
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  if (!total) return HONE_OK;
  const int64_t size = total / x->type.shape.dim[0] / channels;
  for (int64_t begin = first; begin < last;) { /* one plane at a time */
    const int64_t plane = begin / size, c = plane % channels,
                  end = (plane + 1) * size < last ? (plane + 1) * size : last;
    if (hn_eval_stopped(eval)) return HONE_OK;
    const hn_moments moments = hn_moments_of(eval, x, plane * size, size, 1);
    const double scale = hn_real(&eval->in[1], c) / sqrt(moments.variance + hn_attr_float(eval->attrs, "epsilon"));
    for (; begin < end; ++begin) {
      if (hn_eval_ends(eval, begin)) return HONE_OK;
      hn_store_real(&eval->out[0], begin, (hn_real(x, begin) - moments.mean) * scale + hn_real(&eval->in[2], c));
    }
  }
  return HONE_OK;
}

const hone_op hn_op_instance_norm = {
    .struct_size = sizeof(hone_op),
    .name = "instance_norm",
    .doc = "normalises each channel's plane of each image",
    .in = {{"input", 't', HONE_TYPES_FLOAT, 0},
           {"scale", 't', HONE_TYPES_FLOAT, HONE_PORT_PARAM},
           {"b", 't', HONE_TYPES_FLOAT, HONE_PORT_PARAM}},
    .out = {{"output", 't', 0, 0}},
    .attr = {HONE_FLOAT_ATTR("epsilon", 1e-5f)},
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_norm,
    .report_class = "Normalization",
    .onnx = {{.name = "InstanceNormalization", .first = 1, .last = HONE_LATEST, .drop = "consumed_inputs"}},
};
