/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_common.c - what lstm and gru share: shapes, packing, and the loop over time. */
#include "backend/cpu/rnn/rnn_common.h"
#include <string.h>
#include <strings.h>

static const double size_limit = 1e12; /* floats of one direction's r */
static const double ns_per_split = 20e3;

/* Of a direction: activations, blocks of `hidden` rows in w and r. joins_biases: both halves of b are added to the
 * inputs' product; else the second is to the state's. */
static const struct kind {
  int activations, gates;
  bool joins_biases;
} kinds[] = {[HN_RNN_LSTM] = {3, 4, true}, [HN_RNN_GRU] = {2, 3, false}, [HN_RNN_PLAIN] = {1, 1, true}};

static bool has_shape(const hone_fact *fact, int rank, int64_t d0, int64_t d1, int64_t d2, int64_t d3) {
  const int64_t want[4] = {d0, d1, d2, d3};
  size_t bytes;
  if (!hn_cpu_is(fact, HONE_F32, HONE_PLAIN) || fact->type.shape.rank != rank || !hn_type_bytes(&fact->type, &bytes))
    return false;
  for (int i = 0; i < rank; ++i)
    if (fact->type.shape.dim[i] != want[i]) return false;
  return true;
}

static const char *read_attrs(const hone_query *query, hn_cpu_rnn *r) {
  const hn_cpu_rnn_kind kind = r->cell->kind;
  const char *direction = hn_attr_text(query->attrs, "direction");
  r->directions = hn_name_equal(direction, "bidirectional") ? 2 : 1;
  r->is_reverse = hn_name_equal(direction, "reverse");
  if (r->directions == 1 && !r->is_reverse && !hn_name_equal(direction, "forward")) return "its direction is not known";
  const int64_t layout = hn_attr_int(query->attrs, "layout");
  if (layout != 0 && layout != 1) return "its layout is not known";
  r->batch_first = layout == 1;
  r->is_linear_first = hn_attr_int(query->attrs, "linear_before_reset") != 0;
  r->is_coupled = hn_attr_int(query->attrs, "input_forget") != 0;
  if (hn_attr_has(query->attrs, "clip")) {
    r->clip = (float)hn_attr_float(query->attrs, "clip");
    if (kind == HN_RNN_LSTM || !(r->clip > 0)) return "it clips the cell's state, or to nothing";
  }
  const hone_attr *acts = hn_attr_find(query->attrs, "activations");
  r->is_relu = kind == HN_RNN_PLAIN && acts && acts->count > 0 && strcasecmp(acts->strings[0], "relu") == 0;
  for (int64_t i = 0; acts && i < acts->count; ++i) {
    const char *want = r->is_relu                                                 ? "relu"
                       : kind != HN_RNN_PLAIN && i % kinds[kind].activations == 0 ? "sigmoid"
                                                                                  : "tanh";
    if (strcasecmp(acts->strings[i], want) != 0) return "its activations are not sigmoid and tanh";
  }
  return NULL;
}

