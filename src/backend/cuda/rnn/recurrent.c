/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent.c - LSTM and GRU by clusters of blocks that keep their weights (kernels/cuda/rnn), held in f32 or in
 * halves. Packed are, for each direction, the state's weights, those of the inputs, and both biases, all f32. */
#include "backend/cuda/cuda.h"
#include "kernels/cuda/args.h"
#include <string.h>
#include <strings.h>

enum { X, W, R, B, LENGTHS, INITIAL_H, INITIAL_C, PORTS };
enum { Y, Y_H, Y_C, OUTPUTS };
enum { LANES = 32, FOUR = 4, SUMS = 4, COLUMNS = LANES * FOUR, GROUP = SUMS * COLUMNS /* floats of a unit's */ };
enum { RING = 4, BARRIER_BYTES = 16, SHARED_MOST = 200 << 10, NARROW = 128, FEW_BLOCKS = 8, BLOCKS = 16 };

/* Kernels by the groups of columns whose weights stay in registers, those of the state and those of the inputs (0: any
 * number, which do not), and by the sequences of a cluster. */
typedef struct size {
  int held, kept, rows;
} size;
static const size sizes[] = {{1, 2, 1}, {2, 2, 1}, {2, 0, 1}, {0, 0, 1}, {2, 0, 4}, {0, 0, 4}};
enum { SIZES = sizeof sizes / sizeof *sizes, WARPS = 16, MANY = 4, CLUSTERS = 7 /* that run together */ };

typedef struct row_kernel {
  bool is_lstm;
  hn_cuda_builtin f32[SIZES], f16[SIZES], bf16[SIZES];
} row_kernel;

typedef struct state {
  hn_cuda_rnn args;
  hn_cuda_builtin kernel;
  unsigned clusters, shared_bytes;
  bool given[PORTS], wants[OUTPUTS];
} state;

static bool is_text(const hone_attr *attr, const char *text) {
  return attr && attr->kind == HONE_ATTR_STRING && (size_t)attr->count == strlen(text) &&
         strncmp(attr->s, text, (size_t)attr->count) == 0;
}

static const char *read_attrs(const hone_query *query, bool is_lstm, int *directions, hn_cuda_rnn *a) {
  const hone_attr *direction = hn_cuda_attr(query->attrs, "direction");
  const hone_attr *acts = hn_cuda_attr(query->attrs, "activations");
  *directions = is_text(direction, "bidirectional") ? 2 : 1;
  a->is_reverse = is_text(direction, "reverse");
  if (hn_cuda_attr(query->attrs, "clip")) return "it clips";
  if (hn_cuda_attr_int(query->attrs, "input_forget", 0)) return "its gates are coupled";
  if (!is_lstm && !hn_cuda_attr_int(query->attrs, "linear_before_reset", 0)) return "the state is reset first";
  for (int64_t i = 0; acts && i < acts->count; ++i)
    if (strcasecmp(acts->strings[i], i % (is_lstm ? 3 : 2) ? "tanh" : "sigmoid") != 0)
      return "its activations are not sigmoid and tanh";
  return NULL;
}

static const char *check_types(const hone_query *query, bool is_lstm, hone_dtype held) {
  if (query->in_count < B || query->in_count > (is_lstm ? PORTS : INITIAL_C)) return "it has another number of inputs";
  if (query->out_count < 1 || query->out_count > (is_lstm ? OUTPUTS : Y_C)) return "it has another number of outputs";
  if (hn_cuda_given(query, LENGTHS)) return "its sequences have lengths of their own";
  for (int i = 0; i < query->in_count; ++i) {
    if (!hn_cuda_given(query, i)) continue;
    if (i >= W && i <= B) {
      if (!hn_cuda_is_weight(query, i)) return "its weights are no constants, or of another type";
    } else if (!hn_cuda_plain_of(&query->in[i], held)) {
      return "an input is not plain, or of another type";
    }
  }
  for (int i = 0; i < query->out_count; ++i)
    if (query->out[i].type.kind != HONE_ABSENT && !hn_cuda_plain_of(&query->out[i], held))
      return "an output is not plain, or of another type";
  return NULL;
}

