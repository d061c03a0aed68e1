/* SPDX-License-Identifier: Apache-2.0 */
/* bench_streams.c - the sessions of hone bench and their threads.
 *
 * One stream runs in the tool's own thread. Several run side by side, each in a thread of its own on a device, that is
 * a pool, of its own; all warm up, wait for one another, and begin together. */
#include "bench.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void sleep_ms(double ms) {
  if (ms <= 0) return;
  const struct timespec span = {.tv_sec = (time_t)(ms / 1e3),
                                .tv_nsec = (long)((ms - 1e3 * (double)(long)(ms / 1e3)) * 1e6)};
  nanosleep(&span, NULL); /* an interrupt ends it, which the loop then sees */
}

int bench_grow(bench_times *times) {
  if (times->count < times->capacity) return CLI_EXIT_OK;
  const int64_t capacity = times->capacity ? times->capacity * 2 : 1024;
  bench_run *runs = realloc(times->runs, (size_t)capacity * sizeof *runs);
  if (!runs) {
    cli_error("out of memory for %lld runs", (long long)times->count);
    return CLI_EXIT_NO_MEMORY;
  }
  times->runs = runs;
  times->capacity = capacity;
  return CLI_EXIT_OK;
}

static hone_engine *engine_of(const bench_stream *s) { return s->engine ? s->engine : s->of->model->engine; }

/* ---- opening ---- */

/* Host copies of what the session holds: inputs with their data, outputs as room. */
static int open_host_tensors(bench_stream *s) {
  cli_tool *cli = s->of->cli;
  s->in_count = hone_engine_input_count(engine_of(s));
  s->out_count = hone_engine_output_count(engine_of(s));
  s->host = calloc((size_t)(s->in_count + s->out_count), sizeof *s->host);
  if (!s->host) return CLI_EXIT_NO_MEMORY;
  hone_status status = hone_session_run(s->session); /* so that every output has its extents */
  if (status != HONE_OK) return cli_fail_session(cli, s->session, status);
  for (int i = 0; i < s->in_count + s->out_count; ++i) {
    hone_port_info port = HONE_SIZED(hone_port_info);
    hone_tensor view;
    status = i < s->in_count ? hone_engine_input(engine_of(s), i, &port)
                             : hone_engine_output(engine_of(s), i - s->in_count, &port);
    if (status == HONE_OK) status = hone_session_tensor(s->session, port.name, &view);
    if (status != HONE_OK) return cli_fail_session(cli, s->session, status);
    if (view.type.kind != HONE_TENSOR || view.type.dtype == HONE_STRING) {
      cli_error("--includeDataTransfers: %s is not a numeric tensor", port.name);
      return CLI_EXIT_UNSUPPORTED;
    }
    status = hone_tensor_alloc(cli->context, &view.type, &s->host[i]);
    if (status != HONE_OK) return cli_fail(cli, status);
    memcpy(s->host[i].data, view.data, view.bytes);
  }
  return CLI_EXIT_OK;
}

static bool in_host_memory(const cli_tool *cli) {
  hone_facts facts = HONE_SIZED(hone_facts);
  hone_device_facts(cli->device, &facts);
  return facts.host_memory;
}

/* Copies go through the device's queue: all ports lie in the host's memory and the device's is its own. */
static bool copies_through_queue(const bench_stream *s) {
  const int in_count = hone_engine_input_count(engine_of(s)), out_count = hone_engine_output_count(engine_of(s));
  if (!s->queued || !cli_has(s->of->cli, "includeDataTransfers")) return false;
  for (int i = 0; i < in_count + out_count; ++i) {
    hone_port_info port = HONE_SIZED(hone_port_info);
    const hone_status status = i < in_count ? hone_engine_input(engine_of(s), i, &port)
                                            : hone_engine_output(engine_of(s), i - in_count, &port);
    if (status != HONE_OK || port.on_device) return false;
  }
  return true;
}

