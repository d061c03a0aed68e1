/* SPDX-License-Identifier: Apache-2.0 */
/* simd_f64.inc.h - the operations of simd.inc.h on doubles, included by it alone.
 *
 *   macro            lanes  vf (double)  vi (int64)  vm (lane mask)
 *   HN_SIMD_AVX512   8      64 bytes     64 bytes    __mmask8
 *   HN_SIMD_AVX2     4      32 bytes     32 bytes    vi, all ones
 *   HN_SIMD_C        2      16 bytes     16 bytes    vi, all ones
 *
 * Doubles are held plain, so that there is no block. */
#if defined(HN_SIMD_AVX512)
#define HN_LANES 8
#elif defined(HN_SIMD_AVX2)
#define HN_LANES 4
#else
#define HN_LANES 2
#endif
#if !defined(HN_SIMD_C)
#include <immintrin.h>
#endif
#define HN_BLOCK 8
#define HN_BLOCK_SUFFIX _nchw8c

typedef double vf __attribute__((vector_size(8 * HN_LANES)));
typedef long long vi __attribute__((vector_size(8 * HN_LANES)));
typedef unsigned long long vu __attribute__((vector_size(8 * HN_LANES))); /* wraps where long long would overflow */

HN_INLINE vf v_load(const double *p) {
  vf v;
  memcpy(&v, p, sizeof v);
  return v;
}
HN_INLINE void v_store(double *p, vf v) { memcpy(p, &v, sizeof v); }
HN_INLINE vf v_set(double x) { return x - (vf){0}; } /* x - 0 is x, of -0 too */
HN_INLINE vi vi_set(long long x) { return x - (vi){0}; }
HN_INLINE vi vi_of(vf a) { return (vi)a; }
HN_INLINE vf vf_of(vi a) { return (vf)a; }
HN_INLINE vi vi_add(vi a, vi b) { return (vi)((vu)a + (vu)b); }
HN_INLINE vi vi_sub(vi a, vi b) { return (vi)((vu)a - (vu)b); }
HN_INLINE vi vi_and(vi a, vi b) { return a & b; }
HN_INLINE vi vi_or(vi a, vi b) { return a | b; }
HN_INLINE vi vi_xor(vi a, vi b) { return a ^ b; }
#define vi_left(a, n) ((vi)((vu)(a) << (n)))
#define vi_right(a, n) ((a) >> (n))
/* Of indices in 32 bits. */
HN_INLINE vi vi_load(const int32_t *p) {
  vi v = {0};
  for (int i = 0; i < HN_LANES; ++i) v[i] = p[i];
  return v;
}

#if defined(HN_SIMD_AVX512)
typedef __mmask8 vm;

HN_INLINE __mmask8 v_lanes_below(int64_t n) { return (__mmask8)((1U << n) - 1U); }
/* The partial forms touch p[0 .. n), 0 < n < HN_LANES; the lanes behind are zero, or `other`. */
HN_INLINE vf v_load_part(const double *p, int64_t n) { return _mm512_maskz_loadu_pd(v_lanes_below(n), p); }
HN_INLINE void v_store_part(double *p, int64_t n, vf v) { _mm512_mask_storeu_pd(p, v_lanes_below(n), v); }
HN_INLINE vf v_load_part_or(const double *p, int64_t n, double other) {
  return _mm512_mask_loadu_pd(_mm512_set1_pd(other), v_lanes_below(n), p);
}
HN_INLINE vf v_select(vm m, vf a, vf b) { return _mm512_mask_blend_pd(m, b, a); }
HN_INLINE vf v_min(vf a, vf b) { return _mm512_min_pd(a, b); }
HN_INLINE vf v_max(vf a, vf b) { return _mm512_max_pd(a, b); }
HN_INLINE vf v_fma(vf a, vf b, vf c) { return _mm512_fmadd_pd(a, b, c); }
HN_INLINE vf v_sqrt(vf a) { return _mm512_sqrt_pd(a); }
HN_INLINE vf v_round(vf a) { return _mm512_roundscale_pd(a, 0x08); }
HN_INLINE vf v_floor(vf a) { return _mm512_roundscale_pd(a, 0x09); }
HN_INLINE vf v_ceil(vf a) { return _mm512_roundscale_pd(a, 0x0a); }
HN_INLINE vm v_lt(vf a, vf b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
HN_INLINE vm v_le(vf a, vf b) { return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ); }
HN_INLINE vm v_eq(vf a, vf b) { return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ); }
HN_INLINE vm v_ne(vf a, vf b) { return _mm512_cmp_pd_mask(a, b, _CMP_NEQ_UQ); }
HN_INLINE vm vm_and(vm a, vm b) { return (vm)(a & b); }
HN_INLINE vm vm_or(vm a, vm b) { return (vm)(a | b); }
HN_INLINE vm vm_not(vm a) { return (vm)~a; }
HN_INLINE int vm_any(vm a) { return a != 0; }
HN_INLINE int vm_all(vm a) { return a == 0xff; }
/* Lanes [0, n), for any n. */
HN_INLINE vm vm_below(int64_t n) {
  return _mm512_cmplt_epi64_mask(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64(n));
}
HN_INLINE vf v_gather(const double *p, vi at) { return _mm512_i64gather_pd((__m512i)at, p, 8); }
/* p[0], p[2], ...: reads nothing behind the last element that it returns. */
HN_INLINE vf v_load_even(const double *p) {
  const __m512i at = _mm512_setr_epi64(0, 2, 4, 6, 9, 11, 13, 15);
  return _mm512_permutex2var_pd(v_load(p), at, v_load(p + 7));
}
/* a * 2^n for |a| in [1/2, 2) and whole n in [-1200, 1200]: one rounding where the result is subnormal. */
HN_INLINE vf v_scale(vf a, vf n) { return _mm512_scalef_pd(a, n); }

