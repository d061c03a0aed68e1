/* SPDX-License-Identifier: Apache-2.0 */
/* conv_transpose_f64.c - transposed convolution of plain doubles, as conv_transpose.c has it in f32: the product of a
 * group's transposed weights [channels x taps] and its pixels gives what every input pixel sends to each tap, which is
 * then added up where it falls. A unit is some output channels of one image and group. */
#include "backend/cpu/conv/columns.h"
#include "backend/cpu/gemm/product_f64.h"

static const double ns_per_pack = 0.5, ns_per_sent = 1, sent_limit = 1e12 /* of the pixels of one image and group */;

typedef struct state {
  const hn_cpu_gemm_f64 *kernel;
  hn_conv_f32 conv;         /* its shape */
  hn_epilogue_f64 epilogue; /* no pointers */
  hn_gemm_f64 gemm;         /* of one unit with all its channels; no pointers */
  int64_t taps, pixels, out_per_group, in_per_group;
  int64_t panels, packed, matrices, pack_grain;
  int64_t chunk, chunks, grain; /* output channels of a unit */
  int64_t sent, worker_doubles;
  bool has_bias;
} state;

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state room = {0}, *s = state_memory ? state_memory : &room;
  hn_cpu_asked asked;
  hn_conv_f32 *c = &s->conv;
  HN_TRY_REASON(hn_cpu_ask_f32(query, &asked));
  HN_TRY_REASON(hn_cpu_conv_transpose_read_3d(&asked.query, c));
  if (query->in[0].type.format != HONE_PLAIN || query->out[0].type.format != HONE_PLAIN) return "it is not plain";
  s->kernel = query->tactic->kernel;
  s->epilogue = hn_cpu_epilogue_f64(query->attrs, &c->epilogue);
  if (s->epilogue.activation > HN_ACTIVATION_CLIP) return "its activation is not a bound";
  s->taps = hn_cpu_taps(c);
  s->pixels = hn_cpu_in_plane(c);
  s->out_per_group = c->out_channels / c->groups;
  s->in_per_group = c->in_channels / c->groups;
  if ((double)(s->out_per_group * s->taps) * (double)s->pixels > sent_limit) return "it needs too much scratch memory";
  const int64_t threads = hn_cpu_threads(query->facts);
  const size_t l2 = hn_cpu_l2_bytes(query->facts);
  s->has_bias = hn_cpu_given(query, 2);
  s->matrices = c->batch * c->groups;
  s->panels = hn_gemm_f64_panels(s->pixels, s->kernel->panel);
  s->packed = hn_gemm_f64_packed(s->in_per_group, s->pixels, s->kernel->panel);
  s->gemm = (hn_gemm_f64){.k = s->in_per_group, .n = s->pixels, .c_row_stride = s->pixels, .a_row_stride = 1};
  s->gemm.a_column_stride = s->out_per_group * s->taps;
  const int64_t channel_bytes = s->taps * s->pixels * (int64_t)sizeof(double);
  const int64_t wanted = hn_ceil_div(threads > 1 ? threads * HN_CPU_UNITS_PER_THREAD : 1, s->matrices);
  const int64_t fitting = hn_cpu_greater((int64_t)(l2 / 2) / channel_bytes, hn_ceil_div(2 * s->kernel->rows, s->taps));
  s->chunk = hn_cpu_lesser(hn_cpu_lesser(s->out_per_group, fitting), hn_ceil_div(s->out_per_group, wanted));
  s->chunks = hn_ceil_div(s->out_per_group, s->chunk);
  s->gemm.m = s->chunk * s->taps;
  s->gemm.block_rows = hn_cpu_gemm_f64_block(s->kernel, s->gemm.m, s->gemm.k, l2);
  s->sent = hn_cpu_whole_lines_f64(s->gemm.m * s->pixels);
  s->worker_doubles = s->sent + hn_cpu_whole_lines_f64(s->gemm.block_rows * s->gemm.k);
  const double sent = (double)s->matrices * (double)(s->out_per_group * s->taps) * (double)s->pixels;
  s->grain = hn_cpu_grain(s->matrices * s->chunks,
                          sent * (ns_per_sent + 2.0 * (double)s->in_per_group / s->kernel->flops_per_ns));
  s->pack_grain = hn_cpu_grain(s->matrices * s->panels, (double)(s->matrices * s->packed) * ns_per_pack);
  needs->state = sizeof *s;
  needs->scratch =
      (size_t)(hn_cpu_whole_lines_f64(s->matrices * s->packed) + threads * s->worker_doubles) * sizeof(double);
  needs->efficiency = 0.25 * hn_cpu_filled(s->pixels, s->kernel->panel);
  return NULL;
}

typedef struct job {
  const state *s;
  const double *x, *w, *bias;
  double *y, *packed, *workers;
} job;

static void pack_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  const state *s = j->s;
  while (begin < end) {
    const int64_t matrix = begin / s->panels, first = begin % s->panels;
    const int64_t last = hn_cpu_lesser(s->panels, first + end - begin);
    hn_gemm_f64_pack_b_c(j->x + matrix * s->in_per_group * s->pixels, s->pixels, 1, s->in_per_group, s->pixels,
                         s->kernel->panel, first, last, j->packed + matrix * s->packed);
    begin += last - first;
  }
}

