/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_steps.c - recurrent layers for few rows: every step is one pass over weights packed in tiles of hidden units,
 * each with all its gates and its cell. Threads share the tiles of a step and meet once a step (GRU whose candidate
 * waits for the reset: twice); threads that have whole directions do not meet at all. When one does not come, because
 * its core was taken away, the first goes on alone. For many rows
 * the products of lstm.c and gru.c, which reuse a panel for more rows, are better.
 * Rows of bf16 hold the state's weights in half the bytes, which is what a step waits for; state and cell are f32. */
#include "backend/cpu/rnn/rnn_common.h"
#include "base/pool.h"
#include <stdatomic.h>
#include <string.h>

static const double bytes_per_ns = 100;  /* of one thread out of the second cache */
static const double ns_per_member = 600; /* of a step: less is not worth waiting for the others */
static const double ns_worth_sharing = 20e3;
static const double patience = 0.1;             /* of the work, for the others to come */
static const double meeting_patience_ns = 40e3; /* beside the time of two steps: then a member's core is gone */
enum { PATIENCE_LIMIT_NS = 60000, STATES = 6, FEW_ROWS = 2 };

typedef struct steps {
  hn_cpu_rnn rnn;
  hn_rnn_step_fn *first, *second; /* second: NULL unless the candidate waits */
  int64_t tiles;
  int most; /* members of the team */
  int64_t patience_ns, meeting_ns;
  int64_t state_floats, direction_floats; /* of a buffer; of a direction's buffers */
} steps;

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  const hone_facts *facts = query->facts;
  steps asked, *s = memory ? memory : &asked;
  hn_cpu_rnn *r = &s->rnn;
  HN_TRY_REASON(hn_cpu_rnn_read(query, r));
  if (r->batch > 64) return "so many rows are better served by whole products";
  hn_cpu_rnn_plan_project(r, facts);
  if (r->cell->tiles && !r->project_floats) return "its inputs are too large";
  s->tiles = hn_rnn_tiles(r->hidden, r->cell->lanes);
  s->state_floats = hn_cpu_whole_lines(r->batch * r->hidden);
  s->direction_floats = STATES * s->state_floats;
  const hn_cpu_rnn_cell *steps_of = r->cell->few && r->batch <= FEW_ROWS ? r->cell->few : r->cell;
  s->first = r->waits ? steps_of->before_reset : steps_of->whole;
  s->second = r->waits ? steps_of->after_reset : NULL;
  const double floats = (double)(r->directions * r->gates) * (double)r->hidden * (double)r->hidden;
  const double step_ns =
                   (r->cell->held == HONE_NONE ? 4 : 2) * floats / bytes_per_ns * (double)hn_ceil_div(r->batch, 4),
               ns = step_ns * (double)r->time;
  int64_t most = hn_cpu_lesser(hn_cpu_threads(facts), r->directions * s->tiles);
  if (step_ns / ns_per_member < (double)most) most = (int64_t)(step_ns / ns_per_member);
  if (r->directions > 1) most = hn_cpu_greater(most, hn_cpu_lesser(hn_cpu_threads(facts), r->directions));
  s->most = ns < ns_worth_sharing ? 1 : (int)hn_cpu_greater(most, 1);
  s->patience_ns = hn_cpu_lesser((int64_t)(ns * patience), PATIENCE_LIMIT_NS);
  s->meeting_ns = (int64_t)(meeting_patience_ns + 2 * step_ns);
  needs->state = sizeof *s;
  needs->scratch =
      (size_t)(r->directions * (r->gates_floats + 2 * s->direction_floats) + r->project_floats) * sizeof(float);
  needs->packed = (size_t)(r->directions * r->direction_floats) * sizeof(float);
  return NULL;
}

typedef struct job {
  const steps *steps;
  const hone_launch *launch;
  const float *x_gates;
  float *states; /* of each direction: h and c at even steps, h and c at odd ones, z, reset */
  float *own;    /* the same for a member that goes on alone */
  hn_cpu_rnn_lengths lengths;
  bool ended_alone;
  hn_stop *stop;
  atomic_int_fast64_t ends_after; /* the step at whose meetings all members leave: the stop said so */
} job;

enum { STEPS_A_LOOK = 64 };

static bool is_stopped(const job *j, int64_t step) { return step % STEPS_A_LOOK == 0 && hn_stop_now(j->stop); }

