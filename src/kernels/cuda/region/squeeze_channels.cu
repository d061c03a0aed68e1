/* SPDX-License-Identifier: Apache-2.0 */
/* squeeze_channels.cu - what squeeze_excite.cu computes, with the channels shared out in place of the pixels: a block
 * has all pixels of a slice of channels, so that means and factors stay with it and the cluster exchanges once, its
 * parts of the squeezed channels. Products are f32 sums of halves' products with f32 means; eight lanes make one. */
#include "kernels/cuda/region/squeeze.cuh"

enum { THREADS = 256, AT_ONCE = THREADS / 8 }; /* products at once */

template <typename T> struct places {
  float *groups, *means, *factors, *bias_excite; /* [THREADS][8], [slice] each */
  float *parts, *squeezed, *bias_squeeze;        /* [blocks][deep], [deep] each */
  T *squeeze, *excite, *x;                       /* [squeezed][slice], [slice][deep], [pixels][slice] */
};

template <typename T> __device__ places<T> place(unsigned char *shared, const hn_cuda_squeeze &a, int deep) {
  places<T> p;
  p.groups = (float *)shared;
  p.means = p.groups + THREADS * 8;
  p.factors = p.means + a.slice;
  p.bias_excite = p.factors + a.slice;
  p.parts = p.bias_excite + a.slice;
  p.squeezed = p.parts + a.blocks * deep;
  p.bias_squeeze = p.squeezed + deep;
  p.squeeze = (T *)(p.bias_squeeze + deep);
  p.excite = p.squeeze + a.squeezed * a.slice;
  p.x = p.excite + a.slice * deep;
  return p;
}

template <typename T>
__device__ void load_constants(const places<T> &p, const hn_cuda_squeeze &a, const T *weights, int rank, int deep) {
  const int row = a.slice / 8, all = a.blocks * a.slice;
  const T *excite = weights + (size_t)a.squeezed * all;
  const float *bias_squeeze = (const float *)(excite + (size_t)all * deep), *bias_excite = bias_squeeze + deep;
  for (int i = threadIdx.x; i < a.squeezed * row; i += THREADS)
    copy_sixteen(shared_at(p.squeeze + i * 8), weights + (size_t)(i / row) * all + rank * a.slice + i % row * 8, true);
  for (int i = threadIdx.x; i < a.slice * (deep / 8); i += THREADS)
    copy_sixteen(shared_at(p.excite + i * 8), excite + (size_t)rank * a.slice * deep + (size_t)i * 8, true);
  for (int i = threadIdx.x; i < deep / 4; i += THREADS)
    copy_sixteen(shared_at(p.bias_squeeze + i * 4), bias_squeeze + i * 4, true);
  for (int i = threadIdx.x; i < a.slice / 4; i += THREADS)
    copy_sixteen(shared_at(p.bias_excite + i * 4), bias_excite + rank * a.slice + i * 4, true);
}

/* Walks over the eights of all pixels, THREADS apart, without divisions. */
struct walk {
  int pixel, eight, over, along, row;
  __device__ __forceinline__ explicit walk(int wide) : over(THREADS / wide), along(THREADS % wide), row(wide) {
    pixel = threadIdx.x / wide, eight = threadIdx.x % wide;
  }
  __device__ __forceinline__ void next() {
    pixel += over, eight += along;
    if (eight >= row) eight -= row, ++pixel;
  }
};

/* The sum over eight neighbouring lanes, in all of them. */
__device__ __forceinline__ float of_eight(float sum) {
  const unsigned lanes = 0xffu << (threadIdx.x & 24);
#pragma unroll
  for (int o = 4; o; o /= 2) sum += __shfl_xor_sync(lanes, sum, o);
  return sum;
}

/* A lane's part of a product of `count` eights. */
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

