/* SPDX-License-Identifier: Apache-2.0 */
/* copy_lanes.c - blocked tensors of f32 and halves joined, reordered and cut along their channels where that does not
 * keep to whole blocks: channel_gather, and the concats and splits that copy_join.c leaves. What each lane of each
 * output block takes is worked out when it is prepared; channel_gather of plain tensors of any type copies planes. */
#include "backend/cpu/copy/copy.h"
#include "tensor/storage.h"
#include <string.h>

enum { MOST_TENSORS = 64 };
typedef enum kind { CHANNEL_GATHER, CONCAT, SPLIT } kind;
static const int64_t most_channels = 1 << 16;

typedef struct row_kernel {
  kind kind;
  hn_lanes_fn *run;
} row_kernel;

/* Outputs, channel after channel, from the inputs' channels counted through. */
typedef struct wiring {
  int in_count, out_count;
  const hone_fact *in, *out;
  const int64_t *channels; /* NULL: in order */
} wiring;

static wiring wiring_of(const hone_query *query, kind k) {
  wiring w = {query->in_count, query->out_count, query->in, query->out, NULL};
  if (k == SPLIT) w.in_count = 1; /* the sizes are not looked at */
  if (k == CHANNEL_GATHER) (void)hn_attr_ints(query->attrs, "channels", &w.channels);
  return w;
}

static int64_t channels_of(const hone_fact *facts, int count) {
  int64_t sum = 0;
  for (int i = 0; i < count; ++i) sum += facts[i].type.shape.dim[1];
  return sum;
}

/* All tensors: one type and format, and the same extents beside the channels. */
static const char *check_tensors(const hone_fact *facts, int count, const hone_type *like) {
  for (int i = 0; i < count; ++i) {
    const hone_type *t = &facts[i].type;
    if (t->kind != HONE_TENSOR || t->dtype != like->dtype || t->format != like->format)
      return "a tensor is absent or has another type or format";
    if (t->shape.rank != like->shape.rank) return "the ranks differ";
    for (int d = 0; d < t->shape.rank; ++d)
      if (d != 1 && t->shape.dim[d] != like->shape.dim[d]) return "extents beside the channels differ";
    if (t->shape.dim[1] > most_channels) return "it has too many channels";
  }
  return NULL;
}

static const char *check(const hone_query *query, kind k) {
  HN_TRY_REASON(hn_cpu_check(query, 1, MOST_TENSORS, MOST_TENSORS));
  const wiring w = wiring_of(query, k);
  const hone_type *like = &query->in[0].type;
  if (like->shape.rank < 2) return "it has no channels";
  HN_TRY_REASON(check_tensors(w.in, w.in_count, like));
  HN_TRY_REASON(check_tensors(w.out, w.out_count, like));
  const int64_t ins = channels_of(w.in, w.in_count), outs = channels_of(w.out, w.out_count);
  if (k != CHANNEL_GATHER) {
    if (hn_cpu_axis(query, "axis", like->shape.rank) != 1) return "it is not along the channels";
    return ins == outs ? NULL : "the parts do not add up to the whole";
  }
  const int64_t *channels = NULL;
  if (hn_attr_ints(query->attrs, "channels", &channels) != outs) return "the outputs have another number of channels";
  for (int64_t i = 0; i < outs; ++i)
    if (channels[i] < 0 || channels[i] >= ins) return "a channel is out of range";
  return NULL;
}

static const char *check_blocked(const hone_query *query, kind k) {
  HN_TRY_REASON(check(query, k));
  const hone_type *x = &query->in[0].type;
  const bool is_half = x->dtype == HONE_BF16 || x->dtype == HONE_F16;
  if (hn_cpu_held(query->tactic) == HONE_F32 ? x->dtype != HONE_F32 : !is_half) return "it is of another type";
  if (x->format != hn_storage_format(query->tactic->storages[0].in)) return "it has another format";
  const int block = hn_format_block(x->format);
  if (k == CHANNEL_GATHER) return NULL;
  const wiring w = wiring_of(query, k);
  const hone_fact *parts = w.in_count > 1 ? w.in : w.out;
  const int count = w.in_count > 1 ? w.in_count : w.out_count;
  for (int i = 0; i + 1 < count; ++i)
    if (parts[i].type.shape.dim[1] % block) return NULL;
  return "the row for whole blocks does the same";
}

