/* SPDX-License-Identifier: Apache-2.0 */
/* stages.cuh - tiles multiplied by mma.sync out of `ST` stages, into which blocks of k are copied ahead. A chunk of
 * sixteen bytes (of images of up to four channels: their first four values) belongs to one tap, so that each thread
 * walks over taps and channels by additions alone. */
#include "kernels/cuda/tensor/tensor.cuh"

template <typename T, int bm, int bn, int wm, int wn, int stages, int values = kind_of<T>::piece> struct tensor_tile {
  static constexpr int BM = bm, BN = bn, WM = wm, WN = wn, ST = stages, V = values, columns = kind_of<T>::row / V;
  static constexpr int threads = (BM / WM) * (BN / WN) * 32, stage = (BM + BN) * 128;
  static constexpr int sums = BN + 8; /* floats from row to row */
  /* Of each thread, which keeps its column; `apart`: rows from one of the image's to the next. */
  static constexpr int a_rows = BM * columns / threads, b_rows = BN * 8 / threads, apart = threads / columns;
  static constexpr int pieces = BN / kind_of<T>::piece, vectors = kind_of<T>::vectors;
  static constexpr int front = BN * 4 * vectors; /* bytes of biases, before the stages */
  static_assert(a_rows >= 1 && b_rows >= 1, "the tile is too small for its threads");
  static_assert(apart % 8 == 0, "the rows of a thread are mixed alike");
};

/* Row of 128 bytes in eight chunks of sixteen bytes, which are mixed by the row: no bank is met twice. */
__device__ __forceinline__ unsigned chunk_at(int row, int chunk) { return row * 128 + ((chunk ^ (row & 7)) << 4); }

/* As copy_sixteen, of so many bytes. */
template <int bytes> __device__ __forceinline__ void copy_values(unsigned to, const void *from, bool valid) {
  if constexpr (bytes == 16)
    copy_sixteen(to, from, valid);
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to), "l"(from), "r"(valid ? bytes : 0),
                 "n"(bytes));
}
/* What pads are, where they are not zeros: four bytes, again and again. */
template <int bytes> __device__ __forceinline__ void fill_values(unsigned to, unsigned four) {
  if constexpr (bytes == 16)
    asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(to), "r"(four) : "memory");
  else
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(four) : "memory");
}

/* ---- operands ---- */

/* Copies one column of chunks of the images' blocks of k, one block after the other. */
template <typename T, typename C> struct image_walk {
  const T *x;
  const hn_cuda_tensor &a;
  int from[C::a_rows], y[C::a_rows], x_at[C::a_rows]; /* of the window's first tap */
  int c, tap_x, tap_y;

  __device__ __forceinline__ image_walk(const T *image, const hn_cuda_tensor &args, int group, int m0, int k_block)
      : x(image), a(args) {
    const int k = k_block * kind_of<T>::row + threadIdx.x % C::columns * C::V, tap = divided(k, a.by_depth);
    c = k - tap * a.depth;
    tap_y = divided(tap, a.by_kernel_w);
    tap_x = tap - tap_y * a.kernel_w;
#pragma unroll
    for (int i = 0; i < C::a_rows; ++i) {
      const int p = m0 + threadIdx.x / C::columns + i * C::apart, number = divided(p, a.by_plane);
      const int q = p - number * a.out_h * a.out_w, out_y = divided(q, a.by_out_w);
      y[i] = out_y * a.stride_h - a.pad_h;
      x_at[i] = (q - out_y * a.out_w) * a.stride_w - a.pad_w;
      from[i] = ((number * a.in_h + y[i]) * a.in_w + x_at[i]) * a.in_pitch + group * a.depth;
      if (p >= a.m) y[i] = -(1 << 28);
    }
  }
  __device__ __forceinline__ void copy(unsigned to) {
    const int over = tap_y * a.dilation_h, along = tap_x * a.dilation_w;
    const int step = (over * a.in_w + along) * a.in_pitch + c;
    constexpr int bytes = C::V * (int)sizeof(T);
    const int column = threadIdx.x % C::columns * bytes;
    to += chunk_at(threadIdx.x / C::columns, column / 16) + column % 16;
#pragma unroll
    for (int i = 0; i < C::a_rows; ++i) {
      const bool inside = tap_y < a.kernel_h && (unsigned)(y[i] + over) < (unsigned)a.in_h &&
                          (unsigned)(x_at[i] + along) < (unsigned)a.in_w;
      if (sizeof(T) == 1 && !inside && a.bytes.pad)
        fill_values<bytes>(to + i * C::apart * 128, a.bytes.pad);
      else
        copy_values<bytes>(to + i * C::apart * 128, inside ? x + from[i] + step : x, inside);
    }
    c += a.step_c;
    tap_x += a.step_x;
    tap_y += a.step_y;
    if (c >= a.depth) c -= a.depth, ++tap_x;
    if (tap_x >= a.kernel_w) tap_x -= a.kernel_w, ++tap_y;
  }
};