template <typename T> __device__ void means(const places<T> &p, const hn_cuda_squeeze &a) {
  const int wide = a.slice / 8, groups = THREADS / wide, group = threadIdx.x / wide, e = threadIdx.x % wide;
  if (group < groups) {
    float s[8] = {};
#pragma unroll 4
    for (int i = group; i < a.pixels; i += groups) {
      float v[8];
      widen_eight<T>(v, *(const uint4 *)(p.x + i * a.slice + e * 8));
#pragma unroll
      for (int j = 0; j < 8; ++j) s[j] += v[j];
    }
    *(float4 *)(p.groups + (group * wide + e) * 8) = make_float4(s[0], s[1], s[2], s[3]);
    *(float4 *)(p.groups + (group * wide + e) * 8 + 4) = make_float4(s[4], s[5], s[6], s[7]);
  }
  __syncthreads();
  for (int i = threadIdx.x / 8; i < a.slice; i += AT_ONCE) {
    float sum = 0;
    for (int g = threadIdx.x & 7; g < groups; g += 8) sum += p.groups[g * a.slice + i];
    sum = of_eight(sum);
    if ((threadIdx.x & 7) == 0) p.means[i] = sum / a.pixels;
  }
  __syncthreads();
}

template <typename T> __device__ void run(T *y, const T *x, const T *weights, const hn_cuda_squeeze &a) {
  extern __shared__ __align__(128) unsigned char shared[];
  const int rank = blockIdx.x, lane = threadIdx.x & 7, deep = eights(a.squeezed), wide = a.slice / 8;
  const places<T> p = place<T>(shared, a, deep);
  const size_t begin = (size_t)blockIdx.y * a.pixels * a.pitch + rank * a.slice;
  const int room = a.pitch - rank * a.slice; /* channels that are there */
  cluster_arrive();
  load_constants(p, a, weights, rank, deep);
  wait_for_previous();
  for (walk at(wide); at.pixel < a.pixels; at.next()) {
    const bool valid = at.eight * 8 < room;
    copy_sixteen(shared_at(p.x + at.pixel * a.slice + at.eight * 8),
                 x + (valid ? begin + (size_t)at.pixel * a.pitch + at.eight * 8 : 0), valid);
  }
  copy_commit();
  copy_wait<0>();
  __syncthreads();
  let_next_begin();
  means(p, a);
  cluster_wait(); /* the others have begun: their memory may be written */
  for (int s = threadIdx.x / 8; s < a.squeezed; s += AT_ONCE) {
    const float sum = product(p.squeeze + s * a.slice, p.means, wide);
    for (int r = lane; r < a.blocks; r += 8) push(p.parts + rank * deep + s, r, sum);
  }
  cluster_arrive();
  cluster_wait();
  for (int s = threadIdx.x / 8; s < deep; s += AT_ONCE) {
    float sum = 0;
    for (int r = lane; r < a.blocks && s < a.squeezed; r += 8) sum += p.parts[r * deep + s];
    sum = of_eight(sum) + p.bias_squeeze[s];
    if (lane == 0) p.squeezed[s] = s < a.squeezed ? activated(a.squeeze_act, a.squeeze_alpha, a.squeeze_beta, sum) : 0;
  }
  __syncthreads();
  for (int i = threadIdx.x / 8; i < a.slice; i += AT_ONCE) {
    const float sum = product(p.excite + i * deep, p.squeezed, deep / 8) + p.bias_excite[i];
    if (lane == 0) p.factors[i] = activated(a.excite_act, a.excite_alpha, a.excite_beta, sum);
  }
  __syncthreads();
  for (walk at(wide); at.pixel < a.pixels; at.next()) {
    if (at.eight * 8 >= room) continue;
    float v[8];
    const float *f = p.factors + at.eight * 8;
    widen_eight<T>(v, *(const uint4 *)(p.x + at.pixel * a.slice + at.eight * 8));
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] *= f[j];
    *(uint4 *)(y + begin + (size_t)at.pixel * a.pitch + at.eight * 8) = narrow_eight<T>(v);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    hn_squeeze_channels_f16(f16 *y, const f16 *x, const f16 *weights, const __grid_constant__ hn_cuda_squeeze a) {
  run(y, x, weights, a);
}
extern "C" __global__ void __launch_bounds__(THREADS)
    hn_squeeze_channels_bf16(bf16 *y, const bf16 *x, const bf16 *weights, const __grid_constant__ hn_cuda_squeeze a) {
  run(y, x, weights, a);
}