typedef struct state {
  hn_lanes_fn *kernel;
  hn_lanes_args args;
  int64_t grain;
  int64_t in_blocks[MOST_TENSORS], out_blocks[MOST_TENSORS];
  hn_lanes_block blocks[];
} state;

/* Fills the part of `into` that takes from this place, a new one when there is none. */
static void take(hn_lanes_block *into, hn_lanes_part *parts, int lane, int64_t input, int64_t block, int32_t from) {
  int64_t i = 0;
  while (i < into->count && (parts[i].input != input || parts[i].block != block)) ++i;
  if (i == into->count) {
    parts[i] = (hn_lanes_part){.input = input, .block = block};
    for (int l = 0; l < HN_LANES_MOST; ++l) parts[i].from[l] = -1;
    ++into->count;
  }
  parts[i].from[lane] = from;
}

/* The parts of the block that holds `lanes` channels from `first` on, counted through all outputs. */
static void wire_block(const wiring *w, int64_t first, int lanes, int block, hn_lanes_block *into,
                       hn_lanes_part *parts) {
  into->parts = parts;
  for (int lane = 0; lane < lanes; ++lane) {
    int64_t channel = w->channels ? w->channels[first + lane] : first + lane;
    int input = 0;
    while (channel >= w->in[input].type.shape.dim[1]) channel -= w->in[input++].type.shape.dim[1];
    take(into, parts, lane, input, channel / block, (int32_t)(channel % block));
  }
  into->is_whole = into->count == 1 && lanes == block;
  for (int lane = 0; lane < lanes && into->is_whole; ++lane) into->is_whole = parts->from[lane] == lane;
}

/* Blocks of one image of all outputs, and their parts when there is room for them; *parts is how many. */
static int64_t wire(const hone_query *query, kind k, state *s, int64_t *part_count) {
  const wiring w = wiring_of(query, k);
  const int block = hn_format_block(query->in[0].type.format);
  int64_t count = 0, first = 0;
  hn_lanes_part *parts = NULL;
  if (s) {
    for (int i = 0; i < w.out_count; ++i) count += hn_ceil_div(w.out[i].type.shape.dim[1], block);
    parts = (hn_lanes_part *)(void *)&s->blocks[count];
    count = 0;
  }
  *part_count = 0;
  for (int output = 0; output < w.out_count; ++output) {
    const int64_t channels = w.out[output].type.shape.dim[1];
    for (int64_t b = 0; b < hn_ceil_div(channels, block); ++b, ++count) {
      hn_lanes_part room[HN_LANES_MOST];
      hn_lanes_block one = {.output = output, .block = b};
      const int lanes = (int)hn_cpu_lesser(block, channels - b * block);
      wire_block(&w, first + b * block, lanes, block, &one, s ? parts + *part_count : room);
      if (s) s->blocks[count] = one;
      *part_count += one.count;
    }
    first += channels;
  }
  return count;
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  const row_kernel *row = query->tactic->kernel;
  HN_TRY_REASON(check_blocked(query, row->kind));
  state *s = memory;
  int64_t parts;
  const int64_t blocks = wire(query, row->kind, s, &parts);
  needs->state = sizeof *s + (size_t)blocks * sizeof(hn_lanes_block) + (size_t)parts * sizeof(hn_lanes_part);
  if (!s) return NULL;
  const wiring w = wiring_of(query, row->kind);
  const hone_type *x = &query->in[0].type;
  const int block = hn_format_block(x->format);
  s->kernel = row->run;
  s->args = (hn_lanes_args){.images = x->shape.dim[0], .pixels = 1, .block_count = blocks};
  for (int d = 2; d < x->shape.rank; ++d) s->args.pixels *= x->shape.dim[d];
  for (int i = 0; i < w.in_count; ++i) s->in_blocks[i] = hn_ceil_div(w.in[i].type.shape.dim[1], block);
  for (int i = 0; i < w.out_count; ++i) s->out_blocks[i] = hn_ceil_div(w.out[i].type.shape.dim[1], block);
  const int64_t rows = x->shape.rank > 2 ? hn_cpu_greater(1, x->shape.dim[2]) : 1;
  const int64_t per_thread =
      hn_ceil_div(s->args.pixels, hn_cpu_row_parts(query->facts, s->args.images, rows, s->args.pixels / rows));
  s->args.chunk = hn_cpu_greater(1, hn_ceil_div(per_thread, hn_ceil_div(per_thread, HN_LANES_PIXELS)));
  s->grain =
      hn_cpu_grain(hn_lanes_units(&s->args), (double)(s->args.images * (blocks + parts) * s->args.pixels * block) *
                                                 sizeof(float) * HN_CPU_NS_PER_BYTE);
  return NULL;
}

