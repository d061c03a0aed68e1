/* SPDX-License-Identifier: Apache-2.0 */
/* squeeze_excite.c - the channels' means, two products with them and what scales the image by the result, in one kernel
 * in f16 or bf16 with the channels last: a cluster of blocks an image, which share its pixels or its channels. */
#include "backend/cuda/region/region.h"
#include "kernels/cuda/args.h"
#include <math.h>
#include <string.h>

enum { X, SQUEEZE, SQUEEZE_BIAS, EXCITE, EXCITE_BIAS, PORTS };
enum { PACKED = (1 << PORTS) - (1 << SQUEEZE), MOST_SLICE = 8 * HN_SQUEEZE_THREADS, MOST_BLOCKS = 16 };

typedef struct state {
  hn_cuda_squeeze args;
  hn_cuda_builtin kernel;
  bool by_channels;
  int images;
  size_t shared_bytes;
} state;

typedef struct row_kernel {
  hn_cuda_builtin run;
  bool by_channels;
} row_kernel;

static int eights(int n) { return (n + 7) / 8 * 8; }

static const char *check_product(const hone_query *query, int port, int64_t outs, int64_t ins) {
  const hone_shape *w = &query->in[port].type.shape;
  HN_TRY_REASON(hn_region_check_constant(query, port, query->in[X].type.shape.rank));
  if (w->dim[0] != outs || w->dim[1] != ins) return "a 1x1 convolution has other extents";
  for (int i = 2; i < w->rank; ++i)
    if (w->dim[i] != 1) return "a convolution is not 1x1";
  if (!hn_cuda_given(query, port + 1)) return NULL;
  HN_TRY_REASON(hn_region_check_constant(query, port + 1, 1));
  return query->in[port + 1].type.shape.dim[0] == outs ? NULL : "a bias has another length";
}

static const char *read(const hone_query *query, state *s) {
  hn_cuda_image x, y;
  hn_region_act squeeze, excite;
  if (query->in_count <= EXCITE || query->in_count > PORTS || query->out_count != 1)
    return "it has another number of inputs or outputs";
  HN_TRY_REASON(hn_cuda_image_of(&query->in[X], query->tactic->compute, &x));
  HN_TRY_REASON(hn_cuda_image_of(&query->out[0], query->tactic->compute, &y));
  const hone_shape *w = &query->in[SQUEEZE].type.shape;
  if (w->rank < 3 || w->dim[0] < 1 || w->dim[0] > 1 << 12) return "it squeezes to nothing, or to too much";
  HN_TRY_REASON(check_product(query, SQUEEZE, w->dim[0], x.c));
  HN_TRY_REASON(check_product(query, EXCITE, x.c, w->dim[0]));
  HN_TRY_REASON(hn_region_read_act(query, "squeeze_", &squeeze));
  HN_TRY_REASON(hn_region_read_act(query, "excite_", &excite));
  if (x.n > 65535) return "it has too many images";
  s->images = x.n;
  s->kernel = ((const row_kernel *)query->tactic->kernel)->run;
  s->by_channels = ((const row_kernel *)query->tactic->kernel)->by_channels;
  s->args = (hn_cuda_squeeze){.pixels = x.h * x.w,
                              .c = x.c,
                              .pitch = x.pitch,
                              .squeezed = (int)w->dim[0],
                              .squeeze_act = (int)squeeze.kind,
                              .excite_act = (int)excite.kind,
                              .squeeze_alpha = squeeze.alpha,
                              .squeeze_beta = squeeze.beta,
                              .excite_alpha = excite.alpha,
                              .excite_beta = excite.beta};
  return NULL;
}

/* As squeeze_channels.cu places it: as many blocks as there are slices. */
static bool share_channels(state *s, int blocks) {
  hn_cuda_squeeze *a = &s->args;
  a->slice = eights((a->pitch + blocks - 1) / blocks);
  a->blocks = (a->pitch + a->slice - 1) / a->slice;
  a->share = a->pixels;
  a->all = a->blocks * a->slice;
  const int64_t deep = eights(a->squeezed);
  const int64_t floats = HN_SQUEEZE_THREADS * 8 + 3 * (int64_t)a->slice + (a->blocks + 2) * deep;
  const int64_t halves = a->slice * ((int64_t)a->squeezed + deep);
  s->shared_bytes = (size_t)(HN_SQUEEZE_BARRIER + 4 * floats + 2 * halves);
  return a->slice <= MOST_SLICE && s->shared_bytes <= HN_REGION_SHARED;
}

