/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_steps.c - recurrent layers for few rows: every step is one pass over weights packed in tiles of hidden units,
 * each with all its gates and its cell. Threads share the tiles of a step and meet once a step (GRU whose candidate
 * waits for the reset: twice); threads that have whole directions do not meet at all. When one does not come, because
 * its core was taken away, the first goes on alone. For many rows
 * the products of lstm.c and gru.c, which reuse a panel for more rows, are better. */
#include "backend/cpu/rnn/rnn_common.h"
#include "base/team.h"
#include "kernels/cpu/rnn/rnn_steps.h"
#include <stdatomic.h>
#include <string.h>

static const double bytes_per_ns = 100;  /* of one thread out of the second cache */
static const double ns_per_member = 600; /* of a step: less is not worth waiting for the others */
static const double ns_worth_sharing = 20e3;
static const double patience = 0.1;             /* of the work, for the others to come */
static const double meeting_patience_ns = 40e3; /* beside the time of two steps: then a member's core is gone */
enum { PATIENCE_LIMIT_NS = 60000, STATES = 6 };

/* Kernels of one instruction set. first: the only one, or GRU's gates where the candidate waits; then the candidate's.
 */
typedef struct steps_isa {
  int lanes;
  hn_rnn_step_f32_fn *lstm, *gru, *gru_gates, *gru_output, *plain;
} steps_isa;

typedef struct steps_cell {
  hn_cpu_rnn_cell cell; /* kind, gates, the product of the inputs; no pointwise kernels */
  const steps_isa *isa;
} steps_cell;

typedef struct steps {
  hn_cpu_rnn rnn;                     /* r_at and candidate_at: of tiles */
  hn_rnn_step_f32_fn *first, *second; /* second: NULL unless the candidate waits */
  int64_t tiles;
  int most; /* members of the team */
  int64_t patience_ns, meeting_ns;
  int64_t state_floats, direction_floats; /* of a buffer; of a direction's buffers */
} steps;

static int64_t first_gates(const hn_cpu_rnn *r) { return r->gates - (hn_cpu_rnn_waits_for_reset(r) ? 1 : 0); }

static void lay_out(hn_cpu_rnn *r, const steps_isa *isa) {
  const int64_t n = r->gates * r->hidden;
  r->r_at = hn_cpu_whole_lines(hn_gemm_f32_packed_floats(r->input, n, r->cell->gemm->panel));
  r->candidate_at = r->r_at + hn_cpu_whole_lines(hn_rnn_packed_floats(r->hidden, first_gates(r), isa->lanes));
  r->x_bias_at = r->candidate_at;
  if (hn_cpu_rnn_waits_for_reset(r)) r->x_bias_at += hn_cpu_whole_lines(hn_rnn_packed_floats(r->hidden, 1, isa->lanes));
  r->h_bias_at = r->x_bias_at + hn_cpu_whole_lines(n);
  r->direction_floats = r->h_bias_at + hn_cpu_whole_lines(n);
}

static const char *reject(const hone_query *query, const steps_cell *cell) {
  hn_cpu_rnn r;
  const char *reason = hn_cpu_rnn_read(query, &cell->cell, &r);
  if (reason) return reason;
  return r.batch > 64 ? "so many rows are better served by whole products" : NULL;
}

