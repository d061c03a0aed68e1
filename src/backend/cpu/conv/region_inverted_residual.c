/* SPDX-License-Identifier: Apache-2.0 */
/* region_inverted_residual.c - 1x1, depthwise, 1x1 convolution of f32 on channel-blocked activations, band of rows by
 * band of rows: the expanded channels of a band and what the depthwise layer makes of them stay in the worker's scratch
 * memory. Rows that the next band needs again are kept. A strip of bands is one unit. Sums are those of the single
 * layers, in their order, so that neither bands nor strips show in a result.
 *
 * Packed are the weights and the bias of each layer, as the single layers' tactics pack them. */
#include "backend/cpu/conv/region.h"
#include <string.h>

enum { X, EXPAND, EXPAND_BIAS, DEPTHWISE, DEPTHWISE_BIAS, PROJECT, PROJECT_BIAS, RESIDUAL, PORTS };
enum { PACKED = (1 << RESIDUAL) - (1 << EXPAND) }; /* all weights and biases */
enum { SET_BLOCKS = 2, ALL_BLOCKS = 1 << 20, MOST_BAND = 16 };

/* One row's kernels. */
typedef struct region_kernel {
  void (*pointwise)(const hn_conv_f32 *conv, int64_t begin, int64_t end);
  void (*depthwise)(const hn_conv_f32 *conv, int64_t begin, int64_t end);
  int block, most; /* lanes of a block, the widest set of the 1x1 kernel */
  hone_format format;
} region_kernel;

typedef struct state {
  const region_kernel *kernel;
  hn_conv_f32 expand, depthwise, project; /* without pointers; of whole images */
  bool expands, projects, has_bias[3], has_residual;
  int64_t band, set;                             /* output rows of a band; blocks that are expanded at once */
  int64_t images, strip_rows, strips;            /* of an image */
  int64_t blocks;                                /* of the depthwise layer */
  int64_t expanded_rows;                         /* rows of a plane of scratch */
  int64_t expanded_floats, worker_floats;        /* the second holds both */
  int64_t offset[3], bias_offset[3], all_floats; /* in packed memory */
} state;

static const char *read_layers(const hone_query *query, state *s) {
  hn_region_attrs attrs;
  hn_sliding sliding;
  if (query->in_count <= DEPTHWISE || query->in_count > PORTS) return "it has another number of inputs";
  if (query->out_count != 1) return "it has another number of outputs";
  const hone_type *x = &query->in[X].type, *w = &query->in[DEPTHWISE].type, *y = &query->out[0].type;
  if (x->kind != HONE_TENSOR || w->kind != HONE_TENSOR || y->kind != HONE_TENSOR) return "an input is absent";
  s->expands = hn_cpu_given(query, EXPAND);
  s->projects = hn_cpu_given(query, PROJECT);
  s->has_residual = hn_cpu_given(query, RESIDUAL);
  if (!s->expands && !s->projects) return "it is a depthwise layer alone";
  if (!s->projects && (s->has_residual || hn_cpu_given(query, PROJECT_BIAS))) return "there is no last layer";
  if (!s->expands && hn_cpu_given(query, EXPAND_BIAS)) return "there is no first layer";
  for (int i = 0; i < 3; ++i) s->has_bias[i] = hn_cpu_given(query, EXPAND_BIAS + 2 * i);
  if (w->shape.rank < 3 || w->shape.rank != x->shape.rank || w->shape.dim[0] < 1)
    return "the weights have another rank";
  const int64_t channels = w->shape.dim[0];
  const hone_type wide = s->expands ? hn_cpu_region_type(x, channels, NULL) : *x;
  const char *reason = NULL;
  if (s->expands) {
    hn_cpu_region_attrs(query, "expand_", 1, &attrs);
    reason = hn_cpu_region_read(query, &attrs, x, EXPAND, -1, &wide, &s->expand);
    if (!reason && s->expand.kernel_height * s->expand.kernel_width != 1) reason = "the first layer is not 1x1";
  }
  if (reason) return reason;
  hn_cpu_region_attrs(query, "depthwise_", channels, &attrs);
  if (hn_sliding_make(NULL, NULL, &attrs.attrs, &wide.shape, w->shape.dim + 2, &sliding) != HONE_OK)
    return "its window does not fit";
  const hone_type narrow = hn_cpu_region_type(&wide, channels, &sliding);
  reason = hn_cpu_region_read(query, &attrs, &wide, DEPTHWISE, -1, s->projects ? &narrow : y, &s->depthwise);
  if (!reason && s->depthwise.in_channels != channels) reason = "the second layer is not depthwise";
  if (reason || !s->projects) return reason;
  hn_cpu_region_attrs(query, "project_", 1, &attrs);
  reason = hn_cpu_region_read(query, &attrs, &narrow, PROJECT, RESIDUAL, y, &s->project);
  if (!reason && s->project.kernel_height * s->project.kernel_width != 1) reason = "the last layer is not 1x1";
  return reason;
}