static const char *read_extents(const hone_query *query, int directions, bool batch_first, hn_cuda_rnn *a) {
  const hone_shape *x = &query->in[X].type.shape, *r = &query->in[R].type.shape;
  if (x->rank != 3 || r->rank != 3) return "an operand has another rank than 3";
  for (int i = 0; i < 3; ++i)
    if (x->dim[i] < 1 || x->dim[i] > 1 << 20 || r->dim[i] < 1 || r->dim[i] > 1 << 14)
      return "an extent is out of range";
  const int64_t time = x->dim[batch_first], batch = x->dim[!batch_first], input = x->dim[2], hidden = r->dim[2];
  if (hn_cuda_elements(x) > INT32_MAX / 2 || time * batch > INT32_MAX / 4 / directions / hidden || batch > 1 << 16)
    return "more elements than 30 bits count";
  if (query->in[X].type.dtype != HONE_F32 && input % 2) return "a row of its inputs is no whole four bytes";
  a->time = (int)time, a->batch = (int)batch, a->input = (int)input, a->hidden = (int)hidden;
  a->x_step = (batch_first ? 1 : batch) * input, a->x_batch = (batch_first ? time : 1) * input;
  a->y_step = directions * (batch_first ? 1 : batch) * hidden;
  a->y_batch = (batch_first ? time * directions : 1) * hidden;
  a->y_direction = (batch_first ? 1 : batch) * hidden;
  a->state_batch = (batch_first ? directions : 1) * hidden, a->state_direction = (batch_first ? 1 : batch) * hidden;
  return NULL;
}

static void lay_out(hn_cuda_rnn *a, int directions, hone_needs *needs) {
  a->blocks = a->hidden <= NARROW ? FEW_BLOCKS : BLOCKS;
  a->units = ((a->hidden + a->blocks - 1) / a->blocks + FOUR - 1) / FOUR * FOUR;
  a->x_groups = (a->input + COLUMNS - 1) / COLUMNS, a->h_groups = (a->hidden + COLUMNS - 1) / COLUMNS;
  a->w_at = (int64_t)a->hidden * a->h_groups * GROUP;
  a->bias_at = a->w_at + (int64_t)a->hidden * a->x_groups * GROUP;
  a->direction_floats = a->bias_at + (SUMS * a->hidden + 15) / 16 * 16;
  needs->packed = (size_t)(directions * a->direction_floats) * sizeof(float);
}

static const size *find_size(const hn_cuda_rnn *a, int rows) {
  const size *s = sizes;
  while (s->rows != rows || (s->held && (s->held < a->h_groups || a->units > WARPS)) ||
         (s->kept && s->kept < a->x_groups))
    ++s;
  return s;
}

