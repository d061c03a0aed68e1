/* SPDX-License-Identifier: Apache-2.0 */
/* conv_winograd.c - 3x3 convolution of f32 by minimal filtering on channel-blocked activations. Packed are the
 * transformed weights, then the bias.
 *
 * Tiles are worked on in blocks, so that their patches and products stay in a cache. shared=0: a unit is a block of
 * tiles with all channels, in its worker's scratch. shared=1: all threads make the patches of one block together, then
 * share its output channels, so that each reads only its part of the weights; for small images with many channels.
 */
#include "backend/cpu/conv/conv_common.h"
#include "kernels/cpu/conv/winograd.h"

typedef struct winograd_kernel {
  void (*patches)(const hn_winograd_f32 *w, int64_t first, int64_t count, int64_t begin, int64_t end, float *patches);
  void (*outputs)(const hn_winograd_f32 *w, int64_t first, int64_t count, int64_t begin, int64_t end,
                  const float *patches, float *product);
  hone_format format;
  int block, most, tile; /* lanes of a block, the widest set, outputs along a tile's edge */
  double flops_per_ns;
} winograd_kernel;

enum { TILE_STEP = 14, MOST_TILE_VARIANTS = 2, LEAST_CHANNELS = 8, PATCH_BYTES = 1 << 20 };
static const double weight_limit = 1 << 28; /* bytes */

typedef struct state {
  const winograd_kernel *kernel;
  hn_winograd_f32 w; /* without pointers */
  int64_t units, in_grain, out_grain, sets, in_blocks;
  int64_t weight_floats, patch_floats, worker_floats;
  int64_t slopes_at; /* in what pack wrote */
  bool is_shared, has_bias, has_residual;
} state;

/* Where the transforms of weights and their sums could overflow, tiles could not be computed again from them. */
static bool are_ordinary(const hone_tensor *weights) {
  const uint32_t *bits = weights->data, limit = UINT32_C(187) << 23; /* 2^60 */
  const size_t count = weights->bytes / sizeof *bits;
  uint32_t most = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t size = bits[i] & INT32_MAX;
    if (size > most) most = size;
  }
  return most < limit;
}

static const char *reject(const hone_query *query, const winograd_kernel *kernel) {
  hn_conv_f32 c;
  const char *reason = hn_cpu_conv_read(query, &c);
  if (reason) return reason;
  if (query->in[0].type.format != kernel->format) return "the input has another format";
  if (query->out[0].type.format != kernel->format) return "the output has another format";
  reason = hn_cpu_conv_constants(query);
  if (reason) return reason;
  if (c.kernel_height != 3 || c.kernel_width != 3) return "it is not 3x3";
  if (c.stride_height * c.stride_width * c.dilation_height * c.dilation_width != 1)
    return "it has a stride or a dilation";
  if (c.groups != 1) return "it has groups";
  if (c.in_channels < LEAST_CHANNELS || c.out_channels < LEAST_CHANNELS)
    return "its channels are too few to pay for the transforms";
  const int64_t m = kernel->tile;
  const double places = (double)hn_winograd_f32_places(m);
  const double tiles = (double)hn_ceil_div(c.out_height, m) * (double)hn_ceil_div(c.out_width, m);
  if (tiles * places > 6.0 * (double)(c.out_height * c.out_width)) return "most of its tiles would hang over the image";
  if ((double)(c.in_channels + 16) * (double)(c.out_channels + 16) * places * (double)sizeof(float) > weight_limit)
    return "its transformed weights are too large";
  if (query->in[1].constant && !are_ordinary(query->in[1].constant)) return "a weight is not finite, or beyond 2^60";
  return NULL;
}

static int64_t weight_floats(const hn_conv_f32 *c, const winograd_kernel *kernel) {
  return hn_winograd_f32_packed_floats(c->out_channels, c->in_channels, kernel->tile, kernel->block);
}

static size_t pack_bytes(const hone_query *query, const winograd_kernel *kernel) {
  hn_conv_f32 c;
  if (hn_cpu_conv_read(query, &c)) return 0;
  const int64_t channels =
      hn_cpu_conv_channel_floats(query, 2, &c, kernel->block) + hn_cpu_conv_channel_floats(query, 4, &c, kernel->block);
  return (size_t)(weight_floats(&c, kernel) + channels) * sizeof(float);
}

static hone_status pack(const hone_query *query, float *to, const winograd_kernel *kernel) {
  hn_conv_f32 c;
  if (hn_cpu_conv_read(query, &c)) return HONE_INTERNAL;
  hn_winograd_f32_pack_c(query->in[1].constant->data, c.out_channels, c.in_channels, kernel->tile, kernel->block, 0,
                         hn_ceil_div(c.out_channels, kernel->block), to);
  to = hn_cpu_conv_pack_channels(query, 2, &c, kernel->block, to + weight_floats(&c, kernel));
  (void)hn_cpu_conv_pack_channels(query, 4, &c, kernel->block, to);
  return HONE_OK;
}

