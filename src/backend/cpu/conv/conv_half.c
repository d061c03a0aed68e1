/* SPDX-License-Identifier: Apache-2.0 */
/* conv_half.c - convolution in halves with f32 sums: an image that is padded and taken apart by the strides makes each
 * tap a shift, so that a product of matrices remains (kernels/cpu/gemm/product_half.h). The input may lie in f32, which
 * is rounded where it is padded, and the output too. A 1x1 convolution whose input is scaled, shifted and rectified
 * first has that done where it is gathered. Packed are the weights, the bias, the slopes, scale and shift. */
#include "backend/cpu/conv/conv_common.h"
#include "backend/cpu/gemm/product_half.h"

enum { TILE = HN_PRODUCT_HALF_TILE };
enum { SCALE = 5, SHIFT = 6, AFFINE_PACKED = HN_CPU_CONV_PACKED | 1 << SCALE | 1 << SHIFT }; /* inputs of affine_conv */

typedef struct conv_kernel {
  const hn_cpu_half_kernel *half;
  bool is_affine;
} conv_kernel;

typedef struct state {
  hn_cpu_half half;
  int64_t tap_at[]; /* as many as there are taps */
} state;

static bool is_pointwise(const hn_conv_f32 *c) {
  return c->kernel_height * c->kernel_width == 1 && c->stride_height * c->stride_width == 1 &&
         c->out_height == c->in_height && c->out_width == c->in_width && c->pad_top + c->pad_left == 0;
}

static const char *check_affine(const hone_query *query, const hn_conv_f32 *c) {
  const char *act = hn_attr_text(query->attrs, "pre_act");
  for (int i = SCALE; i <= SHIFT; ++i) {
    if (!hn_cpu_given(query, i)) return "nothing is done to its input";
    if (!(query->constant_mask >> i & 1) || !hn_cpu_is(&query->in[i], HONE_F32, HONE_PLAIN) ||
        query->in[i].type.shape.rank != 1 || query->in[i].type.shape.dim[0] != c->in_channels)
      return "the input's scale or shift is not constant, or has another length";
  }
  if (!hn_name_equal(act, "none") && !hn_name_equal(act, "relu")) return "the input's activation is not known";
  return c->groups > 1 || !is_pointwise(c) ? "it is not 1x1 with stride 1, one group and no pads" : NULL;
}

static const char *check_input(const conv_kernel *kernel, const hone_type *x) {
  const bool is_held = x->dtype == kernel->half->held && x->format == HONE_NCHW32C;
  const bool is_f32 = x->dtype == HONE_F32 && (x->format == HONE_NCHW16C || x->format == HONE_NCHW8C);
  return is_held || (is_f32 && !kernel->is_affine) ? NULL : "the input has another format";
}

static const char *read(const hone_query *query, hn_conv_f32 *c) {
  const conv_kernel *kernel = query->tactic->kernel;
  hone_fact in[7], out[1];
  HN_TRY_REASON(hn_cpu_check(query, 2, kernel->is_affine ? 7 : 5, 1));
  const hone_query q = hn_cpu_as_f32(query, kernel->half->held, in, out);
  if (!hn_cpu_is(&query->in[1], HONE_F32, HONE_PLAIN)) return "the weights are not f32";
  HN_TRY_REASON(kernel->is_affine ? hn_cpu_conv_read_affine(&q, c) : hn_cpu_conv_read(&q, c));
  HN_TRY_REASON(hn_cpu_conv_constants(query));
  if (kernel->is_affine) HN_TRY_REASON(check_affine(query, c));
  if (hn_cpu_given(query, 3) && query->in[3].type.dtype != query->out[0].type.dtype)
    return "the residual has another type than the output";
  if (c->groups > 1 && (c->in_channels / c->groups % TILE || c->out_channels / c->groups % TILE))
    return "a group's channels do not fill blocks of 32";
  return check_input(kernel, &query->in[0].type);
}