#else
typedef vi vm;

HN_INLINE vf v_select(vm m, vf a, vf b) { return (vf)((m & (vi)a) | (~m & (vi)b)); }
HN_INLINE vm v_lt(vf a, vf b) { return (vm)(a < b); }
HN_INLINE vm v_le(vf a, vf b) { return (vm)(a <= b); }
HN_INLINE vm v_eq(vf a, vf b) { return (vm)(a == b); }
HN_INLINE vm v_ne(vf a, vf b) { return (vm)(a != b); }
HN_INLINE vm vm_and(vm a, vm b) { return a & b; }
HN_INLINE vm vm_or(vm a, vm b) { return a | b; }
HN_INLINE vm vm_not(vm a) { return ~a; }
#if defined(HN_SIMD_AVX2)
HN_INLINE vm vm_below(int64_t n) {
  return (vm)_mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}
HN_INLINE vf v_load_part(const double *p, int64_t n) { return _mm256_maskload_pd(p, (__m256i)vm_below(n)); }
HN_INLINE void v_store_part(double *p, int64_t n, vf v) { _mm256_maskstore_pd(p, (__m256i)vm_below(n), v); }
HN_INLINE vf v_load_part_or(const double *p, int64_t n, double other) {
  return v_select(vm_below(n), v_load_part(p, n), v_set(other));
}
HN_INLINE vf v_min(vf a, vf b) { return _mm256_min_pd(a, b); }
HN_INLINE vf v_max(vf a, vf b) { return _mm256_max_pd(a, b); }
HN_INLINE vf v_fma(vf a, vf b, vf c) { return _mm256_fmadd_pd(a, b, c); }
HN_INLINE vf v_sqrt(vf a) { return _mm256_sqrt_pd(a); }
HN_INLINE vf v_round(vf a) { return _mm256_round_pd(a, 0x08); }
HN_INLINE vf v_floor(vf a) { return _mm256_round_pd(a, 0x09); }
HN_INLINE vf v_ceil(vf a) { return _mm256_round_pd(a, 0x0a); }
HN_INLINE int vm_any(vm a) { return _mm256_movemask_pd((__m256d)a) != 0; }
HN_INLINE int vm_all(vm a) { return _mm256_movemask_pd((__m256d)a) == 0xf; }
HN_INLINE vf v_gather(const double *p, vi at) { return (vf){p[at[0]], p[at[1]], p[at[2]], p[at[3]]}; }
HN_INLINE vf v_load_even(const double *p) {
  return _mm256_permute4x64_pd(_mm256_shuffle_pd(v_load(p), v_load(p + 3), 0xa), _MM_SHUFFLE(3, 1, 2, 0));
}
#else
HN_INLINE vm vm_below(int64_t n) { return (vm){0 < n, 1 < n} != 0; }
HN_INLINE vf v_load_part_or(const double *p, int64_t n, double other) {
  return (vf){n > 0 ? p[0] : other, n > 1 ? p[1] : other};
}
HN_INLINE vf v_load_part(const double *p, int64_t n) { return v_load_part_or(p, n, 0); }
HN_INLINE void v_store_part(double *p, int64_t n, vf v) {
  for (int i = 0; i < HN_LANES && i < n; ++i) p[i] = v[i];
}
HN_INLINE vf v_min(vf a, vf b) { return v_select(v_lt(a, b), a, b); }
HN_INLINE vf v_max(vf a, vf b) { return v_select(v_lt(b, a), a, b); }
HN_INLINE vf v_fma(vf a, vf b, vf c) { return a * b + c; }
HN_INLINE vf v_sqrt(vf a) { return (vf){__builtin_sqrt(a[0]), __builtin_sqrt(a[1])}; }
HN_INLINE int vm_any(vm a) { return (a[0] | a[1]) != 0; }
HN_INLINE int vm_all(vm a) { return (a[0] & a[1]) != 0; }
HN_INLINE vf v_gather(const double *p, vi at) { return (vf){p[at[0]], p[at[1]]}; }
HN_INLINE vf v_load_even(const double *p) { return (vf){p[0], p[2]}; }
/* Adding and taking away 2^52 leaves the nearest even integer; from 2^52 on every double is one already. */
HN_INLINE vf v_round(vf a) {
  const vi sign = vi_of(a) & vi_set(INT64_MIN);
  const vf size = vf_of(vi_of(a) & vi_set(INT64_MAX)), most = v_set(4503599627370496.0);
  return v_select(v_lt(size, most), vf_of(vi_of((size + most) - most) | sign), a);
}
HN_INLINE vf v_floor(vf a) {
  const vf r = v_round(a);
  return v_select(v_lt(a, r), r - v_set(1), r);
}
HN_INLINE vf v_ceil(vf a) {
  const vf r = v_round(a);
  return v_select(v_lt(r, a), vf_of(vi_of(r + v_set(1)) | (vi_of(a) & vi_set(INT64_MIN))), r);
}
#endif

