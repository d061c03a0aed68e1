/* SPDX-License-Identifier: Apache-2.0 */
/* lasting.cuh - the tiles of bulk.cuh by blocks that last: each takes one tile after the other, so that the next tiles'
 * boxes are copied while a tile is stored. Rows are stored as boxes, too, by a thread of its own, out of buffers into
 * which it copied residuals before. For many tiles; what follows the sums, which begin with biases, is a bound, or
 * gelu. */
#include "kernels/cuda/tensor/maps.h"
#include "kernels/cuda/tensor/tensor.cuh"
#include "kernels/cuda/tensor/wgmma.cuh"

/* Registers of a thread that multiplies, where one warpgroup more copies and leaves it most of its own. */
enum { COPIER_REGISTERS = 40 };
constexpr int registers_of(int threads, int groups) {
  return (65536 / threads / 8 * 8 * (groups + 1) - COPIER_REGISTERS) / groups / 8 * 8;
}
template <int registers> __device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}
__device__ __forceinline__ void leave_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"((int)COPIER_REGISTERS));
}

/* deep: bytes of a row of a stage. groups: warpgroups of a team, each multiplies 64 rows; teams: two take turns
 * (alternating.cuh); direct: these store from registers, else from buffers. box: columns of the boxes that are stored
 * or come, of 64 rows each. */
template <typename T, int bn, int stages, int buffers, int depth = 128, int groups = 2, int team_count = 1,
          bool is_direct = false>
struct lasting_tile {
  static constexpr int G = groups, BM = 64 * groups, BN = bn, ST = stages, NB = buffers, deep = depth;
  static constexpr int teams = team_count, multipliers = team_count * groups; /* warpgroups */
  static constexpr bool direct = is_direct;
  static constexpr int row = deep / (int)sizeof(T);
  static constexpr int box = sizeof(T) == 4 ? 32 : sizeof(T) == 1 && BN % 128 == 0 ? 128 : 64;
  static constexpr int boxes = BN / box, box_bytes = 64 * box * (int)sizeof(T);
  static constexpr int threads = teams > 1 ? (multipliers + 1) * 128 : G * 128 + 64;
  static constexpr int stage = (BM + BN) * deep, buffer = BM * BN * (int)sizeof(T);
  static constexpr int front = 1024; /* barriers: of stages, then of buffers, then of turns */
  /* Of bytes a buffer's channels have what sums begin with, and scales, in shared memory: read from where they were
   * packed, each of them would be waited for at a tile's end. */
  static constexpr int vectors = sizeof(T) == 1 ? BN * 8 : 0;
  static constexpr int bytes = front + ST * stage + NB * (buffer + vectors);
  static constexpr int registers = registers_of(threads, multipliers);
};

/* Goes round `n` places; the parity changes with each turn. */
template <int n> struct ring {
  int at = 0, parity = 0;
  __device__ __forceinline__ void next() {
    if (++at == n) at = 0, parity ^= 1;
  }
  __device__ __forceinline__ void skip(int places) {
    const int to = at + places;
    at = to % n;
    parity ^= to / n & 1;
  }
};

template <typename C> __device__ __forceinline__ int lasting_tiles(const hn_cuda_tensor &a) {
  return (a.m + C::BM - 1) / C::BM * a.n_tiles;
}
template <typename C> struct lasting_place {
  int m0, n0;
  __device__ __forceinline__ lasting_place(const hn_cuda_tensor &a, int tile) {
    const int rows = divided(tile, a.by_n_tiles);
    m0 = rows * C::BM;
    n0 = (tile - rows * a.n_tiles) * C::BN;
  }
};

