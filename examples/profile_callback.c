/* SPDX-License-Identifier: Apache-2.0 */
/* profile_callback.c - times of layers as they come, in your own code, and the library's report at the end.
 * usage: profile_callback ENGINE [RUNS] */
#include <hone/hone.h>
#include <stdio.h>
#include <stdlib.h>

/* Keeps the slowest layer of all runs. Names stay the engine's. */
typedef struct slowest {
  const char *name;
  double elapsed_ns, total_ns;
} slowest;

static void on_span(void *user, const hone_span *span) {
  slowest *s = user;
  if (span->kind != HONE_SPAN_STEP) return;
  const double elapsed_ns = (double)(span->end_ns - span->begin_ns);
  s->total_ns += elapsed_ns;
  if (elapsed_ns <= s->elapsed_ns) return;
  s->name = span->name;
  s->elapsed_ns = elapsed_ns;
}

static bool to_stdout(void *user, const char *text, size_t length) {
  (void)user;
  return fwrite(text, 1, length, stdout) == length;
}

static hone_status run(hone_context *context, hone_engine *engine, int runs) {
  slowest s = {0};
  hone_diagnostics *diag = hone_context_diagnostics(context);
  const hone_session_options options = {
      .struct_size = sizeof options, .profile = true, .on_span = on_span, .on_span_user = &s};
  hone_session *session;
  hone_status status = hone_session_create(engine, &options, &session, diag);
  if (status != HONE_OK) return status;
  for (int i = 0; i < runs && status == HONE_OK; ++i) status = hone_session_run(session);
  if (status == HONE_OK)
    printf("the slowest layer of %d runs took %.4f ms: %s; layers took %.4f ms a run\n\n", runs, s.elapsed_ns * 1e-6,
           s.name ? s.name : "none", s.total_ns * 1e-6 / runs);
  if (status == HONE_OK) status = hone_report_profile(session, NULL, to_stdout, NULL, diag);
  hone_session_destroy(session);
  return status;
}

int main(int count, char **arguments) {
  const int runs = count > 2 ? atoi(arguments[2]) : 10;
  if (count < 2 || runs < 1) {
    fprintf(stderr, "usage: %s ENGINE [RUNS]\n", arguments[0]);
    return 2;
  }
  hone_context *context;
  hone_device *device = NULL;
  hone_engine *engine = NULL;
  hone_status status = hone_context_create(NULL, &context);
  if (status != HONE_OK) return (int)status;
  status = hone_device_open(context, "cpu", 0, NULL, &device);
  if (status == HONE_OK) status = hone_engine_load(context, arguments[1], &device, 1, &engine);
  if (status == HONE_OK) status = run(context, engine, runs);
  for (int i = 0; i < hone_context_message_count(context); ++i)
    fprintf(stderr, "%s\n", hone_context_message(context, i, NULL));
  hone_engine_release(engine);
  hone_device_close(device);
  hone_context_destroy(context);
  return (int)status;
}
