/* SPDX-License-Identifier: Apache-2.0 */
/* bulk.cuh - tiles multiplied by warpgroups, 64 rows each (sm_90a). One thread copies boxes of tensors: windows,
 * strides and pads of the pixels are the copy's, which walks over the images itself (im2col mode) and fills zeros
 * outside. Blocks of k are 128 bytes of the channels of one tap: as many a tap as it takes. */
#include "kernels/cuda/tensor/maps.h"
#include "kernels/cuda/tensor/tensor.cuh"
#include "kernels/cuda/tensor/wgmma.cuh"

template <typename T, int groups, int bn, int stages> struct bulk_tile {
  static constexpr int G = groups, BM = groups * 64, BN = bn, ST = stages;
  static constexpr int threads = groups * 128 + 32, stage = (BM + BN) * 128;
  static constexpr int row = kind_of<T>::row, pieces = BN / kind_of<T>::piece, vectors = kind_of<T>::vectors;
  static constexpr int sums = BN + 8; /* words from row to row */
  static constexpr int barriers = BN * 4 * vectors, front = (barriers + ST * 16 + 1023) / 1024 * 1024; /* biases, too */
};

/* The thread that copies. */
template <typename C> struct bulk_copies {
  const hn_cuda_tensor_maps &maps;
  unsigned full, empty, base; /* barriers; the first stage */
  int k, row, c, c_from, c_end, tap_x, tap_y, w, h, image;
  const hn_cuda_tensor &a;

  __device__ __forceinline__ bulk_copies(const hn_cuda_tensor_maps &of, unsigned shared, const hn_cuda_tensor &args,
                                         const tensor_place<C> &p)
      : maps(of), full(shared + C::barriers), empty(full + C::ST * 8), base(shared + C::front), a(args) {
    const int tap = divided(p.first, a.by_per_tap);
    c_from = p.group * a.depth;
    c_end = c_from + a.per_tap * C::row;
    c = c_from + (p.first - tap * a.per_tap) * C::row;
    tap_y = divided(tap, a.by_kernel_w);
    tap_x = tap - tap_y * a.kernel_w;
    image = divided(p.m0, a.by_plane);
    const int q = p.m0 - image * a.out_h * a.out_w, y = divided(q, a.by_out_w);
    h = y * a.stride_h - a.pad_h;
    w = (q - y * a.out_w) * a.stride_w - a.pad_w;
    k = p.first * C::row;
    row = p.group * a.n + p.n0;
  }
  __device__ __forceinline__ void copy_weights(int s) {
    barrier_expect(full + s * 8, C::stage);
    copy_rows(base + s * C::stage + C::BM * 128, &maps.w, full + s * 8, k, row);
    k += C::row;
  }
  __device__ __forceinline__ void copy_image(int s) {
    copy_pixels(base + s * C::stage, &maps.x, full + s * 8, c + tap_y * a.band, w, h, image, tap_x * a.dilation_w,
                tap_y * a.dilation_h);
    c += C::row;
    if (c < c_end) return;
    c = c_from;
    if (++tap_x == a.kernel_w) tap_x = 0, ++tap_y;
  }
};

template <typename T, typename C> struct bulk_sums {
  typename kind_of<T>::sum v[C::BN / 2];

  __device__ __forceinline__ bulk_sums() {
#pragma unroll
    for (int i = 0; i < C::BN / 2; ++i) v[i] = 0;
  }
  /* The compiler must not move them across what is asynchronous. */
  __device__ __forceinline__ void pin() {
#pragma unroll
    for (int i = 0; i < C::BN / 2; ++i) pin_sum(v[i]);
  }
  __device__ __forceinline__ void multiply(unsigned shared, int count) {
    const unsigned full = shared + C::barriers, empty = full + C::ST * 8;
    const unsigned own = shared + C::front + threadIdx.x / 128 * 64 * 128, right = shared + C::front + C::BM * 128;
    int s = 0, parity = 0, before = 0;
    for (int block = 0; block < count; ++block) {
      barrier_wait(full + s * 8, parity);
      const unsigned long long a = matrix_at(own + s * C::stage), b = matrix_at(right + s * C::stage);
      pin();
      group_begin();
#pragma unroll
      for (int k = 0; k < 4; ++k) multiply_group<T, C::BN>(v, a + k * 2, b + k * 2);
      group_commit();
      group_wait<1>(); /* the block before is done: its stage is free */
      if (block > 0 && threadIdx.x % 128 == 0) barrier_arrive(empty + before * 8);
      before = s;
      if (++s == C::ST) s = 0, parity ^= 1;
    }
    group_wait<0>();
    pin();
  }
  __device__ __forceinline__ void put(unsigned sums, const tensor_place<C> &p) const {
    const int lane = threadIdx.x % 32, q = threadIdx.x / 128 * 64 + threadIdx.x / 32 % 4 * 16 + (lane >> 2);
#pragma unroll
    for (int half = 0; half < 2; ++half) put_row<C, C::BN / 8>(sums, p, q + half * 8, (lane & 3) * 2, v + half * 2);
  }
};

/* Blocks, and shared memory, as of stages.cuh, with barriers behind the biases. */
template <typename T, typename C>
__device__ __forceinline__ void bulk_product(void *y, const hn_cuda_tensor_maps &maps, const float *bias,
                                             const T *residual, const hn_cuda_tensor &a) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const unsigned base = shared_at(shared);
  const tensor_place<C> p(a);
  const bool copies_boxes = threadIdx.x == C::G * 128;
  bulk_copies<C> copies(maps, base, a, p);
  if (copies_boxes) {
    fetch_map(&maps.w);
    fetch_map(&maps.x);
    for (int s = 0; s < C::ST; ++s) {
      barrier_make(copies.full + s * 8, 1);
      barrier_make(copies.empty + s * 8, C::G);
    }
    barriers_made();
    for (int s = 0; s < C::ST && s < p.count; ++s) copies.copy_weights(s);
  }
  __syncthreads();
  if (p.split > 1) cluster_begin();
  copy_bias(base, bias, a, p);
  wait_for_previous();
  if (copies_boxes) {
    for (int s = 0; s < C::ST && s < p.count; ++s) copies.copy_image(s);
    let_next_begin();
  }
  copy_residual<T, C>(base + a.residual_at, residual, a, p);
  copy_commit();
  bulk_sums<T, C> sums;
  if (copies_boxes) {
    for (int block = C::ST, s = 0, parity = 0; block < p.count; ++block) {
      barrier_wait(copies.empty + s * 8, parity);
      copies.copy_weights(s);
      copies.copy_image(s);
      if (++s == C::ST) s = 0, parity ^= 1;
    }
  } else if (threadIdx.x < C::G * 128) {
    sums.multiply(base, p.count);
  }
  __syncwarp();
  const bool is_alone = p.split == 1;
  copy_wait<0>();
  if (is_alone)
    __syncthreads(); /* its sums go over the stages */
  else
    cluster_begun(); /* theirs behind them */
  const unsigned at = C::front + (is_alone ? 0 : C::ST * C::stage);
  if (threadIdx.x < C::G * 128) sums.put(base + at, p);
  if (is_alone)
    __syncthreads();
  else
    cluster_pushed();
  finish<T, C>(y, shared, (const float *)(shared + at), residual, a, p);
}
