/* SPDX-License-Identifier: Apache-2.0 */
/* move.cu - elements from place to place, one a thread, whatever their bits mean: strided copies, pads; and casts. */
#include "kernels/cuda/half.cuh"

template <typename word> __device__ void move(word *y, const word *x, const hn_cuda_walk &w) {
  unsigned rest = blockIdx.x * HN_CUDA_MOVE_THREADS + threadIdx.x;
  if (rest >= w.count) return;
  wait_for_previous();
  int from = 0, to = 0;
  for (int d = w.rank - 1; d > 0; --d) {
    const unsigned above = rest / (unsigned)w.dim[d];
    const int at = (int)(rest - above * (unsigned)w.dim[d]);
    from += at * w.from[d];
    to += at * w.to[d];
    rest = above;
  }
  y[to + (int)rest * w.to[0]] = x[from + (int)rest * w.from[0]];
}

/* The place in x of place `at` of y; -1: outside. */
__device__ int source(int at, int extent, int mode) {
  if (at >= 0 && at < extent) return at;
  if (mode == 0) return -1;
  if (mode == 1) return at < 0 ? 0 : extent - 1;
  if (mode == 3) return (at % extent + extent) % extent;
  const int period = extent > 1 ? 2 * (extent - 1) : 1;
  at = (at % period + period) % period;
  return at < extent ? at : period - at;
}

template <typename word> __device__ void pad(word *y, const word *x, const word *value, const hn_cuda_pad &p) {
  const unsigned i = blockIdx.x * HN_CUDA_MOVE_THREADS + threadIdx.x;
  if (i >= p.count) return;
  wait_for_previous();
  unsigned rest = i;
  int from = 0;
  bool inside = true;
  for (int d = p.rank - 1; d >= 0; --d) {
    const unsigned above = rest / (unsigned)p.out[d];
    const int at = source((int)(rest - above * (unsigned)p.out[d]) - p.begin[d], p.in[d], p.mode);
    inside = inside && at >= 0;
    from += at * p.stride[d];
    rest = above;
  }
  y[i] = inside ? x[from] : value ? *value : word{};
}

#define KERNEL extern "C" __global__ void __launch_bounds__(HN_CUDA_MOVE_THREADS)
KERNEL hn_move_8(unsigned char *y, const unsigned char *x, const __grid_constant__ hn_cuda_walk w) { move(y, x, w); }
KERNEL hn_move_16(unsigned short *y, const unsigned short *x, const __grid_constant__ hn_cuda_walk w) { move(y, x, w); }
KERNEL hn_move_32(unsigned *y, const unsigned *x, const __grid_constant__ hn_cuda_walk w) { move(y, x, w); }
KERNEL hn_move_64(unsigned long long *y, const unsigned long long *x, const __grid_constant__ hn_cuda_walk w) {
  move(y, x, w);
}
KERNEL hn_move_128(uint4 *y, const uint4 *x, const __grid_constant__ hn_cuda_walk w) { move(y, x, w); }
KERNEL hn_pad_8(unsigned char *y, const unsigned char *x, const unsigned char *value,
                const __grid_constant__ hn_cuda_pad p) {
  pad(y, x, value, p);
}
KERNEL hn_pad_16(unsigned short *y, const unsigned short *x, const unsigned short *value,
                 const __grid_constant__ hn_cuda_pad p) {
  pad(y, x, value, p);
}
KERNEL hn_pad_32(unsigned *y, const unsigned *x, const unsigned *value, const __grid_constant__ hn_cuda_pad p) {
  pad(y, x, value, p);
}
KERNEL hn_pad_64(unsigned long long *y, const unsigned long long *x, const unsigned long long *value,
                 const __grid_constant__ hn_cuda_pad p) {
  pad(y, x, value, p);
}
KERNEL hn_pad_128(uint4 *y, const uint4 *x, const uint4 *value, const __grid_constant__ hn_cuda_pad p) {
  pad(y, x, value, p);
}

/* ---- casts: through the wider of both worlds, as C converts; to bool, what is not 0 ---- */

#define TYPES(row)                                                                                                     \
  row(1, float) row(4, double) row(5, signed char) row(6, short) row(7, int) row(8, long long) row(9, unsigned char)   \
      row(10, unsigned short) row(11, unsigned) row(12, unsigned long long)

template <typename source_type> __device__ void cast_from(void *y, unsigned i, int to, source_type value) {
  switch (to) { /* hone_dtype's numbers */
#define STORE(number, type)                                                                                            \
  case number: ((type *)y)[i] = (type)value; return;
    TYPES(STORE)
  case 2: ((f16 *)y)[i] = narrow<f16>((float)value); return;
  case 3: ((bf16 *)y)[i] = narrow<bf16>((float)value); return;
  default: ((unsigned char *)y)[i] = value != 0;
  }
}

KERNEL hn_cast(void *y, const void *x, unsigned count, int from, int to) {
  const unsigned i = blockIdx.x * HN_CUDA_MOVE_THREADS + threadIdx.x;
  if (i >= count) return;
  wait_for_previous();
  switch (from) {
#define LOAD(number, type)                                                                                             \
  case number: cast_from(y, i, to, ((const type *)x)[i]); return;
    TYPES(LOAD)
  case 2: cast_from(y, i, to, wide(((const f16 *)x)[i])); return;
  case 3: cast_from(y, i, to, wide(((const bf16 *)x)[i])); return;
  default: cast_from(y, i, to, ((const unsigned char *)x)[i]);
  }
}
