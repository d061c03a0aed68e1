/* SPDX-License-Identifier: Apache-2.0 */
/* attention_half.cuh - softmax(q k^T * scale + mask) v for each head on tensor cores: f16 or bf16 with f32 scores and
 * sums, which never leave the multiprocessor (Milakov and Gimelshein, arXiv:1805.02867; Dao, arXiv:2307.08691).
 *
 * A block does `across * depth` tiles of 16 query rows; tiles of `keys` keys and values pass through shared memory, the
 * next one under way while this one is worked on. A warp has `depth` tiles of rows and keeps scores, probabilities and
 * outputs in registers: what a product leaves is what the next one reads. Where there are too few rows to fill the
 * card, `along` warps share the same rows: each takes its part of a tile's keys, and their sums meet at the end.
 * Exponents are of two; a row whose scores are all -infinity gives zeros. */
#include "kernels/cuda/half.cuh"
#include "kernels/cuda/args.h"

/* Heads of up to `width` columns, padded with zeros. Rows in shared memory begin 16 bytes further on in the banks. */
template <int width, int depth, int across, int along, int keys> struct attention_shape {
  static const int threads = across * along * 32, rows = across * depth * 16, own = keys / along;
  static const int pitch = width + 8, stage = 2 * keys * pitch + keys; /* halves: keys, values, and what is added */
  static const int steps = width / 16;
  static const bool holds_queries = depth * width <= 128; /* in registers */
};

/* `count` rows of `columns` halves to shared memory; zeros from `last` on and behind the columns. */
template <int width, int pitch, int count, int threads, typename T>
__device__ __forceinline__ void fetch_rows(T *to, const T *from, long long step, int columns, int first, int last) {
  const int eights = width / 8, together = threads / eights; /* rows */
  const int row = threadIdx.x / eights, column = threadIdx.x % eights * 8;
  const T *next = from + (first + row) * step + column;
  unsigned place = shared_at(to + row * pitch + column);
  int left = column < columns ? last - first - row : 0;
#pragma unroll
  for (int i = 0; i < (count + together - 1) / together; ++i) {
    if (count % together == 0 || row + i * together < count) copy_sixteen(place, left > 0 ? next : from, left > 0);
    next += together * step, place += together * pitch * (int)sizeof(T), left -= together;
  }
}

