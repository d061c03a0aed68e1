/* SPDX-License-Identifier: Apache-2.0 */
/* conv_transpose_half.c - transposed convolution in halves with f32 sums, written as what each output pixel gathers.
 *
 * Output pixels whose distance is a multiple of the strides hear from the same taps: each such phase is a convolution
 * with stride 1, whose rows are products of their own (kernels/cpu/gemm/product_half.h takes them for images), because
 * they are stored apart. Packed are the weights of all phases, then the bias. */
#include "backend/cpu/conv/conv_common.h"
#include "backend/cpu/gemm/product_half.h"

enum { TILE = HN_PRODUCT_HALF_TILE, MOST_PHASES = 16, UNIT_ROWS = 8 };
static const double size_limit = 1e12;         /* elements of the padded images */
static const double cached_weights = 24 << 10; /* bytes that stay in the first cache for narrow rows */

/* A phase's taps along one axis, and where they point for its first pixel. */
typedef struct axis {
  int64_t first, step, count; /* kernel positions first, first + step, ... */
  int64_t at, move;           /* input position of the first tap, and how it changes from tap to tap (not above 0) */
  int64_t pixels;             /* outputs of the phase */
} axis;

typedef struct phase {
  axis y, x;
  int64_t weights_at, taps_at, y_at; /* halves; numbers in tap_at; elements of the output */
  int64_t row_units;
  hn_product_half product; /* of one image: its images are the phase's rows; without pointers */
} phase;

typedef struct state {
  const hn_cpu_half_kernel *kernel;
  hn_gather_half gather;
  bool gathers;
  int64_t gather_units, gather_grain, units, grain;
  int64_t x_image, y_image, y_bytes; /* elements; of one */
  int64_t batch, phases, bias_at;    /* floats behind the weights, -1: none */
  phase phase[MOST_PHASES];
  int64_t tap_at[]; /* of all phases */
} state;

/* Positions k with (place + pad - k * dilation) divisible by stride. */
static axis axis_of(int64_t place, int64_t pad, int64_t kernel, int64_t stride, int64_t dilation, int64_t out) {
  axis a = {.step = 1, .pixels = place < out ? hn_ceil_div(out - place, stride) : 0};
  int64_t k = 0;
  while (k < kernel && (place + pad - k * dilation) % stride) ++k;
  if (k == kernel) return a;
  a.first = k;
  while (a.step * dilation % stride) ++a.step;
  a.count = (kernel - k + a.step - 1) / a.step;
  a.at = (place + pad - k * dilation) / stride;
  a.move = -(a.step * dilation / stride);
  return a;
}

static hone_dtype held_by(const hone_query *query) { return ((const hn_cpu_half_kernel *)query->tactic->kernel)->held; }

static const char *read(const hone_query *query, hn_conv_f32 *c) {
  const hone_dtype held = held_by(query);
  hone_fact in[3], out[1];
  HN_TRY_REASON(hn_cpu_check(query, 2, 3, 1));
  const hone_query q = hn_cpu_as_f32(query, held, in, out);
  if (!hn_cpu_is(&query->in[1], HONE_F32, HONE_PLAIN)) return "the weights are not f32";
  HN_TRY_REASON(hn_cpu_conv_transpose_read(&q, c));
  HN_TRY_REASON(hn_cpu_conv_constants(query));
  if (c->stride_height > MOST_PHASES || c->stride_width > MOST_PHASES ||
      c->stride_height * c->stride_width > MOST_PHASES)
    return "its strides make more than 16 phases";
  if (c->groups > 1 && (c->in_channels / c->groups % TILE || c->out_channels / c->groups % TILE))
    return "a group's channels do not fill blocks of 32";
  const hone_type *x = &query->in[0].type;
  const bool is_held = x->dtype == held && x->format == HONE_NCHW32C;
  const bool is_f32 = x->dtype == HONE_F32 && (x->format == HONE_NCHW16C || x->format == HONE_NCHW8C);
  return is_held || is_f32 ? NULL : "the input has another format";
}

/* Fills the phases' axes; returns the halves of all weights. */
static int64_t find_phases(const hn_conv_f32 *c, state *s) {
  int64_t weights = 0, taps = 0;
  s->phases = 0;
  for (int64_t i = 0; i < c->stride_height * c->stride_width; ++i) {
    const int64_t y = i / c->stride_width, x = i % c->stride_width;
    phase *p = &s->phase[s->phases];
    p->y = axis_of(y, c->pad_top, c->kernel_height, c->stride_height, c->dilation_height, c->out_height);
    p->x = axis_of(x, c->pad_left, c->kernel_width, c->stride_width, c->dilation_width, c->out_width);
    if (p->y.pixels < 1 || p->x.pixels < 1) continue;
    p->weights_at = weights;
    p->taps_at = taps;
    p->y_at = y * c->out_width + x; /* pixels, as yet */
    weights += hn_product_half_packed(c->groups, c->out_channels / c->groups, c->in_channels / c->groups,
                                      p->y.count * p->x.count);
    taps += p->y.count * p->x.count;
    ++s->phases;
  }
  return weights;
}