/* The sessions that take turns with the stream's first one. */
static int open_others(bench_stream *s) {
  cli_tool *cli = s->of->cli;
  int code = CLI_EXIT_OK;
  for (int i = 0; i < s->in_flight - 1 && code == CLI_EXIT_OK; ++i) {
    const hone_status status = cli_open_traced_session(cli, engine_of(s), NULL, &s->others[i]);
    code = status == HONE_OK ? cli_fill_inputs(cli, s->of->model, s->others[i]) : cli_fail(cli, status);
  }
  return code;
}

static int open_stream(bench_stream *s) {
  bench *b = s->of;
  cli_tool *cli = b->cli;
  hone_diagnostics *diag = hone_context_diagnostics(cli->context);
  hone_status status = HONE_OK;
  cli_device_options_of(&b->cpus, s->number, &s->options);
  s->queued = !in_host_memory(cli);
  s->turns = (copies_through_queue(s) && b->rate <= 0) || cli_int(cli, "in-flight", 1) > 1;
  s->in_flight = s->turns ? (int)cli_int(cli, "in-flight", 2) : 1;
  if (s->number > 0 && !s->queued) { /* a GPU has no pool: its sessions have streams of their own there */
    status = hone_device_open(cli->context, hone_device_kind(cli->device), 0, &s->options.options, &s->device);
    if (status == HONE_OK) status = hone_engine_share(b->model->engine, &s->device, 1, &s->engine, diag);
  }
  if (status == HONE_OK) status = cli_open_traced_session(cli, engine_of(s), s->trace, &s->session);
  if (status != HONE_OK) return cli_fail(cli, status);
  const bool quiet = cli->quiet;
  if (s->number > 0) cli->quiet = true; /* the inputs are the first stream's */
  int code = cli_fill_inputs(cli, b->model, s->session);
  cli->quiet = true;
  if (code == CLI_EXIT_OK && s->turns)
    code = open_others(s);
  else if (code == CLI_EXIT_OK && cli_has(cli, "includeDataTransfers"))
    code = open_host_tensors(s);
  cli->quiet = quiet;
  return code;
}

int bench_open(bench *b) {
  int code = bench_read_percentiles(b->cli, &b->all);
  if (code == CLI_EXIT_OK) code = cli_read_cpus(b->cli, &b->cpus);
  if (code != CLI_EXIT_OK) return code;
  if (cli_has(b->cli, "noDataTransfers") && cli_has(b->cli, "includeDataTransfers"))
    return cli_usage_error(b->cli, "--noDataTransfers and --includeDataTransfers exclude each other");
  if (cli_has(b->cli, "in-flight") && in_host_memory(b->cli)) {
    cli_error("--in-flight: %s has no queue of its own; requests side by side are --streams",
              hone_device_kind(b->cli->device));
    return CLI_EXIT_UNSUPPORTED;
  }
  b->rate = cli_real(b->cli, "rate", 0);
  if (b->rate > 0 && (cli_has(b->cli, "in-flight") || cli_has(b->cli, "idleTime")))
    return cli_usage_error(b->cli, "--rate says when requests come: --in-flight and --idleTime mean nothing beside it");
  b->streams = calloc((size_t)b->cpus.streams, sizeof *b->streams);
  if (!b->streams) {
    cli_error("out of memory for %d streams", b->cpus.streams);
    return CLI_EXIT_NO_MEMORY;
  }
  b->stream_count = b->cpus.streams;
  code = cli_trace_open(b->cli, b->stream_count, &b->trace);
  for (int i = 0; i < b->stream_count && code == CLI_EXIT_OK; ++i) {
    b->streams[i].of = b;
    b->streams[i].number = i;
    b->streams[i].trace = cli_trace_group_at(&b->trace, i);
    cli_trace_turn(b->streams[i].trace, false);
    code = open_stream(&b->streams[i]);
  }
  return code;
}

