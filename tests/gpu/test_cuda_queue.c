/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_queue.c - what a GPU's queue does and tells: times of the replayed run by CUPTI that add up and agree with
 * an untraced run, copies and computing, sessions side by side, calls and events behind a run. */
#include "base/memory.h"
#include "plan/trace.h"
#include "run/session.h"
#include "support/gpu_case.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

enum { LAYERS = 24, RUNS = 60, STREAMS = 4, BURST = 6 };

static gpu_bed bed;

/* A chain of products, each of some microseconds; the softmax at its end is of another kernel. */
static hone_engine *chain(int rows) {
  char shape[32];
  hone_graph *graph;
  hone_value *x;
  hone_engine *engine;
  const int64_t dims[2] = {rows, 512};
  bed.seed = 5;
  gpu_check(&bed, hone_graph_create(bed.context, "chain", &graph));
  gpu_check(&bed, hone_graph_add_input(graph, "x", HONE_F32, 2, dims, NULL, &x));
  (void)snprintf(shape, sizeof shape, "512x512");
  for (int i = 0; i < LAYERS; ++i) {
    const hone_type type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = gpu_shape(shape)};
    hone_tensor weights;
    hone_value *in[2] = {x, NULL};
    gpu_check(&bed, hone_tensor_alloc(bed.context, &type, &weights));
    for (int64_t k = 0; k < hone_tensor_count(&weights); ++k)
      hone_tensor_set_real(&weights, k, (double)gpu_number(&bed) * 0.08);
    gpu_check(&bed, hone_graph_add_constant(graph, NULL, &weights, &in[1]));
    hone_tensor_free(bed.context, &weights);
    gpu_check(&bed, hone_graph_add_node(graph, "matmul", NULL, in, 2, NULL, 0, &x, 1));
  }
  gpu_check(&bed, hone_graph_add_node(graph, "softmax", NULL, &x, 1, NULL, 0, &x, 1));
  gpu_check(&bed, hone_graph_add_output(graph, "y", x));
  const hone_build_options options = {.struct_size = sizeof options, .level = 0};
  gpu_check(&bed, hone_engine_build(bed.context, graph, &bed.gpu, 1, &options, &engine));
  hone_graph_destroy(graph);
  return engine;
}

