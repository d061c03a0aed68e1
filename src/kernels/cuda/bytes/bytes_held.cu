/* SPDX-License-Identifier: Apache-2.0 */
/* held: u8 i8 */
/* bytes_held.cu - what stands between products of bytes: quantised and dequantised, pooled, added, looked up. Images
 * have their channels last, a thread sixteen of a pixel; or tensors are plain, and a thread has sixteen elements. All
 * steps are rounded as the reference rounds them. */
#include "kernels/cuda/bytes/sixteen.cuh"

#define KERNEL(rest) extern "C" __global__ void __launch_bounds__(HN_CUDA_BYTES_THREADS) HN_HELD_KERNEL(bytes, rest)

struct place {
  unsigned piece, pixel; /* pixel: of all images */
  int channel;
  bool works;
  __device__ __forceinline__ place(const hn_cuda_sixteens &a) {
    piece = blockIdx.x * HN_CUDA_BYTES_THREADS + threadIdx.x;
    const unsigned each = (unsigned)a.pitch / 16;
    pixel = piece / each;
    channel = (int)(piece - pixel * each) * 16;
    works = piece < a.count;
  }
};
/* The same where neighbours are neighbouring pixels: one side is planes. */
struct plane_place {
  unsigned image, pixel;
  int channel;
  bool works;
  __device__ __forceinline__ plane_place(const hn_cuda_sixteens &a) {
    const unsigned i = blockIdx.x * HN_CUDA_BYTES_THREADS + threadIdx.x, row = i / (unsigned)a.pixels;
    const unsigned each = (unsigned)a.pitch / 16;
    pixel = i - row * (unsigned)a.pixels;
    image = row / each;
    channel = (int)(row - image * each) * 16;
    works = i < a.count;
  }
};

union sixteen {
  uint4 words;
  held values[16];
  unsigned char bytes[16];
};

/* ---- quantize_linear, dequantize_linear ---- */

__device__ __forceinline__ held quantised(float x, float scale, int zero) {
  const float q = __fdiv_rn(x, scale);
  return q != q ? (held)0 : (held)rounded_to<held>(q, zero);
}
__device__ __forceinline__ float dequantised(held q, float scale, int zero) {
  return __fmul_rn((float)((int)q - zero), scale);
}
__device__ __forceinline__ int zero_of(const held *zero) { return zero ? (int)*zero : 0; }

KERNEL(quantize_last)(held *y, const float *x, const float *scale, const held *zero, const hn_cuda_sixteens a) {
  const plane_place p(a);
  wait_for_previous();
  if (p.works) {
    const float by = *scale;
    const int z = zero_of(zero);
    sixteen out;
    x += ((size_t)p.image * a.c + p.channel) * a.pixels + p.pixel;
#pragma unroll
    for (int k = 0; k < 16; ++k)
      out.values[k] = p.channel + k < a.c ? quantised(x[(size_t)k * a.pixels], by, z) : (held)0;
    *(uint4 *)(y + ((size_t)p.image * a.pixels + p.pixel) * a.pitch + p.channel) = out.words;
  }
  let_next_begin();
}

KERNEL(dequantize_first)(float *y, const held *x, const float *scale, const held *zero, const hn_cuda_sixteens a) {
  const plane_place p(a);
  wait_for_previous();
  if (p.works) {
    const float by = *scale;
    const int z = zero_of(zero);
    sixteen in;
    in.words = *(const uint4 *)(x + ((size_t)p.image * a.pixels + p.pixel) * a.pitch + p.channel);
    y += ((size_t)p.image * a.c + p.channel) * a.pixels + p.pixel;
#pragma unroll
    for (int k = 0; k < 16; ++k)
      if (p.channel + k < a.c) y[(size_t)k * a.pixels] = dequantised(in.values[k], by, z);
  }
  let_next_begin();
}

