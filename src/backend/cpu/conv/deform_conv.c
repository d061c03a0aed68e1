/* SPDX-License-Identifier: Apache-2.0 */
/* deform_conv.c - convolution with moved taps over planes of plain f32, as a matrix product: weights [O x K] times
 * columns [K x pixels], K = input channels of a group x kernel. A unit is a run of pixel panels of one image: where a
 * panel's pixels read is found once for all channels of an offset group, then the columns of one group after the other
 * are read into packed panels. Channels that share a group and its offsets are laid side by side before, where there
 * are enough of them. */
#include "backend/cpu/gemm/gemm_common.h"
#include "kernels/cpu/conv/deform.h"
#include "tensor/sliding.h"

enum { X, W, OFFSET, BIAS, MASK, INPUTS };
enum { LEAST_PANELS = 4 };
static const double ns_per_read = 1.5, ns_per_joined_read = 0.2, most_bytes = 1 << 30;

typedef struct row_kernel {
  const hn_cpu_gemm_kernel *gemm;
  hn_deform_place_fn *place;
  hn_deform_gather_fn *gather;
  hn_deform_join_fn *join;
  hn_deform_blend_fn *blend;
  int lanes;
} row_kernel;

typedef struct state {
  const row_kernel *kernel;
  hn_deform_args args;           /* no pointers */
  hn_gemm_f32 gemm;              /* m, k, strides, tiles; no pointers */
  int64_t batch, channels, outs; /* of all groups */
  int64_t groups, offset_groups, taps;
  int64_t panels, chunk, chunks; /* of pixels */
  int64_t units, grain;
  int64_t joined, joined_blocks, joined_floats; /* channels that are laid side by side, at most `lanes` of them in a
                                                 * block; 0: none. Blocks of all images, floats of one */
  int64_t join_grain;
  int64_t column_floats, place_floats, worker_floats; /* of one worker: columns, places, a packed block of A */
  bool has_bias, has_mask;
} state;

static bool is_plain(const hone_query *query) {
  for (int i = 0; i < query->in_count; ++i)
    if (hn_cpu_given(query, i) && !hn_cpu_is(&query->in[i], HONE_F32, HONE_PLAIN)) return false;
  return hn_cpu_is(&query->out[0], HONE_F32, HONE_PLAIN);
}

/* [N, channels, out_h, out_w] */
static bool has_shape(const hone_query *query, int input, int64_t channels) {
  hone_shape want = query->out[0].type.shape;
  want.dim[1] = channels;
  return hn_shape_equal(&query->in[input].type.shape, &want);
}

static const char *read_window(const hone_query *query, state *s) {
  const hone_shape *x = &query->in[X].type.shape, *w = &query->in[W].type.shape, *y = &query->out[0].type.shape;
  hn_sliding sliding;
  if (hn_sliding_make(NULL, NULL, query->attrs, x, w->dim + 2, &sliding) != HONE_OK)
    return "its windows do not fit the input";
  if (y->dim[2] != sliding.out[0] || y->dim[3] != sliding.out[1]) return "the output has another shape";
  if ((double)x->dim[2] * (double)x->dim[3] > INT32_MAX || (double)y->dim[2] * (double)y->dim[3] > INT32_MAX)
    return "a plane is too large";
  s->args = (hn_deform_args){.in_h = x->dim[2],
                             .in_w = x->dim[3],
                             .out_h = y->dim[2],
                             .out_w = y->dim[3],
                             .kernel_h = w->dim[2],
                             .kernel_w = w->dim[3],
                             .stride_h = sliding.stride[0],
                             .stride_w = sliding.stride[1],
                             .dilation_h = sliding.dilation[0],
                             .dilation_w = sliding.dilation[1],
                             .pad_top = sliding.pad_begin[0],
                             .pad_left = sliding.pad_begin[1]};
  return NULL;
}

