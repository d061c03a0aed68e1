/* SPDX-License-Identifier: Apache-2.0 */
/* lasting.cuh - the tiles of bulk.cuh by blocks that last: each takes one tile after the other, so that the next tiles'
 * boxes are copied while a tile is stored. Rows are stored as boxes, too, by a thread of its own, out of buffers into
 * which it copied residuals before; tiles without buffers store from registers, and have no residual. For many tiles;
 * what follows the sums is a bound, or gelu. Two blocks of a cluster may take tiles one below the other: they need the
 * same weights, of which each copies half, into both. */
#include "kernels/cuda/tensor/maps.h"
#include "kernels/cuda/tensor/tensor.cuh"
#include "kernels/cuda/tensor/wgmma.cuh"

/* deep: bytes of a row of a stage. groups: warpgroups that multiply, of 64 rows each. box: columns of the boxes that
 * are stored, of 64 rows each. */
template <typename T, int bn, int stages, int buffers, int pair = 1, int depth = 128, int groups = 2>
struct lasting_tile {
  static constexpr int P = pair, G = groups, BM = 64 * groups, BN = bn, ST = stages, NB = buffers, deep = depth;
  static constexpr int row = deep / (int)sizeof(T);
  static constexpr int box = sizeof(T) == 4 ? 32 : sizeof(T) == 1 && BN % 128 == 0 ? 128 : 64;
  static constexpr int boxes = BN / box, box_bytes = 64 * box * (int)sizeof(T);
  static constexpr int threads = G * 128 + 64, stage = (BM + BN) * deep, buffer = BM * BN * (int)sizeof(T);
  static constexpr int front = 1024; /* barriers: of stages, then of buffers */
  static constexpr int bytes = front + ST * stage + NB * buffer;
};

/* Goes round `n` places; the parity changes with each turn. */
template <int n> struct ring {
  int at = 0, parity = 0;
  __device__ __forceinline__ void next() {
    if (++at == n) at = 0, parity ^= 1;
  }
};

/* Units of work: a tile for each block of a cluster, which are rows one below the other. */
template <typename C> __device__ __forceinline__ int lasting_rank() { return C::P == 1 ? 0 : blockIdx.x % C::P; }
template <typename C> __device__ __forceinline__ int lasting_units(const hn_cuda_tensor &a) {
  return (a.m + C::BM * C::P - 1) / (C::BM * C::P) * a.n_tiles;
}
template <typename C> struct lasting_place {
  int m0, n0;
  __device__ __forceinline__ lasting_place(const hn_cuda_tensor &a, int unit) {
    const int rows = unit / a.n_tiles;
    m0 = (rows * C::P + lasting_rank<C>()) * C::BM;
    n0 = (unit - rows * a.n_tiles) * C::BN;
  }
};

/* One thread copies the blocks of k of all tiles. */
template <typename C>
__device__ __forceinline__ void copy_stages(const hn_cuda_lasting_maps &maps, const hn_cuda_tensor &a, unsigned shared,
                                            int units) {
  const int per_tap = a.blocks / (a.kernel_h * a.kernel_w), plane = a.out_h * a.out_w;
  const unsigned full = shared, empty = full + C::ST * 8, base = shared + C::front;
  ring<C::ST> s;
  int filled = 0;
  for (int unit = blockIdx.x / C::P; unit < units; unit += gridDim.x / C::P) {
    const lasting_place<C> p(a, unit);
    const int image = p.m0 / plane, q = p.m0 - image * plane, y = q / a.out_w;
    const int h = y * a.stride_h - a.pad_h, w = (q - y * a.out_w) * a.stride_w - a.pad_w;
    int k = 0;
    for (int tap_y = 0; tap_y < a.kernel_h; ++tap_y)
      for (int tap_x = 0; tap_x < a.kernel_w; ++tap_x)
        for (int c = 0; c < per_tap; ++c, k += C::row) {
          if (filled < C::ST)
            ++filled;
          else
            barrier_wait(empty + s.at * 8, s.parity ^ 1);
          const unsigned to = base + s.at * C::stage, barrier = full + s.at * 8;
          barrier_expect(barrier, C::stage);
          copy_pixels(to, &maps.x, barrier, c * C::row, w, h, image, tap_x * a.dilation_w, tap_y * a.dilation_h);
          if (C::P == 1) {
            copy_rows(to + C::BM * C::deep, &maps.w, barrier, k, p.n0);
          } else {
            const int part = lasting_rank<C>() * (C::BN / C::P);
            copy_rows_to_all(to + (C::BM + part) * C::deep, &maps.w, barrier, k, p.n0 + part, (1 << C::P) - 1);
          }
          s.next();
        }
  }
}