static const char *read_shapes(const hone_query *query, hn_cpu_rnn *r) {
  const hone_type *x = &query->in[HN_RNN_X].type, *w = &query->in[HN_RNN_R].type;
  if (x->kind != HONE_TENSOR || w->kind != HONE_TENSOR || x->shape.rank != 3 || w->shape.rank != 3)
    return "an operand is missing or has another rank than 3";
  r->time = x->shape.dim[r->batch_first ? 1 : 0];
  r->batch = x->shape.dim[r->batch_first ? 0 : 1];
  r->input = x->shape.dim[2];
  r->hidden = w->shape.dim[2];
  const double hidden = (double)r->hidden;
  if (r->time < 1 || r->batch < 1 || r->input < 1 || r->hidden < 1) return "an extent is 0";
  if ((hidden + 16) * ((double)r->gates * hidden + 16) > size_limit) return "its state is too large";
  const int64_t d = r->directions, g = r->gates * r->hidden, n = r->batch, t = r->time, h = r->hidden;
  const int64_t outer = r->batch_first ? n : d, inner = r->batch_first ? d : n;
  const hone_fact *in = query->in;
  if (!has_shape(&in[HN_RNN_X], 3, r->batch_first ? n : t, r->batch_first ? t : n, r->input, 0) ||
      !has_shape(&in[HN_RNN_W], 3, d, g, r->input, 0) || !has_shape(&in[HN_RNN_R], 3, d, g, h, 0) ||
      (r->given[HN_RNN_B] && !has_shape(&in[HN_RNN_B], 2, d, 2 * g, 0, 0)) ||
      (r->given[HN_RNN_INITIAL_H] && !has_shape(&in[HN_RNN_INITIAL_H], 3, outer, inner, h, 0)) ||
      (r->given[HN_RNN_INITIAL_C] && !has_shape(&in[HN_RNN_INITIAL_C], 3, outer, inner, h, 0)) ||
      (r->given[HN_RNN_PEEPHOLE] && !has_shape(&in[HN_RNN_PEEPHOLE], 2, d, 3 * h, 0, 0)))
    return "the inputs are not plain f32 of shapes that fit together";
  const hone_fact *lengths = &in[HN_RNN_LENGTHS];
  if (r->given[HN_RNN_LENGTHS] &&
      (!hn_cpu_is(lengths, HONE_I32, HONE_PLAIN) || lengths->type.shape.rank != 1 || lengths->type.shape.dim[0] != n))
    return "its lengths are not one i32 for each sequence";
  const hone_fact *out = query->out;
  const int64_t y0 = r->batch_first ? n : t, y1 = r->batch_first ? t : d, y2 = r->batch_first ? d : n;
  if ((r->wants[0] && !has_shape(&out[0], 4, y0, y1, y2, h)) ||
      (r->wants[1] && !has_shape(&out[1], 3, outer, inner, h, 0)) ||
      (r->wants[2] && !has_shape(&out[2], 3, outer, inner, h, 0)))
    return "the outputs are not plain f32 of shapes that fit the inputs";
  return NULL;
}

/* Gates whose weights multiply the state itself. */
static int64_t state_gates(const hn_cpu_rnn *r) { return r->gates - (r->waits ? 1 : 0); }

static int64_t packed_state_floats(const hn_cpu_rnn *r, int64_t gates) {
  const hn_cpu_rnn_cell *cell = r->cell;
  if (cell->lanes == 0)
    return hn_cpu_whole_lines(hn_gemm_f32_packed_floats(r->hidden, gates * r->hidden, cell->gemm->panel));
  const int64_t floats = hn_rnn_packed_floats(r->hidden, gates, cell->lanes);
  return hn_cpu_whole_lines(cell->held == HONE_BF16  ? hn_rnn_packed_pairs(r->hidden, gates, cell->lanes)
                            : cell->held == HONE_F16 ? floats / 2
                                                     : floats);
}

static void lay_out(hn_cpu_rnn *r) {
  const int64_t n = r->gates * r->hidden;
  r->r_at = hn_cpu_whole_lines(r->cell->tiles ? hn_product_half_packed(1, n, r->input, 1) / 2
                                              : hn_gemm_f32_packed_floats(r->input, n, r->cell->gemm->panel));
  r->candidate_at = r->r_at + packed_state_floats(r, state_gates(r));
  r->x_bias_at = r->candidate_at + (r->waits ? packed_state_floats(r, 1) : 0);
  const int64_t whole = r->cell->tiles ? hn_ceil_div(n, HN_PRODUCT_HALF_TILE) * HN_PRODUCT_HALF_TILE : n;
  r->h_bias_at = r->x_bias_at + hn_cpu_whole_lines(whole);
  r->direction_floats = r->h_bias_at + hn_cpu_whole_lines(n);
}

