/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise.cu - convolutions of one channel a group over images with their channels last. A thread has eight channels
 * of neighbouring pixels: what they read in common is loaded once. Sums are f32, by rows of taps.
 * Packed are the weights as rows of `pitch` channels, a tap each, and behind them the bias in f32. */
#include "kernels/cuda/image/eight.cuh"

#define THREADS 128
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)

struct place {
  int image, y, x, channel; /* y, x: the first */
};

__device__ __forceinline__ bool find(const hn_cuda_image_window &a, int pixels, int rows, place *out) {
  const unsigned i = blockIdx.x * THREADS + threadIdx.x, eights = (unsigned)a.pitch / 8;
  const unsigned tile = i / eights, row = tile / (unsigned)a.tiles;
  out->channel = (int)(i - tile * eights) * 8;
  out->x = (int)(tile - row * (unsigned)a.tiles) * pixels;
  out->image = (int)(row / (unsigned)a.lines);
  out->y = ((int)row - out->image * a.lines) * rows;
  return i < a.threads;
}

template <typename T>
__device__ __forceinline__ void load_bias(float (&out)[8], const T *packed, int taps, int pitch, int channel) {
  load_eight(out, (const float *)(packed + (size_t)taps * pitch) + channel);
}

template <typename T>
__device__ __forceinline__ void finish(T *y, const T *residual, float (&sum)[8], const place &s, int row, int x,
                                       const hn_cuda_image_window &a) {
  const size_t at = (((size_t)s.image * a.window.out_h + row) * a.window.out_w + x) * a.pitch + s.channel;
  if (residual) {
    float more[8];
    load_eight(more, residual + at);
#pragma unroll
    for (int k = 0; k < 8; ++k) sum[k] += more[k];
  }
  activate_eight(sum, a.act, a.alpha, a.beta);
  clear_tail(sum, s.channel, a.window.channels);
  store_eight(y + at, sum);
}

/* Columns `left` to `left` + COUNT of a row; zeros outside. */
template <typename T, int COUNT>
__device__ __forceinline__ void load_row(uint4 (&to)[COUNT], const T *x, int row, int left, const hn_cuda_window &w,
                                         int pitch) {
  const bool inside = row >= 0 && row < w.in_h;
#pragma unroll
  for (int c = 0; c < COUNT; ++c) {
    to[c] = make_uint4(0, 0, 0, 0);
    if (inside && left + c >= 0 && left + c < w.in_w)
      to[c] = *(const uint4 *)(x + (size_t)(row * w.in_w + left + c) * pitch);
  }
}

/* sum[p] += the row under the taps of pixel p: products of f16 are summed in f16 along the row, two at a time. */
template <int K, int S, int P>
__device__ __forceinline__ void add_row(float (&sum)[P][8], const uint4 (&row)[(P - 1) * S + K], const uint4 (&taps)[K],
                                        f16) {
#pragma unroll
  for (int p = 0; p < P; ++p) {
    __half2 all[4];
#pragma unroll
    for (int j = 0; j < K; ++j)
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const __half2 x = ((const __half2 *)&row[p * S + j])[k], w = ((const __half2 *)&taps[j])[k];
        all[k] = j ? __hfma2(x, w, all[k]) : __hmul2(x, w);
      }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float2 two = __half22float2(all[k]);
      sum[p][2 * k] += two.x;
      sum[p][2 * k + 1] += two.y;
    }
  }
}

/* In f32, as bf16 has too few digits for that. */
template <int K, int S, int P>
__device__ __forceinline__ void add_row(float (&sum)[P][8], const uint4 (&row)[(P - 1) * S + K], const uint4 (&taps)[K],
                                        bf16) {
  float factor[K][8];
#pragma unroll
  for (int j = 0; j < K; ++j) widen_eight<bf16>(factor[j], taps[j]);
#pragma unroll
  for (int c = 0; c < (P - 1) * S + K; ++c) {
    float wide[8];
    widen_eight<bf16>(wide, row[c]);
#pragma unroll
    for (int p = 0; p < P; ++p)
#pragma unroll
      for (int k = 0; k < 8; ++k)
        if (c - p * S >= 0 && c - p * S < K) sum[p][k] += wide[k] * factor[c - p * S][k];
  }
}