/* The arguments are the launch's own: a state may serve several. */
typedef struct job {
  hn_lanes_fn *kernel;
  hn_lanes_args args;
} job;

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  j->kernel(&j->args, begin, end);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  const void *x[MOST_TENSORS];
  void *y[MOST_TENSORS];
  for (int i = 0; i < launch->in_count; ++i) x[i] = launch->in[i].data;
  for (int i = 0; i < launch->out_count; ++i) y[i] = launch->out[i].data;
  job j = {s->kernel, s->args};
  j.args.blocks = s->blocks;
  j.args.x = x;
  j.args.y = y;
  j.args.in_blocks = s->in_blocks;
  j.args.out_blocks = s->out_blocks;
  hn_pool_run(hn_stream_pool(stream), hn_lanes_units(&j.args), s->grain, body, &j);
  return HONE_OK;
}

/* ---- plain ---- */

/* The state is where the channels' list is. */
static const char *plan_plain(const hone_query *query, void *memory, hone_needs *needs) {
  HN_TRY_REASON(hn_cpu_check_moves(query, false));
  HN_TRY_REASON(check(query, CHANNEL_GATHER));
  const int64_t **channels = memory;
  needs->state = sizeof *channels;
  if (channels) (void)hn_attr_ints(query->attrs, "channels", channels);
  return NULL;
}

typedef struct planes {
  wiring w;
  const hone_launch *launch;
  size_t bytes; /* of a plane */
  int64_t outs; /* channels of an image */
} planes;

static void copy_planes(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const planes *p = arg;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t image = unit / p->outs;
    int64_t to = unit % p->outs, from = p->w.channels[to];
    int output = 0, input = 0;
    const hone_tensor *y = p->launch->out, *x = p->launch->in;
    while (to >= y[output].type.shape.dim[1]) to -= y[output++].type.shape.dim[1];
    while (from >= x[input].type.shape.dim[1]) from -= x[input++].type.shape.dim[1];
    const int64_t y_plane = image * y[output].type.shape.dim[1] + to;
    const int64_t x_plane = image * x[input].type.shape.dim[1] + from;
    memcpy((char *)y[output].data + (size_t)y_plane * p->bytes,
           (const char *)x[input].data + (size_t)x_plane * p->bytes, p->bytes);
  }
}

