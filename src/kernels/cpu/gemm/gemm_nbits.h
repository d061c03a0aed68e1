/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_nbits.h - products of f32 with weights of 4 or 8 bits that have a scale for each block of their row, for what
 * waits for memory: weights become floats in registers, and the sum of a block is scaled once:
 *   y[m][n] = bias[n] + sum over blocks g of scale[n][g] * (sum of x * q - zero[n][g] * sum of x).
 * q and zero are unsigned; signed weights are packed with an offset, as their zeros are. */
#ifndef HN_KERNELS_CPU_GEMM_NBITS_H
#define HN_KERNELS_CPU_GEMM_NBITS_H

#include <stdint.h>

enum {
  HN_NBITS_PANEL = 16, /* channels that are packed together */
  HN_NBITS_ROWS = 4    /* rows of x that one pass over the weights serves */
};

/* Packed: [panel][words of a row][channel of the panel], a word of 32 bits holding 8 (or 4) depths of one channel, the
 * first in its lowest bits; behind them the scales [panel][block][channel], the zeros likewise, the bias [panel *
 * channel], all f32, zero behind the last channel. */
typedef struct hn_gemm_nbits {
  const float *x;
  float *y;
  const uint32_t *words;
  const float *scales, *zeros, *bias; /* bias NULL: none */
  float *sums;                        /* [rows][blocks] of x, filled by hn_gemm_nbits_sums */
  int64_t m, n, k, block, blocks;     /* block: a multiple of 8 */
  int64_t row_words;                  /* of one channel: blocks * block / 8 (or 4) */
  int32_t bits;                       /* 4 or 8 */
} hn_gemm_nbits;

static inline int64_t hn_gemm_nbits_panels(const hn_gemm_nbits *g) {
  return (g->n + HN_NBITS_PANEL - 1) / HN_NBITS_PANEL;
}

/* Sums of x over blocks, of rows [begin, end). */
typedef void hn_gemm_nbits_sums_fn(const hn_gemm_nbits *args, int64_t begin, int64_t end);
hn_gemm_nbits_sums_fn hn_gemm_nbits_sums_avx512, hn_gemm_nbits_sums_avx2, hn_gemm_nbits_sums_c;

/* All rows of the panels [begin, end). */
typedef void hn_gemm_nbits_fn(const hn_gemm_nbits *args, int64_t begin, int64_t end);
hn_gemm_nbits_fn hn_gemm_nbits_avx512, hn_gemm_nbits_avx2, hn_gemm_nbits_c;

#endif
