/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_bytes_pack_c.c - packs B. */
#include "kernels/cpu/quant/gemm_bytes.h"
#include <string.h>

void hn_gemm_bytes_pack_c(const hn_gemm_bytes *g, const uint8_t *b, int32_t flip, int8_t *to, int32_t *sums) {
  const int64_t k = g->k, n = g->n, word = g->word;
  const int64_t panels = hn_gemm_bytes_panels(n), depth = hn_gemm_bytes_depth(g);
  memset(to, 0, (size_t)(panels * HN_GEMM_BYTES_PANEL * depth));
  memset(sums, 0, (size_t)(panels * HN_GEMM_BYTES_PANEL) * sizeof *sums);
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const int8_t value = (int8_t)(uint8_t)(b[i * n + j] ^ flip);
      const int64_t panel = j / HN_GEMM_BYTES_PANEL, column = j % HN_GEMM_BYTES_PANEL;
      to[(panel * depth + i / word * word) * HN_GEMM_BYTES_PANEL + column * word + i % word] = value;
      sums[j] = (int32_t)((uint32_t)sums[j] + (uint32_t)value);
    }
}