template <typename T, int K>
__device__ __forceinline__ void load_taps(uint4 (&to)[K], const T *packed, int row, int pitch) {
#pragma unroll
  for (int j = 0; j < K; ++j) to[j] = __ldg((const uint4 *)(packed + (row * K + j) * pitch));
}

/* One row of pixels, for small batches: all that is read is on its way before the first of it is needed, so that this
 * is one wait for memory, not K. */
template <typename T, int K, int S, int P>
__device__ __forceinline__ void add_early(float (&sum)[1][P][8], const T *x, const T *packed, int top, int left,
                                          const hn_cuda_image_window &a) {
  enum { TAPS_EARLY = K < 5 };
  uint4 in[K][(P - 1) * S + K], taps[TAPS_EARLY ? K : 1][K];
  if (TAPS_EARLY)
#pragma unroll
    for (int i = 0; i < K; ++i) load_taps(taps[TAPS_EARLY ? i : 0], packed, i, a.pitch);
  wait_for_previous();
#pragma unroll
  for (int i = 0; i < K; ++i) load_row(in[i], x, top + i, left, a.window, a.pitch);
  let_next_begin();
#pragma unroll
  for (int i = 0; i < K; ++i) {
    if (!TAPS_EARLY) load_taps(taps[0], packed, i, a.pitch);
    add_row<K, S, P>(sum[0], in[i], taps[TAPS_EARLY ? i : 0], T());
  }
}

/* One row of pixels under windows that registers do not hold whole: AHEAD rows are on their way. */
template <typename T, int K, int P>
__device__ __forceinline__ void add_ahead(float (&sum)[1][P][8], const T *x, const T *packed, int top, int left,
                                          const hn_cuda_image_window &a) {
  enum { AHEAD = 3 };
  uint4 in[AHEAD][P - 1 + K];
  wait_for_previous();
#pragma unroll
  for (int i = 0; i < AHEAD; ++i) load_row(in[i], x, top + i, left, a.window, a.pitch);
#pragma unroll
  for (int i = 0; i < K; ++i) {
    uint4 taps[K];
    load_taps(taps, packed, i, a.pitch);
    add_row<K, 1, P>(sum[0], in[i % AHEAD], taps, T());
    if (i + AHEAD < K) load_row(in[i % AHEAD], x, top + i + AHEAD, left, a.window, a.pitch);
  }
  let_next_begin();
}

/* R rows of pixels, for large batches: what is loaded serves all of them, row by row. */
template <typename T, int K, int S, int P, int R>
__device__ __forceinline__ void add_rows(float (&sum)[R][P][8], const T *x, const T *packed, int top, int left,
                                         const hn_cuda_image_window &a) {
  wait_for_previous();
#pragma unroll
  for (int i = 0; i < (R - 1) * S + K; ++i) {
    uint4 in[(P - 1) * S + K];
    load_row(in, x, top + i, left, a.window, a.pitch);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      if (i - r * S < 0 || i - r * S >= K) continue;
      uint4 taps[K];
      load_taps(taps, packed, i - r * S, a.pitch);
      add_row<K, S, P>(sum[r], in, taps, T());
    }
  }
  let_next_begin();
}

/* R x P pixels a thread. EARLY is not for 5 x 5 of bf16, which is widened at once: too many registers. */
template <typename T, int K, int S, int P, int R, bool EARLY = R == 1>
__device__ __forceinline__ void depthwise(T *y, const T *x, const T *packed, const T *residual,
                                          const hn_cuda_image_window &a) {
  const hn_cuda_window &w = a.window;
  place s;
  if (!find(a, P, R, &s)) return;
  float sum[R][P][8];
  load_bias(sum[0][0], packed, K * K, a.pitch, s.channel);
#pragma unroll
  for (int p = 1; p < R * P; ++p)
#pragma unroll
    for (int k = 0; k < 8; ++k) sum[p / P][p % P][k] = sum[0][0][k];
  x += ((size_t)s.image * w.in_h * w.in_w) * a.pitch + s.channel;
  const int top = s.y * w.stride_h - w.pad_h, left = s.x * S - w.pad_w;
  if constexpr (EARLY && K > 5)
    add_ahead<T, K, P>(sum, x, packed + s.channel, top, left, a);
  else if constexpr (EARLY)
    add_early<T, K, S, P>(sum, x, packed + s.channel, top, left, a);
  else
    add_rows<T, K, S, P, R>(sum, x, packed + s.channel, top, left, a);
#pragma unroll
  for (int p = 0; p < R * P; ++p)
    if (s.x + p % P < w.out_w && s.y + p / P < w.out_h)
      finish(y, residual, sum[p / P][p % P], s, s.y + p / P, s.x + p % P, a);
}

