/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_f32_pack_c.c - packing of B and first guesses for the block sizes. */
#include "kernels/cpu/gemm/gemm.h"

#include <string.h>

static int64_t round_up(int64_t a, int64_t b) { return (a + b - 1) / b * b; }

static int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

/* n split into equal parts of at most most. */
static int64_t even_part(int64_t n, int64_t most) {
  const int64_t parts = n > most ? (n + most - 1) / most : 1;
  return (n + parts - 1) / parts;
}

/* The tile reads 128 bytes of B in the time of 28 FMAs, which L2 can give; a long k saves passes over C. */
void hn_gemm_f32_choose(hn_gemm_f32 *g, int panel, size_t l2_bytes) {
  const int64_t floats = (int64_t)sizeof(float), l2 = (int64_t)l2_bytes;
  g->tile_panels = panel == 16 || g->n > panel ? 2 : 1;
  const int64_t depth = lesser(1024, l2 / 16 / (g->tile_panels * panel * floats));
  g->block_k = round_up(even_part(g->k, depth > panel ? depth : panel), panel);
  if (g->block_k < panel) g->block_k = panel;
  const int64_t rows = l2 / 8 * 5 / (g->block_k * floats);
  g->block_m = even_part(g->m, rows > 14 ? rows : 14);
  g->block_n = 4096;
}

int64_t hn_gemm_f32_scratch_floats(const hn_gemm_f32 *g) {
  const int64_t depth = lesser(g->block_k, round_up(g->k, 16));
  return g->block_m * round_up(depth, 16);
}

int64_t hn_gemm_f32_a_floats(const hn_gemm_f32 *g) { return g->m * round_up(g->k, 16); }

int64_t hn_gemm_f32_panels(int64_t n, int panel) { return (n + panel - 1) / panel; }

int64_t hn_gemm_f32_packed_floats(int64_t k, int64_t n, int panel) { return k * round_up(n, panel); }

void hn_gemm_f32_pack_b_c(const float *b, int64_t row_stride, int64_t column_stride, int64_t k, int64_t n, int panel,
                          int64_t begin, int64_t end, float *packed) {
  for (int64_t at = begin; at < end; ++at) {
    const int64_t columns = lesser(n - at * panel, panel);
    const float *from = b + at * panel * column_stride;
    float *to = packed + at * k * panel;
    if (columns < panel) memset(to, 0, (size_t)(k * panel) * sizeof(float));
    if (column_stride == 1) {
      for (int64_t p = 0; p < k; ++p, from += row_stride, to += panel)
        memcpy(to, from, (size_t)columns * sizeof(float));
      continue;
    }
    for (int64_t p0 = 0; p0 < k; p0 += 16) { /* small squares, so that both sides stay in L1 */
      const int64_t p1 = lesser(p0 + 16, k);
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t p = p0; p < p1; ++p) to[p * panel + j] = from[p * row_stride + j * column_stride];
    }
  }
}
