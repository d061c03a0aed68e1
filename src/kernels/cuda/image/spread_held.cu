/* SPDX-License-Identifier: Apache-2.0 */
/* spread.cu - transposed convolutions whose windows neither overlap nor leave gaps: every pixel times the weights of
 * all taps, a product on tensor cores, of which each tap's columns go to a pixel of their own. Packed are the weights
 * as [tap x channel of y][depth], and behind them the bias in f32 for each column. */
#include "kernels/cuda/image/eight.cuh"

#define THREADS 128
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)

enum { TILE = 64, DEPTH = 32, STAGES = 3, STEP = DEPTH + 8, OUT_STEP = TILE + 8 };

/* 64 rows of 32 values; zeros beyond the last row and the last value. */
template <typename T>
__device__ __forceinline__ void load_tile(T *to, const T *from, int row, int rows, int at, int width, int pitch) {
#pragma unroll
  for (int i = 0; i < TILE * DEPTH / 8 / THREADS; ++i) {
    const int piece = (int)threadIdx.x + i * THREADS, r = piece / (DEPTH / 8), k = piece % (DEPTH / 8) * 8;
    const bool valid = row + r < rows && at + k < width;
    copy_sixteen(shared_at(to + r * STEP + k), valid ? from + (size_t)(row + r) * pitch + at + k : from, valid);
  }
}

/* sum of a warp's 32 x 32 part over 32 values of depth. */
template <typename T>
__device__ __forceinline__ void multiply(float (&sum)[2][4][4], const T *x, const T *w, int row, int column) {
  const int lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < DEPTH; k += 16) {
    unsigned a[2][4], b[2][4];
#pragma unroll
    for (int i = 0; i < 2; ++i) load_four(a[i], shared_at(x + (row + i * 16 + lane % 16) * STEP + k + lane / 16 * 8));
#pragma unroll
    for (int j = 0; j < 2; ++j)
      load_four(b[j], shared_at(w + (column + j * 16 + lane % 8 + lane / 16 * 8) * STEP + k + lane / 8 % 2 * 8));
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) multiply_add<T>(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
  }
}

/* Eight columns of a row: one tap, as channels come in eights. */
template <typename T>
__device__ __forceinline__ void store_eight(T *y, const float *sums, const float *bias, int row, int column,
                                            const hn_cuda_spread &a) {
  float v[8];
  const int tap = column / a.y_pitch, channel = column - tap * a.y_pitch;
  const int down = tap / a.kernel_w, line = row / a.in_w,
            x = (row - line * a.in_w) * a.kernel_w + tap - down * a.kernel_w;
#pragma unroll
  for (int k = 0; k < 8; ++k) v[k] = sums[k] + bias[column + k];
  activate_eight(v, a.act, a.alpha, a.beta);
  clear_tail(v, channel, a.c);
  /* lines of all images one after the other: line l of x is lines l * kernel_h ... of y */
  const size_t pixel = ((size_t)line * a.kernel_h + down) * ((size_t)a.in_w * a.kernel_w) + x;
  *(uint4 *)(y + pixel * a.y_pitch + channel) = narrow_eight<T>(v);
}

template <typename T>
__device__ __forceinline__ void spread(T *y, const T *x, const T *packed, const hn_cuda_spread &a) {
  __shared__ __align__(16) union {
    T tiles[STAGES][2][TILE * STEP];
    float out[TILE * OUT_STEP];
  } memory;
  const int row = (int)blockIdx.y * TILE, column = (int)blockIdx.x * TILE, steps = a.depth / DEPTH;
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  const int warp_row = warp / 2 * 32, warp_column = warp % 2 * 32;
  float sum[2][4][4] = {};
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s)
    if (s < steps) load_tile(memory.tiles[s][1], packed, column, a.columns, s * DEPTH, a.depth, a.depth);
  wait_for_previous();
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
    if (s < steps) load_tile(memory.tiles[s][0], x, row, a.rows, s * DEPTH, a.pitch, a.pitch);
    copy_commit(); /* the first one waits for the weights of all, too */
  }
  for (int s = 0; s < steps; ++s) {
    copy_wait<STAGES - 2>();
    __syncthreads();
    const int next = s + STAGES - 1;
    if (next < steps) {
      load_tile(memory.tiles[next % STAGES][0], x, row, a.rows, next * DEPTH, a.pitch, a.pitch);
      load_tile(memory.tiles[next % STAGES][1], packed, column, a.columns, next * DEPTH, a.depth, a.depth);
    }
    copy_commit();
    multiply(sum, memory.tiles[s % STAGES][0], memory.tiles[s % STAGES][1], warp_row, warp_column);
  }
  let_next_begin();
  copy_wait<0>();
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int k = 0; k < 4; ++k)
        memory.out[(warp_row + i * 16 + lane / 4 + k / 2 * 8) * OUT_STEP + warp_column + j * 8 + lane % 4 * 2 + k % 2] =
            sum[i][j][k];
  __syncthreads();
  const float *bias = (const float *)(packed + (size_t)a.columns * a.depth);
  for (int piece = (int)threadIdx.x; piece < TILE * TILE / 8; piece += THREADS) {
    const int r = piece / (TILE / 8), k = piece % (TILE / 8) * 8;
    if (row + r < a.rows && column + k < a.columns)
      store_eight(y, memory.out + r * OUT_STEP + k, bias, row + r, column + k, a);
  }
}

KERNEL hn_spread_f16(f16 *y, const f16 *x, const f16 *packed, const __grid_constant__ hn_cuda_spread a) {
  spread(y, x, packed, a);
}
KERNEL hn_spread_bf16(bf16 *y, const bf16 *x, const bf16 *packed, const __grid_constant__ hn_cuda_spread a) {
  spread(y, x, packed, a);
}