void bench_close(bench *b) {
  cli_trace_close(&b->trace);
  for (int i = 0; i < b->stream_count; ++i) {
    bench_stream *s = &b->streams[i];
    for (int t = 0; s->host && t < s->in_count + s->out_count; ++t) hone_tensor_free(b->cli->context, &s->host[t]);
    free(s->host);
    for (int k = 0; k < s->in_flight - 1; ++k) hone_session_destroy(s->others[k]);
    hone_session_destroy(s->session);
    hone_engine_release(s->engine);
    hone_device_close(s->device);
    free(s->times.runs);
  }
  free(b->streams);
  free(b->all.runs);
}

/* ---- measuring ---- */

static hone_status copy_inputs(bench_stream *s) {
  for (int i = 0; i < s->in_count; ++i) {
    hone_port_info port = HONE_SIZED(hone_port_info);
    hone_status status = hone_engine_input(engine_of(s), i, &port);
    if (status == HONE_OK) status = hone_session_copy_in(s->session, port.name, &s->host[i]);
    if (status != HONE_OK) return status;
  }
  return HONE_OK;
}

static hone_status copy_outputs(bench_stream *s) {
  for (int i = 0; i < s->out_count; ++i) {
    hone_port_info port = HONE_SIZED(hone_port_info);
    hone_tensor view;
    hone_status status = hone_engine_output(engine_of(s), i, &port);
    if (status == HONE_OK) status = hone_session_tensor(s->session, port.name, &view);
    if (status != HONE_OK) return status;
    const size_t room = s->host[s->in_count + i].bytes;
    memcpy(s->host[s->in_count + i].data, view.data, view.bytes < room ? view.bytes : room);
  }
  return HONE_OK;
}

hone_status bench_run_once(bench_stream *s, bench_run *run, double *now_ms) {
  const double start_ms = *now_ms;
  hone_status status = s->host ? copy_inputs(s) : HONE_OK;
  const double in_ms = s->host ? cli_now_ms() : start_ms;
  if (status == HONE_OK) status = hone_session_run(s->session);
  const double ran_ms = *now_ms = cli_now_ms();
  if (status == HONE_OK && s->host) {
    status = copy_outputs(s);
    *now_ms = cli_now_ms();
  }
  *run = (bench_run){.start_ms = start_ms - s->of->begin_ms,
                     .latency_ms = *now_ms - start_ms,
                     .in_ms = in_ms - start_ms,
                     .compute_ms = ran_ms - in_ms,
                     .out_ms = *now_ms - ran_ms};
  bench_parts parts;
  return status == HONE_OK && s->queued && !s->host ? bench_read_parts(s->session, run, &parts) : status;
}

bool bench_goes_on(const bench_stream *s, double now_ms) {
  const cli_tool *cli = s->of->cli;
  return s->times.count < cli_int(cli, "iterations", 10) ||
         now_ms < s->of->begin_ms + 1e3 * cli_real(cli, "duration", 3);
}

/* Until both the iterations and the duration are reached. */
static int measure(bench_stream *s) {
  cli_tool *cli = s->of->cli;
  const double idle_ms = cli_real(cli, "idleTime", 0);
  double now_ms = cli_now_ms();
  if (s->of->rate > 0) return bench_measure_rate(s);
  if (s->turns) return bench_measure_turns(s);
  while (bench_goes_on(s, now_ms)) {
    const int code = bench_grow(&s->times);
    if (code != CLI_EXIT_OK) return code;
    const hone_status status = bench_run_once(s, &s->times.runs[s->times.count], &now_ms);
    if (status != HONE_OK) return cli_fail_session(cli, s->session, status);
    ++s->times.count;
    s->times.wall_ms = now_ms - s->of->begin_ms;
    if (cli_stop_code() != CLI_EXIT_OK) return cli_stopped();
    if (s->queued || idle_ms > 0) {
      sleep_ms(idle_ms);
      now_ms = cli_now_ms();
    }
  }
  return CLI_EXIT_OK;
}

