/* SPDX-License-Identifier: Apache-2.0 */
/* vecmath.inc.h - exp, log, erf, tanh, sigmoid, sin, cos and pow on vectors of floats (vecmath_arc.inc.h has more).
 *
 * Each reduces its argument to a small interval and evaluates a minimax polynomial (fitted by Lawson's
 * reweighting of least squares on Chebyshev nodes, so that the error left is below 0.1 ULP before rounding).
 * Largest error seen over a dense sweep, in ULP of the correctly rounded float, with and without FMA:
 *
 *   exp 1.0   expm1 1.5   log 0.9   log1p 2.4   tanh 1.3   sigmoid 2.2   erf 1.3   sin, cos 1.5   pow 0.51
 *
 * On doubles (kernels/cpu/vecmath_f64.inc.h) they are within 4 ULP.
 *
 * Infinities, NaN, zeros' signs, overflow and subnormal results follow C's Annex F, but for one thing: an exponential
 * below FLT_MIN, and so a sigmoid below it, is 0. Such a result costs a microcode assist of some 150 cycles. */
#ifndef HN_KERNELS_CPU_VECMATH_INC_H
#define HN_KERNELS_CPU_VECMATH_INC_H

#include "kernels/cpu/simd.inc.h"

#define V(x) v_set(x)

#if defined(HN_HELD_F64)
#include "kernels/cpu/vecmath_f64.inc.h"
#else

/* 1.5 * 2^23: adding it and taking it away leaves the nearest integer. */
#define V_ROUNDER 12582912.0F

/* e^r - 1 on |r| <= ln(2)/2. */
HN_INLINE vf v_exp_core(vf r) {
  vf p = V(1.381454003e-3F);
  p = p * r + V(8.368745113e-3F);
  p = p * r + V(4.166839079e-2F);
  p = p * r + V(1.666652040e-1F);
  p = p * r + V(4.999999343e-1F);
  return p * (r * r) + r;
}

/* ln(FLT_MIN), rounded up: e^x is not subnormal from here on. */
#define V_EXP_LEAST (-87.33654F)

/* e^x = (p + 1) * 2^n for x >= V_EXP_LEAST; returns p. */
HN_INLINE vf v_exp_parts(vf x, vf *n) {
  /* The clamp keeps the exponent in range and the result normal; the order of min's operands keeps a NaN. */
  x = v_max(V(V_EXP_LEAST), v_min(V(100.0F), x));
  *n = (x * V(1.44269504F) + V(V_ROUNDER)) - V(V_ROUNDER);
  vf r = x - *n * V(0.693359375F);
  r = r - *n * V(-2.12194440e-4F);
  return v_exp_core(r);
}

HN_INLINE vf v_exp(vf x) {
  vf n;
  const vf p = v_exp_parts(x, &n);
  return v_select(v_lt(x, V(V_EXP_LEAST)), V(0.0F), v_scale(p + V(1.0F), n));
}

HN_INLINE vf v_expm1(vf x) {
  vf n;
  const vf p = v_exp_parts(x, &n);
  /* Near 0 the two halves cancel exactly; far from it the power alone would overflow before its product does. */
  const vf power = v_scale(V(1.0F), n);
  const vf near = p * power + (power - V(1.0F));
  const vf far = v_scale(p + V(1.0F), n) - V(1.0F);
  return v_select(v_eq(x, V(0.0F)), x, v_select(v_lt(v_abs(x), V(20.0F)), near, far));
}

/* log(1 + f) + exponent * ln(2) with 1 + f in [sqrt(1/2), sqrt(2)). */
HN_INLINE vf v_log_core(vf f, vf exponent) {
  vf p = V(6.746641040e-2F);
  p = p * f + V(-1.167565196e-1F);
  p = p * f + V(1.188816210e-1F);
  p = p * f + V(-1.240558889e-1F);
  p = p * f + V(1.421955238e-1F);
  p = p * f + V(-1.666799586e-1F);
  p = p * f + V(2.000211866e-1F);
  p = p * f + V(-2.500000960e-1F);
  p = p * f + V(3.333331260e-1F);
  const vf square = f * f;
  vf tail = p * (square * f) + exponent * V(-2.12194440e-4F);
  tail = tail - V(0.5F) * square;
  return exponent * V(0.693359375F) + (f + tail);
}

