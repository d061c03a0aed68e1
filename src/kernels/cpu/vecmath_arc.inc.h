/* SPDX-License-Identifier: Apache-2.0 */
/* vecmath_arc.inc.h - tan, sinh, cosh, the inverse functions and fmod, on vectors of reals.
 *
 * Of floats, near zero each odd function is x + x z P(z) with z = x x; P is the minimax fit of the relative error,
 * found by Remez's exchange, its coefficients rounded to floats one after the other, each time fitting those left.
 * Largest error over every 41st float (tan: to 1e6), in ULP of the correctly rounded float, with and without FMA:
 *
 *   atan 1.6   asin 2.4   acos 1.2   sinh 1.6   cosh 1.5   asinh 2.3   acosh 2.8   atanh 1.4   tan 3.3
 *
 * Infinities, NaN and zeros' signs follow C's Annex F. Doubles are C's library, lane by lane. */
#ifndef HN_KERNELS_CPU_VECMATH_ARC_INC_H
#define HN_KERNELS_CPU_VECMATH_ARC_INC_H

#include "kernels/cpu/vecmath.inc.h"

#if defined(HN_HELD_F64)
HN_INLINE vf v_tan(vf x) { return v_lanes(tan, x); }
HN_INLINE vf v_sinh(vf x) { return v_lanes(sinh, x); }
HN_INLINE vf v_cosh(vf x) { return v_lanes(cosh, x); }
HN_INLINE vf v_atan(vf x) { return v_lanes(atan, x); }
HN_INLINE vf v_asin(vf x) { return v_lanes(asin, x); }
HN_INLINE vf v_acos(vf x) { return v_lanes(acos, x); }
HN_INLINE vf v_asinh(vf x) { return v_lanes(asinh, x); }
HN_INLINE vf v_acosh(vf x) { return v_lanes(acosh, x); }
HN_INLINE vf v_atanh(vf x) { return v_lanes(atanh, x); }
HN_INLINE vf v_fmod(vf a, vf b) {
  double left[HN_LANES], right[HN_LANES];
  v_store(left, a);
  v_store(right, b);
  for (int i = 0; i < HN_LANES; ++i) left[i] = fmod(left[i], right[i]);
  return v_load(left);
}
#else

/* x + x z P(z), the fit's highest coefficient first. */
HN_INLINE vf v_odd(vf x, vf z, const float *fit, const int count) {
  vf p = V(fit[0]);
  HN_UNROLL
  for (int i = 1; i < count; ++i) p = p * z + V(fit[i]);
  return p * z * x + x;
}

HN_INLINE vf v_tan(vf x) {
  vi q;
  vf s, c;
  v_sin_cos(v_quadrant(x, &q), &s, &c);
  const vm odd = v_ne(vf_from(vi_and(q, vi_set(1))), V(0.0F));
  vf y = v_select(odd, v_negate(c), s) / v_select(odd, s, c);
  y = v_select(v_eq(x, V(0.0F)), x, y);
  return v_beyond_limit(tanf, x, y);
}

/* e^x / 2, which overflows later than e^x, as they do. */
HN_INLINE vf v_half_exp(vf x) {
  vf n;
  const vf p = v_exp_parts(x, &n);
  return v_scale(p + V(1.0F), n - V(1.0F));
}

HN_INLINE vf v_sinh(vf x) {
  static const float fit[] = {2.782213187e-06F, 1.984289556e-04F, 8.333310485e-03F, 1.666666716e-01F};
  const vf size = v_abs(x), half = v_half_exp(size);
  const vf far = v_copy_sign(half - V(0.25F) / half, x);
  return v_select(v_lt(size, V(1.0F)), v_odd(x, x * x, fit, 4), far);
}

HN_INLINE vf v_cosh(vf x) {
  const vf half = v_half_exp(v_abs(x));
  return half + V(0.25F) / half;
}

/* pi/2 - atan(1 / x) beyond 1. */
HN_INLINE vf v_atan(vf x) {
  static const float fit[] = {-1.812155591e-03F, 1.097877789e-02F,  -3.125926107e-02F,
                              5.799898133e-02F,  -8.403550088e-02F, 1.095154360e-01F,
                              -1.426404268e-01F, 1.999852955e-01F,  -3.333329856e-01F};
  const vf size = v_abs(x);
  const vm far = v_lt(V(1.0F), size);
  const vf t = v_select(far, V(1.0F) / size, size), near = v_odd(t, t * t, fit, 9);
  const vf y = v_select(far, V(1.57079637F) - (near - V(-4.37113883e-8F)), near);
  return v_copy_sign(y, x);
}