static int64_t tiles_of(const hn_conv_f32 *c, int64_t outputs) {
  return c->batch * hn_ceil_div(c->out_height, outputs) * hn_ceil_div(c->out_width, outputs);
}

/* Blocks of 14, 28, 56 ... tiles, the larger first, as far as their patches fill PATCH_BYTES; they depend on the shape
 * alone. The last is shared: patches as large as the caches of two cores. */
static int variants(const hone_query *query, hone_params *out, int room, const winograd_kernel *kernel) {
  hn_conv_f32 c;
  int count = 0;
  if (hn_cpu_conv_read(query, &c)) return 0;
  const int64_t tiles = tiles_of(&c, kernel->tile);
  const int64_t tile_bytes = hn_winograd_f32_places(kernel->tile) * hn_ceil_div(c.in_channels, kernel->block) *
                             kernel->block * (int64_t)sizeof(float);
  int64_t most = TILE_STEP;
  while (2 * most * tile_bytes <= PATCH_BYTES && most < tiles) most *= 2;
  for (int64_t at = most; at >= TILE_STEP && count < MOST_TILE_VARIANTS && count < room; at /= 2)
    out[count++] = (hone_params){.count = 2, .items = {{"tiles", hn_cpu_lesser(at, tiles)}, {"shared", 0}}};
  if (count < room)
    out[count++] = (hone_params){.count = 2, .items = {{"tiles", hn_cpu_lesser(2 * most, tiles)}, {"shared", 1}}};
  return count;
}

/* Fewer tiles than the widest register tile has room for leave registers to more output channels. */
static int choose_blocks(int64_t tiles, int64_t blocks, int most) {
  const int wanted = tiles <= 6 ? 4 : tiles <= 8 || (blocks % 2 && blocks % 3 == 0) ? 3 : 2;
  return (int)hn_cpu_lesser(blocks, hn_cpu_lesser(wanted, most));
}

static hone_status describe(const hone_query *query, state *s, hone_diagnostics *diag, const winograd_kernel *kernel) {
  hn_conv_f32 *c = &s->w.conv;
  const char *reason = hn_cpu_conv_read(query, c);
  if (reason) return HN_FAIL(diag, HONE_INTERNAL, "%s", reason);
  const int64_t tiles = tiles_of(c, kernel->tile), threads = hn_cpu_threads(query->facts);
  const int64_t blocks = hn_ceil_div(c->out_channels, kernel->block);
  int64_t block_tiles = hn_cpu_lesser(TILE_STEP, tiles);
  for (int i = 0; query->params && i < query->params->count; ++i) {
    const int64_t value = query->params->items[i].value;
    if (i == 0 && value >= 1) block_tiles = hn_cpu_lesser(value, tiles);
    if (i == 1) s->is_shared = value == 1;
  }
  s->kernel = kernel;
  s->units = hn_ceil_div(tiles, block_tiles);
  if (!s->is_shared) s->units = hn_cpu_lesser(tiles, hn_ceil_div(s->units, threads) * threads);
  block_tiles = hn_ceil_div(tiles, s->units);
  s->units = hn_ceil_div(tiles, block_tiles);
  c->oc_blocks = choose_blocks(block_tiles, blocks, kernel->most);
  hn_winograd_f32_plan(&s->w, kernel->tile, block_tiles, kernel->block);
  s->in_blocks = hn_ceil_div(c->in_channels, kernel->block);
  s->sets = hn_ceil_div(blocks, c->oc_blocks);
  const double places = (double)hn_winograd_f32_places(kernel->tile);
  const double in_ns = (double)(block_tiles * s->in_blocks * kernel->block) * places * 0.04;
  const double out_ns = 2.0 * (double)block_tiles * places * (double)c->in_channels * (double)c->out_channels;
  s->in_grain = hn_cpu_grain(s->in_blocks, in_ns);
  s->out_grain = s->is_shared ? hn_cpu_grain(s->sets, out_ns / kernel->flops_per_ns) : 1;
  s->weight_floats = weight_floats(c, kernel);
  s->patch_floats = hn_winograd_f32_patch_floats(&s->w);
  s->worker_floats = hn_winograd_f32_product_floats(&s->w) + (s->is_shared ? 0 : s->patch_floats);
  s->slopes_at = s->weight_floats + hn_cpu_conv_channel_floats(query, 2, c, kernel->block);
  s->has_bias = hn_cpu_given(query, 2);
  s->has_residual = hn_cpu_given(query, 3);
  return HONE_OK;
}

static size_t scratch(const hone_query *query, const winograd_kernel *kernel) {
  state s = {0};
  if (describe(query, &s, NULL, kernel) != HONE_OK) return 0;
  const int64_t floats = hn_cpu_threads(query->facts) * s.worker_floats + (s.is_shared ? s.patch_floats : 0);
  return (size_t)floats * sizeof(float);
}

