/* SPDX-License-Identifier: Apache-2.0 */
/* squeeze_excite.cu - the channels' means over an image, two small products, and the image times what they make, with
 * the channels last: a cluster an image. Each block has a share of the pixels and sends the sums of all channels to all
 * blocks, the one exchange; then each makes both products of all channels for itself, whose weights were read before
 * the kernel before had ended. For images of few channels; squeeze_channels.cu is for many. */
#include "kernels/cuda/region/squeeze.cuh"

enum { HELD = 7 /* eights of the image in a thread's registers */ };

template <typename T> struct places {
  float *groups, *parts;                /* [THREADS][8], [blocks][pitch] */
  float *means, *factors, *bias_excite; /* [pitch] each */
  float *squeezed, *bias_squeeze;       /* [deep] each */
  T *squeeze, *excite;                  /* [squeezed][pitch], [pitch][deep] */
};

/* In front of them lies the barrier. */
template <typename T> __device__ places<T> place(unsigned char *shared, const hn_cuda_squeeze &a, int deep) {
  places<T> p;
  p.groups = (float *)(shared + HN_SQUEEZE_BARRIER);
  p.parts = p.groups + THREADS * 8;
  p.means = p.parts + a.blocks * a.pitch;
  p.factors = p.means + a.pitch;
  p.squeezed = p.factors + a.pitch;
  p.squeeze = (T *)(p.squeezed + deep); /* from here on as in memory */
  p.excite = p.squeeze + a.squeezed * a.pitch;
  p.bias_squeeze = (float *)(p.excite + a.pitch * deep);
  p.bias_excite = p.bias_squeeze + deep;
  return p;
}

template <typename T> __device__ void run(T *y, const T *x, const T *weights, const hn_cuda_squeeze &a) {
  extern __shared__ __align__(128) unsigned char shared[];
  const int rank = blockIdx.x, deep = eights(a.squeezed), wide = a.pitch / 8, groups = THREADS / wide,
            e = threadIdx.x % wide, lane = threadIdx.x & 7;
  const int begin = rank * a.share, pixels = max(0, min(a.share, a.pixels - begin));
  const places<T> p = place<T>(shared, a, deep);
  const unsigned barrier = shared_at(shared);
  const bool valid = threadIdx.x < groups * wide;
  const part mine = {(int)threadIdx.x / wide, groups, valid ? pixels : 0, a.pitch,
                     ((size_t)blockIdx.y * a.pixels + begin) * a.pitch + e * 8};
  if (threadIdx.x == 0) {
    open_barrier(barrier);
    expect(barrier, a.blocks * a.pitch * (int)sizeof(float));
  }
  cluster_arrive();
  const int sixteens = ((a.squeezed + deep) * a.pitch * 2 + (deep + a.pitch) * 4) / 16;
  for (int i = threadIdx.x; i < sixteens; i += THREADS)
    copy_sixteen(shared_at(p.squeeze + i * 8), weights + i * 8, true);
  copy_commit();
  let_next_begin(); /* all blocks run at once, or wait: who comes next copies weights meanwhile */
  wait_for_previous();
  uint4 held[HELD];
  sum_up<T, HELD>(p.groups, held, x, mine, valid);
  copy_wait<0>();
  cluster_wait(); /* the others have begun: their memory may be written */
  __syncthreads();
  for (int i = threadIdx.x / 32 * 4; i < a.pitch; i += WARPS * 4) {
    const int own = i + (threadIdx.x & 31) / 8;
    float sum = 0;
    for (int g = lane; g < groups; g += 8) sum += p.groups[g * a.pitch + own];
    send_to_all(p.parts + rank * a.pitch + i, a.blocks, barrier, of_eight(sum));
  }
  await_all(a.blocks, barrier);
  for (int i = threadIdx.x / 8; i < a.pitch; i += AT_ONCE) {
    float sum = 0;
    for (int r = lane; r < a.blocks; r += 8) sum += p.parts[r * a.pitch + i];
    sum = of_eight(sum);
    if (lane == 0) p.means[i] = sum / a.pixels;
  }
  __syncthreads();
  for (int s = threadIdx.x / 8; s < deep; s += AT_ONCE) {
    float sum = 0;
    if (s < a.squeezed)
      sum = activated(a.squeeze_act, a.squeeze_alpha, a.squeeze_beta,
                      product(p.squeeze + s * a.pitch, p.means, wide) + p.bias_squeeze[s]);
    if (lane == 0) p.squeezed[s] = sum;
  }
  __syncthreads();
  excite(p.factors, p.squeezed, p.excite, p.bias_excite, a.pitch, a, deep);
  scale_all<T, HELD>(y, x, held, mine, p.factors + e * 8);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    hn_squeeze_excite_f16(f16 *y, const f16 *x, const f16 *weights, const __grid_constant__ hn_cuda_squeeze a) {
  run(y, x, weights, a);
}
extern "C" __global__ void __launch_bounds__(THREADS)
    hn_squeeze_excite_bf16(bf16 *y, const bf16 *x, const bf16 *weights, const __grid_constant__ hn_cuda_squeeze a) {
  run(y, x, weights, a);
}