/* How far taps reach beyond an axis of `size`: before it and behind it. */
static void reach(const axis *a, int64_t size, int64_t *before, int64_t *behind) {
  if (a->count < 1) return;
  *before = hn_cpu_greater(*before, -(a->at + (a->count - 1) * a->move));
  *behind = hn_cpu_greater(*behind, a->at + a->pixels - size);
}

static const char *plan_gather(const hn_conv_f32 *c, const hone_type *x, state *s, hone_needs *needs) {
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  for (int64_t i = 0; i < s->phases; ++i) {
    reach(&s->phase[i].y, c->in_height, &top, &bottom);
    reach(&s->phase[i].x, c->in_width, &left, &right);
  }
  hn_gather_half *g = &s->gather;
  *g = (hn_gather_half){.images = c->batch,
                        .channels = c->in_channels,
                        .in_height = c->in_height,
                        .in_width = c->in_width,
                        .rows = top + c->in_height + bottom,
                        .row_pixels = left + c->in_width + right,
                        .phases_height = 1,
                        .phases_width = 1,
                        .stride_height = 1,
                        .stride_width = 1,
                        .pad_top = top,
                        .pad_left = left,
                        .lanes = hn_format_block(x->format),
                        .x_is_half = x->dtype != HONE_F32};
  /* Rows of 32 pixels or of one half tile are read without what lies behind them. */
  const bool is_padded = top + bottom + left + right > 0, fits = c->in_width >= TILE || c->in_width == TILE / 2;
  bool is_whole = true;
  for (int64_t i = 0; i < s->phases; ++i) is_whole &= s->phase[i].x.pixels == c->in_width;
  s->gathers = is_padded || !fits || !is_whole || x->dtype == HONE_F32;
  const int64_t blocks = hn_gather_half_blocks(g);
  const double elements = (double)g->images * (double)blocks * (double)g->rows * (double)g->row_pixels * TILE;
  if (elements > size_limit) return "the padded images are too large";
  s->x_image = blocks * g->rows * g->row_pixels * TILE;
  s->gather_units = hn_gather_half_units(g);
  s->gather_grain = hn_cpu_grain(s->gather_units, elements * 6 * HN_CPU_NS_PER_BYTE);
  if (s->gathers) needs->scratch = ((size_t)elements + TILE * TILE) * sizeof(uint16_t);
  return NULL;
}

/* A row of narrow images uses each weight for few pixels: then a block of channels, which stays in the first cache,
 * does all rows of a unit before the next. */
static void plan_product(const hn_conv_f32 *c, const state *s, const hn_product_half *output, phase *p) {
  const hn_gather_half *g = &s->gather;
  const int64_t lanes = output->y_lanes, area = c->out_height * c->out_width, in_group = c->in_channels / c->groups;
  hn_product_half *m = &p->product;
  *m = *output;
  m->images = p->y.pixels;
  m->groups = c->groups;
  m->taps = p->y.count * p->x.count;
  m->depth_blocks = hn_ceil_div(in_group, TILE);
  m->last_pairs = hn_product_half_last_pairs(in_group);
  m->out_channels = c->out_channels / c->groups;
  m->row_pixels = m->out_width = p->x.pixels;
  m->out_height = 1;
  m->x_image = g->row_pixels * TILE;
  m->x_block = g->rows * m->x_image;
  m->x_group = in_group / TILE * m->x_block;
  m->y_pixel = c->stride_width * lanes;
  m->y_block = area * lanes;
  m->y_image = c->stride_height * c->out_width * lanes;
  m->may_read_behind = s->gathers;
  m->epilogue = c->epilogue;
  m->unit_pixels = hn_ceil_div(m->row_pixels, TILE) * TILE;
  m->unit_blocks = hn_product_half_blocks(m);
  const double bytes = (double)(m->taps * m->depth_blocks) * HN_PRODUCT_HALF_WEIGHTS * sizeof(uint16_t);
  if (m->row_pixels <= TILE && bytes * (double)m->unit_blocks > cached_weights) m->unit_blocks = 1;
  p->y_at *= lanes;
  p->row_units = hn_ceil_div(p->y.pixels, UNIT_ROWS);
}

/* Units of a phase: [group][block unit][row unit]. */
static int64_t units_of(const phase *p) {
  return p->product.groups * hn_product_half_block_units(&p->product) * p->row_units;
}

