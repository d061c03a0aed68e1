/* SPDX-License-Identifier: Apache-2.0 */
/* product.cu - y = act(x . w + bias + residual): k and n must be multiples of 4. */
#include "kernels/cuda/cluster.cuh"
#include "kernels/cuda/product/slices.cuh"
#include "kernels/cuda/product/staged.cuh"

/* sums[slice][m][n], which hn_product_finish adds. */
template <int bm, int bn, int groups, int stages, bool transposed>
__device__ __forceinline__ void product(float *sums, const float *x, const float *w, const hn_cuda_product_args &p) {
  extern __shared__ __align__(16) float memory[];
  staged_product<bm, bn, groups, stages, transposed> tile(x, w, p, memory, blockIdx.x, blockIdx.z);
  tile.multiply();
  tile.join_groups();
  sums += (size_t)blockIdx.z * p.m * p.n;
  tile.give([&](int row, int column, const float4 &four) {
    row += tile.first_row, column += tile.first_column;
    if (row < p.m && column < p.n) *(float4 *)(sums + (size_t)row * p.n + column) = four;
  });
}

extern "C" __global__ void __launch_bounds__(128 * 64 / 64)
    hn_product_128_64(float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p) {
  product<128, 64, 1, 4, false>(sums, x, w, p);
}
extern "C" __global__ void __launch_bounds__(128 * 64 / 64)
    hn_product_128_64_t(float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p) {
  product<128, 64, 1, 4, true>(sums, x, w, p);
}
extern "C" __global__ void __launch_bounds__(64 * 64 / 64)
    hn_product_64_64(float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p) {
  product<64, 64, 1, 4, false>(sums, x, w, p);
}
extern "C" __global__ void __launch_bounds__(64 * 64 / 64)
    hn_product_64_64_t(float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p) {
  product<64, 64, 1, 4, true>(sums, x, w, p);
}
extern "C" __global__ void __launch_bounds__(128 * 128 / 64)
    hn_product_128_128(float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p) {
  product<128, 128, 1, 3, false>(sums, x, w, p);
}
extern "C" __global__ void __launch_bounds__(128 * 128 / 64)
    hn_product_128_128_t(float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p) {
  product<128, 128, 1, 3, true>(sums, x, w, p);
}
extern "C" __global__ void __launch_bounds__(128 * 64 / 64 * 2)
    hn_product_128_64_2(float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p) {
  product<128, 64, 2, 3, false>(sums, x, w, p);
}
extern "C" __global__ void __launch_bounds__(128 * 64 / 64 * 2)
    hn_product_128_64_2_t(float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p) {
  product<128, 64, 2, 3, true>(sums, x, w, p);
}

/* What follows the sums of four outputs, from `at` on. */
__device__ __forceinline__ void finish_four(float *y, float4 sum, const float *bias, const float *residual, size_t at,
                                            int column, const hn_cuda_product_args &p) {
  if (bias) {
    const float4 more = *(const float4 *)(bias + column);
    sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
  }
  if (residual) {
    const float4 more = *(const float4 *)(residual + at);
    sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
  }
  *(float4 *)(y + at) = make_float4(activated(p.act, p.alpha, p.beta, sum.x), activated(p.act, p.alpha, p.beta, sum.y),
                                    activated(p.act, p.alpha, p.beta, sum.z), activated(p.act, p.alpha, p.beta, sum.w));
}

/* The slices of a tile are the blocks of a cluster: each pushes its sums of a row to the one that owns it (row number
 * modulo slices), which adds them in their order. Shared memory behind the stages: of each slice the rows that this
 * block owns. */
template <int bm, int bn, int groups, int stages, bool transposed>
__device__ __forceinline__ void clustered(float *y, const float *x, const float *w, const float *bias,
                                          const float *residual, const hn_cuda_product_args &p) {
  extern __shared__ __align__(16) float memory[];
  typedef staged_product<bm, bn, groups, stages, transposed> staged;
  const int slices = p.slices, number = blockIdx.x / slices, rank = blockIdx.x - number * slices;
  const int each = (bm + slices - 1) / slices;
  float *pushed = memory + groups * stages * staged::stage;
  const unsigned own = shared_at(pushed) + rank * each * bn * 4;
  staged tile(x, w, p, memory, number, rank);
  arrive_at_cluster();
  tile.multiply();
  tile.join_groups();
  await_cluster(); /* the others have begun: their memory is theirs */
  tile.give([&](int row, int column, const float4 &four) {
    const int place = row / slices;
    push(at_block(own + (place * bn + column) * 4, row - place * slices), four);
  });
  meet_cluster();
  for (int i = threadIdx.x; i < each * (bn / 4); i += staged::threads) {
    const int place = i / (bn / 4), column = i % (bn / 4) * 4, row = place * slices + rank;
    if (row >= bm || tile.first_row + row >= p.m || tile.first_column + column >= p.n) continue;
    const float4 sum = join_slices(pushed + place * bn + column, (size_t)each * bn, slices);
    finish_four(y, sum, bias, residual, (size_t)(tile.first_row + row) * p.n + tile.first_column + column,
                tile.first_column + column, p);
  }
}

extern "C" __global__ void __launch_bounds__(64 * 64 / 64 * 4)
    hn_product_cluster_64_64_4(float *y, const float *x, const float *w, const float *bias, const float *residual,
                               const __grid_constant__ hn_cuda_product_args p) {
  clustered<64, 64, 4, 3, false>(y, x, w, bias, residual, p);
}
extern "C" __global__ void __launch_bounds__(64 * 64 / 64 * 4)
    hn_product_cluster_64_64_4_t(float *y, const float *x, const float *w, const float *bias, const float *residual,
                                 const __grid_constant__ hn_cuda_product_args p) {
  clustered<64, 64, 4, 3, true>(y, x, w, bias, residual, p);
}
extern "C" __global__ void __launch_bounds__(64 * 96 / 64 * 4)
    hn_product_cluster_64_96_4(float *y, const float *x, const float *w, const float *bias, const float *residual,
                               const __grid_constant__ hn_cuda_product_args p) {
  clustered<64, 96, 4, 3, false>(y, x, w, bias, residual, p);
}
extern "C" __global__ void __launch_bounds__(64 * 96 / 64 * 4)
    hn_product_cluster_64_96_4_t(float *y, const float *x, const float *w, const float *bias, const float *residual,
                                 const __grid_constant__ hn_cuda_product_args p) {
  clustered<64, 96, 4, 3, true>(y, x, w, bias, residual, p);
}

/* Four outputs a thread. */
extern "C" __global__ void __launch_bounds__(256)
    hn_product_finish(float *y, const float *sums, const float *bias, const float *residual,
                      const __grid_constant__ hn_cuda_product_args p) {
  const unsigned at = (blockIdx.x * 256 + threadIdx.x) * 4, count = (unsigned)p.m * (unsigned)p.n;
  wait_for_previous();
  if (at >= count) return;
  const float4 sum = join_slices(sums + at, count, p.slices);
  let_next_begin();
  finish_four(y, sum, bias, residual, at, (int)(at % (unsigned)p.n), p);
}
