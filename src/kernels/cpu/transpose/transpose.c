/* SPDX-License-Identifier: Apache-2.0 */
/* transpose.c - the loops over runs and tiles. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/transpose/transpose.h"
#include "kernels/cpu/tile.inc.h"
#include "kernels/cpu/walk.inc.h"

/* from and to point at the tile's first element; strides in elements of `bytes` bytes. */
HN_INLINE void tile_of(int bytes, const char *from, int64_t from_stride, char *to, int64_t to_stride, int64_t rows,
                       int64_t columns) {
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = 0; r < rows; ++r)
      memcpy(to + (c * to_stride + r) * bytes, from + (r * from_stride + c) * bytes, (size_t)bytes);
}

/* Constant extents let the compiler keep an 8 x 8 block in registers. */
HN_INLINE void tiles_of(int bytes, const char *from, int64_t from_stride, char *to, int64_t to_stride, int64_t rows,
                        int64_t columns) {
  enum { SIDE = 8 };
  for (int64_t r = 0; r < rows; r += SIDE) {
    for (int64_t c = 0; c < columns; c += SIDE) {
      const char *f = from + (r * from_stride + c) * bytes;
      char *t = to + (c * to_stride + r) * bytes;
      const int64_t nr = rows - r < SIDE ? rows - r : SIDE, nc = columns - c < SIDE ? columns - c : SIDE;
      if (nr == SIDE && nc == SIDE)
        tile_of(bytes, f, from_stride, t, to_stride, SIDE, SIDE);
      else
        tile_of(bytes, f, from_stride, t, to_stride, nr, nc);
    }
  }
}

static void one_tile(const hn_transpose_plan *p, const char *from, char *to, int64_t unit) {
  const int64_t across = (p->columns + HN_TRANSPOSE_TILE - 1) / HN_TRANSPOSE_TILE;
  const int64_t r = unit / across * HN_TRANSPOSE_TILE, c = unit % across * HN_TRANSPOSE_TILE;
  const int64_t rows = p->rows - r < HN_TRANSPOSE_TILE ? p->rows - r : HN_TRANSPOSE_TILE;
  const int64_t columns = p->columns - c < HN_TRANSPOSE_TILE ? p->columns - c : HN_TRANSPOSE_TILE;
  from += (r * p->row_stride + c) * p->element_bytes;
  to += (c * p->column_stride + r) * p->element_bytes;
  switch (p->element_bytes) {
  case 1: tiles_of(1, from, p->row_stride, to, p->column_stride, rows, columns); break;
  case 2: tiles_of(2, from, p->row_stride, to, p->column_stride, rows, columns); break;
  case 4:
    tile_any((const float *)(const void *)from, p->row_stride, (float *)(void *)to, p->column_stride, rows, columns);
    break;
  case 8: tiles_of(8, from, p->row_stride, to, p->column_stride, rows, columns); break;
  default: tiles_of(16, from, p->row_stride, to, p->column_stride, rows, columns); break;
  }
}

void HN_SIMD_NAME(hn_transpose)(const hn_transpose_plan *p, const void *from, void *to, int64_t begin, int64_t end) {
  if (begin >= end) return;
  const int64_t run_bytes = p->run * p->element_bytes;
  int64_t per_outer = p->units;
  for (int32_t d = 0; d < p->outer_rank; ++d) per_outer /= p->outer_dim[d];
  int64_t inner = begin % per_outer;
  walk w = walk_start(p->outer_rank, p->outer_dim, p->outer_from, p->outer_to, begin / per_outer);
  for (int64_t unit = begin; unit < end; ++unit) {
    const char *f = (const char *)from + w.at_from * p->element_bytes;
    char *t = (char *)to + w.at_to * p->element_bytes;
    if (p->run) {
      const int64_t first = inner * HN_TRANSPOSE_RUN_BYTES, rest = run_bytes - first;
      memcpy(t + first, f + first, (size_t)(rest < HN_TRANSPOSE_RUN_BYTES ? rest : HN_TRANSPOSE_RUN_BYTES));
    } else {
      one_tile(p, f, t, inner);
    }
    if (++inner < per_outer) continue;
    inner = 0;
    walk_next(&w);
  }
}
