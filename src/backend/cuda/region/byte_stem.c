/* SPDX-License-Identifier: Apache-2.0 */
/* byte_stem.c - the first convolution of a network of bytes, alone or with what quantises its image and with a pool
 * (kernels/cuda/region/byte_stem.cuh); NVRTC compiles it for the shape and the rows of a strip. Packed are the weights
 * as fragments, then what sums begin with and scales. */
#include "backend/cuda/bytes/bytes.h"
#include "backend/cuda/conv/sliding.h"
#include "backend/cuda/region/region.h"
#include "kernels/cuda/region/byte_stem.h"
#include <stdio.h>
#include <string.h>

/* The texts in front of a kernel's constants: cmake/HoneCuda.cmake. */
extern const char hn_cuda_lay_out_h_begin[], hn_cuda_pieces_cuh_begin[], hn_cuda_byte_stem_h_begin[],
    hn_cuda_byte_stem_cuh_begin[];

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, BIAS, RESIDUAL, PORTS };
static const hn_cuda_byte_ports ports = {X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, BIAS, RESIDUAL};

enum { MOST_KERNEL = 7, MOST_CHANNELS = 64, WARP = 32, TEXTS = 5 };

/* As the kernel has it. */
typedef struct byte_stem_args {
  void *y;
  const void *x, *weights, *x_scale;
  int images;
} byte_stem_args;

typedef struct state {
  hn_byte_stem stem;
  hn_byte_stem_layout layout;
  int images;
  CUfunction function;
} state;

/* Rows of a strip, threads. */
static const int strips[][2] = {{1, 512}, {1, 256}, {2, 256}, {4, 256}, {7, 256}, {8, 256}, {14, 256}, {16, 256}};
enum { STRIPS = sizeof strips / sizeof *strips };

/* A region as its convolution: the image in bytes, attributes without their prefix. */
typedef struct conv_query {
  hone_query query;
  hone_fact in[PORTS];
  hn_region_layer_attrs attrs;
} conv_query;

static const hone_query *conv_of(const hone_query *query, bool is_region, conv_query *out) {
  if (!is_region) return query;
  memcpy(out->in, query->in, (size_t)query->in_count * sizeof *out->in);
  out->in[X].type.dtype = query->in[X_ZERO].type.dtype;
  hn_region_attrs_behind(query, "conv_", &out->attrs);
  out->query = *query;
  out->query.in = out->in;
  out->query.attrs = &out->attrs.attrs;
  return &out->query;
}

static const char *check_square(const hn_cuda_window *w) {
  if (w->kernel_h != w->kernel_w || w->stride_h != w->stride_w || w->dilation_h * w->dilation_w != 1)
    return "its windows are not square, or dilated";
  return w->pad_h >= w->kernel_h || w->pad_w >= w->kernel_w ? "its pads are as large as its windows" : NULL;
}

/* made: the output, or anything of as many axes where a pool follows. */
static const char *read_conv(const hone_query *query, const hone_shape *made, hn_byte_stem *r) {
  hn_cuda_window w;
  HN_TRY_REASON(hn_cuda_sliding(query, &query->in[X].type.shape, made, query->in[W].type.shape.dim + 2, &w));
  HN_TRY_REASON(check_square(&w));
  if (w.kernel_h > MOST_KERNEL || w.stride_h > w.kernel_h) return "its windows are too large";
  r->kernel = w.kernel_h, r->stride = w.stride_h, r->pad_h = w.pad_h, r->pad_w = w.pad_w;
  r->mid_h = (w.in_h + w.pad_h + w.pad_end_h - w.kernel_h) / w.stride_h + 1;
  r->mid_w = (w.in_w + w.pad_w + w.pad_end_w - w.kernel_w) / w.stride_w + 1;
  return NULL;
}

