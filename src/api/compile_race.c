/* SPDX-License-Identifier: Apache-2.0 */
/* compile_race.c - plans as wholes against one another while choosing: each an engine with a session on the build's
 * inputs, kept ready. */
#include "api/compile.h"
#include "api/engine.h"
#include "base/clock.h"
#include "run/session.h"

enum { MOST_RUNS = 32 };
static const double sample_ns = 2e6; /* a sample's runs take so long together, if one does not */

typedef struct runner {
  hone_engine *engine;
  hone_session *session;
  int runs; /* a sample */
} runner;

hone_status hn_race_burst(hone_session *session, int runs, double *out_ns) {
  hone_run_part parts[HONE_MOST_PARTS];
  int count;
  double computing_ns = 0;
  const int64_t begin_ns = hn_clock_ns();
  for (int i = 0; i < runs; ++i) HN_TRY(hone_session_enqueue(session));
  HN_TRY(hone_session_wait(session));
  const int64_t end_ns = hn_clock_ns();
  HN_TRY(hone_session_parts(session, parts, &count));
  for (int i = 0; i < count; ++i)
    if (parts[i].kind == HONE_PART_COMPUTE) computing_ns += parts[i].end_ns - parts[i].begin_ns;
  *out_ns = count > 0 ? computing_ns : (double)(end_ns - begin_ns) / runs;
  return HONE_OK;
}

static hone_status open_session(const hn_accuracy *a, runner *r) {
  const hone_session_options options = {
      .struct_size = sizeof options, .trust_weights = true, .parts = true, .cancel = a->context->stop.cancel};
  double ns;
  HN_TRY(hone_session_create(r->engine, &options, &r->session, &a->context->diag));
  HN_TRY(hn_accuracy_inputs(a, r->session));
  for (int i = 0; i < 2; ++i) /* the first one touches the memory */
    HN_TRY(hn_accuracy_tell(a, r->session, hn_race_burst(r->session, 1, &ns)));
  const double runs = ns > 0 ? sample_ns / ns : MOST_RUNS;
  r->runs = runs >= MOST_RUNS ? MOST_RUNS : runs <= 1 ? 1 : (int)runs;
  return HONE_OK;
}

/* Drawn inputs that a step refuses, inputs that cannot be drawn, and memory that does not do for two engines say
 * nothing of the choices. */
static bool only_here(hone_status status) {
  return status == HONE_INVALID || status == HONE_MALFORMED || status == HONE_UNSUPPORTED || status == HONE_NO_MEMORY;
}

hone_status hn_race_enter(void *user, const hn_choices *choices, void **out_plan) {
  const hn_accuracy *a = user;
  hone_diagnostics *diag = &a->context->diag;
  const int before = diag->count, dropped = diag->dropped;
  *out_plan = NULL;
  runner *r = hn_alloc_zero(&a->context->allocator, sizeof *r);
  if (!r) return HN_FAIL_MEMORY(diag);
  hone_status status = hn_accuracy_engine(a, choices, &r->engine);
  if (status == HONE_OK) status = open_session(a, r);
  if (status == HONE_OK) {
    *out_plan = r;
    return HONE_OK;
  }
  hn_race_leave(user, r);
  if (!only_here(status)) return hone_note(diag, status, "while timing the whole network");
  hn_log(a->context, HONE_LOG_VERBOSE, "the network is not timed as a whole: %s",
         before < diag->count ? diag->entries[before].text : hone_status_name(status));
  diag->count = before;
  diag->dropped = dropped;
  return HONE_OK;
}

hone_status hn_race_time(void *user, void *plan, double *out_ns) {
  const runner *r = plan;
  return hn_accuracy_tell(user, r->session, hn_race_burst(r->session, r->runs, out_ns));
}

void hn_race_leave(void *user, void *plan) {
  const hn_accuracy *a = user;
  runner *r = plan;
  hone_session_destroy(r->session);
  hone_engine_release(r->engine);
  hn_free(&a->context->allocator, r, sizeof *r);
}