static void plan_scratch(state *s, int block) {
  const hn_conv_f32 *d = &s->depthwise;
  s->blocks = hn_ceil_div(d->out_channels, block);
  s->expanded_rows = (s->band - 1) * d->stride_height + (d->kernel_height - 1) * d->dilation_height + 1;
  s->expanded_floats = s->expands ? s->blocks * s->expanded_rows * d->in_width * block : 0;
  const int64_t filtered = s->projects ? s->blocks * s->band * d->out_width * block : 0;
  s->worker_floats = hn_cpu_whole_lines(s->expanded_floats + filtered);
}

/* Reads the layers, and says why not. */
static const char *accept(const hone_query *query, const region_kernel *kernel, state *s) {
  HN_TRY_REASON(read_layers(query, s));
  if (!hn_reads_as(&query->in[X].type, kernel->format)) return "the input has another format";
  if (!hn_reads_as(&query->out[0].type, kernel->format)) return "the output has another format";
  const hn_conv_f32 *d = &s->depthwise;
  const double rows = MOST_BAND * (double)d->stride_height + (double)(d->kernel_height * d->dilation_height);
  if ((double)(d->in_channels + 16) * rows * (double)(d->in_width + d->out_width) > 1e9)
    return "its rows are too large";
  return NULL;
}

/* Places in packed memory. */
static void place_weights(state *s, int block) {
  const hn_conv_f32 *layers[3] = {&s->expand, &s->depthwise, &s->project};
  const bool given[3] = {s->expands, true, s->projects};
  int64_t at = 0;
  for (int i = 0; i < 3; ++i) {
    const hn_conv_f32 *c = layers[i];
    s->offset[i] = at;
    if (!given[i]) continue;
    at += i == 1 ? hn_conv_f32_dw_packed_floats(c->out_channels, c->kernel_height * c->kernel_width, block)
                 : hn_conv_f32_packed_floats(c->out_channels, c->in_channels, 1, block);
    s->bias_offset[i] = at;
    if (s->has_bias[i]) at += hn_ceil_div(c->out_channels, block) * block;
  }
  s->all_floats = at;
}