static size_t state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(state);
}

typedef struct job {
  const state *s;
  hn_winograd_f32 w;
  float *patches, *workers; /* patches: of all threads, or NULL */
  int64_t first, count;     /* the block of tiles that all threads share */
} job;

static void unit_body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  const state *s = j->s;
  float *patches = j->workers + (int64_t)worker * s->worker_floats, *product = patches + s->patch_floats;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t first = unit * j->w.call_tiles, count = hn_cpu_lesser(j->w.call_tiles, j->w.tiles - first);
    s->kernel->patches(&j->w, first, count, 0, s->in_blocks, patches);
    s->kernel->outputs(&j->w, first, count, 0, s->sets, patches, product);
  }
}

static void patches_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  j->s->kernel->patches(&j->w, j->first, j->count, begin, end, j->patches);
}

static void outputs_body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  j->s->kernel->outputs(&j->w, j->first, j->count, begin, end, j->patches,
                        j->workers + (int64_t)worker * j->s->worker_floats);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  hn_pool *pool = hn_stream_pool(stream);
  job j = {.s = s, .w = s->w, .workers = launch->scratch};
  j.w.conv.input = launch->in[0].data;
  j.w.conv.weights = launch->packed;
  j.w.conv.output = launch->out[0].data;
  if (s->has_bias) j.w.conv.epilogue.bias = j.w.conv.weights + s->weight_floats;
  if (s->has_residual) j.w.conv.epilogue.residual = launch->in[3].data;
  if (hn_cpu_has_slope(&j.w.conv.epilogue)) j.w.conv.epilogue.slope = j.w.conv.weights + s->slopes_at;
  if (!s->is_shared) {
    hn_pool_run(pool, s->units, s->out_grain, unit_body, &j);
    return HONE_OK;
  }
  j.patches = launch->scratch;
  j.workers = j.patches + s->patch_floats;
  for (j.first = 0; j.first < j.w.tiles; j.first += j.w.call_tiles) {
    j.count = hn_cpu_lesser(j.w.call_tiles, j.w.tiles - j.first);
    hn_pool_run(pool, s->in_blocks, s->in_grain, patches_body, &j);
    hn_pool_run(pool, s->sets, s->out_grain, outputs_body, &j);
  }
  return HONE_OK;
}

/* Multiplications are 4 and 2.25 times fewer; the transforms grow with the channels, the products with their product.
 * Fitted to the layers of twelve networks (docs/PERFORMANCE.md). */
static double reaches(const hone_query *query, const winograd_kernel *kernel) {
  hn_conv_f32 c;
  if (hn_cpu_conv_read(query, &c) || c.in_channels < 1 || c.out_channels < 1) return 0;
  const double transforms = 1 / (double)c.in_channels + 1 / (double)c.out_channels;
  const double whole = kernel->tile == 4 ? 1 / (0.263 + 2 * transforms) : 1 / (0.5 + 0.8 * transforms);
  return whole * hn_cpu_filled(c.out_height, kernel->tile) * hn_cpu_filled(c.out_width, kernel->tile) *
         hn_cpu_filled(c.in_channels, kernel->block) * hn_cpu_filled(c.out_channels, kernel->block);
}

#define ROW_OF(m, blocked, FORMAT, suffix, ISA, lanes, widest, speed)                                                  \
  static const winograd_kernel kernel_##m##_##suffix = {hn_winograd_f32_patches_##blocked##_##suffix,                  \
                                                        hn_winograd_f32_outputs_##blocked##_##suffix,                  \
                                                        FORMAT,                                                        \
                                                        lanes,                                                         \
                                                        widest,                                                        \
                                                        m,                                                             \
                                                        speed};                                                        \
  HN_CPU_CONV_PACKED_ROW(conv_f32_winograd##m, "cpu.conv.f32." #blocked ".winograd" #m "." #suffix, 1, "conv", suffix, \
                         ISA, &kernel_##m##_##suffix, .formats = {{FORMAT, FORMAT}})
#define ROWS(blocked, FORMAT, suffix, ISA, lanes, widest, speed)                                                       \
  ROW_OF(2, blocked, FORMAT, suffix, ISA, lanes, widest, speed)                                                        \
  ROW_OF(4, blocked, FORMAT, suffix, ISA, lanes, widest, speed)

ROWS(nchw8c, HONE_NCHW8C, c, C, 8, HN_CONV_F32_OC_BLOCKS_C, 8.0)
#ifndef HONE_NO_AVX
ROWS(nchw8c, HONE_NCHW8C, avx2, AVX2, 8, HN_CONV_F32_OC_BLOCKS_AVX2, 60.0)
ROWS(nchw16c, HONE_NCHW16C, avx512, AVX512, 16, HN_CONV_F32_OC_BLOCKS_AVX512, 120.0)
#endif
