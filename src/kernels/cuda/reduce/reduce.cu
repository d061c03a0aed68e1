/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.cu - folds and softmax across rows, by what they are held in. */
#include "kernels/cuda/reduce/reduce.cuh"

#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)

KERNEL hn_fold_block(float *y, const float *x, const __grid_constant__ hn_cuda_fold f) { fold_block(y, x, f); }
KERNEL hn_fold_block_f16(f16 *y, const f16 *x, const __grid_constant__ hn_cuda_fold f) { fold_block(y, x, f); }
KERNEL hn_fold_block_bf16(bf16 *y, const bf16 *x, const __grid_constant__ hn_cuda_fold f) { fold_block(y, x, f); }
KERNEL hn_fold_thread(float *y, const float *x, const __grid_constant__ hn_cuda_fold f) { fold_thread(y, x, f); }
KERNEL hn_fold_thread_f16(f16 *y, const f16 *x, const __grid_constant__ hn_cuda_fold f) { fold_thread(y, x, f); }
KERNEL hn_fold_thread_bf16(bf16 *y, const bf16 *x, const __grid_constant__ hn_cuda_fold f) { fold_thread(y, x, f); }
KERNEL hn_softmax_across(float *y, const float *x, unsigned rows, int length, int inner, int logarithm) {
  softmax_across(y, x, rows, length, inner, logarithm);
}
KERNEL hn_softmax_across_f16(f16 *y, const f16 *x, unsigned rows, int length, int inner, int logarithm) {
  softmax_across(y, x, rows, length, inner, logarithm);
}
KERNEL hn_softmax_across_bf16(bf16 *y, const bf16 *x, unsigned rows, int length, int inner, int logarithm) {
  softmax_across(y, x, rows, length, inner, logarithm);
}
