/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_f32.c - blocked matrix product around the register tile; after Goto and van de Geijn, "Anatomy of
 * high-performance matrix multiplication" (2008), with B's slice in L1 and A's block in L2.
 *
 * A is packed as [tile][k / HN_BLOCK][rows of the tile][HN_BLOCK]: runs of k stay together, so packing is a copy
 * of whole vectors and the tile's broadcasts have constant offsets. A few rows of A are read in place instead. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/tile_f32.inc.h"

/* Tiles that read A in place, few rows x many panels: enough independent sums to stream B. */
#if HN_LANES == 16
#define HN_GEMM hn_gemm_f32_14x32_avx512
#define HN_DIRECT_ROWS 4
#define HN_DIRECT_PANELS 4
#define HN_DIRECT_WIDE 8
#elif HN_LANES == 8
#define HN_GEMM hn_gemm_f32_6x16_avx2
#define HN_DIRECT_ROWS 4
#define HN_DIRECT_PANELS 3
#define HN_DIRECT_WIDE 8
#else
#define HN_GEMM hn_gemm_f32_4x8_c
#define HN_DIRECT_ROWS 2
#define HN_DIRECT_PANELS 2
#define HN_DIRECT_WIDE 4
#endif
#define HN_EDGE_FLOATS (HN_TILE_VECTORS_MAX * HN_LANES)

/* One tile. c, bias and residual are at its first element; bias and residual may be NULL. */
typedef struct gemm_tile {
  const float *a, *b, *bias, *residual;
  float *c;
  int64_t a_row_stride, a_block_stride; /* between rows, and from one run of HN_BLOCK k to the next */
  int64_t b_stride;                     /* between panels */
  int64_t depth, c_stride, residual_stride;
  int bias_per_row, is_first, is_last; /* first and last block of k */
  float low, high;
  const float *ahead; /* in the panels that come next */
  int64_t ahead_step; /* how many of their k to bring near with each run of HN_BLOCK k: 0, 1 or 2 */
} gemm_tile;

HN_INLINE void tile_begin(vf *acc, const int vectors, const int rows, const gemm_tile *t) {
  if (t->is_first && !(t->bias && t->bias_per_row)) {
    tile_start(acc, vectors, rows, t->bias);
    return;
  }
  HN_UNROLL
  for (int r = 0; r < rows; ++r) {
    HN_UNROLL
    for (int v = 0; v < vectors; ++v)
      acc[r * vectors + v] = t->is_first ? v_set(t->bias[r]) : v_load(t->c + r * t->c_stride + v * HN_LANES);
  }
}

HN_INLINE void tile_finish(vf *acc, const int vectors, const int rows, const gemm_tile *t) {
  if (t->residual) {
    HN_UNROLL
    for (int r = 0; r < rows; ++r) {
      HN_UNROLL
      for (int v = 0; v < vectors; ++v)
        acc[r * vectors + v] += v_load(t->residual + r * t->residual_stride + v * HN_LANES);
    }
  }
  tile_bound(acc, rows * vectors, t->low, t->high);
}

/* C's lines are fetched while the sums are formed, else the stores at the end wait for each of them. */
HN_INLINE void tile_expect(const gemm_tile *t, const int panels, const int rows) {
  HN_UNROLL
  for (int r = 0; r < rows; ++r) {
    HN_UNROLL
    for (int p = 0; p < panels; ++p) __builtin_prefetch(t->c + r * t->c_stride + p * HN_BLOCK, 1, 3);
  }
}

/* Weights come from L3 or memory while the tiles before them compute. */
HN_INLINE void tile_ahead(const float *ahead, const int panels, const gemm_tile *t) {
  HN_UNROLL
  for (int p = 0; p < panels; ++p) __builtin_prefetch(ahead + p * t->b_stride, 0, 2);
  if (t->ahead_step < 2) return;
  HN_UNROLL
  for (int p = 0; p < panels; ++p) __builtin_prefetch(ahead + HN_BLOCK + p * t->b_stride, 0, 2);
}

