/* SPDX-License-Identifier: Apache-2.0 */
/* roof.cu - reads of a buffer, once or again and again, past the multiprocessors' own caches: how fast memory and the
 * L2 cache are; and what the units for f32 do at most. */
#include "kernels/cuda/args.h"

#define THREADS 256
#define AHEAD 8

/* count: sixteen bytes each, a multiple of AHEAD. Every pass begins a block further on, so that no multiprocessor reads
 * the same lines twice in a row. sink is written only where all bits come out set, which keeps the loads alive. */
extern "C" __global__ void __launch_bounds__(THREADS)
    hn_read_again(const uint4 *x, unsigned count, unsigned passes, unsigned *sink) {
  const unsigned step = gridDim.x * THREADS;
  unsigned all = 0;
  for (unsigned pass = 0; pass < passes; ++pass) {
    unsigned at = ((blockIdx.x + pass) % gridDim.x) * THREADS + threadIdx.x;
    for (; at + (AHEAD - 1) * step < count; at += AHEAD * step) {
      uint4 v[AHEAD];
#pragma unroll
      for (int i = 0; i < AHEAD; ++i) v[i] = __ldcg(x + at + i * step);
#pragma unroll
      for (int i = 0; i < AHEAD; ++i) all |= v[i].x & v[i].y & v[i].z & v[i].w;
    }
    for (; at < count; at += step) {
      const uint4 v = __ldcg(x + at);
      all |= v.x & v.y & v.z & v.w;
    }
  }
  if (all == 0xffffffffu) *sink = all;
}

/* Eight sums a thread, each eight times a round: sixty-four fused multiplications and additions. */
extern "C" __global__ void __launch_bounds__(HN_ROOF_ADD_THREADS) hn_add_again_f32(unsigned rounds, float *sink) {
  enum { SUMS = 8, TIMES = HN_ROOF_ADDS / SUMS };
  float v[SUMS];
#pragma unroll
  for (int i = 0; i < SUMS; ++i) v[i] = (float)(threadIdx.x + i * 37 + blockIdx.x) * 1e-3f;
  for (unsigned round = 0; round < rounds; ++round)
#pragma unroll
    for (int t = 0; t < TIMES; ++t)
#pragma unroll
      for (int i = 0; i < SUMS; ++i) v[i] = fmaf(v[i], 0.9999f, 1e-4f);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < SUMS; ++i) sum += v[i];
  if (sum == 12345.678f) *sink = sum;
}
