/* SPDX-License-Identifier: Apache-2.0 */
/* simd.inc.h - one vector type of real numbers and its operations, for the instruction set that a file is compiled for.
 *
 * A kernel's body is written once against these names and names its instruction sets on a line `isa: c avx2 avx512`;
 * the build compiles it once for each, with that row's flags of device/isa.inc and HN_SIMD_<NAME>:
 *
 *   macro            lanes  block  vf (float)  vm (lane mask)        symbol suffix
 *   HN_SIMD_AVX512   16     16     64 bytes    __mmask16             _avx512
 *   HN_SIMD_AVX2     8      8      32 bytes    vf, all ones          _avx2
 *   HN_SIMD_C        4      8      16 bytes    int vector, all ones  _c
 *
 * The block is that of the blocked activations which the instruction set works on (nChw16c, nChw8c).
 *
 * A real is a float; where HN_HELD_F64 is defined it is a double, vf has half as many lanes, and the operations are
 * those of simd_f64.inc.h, which says the same of doubles.
 *
 * Arithmetic on vf uses the operators of the GNU vector extension. A remainder is always handled by the partial
 * forms, with the same arithmetic as a whole vector: an element's result never depends on which lane held it. */
#ifndef HN_KERNELS_CPU_SIMD_INC_H
#define HN_KERNELS_CPU_SIMD_INC_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HN_SIMD_PASTE_(name, suffix) name##suffix
#define HN_SIMD_PASTE(name, suffix) HN_SIMD_PASTE_(name, suffix)
#define HN_SIMD_NAME(name) HN_SIMD_PASTE(name, HN_SIMD_SUFFIX)
/* The same with the block in it: hn_conv_f32 is hn_conv_f32_nchw8c_avx2. */
#define HN_BLOCKED_NAME(name) HN_SIMD_PASTE(HN_SIMD_PASTE(name, HN_BLOCK_SUFFIX), HN_SIMD_SUFFIX)
#define HN_INLINE static inline __attribute__((always_inline, unused))
#if defined(__clang__)
#define HN_OUTLINE static __attribute__((noinline, unused))
#define HN_UNROLL _Pragma("clang loop unroll(full)")
#else /* nor cloned for arguments that are known: once is what it is outlined for */
#define HN_OUTLINE static __attribute__((noinline, noclone, unused))
#define HN_UNROLL _Pragma("GCC unroll 64")
#endif

#if defined(HN_HELD_F64)
typedef double real;
#define HN_REAL(function) function /* of C's library: HN_REAL(sqrt) is sqrtf for floats */
#include "kernels/cpu/simd_f64.inc.h"
#else
typedef float real;
#define HN_REAL(function) function##f

#if defined(HN_SIMD_AVX512)
#include <immintrin.h>
#define HN_LANES 16
#define HN_BLOCK 16
#define HN_BLOCK_SUFFIX _nchw16c
typedef float vf __attribute__((vector_size(64)));
typedef __m512i vi;
typedef __mmask16 vm;