static void plan(steps *s, const steps_cell *cell, const hone_facts *facts) {
  hn_cpu_rnn *r = &s->rnn;
  const steps_isa *isa = cell->isa;
  hn_cpu_product_plan(&r->project, facts);
  lay_out(r, isa);
  r->gates_floats = hn_cpu_whole_lines(r->time * r->batch * r->gates * r->hidden);
  r->project_floats = (int64_t)(hn_cpu_product_scratch_bytes(&r->project) / sizeof(float));
  s->tiles = hn_rnn_tiles(r->hidden, isa->lanes);
  s->state_floats = hn_cpu_whole_lines(r->batch * r->hidden);
  s->direction_floats = STATES * s->state_floats;
  s->first = r->cell->kind == HN_RNN_LSTM ? isa->lstm : r->cell->kind == HN_RNN_PLAIN ? isa->plain : isa->gru;
  s->second = NULL;
  if (hn_cpu_rnn_waits_for_reset(r)) {
    s->first = isa->gru_gates;
    s->second = isa->gru_output;
  }
  const double floats = (double)(r->directions * r->gates) * (double)r->hidden * (double)r->hidden;
  const double step_ns = 4 * floats / bytes_per_ns * (double)hn_ceil_div(r->batch, 4), ns = step_ns * (double)r->time;
  int64_t most = hn_cpu_lesser(hn_cpu_threads(facts), r->directions * s->tiles);
  if (step_ns / ns_per_member < (double)most) most = (int64_t)(step_ns / ns_per_member);
  if (r->directions > 1) most = hn_cpu_greater(most, hn_cpu_lesser(hn_cpu_threads(facts), r->directions));
  s->most = ns < ns_worth_sharing ? 1 : (int)hn_cpu_greater(most, 1);
  s->patience_ns = hn_cpu_lesser((int64_t)(ns * patience), PATIENCE_LIMIT_NS);
  s->meeting_ns = (int64_t)(meeting_patience_ns + 2 * step_ns);
}

static size_t pack_bytes(const hone_query *query, const steps_cell *cell) {
  hn_cpu_rnn r;
  if (hn_cpu_rnn_read(query, &cell->cell, &r)) return 0;
  lay_out(&r, cell->isa);
  return (size_t)(r.directions * r.direction_floats) * sizeof(float);
}

static void pack_direction(const hn_cpu_rnn *r, const steps_isa *isa, const float *w, const float *state,
                           const float *b, float *to) {
  const int panel = r->cell->gemm->panel;
  const int64_t n = r->gates * r->hidden, h = r->hidden;
  hn_gemm_f32_pack_b_c(w, 1, r->input, r->input, n, panel, 0, hn_gemm_f32_panels(n, panel), to);
  hn_rnn_pack_f32_c(state, first_gates(r), h, isa->lanes, to + r->r_at);
  if (hn_cpu_rnn_waits_for_reset(r))
    hn_rnn_pack_f32_c(state + first_gates(r) * h * h, 1, h, isa->lanes, to + r->candidate_at);
  for (int64_t i = 0; b && i < n; ++i) {
    to[r->x_bias_at + i] = r->cell->joins_biases ? b[i] + b[n + i] : b[i];
    to[r->h_bias_at + i] = r->cell->joins_biases ? 0 : b[n + i];
  }
}

static hone_status pack(const hone_query *query, void *to, const steps_cell *cell) {
  hn_cpu_rnn r;
  if (hn_cpu_rnn_read(query, &cell->cell, &r)) return HONE_INTERNAL;
  lay_out(&r, cell->isa);
  memset(to, 0, (size_t)(r.directions * r.direction_floats) * sizeof(float));
  const float *w = query->in[HN_RNN_W].constant->data, *state = query->in[HN_RNN_R].constant->data;
  const float *b = r.given[HN_RNN_B] ? query->in[HN_RNN_B].constant->data : NULL;
  const int64_t n = r.gates * r.hidden;
  for (int64_t d = 0; d < r.directions; ++d)
    pack_direction(&r, cell->isa, w + d * n * r.input, state + d * n * r.hidden, b ? b + d * 2 * n : NULL,
                   (float *)to + d * r.direction_floats);
  return HONE_OK;
}

static size_t scratch(const hone_query *query, const steps_cell *cell) {
  steps s;
  if (hn_cpu_rnn_read(query, &cell->cell, &s.rnn)) return 0;
  plan(&s, cell, query->facts);
  const hn_cpu_rnn *r = &s.rnn;
  return (size_t)(r->directions * (r->gates_floats + 2 * s.direction_floats) + r->project_floats) * sizeof(float);
}

static size_t state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(steps);
}

