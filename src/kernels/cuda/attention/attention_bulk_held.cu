/* SPDX-License-Identifier: Apache-2.0 */
/* sm: 90a */
/* held: f16 bf16 */
/* attention_bulk_held.cu - attention_half.cuh by warpgroups, whose heads have up to 64 columns: a block has 128 query
 * rows, 64 a warpgroup, so that short sequences read keys and values once or twice. Bulk copies fill two stages of
 * `keys` keys and values; scores become probabilities in registers, where the second product reads them. The next
 * stage but one is asked for when both warpgroups have read this one. Elsewhere they are empty, and no row asks for
 * them. Source: PTX ISA 9.0 (wgmma, matrices across); arXiv:2307.08691. */
#include "kernels/cuda/tensor/maps.h"
#include "kernels/cuda/tensor/wgmma.cuh"
#include "kernels/cuda/args.h"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
enum { GROUP_ROWS = 64, ROWS = 128, ROW_BYTES = 128, FRONT = 1024, STAGES = 2, COLUMNS = 64, PARTS = 4 };
#define INFINITE __int_as_float(0x7f800000)

template <typename T, int keys> struct bulk_attention {
  static constexpr int part = keys * ROW_BYTES, stage = 2 * part;
  float score[keys / 2], out[COLUMNS / 2], top[2], sum[2];

  template <int count> static __device__ __forceinline__ void pin(float (&v)[count]) {
#pragma unroll
    for (int i = 0; i < count; ++i) pin_sum(v[i]);
  }
  __device__ __forceinline__ void begin() {
#pragma unroll
    for (int i = 0; i < COLUMNS / 2; ++i) out[i] = 0;
    top[0] = top[1] = -INFINITE, sum[0] = sum[1] = 0;
  }
  __device__ __forceinline__ void ask(unsigned queries, unsigned at) {
#pragma unroll
    for (int i = 0; i < keys / 2; ++i) score[i] = 0;
    const unsigned long long q = matrix_at(queries), k = matrix_at(at);
    pin(score);
    group_begin();
#pragma unroll
    for (int i = 0; i < COLUMNS / 16; ++i) multiply_group<T, keys>(score, q + i * 2, k + i * 2);
    group_commit();
    group_wait<0>();
    pin(score);
  }
  /* The mask, divided by the scale that comes later. */
  __device__ __forceinline__ void add(const unsigned (&more)[keys / 8], float inverse) {
#pragma unroll
    for (int j = 0; j < keys / 8; ++j) {
      const float2 two = wide_two<T>(more[j]);
      score[j * 4] = fmaf(two.x, inverse, score[j * 4]), score[j * 4 + 1] = fmaf(two.y, inverse, score[j * 4 + 1]);
      score[j * 4 + 2] = fmaf(two.x, inverse, score[j * 4 + 2]);
      score[j * 4 + 3] = fmaf(two.y, inverse, score[j * 4 + 3]);
    }
  }
  /* Closes the keys that a row does not see; open: those that it sees, from this lane's first on. */
  __device__ __forceinline__ void close(int half, int open) {
#pragma unroll
    for (int j = 0; j < keys / 8; ++j)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        if (j * 8 + i >= open) score[j * 4 + half * 2 + i] = -INFINITE;
  }
  /* Scores become probabilities; what was summed before fades. */
  __device__ __forceinline__ void soften(float scale) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float most[PARTS], here[PARTS] = {}; /* chains of their own */
#pragma unroll
      for (int i = 0; i < PARTS; ++i) most[i] = top[half];
#pragma unroll
      for (int j = 0; j < keys / 8; ++j)
        most[j % PARTS] = fmaxf(most[j % PARTS], fmaxf(score[j * 4 + half * 2], score[j * 4 + half * 2 + 1]));
      float highest = fmaxf(fmaxf(most[0], most[1]), fmaxf(most[2], most[3]));
      highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 1));
      highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 2));
      const float shift = highest == -INFINITE ? 0 : highest * scale;
      const float fade = power_of_two(fmaf(top[half], scale, -shift));
#pragma unroll
      for (int j = 0; j < keys / 8; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float &s = score[j * 4 + half * 2 + i];
          s = power_of_two(fmaf(s, scale, -shift));
          here[j % PARTS] += s;
        }
      /* Of this lane's keys: lanes are joined at the end. */
      sum[half] = sum[half] * fade + (here[0] + here[1] + (here[2] + here[3]));
      top[half] = highest;
