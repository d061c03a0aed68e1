/* SPDX-License-Identifier: Apache-2.0 */
/* sm: 90a */
/* lasting_tf32.cu - tiles of lasting.cuh over f32 by products in tf32: BN_STAGES. What is stored is
 * twice as wide as in halves, so that there are fewer stages or buffers. Elsewhere they are empty, and no row asks for
 * them. */
#include "kernels/cuda/tensor/lasting.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define LASTING(bn, stages, buffers) lasting_product<tf32, lasting_tile<tf32, bn, stages, buffers>>(maps, bias, adds, a)
#else
#define LASTING(bn, stages, buffers)
#endif

extern "C" __global__ void __launch_bounds__(320)
    hn_lasting_tf32_64_6(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                         const __grid_constant__ hn_cuda_tensor a) {
  LASTING(64, 6, 2);
}

extern "C" __global__ void __launch_bounds__(320)
    hn_lasting_tf32_128_4(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                          const __grid_constant__ hn_cuda_tensor a) {
  LASTING(128, 4, 1);
}

extern "C" __global__ void __launch_bounds__(320)
    hn_lasting_tf32_192_3(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                          const __grid_constant__ hn_cuda_tensor a) {
  LASTING(192, 3, 1);
}

extern "C" __global__ void __launch_bounds__(320)
    hn_lasting_tf32_256_2(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                          const __grid_constant__ hn_cuda_tensor a) {
  LASTING(256, 2, 1);
}
