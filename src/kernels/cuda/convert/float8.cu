/* SPDX-License-Identifier: Apache-2.0 */
/* float8.cu - f32 and halves to e4m3 and back by one scale, eight elements a thread: the quotient is rounded to f32,
 * then to the nearest, ties to even, and saturated; a product is rounded once. Source: ONNX operators QuantizeLinear
 * and DequantizeLinear. */
#include "kernels/cuda/half.cuh"
#include <cuda_fp8.h>

#define THREADS 256
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)

__device__ __forceinline__ u8 quantised(float v, float scale) {
  return __nv_cvt_float_to_fp8(__fdiv_rn(v, scale), __NV_SATFINITE, __NV_E4M3);
}
__device__ __forceinline__ float number(u8 v) { return __half2float(__half(__nv_cvt_fp8_to_halfraw(v, __NV_E4M3))); }

template <typename T> __device__ __forceinline__ void quantise(u8 *y, const T *x, const float *scale, unsigned count) {
  const unsigned first = (blockIdx.x * THREADS + threadIdx.x) * 8;
  wait_for_previous();
  if (first + 8 <= count) {
    float v[8];
    union {
      uint2 words;
      u8 bytes[8];
    } out;
    load_eight(v, x + first);
#pragma unroll
    for (int k = 0; k < 8; ++k) out.bytes[k] = quantised(v[k], *scale);
    *(uint2 *)(y + first) = out.words;
  } else {
    for (unsigned i = first; i < count; ++i) y[i] = quantised(wide(x[i]), *scale);
  }
  let_next_begin();
}

template <typename T>
__device__ __forceinline__ void dequantise(T *y, const u8 *x, const float *scale, unsigned count) {
  const unsigned first = (blockIdx.x * THREADS + threadIdx.x) * 8;
  wait_for_previous();
  if (first + 8 <= count) {
    float v[8];
    union {
      uint2 words;
      u8 bytes[8];
    } in;
    in.words = *(const uint2 *)(x + first);
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = __fmul_rn(number(in.bytes[k]), *scale);
    store_eight(y + first, v);
  } else {
    for (unsigned i = first; i < count; ++i) y[i] = narrow<T>(__fmul_rn(number(x[i]), *scale));
  }
  let_next_begin();
}

KERNEL hn_float8_from_f32(u8 *y, const float *x, const float *scale, unsigned count) { quantise(y, x, scale, count); }
KERNEL hn_float8_from_f16(u8 *y, const f16 *x, const float *scale, unsigned count) { quantise(y, x, scale, count); }
KERNEL hn_float8_from_bf16(u8 *y, const bf16 *x, const float *scale, unsigned count) { quantise(y, x, scale, count); }
KERNEL hn_float8_to_f32(float *y, const u8 *x, const float *scale, unsigned count) { dequantise(y, x, scale, count); }
KERNEL hn_float8_to_f16(f16 *y, const u8 *x, const float *scale, unsigned count) { dequantise(y, x, scale, count); }
KERNEL hn_float8_to_bf16(bf16 *y, const u8 *x, const float *scale, unsigned count) { dequantise(y, x, scale, count); }