/* One thread copies the blocks of k of all tiles; `behind` those of a tile come others, maybe. */
template <typename C, typename F>
__device__ __forceinline__ void copy_stages(const hn_cuda_lasting_maps &maps, const hn_cuda_tensor &a, unsigned shared,
                                            int tiles, F behind) {
  const unsigned full = shared, empty = full + C::ST * 8, base = shared + C::front;
  ring<C::ST> s;
  int filled = 0;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const lasting_place<C> p(a, tile);
    const int image = divided(p.m0, a.by_plane), q = p.m0 - image * a.out_h * a.out_w, y = divided(q, a.by_out_w);
    const int h = y * a.stride_h - a.pad_h, w = (q - y * a.out_w) * a.stride_w - a.pad_w;
    int k = 0;
    for (int tap_y = 0; tap_y < a.kernel_h; ++tap_y)
      for (int tap_x = 0; tap_x < a.kernel_w; ++tap_x)
        for (int c = 0; c < a.per_tap; ++c, k += C::row) {
          if (filled < C::ST)
            ++filled;
          else
            barrier_wait(empty + s.at * 8, s.parity ^ 1);
          const unsigned to = base + s.at * C::stage, barrier = full + s.at * 8;
          barrier_expect(barrier, C::stage);
          copy_pixels(to, &maps.x, barrier, c * C::row + tap_y * a.band, w, h, image, tap_x * a.dilation_w,
                      tap_y * a.dilation_h);
          copy_rows(to + C::BM * C::deep, &maps.w, barrier, k, p.n0);
          s.next();
        }
    behind(s, filled, p.m0, p.n0);
  }
}

/* ---- buffers: what follows the sums is written there, and stored from there ---- */

/* Two barriers of each: it may be written (a residual lies in it, and the channels' vectors are there), and it was
 * written, by every warp. */
template <typename C> struct lasting_buffers {
  unsigned ready, written, turns, base;

  __device__ __forceinline__ lasting_buffers(unsigned shared)
      : ready(shared + C::ST * 16), written(ready + C::NB * 8), turns(written + C::NB * 8),
        base(shared + C::front + C::ST * C::stage) {}
  __device__ __forceinline__ unsigned at(int i) const { return base + i * C::buffer; }
  __device__ __forceinline__ unsigned vectors_at(int i) const { return base + C::NB * C::buffer + i * C::vectors; }
};

template <typename C>
__device__ __forceinline__ void ready_buffer(const hn_cuda_lasting_maps &maps, const float *vectors,
                                             const hn_cuda_tensor &a, const lasting_buffers<C> &of, int at, bool adds,
                                             int tile, int tiles) {
  if (tile >= tiles) return;
  const lasting_place<C> p(a, tile);
  const unsigned barrier = of.ready + at * 8;
  if (!adds && C::vectors == 0) {
    barrier_arrive(barrier);
    return;
  }
  const int there = C::vectors == 0 ? 0 : min(C::BN, a.scales_at - p.n0) * 4; /* tiles may go beyond */
  barrier_expect(barrier, (adds ? C::buffer : 0) + there * 2);
  if (C::vectors > 0) {
    copy_flat(of.vectors_at(at), vectors + p.n0, barrier, there);
    copy_flat(of.vectors_at(at) + C::BN * 4, vectors + a.scales_at + p.n0, barrier, there);
  }
  if (!adds) return;
#pragma unroll
  for (int i = 0; i < C::boxes * C::G; ++i)
    copy_rows(of.at(at) + i * C::box_bytes, &maps.residual, barrier, p.n0 + i / C::G * C::box, p.m0 + i % C::G * 64);
}

/* One thread stores what was written, and readies buffers again: who requantises neither stores nor waits for it. */
template <typename C>
__device__ __forceinline__ void store_tiles(const hn_cuda_lasting_maps &maps, const float *vectors,
                                            const hn_cuda_tensor &a, unsigned shared, bool adds, int tiles) {
  const lasting_buffers<C> buffers(shared);
  const int first = blockIdx.x, step = gridDim.x;
  for (int i = 0; i < C::NB; ++i) ready_buffer<C>(maps, vectors, a, buffers, i, adds, first + i * step, tiles);
  ring<C::NB> b;
  for (int tile = first; tile < tiles; tile += step) {
    barrier_wait(buffers.written + b.at * 8, b.parity);
    if (!C::direct) {
      const lasting_place<C> p(a, tile);
#pragma unroll
      for (int i = 0; i < C::boxes * C::G; ++i)
        store_rows(&maps.y, buffers.at(b.at) + i * C::box_bytes, p.n0 + i / C::G * C::box, p.m0 + i % C::G * 64);
      store_commit();
      store_wait<0>();
    }
    ready_buffer<C>(maps, vectors, a, buffers, b.at, adds, tile + C::NB * step, tiles);
    b.next();
  }
  store_done();
}

