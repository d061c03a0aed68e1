/* SPDX-License-Identifier: Apache-2.0 */
/* conv_dw_plain.c - depthwise convolution of plain f32, plane by plane, with a channel multiplier or without. */
#include "backend/cpu/conv/conv_common.h"

typedef void conv_kernel(const hn_conv_f32 *conv, int64_t begin, int64_t end, float *scratch);
static const double flops_per_ns = 25;
static const double scratch_limit = 1e9; /* floats of one worker */

typedef struct state {
  conv_kernel *kernel;
  hn_conv_f32 conv; /* no pointers */
  int64_t planes, grain, worker_floats;
  bool has_bias, has_residual;
} state;

static const char *read(const hone_query *query, hn_conv_f32 *c) {
  const char *reason = hn_cpu_conv_read(query, c);
  if (reason) return reason;
  if (query->in[0].type.format != HONE_PLAIN || query->out[0].type.format != HONE_PLAIN) return "it is not plain";
  if (c->groups != c->in_channels || (c->groups == 1 && c->out_channels > 1)) return "it is not depthwise";
  if (c->kernel_height * c->kernel_width > HN_CONV_F32_DW_PLAIN_TAPS) return "the kernel has more than 128 taps";
  const double rows =
      (double)c->out_height * (double)c->stride_height + (double)c->kernel_height * (double)c->dilation_height;
  const double width =
      (double)(c->out_width + 64) * (double)c->stride_width + (double)c->kernel_width * (double)c->dilation_width;
  return rows * width > scratch_limit ? "it needs too much scratch memory" : NULL;
}

static const char *reject(const hone_query *query) {
  hn_conv_f32 conv;
  return read(query, &conv);
}

static hone_status prepare(const hone_query *query, state *s, conv_kernel *kernel, hone_diagnostics *diag) {
  const char *reason = read(query, &s->conv);
  if (reason) return HN_FAIL(diag, HONE_INTERNAL, "%s", reason);
  s->kernel = kernel;
  s->planes = s->conv.batch * s->conv.out_channels;
  s->grain = hn_cpu_grain(s->planes, hn_cpu_conv_flops(&s->conv) / flops_per_ns);
  s->worker_floats = hn_cpu_whole_lines(hn_conv_f32_dw_plain_scratch(&s->conv));
  s->has_bias = hn_cpu_given(query, 2);
  s->has_residual = hn_cpu_given(query, 3);
  return HONE_OK;
}

static size_t scratch(const hone_query *query) {
  hn_conv_f32 c;
  if (read(query, &c)) return 0;
  return (size_t)(hn_cpu_threads(query->facts) * hn_cpu_whole_lines(hn_conv_f32_dw_plain_scratch(&c))) * sizeof(float);
}

static size_t state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(state);
}

typedef struct job {
  const state *s;
  hn_conv_f32 conv;
  float *scratch;
} job;

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  j->s->kernel(&j->conv, begin, end, j->scratch + worker * j->s->worker_floats);
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
  hn_pool_run(hn_stream_pool(stream), s->planes, s->grain, body, &j);
  return HONE_OK;
}

/* Of their instruction set's peak: all three wait for the copies of padded planes, which all outputs of a plane share;
 * without them the sums alone reach MOST. */
#define MOST 0.3
#define share_c 0.25
#define share_avx2 0.08
#define share_avx512 0.05
static double reaches(const hone_query *query, double share) {
  hn_conv_f32 c;
  if (read(query, &c)) return 0;
  return 1 / (1 / MOST + (1 / share - 1 / MOST) * (double)c.in_channels / (double)c.out_channels);
}

#define ROW(suffix, ISA)                                                                                               \
  static double reaches_##suffix(const hone_query *query) { return reaches(query, share_##suffix); }                   \
  HN_CPU_ROW_NAMED(conv, "cpu.conv.f32.nchw.dw." #suffix, f32_dw_plain, suffix, ISA,                                   \
                   prepare(query, s, hn_conv_f32_dw_plain_##suffix, diag), .flags = HONE_TACTIC_REPEATABLE,            \
                   .reject = reject, .scratch = scratch, .state_bytes = state_bytes, .launch = launch,                 \
                   .reaches = reaches_##suffix)
HN_EACH_ISA(ROW)
