/* SPDX-License-Identifier: Apache-2.0 */
/* group_norm.c - normalises groups of channels of each image. Source: ONNX operator GroupNormalization (Wu, He 2018).
 * scale and bias have one element a channel (opset 21) or one a group (opset 18): their length tells. */
#include "ops/common_nn.h"
#include <math.h>

static hone_status infer(hone_infer *infer) {
  const int64_t groups = hn_attr_int(infer->attrs, "num_groups");
  HN_TRY(hn_want_int(infer, "num_groups", 1, INT64_MAX));
  HN_TRY(hn_want_rank(infer, 0, 2, HONE_MAX_RANK));
  const hone_shape *x = hn_in_shape(infer, 0);
  if (x->rank >= 0 && !HONE_SYMBOLIC(x->dim[1]) && x->dim[1] % groups)
    return HN_INFER_FAIL(infer, "%lld channels cannot be split into %lld groups", (long long)x->dim[1],
                         (long long)groups);
  for (int i = 1; i < 3; ++i) {
    HN_TRY(hn_want_rank(infer, i, 1, 1));
    if (x->rank >= 0 && hn_in_rank(infer, i) == 1 && hn_dims_differ(hn_in_shape(infer, i)->dim[0], groups))
      HN_TRY(hn_want_dim(infer, i, 0, x->dim[1], "the number of channels"));
  }
  hn_out_shape(infer, 0, x->rank, x->dim);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0], *scale = &eval->in[1], *bias = &eval->in[2];
  const int64_t total = hn_elems(&x->type.shape), channels = hn_eval_dim(x, 1);
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  if (!total) return HONE_OK;
  const int64_t groups = hn_attr_int(eval->attrs, "num_groups"), size = total / x->type.shape.dim[0] / channels;
  const int64_t in_group = channels / groups, group_size = in_group * size;
  const int64_t scale_span = hn_eval_dim(scale, 0) == channels ? 1 : in_group; /* channels that share an element */
  const int64_t bias_span = hn_eval_dim(bias, 0) == channels ? 1 : in_group;
  for (int64_t begin = first; begin < last;) { /* one group at a time */
    const int64_t group = begin / group_size, end = (group + 1) * group_size < last ? (group + 1) * group_size : last;
    if (hn_eval_stopped(eval)) return HONE_OK;
    const hn_moments moments = hn_moments_of(eval, x, group * group_size, group_size, 1);
    const double inverse = 1 / sqrt(moments.variance + hn_attr_float(eval->attrs, "epsilon"));
    for (; begin < end; ++begin) {
      if (hn_eval_ends(eval, begin)) return HONE_OK;
      const int64_t c = begin / size % channels;
      const double y = (hn_real(x, begin) - moments.mean) * inverse;
      hn_store_real(&eval->out[0], begin, y * hn_real(scale, c / scale_span) + hn_real(bias, c / bias_span));
    }
  }
  return HONE_OK;
}

const hone_op hn_op_group_norm = {
    .struct_size = sizeof(hone_op),
    .name = "group_norm",
    .doc = "normalises groups of channels of each image",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0},
           {"scale", 't', HONE_TYPES_FLOAT, HONE_PORT_PARAM},
           {"bias", 't', HONE_TYPES_FLOAT, HONE_PORT_PARAM}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HONE_FLOAT_ATTR("epsilon", 1e-5f), HONE_NEEDED_ATTR("num_groups", HONE_ATTR_INT),
             HONE_INT_ATTR("stash_type", 1)},
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_norm,
    .report_class = "Normalization",
    .onnx = {{.name = "GroupNormalization", .first = 18, .last = HONE_LATEST},
             {"GroupNorm", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_group_norm", .alias = true},
             {"SkipGroupNorm", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_group_norm", .alias = true}},
};