static const char *read_pool(const hone_query *query, const hone_attr *kernel, hn_byte_stem *r) {
  const hone_shape *y = &query->out[0].type.shape;
  hn_region_layer_attrs pool;
  hn_cuda_window w;
  hone_query one = *query;
  hone_shape mid = *y;
  hn_region_attrs_behind(query, "pool_", &pool);
  one.attrs = &pool.attrs;
  mid.dim[2] = r->mid_h, mid.dim[3] = r->mid_w;
  if (kernel->kind != HONE_ATTR_INTS || kernel->count != 2) return "its windows have not two axes";
  HN_TRY_REASON(hn_cuda_sliding(&one, &mid, y, kernel->ints, &w));
  HN_TRY_REASON(check_square(&w));
  if (w.stride_h != 2 || w.kernel_h < 2 || w.kernel_h > 3) return "its maxima are not of 2 or 3 pixels at every second";
  if ((w.out_h - 1) * 2 - w.pad_h >= r->mid_h || (w.out_w - 1) * 2 - w.pad_w >= r->mid_w)
    return "a window of its pool is empty";
  r->pool = w.kernel_h, r->pool_pad_h = w.pad_h, r->pool_pad_w = w.pad_w;
  return NULL;
}

/* Maxima of sums are those of bytes where scales keep the order and nothing wraps. */
static const char *check_order(const hone_query *query, int outputs) {
  static const int32_t most = 1 << 30;
  const int scales[] = {X_SCALE, W_SCALE, Y_SCALE};
  for (int i = 0; i < 3; ++i) {
    const hone_tensor *scale = query->in[scales[i]].constant;
    for (int64_t c = 0; scale && scale->data && c < hn_cuda_elements(&scale->type.shape); ++c)
      if (!(hn_cuda_scale_at(scale, c) > 0)) return "a scale is not above zero";
  }
  const hone_tensor *bias = hn_cuda_given(query, BIAS) ? query->in[BIAS].constant : NULL;
  for (int c = 0; bias && bias->data && c < outputs; ++c) {
    const int32_t v = ((const int32_t *)bias->data)[c];
    if (v > most || v < -most) return "a bias is too large";
  }
  return NULL;
}

/* What the image is read as, and how many of what extents. */
static const char *read_image(const hone_query *query, bool is_region, hn_cuda_image *x, int *source) {
  const hone_fact *fact = &query->in[X];
  const hone_shape *shape = &fact->type.shape;
  *source = !is_region ? HN_STEM_BYTES : fact->type.dtype == HONE_BF16 ? HN_STEM_BF16 : HN_STEM_F16;
  if (!is_region || !hn_cuda_plain_f32(fact)) return hn_cuda_image_of(fact, fact->type.dtype, x);
  if (hn_cuda_elements(shape) < 1 || hn_cuda_elements(shape) > INT32_MAX / 2) return "it has too many elements";
  *source = HN_STEM_PLANES;
  *x = (hn_cuda_image){
      .n = (int)shape->dim[0], .c = (int)shape->dim[1], .h = (int)shape->dim[2], .w = (int)shape->dim[3]};
  return NULL;
}