static const char *read(const hone_query *query, state *s) {
  HN_TRY_REASON(hn_cpu_check(query, 3, INPUTS, 1));
  if (!is_plain(query)) return "it is not plain f32";
  const hone_shape *x = &query->in[X].type.shape, *w = &query->in[W].type.shape, *y = &query->out[0].type.shape;
  if (x->rank != 4 || w->rank != 4 || y->rank != 4) return "it has not two spatial axes";
  HN_TRY_REASON(read_window(query, s));
  s->batch = x->dim[0];
  s->channels = x->dim[1];
  s->outs = w->dim[0];
  s->groups = hn_attr_int(query->attrs, "group");
  s->offset_groups = hn_attr_int(query->attrs, "offset_group");
  s->has_bias = hn_cpu_given(query, BIAS);
  s->has_mask = hn_cpu_given(query, MASK);
  if (s->groups < 1 || s->offset_groups < 1 || s->channels % s->groups || s->channels % s->offset_groups ||
      s->outs % s->groups || w->dim[1] != s->channels / s->groups || y->dim[0] != s->batch || y->dim[1] != s->outs)
    return "its channels do not fit its groups";
  if (hn_elems(y) < 1 || hn_elems(x) < 1 || hn_elems(w) < 1) return "it is empty";
  s->taps = w->dim[2] * w->dim[3];
  const int64_t moves = s->offset_groups * s->taps;
  if (!has_shape(query, OFFSET, 2 * moves) || (s->has_mask && !has_shape(query, MASK, moves)))
    return "offsets or mask have another shape";
  if (s->has_bias && (query->in[BIAS].type.shape.rank != 1 || query->in[BIAS].type.shape.dim[0] != s->outs))
    return "the bias has another shape";
  return NULL;
}

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static void plan_joining(state *s) {
  const int lanes = s->kernel->lanes;
  const int64_t alike = common_divisor(s->channels / s->groups, s->channels / s->offset_groups);
  s->joined = alike * 2 >= lanes ? alike : 0;
  if (!s->joined) return;
  s->joined_blocks = s->batch * (s->channels / alike) * hn_ceil_div(alike, lanes);
  s->joined_floats = hn_cpu_whole_lines((s->args.in_h * s->args.in_w + 1) * lanes);
  s->join_grain =
      hn_cpu_grain(s->joined_blocks, (double)s->joined_blocks * (double)s->joined_floats * 8 * HN_CPU_NS_PER_BYTE);
}

/* A chunk's columns fill about half of L2, but several panels share one packing of the weights. */
static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  state asked = {0}, *s = memory ? memory : &asked;
  s->kernel = query->tactic->kernel;
  HN_TRY_REASON(read(query, s));
  hn_gemm_f32 *g = &s->gemm;
  const int width = s->kernel->gemm->panel;
  const int64_t pixels = s->args.out_h * s->args.out_w, threads = hn_cpu_threads(query->facts);
  const size_t l2 = hn_cpu_l2_bytes(query->facts);
  *g = (hn_gemm_f32){.m = s->outs / s->groups, .k = s->channels / s->groups * s->taps, .bias_per_row = 1};
  g->a_row_stride = g->k;
  g->a_column_stride = 1;
  g->c_row_stride = pixels;
  s->panels = hn_gemm_f32_panels(pixels, width);
  const int64_t fitting = (int64_t)(l2 / 2) / (g->k * width * (int64_t)sizeof(float));
  const int64_t wanted = threads > 1 ? hn_ceil_div(threads * HN_CPU_UNITS_PER_THREAD, s->batch) : 1;
  const int64_t shared = hn_cpu_lesser(fitting, hn_ceil_div(s->panels, wanted));
  s->chunk = hn_cpu_lesser(s->panels, hn_cpu_greater(LEAST_PANELS, shared));
  s->chunks = hn_ceil_div(s->panels, s->chunk);
  s->units = s->batch * s->chunks;
  g->n = hn_cpu_lesser(pixels, s->chunk * width);
  hn_gemm_f32_choose(g, width, l2);
  const double reads = (double)s->batch * (double)s->channels * (double)s->taps * (double)pixels;
  plan_joining(s);
  s->grain = hn_cpu_grain(s->units, reads * ((s->joined ? ns_per_joined_read : ns_per_read) +
                                             2.0 * (double)g->m / s->kernel->gemm->flops_per_ns));
  const int64_t moves = s->offset_groups * s->taps, place = (int64_t)(sizeof(hn_deform_place) / sizeof(float));
  const double bytes = 4 * (double)s->chunk * ((double)g->k * width + (double)moves * (double)place);
  if (bytes * (double)threads + 4 * (double)s->joined_blocks * (double)s->joined_floats > most_bytes)
    return "it needs too much scratch memory";
  s->column_floats = s->chunk * g->k * width;
  s->place_floats = s->chunk * moves * place;
  s->worker_floats = hn_cpu_whole_lines(s->column_floats + s->place_floats + hn_gemm_f32_scratch_floats(g));
  needs->state = sizeof *s;
  needs->scratch = (size_t)(threads * s->worker_floats + s->joined_blocks * s->joined_floats) * sizeof(float);
  needs->efficiency = 0.4 * hn_cpu_filled(g->m, s->kernel->gemm->rows) * hn_cpu_filled(pixels, width);
  return NULL;
}

typedef struct job {
  const state *s;
  const float *x, *w, *offset, *bias, *mask;
  float *y, *scratch, *joined;
} job;

static void join(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  const state *s = j->s;
  const int64_t plane = s->args.in_h * s->args.in_w, lanes = s->kernel->lanes;
  const int64_t blocks = hn_ceil_div(s->joined, lanes); /* of channels that are alike */
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t first = unit % blocks * lanes, channel = unit / blocks * s->joined + first; /* of all images' */
    s->kernel->join(j->x + channel * plane, plane, (int)hn_cpu_lesser(lanes, s->joined - first),
                    j->joined + unit * s->joined_floats);
  }
}