HN_INLINE vf v_load(const float *p) { return _mm512_loadu_ps(p); }
HN_INLINE void v_store(float *p, vf v) { _mm512_storeu_ps(p, v); }
HN_INLINE vf v_set(float x) { return _mm512_set1_ps(x); }
HN_INLINE __mmask16 v_lanes_below(int64_t n) { return (__mmask16)((1U << n) - 1U); }
/* The partial forms touch p[0 .. n), 0 < n < HN_LANES; the lanes behind are zero, or `other`. */
HN_INLINE vf v_load_part(const float *p, int64_t n) { return _mm512_maskz_loadu_ps(v_lanes_below(n), p); }
HN_INLINE void v_store_part(float *p, int64_t n, vf v) { _mm512_mask_storeu_ps(p, v_lanes_below(n), v); }
HN_INLINE vf v_load_part_or(const float *p, int64_t n, float other) {
  return _mm512_mask_loadu_ps(_mm512_set1_ps(other), v_lanes_below(n), p);
}
HN_INLINE vf v_select(vm m, vf a, vf b) { return _mm512_mask_blend_ps(m, b, a); }
HN_INLINE vf v_min(vf a, vf b) { return _mm512_min_ps(a, b); }
HN_INLINE vf v_max(vf a, vf b) { return _mm512_max_ps(a, b); }
HN_INLINE vf v_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
HN_INLINE vf v_sqrt(vf a) { return _mm512_sqrt_ps(a); }
HN_INLINE vf v_round(vf a) { return _mm512_roundscale_ps(a, 0x08); }
HN_INLINE vf v_floor(vf a) { return _mm512_roundscale_ps(a, 0x09); }
HN_INLINE vf v_ceil(vf a) { return _mm512_roundscale_ps(a, 0x0a); }
HN_INLINE vm v_lt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
HN_INLINE vm v_le(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
HN_INLINE vm v_eq(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
HN_INLINE vm v_ne(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
HN_INLINE vm vm_and(vm a, vm b) { return (vm)(a & b); }
HN_INLINE vm vm_or(vm a, vm b) { return (vm)(a | b); }
HN_INLINE vm vm_not(vm a) { return (vm)~a; }
HN_INLINE int vm_any(vm a) { return a != 0; }
HN_INLINE int vm_all(vm a) { return a == 0xffff; }
/* Lanes [0, n), for any n. */
HN_INLINE vm vm_below(int64_t n) {
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm512_cmplt_epi32_mask(lane, _mm512_set1_epi32((int32_t)n));
}
HN_INLINE vi vi_set(int32_t x) { return _mm512_set1_epi32(x); }
HN_INLINE vi vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
HN_INLINE vi vi_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
HN_INLINE vi vi_and(vi a, vi b) { return _mm512_and_si512(a, b); }
HN_INLINE vi vi_or(vi a, vi b) { return _mm512_or_si512(a, b); }
HN_INLINE vi vi_xor(vi a, vi b) { return _mm512_xor_si512(a, b); }
#define vi_left(a, n) _mm512_slli_epi32((a), (n))
#define vi_right(a, n) _mm512_srai_epi32((a), (n))
HN_INLINE vi vi_of(vf a) { return _mm512_castps_si512(a); }
HN_INLINE vf vf_of(vi a) { return _mm512_castsi512_ps(a); }
HN_INLINE vf vf_from(vi a) { return _mm512_cvtepi32_ps(a); }
HN_INLINE vi vi_from(vf a) { return _mm512_cvttps_epi32(a); }
HN_INLINE vi vi_load(const int32_t *p) { return _mm512_loadu_si512((const void *)p); }
HN_INLINE void vi_store(int32_t *p, vi v) { _mm512_storeu_si512((void *)p, v); }
HN_INLINE vf v_gather(const float *p, vi at) { return _mm512_i32gather_ps(at, p, 4); }
/* p[0], p[2], ...: reads nothing behind the last element that it returns. */
HN_INLINE vf v_load_even(const float *p) {
  const vi at = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
  return _mm512_permutex2var_ps(v_load(p), at, v_load(p + 15));
}

#elif defined(HN_SIMD_AVX2)
#include <immintrin.h>
#define HN_LANES 8
#define HN_BLOCK 8
#define HN_BLOCK_SUFFIX _nchw8c
typedef float vf __attribute__((vector_size(32)));
typedef __m256i vi;
typedef vf vm;

HN_INLINE vf v_load(const float *p) { return _mm256_loadu_ps(p); }
HN_INLINE void v_store(float *p, vf v) { _mm256_storeu_ps(p, v); }
HN_INLINE vf v_set(float x) { return _mm256_set1_ps(x); }
HN_INLINE __m256i v_lanes_below(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
HN_INLINE vf v_load_part(const float *p, int64_t n) { return _mm256_maskload_ps(p, v_lanes_below(n)); }
HN_INLINE void v_store_part(float *p, int64_t n, vf v) { _mm256_maskstore_ps(p, v_lanes_below(n), v); }
HN_INLINE vf v_load_part_or(const float *p, int64_t n, float other) {
  const __m256i m = v_lanes_below(n);
  return _mm256_blendv_ps(_mm256_set1_ps(other), _mm256_maskload_ps(p, m), _mm256_castsi256_ps(m));
}
HN_INLINE vf v_select(vm m, vf a, vf b) { return _mm256_blendv_ps(b, a, m); }
HN_INLINE vf v_min(vf a, vf b) { return _mm256_min_ps(a, b); }
HN_INLINE vf v_max(vf a, vf b) { return _mm256_max_ps(a, b); }
HN_INLINE vf v_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
HN_INLINE vf v_sqrt(vf a) { return _mm256_sqrt_ps(a); }
HN_INLINE vf v_round(vf a) { return _mm256_round_ps(a, 0x08); }
HN_INLINE vf v_floor(vf a) { return _mm256_round_ps(a, 0x09); }
HN_INLINE vf v_ceil(vf a) { return _mm256_round_ps(a, 0x0a); }
HN_INLINE vm v_lt(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
HN_INLINE vm v_le(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
HN_INLINE vm v_eq(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
HN_INLINE vm v_ne(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ); }
HN_INLINE vm vm_and(vm a, vm b) { return _mm256_and_ps(a, b); }
HN_INLINE vm vm_or(vm a, vm b) { return _mm256_or_ps(a, b); }
HN_INLINE vm vm_not(vm a) { return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(-1))); }
HN_INLINE int vm_any(vm a) { return _mm256_movemask_ps(a) != 0; }
HN_INLINE int vm_all(vm a) { return _mm256_movemask_ps(a) == 0xff; }
HN_INLINE vm vm_below(int64_t n) { return _mm256_castsi256_ps(v_lanes_below(n)); }
HN_INLINE vi vi_set(int32_t x) { return _mm256_set1_epi32(x); }
HN_INLINE vi vi_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
HN_INLINE vi vi_sub(vi a, vi b) { return _mm256_sub_epi32(a, b); }
HN_INLINE vi vi_and(vi a, vi b) { return _mm256_and_si256(a, b); }
HN_INLINE vi vi_or(vi a, vi b) { return _mm256_or_si256(a, b); }
HN_INLINE vi vi_xor(vi a, vi b) { return _mm256_xor_si256(a, b); }
#define vi_left(a, n) _mm256_slli_epi32((a), (n))
#define vi_right(a, n) _mm256_srai_epi32((a), (n))
HN_INLINE vi vi_of(vf a) { return _mm256_castps_si256(a); }
HN_INLINE vf vf_of(vi a) { return _mm256_castsi256_ps(a); }
HN_INLINE vf vf_from(vi a) { return _mm256_cvtepi32_ps(a); }
HN_INLINE vi vi_from(vf a) { return _mm256_cvttps_epi32(a); }
HN_INLINE vi vi_load(const int32_t *p) { return _mm256_loadu_si256((const void *)p); }
HN_INLINE void vi_store(int32_t *p, vi v) { _mm256_storeu_si256((void *)p, v); }
HN_INLINE vf v_gather(const float *p, vi at) { return _mm256_i32gather_ps(p, at, 4); }
HN_INLINE vf v_load_even(const float *p) {
  const __m256 mixed = _mm256_shuffle_ps(v_load(p), v_load(p + 7), _MM_SHUFFLE(3, 1, 2, 0));
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(mixed), _MM_SHUFFLE(3, 1, 2, 0)));
}

#else
#define HN_LANES 4
#define HN_BLOCK 8
#define HN_BLOCK_SUFFIX _nchw8c
typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));
typedef uint32_t vu __attribute__((vector_size(16))); /* wraps where int would overflow */
typedef vi vm;