/* ---- buffers: what follows the sums is written there, and stored from there ---- */

/* Two barriers of each: it may be written (a residual lies in it), and it was written, by every warp. */
template <typename C> struct lasting_buffers {
  unsigned ready, written, base;

  __device__ __forceinline__ lasting_buffers(unsigned shared)
      : ready(shared + C::ST * 16), written(ready + C::NB * 8), base(shared + C::front + C::ST * C::stage) {}
  __device__ __forceinline__ unsigned at(int i) const { return base + i * C::buffer; }
};

template <typename C>
__device__ __forceinline__ void ready_buffer(const hn_cuda_lasting_maps &maps, const hn_cuda_tensor &a,
                                             const lasting_buffers<C> &of, int at, bool adds, int unit, int units) {
  if (unit >= units) return;
  const unsigned barrier = of.ready + at * 8;
  if (!adds) {
    barrier_arrive(barrier);
    return;
  }
  const lasting_place<C> p(a, unit);
  barrier_expect(barrier, C::buffer);
#pragma unroll
  for (int i = 0; i < C::boxes * C::G; ++i)
    copy_rows(of.at(at) + i * C::box_bytes, &maps.residual, barrier, p.n0 + i / C::G * C::box, p.m0 + i % C::G * 64);
}

/* One thread stores what was written, and readies buffers again: who requantises neither stores nor waits for it. */
template <typename C>
__device__ __forceinline__ void store_tiles(const hn_cuda_lasting_maps &maps, const hn_cuda_tensor &a, unsigned shared,
                                            bool adds, int units) {
  const lasting_buffers<C> buffers(shared);
  const int first = blockIdx.x / C::P, step = gridDim.x / C::P;
  for (int i = 0; i < C::NB; ++i) ready_buffer<C>(maps, a, buffers, i, adds, first + i * step, units);
  ring<C::NB> b;
  for (int unit = first; unit < units; unit += step) {
    const lasting_place<C> p(a, unit);
    barrier_wait(buffers.written + b.at * 8, b.parity);
#pragma unroll
    for (int i = 0; i < C::boxes * C::G; ++i)
      store_rows(&maps.y, buffers.at(b.at) + i * C::box_bytes, p.n0 + i / C::G * C::box, p.m0 + i % C::G * 64);
    store_commit();
    store_wait<0>();
    ready_buffer<C>(maps, a, buffers, b.at, adds, unit + C::NB * step, units);
    b.next();
  }
  store_done();
}

/* A warpgroup has read a stage: who fills it may copy, in either block. */
template <typename C> __device__ __forceinline__ void leave_stage(unsigned empty) {
  if (C::P == 1) {
    if (threadIdx.x % 128 == 0) barrier_arrive(empty);
  } else if (threadIdx.x % 128 < C::P) {
    barrier_arrive_at(member_at(empty, threadIdx.x % 128));
  }
}