HN_INLINE vf v_log(vf x) {
  const vm tiny = v_lt(x, V(1.17549435e-38F));
  const vf normal = v_select(tiny, x * V(8388608.0F), x);
  /* Mantissa in [sqrt(1/2), sqrt(2)), so that log1p's argument is small on both sides of 1. */
  const vi bits = vi_sub(vi_of(normal), vi_set(0x3f3504f3));
  const vf exponent = vf_from(vi_right(bits, 23)) - v_select(tiny, V(23.0F), V(0.0F));
  const vf f = vf_of(vi_add(vi_and(bits, vi_set(0x007fffff)), vi_set(0x3f3504f3))) - V(1.0F);
  vf y = v_log_core(f, exponent);
  y = v_select(v_eq(x, V(INFINITY)), x, y);
  y = v_select(v_eq(x, V(0.0F)), V(-INFINITY), y);
  return v_select(v_le(V(0.0F), x), y, V(NAN));
}

HN_INLINE vf v_log1p(vf x) {
  const vm near = vm_and(v_lt(V(-0.25F), x), v_lt(x, V(0.4F)));
  const vf small = v_select(v_eq(x, V(0.0F)), x, v_log_core(v_select(near, x, V(0.0F)), V(0.0F)));
  return v_select(near, small, v_log(V(1.0F) + x));
}

HN_INLINE vf v_sigmoid(vf x) {
  /* e^-|x| cannot overflow; on the left 1/(1+e^-x) = e^x/(1+e^x), which keeps small results. */
  const vf e = v_exp(v_negate(v_abs(x)));
  return v_select(v_lt(x, V(0.0F)), e, V(1.0F)) / (V(1.0F) + e);
}

HN_INLINE vf v_tanh(vf x) {
  const vf size = v_abs(x);
  const vf z = x * x;
  vf p = V(-5.704986522e-3F);
  p = p * z + V(2.063908676e-2F);
  p = p * z + V(-5.373971491e-2F);
  p = p * z + V(1.333144220e-1F);
  p = p * z + V(-3.333328194e-1F);
  const vf near = p * z * x + x;
  const vf far = V(1.0F) - V(2.0F) / (v_exp(size + size) + V(1.0F));
  return v_copy_sign(v_select(v_lt(size, V(0.625F)), near, far), x); /* near -0, too */
}

HN_INLINE vf v_erf(vf x) {
  const vf size = v_abs(x);
  const vf z = x * x;
  vf p = V(8.513103422e-5F);
  p = p * z + V(-8.175639137e-4F);
  p = p * z + V(5.203859146e-3F);
  p = p * z + V(-2.686050846e-2F);
  p = p * z + V(1.128371503e-1F);
  p = p * z + V(-3.761263498e-1F);
  p = p * z + V(1.283791668e-1F);
  const vf near = p * x + x;
  /* log(erfc(t)) is smooth; beyond 4 erf is 1 in float. */
  const vf t = v_min(V(4.0F), size);
  vf q = V(-2.082852442e-5F);
  q = q * t + V(4.313925457e-4F);
  q = q * t + V(-4.156250286e-3F);
  q = q * t + V(2.508060509e-2F);
  q = q * t + V(-1.082203676e-1F);
  q = q * t + V(-6.334008648e-1F);
  q = q * t + V(-1.129488400e+0F);
  q = q * t + V(1.692038794e-4F);
  const vf far = V(1.0F) - v_exp(q);
  return v_select(v_lt(size, V(0.9F)), near, v_copy_sign(far, x));
}

