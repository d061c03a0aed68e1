/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f64.c - convolution of plain doubles over one to three axes as a matrix product, weights [O x K] times columns
 * [K x pixels], K = input channels of a group x kernel, and depthwise plane by plane. A unit of the product is a run of
 * pixel panels of one group: its worker gathers the columns straight into packed panels. */
#include "backend/cpu/conv/columns.h"
#include "backend/cpu/gemm/product_f64.h"
#include <string.h>

enum { LEAST_PANELS = 4 };
static const double unit_ns = 5e6, dw_flops_per_ns = 8;

typedef struct dw_kernel {
  void (*run)(const hn_conv_f64 *conv, int64_t begin, int64_t end, double *scratch);
} dw_kernel;

typedef struct state {
  const hn_cpu_gemm_f64 *kernel;
  const dw_kernel *depthwise;
  hn_conv_f64 conv;              /* no pointers */
  hn_gemm_f64 gemm;              /* m, k, strides, epilogue; no pointers */
  int64_t panels, chunk, chunks; /* of pixels */
  int64_t units, grain;
  int64_t column_doubles, place_doubles, worker_doubles; /* of one worker: columns, places, a packed block of A */
  bool has_bias, has_residual, has_slope;
} state;

static const char *read(const hone_query *query, state *s) {
  hn_cpu_asked asked;
  HN_TRY_REASON(hn_cpu_ask_f32(query, &asked));
  HN_TRY_REASON(hn_cpu_conv_read_3d(&asked.query, &s->conv.shape));
  if (query->in[0].type.format != HONE_PLAIN || query->out[0].type.format != HONE_PLAIN) return "it is not plain";
  s->conv.epilogue = hn_cpu_epilogue_f64(query->attrs, &s->conv.shape.epilogue);
  s->has_bias = hn_cpu_given(query, 2);
  s->has_residual = hn_cpu_given(query, 3);
  s->has_slope = hn_cpu_has_slope(&s->conv.shape.epilogue);
  return NULL;
}

/* A chunk's columns fill about half of L2, but several panels share one packing of the weights. */
static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked = {0}, *s = state_memory ? state_memory : &asked;
  const hn_cpu_gemm_f64 *kernel = query->tactic->kernel;
  const hn_conv_f32 *c = &s->conv.shape;
  HN_TRY_REASON(read(query, s));
  hn_gemm_f64 *g = &s->gemm;
  const int64_t pixels = hn_cpu_out_pixels(c), threads = hn_cpu_threads(query->facts);
  const size_t l2 = hn_cpu_l2_bytes(query->facts);
  s->kernel = kernel;
  *g = (hn_gemm_f64){.m = c->out_channels / c->groups, .epilogue = s->conv.epilogue, .bias_per_row = 1};
  g->k = c->in_channels / c->groups * hn_cpu_taps(c);
  g->a_row_stride = g->k;
  g->a_column_stride = 1;
  g->c_row_stride = g->epilogue.residual_stride = pixels;
  g->block_rows = hn_cpu_gemm_f64_block(kernel, g->m, g->k, l2);
  s->panels = hn_gemm_f64_panels(pixels, kernel->panel);
  const double panel_ns = 2.0 * (double)g->m * (double)g->k * kernel->panel / kernel->flops_per_ns;
  const int64_t sets = c->batch * c->groups;
  const int64_t wanted = threads > 1 ? hn_ceil_div(threads * HN_CPU_UNITS_PER_THREAD, sets) : 1;
  const int64_t fitting = hn_cpu_lesser((int64_t)(l2 / 2) / (g->k * kernel->panel * (int64_t)sizeof(double)),
                                        (int64_t)(unit_ns / panel_ns));
  const int64_t most = hn_cpu_greater(LEAST_PANELS, hn_cpu_lesser(fitting, hn_ceil_div(s->panels, wanted)));
  s->chunk = hn_cpu_lesser(s->panels, most);
  s->chunks = hn_ceil_div(s->panels, s->chunk);
  s->units = sets * s->chunks;
  s->grain = hn_cpu_grain(s->units, hn_cpu_conv_flops(c) / kernel->flops_per_ns);
  s->column_doubles = s->chunk * g->k * kernel->panel;
  s->place_doubles = hn_ceil_div(hn_cpu_taps(c) * (int64_t)sizeof(hn_cpu_tap_places), (int64_t)sizeof(double));
  s->worker_doubles = hn_cpu_whole_lines_f64(s->column_doubles + s->place_doubles + g->block_rows * g->k);
  needs->state = sizeof *s;
  needs->scratch = (size_t)(threads * s->worker_doubles) * sizeof(double);
  needs->efficiency = 0.35 * hn_cpu_filled(g->m, kernel->rows) * hn_cpu_filled(pixels, kernel->panel);
  return NULL;
}

static const char *plan_depthwise(const hone_query *query, void *state_memory, hone_needs *needs) {
  static const double scratch_limit = 1e9; /* doubles of one worker */
  state asked = {0}, *s = state_memory ? state_memory : &asked;
  const hn_conv_f32 *c = &s->conv.shape;
  HN_TRY_REASON(read(query, s));
  if (query->in[0].type.shape.rank > 4) return "it has more than two spatial axes";
  if (c->groups != c->in_channels || (c->groups == 1 && c->out_channels > 1)) return "it is not depthwise";
  if (hn_cpu_taps(c) > HN_CONV_F32_DW_PLAIN_TAPS) return "the kernel has more than 128 taps";
  const double rows =
      (double)c->out_height * (double)c->stride_height + (double)c->kernel_height * (double)c->dilation_height;
  const double width =
      (double)(c->out_width + 64) * (double)c->stride_width + (double)c->kernel_width * (double)c->dilation_width;
  if (rows * width > scratch_limit) return "it needs too much scratch memory";
  s->depthwise = query->tactic->kernel;
  s->units = c->batch * c->out_channels;
  s->grain = hn_cpu_grain(s->units, hn_cpu_conv_flops(c) / dw_flops_per_ns);
  s->worker_doubles = hn_cpu_whole_lines_f64(hn_conv_f32_dw_plain_scratch(c));
  needs->state = sizeof *s;
  needs->scratch = (size_t)(hn_cpu_threads(query->facts) * s->worker_doubles) * sizeof(double);
  needs->efficiency = 0.06;
  return NULL;
}

