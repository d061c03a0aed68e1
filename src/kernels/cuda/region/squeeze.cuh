/* SPDX-License-Identifier: Apache-2.0 */
/* squeeze.cuh - what both kernels of squeeze-and-excite need: how the blocks of a cluster meet and write to one
 * another. */
#ifndef HN_KERNELS_CUDA_REGION_SQUEEZE_CUH
#define HN_KERNELS_CUDA_REGION_SQUEEZE_CUH
#include "kernels/cuda/half.cuh"

__device__ __forceinline__ void cluster_arrive() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
#endif
}
__device__ __forceinline__ void cluster_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
#endif
}
/* Into block `rank`'s memory, where this block has `at`. */
__device__ __forceinline__ void push(float *at, int rank, float value) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{.reg .b32 to;\n mapa.shared::cluster.u32 to, %0, %1;\n st.shared::cluster.f32 [to], %2;}" ::"r"(shared_at(at)),
      "r"(rank), "f"(value)
      : "memory");
#endif
}

__device__ __forceinline__ int eights(int n) { return (n + 7) / 8 * 8; }

#endif
