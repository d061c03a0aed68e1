/* SPDX-License-Identifier: Apache-2.0 */
/* held: f16 bf16 */
/* spread_held.cu - transposed convolutions whose windows neither overlap nor leave gaps: every pixel times the weights
 * of all taps, a product on tensor cores, of which each tap's columns go to a pixel of their own. Packed are the
 * weights as [tap x channel of y][depth], and behind them the bias in f32 for each column. Tiles of 32, 64 or 128
 * pixels and 64 columns: what is short of blocks takes small ones. Weights, bias and places come before the wait. */
#include "kernels/cuda/image/eight.cuh"

enum { THREADS = 128, COLUMNS = 64, DEPTH = 64, STEP = DEPTH + 8, OUT_STEP = COLUMNS + 8, EIGHTS = COLUMNS / 8 };

template <int rows> struct spread_tile {
  static const int stages = rows == 128 ? 3 : 4;
  static const int across = 128 / rows;             /* warps side by side, of 32 rows each */
  static const int columns = COLUMNS / across;      /* of a warp */
  static const int stage = (rows + COLUMNS) * STEP; /* values */
};

/* `count` rows of DEPTH values; zeros beyond the last row and the last value. */
template <int count, typename T>
__device__ __forceinline__ void load_rows(T *to, const T *from, int row, int rows, int at, int width, int pitch) {
#pragma unroll
  for (int i = 0; i < count * (DEPTH / 8) / THREADS; ++i) {
    const int piece = (int)threadIdx.x + i * THREADS, r = piece / (DEPTH / 8), k = piece % (DEPTH / 8) * 8;
    const bool valid = row + r < rows && at + k < width;
    copy_sixteen(shared_at(to + r * STEP + k), valid ? from + (size_t)(row + r) * pitch + at + k : from, valid);
  }
}

/* sum of a warp's part over DEPTH values. */
template <int eights, typename T>
__device__ __forceinline__ void multiply(float (&sum)[2][eights][4], const T *x, const T *w, int row, int column) {
  const int lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < DEPTH; k += 16) {
    unsigned a[2][4], b[eights / 2][4];
#pragma unroll
    for (int i = 0; i < 2; ++i) load_four(a[i], shared_at(x + (row + i * 16 + lane % 16) * STEP + k + lane / 16 * 8));
#pragma unroll
    for (int j = 0; j < eights / 2; ++j)
      load_four(b[j], shared_at(w + (column + j * 16 + lane % 8 + lane / 16 * 8) * STEP + k + lane / 8 % 2 * 8));
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < eights; ++j) multiply_add<T>(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
  }
}

/* Biases and activations of a warp's part, into the buffer that whole pixels are stored from. */
template <int eights, typename T>
__device__ __forceinline__ void end_sums(T *out, float (&sum)[2][eights][4], const float2 (&bias)[eights], int row,
                                         int column, const hn_cuda_spread &a) {
  const int lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < eights; j += 2) {
      float v[8];
#pragma unroll
      for (int k = 0; k < 8; ++k) v[k] = sum[i][j + k / 4][k % 4] + (k % 2 ? bias[j + k / 4].y : bias[j + k / 4].x);
      activate_eight(v, a.act, a.alpha, a.beta);
#pragma unroll
      for (int k = 0; k < 8; k += 2)
        *(unsigned *)(out + (row + i * 16 + lane / 4 + k / 2 % 2 * 8) * OUT_STEP + column + (j + k / 4) * 8 +
                      lane % 4 * 2) = narrow_two<T>(v[k], v[k + 1]);
    }
}

