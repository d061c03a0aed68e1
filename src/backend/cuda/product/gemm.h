/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.h - one matrix product of cuBLASLt, in true f32, in tf32 or in halves with f32 sums, made ready. */
#ifndef HN_BACKEND_CUDA_GEMM_H
#define HN_BACKEND_CUDA_GEMM_H

#include "backend/cuda/cuda.h"

enum { HN_CUDA_WORKSPACE_BYTES = 16 << 20 };

/* y[batch, m, n] = alpha * op(a) . op(b) + beta * c, + bias[n], then relu: all row-major. Batch strides in elements, 0
 * where one matrix serves all. */
typedef struct hn_cuda_product_plan {
  hone_dtype dtype; /* of all matrices and the bias: F32, F16 or BF16 */
  bool in_tf32;     /* products of F32 may be rounded to it */
  int64_t m, n, k, batch, a_stride, b_stride;
  bool transpose_a, transpose_b, has_bias, has_addend, relu;
  float alpha, beta;
  int algorithm; /* which of the heuristic's proposals; beyond the last: the last */
} hn_cuda_product_plan;

typedef struct hn_cuda_product {
  hn_cuda_product_plan plan; /* the rest is made */
  hone_unit *unit;
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t a, b, y;
  cublasLtMatmulAlgo_t algorithm;
} hn_cuda_product;

hone_status hn_cuda_product_make(hone_unit *unit, hn_cuda_product *product, hone_diagnostics *diag);
void hn_cuda_product_drop(hn_cuda_product *product);
/* workspace: HN_CUDA_WORKSPACE_BYTES of the device's. bias, addend: NULL where the plan has none. */
hone_status hn_cuda_product_launch(hn_cuda_product *product, hone_stream *stream, const void *a, const void *b,
                                   const void *bias, const void *addend, void *y, void *workspace);

#endif
