/* SPDX-License-Identifier: Apache-2.0 */
/* rows.cu - one block a row: softmax and its logarithm, layer norm, root-mean-square norm; gather, a row each; and
 * batch norm, some blocks a plane. Sums are in f32 by a tree, always in the same order. Rows are dense; blocks have 256
 * threads. */
#include "kernels/cuda/dependent.cuh"

#define THREADS 256

struct sum_of {
  __device__ static float join(float a, float b) { return a + b; }
  __device__ static float none() { return 0; }
};
struct max_of {
  __device__ static float join(float a, float b) { return a != a || a > b ? a : b; }
  __device__ static float none() { return -__int_as_float(0x7f800000); }
};

/* All threads of the block get the result. */
template <typename how> __device__ float reduce(float value) {
  __shared__ float parts[THREADS / 32];
  for (int step = 16; step > 0; step /= 2) value = how::join(value, __shfl_xor_sync(0xffffffffu, value, step));
  __syncthreads(); /* parts may still be read from the call before */
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = parts[threadIdx.x % (THREADS / 32)];
  for (int step = THREADS / 64; step > 0; step /= 2)
    value = how::join(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
}

template <bool logarithm> __device__ void softmax(float *y, const float *x, int length) {
  wait_for_previous();
  y += (size_t)blockIdx.x * length;
  x += (size_t)blockIdx.x * length;
  float top = max_of::none(), sum = 0;
  for (int i = threadIdx.x; i < length; i += THREADS) top = max_of::join(top, x[i]);
  top = reduce<max_of>(top);
  for (int i = threadIdx.x; i < length; i += THREADS) sum += expf(x[i] - top);
  sum = reduce<sum_of>(sum);
  const float below = logf(sum);
  for (int i = threadIdx.x; i < length; i += THREADS) y[i] = logarithm ? x[i] - top - below : expf(x[i] - top) / sum;
}

extern "C" __global__ void __launch_bounds__(THREADS) hn_softmax_f32(float *y, const float *x, int length) {
  softmax<false>(y, x, length);
}
extern "C" __global__ void __launch_bounds__(THREADS) hn_log_softmax_f32(float *y, const float *x, int length) {
  softmax<true>(y, x, length);
}

/* Up to HELD * THREADS elements of a row stay in registers: read once. */
#define HELD 8

template <bool centred>
__device__ void norm(float *y, const float *x, const float *scale, const float *bias, int length, float epsilon) {
  wait_for_previous();
  y += (size_t)blockIdx.x * length;
  x += (size_t)blockIdx.x * length;
  const bool fits = length <= HELD * THREADS;
  float held[HELD], mean = 0, square = 0;
  if (fits) {
#pragma unroll
    for (int k = 0; k < HELD; ++k) {
      const int i = threadIdx.x + k * THREADS;
      held[k] = i < length ? x[i] : 0;
    }
  }
  if (centred) {
    if (fits) {
#pragma unroll
      for (int k = 0; k < HELD; ++k) mean += held[k];
    } else {
      for (int i = threadIdx.x; i < length; i += THREADS) mean += x[i];
    }
    mean = reduce<sum_of>(mean) / length;
  }
  if (fits) {
#pragma unroll
    for (int k = 0; k < HELD; ++k)
      if (threadIdx.x + k * THREADS < length) square += (held[k] - mean) * (held[k] - mean);
  } else {
    for (int i = threadIdx.x; i < length; i += THREADS) square += (x[i] - mean) * (x[i] - mean);
  }
  const float inverse = 1 / sqrtf(reduce<sum_of>(square) / length + epsilon);
  let_next_begin();
  auto store = [&](int i, float value) {
    value = (value - mean) * inverse;
    if (scale) value *= scale[i];
    if (bias) value += bias[i];
    y[i] = value;
  };
  if (fits) {
#pragma unroll
    for (int k = 0; k < HELD; ++k)
      if (threadIdx.x + k * THREADS < length) store(threadIdx.x + k * THREADS, held[k]);
  } else {
    for (int i = threadIdx.x; i < length; i += THREADS) store(i, x[i]);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    hn_layer_norm_f32(float *y, const float *x, const float *scale, const float *bias, int length, float epsilon) {
  norm<true>(y, x, scale, bias, length, epsilon);
}
extern "C" __global__ void __launch_bounds__(THREADS)
    hn_rms_norm_f32(float *y, const float *x, const float *scale, const float *bias, int length, float epsilon) {
  norm<false>(y, x, scale, bias, length, epsilon);
}

/* y = (x - mean) / sqrt(variance + epsilon) * scale + bias, by what each channel has. Block (p, q) makes piece q of
 * plane p, one channel of one image; planes are dense. */
extern "C" __global__ void __launch_bounds__(THREADS)
    hn_batch_norm_f32(float *y, const float *x, const float *scale, const float *bias, const float *mean,
                      const float *variance, int channels, int pixels, float epsilon) {
  const int channel = blockIdx.x % channels, step = gridDim.y * THREADS;
  wait_for_previous();
  const size_t plane = (size_t)blockIdx.x * pixels;
  const float times = scale[channel] / sqrtf(variance[channel] + epsilon), middle = mean[channel], more = bias[channel];
  for (int i = blockIdx.y * THREADS + threadIdx.x; i < pixels; i += step)
    y[plane + i] = (x[plane + i] - middle) * times + more;
}

/* y[o, i, :] = x[o, indices[i], :]. An index that is out of range gives NaN, the only word a kernel has. */
template <typename index>
__device__ void gather(int *y, const int *x, const index *indices, int length, int inner, int count) {
  wait_for_previous();
  const int row = blockIdx.x;
  long long at = indices[row % count];
  if (at < 0) at += length;
  const bool there = at >= 0 && at < length;
  const int *from = x + ((size_t)(row / count) * length + (there ? at : 0)) * inner;
  for (int i = threadIdx.x; i < inner; i += THREADS) y[(size_t)row * inner + i] = there ? from[i] : 0x7fc00000;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    hn_gather_i32(int *y, const int *x, const int *indices, int length, int inner, int count) {
  gather(y, x, indices, length, inner, count);
}
extern "C" __global__ void __launch_bounds__(THREADS)
    hn_gather_i64(int *y, const int *x, const long long *indices, int length, int inner, int count) {
  gather(y, x, indices, length, inner, count);
}
