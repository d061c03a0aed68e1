/* SPDX-License-Identifier: Apache-2.0 */
/* attention.cu - softmax(q k^T * scale + mask) v for each head in true f32; scores never leave the multiprocessor.
 *
 * A block has four warps and does 4 * rows query rows of one head; tiles of keys and values pass through shared memory
 * with a running maximum and sum for each row (Milakov and Gimelshein, arXiv:1805.02867; Dao et al., arXiv:2205.14135).
 * In the products with the keys a lane owns keys, in those with the values columns, so that both read shared memory
 * without conflicts; between them the probabilities of a warp's rows lie in shared memory. The next tile is on its way
 * while this one is worked on. A row whose scores are all -infinity gives zeros. */
#include "kernels/cuda/args.h"
#include "kernels/cuda/dependent.cuh"

enum { WARPS = 4, THREADS = WARPS * 32 };

/* size and v_size up to 32 * parts. */
template <int parts, int rows, int tile> struct shape_of {
  static const int width = 32 * parts, pitch = width + 4; /* rows of keys begin in different banks */
  static const int own = tile / 32;                       /* keys of a lane */
  static const int loads = tile * width / 4 / THREADS;    /* float4 of a thread for a whole tile */
};

template <int width> __device__ float4 fetch(const float *from, int column, int columns, bool there, bool vectors) {
  float4 value = make_float4(0, 0, 0, 0);
  if (!there || column >= columns) return value;
  if (vectors) return *(const float4 *)(from + column);
  value.x = from[column];
  if (column + 1 < columns) value.y = from[column + 1];
  if (column + 2 < columns) value.z = from[column + 2];
  if (column + 3 < columns) value.w = from[column + 3];
  return value;
}

/* One thread's share of a tile, `first` its first key. */
template <int width, int loads>
__device__ void fetch_tile(float4 *to, const float *from, long long step, int columns, int first, int keys,
                           bool vectors) {
#pragma unroll
  for (int i = 0; i < loads; ++i) {
    const int at = (int)threadIdx.x + i * THREADS, key = first + at / (width / 4), column = at % (width / 4) * 4;
    to[i] = fetch<width>(from + key * step, column, columns, key < keys, vectors);
  }
}

template <int width, int pitch, int loads> __device__ void put_tile(float *to, const float4 *from) {
#pragma unroll
  for (int i = 0; i < loads; ++i) {
    const int at = (int)threadIdx.x + i * THREADS;
    *(float4 *)(to + at / (width / 4) * pitch + at % (width / 4) * 4) = from[i];
  }
}

template <int parts, int rows, int tile>
__device__ void attend(float *y, const float *q, const float *k, const float *v, const float *mask,
                       const hn_cuda_attention &a) {
  typedef shape_of<parts, rows, tile> shape;
  const int width = shape::width, pitch = shape::pitch, own = shape::own, loads = shape::loads;
  __shared__ __align__(16) float keys[tile * (32 * parts + 4)], values[tile * 32 * parts];
  __shared__ __align__(16) float queries[WARPS * rows * 32 * parts], chances[WARPS * tile * rows];
  const float infinity = __int_as_float(0x7f800000);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int head = blockIdx.y, batch = blockIdx.z, first_row = (blockIdx.x * WARPS + warp) * rows;
  const bool vectors = a.vectors != 0;
  wait_for_previous();
  q += batch * a.q_batch + head * a.q_head;
  k += batch * a.k_batch + head / a.group * a.k_head;
  v += batch * a.v_batch + head / a.group * a.v_head;
  y += batch * a.y_batch + head * a.y_head;
  if (mask) mask += batch * a.mask_batch + head * a.mask_head;
  const int last_row = min((int)(blockIdx.x + 1) * WARPS * rows, a.q_len) - 1;
  const int kv_len = a.is_causal ? min(a.kv_len, last_row + 1) : a.kv_len;

  for (int at = lane; at < rows * width / 4; at += 32) {
    const int row = first_row + at / (width / 4), column = at % (width / 4) * 4;
    *(float4 *)(queries + warp * rows * width + at * 4) =
        fetch<width>(q + row * a.q_row, column, a.size, row < a.q_len, vectors);
  }

  float sum[rows], top[rows], out[rows][parts];
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    sum[r] = 0;
    top[r] = -infinity;
#pragma unroll
    for (int c = 0; c < parts; ++c) out[r][c] = 0;
  }

  float4 next_keys[loads], next_values[loads];
  fetch_tile<width, loads>(next_keys, k, a.k_row, a.size, 0, kv_len, vectors);
  fetch_tile<width, loads>(next_values, v, a.v_row, a.v_size, 0, kv_len, vectors);
  for (int first = 0; first < kv_len; first += tile) {
    __syncthreads(); /* the tile before is still read */
    put_tile<width, pitch, loads>(keys, next_keys);
    put_tile<width, width, loads>(values, next_values);
    __syncthreads();
    if (first + tile < kv_len) {
      fetch_tile<width, loads>(next_keys, k, a.k_row, a.size, first + tile, kv_len, vectors);
      fetch_tile<width, loads>(next_values, v, a.v_row, a.v_size, first + tile, kv_len, vectors);
    }

    float score[rows][own];
#pragma unroll
    for (int r = 0; r < rows; ++r)
#pragma unroll
      for (int o = 0; o < own; ++o) score[r][o] = 0;
#pragma unroll 4
    for (int d = 0; d < width; d += 4) {
      float4 key[own];
#pragma unroll
      for (int o = 0; o < own; ++o) key[o] = *(const float4 *)(keys + (o * 32 + lane) * pitch + d);
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const float4 query = *(const float4 *)(queries + (warp * rows + r) * width + d);
#pragma unroll
        for (int o = 0; o < own; ++o) {
          score[r][o] = fmaf(query.x, key[o].x, score[r][o]);
          score[r][o] = fmaf(query.y, key[o].y, score[r][o]);
          score[r][o] = fmaf(query.z, key[o].z, score[r][o]);
          score[r][o] = fmaf(query.w, key[o].w, score[r][o]);
        }
      }
    }

