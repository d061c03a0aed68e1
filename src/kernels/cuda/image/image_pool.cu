/* SPDX-License-Identifier: Apache-2.0 */
/* image_pool.cu - pools over images with their channels last: windows, eight channels of an output pixel a thread; and
 * whole images, several blocks each (a cluster), which add what they have in the first one's shared memory. */
#include "kernels/cuda/image/eight.cuh"

#define THREADS 256
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)

__device__ __forceinline__ float larger(float best, float v) { return v != v || v > best ? v : best; }

template <typename T, bool MAX> __device__ __forceinline__ void pool(T *y, const T *x, const hn_cuda_image_window &a) {
  const hn_cuda_window &w = a.window;
  const unsigned i = blockIdx.x * THREADS + threadIdx.x, eights = (unsigned)a.pitch / 8, pixel = i / eights;
  const unsigned row_of = pixel / (unsigned)w.out_w, image = row_of / (unsigned)w.out_h;
  const int channel = (int)(i - pixel * eights) * 8,
            left = (int)(pixel - row_of * (unsigned)w.out_w) * w.stride_w - w.pad_w;
  const int top = (int)(row_of - image * (unsigned)w.out_h) * w.stride_h - w.pad_h;
  if (i >= a.threads) return;
  float all[8];
  int count = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) all[k] = MAX ? -__int_as_float(0x7f800000) : 0;
  x += ((size_t)image * w.in_h * w.in_w) * a.pitch + channel;
  wait_for_previous();
  for (int m = 0, row = top; m < w.kernel_h; ++m, row += w.dilation_h)
#pragma unroll 3
    for (int n = 0, column = left; n < w.kernel_w; ++n, column += w.dilation_w) {
      const bool inside = row >= 0 && row < w.in_h && column >= 0 && column < w.in_w;
      count += inside || (w.count_pads && row < w.in_h + w.pad_end_h && column < w.in_w + w.pad_end_w);
      if (!inside) continue;
      float here[8];
      load_eight(here, x + (size_t)(row * w.in_w + column) * a.pitch);
#pragma unroll
      for (int k = 0; k < 8; ++k) all[k] = MAX ? larger(all[k], here[k]) : all[k] + here[k];
    }
  let_next_begin();
  if (!MAX)
#pragma unroll
    for (int k = 0; k < 8; ++k) all[k] = count ? all[k] / (float)count : 0;
  clear_tail(all, channel, w.channels); /* a window of nothing but pads has no largest value */
  store_eight(y + (size_t)pixel * a.pitch + channel, all);
}

KERNEL hn_max_pool_last_f16(f16 *y, const f16 *x, const __grid_constant__ hn_cuda_image_window a) {
  pool<f16, true>(y, x, a);
}
KERNEL hn_max_pool_last_bf16(bf16 *y, const bf16 *x, const __grid_constant__ hn_cuda_image_window a) {
  pool<bf16, true>(y, x, a);
}
KERNEL hn_max_pool_last_f32(float *y, const float *x, const __grid_constant__ hn_cuda_image_window a) {
  pool<float, true>(y, x, a);
}
KERNEL hn_average_pool_last_f16(f16 *y, const f16 *x, const __grid_constant__ hn_cuda_image_window a) {
  pool<f16, false>(y, x, a);
}
KERNEL hn_average_pool_last_bf16(bf16 *y, const bf16 *x, const __grid_constant__ hn_cuda_image_window a) {
  pool<bf16, false>(y, x, a);
}
KERNEL hn_average_pool_last_f32(float *y, const float *x, const __grid_constant__ hn_cuda_image_window a) {
  pool<float, false>(y, x, a);
}

/* ---- whole images ---- */

__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank = 0;
#if __CUDA_ARCH__ >= 900
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}
__device__ __forceinline__ void cluster_arrive() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void cluster_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}
/* Writes to what lies at `to` in the first block's shared memory. */
__device__ __forceinline__ void store_first(float *to, float v) {
#if __CUDA_ARCH__ >= 900
  asm volatile("{.reg .b32 there; mapa.shared::cluster.u32 there, %0, 0; st.shared::cluster.f32 [there], %1;}" ::"r"(
                   shared_at(to)),
               "f"(v)
               : "memory");
#else
  *to = v;
#endif
}

