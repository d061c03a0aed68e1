/* SPDX-License-Identifier: Apache-2.0 */
/* rules_shorthand.c - operators that are short for a few others, which have tactics. */
#include "pass/fusion.h"
#include "pass/passes.h"
#include "pass/rule_help.h"

/* ---- Fourier transforms of overlapping frames: of the frames, gathered and weighted ---- */

enum { MOST_INDICES = 1 << 20 };

typedef struct frames {
  int64_t step, length, count;
} frames;

static bool read_number(const hn_value *value, int64_t *out) {
  if (!hn_is_scalar_constant(value)) return false;
  *out = hn_int(value->fact.constant, 0);
  return true;
}

static const char *read_frames(const hn_match *match, frames *f) {
  const hone_shape *x = &hn_bound_type(match, "signal")->shape;
  const hn_value *window = hn_bound(match, "window"), *length = hn_bound(match, "length");
  if (x->rank != 3 || HONE_SYMBOLIC(x->dim[1])) return "the signal's length is not known";
  f->length = x->dim[1];
  if (window && (window->fact.type.shape.rank != 1 || HONE_SYMBOLIC(window->fact.type.shape.dim[0])))
    return "the frames' length is not known";
  if (window) f->length = window->fact.type.shape.dim[0];
  if (!read_number(hn_bound(match, "step"), &f->step) || (length && !read_number(length, &f->length)))
    return "the frames' length or step is not known";
  if (f->step < 1 || f->length < 1 || f->length > x->dim[1]) return "the frames do not fit the signal";
  if (window && window->fact.type.shape.dim[0] != f->length) return "the window does not fit the frames";
  f->count = (x->dim[1] - f->length) / f->step + 1;
  return f->count > MOST_INDICES / f->length ? "there are too many frames to list" : NULL;
}

static const char *when_frames(const hn_match *match) {
  frames f;
  return read_frames(match, &f);
}

static hone_status make_frames(hn_match *match) {
  frames f;
  if (read_frames(match, &f)) return HONE_INTERNAL;
  const int64_t dims[2] = {f.count, f.length};
  HN_TRY(hn_bind_filled(match, "index", HONE_I64, 2, dims, 0));
  int64_t *index = hn_bound(match, "index")->fact.constant->data;
  for (int64_t i = 0; i < f.count * f.length; ++i) index[i] = i / f.length * f.step + i % f.length;
  return hn_bind_ints(match, "column", 2, (const int64_t[]){f.length, 1});
}

/* ---- norms ---- */

static hone_status make_axis(hn_match *match) {
  const int64_t axis = hn_attr_int(&match->root->attrs, "axis");
  return hn_bind_ints(match, "axes", 1, &axis);
}

/* ---- factors: rows of products have none of their own ---- */

static bool is_wide_real(const hn_match *match) {
  const hone_dtype dtype = match->roots[0]->fact.type.dtype;
  return dtype == HONE_F32 || dtype == HONE_F64;
}

/* A device of its own may have a kernel with factors. */
static bool is_taken_away(const hn_match *match) {
  const hn_target *target = match->run->target;
  hn_reach reach = HN_REACH_NONE;
  return target && target->reach && hn_reach_of(match->run, match->root, false, &reach) == HONE_OK &&
         reach == HN_REACH_AWAY;
}

/* Constant weights may be scaled themselves. */
static bool keeps_factors(const hn_match *match) {
  const bool is_scaled_once =
      hn_value_is_constant(hn_bound(match, "y")) && hn_attr_int(&match->root->attrs, "transA") == 0;
  return !is_wide_real(match) || is_scaled_once || is_taken_away(match);
}

static const char *when_scaled(const hn_match *match) {
  return hn_attr_float(&match->root->attrs, "alpha") != 1 && !keeps_factors(match) ? NULL : "";
}

static const char *when_addend(const hn_match *match) {
  const double beta = hn_attr_float(&match->root->attrs, "beta");
  const hone_shape *k = &hn_bound_type(match, "k")->shape;
  const bool is_number = k->rank == 0 || (hn_shape_known(k) && hn_elems(k) == 1);
  const bool is_asked = hn_attr_float(&match->root->attrs, "alpha") != 1 || (beta != 0 && beta != 1) || is_number;
  return is_asked && !keeps_factors(match) ? NULL : "";
}