static hone_status prepare(const hone_query *query, void *state, hone_diagnostics *diag, const steps_cell *cell) {
  steps *s = state;
  const char *reason = hn_cpu_rnn_read(query, &cell->cell, &s->rnn);
  if (reason) return HN_FAIL(diag, HONE_INTERNAL, "%s", reason);
  plan(s, cell, query->facts);
  return HONE_OK;
}

typedef struct job {
  const steps *steps;
  const hone_launch *launch;
  const float *x_gates;
  float *states; /* of each direction: h and c at even steps, h and c at odd ones, z, reset */
  float *own;    /* the same for a member that goes on alone */
  bool ended_alone;
  hn_stop *stop;
  atomic_int_fast64_t ends_after; /* the step at whose meetings all members leave: the stop said so */
} job;

enum { STEPS_A_LOOK = 64 };

static bool is_stopped(const job *j, int64_t step) { return step % STEPS_A_LOOK == 0 && hn_stop_now(j->stop); }

/* All that a step of one direction reads and writes. */
static hn_rnn_step describe(const job *j, float *all_states, int64_t direction, int64_t step) {
  const steps *s = j->steps;
  const hn_cpu_rnn *r = &s->rnn;
  const int64_t n = r->gates * r->hidden, h = r->hidden;
  const bool is_backwards = r->is_reverse || direction == 1;
  const int64_t time = is_backwards ? r->time - 1 - step : step;
  const float *packed = (const float *)j->launch->packed + direction * r->direction_floats;
  float *states = all_states + direction * s->direction_floats;
  float *now = states + (step & 1) * 2 * s->state_floats, *next = states + (~step & 1) * 2 * s->state_floats;
  hn_rnn_step d = {.packed = packed + r->r_at,
                   .x = j->x_gates + direction * r->gates_floats + (r->batch_first ? time : time * r->batch) * n,
                   .h_prev = now,
                   .h = next,
                   .c_prev = now + s->state_floats,
                   .c = next + s->state_floats,
                   .z = states + 4 * s->state_floats,
                   .reset = states + 5 * s->state_floats,
                   .rows = r->batch,
                   .hidden = h,
                   .x_stride = n * (r->batch_first ? r->time : 1),
                   .clip = r->clip,
                   .input_forget = r->is_coupled,
                   .is_relu = r->is_relu,
                   .from_the_back = step & 1};
  d.carried = d.h_prev;
  if (r->cell->kind == HN_RNN_GRU) d.h_bias = packed + r->h_bias_at;
  if (r->given[HN_RNN_PEEPHOLE])
    d.peephole = (const float *)j->launch->in[HN_RNN_PEEPHOLE].data + direction * 3 * r->hidden;
  if (r->wants[0] && j->launch->out[0].data) {
    const int64_t slot = time * r->directions + direction;
    d.y = (float *)j->launch->out[0].data + (r->batch_first ? slot : slot * r->batch) * h;
    d.y_stride = h * (r->batch_first ? r->time * r->directions : 1);
  }
  return d;
}

/* What part of a step to do: tiles [begin, end) of all directions' tiles in a row. */
typedef struct share {
  float *states;
  int64_t begin, end;
  bool stores; /* into y */
} share;

static void run_share(const job *j, const share *part, int64_t step, bool is_second) {
  const steps *s = j->steps;
  for (int64_t direction = part->begin / s->tiles; direction * s->tiles < part->end; ++direction) {
    const int64_t base = direction * s->tiles;
    hn_rnn_step d = describe(j, part->states, direction, step);
    if (!part->stores) d.y = NULL;
    if (is_second) {
      d.packed += s->rnn.candidate_at - s->rnn.r_at;
      d.h_prev = d.reset;
    }
    (is_second ? s->second : s->first)(&d, hn_cpu_greater(part->begin, base) - base,
                                       hn_cpu_lesser(part->end - base, s->tiles));
  }
}