const char *hn_cpu_rnn_read(const hone_query *query, hn_cpu_rnn *r) {
  const hn_cpu_rnn_cell *cell = query->tactic->kernel;
  *r = (hn_cpu_rnn){.cell = cell, .gates = kinds[cell->kind].gates};
  const bool is_lstm = cell->kind == HN_RNN_LSTM;
  const int most_in = is_lstm ? HN_RNN_PORTS : HN_RNN_INITIAL_C, most_out = is_lstm ? 3 : 2;
  if (query->in_count < 3 || query->in_count > most_in) return "it has another number of inputs";
  if (query->out_count < 1 || query->out_count > most_out) return "it has another number of outputs";
  for (int i = 0; i < query->in_count; ++i) r->given[i] = hn_cpu_given(query, i);
  for (int i = 0; i < query->out_count; ++i) r->wants[i] = query->out[i].type.kind != HONE_ABSENT;
  const uint32_t constants = query->constant_mask;
  if (!(constants >> HN_RNN_W & 1) || !(constants >> HN_RNN_R & 1) ||
      (r->given[HN_RNN_B] && !(constants >> HN_RNN_B & 1)))
    return "its weights are not constant";
  HN_TRY_REASON(read_attrs(query, r));
  HN_TRY_REASON(read_shapes(query, r));
  r->waits = cell->kind == HN_RNN_GRU && !r->is_linear_first;
  const int64_t n = r->gates * r->hidden;
  r->project = (hn_cpu_product){.kernel = cell->gemm, .batch.b_matrices = 1, .b_packed_before = true};
  r->project.gemm = (hn_gemm_f32){.m = r->time * r->batch, .n = n, .k = r->input};
  r->project.gemm.a_row_stride = r->input;
  r->project.gemm.a_column_stride = 1;
  r->project.gemm.c_row_stride = n;
  r->project.b_row_stride = 1;
  r->project.b_column_stride = r->input;
  HN_TRY_REASON(hn_cpu_product_check_sizes(&r->project));
  lay_out(r);
  return NULL;
}

static void pack_state(const hn_cpu_rnn *r, const float *from, int64_t gates, float *to) {
  const int64_t h = r->hidden, n = gates * h;
  const int panel = r->cell->gemm->panel;
  if (r->cell->held == HONE_BF16)
    hn_rnn_pack_bf16_c(from, gates, h, r->cell->lanes, (uint16_t *)to);
  else if (r->cell->held == HONE_F16)
    hn_rnn_pack_f16_c(from, gates, h, r->cell->lanes, (uint16_t *)to);
  else if (r->cell->lanes)
    hn_rnn_pack_f32_c(from, gates, h, r->cell->lanes, to);
  else
    hn_gemm_f32_pack_b_c(from, 1, h, h, n, panel, 0, hn_gemm_f32_panels(n, panel), to);
}

static void pack_direction(const hn_cpu_rnn *r, const float *w, const float *state, const float *b, float *to) {
  const int panel = r->cell->gemm->panel;
  const int64_t n = r->gates * r->hidden, first = state_gates(r);
  const bool joins = kinds[r->cell->kind].joins_biases;
  const hn_product_half_weights tiles = {
      .w = w, .groups = 1, .outs = n, .depth = r->input, .taps = 1, .out = r->input, .in = 1};
  if (r->cell->tiles)
    hn_product_bf16_pack_c(&tiles, (uint16_t *)to);
  else
    hn_gemm_f32_pack_b_c(w, 1, r->input, r->input, n, panel, 0, hn_gemm_f32_panels(n, panel), to);
  pack_state(r, state, first, to + r->r_at);
  if (r->waits) pack_state(r, state + first * r->hidden * r->hidden, 1, to + r->candidate_at);
  for (int64_t i = 0; b && i < n; ++i) {
    to[r->x_bias_at + i] = joins ? b[i] + b[n + i] : b[i];
    to[r->h_bias_at + i] = joins ? 0 : b[n + i];
  }
}