static hone_status make_factors(hn_match *match) {
  const hone_dtype dtype = match->roots[0]->fact.type.dtype;
  hone_graph *graph = match->run->graph;
  const hone_attrs *attrs = &match->root->attrs;
  HN_TRY(hn_bind(match, "alpha", hn_constant_scalar(graph, dtype, hn_attr_float(attrs, "alpha"))));
  return hn_bind(match, "beta", hn_constant_scalar(graph, dtype, hn_attr_float(attrs, "beta")));
}

static const char *when_wide(const hn_match *match) { return is_wide_real(match) ? NULL : "its sum may overflow"; }

static hone_status make_count(hn_match *match) {
  const hone_dtype dtype = match->roots[0]->fact.type.dtype;
  return hn_bind(match, "count", hn_constant_scalar(match->run->graph, dtype, match->root->in_count));
}

/* ---- the largest of a row, and the middle of an image ---- */

enum { MOST_EXACT = 1 << 24 }; /* integers that f32 holds */

static int64_t axis_of(const hn_match *match, int rank) {
  const int64_t axis = hn_attr_int(&match->root->attrs, "axis");
  return axis < 0 ? axis + rank : axis;
}

static const char *when_counted(const hn_match *match) {
  const hone_type *x = hn_bound_type(match, "x");
  const int64_t axis = axis_of(match, x->shape.rank);
  if (!is_wide_real(match)) return "its steps are not f32 or f64";
  if (axis < 0 || axis >= x->shape.rank || HONE_SYMBOLIC(x->shape.dim[axis])) return "the row's length is not known";
  return x->shape.dim[axis] > MOST_EXACT ? "its rows are too long to be counted in f32" : NULL;
}

/* 0, 1, ... along the axis. */
static hone_status make_steps(hn_match *match) {
  const hone_type *x = hn_bound_type(match, "x");
  const int rank = x->shape.rank, axis = (int)axis_of(match, rank);
  int64_t dims[HONE_MAX_RANK];
  for (int d = 0; d < rank; ++d) dims[d] = d == axis ? x->shape.dim[axis] : 1;
  HN_TRY(hn_bind_filled(match, "steps", HONE_F32, rank, dims, 0));
  float *step = hn_bound(match, "steps")->fact.constant->data;
  for (int64_t i = 0; i < dims[axis]; ++i) step[i] = (float)i;
  HN_TRY(hn_bind(match, "one", hn_constant_scalar(match->run->graph, x->dtype, 1)));
  return hn_bind(match, "zero", hn_constant_scalar(match->run->graph, x->dtype, 0));
}

/* What is added before and behind each axis: less than nothing where it is cropped. */
static const char *read_middle(const hn_match *match, int64_t *pads) {
  const hone_shape *from = &hn_bound_type(match, "x")->shape, *to = &match->roots[0]->fact.type.shape;
  if (from->rank < 0 || from->rank != to->rank) return "the rank is not known";
  for (int d = 0; d < from->rank; ++d) {
    const int64_t a = from->dim[d], b = to->dim[d];
    pads[d] = pads[from->rank + d] = 0;
    if (a == b) continue;
    if (HONE_SYMBOLIC(a) || HONE_SYMBOLIC(b)) return "an extent is not known";
    pads[d] = a > b ? -((a - b) / 2) : (b - a) / 2;
    pads[from->rank + d] = b - a - pads[d];
  }
  return NULL;
}

static const char *when_middle(const hn_match *match) {
  int64_t pads[2 * HONE_MAX_RANK];
  return read_middle(match, pads);
}

static hone_status make_middle(hn_match *match) {
  int64_t pads[2 * HONE_MAX_RANK];
  if (read_middle(match, pads)) return HONE_INTERNAL;
  return hn_bind_ints(match, "pads", 2 * hn_bound_type(match, "x")->shape.rank, pads);
}

/* The axes that it names, or those that it means. */
static hone_status make_named_axes(hn_match *match) {
  static const int64_t meant[] = {0, 2, 3};
  const int64_t *axes = meant;
  int count = (int)HN_COUNT(meant);
  if (hn_attr_has(&match->root->attrs, "axes")) count = hn_attr_ints(&match->root->attrs, "axes", &axes);
  return hn_bind_ints(match, "axes", count, axes);
}

#define PRODUCT "gemm[alpha=1, beta=1, transA=g.transA, transB=g.transB](x, y)"

