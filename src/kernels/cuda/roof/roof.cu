/* SPDX-License-Identifier: Apache-2.0 */
/* roof.cu - reads of a buffer again and again, past the multiprocessors' own caches: how fast the L2 cache is. */
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
