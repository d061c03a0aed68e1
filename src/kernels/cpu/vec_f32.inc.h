/* SPDX-License-Identifier: Apache-2.0 */
/* vec_f32.inc.h - vectors of HN_LANES floats: the few operations the tiles need and the activations.
 *
 * Included once by each ISA's file, which defines HN_LANES: 16 (AVX-512), 8 (AVX2 with FMA) or 4 (whatever
 * the compiler makes of a 16-byte vector type). Everything here is static to that file. */
#ifndef HN_KERNELS_CPU_VEC_F32_INC_H
#define HN_KERNELS_CPU_VEC_F32_INC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/epilogue.h"

#if HN_LANES > 4
#include <immintrin.h>
#endif

#define HN_INLINE static inline __attribute__((always_inline, unused))
#define HN_OUTLINE static __attribute__((noinline, unused))
#if defined(__clang__)
#define HN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define HN_UNROLL _Pragma("GCC unroll 64")
#endif

typedef float vf __attribute__((vector_size(4 * HN_LANES)));
typedef int32_t vi __attribute__((vector_size(4 * HN_LANES)));
typedef uint32_t vu __attribute__((vector_size(4 * HN_LANES)));
typedef float vf_memory __attribute__((vector_size(4 * HN_LANES), aligned(4), may_alias));

HN_INLINE vf v_load(const float *p) { return *(const vf_memory *)p; }
HN_INLINE void v_store(float *p, vf v) { *(vf_memory *)p = v; }

/* min and max give the second operand if either is NaN, so a NaN in x survives v_max(bound, x). */
#if HN_LANES == 16
HN_INLINE vf v_set(float x) { return _mm512_set1_ps(x); }
HN_INLINE vf v_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
HN_INLINE vf v_max(vf bound, vf x) { return _mm512_max_ps(bound, x); }
HN_INLINE vf v_min(vf bound, vf x) { return _mm512_min_ps(bound, x); }
HN_INLINE int v_all_below(vf x, vf bound) { return _mm512_cmp_ps_mask(x, bound, _CMP_LT_OQ) == 0xffff; }
#elif HN_LANES == 8
HN_INLINE vf v_set(float x) { return _mm256_set1_ps(x); }
HN_INLINE vf v_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
HN_INLINE vf v_max(vf bound, vf x) { return _mm256_max_ps(bound, x); }
HN_INLINE vf v_min(vf bound, vf x) { return _mm256_min_ps(bound, x); }
HN_INLINE int v_all_below(vf x, vf bound) { return _mm256_movemask_ps(_mm256_cmp_ps(x, bound, _CMP_LT_OQ)) == 0xff; }
#else
HN_INLINE vf v_set(float x) { return (vf){x, x, x, x}; }
HN_INLINE vf v_fma(vf a, vf b, vf c) { return a * b + c; }
#endif

HN_INLINE vf v_select(vi mask, vf yes, vf no) { return (vf)((mask & (vi)yes) | (~mask & (vi)no)); }
#if HN_LANES == 4
HN_INLINE vf v_max(vf bound, vf x) { return v_select(bound > x, bound, x); }
HN_INLINE vf v_min(vf bound, vf x) { return v_select(bound < x, bound, x); }
HN_INLINE int v_all_below(vf x, vf bound) {
  const vi below = x < bound;
  return (below[0] & below[1] & below[2] & below[3]) != 0;
}
#endif

HN_INLINE vf v_abs(vf x) { return (vf)((vi)x & 0x7fffffff); }

/* exp(x) within 1 ULP; results below FLT_MIN are 0 (a subnormal one costs an assist), above FLT_MAX infinite.
 * x = n ln2 + r with |r| <= ln2 / 2, ln2 in two parts so that r is exact; 2^n in two factors so that
 * neither overflows. The polynomial is a minimax fit of (e^r - 1 - r) / r^2. */
