/* SPDX-License-Identifier: Apache-2.0 */
/* isa: c amx_int8 */
/* conv_tiles.c - convolution of bytes as a product of matrices in tiles: as conv_u8s8.c does it, but for how sums are
 * made. Sums pass through 4 KiB of memory on their way out. */
#include <stdint.h>

enum { W_WORD = 4 };
typedef uint8_t w_element;
#include "kernels/cpu/quant/conv_panel.inc.h"
#include "kernels/cpu/quant/tiles.inc.h"

/* The pixels of an image that is multiplied where it lies, from the last whole tile on: a tile of them would read
 * behind the tensor. */
static tile_rows copy_tail(const panel *p, int64_t first, int64_t count, uint8_t *to) {
  for (int64_t chunk = 0; chunk < p->words * W_WORD / TILE_DEPTH; ++chunk)
    memcpy(to + chunk * TILE * TILE_DEPTH, p->at + chunk * p->chunk_stride + first * p->pixel_stride,
           (size_t)(count * TILE_DEPTH));
  return (tile_rows){to, TILE_DEPTH, TILE * TILE_DEPTH};
}

/* A unit's pixels in tiles. */
typedef struct work {
  const hn_conv_bytes *conv;
  const unit *unit;
  const panel *panel;
  tile_rows tail; /* of an input that is read in place */
} work;

HN_INLINE tile_rows rows_at(const work *w, int64_t pixel) {
  const panel *p = w->panel;
  if (p->is_input && w->unit->pixels - pixel < TILE) return w->tail;
  return (tile_rows){p->at + pixel * p->pixel_stride, p->pixel_stride, p->is_input ? p->chunk_stride : TILE_DEPTH};
}

/* What zero points of weights add to the sums of `pixels` pixels. */
HN_OUTLINE void correct(const work *w, const int32_t *w_zero, int64_t pixel, int64_t pixels, int blocks,
                        tile_sums *sums) {
  for (int64_t i = 0; i < pixels; ++i) {
    const vi sum = vi_set(w->panel->sums[pixel + i]);
    for (int lane = 0; lane < blocks * TILE; lane += HN_LANES) {
      int32_t *at = &sums->of[i][lane];
      vi_store(at, vi_sub(vi_load(at), w_multiply(vi_load(w_zero + lane), sum)));
    }
  }
}

/* One block of channels of `pixels` pixels from `pixel` on. */
HN_INLINE void store_bytes(const w_target *t, const int32_t *sums, int64_t pixels, const float *scales, int64_t pixel) {
  vi acc[4];
  vf scale[W_VECTORS];
  HN_UNROLL
  for (int v = 0; v < W_VECTORS; ++v) scale[v] = v_load(scales + v * HN_LANES);
  int64_t i = 0;
  for (; t->conv->residual && i < pixels; i += TILE)
    w_store_joined(t, sums + i * TILE_SIDE, TILE_SIDE, (int)(pixels - i < TILE ? pixels - i : TILE), scales, pixel + i);
  for (; pixels - i >= W_GROUP; i += W_GROUP) {
    HN_UNROLL
    for (int v = 0; v < 4; ++v) acc[v] = vi_load(sums + (i + v / W_VECTORS) * TILE_SIDE + v % W_VECTORS * HN_LANES);
    w_store_bytes(t, acc, W_VECTORS, W_GROUP, scale, pixel + i);
  }
  for (; i < pixels; ++i) {
    HN_UNROLL
    for (int v = 0; v < W_VECTORS; ++v) acc[v] = vi_load(sums + i * TILE_SIDE + v * HN_LANES);
    w_store_bytes(t, acc, W_VECTORS, 1, scale, pixel + i);
  }
}

HN_INLINE void store_floats(const w_target *t, const int32_t *sums, int64_t pixels, const float *scales,
                            const float *biases, int64_t pixel) {
  for (int64_t i = 0; i < pixels; i += TILE)
    w_store_floats(t, sums + i * TILE_SIDE, TILE_SIDE, (int)(pixels - i < TILE ? pixels - i : TILE), scales, biases,
                   pixel + i);
}

