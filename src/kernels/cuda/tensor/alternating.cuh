/* SPDX-License-Identifier: Apache-2.0 */
/* alternating.cuh - tiles of lasting.cuh by two teams of warpgroups that take turns: while one stores its tile, the
 * other multiplies the next one, so that tensor cores wait neither for gelu nor for stores. A residual comes through
 * the stages, behind the blocks of k. What is stored comes from registers. Values of two bytes alone. The scheme is
 * known as ping-pong (CUTLASS). */
#ifndef HN_KERNELS_CUDA_ALTERNATING_CUH
#define HN_KERNELS_CUDA_ALTERNATING_CUH

#include "kernels/cuda/tensor/lasting.cuh"

/* groups: warpgroups of a team; each multiplies `parts` of 64 rows. One warpgroup more copies: what registers it
 * leaves, who multiplies takes. */
template <typename T, int bn, int stages, int groups, int parts> struct alternating_tile {
  static constexpr int G = groups, R = parts, BM = 64 * groups * parts, BN = bn, ST = stages, deep = 128;
  static constexpr int row = deep / (int)sizeof(T), teams = 2;
  static constexpr int multipliers = teams * groups; /* warpgroups */
  static constexpr int threads = (multipliers + 1) * 128, stage = (BM + BN) * deep, front = 1024;
  static constexpr int bytes = front + ST * stage;
  /* Boxes of a residual have 64 columns; a stage holds a few of them. */
  static constexpr int box = 64, box_bytes = BM * deep, boxes = BN / box, each = stage / box_bytes;
  static constexpr int boxes_stages = (boxes + each - 1) / each;
  static constexpr int registers = registers_of(threads, multipliers);
  static_assert(registers <= 240, "a warpgroup cannot take more");
};

/* The four warps of one. */
__device__ __forceinline__ void warpgroup_meets(int number) {
  asm volatile("bar.sync %0, 128;" ::"r"(number + 1) : "memory");
}

/* Behind the blocks of k of a tile, whose stage is `s`. */
template <typename C>
__device__ __forceinline__ void copy_residual_boxes(const hn_cuda_lasting_maps &maps, unsigned shared, ring<C::ST> &s,
                                                    int &filled, int m0, int n0) {
  const unsigned full = shared, empty = full + C::ST * 8;
#pragma unroll
  for (int i = 0; i < C::boxes_stages; ++i) {
    const int count = C::boxes - i * C::each < C::each ? C::boxes - i * C::each : C::each;
    if (filled < C::ST)
      ++filled;
    else
      barrier_wait(empty + s.at * 8, s.parity ^ 1);
    barrier_expect(full + s.at * 8, count * C::box_bytes);
#pragma unroll
    for (int j = 0; j < count; ++j)
      copy_rows(shared + C::front + s.at * C::stage + j * C::box_bytes, &maps.residual, full + s.at * 8,
                n0 + (i * C::each + j) * C::box, m0);
    s.next();
  }
}