template <typename T, int width, int depth, int across, int along, int keys> struct attention_warp {
  typedef attention_shape<width, depth, across, along, keys> shape;
  static const int tiles = shape::own / 8; /* of eight keys */
  float top[depth][2], sum[depth][2], out[depth][width / 8][4];
  unsigned held[shape::holds_queries ? depth : 1][shape::steps][4];

  /* Where a lane's row of an operand's four 8 x 8 matrices begins: rows first, or columns first. */
  __device__ __forceinline__ static int rows_first(int lane) {
    return (lane % 8 + lane / 8 % 2 * 8) * shape::pitch + lane / 16 * 8;
  }
  __device__ __forceinline__ static int columns_first(int lane) {
    return (lane % 8 + lane / 16 * 8) * shape::pitch + lane / 8 % 2 * 8;
  }

  __device__ __forceinline__ void begin(const T *queries, int lane) {
#pragma unroll
    for (int d = 0; d < depth; ++d) {
#pragma unroll
      for (int half = 0; half < 2; ++half) top[d][half] = -__int_as_float(0x7f800000), sum[d][half] = 0;
#pragma unroll
      for (int c = 0; c < width / 8; ++c)
#pragma unroll
        for (int i = 0; i < 4; ++i) out[d][c][i] = 0;
      if (shape::holds_queries)
#pragma unroll
        for (int k = 0; k < shape::steps; ++k)
          load_four(held[d][k], shared_at(queries + d * 16 * shape::pitch + k * 16 + rows_first(lane)));
    }
  }

  __device__ __forceinline__ void scores(float (&score)[depth][tiles][4], const T *queries, const T *tile, int lane) {
#pragma unroll
    for (int d = 0; d < depth; ++d)
#pragma unroll
      for (int t = 0; t < tiles; ++t)
#pragma unroll
        for (int i = 0; i < 4; ++i) score[d][t][i] = 0;
#pragma unroll
    for (int k = 0; k < shape::steps; ++k) {
      unsigned asked[depth][4];
#pragma unroll
      for (int d = 0; d < depth; ++d)
        if (!shape::holds_queries)
          load_four(asked[d], shared_at(queries + d * 16 * shape::pitch + k * 16 + rows_first(lane)));
#pragma unroll
      for (int t = 0; t < tiles; t += 2) {
        unsigned key[4];
        load_four(key, shared_at(tile + t * 8 * shape::pitch + k * 16 + columns_first(lane)));
#pragma unroll
        for (int d = 0; d < depth; ++d) {
          const unsigned(&query)[4] = shape::holds_queries ? held[shape::holds_queries ? d : 0][k] : asked[d];
          multiply_add<T>(score[d][t], query, key[0], key[1]);
          multiply_add<T>(score[d][t + 1], query, key[2], key[3]);
        }
      }
    }
  }

  /* Adds the mask, which is divided by the scale that comes later. */
  __device__ __forceinline__ void add_mask(float (&score)[depth][tiles][4], const hn_cuda_attention &a, const T *mask,
                                           int first_key, int first_row, int kv_len, int lane) {
    const float inverse = 1 / a.scale;
#pragma unroll
    for (int d = 0; d < depth; ++d)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = min(first_row + d * 16 + lane / 4 + half * 8, a.q_len - 1);
        const T *from = mask + row * a.mask_row;
#pragma unroll
        for (int t = 0; t < tiles; ++t)
#pragma unroll
          for (int i = 0; i < 2; ++i)
            score[d][t][half * 2 + i] += wide(from[min(first_key + t * 8 + lane % 4 * 2 + i, kv_len - 1)]) * inverse;
      }
  }

  /* The same for all rows, from shared memory. */
  __device__ __forceinline__ void add_row(float (&score)[depth][tiles][4], float scale, const T *added, int lane) {
    const float inverse = 1 / scale;
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
      const float2 two = wide_two<T>(*(const unsigned *)(added + t * 8 + lane % 4 * 2));
#pragma unroll
      for (int d = 0; d < depth; ++d)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          score[d][t][half * 2] += two.x * inverse;
          score[d][t][half * 2 + 1] += two.y * inverse;
        }
    }
  }

  /* Closes the keys that a row does not see. */
  __device__ __forceinline__ void close(float (&score)[depth][tiles][4], bool is_causal, int first_key, int first_row,
                                        int kv_len, int lane) {
#pragma unroll
    for (int d = 0; d < depth; ++d)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first_row + d * 16 + lane / 4 + half * 8, first = first_key + lane % 4 * 2;
        const int open = (is_causal ? min(kv_len, row + 1) : kv_len) - first;
#pragma unroll
        for (int t = 0; t < tiles; ++t)
#pragma unroll
          for (int i = 0; i < 2; ++i)
            if (t * 8 + i >= open) score[d][t][half * 2 + i] = -__int_as_float(0x7f800000);
      }
  }

  /* Scores become probabilities; what was summed before fades. */
  __device__ __forceinline__ void soften(float (&score)[depth][tiles][4], float scale) {
    const float infinity = __int_as_float(0x7f800000);
#pragma unroll
    for (int d = 0; d < depth; ++d)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float highest = top[d][half];
#pragma unroll
        for (int t = 0; t < tiles; ++t)
          highest = fmaxf(highest, fmaxf(score[d][t][half * 2], score[d][t][half * 2 + 1]));
        highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 1));
        highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 2));
        const float shift = highest == -infinity ? 0 : highest * scale;
        const float fade = power_of_two(fmaf(top[d][half], scale, -shift));
        float here = 0;
#pragma unroll
        for (int t = 0; t < tiles; ++t)
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            float &s = score[d][t][half * 2 + i];
            s = power_of_two(fmaf(s, scale, -shift));
            here += s;
          }
        sum[d][half] = sum[d][half] * fade + here; /* of this lane's keys: lanes are joined at the end */
        top[d][half] = highest;
