/* SPDX-License-Identifier: Apache-2.0 */
/* advise_measure.c - hone advise: profiles an engine for advice, and measures engines in turns. */
#include "advise.h"
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- how long threads wait for one another ---- */

enum { MOST_STEPS = 8192, SHARES = 16384 };

/* Shares come thread after thread, so a step's are put together over the whole run. */
typedef struct waiting {
  int threads, thread; /* thread: that is told now */
  int64_t runs;
  double total_ns, run_ns;                                               /* of all runs */
  double longest_ns[MOST_STEPS], sum_ns[MOST_STEPS], own_ns[MOST_STEPS]; /* of one; own: of that thread */
  int sharers[MOST_STEPS];
} waiting;

static void end_thread(waiting *w) {
  for (int s = 0; s < MOST_STEPS; ++s) {
    if (w->own_ns[s] > w->longest_ns[s]) w->longest_ns[s] = w->own_ns[s];
    w->sum_ns[s] += w->own_ns[s];
    w->sharers[s] += w->own_ns[s] > 0;
    w->own_ns[s] = 0;
  }
}

/* A step of one thread keeps nobody waiting who could have helped. */
static void end_run(waiting *w) {
  end_thread(w);
  for (int s = 0; s < MOST_STEPS; ++s) {
    if (w->sharers[s] > 1) w->total_ns += w->longest_ns[s] - w->sum_ns[s] / w->threads;
    w->longest_ns[s] = w->sum_ns[s] = 0;
    w->sharers[s] = 0;
  }
}

static void on_span(void *user, const hone_span *span) {
  waiting *w = user;
  if (span->kind == HONE_SPAN_RUN) {
    if (w->runs++ > 0) end_run(w);
    w->run_ns += (double)(span->end_ns - span->begin_ns);
    w->thread = 0;
  } else if (span->kind == HONE_SPAN_SHARE && span->step >= 0 && span->step < MOST_STEPS) {
    if (span->thread != w->thread) end_thread(w);
    w->thread = span->thread;
    w->own_ns[span->step] += (double)(span->end_ns - span->begin_ns);
  }
}

/* ---- sessions ---- */

/* By the first dimension of the first input. */
static int64_t items_of(const cli_tool *cli, const hone_engine *engine) {
  hone_port_info port = HONE_SIZED(hone_port_info);
  if (!cli_has(cli, "throughput") || hone_engine_input(engine, 0, &port) != HONE_OK || port.opt.rank < 1) return 1;
  return port.opt.dim[0] > 0 ? port.opt.dim[0] : 1;
}

int contender_open(cli_tool *cli, cli_model *model, contender *c) {
  const bool quiet = cli->quiet;
  model->engine = c->engine;
  c->items = items_of(cli, c->engine);
  for (int k = 0; k < ADVISE_SESSIONS; ++k) {
    const hone_status status = cli_open_session(cli, c->engine, &c->sessions[k]);
    if (status != HONE_OK) return cli_fail(cli, status);
    cli->quiet = quiet || k > 0 || c->run_ns > 0; /* that inputs are random is said once */
    int code = cli_fill_inputs(cli, model, c->sessions[k]);
    cli->quiet = quiet;
    if (code == CLI_EXIT_OK)
      code = cli_run_for(cli, c->sessions[k], cli_real(cli, "warmUp", 200) / ADVISE_SESSIONS, 1, NULL);
    if (code != CLI_EXIT_OK) return code;
  }
  return advise_streams_open(cli, model, c);
}

void contender_close(contender *c) {
  advise_streams_close(c);
  for (int k = 0; k < ADVISE_SESSIONS; ++k) hone_session_destroy(c->sessions[k]);
  hone_engine_release(c->engine);
  hone_device_close(c->device);
  *c = (contender){0};
}

/* ---- advice ---- */