template <typename T, typename C> struct lasting_sums {
  typename kind_of<T>::sum v[C::BN / 2];

  __device__ __forceinline__ void pin() {
#pragma unroll
    for (int i = 0; i < C::BN / 2; ++i) pin_sum(v[i]);
  }
  __device__ __forceinline__ void multiply(unsigned shared, int count, ring<C::ST> &s, int start) {
    const unsigned full = shared, empty = full + C::ST * 8;
    const unsigned own = shared + C::front + threadIdx.x / 128 * 64 * C::deep;
    const unsigned right = shared + C::front + C::BM * C::deep;
    int before = 0;
#pragma unroll
    for (int i = 0; i < C::BN / 2; ++i) v[i] = start;
    for (int block = 0; block < count; ++block) {
      barrier_wait(full + s.at * 8, s.parity);
      const unsigned long long a = matrix_at<C::deep>(own + s.at * C::stage);
      const unsigned long long b = matrix_at<C::deep>(right + s.at * C::stage);
      pin();
      group_begin();
#pragma unroll
      for (int k = 0; k < C::deep / 32; ++k) multiply_group<T, C::BN>(v, a + k * 2, b + k * 2);
      group_commit();
      group_wait<1>(); /* the block before is done: its stage is free */
      if (block > 0) leave_stage<C>(empty + before * 8);
      before = s.at;
      s.next();
    }
    group_wait<0>();
    leave_stage<C>(empty + before * 8);
    pin();
  }
  /* soon: of bytes, their sums began with ROUNDING_BITS. */
  __device__ __forceinline__ void put(unsigned buffer, const float *bias, bool adds, bool soon, const hn_cuda_tensor &a,
                                      int n0) {
    if constexpr (sizeof(T) == 4)
      return put_floats(buffer, bias, adds, a, n0);
    else if constexpr (sizeof(T) != 1)
      return put_halves(buffer, bias, adds, a, n0);
    else if (soon)
      put_bytes_by_way<true>(buffer, (const int *)bias, adds, a, n0);
    else
      put_bytes_by_way<false>(buffer, (const int *)bias, adds, a, n0);
  }
  template <bool soon>
  __device__ __forceinline__ void put_bytes_by_way(unsigned buffer, const int *begins, bool adds,
                                                   const hn_cuda_tensor &a, int n0) {
    switch (requantising_of(adds, a.bytes)) {
    case REQUANTISE_PLAIN:
      if (soon && (T)-1 > 0 && a.bytes.zero == 0) return put_bytes<REQUANTISE_FROM_ZERO, soon>(buffer, begins, a, n0);
      return put_bytes<REQUANTISE_PLAIN, soon>(buffer, begins, a, n0);
    case REQUANTISE_BOUNDED: return put_bytes<REQUANTISE_BOUNDED, soon>(buffer, begins, a, n0);
    case REQUANTISE_ADDED: return put_bytes<REQUANTISE_ADDED, soon>(buffer, begins, a, n0);
    default: return put_bytes<REQUANTISE_ADDED_LAST, soon>(buffer, begins, a, n0);
    }
  }
  /* What follows two sums side by side, from channel n on; those that are not there are zeros. */
  static __device__ __forceinline__ unsigned end_two(float first, float second, unsigned low, unsigned high,
                                                     const hn_cuda_tensor &a, int n) {
    if (a.act == HN_ACTIVATION_GELU) first = gelu_of_halves(first), second = gelu_of_halves(second);
    const unsigned two = bounded<T>(narrow_two<T>(first, second), low, high);
    return n + 1 < a.n ? two : n < a.n ? two & 0xffff : 0;
  }
  /* Biases, residual, bounds, and into the buffer, mixed as boxes are. */
  __device__ __forceinline__ void put_halves(unsigned buffer, const float *bias, bool adds, const hn_cuda_tensor &a,
                                             int n0) {
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + (lane >> 2);
    const unsigned to = buffer + threadIdx.x / 128 * C::box_bytes + row * 128 + ((row & 7) << 4) + (lane & 3) * 4;
    const unsigned low = narrow_two<T>(a.alpha, a.alpha), high = narrow_two<T>(a.beta, a.beta);
#pragma unroll
    for (int j = 0; j < C::BN / 8; ++j) {
      const int n = n0 + j * 8 + (lane & 3) * 2;
      const float2 more = n < a.n ? *(const float2 *)(bias + n) : make_float2(0, 0); /* padded to eights */
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const unsigned at = (to ^ (j % 8 << 4)) + j / 8 * (C::G * C::box_bytes) + half * 1024;
        float first = v[j * 4 + half * 2] + more.x, second = v[j * 4 + half * 2 + 1] + more.y;
        if (adds) {
          unsigned two;
          asm volatile("ld.shared.b32 %0, [%1];" : "=r"(two) : "r"(at) : "memory");
          const float2 wide = wide_two<T>(two);
          first += wide.x, second += wide.y;
        }
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(end_two(first, second, low, high, a, n)) : "memory");
      }
    }
  }
  /* Without a buffer: four lanes of a row change words until each has sixteen bytes side by side. */
  __device__ __forceinline__ void store_halves(void *y, const float *bias, const hn_cuda_tensor &a, int m0, int n0) {
    const int lane = threadIdx.x % 32, q = lane & 3, row = m0 + threadIdx.x / 32 * 16 + (lane >> 2);
    const unsigned low = narrow_two<T>(a.alpha, a.alpha), high = narrow_two<T>(a.beta, a.beta);
#pragma unroll
    for (int g = 0; g < C::BN / 32; ++g) {
      unsigned two[2][4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int n = n0 + g * 32 + j * 8 + q * 2;
        const float2 more = n < a.n ? *(const float2 *)(bias + n) : make_float2(0, 0); /* padded to eights */
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const float *sum = v + (g * 4 + j) * 4 + half * 2;
          two[half][j] = end_two(sum[0] + more.x, sum[1] + more.y, low, high, a, n);
        }
      }
      const int to_n = n0 + g * 32 + q * 8;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        change_words(two[half], q);
        const int m = row + half * 8;
        if (m < a.m && to_n < a.out_pitch)
          *(uint4 *)((T *)y + (size_t)m * a.out_pitch + to_n) =
              make_uint4(two[half][0], two[half][1], two[half][2], two[half][3]);
      }
    }
  }
  /* Word i of lane q becomes word q of lane i, of four lanes. */
  static __device__ __forceinline__ void change_words(unsigned (&w)[4], int q) {
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      const unsigned other = __shfl_xor_sync(0xffffffff, q & 1 ? w[i] : w[i + 1], 1);
      w[i] = q & 1 ? other : w[i], w[i + 1] = q & 1 ? w[i + 1] : other;
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const unsigned other = __shfl_xor_sync(0xffffffff, q & 2 ? w[i] : w[i + 2], 2);
      w[i] = q & 2 ? other : w[i], w[i + 2] = q & 2 ? w[i + 2] : other;
    }
  }
  /* The same of f32: a box has 32 columns, and a lane two of them, eight bytes. */
  __device__ __forceinline__ void put_floats(unsigned buffer, const float *bias, bool adds, const hn_cuda_tensor &a,
                                             int n0) {
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + (lane >> 2);
    const unsigned to = buffer + threadIdx.x / 128 * C::box_bytes + row * 128 + (lane & 1) * 8;
#pragma unroll
    for (int j = 0; j < C::BN / 8; ++j) {
      const int n = n0 + j * 8 + (lane & 3) * 2, chunk = (j % 4 * 2 + (lane >> 1 & 1)) ^ (row & 7);
      const float2 more = n < a.n ? *(const float2 *)(bias + n) : make_float2(0, 0); /* padded to eights */
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const unsigned at = to + (chunk << 4) + j / 4 * (C::G * C::box_bytes) + half * 1024;
        float first = v[j * 4 + half * 2] + more.x, second = v[j * 4 + half * 2 + 1] + more.y;
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
   * 16 q + 4 i + e of 64 is number 16 i + 4 q + e. They are padded to whole 64s; tiles may go beyond. Behind them a
   * word says whether sums are requantised soon: then what they begin with is a float. */
  template <int way, bool soon>
  __device__ __forceinline__ void put_bytes(unsigned buffer, const int *begins, const hn_cuda_tensor &a, int n0) {
    constexpr bool adds = way >= REQUANTISE_ADDED;
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + (lane >> 2);
    const int mix = C::box == 128 ? row & 7 : row >> 1 & 3;
    const float *scales = (const float *)begins + a.scales_at;
    const unsigned to = buffer + threadIdx.x / 128 * C::box_bytes + row * C::box;
#pragma unroll
    for (int g = 0; g < C::BN / 64; ++g) {
      const int column = g * 64 + (lane & 3) * 16, n = n0 + column, chunk = column % C::box / 16;
      const int from = n0 + g * 64 < a.scales_at ? n0 + g * 64 + (lane & 3) * 4 : 0;
      const unsigned at = to + g * 64 / C::box * C::G * C::box_bytes + ((chunk ^ mix) << 4);
      unsigned out[2][4] = {};
      if (adds)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                       : "=r"(out[half][0]), "=r"(out[half][1]), "=r"(out[half][2]), "=r"(out[half][3])
                       : "r"(at + half * 8 * C::box)
                       : "memory");
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int4 begin = *(const int4 *)(begins + from + i * 16);
        const float4 scale = *(const float4 *)(scales + from + i * 16);
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
#pragma unroll
      for (int half = 0; half < 2; ++half)
        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at + half * 8 * C::box), "r"(out[half][0]),
                     "r"(out[half][1]), "r"(out[half][2]), "r"(out[half][3])
                     : "memory");
    }
  }
};

