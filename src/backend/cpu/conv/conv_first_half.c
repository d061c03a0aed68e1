/* SPDX-License-Identifier: Apache-2.0 */
/* conv_first_half.c - convolution of plain images of few channels in halves with f32 sums, and that with maximum or
 * mean under windows behind it. A band of rows becomes windows (kernels/cpu/conv/windows_half.h), one product of
 * matrices and, where a pool follows, rows in the worker's scratch memory that are pooled from there; rows that the
 * next band's windows need again are kept. A strip of bands times a part of the output blocks is one unit; neither
 * bands nor units show in a result. Packed are the weights, the bias and the slopes. */
#include "kernels/cpu/conv/windows_half.h"
#include "backend/cpu/conv/region.h"
#include "backend/cpu/gemm/product_half.h"

enum { TILE = HN_PRODUCT_HALF_TILE };
enum { X, W, B, RESIDUAL, PORTS = 5 };
enum {
  POOL_BAND = 4,
  WINDOW_BYTES = 96 << 10, /* of rows that are multiplied together: they stay in the second cache */
  MOST_SHALLOW = 8         /* depth blocks */
};

typedef struct first_kernel {
  const hn_cpu_half_kernel *half;
  hn_product_half_fn *shallow; /* for few depth blocks; NULL: half's own */
  hn_windows_half_fn *windows;
  hn_pool_fn *max, *average; /* NULL: no pool follows */
} first_kernel;

typedef struct state {
  const first_kernel *kernel;
  hn_windows_half windows; /* of one image; without pointers, like the product and the pool */
  hn_product_half product; /* of one row */
  hn_pool_args pool;       /* of whole planes */
  hn_pool_fn *fold;
  hn_product_half_fn *multiply;
  int64_t images, rows, strip_rows, strips, parts, part_blocks;
  int64_t band, plane_rows;      /* of the pool's output, and of what a band reads */
  int64_t call_rows;             /* that are multiplied together */
  int64_t x_image, y_image, row; /* elements; a row of one block */
  int64_t windows_at, planes_at, worker_elements;
  int64_t bias_at, slopes_at; /* floats, -1: none */
} state;

static const char *read_pooled(const hone_query *q, hn_conv_f32 *c, hn_pool_args *pool, bool *averages) {
  hn_region_attrs attrs;
  hn_sliding sliding;
  const hone_type *x = &q->in[X].type, *w = &q->in[W].type, *y = &q->out[0].type;
  if (x->kind != HONE_TENSOR || w->kind != HONE_TENSOR || y->kind != HONE_TENSOR || y->dtype != HONE_F32)
    return "it is not f32";
  if (w->shape.rank != x->shape.rank || x->shape.rank < 3 || x->shape.rank > 4)
    return "it has not one or two spatial axes";
  hn_cpu_region_attrs(q, "conv_", 0, &attrs);
  if (hn_sliding_make(NULL, NULL, &attrs.attrs, &x->shape, w->shape.dim + 2, &sliding) != HONE_OK)
    return "the convolution's window does not fit";
  const hone_type middle = hn_cpu_region_type(x, w->shape.dim[0], &sliding);
  HN_TRY_REASON(hn_cpu_region_read(q, &attrs, x, W, -1, &middle, c));
  return hn_cpu_region_read_pool(q, TILE, &middle, pool, averages);
}

static const char *read(const hone_query *query, hn_conv_f32 *c, hn_pool_args *pool, bool *averages) {
  const first_kernel *kernel = query->tactic->kernel;
  hone_fact in[PORTS], out[1];
  HN_TRY_REASON(hn_cpu_check(query, 2, kernel->max ? B + 1 : PORTS, 1));
  const hone_query q = hn_cpu_as_f32(query, kernel->half->held, in, out);
  if (!hn_cpu_is(&query->in[W], HONE_F32, HONE_PLAIN)) return "the weights are not f32";
  if (kernel->max) {
    HN_TRY_REASON(read_pooled(&q, c, pool, averages));
  } else {
    HN_TRY_REASON(hn_cpu_conv_read(&q, c));
    HN_TRY_REASON(hn_cpu_conv_constants(query));
    if (hn_cpu_given(query, RESIDUAL)) return "it has a residual";
  }
  if (query->in[X].type.format != HONE_PLAIN) return "the input has another format";
  if (c->groups > 1) return "it has groups";
  if (c->in_channels > HN_WINDOWS_HALF_CHANNELS) return "it has more than 32 input channels";
  return NULL;
}

