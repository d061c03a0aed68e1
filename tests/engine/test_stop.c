/* SPDX-License-Identifier: Apache-2.0 */
/* test_stop.c - nothing runs on behind its deadline or the caller's flag: graphs that would take hours, or for ever,
 * are built, run and verified, and must end within 0.2 s of either. What a machine full of other programs adds does not
 * count: the time is that of the calling thread's processor. */
#include "base/diag.h"
#include "base/text.h"
#include "support/share.h"
#include "tensor/shape.h"
#include <hone/hone.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

/* Graphs are stopped by their deadline or by the flag in turn; on the reference by the other one. */
#if defined(TEST_SANITIZED) || !defined(NDEBUG)
static const double allowed_ms = 2000; /* code that is not optimised looks at its stop later */
enum { EACH = 3 };                     /* every third graph */
#else
static const double allowed_ms = 200;
enum { EACH = 1 };
#endif
enum { STOP_MS = 120 };

typedef struct hostile {
  const char *name, *text;
  bool runs; /* without timing its build is short, and then it is run */
  int chain; /* nodes of it, in the place of %s */
} hostile;

static const hostile graphs[] = {
    {.name = "a loop of 2^62 trips",
     .runs = true,
     .text = "in %x: f32[4]\n const %n: i64[] = [4611686018427387904]\n"
             " %y = loop(%n, _, %x) (%i: i64[], %go: bool[], %s: f32[4]) {\n  %t = mul(%s, %s)\n  yield %go, %t\n }\n"
             " out %y\n"},
    {.name = "a loop of products",
     .runs = true,
     .text = "in %x: f32[700,700]\n const %n: i64[] = [4611686018427387904]\n"
             " %y = loop(%n, _, %x) (%i: i64[], %go: bool[], %s: f32[700,700]) {\n  %t = matmul(%s, %s)\n"
             "  yield %go, %t\n }\n out %y\n"},
    {.name = "a loop in a loop",
     .runs = true,
     .text =
         "in %x: f32[4]\n const %n: i64[] = [1000000000]\n"
         " %y = loop(%n, _, %x) (%i: i64[], %go: bool[], %s: f32[4]) {\n"
         "  %t = loop(%n, _, %s) (%j: i64[], %on: bool[], %u: f32[4]) {\n   %v = mul(%u, %u)\n   yield %on, %v\n  }\n"
         "  yield %go, %t\n }\n out %y\n"},
    {.name = "a chain of large products",
     .runs = true,
     .chain = 900, /* each is proved once against ref, which takes long under sanitizers */
     .text = "in %x: f32[400,400]\n %c0 = matmul(%x, %x)\n%s"},
    {.name = "one large product", .runs = true, .text = "in %x: f32[3000,3000]\n %y = matmul(%x, %x)\n out %y\n"},
    {.name = "a product of many rows",
     .runs = true,
     .text = "in %x: f32[1000000,4]\n const %w: f32[4,128] = random 1\n %y = matmul(%x, %w)\n out %y\n"},
    {.name = "a kernel of 10^9",
     .text = "in %x: f32[1,8,8,8]\n %y = max_pool(%x) [kernel_shape=[1000000000,1],"
             "pads=[500000000,0,500000000,0]]\n %z = average_pool(%x) [kernel_shape=[30001,30001],"
             "pads=[15000,15000,15000,15000]]\n out %y\n out %z\n"},
    {.name = "einsum without a pairwise order", /* it packs 5e8 bytes of fresh memory */
     .runs = true,
     .text = "in %x: f32[250,250,250]\n %y = einsum(%x, %x, %x) [equation=\"ijk,jkl,kli->\"]\n out %y\n"},
    {.name = "a resize to 1.4e8",
     .text = "in %x: f32[1,1,8,8]\n const %s: i64[4] = [1,1,12000,12000]\n %y = resize(%x, _, _, %s) [mode=\"cubic\"]\n"
             " out %y\n"},
    {.name = "tile and exp of 1.5e8",
     .text = "in %x: f32[1000]\n const %r: i64[1] = [150000]\n %t = tile(%x, %r)\n %u = exp(%t)\n %y = sin(%u)\n"
             " out %y\n"},
    {.name = "a fill of 10^10",
     .text = "in %x: f32[1]\n const %r: i64[1] = [10000000000]\n %t = constant_of_shape(%r)\n %y = add(%t, %x)\n"
             " out %y\n"},
    {.name = "a range of 10^12",
     .text = "in %x: i64[1]\n const %a: i64[] = [0]\n const %b: i64[] = [1000000000000]\n const %d: i64[] = [1]\n"
             " %t = range(%a, %b, %d)\n %y = add(%t, %x)\n out %y\n"},
    {.name = "a constant of 10^12 operations",
     .runs = true,
     .text = "in %x: f32[1]\n const %w: f32[1000,1000] = random 1\n"
             " %t = einsum(%w, %w, %w, %w) [equation=\"ij,jk,kl,lm->im\"]\n %y = add(%t, %x)\n out %y\n"},
    {.name = "60,000 boxes that all stay",
     .runs = true,
     .text = "in %b: f32[1,60000,4]\n in %s: f32[1,64,60000]\n const %m: i64[1] = [60000]\n const %t: f32[1] = [1.0]\n"
             " const %l: f32[1] = [-1.0]\n %y = non_max_suppression(%b, %s, %m, %t, %l)\n out %y\n"},
    {.name = "a long recurrence",
     .runs = true,
     .text = "in %x: f32[1000000,1,4]\n const %w: f32[1,32,4] = random 1\n const %r: f32[1,32,8] = random 2\n"
             " %a, %y = lstm(%x, %w, %r) [hidden_size=8]\n out %y\n"},
    {.name = "a sum of 1e8",
     .text = "in %x: f32[1]\n const %r: i64[1] = [100000000]\n const %a: i64[] = [0]\n"
             " %t = expand(%x, %r)\n %y = cum_sum(%t, %a)\n out %y\n"},
    {.name = "a sampling grid of 10^10",
     .runs = true,
     .text = "in %x: f32[1,1,8,8]\n in %b: i64[1]\n const %r: f32[1,4] = [0.0, 0.0, 8.0, 8.0]\n"
             " %y = roi_align(%x, %r, %b) [sampling_ratio=100000,output_height=7,output_width=7]\n out %y\n"},
    {.name = "a slow transform",
     .text = "in %x: f32[1,1000003,1]\n const %a: i64[] = [1]\n"
             " %y = dft(%x, _, %a)\n out %y\n"},
    {.name = "100,000 nodes", .chain = 100000, .text = "in %x: f32[16]\n %c0 = sin(%x)\n%s"},
};

