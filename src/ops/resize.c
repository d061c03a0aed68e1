/* SPDX-License-Identifier: Apache-2.0 */
/* resize.c - resampling to given sizes or by given scales. Source: ONNX operator Resize from opset 11 on.
 * scales, sizes and roi have one entry for each of `axes`, by default all. */
#include "ops/common_resize.h"
#include <math.h>

enum { X, ROI, SCALES, SIZES };

/* An input that is there and has elements: older exporters give an empty tensor for "not given". */
static bool filled(const hone_infer *infer, int input) {
  if (!hn_in_given(infer, input)) return false;
  const hone_shape *shape = hn_in_shape(infer, input);
  return shape->rank != 1 || shape->dim[0] != 0;
}

/* The axes that scales and sizes speak of. */
static hone_status axes_of(hone_diagnostics *diag, const hone_attrs *attrs, int rank, int *out, int *out_count) {
  const int64_t *given = NULL;
  bool seen[HONE_MAX_RANK] = {false};
  const int count = hn_attr_ints(attrs, "axes", &given);
  *out_count = count ? count : rank;
  for (int i = 0; i < *out_count; ++i) {
    const int64_t axis = !count ? i : given[i] < 0 ? given[i] + rank : given[i];
    if (i >= HONE_MAX_RANK || axis < 0 || axis >= rank || seen[axis])
      return HN_FAIL(diag, HONE_MALFORMED, "axes[%d] is %lld, expected each of [%d, %d] at most once", i,
                     (long long)given[i], -rank, rank - 1);
    seen[axis] = true;
    out[i] = (int)axis;
  }
  return HONE_OK;
}

/* keep_aspect_ratio_policy: one scale for all axes, and the sizes that follow from it. */
static double common_scale(const hone_attrs *attrs, const int64_t *in, int64_t *size, int count) {
  const bool larger = hn_name_equal(hn_attr_text(attrs, "keep_aspect_ratio_policy"), "not_smaller");
  double scale = 0;
  for (int i = 0; i < count; ++i) {
    const double here = in[i] ? (double)size[i] / (double)in[i] : 1;
    if (i == 0 || (larger ? here > scale : here < scale)) scale = here;
  }
  for (int i = 0; i < count; ++i) size[i] = (int64_t)floor(scale * (double)in[i] + 0.5);
  return scale;
}

static bool stretches(const hone_attrs *attrs) {
  return hn_name_equal(hn_attr_text(attrs, "keep_aspect_ratio_policy"), "stretch");
}

static hone_status check_words(hone_infer *infer) {
  HN_TRY(hn_want_text(infer, "mode", "nearest linear cubic"));
  HN_TRY(hn_want_text(infer, "nearest_mode", "round_prefer_floor round_prefer_ceil floor ceil"));
  HN_TRY(hn_want_text(infer, "keep_aspect_ratio_policy", "stretch not_larger not_smaller"));
  HN_TRY(hn_want_text(infer, "coordinate_transformation_mode",
                      "half_pixel half_pixel_symmetric pytorch_half_pixel align_corners asymmetric tf_crop_and_resize "
                      "tf_half_pixel_for_nn"));
  if (!hn_name_equal(hn_attr_text(infer->attrs, "mode"), "nearest") &&
      !(HONE_BIT(infer->in[X].type.dtype) & (HONE_TYPES_NUMBER | HONE_TYPES_BOOL)))
    return HN_INFER_UNSUPPORTED(infer, "elements of type %s cannot be interpolated",
                                hone_dtype_name(infer->in[X].type.dtype));
  return HONE_OK;
}

static hone_status infer_sizes(hone_infer *infer, const int *axes, int count, hone_shape *y) {
  int64_t known = 0, in[HONE_MAX_RANK], size[HONE_MAX_RANK];
  const int64_t *value = hn_in_value(infer, SIZES, &known);
  bool numbers = true;
  if (!value || known != count) return hn_out_after_run(infer, 0, y->rank, INT64_MAX);
  for (int i = 0; i < count; ++i) {
    if (!HONE_SYMBOLIC(value[i]) && (value[i] < 0 || value[i] > (int64_t)1 << 40))
      return HN_INFER_FAIL(infer, "sizes[%d] is %lld, expected 0 to 2^40", i, (long long)value[i]);
    in[i] = y->dim[axes[i]], size[i] = value[i];
    numbers &= !HONE_SYMBOLIC(in[i]) && !HONE_SYMBOLIC(size[i]);
  }
  if (!stretches(infer->attrs) && !numbers) return hn_out_after_run(infer, 0, y->rank, INT64_MAX);
  if (!stretches(infer->attrs)) common_scale(infer->attrs, in, size, count);
  for (int i = 0; i < count; ++i) y->dim[axes[i]] = size[i];
  hn_out_shape(infer, 0, y->rank, y->dim);
  return HONE_OK;
}

static hone_status infer(hone_infer *infer) {
  int axes[HONE_MAX_RANK], count = 0;
  HN_TRY(check_words(infer));
  const hone_shape *x = hn_in_shape(infer, X);
  if (filled(infer, SCALES) == filled(infer, SIZES))
    return HN_INFER_FAIL(infer, "resize expects scales or sizes, and not both");
  if (x->rank < 0) return HONE_OK;
  HN_TRY(axes_of(infer->diagnostics, infer->attrs, x->rank, axes, &count));
  const int by = filled(infer, SCALES) ? SCALES : SIZES;
  HN_TRY(hn_want_rank(infer, by, 1, 1));
  HN_TRY(hn_want_dim(infer, by, 0, count, "the number of axes"));
  hone_shape y = *x;
  if (by == SIZES) return infer_sizes(infer, axes, count, &y);
  const hone_tensor *scales = infer->in[SCALES].constant;
  if (!scales) return hn_out_after_run(infer, 0, x->rank, INT64_MAX);
  for (int i = 0; i < count; ++i) {
    const float scale = (float)hn_real(scales, i);
    HN_TRY(hn_resize_check_scale(infer->diagnostics, x->dim[axes[i]], scale, i));
    y.dim[axes[i]] = hn_resize_dim(infer->dims, x->dim[axes[i]], scale);
  }
  hn_out_shape(infer, 0, y.rank, y.dim);
  return HONE_OK;
}

