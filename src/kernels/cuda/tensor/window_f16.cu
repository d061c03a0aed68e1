/* SPDX-License-Identifier: Apache-2.0 */
/* window_f16.cu - tiles of window.cuh in f16: hn_window_f16_BN. */
#include "kernels/cuda/tensor/window.cuh"

extern "C" __global__ void __launch_bounds__(128)
    hn_window_f16_32(f16 *y, const f16 *x, const f16 *w, const float *bias, const __grid_constant__ hn_cuda_tensor a) {
  window_product<f16, window_tile<32>>(y, x, w, bias, a);
}

extern "C" __global__ void __launch_bounds__(128)
    hn_window_f16_64(f16 *y, const f16 *x, const f16 *w, const float *bias, const __grid_constant__ hn_cuda_tensor a) {
  window_product<f16, window_tile<64>>(y, x, w, bias, a);
}
