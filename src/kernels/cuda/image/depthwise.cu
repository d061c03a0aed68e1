/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise.cu - convolutions of one channel a group over images with their channels last. A thread has eight channels
 * of P pixels beside each other: what they read in common is loaded and widened once. Sums are f32, by rows of taps.
 * Packed are the weights as rows of `pitch` channels, a tap each, and behind them the bias in f32. */
#include "kernels/cuda/image/eight.cuh"

#define THREADS 128
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)

struct place {
  int image, y, x, channel; /* x: the first of P */
};

__device__ __forceinline__ bool find(const hn_cuda_image_window &a, int pixels, place *out) {
  const unsigned i = blockIdx.x * THREADS + threadIdx.x, eights = (unsigned)a.pitch / 8;
  const unsigned tile = i / eights, row = tile / (unsigned)a.tiles;
  out->channel = (int)(i - tile * eights) * 8;
  out->x = (int)(tile - row * (unsigned)a.tiles) * pixels;
  out->image = (int)(row / (unsigned)a.window.out_h);
  out->y = (int)row - out->image * a.window.out_h;
  return i < a.threads;
}

__device__ __forceinline__ void load_bias(float (&out)[8], const void *packed, int taps, int pitch, int channel) {
  const float4 *bias = (const float4 *)((const float *)((const f16 *)packed + (size_t)taps * pitch) + channel);
  *(float4 *)out = bias[0];
  *(float4 *)(out + 4) = bias[1];
}

