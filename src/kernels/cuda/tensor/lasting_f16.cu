/* SPDX-License-Identifier: Apache-2.0 */
/* sm: 90a */
/* lasting_f16.cu - tiles of lasting.cuh in f16: hn_lasting_f16_BN_STAGES. Elsewhere they are empty, and no row asks for
 * them. */
#include "kernels/cuda/tensor/lasting.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define LASTING(bn, stages, buffers) lasting_product<f16, lasting_tile<bn, stages, buffers>>(maps, bias, adds, a)
#else
#define LASTING(bn, stages, buffers)
#endif

extern "C" __global__ void __launch_bounds__(320, 2)
    hn_lasting_f16_64_3(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                        const __grid_constant__ hn_cuda_tensor a) {
  LASTING(64, 3, 2);
}

extern "C" __global__ void __launch_bounds__(320)
    hn_lasting_f16_64_6(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                        const __grid_constant__ hn_cuda_tensor a) {
  LASTING(64, 6, 2);
}

extern "C" __global__ void __launch_bounds__(320)
    hn_lasting_f16_128_4(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                         const __grid_constant__ hn_cuda_tensor a) {
  LASTING(128, 4, 2);
}

extern "C" __global__ void __launch_bounds__(320)
    hn_lasting_f16_256_3(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                         const __grid_constant__ hn_cuda_tensor a) {
  LASTING(256, 3, 1);
}
