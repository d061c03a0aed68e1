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
    {.name = "mean_in_pieces",
     .find = "mean(a, xs...)",
     .put = "div(sum(a, xs...), count)",
     .when = when_wide,
     .make = make_count,
     .why = "its pieces have tactics"},
    {0}};