__device__ __forceinline__ int4 load_four(unsigned from) {
  int4 four;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(four.x), "=r"(four.y), "=r"(four.z), "=r"(four.w)
               : "r"(from));
  return four;
}

/* A warpgroup has read a stage: who fills it may copy. */
__device__ __forceinline__ void leave_stage(unsigned empty) {
  if (threadIdx.x % 128 == 0) barrier_arrive(empty);
}

/* Of this lane's two columns of eight from n on. They are padded to eights; what is not there is not stored, and any
 * will do: none is read where a sum ends, each of them would be waited for there. */
__device__ __forceinline__ float2 bias_at(const float *bias, const hn_cuda_tensor &a, int n) {
  return *(const float2 *)(bias + min(n, (a.n + 7) / 8 * 8 - 8) + (threadIdx.x & 3) * 2);
}

/* What follows two sums side by side; `left` channels are there from the first on, unless all of the tile are. */
template <typename T, bool gelu, bool bounds, bool is_whole>
__device__ __forceinline__ unsigned end_two(float first, float second, unsigned low, unsigned high, int left) {
  if (gelu) first = gelu_of_halves(first), second = gelu_of_halves(second);
  unsigned two = narrow_two<T>(first, second);
  if (bounds) two = bounded<T>(two, low, high);
  return is_whole || left > 1 ? two : left > 0 ? two & 0xffff : 0; /* those that are not there are zeros */
}

/* `count` blocks of k, each when its stage is filled, by products that are in flight when `multiply` returns. The last
 * stage's barrier: who has waited for its products leaves it. */
template <typename C, typename F>
__device__ __forceinline__ unsigned multiply_stages(unsigned shared, unsigned own, int count, ring<C::ST> &s,
                                                    F multiply) {
  const unsigned full = shared, empty = full + C::ST * 8, right = shared + C::front + C::BM * C::deep;
  int before = 0;
  for (int block = 0; block < count; ++block) {
    barrier_wait(full + s.at * 8, s.parity);
    multiply(matrix_at<C::deep>(own + s.at * C::stage), matrix_at<C::deep>(right + s.at * C::stage));
    group_wait<1>(); /* the block before is done: its stage is free */
    if (block > 0) leave_stage(empty + before * 8);
    before = s.at;
    s.next();
  }
  return empty + before * 8;
}

/* Of bytes, where a lane's two rows, eight apart, have their sixteen channels of 64: residuals, then what is stored. In
 * a buffer, mixed as boxes are. */
template <typename T, typename C> struct buffer_rows {
  unsigned to;
  int mix;

  __device__ __forceinline__ buffer_rows(unsigned buffer) {
    const int row = threadIdx.x / 32 % 4 * 16 + (threadIdx.x % 32 >> 2);
    to = buffer + threadIdx.x / 128 % C::G * C::box_bytes + row * C::box;
    mix = C::box == 128 ? row & 7 : row >> 1 & 3;
  }
  __device__ __forceinline__ unsigned at(int g) const {
    const int chunk = (g * 64 + (threadIdx.x & 3) * 16) % C::box / 16;
    return to + g * 64 / C::box * C::G * C::box_bytes + ((chunk ^ mix) << 4);
  }
  __device__ __forceinline__ void read(int g, unsigned (&out)[2][4]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(out[half][0]), "=r"(out[half][1]), "=r"(out[half][2]), "=r"(out[half][3])
                   : "r"(at(g) + half * 8 * C::box)
                   : "memory");
  }
  __device__ __forceinline__ void write(int g, const unsigned (&out)[2][4]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at(g) + half * 8 * C::box), "r"(out[half][0]),
                   "r"(out[half][1]), "r"(out[half][2]), "r"(out[half][3])
                   : "memory");
  }
};

