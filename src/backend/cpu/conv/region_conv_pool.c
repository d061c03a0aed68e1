/* SPDX-License-Identifier: Apache-2.0 */
/* region_conv_pool.c - convolution and maximum or mean under windows, f32, into channel-blocked activations: a band of
 * the convolution's rows is made in the worker's scratch memory and pooled from there, a set of output blocks after the
 * other. Rows that the next band's windows need again are kept. A strip of bands is one unit; neither bands nor strips
 * show in a result. Packed are the weights and the bias, as the convolution's own tactics pack them. */
#include "backend/cpu/conv/region.h"

enum { X, W, B, PORTS };
enum { MOST_BAND = 8, MOST_FIRST_CHANNELS = 8 };

/* One row's kernels. */
typedef struct region_kernel {
  void (*run)(const hn_conv_f32 *conv, int64_t begin, int64_t end);
  hn_pool_fn *max, *average;
  int block, most; /* lanes of a block, the widest set */
  bool is_first;   /* reads plain images */
  hone_format format;
} region_kernel;

typedef struct state {
  const region_kernel *kernel;
  hn_conv_f32 conv;  /* without pointers; of one image */
  hn_pool_args pool; /* of whole planes */
  hn_pool_fn *fold;
  int64_t images, in_image, blocks, band, strip_rows, strips;
  int64_t rows; /* of a plane of scratch */
  int64_t worker_floats;
  hn_cpu_conv_layout packed;
} state;

static const char *read_layers(const hone_query *query, const region_kernel *kernel, state *s) {
  hn_region_attrs attrs;
  hn_sliding sliding;
  HN_TRY_REASON(hn_cpu_check(query, W + 1, PORTS, 1));
  const hone_type *x = &query->in[X].type, *w = &query->in[W].type, *y = &query->out[0].type;
  if (x->kind != HONE_TENSOR || w->kind != HONE_TENSOR || y->kind != HONE_TENSOR || y->dtype != HONE_F32)
    return "it is not f32";
  if (w->shape.rank != x->shape.rank || x->shape.rank < 3 || x->shape.rank > 4)
    return "it has not one or two spatial axes";
  hn_cpu_region_attrs(query, "conv_", 0, &attrs);
  if (hn_sliding_make(NULL, NULL, &attrs.attrs, &x->shape, w->shape.dim + 2, &sliding) != HONE_OK)
    return "the convolution's window does not fit";
  const hone_type middle = hn_cpu_region_type(x, w->shape.dim[0], &sliding);
  HN_TRY_REASON(hn_cpu_region_read(query, &attrs, x, W, -1, &middle, &s->conv));
  bool averages;
  HN_TRY_REASON(hn_cpu_region_read_pool(query, kernel->block, &middle, &s->pool, &averages));
  s->fold = averages ? kernel->average : kernel->max;
  return NULL;
}

/* Minimal filtering needs a fourth of the multiplications. */
static bool is_for_winograd(const hn_conv_f32 *c) {
  enum { FEW = 16 };
  return c->kernel_height == 3 && c->kernel_width == 3 && c->groups == 1 && c->in_channels >= FEW &&
         c->out_channels >= FEW && c->stride_height * c->stride_width * c->dilation_height * c->dilation_width == 1;
}

/* Reads the layers, and says why not. */
static const char *accept(const hone_query *query, const region_kernel *kernel, state *s) {
  HN_TRY_REASON(read_layers(query, kernel, s));
  const hn_conv_f32 *c = &s->conv;
  if (!hn_reads_as(&query->out[0].type, kernel->format)) return "the output has another format";
  if (kernel->is_first ? query->in[X].type.format != HONE_PLAIN : !hn_reads_as(&query->in[X].type, kernel->format))
    return "the input has another format";
  if (kernel->is_first && (c->groups != 1 || c->in_channels > MOST_FIRST_CHANNELS))
    return "it has groups or more than 8 input channels";
  if (c->groups > 1 && (c->in_channels / c->groups % kernel->block || c->out_channels / c->groups % kernel->block))
    return "a group's channels do not fill whole blocks";
  if (is_for_winograd(c)) return "the convolution alone takes fewer multiplications";
  const double rows = MOST_BAND * (double)s->pool.stride_h + (double)(s->pool.kernel_h * s->pool.dilation_h);
  return rows * (double)c->out_width > 1e7 ? "its rows are too large" : NULL;
}

static hn_cpu_conv_layout lay_out(const hone_query *query, const region_kernel *kernel, const hn_conv_f32 *c) {
  const int64_t taps = c->kernel_height * c->kernel_width, in_group = c->in_channels / c->groups;
  const int64_t weights = kernel->is_first
                              ? hn_conv_f32_first_packed_floats(c->out_channels, in_group, taps, kernel->block)
                              : hn_conv_f32_packed_floats(c->out_channels, in_group, taps, kernel->block);
  return hn_cpu_conv_lay_out(query, c, kernel->block, weights);
}