static int64_t taps_of(const hn_conv_f32 *c) { return c->kernel_height * c->kernel_width; }
static int64_t depth_of(const hn_conv_f32 *c) { return c->in_channels / c->groups; }
static int64_t weight_floats(const hn_conv_f32 *c) {
  return hn_product_half_packed(c->groups, c->out_channels / c->groups, depth_of(c), taps_of(c)) / 2;
}

static hn_gather_half gather_of(const hn_conv_f32 *c, const hone_type *x) {
  const int64_t over_y = (c->kernel_height - 1) * c->dilation_height;
  const int64_t over_x = (c->kernel_width - 1) * c->dilation_width;
  return (hn_gather_half){.images = c->batch,
                          .channels = c->in_channels,
                          .in_height = c->in_height,
                          .in_width = c->in_width,
                          .rows = c->out_height + over_y / c->stride_height,
                          .row_pixels = c->out_width + over_x / c->stride_width,
                          .phases_height = hn_cpu_lesser(c->stride_height, over_y + 1),
                          .phases_width = hn_cpu_lesser(c->stride_width, over_x + 1),
                          .stride_height = c->stride_height,
                          .stride_width = c->stride_width,
                          .pad_top = c->pad_top,
                          .pad_left = c->pad_left,
                          .lanes = hn_format_block(x->format),
                          .x_is_half = x->dtype != HONE_F32};
}

static void fill_taps(const hn_conv_f32 *c, const hn_gather_half *g, bool gathers, int64_t *tap_at) {
  for (int64_t i = 0; i < taps_of(c); ++i) {
    const int64_t y = i / c->kernel_width * c->dilation_height, x = i % c->kernel_width * c->dilation_width;
    const int64_t phase = y % c->stride_height * g->phases_width + x % c->stride_width;
    tap_at[i] = gathers ? (phase * g->rows + y / c->stride_height) * g->row_pixels + x / c->stride_width : 0;
  }
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  const conv_kernel *kernel = query->tactic->kernel;
  hn_conv_f32 c;
  HN_TRY_REASON(read(query, &c));
  const hone_type *x = &query->in[0].type;
  const hn_cpu_conv_layout packed = hn_cpu_conv_lay_out(query, &c, TILE, weight_floats(&c));
  hn_cpu_half b = {.kernel = kernel->half,
                   .gather = gather_of(&c, x),
                   .bias_at = packed.slopes_at > packed.bias_at ? packed.bias_at : -1,
                   .slopes_at = hn_cpu_has_slope(&c.epilogue) ? packed.slopes_at : -1,
                   .residual = packed.has_residual ? 3 : -1};
  hn_gather_half *g = &b.gather;
  const int64_t scales = kernel->is_affine ? hn_gather_half_blocks(g) * TILE : 0;
  if (scales) {
    b.scale_at = packed.end, b.shift_at = packed.end + scales;
    g->rectified = hn_name_equal(hn_attr_text(query->attrs, "pre_act"), "relu");
  }
  b.gathers = kernel->is_affine || x->dtype == HONE_F32 || !is_pointwise(&c) || c.out_height * c.out_width < TILE;
  if ((double)g->rows * (double)g->row_pixels * (double)(g->phases_height * g->phases_width) > INT32_MAX)
    return "the padded image has too many pixels";
  const int64_t plane =
      b.gathers ? g->phases_height * g->phases_width * g->rows * g->row_pixels : c.in_height * c.in_width;
  const int64_t blocks = hn_gather_half_blocks(g), pixels = c.out_height * c.out_width;
  b.product = (hn_product_half){.images = c.batch,
                                .groups = c.groups,
                                .taps = taps_of(&c),
                                .depth_blocks = hn_ceil_div(depth_of(&c), TILE),
                                .last_pairs = hn_product_half_last_pairs(depth_of(&c)),
                                .out_channels = c.out_channels / c.groups,
                                .row_pixels = b.gathers ? g->row_pixels : pixels,
                                .out_width = b.gathers ? c.out_width : pixels,
                                .out_height = b.gathers ? c.out_height : 1,
                                .x_block = plane * TILE,
                                .x_image = blocks * plane * TILE,
                                .x_group = c.in_channels / c.groups / TILE * plane * TILE,
                                .may_read_behind = b.gathers,
                                .epilogue = c.epilogue};
  hn_product_half *p = &b.product;
  if (query->out[0].type.format == HONE_PLAIN || !hn_cpu_half_output(kernel->half, &query->out[0].type, p))
    return "the output has another format";
  p->y_pixel = p->y_lanes;
  p->y_block = pixels * p->y_lanes;
  p->y_image = hn_ceil_div(c.out_channels, p->y_lanes) * p->y_block;
  needs->scratch = hn_cpu_half_cut(&b, query->facts, query->params);
  if (b.gathers && !needs->scratch) return "the padded images are too large";
  needs->state = sizeof(state) + (size_t)p->taps * sizeof(int64_t);
  needs->packed = (size_t)(packed.end + 2 * scales) * sizeof(float);
  needs->efficiency = hn_cpu_half_efficiency(&b) * hn_cpu_filled(depth_of(&c), TILE);
  if (!memory) return NULL;
  state *s = memory;
  s->half = b;
  fill_taps(&c, g, b.gathers, s->tap_at);
  return NULL;
}

