/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_bytes_pack_c.c - packs B. */
#include "kernels/cpu/quant/gemm_bytes.h"
#include <string.h>

enum { PANEL = HN_GEMM_BYTES_PANEL, MOST_WORD = 4 };

/* Sixteen columns of `word` rows become words side by side; the sums grow by them, and wrap. */
static void pack_words(uint8_t rows[MOST_WORD][PANEL], int word, int8_t *to, uint32_t sums[PANEL]) {
  if (word == 4) {
    uint32_t words[PANEL];
    for (int c = 0; c < PANEL; ++c)
      words[c] = rows[0][c] | (uint32_t)rows[1][c] << 8 | (uint32_t)rows[2][c] << 16 | (uint32_t)rows[3][c] << 24;
    memcpy(to, words, sizeof words);
    for (int c = 0; c < PANEL; ++c)
      sums[c] += (uint32_t)((int8_t)rows[0][c] + (int8_t)rows[1][c] + (int8_t)rows[2][c] + (int8_t)rows[3][c]);
  } else {
    uint16_t words[PANEL];
    for (int c = 0; c < PANEL; ++c) words[c] = (uint16_t)(rows[0][c] | (unsigned)rows[1][c] << 8);
    memcpy(to, words, sizeof words);
    for (int c = 0; c < PANEL; ++c) sums[c] += (uint32_t)((int8_t)rows[0][c] + (int8_t)rows[1][c]);
  }
}

void hn_gemm_bytes_pack_c(const hn_gemm_bytes *g, const uint8_t *b, int32_t flip, int64_t panel, int64_t panel_end,
                          int8_t *to, int32_t *sums) {
  const int word = g->word;
  const int64_t depth = hn_gemm_bytes_depth(g);
  for (; panel < panel_end; ++panel) {
    const int64_t first = panel * PANEL, columns = g->n - first < PANEL ? g->n - first : PANEL;
    uint32_t sum[PANEL] = {0};
    for (int64_t i = 0; i < depth; i += word) {
      uint8_t rows[MOST_WORD][PANEL] = {{0}};
      for (int w = 0; w < word && i + w < g->k; ++w) {
        const uint8_t *from = b + (i + w) * g->n + first;
        for (int64_t c = 0; c < columns; ++c) rows[w][c] = (uint8_t)(from[c] ^ flip);
      }
      pack_words(rows, word, to + (panel * depth + i) * PANEL, sum);
    }
    memcpy(sums + first, sum, sizeof sum);
  }
}