HN_INLINE void tile_gemm(const gemm_tile *t, const int panels, const int rows, const ptrdiff_t row_stride) {
  const int vectors = panels * HN_BLOCK_VECTORS;
  vf acc[HN_TILE_VECTORS_MAX];
  const float *a = t->a, *b = t->b, *ahead = t->ahead;
  tile_begin(acc, vectors, rows, t);
  if (t->is_first) tile_expect(t, panels, rows);
  for (int64_t left = t->depth; left > 0; left -= HN_BLOCK, a += t->a_block_stride, b += HN_BLOCK * HN_BLOCK) {
    tile_ahead(ahead, panels, t);
    ahead += t->ahead_step * HN_BLOCK;
    tile_run(acc, vectors, rows, a, row_stride, b, t->b_stride, left < HN_BLOCK ? left : HN_BLOCK);
  }
  if (t->is_last) tile_finish(acc, vectors, rows, t);
  HN_UNROLL
  for (int r = 0; r < rows; ++r) {
    HN_UNROLL
    for (int v = 0; v < vectors; ++v) v_store(t->c + r * t->c_stride + v * HN_LANES, acc[r * vectors + v]);
  }
}

HN_OUTLINE void tile_packed_1_1(const gemm_tile *t) { tile_gemm(t, 1, 1, HN_BLOCK); }
HN_OUTLINE void tile_packed_1_2(const gemm_tile *t) { tile_gemm(t, 1, 2, HN_BLOCK); }
HN_OUTLINE void tile_packed_1_3(const gemm_tile *t) { tile_gemm(t, 1, 3, HN_BLOCK); }
HN_OUTLINE void tile_packed_1_4(const gemm_tile *t) { tile_gemm(t, 1, 4, HN_BLOCK); }
HN_OUTLINE void tile_packed_2_1(const gemm_tile *t) { tile_gemm(t, 2, 1, HN_BLOCK); }
HN_OUTLINE void tile_packed_2_2(const gemm_tile *t) { tile_gemm(t, 2, 2, HN_BLOCK); }
#if HN_LANES >= 8
HN_OUTLINE void tile_packed_1_5(const gemm_tile *t) { tile_gemm(t, 1, 5, HN_BLOCK); }
HN_OUTLINE void tile_packed_1_6(const gemm_tile *t) { tile_gemm(t, 1, 6, HN_BLOCK); }
HN_OUTLINE void tile_packed_1_7(const gemm_tile *t) { tile_gemm(t, 1, 7, HN_BLOCK); }
HN_OUTLINE void tile_packed_1_8(const gemm_tile *t) { tile_gemm(t, 1, 8, HN_BLOCK); }
HN_OUTLINE void tile_packed_1_9(const gemm_tile *t) { tile_gemm(t, 1, 9, HN_BLOCK); }
HN_OUTLINE void tile_packed_1_10(const gemm_tile *t) { tile_gemm(t, 1, 10, HN_BLOCK); }
HN_OUTLINE void tile_packed_2_3(const gemm_tile *t) { tile_gemm(t, 2, 3, HN_BLOCK); }
HN_OUTLINE void tile_packed_2_4(const gemm_tile *t) { tile_gemm(t, 2, 4, HN_BLOCK); }
HN_OUTLINE void tile_packed_2_5(const gemm_tile *t) { tile_gemm(t, 2, 5, HN_BLOCK); }
HN_OUTLINE void tile_packed_2_6(const gemm_tile *t) { tile_gemm(t, 2, 6, HN_BLOCK); }
HN_OUTLINE void tile_packed_3_1(const gemm_tile *t) { tile_gemm(t, 3, 1, HN_BLOCK); }
HN_OUTLINE void tile_packed_3_2(const gemm_tile *t) { tile_gemm(t, 3, 2, HN_BLOCK); }
HN_OUTLINE void tile_packed_3_3(const gemm_tile *t) { tile_gemm(t, 3, 3, HN_BLOCK); }
HN_OUTLINE void tile_packed_3_4(const gemm_tile *t) { tile_gemm(t, 3, 4, HN_BLOCK); }
#endif
#if HN_LANES == 16
HN_OUTLINE void tile_packed_1_11(const gemm_tile *t) { tile_gemm(t, 1, 11, HN_BLOCK); }
HN_OUTLINE void tile_packed_1_12(const gemm_tile *t) { tile_gemm(t, 1, 12, HN_BLOCK); }
HN_OUTLINE void tile_packed_1_13(const gemm_tile *t) { tile_gemm(t, 1, 13, HN_BLOCK); }
HN_OUTLINE void tile_packed_1_14(const gemm_tile *t) { tile_gemm(t, 1, 14, HN_BLOCK); }
HN_OUTLINE void tile_packed_2_7(const gemm_tile *t) { tile_gemm(t, 2, 7, HN_BLOCK); }
HN_OUTLINE void tile_packed_2_8(const gemm_tile *t) { tile_gemm(t, 2, 8, HN_BLOCK); }
HN_OUTLINE void tile_packed_2_9(const gemm_tile *t) { tile_gemm(t, 2, 9, HN_BLOCK); }
HN_OUTLINE void tile_packed_2_10(const gemm_tile *t) { tile_gemm(t, 2, 10, HN_BLOCK); }
HN_OUTLINE void tile_packed_2_11(const gemm_tile *t) { tile_gemm(t, 2, 11, HN_BLOCK); }
HN_OUTLINE void tile_packed_2_12(const gemm_tile *t) { tile_gemm(t, 2, 12, HN_BLOCK); }
HN_OUTLINE void tile_packed_2_13(const gemm_tile *t) { tile_gemm(t, 2, 13, HN_BLOCK); }
HN_OUTLINE void tile_packed_2_14(const gemm_tile *t) { tile_gemm(t, 2, 14, HN_BLOCK); }
HN_OUTLINE void tile_packed_3_5(const gemm_tile *t) { tile_gemm(t, 3, 5, HN_BLOCK); }
HN_OUTLINE void tile_packed_3_6(const gemm_tile *t) { tile_gemm(t, 3, 6, HN_BLOCK); }
HN_OUTLINE void tile_packed_3_7(const gemm_tile *t) { tile_gemm(t, 3, 7, HN_BLOCK); }
HN_OUTLINE void tile_packed_3_8(const gemm_tile *t) { tile_gemm(t, 3, 8, HN_BLOCK); }
HN_OUTLINE void tile_packed_4_1(const gemm_tile *t) { tile_gemm(t, 4, 1, HN_BLOCK); }
HN_OUTLINE void tile_packed_4_2(const gemm_tile *t) { tile_gemm(t, 4, 2, HN_BLOCK); }
HN_OUTLINE void tile_packed_4_3(const gemm_tile *t) { tile_gemm(t, 4, 3, HN_BLOCK); }
HN_OUTLINE void tile_packed_4_4(const gemm_tile *t) { tile_gemm(t, 4, 4, HN_BLOCK); }
HN_OUTLINE void tile_packed_4_5(const gemm_tile *t) { tile_gemm(t, 4, 5, HN_BLOCK); }
HN_OUTLINE void tile_packed_4_6(const gemm_tile *t) { tile_gemm(t, 4, 6, HN_BLOCK); }
#endif