static hone_status pack(const hone_query *query, void *memory) {
  const int block = ((const region_kernel *)query->tactic->kernel)->block;
  float *to = memory;
  state s = {0};
  if (read_layers(query, &s)) return HONE_INTERNAL;
  place_weights(&s, block);
  const hn_conv_f32 *d = &s.depthwise;
  if (s.expands)
    hn_conv_f32_pack_c(query->in[EXPAND].constant->data, s.expand.out_channels, s.expand.in_channels, 1, block, 0,
                       hn_ceil_div(s.expand.out_channels, block), to + s.offset[0]);
  hn_conv_f32_dw_pack_c(query->in[DEPTHWISE].constant->data, d->out_channels, d->kernel_height * d->kernel_width, block,
                        to + s.offset[1]);
  if (s.projects)
    hn_conv_f32_pack_c(query->in[PROJECT].constant->data, s.project.out_channels, s.project.in_channels, 1, block, 0,
                       hn_ceil_div(s.project.out_channels, block), to + s.offset[2]);
  hn_cpu_conv_pack_channels(query, EXPAND_BIAS, s.expand.out_channels, block, to + s.bias_offset[0]);
  hn_cpu_conv_pack_channels(query, DEPTHWISE_BIAS, d->out_channels, block, to + s.bias_offset[1]);
  hn_cpu_conv_pack_channels(query, PROJECT_BIAS, s.project.out_channels, block, to + s.bias_offset[2]);
  return HONE_OK;
}

/* Output rows of a band, and how many blocks are expanded before they are filtered. Fewer of both where eight rows are
 * more than a small inner cache holds; they depend on the shape alone. */
static int variants(const hone_query *query, hone_params *out, int room) {
  enum { SMALL_CACHE_FLOATS = 1 << 16 };
  static const int64_t bands[] = {8, MOST_BAND, 4}, sets[] = {ALL_BLOCKS, ALL_BLOCKS, SET_BLOCKS};
  const region_kernel *kernel = query->tactic->kernel;
  state s = {.band = bands[0]};
  int count = 0;
  if (read_layers(query, &s)) return 0;
  plan_scratch(&s, kernel->block);
  const bool wanted[] = {true, s.depthwise.out_height > bands[0], s.worker_floats > SMALL_CACHE_FLOATS};
  for (size_t i = 0; i < HN_COUNT(bands) && count < room; ++i)
    if (wanted[i]) out[count++] = (hone_params){.count = 2, .items = {{"rows", bands[i]}, {"set", sets[i]}}};
  return count;
}

/* The set of a 1x1 tile, for so many blocks. */
static int32_t tile_blocks(int64_t blocks, int most) {
  return (int32_t)hn_cpu_lesser(blocks, hn_cpu_lesser(most, blocks % 2 && blocks % 3 == 0 ? 3 : 2));
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked = {0}, *s = state_memory ? state_memory : &asked;
  const region_kernel *kernel = query->tactic->kernel;
  HN_TRY_REASON(accept(query, kernel, s));
  s->kernel = kernel;
  place_weights(s, kernel->block);
  const int64_t rows = s->depthwise.out_height;
  s->images = s->depthwise.batch;
  s->band = hn_cpu_lesser(hn_cpu_conv_param(query, 0, MOST_BAND, 4), rows);
  plan_scratch(s, kernel->block);
  s->set = hn_cpu_lesser(hn_cpu_conv_param(query, 1, INT64_MAX, SET_BLOCKS), s->blocks);
  s->strip_rows = hn_cpu_region_strip_rows(query, s->images, rows);
  s->strips = hn_ceil_div(rows, s->strip_rows);
  s->expand.batch = s->project.batch = s->depthwise.batch = 1;
  s->expand.oc_blocks = tile_blocks(s->set, kernel->most);
  s->project.oc_blocks = tile_blocks(hn_ceil_div(s->project.out_channels, kernel->block), kernel->most);
  s->depthwise.oc_blocks = 1;
  needs->state = sizeof *s;
  needs->scratch = (size_t)(hn_cpu_threads(query->facts) * s->worker_floats) * sizeof(float);
  needs->packed = (size_t)s->all_floats * sizeof(float);
  return NULL;
}

typedef struct job {
  const state *s;
  const float *input, *packed, *residual;
  float *output, *workers;
} job;

/* One band: rows [row, row + count) of an image; made: how far expanded rows were computed before. */
typedef struct band {
  int64_t image, row, count;
  int64_t first, end, made; /* rows that the depthwise layer reads, in its input; those before made are in scratch */
} band;