static void fill_taps(const state *s, const phase *p, int64_t *tap_at) {
  for (int64_t i = 0; i < p->y.count * p->x.count; ++i) {
    const int64_t y = p->y.at + i / p->x.count * p->y.move, x = p->x.at + i % p->x.count * p->x.move;
    tap_at[p->taps_at + i] = (y + s->gather.pad_top) * s->gather.row_pixels + x + s->gather.pad_left;
  }
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  const hone_type *y = &query->out[0].type;
  hn_conv_f32 c;
  HN_TRY_REASON(read(query, &c));
  state asked, *s = memory ? memory : &asked;
  *s = (state){.kernel = query->tactic->kernel, .batch = c.batch};
  const int64_t weights = find_phases(&c, s) / 2;
  hn_product_half output = {.f16_terms = hn_cpu_half_terms(query->params)};
  if (y->format == HONE_PLAIN || !hn_cpu_half_output(s->kernel, y, &output)) return "the output has another format";
  HN_TRY_REASON(plan_gather(&c, &query->in[0].type, s, needs));
  const hn_cpu_conv_layout packed = hn_cpu_conv_lay_out(query, &c, TILE, weights);
  s->bias_at = hn_cpu_given(query, 2) ? packed.bias_at : -1;
  s->y_image = hn_ceil_div(c.out_channels, output.y_lanes) * c.out_height * c.out_width * output.y_lanes;
  s->y_bytes = output.y_is_half ? (int64_t)sizeof(uint16_t) : (int64_t)sizeof(float);
  int64_t taps = 0;
  double flops = 0;
  for (int64_t i = 0; i < s->phases; ++i) {
    phase *p = &s->phase[i];
    plan_product(&c, s, &output, p);
    taps += p->product.taps;
    s->units += c.batch * units_of(p);
    flops += 2.0 * (double)(c.batch * c.groups * p->y.pixels * p->x.pixels) *
             (double)(hn_product_half_blocks(&p->product) * TILE) *
             (double)(p->product.taps * p->product.depth_blocks) * TILE;
  }
  s->grain = hn_cpu_grain(s->units, flops / s->kernel->flops_per_ns);
  needs->state = sizeof(state) + (size_t)taps * sizeof(int64_t);
  needs->packed = (size_t)packed.end * sizeof(float);
  needs->efficiency = s->kernel->efficiency * hn_cpu_filled(s->phase[0].x.pixels, TILE / 2) *
                      hn_cpu_filled(c.out_channels, TILE / 2) * hn_cpu_filled(c.in_channels, TILE);
  for (int64_t i = 0; memory && i < s->phases; ++i) fill_taps(s, &s->phase[i], s->tap_at);
  return NULL;
}

/* Rows of a phase's taps lie evenly in the kernel; a block of channels has row after row. */
static hone_status pack(const hone_query *query, void *to) {
  hn_conv_f32 c;
  if (read(query, &c)) return HONE_INTERNAL;
  const int64_t in_group = c.in_channels / c.groups, outs = c.out_channels / c.groups;
  const int64_t taps = c.kernel_height * c.kernel_width;
  state s = {.kernel = query->tactic->kernel};
  const int64_t floats = find_phases(&c, &s) / 2;
  uint16_t *at = to;
  for (int64_t i = 0; i < s.phases; ++i) {
    const phase *p = &s.phase[i];
    for (int64_t j = 0; j < c.groups * hn_ceil_div(outs, TILE) * p->y.count; ++j) {
      const int64_t row = p->y.first + j % p->y.count * p->y.step, block = j / p->y.count % hn_ceil_div(outs, TILE);
      const int64_t group = j / p->y.count / hn_ceil_div(outs, TILE);
      const hn_product_half_weights some = {.w = (const float *)query->in[1].constant->data +
                                                 (group * in_group * outs + block * TILE) * taps +
                                                 row * c.kernel_width + p->x.first,
                                            .groups = 1,
                                            .outs = hn_cpu_lesser(TILE, outs - block * TILE),
                                            .depth = in_group,
                                            .taps = p->x.count,
                                            .out = taps,
                                            .in = outs * taps,
                                            .step = p->x.step};
      s.kernel->pack(&some, at);
      at += hn_product_half_packed(1, TILE, in_group, p->x.count);
    }
  }
  const hn_cpu_conv_layout layout = hn_cpu_conv_lay_out(query, &c, TILE, floats);
  hn_cpu_conv_pack_epilogue(query, &layout, &c, TILE, to);
  return HONE_OK;
}

typedef struct job {
  const state *s;
  hn_gather_half gather;
  const uint16_t *x, *w;
  const float *bias;
  char *y;
} job;

static void gather_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  j->s->kernel->gather(&j->gather, begin, end);
}

