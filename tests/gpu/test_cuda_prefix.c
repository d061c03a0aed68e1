/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_prefix.c - the layers' times of a replayed graph, told by CUPTI, against graphs of the first 1, 2, ..., n
 * of its steps, which nothing looks into: what a layer adds to the graph in front of it is its time.
 *
 * With arguments it is a tool: each is an engine whose inputs and outputs lie on the GPU, and its table is printed. */
#include "base/memory.h"
#include "plan/trace.h"
#include "run/session.h"
#include "support/gpu_case.h"

enum { LAYERS = 16, EDGE = 1024, TRACED_RUNS = 40, ROUNDS = 7, REPLAYS = 24 };

static gpu_bed bed;
static const int64_t SIZES[4] = {EDGE, EDGE / 2, EDGE / 4, EDGE};
static int given_count; /* engines on the command line */
static char **given;

/* Weights of the k-th of the three sizes. */
static hone_value *weights_of(hone_graph *graph, int k) {
  hone_tensor weights;
  hone_value *out;
  const hone_type type = {
      .kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {.rank = 2, .dim = {SIZES[k], SIZES[k + 1]}}};
  gpu_check(&bed, hone_tensor_alloc(bed.context, &type, &weights));
  for (int64_t i = 0; i < hone_tensor_count(&weights); ++i)
    hone_tensor_set_real(&weights, i, (double)gpu_number(&bed) * 0.05);
  gpu_check(&bed, hone_graph_add_constant(graph, NULL, &weights, &out));
  hone_tensor_free(bed.context, &weights);
  return out;
}

/* Products of different sizes, so that a layer which got its neighbour's time is told. Those of a size have one matrix:
 * with a matrix each a prefix would keep more of them in the second cache than the whole graph does. */
