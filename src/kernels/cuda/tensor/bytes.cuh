/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.cuh - what products of bytes have of their own beside those of halves: sums in i32, and requantising by the f32
 * rule (docs/NUMERICS.md), every step rounded as the reference rounds it. A row of a stage is 128 bytes, whatever the
 * type. Source: PTX ISA 9.0 (mma m16n8k32, cvt.pack). */
#ifndef HN_KERNELS_CUDA_BYTES_CUH
#define HN_KERNELS_CUDA_BYTES_CUH

#include "kernels/cuda/args.h"
#include "kernels/cuda/half.cuh"

/* Values of a row of a stage and of sixteen bytes; vectors of numbers for each channel: biases, or what sums begin with
 * and scales. */
template <typename T> struct kind_of {
  typedef float sum;
  static constexpr int row = 64, piece = 8, vectors = 1;
};
template <> struct kind_of<tf32> {
  typedef float sum;
  static constexpr int row = 32, piece = 4, vectors = 1;
};
struct kind_of_bytes {
  typedef int sum;
  static constexpr int row = 128, piece = 16, vectors = 2;
};
template <> struct kind_of<u8> : kind_of_bytes {};
template <> struct kind_of<i8> : kind_of_bytes {};

/* c[16 x 8] += a[16 x 32] * b[32 x 8] by a warp; b is signed. */
template <typename T>
__device__ __forceinline__ void multiply_add(int (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1);
template <>
__device__ __forceinline__ void multiply_add<u8>(int (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ __forceinline__ void multiply_add<i8>(int (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* ---- requantising ---- */

/* A rounded integer is the lower bits' two's complement. Who launches has made sure of the bound. */
#define ROUNDING ((float)HN_CUDA_ROUNDING)
#define ROUNDING_BITS 0x4b400000

/* Held within the type and put side by side, the first lowest. */
template <typename T> __device__ __forceinline__ unsigned pack_four(int a, int b, int c, int d);
template <> __device__ __forceinline__ unsigned pack_four<u8>(int a, int b, int c, int d) {
  unsigned upper, all;
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r"(upper) : "r"(d), "r"(c));
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(all) : "r"(b), "r"(a), "r"(upper));
  return all;
}
template <> __device__ __forceinline__ unsigned pack_four<i8>(int a, int b, int c, int d) {
  unsigned upper, all;
  asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, 0;" : "=r"(upper) : "r"(d), "r"(c));
  asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(all) : "r"(b), "r"(a), "r"(upper));
  return all;
}

/* Of four bytes, those that are there: as a mask. */
__device__ __forceinline__ unsigned there_of(int count) {
  return count >= 4 ? 0xffffffffu : count <= 0 ? 0u : (1u << count * 8) - 1;
}

/* Byte `at` as a number, exactly. */
template <typename T, int at> __device__ __forceinline__ float byte_of(unsigned four) {
  constexpr bool is_signed = (T)-1 < 0;
  const unsigned flipped = is_signed ? four ^ 0x80808080 : four;
  return __uint_as_float(__byte_perm(flipped, 0x4b000000, 0x7440 | at)) - (is_signed ? 8388736.0f : 8388608.0f);
}

/* What follows the sums: nothing more, narrower bounds, (of u8, soon) a zero point of 0, or a sum with a residual, in
 * either order. The same for a whole
 * launch: who calls takes one way for many values, since a branch for each keeps them from overlapping. */
enum { REQUANTISE_PLAIN, REQUANTISE_BOUNDED, REQUANTISE_FROM_ZERO, REQUANTISE_ADDED, REQUANTISE_ADDED_LAST };

__device__ __forceinline__ int requantising_of(bool adds, const hn_cuda_bytes &q) {
  if (adds) return q.own_last ? REQUANTISE_ADDED_LAST : REQUANTISE_ADDED;
  return q.bounded ? REQUANTISE_BOUNDED : REQUANTISE_PLAIN;
}

/* The output's own byte, which is one operand of a sum with the residual's. */
template <int way> __device__ __forceinline__ int joined(float scaled, float residual, const hn_cuda_bytes &q) {
  float own = __fadd_rn(__fadd_rn(scaled, ROUNDING), (float)q.zero - ROUNDING);
  own = fminf(fmaxf(own, (float)q.low), (float)q.high);
  const float sum = way == REQUANTISE_ADDED_LAST ? fmaf(residual, q.residual_ratio, fmaf(own, q.own_ratio, q.shift))
                                                 : fmaf(own, q.own_ratio, fmaf(residual, q.residual_ratio, q.shift));
  return min(max(__float_as_int(__fadd_rn(sum, ROUNDING)) - ROUNDING_BITS, q.sum_low), q.sum_high);
}

/* ---- the same in fewer steps, for sums within 2^22 (hn_cuda_bytes_vectors looks whether they are) ----
 * Sums begin with ROUNDING_BITS, so that their bits are those of the float ROUNDING + sum; one addition takes that off
 * and adds what they begin with, exactly. Bounds 256 apart are those of saturating operations on 256ths, which cost
 * nothing: of the output's own byte v, (high - v) / 256 is held within 0 and 1, then what it lacks of high - low.
 * Integers in units, 256ths or beside ROUNDING are exact throughout. Where a byte is not below zero, 256ths times
 * 2^-141 are rounded to a denormal, half to even, whose bits are the integer; 256 is packed as 255. */
__device__ __forceinline__ int units_of(float parts) { return __float_as_int(__fmul_rn(parts, __int_as_float(0x100))); }

template <typename T, int way>
__device__ __forceinline__ int joined_soon(float scaled, float residual, const hn_cuda_bytes &q) {
  const float below = __saturatef(fmaf(__fadd_rn(scaled, ROUNDING), -0.00390625f, q.own_top));
  const float own = __saturatef(__fadd_rn(q.own_span, -below)); /* less its low bound, which is zero of u8; 256ths */
  if constexpr ((T)-1 > 0) {
    const float sum = way == REQUANTISE_ADDED_LAST
                          ? fmaf(residual, q.residual_256th, fmaf(own, q.own_ratio, q.shift_256th))
                          : fmaf(own, q.own_ratio, fmaf(residual, q.residual_256th, q.shift_256th));
    return units_of(__saturatef(sum));
  } else {
    const float whole = fmaf(own, 256, (float)q.low);
    const float sum = way == REQUANTISE_ADDED_LAST
                          ? fmaf(residual, q.residual_ratio, fmaf(whole, q.own_ratio, q.shift))
                          : fmaf(whole, q.own_ratio, fmaf(residual, q.residual_ratio, q.shift));
    return __float_as_int(__fadd_rn(sum, ROUNDING)) - ROUNDING_BITS;
  }
}

/* Of a sum that is no operand; from zero: the scale is in 256ths. */
template <int way> __device__ __forceinline__ int scaled_soon(float sum, float scale, const hn_cuda_bytes &q) {
  if (way == REQUANTISE_FROM_ZERO) return units_of(__saturatef(__fmul_rn(sum, scale)));
  const int v = __float_as_int(__fadd_rn(__fmul_rn(sum, scale), ROUNDING)) + (q.zero - ROUNDING_BITS);
  return way == REQUANTISE_BOUNDED ? min(max(v, q.low), q.high) : v;
}

/* sums: with ROUNDING_BITS; begin: of each, less ROUNDING. */
template <typename T, int way>
__device__ __forceinline__ unsigned requantised_soon(int4 sums, float4 begin, float4 scale, unsigned residual,
                                                     const hn_cuda_bytes &q) {
  const float a = __fadd_rn(__int_as_float(sums.x), begin.x), b = __fadd_rn(__int_as_float(sums.y), begin.y);
  const float c = __fadd_rn(__int_as_float(sums.z), begin.z), d = __fadd_rn(__int_as_float(sums.w), begin.w);
  if constexpr (way >= REQUANTISE_ADDED)
    return pack_four<T>(joined_soon<T, way>(__fmul_rn(a, scale.x), byte_of<T, 0>(residual), q),
                        joined_soon<T, way>(__fmul_rn(b, scale.y), byte_of<T, 1>(residual), q),
                        joined_soon<T, way>(__fmul_rn(c, scale.z), byte_of<T, 2>(residual), q),
                        joined_soon<T, way>(__fmul_rn(d, scale.w), byte_of<T, 3>(residual), q));
  else
    return pack_four<T>(scaled_soon<way>(a, scale.x, q), scaled_soon<way>(b, scale.y, q),
                        scaled_soon<way>(c, scale.z, q), scaled_soon<way>(d, scale.w, q));
}

template <typename T, int way>
__device__ __forceinline__ unsigned requantised_four(int4 sums, float4 scale, unsigned residual,
                                                     const hn_cuda_bytes &q) {
  const float a = __fmul_rn(__int2float_rn(sums.x), scale.x), b = __fmul_rn(__int2float_rn(sums.y), scale.y);
  const float c = __fmul_rn(__int2float_rn(sums.z), scale.z), d = __fmul_rn(__int2float_rn(sums.w), scale.w);
  if (way >= REQUANTISE_ADDED)
    return pack_four<T>(joined<way>(a, byte_of<T, 0>(residual), q), joined<way>(b, byte_of<T, 1>(residual), q),
                        joined<way>(c, byte_of<T, 2>(residual), q), joined<way>(d, byte_of<T, 3>(residual), q));
  const int less = q.zero - ROUNDING_BITS;
  int v[4] = {__float_as_int(__fadd_rn(a, ROUNDING)) + less, __float_as_int(__fadd_rn(b, ROUNDING)) + less,
              __float_as_int(__fadd_rn(c, ROUNDING)) + less, __float_as_int(__fadd_rn(d, ROUNDING)) + less};
  if (way == REQUANTISE_BOUNDED)
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = min(max(v[i], q.low), q.high);
  return pack_four<T>(v[0], v[1], v[2], v[3]);
}

#endif