static hn_windows_half windows_of(const hn_conv_f32 *c, const hone_type *x) {
  hn_windows_half w = {.channels = c->in_channels,
                       .in_height = c->in_height,
                       .in_width = c->in_width,
                       .out_width = c->out_width,
                       .kernel_height = c->kernel_height,
                       .kernel_width = c->kernel_width,
                       .stride_height = c->stride_height,
                       .stride_width = c->stride_width,
                       .dilation_height = c->dilation_height,
                       .dilation_width = c->dilation_width,
                       .pad_top = c->pad_top,
                       .pad_left = c->pad_left,
                       .x_is_half = x->dtype != HONE_F32};
  w.line = hn_windows_half_line(&w);
  return w;
}

static int64_t weight_floats(const hn_conv_f32 *c) {
  return hn_product_half_packed(1, c->out_channels, c->in_channels * c->kernel_height * c->kernel_width, 1) / 2;
}

/* Rows and blocks of a unit. Weights that fill caches are read once by each unit: then blocks are shared out. */
static void choose_units(const hone_query *query, const hn_conv_f32 *c, state *s) {
  const int64_t blocks = hn_ceil_div(c->out_channels, TILE), threads = hn_cpu_threads(query->facts);
  const int64_t l2 = (int64_t)hn_cpu_l2_bytes(query->facts),
                row_bytes = s->product.depth_blocks * c->out_width * TILE * 2;
  const bool is_wide = weight_floats(c) * (int64_t)sizeof(float) > l2 / 2;
  s->strip_rows = is_wide ? s->rows : hn_cpu_region_strip_rows(query, s->images, s->rows);
  s->strips = hn_ceil_div(s->rows, s->strip_rows);
  s->part_blocks = hn_ceil_div(blocks, is_wide ? hn_cpu_lesser(blocks, threads) : 1);
  s->parts = hn_ceil_div(blocks, s->part_blocks);
  s->product.blocks_first = is_wide;
  const int64_t together = hn_cpu_greater(1, (is_wide ? l2 / 2 : WINDOW_BYTES) / row_bytes);
  s->band = hn_cpu_lesser(POOL_BAND, s->strip_rows);
  s->plane_rows =
      s->fold ? (s->band - 1) * s->pool.stride_h + (s->pool.kernel_h - 1) * s->pool.dilation_h + 1 : s->strip_rows;
  s->call_rows = hn_cpu_lesser(together, s->plane_rows);
}

static size_t lay_out_scratch(const hone_query *query, state *s) {
  enum { LARGEST = 1 << 28 }; /* elements */
  hn_windows_half *w = &s->windows;
  w->ring = hn_windows_half_line_rows(w, s->call_rows);
  const double line = (double)w->line, rows = (double)w->ring;
  const double pixels = (double)(s->call_rows * w->out_width + TILE) * TILE * (double)s->product.depth_blocks;
  const double planes = s->fold ? (double)(s->part_blocks * s->plane_rows) * (double)s->row : 0;
  const int64_t threads = hn_cpu_threads(query->facts);
  if ((line * rows + pixels + planes) * (double)threads > LARGEST) return 0;
  w->y_block = (s->call_rows * w->out_width + TILE) * TILE; /* TILE pixels behind the last: may_read_behind */
  s->windows_at = w->line * w->ring + 2 * HN_WINDOWS_HALF_MARGIN;
  s->planes_at = s->windows_at + s->product.depth_blocks * w->y_block;
  s->worker_elements = s->planes_at + (s->fold ? s->part_blocks * s->plane_rows * s->row : 0);
  s->product.x_block = w->y_block;
  return (size_t)(threads * s->worker_elements) * sizeof(uint16_t);
}