/* Residuals in a buffer, but what is stored goes to memory from registers: teams that take turns have time to wait for
 * that, and by way of buffers it would pass shared memory twice more. */
template <typename T, typename C> struct memory_rows {
  buffer_rows<T, C> added;
  T *to;
  size_t below; /* from one row to the other */
  int left;     /* channels from `to` on, none where the row is beyond the last */
  bool has_below;

  __device__ __forceinline__ memory_rows(unsigned buffer, T *y, const hn_cuda_tensor &a, int m0, int n0)
      : added(buffer) {
    const int row = m0 + threadIdx.x / 128 % C::G * 64 + threadIdx.x / 32 % 4 * 16 + (threadIdx.x % 32 >> 2);
    const int n = n0 + (threadIdx.x & 3) * 16;
    to = y + (size_t)row * a.out_pitch + n;
    below = (size_t)8 * a.out_pitch;
    left = row < a.m ? a.out_pitch - n : 0;
    has_below = row + 8 < a.m;
  }
  __device__ __forceinline__ void read(int g, unsigned (&out)[2][4]) const { added.read(g, out); }
  __device__ __forceinline__ void write(int g, const unsigned (&out)[2][4]) const {
    if (g * 64 >= left) return;
    *(uint4 *)(to + g * 64) = make_uint4(out[0][0], out[0][1], out[0][2], out[0][3]);
    if (has_below) *(uint4 *)(to + g * 64 + below) = make_uint4(out[1][0], out[1][1], out[1][2], out[1][3]);
  }
};

