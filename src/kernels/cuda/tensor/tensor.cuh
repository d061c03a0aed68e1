/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.cuh - convolutions with their channels last, and products of rows, on tensor cores: what is the same however a
 * tile is multiplied (stages.cuh, bulk.cuh). Outputs are the rows of a product, channels its columns; k runs over taps
 * and, within each, over channels, in blocks of 128 bytes. The blocks of a cluster share a tile's k: each pushes its
 * sums of a row to the member that owns the row, which adds them and stores whole lines. What is constant is copied
 * before the kernel before has ended. */
#ifndef HN_KERNELS_CUDA_TENSOR_CUH
#define HN_KERNELS_CUDA_TENSOR_CUH

#include "kernels/cuda/tensor/bytes.cuh"

/* ---- clusters: nothing, where there are none ---- */

__device__ __forceinline__ void cluster_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.relaxed.aligned;");
#endif
}
__device__ __forceinline__ void cluster_begun() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void cluster_pushed() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ unsigned member_at(unsigned own, int rank) {
  unsigned there = own;
#if __CUDA_ARCH__ >= 900
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(rank));
#endif
  return there;
}
__device__ __forceinline__ void push_two(unsigned to, float a, float b) {
#if __CUDA_ARCH__ >= 900
  asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(a), "f"(b) : "memory");
#endif
}
__device__ __forceinline__ void push_two(unsigned to, int a, int b) {
#if __CUDA_ARCH__ >= 900
  asm volatile("st.shared::cluster.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(a), "r"(b) : "memory");
#endif
}
__device__ __forceinline__ void store_two(unsigned to, float a, float b) { /* to the own block */
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(a), "f"(b) : "memory");
}
__device__ __forceinline__ void store_two(unsigned to, int a, int b) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(a), "r"(b) : "memory");
}

/* ---- tiles ---- */

__device__ __forceinline__ int divided(int n, hn_cuda_divisor d) {
  return d.by ? (int)(__umulhi(n, d.by) >> d.shift) : n;
}

/* Where this block is, and the rows of its tile that it owns: rank, rank + split, ... */
template <typename C> struct tensor_place {
  int rank, split, rows_each, group, m0, n0, first, count; /* first, count: of its blocks of k */

  __device__ __forceinline__ tensor_place(const hn_cuda_tensor &a) {
    split = a.split;
    const int tile = divided(blockIdx.x, a.by_split), m_tile = divided(tile, a.by_n_tiles);
    const int n_tile = tile - m_tile * a.n_tiles;
    rank = blockIdx.x - tile * split;
    rows_each = divided(C::BM + split - 1, a.by_split);
    group = divided(n_tile, a.by_group_tiles);
    m0 = m_tile * C::BM;
    n0 = (n_tile - group * a.group_tiles) * C::BN;
    first = divided(a.blocks * rank, a.by_split);
    count = divided(a.blocks * (rank + 1), a.by_split) - first;
  }
};

/* One row's sums of this lane, every eighth column of `columns` eights, to the member that owns the row. */
template <typename C, int columns, typename S>
__device__ __forceinline__ void put_row(unsigned sums, const tensor_place<C> &p, int q, int column, const S *v) {
  const int row = p.split == 1 ? q : p.rank * p.rows_each + q / p.split;
  const unsigned own = sums + (row * C::sums + column) * 4;
  const unsigned to = p.split == 1 ? own : member_at(own, q % p.split);
#pragma unroll
  for (int j = 0; j < columns; ++j)
    if (p.split == 1)
      store_two(to + j * 32, v[j * 4], v[j * 4 + 1]);
    else
      push_two(to + j * 32, v[j * 4], v[j * 4 + 1]);
}

/* ---- what follows the sums ---- */

__device__ __forceinline__ void add_floats(float (&v)[8], const float *from) {
  const float4 a = *(const float4 *)from, b = *(const float4 *)(from + 4);
  v[0] += a.x, v[1] += a.y, v[2] += a.z, v[3] += a.w;
  v[4] += b.x, v[5] += b.y, v[6] += b.z, v[7] += b.w;
}

/* x times the normal distribution's integral: within 2^-14 where it is rounded to halves, and 6e-9 absolutely below -6
 * (kernels/cpu/vecmath_half.inc.h, which is as exact, says why: the logarithm of the tail is all but a parabola). */