static hone_status pack(const hone_query *query, void *to) {
  const region_kernel *kernel = query->tactic->kernel;
  state s = {0};
  if (read_layers(query, kernel, &s)) return HONE_INTERNAL;
  const hn_conv_f32 *c = &s.conv;
  const int64_t taps = c->kernel_height * c->kernel_width;
  const float *w = query->in[W].constant->data;
  if (kernel->is_first)
    hn_conv_f32_first_pack_c(w, c->out_channels, c->in_channels, taps, kernel->block, to);
  else
    hn_conv_f32_pack_c(w, c->out_channels, c->in_channels / c->groups, taps, kernel->block, 0,
                       hn_ceil_div(c->out_channels, kernel->block), to);
  const hn_cpu_conv_layout at = lay_out(query, kernel, c);
  hn_cpu_conv_pack_channels(query, B, c->out_channels, kernel->block, (float *)to + at.bias_at);
  return HONE_OK;
}

/* Output rows of a band, and the blocks of a tile. They depend on the shape alone. */
static int variants(const hone_query *query, hone_params *out, int room) {
  static const int64_t bands[] = {4, MOST_BAND};
  const region_kernel *kernel = query->tactic->kernel;
  state s = {0};
  int count = 0;
  if (read_layers(query, kernel, &s)) return 0;
  const int64_t blocks = hn_ceil_div(s.conv.out_channels / s.conv.groups, kernel->block);
  for (size_t i = 0; i < HN_COUNT(bands) && count < room; ++i)
    out[count++] = (hone_params){.count = 2, .items = {{"rows", bands[i]}, {"oc_blocks", hn_cpu_lesser(2, blocks)}}};
  return count;
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked = {0}, *s = state_memory ? state_memory : &asked;
  const region_kernel *kernel = query->tactic->kernel;
  hn_conv_f32 *c = &s->conv;
  const hn_pool_args *p = &s->pool;
  HN_TRY_REASON(accept(query, kernel, s));
  s->kernel = kernel;
  s->images = c->batch;
  s->band = hn_cpu_lesser(hn_cpu_conv_param(query, 0, MOST_BAND, 4), p->out_h);
  c->batch = 1;
  c->oc_blocks = (int32_t)hn_cpu_conv_param(query, 1, kernel->most, 1);
  s->rows = (s->band - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1;
  s->worker_floats = hn_cpu_whole_lines(c->oc_blocks * s->rows * c->out_width * kernel->block);
  s->strip_rows = hn_cpu_region_strip_rows(query, s->images, p->out_h);
  s->strips = hn_ceil_div(p->out_h, s->strip_rows);
  s->blocks = hn_ceil_div(c->out_channels, kernel->block);
  const int64_t lanes = kernel->is_first ? c->in_channels : hn_ceil_div(c->in_channels, kernel->block) * kernel->block;
  s->in_image = lanes * c->in_height * c->in_width;
  s->packed = lay_out(query, kernel, c);
  needs->state = sizeof *s;
  needs->scratch = (size_t)(hn_cpu_threads(query->facts) * s->worker_floats) * sizeof(float);
  needs->packed = (size_t)s->packed.end * sizeof(float);
  return NULL;
}

typedef struct job {
  const state *s;
  const float *input, *packed;
  float *output, *workers;
} job;

/* A set of output blocks, which lie in one group. */
typedef struct channel_set {
  int64_t image, block, blocks, group;
} channel_set;

/* Rows [begin, end) of the set's planes, into planes of scratch. */
static void make_rows(const job *j, const channel_set *set, int64_t begin, int64_t end, float *to) {
  const state *s = j->s;
  const int lanes = s->kernel->block;
  hn_conv_f32 c = s->conv;
  const int64_t in_group = c.in_channels / c.groups, taps = c.kernel_height * c.kernel_width;
  const int64_t deep = s->kernel->is_first ? in_group : hn_ceil_div(in_group, lanes) * lanes;
  c.input = j->input + set->image * s->in_image + set->group * deep * c.in_height * c.in_width;
  c.weights = j->packed + set->block * lanes * deep * taps;
  c.output = to;
  if (s->packed.slopes_at > s->packed.bias_at) c.epilogue.bias = j->packed + s->packed.bias_at + set->block * lanes;
  c.out_channels = hn_cpu_lesser(c.out_channels - set->block * lanes, set->blocks * lanes);
  c.in_channels = in_group;
  c.groups = 1;
  c.oc_blocks = (int32_t)set->blocks;
  c.pad_top -= begin * c.stride_height;
  c.out_height = s->rows;
  c.unit_rows = end - begin;
  if (end > begin) s->kernel->run(&c, 0, 1);
}

/* Rows [row, row + count) of the pool's output; the planes begin with row `first` and hold those before `end`. */
static void pool_rows(const job *j, const channel_set *set, int64_t row, int64_t count, int64_t first, int64_t end,
                      const float *planes) {
  const state *s = j->s;
  hn_pool_args p = s->pool;
  const int64_t in_plane = s->rows * p.in_w * p.block, width = p.out_w * p.block;
  for (int64_t i = 0; i < set->blocks; ++i) {
    p.x = planes + i * in_plane;
    p.y = j->output + ((set->image * s->blocks + set->block + i) * s->pool.out_h + row) * width;
    p.in_h = end - first;
    p.out_h = count;
    p.pad_top = s->pool.pad_top + first - row * p.stride_h;
    s->fold(&p, 0, count);
  }
}

static void run_set(const job *j, const channel_set *set, int64_t begin, int64_t end, float *planes) {
  const state *s = j->s;
  const hn_pool_args *p = &s->pool;
  const int64_t width = p->in_w * p->block;
  int64_t before = 0, made = 0; /* rows [before, made) are in the planes */
  for (int64_t row = begin; row < end; row += s->band) {
    const int64_t count = hn_cpu_lesser(s->band, end - row), reach = (p->kernel_h - 1) * p->dilation_h + 1;
    const int64_t top = row * p->stride_h - p->pad_top;
    const int64_t first = hn_cpu_lesser(hn_cpu_greater(top, 0), p->in_h);
    const int64_t last = hn_cpu_greater(first, hn_cpu_lesser(top + (count - 1) * p->stride_h + reach, p->in_h));
    if (row == begin || made < first)
      made = first;
    else
      hn_cpu_region_keep(planes, set->blocks, s->rows, width, first - before, made - first);
    if (made < last) make_rows(j, set, made, last, planes + (made - first) * width);
    pool_rows(j, set, row, count, first, last, planes);
    before = first;
    made = hn_cpu_greater(made, last);
  }
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  const state *s = j->s;
  const int64_t group_blocks = s->blocks / s->conv.groups;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t row = unit % s->strips * s->strip_rows;
    channel_set part = {.image = unit / s->strips};
    for (part.block = 0; part.block < s->blocks; part.block += part.blocks) {
      part.group = part.block / group_blocks;
      part.blocks = hn_cpu_lesser(s->conv.oc_blocks, (part.group + 1) * group_blocks - part.block);
      run_set(j, &part, row, hn_cpu_lesser(row + s->strip_rows, s->pool.out_h), j->workers + worker * s->worker_floats);
    }
  }
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  job j = {.s = s,
           .input = launch->in[X].data,
           .packed = launch->packed,
           .output = launch->out[0].data,
           .workers = launch->scratch};
  hn_pool_run(hn_stream_pool(stream), s->images * s->strips, 1, body, &j);
  return HONE_OK;
}

