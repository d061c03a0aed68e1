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
  case HN_ACTIVATION_RELU:
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = activated(HN_ACTIVATION_RELU, alpha, beta, v[k]);
    return;
  case HN_ACTIVATION_CLIP:
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = activated(HN_ACTIVATION_CLIP, alpha, beta, v[k]);
    return;
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

#endif
