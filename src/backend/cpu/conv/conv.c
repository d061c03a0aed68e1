/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c - direct convolution in f32 on channel-blocked activations: the general case, 1x1 as a matrix product, a
 * network's first layer from plain images, depthwise without and with a channel multiplier, and transposed. A 1x1 with
 * strides may also be one without them, of the pixels it reads gathered in scratch memory. Layers whose output channels
 * are no multiple of 8, as the last of a network that segments or detects, may write plain images; between layers plain
 * is worth no try. Packed are the weights, then the bias, then the slopes of the activation. */
#include "backend/cpu/conv/conv_common.h"

typedef enum kind { GENERAL, POINTWISE, STRIDED, FIRST, DEPTHWISE, MULTIPLIED, TRANSPOSED } kind;

/* One row's kernel: how it blocks channels, the widest unit, and about how fast a thread is. */
typedef struct conv_kernel {
  void (*run)(const hn_conv_f32 *conv, int64_t begin, int64_t end);
  kind kind;
  bool writes_plain;
  int block, most;
  double flops_per_ns;
} conv_kernel;

typedef struct state {
  const conv_kernel *kernel;
  hn_conv_f32 conv;   /* without pointers */
  hn_conv_f32 gather; /* STRIDED: the convolution as asked for; conv reads what it gathers */
  hn_cpu_conv_layout packed;
  int64_t units, grain, gather_grain;
  hn_conv_f32_mend mend; /* of merged groups; together 0: there are none */
  int64_t mend_units, mend_grain;
} state;

enum { MOST_FIRST_CHANNELS = 8, MOST_PLAIN_CHANNELS = 256 };
#define NS_PER_GATHERED 0.1
#define NS_PER_WEIGHT 0.13 /* out of the last cache: what a convolution of one pixel takes */

static const char *read(const hone_query *query, hn_conv_f32 *out, const conv_kernel *kernel) {
  hn_cpu_asked asked;
  HN_TRY_REASON(hn_cpu_ask_f32(query, &asked));
  return kernel->kind == TRANSPOSED ? hn_cpu_conv_transpose_read(&asked.query, out)
                                    : hn_cpu_conv_read(&asked.query, out);
}

/* One input channel a group: the kernels for it know no groups. */
static bool is_by_channel(const conv_kernel *kernel) { return kernel->kind == DEPTHWISE || kernel->kind == MULTIPLIED; }

static bool is_pointwise(const hn_conv_f32 *c) {
  return c->kernel_height * c->kernel_width == 1 && c->stride_height * c->stride_width == 1 &&
         c->out_height == c->in_height && c->out_width == c->in_width && c->pad_top + c->pad_left == 0;
}

static bool is_strided_pointwise(const hn_conv_f32 *c) {
  return c->kernel_height * c->kernel_width == 1 && c->stride_height * c->stride_width > 1 &&
         c->pad_top + c->pad_left == 0 && (c->out_height - 1) * c->stride_height < c->in_height &&
         (c->out_width - 1) * c->stride_width < c->in_width;
}

static bool is_flat(const conv_kernel *kernel) { return kernel->kind == POINTWISE || kernel->kind == STRIDED; }

/* Groups whose channels do not fill blocks run so many together, as one group whose weights are zero where an input is
 * of another of them: more products, but whole vectors of them. 1: they fill blocks; 0: no number of groups does. */
static int64_t merged_groups(const hn_conv_f32 *c, const conv_kernel *kernel) {
  const int64_t in = c->in_channels / c->groups, out = c->out_channels / c->groups, block = kernel->block;
  const bool merges = kernel->kind == GENERAL || is_flat(kernel);
  if (c->groups == 1 || (in % block == 0 && out % block == 0)) return 1;
  if (!merges || kernel->writes_plain) return 0;
  int64_t count = 2; /* block is a power of two, and so is what is missing */
  while (count * in % block || count * out % block) count *= 2;
  if (c->groups % count == 0) return count;
  /* The last ones share a block with lanes that nobody has, which their epilogue must leave zero. */
  const bool same_blocks = hn_ceil_div(c->in_channels, block) * block == hn_ceil_div(c->groups, count) * count * in &&
                           hn_ceil_div(c->out_channels, block) * block == hn_ceil_div(c->groups, count) * count * out;
  return same_blocks && c->epilogue.activation <= HN_ACTIVATION_RELU ? count : 0;
}