/* Plain: elements as they come. */
KERNEL(quantize_flat)(held *y, const float *x, const float *scale, const held *zero, const hn_cuda_sixteens a) {
  const unsigned i = blockIdx.x * HN_CUDA_BYTES_THREADS + threadIdx.x;
  wait_for_previous();
  if (i < a.count) y[i] = quantised(x[i], *scale, zero_of(zero));
  let_next_begin();
}
KERNEL(dequantize_flat)(float *y, const held *x, const float *scale, const held *zero, const hn_cuda_sixteens a) {
  const unsigned i = blockIdx.x * HN_CUDA_BYTES_THREADS + threadIdx.x;
  wait_for_previous();
  if (i < a.count) y[i] = dequantised(x[i], *scale, zero_of(zero));
  let_next_begin();
}

/* Between halves and bytes, both with their channels last; x_pitch is the halves'. */
template <typename T>
__device__ __forceinline__ void quantize_halves(held *y, const T *x, const float *scale, const held *zero,
                                                const hn_cuda_sixteens &a) {
  const place p(a);
  wait_for_previous();
  if (p.works) {
    const float by = *scale;
    const int z = zero_of(zero);
    sixteen out;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int channel = p.channel + half * 8;
      float v[8] = {};
      if (channel < a.x_pitch) widen_eight<T>(v, *(const uint4 *)(x + (size_t)p.pixel * a.x_pitch + channel));
#pragma unroll
      for (int k = 0; k < 8; ++k) out.values[half * 8 + k] = channel + k < a.c ? quantised(v[k], by, z) : (held)0;
    }
    *(uint4 *)(y + (size_t)p.pixel * a.pitch + p.channel) = out.words;
  }
  let_next_begin();
}
KERNEL(quantize_f16)(held *y, const f16 *x, const float *scale, const held *zero, const hn_cuda_sixteens a) {
  quantize_halves(y, x, scale, zero, a);
}
KERNEL(quantize_bf16)(held *y, const bf16 *x, const float *scale, const held *zero, const hn_cuda_sixteens a) {
  quantize_halves(y, x, scale, zero, a);
}

template <typename T>
__device__ __forceinline__ void dequantize_halves(T *y, const held *x, const float *scale, const held *zero,
                                                  const hn_cuda_sixteens &a) {
  const place p(a);
  wait_for_previous();
  if (p.works) {
    const float by = *scale;
    const int z = zero_of(zero);
    sixteen in;
    in.words = *(const uint4 *)(x + (size_t)p.pixel * a.pitch + p.channel);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int channel = p.channel + half * 8;
      float v[8];
#pragma unroll
      for (int k = 0; k < 8; ++k) v[k] = channel + k < a.c ? dequantised(in.values[half * 8 + k], by, z) : 0;
      if (channel < a.x_pitch) *(uint4 *)(y + (size_t)p.pixel * a.x_pitch + channel) = narrow_eight<T>(v);
    }
  }
  let_next_begin();
}
KERNEL(dequantize_f16)(f16 *y, const held *x, const float *scale, const held *zero, const hn_cuda_sixteens a) {
  dequantize_halves(y, x, scale, zero, a);
}
KERNEL(dequantize_bf16)(bf16 *y, const held *x, const float *scale, const held *zero, const hn_cuda_sixteens a) {
  dequantize_halves(y, x, scale, zero, a);
}

/* ---- pools ---- */

KERNEL(max_pool)(held *y, const held *x, const __grid_constant__ hn_cuda_image_window a) {
  const hn_cuda_window &w = a.window;
  const unsigned i = blockIdx.x * HN_CUDA_BYTES_THREADS + threadIdx.x, each = (unsigned)a.pitch / 16, pixel = i / each;
  const unsigned row_of = pixel / (unsigned)w.out_w, image = row_of / (unsigned)w.out_h;
  const int channel = (int)(i - pixel * each) * 16;
  const int left = (int)(pixel - row_of * (unsigned)w.out_w) * w.stride_w - w.pad_w;
  const int top = (int)(row_of - image * (unsigned)w.out_h) * w.stride_h - w.pad_h;
  if (i >= a.threads) return;
  constexpr unsigned least = (unsigned)(least_of<held> & 0xff) * 0x01010101u;
  uint4 all = make_uint4(least, least, least, least);
  x += (size_t)image * w.in_h * w.in_w * a.pitch + channel;
  wait_for_previous();
  for (int m = 0, row = top; m < w.kernel_h; ++m, row += w.dilation_h)
#pragma unroll 3
    for (int n = 0, column = left; n < w.kernel_w; ++n, column += w.dilation_w) {
      if (row < 0 || row >= w.in_h || column < 0 || column >= w.in_w) continue;
      const uint4 here = *(const uint4 *)(x + (size_t)(row * w.in_w + column) * a.pitch);
      all.x = larger_four<held>(all.x, here.x), all.y = larger_four<held>(all.y, here.y);
      all.z = larger_four<held>(all.z, here.z), all.w = larger_four<held>(all.w, here.w);
    }
  let_next_begin();
  *(uint4 *)(y + (size_t)pixel * a.pitch + channel) = with_tail(all, w.channels - channel);
}