#pragma unroll
        for (int c = 0; c < width / 8; ++c) out[d][c][half * 2] *= fade, out[d][c][half * 2 + 1] *= fade;
      }
  }

  __device__ __forceinline__ void weigh(const float (&score)[depth][tiles][4], const T *tile, int lane) {
#pragma unroll
    for (int t = 0; t < tiles; t += 2) {
      unsigned chance[depth][4];
#pragma unroll
      for (int d = 0; d < depth; ++d)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          chance[d][i] = narrow_two<T>(score[d][t + i / 2][i % 2 * 2], score[d][t + i / 2][i % 2 * 2 + 1]);
#pragma unroll
      for (int c = 0; c < width / 8; c += 2) {
        unsigned value[4];
        load_four_across(value, shared_at(tile + t * 8 * shape::pitch + c * 8 + rows_first(lane)));
#pragma unroll
        for (int d = 0; d < depth; ++d) {
          multiply_add<T>(out[d][c], chance[d], value[0], value[1]);
          multiply_add<T>(out[d][c + 1], chance[d], value[2], value[3]);
        }
      }
    }
  }

  __device__ __forceinline__ void join_lanes() {
#pragma unroll
    for (int d = 0; d < depth; ++d)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        sum[d][half] += __shfl_xor_sync(0xffffffffu, sum[d][half], 1);
        sum[d][half] += __shfl_xor_sync(0xffffffffu, sum[d][half], 2);
      }
  }

  /* One tile of rows as halves to shared memory, divided by its sums, then to y, sixteen bytes a lane. */
  __device__ __forceinline__ void store(T *y, const hn_cuda_attention &a, T *room, int first_row, int lane) {
#pragma unroll
    for (int d = 0; d < depth; ++d) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float inverse = sum[d][half] > 0 ? 1 / sum[d][half] : sum[d][half] == 0 ? 0 : sum[d][half];
        T *to = room + (d * 16 + lane / 4 + half * 8) * shape::pitch + lane % 4 * 2;
#pragma unroll
        for (int c = 0; c < width / 8; ++c)
          *(unsigned *)(to + c * 8) = narrow_two<T>(out[d][c][half * 2] * inverse, out[d][c][half * 2 + 1] * inverse);
      }
    }
    __syncwarp();
    for (int at = lane; at < depth * 16 * (width / 8); at += 32) {
      const int row = at / (width / 8), column = at % (width / 8) * 8;
      if (first_row + row < a.q_len && column < a.v_size)
        *(uint4 *)(y + (first_row + row) * a.y_row + column) = *(const uint4 *)(room + row * shape::pitch + column);
    }
  }
};

/* The warps that shared rows bring their sums together: 16 * across rows of width + 4 floats each, beside them the
 * highest score and the sum of each row. */
template <typename T, int width, int across, int along, int keys>
__device__ __forceinline__ void join_warps(T *y, const hn_cuda_attention &a,
                                           const attention_warp<T, width, 1, across, along, keys> &w, float *room,
                                           int first_row, int tile, int part, float scale, int lane) {
  const int pitch = width + 4, rows = 16;
  float *tops = room, *sums = tops + across * along * rows, *outs = sums + across * along * rows;
  const int own = tile * along + part;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = lane / 4 + half * 8;
    if (lane % 4 == 0) tops[own * rows + row] = w.top[0][half], sums[own * rows + row] = w.sum[0][half];
#pragma unroll
    for (int c = 0; c < width / 8; ++c)
      *(float2 *)(outs + (own * rows + row) * pitch + c * 8 + lane % 4 * 2) =
          make_float2(w.out[0][c][half * 2], w.out[0][c][half * 2 + 1]);
  }
  __syncthreads();
  for (int at = part * 32 + lane; at < rows * (width / 8); at += along * 32) {
    const int row = at / (width / 8), column = at % (width / 8) * 8, first = tile * along * rows + row;
    float highest = tops[first], sum = 0, total[8] = {0};
#pragma unroll
    for (int p = 1; p < along; ++p) highest = fmaxf(highest, tops[first + p * rows]);
    if (highest == -__int_as_float(0x7f800000)) highest = 0;
#pragma unroll
    for (int p = 0; p < along; ++p) {
      const float share = power_of_two((tops[first + p * rows] - highest) * scale);
      const float *from = outs + (first + p * rows) * pitch + column;
      sum += sums[first + p * rows] * share;
#pragma unroll
      for (int i = 0; i < 8; ++i) total[i] += from[i] * share;
    }
    const float inverse = sum > 0 ? 1 / sum : sum == 0 ? 0 : sum;
#pragma unroll
    for (int i = 0; i < 8; ++i) total[i] *= inverse;
    if (first_row + row < a.q_len && column < a.v_size)
      *(uint4 *)(y + (first_row + row) * a.y_row + column) = narrow_eight<T>(total);
  }
}

