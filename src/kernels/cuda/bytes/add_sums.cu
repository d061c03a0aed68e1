/* SPDX-License-Identifier: Apache-2.0 */
/* add_sums.cu - sums of bytes' products and biases in i32, which wrap: b is repeated every `length` elements. */
#include "kernels/cuda/half.cuh"

extern "C" __global__ void __launch_bounds__(HN_CUDA_BYTES_THREADS)
    hn_add_sums(unsigned *y, const unsigned *a, const unsigned *b, unsigned count, unsigned length) {
  const unsigned i = blockIdx.x * HN_CUDA_BYTES_THREADS + threadIdx.x;
  wait_for_previous();
  if (i < count) y[i] = a[i] + b[i % length];
  let_next_begin();
}