/* A thread four channels of a whole image: rne(f32(sum - N x_zero) * (x_scale / (y_scale * N))) + y_zero. */
KERNEL(mean)
(held *y, const held *x, const float *x_scale, const held *x_zero, const float *y_scale, const held *y_zero,
 const hn_cuda_sixteens a) {
  const unsigned i = blockIdx.x * HN_CUDA_BYTES_THREADS + threadIdx.x, each = (unsigned)a.pitch / 4;
  const unsigned image = i / each;
  const int channel = (int)(i - image * each) * 4;
  wait_for_previous();
  if (i < a.count) {
    int sums[4] = {};
    x += (size_t)image * a.pixels * a.pitch + channel;
#pragma unroll 8
    for (int p = 0; p < a.pixels; ++p) {
      const unsigned four = *(const unsigned *)(x + (size_t)p * a.pitch);
#pragma unroll
      for (int k = 0; k < 4; ++k) sums[k] += (int)(held)(four >> 8 * k);
    }
    const float scale = __fdiv_rn(*x_scale, __fmul_rn(*y_scale, (float)a.pixels));
    const int zeros = a.pixels * (int)*x_zero;
    for (int k = 0; k < 4; ++k) {
      const float scaled = __fmul_rn(__int2float_rn(sums[k] - zeros), scale);
      const held q = scaled != scaled ? (held)0 : (held)rounded_to<held>(scaled, (int)*y_zero);
      if (channel + k < a.x_pitch)
        y[(size_t)image * a.x_pitch + channel + k] = channel + k < a.c ? q : (held)0; /* x_pitch: y's */
    }
  }
  let_next_begin();
}

/* ---- two tensors, or a tensor and a number for each channel of an image ---- */

template <bool is_sum>
__device__ __forceinline__ void pair(held *y, const held *a, const held *b, const hn_cuda_byte_pair &q) {
  const place p(q.at);
  wait_for_previous();
  if (p.works) {
    sixteen first, second, out;
    first.words = *(const uint4 *)(a + (size_t)p.pixel * q.at.pitch + p.channel);
    const size_t other = q.b_of_images ? p.pixel / (unsigned)q.at.pixels : p.pixel;
    second.words = *(const uint4 *)(b + other * q.at.pitch + p.channel);
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      const float u = (float)first.values[k], v = (float)second.values[k];
      const float sum = is_sum ? fmaf(u, q.a_ratio, fmaf(v, q.b_ratio, q.shift))
                               : __fadd_rn(__fmul_rn(__fmul_rn(u - q.a_zero, v - q.b_zero), q.a_ratio), q.shift);
      out.values[k] = (held)__float2int_rn(fminf(fmaxf(sum, q.low), q.high));
    }
    *(uint4 *)(y + (size_t)p.pixel * q.at.pitch + p.channel) = with_tail(out.words, q.at.c - p.channel);
  }
  let_next_begin();
}
KERNEL(add)(held *y, const held *a, const held *b, const __grid_constant__ hn_cuda_byte_pair q) {
  pair<true>(y, a, b, q);
}
KERNEL(mul)(held *y, const held *a, const held *b, const __grid_constant__ hn_cuda_byte_pair q) {
  pair<false>(y, a, b, q);
}