#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const int row = first_row + r;
      float highest = top[r];
#pragma unroll
      for (int o = 0; o < own; ++o) {
        const int key = first + o * 32 + lane;
        const bool open = key < kv_len && row < a.q_len && (!a.is_causal || key <= row);
        score[r][o] = open ? score[r][o] * a.scale + (mask ? mask[row * a.mask_row + key] : 0) : -infinity;
        highest = fmaxf(highest, score[r][o]);
      }
      for (int step = 16; step > 0; step /= 2) highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, step));
      const float shift = highest == -infinity ? 0 : highest, fade = expf(top[r] - shift);
      float here = 0;
#pragma unroll
      for (int o = 0; o < own; ++o) {
        const float chance = expf(score[r][o] - shift);
        here += chance;
        chances[(warp * tile + o * 32 + lane) * rows + r] = chance;
      }
      for (int step = 16; step > 0; step /= 2) here += __shfl_xor_sync(0xffffffffu, here, step);
      sum[r] = sum[r] * fade + here;
      top[r] = highest;
#pragma unroll
      for (int c = 0; c < parts; ++c) out[r][c] *= fade;
    }
    __syncwarp();
    const int count = min(tile, kv_len - first);
#pragma unroll 4
    for (int key = 0; key < count; ++key) {
      float value[parts], chance[rows];
#pragma unroll
      for (int c = 0; c < parts; ++c) value[c] = values[key * width + c * 32 + lane];
#pragma unroll
      for (int r = 0; r < rows; ++r) chance[r] = chances[(warp * tile + key) * rows + r];
#pragma unroll
      for (int r = 0; r < rows; ++r)
#pragma unroll
        for (int c = 0; c < parts; ++c) out[r][c] = fmaf(chance[r], value[c], out[r][c]);
    }
    __syncwarp();
  }

  let_next_begin();
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    const int row = first_row + r;
    const float inverse = sum[r] > 0 ? 1 / sum[r] : sum[r] == sum[r] ? 0 : sum[r];
#pragma unroll
    for (int c = 0; c < parts; ++c) {
      const int column = c * 32 + lane;
      if (row < a.q_len && column < a.v_size) y[row * a.y_row + column] = out[r][c] * inverse;
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    hn_attention_1_2(float *y, const float *q, const float *k, const float *v, const float *mask,
                     const __grid_constant__ hn_cuda_attention a) {
  attend<1, 2, 64>(y, q, k, v, mask, a);
}
extern "C" __global__ void __launch_bounds__(THREADS)
    hn_attention_1_4(float *y, const float *q, const float *k, const float *v, const float *mask,
                     const __grid_constant__ hn_cuda_attention a) {
  attend<1, 4, 64>(y, q, k, v, mask, a);
}
extern "C" __global__ void __launch_bounds__(THREADS)
    hn_attention_1_8(float *y, const float *q, const float *k, const float *v, const float *mask,
                     const __grid_constant__ hn_cuda_attention a) {
  attend<1, 8, 64>(y, q, k, v, mask, a);
}
extern "C" __global__ void __launch_bounds__(THREADS)
    hn_attention_2_2(float *y, const float *q, const float *k, const float *v, const float *mask,
                     const __grid_constant__ hn_cuda_attention a) {
  attend<2, 2, 64>(y, q, k, v, mask, a);
}
extern "C" __global__ void __launch_bounds__(THREADS)
    hn_attention_2_4(float *y, const float *q, const float *k, const float *v, const float *mask,
                     const __grid_constant__ hn_cuda_attention a) {
  attend<2, 4, 64>(y, q, k, v, mask, a);
}
extern "C" __global__ void __launch_bounds__(THREADS)
    hn_attention_2_8(float *y, const float *q, const float *k, const float *v, const float *mask,
                     const __grid_constant__ hn_cuda_attention a) {
  attend<2, 8, 32>(y, q, k, v, mask, a);
}
extern "C" __global__ void __launch_bounds__(THREADS)
    hn_attention_4_2(float *y, const float *q, const float *k, const float *v, const float *mask,
                     const __grid_constant__ hn_cuda_attention a) {
  attend<4, 2, 32>(y, q, k, v, mask, a);
}
extern "C" __global__ void __launch_bounds__(THREADS)
    hn_attention_4_4(float *y, const float *q, const float *k, const float *v, const float *mask,
                     const __grid_constant__ hn_cuda_attention a) {
  attend<4, 4, 32>(y, q, k, v, mask, a);
}