/* Double precision on half a vector's lanes: where a float's 24 bits do not carry the intermediate value. */
typedef float vf_half __attribute__((vector_size(2 * HN_LANES)));
typedef double vd __attribute__((vector_size(4 * HN_LANES)));
typedef uint64_t vl __attribute__((vector_size(4 * HN_LANES)));

#define VD_ROUNDER 6755399441055744.0 /* 1.5 * 2^52 */

/* Beyond this the two-part pi/2 below no longer multiplies exactly; libm takes those lanes. */
#define V_SIN_LIMIT 1048576.0F

/* Returns r = x - q * pi/2 with |r| <= pi/4, and q modulo 2^32 as integers. */
HN_INLINE vf v_quadrant(vf x, vi *q) {
  float in[HN_LANES], out[HN_LANES];
  int32_t count[HN_LANES];
  v_store(in, v_select(v_lt(v_abs(x), V(V_SIN_LIMIT)), x, V(0.0F)));
  for (int h = 0; h < 2; ++h) {
    vf_half narrow;
    memcpy(&narrow, in + h * (HN_LANES / 2), sizeof narrow);
    const vd wide = __builtin_convertvector(narrow, vd);
    const vd whole = wide * 0.63661977236758134308 + VD_ROUNDER;
    const vd n = whole - VD_ROUNDER;
    const vd r = (wide - n * 1.57079632673412561417e+00) - n * 6.07710050650619224932e-11;
    narrow = __builtin_convertvector(r, vf_half);
    memcpy(out + h * (HN_LANES / 2), &narrow, sizeof narrow);
    const vl bits = (vl)whole;
    for (int i = 0; i < HN_LANES / 2; ++i) count[h * (HN_LANES / 2) + i] = (int32_t)(uint32_t)bits[i];
  }
  *q = vi_load(count);
  return v_load(out);
}

/* Of |r| <= pi/4. */
HN_INLINE void v_sin_cos(vf r, vf *out_sin, vf *out_cos) {
  const vf z = r * r;
  vf s = V(2.718237280e-6F);
  s = s * z + V(-1.983932714e-4F);
  s = s * z + V(8.333329362e-3F);
  s = s * z + V(-1.666666664e-1F);
  *out_sin = s * (z * r) + r;
  vf c = V(2.443241297e-5F);
  c = c * z + V(-1.388730987e-3F);
  c = c * z + V(4.166664555e-2F);
  *out_cos = c * (z * z) - V(0.5F) * z + V(1.0F);
}

/* sin(x + quarter * pi/2) for |x| < V_SIN_LIMIT. */
HN_INLINE vf v_sin_turned(vf x, int32_t quarter) {
  vi q;
  vf s, c;
  v_sin_cos(v_quadrant(x, &q), &s, &c);
  q = vi_add(q, vi_set(quarter));
  const vm odd = v_ne(vf_from(vi_and(q, vi_set(1))), V(0.0F));
  const vf y = v_select(odd, c, s);
  return vf_of(vi_xor(vi_of(y), vi_left(vi_and(q, vi_set(2)), 30)));
}

/* y with the lanes that C's library has to compute. */
HN_INLINE vf v_beyond_limit(float (*function)(float), vf x, vf y) {
  if (!vm_any(vm_not(v_lt(v_abs(x), V(V_SIN_LIMIT))))) return y;
  float in[HN_LANES], out[HN_LANES];
  v_store(in, x);
  v_store(out, y);
  for (int i = 0; i < HN_LANES; ++i)
    if (!(fabsf(in[i]) < V_SIN_LIMIT)) out[i] = function(in[i]);
  return v_load(out);
}

HN_INLINE vf v_sin(vf x) { return v_beyond_limit(sinf, x, v_select(v_eq(x, V(0.0F)), x, v_sin_turned(x, 0))); }
HN_INLINE vf v_cos(vf x) { return v_beyond_limit(cosf, x, v_sin_turned(x, 1)); }

