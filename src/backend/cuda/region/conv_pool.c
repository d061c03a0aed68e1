/* SPDX-License-Identifier: Apache-2.0 */
/* conv_pool.c - the first convolution of a network, alone or with the maxima under windows of what it makes, in one
 * kernel in f16 or bf16 with the channels last (kernels/cuda/region/conv_pool.cuh); NVRTC compiles it for the shape and
 * the tile. Packed are the weights and the bias, as they lie in shared memory. */
#include "backend/cuda/conv/sliding.h"
#include "backend/cuda/region/region.h"
#include "kernels/cuda/region/conv_pool.h"
#include <stdio.h>
#include <string.h>

/* The texts in front of a kernel's constants: cmake/HoneCuda.cmake. */
extern const char hn_cuda_lay_out_h_begin[], hn_cuda_pieces_cuh_begin[], hn_cuda_conv_pool_h_begin[],
    hn_cuda_conv_pool_cuh_begin[];

enum { X, W, BIAS, PORTS };
enum { PACKED = 1 << W | 1 << BIAS, MOST_KERNEL = 7, MOST_POOL = 3, MOST_CHANNELS = 128 };

/* As the kernel has it. */
typedef struct conv_pool_args {
  void *y;
  const void *x, *weights;
  int images;
} conv_pool_args;

typedef struct state {
  hn_conv_pool region;
  hn_conv_pool_layout layout;
  hn_region_act act;
  int images, channels;
  CUfunction function;
} state;

/* Rows and columns of pooled pixels, threads. */
static const int tiles[][3] = {{4, 7, 128},  {4, 8, 256},  {7, 8, 256},  {8, 8, 256},
                               {4, 14, 256}, {8, 14, 512}, {8, 16, 128}, {16, 16, 256}};
enum { TILES = sizeof tiles / sizeof *tiles };

/* Windows of `prefix` over an image of h x w; out: h and w become what they make, if no extent says so. */
static const char *read_windows(const hone_query *query, const char *prefix, const int64_t *kernel, hone_shape *shape,
                                const hone_shape *made, hn_cuda_window *out) {
  hn_region_layer_attrs layer;
  hone_query one = *query;
  hn_region_attrs_behind(query, prefix, &layer);
  one.attrs = &layer.attrs;
  const hone_attr *automatic = hn_cuda_attr(&layer.attrs, "auto_pad");
  if (automatic && automatic->kind == HONE_ATTR_STRING && strcmp(automatic->s, "NOTSET") != 0)
    return "its pads are not given";
  HN_TRY_REASON(hn_cuda_sliding(&one, shape, made ? made : shape, kernel, out));
  if (out->kernel_h != out->kernel_w || out->stride_h != out->stride_w || out->dilation_h * out->dilation_w != 1)
    return "its windows are not square, or dilated";
  if (out->pad_h >= out->kernel_h || out->pad_w >= out->kernel_w || out->stride_h < 1)
    return "its pads are as large as its windows";
  if (made) return NULL;
  shape->dim[2] = (out->in_h + out->pad_h + out->pad_end_h - out->kernel_h) / out->stride_h + 1;
  shape->dim[3] = (out->in_w + out->pad_w + out->pad_end_w - out->kernel_w) / out->stride_w + 1;
  return NULL;
}

/* A row's operator and the prefix of its convolution's attributes. */
typedef struct row_layers {
  bool pools;
  const char *prefix;
} row_layers;
static const row_layers pooled = {true, "conv_"}, alone = {false, ""};

static const char *check_pool(const hone_query *query) {
  const hone_attr *kind = hn_cuda_attr(query->attrs, "pool");
  const hone_attr *window = hn_cuda_attr(query->attrs, "pool_kernel_shape");
  if (kind && kind->kind == HONE_ATTR_STRING && strcmp(kind->s, "max") != 0) return "it takes means";
  return window && window->kind == HONE_ATTR_INTS && window->count == 2 ? NULL : "its windows have not two axes";
}