/* A block has LANES eights of channels, and every (THREADS / LANES)-th pixel of its part of the image. Blocks along x
 * are the parts of one image (a cluster), along y groups of channels, along z images. */
template <typename T, bool MAX, int LANES>
__device__ __forceinline__ void global_pool(T *y, const T *x, const hn_cuda_global_pool &a) {
  enum { ROWS = THREADS / LANES, CHANNELS = LANES * 8 };
  __shared__ float sums[ROWS][CHANNELS];
  __shared__ float parts[HN_CUDA_POOL_PARTS][CHANNELS];
  const int lane = threadIdx.x % LANES, row = threadIdx.x / LANES, part = (int)cluster_rank();
  const int channel = ((int)blockIdx.y * LANES + lane) * 8;
  const int each = (a.pixels + a.parts - 1) / a.parts, last = min(a.pixels, (part + 1) * each);
  float all[8];
#pragma unroll
  for (int k = 0; k < 8; ++k) all[k] = MAX ? -__int_as_float(0x7f800000) : 0;
  if (a.parts > 1) cluster_arrive(); /* all blocks have begun before one writes to another */
  wait_for_previous();
  if (channel < a.pitch) {
    x += (size_t)blockIdx.z * a.pixels * a.pitch + channel;
#pragma unroll 4
    for (int p = part * each + row; p < last; p += ROWS) {
      float here[8];
      load_eight(here, x + (size_t)p * a.pitch);
#pragma unroll
      for (int k = 0; k < 8; ++k) all[k] = MAX ? larger(all[k], here[k]) : all[k] + here[k];
    }
  }
  let_next_begin();
#pragma unroll
  for (int k = 0; k < 8; ++k) sums[row][lane * 8 + k] = all[k];
  __syncthreads();
  if (a.parts > 1) cluster_wait();
  float mine = MAX ? -__int_as_float(0x7f800000) : 0;
  const int at = (int)threadIdx.x;
  if (at < CHANNELS) {
    for (int r = 0; r < ROWS; ++r) mine = MAX ? larger(mine, sums[r][at]) : mine + sums[r][at];
    if (a.parts > 1) store_first(&parts[part][at], mine);
  }
  if (a.parts > 1) {
    cluster_arrive();
    cluster_wait();
    if (part > 0) return;
    if (at < CHANNELS) {
      mine = parts[0][at];
      for (int r = 1; r < a.parts; ++r) mine = MAX ? larger(mine, parts[r][at]) : mine + parts[r][at];
    }
  }
  const int out = (int)blockIdx.y * CHANNELS + at;
  if (at < CHANNELS && out < a.y_pitch) {
    const float value = MAX ? mine : mine * a.scale;
    y[(size_t)blockIdx.z * a.y_pitch + out] = narrow<T>(out < a.c ? value : 0);
  }
}

KERNEL hn_global_max_f16(f16 *y, const f16 *x, const __grid_constant__ hn_cuda_global_pool a) {
  global_pool<f16, true, 8>(y, x, a);
}
KERNEL hn_global_max_bf16(bf16 *y, const bf16 *x, const __grid_constant__ hn_cuda_global_pool a) {
  global_pool<bf16, true, 8>(y, x, a);
}
KERNEL hn_global_max_f32(float *y, const float *x, const __grid_constant__ hn_cuda_global_pool a) {
  global_pool<float, true, 8>(y, x, a);
}
KERNEL hn_global_sum_f16(f16 *y, const f16 *x, const __grid_constant__ hn_cuda_global_pool a) {
  global_pool<f16, false, 8>(y, x, a);
}
KERNEL hn_global_sum_bf16(bf16 *y, const bf16 *x, const __grid_constant__ hn_cuda_global_pool a) {
  global_pool<bf16, false, 8>(y, x, a);
}
KERNEL hn_global_sum_f32(float *y, const float *x, const __grid_constant__ hn_cuda_global_pool a) {
  global_pool<float, false, 8>(y, x, a);
}
