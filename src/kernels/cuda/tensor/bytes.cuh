/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.cuh - what products of bytes have of their own beside those of halves: sums in i32, and requantising by the f32
 * rule (docs/NUMERICS.md), every step rounded as the reference rounds it. A row of a stage is 128 bytes, whatever the
 * type. Source: PTX ISA 9.0 (mma m16n8k32, cvt.pack). */
#ifndef HN_KERNELS_CUDA_BYTES_CUH
#define HN_KERNELS_CUDA_BYTES_CUH

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

/* Below 2^22 a float added to this one is rounded to an integer, half to even, which is then the lower bits' two's
 * complement. Who launches has made sure of that bound. */
#define ROUNDING 12582912.0f
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

/* What follows the sums: nothing more, narrower bounds, or a sum with a residual, in either order. The same for a whole
 * launch: who calls takes one way for many values, since a branch for each keeps them from overlapping. */
enum { REQUANTISE_PLAIN, REQUANTISE_BOUNDED, REQUANTISE_ADDED, REQUANTISE_ADDED_LAST };

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
