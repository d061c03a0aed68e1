/* SPDX-License-Identifier: Apache-2.0 */
/* conv_transpose.c - transposed convolution of plain f32: the product of a group's transposed weights [channels x taps]
 * and its pixels gives what every input pixel sends to each tap, which is then added up where it falls. A unit is some
 * output channels of one image and group; so no two units write the same pixel, and sums are in a fixed order. */
#include "backend/cpu/conv/conv_common.h"
#include "backend/cpu/gemm/gemm_common.h"

enum { LEAST_ROWS = 28, NS_PER_SENT = 1 };
static const double ns_per_pack = 0.2;
static const double sent_limit = 1e12; /* floats that the pixels of one image and group send */

typedef struct state {
  const hn_cpu_gemm_kernel *kernel;
  hn_conv_f32 conv;
  hn_gemm_f32 gemm; /* of one unit with all its channels; no pointers */
  int64_t taps, pixels, out_per_group, in_per_group;
  int64_t panels, packed_floats, matrices, pack_grain;
  int64_t chunk, chunks, grain; /* output channels of a unit */
  int64_t sent_floats, worker_floats;
  bool has_bias, is_packed;
} state;

static int64_t taps_of(const hn_conv_f32 *c) { return c->kernel_depth * c->kernel_height * c->kernel_width; }
static int64_t pixels_of(const hn_conv_f32 *c) { return c->in_depth * c->in_height * c->in_width; }

/* [in per group][out per group x taps] of every group becomes [out per group x taps][in per group]. */
static hone_status pack(const hone_query *query, void *to) {
  hn_conv_f32 c;
  if (!(query->constant_mask & 2) || hn_cpu_conv_transpose_read_3d(query, &c)) return HONE_OK;
  const float *from = query->in[1].constant->data;
  float *packed = to;
  const int64_t ins = c.in_channels / c.groups;
  const int64_t rows = c.out_channels / c.groups * taps_of(&c);
  for (int64_t group = 0; group < c.groups; ++group, from += ins * rows, packed += ins * rows)
    for (int64_t i = 0; i < ins; ++i)
      for (int64_t row = 0; row < rows; ++row) packed[row * ins + i] = from[i * rows + row];
  return HONE_OK;
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked = {0}, *s = state_memory ? state_memory : &asked;
  const hn_cpu_gemm_kernel *kernel = query->tactic->kernel;
  hn_conv_f32 *c = &s->conv;
  HN_TRY_REASON(hn_cpu_conv_transpose_read_3d(query, c));
  if (query->in[0].type.format != HONE_PLAIN || query->out[0].type.format != HONE_PLAIN) return "it is not plain";
  const double rows = (double)(c->out_channels / c->groups) * (double)taps_of(c);
  if (rows * (double)pixels_of(c) > sent_limit) return "it needs too much scratch memory";
  const int64_t threads = hn_cpu_threads(query->facts);
  const size_t l2 = hn_cpu_l2_bytes(query->facts);
  s->kernel = kernel;
  s->has_bias = hn_cpu_given(query, 2);
  s->is_packed = query->constant_mask & 2;
  s->taps = taps_of(c);
  s->pixels = pixels_of(c);
  s->out_per_group = c->out_channels / c->groups;
  s->in_per_group = c->in_channels / c->groups;
  s->matrices = c->batch * c->groups;
  s->panels = hn_gemm_f32_panels(s->pixels, kernel->panel);
  s->packed_floats = hn_gemm_f32_packed_floats(s->in_per_group, s->pixels, kernel->panel);
  s->gemm = (hn_gemm_f32){.k = s->in_per_group, .n = s->pixels, .c_row_stride = s->pixels};
  s->gemm.a_row_stride = s->is_packed ? s->in_per_group : 1;
  s->gemm.a_column_stride = s->is_packed ? 1 : s->out_per_group * s->taps;
  const int64_t channel_bytes = s->taps * s->pixels * (int64_t)sizeof(float);
  const int64_t wanted = hn_ceil_div(threads > 1 ? threads * HN_CPU_UNITS_PER_THREAD : 1, s->matrices);
  const int64_t fitting = hn_cpu_greater((int64_t)(l2 / 2) / channel_bytes, hn_ceil_div(LEAST_ROWS, s->taps));
  s->chunk = hn_cpu_lesser(hn_cpu_lesser(s->out_per_group, fitting), hn_ceil_div(s->out_per_group, wanted));
  s->chunks = hn_ceil_div(s->out_per_group, s->chunk);
  s->gemm.m = s->chunk * s->taps;
  hn_gemm_f32_choose(&s->gemm, kernel->panel, l2);
  s->sent_floats = hn_cpu_whole_lines(s->gemm.m * s->pixels);
  s->worker_floats = s->sent_floats + hn_cpu_whole_lines(hn_gemm_f32_scratch_floats(&s->gemm));
  const double sent = (double)s->matrices * (double)(s->out_per_group * s->taps) * (double)s->pixels;
  s->grain = hn_cpu_grain(s->matrices * s->chunks,
                          sent * (NS_PER_SENT + 2.0 * (double)s->in_per_group / kernel->flops_per_ns));
  s->pack_grain = hn_cpu_grain(s->matrices * s->panels, (double)(s->matrices * s->packed_floats) * ns_per_pack);
  needs->state = sizeof *s;
  needs->scratch =
      (size_t)(hn_cpu_whole_lines(s->matrices * s->packed_floats) + threads * s->worker_floats) * sizeof(float);
  if (s->is_packed) needs->packed = (size_t)hn_elems(&query->in[1].type.shape) * sizeof(float);
  if (query->in[0].type.shape.rank <= 4) /* deeper ones were not timed */
    needs->efficiency = 0.55 * hn_cpu_filled(s->pixels, kernel->panel);
  return NULL;
}

