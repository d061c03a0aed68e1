/* SPDX-License-Identifier: Apache-2.0 */
/* sixteen.cuh - sixteen channels of a pixel, or elements of a plain tensor, as bytes: read, rounded, stored. */
#ifndef HN_KERNELS_CUDA_SIXTEEN_CUH
#define HN_KERNELS_CUDA_SIXTEEN_CUH

#include "kernels/cuda/tensor/bytes.cuh"

/* What bounds the type. */
template <typename T> constexpr int least_of = (T)-1 < 0 ? -128 : 0;
template <typename T> constexpr int most_of = least_of<T> + 255;

/* rne(scaled) + zero, saturated; NaN is 0 before zero is added, as in the reference. */
template <typename T> __device__ __forceinline__ int rounded_to(float scaled, int zero) {
  const float low = (float)(least_of<T> - zero), high = (float)(most_of<T> - zero);
  return __float2int_rn(fminf(fmaxf(scaled, low), high)) + zero;
}

/* The channels from `count` on are the tail: zeros. */
__device__ __forceinline__ uint4 with_tail(uint4 v, int count) {
  if (count >= 16) return v;
  v.x &= there_of(count), v.y &= there_of(count - 4), v.z &= there_of(count - 8), v.w &= there_of(count - 12);
  return v;
}

template <typename T> __device__ __forceinline__ unsigned larger_four(unsigned a, unsigned b) {
  return (T)-1 < 0 ? __vmaxs4(a, b) : __vmaxu4(a, b);
}

#endif