/* Of shared memory, with the weights that fit. */
static size_t share(hn_cuda_rnn *a, const size *s, size_t held_bytes) {
  const size_t floats = (size_t)(s->rows * (2 * a->h_groups * COLUMNS + 3 * a->units) + SUMS * a->units);
  const size_t group_bytes = (size_t)a->units * GROUP * sizeof(float);
  size_t bytes = BARRIER_BYTES + floats * sizeof(float) + (size_t)(RING * s->rows * a->x_groups * COLUMNS) * held_bytes;
  a->keeps_w = !s->kept && bytes + (size_t)a->x_groups * group_bytes <= SHARED_MOST;
  bytes += a->keeps_w ? (size_t)a->x_groups * group_bytes : 0;
  a->keeps_r = !s->held && bytes + (size_t)a->h_groups * group_bytes <= SHARED_MOST;
  return bytes + (a->keeps_r ? (size_t)a->h_groups * group_bytes : 0);
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  const row_kernel *kernel = query->tactic->kernel;
  state asked, *s = state_memory ? state_memory : &asked;
  const hone_dtype held = query->in[X].type.dtype;
  int directions;
  if (held != HONE_F32 && held != HONE_F16 && held != HONE_BF16) return "it is neither f32 nor f16 nor bf16";
  HN_TRY_REASON(check_types(query, kernel->is_lstm, held));
  *s = (state){.args.gates = kernel->is_lstm ? 4 : 3};
  for (int i = 0; i < query->in_count; ++i) s->given[i] = hn_cuda_given(query, i);
  for (int i = 0; i < query->out_count; ++i) s->wants[i] = query->out[i].type.kind != HONE_ABSENT;
  HN_TRY_REASON(read_attrs(query, kernel->is_lstm, &directions, &s->args));
  HN_TRY_REASON(read_extents(query, directions, hn_cuda_attr_int(query->attrs, "layout", 0) == 1, &s->args));
  lay_out(&s->args, directions, needs);
  const int rows = s->args.batch > 1 && s->args.batch * directions > CLUSTERS ? MANY : 1;
  const size *found = find_size(&s->args, rows);
  const size_t bytes = share(&s->args, found, held == HONE_F32 ? 4 : 2);
  if (bytes > SHARED_MOST) return "a step's inputs and states do not fit into shared memory";
  s->shared_bytes = (unsigned)bytes;
  s->clusters = (unsigned)((s->args.batch + rows - 1) / rows * directions);
  s->kernel = (held == HONE_F32 ? kernel->f32 : held == HONE_F16 ? kernel->f16 : kernel->bf16)[found - sizes];
  s->args.wants_y = s->wants[Y];
  needs->state = sizeof *s;
  return NULL;
}

/* ---- weights ---- */

/* Where a gate's row counts: the candidate of a GRU has a sum with the inputs and one with the state. */
static int sum_of(const hn_cuda_rnn *a, int gate, bool of_state) {
  return a->gates == 3 && gate == 2 && of_state ? 3 : gate;
}

/* Rows [gate][unit] of `columns` become [unit][group][sum][lane][four]. */
static void pack_matrix(const hone_tensor *from, int64_t first, const hn_cuda_rnn *a, bool of_state, float *to) {
  const int columns = of_state ? a->hidden : a->input, groups = of_state ? a->h_groups : a->x_groups;
  for (int gate = 0; gate < a->gates; ++gate)
    for (int unit = 0; unit < a->hidden; ++unit)
      for (int column = 0; column < columns; ++column)
        to[((int64_t)unit * groups + column / COLUMNS) * GROUP + sum_of(a, gate, of_state) * COLUMNS +
           column % COLUMNS] = hn_cuda_weight(from, first + ((int64_t)gate * a->hidden + unit) * columns + column);
}

static void pack_biases(const hone_tensor *from, int64_t first, const hn_cuda_rnn *a, float *to) {
  for (int half = 0; half < 2; ++half)
    for (int gate = 0; gate < a->gates; ++gate)
      for (int unit = 0; unit < a->hidden; ++unit)
        to[unit * SUMS + sum_of(a, gate, half == 1)] +=
            hn_cuda_weight(from, first + ((int64_t)half * a->gates + gate) * a->hidden + unit);
}

static hone_status pack(const hone_query *query, void *to) {
  hone_needs needs = {0};
  state s;
  memset(&s, 0, sizeof s);
  if (plan(query, &s, &needs)) return HONE_INTERNAL;
  const hn_cuda_rnn *a = &s.args;
  const int64_t rows = (int64_t)a->gates * a->hidden;
  memset(to, 0, needs.packed);
  for (int64_t d = 0; d < query->in[R].type.shape.dim[0]; ++d) {
    float *packed = (float *)to + d * a->direction_floats;
    pack_matrix(query->in[R].constant, d * rows * a->hidden, a, true, packed);
    pack_matrix(query->in[W].constant, d * rows * a->input, a, false, packed + a->w_at);
    if (s.given[B]) pack_biases(query->in[B].constant, d * 2 * rows, a, packed + a->bias_at);
  }
  return HONE_OK;
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  const void *h0 = s->given[INITIAL_H] ? launch->in[INITIAL_H].data : NULL;
  const void *c0 = s->given[INITIAL_C] ? launch->in[INITIAL_C].data : NULL;
  void *y = launch->out[Y].data, *y_h = s->wants[Y_H] ? launch->out[Y_H].data : NULL;
  void *y_c = s->wants[Y_C] ? launch->out[Y_C].data : NULL;
  void *arguments[] = {&s->args,
                       (void *)(uintptr_t)&launch->in[X].data,
                       (void *)(uintptr_t)&launch->packed,
                       (void *)&h0,
                       (void *)&c0,
                       &y,
                       &y_h,
                       &y_c};
  return hn_cuda_launch_shaped(stream, s->kernel,
                               &(hn_cuda_shape){.grid = {s->clusters * (unsigned)s->args.blocks, 1, 1},
                                                .threads = WARPS * LANES,
                                                .shared_bytes = s->shared_bytes,
                                                .cluster = (unsigned)s->args.blocks,
                                                .dependent = true},
                               arguments);
}