template <typename T, typename C> struct lasting_sums {
  typename kind_of<T>::sum v[C::BN / 2];

  static __device__ __forceinline__ int warpgroup() { return threadIdx.x / 128 % C::G; } /* of its team */

  __device__ __forceinline__ void pin() {
#pragma unroll
    for (int i = 0; i < C::BN / 2; ++i) pin_sum(v[i]);
  }
  /* With biases, or of bytes with one and the same bits. */
  __device__ __forceinline__ void begin(const float *bias, int start, const hn_cuda_tensor &a, int n0) {
    if constexpr (sizeof(T) == 1) {
#pragma unroll
      for (int i = 0; i < C::BN / 2; ++i) v[i] = start;
    } else {
#pragma unroll
      for (int j = 0; j < C::BN / 8; ++j) {
        const float2 more = bias_at(bias, a, n0 + j * 8);
        v[j * 4] = v[j * 4 + 2] = more.x, v[j * 4 + 1] = v[j * 4 + 3] = more.y;
      }
    }
  }
  /* seen: what follows when all stages were seen filled. */
  template <typename F> __device__ __forceinline__ void multiply(unsigned shared, int count, ring<C::ST> &s, F seen) {
    const unsigned own = shared + C::front + warpgroup() * 64 * C::deep;
    const unsigned last = multiply_stages<C>(shared, own, count, s, [&](unsigned long long a, unsigned long long b) {
      pin();
      group_begin();
#pragma unroll
      for (int k = 0; k < C::deep / 32; ++k) multiply_group<T, C::BN>(v, a + k * 2, b + k * 2);
      group_commit();
    });
    seen();
    group_wait<0>();
    leave_stage(last);
    pin();
  }
  /* Into the buffer, mixed as boxes are. soon: of bytes, their sums began with ROUNDING_BITS. */
  __device__ __forceinline__ void put(unsigned buffer, unsigned vectors, bool adds, bool soon, const hn_cuda_tensor &a,
                                      int n0) {
    if constexpr (sizeof(T) == 4)
      return put_floats(buffer, adds, a, n0);
    else if constexpr (sizeof(T) != 1)
      return n0 + C::BN <= a.n ? put_halves_by_way<true>(buffer, adds, a, n0)
                               : put_halves_by_way<false>(buffer, adds, a, n0);
    else
      put_bytes_by_way(buffer_rows<T, C>(buffer), vectors, adds, soon, a, n0);
  }
  template <bool is_whole>
  __device__ __forceinline__ void put_halves_by_way(unsigned buffer, bool adds, const hn_cuda_tensor &a, int n0) {
    if (a.act == HN_ACTIVATION_GELU)
      put_halves<true, false, is_whole>(buffer, adds, a, n0);
    else if (a.act != HN_ACTIVATION_NONE)
      put_halves<false, true, is_whole>(buffer, adds, a, n0);
    else
      put_halves<false, false, is_whole>(buffer, adds, a, n0);
  }
  template <typename R>
  __device__ __forceinline__ void put_bytes_by_way(const R &rows, unsigned vectors, bool adds, bool soon,
                                                   const hn_cuda_tensor &a, int n0) {
    if (soon)
      put_bytes_one_way<true>(rows, vectors, adds, a, n0);
    else
      put_bytes_one_way<false>(rows, vectors, adds, a, n0);
  }
  template <bool soon, typename R>
  __device__ __forceinline__ void put_bytes_one_way(const R &rows, unsigned vectors, bool adds, const hn_cuda_tensor &a,
                                                    int n0) {
    switch (requantising_of(adds, a.bytes)) {
    case REQUANTISE_PLAIN:
      if (soon && (T)-1 > 0 && a.bytes.zero == 0) return put_bytes<REQUANTISE_FROM_ZERO, soon>(rows, vectors, a, n0);
      return put_bytes<REQUANTISE_PLAIN, soon>(rows, vectors, a, n0);
    case REQUANTISE_BOUNDED: return put_bytes<REQUANTISE_BOUNDED, soon>(rows, vectors, a, n0);
    case REQUANTISE_ADDED: return put_bytes<REQUANTISE_ADDED, soon>(rows, vectors, a, n0);
    default: return put_bytes<REQUANTISE_ADDED_LAST, soon>(rows, vectors, a, n0);
    }
  }
  template <bool gelu, bool bounds, bool is_whole>
  __device__ __forceinline__ void put_halves(unsigned buffer, bool adds, const hn_cuda_tensor &a, int n0) {
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + (lane >> 2);
    const unsigned to = buffer + threadIdx.x / 128 * C::box_bytes + row * 128 + ((row & 7) << 4) + (lane & 3) * 4;
    const unsigned low = narrow_two<T>(a.alpha, a.alpha), high = narrow_two<T>(a.beta, a.beta);
#pragma unroll
    for (int j = 0; j < C::BN / 8; ++j) {
      const int left = a.n - (n0 + j * 8 + (lane & 3) * 2);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const unsigned at = (to ^ (j % 8 << 4)) + j / 8 * (C::G * C::box_bytes) + half * 1024;
        float first = v[j * 4 + half * 2], second = v[j * 4 + half * 2 + 1];
        if (adds) {
          unsigned two;
          asm volatile("ld.shared.b32 %0, [%1];" : "=r"(two) : "r"(at) : "memory");
          const float2 wide = wide_two<T>(two);
          first += wide.x, second += wide.y;
        }
        const unsigned ended = end_two<T, gelu, bounds, is_whole>(first, second, low, high, left);
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(ended) : "memory");
      }
    }
  }
  /* The same of f32: a box has 32 columns, and a lane two of them, eight bytes. */
  __device__ __forceinline__ void put_floats(unsigned buffer, bool adds, const hn_cuda_tensor &a, int n0) {
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + (lane >> 2);
    const unsigned to = buffer + threadIdx.x / 128 * C::box_bytes + row * 128 + (lane & 1) * 8;
#pragma unroll
    for (int j = 0; j < C::BN / 8; ++j) {
      const int n = n0 + j * 8 + (lane & 3) * 2, chunk = (j % 4 * 2 + (lane >> 1 & 1)) ^ (row & 7);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const unsigned at = to + (chunk << 4) + j / 4 * (C::G * C::box_bytes) + half * 1024;
        float first = v[j * 4 + half * 2], second = v[j * 4 + half * 2 + 1];
        if (adds) {
          float2 residual;
          asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(residual.x), "=f"(residual.y) : "r"(at) : "memory");
          first += residual.x, second += residual.y;
        }
        if (a.act == HN_ACTIVATION_GELU) first = gelu_of_halves(first), second = gelu_of_halves(second);
        first = n < a.n ? bounded(first, a.alpha, a.beta) : 0; /* channels that are not there are zeros */
        second = n + 1 < a.n ? bounded(second, a.alpha, a.beta) : 0;
        store_two(at, first, second);
      }
    }
  }
  /* Requantised. The rows of the weights lie so that a lane's columns of 64 are sixteen channels side by side: column
   * 8 j + 2 q + e is channel 16 q + 2 j + e. Vectors lie so that the lanes of a row read fours side by side: channel
   * 16 q + 4 i + e of 64 is number 16 i + 4 q + e. They are padded to whole 64s. Behind them a
   * word says whether sums are requantised soon: then what they begin with is a float. */
  template <int way, bool soon, typename R>
  __device__ __forceinline__ void put_bytes(const R &rows, unsigned vectors, const hn_cuda_tensor &a, int n0) {
    const int q = threadIdx.x & 3;
#pragma unroll
    for (int g = 0; g < C::BN / 64; ++g) {
      const int n = n0 + g * 64 + q * 16;
      const unsigned from = vectors + (g * 64 + q * 4) * 4;
      unsigned out[2][4] = {};
      if (way >= REQUANTISE_ADDED) rows.read(g, out);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int4 begin = load_four(from + i * 64), bits = load_four(from + C::BN * 4 + i * 64);
        const float4 scale = {__int_as_float(bits.x), __int_as_float(bits.y), __int_as_float(bits.z),
                              __int_as_float(bits.w)};
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const auto *s = v + (g * 8 + i * 2) * 4 + half * 2;
          if constexpr (soon) {
            const float4 less = {__int_as_float(begin.x), __int_as_float(begin.y), __int_as_float(begin.z),
                                 __int_as_float(begin.w)};
            out[half][i] =
                requantised_soon<T, way>(make_int4(s[0], s[1], s[4], s[5]), less, scale, out[half][i], a.bytes);
          } else {
            const int4 sum = {s[0] + begin.x, s[1] + begin.y, s[4] + begin.z, s[5] + begin.w};
            out[half][i] = requantised_four<T, way>(sum, scale, out[half][i], a.bytes);
          }
        }
      }
      if (n + 16 > a.n) /* channels that are not there are zeros */