template <typename T, int width, int depth, int across, int along, int keys>
__device__ __forceinline__ void attend(T *y, const T *q, const T *k, const T *v, const T *mask,
                                       const hn_cuda_attention &a) {
  typedef attention_shape<width, depth, across, along, keys> shape;
  extern __shared__ __align__(16) unsigned char room[];
  T *queries = (T *)room, *stages = queries + shape::rows * shape::pitch;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, tile = warp / along, part = warp % along;
  int block = blockIdx.x, head = blockIdx.y, batch = blockIdx.z;
  if (a.is_causal) { /* those that see most keys first, of all heads */
    const unsigned number = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned others = gridDim.y * gridDim.z, pair = number % others;
    block = (int)(gridDim.x - 1 - number / others), head = (int)(pair % gridDim.y), batch = (int)(pair / gridDim.y);
  }
  const int first_row = block * shape::rows, own_row = first_row + tile * depth * 16;
  q += batch * a.q_batch + head * a.q_head;
  k += batch * a.k_batch + head / a.group * a.k_head;
  v += batch * a.v_batch + head / a.group * a.v_head;
  y += batch * a.y_batch + head * a.y_head;
  if (mask) mask += batch * a.mask_batch + head * a.mask_head;
  const int kv_len = a.is_causal ? min(a.kv_len, min(first_row + shape::rows, a.q_len)) : a.kv_len;
  const float scale = a.scale * 1.4426950408889634f;
  auto fetch = [&](int number) {
    T *to = stages + number % 2 * shape::stage;
    fetch_rows<width, shape::pitch, keys, shape::threads>(to, k, a.k_row, a.size, number * keys, kv_len);
    fetch_rows<width, shape::pitch, keys, shape::threads>(to + keys * shape::pitch, v, a.v_row, a.v_size, number * keys,
                                                          kv_len);
    if (mask && a.vectors && threadIdx.x < keys / 8) {
      const int key = number * keys + threadIdx.x * 8;
      copy_sixteen(shared_at(to + 2 * keys * shape::pitch + threadIdx.x * 8), mask + (key < kv_len ? key : 0),
                   key < kv_len);
    }
    copy_commit();
  };

  attention_warp<T, width, depth, across, along, keys> w;
  let_next_begin(); /* at once: who comes next copies its weights meanwhile, and there is much shared memory left */
  wait_for_previous();
  fetch_rows<width, shape::pitch, shape::rows, shape::threads>(queries, q, a.q_row, a.size, first_row, a.q_len);
  fetch(0);
  T *asked = queries + tile * depth * 16 * shape::pitch;
  const int count = (kv_len + keys - 1) / keys;
  for (int number = 0; number < count; ++number) {
    float score[depth][shape::own / 8][4];
    copy_wait<0>();
    __syncthreads();
    if (number == 0) w.begin(asked, lane);
    if (number + 1 < count) fetch(number + 1);
    const T *stage = stages + number % 2 * shape::stage, *there = stage + part * shape::own * shape::pitch;
    const int first_key = number * keys + part * shape::own;
    if (first_key >= kv_len || (a.is_causal && first_key > own_row + depth * 16 - 1)) continue;
    w.scores(score, asked, there, lane);
    if (mask && a.vectors)
      w.add_row(score, a.scale, stage + 2 * keys * shape::pitch + part * shape::own, lane);
    else if (mask)
      w.add_mask(score, a, mask, first_key, own_row, kv_len, lane);
    if (first_key + shape::own > kv_len || (a.is_causal && first_key + shape::own - 1 > own_row))
      w.close(score, a.is_causal, first_key, own_row, kv_len, lane);
    w.soften(score, scale);
    w.weigh(score, there + keys * shape::pitch, lane);
  }
  w.join_lanes();
  if constexpr (along > 1) {
    __syncthreads(); /* the tiles are read: their room is free */
    join_warps<T, width, across, along, keys>(y, a, w, (float *)stages, own_row, tile, part, scale, lane);
  } else {
    __syncwarp();
    w.store(y, a, asked, own_row, lane);
  }
}