static const char *read(const hone_query *query, hn_cuda_tensor_plan *p, state *s) {
  const bool is_region = strcmp(query->op->name, "qlinear_stem") == 0;
  const hone_shape *w = &query->in[W].type.shape;
  hn_cuda_image x, y;
  conv_query memory;
  int source;
  if (query->in_count <= Y_ZERO || query->in_count > PORTS || w->rank != 4 || query->in[X].type.shape.rank != 4)
    return "it has no weights, or not two axes";
  if (!is_region && hn_cuda_given(query, RESIDUAL)) return "something is added";
  const hone_query *conv = conv_of(query, is_region, &memory);
  HN_TRY_REASON(read_image(query, is_region, &x, &source));
  HN_TRY_REASON(hn_cuda_image_of(&query->out[0], query->in[X_ZERO].type.dtype, &y));
  if (x.c > 4 || w->dim[1] != x.c || w->dim[0] != y.c || hn_cuda_attr_int(conv->attrs, "group", 1) != 1)
    return "the image has more than 4 channels, or groups";
  if (y.c > MOST_CHANNELS || y.n != x.n) return "it makes too many channels";
  HN_TRY_REASON(hn_cuda_bytes_begin(conv, &ports, y.c, hn_cuda_elements(w) / y.c, hn_cuda_bytes_conv_channel, p));
  const hn_cuda_bytes *q = &p->args.bytes;
  const bool is_signed = p->type == HN_CUDA_TENSOR_I8;
  s->images = x.n;
  s->stem = (hn_byte_stem){.in_h = x.h,
                           .in_w = x.w,
                           .out_h = y.h,
                           .out_w = y.w,
                           .cin = x.c,
                           .cout = y.c,
                           .pool = 1,
                           .source = source,
                           .is_signed = is_signed,
                           .zero = q->zero,
                           .x_zero = is_signed ? (int8_t)q->pad : (uint8_t)q->pad,
                           .low = q->low,
                           .high = q->high};
  const hone_attr *kernel = is_region ? hn_cuda_attr(query->attrs, "pool_kernel_shape") : NULL;
  if (!kernel) {
    HN_TRY_REASON(read_conv(conv, &query->out[0].type.shape, &s->stem));
    s->stem.mid_h = y.h, s->stem.mid_w = y.w;
    return NULL;
  }
  const hone_attr *automatic = hn_cuda_attr(conv->attrs, "auto_pad");
  if (automatic && automatic->kind == HONE_ATTR_STRING && strcmp(automatic->s, "NOTSET") != 0)
    return "its pads are not given";
  HN_TRY_REASON(read_conv(conv, &query->in[X].type.shape, &s->stem));
  HN_TRY_REASON(read_pool(query, kernel, &s->stem));
  return check_order(query, y.c);
}

static bool take_strip(state *s, int64_t strip) {
  if (strip < 0 || strip >= STRIPS) return false;
  hn_byte_stem *r = &s->stem;
  r->rows = strips[strip][0], r->threads = strips[strip][1];
  if (r->rows > r->out_h) return false;
  s->layout = hn_byte_stem_lay_out(*r);
  return s->layout.bytes <= HN_REGION_SHARED;
}

/* Blocks that a multiprocessor runs at once: threads have 128 registers each. */
static int together(const state *s) {
  const int room = (HN_REGION_SHARED + 1024) / (s->layout.bytes + 1024), most = 512 / s->stem.threads;
  return room < most ? room : most;
}

/* Expected seconds on an H200: clocks of a warp for 32 pixels that are read, and for a row of sixteen convolved pixels
 * with its loads and what follows. */
static double seconds_of(const state *s) {
  const double begin = 8000, clock = 1.75e9, read = 32, row = 370, phases = 1600;
  const hn_byte_stem *r = &s->stem;
  const hn_byte_stem_layout *l = &s->layout;
  const int warps = r->threads / WARP, each = hn_region_parts(l->tiles, l->along) * l->mid_rows;
  const double loads = hn_region_parts(l->in_rows, warps) * (double)hn_region_parts(l->in_row, WARP) * read;
  const double strip = (loads + each * row * (8.0 * l->steps + 60) / 116) * warps / 4;
  const double least = loads * 2 + each * row * 2.5 + phases;
  const double strips_each = (double)s->images * l->strips / HN_REGION_UNITS;
  const int shared = strips_each > together(s) ? together(s) : strips_each > 1 ? (int)(strips_each + 0.999) : 1;
  const double rounds = strips_each > shared ? strips_each / shared : 1;
  return (begin + rounds * (least > shared * strip ? least : shared * strip)) / clock;
}

static double seconds_at(void *s, int i) { return take_strip(s, i) ? seconds_of(s) : -1; }
static int order(state *s, int *out) { return hn_region_order(s, STRIPS, seconds_at, out); }

