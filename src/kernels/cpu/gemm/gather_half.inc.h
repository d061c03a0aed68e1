/* SPDX-License-Identifier: Apache-2.0 */
/* gather_half.inc.h - images as products of halves read them: padded, in phases, in blocks of 32 channels, rounded. The
 * includer says in which type. */
#ifndef HN_KERNELS_CPU_GEMM_GATHER_HALF_INC_H
#define HN_KERNELS_CPU_GEMM_GATHER_HALF_INC_H

#include "kernels/cpu/gemm/product_half.h"
#include "kernels/cpu/held.inc.h"

enum { TILE = HN_PRODUCT_HALF_TILE };

/* 32 floats as 64 bytes. */
HN_INLINE void round_block(const float *from, held *to) {
  for (int i = 0; i < TILE; i += HN_LANES) h_store(to + i, v_load(from + i));
}

/* One row of one phase: pixels x of the image are read at first + x * step, where those are within it. */
typedef struct row {
  int64_t image, block, y, first, step;
  held *to;
} row;

HN_INLINE void row_of_blocks(const hn_gather_half *g, const row *r, const int lanes) {
  const int64_t plane = g->in_height * g->in_width * lanes, blocks = (g->channels + lanes - 1) / lanes;
  const int64_t first = r->block * (TILE / lanes),
                count = blocks - first < TILE / lanes ? blocks - first : TILE / lanes;
  const float *x = (const float *)g->x + (r->image * blocks + first) * plane + r->y * g->in_width * lanes;
  for (int64_t p = 0; p < g->row_pixels; ++p) {
    const int64_t at = r->first + p * r->step;
    if (at < 0 || at >= g->in_width) {
      memset(r->to + p * TILE, 0, TILE * sizeof *r->to);
      continue;
    }
    for (int64_t b = 0; b < TILE / lanes; ++b) {
      held *to = r->to + p * TILE + b * lanes;
      if (b >= count) {
        memset(to, 0, (size_t)lanes * sizeof *to);
        continue;
      }
      if (lanes >= HN_LANES) {
        for (int i = 0; i < lanes; i += HN_LANES) h_store(to + i, v_load(x + b * plane + at * lanes + i));
      } else {
        for (int i = 0; i < lanes; ++i) h_store_one(to + i, x[b * plane + at * lanes + i]);
      }
    }
  }
}

/* The same of halves in blocks of 32: nothing is rounded. */
HN_INLINE void row_of_halves(const hn_gather_half *g, const row *r) {
  const int64_t blocks = hn_gather_half_blocks(g);
  const held *x = (const held *)g->x + ((r->image * blocks + r->block) * g->in_height + r->y) * g->in_width * TILE;
  int64_t p = 0;
  for (; p < g->row_pixels && r->first + p * r->step < 0; ++p) memset(r->to + p * TILE, 0, TILE * sizeof *r->to);
  if (r->step == 1) {
    const int64_t at = r->first + p, left = g->in_width - at, want = g->row_pixels - p;
    const int64_t count = left < 0 ? 0 : left < want ? left : want;
    memcpy(r->to + p * TILE, x + at * TILE, (size_t)(count * TILE) * sizeof *r->to);
    p += count;
  } else {
    for (int64_t at = r->first + p * r->step; p < g->row_pixels && at < g->in_width; ++p, at += r->step)
      memcpy(r->to + p * TILE, x + at * TILE, TILE * sizeof *r->to);
  }
  memset(r->to + p * TILE, 0, (size_t)((g->row_pixels - p) * TILE) * sizeof *r->to);
}

HN_INLINE void row_of_affine(const hn_gather_half *g, const row *r) {
  const held *x = (const held *)g->x +
                  ((r->image * hn_gather_half_blocks(g) + r->block) * g->in_height + r->y) * g->in_width * TILE;
  const vf low = v_set(g->rectified ? 0.0F : -__builtin_inff());
  for (int64_t v = 0; v < TILE; v += HN_LANES) {
    const vf scale = v_load(g->scale + r->block * TILE + v), shift = v_load(g->shift + r->block * TILE + v);
    for (int64_t p = 0; p < g->row_pixels; ++p)
      h_store(r->to + p * TILE + v, v_max(low, v_fma(h_load(x + p * TILE + v), scale, shift)));
  }
}

/* Rows of a matrix: channels lie beside each other. */
HN_INLINE void row_of_last(const hn_gather_half *g, const row *r) {
  const int64_t left = g->channels - r->block * TILE, count = left < TILE ? left : TILE;
  const int64_t line = r->image * g->in_height + r->y;
  for (int64_t p = 0; p < g->row_pixels; ++p) {
    const int64_t at = (line * g->in_width + p) * g->channels + r->block * TILE;
    held *to = r->to + p * TILE;
    if (g->x_is_half) {
      memcpy(to, (const held *)g->x + at, (size_t)count * sizeof *to);
      memset(to + count, 0, (size_t)(TILE - count) * sizeof *to);
    } else if (count == TILE) {
      round_block((const float *)g->x + at, to);
    } else {
      float some[TILE] = {0};
      memcpy(some, (const float *)g->x + at, (size_t)count * sizeof *some);
      round_block(some, to);
    }
  }
}

void HN_HELD_NAME(hn_gather)(const hn_gather_half *g, int64_t begin, int64_t end) {
  const int64_t blocks = hn_gather_half_blocks(g);
  for (int64_t at = begin; at < end; ++at) {
    const int64_t line = at % g->rows, phase = at / g->rows % (g->phases_height * g->phases_width);
    const int64_t plane = at / g->rows / (g->phases_height * g->phases_width);
    const row r = {.image = plane / blocks,
                   .block = plane % blocks,
                   .y = line * g->stride_height + phase / g->phases_width - g->pad_top,
                   .first = phase % g->phases_width - g->pad_left,
                   .step = g->stride_width,
                   .to = g->y + at * g->row_pixels * TILE};
    if (r.y < 0 || r.y >= g->in_height)
      memset(r.to, 0, (size_t)(g->row_pixels * TILE) * sizeof *r.to);
    else if (g->scale)
      row_of_affine(g, &r);
    else if (g->lanes == TILE)
      row_of_halves(g, &r);
    else if (g->lanes == 16)
      row_of_blocks(g, &r, 16);
    else if (g->lanes == 8)
      row_of_blocks(g, &r, 8);
    else
      row_of_last(g, &r);
  }
}

#endif