/* Any window, strides and dilations; a pixel a thread. K: the extent where it is known, so that a row's taps are all on
 * their way at once. */
template <typename T, int K = 0>
__device__ __forceinline__ void depthwise_any(T *y, const T *x, const T *packed, const T *residual,
                                              const hn_cuda_image_window &a) {
  const hn_cuda_window &w = a.window;
  const int extent_h = K ? K : w.kernel_h, extent_w = K ? K : w.kernel_w;
  place s;
  if (!find(a, 1, 1, &s)) return;
  float sum[8];
  load_bias(sum, packed, extent_h * extent_w, a.pitch, s.channel);
  x += ((size_t)s.image * w.in_h * w.in_w) * a.pitch + s.channel;
  const int left = s.x * w.stride_w - w.pad_w;
  wait_for_previous();
#pragma unroll(K ? K : 1)
  for (int i = 0; i < extent_h; ++i) {
    const int row = s.y * w.stride_h - w.pad_h + i * w.dilation_h;
    if (row < 0 || row >= w.in_h) continue;
#pragma unroll(K ? K : 1)
    for (int j = 0; j < extent_w; ++j) {
      const int column = left + j * w.dilation_w;
      if (column < 0 || column >= w.in_w) continue;
      float wide[8], taps[8];
      load_eight(wide, x + (size_t)(row * w.in_w + column) * a.pitch);
      load_eight(taps, packed + (i * extent_w + j) * a.pitch + s.channel);
#pragma unroll
      for (int k = 0; k < 8; ++k) sum[k] += wide[k] * taps[k];
    }
  }
  let_next_begin();
  finish(y, residual, sum, s, s.y, s.x, a);
}