static const char *check_windows(const hn_windows_half *w, const hn_conv_f32 *c) {
  if (c->kernel_height * c->kernel_width > HN_WINDOWS_HALF_DEPTH || hn_windows_half_depth(w) > HN_WINDOWS_HALF_DEPTH ||
      hn_windows_half_runs(w) > HN_WINDOWS_HALF_RUNS)
    return "its windows are too large";
  return NULL;
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  const first_kernel *kernel = query->tactic->kernel;
  state asked, *s = memory ? memory : &asked;
  hn_conv_f32 c;
  bool averages = false;
  *s = (state){.kernel = kernel};
  HN_TRY_REASON(read(query, &c, &s->pool, &averages));
  s->windows = windows_of(&c, &query->in[X].type);
  HN_TRY_REASON(check_windows(&s->windows, &c));
  s->fold = averages ? kernel->average : kernel->max;
  s->images = c.batch;
  s->rows = s->fold ? s->pool.out_h : c.out_height;
  const int64_t depth = hn_windows_half_depth(&s->windows);
  const hn_cpu_conv_layout at = hn_cpu_conv_lay_out(query, &c, TILE, weight_floats(&c));
  hn_product_half *p = &s->product;
  *p = (hn_product_half){.images = 1,
                         .groups = 1,
                         .taps = 1,
                         .depth_blocks = hn_ceil_div(depth, TILE),
                         .last_pairs = hn_product_half_last_pairs(depth),
                         .out_channels = c.out_channels,
                         .out_height = 1,
                         .may_read_behind = true,
                         .f16_terms = hn_cpu_half_terms(query->params),
                         .epilogue = c.epilogue};
  if (query->out[0].type.format == HONE_PLAIN || !hn_cpu_half_output(kernel->half, &query->out[0].type, p) ||
      (s->fold && !p->y_is_half))
    return "the output has another format";
  p->y_pixel = p->y_lanes;
  s->multiply = kernel->shallow && p->depth_blocks <= MOST_SHALLOW ? kernel->shallow : kernel->half->run;
  s->row = c.out_width * p->y_lanes;
  s->x_image = c.in_channels * c.in_height * c.in_width;
  const int64_t y_row = s->fold ? s->pool.out_w * TILE : s->row;
  s->y_image = hn_ceil_div(c.out_channels, p->y_lanes) * s->rows * y_row;
  s->bias_at = at.slopes_at > at.bias_at ? at.bias_at : -1;
  s->slopes_at = hn_cpu_has_slope(&c.epilogue) ? at.slopes_at : -1;
  choose_units(query, &c, s);
  needs->scratch = lay_out_scratch(query, s);
  if (!needs->scratch) return "its rows are too large";
  needs->state = sizeof *s;
  needs->packed = (size_t)at.end * sizeof(float);
  needs->efficiency = kernel->half->efficiency * hn_cpu_filled(depth, TILE) * hn_cpu_filled(c.out_channels, TILE / 2);
  return NULL;
}

static hone_status pack(const hone_query *query, void *to) {
  const first_kernel *kernel = query->tactic->kernel;
  hn_conv_f32 c;
  hn_pool_args pool;
  bool averages;
  if (read(query, &c, &pool, &averages)) return HONE_INTERNAL;
  const int64_t taps = c.kernel_height * c.kernel_width;
  kernel->half->pack(&(hn_product_half_weights){.w = query->in[W].constant->data,
                                                .groups = 1,
                                                .outs = c.out_channels,
                                                .depth = c.in_channels,
                                                .taps = 1,
                                                .out = c.in_channels * taps,
                                                .in = taps,
                                                .columns = taps},
                     to);
  const hn_cpu_conv_layout at = hn_cpu_conv_lay_out(query, &c, TILE, weight_floats(&c));
  hn_cpu_conv_pack_epilogue(query, &at, &c, TILE, to);
  return HONE_OK;
}

static int variants(const hone_query *query, hone_params *out, int room) {
  const first_kernel *kernel = query->tactic->kernel;
  return hn_cpu_half_variants(kernel->half, out, room);
}

typedef struct job {
  const state *s;
  const char *x;
  const float *packed;
  char *y;
  uint16_t *workers;
} job;

/* A unit's image and blocks of channels. */
typedef struct part {
  const job *j;
  int64_t image, block, blocks;
  uint16_t *memory;
  int64_t lines; /* that are made, of hn_windows_half */
} part;

/* Rows [begin, end) of the convolution: `to` is the first of them, y_block elements lie between blocks. */
static void make_rows(part *u, int64_t begin, int64_t end, char *to, int64_t y_block) {
  const state *s = u->j->s;
  const float *packed = u->j->packed;
  const int64_t no_shift = 0, channel = u->block * TILE;
  const int64_t bytes = s->product.y_is_half ? (int64_t)sizeof(uint16_t) : (int64_t)sizeof(float);
  hn_windows_half w = s->windows;
  hn_product_half p = s->product;
  w.x = u->j->x + u->image * s->x_image * (w.x_is_half ? (int64_t)sizeof(uint16_t) : (int64_t)sizeof(float));
  w.lines = u->memory;
  w.y = u->memory + s->windows_at;
  p.x = w.y;
  p.w = (const uint16_t *)packed + u->block * p.depth_blocks * HN_PRODUCT_HALF_WEIGHTS;
  p.tap_at = &no_shift;
  p.y_block = y_block;
  p.out_channels = hn_cpu_lesser(p.out_channels - channel, u->blocks * TILE);
  p.unit_blocks = u->blocks;
  if (s->bias_at >= 0) p.epilogue.bias = packed + s->bias_at + channel;
  if (s->slopes_at >= 0) p.epilogue.slope = packed + s->slopes_at + channel;
  for (int64_t row = begin; row < end; row += s->call_rows) {
    const int64_t count = hn_cpu_lesser(s->call_rows, end - row);
    w.made = u->lines;
    s->kernel->windows(&w, row, row + count);
    u->lines = hn_windows_half_made(&w, row + count);
    p.row_pixels = p.out_width = count * w.out_width;
    p.unit_pixels = hn_ceil_div(p.out_width, TILE) * TILE;
    p.y = to + (row - begin) * s->row * bytes;
    s->multiply(&p, 0, 1);
  }
}

