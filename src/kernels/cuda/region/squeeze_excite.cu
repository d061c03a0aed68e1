/* SPDX-License-Identifier: Apache-2.0 */
/* squeeze_excite.cu - the channels' means over an image, two small products, and the image times what they make, with
 * the channels last: a cluster an image. Each block keeps a share of the pixels in shared memory, so that x is read
 * once, and owns a slice of the channels: it gets their sums from the others, makes its part of the first product and
 * gives that to all, then makes its channels' factors and gives those to all. The weights are read before the kernel
 * before has ended. Products are f32 sums of halves' products with f32 means. */
#include "kernels/cuda/region/squeeze.cuh"

enum { THREADS = 256, WARPS = THREADS / 32 };

template <typename T> struct places {
  T *x, *squeeze, *excite;                /* [share][pitch], [squeezed][slice], [slice][squeezed, up to 8] */
  float *groups, *sums, *parts, *factors; /* [THREADS][8], [blocks][slice], [blocks][squeezed], [blocks * slice] */
  float *squeezed;                        /* [squeezed, up to 8] */
};

template <typename T> __device__ places<T> place(unsigned char *shared, const hn_cuda_squeeze &a) {
  places<T> p;
  p.groups = (float *)shared;
  p.sums = p.groups + THREADS * 8;
  p.parts = p.sums + a.blocks * a.slice;
  p.factors = p.parts + eights(a.blocks * a.squeezed);
  p.squeezed = p.factors + a.blocks * a.slice;
  p.squeeze = (T *)(p.squeezed + eights(a.squeezed));
  p.excite = p.squeeze + a.squeezed * a.slice;
  p.x = p.excite + a.slice * eights(a.squeezed);
  return p;
}

/* Slice `rank` of the weights; channels past the last have zeros in memory. */
template <typename T>
__device__ void load_weights(const places<T> &p, const hn_cuda_squeeze &a, const T *squeeze, const T *excite,
                             int rank) {
  const int row = a.slice / 8, deep = eights(a.squeezed) / 8, all = a.blocks * a.slice;
  for (int i = threadIdx.x; i < a.squeezed * row; i += THREADS)
    copy_sixteen(shared_at(p.squeeze + i * 8), squeeze + (size_t)(i / row) * all + rank * a.slice + i % row * 8, true);
  for (int i = threadIdx.x; i < a.slice * deep; i += THREADS)
    copy_sixteen(shared_at(p.excite + i * 8), excite + ((size_t)rank * a.slice * deep + i) * 8, true);
}

/* Sums of the block's pixels, each to the channel's owner. A thread has eight channels of every n-th pixel. */
template <typename T> __device__ void sum_pixels(const places<T> &p, const hn_cuda_squeeze &a, int pixels, int rank) {
  const int wide = a.pitch / 8, tid = threadIdx.x;
  for (int base = 0; base < wide; base += THREADS) {
    const int here = min(wide - base, THREADS), groups = THREADS / here, group = tid / here, at = base + tid % here;
    float s[8] = {};
    for (int i = group; i < pixels && group < groups; i += groups) {
      float v[8];
      widen_eight<T>(v, *(const uint4 *)(p.x + i * a.pitch + at * 8));
#pragma unroll
      for (int j = 0; j < 8; ++j) s[j] += v[j];
    }
    *(float4 *)(p.groups + tid * 8) = make_float4(s[0], s[1], s[2], s[3]);
    *(float4 *)(p.groups + tid * 8 + 4) = make_float4(s[4], s[5], s[6], s[7]);
    __syncthreads();
    for (int i = tid; i < here * 8; i += THREADS) {
      float sum = 0;
      for (int g = 0; g < groups; ++g) sum += p.groups[g * here * 8 + i];
      const int channel = base * 8 + i;
      push(p.sums + rank * a.slice + channel % a.slice, channel / a.slice, sum);
    }
    __syncthreads();
  }
}

