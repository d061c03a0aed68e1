/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_f64.h - C = activation(A B + bias + residual) in f64, B packed beforehand.
 *
 *   A  m x k, element (i, p) at a[i * a_row_stride + p * a_column_stride]
 *   B  k x n, packed in panels of W columns: [ceil(n / W)][k][W], columns beyond n zero; W = HN_GEMM_F64_PANEL_*
 *   C  m x n, element (i, j) at c[i * c_row_stride + j]
 *
 * Every element is one chain: products over p upward, bias, residual, activation. So the result does not depend on the
 * range that a call is given. Calls on disjoint ranges are independent; each needs its own scratch. C must not overlap
 * anything but the residual. */
#ifndef HN_KERNELS_CPU_GEMM_F64_H
#define HN_KERNELS_CPU_GEMM_F64_H

#include <stdint.h>

#include "kernels/cpu/epilogue.h"

typedef struct hn_gemm_f64 {
  int64_t m, n, k;
  const double *a;
  int64_t a_row_stride, a_column_stride; /* doubles */
  const double *b_packed;
  double *c;
  int64_t c_row_stride;
  hn_epilogue_f64 epilogue; /* bias and slope: n doubles, or m with bias_per_row; residual: m x n, residual_stride */
  int32_t bias_per_row;
  int64_t block_rows; /* rows of A that are packed at once: whole tiles */
} hn_gemm_f64;

#define HN_GEMM_F64_PANEL_AVX512 16
#define HN_GEMM_F64_PANEL_AVX2 8
#define HN_GEMM_F64_PANEL_C 4
/* Rows of a tile. */
#define HN_GEMM_F64_ROWS_AVX512 12
#define HN_GEMM_F64_ROWS_AVX2 6
#define HN_GEMM_F64_ROWS_C 4

static inline int64_t hn_gemm_f64_panels(int64_t n, int panel) { return (n + panel - 1) / panel; }
static inline int64_t hn_gemm_f64_packed(int64_t k, int64_t n, int panel) {
  return hn_gemm_f64_panels(n, panel) * panel * k;
}
/* Packing of panels [begin, end) from element (p, j) at b[p * row_stride + j * column_stride]. */
void hn_gemm_f64_pack_b_c(const double *b, int64_t row_stride, int64_t column_stride, int64_t k, int64_t n, int panel,
                          int64_t begin, int64_t end, double *packed);

/* Rows [row_begin, row_end) x panels [panel_begin, panel_end); scratch: block_rows * k doubles. */
typedef void hn_gemm_f64_fn(const hn_gemm_f64 *gemm, int64_t row_begin, int64_t row_end, int64_t panel_begin,
                            int64_t panel_end, double *scratch);
hn_gemm_f64_fn hn_gemm_f64_avx512, hn_gemm_f64_avx2, hn_gemm_f64_c;

#endif
