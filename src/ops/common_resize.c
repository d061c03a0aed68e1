/* SPDX-License-Identifier: Apache-2.0 */
/* common_resize.c - separable resampling. An output coordinate is mapped to a place on the input axis, and a kernel
 * around that place says which elements count how much. Source: ONNX operator Resize (opsets 11 to 19); the cubic
 * kernel is Keys' (1981); with antialias the kernel is stretched by 1 / scale when the axis shrinks. */
#include "ops/common_resize.h"
#include <math.h>
#include <string.h>

int64_t hn_resize_dim(hone_dims *dims, int64_t dim, float scale) {
  if (!HONE_SYMBOLIC(dim)) return (int64_t)floorf((float)dim * scale);
  for (int64_t below = 1; below <= 64; below *= 2) {
    const double above = (double)scale * (double)below;
    if (above == floor(above) && above >= 1 && above < 1e6)
      return hn_dim_floor_div(dims, hn_dim_mul(dims, dim, (int64_t)above), below);
  }
  return hn_dim_fresh(dims, "resized", true, INT64_MAX);
}

hone_status hn_resize_check_scale(hone_diagnostics *diag, int64_t dim, float scale, int axis) {
  if (!(scale > 0) || !isfinite(scale))
    return HN_FAIL(diag, HONE_MALFORMED, "scales[%d] is %g, expected a number above 0", axis, (double)scale);
  if (!HONE_SYMBOLIC(dim) && (double)dim * (double)scale > 1e12)
    return HN_FAIL(diag, HONE_MALFORMED, "scales[%d] is %g, which makes a dim of %lld too large", axis, (double)scale,
                   (long long)dim);
  return HONE_OK;
}

/* The place on the input axis that output coordinate `at` stands for. */
static double place(const hn_resampling *resize, const hn_resize_axis *axis, int64_t at) {
  const char *transform = resize->transform;
  const double x = (double)at, in = (double)axis->in, wide = axis->scale * in; /* wide: out, not rounded */
  if (!strcmp(transform, "asymmetric")) return x / axis->scale;
  if (!strcmp(transform, "align_corners")) return axis->out <= 1 || wide <= 1 ? 0 : x * (in - 1) / (wide - 1);
  if (!strcmp(transform, "pytorch_half_pixel")) return axis->out > 1 ? (x + 0.5) / axis->scale - 0.5 : 0;
  if (!strcmp(transform, "tf_half_pixel_for_nn")) return (x + 0.5) / axis->scale;
  if (!strcmp(transform, "tf_crop_and_resize")) {
    if (axis->out <= 1) return 0.5 * (axis->start + axis->end) * (in - 1);
    return axis->start * (in - 1) + x * (axis->end - axis->start) * (in - 1) / ((double)axis->out - 1);
  }
  const double centred = (x + 0.5) / axis->scale - 0.5; /* half_pixel */
  if (strcmp(transform, "half_pixel_symmetric") != 0) return centred;
  return centred + in / 2 * (1 - (double)axis->out / wide);
}

static int64_t nearest(const char *how, double x) {
  if (!strcmp(how, "floor")) return (int64_t)floor(x);
  if (!strcmp(how, "ceil")) return (int64_t)ceil(x);
  if (!strcmp(how, "round_prefer_ceil")) return (int64_t)floor(x + 0.5);
  return (int64_t)ceil(x - 0.5);
}

/* What counts on one axis for one output coordinate. */
typedef struct taps {
  int64_t base, first, last; /* elements base + first ... base + last - 1 */
  double ratio, squeeze;     /* the place lies ratio above base; the kernel is 1 / squeeze wide */
  double norm;               /* sum of the weights */
} taps;

