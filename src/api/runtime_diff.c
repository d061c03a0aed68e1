/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_diff.c - the report of two sessions that ran in turns: gathers their samples in the order of time. */
#include "base/arguments.h"
#include "report/diff.h"
#include "run/session.h"

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

/* Copies of the samples, since the ring of a step may begin anywhere. NULL where a step was not timed. */
static hone_status gather(const hone_session *session, int runs, hn_arena *arena, hn_diff_side *out) {
  const hn_plan *plan = session->engine->schedules->plans[session->schedule];
  const hn_step_samples *samples = session->samples[session->schedule];
  const float **all = HN_NEW(arena, const float *, (size_t)plan->step_count + 1);
  if (!all) return HONE_NO_MEMORY;
  for (int s = 0; s <= plan->step_count; ++s) {
    if (samples[s].runs < runs) continue;
    float *copy = HN_NEW(arena, float, runs);
    if (!copy) return HONE_NO_MEMORY;
    for (int i = 0; i < runs; ++i) copy[i] = samples[s].latest_ns[(samples[s].runs - runs + i) % HN_PROFILE_SAMPLES];
    all[s] = copy;
  }
  *out = (hn_diff_side){.name = session->engine->schedules->name, .plan = plan, .samples = all};
  uint64_t shared;
  return hn_report_weights(session->engine->schedules, session->schedule, arena, &out->weights_bytes, &shared);
}

static hone_status make(const hone_session *const *sessions, const hone_diff_options *options, hn_arena *arena,
                        hn_text *out, bool *out_regressed, hone_diagnostics *diag) {
  const int64_t a = runs_of(sessions[0]), b = runs_of(sessions[1]);
  const int block = options->runs_of_a_block > 0 ? options->runs_of_a_block : 1;
  if (a != b)
    return HN_FAIL(diag, HONE_INVALID, "the sessions were profiled %lld and %lld times: they must run in turns",
                   (long long)a, (long long)b);
  const int blocks = (int)((a < HN_PROFILE_SAMPLES ? a : HN_PROFILE_SAMPLES) / block);
  if (blocks < HN_DIFF_BLOCKS)
    return HN_FAIL(diag, HONE_INVALID, "the latest %d blocks of %d runs are there; at least %d are needed", blocks,
                   block, HN_DIFF_BLOCKS);
  hn_diff_input input = {.blocks = blocks, .block = block, .max_regression = options->max_regression};
  for (int side = 0; side < HN_DIFF_SIDES; ++side) {
    HN_TRY(gather(sessions[side], blocks * block, arena, &input.sides[side]));
    const char *name = side ? options->name_b : options->name_a;
    if (name) input.sides[side].name = name;
  }
  const hone_report_options report = {
      .struct_size = sizeof report, .json = options->json, .color = options->color, .width = options->width};
  return hn_report_diff(&input, &report, arena, out, out_regressed);
}

hone_status hone_report_diff(const hone_session *a, const hone_session *b, const hone_diff_options *given,
                             hone_write_fn write, void *user, bool *out_regressed, hone_diagnostics *diag) {
  HN_GIVEN(diag, a);
  HN_GIVEN(diag, b);
  HN_GIVEN(diag, write);
  HN_GIVEN(diag, out_regressed);
  hone_diff_options options;
  HN_TRY(take_options(diag, given, &options));
  hn_arena arena;
  hn_text text;
  bool regressed = false;
  hn_arena_init(&arena, a->allocator);
  hn_text_init(&text, a->allocator);
  const hone_session *const sessions[] = {a, b};
  hone_status status = make(sessions, &options, &arena, &text, &regressed, diag);
  if (status == HONE_NO_MEMORY) (void)HN_FAIL_MEMORY(diag);
  if (status == HONE_OK && !write(user, hn_text_string(&text), text.length))
    status = HN_FAIL(diag, HONE_IO, "the report could not be written");
  if (status == HONE_OK) *out_regressed = regressed;
  hn_text_deinit(&text);
  hn_arena_deinit(&arena);
  return status;
}