static const char *read_layers(const hone_query *query, const hn_cuda_image *x, const hn_cuda_image *y, state *s) {
  const row_layers *row = query->tactic->kernel;
  const int64_t *w = query->in[W].type.shape.dim;
  hn_cuda_window conv, pool = {.kernel_h = 1, .stride_h = 1};
  if (row->pools) HN_TRY_REASON(check_pool(query));
  if (w[0] != y->c || w[1] != x->c || hn_cuda_attr_int(query->attrs, row->pools ? "conv_group" : "group", 1) != 1)
    return "it has groups";
  hone_shape mid = query->in[X].type.shape;
  HN_TRY_REASON(read_windows(query, row->prefix, w + 2, &mid, row->pools ? NULL : &query->out[0].type.shape, &conv));
  mid.dim[1] = y->c;
  if (!row->pools)
    mid = query->out[0].type.shape;
  else
    HN_TRY_REASON(read_windows(query, "pool_", hn_cuda_attr(query->attrs, "pool_kernel_shape")->ints, &mid,
                               &query->out[0].type.shape, &pool));
  if (conv.kernel_h > MOST_KERNEL || conv.stride_h > conv.kernel_h || pool.kernel_h > MOST_POOL)
    return "its windows are too large";
  s->region = (hn_conv_pool){.in_h = x->h,
                             .in_w = x->w,
                             .mid_h = (int)mid.dim[2],
                             .mid_w = (int)mid.dim[3],
                             .out_h = y->h,
                             .out_w = y->w,
                             .cout = y->c,
                             .kernel = conv.kernel_h,
                             .stride = conv.stride_h,
                             .pad_h = conv.pad_h,
                             .pad_w = conv.pad_w,
                             .pool = pool.kernel_h,
                             .pool_stride = pool.stride_h,
                             .pool_pad_h = pool.pad_h,
                             .pool_pad_w = pool.pad_w,
                             .quads = x->c <= 4 && conv.stride_h % 2 == 0};
  return NULL;
}

static const char *read(const hone_query *query, state *s) {
  hn_cuda_image x, y;
  if (query->in_count <= W || query->out_count != 1) return "it has another number of inputs or outputs";
  for (int i = PORTS; i < query->in_count; ++i)
    if (hn_cuda_given(query, i)) return "something is added, or its activation has slopes";
  HN_TRY_REASON(hn_cuda_image_of(&query->in[X], query->tactic->compute, &x));
  HN_TRY_REASON(hn_cuda_image_of(&query->out[0], query->tactic->compute, &y));
  if (query->in[X].type.shape.rank != 4 || x.pitch != 8) return "the image has more than 8 channels, or not two axes";
  if (y.c > MOST_CHANNELS) return "it makes too many channels";
  HN_TRY_REASON(hn_region_check_constant(query, W, 4));
  if (hn_cuda_given(query, BIAS)) {
    HN_TRY_REASON(hn_region_check_constant(query, BIAS, 1));
    if (query->in[BIAS].type.shape.dim[0] != y.c) return "the bias has another length";
  }
  HN_TRY_REASON(hn_region_read_act(query, ((const row_layers *)query->tactic->kernel)->prefix, &s->act));
  s->images = x.n, s->channels = x.c;
  return read_layers(query, &x, &y, s);
}

static bool take_tile(state *s, int64_t tile) {
  if (tile < 0 || tile >= TILES) return false;
  s->region.tile_h = tiles[tile][0], s->region.tile_w = tiles[tile][1], s->region.threads = tiles[tile][2];
  s->layout = hn_conv_pool_lay_out(s->region);
  return s->layout.bytes <= HN_REGION_SHARED && s->layout.mid_h * s->layout.mid_w <= 1024;
}

/* Blocks that a multiprocessor runs at once: threads have 128 registers each. */
static int together(const state *s) {
  const int room = (HN_REGION_SHARED + 1024) / (s->layout.bytes + 1024), most = 512 / s->region.threads;
  return room < most ? room : most;
}

/* Expected seconds on an H200. Of a tile: clocks that the multiprocessor is busy for (products with their loads, what
 * is read, the maxima), and those that go by at least, as products wait for each other. */