static void begin(bench *b) {
  sleep_ms(cli_real(b->cli, "sleepTime", 0));
  b->begin_ms = cli_now_ms();
}

static void *stream_main(void *argument) {
  bench_stream *s = argument;
  bench *b = s->of;
  s->code = cli_pin_thread(&s->options);
  if (s->code == CLI_EXIT_OK) s->code = cli_run_for(b->cli, s->session, cli_real(b->cli, "warmUp", 200), 1, NULL);
  pthread_mutex_lock(&b->mutex);
  ++b->ready; /* also when it failed: the others need not wait for it */
  pthread_cond_broadcast(&b->changed);
  while (!b->go) pthread_cond_wait(&b->changed, &b->mutex);
  const bool stop = b->stop;
  pthread_mutex_unlock(&b->mutex);
  if (s->code == CLI_EXIT_OK && !stop) s->code = measure(s);
  if (s->code == CLI_EXIT_OK && !stop) s->code = cli_trace_runs(b->cli, s->trace);
  return NULL;
}

static int by_start(const void *a, const void *b) {
  const double x = ((const bench_run *)a)->start_ms, y = ((const bench_run *)b)->start_ms;
  return (x > y) - (x < y);
}

static int gather(bench *b) {
  for (int i = 0; i < b->stream_count; ++i) {
    if (b->streams[i].code != CLI_EXIT_OK) return b->streams[i].code;
    b->all.count += b->streams[i].times.count;
    if (b->streams[i].times.wall_ms > b->all.wall_ms) b->all.wall_ms = b->streams[i].times.wall_ms;
  }
  b->all.runs = malloc((size_t)b->all.count * sizeof *b->all.runs);
  if (!b->all.runs) {
    cli_error("out of memory for %lld runs", (long long)b->all.count);
    return CLI_EXIT_NO_MEMORY;
  }
  int64_t at = 0;
  for (int i = 0; i < b->stream_count; ++i) {
    const bench_times *times = &b->streams[i].times;
    memcpy(b->all.runs + at, times->runs, (size_t)times->count * sizeof *times->runs);
    at += times->count;
  }
  if (b->stream_count > 1) qsort(b->all.runs, (size_t)at, sizeof *b->all.runs, by_start);
  return CLI_EXIT_OK;
}

/* False after a message. */
static bool run_threads(bench *b) {
  int started = 0;
  pthread_mutex_init(&b->mutex, NULL);
  pthread_cond_init(&b->changed, NULL);
  while (started < b->stream_count &&
         pthread_create(&b->streams[started].thread, NULL, stream_main, &b->streams[started]) == 0)
    ++started;
  pthread_mutex_lock(&b->mutex);
  while (b->ready < started) pthread_cond_wait(&b->changed, &b->mutex);
  begin(b);
  b->go = true;
  b->stop = started < b->stream_count;
  pthread_cond_broadcast(&b->changed);
  pthread_mutex_unlock(&b->mutex);
  for (int i = 0; i < started; ++i) pthread_join(b->streams[i].thread, NULL);
  pthread_cond_destroy(&b->changed);
  pthread_mutex_destroy(&b->mutex);
  if (!b->stop) return true;
  cli_error("only %d of %d streams can be started", started, b->stream_count);
  return false;
}

int bench_measure(bench *b) {
  cli_load_begin(&b->load);
  if (b->stream_count == 1) {
    bench_stream *only = &b->streams[0];
    only->code = cli_run_for(b->cli, only->session, cli_real(b->cli, "warmUp", 200), 1, NULL);
    begin(b);
    if (only->code == CLI_EXIT_OK) only->code = measure(only);
    if (only->code == CLI_EXIT_OK) only->code = cli_trace_runs(b->cli, only->trace);
    return gather(b);
  }
  return run_threads(b) ? gather(b) : CLI_EXIT_DEVICE;
}