/* asin(s) with s = x, or beyond 1/2 with s = sqrt((1 - |x|) / 2), whose double pi/2 is less. */
HN_INLINE vf v_asin_core(vf x, vm *far) {
  static const float fit[] = {4.215838760e-02F, 2.418474294e-02F, 4.546915367e-02F, 7.495309412e-02F, 1.666675210e-01F};
  const vf size = v_abs(x);
  *far = v_lt(V(0.5F), size);
  const vf z = v_select(*far, (V(1.0F) - size) * V(0.5F), x * x);
  return v_odd(v_select(*far, v_sqrt(z), size), z, fit, 5);
}

HN_INLINE vf v_asin(vf x) {
  vm far;
  const vf core = v_asin_core(x, &far);
  const vf y = v_select(far, V(1.57079637F) - (core + core - V(-4.37113883e-8F)), core);
  return v_copy_sign(y, x);
}

HN_INLINE vf v_acos(vf x) {
  vm far;
  const vf core = v_asin_core(x, &far);
  const vm falls = v_lt(x, V(0.0F));
  const vf twice = core + core;
  const vf near = V(1.57079637F) - (v_copy_sign(core, x) - V(-4.37113883e-8F));
  const vf beyond = v_select(falls, V(3.14159274F) - (twice - V(-8.74227766e-8F)), twice);
  return v_select(far, beyond, near);
}

/* log(|x| + sqrt(x x + 1)) from 1 on, where x x is lost beside nothing that counts. */
HN_INLINE vf v_asinh(vf x) {
  static const float fit[] = {6.739810924e-04F, -3.838429693e-03F, 1.043083612e-02F, -1.918206550e-02F,
                              2.945628762e-02F, -4.448787868e-02F, 7.498715818e-02F, -1.666662991e-01F};
  const vf size = v_abs(x);
  const vm huge = v_lt(V(1e4F), size);
  const vf sum = v_select(huge, size, size + v_sqrt(size * size + V(1.0F)));
  const vf far = v_log(sum) + v_select(huge, V(0.693147182F), V(0.0F));
  return v_copy_sign(v_select(v_lt(size, V(1.0F)), v_odd(size, size * size, fit, 8), far), x); /* near -0, too */
}

/* log(1 + t + sqrt(t (t + 2))) with t = x - 1. */
HN_INLINE vf v_acosh(vf x) {
  const vm huge = v_lt(V(1e4F), x);
  const vf t = x - V(1.0F), root = v_sqrt(t * (t + V(2.0F)));
  const vf far = v_log(v_select(huge, x, x + root)) + v_select(huge, V(0.693147182F), V(0.0F));
  const vf y = v_select(v_lt(x, V(1.0625F)), v_log1p(t + root), far);
  return v_select(v_lt(x, V(1.0F)), V(NAN), y);
}

HN_INLINE vf v_atanh(vf x) {
  static const float fit[] = {1.764066070e-01F, 5.158584937e-02F, 1.181682274e-01F,
                              1.422374249e-01F, 2.000245452e-01F, 3.333330154e-01F};
  const vf far = V(0.5F) * v_log((V(1.0F) + x) / (V(1.0F) - x));
  return v_select(v_lt(v_abs(x), V(0.5F)), v_odd(x, x * x, fit, 6), far);
}

/* fmod of sizes whose quotient is less than 2^29. With n = a / b to the nearest n b is exact in double, as is a - n b,
 * which is what is wanted or b less. */
HN_INLINE vd v_fmod_core(vd a, vd b) {
  const vd n = (a / b + VD_ROUNDER) - VD_ROUNDER, rest = a - n * b;
  return rest + (vd)((vl)(rest < 0.0) & (vl)b);
}

/* Other quotients, zeros, infinities and NaN are C's library's. The result is exact. */
HN_INLINE vf v_fmod(vf a, vf b) {
  const vf x = v_abs(a), y = v_abs(b);
  const vm near = vm_and(v_lt(x, y * V(536870912.0F)), v_lt(y, V(INFINITY)));
  float left[HN_LANES], right[HN_LANES];
  v_store(left, v_select(near, x, V(0.0F)));
  v_store(right, v_select(near, y, V(1.0F)));
  for (int h = 0; h < 2; ++h) {
    vf_half p, q;
    memcpy(&p, left + h * (HN_LANES / 2), sizeof p);
    memcpy(&q, right + h * (HN_LANES / 2), sizeof q);
    p = __builtin_convertvector(v_fmod_core(__builtin_convertvector(p, vd), __builtin_convertvector(q, vd)), vf_half);
    memcpy(left + h * (HN_LANES / 2), &p, sizeof p);
  }
  const vf rest = v_copy_sign(v_load(left), a);
  if (vm_all(near)) return rest;
  v_store(right, b);
  float out[HN_LANES], lane[HN_LANES];
  v_store(out, a);
  v_store(lane, v_select(near, V(1.0F), V(0.0F)));
  v_store(left, rest);
  for (int i = 0; i < HN_LANES; ++i) out[i] = lane[i] != 0 ? left[i] : fmodf(out[i], right[i]);
  return v_load(out);
}
#endif

#endif