static int usable_threads(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

static int plain_runs(cli_tool *cli, hone_session *session, double ms, cli_load *load) {
  cli_load_begin(load);
  return cli_run_for(cli, session, ms, 10, load);
}

static double median_ns(cli_load *load) {
  const int count = load->count < CLI_LOAD_RUNS ? (int)load->count : CLI_LOAD_RUNS;
  qsort(load->runs, (size_t)count, sizeof load->runs[0], cli_compare_doubles);
  return count ? 1e6 * load->runs[count / 2] : 0;
}

int contender_advise(cli_tool *cli, cli_model *model, const char *ledger, const hone_device *other, contender *c,
                     hone_advice **out) {
  static waiting w; /* large for a stack */
  static cli_load load;
  const char *disabled[CLI_MAX_GIVEN];
  hone_facts facts = HONE_SIZED(hone_facts);
  hone_session_options session_options;
  hone_session *session = NULL;
  hone_diagnostics *diag = hone_context_diagnostics(cli->context);
  hone_device_facts(c->device, &facts);
  model->engine = c->engine;
  w = (waiting){.threads = facts.threads > 0 ? facts.threads : 1};
  cli_session_options_read(cli, &session_options);
  session_options.on_span = on_span;
  session_options.on_span_user = &w;
  session_options.trace_shares = SHARES;
  hone_status status = hone_session_create(c->engine, &session_options, &session, diag);
  if (status != HONE_OK) return cli_fail(cli, status);
  const double most_ms = 1e3 * cli_real(cli, "duration", 1);
  const int64_t level = cli_int(cli, "level", 3);
  const bool quiet = cli->quiet;
  cli->quiet = true;
  int code = cli_fill_inputs(cli, model, session);
  cli->quiet = quiet;
  if (code == CLI_EXIT_OK) code = plain_runs(cli, session, most_ms / 4, &load);
  c->run_ns = median_ns(&load) / (double)c->items;
  hone_session_set_profile(session, true);
  if (code == CLI_EXIT_OK) code = cli_run_for(cli, session, most_ms / 2, 10, NULL);
  hone_session_set_profile(session, false);
  if (code == CLI_EXIT_OK) {
    end_run(&w);
    const hone_advise_options options = {
        .struct_size = sizeof options,
        .ledger_path = ledger,
        .machine_threads = cli_has(cli, "cpus") ? 0 : usable_threads() / c->stream_count,
        .level = model->graph ? (level == 0 ? -1 : (int)level) : 0,
        .waiting_ns = w.run_ns > 0 ? w.total_ns / w.run_ns * c->run_ns * (double)c->items : 0,
        .unprofiled_ns = c->run_ns * (double)c->items,
        .no_replay = session_options.no_replay,
        .disabled_passes = cli_list(cli, "disable", disabled, CLI_MAX_GIVEN),
        .reference_only = cli_has(cli, "reference"),
        .other_device = other,
        .calibrated = cli_has(cli, "calib"),
        .throughput = cli_has(cli, "throughput") && c->stream_count == 1};
    status = hone_advise(session, c->graph ? c->graph : model->graph, &options, out, diag);
    if (status != HONE_OK) code = cli_fail(cli, status);
  }
  hone_session_destroy(session);
  return code;
}

/* ---- in turns ---- */

/* Times of an item: other streams answer as many meanwhile. */
static int timed_runs(cli_tool *cli, contender *c, int session, int runs, double *out) {
  const double items = (double)c->items * c->stream_count;
  int code = advise_streams_begin(c);
  for (int i = 0; i < runs && code == CLI_EXIT_OK; ++i) {
    const double begin_ms = cli_now_ms();
    const hone_status status = hone_session_run(c->sessions[session]);
    if (status != HONE_OK) code = cli_fail_session(cli, c->sessions[session], status);
    out[i] = 1e6 * (cli_now_ms() - begin_ms) / items;
    if (code == CLI_EXIT_OK && cli_stop_code() != CLI_EXIT_OK) code = cli_stopped();
  }
  const int ended = advise_streams_end(cli, c);
  return code == CLI_EXIT_OK ? ended : code;
}

int contenders_compare(cli_tool *cli, contender *a, contender *b, hone_times_difference *out) {
  static double times[2][ADVISE_BLOCKS * ADVISE_RUNS];
  contender *const sides[2] = {a, b};
  const double pair_ns = a->run_ns * (double)a->items + b->run_ns * (double)b->items;
  const double fit = 1e9 * cli_real(cli, "duration", 1) * 2 / (pair_ns * ADVISE_BLOCKS);
  const int runs = fit < 1 ? 1 : fit > ADVISE_RUNS ? ADVISE_RUNS : (int)fit;
  for (int block = 0; block < ADVISE_BLOCKS; ++block)
    for (int turn = 0; turn < 2; ++turn) { /* neither is always the first */
      const int side = (block / ADVISE_SESSIONS + turn) % 2;
      const int code = timed_runs(cli, sides[side], block % ADVISE_SESSIONS, runs, &times[side][block * runs]);
      if (code != CLI_EXIT_OK) return code;
    }
  const hone_status status =
      hone_compare_times(times[0], times[1], ADVISE_BLOCKS, runs, out, hone_context_diagnostics(cli->context));
  if (status != HONE_OK) return cli_fail(cli, status);
  a->run_ns = out->a_ns;
  b->run_ns = out->b_ns;
  return CLI_EXIT_OK;
}

int contenders_error(cli_tool *cli, const contender *a, const contender *b, double *out) {
  *out = -1;
  for (int i = 0; i < hone_engine_output_count(a->engine); ++i) {
    hone_port_info port = HONE_SIZED(hone_port_info);
    hone_tensor want, got;
    cli_comparison comparison;
    hone_status status = hone_engine_output(a->engine, i, &port);
    if (status == HONE_OK) status = hone_session_tensor(a->sessions[0], port.name, &want);
    if (status != HONE_OK) return cli_fail_session(cli, a->sessions[0], status);
    status = hone_session_tensor(b->sessions[0], port.name, &got);
    if (status != HONE_OK) return cli_fail_session(cli, b->sessions[0], status);
    if (want.type.kind != HONE_TENSOR || want.type.dtype == HONE_STRING) continue;
    if (a->items != b->items) continue; /* other inputs */
    cli_compare_tensors(&got, &want, 0, 0, &comparison);
    const double error = comparison.same_shape && !isnan(comparison.rel_l2) ? comparison.rel_l2 : HUGE_VAL;
    *out = fmax(*out, error);
  }
  return CLI_EXIT_OK;
}