template <typename T, typename C> struct alternating_sums {
  float v[C::R][C::BN / 2];

  __device__ __forceinline__ void pin() {
#pragma unroll
    for (int r = 0; r < C::R; ++r)
#pragma unroll
      for (int i = 0; i < C::BN / 2; ++i) pin_sum(v[r][i]);
  }
  /* Of a tile: a warpgroup's parts lie one below the other. */
  static __device__ __forceinline__ int first_row() {
    return threadIdx.x / 128 % C::G * (C::R * 64) + threadIdx.x / 32 % 4 * 16 + (threadIdx.x % 32 >> 2);
  }
  __device__ __forceinline__ void begin(const float *bias, const hn_cuda_tensor &a, int n0) {
#pragma unroll
    for (int j = 0; j < C::BN / 8; ++j) {
      const float2 more = bias_at(bias, a, n0 + j * 8);
#pragma unroll
      for (int r = 0; r < C::R; ++r) v[r][j * 4] = v[r][j * 4 + 2] = more.x, v[r][j * 4 + 1] = v[r][j * 4 + 3] = more.y;
    }
  }
  /* then: the other team's turn, which begins when this one has seen its last stage filled, of a residual, too. */
  __device__ __forceinline__ void multiply(unsigned shared, int count, bool adds, ring<C::ST> &s, unsigned then) {
    const unsigned full = shared, own = shared + C::front + threadIdx.x / 128 % C::G * (C::R * 64 * C::deep);
    const unsigned last = multiply_stages<C>(shared, own, count, s, [&](unsigned long long a, unsigned long long b) {
      pin();
      group_begin();
#pragma unroll
      for (int k = 0; k < C::deep / 32; ++k)
#pragma unroll
        for (int r = 0; r < C::R; ++r) multiply_group<T, C::BN>(v[r], a + r * (64 * C::deep / 16) + k * 2, b + k * 2);
      group_commit();
    });
    if (adds) {
      ring<C::ST> added = s;
#pragma unroll
      for (int i = 0; i < C::boxes_stages; ++i, added.next()) barrier_wait(full + added.at * 8, added.parity);
    }
    if (threadIdx.x % 128 == 0) barrier_arrive(then);
    group_wait<0>();
    leave_stage(last);
    pin();
  }
  __device__ __forceinline__ void add_boxes(unsigned shared, ring<C::ST> &s) {
    const unsigned full = shared, empty = full + C::ST * 8;
    const int row = first_row();
    const unsigned own = shared + C::front + row * C::deep + ((row & 7) << 4) + (threadIdx.x & 3) * 4;
#pragma unroll
    for (int i = 0; i < C::boxes_stages; ++i) {
#pragma unroll
      for (int j = i * C::each * 8; j < (i + 1) * C::each * 8 && j < C::BN / 8; ++j)
#pragma unroll
        for (int r = 0; r < C::R; ++r)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const unsigned from = ((own + s.at * C::stage) ^ (j % 8 << 4)) + (j / 8 - i * C::each) * C::box_bytes;
            unsigned two;
            asm volatile("ld.shared.b32 %0, [%1];" : "=r"(two) : "r"(from + (r * 64 + half * 8) * C::deep) : "memory");
            const float2 wide = wide_two<T>(two);
            v[r][j * 4 + half * 2] += wide.x, v[r][j * 4 + half * 2 + 1] += wide.y;
          }
      warpgroup_meets(threadIdx.x / 128);
      leave_stage(empty + s.at * 8);
      s.next();
    }
  }
  /* Four lanes of a row change words until each has sixteen bytes side by side. */
  template <bool gelu, bool bounds, bool is_whole>
  __device__ __forceinline__ void store(T *y, const hn_cuda_tensor &a, int m0, int n0) {
    const int q = threadIdx.x & 3;
    const unsigned low = narrow_two<T>(a.alpha, a.alpha), high = narrow_two<T>(a.beta, a.beta);
#pragma unroll
    for (int r = 0; r < C::R; ++r) {
      const int row = m0 + first_row() + r * 64;
      T *to = y + (size_t)row * a.out_pitch + n0 + q * 8, *below = to + (size_t)8 * a.out_pitch;
#pragma unroll
      for (int g = 0; g < C::BN / 32; ++g) {
        unsigned two[2][4];
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const float *sum = v[r] + (g * 4 + j) * 4 + half * 2;
            const int left = a.n - (n0 + g * 32 + j * 8 + q * 2);
            two[half][j] = end_two<T, gelu, bounds, is_whole>(sum[0], sum[1], low, high, left);
          }
        change_words(two[0], q);
        change_words(two[1], q);
        const bool there = is_whole || n0 + g * 32 + q * 8 < a.out_pitch;
        if (there && row < a.m) *(uint4 *)(to + g * 32) = make_uint4(two[0][0], two[0][1], two[0][2], two[0][3]);
        if (there && row + 8 < a.m) *(uint4 *)(below + g * 32) = make_uint4(two[1][0], two[1][1], two[1][2], two[1][3]);
      }
    }
  }
  template <bool is_whole> __device__ __forceinline__ void end(T *y, const hn_cuda_tensor &a, int m0, int n0) {
    if (a.act == HN_ACTIVATION_GELU)
      store<true, false, is_whole>(y, a, m0, n0);
    else if (a.act != HN_ACTIVATION_NONE)
      store<false, true, is_whole>(y, a, m0, n0);
    else
      store<false, false, is_whole>(y, a, m0, n0);
  }
};

/* As multiply_by_turns, which says why turns wait. */
template <typename T, typename C>
__device__ __forceinline__ void multiply_halves_by_turns(T *y, const float *bias, bool adds, const hn_cuda_tensor &a,
                                                         unsigned shared, int tiles) {
  alternating_sums<T, C> sums;
  ring<C::ST> s;
  const int team = threadIdx.x / (C::G * 128), places = a.blocks + (adds ? C::boxes_stages : 0);
  const unsigned turns = shared + C::ST * 16;
  int parity = team ^ 1; /* the first team's first turn has come */
  if (team > 0) s.skip(places);
  for (int tile = blockIdx.x + team * gridDim.x; tile < tiles; tile += C::teams * gridDim.x) {
    const lasting_place<C> p(a, tile);
    sums.begin(bias, a, p.n0);
    barrier_wait(turns + team * 8, parity);
    parity ^= 1;
    sums.multiply(shared, a.blocks, adds, s, turns + (team ^ 1) * 8);
    if (adds) sums.add_boxes(shared, s);
    s.skip(places);
    if (p.n0 + C::BN <= a.n)
      sums.template end<true>(y, a, p.m0, p.n0);
    else
      sums.template end<false>(y, a, p.m0, p.n0);
  }
}

template <typename T, typename C>
__device__ __forceinline__ void alternating_product(const hn_cuda_lasting_maps &maps, const float *bias, bool adds,
                                                    const hn_cuda_tensor &a) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const unsigned shared = shared_at(memory);
  const int tiles = lasting_tiles<C>(a), copier = threadIdx.x - C::teams * C::G * 128;
  if (threadIdx.x == 0) {
    for (int i = 0; i < C::ST; ++i) {
      barrier_make(shared + i * 8, 1);
      barrier_make(shared + C::ST * 8 + i * 8, C::G);
    }
    for (int i = 0; i < C::teams; ++i) barrier_make(shared + C::ST * 16 + i * 8, C::G);
    barriers_made();
  }
  __syncthreads();
  wait_for_previous();
  if (copier < 0) {
    take_registers<C::registers>();
    multiply_halves_by_turns<T, C>((T *)maps.to, bias, adds, a, shared, tiles);
  } else {
    leave_registers();
    if (copier == 0) {
      copy_stages<C>(maps, a, shared, tiles, [&](ring<C::ST> &s, int &filled, int m0, int n0) {
        if (adds) copy_residual_boxes<C>(maps, shared, s, filled, m0, n0);
      });
      let_next_begin();
    }
  }
}

#endif