/* The convolution as the kernel runs it. */
static hn_conv_f32 merged(const hn_conv_f32 *c, const conv_kernel *kernel) {
  const int64_t count = merged_groups(c, kernel);
  hn_conv_f32 m = *c;
  if (count <= 1) return m;
  m.groups = hn_ceil_div(c->groups, count);
  m.in_channels = m.groups * count * (c->in_channels / c->groups);
  m.out_channels = m.groups * count * (c->out_channels / c->groups);
  return m;
}

static const char *reject_shape(const hn_conv_f32 *c, const conv_kernel *kernel) {
  switch (kernel->kind) {
  case DEPTHWISE: return c->groups == c->in_channels && c->groups == c->out_channels ? NULL : "it is not depthwise";
  case MULTIPLIED:
    return c->groups > 1 && c->groups == c->in_channels && c->groups < c->out_channels
               ? NULL
               : "it is not depthwise with several outputs a channel";
  case FIRST:
    if (c->groups != 1 || c->in_channels > MOST_FIRST_CHANNELS) return "it has groups or more than 8 input channels";
    return NULL;
  case POINTWISE:
    if (!is_pointwise(c)) return "it is not 1x1 with stride 1 and no pads";
    break;
  case STRIDED:
    if (!is_strided_pointwise(c)) return "it is not 1x1 with strides and no pads";
    break;
  case GENERAL:
    if (is_pointwise(c)) return "the row for 1x1 convolutions does the same in less time";
    break;
  case TRANSPOSED: break;
  }
  return merged_groups(c, kernel) ? NULL : "a group's channels do not fill whole blocks";
}

/* Reads the convolution, and says why not. */
static const char *accept(const hone_query *query, const conv_kernel *kernel, hn_conv_f32 *conv) {
  HN_TRY_REASON(read(query, conv, kernel));
  const hone_format blocked = kernel->block == 32 ? HONE_NCHW32C : kernel->block == 16 ? HONE_NCHW16C : HONE_NCHW8C;
  if (hn_reads_as(&query->out[0].type, blocked) == kernel->writes_plain) return "the output has another format";
  if (kernel->writes_plain && query->out[0].type.format != HONE_PLAIN) return "the output has another format";
  if (kernel->writes_plain && conv->out_channels > MOST_PLAIN_CHANNELS) return "it has more than 256 output channels";
  if (kernel->writes_plain && conv->out_channels % 8 == 0) return "its output channels fill blocks, as in inner layers";
  if (kernel->kind == FIRST ? query->in[0].type.format != HONE_PLAIN : !hn_reads_as(&query->in[0].type, blocked))
    return "the input has another format";
  HN_TRY_REASON(hn_cpu_conv_constants(query));
  return reject_shape(conv, kernel);
}

static int64_t weight_floats(const hn_conv_f32 *c, const conv_kernel *kernel) {
  const int64_t taps = c->kernel_height * c->kernel_width;
  if (is_by_channel(kernel)) return hn_conv_f32_dw_packed_floats(c->out_channels, taps, kernel->block);
  if (kernel->kind == FIRST)
    return hn_conv_f32_first_packed_floats(c->out_channels, c->in_channels, taps, kernel->block);
  if (kernel->kind == TRANSPOSED)
    return c->groups *
           hn_conv_f32_packed_floats(c->out_channels / c->groups, c->in_channels / c->groups, taps, kernel->block);
  const hn_conv_f32 m = merged(c, kernel);
  return hn_conv_f32_packed_floats(m.out_channels, m.in_channels / m.groups, taps, kernel->block);
}

static hone_status pack(const hone_query *query, void *to) {
  const conv_kernel *kernel = query->tactic->kernel;
  hn_conv_f32 c;
  if (read(query, &c, kernel)) return HONE_INTERNAL;
  const float *w = query->in[1].constant->data;
  const int64_t taps = c.kernel_height * c.kernel_width, in_group = c.in_channels / c.groups;
  if (is_by_channel(kernel))
    hn_conv_f32_dw_pack_c(w, c.out_channels, taps, kernel->block, to);
  else if (kernel->kind == FIRST)
    hn_conv_f32_first_pack_c(w, c.out_channels, c.in_channels, taps, kernel->block, to);
  else if (kernel->kind == TRANSPOSED)
    hn_conv_transpose_f32_pack_c(w, c.groups, in_group, c.out_channels / c.groups, taps, kernel->block, to);
  else if (merged_groups(&c, kernel) > 1)
    hn_conv_f32_pack_merged_c(w, c.groups, in_group, c.out_channels / c.groups, merged_groups(&c, kernel), taps,
                              kernel->block, to);
  else
    hn_conv_f32_pack_c(w, c.out_channels, in_group, taps, kernel->block, 0, hn_ceil_div(c.out_channels, kernel->block),
                       to);
  const hn_cpu_conv_layout at = hn_cpu_conv_lay_out(query, &c, kernel->block, weight_floats(&c, kernel));
  hn_cpu_conv_pack_epilogue(query, &at, &c, kernel->block, to);
  return HONE_OK;
}

