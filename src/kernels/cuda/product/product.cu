/* SPDX-License-Identifier: Apache-2.0 */
/* product.cu - y = act(x . w + bias + residual): k and n must be multiples of 4. */
#include "kernels/cuda/product/tile.cuh"

template <bool transposed> struct matrices {
  const float *x, *w;
  const hn_cuda_product_args &p;
  __device__ float4 left(int row, int k, int end) const {
    return row < p.m ? read_four(x + (size_t)row * p.k, k, end, true) : make_float4(0, 0, 0, 0);
  }
  __device__ float4 right(int column, int k, int end) const {
    if (column >= p.n || k >= end) return make_float4(0, 0, 0, 0);
    return transposed ? read_four(w + (size_t)column * p.k, k, end, true)
                      : read_four(w + (size_t)k * p.n, column, p.n, true);
  }
};

template <int bm, int bn, bool transposed>
__device__ __forceinline__ void product(float *sums, const float *x, const float *w, const hn_cuda_product_args &p) {
  const matrices<transposed> from = {x, w, p};
  const int begin = blockIdx.z * p.slice;
  multiply<bm, bn, transposed>(sums + (size_t)blockIdx.z * p.m * p.n, p.m, p.n, begin, min(begin + p.slice, p.k), from);
}

extern "C" __global__ void __launch_bounds__(64 * 64 / 64)
    hn_product_64_64(float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p) {
  product<64, 64, false>(sums, x, w, p);
}
extern "C" __global__ void __launch_bounds__(64 * 64 / 64)
    hn_product_64_64_t(float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p) {
  product<64, 64, true>(sums, x, w, p);
}
extern "C" __global__ void __launch_bounds__(128 * 64 / 64)
    hn_product_128_64(float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p) {
  product<128, 64, false>(sums, x, w, p);
}
extern "C" __global__ void __launch_bounds__(128 * 64 / 64)
    hn_product_128_64_t(float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p) {
  product<128, 64, true>(sums, x, w, p);
}
extern "C" __global__ void __launch_bounds__(128 * 128 / 64)
    hn_product_128_128(float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p) {
  product<128, 128, false>(sums, x, w, p);
}
extern "C" __global__ void __launch_bounds__(128 * 128 / 64)
    hn_product_128_128_t(float *sums, const float *x, const float *w, const __grid_constant__ hn_cuda_product_args p) {
  product<128, 128, true>(sums, x, w, p);
}

/* Four outputs a thread. */
extern "C" __global__ void __launch_bounds__(256)
    hn_product_finish(float *y, const float *sums, const float *bias, const float *residual,
                      const __grid_constant__ hn_cuda_product_args p) {
  const unsigned at = (blockIdx.x * 256 + threadIdx.x) * 4, count = (unsigned)p.m * (unsigned)p.n;
  wait_for_previous();
  if (at >= count) return;
  float4 sum = join_slices(sums + at, count, p.slices);
  if (bias) {
    const float4 more = *(const float4 *)(bias + at % (unsigned)p.n);
    sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
  }
  if (residual) {
    const float4 more = *(const float4 *)(residual + at);
    sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
  }
  let_next_begin();
  *(float4 *)(y + at) = make_float4(activated(p.act, p.alpha, p.beta, sum.x), activated(p.act, p.alpha, p.beta, sum.y),
                                    activated(p.act, p.alpha, p.beta, sum.z), activated(p.act, p.alpha, p.beta, sum.w));
}
