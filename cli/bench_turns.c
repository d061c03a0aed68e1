/* SPDX-License-Identifier: Apache-2.0 */
/* bench_turns.c - hone bench on a device with a queue of its own: the parts of a run, and requests that overlap.
 *
 * With several requests in flight as many sessions take turns, each with its own queue and its own page-locked buffers,
 * which hold the inputs from the start: while one computes, the others' inputs and outputs are copied. */
#include "bench.h"
#include <stdlib.h>

/* Requests beside which a request's copies may lie: those in flight with it, before and after. */
enum { MOST_OTHERS = 2 * (BENCH_MOST_IN_FLIGHT - 1) };

typedef struct span {
  double begin_ns, end_ns;
} span;

static int by_begin(const void *a, const void *b) {
  const span *x = a, *y = b;
  return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static double covered_ns(span *spans, int count) {
  double sum_ns = 0, reach_ns = 0;
  qsort(spans, (size_t)count, sizeof *spans, by_begin);
  for (int i = 0; i < count; ++i) {
    const double begin_ns = i > 0 && spans[i].begin_ns < reach_ns ? reach_ns : spans[i].begin_ns;
    if (spans[i].end_ns <= begin_ns) continue;
    sum_ns += spans[i].end_ns - begin_ns;
    reach_ns = spans[i].end_ns;
  }
  return sum_ns;
}

/* How much of a copy lies beside some other request's computing. */
static double hidden_ns(const hone_run_part *copy, const bench_parts *const *others, int other_count) {
  span spans[MOST_OTHERS * HONE_MOST_PARTS];
  int count = 0;
  for (int o = 0; o < other_count; ++o) {
    for (int i = 0; i < others[o]->count; ++i) {
      const hone_run_part *part = &others[o]->items[i];
      const span both = {part->begin_ns > copy->begin_ns ? part->begin_ns : copy->begin_ns,
                         part->end_ns < copy->end_ns ? part->end_ns : copy->end_ns};
      if (part->kind == HONE_PART_COMPUTE && both.end_ns > both.begin_ns) spans[count++] = both;
    }
  }
  return covered_ns(spans, count);
}

/* Once all requests that were in flight with this one are over. */
static void tell_hidden(bench_stream *s, int64_t at) {
  const bench_parts *others[MOST_OTHERS], *own = &s->latest[at % BENCH_LATEST];
  int count = 0;
  for (int64_t o = at - (s->in_flight - 1); o < at + s->in_flight; ++o)
    if (o >= 0 && o != at && o < s->times.count) others[count++] = &s->latest[o % BENCH_LATEST];
  for (int i = 0; i < own->count; ++i)
    if (own->items[i].kind != HONE_PART_COMPUTE)
      s->times.runs[at].hidden_ms += hidden_ns(&own->items[i], others, count) * 1e-6;
}

hone_status bench_read_parts(hone_session *session, bench_run *run, bench_parts *out) {
  const hone_status status = hone_session_parts(session, out->items, &out->count);
  if (status != HONE_OK) return status;
  double sums_ms[HONE_PART_COUNT] = {0};
  for (int i = 0; i < out->count; ++i)
    sums_ms[out->items[i].kind] += (out->items[i].end_ns - out->items[i].begin_ns) * 1e-6;
  run->in_ms = sums_ms[HONE_PART_TO_DEVICE];
  run->compute_ms = sums_ms[HONE_PART_COMPUTE];
  run->out_ms = sums_ms[HONE_PART_TO_HOST];
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
  const int64_t at = s->times.count;
  bench_run *run = &s->times.runs[at];
  hone_status status = hone_session_wait(r->session);
  const double now_ms = cli_now_ms();
  *run = (bench_run){.start_ms = r->start_ms - s->of->begin_ms, .latency_ms = now_ms - r->start_ms};
  if (status == HONE_OK) status = bench_read_parts(r->session, run, &s->latest[at % BENCH_LATEST]);
  ++s->times.count;
  s->times.wall_ms = now_ms - s->of->begin_ms;
  if (status == HONE_OK && at >= s->in_flight - 1) tell_hidden(s, at - (s->in_flight - 1));
  return status;
}

int bench_measure_turns(bench_stream *s) {
  request requests[BENCH_MOST_IN_FLIGHT] = {{.session = s->session}};
  for (int i = 1; i < s->in_flight; ++i) requests[i].session = s->others[i - 1];
  hone_status status = HONE_OK;
  int64_t begun = 0;
  int at = 0, code = CLI_EXIT_OK; /* at: whose turn it is */
  while (status == HONE_OK && code == CLI_EXIT_OK && bench_goes_on(s, cli_now_ms())) {
    code = bench_grow(&s->times);
    for (; code == CLI_EXIT_OK && status == HONE_OK && begun - s->times.count < s->in_flight; ++begun)
      status = begin(&requests[at = (int)(begun % s->in_flight)]);
    if (code != CLI_EXIT_OK || status != HONE_OK) break;
    at = (int)(s->times.count % s->in_flight);
    status = end(s, &requests[at]);
    if (cli_stop_code() != CLI_EXIT_OK) code = cli_stopped();
  }
  for (int i = 0; i < s->in_flight; ++i) { /* what is still in flight is not counted */
    const hone_status waited = hone_session_wait(requests[i].session);
    if (status != HONE_OK || waited == HONE_OK) continue;
    status = waited;
    at = i;
  }
  if (code != CLI_EXIT_OK) return code;
  if (status != HONE_OK) return cli_fail_session(s->of->cli, requests[at].session, status);
  for (int64_t i = s->times.count - (s->in_flight - 1); i < s->times.count; ++i)
    if (i >= 0) tell_hidden(s, i);
  return CLI_EXIT_OK;
}