hone_status hn_cpu_rnn_pack(const hone_query *query, void *to) {
  hn_cpu_rnn r;
  if (hn_cpu_rnn_read(query, &r)) return HONE_INTERNAL;
  memset(to, 0, (size_t)(r.directions * r.direction_floats) * sizeof(float));
  const float *w = query->in[HN_RNN_W].constant->data, *state = query->in[HN_RNN_R].constant->data;
  const float *b = r.given[HN_RNN_B] ? query->in[HN_RNN_B].constant->data : NULL;
  const int64_t n = r.gates * r.hidden;
  for (int64_t d = 0; d < r.directions; ++d)
    pack_direction(&r, w + d * n * r.input, state + d * n * r.hidden, b ? b + d * 2 * n : NULL,
                   (float *)to + d * r.direction_floats);
  return HONE_OK;
}

/* Rows of x become blocks of 32 beside each other (backend/cpu/gemm/linear_half.c); returns the floats for them. */
static int64_t plan_tiles(hn_cpu_rnn *r, const hone_facts *facts) {
  enum { TILE = HN_PRODUCT_HALF_TILE };
  const int64_t rows = r->time * r->batch, n = r->gates * r->hidden;
  r->tiles = (hn_cpu_half){
      .kernel = r->cell->tiles, .gathers = true, .bias_at = r->x_bias_at, .slopes_at = -1, .residual = -1};
  r->tiles.product = (hn_product_half){.images = 1,
                                       .groups = 1,
                                       .taps = 1,
                                       .depth_blocks = hn_ceil_div(r->input, TILE),
                                       .out_channels = n,
                                       .row_pixels = rows,
                                       .out_width = rows,
                                       .out_height = 1,
                                       .x_block = rows * TILE,
                                       .y_pixel = n,
                                       .y_block = TILE,
                                       .y_lanes = TILE,
                                       .may_read_behind = true};
  r->tiles.gather = (hn_gather_half){.images = 1,
                                     .channels = r->input,
                                     .in_height = 1,
                                     .in_width = rows,
                                     .rows = 1,
                                     .row_pixels = rows,
                                     .phases_height = 1,
                                     .phases_width = 1,
                                     .stride_height = 1,
                                     .stride_width = 1};
  return hn_cpu_whole_lines((int64_t)(hn_cpu_half_cut(&r->tiles, facts, NULL) / sizeof(float)));
}

void hn_cpu_rnn_plan_project(hn_cpu_rnn *r, const hone_facts *facts) {
  r->gates_floats = hn_cpu_whole_lines(r->time * r->batch * r->gates * r->hidden);
  if (r->cell->tiles) {
    r->project_floats = plan_tiles(r, facts);
    return;
  }
  hn_cpu_product_plan(&r->project, facts);
  r->project_floats = (int64_t)(hn_cpu_product_scratch_bytes(&r->project) / sizeof(float));
}

const char *hn_cpu_rnn_plan(const hone_query *query, void *memory, hone_needs *needs) {
  const hone_facts *facts = query->facts;
  hn_cpu_rnn asked, *r = memory ? memory : &asked;
  HN_TRY_REASON(hn_cpu_rnn_read(query, r));
  const int64_t threads = hn_cpu_threads(facts), h = r->hidden;
  hn_cpu_rnn_plan_project(r, facts);
  const double step_ns = hn_cpu_gemm_ns(r->cell->gemm, r->batch, r->gates * h, h);
  r->chunks = hn_cpu_lesser(r->batch, hn_ceil_div(threads, r->directions));
  r->rows = hn_ceil_div(r->batch, r->chunks);
  r->chunks = hn_ceil_div(r->batch, r->rows);
  r->units = r->directions * r->chunks;
  r->grain = hn_cpu_grain(r->units, step_ns * (double)(r->time * r->directions));
  r->splits_steps = r->units == 1 && r->rows <= HN_GEMM_F32_DIRECT_ROWS && step_ns > ns_per_split;
  r->recur = (hn_gemm_f32){.m = r->rows, .n = state_gates(r) * h, .k = h, .a_row_stride = h, .a_column_stride = 1};
  hn_gemm_f32_choose(&r->recur, r->cell->gemm->panel, hn_cpu_l2_bytes(facts));
  r->kept_floats = r->given[HN_RNN_LENGTHS] ? hn_cpu_whole_lines(2 * r->rows * h) : 0;
  r->unit_floats = hn_cpu_whole_lines(r->rows * h * (r->gates + 3)) + r->kept_floats +
                   hn_cpu_whole_lines(hn_gemm_f32_scratch_floats(&r->recur));
  needs->state = sizeof *r;
  needs->scratch =
      (size_t)(r->directions * r->gates_floats + r->project_floats + r->units * r->unit_floats) * sizeof(float);
  needs->packed = (size_t)(r->directions * r->direction_floats) * sizeof(float);
  needs->efficiency = 0.4; /* steps of few rows */
  return NULL;
}