HN_OUTLINE void tile_direct_1_1(const gemm_tile *t) { tile_gemm(t, 1, 1, t->a_row_stride); }
HN_OUTLINE void tile_direct_1_2(const gemm_tile *t) { tile_gemm(t, 1, 2, t->a_row_stride); }
HN_OUTLINE void tile_direct_2_1(const gemm_tile *t) { tile_gemm(t, 2, 1, t->a_row_stride); }
HN_OUTLINE void tile_direct_2_2(const gemm_tile *t) { tile_gemm(t, 2, 2, t->a_row_stride); }
#if HN_LANES < 8
HN_OUTLINE void tile_direct_4_1(const gemm_tile *t) { tile_gemm(t, 4, 1, t->a_row_stride); }
#endif
#if HN_LANES >= 8
HN_OUTLINE void tile_direct_1_3(const gemm_tile *t) { tile_gemm(t, 1, 3, t->a_row_stride); }
HN_OUTLINE void tile_direct_1_4(const gemm_tile *t) { tile_gemm(t, 1, 4, t->a_row_stride); }
HN_OUTLINE void tile_direct_2_3(const gemm_tile *t) { tile_gemm(t, 2, 3, t->a_row_stride); }
HN_OUTLINE void tile_direct_2_4(const gemm_tile *t) { tile_gemm(t, 2, 4, t->a_row_stride); }
HN_OUTLINE void tile_direct_3_1(const gemm_tile *t) { tile_gemm(t, 3, 1, t->a_row_stride); }
HN_OUTLINE void tile_direct_3_2(const gemm_tile *t) { tile_gemm(t, 3, 2, t->a_row_stride); }
HN_OUTLINE void tile_direct_3_3(const gemm_tile *t) { tile_gemm(t, 3, 3, t->a_row_stride); }
HN_OUTLINE void tile_direct_3_4(const gemm_tile *t) { tile_gemm(t, 3, 4, t->a_row_stride); }
HN_OUTLINE void tile_direct_8_1(const gemm_tile *t) { tile_gemm(t, 8, 1, t->a_row_stride); }
#endif
#if HN_LANES == 16
HN_OUTLINE void tile_direct_4_1(const gemm_tile *t) { tile_gemm(t, 4, 1, t->a_row_stride); }
HN_OUTLINE void tile_direct_4_2(const gemm_tile *t) { tile_gemm(t, 4, 2, t->a_row_stride); }
HN_OUTLINE void tile_direct_4_3(const gemm_tile *t) { tile_gemm(t, 4, 3, t->a_row_stride); }
HN_OUTLINE void tile_direct_4_4(const gemm_tile *t) { tile_gemm(t, 4, 4, t->a_row_stride); }
#endif

