/* SPDX-License-Identifier: Apache-2.0 */
/* conv_tile_f32.inc.h - what the blocked convolutions share: work units, and the tile's way out. */
#ifndef HN_KERNELS_CPU_CONV_TILE_F32_INC_H
#define HN_KERNELS_CPU_CONV_TILE_F32_INC_H

#include "kernels/cpu/conv/conv.h"
#include "kernels/cpu/tile_f32.inc.h"

/* What holds for all units of a call; strides in floats. */
typedef struct conv_plan {
  int64_t rows, row_units; /* rows (or flat pixels) of an image, and the units they make */
  int64_t group_blocks;    /* output blocks of one group */
  int64_t group_sets;      /* units they make */
  int64_t in_per_group;    /* channels */
  int64_t in_plane, out_plane, in_image, out_image;
  int64_t weight_block; /* all weights of one output block */
} conv_plan;

typedef struct conv_unit {
  int64_t image, row_begin, row_end, first_block, group;
  int blocks;
  int64_t out_offset; /* of the image's and first block's first pixel */
} conv_unit;

/* Tiles on their way to a plain image: pixels next to each other, [block][HN_STRIP_PIXELS][HN_BLOCK]. */
#define HN_STRIP_PIXELS 64
typedef struct conv_strip {
  int64_t first; /* flat pixel of the image */
  int count;
  float floats[HN_TILE_BLOCKS * HN_STRIP_PIXELS * HN_BLOCK];
} conv_strip;

/* One tile. offset is the first output float's distance from output and residual. */
typedef struct conv_tile {
  const float *in, *weights, *bias, *residual;
  float *out;
  int64_t in_channels, in_plane, out_plane, weight_stride, offset;
  float low, high;
  int pixels, blocks;
  const hn_conv_f32 *conv;
  int64_t first_channel; /* of the tile */
  int32_t y, x;          /* the first pixel's output coordinates, where the kernel needs them */
  conv_strip *strip;     /* of a plain output, else NULL */
  int64_t image;
} conv_tile;

HN_INLINE int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Outputs [*begin, *end) along one axis whose taps all lie inside; reach is the last tap's distance. */
static inline void inside_range(int64_t out, int64_t stride, int64_t pad, int64_t reach, int64_t in, int64_t *begin,
                                int64_t *end) {
  const int64_t last = in + pad - reach; /* outputs with x * stride < last */
  *begin = ceil_div(pad, stride) < out ? ceil_div(pad, stride) : out;
  *end = last <= 0 ? 0 : ceil_div(last, stride) < out ? ceil_div(last, stride) : out;
  if (*end < *begin) *end = *begin;
}

/* Taps [*begin, *end) whose position first + tap * step lies in 0..size; empty ones give begin == end. */
static inline void tap_range(int64_t first, int64_t step, int64_t count, int64_t size, int64_t *begin, int64_t *end) {
  const int is_dense = step == 1; /* the common case spares two divisions for each border pixel */
  *begin = first >= 0 ? 0 : is_dense ? -first : ceil_div(-first, step);
  *end = size <= first ? 0 : is_dense ? size - first : ceil_div(size - first, step);
  if (*end > count) *end = count;
  if (*begin > *end) *begin = *end;
}

static inline conv_plan conv_plan_make(const hn_conv_f32 *c, int flat_pixels) {
  conv_plan p;
  const int64_t in_blocks = ceil_div(c->in_channels, HN_TILE_BLOCK),
                out_blocks = ceil_div(c->out_channels, HN_TILE_BLOCK);
  p.rows = flat_pixels ? c->out_height * c->out_width : c->out_height;
  p.row_units = ceil_div(p.rows, c->unit_rows);
  p.group_blocks = c->groups > 1 ? c->out_channels / c->groups / HN_TILE_BLOCK : out_blocks;
  p.group_sets = ceil_div(p.group_blocks, c->oc_blocks);
  p.in_per_group = c->in_channels / c->groups;
  p.in_plane = c->in_height * c->in_width * HN_TILE_BLOCK;
  p.out_plane = c->out_height * c->out_width * HN_TILE_BLOCK;
  p.in_image = c->in_batch_stride ? c->in_batch_stride : in_blocks * p.in_plane;
  p.out_image = c->out_batch_stride ? c->out_batch_stride : out_blocks * p.out_plane;
  p.weight_block = ceil_div(p.in_per_group, HN_TILE_BLOCK) * HN_TILE_BLOCK * HN_TILE_BLOCK;
  if (!flat_pixels) p.weight_block *= c->kernel_height * c->kernel_width;
  return p;
}