static double seconds_of(const state *s) {
  const double begin = 3200, clock = 1.75e9, bytes_a_clock = 32, fragment = 6, step = 45, phases = 500;
  const hn_conv_pool *r = &s->region;
  const hn_conv_pool_layout *l = &s->layout;
  const int high = l->mid_rows / 16, broad = l->wide / 16, steps = l->deep / 16;
  const int units = hn_region_parts(high, 2) * hn_region_parts(broad, 4);
  const double maxima = (double)r->tile_h * r->tile_w * broad * 2 * r->pool * r->pool / 8;
  const double busy = high * broad * steps * fragment + l->in_h * l->in_w * 16 / bytes_a_clock + maxima;
  const double least = hn_region_parts(units, r->threads / 32) * steps * step + phases;
  const double tiles_each = (double)s->images * l->tiles_h * l->tiles_w / HN_REGION_UNITS;
  const int shared = tiles_each > together(s) ? together(s) : tiles_each > 1 ? (int)(tiles_each + 0.999) : 1;
  const double rounds = tiles_each > shared ? tiles_each / shared : 1;
  return (begin + l->packed / bytes_a_clock + rounds * (least > shared * busy ? least : shared * busy)) / clock;
}

static double seconds_at(void *s, int i) { return take_tile(s, i) ? seconds_of(s) : -1; }
static int order(state *s, int *out) { return hn_region_order(s, TILES, seconds_at, out); }

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  const double peak = 8e14; /* an H200's products of halves a second */
  state asked = {0}, *s = state_memory ? state_memory : &asked;
  int best[TILES] = {0};
  HN_TRY_REASON(read(query, s));
  const bool is_asked = query->params && query->params->count;
  if (!is_asked && order(s, best) == 0) return "no tile of it fits into shared memory";
  if (!take_tile(s, is_asked ? hn_cuda_first_param(query) : best[0])) return "the tile does not fit into shared memory";
  if ((int64_t)s->images * s->layout.tiles_h * s->layout.tiles_w > INT32_MAX) return "it has too many tiles";
  const hone_cost cost = query->op->cost(query->attrs, query->in, query->in_count, query->out, query->out_count);
  needs->state = sizeof *s;
  needs->packed = (size_t)s->layout.packed;
  needs->efficiency = cost.flops / (peak * seconds_of(s));
  return NULL;
}

static int variants(const hone_query *query, hone_params *out, int room) {
  state s = {0};
  int best[TILES];
  if (read(query, &s)) return 0;
  const int fitting = order(&s, best), count = fitting < room ? fitting : room;
  for (int i = 0; i < count; ++i) out[i] = (hone_params){.count = 1, .items = {{.name = "tile", .value = best[i]}}};
  return count;
}

/* Where the weights of a tap begin in a row. */
static int place_of(const hn_conv_pool *r, const hn_conv_pool_layout *l, int tap) {
  const int y = tap / r->kernel, x = tap % r->kernel;
  return r->quads ? (y * l->along + x / 2) * 8 + x % 2 * 4 : tap * 8;
}

static hone_status pack(const hone_query *query, void *to) {
  state s = {0};
  hone_needs needs = {0};
  if (plan(query, &s, &needs)) return HONE_INTERNAL;
  const hn_conv_pool_layout *l = &s.layout;
  const hone_dtype held = query->tactic->compute;
  uint16_t *w = to;
  float *bias = (float *)(void *)((char *)to + l->bias);
  const int taps = s.region.kernel * s.region.kernel;
  memset(to, 0, needs.packed);
  for (int o = 0; o < s.region.cout; ++o) {
    bias[o] = hn_region_constant(query, BIAS, o);
    for (int c = 0; c < s.channels; ++c)
      for (int t = 0; t < taps; ++t)
        w[o * l->w_row + place_of(&s.region, l, t) + c] =
            hn_cuda_half_of(held, hn_region_constant(query, W, ((int64_t)o * s.channels + c) * taps + t));
  }
  return HONE_OK;
}

/* The texts of one variant's kernel, the last of them in `constants`; false: they are too long. */
enum { TEXTS = 5 };
static bool texts_of(const hone_query *query, const state *s, char *constants, const char **texts) {
  const hn_conv_pool *r = &s->region;
  const size_t room = HN_REGION_CONSTANTS;
  const size_t used = (size_t)hn_region_act_source(&s->act, "conv_act", constants, room);
  if (used >= room) return false;
  const int more =
      snprintf(constants + used, room - used,
               "struct shape {\n"
               "  static constexpr hn_conv_pool region = {%d, %d, %d, %d, %d, %d, %d, %d, %d, %d, "
               "%d, %d, %d, %d, %d, %d, %d, %d, %d};\n"
               "  typedef %s number;\n"
               "  typedef ::conv_act conv_act;\n"
               "};\n"
               "extern \"C\" __global__ void __launch_bounds__(%d, %d) hn_kernel(hn_conv_pool_args a) {\n"
               "  hn_convolve_and_pool<shape>(a);\n"
               "}\n",
               r->in_h, r->in_w, r->mid_h, r->mid_w, r->out_h, r->out_w, r->cout, r->kernel, r->stride, r->pad_h,
               r->pad_w, r->pool, r->pool_stride, r->pool_pad_h, r->pool_pad_w, r->quads, r->tile_h, r->tile_w,
               r->threads, query->tactic->compute == HONE_F16 ? "hn_f16" : "hn_bf16", r->threads, 512 / r->threads);
  texts[0] = hn_cuda_lay_out_h_begin, texts[1] = hn_cuda_pieces_cuh_begin, texts[2] = hn_cuda_conv_pool_h_begin;
  texts[3] = hn_cuda_conv_pool_cuh_begin, texts[4] = constants;
  return (size_t)more < room - used;
}

