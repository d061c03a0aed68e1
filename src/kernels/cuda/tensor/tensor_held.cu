/* SPDX-License-Identifier: Apache-2.0 */
/* held: f16 bf16 u8 i8 tf32 */
/* tensor_held.cu - tiles of stages.cuh: BM_BN_WM_WN; first: of images of up to four channels. */
#include "kernels/cuda/tensor/stages.cuh"

extern "C" __global__ void __launch_bounds__(128)
    HN_HELD_KERNEL(tensor, 16_64_16_16)(void *y, const held *x, const held *w, const float *bias, const held *residual,
                                        const __grid_constant__ hn_cuda_tensor a) {
  tensor_product<held, tensor_tile<held, 16, 64, 16, 16, 6>>(y, x, w, bias, residual, a);
}

extern "C" __global__ void __launch_bounds__(128)
    HN_HELD_KERNEL(tensor, 32_32_16_16)(void *y, const held *x, const held *w, const float *bias, const held *residual,
                                        const __grid_constant__ hn_cuda_tensor a) {
  tensor_product<held, tensor_tile<held, 32, 32, 16, 16, 6>>(y, x, w, bias, residual, a);
}

extern "C" __global__ void __launch_bounds__(128)
    HN_HELD_KERNEL(tensor, 32_64_16_32)(void *y, const held *x, const held *w, const float *bias, const held *residual,
                                        const __grid_constant__ hn_cuda_tensor a) {
  tensor_product<held, tensor_tile<held, 32, 64, 16, 32, 5>>(y, x, w, bias, residual, a);
}

extern "C" __global__ void __launch_bounds__(128)
    HN_HELD_KERNEL(tensor, 64_32_32_16)(void *y, const held *x, const held *w, const float *bias, const held *residual,
                                        const __grid_constant__ hn_cuda_tensor a) {
  tensor_product<held, tensor_tile<held, 64, 32, 32, 16, 5>>(y, x, w, bias, residual, a);
}

extern "C" __global__ void __launch_bounds__(128)
    HN_HELD_KERNEL(tensor, 64_64_32_32)(void *y, const held *x, const held *w, const float *bias, const held *residual,
                                        const __grid_constant__ hn_cuda_tensor a) {
  tensor_product<held, tensor_tile<held, 64, 64, 32, 32, 4>>(y, x, w, bias, residual, a);
}

extern "C" __global__ void __launch_bounds__(256)
    HN_HELD_KERNEL(tensor, 128_64_32_32)(void *y, const held *x, const held *w, const float *bias, const held *residual,
                                         const __grid_constant__ hn_cuda_tensor a) {
  tensor_product<held, tensor_tile<held, 128, 64, 32, 32, 3>>(y, x, w, bias, residual, a);
}

extern "C" __global__ void __launch_bounds__(256)
    HN_HELD_KERNEL(tensor, 64_128_32_32)(void *y, const held *x, const held *w, const float *bias, const held *residual,
                                         const __grid_constant__ hn_cuda_tensor a) {
  tensor_product<held, tensor_tile<held, 64, 128, 32, 32, 3>>(y, x, w, bias, residual, a);
}

extern "C" __global__ void __launch_bounds__(256)
    HN_HELD_KERNEL(tensor, 128_128_64_32)(void *y, const held *x, const held *w, const float *bias,
                                          const held *residual, const __grid_constant__ hn_cuda_tensor a) {
  tensor_product<held, tensor_tile<held, 128, 128, 64, 32, 3>>(y, x, w, bias, residual, a);
}

/* Of bytes a chunk is a pixel: as many threads as there are chunks in eight rows. */
constexpr bool of_bytes = sizeof(held) == 1;

extern "C" __global__ void __launch_bounds__(of_bytes ? 256 : 128)
    HN_HELD_KERNEL(tensor, first_32_64)(void *y, const held *x, const held *w, const float *bias, const held *residual,
                                        const __grid_constant__ hn_cuda_tensor a) {
  tensor_product<held, tensor_tile<held, 32, 64, 16, of_bytes ? 16 : 32, 5, 4>>(y, x, w, bias, residual, a);
}

extern "C" __global__ void __launch_bounds__(of_bytes ? 256 : 128)
    HN_HELD_KERNEL(tensor, first_64_32)(void *y, const held *x, const held *w, const float *bias, const held *residual,
                                        const __grid_constant__ hn_cuda_tensor a) {
  tensor_product<held, tensor_tile<held, 64, 32, of_bytes ? 16 : 32, 16, 5, 4>>(y, x, w, bias, residual, a);
}

extern "C" __global__ void __launch_bounds__(256)
    HN_HELD_KERNEL(tensor, first_128_64)(void *y, const held *x, const held *w, const float *bias, const held *residual,
                                         const __grid_constant__ hn_cuda_tensor a) {
  tensor_product<held, tensor_tile<held, 128, 64, 32, 32, 3, 4>>(y, x, w, bias, residual, a);
}
