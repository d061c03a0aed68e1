/* SPDX-License-Identifier: Apache-2.0 */
/* eight.cuh - eight channels of a pixel: what follows their sums, and how they are stored. */
#ifndef HN_KERNELS_CUDA_EIGHT_CUH
#define HN_KERNELS_CUDA_EIGHT_CUH

#include "kernels/cuda/half.cuh"

/* Rare behind what reads memory this fast, and long: in one place, through local memory. */
static __device__ __noinline__ void activate_apart(float *v, int act, float alpha, float beta) {
#pragma unroll 1
  for (int k = 0; k < 8; ++k) v[k] = activated(act, alpha, beta, v[k]);
}

__device__ __forceinline__ void activate_eight(float (&v)[8], int act, float alpha, float beta) {
  switch (act) { /* the same for all threads */
  case HN_ACTIVATION_NONE: return;
  case HN_ACTIVATION_HARD_SWISH: /* this one and the next without a true division, which takes ten instructions */
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] *= __saturatef(v[k] * (1.0f / 6) + 0.5f);
    return;
  case HN_ACTIVATION_SILU:
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = __fdividef(v[k], 1 + __expf(-v[k]));
    return;
  default: float apart[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) apart[k] = v[k];
    activate_apart(apart, act, alpha, beta);
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = apart[k];
  }
}

/* Channels from c on are the tail: zeros. */
__device__ __forceinline__ void clear_tail(float (&v)[8], int channel, int c) {
  if (channel + 8 <= c) return;
#pragma unroll
  for (int k = 0; k < 8; ++k)
    if (channel + k >= c) v[k] = 0;
}

__device__ __forceinline__ unsigned bounded(unsigned v, float low, float high, f16) {
  const __half2 x = *(const __half2 *)&v;
  const __half2 y = __hmin2_nan(__hmax2_nan(x, __float2half2_rn(low)), __float2half2_rn(high));
  return *(const unsigned *)&y;
}
__device__ __forceinline__ unsigned bounded(unsigned v, float low, float high, bf16) {
  const __nv_bfloat162 x = *(const __nv_bfloat162 *)&v;
  const __nv_bfloat162 y = __hmin2_nan(__hmax2_nan(x, __float2bfloat162_rn(low)), __float2bfloat162_rn(high));
  return *(const unsigned *)&y;
}

/* What is stored of eight sums, the first of them of channel `channel` of c. Bounds are applied to two halves at once:
 * as rounding keeps the order, this gives the same bits as rounding what was bounded. */
template <typename T>
__device__ __forceinline__ uint4 finish_eight(float (&v)[8], int act, float alpha, float beta, int channel, int c) {
  const bool relu = act == HN_ACTIVATION_RELU, is_bound = relu || act == HN_ACTIVATION_CLIP;
  if (is_bound && channel + 8 <= c) {
    const float low = relu ? 0 : alpha, high = relu ? __int_as_float(0x7f800000) : beta;
    const uint4 all = narrow_eight<T>(v);
    return make_uint4(bounded(all.x, low, high, T()), bounded(all.y, low, high, T()), bounded(all.z, low, high, T()),
                      bounded(all.w, low, high, T()));
  }
  activate_eight(v, act, alpha, beta);
  clear_tail(v, channel, c);
  return narrow_eight<T>(v);
}

#endif
