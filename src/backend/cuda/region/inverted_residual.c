/* SPDX-License-Identifier: Apache-2.0 */
/* inverted_residual.c - 1x1 convolution, depthwise convolution, 1x1 convolution and residual in one kernel, in f16 or
 * bf16 with the channels last (kernels/cuda/region/inverted_residual.cuh). NVRTC compiles it for the shape and the
 * tile, 0.2 s each: with extents as constants its index arithmetic goes away and the sums stay in registers, and every
 * activation and window is possible without a kernel in store. Packed are, for each chunk of hidden channels, the
 * weights and biases of all layers as they lie in shared memory, so that one bulk copy brings them. */
#include "backend/cuda/region/region.h"
#include <stdio.h>
#include <string.h>

/* The texts in front of a kernel's constants: cmake/HoneCuda.cmake. */
extern const char hn_cuda_lay_out_h_begin[], hn_cuda_pieces_cuh_begin[], hn_cuda_inverted_residual_cuh_begin[];

enum { PACKED = (1 << HN_REGION_RESIDUAL) - (1 << HN_REGION_EXPAND) };

/* As the kernel has it. */
typedef struct region_args {
  void *y;
  const void *x, *residual, *weights;
  int images;
} region_args;

typedef struct state {
  hn_region_query query;
  hn_region_layout layout;
  CUfunction function;
} state;

/* The tile of params, or the first of those that look fast. */
static bool read_tile(const hone_params *params, hn_region_query *q) {
  hn_region *r = &q->region;
  if (!params || params->count != 6) return hn_region_tiles(&q->region, q->n, r, 1) == 1;
  int *const to[] = {&r->tile_h, &r->tile_w, &r->images, &r->chunk, &r->split, &r->threads};
  for (int i = 0; i < 6; ++i) {
    if (params->items[i].value < 1 || params->items[i].value > 1 << 12) return false;
    *to[i] = (int)params->items[i].value;
  }
  return hn_region_fits(r);
}

/* Against an H200's products of halves a second. */
static double efficiency_of(const hone_query *query, const hn_region_query *q) {
  const double peak = 8e14;
  const hone_cost cost = query->op->cost(query->attrs, query->in, query->in_count, query->out, query->out_count);
  return cost.flops / (peak * hn_region_seconds(&q->region, q->n));
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  HN_TRY_REASON(hn_region_read(query, &s->query));
  if (!read_tile(query->params, &s->query)) return "no tile of it fits into shared memory";
  s->layout = hn_region_lay_out(s->query.region);
  if ((int64_t)s->layout.tiles_h * s->layout.tiles_w > 65535 || s->query.n > 65535) return "it has too many tiles";
  needs->state = sizeof *s;
  needs->efficiency = efficiency_of(query, &s->query);
  needs->packed = (size_t)s->query.region.split * (size_t)s->layout.turns * (size_t)s->layout.blob;
  return NULL;
}

static int variants(const hone_query *query, hone_params *out, int room) {
  enum { TILES = 8 };
  static const char *const names[] = {"rows", "columns", "images", "hidden", "split", "threads"};
  hn_region_query q;
  hn_region tiles[TILES];
  if (hn_region_read(query, &q)) return 0;
  const int count = hn_region_tiles(&q.region, q.n, tiles, room < TILES ? room : TILES);
  for (int i = 0; i < count; ++i) {
    const hn_region *r = &tiles[i];
    const int values[] = {r->tile_h, r->tile_w, r->images, r->chunk, r->split, r->threads};
    out[i].count = 6;
    for (int k = 0; k < 6; ++k) {
      snprintf(out[i].items[k].name, sizeof out[i].items[k].name, "%s", names[k]);
      out[i].items[k].value = values[k];
    }
  }
  return count;
}

/* ---- packing ---- */

static void pack_channel(const hone_query *query, const state *s, int channel, int at, char *blob) {
  const hn_region *r = &s->query.region;
  const hn_region_layout *l = &s->layout;
  const hone_dtype held = query->tactic->compute;
  const int taps = r->kernel * r->kernel;
  uint16_t *we = (uint16_t *)(void *)(blob + l->we), *wd = (uint16_t *)(void *)(blob + l->wd),
           *wp = (uint16_t *)(void *)(blob + l->wp);
  for (int i = 0; i < r->cin && r->expands; ++i)
    we[at * l->x_row + i] =
        hn_cuda_half_of(held, hn_region_constant(query, HN_REGION_EXPAND, (int64_t)channel * r->cin + i));
  for (int i = 0; i < taps; ++i)
    wd[i * r->chunk + at] =
        hn_cuda_half_of(held, hn_region_constant(query, HN_REGION_DEPTHWISE, (int64_t)channel * taps + i));
  for (int i = 0; i < r->cout && r->projects; ++i)
    wp[i * l->e_row + at] =
        hn_cuda_half_of(held, hn_region_constant(query, HN_REGION_PROJECT, (int64_t)i * r->hid + channel));
  if (r->expands) ((float *)(void *)(blob + l->be))[at] = hn_region_constant(query, HN_REGION_EXPAND_BIAS, channel);
  ((float *)(void *)(blob + l->bd))[at] = hn_region_constant(query, HN_REGION_DEPTHWISE_BIAS, channel);
}

