/* SPDX-License-Identifier: Apache-2.0 */
/* resize.cu - images resampled to the nearest pixel or linearly along both axes: plain, an element a thread, or with
 * the channels last, eight of a pixel. Places are computed in double, as the reference's are: rounding them to the
 * nearest pixel must not differ. Source: ONNX operator Resize. */
#include "kernels/cuda/half.cuh"

#define THREADS 256
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)

__device__ __forceinline__ double place(const hn_cuda_resize_axis &a, int transform, int at) {
  const double x = at, wide = a.scale * a.in;
  switch (transform) {
  case HN_CUDA_ASYMMETRIC: return x / a.scale;
  case HN_CUDA_ALIGN_CORNERS: return a.out <= 1 || wide <= 1 ? 0 : x * (a.in - 1) / (wide - 1);
  case HN_CUDA_PYTORCH_HALF_PIXEL: return a.out > 1 ? (x + 0.5) / a.scale - 0.5 : 0;
  case HN_CUDA_TF_HALF_PIXEL: return (x + 0.5) / a.scale;
  case HN_CUDA_HALF_PIXEL_SYMMETRIC: return (x + 0.5) / a.scale - 0.5 + a.in / 2.0 * (1 - a.out / wide);
  default: return (x + 0.5) / a.scale - 0.5;
  }
}

/* The two elements that count, and how much the second does. */
struct between {
  int first, second;
  float share;
};

__device__ __forceinline__ between find(const hn_cuda_resize_axis &a, const hn_cuda_resize &r, int at) {
  if (!a.active) return {at, at, 0};
  const double x = place(a, r.transform, at);
  const double below = r.is_linear                         ? floor(x)
                       : r.rounding == HN_CUDA_FLOOR       ? floor(x)
                       : r.rounding == HN_CUDA_CEIL        ? ceil(x)
                       : r.rounding == HN_CUDA_PREFER_CEIL ? floor(x + 0.5)
                                                           : ceil(x - 0.5);
  const int base = (int)below;
  return {min(max(base, 0), a.in - 1), min(max(base + 1, 0), a.in - 1), r.is_linear ? (float)(x - below) : 0};
}

struct corners {
  size_t at[2][2];
  float share_h, share_w;
};

/* Where the four pixels lie that count for pixel (row, column) of plane `plane`. */
__device__ __forceinline__ corners find_corners(const hn_cuda_resize &r, unsigned plane, int row, int column) {
  const between h = find(r.h, r, row), w = find(r.w, r, column);
  const size_t first = ((size_t)plane * r.h.in + h.first) * r.w.in,
               second = ((size_t)plane * r.h.in + h.second) * r.w.in;
  return {{{first + w.first, first + w.second}, {second + w.first, second + w.second}}, h.share, w.share};
}

__device__ __forceinline__ float mixed(float a, float b, float share) {
  return share ? a * (1 - share) + b * share : a;
}

template <typename T> __device__ __forceinline__ void resize(T *y, const T *x, const hn_cuda_resize &r) {
  const unsigned i = blockIdx.x * THREADS + threadIdx.x, line = i / (unsigned)r.w.out, plane = line / (unsigned)r.h.out;
  if (i >= r.count) return;
  const corners c =
      find_corners(r, plane, (int)(line - plane * (unsigned)r.h.out), (int)(i - line * (unsigned)r.w.out));
  wait_for_previous();
  if (!r.is_linear) {
    y[i] = x[c.at[0][0]];
  } else {
    const float above = mixed(wide(x[c.at[0][0]]), wide(x[c.at[0][1]]), c.share_w);
    const float under = mixed(wide(x[c.at[1][0]]), wide(x[c.at[1][1]]), c.share_w);
    y[i] = narrow<T>(mixed(above, under, c.share_h));
  }
  let_next_begin();
}

template <typename T> __device__ __forceinline__ void resize_last(T *y, const T *x, const hn_cuda_resize &r) {
  const unsigned i = blockIdx.x * THREADS + threadIdx.x, pixel = i / (unsigned)r.eights;
  const unsigned line = pixel / (unsigned)r.w.out, image = line / (unsigned)r.h.out;
  if (i >= r.count) return;
  const unsigned eight = i - pixel * (unsigned)r.eights;
  const corners c =
      find_corners(r, image, (int)(line - image * (unsigned)r.h.out), (int)(pixel - line * (unsigned)r.w.out));
  const uint4 *from = (const uint4 *)x + eight;
  wait_for_previous();
  uint4 all = from[c.at[0][0] * r.eights];
  if (r.is_linear) {
    float v[2][2][8], sum[8];
    widen_eight<T>(v[0][0], all);
    widen_eight<T>(v[0][1], from[c.at[0][1] * r.eights]);
    widen_eight<T>(v[1][0], from[c.at[1][0] * r.eights]);
    widen_eight<T>(v[1][1], from[c.at[1][1] * r.eights]);
#pragma unroll
    for (int k = 0; k < 8; ++k)
      sum[k] = mixed(mixed(v[0][0][k], v[0][1][k], c.share_w), mixed(v[1][0][k], v[1][1][k], c.share_w), c.share_h);
    all = narrow_eight<T>(sum);
  }
  let_next_begin();
  ((uint4 *)y)[i] = all;
}

KERNEL hn_resize_f32(float *y, const float *x, const __grid_constant__ hn_cuda_resize r) { resize(y, x, r); }
KERNEL hn_resize_f16(f16 *y, const f16 *x, const __grid_constant__ hn_cuda_resize r) { resize(y, x, r); }
KERNEL hn_resize_bf16(bf16 *y, const bf16 *x, const __grid_constant__ hn_cuda_resize r) { resize(y, x, r); }
KERNEL hn_resize_last_f16(f16 *y, const f16 *x, const __grid_constant__ hn_cuda_resize r) { resize_last(y, x, r); }
KERNEL hn_resize_last_bf16(bf16 *y, const bf16 *x, const __grid_constant__ hn_cuda_resize r) { resize_last(y, x, r); }