enum { PACKED = 1 << W | 1 << R | 1 << B };

static const row_kernel lstm = {true,
                                {HN_CUDA_lstm_f32_1_2_1, HN_CUDA_lstm_f32_2_2_1, HN_CUDA_lstm_f32_2_0_1,
                                 HN_CUDA_lstm_f32_0_0_1, HN_CUDA_lstm_f32_2_0_4, HN_CUDA_lstm_f32_0_0_4},
                                {HN_CUDA_lstm_f16_1_2_1, HN_CUDA_lstm_f16_2_2_1, HN_CUDA_lstm_f16_2_0_1,
                                 HN_CUDA_lstm_f16_0_0_1, HN_CUDA_lstm_f16_2_0_4, HN_CUDA_lstm_f16_0_0_4},
                                {HN_CUDA_lstm_bf16_1_2_1, HN_CUDA_lstm_bf16_2_2_1, HN_CUDA_lstm_bf16_2_0_1,
                                 HN_CUDA_lstm_bf16_0_0_1, HN_CUDA_lstm_bf16_2_0_4, HN_CUDA_lstm_bf16_0_0_4}};
static const row_kernel gru = {false,
                               {HN_CUDA_gru_f32_1_2_1, HN_CUDA_gru_f32_2_2_1, HN_CUDA_gru_f32_2_0_1,
                                HN_CUDA_gru_f32_0_0_1, HN_CUDA_gru_f32_2_0_4, HN_CUDA_gru_f32_0_0_4},
                               {HN_CUDA_gru_f16_1_2_1, HN_CUDA_gru_f16_2_2_1, HN_CUDA_gru_f16_2_0_1,
                                HN_CUDA_gru_f16_0_0_1, HN_CUDA_gru_f16_2_0_4, HN_CUDA_gru_f16_0_0_4},
                               {HN_CUDA_gru_bf16_1_2_1, HN_CUDA_gru_bf16_2_2_1, HN_CUDA_gru_bf16_2_0_1,
                                HN_CUDA_gru_bf16_0_0_1, HN_CUDA_gru_bf16_2_0_4, HN_CUDA_gru_bf16_0_0_4}};

const hone_tactic hn_tactics_cuda_recurrent[] = {
    {sizeof(hone_tactic), .name = "cuda.lstm.f32", .op = "lstm", .version = 1, .isa = HN_CUDA_SM90,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = PACKED, .plan = plan, .pack = pack,
     .launch = launch, .kernel = &lstm},
    {sizeof(hone_tactic), .name = "cuda.gru.f32", .op = "gru", .version = 1, .isa = HN_CUDA_SM90,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = PACKED, .plan = plan, .pack = pack,
     .launch = launch, .kernel = &gru},
    {sizeof(hone_tactic), .name = "cuda.lstm.half", .op = "lstm", .version = 1, .isa = HN_CUDA_SM90,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = PACKED, .plan = plan, .pack = pack,
     .launch = launch, .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .kernel = &lstm},
    {sizeof(hone_tactic), .name = "cuda.gru.half", .op = "gru", .version = 1, .isa = HN_CUDA_SM90,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = PACKED, .plan = plan, .pack = pack,
     .launch = launch, .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .kernel = &gru},
    {0}};
