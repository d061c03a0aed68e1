/* SPDX-License-Identifier: Apache-2.0 */
/* convert.cu - f32 to halves and back, plain or with the channels last; f32 and bytes as they are. A thread has eight
 * channels of a pixel (sixteen bytes where the type stays), so that neighbours read neighbouring pixels of a plane, or
 * write them; of a plain tensor, eight elements. */
#include "kernels/cuda/half.cuh"

#define THREADS 256
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)

/* f16 stands for any sixteen bits where nothing is computed. */
template <typename from, typename to> __device__ __forceinline__ to turned(from v) { return narrow<to>(wide(v)); }
template <> __device__ __forceinline__ f16 turned<f16, f16>(f16 v) { return v; }
template <> __device__ __forceinline__ u8 turned<u8, u8>(u8 v) { return v; }
template <> __device__ __forceinline__ float turned<float, float>(float v) { return v; }

template <typename from, typename to>
__device__ __forceinline__ void flat(to *y, const from *x, const hn_cuda_convert &a) {
  const unsigned first = (blockIdx.x * THREADS + threadIdx.x) * 8;
  wait_for_previous();
  if (first + 8 <= a.count && ((size_t)x | (size_t)y) % 16 == 0) {
    union {
      uint4 words[sizeof(from) / 2];
      from values[8];
    } in;
    union {
      uint4 words[sizeof(to) / 2];
      to values[8];
    } out;
#pragma unroll
    for (int k = 0; k < (int)sizeof(from) / 2; ++k) in.words[k] = ((const uint4 *)(x + first))[k];
#pragma unroll
    for (int k = 0; k < 8; ++k) out.values[k] = turned<from, to>(in.values[k]);
#pragma unroll
    for (int k = 0; k < (int)sizeof(to) / 2; ++k) ((uint4 *)(y + first))[k] = out.words[k];
  } else {
    for (unsigned i = first; i < first + 8 && i < a.count; ++i) y[i] = turned<from, to>(x[i]);
  }
  let_next_begin();
}

struct spot {
  unsigned image, pixel;
  int channel;
};

template <int lanes> __device__ __forceinline__ bool find(const hn_cuda_convert &a, spot *out) {
  const unsigned i = blockIdx.x * THREADS + threadIdx.x, row = i / (unsigned)a.p;
  const unsigned each = (unsigned)a.pitch / lanes;
  out->pixel = i - row * (unsigned)a.p;
  out->image = row / each;
  out->channel = (int)(row - out->image * each) * lanes;
  return i < a.count;
}

template <typename from, typename to>
__device__ __forceinline__ void put_last(to *y, const from *x, const hn_cuda_convert &a) {
  spot s;
  constexpr int lanes = 16 / sizeof(to);
  const bool works = find<lanes>(a, &s);
  wait_for_previous();
  if (works) {
    __align__(16) to piece[lanes];
    x += ((size_t)s.image * a.c + s.channel) * a.p + s.pixel;
#pragma unroll
    for (int k = 0; k < lanes; ++k) piece[k] = s.channel + k < a.c ? turned<from, to>(x[(size_t)k * a.p]) : (to)0;
    *(uint4 *)(y + ((size_t)s.image * a.p + s.pixel) * a.pitch + s.channel) = *(const uint4 *)piece;
  }
  let_next_begin();
}

template <typename from, typename to>
__device__ __forceinline__ void put_first(to *y, const from *x, const hn_cuda_convert &a) {
  spot s;
  constexpr int lanes = 16 / sizeof(from);
  const bool works = find<lanes>(a, &s);
  wait_for_previous();
  if (works) {
    __align__(16) from piece[lanes];
    *(uint4 *)piece = *(const uint4 *)(x + ((size_t)s.image * a.p + s.pixel) * a.pitch + s.channel);
    y += ((size_t)s.image * a.c + s.channel) * a.p + s.pixel;
#pragma unroll
    for (int k = 0; k < lanes; ++k)
      if (s.channel + k < a.c) y[(size_t)k * a.p] = turned<from, to>(piece[k]);
  }
  let_next_begin();
}

KERNEL hn_convert_f32_f16(f16 *y, const float *x, const hn_cuda_convert a) { flat(y, x, a); }
KERNEL hn_convert_f32_bf16(bf16 *y, const float *x, const hn_cuda_convert a) { flat(y, x, a); }
KERNEL hn_convert_f16_f32(float *y, const f16 *x, const hn_cuda_convert a) { flat(y, x, a); }
KERNEL hn_convert_bf16_f32(float *y, const bf16 *x, const hn_cuda_convert a) { flat(y, x, a); }
KERNEL hn_channels_last_f32_f16(f16 *y, const float *x, const hn_cuda_convert a) { put_last(y, x, a); }
KERNEL hn_channels_last_f32_bf16(bf16 *y, const float *x, const hn_cuda_convert a) { put_last(y, x, a); }
KERNEL hn_channels_last_f16_f32(float *y, const f16 *x, const hn_cuda_convert a) { put_last(y, x, a); }
KERNEL hn_channels_last_bf16_f32(float *y, const bf16 *x, const hn_cuda_convert a) { put_last(y, x, a); }
KERNEL hn_channels_last_16(f16 *y, const f16 *x, const hn_cuda_convert a) { put_last(y, x, a); }
KERNEL hn_channels_first_f16_f32(float *y, const f16 *x, const hn_cuda_convert a) { put_first(y, x, a); }
KERNEL hn_channels_first_bf16_f32(float *y, const bf16 *x, const hn_cuda_convert a) { put_first(y, x, a); }
KERNEL hn_channels_first_f32_f16(f16 *y, const float *x, const hn_cuda_convert a) { put_first(y, x, a); }
KERNEL hn_channels_first_f32_bf16(bf16 *y, const float *x, const hn_cuda_convert a) { put_first(y, x, a); }
KERNEL hn_channels_first_16(f16 *y, const f16 *x, const hn_cuda_convert a) { put_first(y, x, a); }
KERNEL hn_channels_last_32(float *y, const float *x, const hn_cuda_convert a) { put_last(y, x, a); }
KERNEL hn_channels_first_32(float *y, const float *x, const hn_cuda_convert a) { put_first(y, x, a); }
KERNEL hn_channels_last_8(u8 *y, const u8 *x, const hn_cuda_convert a) { put_last(y, x, a); }
KERNEL hn_channels_first_8(u8 *y, const u8 *x, const hn_cuda_convert a) { put_first(y, x, a); }
