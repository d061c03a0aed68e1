/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_rows.inc.h - products of bytes: rows of A on their way in, and rows of a panel's sums on their way out. The file
 * that includes it says before what an element is: W_WORD and w_element. */
#ifndef HN_KERNELS_CPU_QUANT_GEMM_ROWS_INC_H
#define HN_KERNELS_CPU_QUANT_GEMM_ROWS_INC_H

#include "kernels/cpu/quant/conv_store.inc.h"
#include "kernels/cpu/quant/gemm_bytes.h"

enum { PANEL = HN_GEMM_BYTES_PANEL };
_Static_assert((int)PANEL == (int)W_BLOCK, "a panel is a block of channels");

/* Rows of A as elements, and their sums, which wrap, where B has zero points. */
HN_OUTLINE void copy_rows(const hn_gemm_bytes *g, int64_t row, int64_t row_end, w_element *to, int32_t *sums) {
  const int64_t depth = hn_gemm_bytes_depth(g), stride = hn_gemm_bytes_stride(g);
  for (int64_t i = row; i < row_end; ++i, to += stride) {
    const uint8_t *a = g->a + i * g->k;
    uint32_t sum = 0;
    for (int64_t p = 0; p < g->k; ++p) to[p] = (w_element)(a[p] ^ g->a_flip);
    for (int64_t p = g->k; p < depth; ++p) to[p] = 0;
    if (g->b_zero && W_WORD == 4 && g->a_is_signed)
      for (int64_t p = 0; p < g->k; ++p) sum += (uint32_t)(int8_t)to[p];
    else if (g->b_zero)
      for (int64_t p = 0; p < g->k; ++p) sum += (uint32_t)to[p];
    sums[i - row] = (int32_t)sum;
  }
}

/* One row of a panel. */
HN_INLINE void put_row(const hn_gemm_bytes *g, const w_way_out *way, int64_t row, int64_t panel, const vi *sum) {
  const int64_t column = panel * PANEL, n = g->n - column < PANEL ? g->n - column : PANEL;
  if (!g->scale) {
    int32_t whole[PANEL];
    HN_UNROLL
    for (int v = 0; v < W_VECTORS; ++v) vi_store(whole + v * HN_LANES, sum[v]);
    memcpy((int32_t *)g->c + row * g->n + column, whole, (size_t)n * sizeof *whole);
    return;
  }
  uint8_t *c = (uint8_t *)g->c + row * g->n + column, bytes[PANEL];
  vf scale[W_VECTORS];
  HN_UNROLL
  for (int v = 0; v < W_VECTORS; ++v) scale[v] = v_load(g->scale + column + v * HN_LANES);
  w_put(way, bytes, sum, scale, PANEL);
  memcpy(c, bytes, (size_t)n);
}

#endif
