/* SPDX-License-Identifier: Apache-2.0 */
/* isa: c amx_int8 */
/* gemm_tiles.c - products of bytes in tiles: two panels of B go by 32 rows of A, which were laid out as tiles want
 * them. */
#include <stdint.h>

enum { W_WORD = 4 };
typedef uint8_t w_element;
#include "kernels/cpu/quant/gemm_rows.inc.h"
#include "kernels/cpu/quant/tiles.inc.h"

/* One row of one panel, less what zero points of B add to it; sum: of the row of A. */
HN_INLINE void put_sums(const hn_gemm_bytes *g, const w_way_out *way, int64_t row, int64_t panel, const int32_t *from,
                        int32_t sum) {
  vi acc[W_VECTORS];
  HN_UNROLL
  for (int v = 0; v < W_VECTORS; ++v) acc[v] = vi_load(from + v * HN_LANES);
  if (g->b_zero) {
    HN_UNROLL
    for (int v = 0; v < W_VECTORS; ++v)
      acc[v] = vi_sub(acc[v], w_multiply(vi_load(g->b_zero + panel * PANEL + v * HN_LANES), vi_set(sum)));
  }
  put_row(g, way, row, panel, acc);
}

void HN_SIMD_NAME(hn_gemm_bytes_tiles)(const hn_gemm_bytes *g, int64_t row, int64_t row_end, int64_t panel,
                                       int64_t panel_end, void *scratch) {
  const int64_t depth = hn_gemm_bytes_depth(g), stride = hn_gemm_bytes_stride(g), rows = row_end - row;
  const w_way_out way = w_way_out_make(g->c_zero, g->low, g->high, g->c_flip);
  const int64_t no_tap = 0;
  uint8_t *a = scratch;
  int32_t *row_sums = (int32_t *)(void *)((char *)scratch + hn_gemm_bytes_sums_at(g, rows));
  _Alignas(64) tile_sums sums;
  amx_tiles tiles;
  copy_rows(g, row, row_end, a, row_sums);
  amx_begin(&tiles);
  for (; panel < panel_end; panel += 2) {
    const int panels = panel_end - panel > 1 ? 2 : 1;
    for (int64_t i = 0; i < rows; i += TILE_SIDE) {
      const int64_t there = rows - i < TILE_SIDE ? rows - i : TILE_SIDE;
      const int sides = there > TILE ? 2 : 1;
      tile_product product = {
          .tiles = &tiles,
          .rows = {{a + i * stride, stride, TILE_DEPTH}, {a + (i + (sides - 1) * TILE) * stride, stride, TILE_DEPTH}},
          .w = g->b_packed + panel * depth * PANEL,
          .w_next = depth * PANEL,
          .chunks = depth / TILE_DEPTH,
          .tap_at = &no_tap,
          .taps = 1,
          .sides = sides,
          .blocks = panels,
          .is_signed = g->a_is_signed};
      tile_multiply(&product, g->base + panel * PANEL);
      for (int64_t r = 0; r < there; ++r) {
        if (r % TILE == 0) tile_take(&product, (int)(r / TILE), &sums);
        for (int p = 0; p < panels; ++p)
          put_sums(g, &way, row + i + r, panel + p, &sums.of[r % TILE][p * TILE], row_sums[i + r]);
      }
    }
  }
  amx_end(&tiles);
}