/* One panel's columns of a group, of joined channels. */
static void blend(const job *j, int64_t image, int64_t group, const hn_deform_place *places, float *to) {
  const state *s = j->s;
  const int64_t in_group = s->channels / s->groups, lanes = s->kernel->lanes;
  const int64_t each = s->channels / s->offset_groups, blocks = hn_ceil_div(s->joined, lanes);
  for (int64_t c = group * in_group; c < (group + 1) * in_group;) {
    const int64_t alike = (image * s->channels + c) / s->joined, within = c % s->joined;
    const int64_t count = hn_cpu_lesser(lanes, s->joined - within);
    s->kernel->blend(j->joined + (alike * blocks + within / lanes) * s->joined_floats, (int)count, s->taps,
                     places + c / each * s->taps, to);
    c += count;
    to += count * s->taps * s->kernel->gemm->panel;
  }
}

/* The same, of channels by themselves. */
static void gather(const job *j, int64_t image, int64_t group, const hn_deform_place *places, float *to) {
  const state *s = j->s;
  const int64_t in_group = s->channels / s->groups, plane = s->args.in_h * s->args.in_w;
  const int64_t each = s->channels / s->offset_groups; /* channels of an offset group */
  for (int64_t c = group * in_group; c < (group + 1) * in_group; ++c, to += s->taps * s->kernel->gemm->panel)
    s->kernel->gather(j->x + (image * s->channels + c) * plane, s->taps, places + c / each * s->taps, to);
}

static void run_unit(const job *j, int64_t unit, float *memory) {
  const state *s = j->s;
  const int width = s->kernel->gemm->panel;
  const int64_t pixels = s->args.out_h * s->args.out_w, moves = s->offset_groups * s->taps;
  const int64_t image = unit / s->chunks, first = unit % s->chunks * s->chunk;
  const int64_t last = hn_cpu_lesser(s->panels, first + s->chunk);
  hn_deform_place *places = (hn_deform_place *)(void *)(memory + s->column_floats);
  hn_deform_args a = s->args;
  a.offset = j->offset + image * 2 * moves * pixels;
  a.mask = j->mask ? j->mask + image * moves * pixels : NULL;
  for (int64_t panel = first; panel < last; ++panel)
    for (int64_t move = 0; move < moves; ++move)
      s->kernel->place(&a, move, panel * width, (int)hn_cpu_lesser(width, pixels - panel * width),
                       &places[(panel - first) * moves + move]);
  for (int64_t group = 0; group < s->groups; ++group) {
    hn_gemm_f32 g = s->gemm;
    for (int64_t panel = first; panel < last; ++panel)
      (s->joined ? blend : gather)(j, image, group, places + (panel - first) * moves,
                                   memory + (panel - first) * g.k * width);
    g.n = hn_cpu_lesser(pixels - first * width, (last - first) * width);
    g.a = j->w + group * g.m * g.k;
    g.b_packed = memory;
    g.c = j->y + (image * s->outs + group * g.m) * pixels + first * width;
    g.epilogue.bias = j->bias ? j->bias + group * g.m : NULL;
    s->kernel->gemm->run(&g, 0, g.m, 0, last - first, memory + s->column_floats + s->place_floats);
  }
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  float *memory = j->scratch + (int64_t)worker * j->s->worker_floats;
  for (int64_t unit = begin; unit < end; ++unit) run_unit(j, unit, memory);
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *l) {
  const state *s = memory;
  job j = {.s = s,
           .x = l->in[X].data,
           .w = l->in[W].data,
           .offset = l->in[OFFSET].data,
           .bias = s->has_bias ? l->in[BIAS].data : NULL,
           .mask = s->has_mask ? l->in[MASK].data : NULL,
           .y = l->out[0].data,
           .joined = l->scratch,
           .scratch = (float *)l->scratch + s->joined_blocks * s->joined_floats};
  if (s->joined) hn_pool_run(hn_stream_pool(stream), s->joined_blocks, s->join_grain, join, &j);
  hn_pool_run(hn_stream_pool(stream), s->units, s->grain, body, &j);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_deform_conv[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.deform_conv.f32.avx512", .version = 2, .op = "deform_conv",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){&hn_cpu_gemm_avx512, hn_deform_place_f32_avx512, hn_deform_gather_f32_avx512,
                                   hn_deform_join_f32_avx512, hn_deform_blend_f32_avx512, 16}},
    {sizeof(hone_tactic), .name = "cpu.deform_conv.f32.avx2", .version = 2, .op = "deform_conv", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){&hn_cpu_gemm_avx2, hn_deform_place_f32_avx2, hn_deform_gather_f32_avx2,
                                   hn_deform_join_f32_avx2, hn_deform_blend_f32_avx2, 8}},
#endif
    {sizeof(hone_tactic), .name = "cpu.deform_conv.f32.c", .version = 2, .op = "deform_conv", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){&hn_cpu_gemm_c, hn_deform_place_f32_c, hn_deform_gather_f32_c, hn_deform_join_f32_c,
                                   hn_deform_blend_f32_c, 4}},
    {0}};
