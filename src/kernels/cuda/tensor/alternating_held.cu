/* SPDX-License-Identifier: Apache-2.0 */
/* sm: 90a */
/* held: f16 bf16 */
/* alternating_held.cu - tiles of alternating.cuh: BM_BN_STAGES. A warpgroup that multiplies 128 or 192 rows alone has
 * most columns; where two share 128 rows, gelu is hidden best. Elsewhere they are empty, and no row asks for them. */
#include "kernels/cuda/tensor/alternating.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define ALTERNATING(bn, stages, groups, parts)                                                                         \
  alternating_product<held, alternating_tile<held, bn, stages, groups, parts>>(maps, bias, adds, a)
#else
#define ALTERNATING(bn, stages, groups, parts)
#endif

extern "C" __global__ void __launch_bounds__(384, 1)
    HN_HELD_KERNEL(alternating, 128_192_5)(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias,
                                           int adds, const __grid_constant__ hn_cuda_tensor a) {
  ALTERNATING(192, 5, 1, 2);
}

extern "C" __global__ void __launch_bounds__(384, 1)
    HN_HELD_KERNEL(alternating, 192_128_5)(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias,
                                           int adds, const __grid_constant__ hn_cuda_tensor a) {
  ALTERNATING(128, 5, 1, 3);
}

extern "C" __global__ void __launch_bounds__(640, 1)
    HN_HELD_KERNEL(alternating, 128_128_7)(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias,
                                           int adds, const __grid_constant__ hn_cuda_tensor a) {
  ALTERNATING(128, 7, 2, 1);
}

extern "C" __global__ void __launch_bounds__(384, 1)
    HN_HELD_KERNEL(alternating, 64_192_7)(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias,
                                          int adds, const __grid_constant__ hn_cuda_tensor a) {
  ALTERNATING(192, 7, 1, 1);
}

extern "C" __global__ void __launch_bounds__(640, 1)
    HN_HELD_KERNEL(alternating, 128_64_9)(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias,
                                          int adds, const __grid_constant__ hn_cuda_tensor a) {
  ALTERNATING(64, 9, 2, 1);
}