HN_INLINE vf v_load(const float *p) {
  vf v;
  memcpy(&v, p, sizeof v);
  return v;
}
HN_INLINE void v_store(float *p, vf v) { memcpy(p, &v, sizeof v); }
HN_INLINE vf v_set(float x) { return (vf){x, x, x, x}; }
HN_INLINE vf v_load_part(const float *p, int64_t n) {
  return (vf){n > 0 ? p[0] : 0.0F, n > 1 ? p[1] : 0.0F, n > 2 ? p[2] : 0.0F, n > 3 ? p[3] : 0.0F};
}
HN_INLINE vf v_load_part_or(const float *p, int64_t n, float other) {
  return (vf){n > 0 ? p[0] : other, n > 1 ? p[1] : other, n > 2 ? p[2] : other, n > 3 ? p[3] : other};
}
HN_INLINE void v_store_part(float *p, int64_t n, vf v) {
  for (int i = 0; i < HN_LANES && i < n; ++i) p[i] = v[i];
}
HN_INLINE vi vi_of(vf a) { return (vi)a; }
HN_INLINE vf vf_of(vi a) { return (vf)a; }
HN_INLINE vf v_select(vm m, vf a, vf b) { return (vf)((m & (vi)a) | (~m & (vi)b)); }
HN_INLINE vm v_lt(vf a, vf b) { return (vm)(a < b); }
HN_INLINE vm v_le(vf a, vf b) { return (vm)(a <= b); }
HN_INLINE vm v_eq(vf a, vf b) { return (vm)(a == b); }
HN_INLINE vm v_ne(vf a, vf b) { return (vm)(a != b); }
HN_INLINE vf v_fma(vf a, vf b, vf c) { return a * b + c; }
HN_INLINE vf v_min(vf a, vf b) { return v_select(v_lt(a, b), a, b); }
HN_INLINE vf v_max(vf a, vf b) { return v_select(v_lt(b, a), a, b); }
HN_INLINE vm vm_and(vm a, vm b) { return a & b; }
HN_INLINE vm vm_or(vm a, vm b) { return a | b; }
HN_INLINE vm vm_not(vm a) { return ~a; }
HN_INLINE int vm_any(vm a) { return (a[0] | a[1] | a[2] | a[3]) != 0; }
HN_INLINE int vm_all(vm a) { return (a[0] & a[1] & a[2] & a[3]) != 0; }
HN_INLINE vm vm_below(int64_t n) { return (vm){0 < n, 1 < n, 2 < n, 3 < n} != 0; }
HN_INLINE vi vi_set(int32_t x) { return (vi){x, x, x, x}; }
HN_INLINE vi vi_add(vi a, vi b) { return (vi)((vu)a + (vu)b); }
HN_INLINE vi vi_sub(vi a, vi b) { return (vi)((vu)a - (vu)b); }
HN_INLINE vi vi_and(vi a, vi b) { return a & b; }
HN_INLINE vi vi_or(vi a, vi b) { return a | b; }
HN_INLINE vi vi_xor(vi a, vi b) { return a ^ b; }
#define vi_left(a, n) ((vi)((vu)(a) << (n)))
#define vi_right(a, n) ((a) >> (n))
HN_INLINE vf vf_from(vi a) { return __builtin_convertvector(a, vf); }
HN_INLINE vi vi_load(const int32_t *p) {
  vi v;
  memcpy(&v, p, sizeof v);
  return v;
}
HN_INLINE void vi_store(int32_t *p, vi v) { memcpy(p, &v, sizeof v); }
HN_INLINE vf v_gather(const float *p, vi at) { return (vf){p[at[0]], p[at[1]], p[at[2]], p[at[3]]}; }
HN_INLINE vf v_load_even(const float *p) { return (vf){p[0], p[2], p[4], p[6]}; }
HN_INLINE vf v_sqrt(vf a) {
  return (vf){__builtin_sqrtf(a[0]), __builtin_sqrtf(a[1]), __builtin_sqrtf(a[2]), __builtin_sqrtf(a[3])};
}
/* Adding and taking away 2^23 leaves the nearest even integer; from 2^23 on every float is one already. */
HN_INLINE vf v_round(vf a) {
  const vi sign = vi_of(a) & vi_set(INT32_MIN);
  const vf size = vf_of(vi_of(a) & vi_set(INT32_MAX));
  const vf whole = vf_of(vi_of((size + v_set(8388608.0F)) - v_set(8388608.0F)) | sign);
  return v_select(v_lt(size, v_set(8388608.0F)), whole, a);
}
HN_INLINE vf v_floor(vf a) {
  const vf r = v_round(a);
  return v_select(v_lt(a, r), r - v_set(1.0F), r);
}
HN_INLINE vf v_ceil(vf a) {
  const vf r = v_round(a);
  return v_select(v_lt(r, a), vf_of(vi_of(r + v_set(1.0F)) | (vi_of(a) & vi_set(INT32_MIN))), r);
}
/* What x86 gives for a value outside the type, so that the portable code agrees with it. */
HN_INLINE vi vi_from(vf a) {
  const vm fits = vm_and(v_le(v_set(-2147483648.0F), a), v_lt(a, v_set(2147483648.0F)));
  const vf safe = v_select(fits, a, v_set(0.0F));
  return (fits & __builtin_convertvector(safe, vi)) | (~fits & vi_set(INT32_MIN));
}
#endif