static int64_t time_of(const job *j, int64_t direction, int64_t step) {
  const bool is_backwards = j->steps->rnn.is_reverse || direction == 1;
  return is_backwards ? j->lengths.longest - 1 - step : step;
}

/* All that a step of one direction reads and writes. */
static hn_rnn_step describe(const job *j, float *all_states, int64_t direction, int64_t step) {
  const steps *s = j->steps;
  const hn_cpu_rnn *r = &s->rnn;
  const int64_t n = r->gates * r->hidden, h = r->hidden, time = time_of(j, direction, step);
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
                   .rows = hn_cpu_rnn_rows_at(&j->lengths, 0, r->batch, time),
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
    d.y = (float *)j->launch->out[0].data + hn_cpu_rnn_y_at(r, time, direction, 0);
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

/* Units [begin, end) of sequences that the step does not concern: their states go on, and y is zero there. */
static void carry_ended(const job *j, const hn_rnn_step *d, int64_t time, int64_t begin, int64_t end) {
  const size_t bytes = (size_t)(end - begin) * sizeof(float);
  const int64_t batch = j->steps->rnn.batch;
  for (int64_t i = 0; j->lengths.of && i < batch; ++i) {
    if (!hn_cpu_rnn_is_behind(&j->lengths, i, time)) continue;
    memcpy(d->h + i * d->hidden + begin, d->carried + i * d->hidden + begin, bytes);
    memcpy(d->c + i * d->hidden + begin, d->c_prev + i * d->hidden + begin, bytes);
    if (d->y) memset(d->y + i * d->y_stride + begin, 0, bytes);
  }
}

static void run_share(const job *j, const share *part, int64_t step, bool is_second) {
  const steps *s = j->steps;
  for (int64_t direction = part->begin / s->tiles; direction * s->tiles < part->end; ++direction) {
    const int64_t base = direction * s->tiles;
    hn_rnn_step d = describe(j, part->states, direction, step);
    if (!part->stores) d.y = NULL;
    if (is_second) {
      d.packed = (const float *)d.packed + s->rnn.candidate_at - s->rnn.r_at;
      d.h_prev = d.reset;
    }
    const int64_t begin = hn_cpu_greater(part->begin, base) - base, end = hn_cpu_lesser(part->end - base, s->tiles);
    if (d.rows > 0) (is_second ? s->second : s->first)(&d, begin, end);
    if (is_second || !s->second)
      carry_ended(j, &d, time_of(j, direction, step), begin * s->rnn.cell->lanes,
                  hn_cpu_lesser(end * s->rnn.cell->lanes, d.hidden));
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
  for (; step < j->lengths.longest && !is_stopped(j, step); ++step, all.stores = true) {
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
  for (int64_t step = 0; step < j->lengths.longest; ++step) {
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
  job j = {.steps = s, .launch = l, .x_gates = x_gates, .stop = hn_stream_pool(stream)->stop};
  HN_TRY(hn_cpu_rnn_read_lengths(r, l, &j.lengths));
  hn_cpu_rnn_project(r, stream, l, x_gates);
  hn_cpu_rnn_clear_rest(r, &j.lengths, sizeof(float), l->out[0].data);
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
    float *h =
        (j.ended_alone ? j.own : j.states) + d * s->direction_floats + (j.lengths.longest & 1) * 2 * s->state_floats;
    float *c = h + s->state_floats;
    if (r->wants[1] && l->out[1].data) hn_cpu_rnn_copy_state(r, d, 0, r->batch, l->out[1].data, h, true);
    if (r->wants[2] && l->out[2].data) hn_cpu_rnn_copy_state(r, d, 0, r->batch, l->out[2].data, c, true);
  }
  return HONE_OK;
}

#define COMMON                                                                                                         \
  .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_RNN_PACKED, .plan = plan, .pack = hn_cpu_rnn_pack, .launch = launch
#ifndef HONE_NO_AVX
/* Pairs of bf16 by vectors. Steps of few rows are theirs on machines with tiles, too: a step waits for its weights,
 * which come out of the second cache as fast (512 KB in 6.3 us for 5.9), and a virtual machine's neighbours can hold a
 * core's tiles, not its vectors, to a quarter of their rate for seconds. */
static const hn_cpu_rnn_cell lstm_of_pairs = {
    HN_RNN_LSTM,       &hn_cpu_gemm_avx512,          .lanes = 16,
    .held = HONE_BF16, .tiles = &hn_cpu_bf16_avx512, .whole = hn_lstm_step_bf16_avx512_bf16};
static const hn_cpu_rnn_cell gru_of_pairs = {HN_RNN_GRU,
                                             &hn_cpu_gemm_avx512,
                                             .lanes = 16,
                                             .held = HONE_BF16,
                                             .tiles = &hn_cpu_bf16_avx512,
                                             .whole = hn_gru_step_bf16_avx512_bf16,
                                             .before_reset = hn_gru_gates_step_bf16_avx512_bf16,
                                             .after_reset = hn_gru_output_step_bf16_avx512_bf16};
static const hn_cpu_rnn_cell plain_of_pairs = {
    HN_RNN_PLAIN,      &hn_cpu_gemm_avx512,          .lanes = 16,
    .held = HONE_BF16, .tiles = &hn_cpu_bf16_avx512, .whole = hn_plain_step_bf16_avx512_bf16};
#endif
const hone_tactic hn_tactics_cpu_rnn_steps[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.lstm.f32.steps.avx512", .version = 1, .op = "lstm", .isa = HONE_ISA_AVX512,
     .kernel =
         &(const hn_cpu_rnn_cell){HN_RNN_LSTM, &hn_cpu_gemm_avx512, .lanes = 16, .whole = hn_lstm_step_f32_avx512},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.gru.f32.steps.avx512", .version = 1, .op = "gru", .isa = HONE_ISA_AVX512,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_GRU, &hn_cpu_gemm_avx512, .lanes = 16, .whole = hn_gru_step_f32_avx512,
                                        .before_reset = hn_gru_gates_step_f32_avx512,
                                        .after_reset = hn_gru_output_step_f32_avx512},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.rnn.f32.steps.avx512", .version = 1, .op = "rnn", .isa = HONE_ISA_AVX512,
     .kernel =
         &(const hn_cpu_rnn_cell){HN_RNN_PLAIN, &hn_cpu_gemm_avx512, .lanes = 16, .whole = hn_plain_step_f32_avx512},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.lstm.f32.steps.avx2", .version = 1, .op = "lstm", .isa = HONE_ISA_AVX2,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_LSTM, &hn_cpu_gemm_avx2, .lanes = 8, .whole = hn_lstm_step_f32_avx2},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.gru.f32.steps.avx2", .version = 1, .op = "gru", .isa = HONE_ISA_AVX2,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_GRU, &hn_cpu_gemm_avx2, .lanes = 8, .whole = hn_gru_step_f32_avx2,
                                        .before_reset = hn_gru_gates_step_f32_avx2,
                                        .after_reset = hn_gru_output_step_f32_avx2},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.rnn.f32.steps.avx2", .version = 1, .op = "rnn", .isa = HONE_ISA_AVX2,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_PLAIN, &hn_cpu_gemm_avx2, .lanes = 8, .whole = hn_plain_step_f32_avx2},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.lstm.bf16.steps.amx_bf16", .version = 3, .op = "lstm", .isa = HONE_ISA_AMX_BF16,
     .compute = HONE_BF16,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_LSTM, &hn_cpu_gemm_avx512, .lanes = 16, .held = HONE_BF16,
                                        .tiles = &hn_cpu_bf16_amx, .whole = hn_lstm_step_tiles_amx_bf16,
                                        .few = &lstm_of_pairs},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.gru.bf16.steps.amx_bf16", .version = 3, .op = "gru", .isa = HONE_ISA_AMX_BF16,
     .compute = HONE_BF16,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_GRU, &hn_cpu_gemm_avx512, .lanes = 16, .held = HONE_BF16,
                                        .tiles = &hn_cpu_bf16_amx, .whole = hn_gru_step_tiles_amx_bf16,
                                        .before_reset = hn_gru_gates_step_tiles_amx_bf16,
                                        .after_reset = hn_gru_output_step_tiles_amx_bf16, .few = &gru_of_pairs},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.rnn.bf16.steps.amx_bf16", .version = 3, .op = "rnn", .isa = HONE_ISA_AMX_BF16,
     .compute = HONE_BF16,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_PLAIN, &hn_cpu_gemm_avx512, .lanes = 16, .held = HONE_BF16,
                                        .tiles = &hn_cpu_bf16_amx, .whole = hn_plain_step_tiles_amx_bf16,
                                        .few = &plain_of_pairs},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.lstm.bf16.steps.avx512_bf16", .version = 2, .op = "lstm",
     .isa = HONE_ISA_AVX512_BF16, .compute = HONE_BF16, .kernel = &lstm_of_pairs, COMMON},
    {sizeof(hone_tactic), .name = "cpu.gru.bf16.steps.avx512_bf16", .version = 2, .op = "gru",
     .isa = HONE_ISA_AVX512_BF16, .compute = HONE_BF16, .kernel = &gru_of_pairs, COMMON},
    {sizeof(hone_tactic), .name = "cpu.rnn.bf16.steps.avx512_bf16", .version = 2, .op = "rnn",
     .isa = HONE_ISA_AVX512_BF16, .compute = HONE_BF16, .kernel = &plain_of_pairs, COMMON},
    {sizeof(hone_tactic), .name = "cpu.lstm.bf16.steps.avx512", .version = 2, .op = "lstm", .isa = HONE_ISA_AVX512,
     .compute = HONE_BF16,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_LSTM, &hn_cpu_gemm_avx512, .lanes = 16, .held = HONE_BF16,
                                        .whole = hn_lstm_step_bf16_avx512},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.gru.bf16.steps.avx512", .version = 2, .op = "gru", .isa = HONE_ISA_AVX512,
     .compute = HONE_BF16,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_GRU, &hn_cpu_gemm_avx512, .lanes = 16, .held = HONE_BF16,
                                        .whole = hn_gru_step_bf16_avx512, .before_reset = hn_gru_gates_step_bf16_avx512,
                                        .after_reset = hn_gru_output_step_bf16_avx512},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.rnn.bf16.steps.avx512", .version = 2, .op = "rnn", .isa = HONE_ISA_AVX512,
     .compute = HONE_BF16,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_PLAIN, &hn_cpu_gemm_avx512, .lanes = 16, .held = HONE_BF16,
                                        .whole = hn_plain_step_bf16_avx512},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.lstm.bf16.steps.avx2", .version = 2, .op = "lstm", .isa = HONE_ISA_AVX2,
     .compute = HONE_BF16,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_LSTM, &hn_cpu_gemm_avx2, .lanes = 8, .held = HONE_BF16,
                                        .whole = hn_lstm_step_bf16_avx2},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.gru.bf16.steps.avx2", .version = 2, .op = "gru", .isa = HONE_ISA_AVX2,
     .compute = HONE_BF16,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_GRU, &hn_cpu_gemm_avx2, .lanes = 8, .held = HONE_BF16,
                                        .whole = hn_gru_step_bf16_avx2, .before_reset = hn_gru_gates_step_bf16_avx2,
                                        .after_reset = hn_gru_output_step_bf16_avx2},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.rnn.bf16.steps.avx2", .version = 2, .op = "rnn", .isa = HONE_ISA_AVX2,
     .compute = HONE_BF16,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_PLAIN, &hn_cpu_gemm_avx2, .lanes = 8, .held = HONE_BF16,
                                        .whole = hn_plain_step_bf16_avx2},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.lstm.f16.steps.avx512", .version = 1, .op = "lstm", .isa = HONE_ISA_AVX512,
     .compute = HONE_F16,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_LSTM, &hn_cpu_gemm_avx512, .lanes = 16, .held = HONE_F16,
                                        .whole = hn_lstm_step_f16_avx512},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.gru.f16.steps.avx512", .version = 1, .op = "gru", .isa = HONE_ISA_AVX512,
     .compute = HONE_F16,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_GRU, &hn_cpu_gemm_avx512, .lanes = 16, .held = HONE_F16,
                                        .whole = hn_gru_step_f16_avx512, .before_reset = hn_gru_gates_step_f16_avx512,
                                        .after_reset = hn_gru_output_step_f16_avx512},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.rnn.f16.steps.avx512", .version = 1, .op = "rnn", .isa = HONE_ISA_AVX512,
     .compute = HONE_F16,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_PLAIN, &hn_cpu_gemm_avx512, .lanes = 16, .held = HONE_F16,
                                        .whole = hn_plain_step_f16_avx512},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.lstm.f16.steps.avx2", .version = 1, .op = "lstm", .isa = HONE_ISA_AVX2,
     .compute = HONE_F16,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_LSTM, &hn_cpu_gemm_avx2, .lanes = 8, .held = HONE_F16,
                                        .whole = hn_lstm_step_f16_avx2},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.gru.f16.steps.avx2", .version = 1, .op = "gru", .isa = HONE_ISA_AVX2,
     .compute = HONE_F16,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_GRU, &hn_cpu_gemm_avx2, .lanes = 8, .held = HONE_F16,
                                        .whole = hn_gru_step_f16_avx2, .before_reset = hn_gru_gates_step_f16_avx2,
                                        .after_reset = hn_gru_output_step_f16_avx2},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.rnn.f16.steps.avx2", .version = 1, .op = "rnn", .isa = HONE_ISA_AVX2,
     .compute = HONE_F16,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_PLAIN, &hn_cpu_gemm_avx2, .lanes = 8, .held = HONE_F16,
                                        .whole = hn_plain_step_f16_avx2},
     COMMON},