/* Rows [row, row + count) of the pool's output; the planes begin with row `first` and hold those before `end`. */
static void pool_rows(const part *u, int64_t row, int64_t count, int64_t first, int64_t end, const uint16_t *planes) {
  const state *s = u->j->s;
  hn_pool_args p = s->pool;
  const int64_t width = p.out_w * TILE;
  uint16_t *y = (uint16_t *)(void *)u->j->y + u->image * s->y_image;
  for (int64_t i = 0; i < u->blocks; ++i) {
    p.x = planes + i * s->plane_rows * s->row;
    p.y = y + ((u->block + i) * s->rows + row) * width;
    p.in_h = end - first;
    p.out_h = count;
    p.pad_top = s->pool.pad_top + first - row * p.stride_h;
    s->fold(&p, 0, count);
  }
}

static void run_pooled(part *u, int64_t begin, int64_t end) {
  const state *s = u->j->s;
  const hn_pool_args *p = &s->pool;
  uint16_t *planes = u->memory + s->planes_at;
  int64_t before = 0, made = 0; /* rows [before, made) are in the planes */
  for (int64_t row = begin; row < end; row += s->band) {
    const int64_t count = hn_cpu_lesser(s->band, end - row), reach = (p->kernel_h - 1) * p->dilation_h + 1;
    const int64_t top = row * p->stride_h - p->pad_top;
    const int64_t first = hn_cpu_lesser(hn_cpu_greater(top, 0), p->in_h);
    const int64_t last = hn_cpu_greater(first, hn_cpu_lesser(top + (count - 1) * p->stride_h + reach, p->in_h));
    if (row == begin || made < first)
      made = first;
    else /* a row of halves counts as half as many floats */
      hn_cpu_region_keep((float *)(void *)planes, u->blocks, s->plane_rows, s->row / 2, first - before, made - first);
    if (made < last) make_rows(u, made, last, (char *)(planes + (made - first) * s->row), s->plane_rows * s->row);
    pool_rows(u, row, count, first, last, planes);
    before = first;
    made = hn_cpu_greater(made, last);
  }
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  const state *s = j->s;
  const int64_t blocks = hn_product_half_blocks(&s->product), lanes = s->product.y_lanes;
  const int64_t bytes = s->product.y_is_half ? (int64_t)sizeof(uint16_t) : (int64_t)sizeof(float);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t row = unit % s->strips * s->strip_rows, last = hn_cpu_lesser(row + s->strip_rows, s->rows);
    part u = {.j = j, .image = unit / s->strips / s->parts, .memory = j->workers + worker * s->worker_elements};
    u.block = unit / s->strips % s->parts * s->part_blocks;
    u.blocks = hn_cpu_lesser(s->part_blocks, blocks - u.block);
    if (s->fold) {
      run_pooled(&u, row, last);
      continue;
    }
    const int64_t plane = s->rows * s->row;
    make_rows(&u, row, last, j->y + (u.image * s->y_image + u.block * TILE / lanes * plane + row * s->row) * bytes,
              plane);
  }
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = memory;
  job j = {
      .s = s, .x = launch->in[X].data, .packed = launch->packed, .y = launch->out[0].data, .workers = launch->scratch};
  hn_pool_run(hn_stream_pool(stream), s->images * s->strips * s->parts, 1, body, &j);
  return HONE_OK;
}

