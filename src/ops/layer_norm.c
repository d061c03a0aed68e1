/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm.c - (x - mean) / sqrt(var + epsilon) * scale + b over the axes from `axis` on.
 * Source: ONNX operator LayerNormalization (Ba, Kiros, Hinton 2016). */
#include "ops/common_nn.h"
#include <math.h>

/* scale and b broadcast to x, one way. */
static hone_status want_broadcast(hone_infer *infer, int input, const hone_shape *x) {
  if (!hn_in_given(infer, input) || hn_in_rank(infer, input) < 0) return HONE_OK;
  const hone_shape *shape = hn_in_shape(infer, input);
  HN_TRY(hn_want_rank(infer, input, 0, x->rank));
  for (int i = 0; i < shape->rank; ++i)
    if (shape->dim[i] != 1) HN_TRY(hn_want_dim(infer, input, i, x->dim[x->rank - shape->rank + i], "that of x"));
  return HONE_OK;
}

static hone_status infer(hone_infer *infer) {
  const int64_t stash = hn_attr_int(infer->attrs, "stash_type"); /* ONNX's numbers: 1 float, 16 bfloat16 */
  int axis;
  if (stash != 1 && stash != 16)
    return HN_INFER_FAIL(infer, "stash_type is %lld, expected 1 (float) or 16 (bfloat16)", (long long)stash);
  for (int i = 1; i < infer->out_count; ++i) hn_out_dtype(infer, i, stash == 1 ? HONE_F32 : HONE_BF16);
  HN_TRY(hn_want_rank(infer, 0, 1, HONE_MAX_RANK));
  const hone_shape *x = hn_in_shape(infer, 0);
  if (x->rank < 0) return HONE_OK;
  HN_TRY(hn_infer_axis(infer, hn_attr_int(infer->attrs, "axis"), x->rank, &axis));
  HN_TRY(want_broadcast(infer, 1, x));
  HN_TRY(want_broadcast(infer, 2, x));
  hn_out_shape(infer, 0, x->rank, x->dim);
  hone_shape moments = *x;
  for (int i = axis; i < x->rank; ++i) moments.dim[i] = 1;
  for (int i = 1; i < infer->out_count; ++i) hn_out_shape(infer, i, moments.rank, moments.dim);
  return HONE_OK;
}

typedef struct operands {
  const hone_tensor *scale, *b;
  int64_t scale_stride[HONE_MAX_RANK], b_stride[HONE_MAX_RANK];
} operands;

static void store_row(hone_eval *eval, const operands *ops, int64_t row, int64_t size, hn_moments moments) {
  const hone_tensor *x = &eval->in[0];
  const double inverse = 1 / sqrt(moments.variance + hn_attr_float(eval->attrs, "epsilon"));
  int64_t at[HONE_MAX_RANK];
  for (int64_t i = row * size; hn_eval_wanted(eval, 0) && i < (row + 1) * size; ++i) {
    hn_unflatten(&x->type.shape, i, at);
    double y = (hn_real(x, i) - moments.mean) * inverse;
    y *= hn_real(ops->scale, hn_flatten(x->type.shape.rank, at, ops->scale_stride));
    if (ops->b) y += hn_real(ops->b, hn_flatten(x->type.shape.rank, at, ops->b_stride));
    hn_store_real(&eval->out[0], i, y);
  }
  if (hn_eval_wanted(eval, 1)) hn_store_real(&eval->out[1], row, moments.mean);
  if (hn_eval_wanted(eval, 2)) hn_store_real(&eval->out[2], row, inverse);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0];
  const hone_shape *shape = &x->type.shape;
  operands ops = {.scale = &eval->in[1], .b = hn_eval_given(eval, 2) ? &eval->in[2] : NULL};
  hn_broadcast_strides(&ops.scale->type.shape, shape, ops.scale_stride);
  if (ops.b) hn_broadcast_strides(&ops.b->type.shape, shape, ops.b_stride);
  const int64_t axis = hn_attr_int(eval->attrs, "axis");
  int64_t rows = 1, size = 1; /* a row of no elements has moments all the same */
  for (int i = 0; i < shape->rank; ++i) *(i < (axis < 0 ? axis + shape->rank : axis) ? &rows : &size) *= shape->dim[i];
  int64_t first = 0, last = rows;
  if (window && window->output == 0 && size) first = window->first / size, last = hn_ceil_div(window->last, size);
  if (window && window->output != 0) first = window->first, last = window->last;
  for (int64_t row = first; row < last && !hn_eval_stopped(eval); ++row)
    store_row(eval, &ops, row, size, hn_moments_of(eval, x, row * size, size, 1));
  return HONE_OK;
}

const hone_op hn_op_layer_norm = {
    .struct_size = sizeof(hone_op),
    .name = "layer_norm",
    .doc = "normalises over the last axes, with scale and bias",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0},
           {"scale", 't', HONE_TYPES_FLOAT, HONE_PORT_PARAM},
           {"b", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | HONE_PORT_PARAM}},
    .out = {{"y", 't', 0, 0},
            {"mean", 0, HONE_BIT(HONE_F32) | HONE_BIT(HONE_BF16), HONE_PORT_OPTIONAL},
            {"inv_std_dev", 0, HONE_BIT(HONE_F32) | HONE_BIT(HONE_BF16), HONE_PORT_OPTIONAL}},
    .attr = {HONE_INT_ATTR("axis", -1), HONE_FLOAT_ATTR("epsilon", 1e-5f), HONE_INT_ATTR("stash_type", 1)},
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_norm,
    .report_class = "Normalization",
    /* Before opset 17 it is ONNX Runtime's own, which writes it into the models that it optimises. */
    .onnx = {{.name = "LayerNormalization", .first = 17, .last = HONE_LATEST},
             {.name = "LayerNormalization", .first = 1, .last = 16, .alias = true},
             {"SkipLayerNormalization", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_skip_norm", .alias = true},
             {"EmbedLayerNormalization", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_embed_layer_norm",
              .alias = true},
             {"QEmbedLayerNormalization", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_embed_bytes", .alias = true}},
};