typedef void tile_function(const gemm_tile *);
static tile_function *const packed_tiles[HN_TILE_BLOCKS + 1][15] = {
    [1][1] = tile_packed_1_1,   [1][2] = tile_packed_1_2,   [1][3] = tile_packed_1_3,   [1][4] = tile_packed_1_4,
    [2][1] = tile_packed_2_1,   [2][2] = tile_packed_2_2,
#if HN_LANES >= 8
    [1][5] = tile_packed_1_5,   [1][6] = tile_packed_1_6,   [1][7] = tile_packed_1_7,   [1][8] = tile_packed_1_8,
    [1][9] = tile_packed_1_9,   [1][10] = tile_packed_1_10, [2][3] = tile_packed_2_3,   [2][4] = tile_packed_2_4,
    [2][5] = tile_packed_2_5,   [2][6] = tile_packed_2_6,   [3][1] = tile_packed_3_1,   [3][2] = tile_packed_3_2,
    [3][3] = tile_packed_3_3,   [3][4] = tile_packed_3_4,
#endif
#if HN_LANES == 16
    [1][11] = tile_packed_1_11, [1][12] = tile_packed_1_12, [1][13] = tile_packed_1_13, [1][14] = tile_packed_1_14,
    [2][7] = tile_packed_2_7,   [2][8] = tile_packed_2_8,   [2][9] = tile_packed_2_9,   [2][10] = tile_packed_2_10,
    [2][11] = tile_packed_2_11, [2][12] = tile_packed_2_12, [2][13] = tile_packed_2_13, [2][14] = tile_packed_2_14,
    [3][5] = tile_packed_3_5,   [3][6] = tile_packed_3_6,   [3][7] = tile_packed_3_7,   [3][8] = tile_packed_3_8,
    [4][1] = tile_packed_4_1,   [4][2] = tile_packed_4_2,   [4][3] = tile_packed_4_3,   [4][4] = tile_packed_4_4,
    [4][5] = tile_packed_4_5,   [4][6] = tile_packed_4_6,
#endif
};
static tile_function *const direct_tiles[HN_DIRECT_WIDE + 1][HN_DIRECT_ROWS + 1] = {
    [1][1] = tile_direct_1_1, [1][2] = tile_direct_1_2, [2][1] = tile_direct_2_1, [2][2] = tile_direct_2_2,
#if HN_LANES < 8
    [4][1] = tile_direct_4_1,
#endif
#if HN_LANES >= 8
    [1][3] = tile_direct_1_3, [1][4] = tile_direct_1_4, [2][3] = tile_direct_2_3, [2][4] = tile_direct_2_4,
    [3][1] = tile_direct_3_1, [3][2] = tile_direct_3_2, [3][3] = tile_direct_3_3, [3][4] = tile_direct_3_4,
    [8][1] = tile_direct_8_1,
#endif
#if HN_LANES == 16
    [4][1] = tile_direct_4_1, [4][2] = tile_direct_4_2, [4][3] = tile_direct_4_3, [4][4] = tile_direct_4_4,
#endif
};