/* As the kernel places it; false: it does not fit. */
static bool share_out(state *s, int blocks) {
  hn_cuda_squeeze *a = &s->args;
  if (s->by_channels) return share_channels(s, blocks);
  a->blocks = blocks;
  a->share = (a->pixels + blocks - 1) / blocks;
  a->slice = a->all = a->pitch;
  const int64_t pitch = a->pitch, deep = eights(a->squeezed);
  const int64_t floats = HN_SQUEEZE_THREADS * 8 + (blocks + 3) * pitch + 2 * deep;
  const int64_t halves = pitch * (a->squeezed + deep);
  s->shared_bytes = (size_t)(HN_SQUEEZE_BARRIER + 4 * floats + 2 * halves);
  return pitch <= MOST_SLICE && s->shared_bytes <= HN_REGION_SHARED;
}

static size_t packed_bytes(const hn_cuda_squeeze *a) {
  const size_t all = (size_t)a->all, deep = (size_t)eights(a->squeezed);
  return 2 * all * ((size_t)a->squeezed + deep) + 4 * (deep + all);
}

/* Expected seconds on an H200: a block's share is read, summed and written, its weights are read, and what is exchanged
 * takes longer with more blocks. */
static double seconds_of(const state *s) {
  const hn_cuda_squeeze *a = &s->args;
  const double begin = 2000, clock = 1.75e9, bytes_a_clock = 32, at_once = HN_SQUEEZE_THREADS / 8;
  const double share = (double)a->share * a->slice, weights = (double)a->slice * (a->squeezed + eights(a->squeezed));
  const double products =
      ceil(a->squeezed / at_once) * (120 + a->slice) + ceil(a->slice / at_once) * (120.0 + a->squeezed);
  const double sent = s->by_channels ? eights(a->squeezed) : a->pitch;
  const double exchange = a->blocks > 1 ? 400 + a->blocks * (10 + sent / 4) : 60;
  const double busy = 4 * share / bytes_a_clock + 2 * weights / bytes_a_clock + products;
  double waves = (double)s->images * a->blocks / HN_REGION_UNITS;
  if (waves < 1) waves = 1;
  return (begin + 1200 + exchange + waves * busy) / clock;
}

/* The numbers of blocks that fit, the fastest first; how many. */
static int order(state *s, int *out) {
  double seconds[MOST_BLOCKS];
  int count = 0;
  for (int blocks = 1, made = 0; blocks <= MOST_BLOCKS; blocks *= 2) {
    if (!share_out(s, blocks) || s->args.blocks == made) continue; /* there are no more slices */
    made = s->args.blocks;
    const double mine = seconds_of(s);
    int at = count++;
    for (; at > 0 && seconds[at - 1] > mine; --at) seconds[at] = seconds[at - 1], out[at] = out[at - 1];
    seconds[at] = mine, out[at] = blocks;
  }
  return count;
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  const double peak = 8e14; /* an H200's products of halves a second */
  state asked, *s = state_memory ? state_memory : &asked;
  int blocks[MOST_BLOCKS] = {0};
  HN_TRY_REASON(read(query, s));
  const int64_t wanted = hn_cuda_first_param(query);
  if (wanted < 0 || wanted > MOST_BLOCKS) return "there are not as many blocks";
  if (wanted == 0 && order(s, blocks) == 0) return "an image does not fit into a cluster's memory";
  if (!share_out(s, wanted ? (int)wanted : blocks[0])) return "an image does not fit into a cluster's memory";
  const hone_cost cost = query->op->cost(query->attrs, query->in, query->in_count, query->out, query->out_count);
  needs->state = sizeof *s;
  needs->packed = packed_bytes(&s->args);
  needs->efficiency = cost.flops / (peak * seconds_of(s));
  return NULL;
}

static int variants(const hone_query *query, hone_params *out, int room) {
  state s;
  int blocks[MOST_BLOCKS];
  if (read(query, &s)) return 0;
  const int fitting = order(&s, blocks), count = fitting < room ? fitting : room;
  for (int i = 0; i < count; ++i) out[i] = (hone_params){.count = 1, .items = {{.name = "blocks", .value = blocks[i]}}};
  return count;
}

