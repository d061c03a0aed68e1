/* SPDX-License-Identifier: Apache-2.0 */
/* gather_half.cu - y[o, i, :] = x[o, indices[i], :] for elements of two bytes, eight of them or one a thread. An index
 * that is out of range gives NaN of f16 and of bf16, the only word a kernel has. */
#include "kernels/cuda/args.h"
#include "kernels/cuda/half.cuh"

#define THREADS 256
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)

__device__ __forceinline__ void set_nan(unsigned short *to) { *to = 0x7fff; }
__device__ __forceinline__ void set_nan(uint4 *to) { *to = make_uint4(0x7fff7fff, 0x7fff7fff, 0x7fff7fff, 0x7fff7fff); }

template <typename index, typename word>
__device__ __forceinline__ void gather(word *y, const word *x, const index *indices, const hn_cuda_gather &a) {
  const unsigned at = blockIdx.x * THREADS + threadIdx.x, row = at / (unsigned)a.inner;
  const unsigned outer = row / (unsigned)a.count, column = at - row * (unsigned)a.inner;
  wait_for_previous();
  if (at < a.words) {
    long long place = indices[row - outer * (unsigned)a.count];
    if (place < 0) place += a.length;
    if (place < 0 || place >= a.length)
      set_nan(y + at);
    else
      y[at] = x[((size_t)outer * a.length + place) * a.inner + column];
  }
  let_next_begin();
}

KERNEL hn_gather_16_i32(unsigned short *y, const unsigned short *x, const int *indices, const hn_cuda_gather a) {
  gather(y, x, indices, a);
}
KERNEL hn_gather_16_i64(unsigned short *y, const unsigned short *x, const long long *indices, const hn_cuda_gather a) {
  gather(y, x, indices, a);
}
KERNEL hn_gather_128_i32(uint4 *y, const uint4 *x, const int *indices, const hn_cuda_gather a) {
  gather(y, x, indices, a);
}
KERNEL hn_gather_128_i64(uint4 *y, const uint4 *x, const long long *indices, const hn_cuda_gather a) {
  gather(y, x, indices, a);
}
