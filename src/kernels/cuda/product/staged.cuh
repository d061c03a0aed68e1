/* SPDX-License-Identifier: Apache-2.0 */
/* staged.cuh - a tile of a matrix product in true f32 over a slice of k, whose matrices come into shared memory by
 * asynchronous copies, several stages ahead: nothing passes through registers, and constant weights are on their way
 * before the kernel before has ended.
 *
 * A thread holds 8 x 8 sums as four squares of 4 x 4. The slice is shared by groups of threads, each with stages and
 * sums of its own, so that one block fills a multiprocessor with less to write; groups are added in their order. Four
 * numbers along k lie together in the left matrix, and in the right one when it is transposed; a row has a pad, so that
 * lanes read their rows without conflicts. Source: PTX ISA 9.0 (cp.async). */
#include "kernels/cuda/half.cuh"

template <int bm, int bn, int groups, int stages, bool transposed> struct staged_product {
  static constexpr int depth = HN_CUDA_STAGE_DEPTH, pitch = HN_CUDA_STAGE_PITCH, fours = depth / 4;
  static constexpr int team = bm * bn / 64, threads = team * groups, stage = (bm + bn) * pitch;
  static constexpr int columns = bn / 8, side = columns % 8 ? columns : 8; /* threads of a row; of them in a warp's */
  const float *x, *w;
  const hn_cuda_product_args &p;
  float *memory;
  int first_row, first_column, begin, tid, group, tx, ty;
  float sum[8][8];

  __device__ __forceinline__ staged_product(const float *x_, const float *w_, const hn_cuda_product_args &p_,
                                            float *memory_, int tile, int slice)
      : x(x_), w(w_), p(p_), memory(memory_), first_row(blockIdx.y * bm), first_column(tile * bn) {
    tid = threadIdx.x % team, group = threadIdx.x / team;
    begin = slice * p.slice + group * (p.slice / groups);
    const int lane = tid % 32, warp = tid / 32, beside = columns / side;
    tx = side == 8 ? warp % beside * 8 + lane % 8 : tid % columns;
    ty = side == 8 ? warp / beside * 4 + lane / 8 : tid / columns;
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < 8; ++j) sum[i][j] = 0;
  }
  __device__ __forceinline__ float *stage_of(int number) const {
    return memory + (group * stages + number % stages) * stage;
  }
  /* Sixteen bytes of a stage at a time: element (row, k) of rows that run along k. */
  template <int rows>
  __device__ __forceinline__ void copy_rows(float *to, const float *from, int first, int limit, int k) const {
    const unsigned at = shared_at(to);
    const int end = min(begin + p.slice / groups, p.k);
#pragma unroll
    for (int i = 0; i < (rows * fours + team - 1) / team; ++i) {
      const int number = tid + i * team, row = number / fours, column = number % fours * 4;
      if (rows * fours % team && number >= rows * fours) break;
      const bool inside = first + row < limit && k + column < end;
      copy_sixteen(at + (row * pitch + column) * 4, inside ? from + (size_t)(first + row) * p.k + k + column : from,
                   inside);
    }
  }
  __device__ __forceinline__ void copy_left(int number) const {
    copy_rows<bm>(stage_of(number), x, first_row, p.m, begin + number * depth);
  }
  __device__ __forceinline__ void copy_right(int number) const {
    float *to = stage_of(number) + bm * pitch;
    const int k = begin + number * depth, end = min(begin + p.slice / groups, p.k);
    if (transposed) return copy_rows<bn>(to, w, first_column, p.n, k);
    const unsigned at = shared_at(to);
#pragma unroll
    for (int i = 0; i < (bn * fours + team - 1) / team; ++i) {
      const int element = tid + i * team, row = element / (bn / 4), column = element % (bn / 4) * 4;
      if (bn * fours % team && element >= bn * fours) break;
      const bool inside = k + row < end && first_column + column < p.n;
      copy_sixteen(at + (row * bn + column) * 4, inside ? w + (size_t)(k + row) * p.n + first_column + column : w,
                   inside);
    }
  }
  /* Row or column i of this thread's eight. */
  template <int all> static __device__ __forceinline__ int place(int at, int i) {
    return i / 4 * (all / 2) + at * 4 + i % 4;
  }
  __device__ __forceinline__ void multiply_stage(const float *left) {
    const float *right = left + bm * pitch;
#pragma unroll
    for (int d = 0; d < depth; d += 4) {
      float a[8][4], across[8][4];
#pragma unroll
      for (int i = 0; i < 8; ++i) *(float4 *)a[i] = *(const float4 *)&left[place<bm>(ty, i) * pitch + d];
      if (transposed)
#pragma unroll
        for (int j = 0; j < 8; ++j) *(float4 *)across[j] = *(const float4 *)&right[place<bn>(tx, j) * pitch + d];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        float b[8];
        if (!transposed) {
          *(float4 *)b = *(const float4 *)&right[(d + e) * bn + tx * 4];
          *(float4 *)(b + 4) = *(const float4 *)&right[(d + e) * bn + bn / 2 + tx * 4];
        }
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
          for (int j = 0; j < 8; ++j) sum[i][j] = fmaf(a[i][e], transposed ? across[j][e] : b[j], sum[i][j]);
      }
    }
  }
  __device__ __forceinline__ void multiply() {
    const int count = p.slice / groups / depth;
    const int ahead = stages - 1;
    if (p.early)
      for (int i = 0; i < ahead; ++i)
        if (i < count) copy_right(i);
    wait_for_previous();
    for (int i = 0; i < ahead; ++i) {
      if (i < count && !p.early) copy_right(i);
      if (i < count) copy_left(i);
      copy_commit();
    }
    for (int i = 0; i < count; ++i) {
      copy_wait<stages - 2>();
      __syncthreads(); /* it is there for all, and all have read the one before */
      if (i + ahead < count) copy_left(i + ahead), copy_right(i + ahead);
      copy_commit();
      multiply_stage(stage_of(i));
    }
    let_next_begin();
  }
  __device__ __forceinline__ float4 four(int i, int half) const {
    return make_float4(sum[i][half * 4], sum[i][half * 4 + 1], sum[i][half * 4 + 2], sum[i][half * 4 + 3]);
  }
  /* The first group has the sums of all. */
  __device__ __forceinline__ void join_groups() {
    float4 *passed = (float4 *)memory; /* [16][team] */
#pragma unroll
    for (int giver = 1; giver < groups; ++giver) {
      __syncthreads();
      if (group == giver)
#pragma unroll
        for (int i = 0; i < 16; ++i) passed[i * team + tid] = four(i / 2, i % 2);
      __syncthreads();
      if (group == 0)
#pragma unroll
        for (int i = 0; i < 16; ++i) {
          const float4 more = passed[i * team + tid];
          float *to = sum[i / 2] + i % 2 * 4;
          to[0] += more.x, to[1] += more.y, to[2] += more.z, to[3] += more.w;
        }
    }
  }
  /* store(row of the tile, column of the tile, four sums). */
  template <typename F> __device__ __forceinline__ void give(F store) const {
    if (group) return;
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) store(place<bm>(ty, i), place<bn>(tx, half * 4), four(i, half));
  }
};
