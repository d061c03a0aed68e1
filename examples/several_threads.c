/* SPDX-License-Identifier: Apache-2.0 */
/* several_threads.c - one engine, several threads: each has a session of its own; the engine and its weights are
 * shared. The device gets one thread, so that the requests run side by side instead of sharing a pool. usage:
 * several_threads ENGINE [THREADS [RUNS]] */
#include <hone/hone.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_THREADS = 64 };

typedef struct worker {
  pthread_t thread;
  hone_session *session;
  const char *output;
  int runs;
  hone_status status;
  double sum; /* of the output's elements, which must be the same in every thread */
} worker;

static void *work(void *argument) {
  worker *w = argument;
  hone_tensor tensor;
  for (int i = 0; i < w->runs && w->status == HONE_OK; ++i) w->status = hone_session_run(w->session);
  if (w->status == HONE_OK) w->status = hone_session_tensor(w->session, w->output, &tensor);
  for (int64_t i = 0; w->status == HONE_OK && i < hone_tensor_count(&tensor); ++i)
    w->sum += hone_tensor_real(&tensor, i);
  return NULL;
}

static int run(hone_context *context, hone_engine *engine, int thread_count, int runs) {
  static worker workers[MAX_THREADS];
  hone_port_info output = HONE_SIZED(hone_port_info);
  hone_status status = hone_engine_output(engine, 0, &output);
  for (int i = 0; i < thread_count && status == HONE_OK; ++i) { /* a context is for one thread: create them here */
    workers[i] = (worker){.output = output.name, .runs = runs};
    status = hone_session_create(engine, NULL, &workers[i].session, hone_context_diagnostics(context));
  }
  int started = 0;
  for (; started < thread_count && status == HONE_OK; ++started)
    if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0) status = HONE_NO_MEMORY;
  for (int i = 0; i < started; ++i) {
    pthread_join(workers[i].thread, NULL);
    if (workers[i].status != HONE_OK) status = workers[i].status;
    if (workers[i].sum != workers[0].sum) {
      fprintf(stderr, "thread %d: another result than thread 0\n", i);
      status = HONE_INTERNAL;
    }
  }
  for (int i = 0; i < thread_count; ++i) hone_session_destroy(workers[i].session);
  if (status == HONE_OK) printf("%d threads, %d runs each: all agree on %s\n", thread_count, runs, output.name);
  return (int)status;
}

int main(int count, char **arguments) {
  const int thread_count = count > 2 ? atoi(arguments[2]) : 4, runs = count > 3 ? atoi(arguments[3]) : 10;
  if (count < 2 || thread_count < 1 || thread_count > MAX_THREADS || runs < 1) {
    fprintf(stderr, "usage: %s ENGINE [THREADS [RUNS]]\n", arguments[0]);
    return 2;
  }
  hone_context *context;
  hone_device *device = NULL;
  hone_engine *engine = NULL;
  hone_status status = hone_context_create(NULL, &context);
  if (status != HONE_OK) return (int)status;
  const hone_device_options alone = {.struct_size = sizeof alone, .threads = 1};
  status = hone_device_open(context, "cpu", 0, &alone, &device);
  if (status == HONE_OK) status = hone_engine_load(context, arguments[1], &device, 1, &engine);
  const int code = status == HONE_OK ? run(context, engine, thread_count, runs) : (int)status;
  for (int i = 0; i < hone_context_message_count(context); ++i)
    fprintf(stderr, "%s\n", hone_context_message(context, i, NULL));
  hone_engine_release(engine);
  hone_device_close(device);
  hone_context_destroy(context);
  return code;
}
