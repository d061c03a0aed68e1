/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_plugin.c - a plug-in's own CUDA kernel (examples/plugins/gpu_swish.c): against the truth at several shapes
 * of one engine, replayed and launched one by one, in several streams at once, saved and loaded elsewhere, and beside
 * the kernel that is made of the operator's expression. */
#include "support/gpu_case.h"
#include <pthread.h>
#include <unistd.h>

enum { COLUMNS = 16, MOST_ROWS = 32, STREAMS = 4, RUNS = 50 };

static gpu_bed bed;
static const char file[] = "gpu_swish.hone";
static const char own[] = "swish=example.gpu_swish.f32";

static hone_context *new_context(hone_device **out_gpu) {
  const char *folder = getenv("HONE_BUILD_DIR");
  char path[4096];
  hone_context *context;
  (void)snprintf(path, sizeof path, "%s/examples/libgpu_swish.so", folder ? folder : "build/release");
  assert_int_equal(gpu_context(&context), HONE_OK);
  if (hone_plugin_load(context, path) != HONE_OK || hone_device_open(context, "gpu", 0, NULL, out_gpu) != HONE_OK)
    fail_msg("%s", hone_context_message(context, 0, NULL));
  return context;
}

/* Of any number of rows up to MOST_ROWS. tactic: the only one allowed; NULL: any. */
static hone_engine *build(hone_context *context, hone_device *gpu, const char *tactic) {
  static const hone_profile_shape rows = {
      .input = "x", .min = {2, {1, COLUMNS}}, .opt = {2, {8, COLUMNS}}, .max = {2, {MOST_ROWS, COLUMNS}}};
  static const char *const names[2] = {"rows", NULL};
  static const int64_t dims[2] = {-1, COLUMNS};
  hone_graph *graph;
  hone_value *x, *y;
  hone_engine *engine;
  const hone_build_options options = {.struct_size = sizeof options,
                                      .level = 1,
                                      .shapes = &rows,
                                      .shape_count = 1,
                                      .tactics = &tactic,
                                      .tactic_count = tactic != NULL};
  assert_int_equal(hone_graph_create(context, "swish", &graph), HONE_OK);
  assert_int_equal(hone_graph_add_input(graph, "x", HONE_F32, 2, dims, names, &x), HONE_OK);
  assert_int_equal(hone_graph_add_node(graph, "gpu_swish", "swish", &x, 1, NULL, 0, &y, 1), HONE_OK);
  assert_int_equal(hone_graph_add_output(graph, "y", y), HONE_OK);
  if (hone_engine_build(context, graph, &gpu, 1, &options, &engine) != HONE_OK)
    fail_msg("%s", hone_context_message(context, 0, NULL));
  hone_graph_destroy(graph);
  return engine;
}

static bool run_rows(hone_session *session, int rows) {
  const int64_t dims[2] = {rows, COLUMNS};
  hone_tensor x, y;
  bool right =
      hone_session_set_shape(session, "x", 2, dims) == HONE_OK && hone_session_tensor(session, "x", &x) == HONE_OK;
  for (int64_t i = 0; right && i < hone_tensor_count(&x); ++i) ((float *)x.data)[i] = (float)(i % 97 - 48) / 4;
  right = right && hone_session_run(session) == HONE_OK && hone_session_tensor(session, "y", &y) == HONE_OK;
  for (int64_t i = 0; right && i < hone_tensor_count(&y); ++i) {
    const double v = (double)(i % 97 - 48) / 4, want = v / (1 + exp(-v));
    right = fabs((double)((const float *)y.data)[i] - want) <= 1e-6 * (1 + fabs(want));
  }
  return right;
}

static void *run_stream(void *argument) {
  static const int rows[3] = {1, 8, MOST_ROWS};
  bool right = true;
  for (int run = 0; run < RUNS; ++run) right = run_rows(argument, rows[run % 3]) && right;
  return right ? argument : NULL;
}

static void try_streams(hone_context *context, hone_engine *engine, int streams) {
  hone_session *sessions[STREAMS];
  pthread_t threads[STREAMS];
  for (int i = 0; i < streams; ++i) { /* half of them without replays */
    const hone_session_options options = {.struct_size = sizeof options, .no_replay = i % 2 == 1};
    assert_int_equal(hone_session_create(engine, &options, &sessions[i], hone_context_diagnostics(context)), HONE_OK);
  }
  for (int i = 0; i < streams; ++i) assert_int_equal(pthread_create(&threads[i], NULL, run_stream, sessions[i]), 0);
  for (int i = 0; i < streams; ++i) {
    void *right;
    pthread_join(threads[i], &right);
    assert_non_null(right);
    hone_session_stats stats = HONE_SIZED(hone_session_stats);
    hone_session_get_stats(sessions[i], &stats);
    assert_true((stats.replays > 0) == (i % 2 == 0));
    hone_session_destroy(sessions[i]);
  }
}

static void try_engine(hone_context *context, hone_engine *engine) {
  for (int streams = 1; streams <= STREAMS; streams *= 2) try_streams(context, engine, streams);
}

static void test_swish(void **state) {
  (void)state;
  hone_device *gpu, *other;
  hone_context *context = new_context(&gpu), *elsewhere = new_context(&other);
  hone_engine *engine = build(context, gpu, own), *made = build(context, gpu, "swish=cuda.*"), *free_choice, *loaded;
  try_engine(context, engine);
  try_engine(context, made);
  free_choice = build(context, gpu, NULL);
  try_engine(context, free_choice);
  assert_int_equal(hone_engine_save(engine, file, hone_context_diagnostics(context)), HONE_OK);
  assert_int_equal(hone_engine_load(elsewhere, file, &other, 1, &loaded), HONE_OK);
  try_engine(elsewhere, loaded);
  hone_engine *const engines[] = {engine, made, free_choice, loaded};
  for (size_t i = 0; i < sizeof engines / sizeof *engines; ++i) hone_engine_release(engines[i]);
  unlink(file);
  unlink("gpu_swish.hone.ledger");
  hone_device_close(gpu);
  hone_device_close(other);
  hone_context_destroy(context);
  hone_context_destroy(elsewhere);
}

static int run_all(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_swish)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return gpu_bed_run(&bed, run_all); }