/* The projection's bias lies in the first chunk's blob; the others add nothing. */
static hone_status pack(const hone_query *query, void *to) {
  state s;
  hone_needs needs = {0};
  if (plan(query, &s, &needs)) return HONE_INTERNAL;
  const hn_region *r = &s.query.region;
  memset(to, 0, needs.packed);
  for (int c = 0; c < r->hid; ++c)
    pack_channel(query, &s, c, c % r->chunk, (char *)to + (size_t)(c / r->chunk) * (size_t)s.layout.blob);
  float *bias = (float *)(void *)((char *)to + s.layout.bp);
  for (int i = 0; i < r->cout && r->projects; ++i) bias[i] = hn_region_constant(query, HN_REGION_PROJECT_BIAS, i);
  return HONE_OK;
}

/* ---- running ---- */

/* The texts of one variant's kernel, the last of them in `constants`; false: they are too long. */
enum { TEXTS = 4 };
static bool texts_of(const hone_query *query, const state *s, char *constants, const char **texts) {
  texts[0] = hn_cuda_lay_out_h_begin, texts[1] = hn_cuda_pieces_cuh_begin;
  texts[2] = hn_cuda_inverted_residual_cuh_begin, texts[3] = constants;
  return hn_region_source(&s->query, query->tactic->compute, constants, HN_REGION_CONSTANTS);
}

static hone_status prepare(hone_unit *unit, const hone_query *query, void *state_memory, hone_diagnostics *diag) {
  state *s = state_memory;
  char constants[HN_REGION_CONSTANTS];
  const char *texts[TEXTS];
  if (!texts_of(query, s, constants, texts)) return unit->host->fail(diag, HONE_LIMIT, "its activations are too long");
  return hn_region_compile(unit, texts, TEXTS, &s->function, diag);
}

static void expect(hone_unit *unit, const hone_query *query) {
  state s;
  hone_needs needs = {0};
  char constants[HN_REGION_CONSTANTS];
  const char *texts[TEXTS];
  if (!plan(query, &s, &needs) && texts_of(query, &s, constants, texts)) hn_region_compile_soon(unit, texts, TEXTS);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  const hn_region *r = &s->query.region;
  const hn_region_layout *l = &s->layout;
  region_args args = {.y = launch->out[0].data,
                      .x = launch->in[HN_REGION_X].data,
                      .residual = r->has_residual ? launch->in[HN_REGION_RESIDUAL].data : NULL,
                      .weights = launch->packed,
                      .images = s->query.n};
  const hn_cuda_shape shape = {.grid = {(unsigned)r->split, (unsigned)(l->tiles_h * l->tiles_w),
                                        (unsigned)hn_region_parts(s->query.n, r->images)},
                               .threads = (unsigned)r->threads,
                               .shared_bytes = (unsigned)l->bytes,
                               .cluster = r->projects ? (unsigned)r->split : 1,
                               .dependent = true};
  void *arguments[] = {&args};
  return hn_cuda_launch_function(stream, s->function, &shape, arguments);
}

const hone_tactic hn_tactics_cuda_inverted_residual[] = {
    {sizeof(hone_tactic), .name = "cuda.inverted_residual.f16.tensor", .version = 1, .op = "inverted_residual",
     .isa = HN_CUDA_SM90 | HN_CUDA_NVRTC, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = PACKED,
     .compute = HONE_F16, .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}}, .plan = plan, .variants = variants,
     .pack = pack, .prepare = prepare, .expect = expect, .launch = launch},
    {sizeof(hone_tactic), .name = "cuda.inverted_residual.bf16.tensor", .version = 1, .op = "inverted_residual",
     .isa = HN_CUDA_SM90 | HN_CUDA_NVRTC, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = PACKED,
     .compute = HONE_BF16, .storages = {{HONE_BF16_NHWC, HONE_BF16_NHWC}}, .plan = plan, .variants = variants,
     .pack = pack, .prepare = prepare, .expect = expect, .launch = launch},
    {0}};
