/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.inc.h - sums of rows of bytes times columns of weights, in tiles of 16 rows, 16 columns and 64 products: up to
 * two by two tiles of sums at once, so that each tile that is loaded is used twice. Rows that are not there are read
 * all the same. */
#ifndef HN_KERNELS_CPU_QUANT_TILES_INC_H
#define HN_KERNELS_CPU_QUANT_TILES_INC_H

#include "kernels/cpu/amx.inc.h"

enum { TILE = AMX_ROWS, TILE_SIDE = 2 * TILE, TILE_DEPTH = AMX_ROW_BYTES };

/* [row][column] */
typedef struct tile_sums {
  int32_t of[TILE_SIDE][TILE_SIDE];
} tile_sums;

/* 16 rows, strides in bytes: from one to the next, and from 64 bytes of them to the next 64. */
typedef struct tile_rows {
  const uint8_t *at;
  int64_t row, chunk;
} tile_rows;

/* a: of `sides` times 16 rows; w: [chunk][64 / 4][16][4] for 16 columns, and w_next bytes behind it for the next 16,
 * where there are 2 blocks; sums begin at base. */
HN_INLINE void tile_multiply(amx_tiles *t, const tile_rows *a, int sides, int is_signed, int64_t chunks,
                             const int8_t *w, int64_t w_next, int blocks, const int32_t *base, tile_sums *to) {
  const uint8_t *x = a[0].at, *y = a[sides - 1].at;
  amx_load(t, 0, base, 0);
  if (blocks > 1) amx_load(t, 1, base + TILE, 0);
  if (sides > 1) amx_load(t, 2, base, 0);
  if (sides > 1 && blocks > 1) amx_load(t, 3, base + TILE, 0);
  for (; chunks > 0; --chunks, x += a[0].chunk, y += a[sides - 1].chunk, w += TILE * TILE_DEPTH) {
    amx_load(t, 4, x, a[0].row);
    amx_load(t, 6, w, AMX_ROW_BYTES);
    if (blocks > 1) amx_load(t, 7, w + w_next, AMX_ROW_BYTES);
    if (sides > 1) amx_load(t, 5, y, a[1].row);
    if (is_signed) {
      amx_dot_s8s8(t, 0, 4, 6);
      if (blocks > 1) amx_dot_s8s8(t, 1, 4, 7);
      if (sides > 1) amx_dot_s8s8(t, 2, 5, 6);
      if (sides > 1 && blocks > 1) amx_dot_s8s8(t, 3, 5, 7);
    } else {
      amx_dot_u8s8(t, 0, 4, 6);
      if (blocks > 1) amx_dot_u8s8(t, 1, 4, 7);
      if (sides > 1) amx_dot_u8s8(t, 2, 5, 6);
      if (sides > 1 && blocks > 1) amx_dot_u8s8(t, 3, 5, 7);
    }
  }
  amx_store(t, 0, &to->of[0][0], sizeof to->of[0]);
  if (blocks > 1) amx_store(t, 1, &to->of[0][TILE], sizeof to->of[0]);
  if (sides > 1) amx_store(t, 2, &to->of[TILE][0], sizeof to->of[0]);
  if (sides > 1 && blocks > 1) amx_store(t, 3, &to->of[TILE][TILE], sizeof to->of[0]);
}

#endif
