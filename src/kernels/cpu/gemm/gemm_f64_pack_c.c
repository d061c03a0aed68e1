/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_f64_pack_c.c - packing of B. */
#include "kernels/cpu/gemm/gemm_f64.h"

#include <string.h>

static int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

void hn_gemm_f64_pack_b_c(const double *b, int64_t row_stride, int64_t column_stride, int64_t k, int64_t n, int panel,
                          int64_t begin, int64_t end, double *packed) {
  for (int64_t at = begin; at < end; ++at) {
    const int64_t columns = lesser(n - at * panel, panel);
    const double *from = b + at * panel * column_stride;
    double *to = packed + at * k * panel;
    if (columns < panel) memset(to, 0, (size_t)(k * panel) * sizeof *to);
    if (column_stride == 1) {
      for (int64_t p = 0; p < k; ++p, from += row_stride, to += panel) memcpy(to, from, (size_t)columns * sizeof *to);
      continue;
    }
    for (int64_t p0 = 0; p0 < k; p0 += 8) { /* small squares, so that both sides stay in L1 */
      const int64_t p1 = lesser(p0 + 8, k);
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t p = p0; p < p1; ++p) to[p * panel + j] = from[p * row_stride + j * column_stride];
    }
  }
}
