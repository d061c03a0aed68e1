/* SPDX-License-Identifier: Apache-2.0 */
/* test_async_threads.c - runs in a session's own thread: the numbers of a plain run, done() in that thread with the
 * status, the session refused to others meanwhile, runs begun by done(), a run that is cancelled, destroying, also by
 * done(). */
#include "support/two_devices.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { RUNS = 50, SESSIONS = 4 };

typedef struct request {
  hone_session *session;
  atomic_int calls, held, let_go; /* held: a run is inside on_tap */
  int again;                      /* runs that done begins */
  bool holds;
  hone_status status, wait, inner; /* inner: of functions that done calls */
  pthread_t thread;
  float y[COUNT];
} request;

static void done(void *user, hone_status status) {
  request *r = user;
  hone_tensor y;
  r->status = status;
  r->thread = pthread_self();
  r->inner = status == HONE_OK ? hone_session_tensor(r->session, "y", &y) : HONE_OK;
  if (status == HONE_OK && r->inner == HONE_OK) memcpy(r->y, y.data, y.bytes);
  r->wait = hone_session_wait(r->session); /* not for itself */
  atomic_fetch_add(&r->calls, 1);
  if (r->again-- > 0) r->inner = hone_session_run_async(r->session, done, r);
}

/* Stops a run where it is. */
static hone_status hold(void *user, const hone_tap *tap) {
  request *r = user;
  (void)tap;
  atomic_store(&r->held, 1);
  while (r->holds && !atomic_load(&r->let_go)) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
  return HONE_OK;
}

static hone_engine *build(hone_device *device) {
  hone_engine *engine;
  two_devices_seed = 5;
  hone_graph *graph = two_devices_random(12);
  const hone_build_options options = {.struct_size = sizeof options, .level = -1};
  two_devices_check(hone_engine_build(two_devices_context, graph, &device, 1, &options, &engine));
  hone_graph_destroy(graph);
  return engine;
}

static void open_session(hone_engine *engine, const hone_session_options *options, const two_devices_numbers *n,
                         request *r) {
  two_devices_check(hone_session_create(engine, options, &r->session, hone_context_diagnostics(two_devices_context)));
  for (int i = 0; i < 2; ++i) {
    const hone_tensor t = {
        {HONE_TENSOR, HONE_F32, HONE_PLAIN, {2, {ROWS, COLUMNS}}}, (void *)(uintptr_t)n->in[i], sizeof n->in[i]};
    two_devices_check_session(r->session, hone_session_copy_in(r->session, i ? "b" : "a", &t));
  }
}

static void try_device(hone_device *device) {
  static request requests[SESSIONS];
  hone_engine *engine = build(device);
  two_devices_numbers n;
  hone_session *plain;
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < COUNT; ++k) n.in[i][k] = two_devices_number();
  two_devices_check(hone_session_create(engine, NULL, &plain, hone_context_diagnostics(two_devices_context)));
  two_devices_run(plain, &n, false);
  memset(requests, 0, sizeof requests);
  for (int s = 0; s < SESSIONS; ++s) open_session(engine, NULL, &n, &requests[s]);
  for (int s = 0; s < SESSIONS; ++s) {
    requests[s].again = RUNS - 1;
    two_devices_check_session(requests[s].session, hone_session_run_async(requests[s].session, done, &requests[s]));
  }
  for (int s = 0; s < SESSIONS; ++s) {
    request *r = &requests[s];
    two_devices_check_session(r->session, hone_session_wait(r->session));
    assert_int_equal(atomic_load(&r->calls), RUNS);
    assert_true(r->status == HONE_OK && r->wait == HONE_OK && r->inner == HONE_OK);
    assert_false(pthread_equal(r->thread, pthread_self()));
    assert_memory_equal(r->y, n.out[0], sizeof r->y);
    two_devices_check_session(r->session, hone_session_run_async(r->session, NULL, NULL)); /* destroying waits */
    hone_session_destroy(r->session);
  }
  hone_session_destroy(plain);
  hone_engine_release(engine);
  hone_device_close(device);
}

static void test_runs(void **state) {
  (void)state;
  hone_device *cpu;
  two_devices_check(hone_device_open(two_devices_context, "cpu", 0, NULL, &cpu));
  try_device(cpu);
  try_device(two_devices_far(0));
  try_device(two_devices_far(1));
}

/* While a run is under way the session is nobody else's; a set cancel ends it, which done and wait are told. */
static void test_in_use(void **state) {
  (void)state;
  hone_device *cpu;
  two_devices_check(hone_device_open(two_devices_context, "cpu", 0, NULL, &cpu));
  hone_engine *engine = build(cpu);
  static request r;
  atomic_bool cancel;
  const char *const all = "*";
  two_devices_numbers n = {0};
  hone_tensor y;
  atomic_init(&cancel, false);
  const hone_session_options options = {.struct_size = sizeof options,
                                        .taps = &all,
                                        .tap_count = 1,
                                        .on_tap = hold,
                                        .on_tap_user = &r,
                                        .cancel = &cancel};
  open_session(engine, &options, &n, &r);
  r.holds = true;
  two_devices_check_session(r.session, hone_session_run_async(r.session, done, &r));
  while (!atomic_load(&r.held)) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
  assert_int_equal(hone_session_run(r.session), HONE_INVALID);
  assert_int_equal(hone_session_tensor(r.session, "y", &y), HONE_INVALID);
  assert_int_equal(hone_session_run_async(r.session, done, &r), HONE_INVALID);
  atomic_store(&cancel, true);
  atomic_store(&r.let_go, 1);
  assert_int_equal(hone_session_wait(r.session), HONE_CANCELLED);
  assert_int_equal(r.status, HONE_CANCELLED);
  assert_int_equal(atomic_load(&r.calls), 1);
  atomic_store(&cancel, false);
  two_devices_check_session(r.session, hone_session_run(r.session)); /* it can run again */
  two_devices_check_session(r.session, hone_session_run_async(r.session, done, &r));
  two_devices_check_session(r.session, hone_session_wait(r.session));
  assert_true(atomic_load(&r.calls) == 2 && r.status == HONE_OK);
  hone_session_destroy(r.session);
  hone_engine_release(engine);
  hone_device_close(cpu);
}

static void destroy_it(void *user, hone_status status) {
  request *r = user;
  r->status = status;
  hone_session_destroy(r->session);
  atomic_store(&r->calls, 1);
}

/* done() destroys its session, whose thread then ends by itself. */
static void test_destroyed_by_done(void **state) {
  (void)state;
  hone_device *cpu;
  two_devices_check(hone_device_open(two_devices_context, "cpu", 0, NULL, &cpu));
  hone_engine *engine = build(cpu);
  two_devices_numbers n = {0};
  for (int i = 0; i < RUNS; ++i) {
    static request r;
    r = (request){.status = HONE_INTERNAL};
    open_session(engine, NULL, &n, &r);
    two_devices_check_session(r.session, hone_session_run_async(r.session, destroy_it, &r));
    while (!atomic_load(&r.calls)) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    assert_int_equal(r.status, HONE_OK);
  }
  hone_engine_release(engine);
  hone_device_close(cpu);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_runs), cmocka_unit_test(test_in_use),
                                     cmocka_unit_test(test_destroyed_by_done)};
  return cmocka_run_group_tests(tests, two_devices_set_up, two_devices_tear_down);
}