template <typename T, typename C>
__device__ __forceinline__ void multiply_and_store(void *y, const float *bias, const hn_cuda_tensor &a, unsigned shared,
                                                   int units) {
  lasting_sums<T, C> sums;
  ring<C::ST> s;
  for (int unit = blockIdx.x / C::P; unit < units; unit += gridDim.x / C::P) {
    sums.multiply(shared, a.blocks, s, 0);
    const lasting_place<C> p(a, unit);
    sums.store_halves(y, bias, a, p.m0, p.n0);
  }
}

template <typename T, typename C>
__device__ __forceinline__ void multiply_tiles(const float *bias, bool adds, const hn_cuda_tensor &a, unsigned shared,
                                               int units) {
  const lasting_buffers<C> buffers(shared);
  const bool soon = sizeof(T) == 1 && ((const int *)bias)[2 * a.scales_at] != 0;
  lasting_sums<T, C> sums;
  ring<C::ST> s;
  ring<C::NB> b;
  for (int unit = blockIdx.x / C::P; unit < units; unit += gridDim.x / C::P) {
    sums.multiply(shared, a.blocks, s, soon ? ROUNDING_BITS : 0);
    barrier_wait(buffers.ready + b.at * 8, b.parity);
    sums.put(buffers.at(b.at), bias, adds, soon, a, lasting_place<C>(a, unit).n0);
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
  const int units = lasting_units<C>(a), copier = threadIdx.x - C::G * 128;
  if (threadIdx.x == 0) {
    for (int i = 0; i < C::ST; ++i) {
      barrier_make(shared + i * 8, 1);
      barrier_make(shared + C::ST * 8 + i * 8, C::G * C::P);
    }
    for (int i = 0; i < C::NB; ++i) {
      barrier_make(shared + C::ST * 16 + i * 8, 1);
      barrier_make(shared + C::ST * 16 + C::NB * 8 + i * 8, C::G * 4);
    }
    barriers_made();
  }
  __syncthreads();
  if (C::P > 1) cluster_pushed(); /* the other's barriers are made */
  wait_for_previous();
  if (copier < 0) {
    if constexpr (C::NB > 0)
      multiply_tiles<T, C>(bias, adds, a, shared, units);
    else
      multiply_and_store<T, C>(maps.to, bias, a, shared, units);
  } else if (copier == 0) {
    copy_stages<C>(maps, a, shared, units);
    let_next_begin();
  } else if (copier == 32) {
    if constexpr (C::NB > 0) store_tiles<C>(maps, a, shared, adds, units);
  }
  __syncwarp();
  if (C::P > 1) cluster_pushed(); /* the other still arrives here */
}