/* From `step` on in one thread, that step anew: the others may still be at it, so nothing that they write is used. They
 * store their part of y themselves, if they were at the part of the step that does. */
static void go_on_alone(job *j, int64_t step, bool others_store) {
  const steps *s = j->steps;
  share all = {.states = j->own, .end = s->rnn.directions * s->tiles, .stores = !others_store};
  const int64_t at = (step & 1) * 2 * s->state_floats;
  for (int64_t d = 0; d < s->rnn.directions; ++d)
    memcpy(j->own + d * s->direction_floats + at, j->states + d * s->direction_floats + at,
           (size_t)(2 * s->state_floats) * sizeof(float));
  for (; step < s->rnn.time && !is_stopped(j, step); ++step, all.stores = true) {
    run_share(j, &all, step, false);
    if (s->second) run_share(j, &all, step, true);
  }
  j->ended_alone = true;
}

/* False: there is nothing more to do for this member. */
static bool meet(job *j, hn_team *team, int number, int64_t step, bool is_last_part) {
  const hn_team_met met = hn_team_meet(team, number, j->steps->meeting_ns);
  if (met == HN_TEAM_ALONE) go_on_alone(j, step, is_last_part);
  return met == HN_TEAM_ALL && step < atomic_load_explicit(&j->ends_after, memory_order_relaxed);
}

static void member(void *arg, hn_team *team, int number, int members) {
  job *j = arg;
  const steps *s = j->steps;
  const int64_t all = s->rnn.directions * s->tiles;
  const share part = {j->states, all * number / members, all * (number + 1) / members, true};
  const bool shares = s->rnn.directions % members != 0;
  for (int64_t step = 0; step < s->rnn.time; ++step) {
    if ((number == 0 || !shares) && is_stopped(j, step)) {
      if (!shares) return;
      atomic_store_explicit(&j->ends_after, step, memory_order_relaxed); /* the meeting orders it */
    }
    run_share(j, &part, step, false);
    if (shares && !meet(j, team, number, step, !s->second)) return;
    if (!s->second) continue;
    run_share(j, &part, step, true);
    if (shares && !meet(j, team, number, step, true)) return;
  }
}

static hone_status launch(void *state, hone_stream *stream, const hone_launch *l) {
  const steps *s = state;
  const hn_cpu_rnn *r = &s->rnn;
  float *x_gates = l->scratch;
  hn_cpu_rnn_project(r, hn_stream_pool(stream), l, x_gates);
  job j = {.steps = s, .launch = l, .x_gates = x_gates, .stop = hn_stream_pool(stream)->stop};
  atomic_init(&j.ends_after, INT64_MAX);
  j.states = x_gates + r->directions * r->gates_floats + r->project_floats;
  j.own = j.states + r->directions * s->direction_floats;
  for (int64_t d = 0; d < r->directions; ++d) {
    float *h = j.states + d * s->direction_floats, *c = h + s->state_floats;
    memset(h, 0, (size_t)s->state_floats * sizeof(float));
    memset(c, 0, (size_t)s->state_floats * sizeof(float));
    if (r->given[HN_RNN_INITIAL_H]) hn_cpu_rnn_copy_state(r, d, 0, r->batch, l->in[HN_RNN_INITIAL_H].data, h, false);
    if (r->given[HN_RNN_INITIAL_C]) hn_cpu_rnn_copy_state(r, d, 0, r->batch, l->in[HN_RNN_INITIAL_C].data, c, false);
  }
  hn_team_run(hn_stream_pool(stream), s->most, s->patience_ns, member, &j);
  for (int64_t d = 0; d < r->directions; ++d) {
    float *h = (j.ended_alone ? j.own : j.states) + d * s->direction_floats + (r->time & 1) * 2 * s->state_floats;
    float *c = h + s->state_floats;
    if (r->wants[1] && l->out[1].data) hn_cpu_rnn_copy_state(r, d, 0, r->batch, l->out[1].data, h, true);
    if (r->wants[2] && l->out[2].data) hn_cpu_rnn_copy_state(r, d, 0, r->batch, l->out[2].data, c, true);
  }
  return HONE_OK;
}