/* squeeze [squeezed][channels of all slices], excite [those][squeezed, up to 8], the biases; zeros elsewhere. */
static hone_status pack(const hone_query *query, void *to) {
  state s;
  hone_needs needs = {0};
  if (plan(query, &s, &needs)) return HONE_INTERNAL;
  const hn_cuda_squeeze *a = &s.args;
  const hone_dtype held = query->tactic->compute;
  const int all = a->all, deep = eights(a->squeezed);
  uint16_t *squeeze = to, *excite = squeeze + (size_t)a->squeezed * (size_t)all;
  float *squeeze_bias = (float *)(void *)(excite + (size_t)all * (size_t)deep), *excite_bias = squeeze_bias + deep;
  memset(to, 0, needs.packed);
  for (int k = 0; k < a->squeezed; ++k) {
    squeeze_bias[k] = hn_region_constant(query, SQUEEZE_BIAS, k);
    for (int c = 0; c < a->c; ++c) {
      squeeze[(size_t)k * (size_t)all + (size_t)c] =
          hn_cuda_half_of(held, hn_region_constant(query, SQUEEZE, (int64_t)k * a->c + c));
      excite[(size_t)c * (size_t)deep + (size_t)k] =
          hn_cuda_half_of(held, hn_region_constant(query, EXCITE, (int64_t)c * a->squeezed + k));
    }
  }
  for (int c = 0; c < a->c; ++c) excite_bias[c] = hn_region_constant(query, EXCITE_BIAS, c);
  return HONE_OK;
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  const hn_cuda_shape shape = {.grid = {(unsigned)s->args.blocks, (unsigned)s->images, 1},
                               .threads = HN_SQUEEZE_THREADS,
                               .shared_bytes = (unsigned)s->shared_bytes,
                               .cluster = (unsigned)s->args.blocks,
                               .dependent = true};
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[X].data, (void *)(uintptr_t)&launch->packed,
                       &s->args};
  return hn_cuda_launch_shaped(stream, s->kernel, &shape, arguments);
}

const hone_tactic hn_tactics_cuda_squeeze_excite[] = {
    {sizeof(hone_tactic), .name = "cuda.squeeze_excite.f16", .version = 2, .op = "squeeze_excite", .isa = HN_CUDA_SM90,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_PLAIN_UNITS, .pack_mask = PACKED,
     .compute = HONE_F16, .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}}, .plan = plan, .variants = variants,
     .pack = pack, .launch = launch, .kernel = &(const row_kernel){HN_CUDA_squeeze_excite_f16, false}},
    {sizeof(hone_tactic), .name = "cuda.squeeze_excite.bf16", .version = 2, .op = "squeeze_excite", .isa = HN_CUDA_SM90,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_PLAIN_UNITS, .pack_mask = PACKED,
     .compute = HONE_BF16, .storages = {{HONE_BF16_NHWC, HONE_BF16_NHWC}}, .plan = plan, .variants = variants,
     .pack = pack, .launch = launch, .kernel = &(const row_kernel){HN_CUDA_squeeze_excite_bf16, false}},
    {sizeof(hone_tactic), .name = "cuda.squeeze_excite.f16.channels", .version = 2, .op = "squeeze_excite",
     .isa = HN_CUDA_SM90, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_PLAIN_UNITS,
     .pack_mask = PACKED, .compute = HONE_F16, .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}}, .plan = plan,
     .variants = variants, .pack = pack, .launch = launch,
     .kernel = &(const row_kernel){HN_CUDA_squeeze_channels_f16, true}},
    {sizeof(hone_tactic), .name = "cuda.squeeze_excite.bf16.channels", .version = 2, .op = "squeeze_excite",
     .isa = HN_CUDA_SM90, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_PLAIN_UNITS,
     .pack_mask = PACKED, .compute = HONE_BF16, .storages = {{HONE_BF16_NHWC, HONE_BF16_NHWC}}, .plan = plan,
     .variants = variants, .pack = pack, .launch = launch,
     .kernel = &(const row_kernel){HN_CUDA_squeeze_channels_bf16, true}},
    {0}};