HN_INLINE vf v_exp(vf x) {
  const vf magic = v_set(12582912.0f); /* 1.5 * 2^23: adding it leaves the rounded integer in the low bits */
  const vf least = v_set(-87.33654f);  /* ln(FLT_MIN), rounded up */
  const vi tiny = x < least;
  x = v_min(v_set(89.0f), v_max(least, x));
  const vf shifted = v_fma(x, v_set(1.44269504f), magic);
  const vf n = shifted - magic;
  const vf r = v_fma(n, v_set(-1.42860677e-6f), v_fma(n, v_set(-0.693145752f), x));
  vf p = v_fma(v_set(1.38146e-3f), r, v_set(8.36871e-3f));
  p = v_fma(p, r, v_set(4.166839e-2f));
  p = v_fma(p, r, v_set(1.6666521e-1f));
  p = v_fma(p, r, v_set(4.9999993e-1f));
  p = v_fma(p * r, r, r) + 1.0f;
#if HN_LANES == 16
  return v_select(tiny, v_set(0.0f), _mm512_scalef_ps(p, n));
#else
  const vi whole = (vi)shifted - (vi)magic;
  const vi half = whole >> 1;
  return v_select(tiny, v_set(0.0f), p * (vf)((half + 127) << 23) * (vf)((whole - half + 127) << 23));
#endif
}

/* exp(x) for x <= 0, and 0 below -87: nothing becomes subnormal, which costs a hundred times as much. */
HN_INLINE vf v_exp_below(vf x) {
  const vf magic = v_set(12582912.0f), least = v_set(-87.0f);
  const vf at = v_max(least, x), shifted = v_fma(at, v_set(1.44269504f), magic), n = shifted - magic;
  const vf r = v_fma(n, v_set(-1.42860677e-6f), v_fma(n, v_set(-0.693145752f), at));
  vf p = v_fma(v_set(1.38146e-3f), r, v_set(8.36871e-3f));
  p = v_fma(p, r, v_set(4.166839e-2f));
  p = v_fma(p, r, v_set(1.6666521e-1f));
  p = v_fma(p, r, v_set(4.9999993e-1f));
  p = v_fma(p * r, r, r) + 1.0f;
  return v_select(x < least, v_set(0.0f), p * (vf)(((vi)shifted - (vi)magic + 127) << 23));
}

/* 1 / x within 2 ULP for normal finite x whose reciprocal is normal. A division of 16 lanes takes as long as 30
 * multiplications; the estimate is good to 14 bits, and one step of Newton doubles them. */
HN_INLINE vf v_reciprocal(vf x) {
#if HN_LANES == 16
  const vf y = _mm512_rcp14_ps(x);
  return v_fma(y, _mm512_fnmadd_ps(x, y, v_set(1.0f)), y);
#else
  return 1.0f / x;
#endif
}

/* 1 / (1 + e^-x) within 3 ULP between -87 and 87, where it stays beyond them. e^-x = 2^n e^r with n = round(-x / ln2);
 * the polynomial is a minimax fit of e^r (9e-8), and the magic number leaves n + 127, a float's exponent, in the low
 * bits. */
HN_INLINE vf v_sigmoid(vf x) {
  const vf magic = v_set(12583039.0f); /* 1.5 * 2^23 + 127 */
  x = v_min(v_set(87.0f), v_max(v_set(-87.0f), x));
  const vf shifted = v_fma(x, v_set(-1.44269504f), magic);
#if HN_LANES == 4 /* no fused product: ln2 in two parts, so that each is exact */
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
  return v_reciprocal(v_fma(p, (vf)((vu)shifted << 23), v_set(1.0f)));
}

