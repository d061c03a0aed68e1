/* SPDX-License-Identifier: Apache-2.0 */
/* sm: 90a */
/* held: f16 bf16 u8 i8 */
/* lasting_held.cu - tiles of lasting.cuh: BN_STAGES. Elsewhere they are empty, and no row asks for them. As many
 * buffers as fit: a residual comes from memory while other tiles are multiplied and stored. */
#include "kernels/cuda/tensor/lasting.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define LASTING(bn, stages, buffers) lasting_product<held, lasting_tile<held, bn, stages, buffers>>(maps, bias, adds, a)
#else
#define LASTING(bn, stages, buffers)
#endif

extern "C" __global__ void __launch_bounds__(320, 2)
    HN_HELD_KERNEL(lasting, 64_3)(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                                  const __grid_constant__ hn_cuda_tensor a) {
  LASTING(64, 3, sizeof(held) == 1 ? 4 : 2);
}

extern "C" __global__ void __launch_bounds__(320)
    HN_HELD_KERNEL(lasting, 64_6)(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                                  const __grid_constant__ hn_cuda_tensor a) {
  LASTING(64, 6, sizeof(held) == 1 ? 8 : 5);
}

extern "C" __global__ void __launch_bounds__(320)
    HN_HELD_KERNEL(lasting, 128_4)(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                                   const __grid_constant__ hn_cuda_tensor a) {
  LASTING(128, 4, sizeof(held) == 1 ? 5 : 3);
}

extern "C" __global__ void __launch_bounds__(320)
    HN_HELD_KERNEL(lasting, 256_3)(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                                   const __grid_constant__ hn_cuda_tensor a) {
  LASTING(256, 3, sizeof(held) == 1 ? 2 : 1);
}

extern "C" __global__ void __launch_bounds__(320)
    HN_HELD_KERNEL(lasting, 192_4)(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                                   const __grid_constant__ hn_cuda_tensor a) {
  LASTING(192, 4, sizeof(held) == 1 ? 2 : 1);
}