typedef struct recur_job {
  const hn_cpu_rnn_unit *unit;
  hn_gemm_f32 gemm;
} recur_job;

static void recur_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const recur_job *j = arg;
  j->unit->rnn->cell->gemm->run(&j->gemm, 0, j->gemm.m, begin, end, j->unit->scratch);
}

/* Several threads share a step only when A is read in place, without scratch. */
void hn_cpu_rnn_recur(const hn_cpu_rnn_unit *unit, const float *a, const float *b_packed, int64_t n, const float *bias,
                      const float *residual, int64_t residual_stride, float *c, int64_t c_stride) {
  const hn_cpu_gemm_kernel *kernel = unit->rnn->cell->gemm;
  recur_job j = {unit, unit->rnn->recur};
  j.gemm.m = unit->rows;
  j.gemm.n = n;
  j.gemm.a = a;
  j.gemm.b_packed = b_packed;
  j.gemm.c = c;
  j.gemm.c_row_stride = c_stride;
  j.gemm.epilogue = (hn_epilogue_f32){.bias = bias, .residual = residual, .residual_stride = residual_stride};
  const int64_t panels = hn_gemm_f32_panels(n, kernel->panel);
  const double total_ns = hn_cpu_gemm_ns(kernel, unit->rows, n, j.gemm.k);
  hn_pool_run(unit->pool, panels, hn_cpu_grain(panels, total_ns), recur_body, &j);
}

int64_t hn_cpu_rnn_x_stride(const hn_cpu_rnn *r) { return r->gates * r->hidden * (r->batch_first ? r->time : 1); }

typedef struct job {
  const hn_cpu_rnn *rnn;
  const hone_launch *launch;
  hn_pool *pool; /* for the steps of a single unit */
  hn_stop *stop;
  const float *x_gates;
  float *units;
  hn_cpu_rnn_lengths lengths;
} job;

void hn_cpu_rnn_copy_state(const hn_cpu_rnn *r, int64_t direction, int64_t first, int64_t count, float *tensor,
                           float *rows, bool to_tensor) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t batch = first + i;
    float *at =
        tensor + (r->batch_first ? batch * r->directions + direction : direction * r->batch + batch) * r->hidden;
    memcpy(to_tensor ? at : rows + i * r->hidden, to_tensor ? rows + i * r->hidden : at,
           (size_t)r->hidden * sizeof(float));
  }
}

hone_status hn_cpu_rnn_read_lengths(const hn_cpu_rnn *r, const hone_launch *l, hn_cpu_rnn_lengths *out) {
  *out = (hn_cpu_rnn_lengths){.longest = r->time};
  if (!r->given[HN_RNN_LENGTHS]) return HONE_OK;
  out->of = l->in[HN_RNN_LENGTHS].data;
  out->longest = 0;
  for (int64_t i = 0; i < r->batch; ++i) {
    if (out->of[i] < 0 || out->of[i] > r->time)
      return HN_FAIL(l->diagnostics, HONE_MALFORMED, "sequence_lens[%lld] is %d, expected 0 to %lld", (long long)i,
                     (int)out->of[i], (long long)r->time);
    out->longest = hn_cpu_greater(out->longest, out->of[i]);
  }
  return HONE_OK;
}