#pragma unroll
        for (int i = 0; i < 4; ++i) out[0][i] &= there_of(a.n - n - i * 4), out[1][i] &= there_of(a.n - n - i * 4);
      rows.write(g, out);
    }
  }
};

/* A barrier of stages tells one turn of the ring from the next, no more: who waited there while the stage before was
 * still filled would take that one's turn before for its own. So of two teams one begins when the other has seen all of
 * its stages filled, and goes beyond them. */
template <typename T, typename C>
__device__ __forceinline__ void multiply_by_turns(T *y, bool adds, bool soon, const hn_cuda_tensor &a, unsigned shared,
                                                  int tiles) {
  const lasting_buffers<C> buffers(shared);
  const int team = threadIdx.x / (C::G * 128);
  lasting_sums<T, C> sums;
  ring<C::ST> s;
  ring<C::NB> b;
  if (team > 0) s.skip(a.blocks), b.next();
  int parity = team ^ 1; /* the first team's first turn has come */
  for (int tile = blockIdx.x + team * gridDim.x; tile < tiles; tile += C::teams * gridDim.x) {
    const lasting_place<C> p(a, tile);
    sums.begin(nullptr, soon ? ROUNDING_BITS : 0, a, p.n0);
    barrier_wait(buffers.turns + team * 8, parity);
    parity ^= 1;
    sums.multiply(shared, a.blocks, s, [&] {
      if (threadIdx.x % 128 == 0) barrier_arrive(buffers.turns + (team ^ 1) * 8);
    });
    s.skip(a.blocks);
    barrier_wait(buffers.ready + b.at * 8, b.parity);
    const unsigned buffer = buffers.at(b.at), vectors = buffers.vectors_at(b.at);
    if constexpr (C::direct) {
      sums.put_bytes_by_way(memory_rows<T, C>(buffer, y, a, p.m0, p.n0), vectors, adds, soon, a, p.n0);
    } else {
      sums.put_bytes_by_way(buffer_rows<T, C>(buffer), vectors, adds, soon, a, p.n0);
      buffer_written();
    }
    __syncwarp();
    if (threadIdx.x % 32 == 0) barrier_arrive(buffers.written + b.at * 8);
    b.skip(C::teams);
  }
}

