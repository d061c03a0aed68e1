/* SPDX-License-Identifier: Apache-2.0 */
/* sm: 90a */
/* held: u8 i8 */
/* short_held.cu - tiles of lasting.cuh whose blocks of k are 64 bytes of a tap, since images of 64 channels would fill
 * half of the longer ones: BN_STAGES. And, for bytes alone, by two teams that take turns, of short blocks and of long
 * ones. */
#include "kernels/cuda/tensor/lasting.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define SHORT(bn, stages, buffers)                                                                                     \
  lasting_product<held, lasting_tile<held, bn, stages, buffers, 64>>(maps, bias, adds, a)
#define TEAMS(bn, stages, buffers, deep, is_direct)                                                                    \
  lasting_product<held, lasting_tile<held, bn, stages, buffers, deep, 2, 2, is_direct>>(maps, bias, adds, a)
#else
#define SHORT(bn, stages, buffers)
#define TEAMS(bn, stages, buffers, deep, is_direct)
#endif

extern "C" __global__ void __launch_bounds__(320, 2)
    HN_HELD_KERNEL(short, 64_7)(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                                const __grid_constant__ hn_cuda_tensor a) {
  SHORT(64, 7, 2);
}

extern "C" __global__ void __launch_bounds__(320, 2)
    HN_HELD_KERNEL(short, 128_4)(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                                 const __grid_constant__ hn_cuda_tensor a) {
  SHORT(128, 4, 2);
}

extern "C" __global__ void __launch_bounds__(320)
    HN_HELD_KERNEL(short, 128_8)(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                                 const __grid_constant__ hn_cuda_tensor a) {
  SHORT(128, 8, 5);
}

extern "C" __global__ void __launch_bounds__(320)
    HN_HELD_KERNEL(short, 256_4)(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                                 const __grid_constant__ hn_cuda_tensor a) {
  SHORT(256, 4, 3);
}

extern "C" __global__ void __launch_bounds__(320, 2)
    HN_HELD_KERNEL(short, 64_5)(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                                const __grid_constant__ hn_cuda_tensor a) {
  SHORT(64, 5, 6);
}

extern "C" __global__ void __launch_bounds__(640, 1)
    HN_HELD_KERNEL(teams, 128_5)(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                                 const __grid_constant__ hn_cuda_tensor a) {
  TEAMS(128, 5, 3, 128, true);
}

extern "C" __global__ void __launch_bounds__(640, 1)
    HN_HELD_KERNEL(teams, short_128_6)(const __grid_constant__ hn_cuda_lasting_maps maps, const float *bias, int adds,
                                       const __grid_constant__ hn_cuda_tensor a) {
  TEAMS(128, 6, 5, 64, false);
}
