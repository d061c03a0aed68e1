/* SPDX-License-Identifier: Apache-2.0 */
/* pool.cu - sliding windows over planes, a thread an output: maxima, means, and convolutions of one channel each. */
#include "kernels/cuda/activate.cuh"
#include "kernels/cuda/dependent.cuh"

#define THREADS 256
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)

typedef struct spot {
  unsigned plane;
  int top, left; /* the window's first row and column in the plane, pads before it negative */
} spot;

__device__ bool find(const hn_cuda_window &w, spot *out, unsigned *out_at) {
  const unsigned i = blockIdx.x * THREADS + threadIdx.x;
  wait_for_previous();
  if (i >= w.count) return false;
  const unsigned row = i / (unsigned)w.out_w, plane = row / (unsigned)w.out_h;
  out->plane = plane;
  out->top = (int)(row - plane * (unsigned)w.out_h) * w.stride_h - w.pad_h;
  out->left = (int)(i - row * (unsigned)w.out_w) * w.stride_w - w.pad_w;
  *out_at = i;
  return true;
}

KERNEL hn_max_pool(float *y, const float *x, const __grid_constant__ hn_cuda_window w) {
  spot s;
  unsigned at;
  if (!find(w, &s, &at)) return;
  x += (size_t)s.plane * w.in_h * w.in_w;
  float top = -__int_as_float(0x7f800000);
  for (int i = 0, row = s.top; i < w.kernel_h; ++i, row += w.dilation_h) {
    if (row < 0 || row >= w.in_h) continue;
    for (int j = 0, column = s.left; j < w.kernel_w; ++j, column += w.dilation_w) {
      if (column < 0 || column >= w.in_w) continue;
      const float value = x[row * w.in_w + column];
      if (value != value || value > top) top = value;
    }
  }
  y[at] = top;
}

KERNEL hn_average_pool(float *y, const float *x, const __grid_constant__ hn_cuda_window w) {
  spot s;
  unsigned at;
  if (!find(w, &s, &at)) return;
  x += (size_t)s.plane * w.in_h * w.in_w;
  float sum = 0;
  int count = 0;
  for (int i = 0, row = s.top; i < w.kernel_h; ++i, row += w.dilation_h)
    for (int j = 0, column = s.left; j < w.kernel_w; ++j, column += w.dilation_w) {
      const bool inside = row >= 0 && row < w.in_h && column >= 0 && column < w.in_w;
      if (inside) sum += x[row * w.in_w + column];
      count += inside || (w.count_pads && row < w.in_h + w.pad_end_h && column < w.in_w + w.pad_end_w);
    }
  y[at] = count ? sum / (float)count : 0;
}

/* One filter a channel; planes are batch x channels. Of args: act, alpha, beta. */
KERNEL hn_conv_depthwise(float *y, const float *x, const float *weights, const float *bias, const float *residual,
                         const __grid_constant__ hn_cuda_window w, const __grid_constant__ hn_cuda_product_args p) {
  spot s;
  unsigned at;
  if (!find(w, &s, &at)) return;
  x += (size_t)s.plane * w.in_h * w.in_w;
  const unsigned channel = s.plane % (unsigned)w.channels;
  weights += (size_t)channel * w.kernel_h * w.kernel_w;
  float sum = 0;
  for (int i = 0, row = s.top; i < w.kernel_h; ++i, row += w.dilation_h) {
    if (row < 0 || row >= w.in_h) continue;
    for (int j = 0, column = s.left; j < w.kernel_w; ++j, column += w.dilation_w)
      if (column >= 0 && column < w.in_w) sum += x[row * w.in_w + column] * weights[i * w.kernel_w + j];
  }
  sum += (bias ? bias[channel] : 0) + (residual ? residual[at] : 0);
  y[at] = activated(p.act, p.alpha, p.beta, sum);
}