/* 2^(y * log2(x)) for normal x > 0: double holds the product's 8 integer and 24 fraction bits with room. */
HN_INLINE vd v_pow_core(vd x, vd y) {
  const vl one = (vl)((vd){0} + 1.0);
  const vl root = (vl)((vd){0} + 0.70710678118654752440);
  const vl shifted = (vl)x - root + one;
  const vl power = shifted >> 52;
  const vd m = (vd)((vl)x - (power << 52) + one);
  const vd exponent = (vd)(power + (vl)((vd){0} + VD_ROUNDER)) - (VD_ROUNDER + 1023.0);
  const vd s = (m - 1.0) / (m + 1.0);
  const vd z = s * s;
  vd p = z * (2.0 / 15.0) + 2.0 / 13.0;
  p = p * z + 2.0 / 11.0;
  p = p * z + 2.0 / 9.0;
  p = p * z + 2.0 / 7.0;
  p = p * z + 2.0 / 5.0;
  p = p * z + 2.0 / 3.0;
  const vd log_m = p * (z * s) + s * 2.0;
  vd t = y * (exponent + log_m * 1.44269504088896340736);
  /* Written so that a NaN survives both comparisons. */
  const vl above = (vl)(t > 160.0), below = (vl)(t < -170.0);
  t = (vd)((above & (vl)((vd){0} + 160.0)) | (~above & (vl)t));
  t = (vd)((below & (vl)((vd){0} - 170.0)) | (~below & (vl)t));
  const vd whole = t + VD_ROUNDER;
  const vd r = (t - (whole - VD_ROUNDER)) * 0.69314718055994530942;
  vd e = r * (1.0 / 362880.0) + 1.0 / 40320.0;
  e = e * r + 1.0 / 5040.0;
  e = e * r + 1.0 / 720.0;
  e = e * r + 1.0 / 120.0;
  e = e * r + 1.0 / 24.0;
  e = e * r + 1.0 / 6.0;
  e = e * r + 0.5;
  e = e * (r * r) + r + 1.0;
  const vd scale = (vd)((((vl)whole - (vl)((vd){0} + VD_ROUNDER)) << 52) + one);
  return e * scale;
}

HN_INLINE vf v_pow(vf x, vf y) {
  const vf size = v_abs(x);
  float base[HN_LANES], exponent[HN_LANES], out[HN_LANES];
  v_store(base, size);
  v_store(exponent, y);
  for (int h = 0; h < 2; ++h) {
    vf_half a, b;
    memcpy(&a, base + h * (HN_LANES / 2), sizeof a);
    memcpy(&b, exponent + h * (HN_LANES / 2), sizeof b);
    a = __builtin_convertvector(v_pow_core(__builtin_convertvector(a, vd), __builtin_convertvector(b, vd)), vf_half);
    memcpy(out + h * (HN_LANES / 2), &a, sizeof a);
  }
  vf r = v_load(out);
  const vf inf = V(INFINITY), zero = V(0.0F), one = V(1.0F);
  const vm falling = v_lt(y, zero);
  r = v_select(v_eq(size, zero), v_select(falling, inf, zero), r);
  r = v_select(v_eq(size, inf), v_select(falling, zero, inf), r);
  r = v_select(v_eq(size, one), one, r);
  const vf half = y * V(0.5F);
  const vm whole = v_eq(v_floor(y), y);
  const vm odd = vm_and(whole, v_ne(v_floor(half), half));
  const vm minus = v_ne(v_copy_sign(one, x), one);
  r = v_select(vm_and(minus, odd), v_negate(r), r);
  const vm finite = v_lt(size, inf);
  r = v_select(vm_and(vm_and(v_lt(x, zero), finite), vm_not(whole)), V(NAN), r);
  r = v_select(vm_or(v_ne(x, x), v_ne(y, y)), V(NAN), r);
  return v_select(vm_or(v_eq(y, zero), v_eq(x, one)), one, r);
}