/* One packed panel of columns: row channel * taps + tap, `width` pixels each. */
static void gather_panel(const hn_conv_f32 *c, const hn_cpu_tap_places *places, const double *image, int width,
                         double *to) {
  const int64_t taps = hn_cpu_taps(c), plane = hn_cpu_in_plane(c);
  for (int64_t channel = 0; channel < c->in_channels / c->groups; ++channel, image += plane)
    for (int64_t tap = 0; tap < taps; ++tap, to += width) {
      const hn_cpu_tap_places *p = &places[tap];
      if (p->is_run)
        memcpy(to, image + p->at[0], (size_t)width * sizeof *to);
      else
        for (int i = 0; i < width; ++i) to[i] = p->at[i] < 0 ? 0 : image[p->at[i]];
    }
}

typedef struct job {
  const state *s;
  hn_conv_f64 conv;
  double *scratch;
} job;

static void run_unit(const job *j, int64_t unit, double *columns) {
  const state *s = j->s;
  const hn_conv_f64 *v = &j->conv;
  const hn_conv_f32 *c = &v->shape;
  const int width = s->kernel->panel;
  const int64_t taps = hn_cpu_taps(c), pixels = hn_cpu_out_pixels(c), set = unit / s->chunks, group = set % c->groups;
  const int64_t first = unit % s->chunks * s->chunk, last = hn_cpu_lesser(s->panels, first + s->chunk);
  const double *image = v->input + set * (c->in_channels / c->groups) * hn_cpu_in_plane(c);
  hn_cpu_tap_places *places = (hn_cpu_tap_places *)(void *)(columns + s->column_doubles);
  for (int64_t panel = first; panel < last; ++panel) {
    const int count = (int)hn_cpu_lesser(width, pixels - panel * width);
    for (int64_t tap = 0; tap < taps; ++tap) hn_cpu_find_places(c, panel * width, count, width, tap, &places[tap]);
    gather_panel(c, places, image, width, columns + (panel - first) * s->gemm.k * width);
  }
  hn_gemm_f64 g = s->gemm;
  const int64_t at = set * g.m * pixels + first * width;
  g.n = hn_cpu_lesser(pixels - first * width, (last - first) * width);
  g.a = v->weights + group * g.m * g.k;
  g.b_packed = columns;
  g.c = v->output + at;
  g.epilogue.bias = v->epilogue.bias ? v->epilogue.bias + group * g.m : NULL;
  g.epilogue.residual = v->epilogue.residual ? v->epilogue.residual + at : NULL;
  g.epilogue.slope = v->epilogue.slope ? v->epilogue.slope + group * g.m : NULL;
  s->kernel->run(&g, 0, g.m, 0, last - first, columns + s->column_doubles + s->place_doubles);
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  double *memory = j->scratch + (int64_t)worker * j->s->worker_doubles;
  if (j->s->depthwise)
    j->s->depthwise->run(&j->conv, begin, end, memory);
  else
    for (int64_t unit = begin; unit < end; ++unit) run_unit(j, unit, memory);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  job j = {s, s->conv, launch->scratch};
  j.conv.input = launch->in[0].data;
  j.conv.weights = launch->in[1].data;
  j.conv.output = launch->out[0].data;
  if (s->has_bias) j.conv.epilogue.bias = launch->in[2].data;
  if (s->has_residual) j.conv.epilogue.residual = launch->in[3].data;
  if (s->has_slope) j.conv.epilogue.slope = launch->in[4].data;
  hn_pool_run(hn_stream_pool(stream), s->units, s->grain, body, &j);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_conv_f64[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.conv.f64.nchw.12x16.avx512", .version = 1, .op = "conv", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan, .launch = launch,
     .kernel = &hn_cpu_gemm_f64_avx512},
    {sizeof(hone_tactic), .name = "cpu.conv.f64.nchw.dw.avx512", .version = 1, .op = "conv", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan_depthwise,
     .launch = launch, .kernel = &(const dw_kernel){hn_conv_dw_plain_f64_avx512}},
    {sizeof(hone_tactic), .name = "cpu.conv.f64.nchw.6x8.avx2", .version = 1, .op = "conv", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan, .launch = launch,
     .kernel = &hn_cpu_gemm_f64_avx2},
    {sizeof(hone_tactic), .name = "cpu.conv.f64.nchw.dw.avx2", .version = 1, .op = "conv", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan_depthwise,
     .launch = launch, .kernel = &(const dw_kernel){hn_conv_dw_plain_f64_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.conv.f64.nchw.4x4.c", .version = 1, .op = "conv", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan, .launch = launch,
     .kernel = &hn_cpu_gemm_f64_c},
    {sizeof(hone_tactic), .name = "cpu.conv.f64.nchw.dw.c", .version = 1, .op = "conv", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan_depthwise,
     .launch = launch, .kernel = &(const dw_kernel){hn_conv_dw_plain_f64_c}},
    {0}};
