/* SPDX-License-Identifier: Apache-2.0 */
/* bench_rate.c - hone bench --rate: requests come at a fixed rate, whether or not the ones before are done (an open
 * loop), and the streams serve them in their order. Latency counts from when a request came, so that what waits is
 * seen: a loop that sends the next request when the last is done would send none while the engine is slow. */
#include "bench.h"
#include <math.h>
#include <time.h>

/* Sleeping ends late by some tens of microseconds; the rest is spun. */
static void wait_until(double at_ms) {
  static const double spun_ms = 0.1;
  const double sleep_ms = at_ms - cli_now_ms() - spun_ms;
  if (sleep_ms > 0) {
    const struct timespec span = {.tv_sec = (time_t)(sleep_ms / 1e3), .tv_nsec = (long)(fmod(sleep_ms, 1e3) * 1e6)};
    nanosleep(&span, NULL); /* an interrupt ends it, which the loop then sees */
  }
  while (cli_now_ms() < at_ms && cli_stop_code() == CLI_EXIT_OK) continue;
}

static double duration_ms(const bench *b) {
  const double least_ms = 1e3 * cli_real(b->cli, "duration", 3);
  return fmax(least_ms, 1e3 * (double)cli_int(b->cli, "iterations", 10) / b->rate);
}

int64_t bench_offered(const bench *b) { return (int64_t)ceil(duration_ms(b) * 1e-3 * b->rate); }

/* Where the engine does not keep up, requests wait longer and longer: after twice the time the rest is left. */
int bench_measure_rate(bench_stream *s) {
  bench *b = s->of;
  const double end_ms = b->begin_ms + 2 * duration_ms(b) + 100;
  const int64_t offered = bench_offered(b);
  for (;;) {
    const int64_t number = atomic_fetch_add(&b->arrived, 1);
    const double came_ms = b->begin_ms + 1e3 * (double)number / b->rate;
    if (number >= offered || cli_now_ms() > end_ms) return CLI_EXIT_OK;
    const int code = bench_grow(&s->times);
    if (code != CLI_EXIT_OK) return code;
    wait_until(came_ms);
    if (cli_stop_code() != CLI_EXIT_OK) return cli_stopped();
    double now_ms = cli_now_ms();
    bench_run *run = &s->times.runs[s->times.count];
    const double waited_ms = now_ms - came_ms;
    const hone_status status = bench_run_once(s, run, &now_ms);
    if (status != HONE_OK) return cli_fail_session(b->cli, s->session, status);
    run->start_ms = came_ms - b->begin_ms;
    run->waited_ms = waited_ms;
    run->latency_ms += waited_ms;
    ++s->times.count;
    s->times.wall_ms = now_ms - b->begin_ms;
  }
}