/* Epilogues' functions. The `_fast` ones are the same functions with fewer steps (explicit fused products, an
 * approximate reciprocal): 1 to 3 ULP, no care for what an epilogue never sees. They stand beside the others because
 * the two round differently, and a network's bits are promised to stay. */

/* exp(x) within 1 ULP; results below FLT_MIN are 0 (a subnormal one costs an assist), above FLT_MAX infinite.
 * x = n ln2 + r with |r| <= ln2 / 2, ln2 in two parts so that r is exact; 2^n in two factors so that
 * neither overflows. The polynomial is a minimax fit of (e^r - 1 - r) / r^2. */
HN_INLINE vf v_exp_fast(vf x) {
  const vf magic = v_set(12582912.0f); /* 1.5 * 2^23: adding it leaves the rounded integer in the low bits */
  const vf least = v_set(-87.33654f);  /* ln(FLT_MIN), rounded up */
  const vm tiny = v_lt(x, least);
  x = v_min(v_set(89.0f), v_max(least, x));
  const vf shifted = v_fma(x, v_set(1.44269504f), magic);
  const vf n = shifted - magic;
  const vf r = v_fma(n, v_set(-1.42860677e-6f), v_fma(n, v_set(-0.693145752f), x));
  vf p = v_fma(v_set(1.38146e-3f), r, v_set(8.36871e-3f));
  p = v_fma(p, r, v_set(4.166839e-2f));
  p = v_fma(p, r, v_set(1.6666521e-1f));
  p = v_fma(p, r, v_set(4.9999993e-1f));
  p = v_fma(p * r, r, r) + 1.0f;
  return v_select(tiny, v_set(0.0f), v_scale(p, n));
}

/* exp(x) for x <= 0, and 0 below -87: nothing becomes subnormal, which costs a hundred times as much. */
HN_INLINE vf v_exp_below_fast(vf x) {
  const vf magic = v_set(12582912.0f), least = v_set(-87.0f);
  const vf at = v_max(least, x), shifted = v_fma(at, v_set(1.44269504f), magic), n = shifted - magic;
  const vf r = v_fma(n, v_set(-1.42860677e-6f), v_fma(n, v_set(-0.693145752f), at));
  vf p = v_fma(v_set(1.38146e-3f), r, v_set(8.36871e-3f));
  p = v_fma(p, r, v_set(4.166839e-2f));
  p = v_fma(p, r, v_set(1.6666521e-1f));
  p = v_fma(p, r, v_set(4.9999993e-1f));
  p = v_fma(p * r, r, r) + 1.0f;
  const vi power = vi_add(vi_sub(vi_of(shifted), vi_of(magic)), vi_set(127));
  return v_select(v_lt(x, least), v_set(0.0f), p * vf_of(vi_left(power, 23)));
}

/* 1 / x within 2 ULP for normal finite x whose reciprocal is normal. A division of 16 lanes takes as long as 30
 * multiplications; the estimate is good to 14 bits, and one step of Newton doubles them. */
HN_INLINE vf v_reciprocal(vf x) {
#if defined(HN_SIMD_AVX512)
  const vf y = _mm512_rcp14_ps(x);
  return v_fma(y, _mm512_fnmadd_ps(x, y, v_set(1.0f)), y);
#else
  return 1.0f / x;
#endif
}

/* 1 / (1 + e^-x) within 3 ULP between -87 and 87, where it stays beyond them. e^-x = 2^n e^r with n = round(-x / ln2);
 * the polynomial is a minimax fit of e^r (9e-8), and the magic number leaves n + 127, a float's exponent, in the low
 * bits. */