/* Near zero an odd polynomial, elsewhere 1 - 2 / (e^2|x| + 1) with x's sign. */
HN_INLINE vf v_tanh(vf x) {
  const vf a = v_abs(x), s = x * x;
  vf p = v_fma(v_set(-5.7049861e-3f), s, v_set(2.06390863e-2f));
  p = v_fma(p, s, v_set(-5.37397148e-2f));
  p = v_fma(p, s, v_set(1.333144219e-1f));
  p = v_fma(p, s, v_set(-3.333328194e-1f));
  const vf near = v_fma(p * s, x, x);
  const vf far = 1.0f - 2.0f / (v_exp(a + a) + 1.0f);
  return (vf)((vi)v_abs(v_select(a < 0.625f, near, far)) | ((vi)x & INT32_MIN)); /* -0 stays -0 */
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
  const vf tail = v_exp_below(x * x * -0.5f) * q * (p * 0.5f);
  return x * v_select(x < 0.0f, tail, 1.0f - tail);
}

/* The same by its tanh approximation, x s(2u) with u = sqrt(2 / pi) (x + 0.044715 x^3): no cancellation either. */
HN_INLINE vf v_gelu_tanh(vf x) { return x * v_sigmoid(x * v_fma(x * x, v_set(0.0713548163f), v_set(1.59576912f))); }

/* exp(x) - 1 for x <= 0, as 2 t / (1 - t) with t = tanh(x / 2). */
HN_INLINE vf v_expm1(vf x) {
  const vf t = v_tanh(x * 0.5f);
  return (t + t) / (1.0f - t);
}

/* x tanh(log(1 + e)) with e = exp(x) is x n / (n + 2) with n = e (e + 2), which is x beyond 20. */
HN_INLINE vf v_mish(vf x) {
  const vf e = v_exp(v_min(v_set(20.0f), x)), n = e * (e + 2.0f);
  return x * (n / (n + 2.0f));
}

/* Bounds for what max and min alone can do; the others are applied by activate(). */
HN_INLINE void activation_bounds(const hn_epilogue_f32 *e, float *low, float *high) {
  *low = e->activation == HN_ACTIVATION_RELU   ? 0.0f
         : e->activation == HN_ACTIVATION_CLIP ? e->alpha
                                               : -__builtin_inff();
  *high = e->activation == HN_ACTIVATION_CLIP ? e->beta : __builtin_inff();
}
HN_INLINE int activation_is_bounds(const hn_epilogue_f32 *e) { return e->activation <= HN_ACTIVATION_CLIP; }

HN_INLINE vf activate_one(vf x, hn_activation kind, float alpha, float beta) {
  const vf zero = v_set(0.0f), one = v_set(1.0f);
  switch (kind) {
  case HN_ACTIVATION_LEAKY_RELU: return v_select(x < zero, x * alpha, x);
  case HN_ACTIVATION_SIGMOID: return v_sigmoid(x);
  case HN_ACTIVATION_SILU: return x * v_sigmoid(x);
  case HN_ACTIVATION_HARDSWISH: return x * v_min(one, v_max(zero, v_fma(x, v_set(1.0f / 6.0f), v_set(0.5f))));
  case HN_ACTIVATION_HARDSIGMOID: return v_min(one, v_max(zero, v_fma(x, v_set(alpha), v_set(beta))));
  case HN_ACTIVATION_GELU_ERF: return v_gelu(x);
  case HN_ACTIVATION_TANH: return v_tanh(x);
  case HN_ACTIVATION_GELU_TANH: return v_gelu_tanh(x);
  case HN_ACTIVATION_ELU: return v_select(x < zero, alpha * v_expm1(v_min(zero, x)), x);
  case HN_ACTIVATION_MISH: return v_mish(x);
  case HN_ACTIVATION_PRELU: /* activate_channels() */
  case HN_ACTIVATION_COUNT:
  case HN_ACTIVATION_NONE:
  case HN_ACTIVATION_RELU:
  case HN_ACTIVATION_CLIP: break;
  }
  return x;
}