static const char *plan_it(const hone_query *query, hn_cuda_tensor_plan *p, state *s, hone_needs *needs) {
  const double peak = 1.6e15; /* an H200's products of bytes a second */
  int best[STRIPS] = {0};
  HN_TRY_REASON(read(query, p, s));
  const bool is_asked = query->params && query->params->count;
  if (!is_asked && order(s, best) == 0) return "no strip of it fits into shared memory";
  if (!take_strip(s, is_asked ? hn_cuda_first_param(query) : best[0])) return "the strip does not fit";
  if ((int64_t)s->images * s->layout.strips > INT32_MAX / 2) return "it has too many strips";
  const hone_cost cost = query->op->cost(query->attrs, query->in, query->in_count, query->out, query->out_count);
  needs->state = sizeof *s;
  needs->packed = (size_t)s->layout.packed;
  needs->efficiency = cost.flops / (peak * seconds_of(s));
  return NULL;
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  hn_cuda_tensor_plan p;
  state asked = {0};
  return plan_it(query, &p, state_memory ? state_memory : &asked, needs);
}

static int variants(const hone_query *query, hone_params *out, int room) {
  hn_cuda_tensor_plan p;
  state s = {0};
  int best[STRIPS];
  if (read(query, &p, &s)) return 0;
  const int fitting = order(&s, best), count = fitting < room ? fitting : room;
  for (int i = 0; i < count; ++i) out[i] = (hone_params){.count = 1, .items = {{.name = "strip", .value = best[i]}}};
  return count;
}

/* The tap that slot 0 to 7 of step k multiplies; -1: none. */
static int tap_of(const state *s, int k, int slot) {
  const int kernel = s->stem.kernel, tap = s->layout.by_rows ? k * kernel + slot : k * 8 + slot;
  return s->layout.by_rows ? (slot < kernel ? tap : -1) : (tap < kernel * kernel ? tap : -1);
}

/* Words of fragments: of 32 channels, a step, a product, a lane its two. A word is the channels of a tap. */
static void pack_weights(const hone_query *query, const state *s, int8_t *to) {
  const hn_byte_stem_layout *l = &s->layout;
  const int taps = s->stem.kernel * s->stem.kernel, cin = s->stem.cin;
  for (int i = 0; i < l->vectors / 4; ++i) {
    const int half = i % 2, lane = i / 2 % WARP, j = i / 2 / WARP % 4, k = i / 2 / WARP / 4 % l->steps;
    const int group = i / 2 / WARP / 4 / l->steps;
    const int channel = group * WARP + hn_byte_stem_channel(j, lane / 4), tap = tap_of(s, k, half * 4 + lane % 4);
    for (int c = 0; c < cin && channel < s->stem.cout && tap >= 0; ++c)
      hn_cuda_bytes_conv_channel(query, channel, (int64_t)cin * taps, (int64_t)c * taps + tap, 1, to + i * 4 + c);
  }
}

static hone_status pack(const hone_query *query, void *to) {
  hn_cuda_tensor_plan p;
  state s = {0};
  hone_needs needs = {0};
  if (plan_it(query, &p, &s, &needs)) return HONE_INTERNAL;
  int32_t *begins = (int32_t *)(void *)((char *)to + s.layout.vectors);
  memset(to, 0, needs.packed);
  pack_weights(query, &s, to);
  hn_cuda_bytes_fill(query, &ports, s.stem.cout, (int64_t)s.stem.cin * s.stem.kernel * s.stem.kernel,
                     hn_cuda_bytes_conv_channel,
                     &(hn_cuda_byte_vectors){begins, (float *)(begins + s.layout.groups * WARP)});
  return HONE_OK;
}

