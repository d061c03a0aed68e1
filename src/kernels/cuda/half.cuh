/* SPDX-License-Identifier: Apache-2.0 */
/* half.cuh - what kernels over f16 and bf16 share, and over f32 whose products are rounded to tf32: values at a time,
 * tensor cores, copies into shared memory, and dependent launch. Sums are f32. Channels last means rows of `pitch`
 * values, a multiple of 8, so that sixteen bytes are always aligned and the tail is zeros. Source: PTX ISA 9.0
 * (ldmatrix, mma, cvt.rna, cp.async, griddepcontrol, barrier.cluster). */
#ifndef HN_KERNELS_CUDA_HALF_CUH
#define HN_KERNELS_CUDA_HALF_CUH

#include "kernels/cuda/activate.cuh"
#include "kernels/cuda/dependent.cuh"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef __half f16;
typedef __nv_bfloat16 bf16;
typedef unsigned char u8;
typedef signed char i8;
struct e4m3 { /* is multiplied alone */
  unsigned char bits;
};
typedef float tf32; /* f32 as it lies in memory; products round it to ten bits behind the point */

/* A file with a line `held: f16 bf16` is compiled once for each of them: `held` is the type, and its kernels are named
 * by it. NAME_held.cu is file NAME_f16 of backend/cuda/builtins.inc then. */
#ifdef HN_HELD
typedef float f32;
typedef HN_HELD held;
#define HN_HELD_NAME(family) HN_HELD_JOIN(hn_##family, HN_HELD)
#define HN_HELD_KERNEL(family, rest) HN_HELD_JOIN(HN_HELD_NAME(family), rest)
#define HN_HELD_JOIN(a, b) HN_HELD_JOINED(a, b)
#define HN_HELD_JOINED(a, b) a##_##b
#endif

/* ---- numbers ---- */

__device__ __forceinline__ float wide(f16 v) { return __half2float(v); }
__device__ __forceinline__ float wide(bf16 v) { return __bfloat162float(v); }
__device__ __forceinline__ float wide(float v) { return v; }
template <typename T> __device__ __forceinline__ T narrow(float v);
template <> __device__ __forceinline__ f16 narrow<f16>(float v) { return __float2half_rn(v); }
template <> __device__ __forceinline__ bf16 narrow<bf16>(float v) { return __float2bfloat16_rn(v); }
template <> __device__ __forceinline__ float narrow<float>(float v) { return v; }
__device__ __forceinline__ float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/* Two values as one register, the first in the lower half. */
template <typename T> __device__ __forceinline__ unsigned narrow_two(float a, float b);
template <> __device__ __forceinline__ unsigned narrow_two<f16>(float a, float b) {
  const __half2 v = __floats2half2_rn(a, b);
  return *(const unsigned *)&v;
}
template <> __device__ __forceinline__ unsigned narrow_two<bf16>(float a, float b) {
  const __nv_bfloat162 v = __floats2bfloat162_rn(a, b);
  return *(const unsigned *)&v;
}
template <typename T> __device__ __forceinline__ float2 wide_two(unsigned v);
template <> __device__ __forceinline__ float2 wide_two<f16>(unsigned v) { return __half22float2(*(const __half2 *)&v); }
template <> __device__ __forceinline__ float2 wide_two<bf16>(unsigned v) {
  return __bfloat1622float2(*(const __nv_bfloat162 *)&v);
}
template <typename T> __device__ __forceinline__ void widen_eight(float (&out)[8], const uint4 &v) {
  const unsigned in[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 two = wide_two<T>(in[i]);
    out[2 * i] = two.x;
    out[2 * i + 1] = two.y;
  }
}
template <typename T> __device__ __forceinline__ uint4 narrow_eight(const float (&v)[8]) {
  return make_uint4(narrow_two<T>(v[0], v[1]), narrow_two<T>(v[2], v[3]), narrow_two<T>(v[4], v[5]),
                    narrow_two<T>(v[6], v[7]));
}
/* Eight values of memory. */
template <typename T> __device__ __forceinline__ void load_eight(float (&out)[8], const T *from) {
  widen_eight<T>(out, *(const uint4 *)from);
}
template <> __device__ __forceinline__ void load_eight<float>(float (&out)[8], const float *from) {
  *(float4 *)out = ((const float4 *)from)[0];
  *(float4 *)(out + 4) = ((const float4 *)from)[1];
}
template <typename T> __device__ __forceinline__ void store_eight(T *to, const float (&v)[8]) {
  *(uint4 *)to = narrow_eight<T>(v);
}
template <> __device__ __forceinline__ void store_eight<float>(float *to, const float (&v)[8]) {
  ((float4 *)to)[0] = make_float4(v[0], v[1], v[2], v[3]);
  ((float4 *)to)[1] = make_float4(v[4], v[5], v[6], v[7]);
}

/* ---- tensor cores: c[16 x 8] += a[16 x 16] * b[16 x 8] by a warp ---- */

__device__ __forceinline__ unsigned shared_at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void load_four(unsigned (&r)[4], unsigned from) { /* four 8 x 8 matrices */
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(from));
}
__device__ __forceinline__ void load_four_across(unsigned (&r)[4], unsigned from) { /* each transposed */
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(from));
}
template <typename T>
__device__ __forceinline__ void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1);
template <>
__device__ __forceinline__ void multiply_add<f16>(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ __forceinline__ void multiply_add<bf16>(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
/* As deep again in bytes: c[16 x 8] += a[16 x 8] * b[8 x 8]. The unit cuts off what tf32 does not hold. */
template <>
__device__ __forceinline__ void multiply_add<tf32>(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
/* What products read, rounded, where the unit would cut: sums of cut values are all too small. */
template <typename T> __device__ __forceinline__ void round_four(unsigned (&)[4]) {}
template <> __device__ __forceinline__ void round_four<tf32>(unsigned (&v)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) asm("cvt.rna.tf32.f32 %0, %0;" : "+r"(v[i]));
}

/* ---- copies into shared memory that are waited for later ---- */

/* Sixteen bytes; zeros when not valid (`from` must be an address all the same). */
__device__ __forceinline__ void copy_sixteen(unsigned to, const void *from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0));
}
__device__ __forceinline__ void copy_commit() { asm volatile("cp.async.commit_group;"); }
template <int N> __device__ __forceinline__ void copy_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N)); }

/* Word i of lane q becomes word q of lane i, of four lanes. */
__device__ __forceinline__ void change_words(unsigned (&w)[4], int q) {
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    const unsigned other = __shfl_xor_sync(0xffffffff, q & 1 ? w[i] : w[i + 1], 1);
    w[i] = q & 1 ? other : w[i], w[i + 1] = q & 1 ? w[i + 1] : other;
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const unsigned other = __shfl_xor_sync(0xffffffff, q & 2 ? w[i] : w[i + 2], 2);
    w[i] = q & 2 ? other : w[i], w[i + 2] = q & 2 ? w[i + 2] : other;
  }
}

#endif