static double weight(const hn_resampling *resize, const hn_resize_axis *axis, const taps *t, int64_t i) {
  if (!axis->active || resize->mode[0] == 'n') return 1;
  if (resize->exclude_outside && (t->base + i < 0 || t->base + i >= axis->in)) return 0;
  const double d = fabs(((double)i - t->ratio) * t->squeeze), a = resize->cubic_a;
  if (resize->mode[0] == 'l') return d < 1 ? 1 - d : 0;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* false: the place lies outside, and the extrapolation value is taken. */
static bool taps_of(const hn_resampling *resize, const hn_resize_axis *axis, int64_t at, taps *t) {
  *t = (taps){.base = at, .last = 1, .squeeze = 1, .norm = 1};
  if (!axis->active) return true;
  const double x = place(resize, axis, at);
  if (!(fabs(x) < 1e15)) return false; /* a region of interest can say anything */
  if (!strcmp(resize->transform, "tf_crop_and_resize") && (x < 0 || x > (double)axis->in - 1)) return false;
  if (resize->mode[0] == 'n') {
    t->base = nearest(resize->nearest, x);
    return true;
  }
  const double support = resize->mode[0] == 'l' ? 1 : 2;
  if (resize->antialias && axis->scale < 1) t->squeeze = axis->scale;
  t->base = (int64_t)floor(x);
  t->ratio = x - floor(x);
  t->first = (int64_t)floor(-support / t->squeeze) + 1;
  t->last = 2 - t->first;
  t->norm = 0;
  for (int64_t i = t->first; i < t->last; ++i) t->norm += weight(resize, axis, t, i);
  if (t->norm == 0) t->norm = 1;
  return true;
}

static int64_t clamp(int64_t x, int64_t high) { return x < 0 ? 0 : x > high ? high : x; }

/* Weighted sum over axes axis..rank - 1; base: flat index over the axes before. */
static double sum_axes(const hone_tensor *x, const hn_resampling *resize, const taps *t, int axis, int64_t base) {
  if (axis == resize->rank) return hn_real(x, base);
  const hn_resize_axis *a = &resize->axis[axis];
  double sum = 0;
  for (int64_t i = t[axis].first; i < t[axis].last; ++i) {
    const double w = weight(resize, a, &t[axis], i) / t[axis].norm;
    if (w != 0) sum += w * sum_axes(x, resize, t, axis + 1, base * a->in + clamp(t[axis].base + i, a->in - 1));
  }
  return sum;
}

void hn_resize_run(hone_eval *eval, const hone_window *window, const hn_resampling *resize) {
  const hone_tensor *x = &eval->in[0];
  hone_tensor *y = &eval->out[0];
  int64_t first, last, at[HONE_MAX_RANK];
  taps t[HONE_MAX_RANK];
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    bool inside = true;
    int64_t source = 0;
    hn_unflatten(&y->type.shape, flat, at);
    for (int i = 0; i < resize->rank; ++i) {
      inside &= taps_of(resize, &resize->axis[i], at[i], &t[i]);
      source = source * resize->axis[i].in + clamp(t[i].base, resize->axis[i].in - 1);
    }
    if (!inside)
      hn_store_real(y, flat, resize->extrapolation);
    else if (resize->mode[0] == 'n')
      hn_copy_element(y, flat, x, source);
    else
      hn_store_real(y, flat, sum_axes(x, resize, t, 0, 0));
  }
}

hone_status hn_resize_output(hone_eval *eval, const hn_resampling *resize) {
  const hone_tensor *y = &eval->out[0];
  int64_t dim[HONE_MAX_RANK], elements = 1;
  for (int i = 0; i < resize->rank; ++i) {
    dim[i] = resize->axis[i].out;
    if (dim[i] && !resize->axis[i].in)
      return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "axis %d is empty and cannot be resized to %lld", i,
                     (long long)dim[i]);
    if (!hn_mul_i64(elements, dim[i], &elements) || elements > INT64_MAX / 64)
      return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "the resized tensor is too large");
  }
  if (!y->data) return eval->resize(eval, 0, resize->rank, dim);
  for (int i = 0; i < resize->rank; ++i)
    if (y->type.shape.rank != resize->rank || y->type.shape.dim[i] != dim[i])
      return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "axis %d would be resized to %lld, but the output has %lld", i,
                     (long long)dim[i], (long long)y->type.shape.dim[i]);
  return HONE_OK;
}

hone_cost hn_cost_resize(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                         int out_count) {
  const char mode = hn_attr_text(attrs, "mode")[0];
  const double each = mode == 'n' ? 0 : mode == 'l' ? 8 : 32; /* four or sixteen taps, a multiply and an add each */
  return hn_cost_work(each * (double)hn_elems(&out[0].type.shape), in, in_count, out, out_count);
}
