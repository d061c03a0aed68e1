/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_bytes.c - a panel of B stays in the first cache level while the rows of A, widened once, go by in tiles.
 *
 * Words and their products are those of convolutions (conv_words.inc.h). */
/* isa: c avx2 avx_vnni avx512 avx512_vnni */
#include "kernels/cpu/quant/conv_words.inc.h"
/* first: what an element is */
#include "kernels/cpu/quant/gemm_rows.inc.h"

enum { VECTORS = W_VECTORS };

/* Rows of a tile. */
#if defined(HN_SIMD_AVX512)
enum { ROWS = 12 };
#elif defined(HN_SIMD_AVX2)
enum { ROWS = 6 };
#else
enum { ROWS = 2 };
#endif

HN_INLINE void tile(const hn_gemm_bytes *g, const w_way_out *way, int64_t row, const int rows, int64_t panel,
                    const w_element *a, const int32_t *sums) {
  const int64_t depth = hn_gemm_bytes_depth(g);
  const int8_t *b = g->b_packed + panel * depth * PANEL;
  vi acc[ROWS][VECTORS];
  HN_UNROLL for (int v = 0; v < VECTORS; ++v) {
    const int64_t at = panel * PANEL + v * HN_LANES;
    const vi base = vi_load(g->base + at), zero = g->b_zero ? vi_load(g->b_zero + at) : vi_set(0);
    HN_UNROLL for (int i = 0; i < rows; ++i) acc[i][v] = vi_sub(base, w_multiply(zero, vi_set(sums[i])));
  }
  for (int64_t p = 0; p < depth; p += W_WORD, b += W_WORD * PANEL) {
    vi w[VECTORS];
    HN_UNROLL for (int v = 0; v < VECTORS; ++v) w[v] = w_weights(b + v * W_WORD * HN_LANES);
    HN_UNROLL for (int i = 0; i < rows; ++i) {
      const vi word = w_spread(a + i * depth + p);
      HN_UNROLL for (int v = 0; v < VECTORS; ++v) acc[i][v] = w_dot(acc[i][v], word, w[v]);
    }
  }
  HN_UNROLL for (int i = 0; i < rows; ++i) put_row(g, way, row + i, panel, acc[i]);
}

void HN_SIMD_NAME(hn_gemm_bytes)(const hn_gemm_bytes *g, int64_t row, int64_t row_end, int64_t panel, int64_t panel_end,
                                 void *scratch) {
  const int64_t depth = hn_gemm_bytes_depth(g), rows = row_end - row;
  const w_way_out way = w_way_out_make(g->c_zero, g->low, g->high, g->c_flip);
  w_element *a = scratch;
  int32_t *sums = (int32_t *)(void *)((char *)scratch + hn_gemm_bytes_sums_at(g, rows));
  copy_rows(g, row, row_end, a, sums);
  for (; panel < panel_end; ++panel) {
    int64_t i = 0;
    for (; rows - i >= ROWS; i += ROWS) tile(g, &way, row + i, ROWS, panel, a + i * depth, sums + i);
    for (; rows - i >= 2; i += 2) tile(g, &way, row + i, 2, panel, a + i * depth, sums + i);
    for (; i < rows; ++i) tile(g, &way, row + i, 1, panel, a + i * depth, sums + i);
  }
}
