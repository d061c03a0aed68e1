/* SPDX-License-Identifier: Apache-2.0 */
/* held: f16 bf16 */
/* few_held.cu - 1x1 convolutions to one to four channels, as at the end of a network that marks pixels: products on
 * tensor cores would be of columns that are not there. Four lanes share a pixel, and have four pixels at a time; the
 * planes that come out are plain, f32 or held. Packed are the weights in f32, a row of channels for each output, and
 * the bias; they lie in shared memory before the wait. */
#include "kernels/cuda/half.cuh"

enum { THREADS = 256, LANES = 4, PIXELS = 4, EACH = THREADS / LANES * PIXELS };

/* The sum over four lanes of each of four values; lane q has that of value q. */
__device__ __forceinline__ float sum_of_lanes(const float (&v)[PIXELS], int q) {
  float low = q & 2 ? v[2] : v[0], high = q & 2 ? v[3] : v[1];
  low += __shfl_xor_sync(0xffffffff, q & 2 ? v[0] : v[2], 2);
  high += __shfl_xor_sync(0xffffffff, q & 2 ? v[1] : v[3], 2);
  return (q & 1 ? high : low) + __shfl_xor_sync(0xffffffff, q & 1 ? low : high, 1);
}

template <int outputs, typename T>
__device__ __forceinline__ void few(void *y, const T *x, const float *packed, const hn_cuda_few &a) {
  extern __shared__ __align__(16) float weights[];
  const int q = (int)threadIdx.x % LANES, group = (int)threadIdx.x % 32 / LANES, eights = a.pitch / 8;
  const unsigned first = blockIdx.x * EACH + threadIdx.x / 32 * (32 / LANES * PIXELS);
  float sum[outputs][PIXELS] = {};
  for (int i = (int)threadIdx.x; i < outputs * a.pitch / 4; i += THREADS)
    ((float4 *)weights)[i] = ((const float4 *)packed)[i];
  __syncthreads();
  wait_for_previous();
  for (int e = q; e < eights; e += LANES) {
    uint4 raw[PIXELS];
#pragma unroll
    for (int p = 0; p < PIXELS; ++p) {
      const unsigned pixel = first + p * (32 / LANES) + group;
      raw[p] = pixel < a.pixels ? *(const uint4 *)(x + (size_t)pixel * a.pitch + e * 8) : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int o = 0; o < outputs; ++o) {
      float w[8], v[8];
      load_eight(w, weights + o * a.pitch + e * 8);
#pragma unroll
      for (int p = 0; p < PIXELS; ++p) {
        widen_eight<T>(v, raw[p]);
#pragma unroll
        for (int i = 0; i < 8; ++i) sum[o][p] += v[i] * w[i];
      }
    }
  }
  let_next_begin();
  const unsigned pixel = first + q * (32 / LANES) + group, image = pixel / a.plane;
  const size_t at = (size_t)image * a.outputs * a.plane + (pixel - image * a.plane);
#pragma unroll
  for (int o = 0; o < outputs; ++o) {
    const float all = sum_of_lanes(sum[o], q);
    if (o >= a.outputs || pixel >= a.pixels) continue;
    const float v = activated(a.act, a.alpha, a.beta, all + packed[outputs * a.pitch + o]);
    if (a.to_f32)
      ((float *)y)[at + (size_t)o * a.plane] = v;
    else
      ((T *)y)[at + (size_t)o * a.plane] = narrow<T>(v);
  }
}

#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)

KERNEL HN_HELD_KERNEL(few, 1)(void *y, const held *x, const float *packed, const __grid_constant__ hn_cuda_few a) {
  few<1>(y, x, packed, a);
}
KERNEL HN_HELD_KERNEL(few, 2)(void *y, const held *x, const float *packed, const __grid_constant__ hn_cuda_few a) {
  few<2>(y, x, packed, a);
}
KERNEL HN_HELD_KERNEL(few, 4)(void *y, const held *x, const float *packed, const __grid_constant__ hn_cuda_few a) {
  few<4>(y, x, packed, a);
}
