/* SPDX-License-Identifier: Apache-2.0 */
/* sm: 90a */
/* units.cu - how fast the units for matrices are: products of what lies in shared memory, again and again, by two
 * warpgroups a multiprocessor. Elsewhere the kernels are empty, and nobody launches them. */
#include "kernels/cuda/tensor/tensor.cuh"
#include "kernels/cuda/tensor/wgmma.cuh"

enum { COLUMNS = HN_ROOF_COLUMNS, ROW_BYTES = HN_ROOF_ROW_BYTES };
enum { LEFT = HN_ROOF_GROUPS * 64 * ROW_BYTES, RIGHT = COLUMNS * ROW_BYTES };

/* bits: LEFT + RIGHT bytes, numbers of the type that differ, as zeros need less power. Each round is as args.h says.
 * sink is written only where a sum is what it never is. */
template <typename T>
__device__ __forceinline__ void multiply_again(const uint4 *bits, unsigned rounds, unsigned *sink) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char memory[];
  for (int i = threadIdx.x; i < (LEFT + RIGHT) / 16; i += blockDim.x) ((uint4 *)memory)[i] = bits[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const unsigned long long a = matrix_at(shared_at(memory) + threadIdx.x / 128 * 64 * ROW_BYTES);
  const unsigned long long b = matrix_at(shared_at(memory) + LEFT);
  typename kind_of<T>::sum v[COLUMNS / 2];
#pragma unroll
  for (int i = 0; i < COLUMNS / 2; ++i) v[i] = 0;
  for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < COLUMNS / 2; ++i) pin_sum(v[i]);
    group_begin();
#pragma unroll
    for (int k = 0; k < HN_ROOF_PRODUCTS; ++k) multiply_group<T, COLUMNS>(v, a + k * 2, b + k * 2);
    group_commit();
    group_wait<1>();
  }
  group_wait<0>();
#pragma unroll
  for (int i = 0; i < COLUMNS / 2; ++i) {
    pin_sum(v[i]);
    if (v[i] == (typename kind_of<T>::sum) - 123456.75f) *sink = i;
  }
#endif
}

extern "C" __global__ void __launch_bounds__(HN_ROOF_GROUPS * 128)
    hn_multiply_again_tf32(const uint4 *bits, unsigned rounds, unsigned *sink) {
  multiply_again<tf32>(bits, rounds, sink);
}

extern "C" __global__ void __launch_bounds__(HN_ROOF_GROUPS * 128)
    hn_multiply_again_f16(const uint4 *bits, unsigned rounds, unsigned *sink) {
  multiply_again<f16>(bits, rounds, sink);
}

extern "C" __global__ void __launch_bounds__(HN_ROOF_GROUPS * 128)
    hn_multiply_again_bf16(const uint4 *bits, unsigned rounds, unsigned *sink) {
  multiply_again<bf16>(bits, rounds, sink);
}

extern "C" __global__ void __launch_bounds__(HN_ROOF_GROUPS * 128)
    hn_multiply_again_i8(const uint4 *bits, unsigned rounds, unsigned *sink) {
  multiply_again<i8>(bits, rounds, sink);
}

extern "C" __global__ void __launch_bounds__(HN_ROOF_GROUPS * 128)
    hn_multiply_again_e4m3(const uint4 *bits, unsigned rounds, unsigned *sink) {
  multiply_again<e4m3>(bits, rounds, sink);
}
