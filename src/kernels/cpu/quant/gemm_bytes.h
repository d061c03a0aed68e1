/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_bytes.h - C = A B of bytes: sums in i32, as they are or requantised.
 *
 *   A  m x k, u8; i8 is taken as the u8 that is greater by 128 (flip)
 *   B  k x n, i8, packed in panels of 16 columns: [ceil(n / 16)][ceil(k / word)][16][word], zeros behind n and k. u8 is
 *      taken as the i8 that is less by 128. word: 4 where one instruction multiplies four bytes, else 2; of products in
 *      tiles a column's words are whole tiles
 *   C  m x n
 *
 * A sum is base[j] - b_zero[j] * (sum of A's row) + products: base holds the bias and all else that follows from zero
 * points. Sums are exact, so that no cut changes them. */
#ifndef HN_KERNELS_CPU_QUANT_GEMM_BYTES_H
#define HN_KERNELS_CPU_QUANT_GEMM_BYTES_H

#include <stdbool.h>
#include <stdint.h>

enum { HN_GEMM_BYTES_PANEL = 16 };

typedef struct hn_gemm_bytes {
  int64_t m, n, k;
  const uint8_t *a;
  const int8_t *b_packed;
  void *c; /* bytes; i32 without scale */
  /* Of whole panels. */
  const int32_t *base, *b_zero; /* b_zero NULL: zeros */
  const float *scale;           /* NULL: the sums are C */
  int32_t a_flip, c_flip;
  bool a_is_signed;          /* i8 that is multiplied as it is: a_flip is 0 */
  int32_t c_zero, low, high; /* of u8, after the flip */
  int word, depth_step;      /* the kernel's; k is filled up to a multiple of depth_step */
} hn_gemm_bytes;

static inline int64_t hn_gemm_bytes_panels(int64_t n) { return (n + HN_GEMM_BYTES_PANEL - 1) / HN_GEMM_BYTES_PANEL; }
static inline int64_t hn_gemm_bytes_depth(const hn_gemm_bytes *g) {
  return (g->k + g->depth_step - 1) / g->depth_step * g->depth_step;
}
/* From one row of A's elements to the next one's; those of a tile lie in different sets of a cache. */
static inline int64_t hn_gemm_bytes_stride(const hn_gemm_bytes *g) {
  return g->depth_step == 64 ? (hn_gemm_bytes_depth(g) / 64 | 1) * 64 : hn_gemm_bytes_depth(g);
}
/* Scratch of a call for `rows` rows of A: their elements, of whole tiles, then their sums; in bytes. */
static inline int64_t hn_gemm_bytes_sums_at(const hn_gemm_bytes *g, int64_t rows) {
  return ((rows + 15) / 16 * 16 * hn_gemm_bytes_stride(g) * (g->word == 4 ? 1 : 2) + 63) / 64 * 64;
}
static inline int64_t hn_gemm_bytes_scratch(const hn_gemm_bytes *g, int64_t rows) {
  return hn_gemm_bytes_sums_at(g, rows) + rows * 4;
}

/* Rows [row, row_end) x panels [panel, panel_end); scratch aligned to 64. */
typedef void hn_gemm_bytes_fn(const hn_gemm_bytes *gemm, int64_t row, int64_t row_end, int64_t panel, int64_t panel_end,
                              void *scratch);
hn_gemm_bytes_fn hn_gemm_bytes_avx512_vnni, hn_gemm_bytes_avx512, hn_gemm_bytes_avx_vnni, hn_gemm_bytes_avx2,
    hn_gemm_bytes_c, hn_gemm_bytes_tiles_amx_int8, hn_gemm_bytes_tiles_c;

/* Panels [panel, panel_end) of B as it lies in a tensor (k x n), flip 0x80 where it is u8; and the sums of their
 * columns. `to` and `sums` are those of all panels. */
void hn_gemm_bytes_pack_c(const hn_gemm_bytes *gemm, const uint8_t *b, int32_t flip, int64_t panel, int64_t panel_end,
                          int8_t *to, int32_t *sums);

#endif
