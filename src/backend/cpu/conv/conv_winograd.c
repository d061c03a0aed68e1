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
  hn_cpu_conv_layout packed;
  int64_t units, in_grain, out_grain, sets, in_blocks;
  int64_t patch_floats, worker_floats;
  bool is_shared;
} state;

/* Where the transforms of weights and their sums could overflow, tiles could not be computed again from them. */
static bool are_ordinary(const hone_tensor *weights) {
  enum { AT_ONCE = 16 };                                           /* a count that compilers make vectors of */
  const int32_t *bits = weights->data, limit = INT32_C(187) << 23; /* 2^60 */
  const size_t count = weights->bytes / sizeof *bits;
  int32_t beyond[AT_ONCE] = {0}, any = 0;
  size_t i = 0;
  for (; i + AT_ONCE <= count; i += AT_ONCE)
    for (int k = 0; k < AT_ONCE; ++k) beyond[k] |= (bits[i + k] & INT32_MAX) >= limit;
  for (int k = 0; k < AT_ONCE; ++k) any |= beyond[k];
  for (; i < count; ++i) any |= (bits[i] & INT32_MAX) >= limit;
  return !any;
}

/* Reads the convolution, and says why not. */
static const char *accept(const hone_query *query, const winograd_kernel *kernel, hn_conv_f32 *c) {
  HN_TRY_REASON(hn_cpu_conv_read(query, c));
  if (query->in[0].type.format != kernel->format) return "the input has another format";
  if (query->out[0].type.format != kernel->format) return "the output has another format";
  HN_TRY_REASON(hn_cpu_conv_constants(query));
  if (c->kernel_height != 3 || c->kernel_width != 3) return "it is not 3x3";
  if (c->stride_height * c->stride_width * c->dilation_height * c->dilation_width != 1)
    return "it has a stride or a dilation";
  if (c->groups != 1) return "it has groups";
  if (c->in_channels < LEAST_CHANNELS || c->out_channels < LEAST_CHANNELS)
    return "its channels are too few to pay for the transforms";
  const int64_t m = kernel->tile;
  const double places = (double)hn_winograd_f32_places(m);
  const double tiles = (double)hn_ceil_div(c->out_height, m) * (double)hn_ceil_div(c->out_width, m);
  if (tiles * places > 6.0 * (double)(c->out_height * c->out_width))
    return "most of its tiles would hang over the image";
  if ((double)(c->in_channels + 16) * (double)(c->out_channels + 16) * places * (double)sizeof(float) > weight_limit)
    return "its transformed weights are too large";
  if (query->in[1].constant && !are_ordinary(query->in[1].constant)) return "a weight is not finite, or beyond 2^60";
  return NULL;
}

static hn_cpu_conv_layout lay_out(const hone_query *query, const winograd_kernel *kernel, const hn_conv_f32 *c) {
  return hn_cpu_conv_lay_out(
      query, c, kernel->block,
      hn_winograd_f32_packed_floats(c->out_channels, c->in_channels, kernel->tile, kernel->block));
}

static hone_status pack(const hone_query *query, void *to) {
  const winograd_kernel *kernel = query->tactic->kernel;
  hn_conv_f32 c;
  if (hn_cpu_conv_read(query, &c)) return HONE_INTERNAL;
  hn_winograd_f32_pack_c(query->in[1].constant->data, c.out_channels, c.in_channels, kernel->tile, kernel->block, 0,
                         hn_ceil_div(c.out_channels, kernel->block), to);
  const hn_cpu_conv_layout at = lay_out(query, kernel, &c);
  hn_cpu_conv_pack_epilogue(query, &at, &c, kernel->block, to);
  return HONE_OK;
}

static int64_t tiles_of(const hn_conv_f32 *c, int64_t outputs) {
  return c->batch * hn_ceil_div(c->out_height, outputs) * hn_ceil_div(c->out_width, outputs);
}

/* Blocks of 14, 28, 56 ... tiles, the larger first, as far as their patches fill PATCH_BYTES; they depend on the shape
 * alone. The last is shared: patches as large as the caches of two cores. */