/* The last vector goes through a copy, so that an element's result does not depend on its place in a run. */
#define HN_ACTIVATE_CASE(KIND)                                                                                         \
  case KIND:                                                                                                           \
    for (; i + HN_LANES <= count; i += HN_LANES) v_store(x + i, activate_one(v_load(x + i), KIND, alpha, beta));       \
    break;

/* Applies the activations that are not plain bounds to count floats in place, while they are in L1. */
HN_OUTLINE void activate(float *x, int64_t count, const hn_epilogue_f32 *e) {
  const float alpha = e->alpha, beta = e->beta;
  int64_t i = 0;
  switch (e->activation) {
    HN_ACTIVATE_CASE(HN_ACTIVATION_LEAKY_RELU)
    HN_ACTIVATE_CASE(HN_ACTIVATION_SIGMOID)
    HN_ACTIVATE_CASE(HN_ACTIVATION_SILU)
    HN_ACTIVATE_CASE(HN_ACTIVATION_HARDSWISH)
    HN_ACTIVATE_CASE(HN_ACTIVATION_HARDSIGMOID)
    HN_ACTIVATE_CASE(HN_ACTIVATION_GELU_ERF)
    HN_ACTIVATE_CASE(HN_ACTIVATION_TANH)
    HN_ACTIVATE_CASE(HN_ACTIVATION_GELU_TANH)
    HN_ACTIVATE_CASE(HN_ACTIVATION_ELU)
    HN_ACTIVATE_CASE(HN_ACTIVATION_MISH)
  case HN_ACTIVATION_PRELU:
  case HN_ACTIVATION_COUNT:
  case HN_ACTIVATION_NONE:
  case HN_ACTIVATION_RELU:
  case HN_ACTIVATION_CLIP: return;
  }
  const size_t rest_bytes = (size_t)(count % HN_LANES) * sizeof(float);
  if (!rest_bytes) return;
  float last[HN_LANES] = {0};
  memcpy(last, x + i, rest_bytes);
  v_store(last, activate_one(v_load(last), e->activation, alpha, beta));
  memcpy(x + i, last, rest_bytes);
}

HN_INLINE vf rectify_one(vf x, vf slope) { return v_select(x < 0.0f, x * slope, x); }

/* x[i] or slope[i % period] * x[i] where that is negative. The period is whole vectors, or count or more. */
HN_OUTLINE void rectify(float *x, int64_t count, const float *slope, int64_t period) {
  for (int64_t at = 0; at < count; at += period, x += period) {
    const int64_t run = count - at < period ? count - at : period;
    int64_t i = 0;
    for (; i + HN_LANES <= run; i += HN_LANES) v_store(x + i, rectify_one(v_load(x + i), v_load(slope + i)));
    const size_t rest_bytes = (size_t)(run % HN_LANES) * sizeof(float);
    if (!rest_bytes) continue;
    float last[HN_LANES] = {0}, slopes[HN_LANES] = {0};
    memcpy(last, x + i, rest_bytes);
    memcpy(slopes, slope + i, rest_bytes);
    v_store(last, rectify_one(v_load(last), v_load(slopes)));
    memcpy(x + i, last, rest_bytes);
  }
}

/* activate() where the channels begin with `channel` and repeat with the period, as rectify() wants it. */
HN_INLINE void activate_channels(float *x, int64_t count, const hn_epilogue_f32 *e, int64_t channel, int64_t period) {
  if (e->activation == HN_ACTIVATION_PRELU)
    rectify(x, count, e->slope + channel, period);
  else
    activate(x, count, e);
}

/* activate() where all are of one channel. */
HN_INLINE void activate_channel(float *x, int64_t count, const hn_epilogue_f32 *e, int64_t channel) {
  if (e->activation == HN_ACTIVATION_PRELU)
    activate(x, count, &(hn_epilogue_f32){.activation = HN_ACTIVATION_LEAKY_RELU, .alpha = e->slope[channel]});
  else
    activate(x, count, e);
}

#endif