static hone_status launch_plain(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const hone_tensor *x = launch->in;
  planes p = {.launch = launch, .bytes = (size_t)hn_cpu_element_bytes(x->type.dtype)};
  p.w.channels = *(const int64_t *const *)state_memory;
  for (int d = 2; d < x->type.shape.rank; ++d) p.bytes *= (size_t)x->type.shape.dim[d];
  for (int i = 0; i < launch->out_count; ++i) p.outs += launch->out[i].type.shape.dim[1];
  const int64_t units = x->type.shape.dim[0] * p.outs;
  if (p.bytes)
    hn_pool_run(hn_stream_pool(stream), units,
                hn_cpu_grain(units, 2 * (double)units * (double)p.bytes * HN_CPU_NS_PER_BYTE), copy_planes, &p);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_copy_lanes[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.channel_gather.f32.lanes.avx512", .version = 1, .op = "channel_gather",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_NCHW16C, HONE_NCHW16C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){CHANNEL_GATHER, hn_lanes_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.concat.f32.lanes.avx512", .version = 1, .op = "concat", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_NCHW16C, HONE_NCHW16C}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){CONCAT, hn_lanes_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.split.f32.lanes.avx512", .version = 1, .op = "split", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_NCHW16C, HONE_NCHW16C}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){SPLIT, hn_lanes_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.channel_gather.halves.lanes.avx512", .version = 1, .op = "channel_gather",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){CHANNEL_GATHER, hn_lanes_bf16_avx512}},
    {sizeof(hone_tactic), .name = "cpu.concat.halves.lanes.avx512", .version = 1, .op = "concat",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){CONCAT, hn_lanes_bf16_avx512}},
    {sizeof(hone_tactic), .name = "cpu.split.halves.lanes.avx512", .version = 1, .op = "split", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){SPLIT, hn_lanes_bf16_avx512}},
    {sizeof(hone_tactic), .name = "cpu.channel_gather.f32.lanes.avx2", .version = 1, .op = "channel_gather",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_NCHW8C, HONE_NCHW8C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){CHANNEL_GATHER, hn_lanes_f32_avx2}},
    {sizeof(hone_tactic), .name = "cpu.concat.f32.lanes.avx2", .version = 1, .op = "concat", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_NCHW8C, HONE_NCHW8C}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){CONCAT, hn_lanes_f32_avx2}},
    {sizeof(hone_tactic), .name = "cpu.split.f32.lanes.avx2", .version = 1, .op = "split", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_NCHW8C, HONE_NCHW8C}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){SPLIT, hn_lanes_f32_avx2}},
    {sizeof(hone_tactic), .name = "cpu.channel_gather.halves.lanes.avx2", .version = 1, .op = "channel_gather",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){CHANNEL_GATHER, hn_lanes_bf16_avx2}},
    {sizeof(hone_tactic), .name = "cpu.concat.halves.lanes.avx2", .version = 1, .op = "concat", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){CONCAT, hn_lanes_bf16_avx2}},
    {sizeof(hone_tactic), .name = "cpu.split.halves.lanes.avx2", .version = 1, .op = "split", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){SPLIT, hn_lanes_bf16_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.channel_gather.f32.lanes.c", .version = 1, .op = "channel_gather",
     .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_NCHW8C, HONE_NCHW8C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){CHANNEL_GATHER, hn_lanes_f32_c}},
    {sizeof(hone_tactic), .name = "cpu.concat.f32.lanes.c", .version = 1, .op = "concat", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_NCHW8C, HONE_NCHW8C}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){CONCAT, hn_lanes_f32_c}},
    {sizeof(hone_tactic), .name = "cpu.split.f32.lanes.c", .version = 1, .op = "split", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_NCHW8C, HONE_NCHW8C}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){SPLIT, hn_lanes_f32_c}},
    {sizeof(hone_tactic), .name = "cpu.channel_gather.halves.lanes.c", .version = 1, .op = "channel_gather",
     .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){CHANNEL_GATHER, hn_lanes_bf16_c}},
    {sizeof(hone_tactic), .name = "cpu.concat.halves.lanes.c", .version = 1, .op = "concat", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){CONCAT, hn_lanes_bf16_c}},
    {sizeof(hone_tactic), .name = "cpu.split.halves.lanes.c", .version = 1, .op = "split", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){SPLIT, hn_lanes_bf16_c}},
    {sizeof(hone_tactic), .name = "cpu.channel_gather.any.c", .version = 1, .op = "channel_gather",
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .plan = plan_plain, .launch = launch_plain},
    {0}};
