/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_nbits.c - a vector of words is so many channels by 8 (or 4) depths: shift, mask, convert, multiply. With one row
 * that is four instructions a vector of weights, which several rows share. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/gemm/gemm_nbits.h"
#include "kernels/cpu/simd.inc.h"

enum { PANEL = HN_NBITS_PANEL, VECTORS = PANEL / HN_LANES, FIRST_CACHE_FLOATS = 4096 };

void HN_SIMD_NAME(hn_gemm_nbits_sums)(const hn_gemm_nbits *g, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row)
    for (int64_t b = 0; b < g->blocks; ++b) {
      const int64_t first = b * g->block, left = g->k - first, count = left < g->block ? left : g->block;
      const float *x = g->x + row * g->k + first;
      vf sum = v_set(0.0F);
      int64_t i = 0;
      for (; count - i >= HN_LANES; i += HN_LANES) sum += v_load(x + i);
      if (i < count) sum += v_load_part(x + i, count - i);
      g->sums[row * g->blocks + b] = v_sum(sum);
    }
}

/* Depths [0, count) of one word of every channel of a panel; count is at most what a word holds. */
HN_INLINE void add_word(const uint32_t *words, const float *x, int64_t x_row, const int count, const int bits,
                        const int rows, vf (*part)[VECTORS]) {
  const vi mask = vi_set((1 << bits) - 1);
  HN_UNROLL
  for (int v = 0; v < VECTORS; ++v) {
    vi word = vi_load((const int32_t *)words + v * HN_LANES);
    HN_UNROLL
    for (int d = 0; d < count; ++d) {
      const vf w = vf_from(vi_and(word, mask));
      word = bits == 4 ? vi_right(word, 4) : vi_right(word, 8);
      HN_UNROLL
      for (int r = 0; r < rows; ++r) part[r][v] = v_fma(w, v_set(x[r * x_row + d]), part[r][v]);
    }
  }
}

HN_INLINE void add_rest(const uint32_t *words, const float *x, int64_t x_row, int64_t count, const int bits,
                        const int rows, vf (*part)[VECTORS]) {
  const vi mask = vi_set((1 << bits) - 1);
  HN_UNROLL
  for (int v = 0; v < VECTORS; ++v) {
    vi word = vi_load((const int32_t *)words + v * HN_LANES);
    for (int64_t d = 0; d < count; ++d) {
      const vf w = vf_from(vi_and(word, mask));
      word = bits == 4 ? vi_right(word, 4) : vi_right(word, 8);
      HN_UNROLL
      for (int r = 0; r < rows; ++r) part[r][v] = v_fma(w, v_set(x[r * x_row + d]), part[r][v]);
    }
  }
}

/* What the blocks before gave: the first ones begin with the bias, the others with what lies in y. */
HN_INLINE void begin_totals(const hn_gemm_nbits *g, int64_t panel, int64_t row, const int first, const int rows,
                            vf (*total)[VECTORS]) {
  for (int v = 0; v < VECTORS; ++v) {
    const int64_t channel = panel * PANEL + v * HN_LANES, left = g->n - channel;
    const vf bias = g->bias ? v_load(g->bias + channel) : v_set(0.0F);
    for (int r = 0; r < rows; ++r) {
      const float *y = g->y + (row + r) * g->n + channel;
      total[r][v] = first || left <= 0 ? bias : left >= HN_LANES ? v_load(y) : v_load_part(y, left);
    }
  }
}

/* Blocks [begin, end) of some rows. */
HN_INLINE void panel_rows(const hn_gemm_nbits *g, int64_t panel, int64_t row, int64_t begin, int64_t end,
                          const int rows, const int bits) {
  const int depths = 32 / bits;
  const uint32_t *words = g->words + (panel * g->row_words + begin * g->block / depths) * PANEL;
  const float *scales = g->scales + (panel * g->blocks + begin) * PANEL,
              *zeros = g->zeros + (panel * g->blocks + begin) * PANEL;
  vf total[HN_NBITS_ROWS][VECTORS];
  begin_totals(g, panel, row, begin == 0, rows, total);
  for (int64_t b = begin; b < end; ++b, scales += PANEL, zeros += PANEL) {
    vf part[HN_NBITS_ROWS][VECTORS];
    const int64_t left = g->k - b * g->block, count = left < g->block ? left : g->block;
    const float *x = g->x + row * g->k + b * g->block;
    for (int v = 0; v < VECTORS; ++v)
      for (int r = 0; r < rows; ++r) part[r][v] = v_set(0.0F);
    const uint32_t *at = words;
    int64_t d = 0;
    for (; count - d >= depths; d += depths, at += PANEL) add_word(at, x + d, g->k, depths, bits, rows, part);
    if (d < count) add_rest(at, x + d, g->k, count - d, bits, rows, part);
    words += g->block / depths * PANEL;
    for (int v = 0; v < VECTORS; ++v) {
      const vf scale = v_load(scales + v * HN_LANES), zero = v_load(zeros + v * HN_LANES);
      for (int r = 0; r < rows; ++r) {
        const vf sum = v_set(-g->sums[(row + r) * g->blocks + b]);
        total[r][v] = v_fma(scale, v_fma(zero, sum, part[r][v]), total[r][v]);
      }
    }
  }
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < VECTORS; ++v) {
      const int64_t channel = panel * PANEL + v * HN_LANES, left = g->n - channel;
      float *y = g->y + (row + r) * g->n + channel;
      if (left >= HN_LANES)
        v_store(y, total[r][v]);
      else if (left > 0)
        v_store_part(y, left, total[r][v]);
    }
}

/* Depths are taken in pieces of x that stay in the first cache for all panels. */
HN_INLINE void some_rows(const hn_gemm_nbits *g, int64_t first, int64_t last, int64_t row, const int rows,
                         const int bits) {
  const int64_t fit = FIRST_CACHE_FLOATS / rows / g->block, piece = fit > 1 ? fit : 1;
  for (int64_t b = 0; b < g->blocks; b += piece) {
    const int64_t end = b + piece < g->blocks ? b + piece : g->blocks;
    for (int64_t panel = first; panel < last; ++panel) panel_rows(g, panel, row, b, end, rows, bits);
  }
}

HN_INLINE void panels(const hn_gemm_nbits *g, int64_t begin, int64_t end, const int bits) {
  int64_t row = 0;
  for (; g->m - row >= HN_NBITS_ROWS; row += HN_NBITS_ROWS) some_rows(g, begin, end, row, HN_NBITS_ROWS, bits);
  for (; row < g->m; ++row) some_rows(g, begin, end, row, 1, bits);
}

void HN_SIMD_NAME(hn_gemm_nbits)(const hn_gemm_nbits *g, int64_t begin, int64_t end) {
  if (g->bits == 4)
    panels(g, begin, end, 4);
  else
    panels(g, begin, end, 8);
}
