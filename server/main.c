/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - starts the parts, waits for signals, leaves without losing a request. */
#include "server.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

enum { QUIET_MS = 300 /* nothing in flight for so long: who kept a connection open sends nothing more */ };

/* ---- signals ---- */

static void block_signals(sigset_t *set) {
  sigemptyset(set);
  sigaddset(set, SIGTERM);
  sigaddset(set, SIGINT);
  sigaddset(set, SIGHUP);
  pthread_sigmask(SIG_BLOCK, set, NULL); /* in all threads to come, too */
  signal(SIGPIPE, SIG_IGN);
}

/* The signal, or 0 after ms. */
static int wait_signal(const sigset_t *set, int64_t ms) {
  const struct timespec span = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
  const int number = sigtimedwait(set, NULL, &span);
  return number < 0 ? 0 : number;
}

/* ---- leaving ---- */

static bool leaves(int number) { return number == SIGTERM || number == SIGINT; }

/* What was taken is finished; true: all of it. A second signal, or the limit, ends the waiting. */
static bool drain(srv_server *server, const sigset_t *set) {
  srv_pool *pool = &server->pool;
  const int64_t limit_ns = hn_clock_ns() + server->options.drain_ms * 1000000;
  int64_t quiet_ns = hn_clock_ns();
  while (hn_clock_ns() < limit_ns) {
    if (atomic_load(&pool->in_flight) > 0)
      quiet_ns = hn_clock_ns();
    else if (atomic_load(&pool->connections) == 0 || hn_clock_ns() - quiet_ns > QUIET_MS * INT64_C(1000000))
      return true;
    if (leaves(wait_signal(set, 5))) break;
  }
  return false;
}

static void leave(srv_server *server, const sigset_t *set) {
  const srv_options *o = &server->options;
  srv_pool *pool = &server->pool;
  atomic_store(&pool->state, SRV_LEAVING);
  srv_say(o, "leaving: not ready any more, serving on for %lld ms", (long long)o->lame_duck_ms);
  const int64_t until_ns = hn_clock_ns() + o->lame_duck_ms * 1000000;
  for (int64_t now = hn_clock_ns(); now < until_ns; now = hn_clock_ns())
    if (leaves(wait_signal(set, (until_ns - now) / 1000000 + 1))) break;
  atomic_store(&pool->state, SRV_DRAINING);
  srv_http_quiesce(server);
  const bool all = drain(server, set);
  if (!all) srv_say(o, "%d requests are given up", atomic_load(&pool->in_flight));
  srv_pool_close(pool);
  srv_repository_close(&server->repository);
  for (int i = 0; i < 200 && atomic_load(&pool->in_flight) > 0; ++i) (void)wait_signal(set, 5); /* their 503 */
  srv_http_close(server);
}

/* ---- starting ---- */

static int fail(const hone_context *context, hone_status status, const char *what) {
  const char *text = context && hone_context_message_count(context) > 0 ? hone_context_message(context, 0, NULL) : NULL;
  fprintf(stderr, "hone-server: %s: %s\n", what, text ? text : hone_status_name(status));
  return srv_exit_code(status);
}

static void serve(srv_server *server, const sigset_t *set) {
  const srv_options *o = &server->options;
  const bool brackets = strchr(o->address, ':') != NULL;
  /* For scripts, too: the one line that is said also when quiet. */
  fprintf(stderr, "listening on http://%s%s%s:%d\n", brackets ? "[" : "", o->address, brackets ? "]" : "",
          server->port);
  atomic_store(&server->pool.state, SRV_SERVING);
  for (;;) {
    const int number = sigwaitinfo(set, NULL);
    if (leaves(number)) break;
    if (number == SIGHUP) srv_repository_scan(&server->repository);
  }
  leave(server, set);
  srv_say(o, "left");
}

int main(int count, char **arguments) {
  static srv_server server; /* threads use it until the end */
  sigset_t set;
  bool done;
  int code = srv_options_read(count, arguments, &server.options, &done);
  if (code != 0 || done) return code;
  setvbuf(stderr, NULL, _IOLBF, 0);
  block_signals(&set);
  hone_context *context = NULL;
  const hone_context_options options = {.struct_size = sizeof options};
  hone_status status = hone_context_create(&options, &context);
  if (status != HONE_OK) return fail(NULL, status, "the library does not start");
  status = srv_pool_open(&server.pool, &server.options, context);
  if (status != HONE_OK) return fail(context, status, "the workers do not start");
  status = srv_repository_open(&server.repository, &server.pool);
  if (status == HONE_OK && srv_http_open(&server))
    serve(&server, &set);
  else
    code =
        status == HONE_OK ? srv_exit_code(HONE_IO) : fail(server.repository.context, status, "models cannot be loaded");
  if (code != 0) srv_pool_close(&server.pool);
  srv_repository_close(&server.repository);
  srv_pool_free(&server.pool);
  hone_context_destroy(context);
  return code;
}
