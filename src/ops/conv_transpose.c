/* SPDX-License-Identifier: Apache-2.0 */
/* conv_transpose.c - transposed convolution, the gradient of conv with respect to its input, and the activation that
 * passes fuse into it: act(conv_transpose(x, w) + b).
 * w is [C, M / group, kernel...]. Source: ONNX operator ConvTranspose. */
#include "ops/common_nn.h"

static hone_status infer(hone_infer *infer) {
  const int64_t group = hn_attr_int(infer->attrs, "group");
  int64_t kernel[HN_MAX_SPATIAL], dim[HONE_MAX_RANK];
  hn_sliding sliding;
  bool known = true;
  HN_TRY(hn_epilogue_infer(infer, -1));
  HN_TRY(hn_want_rank(infer, 0, 3, HONE_MAX_RANK));
  HN_TRY(hn_want_rank(infer, 1, 3, HONE_MAX_RANK));
  if (group < 1) return HN_INFER_FAIL(infer, "group is %lld, expected 1 or more", (long long)group);
  const hone_shape *x = hn_in_shape(infer, 0), *w = hn_in_shape(infer, 1);
  if (x->rank < 0) return HONE_OK;
  if (w->rank >= 0 && w->rank != x->rank)
    return HN_INFER_FAIL(infer, "w has rank %d, but x has rank %d", w->rank, x->rank);
  HN_TRY(hn_sliding_kernel(infer, x->rank - 2, 1, kernel, &known));
  if (w->rank < 0 || !known) return hn_out_after_run(infer, 0, x->rank, INT64_MAX);
  HN_TRY(hn_want_dim(infer, 1, 0, x->dim[1], "the number of x's channels"));
  if (!HONE_SYMBOLIC(w->dim[0]) && w->dim[0] % group)
    return HN_INFER_FAIL(infer, "%lld channels cannot be split into %lld groups", (long long)w->dim[0],
                         (long long)group);
  int64_t outs = 0;
  if (!HONE_SYMBOLIC(w->dim[1]) && !hn_mul_i64(w->dim[1], group, &outs))
    return HN_INFER_FAIL(infer, "group %lld is too large", (long long)group);
  if (HONE_SYMBOLIC(w->dim[1])) outs = hn_dim_mul(infer->dims, w->dim[1], group);
  HN_TRY(hn_want_rank(infer, 2, 1, 1));
  HN_TRY(hn_want_dim(infer, 2, 0, outs, "the number of output channels"));
  HN_TRY(hn_sliding_make_transposed(infer->diagnostics, infer->dims, infer->attrs, x, kernel, &sliding));
  dim[0] = x->dim[0], dim[1] = outs;
  for (int i = 0; i < sliding.spatial; ++i) dim[2 + i] = sliding.out[i];
  hn_out_shape(infer, 0, x->rank, dim);
  return HONE_OK;
}

/* The input position that sends tap number `tap` to the output position, or -1. */
static int64_t source(const hn_sliding *sliding, const int64_t *out_at, int64_t tap) {
  int64_t offset = 0, step = 1;
  for (int i = sliding->spatial - 1; i >= 0; --i) {
    const int64_t at = out_at[i] + sliding->pad_begin[i] - tap % sliding->kernel[i] * sliding->dilation[i];
    if (at < 0 || at % sliding->stride[i] || at / sliding->stride[i] >= sliding->in[i]) return -1;
    tap /= sliding->kernel[i];
    offset += at / sliding->stride[i] * step;
    step *= sliding->in[i];
  }
  return offset;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0], *w = &eval->in[1];
  hone_tensor *y = &eval->out[0];
  hn_sliding sliding;
  hn_epilogue epilogue;
  HN_TRY(hn_epilogue_read(eval, -1, &epilogue));
  HN_TRY(hn_sliding_make_transposed(eval->diagnostics, NULL, eval->attrs, &x->type.shape, w->type.shape.dim + 2,
                                    &sliding));
  const int64_t taps = hn_sliding_taps(&sliding), plane = hn_sliding_in_size(&sliding);
  const int64_t channels = hn_eval_dim(x, 1), outs = hn_eval_dim(w, 1);
  const int64_t in_group = channels / hn_attr_int(eval->attrs, "group");
  int64_t first, last, at[HONE_MAX_RANK];
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    hn_unflatten(&y->type.shape, flat, at);
    const int64_t c0 = at[1] / outs * in_group, m = at[1] % outs;
    double sum = hn_eval_given(eval, 2) ? hn_real(&eval->in[2], at[1]) : 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t offset = source(&sliding, at + 2, tap);
      if (offset < 0) continue;
      for (int64_t c = c0; c < c0 + in_group; ++c)
        sum += hn_real(x, (at[0] * channels + c) * plane + offset) * hn_real(w, (c * outs + m) * taps + tap);
    }
    hn_store_real(y, flat, hn_epilogue_apply(&epilogue, sum, at[1]));
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs;
  const hone_shape *w = &in[1].type.shape; /* each input element meets all weights of its channel */
  const double channels = w->rank > 0 && w->dim[0] > 0 ? (double)w->dim[0] : 1;
  return hn_cost_work(2.0 * (double)hn_elems(&in[0].type.shape) * (double)hn_elems(w) / channels, in, in_count, out,
                      out_count);
}

const hone_op hn_op_conv_transpose = {
    .struct_size = sizeof(hone_op),
    .name = "conv_transpose",
    .doc = "transposed convolution, with bias and activation",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0},
           {"w", 't', HONE_TYPES_FLOAT, HONE_PORT_PARAM},
           {"b", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | HONE_PORT_PARAM}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HN_SLIDING_ATTRS, HONE_INT_ATTR("group", 1), HONE_OPTIONAL_ATTR("kernel_shape", HONE_ATTR_INTS),
             HONE_OPTIONAL_ATTR("output_padding", HONE_ATTR_INTS), HONE_OPTIONAL_ATTR("output_shape", HONE_ATTR_INTS),
             HN_EPILOGUE_ATTRS},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .report_class = "Convolution",
    .onnx = {{.name = "ConvTranspose", .first = 1, .last = HONE_LATEST}},
};
