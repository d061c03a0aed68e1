/* SPDX-License-Identifier: Apache-2.0 */
/* product.cu - y = act(x . w + bias + residual) in true f32 for few rows: where whole tiles would leave most
 * multiprocessors idle, k is cut into slices whose sums a second kernel adds, always in the same order.
 *
 * A thread holds 8 x 8 sums as four squares of 4 x 4, so that a warp reads shared memory without conflicts; the next 16
 * columns of x and rows of w are on their way while these are worked on. Requires k and n to be multiples of 4. */
#include "kernels/cuda/args.h"

enum { DEPTH = 16 };

/* Four numbers along k, or zeros outside. */
__device__ float4 read_four(const float *from, int row, int rows, int at, int end, int step) {
  return row < rows && at < end ? *(const float4 *)(from + (size_t)row * step + at) : make_float4(0, 0, 0, 0);
}

template <int width> __device__ void put_across(float (*to)[width], const float4 &v, int row, int k) {
  to[k][row] = v.x;
  to[k + 1][row] = v.y;
  to[k + 2][row] = v.z;
  to[k + 3][row] = v.w;
}

/* bm x bn outputs of slice blockIdx.z; transposed: w is [n, k]. */
template <int bm, int bn, bool transposed>
__device__ void multiply(float *sums, const float *x, const float *w, const hn_cuda_product_args &p) {
  const int threads = bm * bn / 64, columns = bn / 8;
  const int x_loads = bm * DEPTH / 4 / threads, w_loads = bn * DEPTH / 4 / threads;
  __shared__ __align__(16) float xs[2][DEPTH][bm + 4], ws[2][DEPTH][bn + 4];
  const int tid = threadIdx.x, tx = tid % columns, ty = tid / columns;
  const int first_row = blockIdx.y * bm, first_column = blockIdx.x * bn;
  const int begin = blockIdx.z * p.slice, end = min(begin + p.slice, p.k);
  float sum[8][8];
  float4 next_x[x_loads], next_w[w_loads];
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) sum[i][j] = 0;

  auto fetch = [&](int k) {
#pragma unroll
    for (int i = 0; i < x_loads; ++i) {
      const int at = tid + i * threads;
      next_x[i] = read_four(x, first_row + at / 4, p.m, k + at % 4 * 4, end, p.k);
    }
#pragma unroll
    for (int i = 0; i < w_loads; ++i) {
      const int at = tid + i * threads;
      next_w[i] = transposed ? read_four(w, first_column + at / 4, p.n, k + at % 4 * 4, end, p.k)
                             : read_four(w, k + at / (bn / 4), end, first_column + at % (bn / 4) * 4, p.n, p.n);
    }
  };
  auto put = [&](int turn) {
#pragma unroll
    for (int i = 0; i < x_loads; ++i) {
      const int at = tid + i * threads;
      put_across<bm + 4>(xs[turn], next_x[i], at / 4, at % 4 * 4);
    }
#pragma unroll
    for (int i = 0; i < w_loads; ++i) {
      const int at = tid + i * threads;
      if (transposed)
        put_across<bn + 4>(ws[turn], next_w[i], at / 4, at % 4 * 4);
      else
        *(float4 *)&ws[turn][at / (bn / 4)][at % (bn / 4) * 4] = next_w[i];
    }
  };

  fetch(begin);
  put(0);
  __syncthreads();
  for (int k = begin, turn = 0; k < end; k += DEPTH, turn ^= 1) {
    const bool more = k + DEPTH < end;
    if (more) fetch(k + DEPTH);
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
      float a[8], b[8];
      *(float4 *)a = *(const float4 *)&xs[turn][d][ty * 4];
      *(float4 *)(a + 4) = *(const float4 *)&xs[turn][d][bm / 2 + ty * 4];
      *(float4 *)b = *(const float4 *)&ws[turn][d][tx * 4];
      *(float4 *)(b + 4) = *(const float4 *)&ws[turn][d][bn / 2 + tx * 4];
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[i][j] = fmaf(a[i], b[j], sum[i][j]);
    }
    if (more) put(turn ^ 1);
    __syncthreads();
  }

  sums += (size_t)blockIdx.z * p.m * p.n;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int row = first_row + (i / 4) * (bm / 2) + ty * 4 + i % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int column = first_column + half * (bn / 2) + tx * 4;
      if (row < p.m && column < p.n)
        *(float4 *)(sums + (size_t)row * p.n + column) =
            make_float4(sum[i][half * 4], sum[i][half * 4 + 1], sum[i][half * 4 + 2], sum[i][half * 4 + 3]);
    }
  }
}

#define PRODUCT(bm, bn)                                                                                                \
  extern "C" __global__ void __launch_bounds__(bm *bn / 64) hn_product_##bm##_##bn(                                    \
      float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p) {                   \
    multiply<bm, bn, false>(sums, x, w, p);                                                                            \
  }                                                                                                                    \
  extern "C" __global__ void __launch_bounds__(bm *bn / 64) hn_product_##bm##_##bn##_t(                                \
      float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p) {                   \
    multiply<bm, bn, true>(sums, x, w, p);                                                                             \
  }
PRODUCT(64, 64)
PRODUCT(128, 64)
PRODUCT(128, 128)

__device__ float activated(int act, float alpha, float beta, float x) {
  switch (act) {
  case HN_CUDA_ACT_RELU: return x < 0 ? 0 : x;
  case HN_CUDA_ACT_GELU: return 0.5f * x * (1 + erff(x * 0.70710678118654752f));
  case HN_CUDA_ACT_SILU: return x / (1 + expf(-x));
  case HN_CUDA_ACT_TANH: return tanhf(x);
  case HN_CUDA_ACT_CLIP: return x < alpha ? alpha : x > beta ? beta : x;
  default: return x;
  }
}

/* Four outputs a thread: slices are added in their order. */
extern "C" __global__ void __launch_bounds__(256)
    hn_product_finish(float *y, const float *sums, const float *bias, const float *residual,
                      const __grid_constant__ hn_cuda_product_args p) {
  const unsigned at = (blockIdx.x * 256 + threadIdx.x) * 4, count = (unsigned)p.m * (unsigned)p.n;
  if (at >= count) return;
  float4 sum = *(const float4 *)(sums + at);
#pragma unroll 4
  for (int s = 1; s < p.slices; ++s) {
    const float4 more = *(const float4 *)(sums + (size_t)s * count + at);
    sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
  }
  if (bias) {
    const float4 more = *(const float4 *)(bias + at % (unsigned)p.n);
    sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
  }
  if (residual) {
    const float4 more = *(const float4 *)(residual + at);
    sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
  }
  *(float4 *)(y + at) = make_float4(activated(p.act, p.alpha, p.beta, sum.x), activated(p.act, p.alpha, p.beta, sum.y),
                                    activated(p.act, p.alpha, p.beta, sum.z), activated(p.act, p.alpha, p.beta, sum.w));
}