static hone_status pack(const hone_query *query, void *to) {
  const conv_kernel *kernel = query->tactic->kernel;
  hn_conv_f32 c;
  if (read(query, &c)) return HONE_INTERNAL;
  const int64_t taps = taps_of(&c), in_group = depth_of(&c);
  const hn_product_half_weights weights = {.w = query->in[1].constant->data,
                                           .groups = c.groups,
                                           .outs = c.out_channels / c.groups,
                                           .depth = in_group,
                                           .taps = taps,
                                           .group = c.out_channels / c.groups * in_group * taps,
                                           .out = in_group * taps,
                                           .in = taps,
                                           .step = 1};
  kernel->half->pack(&weights, to);
  const hn_cpu_conv_layout at = hn_cpu_conv_lay_out(query, &c, TILE, weight_floats(&c));
  hn_cpu_conv_pack_epilogue(query, &at, &c, TILE, to);
  if (!kernel->is_affine) return HONE_OK;
  float *scale = (float *)to + at.end;
  hn_cpu_conv_pack_channels(query, SCALE, c.in_channels, TILE, scale);
  hn_cpu_conv_pack_channels(query, SHIFT, c.in_channels, TILE, scale + hn_ceil_div(c.in_channels, TILE) * TILE);
  return HONE_OK;
}