static bool has_elements(const hone_eval *eval, int input) {
  return hn_eval_given(eval, input) && hn_elems(&eval->in[input].type.shape) > 0;
}

/* Extents and scales of the axes that change. */
static hone_status plan_axes(const hone_eval *eval, const int *axes, int count, hn_resampling *resize) {
  const int by = has_elements(eval, SCALES) ? SCALES : SIZES;
  int64_t in[HONE_MAX_RANK], size[HONE_MAX_RANK];
  if (!hn_eval_given(eval, by) || hn_elems(&eval->in[by].type.shape) != count)
    return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "%s must have %d numbers", eval->op->in[by].name, count);
  for (int i = 0; i < count; ++i) {
    hn_resize_axis *axis = &resize->axis[axes[i]];
    in[i] = axis->in;
    if (by == SCALES) {
      const float scale = (float)hn_real(&eval->in[SCALES], i);
      HN_TRY(hn_resize_check_scale(eval->diagnostics, axis->in, scale, i));
      axis->scale = scale, axis->out = hn_resize_dim(NULL, axis->in, scale);
      continue;
    }
    size[i] = hn_int(&eval->in[SIZES], i);
    if (size[i] < 0 || size[i] > (int64_t)1 << 40)
      return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "sizes[%d] is %lld, expected 0 to 2^40", i, (long long)size[i]);
    axis->out = size[i], axis->scale = axis->in ? (double)size[i] / (double)axis->in : 1;
  }
  if (by == SCALES || stretches(eval->attrs)) return HONE_OK;
  const double scale = common_scale(eval->attrs, in, size, count);
  for (int i = 0; i < count; ++i) resize->axis[axes[i]].out = size[i], resize->axis[axes[i]].scale = scale;
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  const hone_shape *x = &eval->in[X].type.shape;
  hn_resampling resize = {.rank = x->rank,
                          .mode = hn_attr_text(eval->attrs, "mode"),
                          .transform = hn_attr_text(eval->attrs, "coordinate_transformation_mode"),
                          .nearest = hn_attr_text(eval->attrs, "nearest_mode"),
                          .cubic_a = hn_attr_float(eval->attrs, "cubic_coeff_a"),
                          .extrapolation = hn_attr_float(eval->attrs, "extrapolation_value"),
                          .antialias = hn_attr_int(eval->attrs, "antialias") != 0,
                          .exclude_outside = hn_attr_int(eval->attrs, "exclude_outside") != 0};
  const bool crops = hn_name_equal(resize.transform, "tf_crop_and_resize");
  int axes[HONE_MAX_RANK], count = 0;
  for (int i = 0; i < x->rank; ++i)
    resize.axis[i] = (hn_resize_axis){.in = x->dim[i], .out = x->dim[i], .scale = 1, .end = 1};
  HN_TRY(axes_of(eval->diagnostics, eval->attrs, x->rank, axes, &count));
  HN_TRY(plan_axes(eval, axes, count, &resize));
  if (crops && (!hn_eval_given(eval, ROI) || hn_elems(&eval->in[ROI].type.shape) != 2 * count))
    return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "tf_crop_and_resize expects %d numbers in roi", 2 * count);
  for (int i = 0; i < count; ++i) {
    hn_resize_axis *axis = &resize.axis[axes[i]];
    if (crops) axis->start = hn_real(&eval->in[ROI], i), axis->end = hn_real(&eval->in[ROI], count + i);
    axis->active = axis->scale != 1 || axis->out != axis->in || axis->start != 0 || axis->end != 1;
  }
  HN_TRY(hn_resize_output(eval, &resize));
  hn_resize_run(eval, window, &resize);
  return HONE_OK;
}

const hone_op hn_op_resize = {
    .struct_size = sizeof(hone_op),
    .name = "resize",
    .doc = "resamples to given sizes or by given scales",
    .in = {{"x", 't', HONE_TYPES_ANY, 0},
           {"roi", 0, HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | HONE_PORT_PARAM},
           {"scales", 0, HONE_BIT(HONE_F32), HONE_PORT_OPTIONAL | HONE_PORT_PARAM},
           {"sizes", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HONE_INT_ATTR("antialias", 0), HONE_OPTIONAL_ATTR("axes", HONE_ATTR_INTS),
             HONE_STRING_ATTR("coordinate_transformation_mode", "half_pixel"), HONE_FLOAT_ATTR("cubic_coeff_a", -0.75),
             HONE_INT_ATTR("exclude_outside", 0), HONE_FLOAT_ATTR("extrapolation_value", 0.0),
             HONE_STRING_ATTR("keep_aspect_ratio_policy", "stretch"), HONE_STRING_ATTR("mode", "nearest"),
             HONE_STRING_ATTR("nearest_mode", "round_prefer_floor")},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_resize,
    .report_class = "Resize",
    .onnx = {{.name = "Resize", .first = 11, .last = HONE_LATEST}},
};
