/* SPDX-License-Identifier: Apache-2.0 */
/* window_bf16.cu - tiles of window.cuh in bf16: hn_window_bf16_BN. */
#include "kernels/cuda/tensor/window.cuh"

extern "C" __global__ void __launch_bounds__(128)
    hn_window_bf16_32(bf16 *y, const bf16 *x, const bf16 *w, const float *bias,
                      const __grid_constant__ hn_cuda_tensor a) {
  window_product<bf16, window_tile<32>>(y, x, w, bias, a);
}

extern "C" __global__ void __launch_bounds__(128)
    hn_window_bf16_64(bf16 *y, const bf16 *x, const bf16 *w, const float *bias,
                      const __grid_constant__ hn_cuda_tensor a) {
  window_product<bf16, window_tile<64>>(y, x, w, bias, a);
}
