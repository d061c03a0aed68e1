/* SPDX-License-Identifier: Apache-2.0 */
/* isa: c amx_int8 */
/* conv_tiles.c - convolution of bytes as a product of matrices in tiles: as conv_u8s8.c does it, but for how sums are
 * made. Sums pass through 2 KiB of memory on their way out. */
#include <stdint.h>

enum { W_WORD = 4 };
typedef uint8_t w_element;
#include "kernels/cpu/quant/conv_rows.inc.h"
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
  const padded_rows *padded; /* NULL: the panel is multiplied */
  tile_rows tail;            /* of an input that is read in place */
} work;

HN_INLINE tile_rows rows_at(const work *w, int64_t pixel) {
  if (w->padded) return (tile_rows){w->padded->at + pixel * TILE_DEPTH, TILE_DEPTH, w->padded->block};
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

/* One block of channels of up to 16 pixels from `pixel` on. */
HN_INLINE void store_bytes(const w_target *to, const int32_t *sums, int64_t pixels, const float *scales,
                           int64_t pixel) {
  const w_target t = *to; /* which stores of bytes cannot change */
  vi acc[4];
  vf scale[W_VECTORS];
  HN_UNROLL
  for (int v = 0; v < W_VECTORS; ++v) scale[v] = v_load(scales + v * HN_LANES);
  int64_t i = 0;
  for (; pixels - i >= W_GROUP; i += W_GROUP) {
    HN_UNROLL
    for (int v = 0; v < 4; ++v) acc[v] = vi_load(sums + (i + v / W_VECTORS) * TILE_SIDE + v % W_VECTORS * HN_LANES);
    w_store_bytes(&t, acc, W_VECTORS, W_GROUP, scale, pixel + i);
  }
  for (; i < pixels; ++i) {
    HN_UNROLL
    for (int v = 0; v < W_VECTORS; ++v) acc[v] = vi_load(sums + i * TILE_SIDE + v * HN_LANES);
    w_store_bytes(&t, acc, W_VECTORS, 1, scale, pixel + i);
  }
}

#if defined(HN_SIMD_AVX512)
/* Both blocks of a pixel lie beside each other in its 64 bytes. */
HN_INLINE bool are_pairs(const w_target *targets, int blocks) {
  return blocks > 1 && w_is_bytes(targets->conv) && targets->is_vectors && targets[1].lanes == W_BLOCK &&
         targets[1].first == targets->first + W_BLOCK;
}

HN_INLINE void put_pair(uint8_t *to, vb bytes, bool both) {
  _mm256_storeu_si256((void *)to, _mm512_castsi512_si256(bytes));
  if (both) _mm256_storeu_si256((void *)(to + 64), _mm512_extracti64x4_epi64(bytes, 1));
}

/* Two pixels are four vectors, and 32 bytes each; behind the last pixel, that one again. */
HN_INLINE void store_pairs(const w_target *to, const int32_t *sums, int64_t pixels, const float *scales,
                           int64_t pixel) {
  const w_way_out way = to->way;
  uint8_t *first = to->first + pixel * 64;
  const vf low = v_load(scales), high = v_load(scales + W_BLOCK), scale[4] = {low, high, low, high};
  for (int64_t i = 0; i < pixels; i += 2, sums += 2 * TILE_SIDE, first += 2 * 64) {
    const int32_t *other = pixels - i > 1 ? sums + TILE_SIDE : sums;
    const vi acc[4] = {vi_load(sums), vi_load(sums + W_BLOCK), vi_load(other), vi_load(other + W_BLOCK)};
    put_pair(first, w_ordered(w_bytes(&way, acc, scale)), pixels - i > 1);
  }
}

/* The same, joined with residuals. */
HN_INLINE void join_pairs(const w_target *to, const int32_t *sums, int64_t pixels, const float *scales, int64_t pixel,
                          const bool is_last, const bool is_signed) {
  const hn_conv_bytes *c = to->conv;
  const w_joint joint = w_joint_make(c);
  const w_way_out way = {.zero = is_signed ? 0x80 : 0, .low = vb_set(c->sum.low), .flip = vb_set(is_signed ? 0x80 : 0)};
  uint8_t *first = to->first + pixel * 64;
  const uint8_t *from = (const uint8_t *)c->residual + (first - (uint8_t *)c->output);
  const vf low = v_load(scales), high = v_load(scales + W_BLOCK);
  for (int64_t i = 0; i < pixels; i += 2, sums += 2 * TILE_SIDE, first += 2 * 64, from += 2 * 64) {
    const int64_t other = pixels - i > 1;
    vi q[4];
    HN_UNROLL
    for (int v = 0; v < 4; ++v) {
      const int64_t at = v < 2 ? 0 : other, lane = v % 2 * W_BLOCK;
      q[v] = w_joined(&joint, is_last, vi_load(sums + at * TILE_SIDE + lane), v % 2 ? high : low,
                      w_residual(from + at * 64 + lane, is_signed));
    }
    put_pair(first, w_ordered(w_pack(&way, q)), other);
  }
}

HN_OUTLINE void store_joined_pairs(const w_target *t, const int32_t *sums, int64_t pixels, const float *scales,
                                   int64_t pixel) {
  const bool is_last = t->conv->sum.is_last, is_signed = t->conv->out_flip;
  if (is_signed && is_last)
    join_pairs(t, sums, pixels, scales, pixel, true, true);
  else if (is_signed)
    join_pairs(t, sums, pixels, scales, pixel, false, true);
  else if (is_last)
    join_pairs(t, sums, pixels, scales, pixel, true, false);
  else
    join_pairs(t, sums, pixels, scales, pixel, false, false);
}
#endif

HN_OUTLINE void store_sums(const w_target *t, const int32_t *sums, int64_t pixels, int64_t pixel) {
  vi acc[W_VECTORS];
  for (int64_t i = 0; i < pixels; ++i) {
    for (int v = 0; v < W_VECTORS; ++v) acc[v] = vi_load(sums + i * TILE_SIDE + v * HN_LANES);
    w_store_sums(t, acc, W_VECTORS, 1, pixel + i);
  }
}

/* Up to 16 pixels of `blocks` blocks; packed: the first of these among all. */
HN_INLINE void store_all(const w_target *targets, const int32_t (*sums)[TILE_SIDE], int64_t pixels, int64_t packed,
                         int blocks, int64_t pixel) {
  const hn_conv_bytes *c = targets->conv;
#if defined(HN_SIMD_AVX512)
  if (are_pairs(targets, blocks)) {
    const float *scales = c->scale + packed * W_BLOCK;
    if (c->residual)
      store_joined_pairs(targets, sums[0], pixels, scales, pixel);
    else
      store_pairs(targets, sums[0], pixels, scales, pixel);
    return;
  }
#endif
  for (int b = 0; b < blocks; ++b) {
    const int32_t *from = &sums[0][b * TILE];
    const float *scale = c->scale + (packed + b) * W_BLOCK;
    if (c->floats)
      w_store_floats(&targets[b], from, TILE_SIDE, (int)pixels, scale, c->bias + (packed + b) * W_BLOCK, pixel);
    else if (!c->scale)
      store_sums(&targets[b], from, pixels, pixel);
    else if (c->residual)
      w_store_joined(&targets[b], from, TILE_SIDE, (int)pixels, scale, pixel);
    else
      store_bytes(&targets[b], from, pixels, scale, pixel);
  }
}

/* The sums of `count` pixels of padded rows from `first` on: those that are outputs, row by row. */
HN_INLINE void store_rows(const work *w, const w_target *targets, const tile_sums *sums, int64_t first, int64_t count,
                          int64_t packed, int blocks) {
  const int64_t width = w->conv->out_width, row_pixels = w->padded->row_pixels;
  int64_t row = first / row_pixels, column = first % row_pixels;
  for (int64_t i = 0, run; i < count; i += run, column += run) {
    if (column == row_pixels) ++row, column = 0;
    const bool is_output = column < width;
    run = (is_output ? width : row_pixels) - column;
    if (run > count - i) run = count - i;
    if (is_output) store_all(targets, &sums->of[i], run, packed, blocks, w->unit->pixel + row * width + column);
  }
}

/* Blocks [block, block + blocks) of the unit's group. */
static void run_blocks(const work *w, amx_tiles *tiles, w_target *targets, int64_t block, int blocks) {
  const hn_conv_bytes *c = w->conv;
  const unit *u = w->unit;
  const int64_t chunks = hn_conv_bytes_up(hn_conv_bytes_depth(c), TILE_DEPTH) / TILE_DEPTH;
  const int64_t weight_stride = chunks * TILE * TILE_DEPTH, out_group = c->out_channels / c->groups, no_tap = 0;
  const int64_t packed = u->group * hn_conv_bytes_group_blocks(c) + block;
  const int64_t all = w->padded ? w->padded->pixels : u->pixels;
  _Alignas(64) tile_sums sums;
  for (int b = 0; b < blocks; ++b) {
    const int64_t in_group = (block + b) * W_BLOCK;
    w_target_at(&targets[b], u->group * out_group + in_group, out_group - in_group);
  }
  for (int64_t i = 0; i < all; i += TILE_SIDE) {
    const int sides = all - i > TILE ? 2 : 1;
    tile_product product = {.tiles = tiles,
                            .rows = {rows_at(w, i), rows_at(w, i + (sides - 1) * TILE)},
                            .w = c->weights + packed * weight_stride,
                            .w_next = weight_stride,
                            .chunks = chunks,
                            .tap_at = w->padded ? w->padded->tap_at : &no_tap,
                            .taps = w->padded ? w->padded->taps : 1,
                            .sides = sides,
                            .blocks = blocks,
                            .is_signed = c->in_is_signed};
    tile_multiply(&product, c->base + packed * W_BLOCK);
    for (int side = 0; side < sides; ++side) {
      const int64_t first = i + side * TILE, count = all - first < TILE ? all - first : TILE;
      tile_take(&product, side, &sums);
      if (c->w_zero) correct(w, c->w_zero + packed * W_BLOCK, first, count, blocks, &sums);
      if (w->padded)
        store_rows(w, targets, &sums, first, count, packed, blocks);
      else
        store_all(targets, &sums.of[0], count, packed, blocks, u->pixel + first);
    }
  }
}

void HN_SIMD_NAME(hn_conv_bytes_tiles)(const hn_conv_bytes *c, void *scratch, int64_t begin, int64_t end) {
  panel p = {0};
  padded_rows padded;
  work w = {.conv = c, .panel = &p, .padded = c->shifts && !c->w_zero ? &padded : NULL};
  amx_tiles tiles;
  amx_begin(&tiles);
  for (int64_t at = begin; at < end; ++at) {
    const unit u = unit_at(c, at);
    w.unit = &u;
    if (at == begin || u.block == 0) { /* units of the same pixels follow each other */
      const int64_t rest = u.pixels % TILE;
      if (w.padded)
        pad_rows(c, &u, scratch, &padded);
      else
        p = panel_of(c, &u, scratch);
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