static inline conv_unit conv_unit_at(const hn_conv_f32 *c, const conv_plan *p, int64_t at) {
  conv_unit u;
  const int64_t sets = p->group_sets * c->groups;
  const int64_t in_image = at % (sets * p->row_units);
  const int64_t set = c->pixels_first ? in_image / p->row_units : in_image % sets;
  const int64_t chunk = c->pixels_first ? in_image % p->row_units : in_image / sets;
  const int64_t in_group = set % p->group_sets * c->oc_blocks;
  u.image = at / (sets * p->row_units);
  u.group = set / p->group_sets;
  u.first_block = u.group * p->group_blocks + in_group;
  u.blocks = (int)(p->group_blocks - in_group < c->oc_blocks ? p->group_blocks - in_group : c->oc_blocks);
  u.row_begin = chunk * c->unit_rows;
  u.row_end = p->rows - u.row_begin < c->unit_rows ? p->rows : u.row_begin + c->unit_rows;
  u.out_offset = u.image * p->out_image + u.first_block * p->out_plane;
  return u;
}

/* The unit's first tile with in at the image's (and group's) first pixel. */
static inline conv_tile conv_tile_make(const hn_conv_f32 *c, const conv_plan *p, const conv_unit *u) {
  conv_tile t = {.conv = c, .blocks = u->blocks, .out = c->output, .residual = c->epilogue.residual};
  t.in = c->input + u->image * p->in_image + u->group * (p->in_per_group / HN_BLOCK) * p->in_plane;
  t.weights = c->weights + u->first_block * p->weight_block;
  t.first_channel = u->first_block * HN_BLOCK;
  t.bias = c->epilogue.bias ? c->epilogue.bias + t.first_channel : NULL;
  t.in_channels = p->in_per_group;
  t.in_plane = p->in_plane;
  t.out_plane = p->out_plane;
  t.weight_stride = p->weight_block;
  t.offset = u->out_offset;
  activation_bounds(&c->epilogue, &t.low, &t.high);
  return t;
}

/* Fetches the weights of 32 steps ahead: the time that the last cache takes to answer. */
HN_INLINE void tile_fetch(const int vectors, const float *w, ptrdiff_t block_stride) {
  HN_UNROLL
  for (int v = 0; v < vectors; v += HN_BLOCK_VECTORS)
    __builtin_prefetch(w + v / HN_BLOCK_VECTORS * block_stride + 32 * HN_BLOCK, 0, 3);
}

/* tile_run for weights that may be more than a core's caches hold: they stream while the tile computes. */
HN_INLINE void tile_run_ahead(vf *acc, const int vectors, const int pixels, const float *in,
                              const ptrdiff_t pixel_stride, const float *w, ptrdiff_t block_stride, int64_t depth) {
  for (; depth >= 4; depth -= 4, in += 4, w += 4 * HN_BLOCK) {
    HN_UNROLL
    for (int k = 0; k < 4; ++k) {
      tile_fetch(vectors, w + k * HN_BLOCK, block_stride);
      tile_step(acc, vectors, pixels, in + k, pixel_stride, w + k * HN_BLOCK, block_stride);
    }
  }
  for (; depth > 0; --depth, ++in, w += HN_BLOCK) tile_step(acc, vectors, pixels, in, pixel_stride, w, block_stride);
}

/* Residual and bounds, then the store. */
HN_INLINE void conv_tile_store(vf *acc, const int blocks, const int pixels, const conv_tile *t) {
  const int vectors = blocks * HN_BLOCK_VECTORS;
  if (t->residual) {
    HN_UNROLL
    for (int v = 0; v < vectors; ++v) {
      const float *r = t->residual + t->offset + v / HN_BLOCK_VECTORS * t->out_plane + v % HN_BLOCK_VECTORS * HN_LANES;
      HN_UNROLL
      for (int p = 0; p < pixels; ++p) acc[p * vectors + v] += v_load(r + p * HN_BLOCK);
    }
  }
  tile_bound(acc, vectors * pixels, t->low, t->high);
  HN_UNROLL
  for (int v = 0; v < vectors; ++v) {
    float *o = t->out + t->offset + v / HN_BLOCK_VECTORS * t->out_plane + v % HN_BLOCK_VECTORS * HN_LANES;
    HN_UNROLL
    for (int p = 0; p < pixels; ++p) v_store(o + p * HN_BLOCK, acc[p * vectors + v]);
  }
}

