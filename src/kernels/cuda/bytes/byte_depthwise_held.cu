/* SPDX-License-Identifier: Apache-2.0 */
/* held: u8 i8 */
/* byte_depthwise_held.cu - depthwise convolutions of bytes with their channels last, 3 x 3 and 5 x 5:
 * SIZE_STRIDE_PIXELS. A thread has four channels of neighbouring pixels of a row. Of each column of the image the taps
 * of a channel are brought side by side, so that four products are one instruction, and all pixels that read the column
 * share that. */
#include "kernels/cuda/bytes/sixteen.cuh"
#include "kernels/cuda/bytes/window.h"

/* Byte k of each of four words, the first lowest, for k = 0 to 3. */
__device__ __forceinline__ void transpose(unsigned (&out)[4], const unsigned (&in)[4]) {
  const unsigned low = __byte_perm(in[0], in[1], 0x5140), high = __byte_perm(in[0], in[1], 0x7362);
  const unsigned more_low = __byte_perm(in[2], in[3], 0x5140), more_high = __byte_perm(in[2], in[3], 0x7362);
  out[0] = __byte_perm(low, more_low, 0x5410), out[1] = __byte_perm(low, more_low, 0x7632);
  out[2] = __byte_perm(high, more_high, 0x5410), out[3] = __byte_perm(high, more_high, 0x7632);
}

template <typename T> __device__ __forceinline__ int dot(unsigned x, int w, int sum);
template <> __device__ __forceinline__ int dot<u8>(unsigned x, int w, int sum) {
  asm("dp4a.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(x), "r"(w));
  return sum;
}
template <> __device__ __forceinline__ int dot<i8>(unsigned x, int w, int sum) { return __dp4a((int)x, w, sum); }

/* Packed: for each column of the window and four of its rows a word a channel; then what sums begin with, and scales.
 */
template <typename T, int K, int S, int P>
__device__ __forceinline__ void depthwise(T *y, const T *x, const int *packed, const hn_cuda_byte_window &a) {
  constexpr int packs = (K + 3) / 4, columns = (P - 1) * S + K;
  const hn_cuda_window &w = a.window;
  const unsigned i = blockIdx.x * HN_CUDA_BYTES_THREADS + threadIdx.x, each = (unsigned)a.pitch / 4, tile = i / each;
  const unsigned line = tile / (unsigned)a.tiles, image = line / (unsigned)w.out_h;
  const int channel = (int)(i - tile * each) * 4, first = (int)(tile - line * (unsigned)a.tiles) * P;
  const int left = first * S - w.pad_w, top = (int)(line - image * (unsigned)w.out_h) * S - w.pad_h;
  if (i >= a.threads) return;
  packed += channel;
  int sums[P][4];
  const int4 begin = *(const int4 *)(packed + K * packs * a.pitch);
#pragma unroll
  for (int p = 0; p < P; ++p) sums[p][0] = begin.x, sums[p][1] = begin.y, sums[p][2] = begin.z, sums[p][3] = begin.w;
  x += (size_t)image * w.in_h * w.in_w * a.pitch + channel;
  wait_for_previous();
#pragma unroll
  for (int r = 0; r < packs; ++r) {
    int4 weights[K];
#pragma unroll
    for (int k = 0; k < K; ++k) weights[k] = *(const int4 *)(packed + (k * packs + r) * a.pitch);
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      unsigned taps[4] = {}, turned[4];
      const bool is_column = (unsigned)(left + c) < (unsigned)w.in_w;
#pragma unroll
      for (int k = 0; k < 4 && r * 4 + k < K; ++k) {
        const int row = top + r * 4 + k;
        taps[k] = is_column && (unsigned)row < (unsigned)w.in_h
                      ? *(const unsigned *)(x + (size_t)(row * w.in_w + left + c) * a.pitch)
                      : a.bytes.pad;
      }
      transpose(turned, taps);
#pragma unroll
      for (int p = 0; p < P; ++p) {
        const int k = c - p * S;
        if (k < 0 || k >= K) continue;
        sums[p][0] = dot<T>(turned[0], weights[k].x, sums[p][0]),
        sums[p][1] = dot<T>(turned[1], weights[k].y, sums[p][1]);
        sums[p][2] = dot<T>(turned[2], weights[k].z, sums[p][2]),
        sums[p][3] = dot<T>(turned[3], weights[k].w, sums[p][3]);
      }
    }
  }
  let_next_begin();
  const float4 scale = *(const float4 *)(packed + (K * packs + 1) * a.pitch);
  const unsigned there = there_of(w.channels - channel);
  y += ((size_t)line * w.out_w + first) * a.pitch + channel;
#pragma unroll
  for (int p = 0; p < P; ++p) {
    const int4 sum = {sums[p][0], sums[p][1], sums[p][2], sums[p][3]};
    const unsigned four = a.bytes.bounded ? requantised_four<T, REQUANTISE_BOUNDED>(sum, scale, 0, a.bytes)
                                          : requantised_four<T, REQUANTISE_PLAIN>(sum, scale, 0, a.bytes);
    if (first + p < w.out_w) *(unsigned *)(y + p * a.pitch) = four & there;
  }
}

#define KERNEL(rest)                                                                                                   \
  extern "C" __global__ void __launch_bounds__(HN_CUDA_BYTES_THREADS) HN_HELD_KERNEL(byte_depthwise, rest)
KERNEL(3_1_1)(held *y, const held *x, const int *packed, const __grid_constant__ hn_cuda_byte_window a) {
  depthwise<held, 3, 1, 1>(y, x, packed, a);
}
KERNEL(3_1_4)(held *y, const held *x, const int *packed, const __grid_constant__ hn_cuda_byte_window a) {
  depthwise<held, 3, 1, 4>(y, x, packed, a);
}
KERNEL(3_2_1)(held *y, const held *x, const int *packed, const __grid_constant__ hn_cuda_byte_window a) {
  depthwise<held, 3, 2, 1>(y, x, packed, a);
}
KERNEL(3_2_4)(held *y, const held *x, const int *packed, const __grid_constant__ hn_cuda_byte_window a) {
  depthwise<held, 3, 2, 4>(y, x, packed, a);
}
KERNEL(5_1_1)(held *y, const held *x, const int *packed, const __grid_constant__ hn_cuda_byte_window a) {
  depthwise<held, 5, 1, 1>(y, x, packed, a);
}
KERNEL(5_1_4)(held *y, const held *x, const int *packed, const __grid_constant__ hn_cuda_byte_window a) {
  depthwise<held, 5, 1, 4>(y, x, packed, a);
}
KERNEL(5_2_1)(held *y, const held *x, const int *packed, const __grid_constant__ hn_cuda_byte_window a) {
  depthwise<held, 5, 2, 1>(y, x, packed, a);
}
KERNEL(5_2_4)(held *y, const held *x, const int *packed, const __grid_constant__ hn_cuda_byte_window a) {
  depthwise<held, 5, 2, 4>(y, x, packed, a);
}
