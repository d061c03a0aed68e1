/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.h - C = activation(A B + bias + residual) in f32, B packed beforehand.
 *
 *   A  m x k, element (i, p) at a[i * a_row_stride + p * a_column_stride]; a transposed A swaps the strides
 *   B  k x n, packed in panels of W columns: [ceil(n / W)][k][W], columns beyond n zero.
 *      W = 16 for *_avx512, 8 for *_avx2 and *_c
 *   C  m x n, element (i, j) at c[i * c_row_stride + j]
 *
 * Every element is one chain: bias, products over p upward, residual, activation. So the result depends
 * neither on the block sizes nor on the range a call is given.
 *
 * Work units: a call does rows [row_begin, row_end) x panels [panel_begin, panel_end). Calls on disjoint ranges
 * are independent; each needs its own scratch. C must not overlap anything else (not even the residual: C holds
 * partial sums between blocks of k). */
#ifndef HN_KERNELS_CPU_GEMM_H
#define HN_KERNELS_CPU_GEMM_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu/epilogue.h"

typedef struct hn_gemm_f32 {
  int64_t m, n, k;
  const float *a;
  int64_t a_row_stride, a_column_stride; /* floats */
  const float *a_packed; /* what hn_gemm_f32_pack_a_* wrote, for calls that share it; NULL: each call packs its rows */
  const float *b_packed;
  float *c;
  int64_t c_row_stride; /* floats */

  hn_epilogue_f32 epilogue; /* bias: n floats, or m with bias_per_row; residual: m x n, residual_stride */
  int32_t bias_per_row;

  int64_t k_begin, k_end; /* a call's part of k: from a multiple of block_k to another, or to k; k_end 0: all. C holds
                             the sums between parts that come in order */

  int32_t tile_panels; /* panels of a tile: 1..4 (avx512: 1x14 2x14 3x8 4x6 panels x rows), 1..3 (avx2: 1x10 2x6
                          3x4), 1..2 (c: 1x4 2x2) */
  int64_t block_m, block_n, block_k; /* rows of A packed at once; columns (a multiple of W) and depth (a multiple of
                                        W) of the part of B that is walked meanwhile */
} hn_gemm_f32;

#define HN_GEMM_F32_PANEL_AVX512 16
#define HN_GEMM_F32_PANEL_AVX2 8
#define HN_GEMM_F32_PANEL_C 8

/* Rows up to which an untransposed A is read in place, without scratch. */
#define HN_GEMM_F32_DIRECT_ROWS 4

/* Fills tile_panels and the blocks with a fair first choice for panels of the given width: A's block in 5/8 of L2,
 * B's slice of a tile in 1/16, and the next one beside it. */
void hn_gemm_f32_choose(hn_gemm_f32 *gemm, int panel, size_t l2_bytes);

/* Floats of scratch that a call needs for a packed block of A; depends on k, block_m and block_k only. */
int64_t hn_gemm_f32_scratch_floats(const hn_gemm_f32 *gemm);

/* Panels of B, their floats, and packing of panels [begin, end) from element (p, j) at
 * b[p * row_stride + j * column_stride]: column_stride 1 for k x n, row_stride 1 for a transposed n x k. */
int64_t hn_gemm_f32_panels(int64_t n, int panel);
int64_t hn_gemm_f32_packed_floats(int64_t k, int64_t n, int panel);
void hn_gemm_f32_pack_b_c(const float *b, int64_t row_stride, int64_t column_stride, int64_t k, int64_t n, int panel,
                          int64_t begin, int64_t end, float *packed);

/* All of A packed once, for calls on ranges of panels in several threads: tiles [begin, end) of all of them, which are
 * independent; hn_gemm_f32_a_floats() floats at `to`. Calls that are given a_packed want whole blocks of block_m rows.
 */
int64_t hn_gemm_f32_a_floats(const hn_gemm_f32 *gemm);
void hn_gemm_f32_pack_a_avx512(const hn_gemm_f32 *gemm, int64_t begin, int64_t end, float *to);
void hn_gemm_f32_pack_a_avx2(const hn_gemm_f32 *gemm, int64_t begin, int64_t end, float *to);
void hn_gemm_f32_pack_a_c(const hn_gemm_f32 *gemm, int64_t begin, int64_t end, float *to);
int64_t hn_gemm_f32_a_tiles_avx512(const hn_gemm_f32 *gemm);
int64_t hn_gemm_f32_a_tiles_avx2(const hn_gemm_f32 *gemm);
int64_t hn_gemm_f32_a_tiles_c(const hn_gemm_f32 *gemm);

/* scratch: hn_gemm_f32_scratch_floats() floats, written before they are read; NULL will do for ranges of up to
 * HN_GEMM_F32_DIRECT_ROWS rows with a_column_stride 1. */
void hn_gemm_f32_14x32_avx512(const hn_gemm_f32 *gemm, int64_t row_begin, int64_t row_end, int64_t panel_begin,
                              int64_t panel_end, float *scratch);
void hn_gemm_f32_6x16_avx2(const hn_gemm_f32 *gemm, int64_t row_begin, int64_t row_end, int64_t panel_begin,
                           int64_t panel_end, float *scratch);
void hn_gemm_f32_4x8_c(const hn_gemm_f32 *gemm, int64_t row_begin, int64_t row_end, int64_t panel_begin,
                       int64_t panel_end, float *scratch);

#endif