static int variants(const hone_query *query, hone_params *out, int room) {
  const winograd_kernel *kernel = query->tactic->kernel;
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

/* Multiplications are 4 and 2.25 times fewer; the transforms grow with the channels, the products with their product.
 * Fitted to the layers of twelve networks (docs/EXPERIMENTS.md). */
static double efficiency_of(const hn_conv_f32 *c, const winograd_kernel *kernel) {
  const double transforms = 1 / (double)c->in_channels + 1 / (double)c->out_channels;
  const double whole = kernel->tile == 4 ? 1 / (0.263 + 2 * transforms) : 1 / (0.5 + 0.8 * transforms);
  return whole * hn_cpu_filled(c->out_height, kernel->tile) * hn_cpu_filled(c->out_width, kernel->tile) *
         hn_cpu_filled(c->in_channels, kernel->block) * hn_cpu_filled(c->out_channels, kernel->block);
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked = {0}, *s = state_memory ? state_memory : &asked;
  const winograd_kernel *kernel = query->tactic->kernel;
  hn_conv_f32 *c = &s->w.conv;
  HN_TRY_REASON(accept(query, kernel, c));
  const int64_t tiles = tiles_of(c, kernel->tile), threads = hn_cpu_threads(query->facts);
  const int64_t blocks = hn_ceil_div(c->out_channels, kernel->block);
  int64_t block_tiles = hn_cpu_lesser(hn_cpu_conv_param(query, 0, INT64_MAX, TILE_STEP), tiles);
  s->is_shared = hn_cpu_conv_param(query, 1, 1, 0) == 1;
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
  s->patch_floats = hn_winograd_f32_patch_floats(&s->w);
  s->worker_floats = hn_winograd_f32_product_floats(&s->w) + (s->is_shared ? 0 : s->patch_floats);
  s->packed = lay_out(query, kernel, c);
  needs->state = sizeof *s;
  needs->scratch = (size_t)(threads * s->worker_floats + (s->is_shared ? s->patch_floats : 0)) * sizeof(float);
  needs->packed = (size_t)s->packed.end * sizeof(float);
  needs->efficiency = efficiency_of(c, kernel);
  return NULL;
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
  hn_cpu_conv_bind(&s->packed, launch, &j.w.conv);
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

const hone_tactic hn_tactics_cpu_conv_winograd[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw16c.winograd2.avx512", .version = 1,
     .algorithm = "Winograd F(2x2,3x3)", .fewer = 2.25, .op = "conv", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_CPU_CONV_PACKED, .storages = {{HONE_NCHW16C, HONE_NCHW16C}},
     .plan = plan, .variants = variants, .pack = pack, .launch = launch,
     .kernel = &(const winograd_kernel){hn_winograd_f32_patches_nchw16c_avx512, hn_winograd_f32_outputs_nchw16c_avx512,
                                        HONE_NCHW16C, 16, HN_CONV_F32_OC_BLOCKS_AVX512, 2, 120.0}},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw16c.winograd4.avx512", .version = 1,
     .algorithm = "Winograd F(4x4,3x3)", .fewer = 4, .op = "conv", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_CPU_CONV_PACKED, .storages = {{HONE_NCHW16C, HONE_NCHW16C}},
     .plan = plan, .variants = variants, .pack = pack, .launch = launch,
     .kernel = &(const winograd_kernel){hn_winograd_f32_patches_nchw16c_avx512, hn_winograd_f32_outputs_nchw16c_avx512,
                                        HONE_NCHW16C, 16, HN_CONV_F32_OC_BLOCKS_AVX512, 4, 120.0}},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw8c.winograd2.avx2", .version = 1,
     .algorithm = "Winograd F(2x2,3x3)", .fewer = 2.25, .op = "conv", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_CPU_CONV_PACKED, .storages = {{HONE_NCHW8C, HONE_NCHW8C}},
     .plan = plan, .variants = variants, .pack = pack, .launch = launch,
     .kernel = &(const winograd_kernel){hn_winograd_f32_patches_nchw8c_avx2, hn_winograd_f32_outputs_nchw8c_avx2,
                                        HONE_NCHW8C, 8, HN_CONV_F32_OC_BLOCKS_AVX2, 2, 60.0}},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw8c.winograd4.avx2", .version = 1,
     .algorithm = "Winograd F(4x4,3x3)", .fewer = 4, .op = "conv", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_CPU_CONV_PACKED, .storages = {{HONE_NCHW8C, HONE_NCHW8C}},
     .plan = plan, .variants = variants, .pack = pack, .launch = launch,
     .kernel = &(const winograd_kernel){hn_winograd_f32_patches_nchw8c_avx2, hn_winograd_f32_outputs_nchw8c_avx2,
                                        HONE_NCHW8C, 8, HN_CONV_F32_OC_BLOCKS_AVX2, 4, 60.0}},
#endif
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw8c.winograd2.c", .version = 1, .algorithm = "Winograd F(2x2,3x3)",
     .fewer = 2.25, .op = "conv", .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_CPU_CONV_PACKED,
     .storages = {{HONE_NCHW8C, HONE_NCHW8C}}, .plan = plan, .variants = variants, .pack = pack, .launch = launch,
     .kernel = &(const winograd_kernel){hn_winograd_f32_patches_nchw8c_c, hn_winograd_f32_outputs_nchw8c_c, HONE_NCHW8C,
                                        8, HN_CONV_F32_OC_BLOCKS_C, 2, 8.0}},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw8c.winograd4.c", .version = 1, .algorithm = "Winograd F(4x4,3x3)",
     .fewer = 4, .op = "conv", .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_CPU_CONV_PACKED,
     .storages = {{HONE_NCHW8C, HONE_NCHW8C}}, .plan = plan, .variants = variants, .pack = pack, .launch = launch,
     .kernel = &(const winograd_kernel){hn_winograd_f32_patches_nchw8c_c, hn_winograd_f32_outputs_nchw8c_c, HONE_NCHW8C,
                                        8, HN_CONV_F32_OC_BLOCKS_C, 4, 8.0}},
    {0}};
