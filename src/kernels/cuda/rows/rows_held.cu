/* SPDX-License-Identifier: Apache-2.0 */
/* held: f16 bf16 */
/* rows_held.cu - norms and softmax over rows of halves: a warp a row, or eight. Of many rows a warp reads scale and
 * bias late: twice as many run at once. */
#include "kernels/cuda/rows/rows_half.cuh"

#define KERNEL(blocks) extern "C" __global__ void __launch_bounds__(256, blocks)

KERNEL(2)
HN_HELD_KERNEL(layer_norm, 1)(void *y, const held *x, const float *scale, const float *bias, const hn_cuda_rows a) {
  norm<held, true, 1>(y, x, scale, bias, a);
}
KERNEL(4)
HN_HELD_KERNEL(layer_norm, late)(void *y, const held *x, const float *scale, const float *bias, const hn_cuda_rows a) {
  norm<held, true, 1, true>(y, x, scale, bias, a);
}
KERNEL(4)
HN_HELD_KERNEL(layer_norm, 8)(void *y, const held *x, const float *scale, const float *bias, const hn_cuda_rows a) {
  norm<held, true, 8>(y, x, scale, bias, a);
}
KERNEL(2)
HN_HELD_KERNEL(rms_norm, 1)(void *y, const held *x, const float *scale, const float *bias, const hn_cuda_rows a) {
  norm<held, false, 1>(y, x, scale, bias, a);
}
KERNEL(4)
HN_HELD_KERNEL(rms_norm, late)(void *y, const held *x, const float *scale, const float *bias, const hn_cuda_rows a) {
  norm<held, false, 1, true>(y, x, scale, bias, a);
}
KERNEL(4)
HN_HELD_KERNEL(rms_norm, 8)(void *y, const held *x, const float *scale, const float *bias, const hn_cuda_rows a) {
  norm<held, false, 8>(y, x, scale, bias, a);
}
KERNEL(4) HN_HELD_KERNEL(softmax, 1)(held *y, const held *x, const hn_cuda_rows a) { softmax<held, false, 1>(y, x, a); }
KERNEL(4) HN_HELD_KERNEL(softmax, 8)(held *y, const held *x, const hn_cuda_rows a) { softmax<held, false, 8>(y, x, a); }
KERNEL(4) HN_HELD_KERNEL(log_softmax, 1)(held *y, const held *x, const hn_cuda_rows a) {
  softmax<held, true, 1>(y, x, a);
}
KERNEL(4) HN_HELD_KERNEL(log_softmax, 8)(held *y, const held *x, const hn_cuda_rows a) {
  softmax<held, true, 8>(y, x, a);
}