static hone_status prepare(hone_unit *unit, const hone_query *query, void *state_memory, hone_diagnostics *diag) {
  state *s = state_memory;
  char constants[HN_REGION_CONSTANTS];
  const char *texts[TEXTS];
  if (!texts_of(query, s, constants, texts)) return unit->host->fail(diag, HONE_LIMIT, "its activation is too long");
  return hn_region_compile(unit, texts, TEXTS, &s->function, diag);
}

static void expect(hone_unit *unit, const hone_query *query) {
  state s = {0};
  hone_needs needs = {0};
  char constants[HN_REGION_CONSTANTS];
  const char *texts[TEXTS];
  if (!plan(query, &s, &needs) && texts_of(query, &s, constants, texts)) hn_region_compile_soon(unit, texts, TEXTS);
}

/* As many blocks as run at once, or a block a tile. */
static unsigned blocks_of(const state *s) {
  const int64_t at_once = (int64_t)HN_REGION_UNITS * together(s);
  const int64_t all = (int64_t)s->images * s->layout.tiles_h * s->layout.tiles_w;
  return (unsigned)(all < at_once ? all : at_once);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  conv_pool_args args = {
      .y = launch->out[0].data, .x = launch->in[X].data, .weights = launch->packed, .images = s->images};
  const hn_cuda_shape shape = {.grid = {blocks_of(s), 1, 1},
                               .threads = (unsigned)s->region.threads,
                               .shared_bytes = (unsigned)s->layout.bytes,
                               .dependent = true};
  void *arguments[] = {&args};
  return hn_cuda_launch_function(stream, s->function, &shape, arguments);
}

const hone_tactic hn_tactics_cuda_conv_pool[] = {
    {sizeof(hone_tactic), .name = "cuda.conv_pool.f16.tensor", .version = 1, .op = "conv_pool",
     .isa = HN_CUDA_SM90 | HN_CUDA_NVRTC, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = PACKED,
     .compute = HONE_F16, .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}}, .plan = plan, .variants = variants,
     .pack = pack, .prepare = prepare, .expect = expect, .launch = launch, .kernel = &pooled},
    {sizeof(hone_tactic), .name = "cuda.conv_pool.bf16.tensor", .version = 1, .op = "conv_pool",
     .isa = HN_CUDA_SM90 | HN_CUDA_NVRTC, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = PACKED,
     .compute = HONE_BF16, .storages = {{HONE_BF16_NHWC, HONE_BF16_NHWC}}, .plan = plan, .variants = variants,
     .pack = pack, .prepare = prepare, .expect = expect, .launch = launch, .kernel = &pooled},
    {sizeof(hone_tactic), .name = "cuda.conv.f16.stem", .version = 1, .op = "conv", .isa = HN_CUDA_SM90 | HN_CUDA_NVRTC,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = PACKED, .compute = HONE_F16,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}}, .plan = plan, .variants = variants, .pack = pack, .prepare = prepare,
     .expect = expect, .launch = launch, .kernel = &alone},
    {sizeof(hone_tactic), .name = "cuda.conv.bf16.stem", .version = 1, .op = "conv",
     .isa = HN_CUDA_SM90 | HN_CUDA_NVRTC, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = PACKED,
     .compute = HONE_BF16, .storages = {{HONE_BF16_NHWC, HONE_BF16_NHWC}}, .plan = plan, .variants = variants,
     .pack = pack, .prepare = prepare, .expect = expect, .launch = launch, .kernel = &alone},
    {0}};
