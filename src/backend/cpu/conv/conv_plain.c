/* SPDX-License-Identifier: Apache-2.0 */
/* conv_plain.c - convolution of plain f32 over one to three axes as a matrix product: weights [O x K] times columns [K
 * x pixels], K = input channels of a group x kernel. A unit is a run of pixel panels of some groups: its worker gathers
 * the columns straight into packed panels, so nothing of the size of the whole column matrix is ever written; where a
 * panel's pixels meet the kernel is found once for all groups. */
#include "backend/cpu/conv/columns.h"
#include "backend/cpu/gemm/gemm_common.h"
#include <string.h>

enum { LEAST_PANELS = 4 };

typedef struct state {
  const hn_cpu_gemm_kernel *kernel;
  hn_conv_f32 conv;
  hn_gemm_f32 gemm;              /* m, k, strides, epilogue, tiles; no pointers */
  int64_t panels, chunk, chunks; /* of pixels */
  int64_t set, sets;             /* of groups */
  int64_t units, grain;
  int64_t column_floats, place_floats, worker_floats; /* of one worker: columns, places, a packed block of A */
  bool has_bias, has_residual;
} state;

/* A chunk's columns fill about half of L2, but several panels share one packing of the weights. */
static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked = {0}, *s = state_memory ? state_memory : &asked;
  const hn_cpu_gemm_kernel *kernel = query->tactic->kernel;
  hn_conv_f32 *c = &s->conv;
  hn_gemm_f32 *g = &s->gemm;
  HN_TRY_REASON(hn_cpu_conv_read_3d(query, c));
  if (query->in[0].type.format != HONE_PLAIN || query->out[0].type.format != HONE_PLAIN) return "it is not plain";
  const int64_t pixels = hn_cpu_out_pixels(c), panel = kernel->panel;
  const int64_t threads = hn_cpu_threads(query->facts);
  const size_t l2 = hn_cpu_l2_bytes(query->facts);
  s->kernel = kernel;
  s->has_bias = hn_cpu_given(query, 2);
  s->has_residual = hn_cpu_given(query, 3);
  *g = (hn_gemm_f32){.m = c->out_channels / c->groups, .epilogue = c->epilogue, .bias_per_row = 1};
  g->k = c->in_channels / c->groups * hn_cpu_taps(c);
  g->a_row_stride = g->k;
  g->a_column_stride = 1;
  g->c_row_stride = g->epilogue.residual_stride = pixels;
  s->panels = hn_gemm_f32_panels(pixels, kernel->panel);
  const int64_t fitting = (int64_t)(l2 / 2) / (g->k * panel * (int64_t)sizeof(float));
  const int64_t wanted = threads > 1 ? hn_ceil_div(threads * HN_CPU_UNITS_PER_THREAD, c->batch) : 1;
  s->set = hn_ceil_div(c->groups, hn_cpu_lesser(c->groups, wanted));
  s->sets = hn_ceil_div(c->groups, s->set);
  const int64_t shared = hn_ceil_div(s->panels, hn_ceil_div(wanted, s->sets));
  s->chunk = hn_cpu_lesser(s->panels, hn_cpu_greater(LEAST_PANELS, hn_cpu_lesser(fitting, shared)));
  s->chunks = hn_ceil_div(s->panels, s->chunk);
  s->units = c->batch * s->sets * s->chunks;
  g->n = hn_cpu_lesser(pixels, s->chunk * panel);
  hn_gemm_f32_choose(g, kernel->panel, l2);
  s->grain = hn_cpu_grain(s->units, hn_cpu_conv_flops(c) / kernel->flops_per_ns);
  s->column_floats = s->chunk * g->k * panel;
  s->place_floats = s->chunk * hn_cpu_taps(c) * (int64_t)(sizeof(hn_cpu_tap_places) / sizeof(float));
  const int64_t floats = s->column_floats + s->place_floats + hn_gemm_f32_scratch_floats(g);
  s->worker_floats = hn_cpu_whole_lines(floats);
  needs->state = sizeof *s;
  needs->scratch = (size_t)(threads * s->worker_floats) * sizeof(float);
  /* A group's output channels are rows of the product, its pixels columns. */
  needs->efficiency = 0.65 * hn_cpu_filled(g->m, kernel->rows) * hn_cpu_filled(pixels, kernel->panel);
  return NULL;
}