/* a * 2^n for |a| in [1/2, 2) and whole n in [-200, 200]: one rounding where the result is subnormal. */
HN_INLINE vf v_scale(vf a, vf n) {
#if defined(HN_SIMD_AVX512)
  return _mm512_scalef_ps(a, n);
#else
  /* Two factors, each a normal float; 1.5 * 2^23 puts the integer in the low bits. */
  const vi power = vi_sub(vi_of(n + v_set(12582912.0F)), vi_of(v_set(12582912.0F))), half = vi_right(power, 1);
  const vf low = vf_of(vi_left(vi_add(half, vi_set(127)), 23));
  const vf high = vf_of(vi_left(vi_add(vi_sub(power, half), vi_set(127)), 23));
  return a * low * high;
#endif
}

HN_INLINE vf v_abs(vf a) { return vf_of(vi_and(vi_of(a), vi_set(INT32_MAX))); }
HN_INLINE vf v_negate(vf a) { return vf_of(vi_xor(vi_of(a), vi_set(INT32_MIN))); }
HN_INLINE vf v_copy_sign(vf size, vf sign) {
  return vf_of(vi_or(vi_and(vi_of(size), vi_set(INT32_MAX)), vi_and(vi_of(sign), vi_set(INT32_MIN))));
}
/* Element i is p[i * stride]; lanes from n on are zero. */
HN_INLINE vf v_load_strided(const float *p, int64_t stride, int64_t n) {
  if (stride == 1) return n == HN_LANES ? v_load(p) : v_load_part(p, n);
  if (stride == 2 && n == HN_LANES) return v_load_even(p);
  float lane[HN_LANES] = {0};
  for (int64_t i = 0; i < n; ++i) lane[i] = p[i * stride];
  return v_load(lane);
}