#define ISA_ROW(suffix, ISA)                                                                                           \
  static const steps_isa isa_##suffix = {.lanes = LANES_##suffix,                                                      \
                                         .lstm = hn_lstm_step_f32_##suffix,                                            \
                                         .gru = hn_gru_step_f32_##suffix,                                              \
                                         .gru_gates = hn_gru_gates_step_f32_##suffix,                                  \
                                         .gru_output = hn_gru_output_step_f32_##suffix,                                \
                                         .plain = hn_plain_step_f32_##suffix};
enum { LANES_c = 4, LANES_avx2 = 8, LANES_avx512 = 16 };
HN_EACH_ISA(ISA_ROW)

#define STEPS_ROW(op_name, kind_name, gate_count, act_count, joins, suffix, ISA)                                       \
  static const steps_cell op_name##_cell_##suffix = {.cell = {.kind = kind_name,                                       \
                                                              .activations = act_count,                                \
                                                              .gemm = &hn_cpu_gemm_##suffix,                           \
                                                              .gates = gate_count,                                     \
                                                              .joins_biases = joins},                                  \
                                                     .isa = &isa_##suffix};                                            \
  static const char *reject_##op_name##_##suffix(const hone_query *q) { return reject(q, &op_name##_cell_##suffix); }  \
  static size_t pack_bytes_##op_name##_##suffix(const hone_query *q) {                                                 \
    return pack_bytes(q, &op_name##_cell_##suffix);                                                                    \
  }                                                                                                                    \
  static hone_status pack_##op_name##_##suffix(const hone_query *q, void *to) {                                        \
    return pack(q, to, &op_name##_cell_##suffix);                                                                      \
  }                                                                                                                    \
  static size_t scratch_##op_name##_##suffix(const hone_query *q) { return scratch(q, &op_name##_cell_##suffix); }     \
  static hone_status prepare_##op_name##_##suffix(hone_unit *unit, const hone_query *q, void *state,                   \
                                                  hone_diagnostics *diag) {                                            \
    (void)unit;                                                                                                        \
    return prepare(q, state, diag, &op_name##_cell_##suffix);                                                          \
  }                                                                                                                    \
  const hone_tactic hn_tactic_cpu_##op_name##_f32_steps_##suffix = {                                                   \
      .struct_size = sizeof(hone_tactic),                                                                              \
      .name = "cpu." #op_name ".f32.steps." #suffix,                                                                   \
      .version = 1,                                                                                                    \
      .op = #op_name,                                                                                                  \
      .isa = HONE_ISA_##ISA,                                                                                           \
      .flags = HONE_TACTIC_REPEATABLE,                                                                                 \
      .pack_mask = 1 << HN_RNN_W | 1 << HN_RNN_R | 1 << HN_RNN_B,                                                      \
      .reject = reject_##op_name##_##suffix,                                                                           \
      .pack_bytes = pack_bytes_##op_name##_##suffix,                                                                   \
      .pack = pack_##op_name##_##suffix,                                                                               \
      .scratch = scratch_##op_name##_##suffix,                                                                         \
      .state_bytes = state_bytes,                                                                                      \
      .prepare = prepare_##op_name##_##suffix,                                                                         \
      .launch = launch,                                                                                                \
  };
#define LSTM_ROW(suffix, ISA) STEPS_ROW(lstm, HN_RNN_LSTM, 4, 3, true, suffix, ISA)
#define GRU_ROW(suffix, ISA) STEPS_ROW(gru, HN_RNN_GRU, 3, 2, false, suffix, ISA)
#define PLAIN_ROW(suffix, ISA) STEPS_ROW(rnn, HN_RNN_PLAIN, 1, 1, true, suffix, ISA)
HN_EACH_ISA(LSTM_ROW)
HN_EACH_ISA(GRU_ROW)
HN_EACH_ISA(PLAIN_ROW)
