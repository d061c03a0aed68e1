/* SPDX-License-Identifier: Apache-2.0 */
/* squeeze_channels.cu - what squeeze_excite.cu computes, with the channels shared out in place of the pixels: a block
 * has all pixels of a slice of channels, so that means and factors stay with it and the cluster exchanges its parts of
 * the squeezed channels. */
#include "kernels/cuda/region/squeeze.cuh"

enum { HELD = 4 /* eights of the image in a thread's registers */ };

template <typename T> struct places {
  float *groups, *means, *factors, *bias_excite; /* [THREADS][8], [slice] each */
  float *parts, *squeezed, *bias_squeeze;        /* [blocks][deep], [deep] each */
  T *squeeze, *excite;                           /* [squeezed][slice], [slice][deep] */
};

/* In front of them lies the barrier. */
template <typename T> __device__ places<T> place(unsigned char *shared, const hn_cuda_squeeze &a, int deep) {
  places<T> p;
  p.groups = (float *)(shared + HN_SQUEEZE_BARRIER);
  p.means = p.groups + THREADS * 8;
  p.factors = p.means + a.slice;
  p.bias_excite = p.factors + a.slice;
  p.parts = p.bias_excite + a.slice;
  p.squeezed = p.parts + a.blocks * deep;
  p.bias_squeeze = p.squeezed + deep;
  p.squeeze = (T *)(p.bias_squeeze + deep);
  p.excite = p.squeeze + a.squeezed * a.slice;
  return p;
}

template <typename T>
__device__ void load_constants(const places<T> &p, const hn_cuda_squeeze &a, const T *weights, int rank, int deep) {
  const int row = a.slice / 8;
  const T *excite = weights + (size_t)a.squeezed * a.all;
  const float *bias_squeeze = (const float *)(excite + (size_t)a.all * deep), *bias_excite = bias_squeeze + deep;
  for (int i = threadIdx.x; i < a.squeezed * row; i += THREADS)
    copy_sixteen(shared_at(p.squeeze + i * 8), weights + (size_t)(i / row) * a.all + rank * a.slice + i % row * 8,
                 true);
  for (int i = threadIdx.x; i < a.slice * (deep / 8); i += THREADS)
    copy_sixteen(shared_at(p.excite + i * 8), excite + (size_t)rank * a.slice * deep + (size_t)i * 8, true);
  for (int i = threadIdx.x; i < deep / 4; i += THREADS)
    copy_sixteen(shared_at(p.bias_squeeze + i * 4), bias_squeeze + i * 4, true);
  for (int i = threadIdx.x; i < a.slice / 4; i += THREADS)
    copy_sixteen(shared_at(p.bias_excite + i * 4), bias_excite + rank * a.slice + i * 4, true);
  copy_commit();
}

template <typename T> __device__ void means(const places<T> &p, const hn_cuda_squeeze &a, int groups) {
  for (int i = threadIdx.x / 8; i < a.slice; i += AT_ONCE) {
    float sum = 0;
    for (int g = threadIdx.x & 7; g < groups; g += 8) sum += p.groups[g * a.slice + i];
    sum = of_eight(sum);
    if ((threadIdx.x & 7) == 0) p.means[i] = sum / a.pixels;
  }
  __syncthreads();
}

/* The squeezed channels from the blocks' parts. */
template <typename T> __device__ void gather(const places<T> &p, const hn_cuda_squeeze &a, int deep) {
  const int lane = threadIdx.x & 7;
  for (int s = threadIdx.x / 8; s < deep; s += AT_ONCE) {
    float sum = 0;
    for (int r = lane; r < a.blocks; r += 8) sum += p.parts[r * deep + s];
    sum = of_eight(sum) + p.bias_squeeze[s];
    if (lane == 0) p.squeezed[s] = s < a.squeezed ? activated(a.squeeze_act, a.squeeze_alpha, a.squeeze_beta, sum) : 0;
  }
  __syncthreads();
}

template <typename T> __device__ void run(T *y, const T *x, const T *weights, const hn_cuda_squeeze &a) {
  extern __shared__ __align__(128) unsigned char shared[];
  const int rank = blockIdx.x, deep = eights(a.squeezed), wide = a.slice / 8, groups = THREADS / wide,
            e = threadIdx.x % wide;
  const places<T> p = place<T>(shared, a, deep);
  const unsigned barrier = shared_at(shared);
  const bool valid = threadIdx.x < groups * wide;
  const part mine = {(int)threadIdx.x / wide, groups, valid && rank * a.slice + e * 8 < a.pitch ? a.pixels : 0, a.pitch,
                     (size_t)blockIdx.y * a.pixels * a.pitch + rank * a.slice + e * 8};
  if (threadIdx.x == 0) {
    open_barrier(barrier);
    expect(barrier, a.blocks * deep * (int)sizeof(float));
  }
  cluster_arrive();
  load_constants(p, a, weights, rank, deep);
  let_next_begin(); /* all blocks run at once, or wait: who comes next copies weights meanwhile */
  wait_for_previous();
  uint4 held[HELD];
  sum_up<T, HELD>(p.groups, held, x, mine, valid);
  copy_wait<0>();
  __syncthreads();
  means(p, a, groups);
  cluster_wait(); /* the others have begun: their memory may be written */
  for (int s = threadIdx.x / 32 * 4; s < deep; s += WARPS * 4) {
    const int own = s + (threadIdx.x & 31) / 8;
    const float sum = own < a.squeezed ? product(p.squeeze + own * a.slice, p.means, wide) : 0;
    send_to_all(p.parts + rank * deep + s, a.blocks, barrier, sum);
  }
  await_all(a.blocks, barrier);
  gather(p, a, deep);
  excite(p.factors, p.squeezed, p.excite, p.bias_excite, a.slice, a, deep);
  scale_all<T, HELD>(y, x, held, mine, p.factors + e * 8);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    hn_squeeze_channels_f16(f16 *y, const f16 *x, const f16 *weights, const __grid_constant__ hn_cuda_squeeze a) {
  run(y, x, weights, a);
}
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    hn_squeeze_channels_bf16(bf16 *y, const bf16 *x, const bf16 *weights, const __grid_constant__ hn_cuda_squeeze a) {
  run(y, x, weights, a);
}
