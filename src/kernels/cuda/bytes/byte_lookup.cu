/* SPDX-License-Identifier: Apache-2.0 */
/* byte_lookup.cu - y = table[x], for bytes as bits: sixteen channels of a pixel a thread, or sixteen elements. */
#include "kernels/cuda/bytes/sixteen.cuh"

extern "C" __global__ void __launch_bounds__(HN_CUDA_BYTES_THREADS)
    hn_byte_lookup(unsigned char *y, const unsigned char *x, const unsigned char *table, const hn_cuda_sixteens a) {
  __shared__ unsigned char entries[256];
  const unsigned i = blockIdx.x * HN_CUDA_BYTES_THREADS + threadIdx.x, each = (unsigned)a.pitch / 16;
  const unsigned pixel = i / each;
  const int channel = (int)(i - pixel * each) * 16;
  wait_for_previous();
  if (threadIdx.x < 256) entries[threadIdx.x] = table[threadIdx.x];
  __syncthreads();
  if (i < a.count) {
    union {
      uint4 words;
      unsigned char bytes[16];
    } v;
    v.words = *(const uint4 *)(x + (size_t)pixel * a.pitch + channel);
#pragma unroll
    for (int k = 0; k < 16; ++k) v.bytes[k] = entries[v.bytes[k]];
    *(uint4 *)(y + (size_t)pixel * a.pitch + channel) = with_tail(v.words, a.c - channel);
  }
  let_next_begin();
}