HN_OUTLINE void store_sums(const w_target *t, const int32_t *sums, int64_t pixels, int64_t pixel) {
  vi acc[W_VECTORS];
  for (int64_t i = 0; i < pixels; ++i) {
    for (int v = 0; v < W_VECTORS; ++v) acc[v] = vi_load(sums + i * TILE_SIDE + v * HN_LANES);
    w_store_sums(t, acc, W_VECTORS, 1, pixel + i);
  }
}

/* Blocks [block, block + blocks) of the unit's group. */
static void run_blocks(const work *w, amx_tiles *tiles, w_target *targets, int64_t block, int blocks) {
  const hn_conv_bytes *c = w->conv;
  const unit *u = w->unit;
  const int64_t chunks = w->panel->words * W_WORD / TILE_DEPTH, weight_stride = chunks * TILE * TILE_DEPTH;
  const int64_t out_group = c->out_channels / c->groups;
  const int64_t packed = u->group * hn_conv_bytes_group_blocks(c) + block;
  _Alignas(64) tile_sums sums;
  for (int b = 0; b < blocks; ++b) {
    const int64_t in_group = (block + b) * W_BLOCK;
    w_target_at(&targets[b], u->group * out_group + in_group, out_group - in_group);
  }
  for (int64_t i = 0; i < u->pixels; i += TILE_SIDE) {
    const int64_t pixels = u->pixels - i < TILE_SIDE ? u->pixels - i : TILE_SIDE;
    const int sides = pixels > TILE ? 2 : 1;
    const tile_rows rows[2] = {rows_at(w, i), rows_at(w, i + (sides - 1) * TILE)};
    tile_multiply(tiles, rows, sides, c->in_is_signed, chunks, c->weights + packed * weight_stride, weight_stride,
                  blocks, c->base + packed * W_BLOCK, &sums);
    if (c->w_zero) correct(w, c->w_zero + packed * W_BLOCK, i, pixels, blocks, &sums);
    for (int b = 0; b < blocks; ++b) {
      const int32_t *from = &sums.of[0][b * TILE];
      if (c->floats)
        store_floats(&targets[b], from, pixels, c->scale + (packed + b) * W_BLOCK, c->bias + (packed + b) * W_BLOCK,
                     u->pixel + i);
      else if (c->scale)
        store_bytes(&targets[b], from, pixels, c->scale + (packed + b) * W_BLOCK, u->pixel + i);
      else
        store_sums(&targets[b], from, pixels, u->pixel + i);
    }
  }
}

void HN_SIMD_NAME(hn_conv_bytes_tiles)(const hn_conv_bytes *c, void *scratch, int64_t begin, int64_t end) {
  panel p = {0};
  work w = {.conv = c, .panel = &p};
  amx_tiles tiles;
  amx_begin(&tiles);
  for (int64_t at = begin; at < end; ++at) {
    const unit u = unit_at(c, at);
    w.unit = &u;
    if (at == begin || u.block == 0) { /* units of the same pixels follow each other */
      p = panel_of(c, &u, scratch);
      const int64_t rest = u.pixels % TILE;
      if (p.is_input && rest) w.tail = copy_tail(&p, u.pixels - rest, rest, scratch);
    }
    const w_target target = {.conv = c,
                             .way = w_way_out_make(c->y_zero, c->low, c->high, c->out_flip),
                             .image = u.image,
                             .begins_blocks = c->groups == 1 || c->out_channels / c->groups % W_BLOCK == 0};
    w_target targets[2] = {target, target};
    for (int64_t b = 0; b < u.blocks; b += 2) run_blocks(&w, &tiles, targets, u.block + b, u.blocks - b > 1 ? 2 : 1);
    if (u.group == c->groups - 1 && u.block + u.blocks == hn_conv_bytes_group_blocks(c))
      w_store_nothing(targets, u.pixels, u.pixel);
  }
  amx_end(&tiles);
}
