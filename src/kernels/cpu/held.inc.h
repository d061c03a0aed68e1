/* SPDX-License-Identifier: Apache-2.0 */
/* held.inc.h - activations as they are held in memory, on vectors of reals: all arithmetic on what is held in f32, bf16
 * and f16 is in f32, and each stored element is rounded once, to the nearest, ties to even; on f64 it is in f64.
 *
 * A kernel file with a line `held: f32 bf16 f16 f64` behind its isa line is compiled once for each type too:
 *
 *   macro         held      HN_HELD_BLOCK   name from HN_HELD_NAME(hn_x)
 *   (none)        float     HN_BLOCK        hn_x_f32_avx2
 *   HN_HELD_BF16  uint16_t  32              hn_x_bf16_avx2
 *   HN_HELD_F16   uint16_t  32              hn_x_f16_avx2
 *   HN_HELD_F64   double    none            hn_x_f64_avx2
 *
 * HN_HELD_BLOCK is the block of blocked activations (nChw32c fills a cache line), always whole vectors.
 * HN_HELD_IS_REAL: what is held needs no conversion. Parameters beside activations are reals. */
#ifndef HN_KERNELS_CPU_HELD_INC_H
#define HN_KERNELS_CPU_HELD_INC_H

#if defined(HN_HELD_F64)
#include "kernels/cpu/simd.inc.h"
#else
#include "kernels/cpu/half.inc.h"
#endif

#if defined(HN_HELD_BF16) || defined(HN_HELD_F16)
#define HN_HELD_IS_REAL 0
#define HN_HELD_BLOCK 32
#define HN_HELD_BLOCK_SUFFIX _nchw32c
typedef uint16_t held;
#if defined(HN_HELD_BF16)
#define HN_HELD_SUFFIX _bf16
HN_INLINE vf h_load(const held *p) { return v_load_bf16(p); }
HN_INLINE void h_store(held *p, vf v) { v_store_bf16(p, v); }
HN_INLINE float h_load_one(const held *p) { return bf16_to_f32(*p); }
HN_INLINE void h_store_one(held *p, float x) { *p = bf16_from_f32(x); }
#else
#define HN_HELD_SUFFIX _f16
HN_INLINE vf h_load(const held *p) { return v_load_f16(p); }
HN_INLINE void h_store(held *p, vf v) { v_store_f16(p, v); }
HN_INLINE float h_load_one(const held *p) { return f16_to_f32(*p); }
HN_INLINE void h_store_one(held *p, float x) { *p = f16_from_f32(x); }
#endif

/* The partial forms touch p[0 .. n), 0 < n < HN_LANES; the lanes behind are zero, or `other`. */
HN_INLINE vf h_load_part(const held *p, int64_t n) {
  held copy[HN_LANES] = {0};
  memcpy(copy, p, (size_t)n * sizeof *p);
  return h_load(copy);
}
HN_INLINE void h_store_part(held *p, int64_t n, vf v) {
  held copy[HN_LANES];
  h_store(copy, v);
  memcpy(p, copy, (size_t)n * sizeof *p);
}
HN_INLINE vf h_load_part_or(const held *p, int64_t n, float other) {
  return v_select(vm_below(n), h_load_part(p, n), v_set(other));
}
HN_INLINE vf h_load_strided(const held *p, int64_t stride, int64_t n) {
  if (stride == 1) return n == HN_LANES ? h_load(p) : h_load_part(p, n);
  held lane[HN_LANES] = {0};
  for (int64_t i = 0; i < n; ++i) lane[i] = p[i * stride];
  return h_load(lane);
}
#else
#define HN_HELD_IS_REAL 1
#define HN_HELD_BLOCK HN_BLOCK
#define HN_HELD_BLOCK_SUFFIX HN_BLOCK_SUFFIX
#if defined(HN_HELD_F64)
#define HN_HELD_SUFFIX _f64
#else
#define HN_HELD_SUFFIX _f32
#endif
typedef real held;
HN_INLINE vf h_load(const held *p) { return v_load(p); }
HN_INLINE void h_store(held *p, vf v) { v_store(p, v); }
HN_INLINE real h_load_one(const held *p) { return *p; }
HN_INLINE void h_store_one(held *p, real x) { *p = x; }
HN_INLINE vf h_load_part(const held *p, int64_t n) { return v_load_part(p, n); }
HN_INLINE void h_store_part(held *p, int64_t n, vf v) { v_store_part(p, n, v); }
HN_INLINE vf h_load_part_or(const held *p, int64_t n, real other) { return v_load_part_or(p, n, other); }
HN_INLINE vf h_load_strided(const held *p, int64_t stride, int64_t n) { return v_load_strided(p, stride, n); }
#endif

#define HN_HELD_NAME(name) HN_SIMD_NAME_OF(name, HN_HELD_SUFFIX)
#define HN_SIMD_NAME_OF(name, suffix) HN_SIMD_PASTE(HN_SIMD_PASTE(name, suffix), HN_SIMD_SUFFIX)
/* The same with the block in it: hn_conv_dw is hn_conv_dw_bf16_nchw32c_avx2. */
#define HN_HELD_BLOCKED_NAME(name) HN_SIMD_NAME_OF(HN_SIMD_PASTE(name, HN_HELD_SUFFIX), HN_HELD_BLOCK_SUFFIX)

#endif