static int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

/* Rows of a rectangle, columns floats each. */
static void copy_rows(float *to, int64_t to_stride, const float *from, int64_t from_stride, int rows, int64_t columns) {
  for (int r = 0; r < rows; ++r) memcpy(to + r * to_stride, from + r * from_stride, (size_t)columns * sizeof(float));
}

/* Runs a tile whose last panel is cut by n: in buffers of whole panels, so that nothing beyond n is touched. */
static void run_edge(tile_function *run, const gemm_tile *whole, int rows, int64_t width, int64_t columns) {
  float c[HN_EDGE_FLOATS], residual[HN_EDGE_FLOATS], bias[HN_EDGE_FLOATS];
  gemm_tile t = *whole;
  t.c = c;
  t.c_stride = width;
  memset(c, 0, (size_t)(rows * width) * sizeof(float));
  if (!t.is_first) copy_rows(c, width, whole->c, whole->c_stride, rows, columns);
  if (t.residual) {
    memset(residual, 0, (size_t)(rows * width) * sizeof(float));
    copy_rows(residual, width, t.residual, t.residual_stride, rows, columns);
    t.residual = residual;
    t.residual_stride = width;
  }
  if (t.bias && !t.bias_per_row) {
    memset(bias, 0, (size_t)width * sizeof(float));
    memcpy(bias, t.bias, (size_t)columns * sizeof(float));
    t.bias = bias;
  }
  run(&t);
  copy_rows(whole->c, whole->c_stride, c, width, rows, columns);
}

/* The tile at row i, panel j: fills what depends on the place, runs it and applies the activation. */
static void run_tile(const hn_gemm_f32 *g, tile_function *run, gemm_tile *t, int64_t i, int rows, int64_t j,
                     int panels) {
  const int64_t column = j * HN_BLOCK, width = (int64_t)panels * HN_BLOCK, columns = lesser(width, g->n - column);
  const hn_epilogue_f32 *e = &g->epilogue;
  t->c = g->c + i * g->c_row_stride + column;
  t->bias = e->bias ? e->bias + (g->bias_per_row ? i : column) : NULL;
  t->residual = e->residual ? e->residual + i * e->residual_stride + column : NULL;
  if (columns == width)
    run(t);
  else
    run_edge(run, t, rows, width, columns);
  if (!t->is_last || activation_is_bounds(e)) return;
  for (int r = 0; r < rows; ++r) {
    float *c = t->c + r * t->c_stride;
    if (g->bias_per_row)
      activate_channel(c, columns, e, i + r);
    else
      activate_channels(c, columns, e, column, columns);
  }
}