#define COMMON .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .variants = variants, .pack = pack, .launch = launch
const hone_tactic hn_tactics_cpu_conv_first_half[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.conv.bf16.first.amx_bf16", .version = 3, .op = "conv", .isa = HONE_ISA_AMX_BF16,
     .pack_mask = HN_CPU_CONV_PACKED, .compute = HONE_BF16,
     .storages = {{HONE_PLAIN, HONE_BF16_NCHW32C}, {HONE_PLAIN, HONE_NCHW16C}, {HONE_BF16_PLAIN, HONE_BF16_NCHW32C}},
     .kernel = &(const first_kernel){&hn_cpu_bf16_amx, hn_product_shallow_bf16_amx_bf16, hn_windows_bf16_amx_bf16, NULL,
                                     NULL},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.bf16.first.avx512_bf16", .version = 3, .op = "conv",
     .isa = HONE_ISA_AVX512_BF16, .pack_mask = HN_CPU_CONV_PACKED, .compute = HONE_BF16,
     .storages = {{HONE_PLAIN, HONE_BF16_NCHW32C}, {HONE_PLAIN, HONE_NCHW16C}, {HONE_BF16_PLAIN, HONE_BF16_NCHW32C}},
     .kernel = &(const first_kernel){&hn_cpu_bf16_avx512, NULL, hn_windows_bf16_avx512_bf16, NULL, NULL}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f16.first.avx512_fp16", .version = 3, .op = "conv",
     .isa = HONE_ISA_AVX512_FP16, .pack_mask = HN_CPU_CONV_PACKED, .compute = HONE_F16,
     .storages = {{HONE_PLAIN, HONE_F16_NCHW32C}, {HONE_PLAIN, HONE_NCHW16C}, {HONE_F16_PLAIN, HONE_F16_NCHW32C}},
     .kernel = &(const first_kernel){&hn_cpu_f16_avx512, NULL, hn_windows_f16_avx512_fp16, NULL, NULL}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_pool.bf16.first.amx_bf16", .version = 2, .op = "conv_pool",
     .isa = HONE_ISA_AMX_BF16, .pack_mask = 1 << W | 1 << B, .compute = HONE_BF16,
     .storages = {{HONE_PLAIN, HONE_BF16_NCHW32C}, {HONE_BF16_PLAIN, HONE_BF16_NCHW32C}},
     .kernel = &(const first_kernel){&hn_cpu_bf16_amx, hn_product_shallow_bf16_amx_bf16, hn_windows_bf16_amx_bf16,
                                     hn_pool_max_bf16_avx512, hn_pool_average_bf16_avx512},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_pool.bf16.first.avx512_bf16", .version = 2, .op = "conv_pool",
     .isa = HONE_ISA_AVX512_BF16, .pack_mask = 1 << W | 1 << B, .compute = HONE_BF16,
     .storages = {{HONE_PLAIN, HONE_BF16_NCHW32C}, {HONE_BF16_PLAIN, HONE_BF16_NCHW32C}},
     .kernel = &(const first_kernel){&hn_cpu_bf16_avx512, NULL, hn_windows_bf16_avx512_bf16, hn_pool_max_bf16_avx512,
                                     hn_pool_average_bf16_avx512},
     COMMON},
#endif
    {sizeof(hone_tactic), .name = "cpu.conv.bf16.first.c", .version = 3, .op = "conv", .isa = HONE_ISA_C,
     .pack_mask = HN_CPU_CONV_PACKED, .compute = HONE_BF16,
     .storages = {{HONE_PLAIN, HONE_BF16_NCHW32C}, {HONE_PLAIN, HONE_NCHW16C}, {HONE_BF16_PLAIN, HONE_BF16_NCHW32C}},
     .kernel = &(const first_kernel){&hn_cpu_bf16_c, hn_product_shallow_bf16_c, hn_windows_bf16_c, NULL, NULL}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv.f16.first.c", .version = 3, .op = "conv", .isa = HONE_ISA_C,
     .pack_mask = HN_CPU_CONV_PACKED, .compute = HONE_F16,
     .storages = {{HONE_PLAIN, HONE_F16_NCHW32C}, {HONE_F16_PLAIN, HONE_F16_NCHW32C}},
     .kernel = &(const first_kernel){&hn_cpu_f16_c, NULL, hn_windows_f16_c, NULL, NULL}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_pool.bf16.first.c", .version = 2, .op = "conv_pool", .isa = HONE_ISA_C,
     .pack_mask = 1 << W | 1 << B, .compute = HONE_BF16,
     .storages = {{HONE_PLAIN, HONE_BF16_NCHW32C}, {HONE_BF16_PLAIN, HONE_BF16_NCHW32C}},
     .kernel = &(const first_kernel){&hn_cpu_bf16_c, hn_product_shallow_bf16_c, hn_windows_bf16_c, hn_pool_max_bf16_c,
                                     hn_pool_average_bf16_c},
     COMMON},
    {0}};