/* Two factors, each a normal double; 1.5 * 2^52 puts the integer in the low bits. */
HN_INLINE vf v_scale(vf a, vf n) {
  const vf magic = v_set(6755399441055744.0);
  const vi power = vi_sub(vi_of(n + magic), vi_of(magic)), half = vi_right(power, 1);
  const vf low = vf_of(vi_left(vi_add(half, vi_set(1023)), 52));
  const vf high = vf_of(vi_left(vi_add(vi_sub(power, half), vi_set(1023)), 52));
  return a * low * high;
}
#endif

HN_INLINE vf v_abs(vf a) { return vf_of(vi_and(vi_of(a), vi_set(INT64_MAX))); }
HN_INLINE vf v_negate(vf a) { return vf_of(vi_xor(vi_of(a), vi_set(INT64_MIN))); }
HN_INLINE vf v_copy_sign(vf size, vf sign) {
  return vf_of(vi_or(vi_and(vi_of(size), vi_set(INT64_MAX)), vi_and(vi_of(sign), vi_set(INT64_MIN))));
}
/* Element i is p[i * stride]; lanes from n on are zero. */
HN_INLINE vf v_load_strided(const double *p, int64_t stride, int64_t n) {
  if (stride == 1) return n == HN_LANES ? v_load(p) : v_load_part(p, n);
  if (stride == 2 && n == HN_LANES) return v_load_even(p);
  double lane[HN_LANES] = {0};
  for (int64_t i = 0; i < n; ++i) lane[i] = p[i * stride];
  return v_load(lane);
}

/* Joins the lanes pairwise, halves first: the order is part of a kernel's result. */
HN_INLINE double v_sum(vf v) {
  double lane[HN_LANES];
  v_store(lane, v);
  for (int half = HN_LANES / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
  return lane[0];
}
HN_INLINE double v_product(vf v) {
  double lane[HN_LANES];
  v_store(lane, v);
  for (int half = HN_LANES / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] *= lane[i + half];
  return lane[0];
}
/* NaN if any lane is. */
HN_INLINE double v_largest(vf v) {
  double lane[HN_LANES], most;
  if (vm_any(v_ne(v, v))) return NAN;
  v_store(lane, v);
  most = lane[0];
  for (int i = 1; i < HN_LANES; ++i) most = lane[i] > most ? lane[i] : most;
  return most;
}