/* One tile: rows [row, row + rows) x k [begin, begin + depth) of A. */
static void pack_tile(const hn_gemm_f32 *g, int64_t row, int rows, int64_t begin, int64_t depth, float *to) {
  for (int64_t p = 0; p < depth; p += HN_BLOCK) {
    const float *from = g->a + row * g->a_row_stride + (begin + p) * g->a_column_stride;
    const int64_t run = lesser(HN_BLOCK, depth - p);
    for (int r = 0; r < rows; ++r, to += HN_BLOCK, from += g->a_row_stride) {
      if (g->a_column_stride == 1 && run == HN_BLOCK) {
        memcpy(to, from, HN_BLOCK * sizeof(float));
        continue;
      }
      for (int64_t q = 0; q < run; ++q) to[q] = from[q * g->a_column_stride];
    }
  }
}

static int64_t whole_runs(int64_t depth) { return (depth + HN_BLOCK - 1) / HN_BLOCK * HN_BLOCK; }

/* Rows [row, row + count) in tiles of at most most rows. */
static void pack_a(const hn_gemm_f32 *g, int64_t row, int64_t count, int64_t begin, int64_t depth, int most,
                   float *to) {
  int rows;
  for (int64_t i = 0; i < count; i += rows, to += rows * whole_runs(depth)) {
    rows = tile_width(count - i, most);
    pack_tile(g, row + i, rows, begin, depth, to);
  }
}

/* Packed whole, A lies as [block of rows][block of k] of what pack_a() writes. */
static int64_t packed_at(const hn_gemm_f32 *g, int64_t row, int64_t count, int64_t begin) {
  return row * whole_runs(g->k) + count * begin;
}

static int64_t tiles_of(int64_t rows, int most) { return (rows + most - 1) / most; }

int64_t HN_SIMD_NAME(hn_gemm_f32_a_tiles)(const hn_gemm_f32 *g) {
  const int most = tile_pixels[g->tile_panels];
  return g->m / g->block_m * tiles_of(g->block_m, most) + tiles_of(g->m % g->block_m, most);
}

void HN_SIMD_NAME(hn_gemm_f32_pack_a)(const hn_gemm_f32 *g, int64_t begin, int64_t end, float *to) {
  const int most = tile_pixels[g->tile_panels];
  const int64_t block_tiles = tiles_of(g->block_m, most);
  for (int64_t at = begin; at < end; ++at) {
    const int64_t row = at / block_tiles * g->block_m, count = lesser(g->block_m, g->m - row);
    int64_t i = 0;
    int rows = tile_width(count, most);
    for (int64_t t = at % block_tiles; t > 0; --t) {
      i += rows;
      rows = tile_width(count - i, most);
    }
    for (int64_t p = 0; p < g->k; p += g->block_k) {
      const int64_t depth = lesser(g->block_k, g->k - p);
      pack_tile(g, row + i, rows, p, depth, to + packed_at(g, row, count, p) + i * whole_runs(depth));
    }
  }
}

static int64_t end_of_k(const hn_gemm_f32 *g) { return g->k_end > 0 ? lesser(g->k_end, g->k) : g->k; }