/* The first guess leads; the guess depends on the channels alone. */
static int variants(const hone_query *query, hone_params *out, int room) {
  const conv_kernel *kernel = query->tactic->kernel;
  hn_conv_f32 c;
  if (is_by_channel(kernel) || read(query, &c, kernel)) {
    if (room > 0) out[0] = (hone_params){0};
    return room > 0;
  }
  if (kernel->kind != TRANSPOSED) c = merged(&c, kernel);
  const int64_t blocks = hn_ceil_div(c.out_channels / c.groups, kernel->block);
  int count = 0;
  hn_conv_f32_choose(&c, kernel->block, kernel->most, is_flat(kernel), HN_CPU_DEFAULT_L2_BYTES, 1);
  for (int at = 0; at <= kernel->most && count < room; ++at) {
    const int oc_blocks = at == 0 ? c.oc_blocks : at;
    if (at > 0 && (at == c.oc_blocks || at > blocks || at == 1)) continue;
    out[count++] = (hone_params){.count = 1, .items = {{"oc_blocks", oc_blocks}}};
  }
  return count;
}

static int64_t gather_floats(const hn_conv_f32 *c, const conv_kernel *kernel) {
  return hn_conv_f32_gather_rows(c, kernel->block) * c->out_width * kernel->block;
}

static double flops_of(const hn_conv_f32 *c, const conv_kernel *kernel) {
  if (kernel->kind != TRANSPOSED) return hn_cpu_conv_flops(c);
  return 2.0 * (double)(c->batch * c->in_height * c->in_width) * (double)(c->kernel_height * c->kernel_width) *
         (double)(c->out_channels / c->groups) * (double)c->in_channels;
}

/* Groups run together where they do not fill blocks. */
static void merge(state *s, const conv_kernel *kernel) {
  hn_conv_f32 *c = &s->conv;
  const int64_t together = merged_groups(c, kernel);
  if (together <= 1) return;
  s->mend = (hn_conv_f32_mend){.in_per_group = c->in_channels / c->groups,
                               .out_per_group = c->out_channels / c->groups,
                               .together = together,
                               .out_channels = c->out_channels,
                               .block = kernel->block};
  s->mend_units = c->batch * hn_ceil_div(c->out_channels, kernel->block) * c->out_height;
  s->mend_grain = hn_cpu_grain(s->mend_units, (double)(s->mend_units * c->out_width * kernel->block) * sizeof(float) *
                                                  HN_CPU_NS_PER_BYTE / 2);
  *c = merged(c, kernel);
}

/* Measured over the layers of twelve networks (docs/EXPERIMENTS.md), where blocks are full. */
static double efficiency_of(const hn_conv_f32 *c, const conv_kernel *kernel) {
  static const double share[] = {[GENERAL] = 0.85,   [POINTWISE] = 0.85,  [STRIDED] = 0.85,   [FIRST] = 0.75,
                                 [DEPTHWISE] = 0.33, [MULTIPLIED] = 0.33, [TRANSPOSED] = 0.85};
  if (is_by_channel(kernel)) return share[kernel->kind] * hn_cpu_filled(c->out_channels, kernel->block);
  const int64_t together = merged_groups(c, kernel);
  if (together > 1) return share[kernel->kind] / (double)together;
  const double filled = share[kernel->kind] * hn_cpu_filled(c->out_channels / c->groups, kernel->block);
  return kernel->kind == FIRST ? filled : filled * hn_cpu_filled(c->in_channels / c->groups, kernel->block);
}