/* One packed panel of columns: row channel * taps + tap, `width` pixels each. */
static void gather_panel(const hn_conv_f32 *c, const hn_cpu_tap_places *places, const float *image, int width,
                         float *to) {
  const int64_t taps = hn_cpu_taps(c), plane = hn_cpu_in_plane(c);
  const int64_t channels = c->in_channels / c->groups;
  for (int64_t channel = 0; channel < channels; ++channel, image += plane)
    for (int64_t tap = 0; tap < taps; ++tap, to += width) {
      const hn_cpu_tap_places *p = &places[tap];
      if (p->is_run)
        memcpy(to, image + p->at[0], (size_t)width * sizeof(float));
      else
        for (int i = 0; i < width; ++i) to[i] = p->at[i] < 0 ? 0 : image[p->at[i]];
    }
}

typedef struct job {
  const state *s;
  const float *x, *w, *bias, *residual, *slope;
  float *y, *scratch;
} job;

/* One group's product over the panels [first, last). */
static void run_group(const job *j, int64_t image_group, int64_t first, int64_t last, float *columns,
                      const hn_cpu_tap_places *places, float *scratch) {
  const state *s = j->s;
  const hn_conv_f32 *c = &s->conv;
  const int width = s->kernel->panel;
  const int64_t pixels = hn_cpu_out_pixels(c), group = image_group % c->groups, taps = hn_cpu_taps(c);
  const float *in = j->x + image_group * (c->in_channels / c->groups) * hn_cpu_in_plane(c);
  for (int64_t panel = first; panel < last; ++panel)
    gather_panel(c, places + (panel - first) * taps, in, width, columns + (panel - first) * s->gemm.k * width);
  hn_gemm_f32 g = s->gemm;
  const int64_t at = image_group * g.m * pixels + first * width;
  g.n = hn_cpu_lesser(pixels - first * width, (last - first) * width);
  g.a = j->w + group * g.m * g.k;
  g.b_packed = columns;
  g.c = j->y + at;
  g.epilogue.bias = j->bias ? j->bias + group * g.m : NULL;
  g.epilogue.residual = j->residual ? j->residual + at : NULL;
  g.epilogue.slope = j->slope ? j->slope + group * g.m : NULL;
  s->kernel->run(&g, 0, g.m, 0, last - first, scratch);
}

static void run_unit(const job *j, int64_t unit, float *memory) {
  const state *s = j->s;
  const hn_conv_f32 *c = &s->conv;
  const int width = s->kernel->panel;
  const int64_t taps = hn_cpu_taps(c), pixels = hn_cpu_out_pixels(c);
  const int64_t first = unit % s->chunks * s->chunk, last = hn_cpu_lesser(s->panels, first + s->chunk);
  const int64_t image = unit / s->chunks / s->sets, group = unit / s->chunks % s->sets * s->set;
  hn_cpu_tap_places *places = (hn_cpu_tap_places *)(void *)(memory + s->column_floats);
  for (int64_t panel = first; panel < last; ++panel)
    for (int64_t tap = 0; tap < taps; ++tap)
      hn_cpu_find_places(c, panel * width, (int)hn_cpu_lesser(width, pixels - panel * width), width, tap,
                         &places[(panel - first) * taps + tap]);
  for (int64_t g = group; g < hn_cpu_lesser(c->groups, group + s->set); ++g)
    run_group(j, image * c->groups + g, first, last, memory, places, memory + s->column_floats + s->place_floats);
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  float *memory = j->scratch + (int64_t)worker * j->s->worker_floats;
  for (int64_t unit = begin; unit < end; ++unit) run_unit(j, unit, memory);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  job j = {.s = s,
           .x = launch->in[0].data,
           .w = launch->in[1].data,
           .bias = s->has_bias ? launch->in[2].data : NULL,
           .residual = s->has_residual ? launch->in[3].data : NULL,
           .slope = hn_cpu_has_slope(&s->conv.epilogue) ? launch->in[4].data : NULL,
           .y = launch->out[0].data,
           .scratch = launch->scratch};
  hn_pool_run(hn_stream_pool(stream), s->units, s->grain, body, &j);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_conv_plain[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw.14x32.avx512", .version = 1, .op = "conv", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch, .kernel = &hn_cpu_gemm_avx512},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw.6x16.avx2", .version = 1, .op = "conv", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch, .kernel = &hn_cpu_gemm_avx2},
#endif
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw.4x8.c", .version = 1, .op = "conv", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch, .kernel = &hn_cpu_gemm_c},
    {0}};
