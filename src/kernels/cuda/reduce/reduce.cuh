/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.cuh - folds over any axes: a block an output where the folded elements lie beside each other, else a thread an
 * output; softmax along an axis that is not the last, a thread a row. Always in the same order, and in f32. */
#ifndef HN_KERNELS_CUDA_REDUCE_REDUCE_CUH
#define HN_KERNELS_CUDA_REDUCE_REDUCE_CUH

#include "kernels/cuda/args.h"
#include "kernels/cuda/half.cuh"

#define THREADS 256

__device__ __forceinline__ float join(int fold, float a, float b) {
  switch (fold) {
  case HN_CUDA_FOLD_MAX: return a != a || a > b ? a : b;
  case HN_CUDA_FOLD_MIN: return a != a || a < b ? a : b;
  case HN_CUDA_FOLD_PROD: return a * b;
  default: return a + b;
  }
}

__device__ __forceinline__ float nothing(int fold) {
  const float infinity = __int_as_float(0x7f800000);
  return fold == HN_CUDA_FOLD_MAX ? -infinity : fold == HN_CUDA_FOLD_MIN ? infinity : fold == HN_CUDA_FOLD_PROD;
}

__device__ __forceinline__ float seen(int of, float x) {
  return of == HN_CUDA_OF_ABS ? fabsf(x) : of == HN_CUDA_OF_SQUARE ? x * x : x;
}

__device__ __forceinline__ float finished(const hn_cuda_fold &f, float total) {
  switch (f.then) {
  case HN_CUDA_THEN_MEAN: return total / (float)f.n;
  case HN_CUDA_THEN_ROOT: return sqrtf(total);
  case HN_CUDA_THEN_LOG: return logf(total);
  default: return total;
  }
}

__device__ __forceinline__ int place(unsigned rest, int rank, const int *dim, const int *stride) {
  int at = 0;
  for (int d = rank - 1; d >= 0; --d) {
    const unsigned above = rest / (unsigned)dim[d];
    at += (int)(rest - above * (unsigned)dim[d]) * stride[d];
    rest = above;
  }
  return at;
}

/* Eight at once where they lie beside each other; of halves. */
template <typename T>
__device__ __forceinline__ float fold_eights(const hn_cuda_fold &f, const T *x, unsigned first, unsigned step,
                                             float total) {
  for (unsigned i = first; i < f.n / 8; i += step) {
    float eight[8];
    widen_eight<T>(eight, ((const uint4 *)x)[i]);
#pragma unroll
    for (int k = 0; k < 8; ++k) total = join(f.fold, total, seen(f.of, eight[k]));
  }
  return total;
}
template <>
__device__ __forceinline__ float fold_eights<float>(const hn_cuda_fold &, const float *, unsigned, unsigned,
                                                    float total) {
  return total;
}

/* Rows of whole sixteen bytes begin at multiples of them. */
template <typename T> __device__ __forceinline__ bool has_eights(const hn_cuda_fold &f) {
  return sizeof(T) == 2 && f.rank == 1 && f.stride[0] == 1 && f.n % 8 == 0;
}

template <typename T> __device__ __forceinline__ void fold_block(T *y, const T *x, const hn_cuda_fold &f) {
  __shared__ float parts[THREADS / 32];
  wait_for_previous();
  x += place(blockIdx.x, f.kept_rank, f.kept_dim, f.kept);
  float total = nothing(f.fold);
  if (has_eights<T>(f))
    total = fold_eights<T>(f, x, threadIdx.x, THREADS, total);
  else
    for (unsigned i = threadIdx.x; i < f.n; i += THREADS)
      total = join(f.fold, total, seen(f.of, wide(x[place(i, f.rank, f.dim, f.stride)])));
  for (int step = 16; step > 0; step /= 2) total = join(f.fold, total, __shfl_xor_sync(0xffffffffu, total, step));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = total;
  __syncthreads();
  let_next_begin();
  if (threadIdx.x > 0) return;
  for (int part = 1; part < THREADS / 32; ++part) total = join(f.fold, total, parts[part]);
  y[blockIdx.x] = narrow<T>(finished(f, total));
}

template <typename T> __device__ __forceinline__ void fold_thread(T *y, const T *x, const hn_cuda_fold &f) {
  const unsigned o = blockIdx.x * THREADS + threadIdx.x;
  wait_for_previous();
  if (o >= f.outputs) return;
  x += place(o, f.kept_rank, f.kept_dim, f.kept);
  float total = nothing(f.fold);
  if (has_eights<T>(f))
    total = fold_eights<T>(f, x, 0, 1, total);
  else
    for (unsigned i = 0; i < f.n; ++i)
      total = join(f.fold, total, seen(f.of, wide(x[place(i, f.rank, f.dim, f.stride)])));
  let_next_begin();
  y[o] = narrow<T>(finished(f, total));
}

/* x[outer, length, inner]. */
template <typename T>
__device__ __forceinline__ void softmax_across(T *y, const T *x, unsigned rows, int length, int inner, int logarithm) {
  const unsigned row = blockIdx.x * THREADS + threadIdx.x;
  wait_for_previous();
  if (row >= rows) return;
  const size_t first = (size_t)(row / (unsigned)inner) * length * inner + row % (unsigned)inner;
  x += first;
  y += first;
  float top = nothing(HN_CUDA_FOLD_MAX), sum = 0;
  for (int i = 0; i < length; ++i) top = join(HN_CUDA_FOLD_MAX, top, wide(x[(size_t)i * inner]));
  for (int i = 0; i < length;) { /* sums of sums: one of thousands in turn would lose a digit */
    float some = 0;
    for (const int end = min(i + 32, length); i < end; ++i) some += expf(wide(x[(size_t)i * inner]) - top);
    sum += some;
  }
  const float below = logf(sum);
  let_next_begin();
  for (int i = 0; i < length; ++i) {
    const float shifted = wide(x[(size_t)i * inner]) - top;
    y[(size_t)i * inner] = narrow<T>(logarithm ? shifted - below : expf(shifted) / sum);
  }
}

#endif
