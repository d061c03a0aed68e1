/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.cu - folds over any axes: a block an output where the folded elements lie beside each other, else a thread an
 * output; softmax along an axis that is not the last, a thread a row. Always in the same order. */
#include "kernels/cuda/args.h"

#define THREADS 256
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)

__device__ float join(int fold, float a, float b) {
  switch (fold) {
  case HN_CUDA_FOLD_MAX: return a != a || a > b ? a : b;
  case HN_CUDA_FOLD_MIN: return a != a || a < b ? a : b;
  case HN_CUDA_FOLD_PROD: return a * b;
  default: return a + b;
  }
}

__device__ float nothing(int fold) {
  const float infinity = __int_as_float(0x7f800000);
  return fold == HN_CUDA_FOLD_MAX ? -infinity : fold == HN_CUDA_FOLD_MIN ? infinity : fold == HN_CUDA_FOLD_PROD;
}

__device__ float seen(int of, float x) { return of == HN_CUDA_OF_ABS ? fabsf(x) : of == HN_CUDA_OF_SQUARE ? x * x : x; }

__device__ float finished(const hn_cuda_fold &f, float total) {
  switch (f.then) {
  case HN_CUDA_THEN_MEAN: return total / (float)f.n;
  case HN_CUDA_THEN_ROOT: return sqrtf(total);
  case HN_CUDA_THEN_LOG: return logf(total);
  default: return total;
  }
}

__device__ int place(unsigned rest, int rank, const int *dim, const int *stride) {
  int at = 0;
  for (int d = rank - 1; d >= 0; --d) {
    const unsigned above = rest / (unsigned)dim[d];
    at += (int)(rest - above * (unsigned)dim[d]) * stride[d];
    rest = above;
  }
  return at;
}

KERNEL hn_fold_block(float *y, const float *x, const __grid_constant__ hn_cuda_fold f) {
  __shared__ float parts[THREADS / 32];
  x += place(blockIdx.x, f.kept_rank, f.kept_dim, f.kept);
  float total = nothing(f.fold);
  for (unsigned i = threadIdx.x; i < f.n; i += THREADS)
    total = join(f.fold, total, seen(f.of, x[place(i, f.rank, f.dim, f.stride)]));
  for (int step = 16; step > 0; step /= 2) total = join(f.fold, total, __shfl_xor_sync(0xffffffffu, total, step));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = total;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int part = 1; part < THREADS / 32; ++part) total = join(f.fold, total, parts[part]);
  y[blockIdx.x] = finished(f, total);
}

KERNEL hn_fold_thread(float *y, const float *x, const __grid_constant__ hn_cuda_fold f) {
  const unsigned o = blockIdx.x * THREADS + threadIdx.x;
  if (o >= f.outputs) return;
  x += place(o, f.kept_rank, f.kept_dim, f.kept);
  float total = nothing(f.fold);
  for (unsigned i = 0; i < f.n; ++i) total = join(f.fold, total, seen(f.of, x[place(i, f.rank, f.dim, f.stride)]));
  y[o] = finished(f, total);
}

/* x[outer, length, inner]. */
KERNEL hn_softmax_across(float *y, const float *x, unsigned rows, int length, int inner, int logarithm) {
  const unsigned row = blockIdx.x * THREADS + threadIdx.x;
  if (row >= rows) return;
  const size_t first = (size_t)(row / (unsigned)inner) * length * inner + row % (unsigned)inner;
  x += first;
  y += first;
  float top = nothing(HN_CUDA_FOLD_MAX), sum = 0;
  for (int i = 0; i < length; ++i) top = join(HN_CUDA_FOLD_MAX, top, x[(size_t)i * inner]);
  for (int i = 0; i < length; ++i) sum += expf(x[(size_t)i * inner] - top);
  const float below = logf(sum);
  for (int i = 0; i < length; ++i) {
    const float shifted = x[(size_t)i * inner] - top;
    y[(size_t)i * inner] = logarithm ? shifted - below : expf(shifted) / sum;
  }
}