static hone_session *open_session(hone_engine *engine, const hone_session_options *options) {
  hone_session *session;
  hone_tensor x;
  gpu_check(&bed, hone_session_create(engine, options, &session, hone_context_diagnostics(bed.context)));
  gpu_check_session(session, hone_session_tensor(session, "x", &x));
  bed.seed = 9;
  gpu_fill(&bed, &x);
  return session;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Copies, computing, copies by marks: the median of each, untraced, while the queue never waits for the host. */
static void plain_parts(hone_session *session, double *out_ns) {
  static double times[3][RUNS];
  hone_run_part parts[HONE_MOST_PARTS];
  int count;
  for (int run = 0; run < RUNS; ++run) {
    for (int i = 0; i < BURST; ++i) gpu_check_session(session, hone_session_enqueue(session));
    gpu_check_session(session, hone_session_wait(session));
    gpu_check_session(session, hone_session_parts(session, parts, &count));
    assert_int_equal(count, 3);
    for (int i = 0; i < 3; ++i) {
      assert_int_equal(parts[i].kind, i);
      assert_true(parts[i].end_ns > parts[i].begin_ns && (i == 0 || fabs(parts[i].begin_ns - parts[i - 1].end_ns) < 1));
      times[i][run] = parts[i].end_ns - parts[i].begin_ns;
    }
  }
  for (int i = 0; i < 3; ++i) {
    qsort(times[i], RUNS, sizeof times[i][0], compare);
    out_ns[i] = times[i][RUNS / 2];
  }
}

/* Steps add up to the queue, the queue to the run, and the run to what it takes when nobody looks. */
static void test_times(void **state) {
  (void)state;
  hone_engine *engine = chain(256);
  const hone_session_options options = {.struct_size = sizeof options, .parts = true};
  hone_session *session = open_session(engine, &options);
  double before_ns[3], after_ns[3];
  plain_parts(session, before_ns);
  hone_session_set_profile(session, true);
  for (int run = 0; run < RUNS; ++run) gpu_check_session(session, hone_session_run(session));
  hn_arena arena;
  hn_trace trace;
  hn_arena_init(&arena, hn_allocator_default());
  gpu_check(&bed, hn_session_trace(session, 0, &arena, &trace, hone_context_diagnostics(bed.context)));
  if (trace.untraced) {
    print_message("left out: %s\n", trace.untraced);
  } else {
    const hn_trace_queue *q = &trace.queue;
    double sum_ns = 0, busy_ns = 0;
    int kernels = 0;
    for (int s = 0; s < trace.step_count; ++s) {
      if (trace.steps[s].pieces == 0) continue;
      sum_ns += trace.steps[s].total_ns / (double)trace.steps[s].runs;
      busy_ns += trace.steps[s].busy_ns;
      kernels += trace.steps[s].kernel != NULL;
    }
    assert_int_equal(q->unknown, 0);
    assert_true(kernels >= LAYERS);
    assert_true(fabs(busy_ns - q->work_ns) < 1 && fabs(sum_ns - (q->work_ns - q->beside_ns)) < 1);
    assert_true(fabs(q->work_ns - q->beside_ns + q->gap_ns - q->span_ns) < 1);
    hone_session_set_profile(session, false);
    plain_parts(session, after_ns);
    const double plain_ns = before_ns[0] + before_ns[1] + before_ns[2];
    print_message("%d kernels: %.1f us traced, %.1f by marks untraced, %.1f once more\n", kernels, q->span_ns * 1e-3,
                  plain_ns * 1e-3, (after_ns[0] + after_ns[1] + after_ns[2]) * 1e-3);
    /* Marks are passed between copies and replay, which takes a microsecond or two each. */
    assert_true(fabs(plain_ns - q->span_ns) < 0.05 * q->span_ns + 6e3);
    assert_true(fabs(after_ns[1] - before_ns[1]) < 0.1 * before_ns[1] + 2e3); /* it is as fast as before */
  }
  hn_arena_deinit(&arena);
  hone_session_destroy(session);
  hone_engine_release(engine);
}

/* ---- side by side ---- */

typedef struct stream {
  pthread_t thread;
  hone_engine *engine;
  hone_session *session;
  const float *want;
  int wrong;
} stream;

static void *run_stream(void *argument) {
  stream *s = argument;
  for (int run = 0; run < RUNS; ++run) {
    hone_tensor y;
    if (hone_session_run(s->session) != HONE_OK || hone_session_tensor(s->session, "y", &y) != HONE_OK ||
        memcmp(y.data, s->want, y.bytes) != 0)
      ++s->wrong;
  }
  return NULL;
}

/* Sessions in threads, and sessions that one thread enqueues: the bits of one alone. */
static void test_streams(void **state) {
  (void)state;
  hone_engine *engine = chain(32);
  hone_session *alone = open_session(engine, NULL);
  hone_tensor want, y;
  stream streams[STREAMS];
  gpu_check_session(alone, hone_session_run(alone));
  gpu_check_session(alone, hone_session_tensor(alone, "y", &want));
  for (int i = 0; i < STREAMS; ++i)
    streams[i] = (stream){.engine = engine, .session = open_session(engine, NULL), .want = want.data};
  for (int i = 0; i < STREAMS; ++i)
    assert_int_equal(pthread_create(&streams[i].thread, NULL, run_stream, &streams[i]), 0);
  for (int i = 0; i < STREAMS; ++i) {
    pthread_join(streams[i].thread, NULL);
    assert_int_equal(streams[i].wrong, 0);
  }
  for (int run = 0; run < RUNS; ++run) {
    for (int i = 0; i < STREAMS; ++i) gpu_check_session(streams[i].session, hone_session_enqueue(streams[i].session));
    for (int i = 0; i < STREAMS; ++i) gpu_check_session(streams[i].session, hone_session_wait(streams[i].session));
  }
  for (int i = 0; i < STREAMS; ++i) {
    gpu_check_session(streams[i].session, hone_session_tensor(streams[i].session, "y", &y));
    assert_memory_equal(y.data, want.data, y.bytes);
    hone_session_destroy(streams[i].session);
  }
  hone_session_destroy(alone);
  hone_engine_release(engine);
}

/* ---- calls and events ---- */

typedef struct driver {
  int (*make)(void **event, unsigned flags);
  int (*drop)(void *event);
  int (*query)(void *event);
} driver;

static bool open_driver(driver *d) {
  static const char *const names[] = {"cuEventCreate", "cuEventDestroy_v2", "cuEventQuery"};
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  for (size_t i = 0; library && i < sizeof names / sizeof *names; ++i) {
    void *symbol = dlsym(library, names[i]);
    if (!symbol) return false;
    memcpy((char *)d + i * sizeof symbol, &symbol, sizeof symbol);
  }
  return library != NULL;
}

static void count(void *user) { atomic_fetch_add((atomic_int *)user, 1); }

static void test_done(void **state) {
  (void)state;
  hone_engine *engine = chain(256);
  hone_session *first = open_session(engine, NULL), *second = open_session(engine, NULL);
  atomic_int calls;
  driver d;
  void *event = NULL;
  atomic_init(&calls, 0);
  assert_true(open_driver(&d));
  assert_int_equal(d.make(&event, 0), 0);
  for (int run = 1; run <= RUNS; ++run) { /* the second runs behind the first */
    gpu_check_session(first, hone_session_enqueue(first));
    gpu_check_session(first, hone_session_record_event(first, event));
    gpu_check_session(second, hone_session_wait_event(second, event));
    gpu_check_session(second, hone_session_enqueue(second));
    gpu_check_session(second, hone_session_on_done(second, count, &calls));
    gpu_check_session(second, hone_session_wait(second));
    assert_int_equal(atomic_load(&calls), run);
    assert_int_equal(d.query(event), 0); /* the first is done, too, though nobody waited for it */
    gpu_check_session(first, hone_session_wait(first));
  }
  assert_int_equal(d.drop(event), 0);
  hone_session_destroy(first);
  hone_session_destroy(second);
  hone_engine_release(engine);
}

static int run_all(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_times), cmocka_unit_test(test_streams),
                                     cmocka_unit_test(test_done)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return gpu_bed_run(&bed, run_all); }
