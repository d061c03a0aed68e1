/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.inc.h - sums of rows of bytes times columns of weights, in tiles of 16 rows, 16 columns and 64 products: up to
 * two by two tiles of sums at once, so that each tile that is loaded is used twice. Rows that are not there are read
 * all the same. */
#ifndef HN_KERNELS_CPU_QUANT_TILES_INC_H
#define HN_KERNELS_CPU_QUANT_TILES_INC_H

#include "kernels/cpu/amx.inc.h"

enum { TILE = AMX_ROWS, TILE_SIDE = 2 * TILE, TILE_DEPTH = AMX_ROW_BYTES };

/* [row][column]: of 16 rows. */
typedef struct tile_sums {
  int32_t of[TILE][TILE_SIDE];
} tile_sums;

/* 16 rows, strides in bytes: from one to the next, and from 64 bytes of them to the next 64. Of several taps each is so
 * many chunks, tap_at bytes from the first. */
typedef struct tile_rows {
  const uint8_t *at;
  int64_t row, chunk;
} tile_rows;

/* The second 16 rows lack their last chunks until the sums of the first are taken: what is made of these goes on beside
 * that, and their stores, of lines that the first cache may have lost, do not come all at once. */
enum { TILE_REST = 2 };
typedef struct tile_product {
  amx_tiles *tiles;
  tile_rows rows[2];
  const int8_t *w;
  int64_t w_next, chunks, rest; /* chunks: of all taps */
  const int64_t *tap_at;
  int64_t taps;
  int sides, blocks, is_signed;
} tile_product;

HN_INLINE void tile_dot(amx_tiles *t, const int is_signed, const int side, const int blocks) {
  if (side == 0) {
    if (is_signed)
      amx_dot_s8s8(t, 0, 4, 6);
    else
      amx_dot_u8s8(t, 0, 4, 6);
    if (blocks > 1 && is_signed)
      amx_dot_s8s8(t, 1, 4, 7);
    else if (blocks > 1)
      amx_dot_u8s8(t, 1, 4, 7);
  } else {
    if (is_signed)
      amx_dot_s8s8(t, 2, 5, 6);
    else
      amx_dot_u8s8(t, 2, 5, 6);
    if (blocks > 1 && is_signed)
      amx_dot_s8s8(t, 3, 5, 7);
    else if (blocks > 1)
      amx_dot_u8s8(t, 3, 5, 7);
  }
}

HN_INLINE void tile_run(tile_product *p, const int is_signed, const int sides, const int blocks) {
  amx_tiles *t = p->tiles;
  const int8_t *w = p->w;
  int64_t left = p->chunks;
  for (int64_t tap = 0; tap < p->taps; ++tap) {
    const uint8_t *x = p->rows[0].at + p->tap_at[tap], *y = p->rows[1].at + p->tap_at[tap];
    for (int64_t chunk = p->chunks / p->taps; chunk > 0; --chunk, --left, w += TILE * TILE_DEPTH) {
      amx_load(t, 4, x, p->rows[0].row);
      amx_load(t, 6, w, AMX_ROW_BYTES);
      if (blocks > 1) amx_load(t, 7, w + p->w_next, AMX_ROW_BYTES);
      tile_dot(t, is_signed, 0, blocks);
      x += p->rows[0].chunk;
      if (sides == 1 || left <= p->rest) continue;
      amx_load(t, 5, y, p->rows[1].row);
      tile_dot(t, is_signed, 1, blocks);
      y += p->rows[1].chunk;
    }
  }
}

HN_OUTLINE void tile_run_unsigned(tile_product *p) { tile_run(p, 0, p->sides, p->blocks); }
HN_OUTLINE void tile_run_unsigned_2_2(tile_product *p) { tile_run(p, 0, 2, 2); }
HN_OUTLINE void tile_run_signed(tile_product *p) { tile_run(p, 1, p->sides, p->blocks); }
HN_OUTLINE void tile_run_signed_2_2(tile_product *p) { tile_run(p, 1, 2, 2); }

/* rows: of `sides` times 16; w: [chunk][64 / 4][16][4] for 16 columns, and w_next bytes behind it for the next 16,
 * where there are 2 blocks; sums begin at base. */
HN_INLINE void tile_multiply(tile_product *p, const int32_t *base) {
  amx_tiles *t = p->tiles;
  const int is_whole = p->sides > 1 && p->blocks > 1;
  p->rest = p->sides == 1 ? 0 : p->chunks < TILE_REST ? p->chunks : TILE_REST;
  amx_load(t, 0, base, 0);
  if (p->blocks > 1) amx_load(t, 1, base + TILE, 0);
  if (p->sides > 1) amx_load(t, 2, base, 0);
  if (is_whole) amx_load(t, 3, base + TILE, 0);
  if (p->is_signed)
    (is_whole ? tile_run_signed_2_2 : tile_run_signed)(p);
  else
    (is_whole ? tile_run_unsigned_2_2 : tile_run_unsigned)(p);
}

/* The sums of one side's rows: of the first side first. */
HN_INLINE void tile_take(const tile_product *p, int side, tile_sums *to) {
  amx_tiles *t = p->tiles;
  if (side == 1) {
    amx_store(t, 2, &to->of[0][0], sizeof to->of[0]);
    if (p->blocks > 1) amx_store(t, 3, &to->of[0][TILE], sizeof to->of[0]);
    return;
  }
  amx_store(t, 0, &to->of[0][0], sizeof to->of[0]);
  if (p->blocks > 1) amx_store(t, 1, &to->of[0][TILE], sizeof to->of[0]);
  for (int64_t chunk = p->chunks - p->rest; chunk < p->chunks; ++chunk) {
    const int8_t *w = p->w + chunk * TILE * TILE_DEPTH;
    const int64_t of_tap = p->chunks / p->taps;
    amx_load(t, 5, p->rows[1].at + p->tap_at[chunk / of_tap] + chunk % of_tap * p->rows[1].chunk, p->rows[1].row);
    amx_load(t, 6, w, AMX_ROW_BYTES);
    if (p->blocks > 1) amx_load(t, 7, w + p->w_next, AMX_ROW_BYTES);
    tile_dot(t, p->is_signed, 1, p->blocks);
  }
}

#endif
