/* SPDX-License-Identifier: Apache-2.0 */
/* tile.cuh - a tile of a matrix product in true f32, of which k may be a slice: for products of few rows, where whole
 * tiles over all of k would leave most multiprocessors idle; sums of slices are added later, always in the same order.
 *
 * A thread holds 8 x 8 sums as four squares of 4 x 4, so that a warp reads shared memory without conflicts; the next 16
 * columns of the left matrix and rows of the right one are on their way while these are worked on. */
#include "kernels/cuda/activate.cuh"
#include "kernels/cuda/dependent.cuh"

enum { DEPTH = 16 };

/* Numbers [at, at + 4) of a row, or zeros from `end` on. */
__device__ __forceinline__ float4 read_four(const float *row, int at, int end, bool vectors) {
  float4 v = make_float4(0, 0, 0, 0);
  if (at >= end) return v;
  if (vectors) return *(const float4 *)(row + at);
  v.x = row[at];
  if (at + 1 < end) v.y = row[at + 1];
  if (at + 2 < end) v.z = row[at + 2];
  if (at + 3 < end) v.w = row[at + 3];
  return v;
}

template <int width> __device__ __forceinline__ void put_across(float (*to)[width], const float4 &v, int row, int k) {
  to[k][row] = v.x;
  to[k + 1][row] = v.y;
  to[k + 2][row] = v.z;
  to[k + 3][row] = v.w;
}

/* sums[m, pitch]: the tile (blockIdx.y, blockIdx.x) over k of [begin, end). from.left(row, k): four along k;
 * right(column, k): of row k four columns. Both give zeros outside. A thread asks right for the same columns always. */
template <int bm, int bn, typename source>
__device__ __forceinline__ void multiply(float *sums, int m, int pitch, int begin, int end, const source &from) {
  const int threads = bm * bn / 64, columns = bn / 8;
  const int left_loads = bm * DEPTH / 4 / threads, right_loads = bn * DEPTH / 4 / threads;
  __shared__ __align__(16) float left[2][DEPTH][bm + 4], right[2][DEPTH][bn + 4];
  const int tid = threadIdx.x, tx = tid % columns, ty = tid / columns;
  const int first_row = blockIdx.y * bm, first_column = blockIdx.x * bn;
  float sum[8][8];
  float4 next_left[left_loads], next_right[right_loads];
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) sum[i][j] = 0;

  auto fetch = [&](int k) {
#pragma unroll
    for (int i = 0; i < left_loads; ++i) {
      const int at = tid + i * threads;
      next_left[i] = from.left(first_row + at / 4, k + at % 4 * 4, end);
    }
#pragma unroll
    for (int i = 0; i < right_loads; ++i) {
      const int at = tid + i * threads;
      next_right[i] = from.right(first_column + at % (bn / 4) * 4, k + at / (bn / 4), end);
    }
  };
  auto put = [&](int turn) {
#pragma unroll
    for (int i = 0; i < left_loads; ++i) {
      const int at = tid + i * threads;
      put_across<bm + 4>(left[turn], next_left[i], at / 4, at % 4 * 4);
    }
#pragma unroll
    for (int i = 0; i < right_loads; ++i) {
      const int at = tid + i * threads;
      *(float4 *)&right[turn][at / (bn / 4)][at % (bn / 4) * 4] = next_right[i];
    }
  };

  wait_for_previous();
  fetch(begin);
  put(0);
  __syncthreads();
  for (int k = begin, turn = 0; k < end; k += DEPTH, turn ^= 1) {
    const bool more = k + DEPTH < end;
    if (more) fetch(k + DEPTH);
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
      float a[8], b[8];
      *(float4 *)a = *(const float4 *)&left[turn][d][ty * 4];
      *(float4 *)(a + 4) = *(const float4 *)&left[turn][d][bm / 2 + ty * 4];
      *(float4 *)b = *(const float4 *)&right[turn][d][tx * 4];
      *(float4 *)(b + 4) = *(const float4 *)&right[turn][d][bn / 2 + tx * 4];
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[i][j] = fmaf(a[i], b[j], sum[i][j]);
    }
    if (more) put(turn ^ 1);
    __syncthreads();
  }
  let_next_begin();

#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int row = first_row + (i / 4) * (bm / 2) + ty * 4 + i % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int column = first_column + half * (bn / 2) + tx * 4;
      if (row < m && column < pitch)
        *(float4 *)(sums + (size_t)row * pitch + column) =
            make_float4(sum[i][half * 4], sum[i][half * 4 + 1], sum[i][half * 4 + 2], sum[i][half * 4 + 3]);
    }
  }
}
