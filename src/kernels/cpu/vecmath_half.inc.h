/* SPDX-License-Identifier: Apache-2.0 */
/* vecmath_half.inc.h - epilogues' functions on vectors of floats that become bf16 or f16: what is rounded to 8 or 11
 * bits needs no more than a few bits behind them. A third to a half of the steps of vecmath.inc.h.
 *
 * Relative errors, beside the rounding's own, 2^-8 or 2^-11 (tests/unit/kernels/test_activate_halves.c):
 *
 *   bf16 2^-12, f16 2^-13;  the tail of gelu below -5 (bf16) or -5.6 (f16), where it is less than 1.5e-6, is less
 * exact.
 *
 * NaN and infinities give what the functions of vecmath.inc.h give. */
#ifndef HN_KERNELS_CPU_VECMATH_HALF_INC_H
#define HN_KERNELS_CPU_VECMATH_HALF_INC_H

#include "kernels/cpu/vecmath.inc.h"

#if defined(HN_HELD_F16)
enum { HALF_EXP2_DEGREE = 4, HALF_TAIL_DEGREE = 7 };
static const float half_exp2[] = {1.00000259f, 0.693003835f, 0.241442756f, 0.0520114619f, 0.0135341672f};
static const float half_tail[] = {-0.9999954f,    -1.15124844f,    -0.458474332f,  -0.0539464102f,
                                  0.00849923874f, -9.27785033e-4f, 6.11774018e-5f, -1.80987178e-6f};
#else
enum { HALF_EXP2_DEGREE = 3, HALF_TAIL_DEGREE = 5 };
static const float half_exp2[] = {0.999925219f, 0.695833534f, 0.226067173f, 0.0780245102f};
static const float half_tail[] = {-1.00022834f,  -1.14778894f,   -0.466907371f,
                                  -0.046319391f, 0.00529736106f, -2.69918812e-4f};
#endif

HN_INLINE vf v_polynomial(vf x, const float *fit, const int degree) {
  vf p = v_set(fit[degree]);
  HN_UNROLL
  for (int i = degree - 1; i >= 0; --i) p = v_fma(p, x, v_set(fit[i]));
  return p;
}

/* 1 / x for |x| in [1, 2^126]. */
HN_INLINE vf v_reciprocal_half(vf x) {
#if defined(HN_SIMD_AVX512)
  return _mm512_rcp14_ps(x);
#else
  return 1.0f / x;
#endif
}

/* 2^t for t <= 127: 2^floor(t) times a minimax fit of 2^r on [0, 1). 0 from -150 on at the latest. */
HN_INLINE vf v_exp2_half(vf t) {
#if defined(HN_SIMD_AVX512) /* reducing takes the floor away, scaling takes it */
  return _mm512_scalef_ps(v_polynomial(_mm512_reduce_ps(t, 0x09), half_exp2, HALF_EXP2_DEGREE), t);
#else
  const vf magic = v_set(12583039.0f);                                                         /* 1.5 * 2^23 + 127 */
  const vf at = v_max(v_set(-126.0f), v_min(v_set(127.0f), t)), shifted = (at - 0.5f) + magic; /* NaN stays */
  const vf p = v_polynomial(at - (shifted - magic), half_exp2, HALF_EXP2_DEGREE);
  return v_select(v_lt(t, v_set(-126.0f)), v_set(0.0f), p * vf_of(vi_left(vi_of(shifted), 23)));
#endif
}

/* Below -87 it stays, as v_sigmoid_fast() does, which takes fewer steps where nothing scales. */
HN_INLINE vf v_sigmoid_half(vf x) {
#if defined(HN_SIMD_AVX512)
  return v_reciprocal_half(v_exp2_half(v_max(v_set(-87.0f), x) * -1.44269504f) + 1.0f);
#else
  return v_sigmoid_fast(x);
#endif
}

/* Numerator and denominator of tanh, a minimax fit on [-5, 5], beyond which it stays. */
HN_INLINE vf v_tanh_half_parts(vf x, vf *denominator) {
  x = v_min(v_set(5.0f), v_max(v_set(-5.0f), x));
  const vf z = x * x;
  *denominator = v_fma(v_fma(v_set(0.0128199175f), z, v_set(0.435432646f)), z, v_set(1.0f));
  return x * v_fma(v_fma(v_set(6.70568025e-4f), z, v_set(0.102417809f)), z, v_set(0.999948073f));
}
HN_INLINE vf v_tanh_half(vf x) {
  vf denominator;
  const vf numerator = v_tanh_half_parts(x, &denominator);
  return numerator * v_reciprocal_half(denominator);
}

/* x Phi(x): the logarithm of Phi(-|x|) is all but a parabola. */
HN_INLINE vf v_gelu_half(vf x) {
  const vf tail = v_exp2_half(v_polynomial(v_abs(x), half_tail, HALF_TAIL_DEGREE));
  return x * v_select(v_lt(x, v_set(0.0f)), tail, 1.0f - tail);
}

HN_INLINE vf v_gelu_tanh_half(vf x) {
  return x * v_sigmoid_half(x * v_fma(x * x, v_set(0.0713548163f), v_set(1.59576912f)));
}

/* exp(x) - 1 for x <= 0: with t = tanh(x / 2) = n / d it is 2 t / (1 - t) = 2 n / (d - n). */
HN_INLINE vf v_expm1_half(vf x) {
  vf d;
  const vf n = v_tanh_half_parts(x * 0.5f, &d);
  return (n + n) * v_reciprocal_half(d - n);
}

HN_INLINE vf v_mish_half(vf x) {
  const vf e = v_exp2_half(v_min(v_set(20.0f), x) * 1.44269504f), n = e * (e + 2.0f);
  return x * (n * v_reciprocal_half(n + 2.0f));
}

#endif