KERNEL hn_depthwise_f16_3_1_1(f16 *y, const f16 *x, const f16 *packed, const f16 *residual,
                              const __grid_constant__ hn_cuda_image_window a) {
  depthwise<f16, 3, 1, 1, 1>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_f16_3_1_2(f16 *y, const f16 *x, const f16 *packed, const f16 *residual,
                              const __grid_constant__ hn_cuda_image_window a) {
  depthwise<f16, 3, 1, 2, 1>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_f16_3_1_8(f16 *y, const f16 *x, const f16 *packed, const f16 *residual,
                              const __grid_constant__ hn_cuda_image_window a) {
  depthwise<f16, 3, 1, 4, 2>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_f16_3_2_1(f16 *y, const f16 *x, const f16 *packed, const f16 *residual,
                              const __grid_constant__ hn_cuda_image_window a) {
  depthwise<f16, 3, 2, 1, 1>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_f16_3_2_2(f16 *y, const f16 *x, const f16 *packed, const f16 *residual,
                              const __grid_constant__ hn_cuda_image_window a) {
  depthwise<f16, 3, 2, 2, 1>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_f16_5_1_1(f16 *y, const f16 *x, const f16 *packed, const f16 *residual,
                              const __grid_constant__ hn_cuda_image_window a) {
  depthwise<f16, 5, 1, 1, 1>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_f16_5_1_2(f16 *y, const f16 *x, const f16 *packed, const f16 *residual,
                              const __grid_constant__ hn_cuda_image_window a) {
  depthwise<f16, 5, 1, 2, 1>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_f16_5_1_8(f16 *y, const f16 *x, const f16 *packed, const f16 *residual,
                              const __grid_constant__ hn_cuda_image_window a) {
  depthwise<f16, 5, 1, 4, 2>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_f16_5_2_1(f16 *y, const f16 *x, const f16 *packed, const f16 *residual,
                              const __grid_constant__ hn_cuda_image_window a) {
  depthwise<f16, 5, 2, 1, 1>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_f16_5_2_2(f16 *y, const f16 *x, const f16 *packed, const f16 *residual,
                              const __grid_constant__ hn_cuda_image_window a) {
  depthwise<f16, 5, 2, 2, 1>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_f16_7_1_1(f16 *y, const f16 *x, const f16 *packed, const f16 *residual,
                              const __grid_constant__ hn_cuda_image_window a) {
  depthwise<f16, 7, 1, 1, 1>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_f16_7_1_2(f16 *y, const f16 *x, const f16 *packed, const f16 *residual,
                              const __grid_constant__ hn_cuda_image_window a) {
  depthwise<f16, 7, 1, 2, 1>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_f16_7_1_8(f16 *y, const f16 *x, const f16 *packed, const f16 *residual,
                              const __grid_constant__ hn_cuda_image_window a) {
  depthwise<f16, 7, 1, 4, 2>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_bf16_3_1_1(bf16 *y, const bf16 *x, const bf16 *packed, const bf16 *residual,
                               const __grid_constant__ hn_cuda_image_window a) {
  depthwise<bf16, 3, 1, 1, 1>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_bf16_3_1_2(bf16 *y, const bf16 *x, const bf16 *packed, const bf16 *residual,
                               const __grid_constant__ hn_cuda_image_window a) {
  depthwise<bf16, 3, 1, 2, 1>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_bf16_3_1_8(bf16 *y, const bf16 *x, const bf16 *packed, const bf16 *residual,
                               const __grid_constant__ hn_cuda_image_window a) {
  depthwise<bf16, 3, 1, 4, 2>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_bf16_3_2_1(bf16 *y, const bf16 *x, const bf16 *packed, const bf16 *residual,
                               const __grid_constant__ hn_cuda_image_window a) {
  depthwise<bf16, 3, 2, 1, 1>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_bf16_3_2_2(bf16 *y, const bf16 *x, const bf16 *packed, const bf16 *residual,
                               const __grid_constant__ hn_cuda_image_window a) {
  depthwise<bf16, 3, 2, 2, 1>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_bf16_5_1_1(bf16 *y, const bf16 *x, const bf16 *packed, const bf16 *residual,
                               const __grid_constant__ hn_cuda_image_window a) {
  depthwise<bf16, 5, 1, 1, 1, false>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_bf16_5_1_2(bf16 *y, const bf16 *x, const bf16 *packed, const bf16 *residual,
                               const __grid_constant__ hn_cuda_image_window a) {
  depthwise<bf16, 5, 1, 2, 1, false>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_bf16_5_2_1(bf16 *y, const bf16 *x, const bf16 *packed, const bf16 *residual,
                               const __grid_constant__ hn_cuda_image_window a) {
  depthwise<bf16, 5, 2, 1, 1, false>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_bf16_7_1_1(bf16 *y, const bf16 *x, const bf16 *packed, const bf16 *residual,
                               const __grid_constant__ hn_cuda_image_window a) {
  depthwise<bf16, 7, 1, 1, 1>(y, x, packed, residual, a);
}

KERNEL hn_depthwise_f16(f16 *y, const f16 *x, const f16 *packed, const f16 *residual,
                        const __grid_constant__ hn_cuda_image_window a) {
  depthwise_any(y, x, packed, residual, a);
}
KERNEL hn_depthwise_bf16(bf16 *y, const bf16 *x, const bf16 *packed, const bf16 *residual,
                         const __grid_constant__ hn_cuda_image_window a) {
  depthwise_any(y, x, packed, residual, a);
}
KERNEL hn_depthwise_f32(float *y, const float *x, const float *packed, const float *residual,
                        const __grid_constant__ hn_cuda_image_window a) {
  depthwise_any(y, x, packed, residual, a);
}
KERNEL hn_depthwise_f32_3(float *y, const float *x, const float *packed, const float *residual,
                          const __grid_constant__ hn_cuda_image_window a) {
  depthwise_any<float, 3>(y, x, packed, residual, a);
}
KERNEL hn_depthwise_f32_5(float *y, const float *x, const float *packed, const float *residual,
                          const __grid_constant__ hn_cuda_image_window a) {
  depthwise_any<float, 5>(y, x, packed, residual, a);
}