static hone_engine *chain(void) {
  static const int64_t dims[2] = {512, EDGE};
  hone_graph *graph;
  hone_value *x, *weights[3];
  hone_engine *engine;
  bed.seed = 3;
  gpu_check(&bed, hone_graph_create(bed.context, "prefixes", &graph));
  gpu_check(&bed, hone_graph_add_input(graph, "x", HONE_F32, 2, dims, NULL, &x));
  for (int k = 0; k < 3; ++k) weights[k] = weights_of(graph, k);
  for (int i = 0; i < LAYERS; ++i) {
    hone_value *in[2] = {x, weights[i % 3]};
    gpu_check(&bed, hone_graph_add_node(graph, "matmul", NULL, in, 2, NULL, 0, &x, 1));
  }
  gpu_check(&bed, hone_graph_add_output(graph, "y", x));
  const hone_port_format on_device = {.on_device = true};
  const hone_build_options options = {
      .struct_size = sizeof options, .level = 0, .port_formats = &on_device, .port_format_count = 1};
  gpu_check(&bed, hone_engine_build(bed.context, graph, &bed.gpu, 1, &options, &engine));
  hone_graph_destroy(graph);
  return engine;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The steps from first on, through last, recorded alone. */
static hone_replay *record_prefix(hone_session *session, int first, int last) {
  const hn_plan *plan = session->current->plan;
  const int d = plan->steps[first].device;
  hone_device *device = session->engine->devices[d];
  hone_stream *stream = session->streams[d];
  hone_replay *replay;
  gpu_check(&bed, hn_stream_record(device, stream));
  for (int s = first; s <= last; ++s)
    if (plan->steps[s].kind == HN_STEP_CALL)
      gpu_check(&bed,
                hn_launch(device, &session->current->steps[s].prepared, stream, &session->current->steps[s].launch));
  gpu_check(&bed, hn_stream_keep(device, stream, &replay, hone_context_diagnostics(bed.context)));
  return replay;
}

/* One replay behind another: the time of one, while the queue is never empty. */
static double time_replay(hone_device *device, hone_stream *stream, const hone_replay *replay) {
  double elapsed_ns;
  gpu_check(&bed, hn_stream_replay(device, stream, replay));
  gpu_check(&bed, hn_stream_mark(device, stream, 0));
  for (int i = 0; i < REPLAYS; ++i) gpu_check(&bed, hn_stream_replay(device, stream, replay));
  gpu_check(&bed, hn_stream_mark(device, stream, 1));
  gpu_check(&bed, hn_stream_wait(device, stream, hone_context_diagnostics(bed.context)));
  gpu_check(&bed, hn_stream_between(device, stream, 0, 1, &elapsed_ns));
  return elapsed_ns / REPLAYS;
}

/* What a step adds to those in front of it (shorter; NULL: none are), in turns, so that a drift of the clock is no
 * layer's; and all of them. */
static double time_step(hone_device *device, hone_stream *stream, const hone_replay *shorter, const hone_replay *longer,
                        double *out_whole_ns) {
  double added[ROUNDS], whole[ROUNDS];
  for (int round = 0; round < ROUNDS; ++round) {
    const double before_ns = shorter ? time_replay(device, stream, shorter) : 0;
    whole[round] = time_replay(device, stream, longer);
    added[round] = whole[round] - before_ns;
  }
  qsort(added, ROUNDS, sizeof added[0], compare);
  qsort(whole, ROUNDS, sizeof whole[0], compare);
  *out_whole_ns = whole[ROUNDS / 2];
  return added[ROUNDS / 2];
}

/* The run of steps that the session replays as one; false: there is none, or more than one. */
static bool find_replay(const hone_session *session, int *out_first, int *out_last) {
  const hn_instance *instance = session->current;
  int found = 0;
  for (int s = 0; s < instance->plan->blocks[0].step_count; ++s) {
    if (!instance->steps[s].replay) continue;
    *out_first = s;
    *out_last = instance->steps[s].replay_end - 1;
    ++found;
  }
  return found == 1;
}

typedef struct sums {
  int layers, near;                                 /* layers that both ways tell alike */
  double traced_ns, gap_ns, whole_ns, shares_apart; /* shares_apart: sum of |differences| over the whole */
} sums;

/* Alike: within a fifth, or a microsecond, which is what two prefixes' medians differ by. Not all are: a prefix ends
 * where the next one's first kernel begins, and a kernel's caches are those that its own prefix left. */
static sums compare_times(hone_engine *engine, bool print) {
  hone_session *session;
  hn_arena arena;
  hn_trace trace;
  sums all = {0};
  int first = 0, last = 0;
  gpu_check(&bed, hone_session_create(engine, NULL, &session, hone_context_diagnostics(bed.context)));
  for (int run = 0; run < TRACED_RUNS; ++run) gpu_check_session(session, hone_session_run(session));
  assert_true(find_replay(session, &first, &last));
  double prefixes_ns[4096];
  assert_true(last - first < 4096);
  const int d = session->current->plan->steps[first].device;
  hone_device *device = session->engine->devices[d];
  hone_replay *shorter = NULL;
  for (int s = first; s <= last; ++s) {
    if (session->current->plan->steps[s].kind != HN_STEP_CALL) continue;
    hone_replay *longer = record_prefix(session, first, s);
    prefixes_ns[s - first] = time_step(device, session->streams[d], shorter, longer, &all.whole_ns);
    hn_replay_forget(device, shorter);
    shorter = longer;
  }
  hn_replay_forget(device, shorter);
  hone_session_set_profile(session, true);
  for (int run = 0; run < TRACED_RUNS; ++run) gpu_check_session(session, hone_session_run(session));
  hn_arena_init(&arena, hn_allocator_default());
  gpu_check(&bed, hn_session_trace(session, 0, &arena, &trace, hone_context_diagnostics(bed.context)));
  if (trace.untraced) print_message("layers are told by marks: %s\n", trace.untraced);
  if (print) printf("%-40s %10s %10s %10s\n", "layer", "prefix us", "traced us", "gap us");
  for (int s = first; s <= last; ++s) {
    const hn_trace_step *step = &trace.steps[s];
    if (session->current->plan->steps[s].kind != HN_STEP_CALL || step->runs == 0) continue;
    const double traced_ns = step->total_ns / (double)step->runs, gap_ns = step->gap_ns;
    const double apart_ns = fabs(prefixes_ns[s - first] - traced_ns - gap_ns);
    ++all.layers;
    all.near += apart_ns <= 0.2 * traced_ns || apart_ns <= 1e3;
    all.traced_ns += traced_ns;
    all.gap_ns += gap_ns;
    all.shares_apart += apart_ns / all.whole_ns;
    if (print)
      printf("%-40.40s %10.2f %10.2f %10.2f\n", session->current->plan->steps[s].name, prefixes_ns[s - first] * 1e-3,
             traced_ns * 1e-3, gap_ns * 1e-3);
  }
  hn_arena_deinit(&arena);
  hone_session_destroy(session);
  return all;
}

static void test_chain(void **state) {
  (void)state;
  hone_engine *engine = chain();
  const sums all = compare_times(engine, true);
  const double sum_ns = all.traced_ns + all.gap_ns;
  print_message("%d layers: %.1f us + gaps %.1f, the whole graph %.1f; %d alike, apart in sum %.1f %%\n", all.layers,
                all.traced_ns * 1e-3, all.gap_ns * 1e-3, all.whole_ns * 1e-3, all.near, 100 * all.shares_apart);
  assert_true(all.layers >= LAYERS);
  assert_true(fabs(sum_ns - all.whole_ns) < 0.05 * all.whole_ns + 2e3);
  assert_true(all.near >= all.layers * 9 / 10);
  hone_engine_release(engine);
}

static void test_engines(void **state) {
  (void)state;
  for (int i = 0; i < given_count; ++i) {
    hone_engine *engine;
    gpu_check(&bed, hone_engine_load(bed.context, given[i], &bed.gpu, 1, &engine));
    const sums all = compare_times(engine, true);
    const double sum_ns = all.traced_ns + all.gap_ns;
    printf("%s: %d layers %.2f us + gaps %.2f = %.2f; the whole graph %.2f, %+.1f %%; %d alike, apart in sum %.1f %%\n",
           given[i], all.layers, all.traced_ns * 1e-3, all.gap_ns * 1e-3, sum_ns * 1e-3, all.whole_ns * 1e-3,
           100 * (sum_ns / all.whole_ns - 1), all.near, 100 * all.shares_apart);
    hone_engine_release(engine);
  }
}

static int run_all(void) {
  const struct CMUnitTest own[] = {cmocka_unit_test(test_chain)}, engines[] = {cmocka_unit_test(test_engines)};
  return given_count > 0 ? cmocka_run_group_tests(engines, NULL, NULL) : cmocka_run_group_tests(own, NULL, NULL);
}

int main(int count, char **arguments) {
  given_count = count - 1;
  given = arguments + 1;
  return gpu_bed_run(&bed, run_all);
}
