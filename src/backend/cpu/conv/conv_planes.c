/* SPDX-License-Identifier: Apache-2.0 */
/* conv_planes.c - convolution of plain f32 straight from the planes, with nothing packed: 1x1 with few channels a
 * group, and depthwise, plane by plane, with a channel multiplier or without. */
#include "backend/cpu/conv/conv_common.h"

/* A row has one of the two. */
typedef struct row_kernel {
  void (*pointwise)(const hn_conv_f32 *conv, int64_t begin, int64_t end);
  void (*depthwise)(const hn_conv_f32 *conv, int64_t begin, int64_t end, float *scratch);
  double share; /* of the peak, depthwise without a multiplier */
} row_kernel;

typedef struct state {
  const row_kernel *kernel;
  hn_conv_f32 conv; /* no pointers */
  int64_t units, grain, worker_floats;
  bool has_bias, has_residual;
} state;

static const double flops_per_ns = 25;

static const char *read(const hone_query *query, state *s) {
  HN_TRY_REASON(hn_cpu_conv_read(query, &s->conv));
  if (query->in[0].type.format != HONE_PLAIN || query->out[0].type.format != HONE_PLAIN) return "it is not plain";
  s->kernel = query->tactic->kernel;
  s->has_bias = hn_cpu_given(query, 2);
  s->has_residual = hn_cpu_given(query, 3);
  return NULL;
}

static void set_units(state *s, int64_t units) {
  s->units = units;
  s->grain = hn_cpu_grain(units, hn_cpu_conv_flops(&s->conv) / flops_per_ns);
}

/* A run's inputs fill half of L1; every thread gets some. */
static const char *plan_pointwise(const hone_query *query, void *state_memory, hone_needs *needs) {
  enum { MOST_CHANNELS = 128, RUN_BYTES = 16384, LEAST_RUN = 256 };
  state asked = {0}, *s = state_memory ? state_memory : &asked;
  hn_conv_f32 *c = &s->conv;
  HN_TRY_REASON(read(query, s));
  if (c->kernel_height * c->kernel_width != 1 || c->stride_height * c->stride_width != 1 ||
      c->out_height != c->in_height || c->out_width != c->in_width || c->pad_top + c->pad_left != 0)
    return "it is not 1x1 with stride 1 and no pads";
  if (c->in_channels / c->groups > MOST_CHANNELS) return "a group has more than 128 input channels";
  const int64_t pixels = c->out_height * c->out_width, sets = c->batch * c->groups;
  const int64_t threads = hn_cpu_threads(query->facts);
  const int64_t fitting = RUN_BYTES / (int64_t)sizeof(float) / (c->in_channels / c->groups);
  const int64_t shared =
      threads > 1 ? hn_ceil_div(pixels, hn_ceil_div(threads * HN_CPU_UNITS_PER_THREAD, sets)) : pixels;
  c->unit_rows = hn_ceil_div(hn_cpu_greater(LEAST_RUN, hn_cpu_lesser(fitting, shared)), 16) * 16;
  set_units(s, sets * hn_ceil_div(pixels, c->unit_rows));
  needs->state = sizeof *s;
  /* With AVX2 0.67 and 0.73 of the peak were measured, for 20 and 80 channels a group; other sets were not timed. */
  needs->efficiency = 0.5 * hn_cpu_filled(c->out_channels / c->groups, 4) * hn_cpu_filled(pixels, 16);
  return NULL;
}

static const char *plan_depthwise(const hone_query *query, void *state_memory, hone_needs *needs) {
  static const double scratch_limit = 1e9; /* floats of one worker */
  static const double most = 0.3;          /* of the peak: the sums alone */
  state asked = {0}, *s = state_memory ? state_memory : &asked;
  hn_conv_f32 *c = &s->conv;
  HN_TRY_REASON(read(query, s));
  if (c->groups != c->in_channels || (c->groups == 1 && c->out_channels > 1)) return "it is not depthwise";
  if (c->kernel_height * c->kernel_width > HN_CONV_F32_DW_PLAIN_TAPS) return "the kernel has more than 128 taps";
  const double rows =
      (double)c->out_height * (double)c->stride_height + (double)c->kernel_height * (double)c->dilation_height;
  const double width =
      (double)(c->out_width + 64) * (double)c->stride_width + (double)c->kernel_width * (double)c->dilation_width;
  if (rows * width > scratch_limit) return "it needs too much scratch memory";
  set_units(s, c->batch * c->out_channels);
  s->worker_floats = hn_cpu_whole_lines(hn_conv_f32_dw_plain_scratch(c));
  needs->state = sizeof *s;
  needs->scratch = (size_t)(hn_cpu_threads(query->facts) * s->worker_floats) * sizeof(float);
  /* All instruction sets wait for the copies of padded planes, which all outputs of a plane share. */
  needs->efficiency =
      1 / (1 / most + (1 / s->kernel->share - 1 / most) * (double)c->in_channels / (double)c->out_channels);
  return NULL;
}

typedef struct job {
  const state *s;
  hn_conv_f32 conv;
  float *scratch;
} job;

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  if (j->s->kernel->pointwise)
    j->s->kernel->pointwise(&j->conv, begin, end);
  else
    j->s->kernel->depthwise(&j->conv, begin, end, j->scratch + worker * j->s->worker_floats);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  job j = {s, s->conv, launch->scratch};
  j.conv.input = launch->in[0].data;
  j.conv.weights = launch->in[1].data;
  j.conv.output = launch->out[0].data;
  if (s->has_bias) j.conv.epilogue.bias = launch->in[2].data;
  if (s->has_residual) j.conv.epilogue.residual = launch->in[3].data;
  if (hn_cpu_has_slope(&j.conv.epilogue)) j.conv.epilogue.slope = launch->in[4].data;
  hn_pool_run(hn_stream_pool(stream), s->units, s->grain, body, &j);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_conv_planes[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw.1x1.avx512", .version = 1, .op = "conv", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_pointwise, .launch = launch,
     .kernel = &(const row_kernel){.pointwise = hn_conv_f32_1x1_nchw_avx512}},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw.dw.avx512", .version = 1, .op = "conv", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_depthwise, .launch = launch,
     .kernel = &(const row_kernel){.depthwise = hn_conv_dw_plain_f32_avx512, .share = 0.05}},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw.1x1.avx2", .version = 1, .op = "conv", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_pointwise, .launch = launch,
     .kernel = &(const row_kernel){.pointwise = hn_conv_f32_1x1_nchw_avx2}},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw.dw.avx2", .version = 1, .op = "conv", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_depthwise, .launch = launch,
     .kernel = &(const row_kernel){.depthwise = hn_conv_dw_plain_f32_avx2, .share = 0.08}},
#endif
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw.1x1.c", .version = 1, .op = "conv", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_pointwise, .launch = launch,
     .kernel = &(const row_kernel){.pointwise = hn_conv_f32_1x1_nchw_c}},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw.dw.c", .version = 1, .op = "conv", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_depthwise, .launch = launch,
     .kernel = &(const row_kernel){.depthwise = hn_conv_dw_plain_f32_c, .share = 0.25}},
    {0}};
