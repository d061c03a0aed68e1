/* SPDX-License-Identifier: Apache-2.0 */
/* upsample.c - resampling by given scales, coordinates divided by the scale and rounded down.
 * Source: ONNX operators Upsample (opsets 7 to 10) and Resize of opset 10, which meant the same. */
#include "ops/common_resize.h"

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_text(infer, "mode", "nearest linear"));
  const hone_shape *x = hn_in_shape(infer, 0);
  const hone_tensor *scales = infer->in[1].constant;
  HN_TRY(hn_want_rank(infer, 1, 1, 1));
  if (x->rank < 0) return HONE_OK;
  HN_TRY(hn_want_dim(infer, 1, 0, x->rank, "the rank of x"));
  if (!scales) return hn_out_after_run(infer, 0, x->rank, INT64_MAX);
  hone_shape y = *x;
  for (int i = 0; i < x->rank; ++i) {
    const float scale = (float)hn_real(scales, i);
    HN_TRY(hn_resize_check_scale(infer->diagnostics, x->dim[i], scale, i));
    y.dim[i] = hn_resize_dim(infer->dims, x->dim[i], scale);
  }
  hn_out_shape(infer, 0, y.rank, y.dim);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  const hone_shape *x = &eval->in[0].type.shape;
  if (eval->in[1].type.shape.rank != 1 || eval->in[1].type.shape.dim[0] != x->rank)
    return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "scales must have one number for each of x's %d axes", x->rank);
  hn_resampling resize = {
      .rank = x->rank, .mode = hn_attr_text(eval->attrs, "mode"), .transform = "asymmetric", .nearest = "floor"};
  for (int i = 0; i < x->rank; ++i) {
    const float scale = (float)hn_real(&eval->in[1], i);
    HN_TRY(hn_resize_check_scale(eval->diagnostics, x->dim[i], scale, i));
    resize.axis[i] = (hn_resize_axis){.in = x->dim[i], .out = hn_resize_dim(NULL, x->dim[i], scale), .scale = scale};
    resize.axis[i].active = scale != 1;
  }
  HN_TRY(hn_resize_output(eval, &resize));
  hn_resize_run(eval, window, &resize);
  return HONE_OK;
}

const hone_op hn_op_upsample = {
    .struct_size = sizeof(hone_op),
    .name = "upsample",
    .doc = "resamples by given scales",
    .in = {{"x", 't', HONE_TYPES_NUMBER | HONE_TYPES_BOOL, 0}, {"scales", 0, HONE_BIT(HONE_F32), HONE_PORT_PARAM}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HONE_STRING_ATTR("mode", "nearest")},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_resize,
    .report_class = "Resize",
    .onnx = {{.name = "Upsample", .first = 9, .last = 10},
             {.name = "Upsample", .first = 7, .last = 8, .to_input = "scales=1"},
             {.name = "Resize", .first = 10, .last = 10}},
};
