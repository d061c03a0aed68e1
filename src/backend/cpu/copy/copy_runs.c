/* SPDX-License-Identifier: Apache-2.0 */
/* copy_runs.c - tensors of bytes in blocks of 64 channels joined and cut where that does not keep to whole blocks, and
 * their channels made blocks of pixels. What each block takes from where is worked out when it is prepared. */
#include "backend/cpu/copy/copy.h"
#include "backend/cpu/quant/quant.h"

enum { MOST_TENSORS = 64, MOST_SIDE = 16, BLOCK = HN_RUNS_BLOCK };
static const int64_t most_channels = 1 << 16;

typedef enum kind { CONCAT, SPLIT, TO_SPACE } kind;
typedef struct row_kernel {
  kind kind;
} row_kernel;

/* Channels are counted through all inputs, and through all outputs. */
typedef struct wiring {
  int in_count, out_count;
  const hone_fact *in, *out;
  int64_t side;
} wiring;

typedef struct state {
  hn_runs_args args;
  int64_t grain;
  int64_t in_blocks[MOST_TENSORS], out_blocks[MOST_TENSORS];
  hn_runs_block blocks[]; /* then lists, then runs */
} state;

static wiring wiring_of(const hone_query *query, kind k) {
  wiring w = {query->in_count, query->out_count, query->in, query->out, 1};
  if (k == SPLIT) w.in_count = 1; /* the sizes are not looked at */
  if (k == TO_SPACE) w.side = hn_attr_int(query->attrs, "blocksize");
  return w;
}

static const char *check_tensors(const hone_fact *facts, int count, const hone_type *like) {
  for (int i = 0; i < count; ++i) {
    const hone_type *t = &facts[i].type;
    if (t->kind != HONE_TENSOR || t->dtype != like->dtype || t->format != HONE_NCHW64C)
      return "a tensor is absent or has another type or format";
    if (t->shape.rank != like->shape.rank || t->shape.dim[0] != like->shape.dim[0]) return "ranks or images differ";
    if (t->shape.dim[1] < 1 || t->shape.dim[1] > most_channels) return "it has no channels, or too many";
  }
  return NULL;
}

static int64_t channels_of(const hone_fact *facts, int count) {
  int64_t sum = 0;
  for (int i = 0; i < count; ++i) sum += facts[i].type.shape.dim[1];
  return sum;
}

/* Parts along the channels, of which one ends inside a block. */
static const char *check_parts(const hone_query *query, const wiring *w) {
  const hone_fact *parts = w->in_count > 1 ? w->in : w->out;
  const int count = w->in_count > 1 ? w->in_count : w->out_count;
  const hone_shape *like = &query->in[0].type.shape;
  if (hn_cpu_axis(query, "axis", like->rank) != 1) return "it is not along the channels";
  if (channels_of(w->in, w->in_count) != channels_of(w->out, w->out_count))
    return "the parts do not add up to the whole";
  for (int d = 2; d < like->rank; ++d)
    for (int i = 0; i < w->in_count + w->out_count; ++i)
      if ((i < w->in_count ? &w->in[i] : &w->out[i - w->in_count])->type.shape.dim[d] != like->dim[d])
        return "extents beside the channels differ";
  for (int i = 0; i + 1 < count; ++i)
    if (parts[i].type.shape.dim[1] % BLOCK) return NULL;
  return "the row for whole blocks does the same";
}

static const char *check_to_space(const hone_query *query, const wiring *w) {
  const hone_shape *x = &query->in[0].type.shape, *y = &query->out[0].type.shape;
  if (x->rank != 4 || y->rank != 4) return "the rank is not 4";
  if (w->side < 1 || w->side > MOST_SIDE) return "the block's size is out of range";
  if (x->dim[1] != y->dim[1] * w->side * w->side || y->dim[2] != x->dim[2] * w->side ||
      y->dim[3] != x->dim[3] * w->side)
    return "the extents do not divide into blocks";
  return hn_name_equal(hn_attr_text(query->attrs, "mode"), "DCR") ? NULL : "a pixel's channels are not side by side";
}

static const char *check(const hone_query *query, kind k) {
  HN_TRY_REASON(hn_cpu_check(query, 1, MOST_TENSORS, MOST_TENSORS));
  const wiring w = wiring_of(query, k);
  const hone_type *like = &query->in[0].type;
  if (!hn_cpu_is_byte(like->dtype)) return "it is not of bytes";
  if (like->shape.rank < 3) return "it has no pixels";
  HN_TRY_REASON(check_tensors(w.in, w.in_count, like));
  HN_TRY_REASON(check_tensors(w.out, w.out_count, like));
  return k == TO_SPACE ? check_to_space(query, &w) : check_parts(query, &w);
}