/* Waits, notes what the caller's thread has used by then, and sets the flag. */
typedef struct watch {
  pthread_t thread;
  clockid_t clock;
  atomic_bool flag;
  bool sets;
  double at_ms;
} watch;

static double clock_ms(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void *watch_main(void *arg) {
  watch *w = arg;
  const struct timespec time = {.tv_nsec = STOP_MS * 1000000};
  nanosleep(&time, NULL);
  w->at_ms = clock_ms(w->clock);
  if (w->sets) atomic_store(&w->flag, true);
  return NULL;
}

static void watch_begin(watch *w, bool sets) {
  atomic_init(&w->flag, false);
  w->sets = sets;
  assert_int_equal(pthread_getcpuclockid(pthread_self(), &w->clock), 0);
  assert_int_equal(pthread_create(&w->thread, NULL, watch_main, w), 0);
}

/* How long the caller worked after the moment. */
static double watch_end(watch *w) {
  const double now_ms = clock_ms(w->clock);
  pthread_join(w->thread, NULL);
  return now_ms - w->at_ms;
}

static char *text_of(const hostile *h) {
  static const char *const ops[] = {"sin", "tanh", "exp", "cos"};
  hn_text text;
  hn_text_init(&text, hn_allocator_default());
  hn_text_add(&text, "graph \"g\" opset 20 {\n ");
  const char *more = strstr(h->text, "%s");
  hn_text_printf(&text, "%.*s", (int)(h->chain ? more - h->text : (ptrdiff_t)strlen(h->text)), h->text);
  for (int i = 1; i < h->chain; ++i)
    if (h->chain < 1000)
      hn_text_printf(&text, " %%c%d = matmul(%%c%d, %%x)\n", i, i - 1);
    else
      hn_text_printf(&text, " %%c%d = %s(%%c%d)\n", i, ops[i % 4], i - 1);
  if (h->chain) hn_text_printf(&text, " out %%c%d\n", h->chain - 1);
  hn_text_add(&text, "}\n");
  char *copy = strdup(hn_text_string(&text));
  hn_text_deinit(&text);
  return copy;
}

static const char *message(const hone_context *context) {
  return hone_context_message_count(context) > 0 ? hone_context_message(context, 0, NULL) : "";
}

static void check_time(const hostile *h, const char *what, double late_ms) {
  if (late_ms > allowed_ms) fail_msg("%s, %s: worked on for %.0f ms", h->name, what, late_ms);
}

/* A call of the library ended: was it in time, and for the right reason? One that was nearly done may end well: no
 * graph here is, unless the machine is fast. */
static void check_call(const hostile *h, const char *what, hone_status status, hone_status wanted, double late_ms,
                       const hone_context *context) {
  check_time(h, what, late_ms);
  if (status != wanted && status != HONE_OK && status != HONE_NO_MEMORY)
    fail_msg("%s, %s: ended with %s: %s", h->name, what, hone_status_name(status), message(context));
}

static void build_one(const hostile *h, const char *text, bool by_flag) {
  watch w;
  hone_context_options options = {.struct_size = sizeof options};
  if (by_flag)
    options.cancel = &w.flag;
  else
    options.deadline_ms = STOP_MS;
  hone_context *context;
  hone_device *device;
  hone_graph *graph;
  hone_engine *engine = NULL;
  const hone_device_options device_options = {.struct_size = sizeof device_options, .threads = 2};
  const hone_status wanted = by_flag ? HONE_CANCELLED : HONE_LIMIT;
  assert_int_equal(hone_context_create(&options, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, "cpu", 0, &device_options, &device), HONE_OK);
  watch_begin(&w, by_flag);
  hone_status status = hone_graph_parse(context, text, strlen(text), &graph);
  double late_ms = watch_end(&w);
  check_call(h, "parse", status, wanted, late_ms, context);
  if (status == HONE_OK) {
    watch_begin(&w, by_flag); /* a deadline counts from here, not from the context's birth */
    status = hone_engine_build(context, graph, &device, 1, NULL, &engine);
    late_ms = watch_end(&w);
    check_call(h, by_flag ? "build, cancelled" : "build, deadline", status, wanted, late_ms, context);
  }
  hone_engine_release(engine);
  hone_graph_destroy(graph);
  hone_device_close(device);
  hone_context_destroy(context);
}

static void run_one(const hostile *h, hone_engine *engine, hone_diagnostics *diag, bool by_flag) {
  watch w;
  hone_session_options options = {.struct_size = sizeof options};
  if (by_flag)
    options.cancel = &w.flag;
  else
    options.deadline_ms = STOP_MS;
  hone_session *session;
  atomic_init(&w.flag, false);
  const hone_status made = hone_session_create(engine, &options, &session, diag);
  if (made == HONE_NO_MEMORY || (made == HONE_LIMIT && !by_flag)) return; /* it clears inputs, and looks meanwhile */
  assert_int_equal(made, HONE_OK);
  for (int turn = 0; turn < 2; ++turn) { /* a session that was stopped runs again */
    watch_begin(&w, by_flag);
    const hone_status status = hone_session_run(session);
    const double late_ms = watch_end(&w);
    check_time(h, by_flag ? "run, cancelled" : "run, deadline", late_ms);
    if (status == HONE_OK) continue;
    if (status != (by_flag ? HONE_CANCELLED : HONE_LIMIT))
      fail_msg("%s: the run ended with %s: %s", h->name, hone_status_name(status),
               hone_session_message_count(session) ? hone_session_message(session, 0, NULL) : "");
    assert_true(hone_session_message_count(session) > 0);
  }
  hone_session_destroy(session);
}

static bool discard(void *user, const char *text, size_t length) {
  (void)user, (void)text, (void)length;
  return true;
}

static void verify_one(const hostile *h, hone_engine *engine, hone_diagnostics *diag, bool by_flag) {
  watch w;
  bool within;
  hone_verify_options options = {.struct_size = sizeof options, .full = true};
  if (by_flag)
    options.cancel = &w.flag;
  else
    options.deadline_ms = STOP_MS;
  watch_begin(&w, by_flag);
  const hone_status status = hone_verify(engine, &options, discard, NULL, &within, diag);
  const double late_ms = watch_end(&w);
  check_time(h, by_flag ? "verify, cancelled" : "verify, deadline", late_ms);
  if (status == HONE_NO_MEMORY || status == HONE_OK) return;
  if (status != (by_flag ? HONE_CANCELLED : HONE_LIMIT))
    fail_msg("%s: verifying ended with %s", h->name, hone_status_name(status));
}

static void run_there(const hostile *h, const char *text, const char *kind, bool by_flag) {
  hone_context *context;
  hone_device *device;
  hone_graph *graph;
  hone_engine *engine;
  const hone_device_options device_options = {.struct_size = sizeof device_options, .threads = 2};
  const hone_build_options build = {.struct_size = sizeof build, .level = -1};
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, kind, 0, &device_options, &device), HONE_OK);
  assert_int_equal(hone_graph_parse(context, text, strlen(text), &graph), HONE_OK);
  const hone_status built = hone_engine_build(context, graph, &device, 1, &build, &engine);
  if (built != HONE_OK) fail_msg("%s: %s", h->name, message(context));
  run_one(h, engine, hone_context_diagnostics(context), by_flag);
  verify_one(h, engine, hone_context_diagnostics(context), by_flag);
  hone_engine_release(engine);
  hone_graph_destroy(graph);
  hone_device_close(device);
  hone_context_destroy(context);
}

static void test_build(void **state) {
  (void)state;
  for (size_t i = 0; i < HN_COUNT(graphs); i += EACH) {
    char *text = text_of(&graphs[i]);
    build_one(&graphs[i], text, i % 2);
    free(text);
  }
}

static void run_all(const char *kind, size_t first_way) {
  for (size_t i = 0; i < HN_COUNT(graphs); i += EACH) {
    if (!graphs[i].runs) continue;
    char *text = text_of(&graphs[i]);
    run_there(&graphs[i], text, kind, (i + first_way) % 2);
    free(text);
  }
}

static void test_run(void **state) {
  (void)state;
  run_all("cpu", 0);
}

static void test_run_on_the_reference(void **state) {
  (void)state;
  run_all("ref", 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_build),
      cmocka_unit_test(test_run),
      cmocka_unit_test(test_run_on_the_reference),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