/* Positions [*begin, *end) of `count` input pixels whose place at * stride + offset lies in 0..size. */
static void inside(int64_t count, int64_t stride, int64_t offset, int64_t size, int64_t *begin, int64_t *end) {
  *begin = offset < 0 ? hn_cpu_lesser(count, hn_ceil_div(-offset, stride)) : 0;
  *end = size > offset ? hn_cpu_lesser(count, hn_ceil_div(size - offset, stride)) : 0;
  if (*end < *begin) *end = *begin;
}

/* Adds what the input's pixels of one level send through one tap to a level of the output. */
static void add_level(const hn_conv_f32 *c, int64_t y0, int64_t x0, const double *sent, double *plane) {
  const int64_t step = c->stride_width;
  int64_t y, y_end, x_begin, x_end;
  inside(c->in_height, c->stride_height, y0, c->out_height, &y, &y_end);
  inside(c->in_width, step, x0, c->out_width, &x_begin, &x_end);
  for (; y < y_end; ++y) {
    const double *from = sent + y * c->in_width;
    double *row = plane + (y * c->stride_height + y0) * c->out_width;
    if (step == 1)
      for (int64_t x = x_begin; x < x_end; ++x) row[x0 + x] += from[x];
    else
      for (int64_t x = x_begin; x < x_end; ++x) row[x0 + x * step] += from[x];
  }
}

/* The same for all levels. */
static void add_tap(const hn_conv_f32 *c, int64_t tap, const double *sent, double *plane) {
  const int64_t ky = tap / c->kernel_width % c->kernel_height, kz = tap / (c->kernel_width * c->kernel_height);
  const int64_t y0 = ky * c->dilation_height - c->pad_top, z0 = kz * c->dilation_depth - c->pad_front;
  const int64_t x0 = tap % c->kernel_width * c->dilation_width - c->pad_left;
  int64_t z, z_end;
  inside(c->in_depth, c->stride_depth, z0, c->out_depth, &z, &z_end);
  for (; z < z_end; ++z)
    add_level(c, y0, x0, sent + z * c->in_height * c->in_width,
              plane + (z * c->stride_depth + z0) * c->out_height * c->out_width);
}

static void bound(const hn_epilogue_f64 *e, double *plane, int64_t area) {
  const double low = e->activation == HN_ACTIVATION_CLIP ? e->alpha : 0;
  if (e->activation == HN_ACTIVATION_NONE) return;
  for (int64_t i = 0; i < area; ++i) {
    if (plane[i] < low) plane[i] = low;
    if (e->activation == HN_ACTIVATION_CLIP && plane[i] > e->beta) plane[i] = e->beta;
  }
}

static void run_unit(const job *j, int64_t unit, double *memory) {
  const state *s = j->s;
  const hn_conv_f32 *c = &s->conv;
  const int64_t matrix = unit / s->chunks, group = matrix % c->groups, first = unit % s->chunks * s->chunk;
  const int64_t count = hn_cpu_lesser(s->chunk, s->out_per_group - first), area = hn_cpu_out_pixels(c);
  hn_gemm_f64 g = s->gemm;
  g.m = count * s->taps;
  g.a = j->w + (group * s->in_per_group * s->out_per_group + first) * s->taps;
  g.b_packed = j->packed + matrix * s->packed;
  g.c = memory;
  s->kernel->run(&g, 0, g.m, 0, s->panels, memory + s->sent);
  for (int64_t channel = 0; channel < count; ++channel) {
    double *plane = j->y + (matrix * s->out_per_group + first + channel) * area;
    const double bias = j->bias ? j->bias[group * s->out_per_group + first + channel] : 0;
    for (int64_t i = 0; i < area; ++i) plane[i] = bias;
    for (int64_t tap = 0; tap < s->taps; ++tap) add_tap(c, tap, memory + (channel * s->taps + tap) * s->pixels, plane);
    bound(&s->epilogue, plane, area);
  }
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  double *memory = j->workers + (int64_t)worker * j->s->worker_doubles;
  for (int64_t unit = begin; unit < end; ++unit) run_unit(j, unit, memory);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  job j = {.s = s,
           .x = launch->in[0].data,
           .w = launch->in[1].data,
           .bias = s->has_bias ? launch->in[2].data : NULL,
           .y = launch->out[0].data,
           .packed = launch->scratch};
  j.workers = j.packed + hn_cpu_whole_lines_f64(s->matrices * s->packed);
  hn_pool_run(hn_stream_pool(stream), s->matrices * s->panels, s->pack_grain, pack_body, &j);
  hn_pool_run(hn_stream_pool(stream), s->matrices * s->chunks, s->grain, body, &j);
  return HONE_OK;
}

#define COMMON                                                                                                         \
  .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan, .launch = launch
const hone_tactic hn_tactics_cpu_conv_transpose_f64[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.conv_transpose.f64.12x16.avx512", .version = 1, .op = "conv_transpose",
     .isa = HONE_ISA_AVX512, .kernel = &hn_cpu_gemm_f64_avx512, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_transpose.f64.6x8.avx2", .version = 1, .op = "conv_transpose",
     .isa = HONE_ISA_AVX2, .kernel = &hn_cpu_gemm_f64_avx2, COMMON},
#endif
    {sizeof(hone_tactic), .name = "cpu.conv_transpose.f64.4x4.c", .version = 1, .op = "conv_transpose",
     .isa = HONE_ISA_C, .kernel = &hn_cpu_gemm_f64_c, COMMON},
    {0}};