typedef struct job {
  const state *s;
  const float *x, *w, *bias;
  float *y, *packed, *workers;
} job;

static void pack_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  const state *s = j->s;
  while (begin < end) {
    const int64_t matrix = begin / s->panels, first = begin % s->panels;
    const int64_t last = hn_cpu_lesser(s->panels, first + end - begin);
    hn_gemm_f32_pack_b_c(j->x + matrix * s->in_per_group * s->pixels, s->pixels, 1, s->in_per_group, s->pixels,
                         s->kernel->panel, first, last, j->packed + matrix * s->packed_floats);
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
static void add_level(const hn_conv_f32 *c, int64_t y0, int64_t x0, const float *sent, float *plane) {
  const int64_t step = c->stride_width;
  int64_t y, y_end, x_begin, x_end;
  inside(c->in_height, c->stride_height, y0, c->out_height, &y, &y_end);
  inside(c->in_width, step, x0, c->out_width, &x_begin, &x_end);
  for (; y < y_end; ++y) {
    const float *from = sent + y * c->in_width;
    float *row = plane + (y * c->stride_height + y0) * c->out_width;
    if (step == 1)
      for (int64_t x = x_begin; x < x_end; ++x) row[x0 + x] += from[x];
    else
      for (int64_t x = x_begin; x < x_end; ++x) row[x0 + x * step] += from[x];
  }
}

/* The same for all levels. */
static void add_tap(const hn_conv_f32 *c, int64_t tap, const float *sent, float *plane) {
  const int64_t ky = tap / c->kernel_width % c->kernel_height, kz = tap / (c->kernel_width * c->kernel_height);
  const int64_t y0 = ky * c->dilation_height - c->pad_top, z0 = kz * c->dilation_depth - c->pad_front;
  const int64_t x0 = tap % c->kernel_width * c->dilation_width - c->pad_left;
  int64_t z, z_end;
  inside(c->in_depth, c->stride_depth, z0, c->out_depth, &z, &z_end);
  for (; z < z_end; ++z)
    add_level(c, y0, x0, sent + z * c->in_height * c->in_width,
              plane + (z * c->stride_depth + z0) * c->out_height * c->out_width);
}

/* Kernel 2x2 with stride 2 and no pads: every output pixel hears from one tap alone, so nothing has to be added. */
static bool interleaves(const hn_conv_f32 *c) {
  return c->kernel_depth == 1 && c->in_depth == 1 && c->out_depth == 1 && c->kernel_height == 2 &&
         c->kernel_width == 2 && c->stride_height == 2 && c->stride_width == 2 && c->dilation_height == 1 &&
         c->dilation_width == 1 && c->pad_top == 0 && c->pad_left == 0 && c->out_height == 2 * c->in_height &&
         c->out_width == 2 * c->in_width;
}

static void interleave(const hn_conv_f32 *c, const float *sent, float bias, float *plane) {
  const int64_t pixels = c->in_height * c->in_width;
  for (int64_t y = 0; y < c->out_height; ++y) {
    const float *even = sent + y % 2 * 2 * pixels + y / 2 * c->in_width, *odd = even + pixels;
    float *row = plane + y * c->out_width;
    for (int64_t x = 0; x < c->in_width; ++x) {
      row[2 * x] = bias + even[x];
      row[2 * x + 1] = bias + odd[x];
    }
  }
}

static void run_unit(const job *j, int64_t unit, float *memory) {
  const state *s = j->s;
  const hn_conv_f32 *c = &s->conv;
  const int64_t matrix = unit / s->chunks, group = matrix % c->groups, first = unit % s->chunks * s->chunk;
  const int64_t count = hn_cpu_lesser(s->chunk, s->out_per_group - first),
                area = c->out_depth * c->out_height * c->out_width;
  hn_gemm_f32 g = s->gemm;
  g.m = count * s->taps;
  g.a = j->w + group * s->in_per_group * s->out_per_group * s->taps + first * s->taps * g.a_row_stride;
  g.b_packed = j->packed + matrix * s->packed_floats;
  g.c = memory;
  s->kernel->run(&g, 0, g.m, 0, s->panels, memory + s->sent_floats);
  for (int64_t channel = 0; channel < count; ++channel) {
    float *plane = j->y + (matrix * s->out_per_group + first + channel) * area;
    const float bias = j->bias ? j->bias[group * s->out_per_group + first + channel] : 0;
    const float *sent = memory + channel * s->taps * s->pixels;
    if (interleaves(c)) {
      interleave(c, sent, bias, plane);
    } else {
      for (int64_t i = 0; i < area; ++i) plane[i] = bias;
      for (int64_t tap = 0; tap < s->taps; ++tap) add_tap(c, tap, sent + tap * s->pixels, plane);
    }
    if (c->epilogue.activation != HN_ACTIVATION_NONE) s->kernel->activate(plane, area, &c->epilogue);
  }
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  float *memory = j->workers + (int64_t)worker * j->s->worker_floats;
  for (int64_t unit = begin; unit < end; ++unit) run_unit(j, unit, memory);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  job j = {.s = s,
           .x = launch->in[0].data,
           .w = s->is_packed ? launch->packed : launch->in[1].data,
           .bias = s->has_bias ? launch->in[2].data : NULL,
           .y = launch->out[0].data,
           .packed = launch->scratch};
  j.workers = j.packed + hn_cpu_whole_lines(s->matrices * s->packed_floats);
  hn_pool_run(hn_stream_pool(stream), s->matrices * s->panels, s->pack_grain, pack_body, &j);
  hn_pool_run(hn_stream_pool(stream), s->matrices * s->chunks, s->grain, body, &j);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_conv_transpose[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.conv_transpose.f32.14x32.avx512", .version = 1, .op = "conv_transpose",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2, .plan = plan, .pack = pack,
     .launch = launch, .kernel = &hn_cpu_gemm_avx512},
    {sizeof(hone_tactic), .name = "cpu.conv_transpose.f32.6x16.avx2", .version = 1, .op = "conv_transpose",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2, .plan = plan, .pack = pack,
     .launch = launch, .kernel = &hn_cpu_gemm_avx2},
#endif
    {sizeof(hone_tactic), .name = "cpu.conv_transpose.f32.4x8.c", .version = 1, .op = "conv_transpose",
     .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2, .plan = plan, .pack = pack, .launch = launch,
     .kernel = &hn_cpu_gemm_c},
    {0}};