HN_INLINE vf v_sigmoid_fast(vf x) {
  const vf magic = v_set(12583039.0f); /* 1.5 * 2^23 + 127 */
  x = v_min(v_set(87.0f), v_max(v_set(-87.0f), x));
  const vf shifted = v_fma(x, v_set(-1.44269504f), magic);
#if defined(HN_SIMD_C) /* no fused product: ln2 in two parts, so that each is exact */
  const vf n = shifted - magic;
  const vf r = v_fma(n, v_set(-1.42860677e-6f), v_fma(n, v_set(-0.693145752f), -x));
#else
  const vf r = v_fma(shifted - magic, v_set(-0.693147182f), -x);
#endif
  vf p = v_fma(v_set(8.29027221e-3f), r, v_set(4.18981612e-2f));
  p = v_fma(p, r, v_set(1.66676387e-1f));
  p = v_fma(p, r, v_set(4.99991477e-1f));
  p = v_fma(p, r, v_set(9.99999702e-1f));
  p = v_fma(p, r, v_set(1.0f));
  return v_reciprocal(v_fma(p, vf_of(vi_left(vi_of(shifted), 23)), v_set(1.0f)));
}

/* Near zero an odd polynomial, elsewhere 1 - 2 / (e^2|x| + 1) with x's sign. */
HN_INLINE vf v_tanh_fast(vf x) {
  const vf a = v_abs(x), s = x * x;
  vf p = v_fma(v_set(-5.7049861e-3f), s, v_set(2.06390863e-2f));
  p = v_fma(p, s, v_set(-5.37397148e-2f));
  p = v_fma(p, s, v_set(1.333144219e-1f));
  p = v_fma(p, s, v_set(-3.333328194e-1f));
  const vf near = v_fma(p * s, x, x);
  const vf far = 1.0f - 2.0f / (v_exp_fast(a + a) + 1.0f);
  return v_copy_sign(v_select(v_lt(a, v_set(0.625f)), near, far), x); /* -0 stays -0 */
}

/* x Phi(x). With t = |x| / sqrt(2) and q = 1 / (1 + 0.3 t), erfc(t) = exp(-t^2) q P(q): no cancellation for
 * negative x. P is a minimax fit, relative error 2e-8. */
HN_INLINE vf v_gelu(vf x) {
  static const float fit[9] = {1.691880061e-1f, 1.707152125e-1f,  1.48339276e-1f,  2.149256364e-1f, -9.46497159e-2f,
                               5.477185414e-1f, -5.122767684e-1f, 4.855625623e-1f, -1.295227698e-1f};
  const vf q = v_reciprocal(v_fma(v_min(v_set(30.0f), v_abs(x)), v_set(0.3f * 0.707106781f), v_set(1.0f)));
  vf p = v_set(fit[8]);
  HN_UNROLL
  for (int i = 7; i >= 0; --i) p = v_fma(p, q, v_set(fit[i]));
  const vf tail = v_exp_below_fast(x * x * -0.5f) * q * (p * 0.5f);
  return x * v_select(v_lt(x, v_set(0.0f)), tail, 1.0f - tail);
}

/* The same by its tanh approximation, x s(2u) with u = sqrt(2 / pi) (x + 0.044715 x^3): no cancellation either. */
HN_INLINE vf v_gelu_tanh(vf x) {
  return x * v_sigmoid_fast(x * v_fma(x * x, v_set(0.0713548163f), v_set(1.59576912f)));
}

/* exp(x) - 1 for x <= 0, as 2 t / (1 - t) with t = tanh(x / 2). */
HN_INLINE vf v_expm1_fast(vf x) {
  const vf t = v_tanh_fast(x * 0.5f);
  return (t + t) / (1.0f - t);
}

/* x tanh(log(1 + e)) with e = exp(x) is x n / (n + 2) with n = e (e + 2), which is x beyond 20. */
HN_INLINE vf v_mish(vf x) {
  const vf e = v_exp_fast(v_min(v_set(20.0f), x)), n = e * (e + 2.0f);
  return x * (n / (n + 2.0f));
}

#endif /* of floats */

#endif
