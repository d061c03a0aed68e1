/* SPDX-License-Identifier: Apache-2.0 */
/* implicit.cu - convolution as a product of the weights [M, C * kernel] with the matrix of what each output sees, which
 * is gathered from the image on its way to shared memory and never written. One image a z, after its slices. */
#include "kernels/cuda/product/slices.cuh"
#include "kernels/cuda/product/tile.cuh"

/* What four neighbouring outputs see of one place of the kernel. */
struct image {
  const float *x, *w;
  const hn_cuda_product_args &p;
  const hn_cuda_window &v;
  int top[4], left_edge[4];

  __device__ image(const float *x_, const float *w_, const hn_cuda_product_args &p_, const hn_cuda_window &v_,
                   int first)
      : x(x_), w(w_), p(p_), v(v_) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = first + i, row = at / v.out_w;
      top[i] = at < p.n ? row * v.stride_h - v.pad_h : -(1 << 28); /* outside whatever the kernel's place */
      left_edge[i] = (at - row * v.out_w) * v.stride_w - v.pad_w;
    }
  }
  __device__ float4 left(int row, int k, int end) const {
    return row < p.m ? read_four(w + (size_t)row * p.k, k, end, p.k % 4 == 0) : make_float4(0, 0, 0, 0);
  }
  __device__ float one(const float *plane, int i, int down, int along) const {
    const int row = top[i] + down, column = left_edge[i] + along;
    return (unsigned)row < (unsigned)v.in_h && (unsigned)column < (unsigned)v.in_w ? plane[row * v.in_w + column] : 0;
  }
  __device__ float4 right(int, int k, int end) const {
    if (k >= end) return make_float4(0, 0, 0, 0);
    const int taps = v.kernel_h * v.kernel_w, channel = k / taps, tap = k - channel * taps, row = tap / v.kernel_w;
    const int down = row * v.dilation_h, along = (tap - row * v.kernel_w) * v.dilation_w;
    const float *plane = x + (size_t)channel * v.in_h * v.in_w;
    return make_float4(one(plane, 0, down, along), one(plane, 1, down, along), one(plane, 2, down, along),
                       one(plane, 3, down, along));
  }
};

/* 1x1, stride 1, no pads: the image is the matrix. */
struct flat {
  const float *x, *w;
  const hn_cuda_product_args &p;
  __device__ float4 left(int row, int k, int end) const {
    return row < p.m ? read_four(w + (size_t)row * p.k, k, end, p.k % 4 == 0) : make_float4(0, 0, 0, 0);
  }
  __device__ float4 right(int column, int k, int end) const {
    return k < end ? read_four(x + (size_t)k * p.n, column, p.n, p.n % 4 == 0) : make_float4(0, 0, 0, 0);
  }
};

template <int bm, int bn>
__device__ __forceinline__ void convolve(float *sums, const float *x, const float *w, const hn_cuda_product_args &p,
                                         const hn_cuda_window &v, bool is_flat) {
  const int slice = blockIdx.z % p.slices, number = blockIdx.z / p.slices, batch = gridDim.z / p.slices;
  const int begin = slice * p.slice, end = min(begin + p.slice, p.k), pitch = (p.n + 3) / 4 * 4;
  x += (size_t)number * (p.k / (v.kernel_h * v.kernel_w)) * v.in_h * v.in_w;
  sums += ((size_t)slice * batch + number) * p.m * pitch;
  if (is_flat) {
    const flat from = {x, w, p};
    multiply<bm, bn>(sums, p.m, pitch, begin, end, from);
  } else {
    const image from(x, w, p, v, blockIdx.x * bn + threadIdx.x % (bn / 4) * 4);
    multiply<bm, bn>(sums, p.m, pitch, begin, end, from);
  }
}

extern "C" __global__ void __launch_bounds__(64 * 64 / 64)
    hn_implicit_64_64(float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p,
                      const __grid_constant__ hn_cuda_window v) {
  convolve<64, 64>(sums, x, w, p, v, false);
}
extern "C" __global__ void __launch_bounds__(64 * 64 / 64)
    hn_implicit_64_64_f(float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p,
                        const __grid_constant__ hn_cuda_window v) {
  convolve<64, 64>(sums, x, w, p, v, true);
}
extern "C" __global__ void __launch_bounds__(128 * 64 / 64)
    hn_implicit_128_64(float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p,
                       const __grid_constant__ hn_cuda_window v) {
  convolve<128, 64>(sums, x, w, p, v, false);
}
extern "C" __global__ void __launch_bounds__(128 * 64 / 64)
    hn_implicit_128_64_f(float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p,
                         const __grid_constant__ hn_cuda_window v) {
  convolve<128, 64>(sums, x, w, p, v, true);
}
extern "C" __global__ void __launch_bounds__(128 * 128 / 64)
    hn_implicit_128_128(float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p,
                        const __grid_constant__ hn_cuda_window v) {
  convolve<128, 128>(sums, x, w, p, v, false);
}
extern "C" __global__ void __launch_bounds__(128 * 128 / 64)
    hn_implicit_128_128_f(float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p,
                          const __grid_constant__ hn_cuda_window v) {
  convolve<128, 128>(sums, x, w, p, v, true);
}

/* Four places of one plane a thread; rows: planes of all images. */
extern "C" __global__ void __launch_bounds__(256)
    hn_implicit_finish(float *y, const float *sums, const float *bias, const float *residual, unsigned rows,
                       const __grid_constant__ hn_cuda_product_args p) {
  const unsigned pitch = (unsigned)(p.n + 3) / 4 * 4, at = (blockIdx.x * 256 + threadIdx.x) * 4, row = at / pitch;
  wait_for_previous();
  if (row >= rows) return;
  const float4 sum = join_slices(sums + at, (size_t)rows * pitch, p.slices);
  const float v[4] = {sum.x, sum.y, sum.z, sum.w}, more = bias ? bias[row % (unsigned)p.m] : 0;
  const size_t to = (size_t)row * p.n;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int column = (int)(at - row * pitch) + i;
    if (column < p.n)
      y[to + column] = activated(p.act, p.alpha, p.beta, v[i] + more + (residual ? residual[to + column] : 0));
  }
}
