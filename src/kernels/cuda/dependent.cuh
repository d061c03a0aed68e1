/* SPDX-License-Identifier: Apache-2.0 */
/* dependent.cuh - dependent launch: a kernel launched so waits before it reads or writes what other kernels touch
 * (weights are no such thing), and lets the next one begin when its own loads are under way, or at once where few
 * blocks stay behind. Source: CUDA C++ Programming Guide, Programmatic Dependent Launch and Synchronization. */
#ifndef HN_KERNELS_CUDA_DEPENDENT_CUH
#define HN_KERNELS_CUDA_DEPENDENT_CUH

__device__ __forceinline__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ __forceinline__ void let_next_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

#endif