/* Expanded rows [made, end) of blocks [block, block + blocks): zeros above and below the image. */
static void expand_rows(const job *j, const band *b, int64_t block, int64_t blocks, float *expanded) {
  const state *s = j->s;
  const int lanes = s->kernel->block;
  hn_conv_f32 c = s->expand;
  const int64_t row = c.in_width * lanes, plane = s->expanded_rows * row;
  const int64_t low = hn_cpu_lesser(hn_cpu_greater(b->made, 0), b->end);
  const int64_t high = hn_cpu_greater(hn_cpu_lesser(b->end, c.in_height), low);
  float *to = expanded + block * plane;
  for (int64_t i = 0; i < blocks; ++i) {
    memset(to + i * plane + (b->made - b->first) * row, 0, (size_t)((low - b->made) * row) * sizeof *to);
    memset(to + i * plane + (high - b->first) * row, 0, (size_t)((b->end - high) * row) * sizeof *to);
  }
  if (low == high) return;
  const int64_t in_blocks = hn_ceil_div(c.in_channels, lanes);
  c.input = j->input + (b->image * in_blocks * c.in_height + low) * row;
  c.weights = j->packed + s->offset[0] + block * in_blocks * lanes * lanes;
  c.output = to + (low - b->first) * row;
  if (s->has_bias[0]) c.epilogue.bias = j->packed + s->bias_offset[0] + block * lanes;
  c.out_channels = hn_cpu_lesser(c.out_channels - block * lanes, blocks * lanes);
  c.out_height = s->expanded_rows;
  c.unit_rows = (high - low) * c.in_width;
  s->kernel->pointwise(&c, 0, hn_ceil_div(blocks, c.oc_blocks));
}

static void filter_rows(const job *j, const band *b, int64_t block, int64_t blocks, const float *expanded,
                        float *filtered) {
  const state *s = j->s;
  const int lanes = s->kernel->block;
  hn_conv_f32 c = s->depthwise;
  const int64_t in_plane = (s->expands ? s->expanded_rows : c.in_height) * c.in_width * lanes,
                width = c.out_width * lanes;
  if (s->expands) {
    c.input = expanded + block * in_plane;
    c.in_height = s->expanded_rows;
    c.pad_top = 0;
  } else {
    c.input = j->input + (b->image * s->blocks + block) * in_plane;
    c.pad_top = -b->first;
  }
  if (s->projects) {
    c.output = filtered + block * s->band * width;
    c.out_height = s->band;
  } else {
    c.output = j->output + ((b->image * s->blocks + block) * c.out_height + b->row) * width;
  }
  c.weights = j->packed + s->offset[1] + block * c.kernel_height * c.kernel_width * lanes;
  if (s->has_bias[1]) c.epilogue.bias = j->packed + s->bias_offset[1] + block * lanes;
  c.in_channels = c.out_channels = c.groups = hn_cpu_lesser(c.out_channels - block * lanes, blocks * lanes);
  c.unit_rows = b->count;
  s->kernel->depthwise(&c, 0, blocks);
}

static void project_rows(const job *j, const band *b, const float *filtered) {
  const state *s = j->s;
  hn_conv_f32 c = s->project;
  const int64_t blocks = hn_ceil_div(c.out_channels, s->kernel->block), width = c.out_width * s->kernel->block;
  const int64_t at = (b->image * blocks * c.out_height + b->row) * width;
  c.input = filtered;
  c.in_height = s->band;
  c.weights = j->packed + s->offset[2];
  c.output = j->output + at;
  if (s->has_bias[2]) c.epilogue.bias = j->packed + s->bias_offset[2];
  if (s->has_residual) c.epilogue.residual = j->residual + at;
  c.unit_rows = b->count * c.out_width;
  s->kernel->pointwise(&c, 0, hn_ceil_div(blocks, c.oc_blocks));
}