int64_t hn_cpu_rnn_rows_at(const hn_cpu_rnn_lengths *lengths, int64_t first, int64_t count, int64_t time) {
  while (count > 0 && hn_cpu_rnn_is_behind(lengths, first + count - 1, time)) --count;
  return count;
}

int64_t hn_cpu_rnn_y_at(const hn_cpu_rnn *r, int64_t time, int64_t direction, int64_t sequence) {
  return r->hidden * (r->batch_first ? (sequence * r->time + time) * r->directions + direction
                                     : (time * r->directions + direction) * r->batch + sequence);
}

void hn_cpu_rnn_clear_rest(const hn_cpu_rnn *r, const hn_cpu_rnn_lengths *lengths, size_t element, void *y) {
  const int64_t rest = r->time - lengths->longest, step = r->directions * r->hidden; /* of a sequence */
  const int64_t runs = r->batch_first ? r->batch : 1, run = r->batch_first ? rest * step : rest * step * r->batch;
  if (!r->wants[0] || !y || rest == 0) return;
  for (int64_t i = 0; i < runs; ++i)
    memset((char *)y + (size_t)hn_cpu_rnn_y_at(r, lengths->longest, 0, i) * element, 0, (size_t)run * element);
}

static void store_step(const job *j, const hn_cpu_rnn_unit *u, int64_t time, int64_t first, int64_t count, float *y) {
  const hn_cpu_rnn *r = u->rnn;
  const size_t bytes = (size_t)r->hidden * sizeof *y;
  for (int64_t i = 0; i < count; ++i) {
    float *to = y + hn_cpu_rnn_y_at(r, time, u->direction, first + i);
    if (hn_cpu_rnn_is_behind(&j->lengths, first + i, time))
      memset(to, 0, bytes);
    else
      memcpy(to, u->h + i * r->hidden, bytes);
  }
}

/* The states of sequences that a step does not concern, put aside and brought back. */
static void keep_ended(const job *j, const hn_cpu_rnn_unit *u, int64_t time, int64_t first, bool brings_back) {
  const int64_t h = u->rnn->hidden, all = u->rnn->rows * h;
  const size_t bytes = (size_t)h * sizeof(float);
  for (int64_t i = 0; i < u->rows; ++i) {
    if (!hn_cpu_rnn_is_behind(&j->lengths, first + i, time)) continue;
    float *state = u->h + i * h, *cell = u->c + i * h, *kept = u->kept + i * h;
    memcpy(brings_back ? state : kept, brings_back ? kept : state, bytes);
    memcpy(brings_back ? cell : kept + all, brings_back ? kept + all : cell, bytes);
  }
}

/* As many as make some 50 us, beside which a look does not show. */
static int64_t steps_between_looks(const hn_cpu_rnn *r) {
  return 1 + (int64_t)(50e3 / (100 + hn_cpu_gemm_ns(r->cell->gemm, r->rows, r->gates * r->hidden, r->hidden)));
}

