/* SPDX-License-Identifier: Apache-2.0 */
/* window.cuh - convolutions of images of up to four channels: the part of an image that a tile of 8 x 16 outputs sees
 * is copied once, four channels a pixel, and operands are read from where each tap lies in it. k is four channels a
 * tap. Blocks keep their weights and take tile after tile, whose parts are copied ahead. */
#include "kernels/cuda/tensor/tensor.cuh"

template <int bn> struct window_tile {
  static constexpr int BN = bn, TH = 8, TW = 16, BM = TH * TW, threads = 128, sums = BN + 8, eights = BN / 8;
};

/* What lies where in shared memory, in bytes; the host knows the same: biases, where taps lie, weights, two windows,
 * and sums. */
template <typename C> struct window_place {
  int width, height, steps, pitch; /* of a window, in pixels; k by sixteens; bytes of a row of weights */
  unsigned offsets, weights, windows, sums, window;

  __device__ __forceinline__ window_place(const hn_cuda_tensor &a) {
    width = (C::TW - 1) * a.stride_w + (a.kernel_w - 1) * a.dilation_w + 1;
    height = (C::TH - 1) * a.stride_h + (a.kernel_h - 1) * a.dilation_h + 1;
    steps = (a.kernel_h * a.kernel_w + 3) / 4;
    pitch = steps * 32 + 16;
    window = (width * height * 8 + 15) / 16 * 16;
    offsets = C::BN * 4;
    weights = offsets + steps * 16;
    windows = weights + C::BN * pitch;
    sums = windows + 2 * window;
  }
};

template <typename T, typename C>
__device__ __forceinline__ void copy_window(unsigned to, const T *x, const hn_cuda_tensor &a, const window_place<C> &p,
                                            int tile) {
  const int along = (a.out_w + C::TW - 1) / C::TW, over = (a.out_h + C::TH - 1) / C::TH;
  const int image = tile / (along * over), q = tile - image * along * over, tile_y = q / along;
  const int y0 = tile_y * C::TH * a.stride_h - a.pad_h, x0 = (q - tile_y * along) * C::TW * a.stride_w - a.pad_w;
  for (int i = threadIdx.x; i < p.width * p.height; i += C::threads) {
    const int row = i / p.width, iy = y0 + row, ix = x0 + i - row * p.width;
    const bool inside = (unsigned)iy < (unsigned)a.in_h && (unsigned)ix < (unsigned)a.in_w;
    const T *from = inside ? x + ((size_t)(image * a.in_h + iy) * a.in_w + ix) * a.in_pitch : x;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to + i * 8), "l"(from), "r"(inside ? 8 : 0));
  }
}

/* Weights, biases, and for each tap where it lies; behind the last tap: there, too, its weights are zeros. */
template <typename T, typename C>
__device__ __forceinline__ void copy_constants(unsigned char *shared, const T *w, const float *bias,
                                               const hn_cuda_tensor &a, const window_place<C> &p, int n0) {
  const unsigned base = shared_at(shared);
  const int chunks = p.steps * 2, taps = a.kernel_h * a.kernel_w;
  for (int i = threadIdx.x; i < C::BN * chunks; i += C::threads) {
    const int row = i / chunks, chunk = i - row * chunks;
    const bool inside = n0 + row < a.n;
    copy_sixteen(base + p.weights + row * p.pitch + chunk * 16,
                 inside ? w + (size_t)(n0 + row) * a.blocks * 64 + chunk * 8 : w, inside);
  }
  if (threadIdx.x * 4 < C::BN)
    copy_sixteen(base + threadIdx.x * 16, bias + (n0 + threadIdx.x * 4 < a.n ? n0 + threadIdx.x * 4 : 0), true);
  for (int i = threadIdx.x; i < p.steps * 4; i += C::threads) {
    const int tap = min(i, taps - 1), over = tap / a.kernel_w, along = tap - over * a.kernel_w;
    ((int *)(shared + p.offsets))[i] = (over * a.dilation_h * p.width + along * a.dilation_w) * 8;
  }
}