/* Some rows of one phase of one image, for a unit of blocks. */
static void run_unit(const job *j, const phase *p, int64_t image, int64_t unit) {
  const state *s = j->s;
  hn_product_half m = p->product;
  m.x = j->x + image * s->x_image;
  m.w = j->w + p->weights_at;
  m.y = j->y + (image * s->y_image + p->y_at) * s->y_bytes;
  m.tap_at = s->tap_at + p->taps_at;
  m.epilogue.bias = j->bias;
  const int64_t planes = m.groups * hn_product_half_block_units(&m), plane = unit / p->row_units;
  const int64_t first = unit % p->row_units * UNIT_ROWS, last = hn_cpu_lesser(first + UNIT_ROWS, m.images);
  if (planes == 1) {
    s->kernel->run(&m, first, last);
    return;
  }
  for (int64_t row = first; row < last; ++row) s->kernel->run(&m, row * planes + plane, row * planes + plane + 1);
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  const int64_t all = j->s->units / j->s->batch;
  for (int64_t unit = begin; unit < end; ++unit) {
    int64_t left = unit % all;
    const phase *p = j->s->phase;
    for (; left >= units_of(p); ++p) left -= units_of(p);
    run_unit(j, p, unit / all, left);
  }
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = memory;
  job j = {.s = s, .gather = s->gather, .x = launch->in[0].data, .w = launch->packed, .y = launch->out[0].data};
  if (s->bias_at >= 0) j.bias = (const float *)launch->packed + s->bias_at;
  if (s->gathers) {
    j.gather.x = launch->in[0].data;
    j.gather.y = launch->scratch;
    hn_pool_run(hn_stream_pool(stream), s->gather_units, s->gather_grain, gather_body, &j);
    j.x = launch->scratch;
  }
  hn_pool_run(hn_stream_pool(stream), s->units, s->grain, body, &j);
  return HONE_OK;
}

static int variants(const hone_query *query, hone_params *out, int room) {
  return hn_cpu_half_variants(query->tactic->kernel, out, room);
}

const hone_tactic hn_tactics_cpu_conv_transpose_half[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.conv_transpose.bf16.amx_bf16", .version = 2, .op = "conv_transpose",
     .isa = HONE_ISA_AMX_BF16, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2 | 4, .compute = HONE_BF16,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C},
                  {HONE_NCHW16C, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_NCHW16C},
                  {HONE_NCHW16C, HONE_NCHW16C}},
     .plan = plan, .pack = pack, .launch = launch, .kernel = &hn_cpu_bf16_amx},
    {sizeof(hone_tactic), .name = "cpu.conv_transpose.bf16.avx512_bf16", .version = 2, .op = "conv_transpose",
     .isa = HONE_ISA_AVX512_BF16, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2 | 4, .compute = HONE_BF16,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C},
                  {HONE_NCHW16C, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_NCHW16C},
                  {HONE_NCHW16C, HONE_NCHW16C}},
     .plan = plan, .pack = pack, .launch = launch, .kernel = &hn_cpu_bf16_avx512},
    {sizeof(hone_tactic), .name = "cpu.conv_transpose.f16.avx512_fp16", .version = 1, .op = "conv_transpose",
     .isa = HONE_ISA_AVX512_FP16, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2 | 4, .compute = HONE_F16,
     .storages = {{HONE_F16_NCHW32C, HONE_F16_NCHW32C},
                  {HONE_NCHW16C, HONE_F16_NCHW32C},
                  {HONE_F16_NCHW32C, HONE_NCHW16C},
                  {HONE_NCHW16C, HONE_NCHW16C}},
     .plan = plan, .variants = variants, .pack = pack, .launch = launch, .kernel = &hn_cpu_f16_avx512},
#endif
    {sizeof(hone_tactic), .name = "cpu.conv_transpose.bf16.c", .version = 2, .op = "conv_transpose", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2 | 4, .compute = HONE_BF16,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C},
                  {HONE_NCHW8C, HONE_BF16_NCHW32C},
                  {HONE_BF16_NCHW32C, HONE_NCHW16C},
                  {HONE_NCHW16C, HONE_NCHW8C}},
     .plan = plan, .pack = pack, .launch = launch, .kernel = &hn_cpu_bf16_c},
    {sizeof(hone_tactic), .name = "cpu.conv_transpose.f16.c", .version = 1, .op = "conv_transpose", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 2 | 4, .compute = HONE_F16,
     .storages = {{HONE_F16_NCHW32C, HONE_F16_NCHW32C}, {HONE_NCHW16C, HONE_NCHW8C}}, .plan = plan,
     .variants = variants, .pack = pack, .launch = launch, .kernel = &hn_cpu_f16_c},
    {0}};
