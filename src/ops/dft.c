/* SPDX-License-Identifier: Apache-2.0 */
/* dft.c - discrete Fourier transform along one axis; the last axis holds real and imaginary parts (or reals only).
 * Source: ONNX operator DFT. The sum as it is written: n^2 steps, each angle exact to a rounding.
 * default_axis is ours: the axis when none is given, which opset 20 changed. */
#include "ops/common_nn.h"
#include <math.h>

enum { X, LENGTH, AXIS };

typedef struct transform {
  int axis;
  int64_t length, in_len, out_len, parts; /* parts: numbers of an output element */
} transform;

/* axis and length when they are known: false else. */
static hone_status transform_of(hone_diagnostics *diag, const hone_attrs *attrs, const hone_shape *x, int64_t axis,
                                int64_t length, transform *out) {
  const bool inverse = hn_attr_int(attrs, "inverse") != 0, onesided = hn_attr_int(attrs, "onesided") != 0;
  if (axis < -x->rank || axis >= x->rank - 1 || axis == -1)
    return HN_FAIL(diag, HONE_MALFORMED, "axis %lld, expected one of [%d, %d] but not the last", (long long)axis,
                   -x->rank, x->rank - 2);
  out->axis = (int)(axis < 0 ? axis + x->rank : axis);
  out->in_len = x->dim[out->axis];
  out->length = length;
  out->parts = inverse && onesided ? 1 : 2;
  out->out_len = onesided && !inverse ? length / 2 + 1 : length;
  return HONE_OK;
}

static hone_status infer(hone_infer *infer) {
  int64_t count = 0;
  const int64_t *axis = hn_in_value(infer, AXIS, &count), *length = hn_in_value(infer, LENGTH, &count);
  HN_TRY(hn_want_rank(infer, X, 2, HONE_MAX_RANK));
  const hone_shape *x = hn_in_shape(infer, X);
  if (x->rank < 0) return HONE_OK;
  const int64_t parts = x->dim[x->rank - 1];
  if (!HONE_SYMBOLIC(parts) && parts != 1 && parts != 2)
    return HN_INFER_FAIL(infer, "the last dim of input is %lld, expected 1 (real) or 2 (complex)", (long long)parts);
  const bool inverse = hn_attr_int(infer->attrs, "inverse") != 0, onesided = hn_attr_int(infer->attrs, "onesided") != 0;
  if (hn_in_given(infer, AXIS) && !axis) {
    if (onesided || hn_in_given(infer, LENGTH)) return hn_out_after_run(infer, 0, x->rank, INT64_MAX);
    hone_shape same = *x; /* whichever axis it will be */
    same.dim[same.rank - 1] = 2;
    hn_out_shape(infer, 0, same.rank, same.dim);
    return HONE_OK;
  }
  transform t;
  HN_TRY(transform_of(infer->diagnostics, infer->attrs, x, axis ? *axis : hn_attr_int(infer->attrs, "default_axis"), 1,
                      &t));
  hone_shape y = *x;
  int64_t n = t.in_len;
  if (inverse && onesided) n = hn_dim_mul(infer->dims, hn_dim_sub(infer->dims, n, 1), 2);
  if (length) n = *length;
  if (hn_in_given(infer, LENGTH) && !length) n = hn_dim_fresh(infer->dims, "dft_length", true, INT64_MAX);
  if (!HONE_SYMBOLIC(n) && (n < 1 || n > INT32_MAX))
    return HN_INFER_FAIL(infer, "a transform of length %lld, expected 1 to 2^31 - 1", (long long)n);
  if (onesided && !inverse) n = hn_dim_add(infer->dims, hn_dim_floor_div(infer->dims, n, 2), 1);
  y.dim[t.axis] = n, y.dim[y.rank - 1] = t.parts;
  hn_out_shape(infer, 0, y.rank, y.dim);
  return HONE_OK;
}

/* Element k of the transform of one line; the line's elements are `step` complex numbers apart. */
static void one(const hone_eval *eval, const transform *t, int64_t base, int64_t step, int64_t k, double *out) {
  const hone_tensor *x = &eval->in[X];
  const bool inverse = hn_attr_int(eval->attrs, "inverse") != 0, half = t->parts == 1;
  const int64_t parts = hn_eval_dim(x, -1), bins = half ? t->length / 2 + 1 : t->length;
  const int64_t known = t->in_len < bins ? t->in_len : bins; /* the rest is zeros, or cut off */
  double real = 0, imaginary = 0;
  for (int64_t i = 0; i < known && !hn_eval_ends(eval, i + 1); ++i) {
    const int64_t at = (base + i * step) * parts;
    const double a = hn_real(x, at), b = parts == 2 ? hn_real(x, at + 1) : 0;
    const double angle = 2 * acos(-1.0) * (double)(i * k % t->length) / (double)t->length * (inverse ? 1 : -1);
    const double twice = half && i > 0 && 2 * i != t->length ? 2 : 1; /* stands for its mirror image too */
    real += twice * (a * cos(angle) - b * sin(angle));
    imaginary += a * sin(angle) + b * cos(angle);
  }
  out[0] = real / (inverse ? (double)t->length : 1);
  out[1] = imaginary / (inverse ? (double)t->length : 1);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_shape *x = &eval->in[X].type.shape, *y = &eval->out[0].type.shape;
  const int64_t axis =
      hn_eval_given(eval, AXIS) ? hn_int(&eval->in[AXIS], 0) : hn_attr_int(eval->attrs, "default_axis");
  transform t;
  HN_TRY(transform_of(eval->diagnostics, eval->attrs, x, axis, 1, &t));
  t.length = hn_eval_given(eval, LENGTH) ? hn_int(&eval->in[LENGTH], 0) : t.parts == 1 ? 2 * (t.in_len - 1) : t.in_len;
  t.out_len = y->dim[t.axis];
  int64_t step = 1, first, last;
  for (int i = t.axis + 1; i < x->rank - 1; ++i) step *= x->dim[i];
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last && !hn_eval_stopped(eval); ++flat) {
    const int64_t element = flat / t.parts, inner = element % step, k = element / step % t.out_len;
    double value[2];
    one(eval, &t, element / step / t.out_len * t.in_len * step + inner, step, k, value);
    hn_store_real(&eval->out[0], flat, value[flat % t.parts]);
  }
  return HONE_OK;
}

const hone_op hn_op_dft = {
    .struct_size = sizeof(hone_op),
    .name = "dft",
    .doc = "discrete Fourier transform along one axis",
    .in = {{"input", 't', HONE_TYPES_FLOAT, 0},
           {"dft_length", 0, HONE_TYPES_INDEX, HONE_PORT_OPTIONAL},
           {"axis", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .out = {{"output", 't', 0, 0}},
    .attr = {HONE_INT_ATTR("default_axis", -2), HONE_INT_ATTR("inverse", 0), HONE_INT_ATTR("onesided", 0)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_transform,
    .onnx = {{.name = "DFT", .first = 20, .last = HONE_LATEST},
             {.name = "DFT", .first = 17, .last = 19, .to_input = "axis=2", .set = "default_axis=1"},
             {"Rfft", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_real_fourier", .alias = true},
             {"Irfft", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_real_fourier", .alias = true}},
};