/* Two rows of sixteen outputs by each warp. */
template <typename T, typename C> struct window_sums {
  float v[2][C::BN / 8][4];

  __device__ __forceinline__ void multiply(const unsigned char *shared, const hn_cuda_tensor &a,
                                           const window_place<C> &p, unsigned window) {
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 2, t = lane & 3;
    const int *offsets = (const int *)(shared + p.offsets) + t / 2;
    const unsigned char *at[2];
#pragma unroll
    for (int i = 0; i < 2; ++i)
      at[i] = shared + window + ((row + i) * a.stride_h * p.width + (lane >> 2) * a.stride_w) * 8 + (t & 1) * 4;
    const int half = 8 * a.stride_w * 8; /* eight outputs further */
    const unsigned weights =
        shared_at(shared) + p.weights + ((lane & 7) + (lane >> 4) * 8) * p.pitch + ((lane >> 3) & 1) * 16;
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < C::BN / 8; ++j) v[i][j][0] = v[i][j][1] = v[i][j][2] = v[i][j][3] = 0;
#pragma unroll 2
    for (int s = 0; s < p.steps; ++s) {
      const int first = offsets[s * 4], second = offsets[s * 4 + 2];
      unsigned left[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        left[i][0] = *(const unsigned *)(at[i] + first);
        left[i][1] = *(const unsigned *)(at[i] + first + half);
        left[i][2] = *(const unsigned *)(at[i] + second);
        left[i][3] = *(const unsigned *)(at[i] + second + half);
      }
#pragma unroll
      for (int j = 0; j < C::BN / 16; ++j) {
        unsigned right[4];
        load_four(right, weights + j * 16 * p.pitch + s * 32);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          multiply_add<T>(v[i][2 * j], left[i], right[0], right[1]);
          multiply_add<T>(v[i][2 * j + 1], left[i], right[2], right[3]);
        }
      }
    }
  }
  __device__ __forceinline__ void put(float *sums) const {
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 2;
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int j = 0; j < C::BN / 8; ++j)
          *(float2 *)(sums + ((row + i) * C::TW + (lane >> 2) + half * 8) * C::sums + j * 8 + (lane & 3) * 2) =
              make_float2(v[i][j][half * 2], v[i][j][half * 2 + 1]);
  }
};

template <typename T, typename C>
__device__ __forceinline__ void store_tile(T *y, const unsigned char *shared, const float *sums,
                                           const hn_cuda_tensor &a, int tile, int n0) {
  const int along = (a.out_w + C::TW - 1) / C::TW, over = (a.out_h + C::TH - 1) / C::TH;
  const int image = tile / (along * over), q = tile - image * along * over, tile_y = q / along;
#pragma unroll 1
  for (int i = threadIdx.x; i < C::BM * C::eights; i += C::threads) {
    const int pixel = i / C::eights, column = i % C::eights * 8, n = n0 + column;
    const int out_y = tile_y * C::TH + pixel / C::TW, out_x = (q - tile_y * along) * C::TW + pixel % C::TW;
    if (out_y >= a.out_h || out_x >= a.out_w || n >= a.n) continue;
    float v[8] = {};
    add_floats(v, (const float *)shared + column);
    add_floats(v, sums + pixel * C::sums + column);
    activate_eight(v, a);
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = n + j < a.n ? v[j] : 0;
    *(uint4 *)(y + ((size_t)(image * a.out_h + out_y) * a.out_w + out_x) * a.out_pitch + n) = narrow_eight<T>(v);
  }
}

/* Blocks: some that take the tiles of outputs in turns, x tiles of channels. */
template <typename T, typename C>
__device__ __forceinline__ void window_product(T *y, const T *x, const T *w, const float *bias,
                                               const hn_cuda_tensor &a) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const window_place<C> p(a);
  const int per_image = (a.out_w + C::TW - 1) / C::TW * ((a.out_h + C::TH - 1) / C::TH);
  const int tiles = a.m / (a.out_h * a.out_w) * per_image, n0 = blockIdx.y * C::BN;
  const unsigned windows = shared_at(shared) + p.windows;
  float *const held = (float *)(shared + p.sums);
  copy_constants<T, C>(shared, w, bias, a, p, n0);
  wait_for_previous();
  copy_window<T, C>(windows, x, a, p, blockIdx.x);
  copy_commit();
  let_next_begin();
  int turn = 0;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, turn ^= 1) {
    if (tile + gridDim.x < tiles) copy_window<T, C>(windows + (turn ^ 1) * p.window, x, a, p, tile + gridDim.x);
    copy_commit();
    copy_wait<1>();
    __syncthreads();
    window_sums<T, C> sums;
    sums.multiply(shared, a, p, p.windows + turn * p.window);
    sums.put(held);
    __syncthreads();
    store_tile<T, C>(y, shared, held, a, tile, n0);
  }
}
