/* SPDX-License-Identifier: Apache-2.0 */
/* conv_transpose_blocked.c - transposed convolution of f32 on channel-blocked activations. Packed are the weights, then
 * the bias. */
#include "backend/cpu/conv_common.h"

typedef struct transpose_kernel {
  void (*run)(const hn_conv_f32 *conv, int64_t begin, int64_t end);
  hone_format format;
  int block, most;
  double flops_per_ns;
} transpose_kernel;

typedef struct state {
  const transpose_kernel *kernel;
  hn_conv_f32 conv; /* without pointers */
  int64_t units, grain, weight_floats;
  bool has_bias;
} state;

static const char *reject(const hone_query *query, const transpose_kernel *kernel) {
  hn_conv_f32 c;
  const char *reason = hn_cpu_conv_transpose_read(query, &c);
  if (reason) return reason;
  if (query->in[0].type.format != kernel->format) return "the input has another format";
  if (query->out[0].type.format != kernel->format) return "the output has another format";
  if (!(query->constant_mask & 2)) return "the weights are not constant";
  if (hn_cpu_given(query, 2) && !(query->constant_mask & 4)) return "the bias is not constant";
  if (c.groups > 1 && (c.in_channels / c.groups % kernel->block || c.out_channels / c.groups % kernel->block))
    return "a group's channels do not fill whole blocks";
  return NULL;
}

static int64_t weight_floats(const hn_conv_f32 *c, int block) {
  return c->groups * hn_conv_f32_packed_floats(c->out_channels / c->groups, c->in_channels / c->groups,
                                               c->kernel_height * c->kernel_width, block);
}

static int64_t bias_floats(const hone_query *query, const hn_conv_f32 *c, int block) {
  return hn_cpu_given(query, 2) ? hn_ceil_div(c->out_channels, block) * block : 0;
}

static size_t pack_bytes(const hone_query *query, const transpose_kernel *kernel) {
  hn_conv_f32 c;
  if (hn_cpu_conv_transpose_read(query, &c)) return 0;
  return (size_t)(weight_floats(&c, kernel->block) + bias_floats(query, &c, kernel->block)) * sizeof(float);
}

static hone_status pack(const hone_query *query, float *to, const transpose_kernel *kernel) {
  hn_conv_f32 c;
  if (hn_cpu_conv_transpose_read(query, &c)) return HONE_INTERNAL;
  hn_conv_transpose_f32_pack_c(query->in[1].constant->data, c.groups, c.in_channels / c.groups,
                               c.out_channels / c.groups, c.kernel_height * c.kernel_width, kernel->block, to);
  const int64_t padded = bias_floats(query, &c, kernel->block);
  if (!padded) return HONE_OK;
  const float *bias = query->in[2].constant->data;
  to += weight_floats(&c, kernel->block);
  for (int64_t i = 0; i < padded; ++i) to[i] = i < c.out_channels ? bias[i] : 0;
  return HONE_OK;
}

static size_t state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(state);
}

static hone_status prepare(const hone_query *query, state *s, const transpose_kernel *kernel, hone_diagnostics *diag) {
  hn_conv_f32 *c = &s->conv;
  const char *reason = hn_cpu_conv_transpose_read(query, c);
  if (reason) return HN_FAIL(diag, HONE_INTERNAL, "%s", reason);
  const double pixels = (double)c->batch * (double)(c->in_height * c->in_width);
  const double taps = (double)(c->kernel_height * c->kernel_width), outs = (double)(c->out_channels / c->groups);
  s->kernel = kernel;
  hn_conv_f32_choose(c, kernel->block, kernel->most, 0, hn_cpu_l2_bytes(query->facts), query->facts->threads);
  s->units = hn_conv_f32_units(c, kernel->block, 0);
  s->grain = hn_cpu_grain(s->units, 2.0 * pixels * taps * outs * (double)c->in_channels / kernel->flops_per_ns);
  s->weight_floats = weight_floats(c, kernel->block);
  s->has_bias = hn_cpu_given(query, 2);
  return HONE_OK;
}

typedef struct job {
  const transpose_kernel *kernel;
  hn_conv_f32 conv;
} job;

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  j->kernel->run(&j->conv, begin, end);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  job j = {s->kernel, s->conv};
  j.conv.input = launch->in[0].data;
  j.conv.weights = launch->packed;
  j.conv.output = launch->out[0].data;
  if (s->has_bias) j.conv.epilogue.bias = j.conv.weights + s->weight_floats;
  hn_pool_run(hn_stream_pool(stream), s->units, s->grain, body, &j);
  return HONE_OK;
}

/* The functions that a row needs of its own, each handing its kernel to those above. */
#define ROW(blocked, FORMAT, suffix, ISA, lanes, widest, speed)                                                        \
  static const transpose_kernel kernel_##suffix = {hn_conv_transpose_f32_##blocked##_##suffix, FORMAT, lanes, widest,  \
                                                   speed};                                                             \
  static const char *reject_##suffix(const hone_query *query) { return reject(query, &kernel_##suffix); }              \
  static size_t pack_bytes_##suffix(const hone_query *query) { return pack_bytes(query, &kernel_##suffix); }           \
  static hone_status pack_##suffix(const hone_query *query, void *to) { return pack(query, to, &kernel_##suffix); }    \
  static hone_status prepare_##suffix(hone_unit *unit, const hone_query *query, void *s, hone_diagnostics *diag) {     \
    (void)unit;                                                                                                        \
    return prepare(query, s, &kernel_##suffix, diag);                                                                  \
  }                                                                                                                    \
  const hone_tactic hn_tactic_cpu_conv_transpose_f32_blocked_##suffix = {                                              \
      .struct_size = sizeof(hone_tactic),                                                                              \
      .name = "cpu.conv_transpose.f32." #blocked "." #suffix,                                                          \
      .version = 1,                                                                                                    \
      .op = "conv_transpose",                                                                                          \
      .isa = HONE_ISA_##ISA,                                                                                           \
      .flags = HONE_TACTIC_REPEATABLE,                                                                                 \
      .pack_mask = 6,                                                                                                  \
      .formats = {{FORMAT, FORMAT}},                                                                                   \
      .reject = reject_##suffix,                                                                                       \
      .pack_bytes = pack_bytes_##suffix,                                                                               \
      .pack = pack_##suffix,                                                                                           \
      .state_bytes = state_bytes,                                                                                      \
      .prepare = prepare_##suffix,                                                                                     \
      .launch = launch,                                                                                                \
  };

ROW(nchw8c, HONE_NCHW8C, c, C, 8, HN_CONV_F32_OC_BLOCKS_C, 8.0)
#ifndef HONE_NO_AVX
ROW(nchw8c, HONE_NCHW8C, avx2, AVX2, 8, HN_CONV_F32_OC_BLOCKS_AVX2, 60.0)
ROW(nchw16c, HONE_NCHW16C, avx512, AVX512, 16, HN_CONV_F32_OC_BLOCKS_AVX512, 120.0)
#endif