template <typename T, typename C>
__device__ __forceinline__ void multiply_tiles(const float *bias, bool adds, bool soon, const hn_cuda_tensor &a,
                                               unsigned shared, int tiles) {
  const lasting_buffers<C> buffers(shared);
  lasting_sums<T, C> sums;
  ring<C::ST> s;
  ring<C::NB> b;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const lasting_place<C> p(a, tile);
    sums.begin(bias, soon ? ROUNDING_BITS : 0, a, p.n0);
    sums.multiply(shared, a.blocks, s, [] {});
    barrier_wait(buffers.ready + b.at * 8, b.parity);
    sums.put(buffers.at(b.at), buffers.vectors_at(b.at), adds, soon, a, p.n0);
    buffer_written();
    __syncwarp();
    if (threadIdx.x % 32 == 0) barrier_arrive(buffers.written + b.at * 8);
    b.next();
  }
}

template <typename T, typename C>
__device__ __forceinline__ void lasting_product(const hn_cuda_lasting_maps &maps, const float *bias, bool adds,
                                                const hn_cuda_tensor &a) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const unsigned shared = shared_at(memory);
  const int tiles = lasting_tiles<C>(a), copier = threadIdx.x - C::teams * C::G * 128;
  if (threadIdx.x == 0) {
    const lasting_buffers<C> buffers(shared);
    for (int i = 0; i < C::ST; ++i) {
      barrier_make(shared + i * 8, 1);
      barrier_make(shared + C::ST * 8 + i * 8, C::G);
    }
    for (int i = 0; i < C::NB; ++i) {
      barrier_make(buffers.ready + i * 8, 1);
      barrier_make(buffers.written + i * 8, C::G * 4);
    }
    for (int i = 0; C::teams > 1 && i < C::teams; ++i) barrier_make(buffers.turns + i * 8, C::G);
    barriers_made();
  }
  __syncthreads();
  wait_for_previous();
  if (copier < 0) {
    const bool soon = sizeof(T) == 1 && ((const int *)bias)[2 * a.scales_at] != 0;
    if constexpr (C::teams > 1) {
      take_registers<C::registers>();
      multiply_by_turns<T, C>((T *)maps.to, adds, soon, a, shared, tiles);
    } else {
      multiply_tiles<T, C>(bias, adds, soon, a, shared, tiles);
    }
    return;
  }
  if constexpr (C::teams > 1) leave_registers();
  if (copier == 0) {
    copy_stages<C>(maps, a, shared, tiles, [](ring<C::ST> &, int &, int, int) {});
    let_next_begin();
  } else if (copier == 32) {
    store_tiles<C>(maps, bias, a, shared, adds, tiles);
  }
}