#pragma unroll
      for (int c = 0; c < COLUMNS / 8; ++c) out[c * 4 + half * 2] *= fade, out[c * 4 + half * 2 + 1] *= fade;
    }
  }
  __device__ __forceinline__ void weigh(unsigned at) {
    unsigned chance[keys / 16][4];
#pragma unroll
    for (int k = 0; k < keys / 16; ++k)
#pragma unroll
      for (int i = 0; i < 4; ++i) chance[k][i] = narrow_two<T>(score[k * 8 + i * 2], score[k * 8 + i * 2 + 1]);
    const unsigned long long v = matrix_at(at);
    pin(out);
    group_begin();
#pragma unroll
    for (int k = 0; k < keys / 16; ++k) multiply_held<T>(out, chance[k], v + k * (16 * ROW_BYTES / 16));
    group_commit();
    group_wait<0>();
    pin(out);
  }
  __device__ __forceinline__ void store(T *y, const hn_cuda_attention &a, int row) {
    const int q = threadIdx.x & 3;
    float inverse[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      sum[half] += __shfl_xor_sync(0xffffffffu, sum[half], 1);
      sum[half] += __shfl_xor_sync(0xffffffffu, sum[half], 2);
      inverse[half] = sum[half] > 0 ? 1 / sum[half] : sum[half] == 0 ? 0 : sum[half];
    }
#pragma unroll
    for (int g = 0; g < COLUMNS / 32; ++g)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        unsigned two[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const float *from = out + (g * 4 + j) * 4 + half * 2;
          two[j] = narrow_two<T>(from[0] * inverse[half], from[1] * inverse[half]);
        }
        change_words(two, q);
        const int column = g * 32 + q * 8;
        if (row + half * 8 < a.q_len && column < a.v_size)
          *(uint4 *)(y + (row + half * 8) * a.y_row + column) = make_uint4(two[0], two[1], two[2], two[3]);
      }
  }
};

template <typename T, int keys>
__device__ __forceinline__ void attend_by_groups(const hn_cuda_attention_maps &maps, T *y, const T *mask,
                                                 const hn_cuda_attention &a) {
  typedef bulk_attention<T, keys> attention;
  extern __shared__ __align__(1024) unsigned char memory[];
  const unsigned full = shared_at(memory), queries = full + FRONT, stages = queries + ROWS * ROW_BYTES;
  int block = blockIdx.x, head = blockIdx.y, batch = blockIdx.z;
  if (a.is_causal) { /* those that see most keys first, of all heads */
    const unsigned number = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned others = gridDim.y * gridDim.z, pair = number % others;
    block = (int)(gridDim.x - 1 - number / others), head = (int)(pair % gridDim.y), batch = (int)(pair / gridDim.y);
  }
  const int first_row = block * ROWS, own = threadIdx.x / 128 * GROUP_ROWS, first_column = threadIdx.x % 4 * 2;
  const int row = first_row + own + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
  const int kv_len = a.is_causal ? min(a.kv_len, min(first_row + ROWS, a.q_len)) : a.kv_len;
  const int count = (kv_len + keys - 1) / keys;
  auto fetch = [&](int number) {
    const unsigned barrier = full + number % STAGES * 8, to = stages + number % STAGES * attention::stage;
    barrier_expect(barrier, attention::stage + (number == 0 ? ROWS * ROW_BYTES : 0));
    if (number == 0) copy_head(queries, &maps.q, barrier, first_row, head, batch);
    copy_head(to, &maps.k, barrier, number * keys, head / a.group, batch);
    copy_head(to + attention::part, &maps.v, barrier, number * keys, head / a.group, batch);
  };
  let_next_begin(); /* at once: who comes next copies its weights meanwhile */
  if (threadIdx.x == 0) {
    fetch_map(&maps.q), fetch_map(&maps.k), fetch_map(&maps.v);
    for (int i = 0; i < STAGES; ++i) barrier_make(full + i * 8, 1);
    barriers_made();
  }
  wait_for_previous();
  if (threadIdx.x == 0)
    for (int i = 0; i < STAGES && i < count; ++i) fetch(i);
  __syncthreads(); /* barriers are made */
  if (mask) mask += batch * a.mask_batch + head * a.mask_head + first_column;
  attention w;
  w.begin();
  for (int number = 0; number < count; ++number) {
    const unsigned at = stages + number % STAGES * attention::stage;
    const int first_key = number * keys;
    unsigned more[keys / 8];
    if (mask)
#pragma unroll
      for (int j = 0; j < keys / 8; ++j) more[j] = *(const unsigned *)(mask + min(first_key + j * 8, a.kv_len - 8));
    barrier_wait(full + number % STAGES * 8, number / STAGES & 1);
    w.ask(queries + own * ROW_BYTES, at);
    if (mask) w.add(more, 1 / a.scale);
    if (first_key + keys > kv_len || (a.is_causal && first_key + keys - 1 > first_row + own))
#pragma unroll
      for (int half = 0; half < 2; ++half)
        w.close(half, (a.is_causal ? min(kv_len, row + half * 8 + 1) : kv_len) - first_key - first_column);
    w.soften(a.scale * 1.4426950408889634f);
    w.weigh(at + attention::part);
    if (number + STAGES < count) {
      __syncthreads(); /* both have read it */
      if (threadIdx.x == 0) fetch(number + STAGES);
    }
  }
  w.store(y + batch * a.y_batch + head * a.y_head, a, row);
}
#define ATTEND(keys) attend_by_groups<held, keys>(maps, y, mask, a)
#else
#define ATTEND(keys)
#endif

extern "C" __global__ void __launch_bounds__(256, 2)
    HN_HELD_KERNEL(attention_bulk, 128)(const __grid_constant__ hn_cuda_attention_maps maps, held *y, const held *mask,
                                        const __grid_constant__ hn_cuda_attention a) {
  ATTEND(128);
}

extern "C" __global__ void __launch_bounds__(256, 2)
    HN_HELD_KERNEL(attention_bulk, 112)(const __grid_constant__ hn_cuda_attention_maps maps, held *y, const held *mask,
                                        const __grid_constant__ hn_cuda_attention a) {
  ATTEND(112);
}