__device__ __forceinline__ float gelu_of_halves(float x) {
  float a, p, tail, above;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(a) : "f"(fabsf(x)), "f"(6.0f)); /* infinite values times no tail were NaN */
  p = fmaf(a, 2.29900272e-5f, -6.11101295e-4f);
  p = fmaf(a, p, 7.19558947e-3f);
  p = fmaf(a, p, -5.11854752e-2f);
  p = fmaf(a, p, -4.61271588e-1f);
  p = fmaf(a, p, -1.15017459f);
  p = fmaf(a, p, -1.00006470f);
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(tail) : "f"(p));
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(above) : "f"(x), "f"(0.0f));
  return fmaf(-a, tail, above);
}

template <int count> __device__ __forceinline__ void activate_piece(float (&v)[count], const hn_cuda_tensor &a) {
  if (a.act == HN_ACTIVATION_NONE) return;
  if (a.act == HN_ACTIVATION_RELU) {
#pragma unroll
    for (int j = 0; j < count; ++j) v[j] = activated(HN_ACTIVATION_RELU, 0, 0, v[j]);
  } else if (a.act == HN_ACTIVATION_CLIP) {
#pragma unroll
    for (int j = 0; j < count; ++j) v[j] = activated(HN_ACTIVATION_CLIP, a.alpha, a.beta, v[j]);
  } else if (a.act == HN_ACTIVATION_GELU && !a.is_wide) {
#pragma unroll
    for (int j = 0; j < count; ++j) v[j] = gelu_of_halves(v[j]);
  } else {
#pragma unroll 1
    for (int j = 0; j < count / 2; ++j) { /* two at a time, in turns: a copy of them all for each would be much code */
      const float first = activated(a.act, a.alpha, a.beta, v[0]), second = activated(a.act, a.alpha, a.beta, v[1]);
#pragma unroll
      for (int i = 0; i < count - 2; ++i) v[i] = v[i + 2];
      v[count - 2] = first, v[count - 1] = second;
    }
  }
}

template <typename C>
__device__ __forceinline__ void copy_bias(unsigned to, const float *bias, const hn_cuda_tensor &a,
                                          const tensor_place<C> &p) {
  const int c = threadIdx.x * 4;
  if (c >= C::BN || p.n0 + c >= a.n) return;
  copy_sixteen(to + c * 4, bias + p.group * a.n + p.n0 + c, true);
  if (C::vectors > 1) copy_sixteen(to + (C::BN + c) * 4, bias + a.scales_at + p.group * a.n + p.n0 + c, true);
}

/* Where it is to lie in shared memory; else it is read when it is needed. */
template <typename T, typename C>
__device__ __forceinline__ void copy_residual(unsigned to, const T *residual, const hn_cuda_tensor &a,
                                              const tensor_place<C> &p) {
  if (!residual || !a.residual_at) return;
  for (int i = threadIdx.x; i < p.rows_each * C::pieces; i += C::threads) {
    const int q = i / C::pieces * p.split + p.rank, n = p.n0 + i % C::pieces * kind_of<T>::piece;
    if (q < C::BM && p.m0 + q < a.m && n < a.n)
      copy_sixteen(to + i * 16, residual + (size_t)(p.m0 + q) * a.out_pitch + p.group * a.n + n, true);
  }
}

/* Sixteen bytes of an output, from channel n on, and how they come from sums of halves: biases, residual, activation.
 */
