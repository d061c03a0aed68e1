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

/* ---- the same by products of bytes (VNNI) ----
 * A row of x is scaled, block by block, to integers of 23 bits, which are three signed digits of 8: x = unit * (d0 +
 * 256 d1 + 65536 d2), as exact as a float beside the block's largest. Sums of digits by weights are exact, so that a
 * block costs three products of bytes for four weights and one rounding, and weights never become floats. Packed, two
 * panels side by side, so that they arrive in the order in which they are used: [pair of panels][block]{scales [panel
 * of the pair][channel] f32, zeros likewise i32 where there are several, words [word][panel of the pair][channel]}; of
 * an odd number the last is alone. A word of 4 bits holds depths 0 to 3 in the lower halves of its bytes and 4 to 7 in
 * the upper ones, of 8 bits four depths. Behind all panels the bias [panel * channel] f32. */
enum { HN_NBITS_DIGITS = 3, HN_NBITS_DOT_ROWS = 4, HN_NBITS_BESIDE = 2 /* panels of a pair */ };

typedef struct hn_gemm_nbits_dots {
  const float *x;
  float *y;
  const char *packed;
  const float *bias;   /* NULL: none */
  int8_t *digits;      /* [row][block][digit][depth], filled by hn_gemm_nbits_digits; zeros behind the last depth */
  float *units;        /* [row][block]; NaN where x is not finite */
  int32_t *digit_sums; /* [row][block][digit], times -zero where none are packed */
  int64_t m, n, k, block, blocks; /* block: a multiple of 8 */
  int32_t bits;                   /* 4 or 8 */
  int32_t zero;                   /* of all weights, where none are packed */
  int32_t packs_zeros;
  int32_t ahead; /* bytes: weights that far on are asked for; 0: the core alone looks ahead */
  /* Weights that come from memory while x becomes digits: from two places, so many lines of 64 bytes of each. */
  const char *fetched[2];
  int64_t fetched_lines; /* 0: none */
} hn_gemm_nbits_dots;

static inline int64_t hn_gemm_nbits_dots_panels(const hn_gemm_nbits_dots *g) {
  return (g->n + HN_NBITS_PANEL - 1) / HN_NBITS_PANEL;
}

static inline int64_t hn_gemm_nbits_block_bytes(const hn_gemm_nbits_dots *g) { /* of a panel */
  return HN_NBITS_PANEL * (4 + (g->packs_zeros ? 4 : 0) + g->block * g->bits / 8);
}

/* Of one row so many of the pairs [begin, end) go beside as many, which stand behind them; what is left goes alone. */
static inline int64_t hn_gemm_nbits_beside(const hn_gemm_nbits_dots *g, int64_t begin, int64_t end) {
  const int64_t whole = hn_gemm_nbits_dots_panels(g) / HN_NBITS_BESIDE, last = end < whole ? end : whole;
  return g->m == 1 && last > begin ? (last - begin) / 2 : 0;
}

/* Rows [begin, end) of x. */
typedef void hn_gemm_nbits_digits_fn(const hn_gemm_nbits_dots *args, int64_t begin, int64_t end);
hn_gemm_nbits_digits_fn hn_gemm_nbits_digits_avx512_vnni;
/* All rows of the pairs of panels [begin, end). */
typedef void hn_gemm_nbits_dots_fn(const hn_gemm_nbits_dots *args, int64_t begin, int64_t end);
hn_gemm_nbits_dots_fn hn_gemm_nbits_dots_avx512_vnni;

#endif
