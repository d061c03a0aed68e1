/* SPDX-License-Identifier: Apache-2.0 */
/* squeeze.cuh - what both kernels of squeeze-and-excite need. A thread has eight channels of every n-th pixel of its
 * block and keeps what it has read of them in registers as far as they go: little shared memory is asked for, so that
 * the cluster begins beside the kernel before. What blocks send to one another a barrier of the receiver counts.
 * Products are f32 sums of halves' products with f32 means; eight lanes make one. */
#ifndef HN_KERNELS_CUDA_REGION_SQUEEZE_CUH
#define HN_KERNELS_CUDA_REGION_SQUEEZE_CUH
#include "kernels/cuda/cluster.cuh"
#include "kernels/cuda/half.cuh"

enum { THREADS = HN_SQUEEZE_THREADS, WARPS = THREADS / 32, AT_ONCE = THREADS / 8 /* products at once */ };

__device__ __forceinline__ void cluster_arrive() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
#endif
}
__device__ __forceinline__ void cluster_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
#endif
}

__device__ __forceinline__ int eights(int n) { return (n + 7) / 8 * 8; }

/* The sum over eight neighbouring lanes, in all of them. */
__device__ __forceinline__ float of_eight(float sum) {
  const unsigned lanes = 0xffu << (threadIdx.x & 24);
#pragma unroll
  for (int o = 4; o; o /= 2) sum += __shfl_xor_sync(lanes, sum, o);
  return sum;
}

/* A product of `count` eights by eight lanes, in all of them. */
template <typename T> __device__ __forceinline__ float product(const T *w, const float *v, int count) {
  float sum = 0;
  for (int e = threadIdx.x & 7; e < count; e += 8) {
    float f[8];
    widen_eight<T>(f, *(const uint4 *)(w + e * 8));
    const float4 low = *(const float4 *)(v + e * 8), high = *(const float4 *)(v + e * 8 + 4);
    sum += f[0] * low.x + f[1] * low.y + f[2] * low.z + f[3] * low.w;
    sum += f[4] * high.x + f[5] * high.y + f[6] * high.z + f[7] * high.w;
  }
  return of_eight(sum);
}

/* A thread's part of the image: eight channels of every `step`-th pixel from `first` on. */
struct part {
  int first, step, pixels, pitch; /* pixels: 0 where it has none */
  size_t at;                      /* of pixel 0 */
  __device__ __forceinline__ size_t of(int k) const { return at + (size_t)(first + k * step) * pitch; }
  __device__ __forceinline__ bool has(int k) const { return first + k * step < pixels; }
};

template <typename T> __device__ __forceinline__ void add_eight(float (&s)[8], uint4 x) {
  float v[8];
  widen_eight<T>(v, x);
#pragma unroll
  for (int j = 0; j < 8; ++j) s[j] += v[j];
}

/* Sums of the thread's eights, to `groups`; the first ones stay in `held`. */
template <typename T, int HELD>
__device__ __forceinline__ void sum_up(float *groups, uint4 (&held)[HELD], const T *x, const part &mine, bool valid) {
  float s[8] = {};
#pragma unroll
  for (int k = 0; k < HELD; ++k)
    held[k] = mine.has(k) ? __ldcg((const uint4 *)(x + mine.of(k))) : make_uint4(0, 0, 0, 0);
#pragma unroll
  for (int k = 0; k < HELD; ++k) add_eight<T>(s, held[k]);
#pragma unroll 2
  for (int k = HELD; mine.has(k); ++k) add_eight<T>(s, __ldcg((const uint4 *)(x + mine.of(k))));
  if (!valid) return;
  *(float4 *)(groups + threadIdx.x * 8) = make_float4(s[0], s[1], s[2], s[3]);
  *(float4 *)(groups + threadIdx.x * 8 + 4) = make_float4(s[4], s[5], s[6], s[7]);
}

template <typename T> __device__ __forceinline__ uint4 scaled(uint4 x, const float (&f)[8]) {
  float v[8];
  widen_eight<T>(v, x);
#pragma unroll
  for (int j = 0; j < 8; ++j) v[j] *= f[j];
  return narrow_eight<T>(v);
}

template <typename T, int HELD>
__device__ __forceinline__ void scale_all(T *y, const T *x, const uint4 (&held)[HELD], const part &mine,
                                          const float *factors) {
  float f[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) f[j] = factors[j];
#pragma unroll
  for (int k = 0; k < HELD; ++k)
    if (mine.has(k)) *(uint4 *)(y + mine.of(k)) = scaled<T>(held[k], f);
#pragma unroll 2
  for (int k = HELD; mine.has(k); ++k)
    *(uint4 *)(y + mine.of(k)) = scaled<T>(__ldcg((const uint4 *)(x + mine.of(k))), f);
}

/* The sums that the warp's four eights of lanes have, to the same place of all blocks. */
__device__ __forceinline__ void send_to_all(float *at, int blocks, unsigned barrier, float sum) {
  const int lane = threadIdx.x & 31;
  const float4 four = make_float4(__shfl_sync(~0u, sum, 0), __shfl_sync(~0u, sum, 8), __shfl_sync(~0u, sum, 16),
                                  __shfl_sync(~0u, sum, 24));
  if (blocks == 1) { /* no cluster, which sending wants */
    if (lane == 0) *(float4 *)at = four;
  } else if (lane < blocks) {
    send(at_block(shared_at(at), lane), four, at_block(barrier, lane));
  }
}
__device__ __forceinline__ void await_all(int blocks, unsigned barrier) {
  if (blocks == 1)
    __syncthreads();
  else
    await(barrier, 0);
}

/* Each channel's factor, of what the squeezed channels are. */
template <typename T>
__device__ void excite(float *factors, const float *squeezed, const T *weights, const float *bias, int channels,
                       const hn_cuda_squeeze &a, int deep) {
  for (int i = threadIdx.x / 8; i < channels; i += AT_ONCE) {
    const float sum = product(weights + i * deep, squeezed, deep / 8) + bias[i];
    if ((threadIdx.x & 7) == 0) factors[i] = activated(a.excite_act, a.excite_alpha, a.excite_beta, sum);
  }
  __syncthreads();
}

#endif
