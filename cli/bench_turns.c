/* SPDX-License-Identifier: Apache-2.0 */
/* bench_turns.c - hone bench on a device with a queue of its own: the parts of a run, and requests that overlap.
 *
 * With --includeDataTransfers two sessions take turns, each with its own queue and its own page-locked buffers, which
 * hold the inputs from the start: while one computes, the other's inputs and outputs are copied. */
#include "bench.h"

static double both_ns(const hone_run_part *a, const hone_run_part *b) {
  const double begin = a->begin_ns > b->begin_ns ? a->begin_ns : b->begin_ns;
  const double end = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;
  return end > begin ? end - begin : 0;
}

/* How long the copies of one run lay beside the computing of another. */
static double hidden_ms(const bench_parts *copies, const bench_parts *computing) {
  double sum_ns = 0;
  for (int i = 0; i < copies->count; ++i)
    for (int k = 0; k < computing->count; ++k)
      if (copies->items[i].kind != HONE_PART_COMPUTE && computing->items[k].kind == HONE_PART_COMPUTE)
        sum_ns += both_ns(&copies->items[i], &computing->items[k]);
  return sum_ns * 1e-6;
}

hone_status bench_read_parts(bench_stream *s, hone_session *session, bench_run *run) {
  bench_parts parts;
  const hone_status status = hone_session_parts(session, parts.items, &parts.count);
  if (status != HONE_OK) return status;
  double sums_ms[HONE_PART_COUNT] = {0};
  for (int i = 0; i < parts.count; ++i)
    sums_ms[parts.items[i].kind] += (parts.items[i].end_ns - parts.items[i].begin_ns) * 1e-6;
  run->in_ms = sums_ms[HONE_PART_TO_DEVICE];
  run->compute_ms = sums_ms[HONE_PART_COMPUTE];
  run->out_ms = sums_ms[HONE_PART_TO_HOST];
  if (s->second && s->times.count > 0) { /* of a request's copies, the first lie beside the one before it */
    run->hidden_ms = hidden_ms(&parts, &s->before);
    run[-1].hidden_ms += hidden_ms(&s->before, &parts);
  }
  s->before = parts;
  return HONE_OK;
}

typedef struct request {
  hone_session *session;
  double start_ms;
} request;

static hone_status begin(request *r) {
  r->start_ms = cli_now_ms();
  return hone_session_enqueue(r->session);
}

static hone_status end(bench_stream *s, const request *r) {
  bench_run *run = &s->times.runs[s->times.count];
  hone_status status = hone_session_wait(r->session);
  const double now_ms = cli_now_ms();
  *run = (bench_run){.start_ms = r->start_ms - s->of->begin_ms, .latency_ms = now_ms - r->start_ms};
  if (status == HONE_OK) status = bench_read_parts(s, r->session, run);
  ++s->times.count;
  s->times.wall_ms = now_ms - s->of->begin_ms;
  return status;
}

int bench_measure_turns(bench_stream *s) {
  request requests[2] = {{.session = s->session}, {.session = s->second}};
  hone_status status = begin(&requests[0]);
  int at = 0, code = CLI_EXIT_OK;
  while (status == HONE_OK && code == CLI_EXIT_OK && bench_goes_on(s, cli_now_ms())) {
    code = bench_grow(&s->times);
    at = 1 - at;
    if (code == CLI_EXIT_OK) status = begin(&requests[at]);
    if (code == CLI_EXIT_OK && status == HONE_OK) status = end(s, &requests[1 - at]);
    if (code == CLI_EXIT_OK && cli_stop_code() != CLI_EXIT_OK) code = cli_stopped();
  }
  for (int i = 0; i < 2; ++i) { /* the last one is not counted */
    const hone_status waited = hone_session_wait(requests[i].session);
    if (status == HONE_OK) status = waited;
  }
  if (code != CLI_EXIT_OK) return code;
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail_session(s->of->cli, requests[at].session, status);
}
