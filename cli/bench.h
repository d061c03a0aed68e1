/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - inside of hone bench: what measuring and reporting share. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "trace.h"
#include <pthread.h>
#include <stdatomic.h>

enum {
  BENCH_PERCENTILES = 16,
  BENCH_MAX_STREAMS = 256,
  BENCH_MOST_IN_FLIGHT = 8,
  BENCH_LATEST = 2 * BENCH_MOST_IN_FLIGHT
};
/* One request. All start times count from when the streams began together. On a device with memory of its own the three
 * parts are its queue's, by its clock; elsewhere in and out are copies of the host's, with --includeDataTransfers. */
typedef struct bench_run {
  double start_ms, latency_ms; /* on the host, until the outputs are there */
  double in_ms, compute_ms, out_ms;
  double hidden_ms; /* of the copies, beside the computing of other requests of the stream */
  double waited_ms; /* with --rate: from when the request came until a stream took it; a part of the latency */
} bench_run;

/* When a run's parts were in the device's queue, by its clock. */
typedef struct bench_parts {
  int count;
  hone_run_part items[HONE_MOST_PARTS];
} bench_parts;

typedef struct bench_times {
  int64_t count, capacity;
  bench_run *runs;
  double wall_ms;
  int percentile_count;
  double percentiles[BENCH_PERCENTILES];
} bench_times;

/* A session with a host thread and a device of its own; the plan and its weights are the first one's. */
typedef struct bench_stream {
  struct bench *of;
  int number;
  cli_stream_options options;
  hone_device *device; /* NULL: the tool's */
  hone_engine *engine; /* NULL: the model's */
  hone_session *session;
  bool queued;   /* the device has a queue, whose parts are told */
  bool turns;    /* requests go through the queue with their copies, or several at a time */
  int in_flight; /* so many: of the session above and of in_flight - 1 others */
  hone_session *others[BENCH_MOST_IN_FLIGHT - 1];
  bench_parts latest[BENCH_LATEST]; /* of request i at i % BENCH_LATEST; with turns alone */
  cli_trace_group *trace;           /* NULL without --trace */
  hone_tensor *host; /* copies of all inputs, then room for the outputs; NULL without --includeDataTransfers */
  int in_count, out_count;
  bench_times times;
  pthread_t thread;
  int code; /* exit code of its runs */
} bench_stream;

typedef struct bench {
  cli_tool *cli;
  const cli_model *model;
  cli_cpus cpus;
  cli_trace trace;
  bench_stream *streams;
  int stream_count;
  double rate;                  /* --rate, requests a second; 0: the next when the last is done */
  atomic_int_least64_t arrived; /* requests that a stream took, or looked for */
  pthread_mutex_t mutex;        /* of what follows, which the streams' threads and the tool's meet by */
  pthread_cond_t changed;
  int ready;     /* streams that have warmed up, or failed to */
  bool go, stop; /* stop: some thread could not be started */
  double begin_ms;
  bench_times all; /* of all streams, by start */
  cli_load load;   /* of the machine while they ran */
} bench;

/* Opens all sessions with their inputs, measures, and gathers the times. Exit code; bench_close() is right after
 * every outcome. */
int bench_open(bench *b);
int bench_measure(bench *b);
void bench_close(bench *b);

int bench_read_percentiles(cli_tool *cli, bench_times *times);
/* Lines as trtexec's: the mean of each --avgRuns runs. */
void bench_print_averages(cli_tool *cli, const bench_times *times);
void bench_print_block(const bench *b, cli_load *load);          /* or JSON; load: of the machine while it ran */
int bench_export_times(cli_tool *cli, const bench_times *times); /* --exportTimes */
int bench_outputs(cli_tool *cli, const cli_model *model, hone_session *session); /* --dumpOutput, --exportOutput */

int bench_refit(cli_tool *cli, cli_model *model); /* --refitFromOnnx and its kin (trt_refit.c); exit code */
int bench_print_version(cli_tool *cli);           /* --getPlanVersionOnly */
int bench_time_open(cli_tool *cli);               /* --timeDeserialize */
int bench_dump_bindings(cli_tool *cli, const hone_engine *engine, hone_session *session); /* --dumpRawBindingsToFile */

/* Requests of several sessions in turns (bench_turns.c). Exit code. */
int bench_measure_turns(bench_stream *s);
/* Requests at a fixed rate (bench_rate.c). Exit code. How many come. */
int bench_measure_rate(bench_stream *s);
int64_t bench_offered(const bench *b);
/* One run from *now_ms on, which becomes its end. */
hone_status bench_run_once(bench_stream *s, bench_run *run, double *now_ms);
/* Room for one more run. Exit code, after a message. */
int bench_grow(bench_times *times);
/* The device's part in the run that the session just ended. */
hone_status bench_read_parts(hone_session *session, bench_run *run, bench_parts *out);
bool bench_goes_on(const bench_stream *s, double now_ms); /* iterations or duration are not reached yet */

static inline double bench_latency_ms(const bench_run *run) { return run->latency_ms; }

#endif