#endif
    {sizeof(hone_tactic), .name = "cpu.lstm.f32.steps.c", .version = 1, .op = "lstm", .isa = HONE_ISA_C,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_LSTM, &hn_cpu_gemm_c, .lanes = 4, .whole = hn_lstm_step_f32_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.gru.f32.steps.c", .version = 1, .op = "gru", .isa = HONE_ISA_C,
     .kernel =
         &(const hn_cpu_rnn_cell){HN_RNN_GRU, &hn_cpu_gemm_c, .lanes = 4, .whole = hn_gru_step_f32_c,
                                  .before_reset = hn_gru_gates_step_f32_c, .after_reset = hn_gru_output_step_f32_c},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.rnn.f32.steps.c", .version = 1, .op = "rnn", .isa = HONE_ISA_C,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_PLAIN, &hn_cpu_gemm_c, .lanes = 4, .whole = hn_plain_step_f32_c},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.lstm.bf16.steps.c", .version = 2, .op = "lstm", .isa = HONE_ISA_C,
     .compute = HONE_BF16,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_LSTM, &hn_cpu_gemm_c, .lanes = 4, .held = HONE_BF16,
                                        .tiles = &hn_cpu_bf16_c, .whole = hn_lstm_step_bf16_c},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.gru.bf16.steps.c", .version = 2, .op = "gru", .isa = HONE_ISA_C,
     .compute = HONE_BF16,
     .kernel =
         &(const hn_cpu_rnn_cell){HN_RNN_GRU, &hn_cpu_gemm_c, .lanes = 4, .held = HONE_BF16, .tiles = &hn_cpu_bf16_c,
                                  .whole = hn_gru_step_bf16_c, .before_reset = hn_gru_gates_step_bf16_c,
                                  .after_reset = hn_gru_output_step_bf16_c},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.rnn.bf16.steps.c", .version = 2, .op = "rnn", .isa = HONE_ISA_C,
     .compute = HONE_BF16,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_PLAIN, &hn_cpu_gemm_c, .lanes = 4, .held = HONE_BF16,
                                        .tiles = &hn_cpu_bf16_c, .whole = hn_plain_step_bf16_c},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.lstm.f16.steps.c", .version = 1, .op = "lstm", .isa = HONE_ISA_C,
     .compute = HONE_F16,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_LSTM, &hn_cpu_gemm_c, .lanes = 4, .held = HONE_F16,
                                        .whole = hn_lstm_step_f16_c},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.gru.f16.steps.c", .version = 1, .op = "gru", .isa = HONE_ISA_C,
     .compute = HONE_F16,
     .kernel =
         &(const hn_cpu_rnn_cell){HN_RNN_GRU, &hn_cpu_gemm_c, .lanes = 4, .held = HONE_F16, .whole = hn_gru_step_f16_c,
                                  .before_reset = hn_gru_gates_step_f16_c, .after_reset = hn_gru_output_step_f16_c},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.rnn.f16.steps.c", .version = 1, .op = "rnn", .isa = HONE_ISA_C,
     .compute = HONE_F16,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_PLAIN, &hn_cpu_gemm_c, .lanes = 4, .held = HONE_F16,
                                        .whole = hn_plain_step_f16_c},
     COMMON},
    {0}};