/* The runs that make `lanes` channels of a block, from channel `first` of the inputs on. */
static int64_t wire_list(const wiring *w, int64_t first, int64_t lanes, hn_runs_run *to) {
  int64_t count = 0;
  for (int64_t lane = 0, run; lane < lanes; lane += run, ++count) {
    int64_t channel = first + lane;
    int input = 0;
    while (channel >= w->in[input].type.shape.dim[1]) channel -= w->in[input++].type.shape.dim[1];
    const int64_t most =
        hn_cpu_lesser(hn_cpu_lesser(lanes - lane, w->in[input].type.shape.dim[1] - channel), BLOCK - channel % BLOCK);
    for (run = BLOCK; run > most;) run /= 2;
    if (to)
      to[count] = (hn_runs_run){.input = input,
                                .block = channel / BLOCK,
                                .from = (int32_t)(channel % BLOCK),
                                .to = (int32_t)lane,
                                .count = (int32_t)run};
  }
  return count;
}

/* Fills the lists of all blocks when there is room for them. How many runs they have. */
static int64_t wire(const wiring *w, int64_t blocks, state *s) {
  const int64_t places = w->side * w->side;
  hn_runs_list *lists = s ? (hn_runs_list *)(void *)&s->blocks[blocks] : NULL;
  hn_runs_run *runs = s ? (hn_runs_run *)(void *)&lists[blocks * places] : NULL;
  int64_t count = 0, at = 0, before = 0;
  for (int output = 0; output < w->out_count; ++output) {
    const int64_t channels = w->out[output].type.shape.dim[1];
    for (int64_t b = 0; b * BLOCK < channels; ++b, ++at) {
      if (s) s->blocks[at] = (hn_runs_block){output, b};
      for (int64_t p = 0; p < places; ++p) { /* of TO_SPACE there is one output */
        const int64_t made = wire_list(w, before + p * channels + b * BLOCK, hn_cpu_lesser(BLOCK, channels - b * BLOCK),
                                       s ? runs + count : NULL);
        if (s) lists[at * places + p] = (hn_runs_list){runs + count, made};
        count += made;
      }
    }
    before += channels;
  }
  return count;
}

static int64_t block_counts(const hone_fact *facts, int count, int64_t *out) {
  int64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    const int64_t blocks = hn_ceil_div(facts[i].type.shape.dim[1], BLOCK);
    if (out) out[i] = blocks;
    sum += blocks;
  }
  return sum;
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  const kind k = ((const row_kernel *)query->tactic->kernel)->kind;
  HN_TRY_REASON(check(query, k));
  state *s = memory;
  const wiring w = wiring_of(query, k);
  const int64_t blocks = block_counts(w.out, w.out_count, s ? s->out_blocks : NULL);
  const int64_t runs = wire(&w, blocks, s);
  needs->state = sizeof *s + (size_t)blocks * sizeof(hn_runs_block) +
                 (size_t)(blocks * w.side * w.side) * sizeof(hn_runs_list) + (size_t)runs * sizeof(hn_runs_run);
  if (!s) return NULL;
  const hone_shape *x = &query->in[0].type.shape;
  (void)block_counts(w.in, w.in_count, s->in_blocks);
  s->args = (hn_runs_args){
      .block_count = blocks, .images = x->dim[0], .height = x->rank > 3 ? x->dim[2] : 1, .width = 1, .side = w.side};
  for (int d = x->rank > 3 ? 3 : 2; d < x->rank; ++d) s->args.width *= x->dim[d];
  const double pixels = (double)(s->args.images * s->args.height * s->args.width);
  s->grain = hn_cpu_grain(hn_runs_units(&s->args),
                          2 * pixels * (double)(blocks * w.side * w.side) * BLOCK * HN_CPU_NS_PER_BYTE);
  return NULL;
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  hn_runs_c(arg, begin, end);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  const void *x[MOST_TENSORS];
  void *y[MOST_TENSORS];
  for (int i = 0; i < launch->in_count && i < MOST_TENSORS; ++i) x[i] = launch->in[i].data;
  for (int i = 0; i < launch->out_count; ++i) y[i] = launch->out[i].data;
  hn_runs_args args = s->args; /* a state may serve several launches */
  args.blocks = s->blocks;
  args.lists = (const hn_runs_list *)(const void *)&s->blocks[args.block_count];
  args.x = x;
  args.y = y;
  args.in_blocks = s->in_blocks;
  args.out_blocks = s->out_blocks;
  const int64_t units = hn_runs_units(&args);
  if (units > 0) hn_pool_run(hn_stream_pool(stream), units, s->grain, body, &args);
  return HONE_OK;
}

#define COMMON                                                                                                         \
  .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_NCHW64C, HONE_NCHW64C}}, .plan = plan, .launch = launch
const hone_tactic hn_tactics_cpu_copy_runs[] = {{sizeof(hone_tactic), .name = "cpu.concat.bytes.runs.c", .version = 1,
                                                 .op = "concat", .kernel = &(const row_kernel){CONCAT}, COMMON},
                                                {sizeof(hone_tactic), .name = "cpu.split.bytes.runs.c", .version = 1,
                                                 .op = "split", .kernel = &(const row_kernel){SPLIT}, COMMON},
                                                {sizeof(hone_tactic), .name = "cpu.depth_to_space.bytes.runs.c",
                                                 .version = 1, .op = "depth_to_space",
                                                 .kernel = &(const row_kernel){TO_SPACE}, COMMON},
                                                {0}};
