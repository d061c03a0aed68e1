/* SPDX-License-Identifier: Apache-2.0 */
/* rows_bf16.cu - norms and softmax over rows held in bf16: a warp a row, or eight. */
#include "kernels/cuda/rows/rows_half.cuh"

typedef bf16 held;

#define KERNEL(blocks) extern "C" __global__ void __launch_bounds__(256, blocks)

KERNEL(2) hn_layer_norm_bf16_1(held *y, const held *x, const float *scale, const float *bias, const hn_cuda_rows a) {
  norm<held, true, 1>(y, x, scale, bias, a);
}
KERNEL(4) hn_layer_norm_bf16_8(held *y, const held *x, const float *scale, const float *bias, const hn_cuda_rows a) {
  norm<held, true, 8>(y, x, scale, bias, a);
}
KERNEL(2) hn_rms_norm_bf16_1(held *y, const held *x, const float *scale, const float *bias, const hn_cuda_rows a) {
  norm<held, false, 1>(y, x, scale, bias, a);
}
KERNEL(4) hn_rms_norm_bf16_8(held *y, const held *x, const float *scale, const float *bias, const hn_cuda_rows a) {
  norm<held, false, 8>(y, x, scale, bias, a);
}
KERNEL(4) hn_softmax_bf16_1(held *y, const held *x, const hn_cuda_rows a) { softmax<held, false, 1>(y, x, a); }
KERNEL(4) hn_softmax_bf16_8(held *y, const held *x, const hn_cuda_rows a) { softmax<held, false, 8>(y, x, a); }
KERNEL(4) hn_log_softmax_bf16_1(held *y, const held *x, const hn_cuda_rows a) { softmax<held, true, 1>(y, x, a); }
KERNEL(4) hn_log_softmax_bf16_8(held *y, const held *x, const hn_cuda_rows a) { softmax<held, true, 8>(y, x, a); }