static void cut(const hone_query *query, const conv_kernel *kernel, state *s) {
  hn_conv_f32 *c = &s->conv;
  s->kernel = kernel;
  if (kernel->kind == GENERAL || is_flat(kernel)) merge(s, kernel);
  if (kernel->kind == STRIDED) {
    s->gather = *c;
    c->in_height = c->out_height, c->in_width = c->out_width;
    const int64_t rows = hn_conv_f32_gather_rows(&s->gather, kernel->block);
    s->gather_grain = hn_cpu_grain(rows, (double)(gather_floats(&s->gather, kernel)) * NS_PER_GATHERED);
  }
  hn_conv_f32_choose(c, kernel->block, kernel->most, is_flat(kernel), hn_cpu_l2_bytes(query->facts),
                     query->facts->threads);
  c->oc_blocks = (int32_t)hn_cpu_conv_param(query, 0, kernel->most, c->oc_blocks);
  if (kernel->kind == TRANSPOSED) c->unit_rows = hn_ceil_div(c->unit_rows, c->stride_height) * c->stride_height;
  c->plain_output = kernel->writes_plain;
  s->units = is_by_channel(kernel) ? hn_conv_f32_dw_units(c, kernel->block)
                                   : hn_conv_f32_units(c, kernel->block, is_flat(kernel));
  s->grain =
      hn_cpu_grain(s->units, flops_of(c, kernel) / kernel->flops_per_ns + (double)s->packed.bias_at * NS_PER_WEIGHT);
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  const conv_kernel *kernel = query->tactic->kernel;
  hn_conv_f32 c;
  HN_TRY_REASON(accept(query, kernel, &c));
  const hn_cpu_conv_layout packed = hn_cpu_conv_lay_out(query, &c, kernel->block, weight_floats(&c, kernel));
  needs->state = sizeof(state);
  needs->packed = (size_t)packed.end * sizeof(float);
  if (kernel->kind == STRIDED) needs->scratch = (size_t)gather_floats(&c, kernel) * sizeof(float);
  needs->efficiency = efficiency_of(&c, kernel);
  if (!state_memory) return NULL;
  state *s = state_memory;
  s->conv = c;
  s->packed = packed;
  cut(query, kernel, s);
  return NULL;
}

typedef struct job {
  const conv_kernel *kernel;
  hn_conv_f32 conv;
} job;

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  j->kernel->run(&j->conv, begin, end);
}

typedef struct gather_job {
  const state *s;
  const float *input;
  float *to;
} gather_job;

static void gather_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const gather_job *j = arg;
  hn_conv_f32 c = j->s->gather;
  c.input = j->input;
  hn_conv_f32_gather_c(&c, j->s->kernel->block, j->to, begin, end);
}

static void mend_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  hn_conv_f32_mend_c(arg, begin, end);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  job j = {s->kernel, s->conv};
  hn_cpu_conv_bind(&s->packed, launch, &j.conv);
  if (s->kernel->kind == STRIDED) {
    gather_job g = {s, j.conv.input, launch->scratch};
    const int64_t rows = hn_conv_f32_gather_rows(&s->gather, s->kernel->block);
    hn_pool_run(hn_stream_pool(stream), rows, s->gather_grain, gather_body, &g);
    j.conv.input = launch->scratch;
  }
  hn_pool_run(hn_stream_pool(stream), s->units, s->grain, body, &j);
  if (s->mend.together) {
    hn_conv_f32_mend mend = s->mend;
    hn_conv_f32 asked = j.conv;
    if (s->kernel->kind == STRIDED) { /* the pixels are in scratch memory, one behind the other */
      asked.stride_height = asked.stride_width = 1;
    }
    mend.conv = &asked;
    hn_pool_run(hn_stream_pool(stream), s->mend_units, s->mend_grain, mend_body, &mend);
  }
  return HONE_OK;
}

#define COMMON                                                                                                         \
  .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_CPU_CONV_PACKED, .plan = plan, .variants = variants, .pack = pack,  \
  .launch = launch
