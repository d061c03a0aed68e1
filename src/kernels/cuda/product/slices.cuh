/* SPDX-License-Identifier: Apache-2.0 */
/* slices.cuh - sums of slices of k are added, always in the same order. */
#ifndef HN_KERNELS_CUDA_SLICES_CUH
#define HN_KERNELS_CUDA_SLICES_CUH

/* Four outputs: slices are added in their order, `step` apart. */
__device__ __forceinline__ float4 join_slices(const float *sums, size_t step, int slices) {
  float4 sum = *(const float4 *)sums;
#pragma unroll 4
  for (int s = 1; s < slices; ++s) {
    const float4 more = *(const float4 *)(sums + s * step);
    sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
  }
  return sum;
}

#endif