/* Eight columns are of one tap, as channels come in eights; a thread's are the same in all its rows. */
template <int rows, typename T>
__device__ __forceinline__ void store_tile(T *y, T *out, int row, int column, const hn_cuda_spread &a) {
  const int first = (int)threadIdx.x / EIGHTS, at = column + (int)threadIdx.x % EIGHTS * 8;
  const int tap = at / a.y_pitch, channel = at - tap * a.y_pitch, down = tap / a.kernel_w,
            right = tap - down * a.kernel_w;
  int line = (row + first) / a.in_w, x = row + first - line * a.in_w;
  if (at >= a.columns) return;
#pragma unroll 4
  for (int r = first; r < rows && row + r < a.rows; r += THREADS / EIGHTS) {
    T *const from = out + r * OUT_STEP + (int)threadIdx.x % EIGHTS * 8;
    for (int k = a.c - channel > 0 ? a.c - channel : 0; k < 8; ++k) from[k] = narrow<T>(0.0f); /* the tail */
    /* lines of all images one after the other: line l of x is lines l * kernel_h ... of y */
    const size_t pixel = ((size_t)line * a.kernel_h + down) * ((size_t)a.in_w * a.kernel_w) + x * a.kernel_w + right;
    *(uint4 *)(y + pixel * a.y_pitch + channel) = *(const uint4 *)from;
    for (x += THREADS / EIGHTS; x >= a.in_w; x -= a.in_w) ++line;
  }
}

template <int rows, typename T>
__device__ __forceinline__ void spread(T *y, const T *x, const T *packed, const hn_cuda_spread &a) {
  typedef spread_tile<rows> tile;
  extern __shared__ __align__(16) unsigned char memory[];
  const int row = (int)blockIdx.y * rows, column = (int)blockIdx.x * COLUMNS, steps = a.depth / DEPTH;
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  const int warp_row = warp / tile::across * 32, warp_column = warp % tile::across * tile::columns;
  auto stage = [&](int s) { return (T *)memory + s % tile::stages * tile::stage; };
  float sum[2][tile::columns / 8][4] = {};
  float2 bias[tile::columns / 8];
#pragma unroll
  for (int s = 0; s < tile::stages - 1; ++s)
    if (s < steps) load_rows<COLUMNS>(stage(s) + rows * STEP, packed, column, a.columns, s * DEPTH, a.depth, a.depth);
#pragma unroll
  for (int j = 0; j < tile::columns / 8; ++j) {
    const int at = column + warp_column + j * 8 + lane % 4 * 2;
    bias[j] = at < a.columns ? ((const float2 *)(packed + (size_t)a.columns * a.depth))[at / 2] : make_float2(0, 0);
  }
  wait_for_previous();
#pragma unroll
  for (int s = 0; s < tile::stages - 1; ++s) {
    if (s < steps) load_rows<rows>(stage(s), x, row, a.rows, s * DEPTH, a.pitch, a.pitch);
    copy_commit(); /* the first one waits for the weights of all, too */
  }
  for (int s = 0; s < steps; ++s) {
    copy_wait<tile::stages - 2>();
    __syncthreads();
    const int next = s + tile::stages - 1;
    if (next < steps) {
      load_rows<rows>(stage(next), x, row, a.rows, next * DEPTH, a.pitch, a.pitch);
      load_rows<COLUMNS>(stage(next) + rows * STEP, packed, column, a.columns, next * DEPTH, a.depth, a.depth);
    }
    copy_commit();
    multiply(sum, stage(s), stage(s) + rows * STEP, warp_row, warp_column);
  }
  let_next_begin();
  copy_wait<0>();
  __syncthreads();
  end_sums((T *)memory, sum, bias, warp_row, warp_column, a);
  __syncthreads();
  store_tile<rows>(y, (T *)memory, row, column, a);
}

#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)

KERNEL HN_HELD_KERNEL(spread, 32)(held *y, const held *x, const held *packed,
                                  const __grid_constant__ hn_cuda_spread a) {
  spread<32>(y, x, packed, a);
}
KERNEL HN_HELD_KERNEL(spread, 64)(held *y, const held *x, const held *packed,
                                  const __grid_constant__ hn_cuda_spread a) {
  spread<64>(y, x, packed, a);
}
KERNEL HN_HELD_KERNEL(spread, 128)(held *y, const held *x, const held *packed,
                                   const __grid_constant__ hn_cuda_spread a) {
  spread<128>(y, x, packed, a);
}
