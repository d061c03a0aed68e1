/* SPDX-License-Identifier: Apache-2.0 */
/* sm: 90a */
/* held: f16 bf16 u8 i8 tf32 */
/* bulk_held.cu - tiles of bulk.cuh: BM_BN_STAGES. Elsewhere they are empty, and no row asks for them. */
#include "kernels/cuda/tensor/bulk.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define BULK(groups, bn, stages) bulk_product<held, bulk_tile<held, groups, bn, stages>>(y, maps, bias, residual, a)
#else
#define BULK(groups, bn, stages)
#endif

extern "C" __global__ void __launch_bounds__(160)
    HN_HELD_KERNEL(bulk, 64_32_6)(void *y, const __grid_constant__ hn_cuda_tensor_maps maps, const float *bias,
                                  const held *residual, const __grid_constant__ hn_cuda_tensor a) {
  BULK(1, 32, 6);
}

extern "C" __global__ void __launch_bounds__(160)
    HN_HELD_KERNEL(bulk, 64_64_5)(void *y, const __grid_constant__ hn_cuda_tensor_maps maps, const float *bias,
                                  const held *residual, const __grid_constant__ hn_cuda_tensor a) {
  BULK(1, 64, 5);
}

extern "C" __global__ void __launch_bounds__(160)
    HN_HELD_KERNEL(bulk, 64_64_10)(void *y, const __grid_constant__ hn_cuda_tensor_maps maps, const float *bias,
                                   const held *residual, const __grid_constant__ hn_cuda_tensor a) {
  BULK(1, 64, 10);
}

extern "C" __global__ void __launch_bounds__(160)
    HN_HELD_KERNEL(bulk, 64_128_4)(void *y, const __grid_constant__ hn_cuda_tensor_maps maps, const float *bias,
                                   const held *residual, const __grid_constant__ hn_cuda_tensor a) {
  BULK(1, 128, 4);
}

extern "C" __global__ void __launch_bounds__(288)
    HN_HELD_KERNEL(bulk, 128_64_4)(void *y, const __grid_constant__ hn_cuda_tensor_maps maps, const float *bias,
                                   const held *residual, const __grid_constant__ hn_cuda_tensor a) {
  BULK(2, 64, 4);
}

extern "C" __global__ void __launch_bounds__(288, 2)
    HN_HELD_KERNEL(bulk, 128_128_3)(void *y, const __grid_constant__ hn_cuda_tensor_maps maps, const float *bias,
                                    const held *residual, const __grid_constant__ hn_cuda_tensor a) {
  BULK(2, 128, 3);
}

extern "C" __global__ void __launch_bounds__(288)
    HN_HELD_KERNEL(bulk, 128_128_6)(void *y, const __grid_constant__ hn_cuda_tensor_maps maps, const float *bias,
                                    const held *residual, const __grid_constant__ hn_cuda_tensor a) {
  BULK(2, 128, 6);
}

extern "C" __global__ void __launch_bounds__(288)
    HN_HELD_KERNEL(bulk, 128_256_4)(void *y, const __grid_constant__ hn_cuda_tensor_maps maps, const float *bias,
                                    const held *residual, const __grid_constant__ hn_cuda_tensor a) {
  BULK(2, 256, 4);
}
