/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.cuh - blocks of a cluster that send words to one another: what is sent counts itself in at a barrier where it
 * arrives, so that nobody waits for the slowest block to have read. */
#ifndef HN_KERNELS_CUDA_CLUSTER_CUH
#define HN_KERNELS_CUDA_CLUSTER_CUH

#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ void meet_cluster() {
  asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}
/* The same in two steps; between them a block does what no other waits for. */
__device__ __forceinline__ void arrive_at_cluster() { asm volatile("barrier.cluster.arrive;" ::: "memory"); }
__device__ __forceinline__ void await_cluster() { asm volatile("barrier.cluster.wait;" ::: "memory"); }
__device__ __forceinline__ void push(unsigned to, float4 value) {
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(value.x), "f"(value.y), "f"(value.z),
               "f"(value.w)
               : "memory");
}
__device__ __forceinline__ unsigned at_block(unsigned here, int block) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(block));
  return there;
}
__device__ __forceinline__ void send(unsigned to, float4 value, unsigned barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
               "r"(__float_as_uint(value.x)), "r"(__float_as_uint(value.y)), "r"(__float_as_uint(value.z)),
               "r"(__float_as_uint(value.w)), "r"(barrier)
               : "memory");
}
__device__ __forceinline__ void open_barrier(unsigned barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(barrier)
               : "memory");
}
__device__ __forceinline__ void expect(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void await(unsigned barrier, int parity) {
  asm volatile("{\n.reg .pred there;\nagain:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 there, [%0], %1;\n@!there bra again;\n}" ::"r"(barrier),
               "r"(parity)
               : "memory");
}
#else /* nothing runs there: the rows want sm_90 */
__device__ __forceinline__ void meet_cluster() {}
__device__ __forceinline__ void arrive_at_cluster() {}
__device__ __forceinline__ void await_cluster() {}
__device__ __forceinline__ void push(unsigned, float4) {}
__device__ __forceinline__ unsigned at_block(unsigned here, int) { return here; }
__device__ __forceinline__ void send(unsigned, float4, unsigned) {}
__device__ __forceinline__ void open_barrier(unsigned) {}
__device__ __forceinline__ void expect(unsigned, int) {}
__device__ __forceinline__ void await(unsigned, int) {}
#endif

#endif