/* The texts of one variant's kernel, the last of them in `constants`. */
static bool texts_of(const state *s, char *constants, const char **texts) {
  const hn_byte_stem *r = &s->stem;
  const int used = snprintf(
      constants, HN_REGION_CONSTANTS,
      "struct shape {\n"
      "  static constexpr hn_byte_stem stem = {%d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, "
      "%d, %d, %d, %d, %d, %d, %d};\n"
      "  typedef %s number;\n"
      "};\n"
      "extern \"C\" __global__ void __launch_bounds__(%d, %d) hn_kernel(hn_byte_stem_args a) {\n"
      "  hn_stem<shape>(a);\n"
      "}\n",
      r->in_h, r->in_w, r->mid_h, r->mid_w, r->out_h, r->out_w, r->cin, r->cout, r->kernel, r->stride, r->pad_h,
      r->pad_w, r->pool, r->pool_pad_h, r->pool_pad_w, r->source, r->is_signed, r->zero, r->x_zero, r->low, r->high,
      r->rows, r->threads, r->source == HN_STEM_BF16 ? "hn_bf16" : "hn_f16", r->threads, 512 / r->threads);
  texts[0] = hn_cuda_lay_out_h_begin, texts[1] = hn_cuda_pieces_cuh_begin, texts[2] = hn_cuda_byte_stem_h_begin;
  texts[3] = hn_cuda_byte_stem_cuh_begin, texts[4] = constants;
  return used < HN_REGION_CONSTANTS;
}

static hone_status prepare(hone_unit *unit, const hone_query *query, void *state_memory, hone_diagnostics *diag) {
  (void)query;
  state *s = state_memory;
  char constants[HN_REGION_CONSTANTS];
  const char *texts[TEXTS];
  if (!texts_of(s, constants, texts)) return unit->host->fail(diag, HONE_LIMIT, "its extents are too long");
  return hn_region_compile(unit, texts, TEXTS, &s->function, diag);
}

static void expect(hone_unit *unit, const hone_query *query) {
  state s = {0};
  hone_needs needs = {0};
  char constants[HN_REGION_CONSTANTS];
  const char *texts[TEXTS];
  if (!plan(query, &s, &needs) && texts_of(&s, constants, texts)) hn_region_compile_soon(unit, texts, TEXTS);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  const int64_t all = (int64_t)s->images * s->layout.strips, at_once = (int64_t)HN_REGION_UNITS * together(s);
  byte_stem_args args = {.y = launch->out[0].data,
                         .x = launch->in[X].data,
                         .weights = launch->packed,
                         .x_scale = launch->in[X_SCALE].data,
                         .images = s->images};
  const hn_cuda_shape shape = {.grid = {(unsigned)(all < at_once ? all : at_once), 1, 1},
                               .threads = (unsigned)s->stem.threads,
                               .shared_bytes = (unsigned)s->layout.bytes,
                               .dependent = true};
  void *arguments[] = {&args};
  return hn_cuda_launch_function(stream, s->function, &shape, arguments);
}

const hone_tactic hn_tactics_cuda_byte_stem[] = {
    {sizeof(hone_tactic), .name = "cuda.qlinear_conv.bytes.stem", .version = 1, .op = "qlinear_conv",
     .isa = HN_CUDA_SM90 | HN_CUDA_NVRTC, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_NHWC, HONE_NHWC}},
     .pack_mask = 1 << X_SCALE | 1 << W | 1 << W_SCALE | 1 << W_ZERO | 1 << Y_SCALE | 1 << BIAS, .plan = plan,
     .variants = variants, .pack = pack, .prepare = prepare, .expect = expect, .launch = launch},
    {sizeof(hone_tactic), .name = "cuda.qlinear_stem.bytes", .version = 1, .op = "qlinear_stem",
     .isa = HN_CUDA_SM90 | HN_CUDA_NVRTC, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_PLAIN, HONE_NHWC}, {HONE_F16_NHWC, HONE_NHWC}, {HONE_BF16_NHWC, HONE_NHWC}},
     .pack_mask = 1 << W | 1 << W_SCALE | 1 << W_ZERO | 1 << Y_SCALE | 1 << BIAS, .plan = plan, .variants = variants,
     .pack = pack, .prepare = prepare, .expect = expect, .launch = launch},
    {0}};