/* After the store: activations that need more than bounds, and zeros in the lanes beyond the last channel. */
HN_INLINE void conv_tile_finish(const conv_tile *t) {
  const hn_epilogue_f32 *e = &t->conv->epilogue;
  const int64_t past = t->conv->out_channels - t->first_channel - (t->blocks - 1) * HN_BLOCK;
  float *o = t->out + t->offset;
  if (!activation_is_bounds(e))
    for (int b = 0; b < t->blocks; ++b)
      activate_channels(o + b * t->out_plane, (int64_t)t->pixels * HN_BLOCK, e, t->first_channel + b * HN_BLOCK,
                        HN_BLOCK);
  if (past >= HN_BLOCK || e->activation <= HN_ACTIVATION_RELU) return;
  o += (t->blocks - 1) * t->out_plane;
  for (int p = 0; p < t->pixels; ++p)
    for (int64_t lane = past; lane < HN_BLOCK; ++lane) o[p * HN_BLOCK + lane] = 0.0f;
}

/* Turns a tile's way to a plain image: sums go to the strip as they are, and what an epilogue does is done there. */
static inline void conv_tile_to_strip(conv_tile *t, const conv_unit *u, conv_strip *strip) {
  strip->count = 0;
  t->strip = strip;
  t->image = u->image;
  t->out = strip->floats;
  t->out_plane = HN_STRIP_PIXELS * HN_BLOCK;
  t->residual = NULL;
  t->low = -__builtin_inff();
  t->high = __builtin_inff();
}

/* The strip's pixels of one channel, and their epilogue. */
HN_OUTLINE void strip_channel(const conv_tile *t, const float *from, int64_t channel) {
  const hn_conv_f32 *c = t->conv;
  const int64_t plane = c->out_height * c->out_width, count = t->strip->count;
  const int64_t image = c->out_batch_stride ? c->out_batch_stride : c->out_channels * plane;
  const int64_t offset = t->image * image + channel * plane + t->strip->first;
  const float *residual = c->epilogue.residual ? c->epilogue.residual + offset : NULL;
  float row[HN_STRIP_PIXELS], low, high;
  activation_bounds(&c->epilogue, &low, &high);
  for (int64_t p = 0; p < count; ++p) row[p] = from[p * HN_BLOCK];
  for (int64_t p = 0; residual && p < count; ++p) row[p] += residual[p];
  for (int64_t p = 0; p < count; p += HN_LANES) {
    vf x = v_load(row + p); /* behind the last pixel: whatever was there, not stored */
    v_store(row + p, v_min(v_set(high), v_max(v_set(low), x)));
  }
  if (!activation_is_bounds(&c->epilogue)) activate_channel(row, count, &c->epilogue, channel);
  memcpy(c->output + offset, row, (size_t)count * sizeof(float));
}

HN_OUTLINE void strip_empty(const conv_tile *t) {
  const int64_t left = t->conv->out_channels - t->first_channel;
  for (int64_t i = 0; i < t->blocks * HN_BLOCK && i < left; ++i)
    strip_channel(t, t->strip->floats + i / HN_BLOCK * t->out_plane + i % HN_BLOCK, t->first_channel + i);
  t->strip->count = 0;
}

/* Before a tile at this flat pixel: where it goes. */
HN_INLINE void conv_tile_begin(conv_tile *t, const conv_unit *u, int64_t pixel) {
  t->offset = u->out_offset + pixel * HN_BLOCK;
  if (!t->strip) return;
  if (t->strip->count == 0) t->strip->first = pixel;
  t->offset = t->strip->count * HN_BLOCK;
}

/* After it; is_last: of its unit. */
HN_INLINE void conv_tile_end(conv_tile *t, int is_last) {
  if (!t->strip) {
    conv_tile_finish(t);
    return;
  }
  t->strip->count += t->pixels;
  if (is_last || t->strip->count + tile_pixels[t->blocks] > HN_STRIP_PIXELS) strip_empty(t);
}

#endif
