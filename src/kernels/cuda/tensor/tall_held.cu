/* SPDX-License-Identifier: Apache-2.0 */
/* sm: 90a */
/* held: f16 bf16 */
/* tall_held.cu - tiles of lasting.cuh of 192 rows: BN_STAGES. Sequences of 32 x 128 rows and images of 32 x 197 make
 * 132 tiles of them, or a multiple, where tiles of 128 rows leave a third of the multiprocessors idle in the last turn.
 * Elsewhere they are empty, and no row asks for them. */
#include "kernels/cuda/tensor/lasting.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define TALL(bn, stages) lasting_product<held, lasting_tile<held, bn, stages, 1, 128, 3>>(maps, bias, adds, a)
#else
#define TALL(bn, stages)
#endif

extern "C" __global__ void __launch_bounds__(448)
    HN_HELD_KERNEL(tall, 128_4)(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                                const __grid_constant__ hn_cuda_tensor a) {
  TALL(128, 4);
}

extern "C" __global__ void __launch_bounds__(448)
    HN_HELD_KERNEL(tall, 192_3)(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                                const __grid_constant__ hn_cuda_tensor a) {
  TALL(192, 3);
}