/* This slice's part of each squeezed channel, to all. */
template <typename T> __device__ void squeeze(const places<T> &p, const hn_cuda_squeeze &a, int rank) {
  const int lane = threadIdx.x & 31;
  for (int i = threadIdx.x; i < a.slice; i += THREADS) {
    float sum = 0;
    for (int r = 0; r < a.blocks; ++r) sum += p.sums[r * a.slice + i];
    p.groups[i] = rank * a.slice + i < a.c ? sum / a.pixels : 0;
  }
  __syncthreads();
  for (int s = threadIdx.x / 32; s < a.squeezed; s += WARPS) {
    float sum = 0;
    for (int i = lane; i < a.slice; i += 32) sum += wide(p.squeeze[s * a.slice + i]) * p.groups[i];
    for (int o = 16; o; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
    if (lane < a.blocks) push(p.parts + rank * a.squeezed + s, lane, sum);
  }
}

/* This slice's factors, to all. */
template <typename T>
__device__ void excite(const places<T> &p, const hn_cuda_squeeze &a, const float *squeeze_bias,
                       const float *excite_bias, int rank) {
  const int deep = eights(a.squeezed), lane = threadIdx.x & 7;
  for (int s = threadIdx.x; s < deep; s += THREADS) {
    float sum = s < a.squeezed ? squeeze_bias[s] : 0;
    for (int r = 0; r < a.blocks && s < a.squeezed; ++r) sum += p.parts[r * a.squeezed + s];
    p.squeezed[s] = s < a.squeezed ? activated(a.squeeze_act, a.squeeze_alpha, a.squeeze_beta, sum) : 0;
  }
  __syncthreads();
  for (int i = threadIdx.x / 8; i < a.slice; i += THREADS / 8) { /* eight lanes a channel; slices are multiples of 8 */
    float sum = 0;
    for (int s = lane; s < deep; s += 8) sum += wide(p.excite[i * deep + s]) * p.squeezed[s];
    const unsigned lanes = 0xffu << (threadIdx.x & 24);
    for (int o = 4; o; o /= 2) sum += __shfl_xor_sync(lanes, sum, o);
    sum = activated(a.excite_act, a.excite_alpha, a.excite_beta, sum + excite_bias[rank * a.slice + i]);
    for (int r = lane; r < a.blocks; r += 8) push(p.factors + rank * a.slice + i, r, sum);
  }
}

template <typename T> __device__ void run(T *y, const T *x, const T *weights, const hn_cuda_squeeze &a) {
  extern __shared__ __align__(128) unsigned char shared[];
  const places<T> p = place<T>(shared, a);
  const int rank = blockIdx.x, wide = a.pitch / 8, first = rank * a.share,
            pixels = max(0, min(a.share, a.pixels - first)), all = a.blocks * a.slice;
  const T *excite_weights = weights + (size_t)a.squeezed * all;
  const float *squeeze_bias = (const float *)(excite_weights + (size_t)all * eights(a.squeezed)),
              *excite_bias = squeeze_bias + eights(a.squeezed);
  const size_t begin = ((size_t)blockIdx.y * a.pixels + first) * a.pitch;
  cluster_arrive();
  load_weights(p, a, weights, excite_weights, rank);
  wait_for_previous();
  for (int i = threadIdx.x; i < pixels * wide; i += THREADS)
    copy_sixteen(shared_at(p.x + i * 8), x + begin + (size_t)i * 8, true);
  copy_commit();
  copy_wait<0>();
  __syncthreads();
  let_next_begin();
  cluster_wait(); /* the others have begun: their memory may be written */
  sum_pixels(p, a, pixels, rank);
  cluster_arrive();
  cluster_wait();
  squeeze(p, a, rank);
  cluster_arrive();
  cluster_wait();
  excite(p, a, squeeze_bias, excite_bias, rank);
  cluster_arrive();
  cluster_wait();
  for (int i = threadIdx.x; i < pixels * wide; i += THREADS) {
    float v[8];
    const float *f = p.factors + i % wide * 8;
    widen_eight<T>(v, *(const uint4 *)(p.x + i * 8));
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] *= f[j];
    *(uint4 *)(y + begin + (size_t)i * 8) = narrow_eight<T>(v);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    hn_squeeze_excite_f16(f16 *y, const f16 *x, const f16 *weights, const __grid_constant__ hn_cuda_squeeze a) {
  run(y, x, weights, a);
}
extern "C" __global__ void __launch_bounds__(THREADS)
    hn_squeeze_excite_bf16(bf16 *y, const bf16 *x, const bf16 *weights, const __grid_constant__ hn_cuda_squeeze a) {
  run(y, x, weights, a);
}