static void run_unit(const job *j, int64_t number) {
  const hn_cpu_rnn *r = j->rnn;
  const hone_launch *l = j->launch;
  const int64_t first = number % r->chunks * r->rows, n = r->gates * r->hidden;
  hn_cpu_rnn_unit u = {.rnn = r, .pool = j->pool, .direction = number / r->chunks};
  u.rows = hn_cpu_lesser(r->rows, r->batch - first);
  u.packed = (const float *)l->packed + u.direction * r->direction_floats;
  if (r->given[HN_RNN_PEEPHOLE]) u.peephole = (const float *)l->in[HN_RNN_PEEPHOLE].data + u.direction * 3 * r->hidden;
  u.h = j->units + number * r->unit_floats;
  u.c = u.h + r->rows * r->hidden;
  u.z = u.c + r->rows * r->hidden;
  u.gates = u.z + r->rows * r->hidden;
  u.kept = u.h + hn_cpu_whole_lines(r->rows * r->hidden * (r->gates + 3));
  u.scratch = u.kept + r->kept_floats;
  memset(u.h, 0, (size_t)(2 * r->rows * r->hidden) * sizeof(float));
  if (r->given[HN_RNN_INITIAL_H])
    hn_cpu_rnn_copy_state(r, u.direction, first, u.rows, l->in[HN_RNN_INITIAL_H].data, u.h, false);
  if (r->given[HN_RNN_INITIAL_C])
    hn_cpu_rnn_copy_state(r, u.direction, first, u.rows, l->in[HN_RNN_INITIAL_C].data, u.c, false);
  const bool is_backwards = r->is_reverse || u.direction == 1;
  const int64_t steps_a_look = steps_between_looks(r);
  const float *x_gates = j->x_gates + u.direction * r->gates_floats;
  const int64_t all = u.rows, steps = j->lengths.longest;
  for (int64_t step = 0; step < steps && !(step % steps_a_look == 0 && hn_stop_now(j->stop)); ++step) {
    const int64_t time = is_backwards ? steps - 1 - step : step;
    u.rows = hn_cpu_rnn_rows_at(&j->lengths, first, all, time);
    keep_ended(j, &u, time, first, false);
    if (u.rows > 0)
      r->cell->step(&u, x_gates + (r->batch_first ? first * r->time + time : time * r->batch + first) * n);
    keep_ended(j, &u, time, first, true);
    if (r->wants[0] && l->out[0].data) store_step(j, &u, time, first, all, l->out[0].data);
  }
  u.rows = all;
  if (r->wants[1] && l->out[1].data) hn_cpu_rnn_copy_state(r, u.direction, first, u.rows, l->out[1].data, u.h, true);
  if (r->wants[2] && l->out[2].data) hn_cpu_rnn_copy_state(r, u.direction, first, u.rows, l->out[2].data, u.c, true);
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  for (int64_t number = begin; number < end; ++number) run_unit(arg, number);
}

void hn_cpu_rnn_project(const hn_cpu_rnn *r, hone_stream *stream, const hone_launch *launch, float *x_gates) {
  for (int64_t d = 0; d < r->directions; ++d) {
    const float *packed = (const float *)launch->packed + d * r->direction_floats;
    if (r->cell->tiles) {
      static const int64_t no_shift = 0;
      hone_tensor y = {.data = x_gates + d * r->gates_floats};
      hn_cpu_half_run(
          &r->tiles, &no_shift, stream,
          &(hone_launch){
              .in = launch->in, .out = &y, .packed = packed, .scratch = x_gates + r->directions * r->gates_floats});
      continue;
    }
    const hn_cpu_product_data data = {.a = launch->in[HN_RNN_X].data,
                                      .b = packed,
                                      .bias = packed + r->x_bias_at,
                                      .c = x_gates + d * r->gates_floats,
                                      .scratch = x_gates + r->directions * r->gates_floats};
    hn_cpu_product_run(&r->project, hn_stream_pool(stream), &data);
  }
}

hone_status hn_cpu_rnn_launch(void *state, hone_stream *stream, const hone_launch *launch) {
  const hn_cpu_rnn *r = state;
  hn_pool *pool = hn_stream_pool(stream);
  float *x_gates = launch->scratch, *project = x_gates + r->directions * r->gates_floats;
  job j = {.rnn = r, .launch = launch, .x_gates = x_gates, .units = project + r->project_floats, .stop = pool->stop};
  HN_TRY(hn_cpu_rnn_read_lengths(r, launch, &j.lengths));
  hn_cpu_rnn_project(r, stream, launch, x_gates);
  hn_cpu_rnn_clear_rest(r, &j.lengths, sizeof(float), launch->out[0].data);
  if (r->splits_steps) j.pool = pool;
  if (r->splits_steps)
    run_unit(&j, 0);
  else
    hn_pool_run(pool, r->units, r->grain, body, &j);
  return HONE_OK;
}