template <typename T>
__device__ __forceinline__ void finish(T *y, const T *residual, float (&sum)[8], const place &s, int x,
                                       const hn_cuda_image_window &a) {
  const size_t at = (((size_t)s.image * a.window.out_h + s.y) * a.window.out_w + x) * a.pitch + s.channel;
  if (residual) {
    float more[8];
    widen_eight<T>(more, *(const uint4 *)(residual + at));
#pragma unroll
    for (int k = 0; k < 8; ++k) sum[k] += more[k];
  }
  activate_eight(sum, a.act, a.alpha, a.beta);
  clear_tail(sum, s.channel, a.window.channels);
  *(uint4 *)(y + at) = narrow_eight<T>(sum);
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

/* sum[p] += the row under the taps of pixel p. */
template <typename T, int K, int S, int P>
__device__ __forceinline__ void add_row(float (&sum)[P][8], const uint4 (&row)[(P - 1) * S + K],
                                        const uint4 (&taps)[K]) {
  float factor[K][8];
#pragma unroll
  for (int j = 0; j < K; ++j) widen_eight<T>(factor[j], taps[j]);
#pragma unroll
  for (int c = 0; c < (P - 1) * S + K; ++c) {
    float wide[8];
    widen_eight<T>(wide, row[c]);
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

/* One or two pixels a thread are for small batches: all rows are on their way before the first is needed, so that this
 * is one wait for memory, not K. */
template <typename T, int K, int S, int P>
__device__ __forceinline__ void add_rows(float (&sum)[P][8], const T *x, const T *packed, int top, int left,
                                         const hn_cuda_image_window &a) {
  enum { COLUMNS = (P - 1) * S + K, EARLY = P < 4, TAPS_EARLY = EARLY && K < 5 };
  uint4 in[EARLY ? K : 1][COLUMNS], taps[TAPS_EARLY ? K : 1][K];
  if (TAPS_EARLY)
#pragma unroll
    for (int i = 0; i < K; ++i) load_taps(taps[TAPS_EARLY ? i : 0], packed, i, a.pitch);
  wait_for_previous();
  if (EARLY)
#pragma unroll
    for (int i = 0; i < K; ++i) load_row(in[EARLY ? i : 0], x, top + i, left, a.window, a.pitch);
  if (EARLY) let_next_begin();
#pragma unroll
  for (int i = 0; i < K; ++i) {
    if (!EARLY) load_row(in[0], x, top + i, left, a.window, a.pitch);
    if (!TAPS_EARLY) load_taps(taps[0], packed, i, a.pitch);
    add_row<T, K, S, P>(sum, in[EARLY ? i : 0], taps[TAPS_EARLY ? i : 0]);
  }
  if (!EARLY) let_next_begin();
}

template <typename T, int K, int S, int P>
__device__ __forceinline__ void depthwise(T *y, const T *x, const T *packed, const T *residual,
                                          const hn_cuda_image_window &a) {
  const hn_cuda_window &w = a.window;
  place s;
  if (!find(a, P, &s)) return;
  float sum[P][8];
  load_bias(sum[0], packed, K * K, a.pitch, s.channel);
#pragma unroll
  for (int p = 1; p < P; ++p)
#pragma unroll
    for (int k = 0; k < 8; ++k) sum[p][k] = sum[0][k];
  x += ((size_t)s.image * w.in_h * w.in_w) * a.pitch + s.channel;
  add_rows<T, K, S, P>(sum, x, packed + s.channel, s.y * w.stride_h - w.pad_h, s.x * S - w.pad_w, a);
#pragma unroll
  for (int p = 0; p < P; ++p)
    if (s.x + p < w.out_w) finish(y, residual, sum[p], s, s.x + p, a);
}

/* Any window, strides and dilations; a pixel a thread. */
template <typename T>
__device__ __forceinline__ void depthwise_any(T *y, const T *x, const T *packed, const T *residual,
                                              const hn_cuda_image_window &a) {
  const hn_cuda_window &w = a.window;
  place s;
  if (!find(a, 1, &s)) return;
  float sum[8];
  load_bias(sum, packed, w.kernel_h * w.kernel_w, a.pitch, s.channel);
  x += ((size_t)s.image * w.in_h * w.in_w) * a.pitch + s.channel;
  wait_for_previous();
  for (int i = 0, row = s.y * w.stride_h - w.pad_h; i < w.kernel_h; ++i, row += w.dilation_h) {
    if (row < 0 || row >= w.in_h) continue;
    for (int j = 0, column = s.x * w.stride_w - w.pad_w; j < w.kernel_w; ++j, column += w.dilation_w) {
      if (column < 0 || column >= w.in_w) continue;
      float wide[8], taps[8];
      widen_eight<T>(wide, *(const uint4 *)(x + (size_t)(row * w.in_w + column) * a.pitch));
      widen_eight<T>(taps, __ldg((const uint4 *)(packed + (i * w.kernel_w + j) * a.pitch + s.channel)));
#pragma unroll
      for (int k = 0; k < 8; ++k) sum[k] += wide[k] * taps[k];
    }
  }
  let_next_begin();
  finish(y, residual, sum, s, s.x, a);
}

#define DEPTHWISE(type, size, stride, pixels)                                                                          \
  KERNEL hn_depthwise_##type##_##size##_##stride##_##pixels(type *y, const type *x, const type *packed,                \
                                                            const type *residual,                                      \
                                                            const __grid_constant__ hn_cuda_image_window a) {          \
    depthwise<type, size, stride, pixels>(y, x, packed, residual, a);                                                  \
  }
#define PIXELS(type, size, stride)                                                                                     \
  DEPTHWISE(type, size, stride, 1) DEPTHWISE(type, size, stride, 2) DEPTHWISE(type, size, stride, 4)
PIXELS(f16, 3, 1)
PIXELS(f16, 3, 2)
PIXELS(f16, 5, 1)
PIXELS(f16, 5, 2)
PIXELS(bf16, 3, 1)
PIXELS(bf16, 3, 2)
PIXELS(bf16, 5, 1)
PIXELS(bf16, 5, 2)

KERNEL hn_depthwise_f16(f16 *y, const f16 *x, const f16 *packed, const f16 *residual,
                        const __grid_constant__ hn_cuda_image_window a) {
  depthwise_any(y, x, packed, residual, a);
}
KERNEL hn_depthwise_bf16(bf16 *y, const bf16 *x, const bf16 *packed, const bf16 *residual,
                         const __grid_constant__ hn_cuda_image_window a) {
  depthwise_any(y, x, packed, residual, a);
}