template <typename T, typename C> struct piece_of {
  static __device__ __forceinline__ void store(void *y, size_t to, int n, const unsigned char *shared,
                                               const float *sums, uint4 residual, int column, int step, bool adds,
                                               const hn_cuda_tensor &a, int split) {
    float v[8];
    widen_eight<T>(v, residual);
    add_floats(v, (const float *)shared + column); /* biases */
    for (int r = 0; r < split; ++r) add_floats(v, sums + r * step);
    activate_piece(v, a);
    if (a.is_wide) {
#pragma unroll
      for (int j = 0; j < 8; ++j)
        if (n + j < a.n) ((float *)y)[to + j] = v[j];
    } else {
#pragma unroll
      for (int j = 0; j < 8; ++j) v[j] = n + j < a.n ? v[j] : 0;
      *(uint4 *)((T *)y + to) = narrow_eight<T>(v);
    }
  }
};
/* Four values of f32; wide: rows of any length, which are stored one by one. */
template <typename C> struct piece_of<tf32, C> {
  static __device__ __forceinline__ void store(void *y, size_t to, int n, const unsigned char *shared,
                                               const float *sums, uint4 residual, int column, int step, bool adds,
                                               const hn_cuda_tensor &a, int split) {
    const float4 bias = ((const float4 *)shared)[column / 4];
    float v[4] = {__uint_as_float(residual.x) + bias.x, __uint_as_float(residual.y) + bias.y,
                  __uint_as_float(residual.z) + bias.z, __uint_as_float(residual.w) + bias.w};
    for (int r = 0; r < split; ++r) {
      const float4 more = *(const float4 *)(sums + r * step);
      v[0] += more.x, v[1] += more.y, v[2] += more.z, v[3] += more.w;
    }
    activate_piece(v, a);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (n + j >= a.n) v[j] = 0;
      if (a.is_wide && n + j < a.n) ((float *)y)[to + j] = v[j];
    }
    if (!a.is_wide) *(float4 *)((float *)y + to) = make_float4(v[0], v[1], v[2], v[3]);
  }
};
/* From sums of bytes: requantised, four at a time; or the sums themselves. */
template <typename T, typename C> struct byte_piece_of {
  template <int way>
  static __device__ __forceinline__ void requantise(void *y, size_t to, int n, const unsigned char *shared,
                                                    const int4 (&v)[4], uint4 residual, int column,
                                                    const hn_cuda_tensor &a) {
    const unsigned added[4] = {residual.x, residual.y, residual.z, residual.w};
    unsigned out[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float4 scale = ((const float4 *)shared)[(C::BN + column) / 4 + i];
      out[i] = requantised_four<T, way>(v[i], scale, added[i], a.bytes) & there_of(a.n - n - i * 4);
    }
    *(uint4 *)((T *)y + to) = make_uint4(out[0], out[1], out[2], out[3]);
  }
  static __device__ __forceinline__ void store(void *y, size_t to, int n, const unsigned char *shared,
                                               const float *sums, uint4 residual, int column, int step, bool adds,
                                               const hn_cuda_tensor &a, int split) {
    int4 v[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = ((const int4 *)shared)[column / 4 + i]; /* what the sums begin with */
    for (int r = 0; r < split; ++r)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int4 more = *(const int4 *)(sums + r * step + i * 4);
        v[i].x += more.x, v[i].y += more.y, v[i].z += more.z, v[i].w += more.w;
      }
    if (a.is_wide) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int all[4] = {v[i].x, v[i].y, v[i].z, v[i].w};
#pragma unroll
        for (int j = 0; j < 4; ++j)
          if (n + i * 4 + j < a.n) ((int *)y)[to + i * 4 + j] = all[j];
      }
      return;
    }
    switch (requantising_of(adds, a.bytes)) {
    case REQUANTISE_PLAIN: return requantise<REQUANTISE_PLAIN>(y, to, n, shared, v, residual, column, a);
    case REQUANTISE_BOUNDED: return requantise<REQUANTISE_BOUNDED>(y, to, n, shared, v, residual, column, a);
    case REQUANTISE_ADDED: return requantise<REQUANTISE_ADDED>(y, to, n, shared, v, residual, column, a);
    default: return requantise<REQUANTISE_ADDED_LAST>(y, to, n, shared, v, residual, column, a);
    }
  }
};
template <typename C> struct piece_of<u8, C> : byte_piece_of<u8, C> {};
template <typename C> struct piece_of<i8, C> : byte_piece_of<i8, C> {};

/* The rows that this block owns: adds the members' sums, and what follows them; stores. */
template <typename T, typename C>
__device__ __forceinline__ void finish(void *y, const unsigned char *shared, const float *sums, const T *residual,
                                       const hn_cuda_tensor &a, const tensor_place<C> &p) {
  constexpr int piece = kind_of<T>::piece;
  const auto fetch =
      [&](int i) { /* of the residual, one turn ahead */
                   const int q = i / C::pieces * p.split + p.rank, n = p.n0 + i % C::pieces * piece;
                   if (!residual || i >= p.rows_each * C::pieces || q >= C::BM || p.m0 + q >= a.m || n >= a.n)
                     return uint4{};
                   if (a.residual_at) return ((const uint4 *)(shared + a.residual_at))[i];
                   return *(const uint4 *)(residual + (size_t)(p.m0 + q) * a.out_pitch + p.group * a.n + n);
      };
  uint4 next = fetch(threadIdx.x);
#pragma unroll 1
  for (int i = threadIdx.x; i < p.rows_each * C::pieces; i += C::threads) {
    const int row = i / C::pieces, column = i % C::pieces * piece, q = row * p.split + p.rank, n = p.n0 + column;
    const uint4 now = next;
    next = fetch(i + C::threads);
    if (q >= C::BM || p.m0 + q >= a.m || n >= a.n) continue;
    const size_t to = (size_t)(p.m0 + q) * a.out_pitch + p.group * a.n + n;
    piece_of<T, C>::store(y, to, n, shared, sums + row * C::sums + column, now, column, p.rows_each * C::sums,
                          residual != NULL, a, p.split);
  }
}

#endif