static void run_strip(const job *j, int64_t unit, float *expanded) {
  const state *s = j->s;
  const hn_conv_f32 *d = &s->depthwise;
  const int64_t row = d->in_width * s->kernel->block, begin = unit % s->strips * s->strip_rows;
  const int64_t end = hn_cpu_lesser(begin + s->strip_rows, d->out_height);
  band b = {.image = unit / s->strips};
  for (b.row = begin; b.row < end; b.row += s->band) {
    const int64_t before = b.first;
    b.count = hn_cpu_lesser(s->band, end - b.row);
    b.first = b.row * d->stride_height - d->pad_top;
    b.end = b.first + (b.count - 1) * d->stride_height + (d->kernel_height - 1) * d->dilation_height + 1;
    const int64_t kept = b.row == begin ? 0 : b.made - b.first;
    if (b.row == begin || kept < 0) b.made = b.first;
    for (int64_t block = 0; block < s->blocks; block += s->set) {
      const int64_t blocks = hn_cpu_lesser(s->set, s->blocks - block);
      if (s->expands && b.row > begin)
        hn_cpu_region_keep(expanded + block * s->expanded_rows * row, blocks, s->expanded_rows, row, b.first - before,
                           kept);
      if (s->expands) expand_rows(j, &b, block, blocks, expanded);
      filter_rows(j, &b, block, blocks, expanded, expanded + s->expanded_floats);
    }
    if (s->projects) project_rows(j, &b, expanded + s->expanded_floats);
    b.made = b.end;
  }
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  for (int64_t unit = begin; unit < end; ++unit) run_strip(j, unit, j->workers + worker * j->s->worker_floats);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  job j = {.s = s,
           .input = launch->in[X].data,
           .packed = launch->packed,
           .residual = s->has_residual ? launch->in[RESIDUAL].data : NULL,
           .output = launch->out[0].data,
           .workers = launch->scratch};
  hn_pool_run(hn_stream_pool(stream), s->images * s->strips, 1, body, &j);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_region_inverted_residual[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.inverted_residual.f32.nchw16c.avx512", .version = 1, .op = "inverted_residual",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = PACKED,
     .storages = {{HONE_NCHW16C, HONE_NCHW16C}}, .plan = plan, .variants = variants, .pack = pack, .launch = launch,
     .efficiency = HN_CPU_REGION_EFFICIENCY,
     .kernel = &(const region_kernel){hn_conv_f32_1x1_nchw16c_avx512, hn_conv_dw_f32_nchw16c_avx512, 16,
                                      HN_CONV_F32_OC_BLOCKS_AVX512, HONE_NCHW16C}},
    {sizeof(hone_tactic), .name = "cpu.inverted_residual.f32.nchw8c.avx2", .version = 1, .op = "inverted_residual",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = PACKED,
     .storages = {{HONE_NCHW8C, HONE_NCHW8C}}, .plan = plan, .variants = variants, .pack = pack, .launch = launch,
     .efficiency = HN_CPU_REGION_EFFICIENCY,
     .kernel = &(const region_kernel){hn_conv_f32_1x1_nchw8c_avx2, hn_conv_dw_f32_nchw8c_avx2, 8,
                                      HN_CONV_F32_OC_BLOCKS_AVX2, HONE_NCHW8C}},
#endif
    {sizeof(hone_tactic), .name = "cpu.inverted_residual.f32.nchw8c.c", .version = 1, .op = "inverted_residual",
     .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = PACKED, .storages = {{HONE_NCHW8C, HONE_NCHW8C}},
     .plan = plan, .variants = variants, .pack = pack, .launch = launch, .efficiency = HN_CPU_REGION_EFFICIENCY,
     .kernel = &(const region_kernel){hn_conv_f32_1x1_nchw8c_c, hn_conv_dw_f32_nchw8c_c, 8, HN_CONV_F32_OC_BLOCKS_C,
                                      HONE_NCHW8C}},
    {0}};