static int variants(const hone_query *query, hone_params *out, int room) {
  const conv_kernel *kernel = query->tactic->kernel;
  return hn_cpu_half_variants(kernel->half, out, room);
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = memory;
  hn_cpu_half_run(&s->half, s->tap_at, stream, launch);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_conv_half[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.conv.bf16.amx_bf16", .version = 2, .op = "conv", .isa = HONE_ISA_AMX_BF16,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_CPU_CONV_PACKED, .compute = HONE_BF16,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C},
                  {HONE_NCHW16C, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_NCHW16C},
                  {HONE_NCHW16C, HONE_NCHW16C}},
     .plan = plan, .pack = pack, .launch = launch, .kernel = &(const conv_kernel){&hn_cpu_bf16_amx, false}},
    {sizeof(hone_tactic), .name = "cpu.conv.bf16.avx512_bf16", .version = 2, .op = "conv", .isa = HONE_ISA_AVX512_BF16,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_CPU_CONV_PACKED, .compute = HONE_BF16,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C},
                  {HONE_NCHW16C, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_NCHW16C},
                  {HONE_NCHW16C, HONE_NCHW16C}},
     .plan = plan, .pack = pack, .launch = launch, .kernel = &(const conv_kernel){&hn_cpu_bf16_avx512, false}},
    {sizeof(hone_tactic), .name = "cpu.conv.f16.avx512_fp16", .version = 2, .op = "conv", .isa = HONE_ISA_AVX512_FP16,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_CPU_CONV_PACKED, .compute = HONE_F16,
     .storages = {{HONE_F16_NCHW32C, HONE_F16_NCHW32C},
                  {HONE_NCHW16C, HONE_F16_NCHW32C},
                  {HONE_F16_NCHW32C, HONE_NCHW16C},
                  {HONE_NCHW16C, HONE_NCHW16C}},
     .plan = plan, .variants = variants, .pack = pack, .launch = launch,
     .kernel = &(const conv_kernel){&hn_cpu_f16_avx512, false}},
    {sizeof(hone_tactic), .name = "cpu.affine_conv.bf16.avx512_bf16", .version = 2, .op = "affine_conv",
     .isa = HONE_ISA_AVX512_BF16, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = AFFINE_PACKED, .compute = HONE_BF16,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}, {HONE_BF16_NCHW32C, HONE_NCHW16C}}, .plan = plan,
     .pack = pack, .launch = launch, .kernel = &(const conv_kernel){&hn_cpu_bf16_avx512, true}},
    {sizeof(hone_tactic), .name = "cpu.affine_conv.bf16.amx_bf16", .version = 2, .op = "affine_conv",
     .isa = HONE_ISA_AMX_BF16, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = AFFINE_PACKED, .compute = HONE_BF16,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}, {HONE_BF16_NCHW32C, HONE_NCHW16C}}, .plan = plan,
     .pack = pack, .launch = launch, .kernel = &(const conv_kernel){&hn_cpu_bf16_amx, true}},
    {sizeof(hone_tactic), .name = "cpu.affine_conv.f16.avx512_fp16", .version = 2, .op = "affine_conv",
     .isa = HONE_ISA_AVX512_FP16, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = AFFINE_PACKED, .compute = HONE_F16,
     .storages = {{HONE_F16_NCHW32C, HONE_F16_NCHW32C}, {HONE_F16_NCHW32C, HONE_NCHW16C}}, .plan = plan,
     .variants = variants, .pack = pack, .launch = launch, .kernel = &(const conv_kernel){&hn_cpu_f16_avx512, true}},
#endif
    {sizeof(hone_tactic), .name = "cpu.conv.bf16.c", .version = 2, .op = "conv", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_CPU_CONV_PACKED, .compute = HONE_BF16,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C},
                  {HONE_NCHW8C, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_NCHW16C},
                  {HONE_NCHW16C, HONE_NCHW8C}},
     .plan = plan, .pack = pack, .launch = launch, .kernel = &(const conv_kernel){&hn_cpu_bf16_c, false}},
    {sizeof(hone_tactic), .name = "cpu.conv.f16.c", .version = 2, .op = "conv", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_CPU_CONV_PACKED, .compute = HONE_F16,
     .storages = {{HONE_F16_NCHW32C, HONE_F16_NCHW32C}, {HONE_NCHW16C, HONE_NCHW8C}}, .plan = plan,
     .variants = variants, .pack = pack, .launch = launch, .kernel = &(const conv_kernel){&hn_cpu_f16_c, false}},
    {sizeof(hone_tactic), .name = "cpu.affine_conv.bf16.c", .version = 2, .op = "affine_conv", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = AFFINE_PACKED, .compute = HONE_BF16,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}, {HONE_BF16_NCHW32C, HONE_NCHW16C}}, .plan = plan,
     .pack = pack, .launch = launch, .kernel = &(const conv_kernel){&hn_cpu_bf16_c, true}},
    {sizeof(hone_tactic), .name = "cpu.affine_conv.f16.c", .version = 2, .op = "affine_conv", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = AFFINE_PACKED, .compute = HONE_F16,
     .storages = {{HONE_F16_NCHW32C, HONE_F16_NCHW32C}, {HONE_F16_NCHW32C, HONE_NCHW16C}}, .plan = plan,
     .variants = variants, .pack = pack, .launch = launch, .kernel = &(const conv_kernel){&hn_cpu_f16_c, true}},
    {0}};