/* The same of the weights: rows of output channels, each of whole blocks. */
template <typename T, typename C> struct weight_walk {
  const T *at;
  int pitch, rows; /* rows: that are there */

  __device__ __forceinline__ weight_walk(const T *w, const hn_cuda_tensor &a, int group, int n0, int k_block) {
    pitch = a.blocks * kind_of<T>::row;
    const int row = n0 + threadIdx.x / 8;
    rows = a.n - row;
    at = w + (size_t)(group * a.n + min(row, a.n - 1)) * pitch + k_block * kind_of<T>::row +
         threadIdx.x % 8 * kind_of<T>::piece;
  }
  __device__ __forceinline__ void copy(unsigned to) {
    to += chunk_at(threadIdx.x / 8, threadIdx.x % 8);
#pragma unroll
    for (int i = 0; i < C::b_rows; ++i) {
      const bool inside = i * (C::threads / 8) < rows;
      copy_sixteen(to + i * (C::threads * 16), inside ? at + (size_t)(i * (C::threads / 8)) * pitch : at, inside);
    }
    at += kind_of<T>::row;
  }
};

/* ---- the product ---- */

template <typename T, typename C> struct tensor_sums {
  typename kind_of<T>::sum v[C::WM / 16][C::WN / 8][4];
  int wm, wn; /* of this warp in the tile */

  __device__ __forceinline__ tensor_sums() {
    const int warp = threadIdx.x / 32;
    wm = warp / (C::BN / C::WN) * C::WM;
    wn = warp % (C::BN / C::WN) * C::WN;
#pragma unroll
    for (int i = 0; i < C::WM / 16; ++i)
#pragma unroll
      for (int j = 0; j < C::WN / 8; ++j) v[i][j][0] = v[i][j][1] = v[i][j][2] = v[i][j][3] = 0;
  }
  /* Of one block of k. `meanwhile` is done when the first fragments are on their way. */
  template <typename F> __device__ __forceinline__ void multiply(unsigned a, unsigned b, F meanwhile) {
    unsigned left[2][C::WM / 16][4], right[2][C::WN / 16][4];
    load(left[0], right[0], a, b, 0);
    meanwhile();
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int now = k & 1;
      if (k < 3) load(left[1 - now], right[1 - now], a, b, k + 1);
#pragma unroll
      for (int i = 0; i < C::WM / 16; ++i)
#pragma unroll
        for (int j = 0; j < C::WN / 16; ++j) {
          multiply_add<T>(v[i][2 * j], left[now][i], right[now][j][0], right[now][j][1]);
          multiply_add<T>(v[i][2 * j + 1], left[now][i], right[now][j][2], right[now][j][3]);
        }
    }
  }
  __device__ __forceinline__ void load(unsigned (&left)[C::WM / 16][4], unsigned (&right)[C::WN / 16][4], unsigned a,
                                       unsigned b, int k) const {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < C::WM / 16; ++i) {
      load_four(left[i], a + chunk_at(wm + i * 16 + (lane & 15), k * 2 + (lane >> 4)));
      round_four<T>(left[i]);
    }
#pragma unroll
    for (int j = 0; j < C::WN / 16; ++j)
      load_four(right[j], b + chunk_at(wn + j * 16 + (lane & 7) + (lane >> 4) * 8, k * 2 + ((lane >> 3) & 1)));
  }
  __device__ __forceinline__ void put(unsigned sums, const tensor_place<C> &p) const {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < C::WM / 16; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        put_row<C, C::WN / 8>(sums, p, wm + i * 16 + (lane >> 2) + half * 8, wn + (lane & 3) * 2,
                              &v[i][0][0] + half * 2);
  }
};

/* Blocks: split x (tiles of channels) x (tiles of outputs), the first running fastest. Shared memory: biases, stages,
 * sums (of one block alone: over the stages), residual. */
template <typename T, typename C>
__device__ __forceinline__ void tensor_product(void *y, const T *x, const T *w, const float *bias, const T *residual,
                                               const hn_cuda_tensor &a) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const unsigned base = shared_at(shared) + C::front;
  const tensor_place<C> p(a);
  weight_walk<T, C> weights(w, a, p.group, p.n0, p.first);
  copy_bias(shared_at(shared), bias, a, p);
#pragma unroll
  for (int s = 0; s < C::ST - 1; ++s)
    if (s < p.count) weights.copy(base + s * C::stage + C::BM * 128);
  if (p.split > 1) cluster_begin();
  image_walk<T, C> image(x, a, p.group, p.m0, p.first);
  wait_for_previous();
#pragma unroll
  for (int s = 0; s < C::ST - 1; ++s) {
    if (s < p.count) image.copy(base + s * C::stage);
    if (s == C::ST - 2) copy_residual<T, C>(shared_at(shared) + a.residual_at, residual, a, p);
    copy_commit();
  }
  let_next_begin();
  tensor_sums<T, C> sums;
  int now = 0, ahead = C::ST - 1;
  for (int block = 0; block < p.count; ++block) {
    copy_wait<C::ST - 2>();
    __syncthreads();
    const unsigned stage = base + now * C::stage, next = base + ahead * C::stage;
    sums.multiply(stage, stage + C::BM * 128, [&] {
      if (block + C::ST - 1 < p.count) {
        weights.copy(next + C::BM * 128);
        image.copy(next);
      }
      copy_commit();
    });
    now = now + 1 == C::ST ? 0 : now + 1;
    ahead = ahead + 1 == C::ST ? 0 : ahead + 1;
  }
  const bool is_alone = p.split == 1;
  copy_wait<0>();
  if (is_alone)
    __syncthreads(); /* its sums go over the stages */
  else
    cluster_begun(); /* theirs behind them: others push while this one multiplies */
  const unsigned at = C::front + (is_alone ? 0 : C::ST * C::stage);
  sums.put(shared_at(shared) + at, p);
  if (is_alone)
    __syncthreads();
  else
    cluster_pushed();
  finish<T, C>(y, shared, (const float *)(shared + at), residual, a, p);
}