/* Joins the lanes pairwise, halves first: the order is part of a kernel's result. */
#if defined(HN_SIMD_C)
#define V_ACROSS(v, join_one)                                                                                          \
  float lane[HN_LANES];                                                                                                \
  v_store(lane, v);                                                                                                    \
  for (int half = HN_LANES / 2; half > 0; half /= 2)                                                                   \
    for (int i = 0; i < half; ++i) lane[i] = join_one(lane[i], lane[i + half]);                                        \
  return lane[0]
HN_INLINE float one_sum(float a, float b) { return a + b; }
HN_INLINE float one_product(float a, float b) { return a * b; }
HN_INLINE float one_max(float a, float b) { return a > b ? a : b; }
HN_INLINE float v_sum(vf v) { V_ACROSS(v, one_sum); }
HN_INLINE float v_product(vf v) { V_ACROSS(v, one_product); }
HN_INLINE float v_largest_number(vf v) { V_ACROSS(v, one_max); }
#else
#if defined(HN_SIMD_AVX512)
#define V_HALVES(v, join) join(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1))
#else
#define V_HALVES(v, join) (v)
#endif
#define V_ACROSS(v, join)                                                                                              \
  const __m256 eight = V_HALVES(v, _mm256_##join##_ps);                                                                \
  const __m128 four = _mm_##join##_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));                 \
  const __m128 two = _mm_##join##_ps(four, _mm_movehl_ps(four, four));                                                 \
  return _mm_cvtss_f32(_mm_##join##_ss(two, _mm_movehdup_ps(two)))
HN_INLINE float v_sum(vf v) { V_ACROSS(v, add); }
HN_INLINE float v_product(vf v) { V_ACROSS(v, mul); }
HN_INLINE float v_largest_number(vf v) { V_ACROSS(v, max); }
#endif
/* NaN if any lane is. */
HN_INLINE float v_largest(vf v) { return vm_any(v_ne(v, v)) ? NAN : v_largest_number(v); }
#endif /* of floats */

/* v_min and v_max return b where a or b is NaN (x86's rule). These return NaN whichever of the two it was in. */
HN_INLINE vf v_min_nan(vf a, vf b) { return v_select(v_ne(a, a), a, v_min(a, b)); }
HN_INLINE vf v_max_nan(vf a, vf b) { return v_select(v_ne(a, a), a, v_max(a, b)); }

#endif