/* One packed block of A times panels [panel_begin, panel_end) of one slice of k. */
static void run_block(const hn_gemm_f32 *g, gemm_tile *t, int64_t row, int64_t count, int64_t panel_begin,
                      int64_t panel_end, int64_t k_begin, const float *packed) {
  const int64_t padded = whole_runs(t->depth);
  const int most = tile_pixels[g->tile_panels]; /* at the end fewer panels would allow more rows, but A is cut */
  const int64_t k_next = k_begin + t->depth;
  int panels, rows;
  for (int64_t j = panel_begin; j < panel_end; j += panels) {
    panels = (int)lesser(g->tile_panels, panel_end - j);
    t->b = t->ahead = g->b_packed + (j * g->k + k_begin) * HN_BLOCK;
    t->a = packed;
    t->ahead_step = count > (int64_t)HN_BLOCK * most ? 1 : 2;
    if (j + 2 * panels <= panel_end)
      t->ahead += panels * t->b_stride;
    else if (k_next < end_of_k(g)) /* the first panels of the next slice */
      t->ahead = g->b_packed + (panel_begin * g->k + k_next) * HN_BLOCK;
    else
      t->ahead_step = 0;
    for (int64_t i = 0; i < count; i += rows, t->a += rows * padded, t->ahead += t->ahead_step * padded) {
      rows = tile_width(count - i, most);
      t->a_block_stride = (int64_t)rows * HN_BLOCK;
      run_tile(g, packed_tiles[panels][rows], t, row + i, rows, j, panels);
    }
  }
}

static void run_direct(const hn_gemm_f32 *g, gemm_tile *t, int64_t row_begin, int64_t row_end, int64_t panel_begin,
                       int64_t panel_end) {
  const int64_t k_end = end_of_k(g);
  int panels, rows;
  t->is_first = g->k_begin == 0;
  t->is_last = k_end == g->k;
  t->depth = k_end - g->k_begin;
  t->a_row_stride = g->a_row_stride;
  t->a_block_stride = HN_BLOCK;
  for (int64_t j = panel_begin; j < panel_end; j += panels) {
    const int most = row_end - row_begin == 1 && panel_end - j >= HN_DIRECT_WIDE ? HN_DIRECT_WIDE : HN_DIRECT_PANELS;
    panels = (int)lesser(most, panel_end - j);
    t->b = t->ahead = g->b_packed + (j * g->k + g->k_begin) * HN_BLOCK;
    for (int64_t i = row_begin; i < row_end; i += rows) {
      rows = (int)lesser(HN_DIRECT_ROWS, row_end - i);
      t->a = g->a + i * g->a_row_stride + g->k_begin;
      run_tile(g, direct_tiles[panels][rows], t, i, rows, j, panels);
    }
  }
}

void HN_GEMM(const hn_gemm_f32 *g, int64_t row_begin, int64_t row_end, int64_t panel_begin, int64_t panel_end,
             float *scratch) {
  const int64_t block_panels = g->block_n / HN_BLOCK, k_end = end_of_k(g);
  gemm_tile t = {.b_stride = g->k * HN_BLOCK, .c_stride = g->c_row_stride};
  t.residual_stride = g->epilogue.residual_stride;
  t.bias_per_row = g->bias_per_row;
  activation_bounds(&g->epilogue, &t.low, &t.high);
  if (row_end - row_begin <= HN_GEMM_F32_DIRECT_ROWS && g->a_column_stride == 1 && !g->a_packed) {
    run_direct(g, &t, row_begin, row_end, panel_begin, panel_end);
    return;
  }
  for (int64_t i = row_begin; i < row_end; i += g->block_m) {
    const int64_t count = lesser(g->block_m, row_end - i);
    for (int64_t j = panel_begin; j < panel_end; j += block_panels) {
      int64_t p = g->k_begin;
      do { /* once even for k = 0 */
        t.depth = lesser(g->block_k, k_end - p);
        t.is_first = p == 0;
        t.is_last = p + t.depth == g->k;
        const float *packed = g->a_packed ? g->a_packed + packed_at(g, i, count, p) : scratch;
        if (!g->a_packed) pack_a(g, i, count, p, t.depth, tile_pixels[g->tile_panels], scratch);
        run_block(g, &t, i, count, j, lesser(j + block_panels, panel_end), p, packed);
        p += t.depth;
      } while (p < k_end);
    }
  }
}
