/* SPDX-License-Identifier: Apache-2.0 */
/* conv_1x1_nchw.c - 1x1 convolution of plain f32 with few channels a group, straight from the planes. */
#include "backend/cpu/conv/conv_common.h"

typedef void conv_kernel(const hn_conv_f32 *conv, int64_t begin, int64_t end);
static const double flops_per_ns = 25;
enum { MOST_CHANNELS = 128, RUN_BYTES = 16384, LEAST_RUN = 256 };

typedef struct state {
  conv_kernel *kernel;
  hn_conv_f32 conv; /* no pointers */
  int64_t units, grain;
  bool has_bias, has_residual;
} state;

static const char *read(const hone_query *query, hn_conv_f32 *c) {
  const char *reason = hn_cpu_conv_read(query, c);
  if (reason) return reason;
  if (query->in[0].type.format != HONE_PLAIN || query->out[0].type.format != HONE_PLAIN) return "it is not plain";
  if (c->kernel_height * c->kernel_width != 1 || c->stride_height * c->stride_width != 1 ||
      c->out_height != c->in_height || c->out_width != c->in_width || c->pad_top + c->pad_left != 0)
    return "it is not 1x1 with stride 1 and no pads";
  return c->in_channels / c->groups > MOST_CHANNELS ? "a group has more than 128 input channels" : NULL;
}

static const char *reject(const hone_query *query) {
  hn_conv_f32 conv;
  return read(query, &conv);
}

/* A run's inputs fill half of L1; every thread gets some. */
static hone_status prepare(const hone_query *query, state *s, conv_kernel *kernel, hone_diagnostics *diag) {
  hn_conv_f32 *c = &s->conv;
  const char *reason = read(query, c);
  if (reason) return HN_FAIL(diag, HONE_INTERNAL, "%s", reason);
  const int64_t pixels = c->out_height * c->out_width, sets = c->batch * c->groups;
  const int64_t threads = hn_cpu_threads(query->facts);
  const int64_t fitting = RUN_BYTES / (int64_t)sizeof(float) / (c->in_channels / c->groups);
  const int64_t shared =
      threads > 1 ? hn_ceil_div(pixels, hn_ceil_div(threads * HN_CPU_UNITS_PER_THREAD, sets)) : pixels;
  c->unit_rows = hn_ceil_div(hn_cpu_greater(LEAST_RUN, hn_cpu_lesser(fitting, shared)), 16) * 16;
  s->kernel = kernel;
  s->units = sets * hn_ceil_div(pixels, c->unit_rows);
  s->grain = hn_cpu_grain(s->units, hn_cpu_conv_flops(c) / flops_per_ns);
  s->has_bias = hn_cpu_given(query, 2);
  s->has_residual = hn_cpu_given(query, 3);
  return HONE_OK;
}

static size_t state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(state);
}

typedef struct job {
  conv_kernel *kernel;
  hn_conv_f32 conv;
} job;

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  j->kernel(&j->conv, begin, end);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  job j = {s->kernel, s->conv};
  j.conv.input = launch->in[0].data;
  j.conv.weights = launch->in[1].data;
  j.conv.output = launch->out[0].data;
  if (s->has_bias) j.conv.epilogue.bias = launch->in[2].data;
  if (s->has_residual) j.conv.epilogue.residual = launch->in[3].data;
  if (hn_cpu_has_slope(&j.conv.epilogue)) j.conv.epilogue.slope = launch->in[4].data;
  hn_pool_run(hn_stream_pool(stream), s->units, s->grain, body, &j);
  return HONE_OK;
}

/* With AVX2 0.67 and 0.73 of the peak were measured, for 20 and 80 channels a group; other sets were not timed. */
static double reaches(const hone_query *query) {
  hn_conv_f32 c;
  if (read(query, &c)) return 0;
  return 0.5 * hn_cpu_filled(c.out_channels / c.groups, 4) * hn_cpu_filled(c.out_height * c.out_width, 16);
}

#define ROW(suffix, ISA)                                                                                               \
  HN_CPU_ROW_NAMED(conv, "cpu.conv.f32.nchw.1x1." #suffix, f32_1x1_nchw, suffix, ISA,                                  \
                   prepare(query, s, hn_conv_f32_1x1_nchw_##suffix, diag), .flags = HONE_TACTIC_REPEATABLE,            \
                   .reject = reject, .state_bytes = state_bytes, .launch = launch, .reaches = reaches)
HN_EACH_ISA(ROW)
