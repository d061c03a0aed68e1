/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_f64.c - the product's body: a tile of rows x two vectors of columns stays in registers over all of k. A block of
 * A is packed in the order in which its tiles are read, and every panel of B then goes through all of them; few rows
 * are read where they lie. */
/* isa: c avx2 avx512 */
#define HN_HELD_F64 /* reals are doubles */
#include "kernels/cpu/activate.inc.h"
#include "kernels/cpu/gemm/gemm_f64.h"

enum {
  VECTORS = 2,
  PANEL = VECTORS * HN_LANES,
#if defined(HN_SIMD_AVX512)
  ROWS = HN_GEMM_F64_ROWS_AVX512,
#elif defined(HN_SIMD_AVX2)
  ROWS = HN_GEMM_F64_ROWS_AVX2,
#else
  ROWS = HN_GEMM_F64_ROWS_C,
#endif
  DIRECT_ROWS = 4
};

HN_INLINE int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

/* sums + bias + residual, activated, of one row's `columns` of a panel. */
HN_OUTLINE void finish(const hn_gemm_f64 *g, int64_t row, int64_t column, int64_t columns, double *sum) {
  const hn_epilogue_f64 *e = &g->epilogue;
  double low, high;
  if (e->bias)
    for (int64_t j = 0; j < columns; ++j) sum[j] += e->bias[g->bias_per_row ? row : column + j];
  if (e->residual)
    for (int64_t j = 0; j < columns; ++j) sum[j] += e->residual[row * e->residual_stride + column + j];
  activation_bounds(e, &low, &high);
  if (!activation_is_bounds(e) && g->bias_per_row)
    activate_channel(sum, columns, e, row);
  else if (!activation_is_bounds(e))
    activate_channels(sum, columns, e, column, columns);
  else if (e->activation != HN_ACTIVATION_NONE)
    for (int v = 0; v < VECTORS; ++v)
      v_store(sum + v * HN_LANES, v_min(v_set(high), v_max(v_set(low), v_load(sum + v * HN_LANES))));
  memcpy(g->c + row * g->c_row_stride + column, sum, (size_t)columns * sizeof *sum);
}

/* The same of a whole vector, where bounds are all of the activation. */
HN_INLINE void store(const hn_gemm_f64 *g, int64_t row, int64_t column, vf v) {
  const hn_epilogue_f64 *e = &g->epilogue;
  double low, high;
  if (e->bias) v += g->bias_per_row ? v_set(e->bias[row]) : v_load(e->bias + column);
  if (e->residual) v += v_load(e->residual + row * e->residual_stride + column);
  activation_bounds(e, &low, &high);
  if (e->activation != HN_ACTIVATION_NONE) v = v_min(v_set(high), v_max(v_set(low), v));
  v_store(g->c + row * g->c_row_stride + column, v);
}

/* rows x one panel; element (r, p) of A at a[r * row_step + p * k_step]. */
HN_INLINE void tile(const hn_gemm_f64 *g, const double *a, int64_t row_step, int64_t k_step, int64_t row, int64_t panel,
                    const int rows) {
  vf sum[ROWS][VECTORS];
  const double *b = g->b_packed + panel * g->k * PANEL;
  HN_UNROLL
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < VECTORS; ++v) sum[r][v] = v_set(0);
  for (int64_t p = 0; p < g->k; ++p, a += k_step, b += PANEL) {
    const vf b0 = v_load(b), b1 = v_load(b + HN_LANES);
    HN_UNROLL
    for (int r = 0; r < rows; ++r) {
      const vf x = v_set(a[r * row_step]);
      sum[r][0] = v_fma(x, b0, sum[r][0]);
      sum[r][1] = v_fma(x, b1, sum[r][1]);
    }
  }
  const int64_t column = panel * PANEL, columns = lesser(g->n - column, PANEL);
  if (columns == PANEL && activation_is_bounds(&g->epilogue)) {
    HN_UNROLL
    for (int r = 0; r < rows; ++r)
      for (int v = 0; v < VECTORS; ++v) store(g, row + r, column + v * HN_LANES, sum[r][v]);
    return;
  }
  double out[ROWS][PANEL];
  HN_UNROLL
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < VECTORS; ++v) v_store(out[r] + v * HN_LANES, sum[r][v]);
  for (int r = 0; r < rows; ++r) finish(g, row + r, column, columns, out[r]);
}

HN_INLINE void packed_tile(const hn_gemm_f64 *g, const double *a, int64_t row, int64_t panel, int64_t rows) {
  switch (rows) {
  case 1: tile(g, a, 1, ROWS, row, panel, 1); break;
  case 2: tile(g, a, 1, ROWS, row, panel, 2); break;
  case 3: tile(g, a, 1, ROWS, row, panel, 3); break;
#if !defined(HN_SIMD_C)
  case 4: tile(g, a, 1, ROWS, row, panel, 4); break;
  case 5: tile(g, a, 1, ROWS, row, panel, 5); break;
#endif
#if defined(HN_SIMD_AVX512)
  case 6: tile(g, a, 1, ROWS, row, panel, 6); break;
  case 7: tile(g, a, 1, ROWS, row, panel, 7); break;
  case 8: tile(g, a, 1, ROWS, row, panel, 8); break;
  case 9: tile(g, a, 1, ROWS, row, panel, 9); break;
  case 10: tile(g, a, 1, ROWS, row, panel, 10); break;
  case 11: tile(g, a, 1, ROWS, row, panel, 11); break;
#endif
  default: tile(g, a, 1, ROWS, row, panel, ROWS); break;
  }
}

HN_INLINE void direct_tile(const hn_gemm_f64 *g, int64_t row, int64_t panel, int64_t rows) {
  const double *a = g->a + row * g->a_row_stride;
  switch (rows) {
  case 1: tile(g, a, g->a_row_stride, g->a_column_stride, row, panel, 1); break;
  case 2: tile(g, a, g->a_row_stride, g->a_column_stride, row, panel, 2); break;
  case 3: tile(g, a, g->a_row_stride, g->a_column_stride, row, panel, 3); break;
  default: tile(g, a, g->a_row_stride, g->a_column_stride, row, panel, 4); break;
  }
}

/* Tiles of ROWS rows: [k][ROWS]. */
static void pack(const hn_gemm_f64 *g, int64_t row, int64_t rows, double *to) {
  for (int64_t i = 0; i < rows; i += ROWS, to += g->k * ROWS) {
    const int64_t count = lesser(rows - i, ROWS);
    for (int64_t r = 0; r < count; ++r) {
      const double *from = g->a + (row + i + r) * g->a_row_stride;
      for (int64_t p = 0; p < g->k; ++p) to[p * ROWS + r] = from[p * g->a_column_stride];
    }
  }
}

void HN_SIMD_NAME(hn_gemm_f64)(const hn_gemm_f64 *g, int64_t row_begin, int64_t row_end, int64_t panel_begin,
                               int64_t panel_end, double *scratch) {
  if (row_end - row_begin <= DIRECT_ROWS) {
    for (int64_t j = panel_begin; j < panel_end; ++j) direct_tile(g, row_begin, j, row_end - row_begin);
    return;
  }
  for (int64_t i = row_begin; i < row_end; i += g->block_rows) {
    const int64_t count = lesser(g->block_rows, row_end - i);
    pack(g, i, count, scratch);
    for (int64_t j = panel_begin; j < panel_end; ++j)
      for (int64_t r = 0; r < count; r += ROWS) packed_tile(g, scratch + r * g->k, i + r, j, lesser(count - r, ROWS));
  }
}
