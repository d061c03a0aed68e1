/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_diff.c - the report of two sessions that ran in turns: gathers their samples in the order of time. */
#include "api/reports.h"
#include "base/arguments.h"
#include "report/diff.h"
#include "run/session.h"

enum { MOST_SESSIONS = 64 };

static hone_status take_options(hone_diagnostics *diag, const hone_diff_options *given, hone_diff_options *out) {
  HN_OPTIONS(diag, "diff", given, hone_diff_options, max_regression, out);
  if (!given) out->max_regression = -1;
  HN_TRY(hn_argument_range(diag, "diff option width", out->width, 0, 1 << 16));
  HN_TRY(hn_argument_range(diag, "diff option runs_of_a_block", out->runs_of_a_block, 0, HN_PROFILE_SAMPLES));
  return hn_argument_real(diag, "diff option max_regression", out->max_regression, -1);
}

static int64_t runs_of(const hone_session *session) {
  const hn_plan *plan = session->engine->schedules->plans[session->schedule];
  return session->samples ? session->samples[session->schedule][plan->step_count].runs : 0;
}

static const hn_plan *plan_of(const hone_session *session) {
  return session->engine->schedules->plans[session->schedule];
}

/* A session's latest runs, in the order of time: the ring of a step may begin anywhere. */
static void copy_latest(const hn_step_samples *samples, int runs, float *to) {
  for (int i = 0; i < runs; ++i) to[i] = samples->latest_ns[(samples->runs - runs + i) % HN_PROFILE_SAMPLES];
}

/* One session's samples after the other's. NULL where a step was not timed. */
static hone_status gather(const hone_session *const *sessions, int count, const int *runs, int all_runs,
                          hn_arena *arena, hn_diff_side *out) {
  const hone_session *first = sessions[0];
  const hn_plan *plan = plan_of(first);
  const float **all = HN_NEW(arena, const float *, (size_t)plan->step_count + 1);
  if (!all) return HONE_NO_MEMORY;
  for (int s = 0; s <= plan->step_count; ++s) {
    if (first->samples[first->schedule][s].runs < runs[0]) continue;
    float *copy = HN_NEW(arena, float, all_runs);
    if (!copy) return HONE_NO_MEMORY;
    all[s] = copy;
    for (int k = 0; k < count; copy += runs[k++])
      copy_latest(&sessions[k]->samples[sessions[k]->schedule][s], runs[k], copy);
  }
  *out = (hn_diff_side){.name = first->engine->schedules->name, .plan = plan, .samples = all};
  uint64_t shared;
  return hn_report_weights(first->engine->schedules, first->schedule, arena, &out->weights_bytes, &shared);
}

/* Whole blocks of each pair of sessions; all of a side run one plan. */
static hone_status count_runs(const hone_session *const *a, const hone_session *const *b, int count, int block,
                              int *runs, int *out_all, hone_diagnostics *diag) {
  *out_all = 0;
  for (int k = 0; k < count; ++k) {
    const int64_t x = runs_of(a[k]), y = runs_of(b[k]);
    if (plan_of(a[k]) != plan_of(a[0]) || plan_of(b[k]) != plan_of(b[0]))
      return HN_FAIL(diag, HONE_INVALID, "session %d of a side runs another engine or schedule than its first", k);
    if (x != y)
      return HN_FAIL(diag, HONE_INVALID, "the sessions were profiled %lld and %lld times: they must run in turns",
                     (long long)x, (long long)y);
    runs[k] = (int)(x < HN_PROFILE_SAMPLES ? x : HN_PROFILE_SAMPLES) / block * block;
    if (runs[k] == 0) return HN_FAIL(diag, HONE_INVALID, "session %d was profiled for no whole block of %d", k, block);
    *out_all += runs[k];
  }
  if (*out_all / block >= HN_DIFF_BLOCKS) return HONE_OK;
  return HN_FAIL(diag, HONE_INVALID, "there are %d blocks of %d runs; at least %d are needed", *out_all / block, block,
                 HN_DIFF_BLOCKS);
}

static hone_status make(const hone_session *const *a, const hone_session *const *b, int count,
                        const hone_diff_options *options, hn_arena *arena, hn_text *out, bool *out_regressed,
                        hone_diagnostics *diag) {
  const int block = options->runs_of_a_block > 0 ? options->runs_of_a_block : 1;
  int all_runs, *runs = HN_NEW(arena, int, count);
  if (!runs) return HONE_NO_MEMORY;
  HN_TRY(count_runs(a, b, count, block, runs, &all_runs, diag));
  hn_diff_input input = {.blocks = all_runs / block, .block = block, .max_regression = options->max_regression};
  for (int side = 0; side < HN_DIFF_SIDES; ++side) {
    HN_TRY(gather(side ? b : a, count, runs, all_runs, arena, &input.sides[side]));
    const char *name = side ? options->name_b : options->name_a;
    if (name) input.sides[side].name = name;
  }
  const hone_report_options report = {
      .struct_size = sizeof report, .json = options->json, .color = options->color, .width = options->width};
  return hn_report_diff(&input, &report, arena, out, out_regressed);
}

hone_status hone_report_diff(const hone_session *const *a, const hone_session *const *b, int count,
                             const hone_diff_options *given, hone_write_fn write, void *user, bool *out_regressed,
                             hone_diagnostics *diag) {
  HN_GIVEN(diag, a);
  HN_GIVEN(diag, b);
  HN_GIVEN(diag, write);
  HN_GIVEN(diag, out_regressed);
  HN_TRY(hn_argument_range(diag, "diff count", count, 1, MOST_SESSIONS));
  HN_TRY(hn_argument_pointers(diag, "diff a", a, count, MOST_SESSIONS));
  HN_TRY(hn_argument_pointers(diag, "diff b", b, count, MOST_SESSIONS));
  hone_diff_options options;
  HN_TRY(take_options(diag, given, &options));
  hn_report_making r;
  bool regressed = false;
  hn_report_begin(&r, a[0]->allocator, diag);
  hone_status status = make(a, b, count, &options, &r.arena, &r.text, &regressed, diag);
  status = hn_report_end(&r, status, write, user);
  if (status == HONE_OK) *out_regressed = regressed;
  return status;
}

hone_status hone_compare_times(const double *a_ns, const double *b_ns, int blocks, int runs_of_a_block,
                               hone_times_difference *out, hone_diagnostics *diag) {
  enum { MOST_BLOCKS = 512 };
  double block[HN_PROFILE_SAMPLES], room[HN_DIFF_SIDES + 1][MOST_BLOCKS];
  double *const medians[HN_DIFF_SIDES + 1] = {room[0], room[1], room[2]};
  HN_RESULT(diag, out, hone_times_difference, high_ns);
  HN_GIVEN(diag, a_ns);
  HN_GIVEN(diag, b_ns);
  HN_TRY(hn_argument_range(diag, "blocks", blocks, HN_DIFF_BLOCKS, MOST_BLOCKS));
  HN_TRY(hn_argument_range(diag, "runs_of_a_block", runs_of_a_block, 1, HN_PROFILE_SAMPLES));
  hone_times_difference difference;
  hn_compare_times(a_ns, b_ns, blocks, runs_of_a_block, block, medians, &difference);
  hn_result_give(&difference, out);
  return HONE_OK;
}