#define COMMON                                                                                                         \
  .flags = HONE_TACTIC_REPEATABLE, .pack_mask = 1 << W | 1 << B, .plan = plan, .variants = variants, .pack = pack,     \
  .launch = launch, .efficiency = HN_CPU_REGION_EFFICIENCY
const hone_tactic hn_tactics_cpu_region_conv_pool[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.conv_pool.f32.nchw16c.direct.avx512", .version = 1, .op = "conv_pool",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_NCHW16C, HONE_NCHW16C}},
     .kernel = &(const region_kernel){hn_conv_f32_nchw16c_avx512, hn_pool_max_f32_avx512, hn_pool_average_f32_avx512,
                                      16, HN_CONV_F32_OC_BLOCKS_AVX512, false, HONE_NCHW16C},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_pool.f32.nchw16c.first.avx512", .version = 1, .op = "conv_pool",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_PLAIN, HONE_NCHW16C}},
     .kernel = &(const region_kernel){hn_conv_f32_first_nchw16c_avx512, hn_pool_max_f32_avx512,
                                      hn_pool_average_f32_avx512, 16, 2, true, HONE_NCHW16C},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_pool.f32.nchw8c.direct.avx2", .version = 1, .op = "conv_pool",
     .isa = HONE_ISA_AVX2, .storages = {{HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const region_kernel){hn_conv_f32_nchw8c_avx2, hn_pool_max_f32_avx2, hn_pool_average_f32_avx2, 8,
                                      HN_CONV_F32_OC_BLOCKS_AVX2, false, HONE_NCHW8C},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_pool.f32.nchw8c.first.avx2", .version = 1, .op = "conv_pool",
     .isa = HONE_ISA_AVX2, .storages = {{HONE_PLAIN, HONE_NCHW8C}},
     .kernel = &(const region_kernel){hn_conv_f32_first_nchw8c_avx2, hn_pool_max_f32_avx2, hn_pool_average_f32_avx2, 8,
                                      2, true, HONE_NCHW8C},
     COMMON},
#endif
    {sizeof(hone_tactic), .name = "cpu.conv_pool.f32.nchw8c.direct.c", .version = 1, .op = "conv_pool",
     .isa = HONE_ISA_C, .storages = {{HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const region_kernel){hn_conv_f32_nchw8c_c, hn_pool_max_f32_c, hn_pool_average_f32_c, 8,
                                      HN_CONV_F32_OC_BLOCKS_C, false, HONE_NCHW8C},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_pool.f32.nchw8c.first.c", .version = 1, .op = "conv_pool",
     .isa = HONE_ISA_C, .storages = {{HONE_PLAIN, HONE_NCHW8C}},
     .kernel = &(const region_kernel){hn_conv_f32_first_nchw8c_c, hn_pool_max_f32_c, hn_pool_average_f32_c, 8, 2, true,
                                      HONE_NCHW8C},
     COMMON},
    {0}};