const hn_rewrite hn_rules_shorthand[] = {
    {.name = "stft_as_dft",
     .find = "s:stft(signal, step:const, window)",
     .put = "dft[default_axis=2, onesided=s.onesided](mul(gather[axis=1](signal, index), reshape(window, column)))",
     .when = when_frames,
     .make = make_frames,
     .why = "fast transforms of the frames"},
    {.name = "stft_of_length_as_dft",
     .find = "s:stft(signal, step:const, window, length:const)",
     .put = "dft[default_axis=2, onesided=s.onesided](mul(gather[axis=1](signal, index), reshape(window, column)))",
     .when = when_frames,
     .make = make_frames,
     .why = "fast transforms of the frames"},
    {.name = "plain_stft_as_dft",
     .find = "s:stft(signal, step:const, _, length:const)",
     .put = "dft[default_axis=2, onesided=s.onesided](gather[axis=1](signal, index))",
     .when = when_frames,
     .make = make_frames,
     .why = "fast transforms of the frames"},
    {.name = "euclidean_norm_in_pieces",
     .find = "lp_normalization[p=2](x)",
     .put = "div(x, max(reduce_l2[keepdims=1](x, axes), 1.1754944e-38))",
     .make = make_axis,
     .why = "its pieces have tactics"},
    {.name = "absolute_norm_in_pieces",
     .find = "lp_normalization[p=1](x)",
     .put = "div(x, max(reduce_l1[keepdims=1](x, axes), 1.1754944e-38))",
     .make = make_axis,
     .why = "its pieces have tactics"},
    {.name = "log_sum_in_pieces",
     .find = "r:reduce_log_sum(x, axes)",
     .put = "log(reduce_sum[keepdims=r.keepdims, noop_with_empty_axes=r.noop_with_empty_axes](x, axes))",
     .why = "its pieces have tactics"},
    {.name = "log_sum_of_all_in_pieces",
     .find = "r:reduce_log_sum(x)",
     .put = "log(reduce_sum[keepdims=r.keepdims, noop_with_empty_axes=r.noop_with_empty_axes](x))",
     .why = "its pieces have tactics"},
    {.name = "log_sum_exp_in_pieces",
     .find = "r:reduce_log_sum_exp[noop_with_empty_axes=0](x, axes)",
     .put = "add(log(reduce_sum[keepdims=r.keepdims](exp(sub(x, clip(reduce_max[keepdims=1](x, axes), -3.4028234e38, "
            "3.4028234e38))), axes)), clip(reduce_max[keepdims=r.keepdims](x, axes), -3.4028234e38, 3.4028234e38))",
     .why = "its pieces have tactics"},
    {.name = "log_sum_exp_of_all_in_pieces",
     .find = "r:reduce_log_sum_exp[noop_with_empty_axes=0](x)",
     .put = "add(log(reduce_sum[keepdims=r.keepdims](exp(sub(x, clip(reduce_max[keepdims=1](x), -3.4028234e38, "
            "3.4028234e38))))), clip(reduce_max[keepdims=r.keepdims](x), -3.4028234e38, 3.4028234e38))",
     .why = "its pieces have tactics"},
    {.name = "scaled_product_in_pieces",
     .find = "g:gemm(x, y)",
     .put = "mul(" PRODUCT ", alpha)",
     .when = when_scaled,
     .make = make_factors,
     .why = "products have tactics, and factors"},
    {.name = "scaled_product_and_addend_in_pieces",
     .find = "g:gemm(x, y, k)",
     .put = "add(mul(" PRODUCT ", alpha), mul(k, beta))",
     .when = when_addend,
     .make = make_factors,
     .why = "products have tactics, and factors"},
    {.name = "hardmax_in_pieces",
     .find = "h:hardmax(x)",
     .put = "where(equal(cast[to=1](arg_max[axis=h.axis, keepdims=1](x)), steps), one, zero)",
     .when = when_counted,
     .make = make_steps,
     .why = "its pieces have tactics"},
    {.name = "middle_as_pads",
     .find = "center_crop_pad(x, middle:const)",
     .put = "pad(x, pads)",
     .when = when_middle,
     .make = make_middle,
     .why = "pads have tactics, and may crop"},
    {.name = "mean_and_variance_in_pieces",
     .find = "mean_variance_normalization(x)",
     .put =
         "div(d:sub(x, reduce_mean[keepdims=1](x, axes)), add(sqrt(reduce_mean[keepdims=1](mul(d, d), axes)), 1e-9))",
     .make = make_named_axes,
     .why = "its pieces have tactics"},
    {.name = "mean_in_pieces",
     .find = "mean(a, xs...)",
     .put = "div(sum(a, xs...), count)",
     .when = when_wide,
     .make = make_count,
     .why = "its pieces have tactics"},
    {0}};
