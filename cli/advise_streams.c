/* SPDX-License-Identifier: Apache-2.0 */
/* advise_streams.c - hone advise --throughput: an engine's other requests, each in a thread and on a device, that is a
 * pool, of its own, as hone bench --streams has them. The tool's own thread times its runs while they go on. */
#include "advise.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

struct advise_stream {
  cli_stream_options options;
  hone_device *device; /* NULL: the contender's, which has a queue for each session */
  hone_engine *engine; /* on it */
  hone_session *session;
  pthread_t thread;
  bool started;
  atomic_bool stop;
  atomic_int runs;
  hone_status status; /* of its last run */
  int code;           /* of pinning its thread */
};

static int open_stream(cli_tool *cli, const cli_model *model, const contender *c, const cli_cpus *cpus, int number,
                       advise_stream *s) {
  hone_facts facts = HONE_SIZED(hone_facts);
  hone_status status = hone_device_facts(c->device, &facts);
  cli_device_options_of(cpus, number, &s->options);
  if (status == HONE_OK && facts.host_memory) {
    status = hone_device_open(cli->context, hone_device_kind(c->device), 0, &s->options.options, &s->device);
    if (status == HONE_OK)
      status = hone_engine_share(c->engine, &s->device, 1, &s->engine, hone_context_diagnostics(cli->context));
  }
  if (status == HONE_OK) status = cli_open_session(cli, s->engine ? s->engine : c->engine, &s->session);
  if (status != HONE_OK) return cli_fail(cli, status);
  return cli_fill_inputs(cli, model, s->session);
}

int advise_streams_open(cli_tool *cli, const cli_model *model, contender *c) {
  cli_cpus cpus;
  int code = cli_read_cpus(cli, &cpus);
  c->stream_count = cpus.streams;
  if (code != CLI_EXIT_OK || cpus.streams < 2) return code;
  c->others = calloc((size_t)cpus.streams - 1, sizeof *c->others);
  if (!c->others) {
    cli_error("out of memory for %d streams", cpus.streams);
    return CLI_EXIT_NO_MEMORY;
  }
  const bool quiet = cli->quiet;
  cli->quiet = true; /* the inputs are the first stream's */
  for (int i = 0; i < cpus.streams - 1 && code == CLI_EXIT_OK; ++i)
    code = open_stream(cli, model, c, &cpus, i + 1, &c->others[i]);
  cli->quiet = quiet;
  return code;
}

void advise_streams_close(contender *c) {
  for (int i = 0; c->others && i < c->stream_count - 1; ++i) {
    hone_session_destroy(c->others[i].session);
    hone_engine_release(c->others[i].engine);
    hone_device_close(c->others[i].device);
  }
  free(c->others);
  c->others = NULL;
}

static void *run_on(void *argument) {
  advise_stream *s = argument;
  s->code = cli_pin_thread(&s->options);
  do {
    s->status = s->code == CLI_EXIT_OK ? hone_session_run(s->session) : HONE_OK;
    atomic_fetch_add(&s->runs, 1);
  } while (s->status == HONE_OK && s->code == CLI_EXIT_OK && !atomic_load(&s->stop));
  return NULL;
}

int advise_streams_begin(contender *c) {
  for (int i = 0; i < c->stream_count - 1; ++i) {
    advise_stream *s = &c->others[i];
    atomic_store(&s->stop, false);
    atomic_store(&s->runs, 0);
    s->started = pthread_create(&s->thread, NULL, run_on, s) == 0;
    if (s->started) continue;
    cli_error("only %d of %d streams can be started", i + 1, c->stream_count);
    return CLI_EXIT_DEVICE;
  }
  for (int i = 0; i < c->stream_count - 1; ++i)
    while (atomic_load(&c->others[i].runs) == 0) sched_yield();
  return CLI_EXIT_OK;
}

int advise_streams_end(cli_tool *cli, contender *c) {
  int code = CLI_EXIT_OK;
  for (int i = 0; i < c->stream_count - 1; ++i) atomic_store(&c->others[i].stop, true);
  for (int i = 0; i < c->stream_count - 1; ++i) {
    advise_stream *s = &c->others[i];
    if (!s->started) continue;
    pthread_join(s->thread, NULL);
    s->started = false;
    if (code == CLI_EXIT_OK) code = s->code;
    if (code == CLI_EXIT_OK && s->status != HONE_OK) code = cli_fail_session(cli, s->session, s->status);
  }
  return code;
}