const hone_tactic hn_tactics_cpu_conv[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw16c.1x1.avx512", .version = 1, .op = "conv", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_NCHW16C, HONE_NCHW16C}},
     .kernel = &(const conv_kernel){hn_conv_f32_1x1_nchw16c_avx512, POINTWISE, false, 16, HN_CONV_F32_OC_BLOCKS_AVX512,
                                    140.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw16c.1x1_plain.avx512", .version = 1, .op = "conv",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_NCHW16C, HONE_PLAIN}},
     .kernel =
         &(const conv_kernel){hn_conv_f32_1x1_nchw16c_avx512, POINTWISE, true, 16, HN_CONV_F32_OC_BLOCKS_AVX512, 140.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw16c.1x1_strided.avx512", .version = 1, .op = "conv",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_NCHW16C, HONE_NCHW16C}},
     .kernel =
         &(const conv_kernel){hn_conv_f32_1x1_nchw16c_avx512, STRIDED, false, 16, HN_CONV_F32_OC_BLOCKS_AVX512, 140.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw16c.direct.avx512", .version = 1, .op = "conv",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_NCHW16C, HONE_NCHW16C}},
     .kernel =
         &(const conv_kernel){hn_conv_f32_nchw16c_avx512, GENERAL, false, 16, HN_CONV_F32_OC_BLOCKS_AVX512, 140.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw16c.direct_plain.avx512", .version = 1, .op = "conv",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_NCHW16C, HONE_PLAIN}},
     .kernel = &(const conv_kernel){hn_conv_f32_nchw16c_avx512, GENERAL, true, 16, HN_CONV_F32_OC_BLOCKS_AVX512, 140.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw16c.dw.avx512", .version = 1, .op = "conv", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_NCHW16C, HONE_NCHW16C}},
     .kernel = &(const conv_kernel){hn_conv_dw_f32_nchw16c_avx512, DEPTHWISE, false, 16, 1, 70.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw16c.dw_multiplier.avx512", .version = 1, .op = "conv",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_NCHW16C, HONE_NCHW16C}},
     .kernel = &(const conv_kernel){hn_conv_dw_multiplier_f32_nchw16c_avx512, MULTIPLIED, false, 16, 1, 70.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw16c.first.avx512", .version = 1, .op = "conv",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_PLAIN, HONE_NCHW16C}},
     .kernel = &(const conv_kernel){hn_conv_f32_first_nchw16c_avx512, FIRST, false, 16, 2, 70.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.bf16.nchw32c.dw.avx512_bf16", .version = 2, .op = "conv",
     .isa = HONE_ISA_AVX512_BF16, .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}},
     .kernel = &(const conv_kernel){hn_conv_dw_bf16_nchw32c_avx512_bf16, DEPTHWISE, false, 32, 1, 70.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.bf16.nchw32c.dw.avx512", .version = 2, .op = "conv", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}},
     .kernel = &(const conv_kernel){hn_conv_dw_bf16_nchw32c_avx512, DEPTHWISE, false, 32, 1, 70.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f16.nchw32c.dw.avx512", .version = 2, .op = "conv", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .kernel = &(const conv_kernel){hn_conv_dw_f16_nchw32c_avx512, DEPTHWISE, false, 32, 1, 70.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_transpose.f32.nchw16c.avx512", .version = 2, .op = "conv_transpose",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_NCHW16C, HONE_NCHW16C}},
     .kernel = &(const conv_kernel){hn_conv_transpose_f32_nchw16c_avx512, TRANSPOSED, false, 16,
                                    HN_CONV_F32_OC_BLOCKS_AVX512, 140.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw8c.1x1.avx2", .version = 1, .op = "conv", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const conv_kernel){hn_conv_f32_1x1_nchw8c_avx2, POINTWISE, false, 8, HN_CONV_F32_OC_BLOCKS_AVX2, 70.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw8c.1x1_plain.avx2", .version = 1, .op = "conv",
     .isa = HONE_ISA_AVX2, .storages = {{HONE_NCHW8C, HONE_PLAIN}},
     .kernel = &(const conv_kernel){hn_conv_f32_1x1_nchw8c_avx2, POINTWISE, true, 8, HN_CONV_F32_OC_BLOCKS_AVX2, 70.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw8c.1x1_strided.avx2", .version = 1, .op = "conv",
     .isa = HONE_ISA_AVX2, .storages = {{HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const conv_kernel){hn_conv_f32_1x1_nchw8c_avx2, STRIDED, false, 8, HN_CONV_F32_OC_BLOCKS_AVX2, 70.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw8c.direct.avx2", .version = 1, .op = "conv", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const conv_kernel){hn_conv_f32_nchw8c_avx2, GENERAL, false, 8, HN_CONV_F32_OC_BLOCKS_AVX2, 70.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw8c.direct_plain.avx2", .version = 1, .op = "conv",
     .isa = HONE_ISA_AVX2, .storages = {{HONE_NCHW8C, HONE_PLAIN}},
     .kernel = &(const conv_kernel){hn_conv_f32_nchw8c_avx2, GENERAL, true, 8, HN_CONV_F32_OC_BLOCKS_AVX2, 70.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw8c.dw.avx2", .version = 1, .op = "conv", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const conv_kernel){hn_conv_dw_f32_nchw8c_avx2, DEPTHWISE, false, 8, 1, 35.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw8c.dw_multiplier.avx2", .version = 1, .op = "conv",
     .isa = HONE_ISA_AVX2, .storages = {{HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const conv_kernel){hn_conv_dw_multiplier_f32_nchw8c_avx2, MULTIPLIED, false, 8, 1, 35.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw8c.first.avx2", .version = 1, .op = "conv", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_PLAIN, HONE_NCHW8C}},
     .kernel = &(const conv_kernel){hn_conv_f32_first_nchw8c_avx2, FIRST, false, 8, 2, 35.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.bf16.nchw32c.dw.avx2", .version = 2, .op = "conv", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}},
     .kernel = &(const conv_kernel){hn_conv_dw_bf16_nchw32c_avx2, DEPTHWISE, false, 32, 1, 35.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f16.nchw32c.dw.avx2", .version = 2, .op = "conv", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .kernel = &(const conv_kernel){hn_conv_dw_f16_nchw32c_avx2, DEPTHWISE, false, 32, 1, 35.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_transpose.f32.nchw8c.avx2", .version = 2, .op = "conv_transpose",
     .isa = HONE_ISA_AVX2, .storages = {{HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const conv_kernel){hn_conv_transpose_f32_nchw8c_avx2, TRANSPOSED, false, 8, HN_CONV_F32_OC_BLOCKS_AVX2,
                                    70.0},
     COMMON},
#endif
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw8c.1x1.c", .version = 1, .op = "conv", .isa = HONE_ISA_C,
     .storages = {{HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const conv_kernel){hn_conv_f32_1x1_nchw8c_c, POINTWISE, false, 8, HN_CONV_F32_OC_BLOCKS_C, 10.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw8c.1x1_plain.c", .version = 1, .op = "conv", .isa = HONE_ISA_C,
     .storages = {{HONE_NCHW8C, HONE_PLAIN}},
     .kernel = &(const conv_kernel){hn_conv_f32_1x1_nchw8c_c, POINTWISE, true, 8, HN_CONV_F32_OC_BLOCKS_C, 10.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw8c.1x1_strided.c", .version = 1, .op = "conv", .isa = HONE_ISA_C,
     .storages = {{HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const conv_kernel){hn_conv_f32_1x1_nchw8c_c, STRIDED, false, 8, HN_CONV_F32_OC_BLOCKS_C, 10.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw8c.direct.c", .version = 1, .op = "conv", .isa = HONE_ISA_C,
     .storages = {{HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const conv_kernel){hn_conv_f32_nchw8c_c, GENERAL, false, 8, HN_CONV_F32_OC_BLOCKS_C, 10.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw8c.direct_plain.c", .version = 1, .op = "conv", .isa = HONE_ISA_C,
     .storages = {{HONE_NCHW8C, HONE_PLAIN}},
     .kernel = &(const conv_kernel){hn_conv_f32_nchw8c_c, GENERAL, true, 8, HN_CONV_F32_OC_BLOCKS_C, 10.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw8c.dw.c", .version = 1, .op = "conv", .isa = HONE_ISA_C,
     .storages = {{HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const conv_kernel){hn_conv_dw_f32_nchw8c_c, DEPTHWISE, false, 8, 1, 5.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw8c.dw_multiplier.c", .version = 1, .op = "conv", .isa = HONE_ISA_C,
     .storages = {{HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const conv_kernel){hn_conv_dw_multiplier_f32_nchw8c_c, MULTIPLIED, false, 8, 1, 5.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f32.nchw8c.first.c", .version = 1, .op = "conv", .isa = HONE_ISA_C,
     .storages = {{HONE_PLAIN, HONE_NCHW8C}},
     .kernel = &(const conv_kernel){hn_conv_f32_first_nchw8c_c, FIRST, false, 8, 2, 5.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.bf16.nchw32c.dw.c", .version = 2, .op = "conv", .isa = HONE_ISA_C,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}},
     .kernel = &(const conv_kernel){hn_conv_dw_bf16_nchw32c_c, DEPTHWISE, false, 32, 1, 5.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f16.nchw32c.dw.c", .version = 2, .op = "conv", .isa = HONE_ISA_C,
     .storages = {{HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .kernel = &(const conv_kernel){hn_conv_dw_f16_nchw32c_c, DEPTHWISE, false, 32, 1, 5.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_transpose.f32.nchw8c.c", .version = 2, .op = "conv_transpose",
     .isa = HONE_ISA_C, .storages = {{HONE_NCHW8C, HONE_NCHW8C}},
     .kernel =
         &(const conv_kernel){hn_conv_transpose_f32_nchw8c_c, TRANSPOSED, false, 8, HN_CONV_F32_OC_BLOCKS_C, 10.0},
     COMMON},
    {0}};
