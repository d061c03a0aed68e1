/* SPDX-License-Identifier: Apache-2.0 */
/* test_arguments.c - every public function with wrong arguments (the rows of arguments*.inc), and options of older
 * programs. */
#include "support/saved_engine.h"
#include "support/small_net.h"
#include <hone/hone.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Woverride-init"   /* rows set struct_size anew */
#pragma GCC diagnostic ignored "-Wformat-security" /* and give no format */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#endif

/* What rows are made with. */
static hone_context *context;
static hone_diagnostics *diag;
static hone_device *device, *no_device;
static hone_graph *graph, *scratch; /* scratch: rows may add to it */
static hone_value *value, *scratch_value, *no_value;
static hone_engine *engine, *carrier;
static hone_session *session, *profiled;
static hone_pool *pool;
static hone_batcher *batcher;
static hone_queue *queue;
static hone_request *request;
static hone_advice *advice;                           /* of the profiled session */
static const hone_session *some_session, *no_session; /* profiled, for lists */
static hone_model *model;
static hone_recipe *recipe;
static const uint8_t pixels[2 * 2 * 3];
static uint8_t resized[3];
static const bool all_nodes[64];
static char model_path[] = "/tmp/hone_arguments_model_XXXXXX";
static char engine_path[] = "/tmp/hone_arguments_XXXXXX", page_path[] = "/tmp/hone_arguments_page_XXXXXX";
static const char *no_text, *some_text = "no such value", *no_choice = "neither node nor tactic", *a_chip = "A100";
static const int negative = -1;
static const int64_t dims[4] = {1, 3, 16, 16}, dims_below_zero[4] = {1, 3, -16, 16}, free_dim = -1, below_free = -2;
static float elements[3 * 16 * 16];
#define TENSOR(kind_, dtype_, format_, rank_, dim_, bytes_)                                                            \
  { .type = {(kind_), (dtype_), (format_), {(rank_), {1, 3, (dim_), 16}}}, .data = elements, .bytes = (bytes_) }
static hone_tensor tensor = TENSOR(HONE_TENSOR, HONE_F32, HONE_PLAIN, 4, 16, sizeof elements);
static const hone_tensor without_data = {.type = {HONE_TENSOR, HONE_F32, HONE_PLAIN, {1, {3}}}, .bytes = 12};
static const hone_tensor wrong_tensors[] = {
    TENSOR(HONE_ABSENT, HONE_F32, HONE_PLAIN, 4, 16, sizeof elements),
    TENSOR((hone_kind)9, HONE_F32, HONE_PLAIN, 4, 16, sizeof elements),
    TENSOR(HONE_TENSOR, HONE_NONE, HONE_PLAIN, 4, 16, sizeof elements),
    TENSOR(HONE_TENSOR, HONE_DTYPE_COUNT, HONE_PLAIN, 4, 16, sizeof elements),
    TENSOR(HONE_TENSOR, (hone_dtype)-1, HONE_PLAIN, 4, 16, sizeof elements),
    TENSOR(HONE_TENSOR, HONE_F32, HONE_FORMAT_COUNT, 4, 16, sizeof elements),
    TENSOR(HONE_TENSOR, HONE_F32, (hone_format)-1, 4, 16, sizeof elements),
    TENSOR(HONE_TENSOR, HONE_F32, HONE_PLAIN, -1, 16, sizeof elements),
    TENSOR(HONE_TENSOR, HONE_F32, HONE_PLAIN, HONE_MAX_RANK + 1, 16, sizeof elements),
    TENSOR(HONE_TENSOR, HONE_F32, HONE_PLAIN, 4, -1, sizeof elements),
    TENSOR(HONE_TENSOR, HONE_F32, HONE_PLAIN, 4, INT64_MAX, sizeof elements),
    TENSOR(HONE_TENSOR, HONE_F32, HONE_PLAIN, 4, 16, sizeof elements - 1),
};
#define SHAPE(...)                                                                                                     \
  {                                                                                                                    \
    4, { __VA_ARGS__ }                                                                                                 \
  }
#define FIT SHAPE(1, 3, 16, 16)
static const double times[6];
static const hone_advice_step advice_step = {.struct_size = sizeof advice_step, .name = "step"};
static const hone_expectation expectation = {.struct_size = sizeof expectation};
static float some_number;
static const hone_op_definition definition = {.struct_size = sizeof definition, .name = "defined", .expression = "x"};
static const hone_named_tensor input_without_data = {.name = "x"}, input_without_name = {.tensor.data = &some_number};
static const hone_layer_type layer_without_name = {.compute = HONE_F32},
                             layer_of_bytes = {"n", HONE_I8, HONE_NONE, false},
                             no_such_layer = {"no such", HONE_F32, HONE_NONE, false};
static const hone_port_format port_of_bytes = {"x", true, HONE_I8, HONE_PLAIN},
                              port_in_blocks = {"x", true, HONE_NONE, HONE_NCHW16C},
                              port_of_halves_on_host = {"x", false, HONE_F16, HONE_PLAIN};
static const hone_profile_shape shape_without_input = {NULL, FIT, FIT, FIT, 0},
                                shape_of_rank_nine = {"x", {9, {1}}, {9, {1}}, {9, {1}}, 0},
                                shape_below_zero = {"x", SHAPE(-1, 3, 16, 16), FIT, FIT, 0},
                                shape_of_no_profile = {"x", FIT, FIT, FIT, -1};

/* What rows make, dropped after each. */
static struct {
  hone_context *context;
  hone_device *device;
  hone_graph *graph;
  hone_model *model;
  hone_recipe *recipe;
  hone_engine *engine;
  hone_session *session;
  hone_value *value, *values[2];
  hone_tensor tensor;
  hone_status status;
  hone_facts facts;
  hone_port_info port;
  hone_type type;
  hone_session_stats stats;
  hone_run_part part;
  int count;
  hone_engine_summary summary;
  hone_weight_info weight;
  const void *bytes;
  size_t size;
  hone_step_profile step;
  hone_comparison comparison;
  hone_advice *advice;
  hone_advice_info advice_info;
  hone_times_difference difference;
  hone_expectation expectation;
  hone_pool *pool;
  hone_pool_stats pool_stats;
  hone_batcher *batcher;
  hone_batches batches;
  hone_queue *queue;
  hone_queue_stats queue_stats;
  hone_request *request;
  hone_request_times request_times;
  hone_session *taken; /* stays the pool's */
  bool within;
  char text[8];
} made;

/* Everything zero, and structs that are filled in ready for it. */
static void empty_made(void) {
  memset(&made, 0, sizeof made);
  made.facts.struct_size = sizeof made.facts;
  made.port.struct_size = sizeof made.port;
  made.stats.struct_size = sizeof made.stats;
  made.summary.struct_size = sizeof made.summary;
  made.weight.struct_size = sizeof made.weight;
  made.step.struct_size = sizeof made.step;
  made.comparison.struct_size = sizeof made.comparison;
  made.advice_info.struct_size = sizeof made.advice_info;
  made.expectation.struct_size = sizeof made.expectation;
  made.difference.struct_size = sizeof made.difference;
  made.pool_stats.struct_size = sizeof made.pool_stats;
  made.batches.struct_size = sizeof made.batches;
  made.queue_stats.struct_size = sizeof made.queue_stats;
  made.request_times.struct_size = sizeof made.request_times;
}

static void drop_made(void) {
  hone_pool_destroy(made.pool);
  hone_request_destroy(made.request);
  hone_queue_close(made.queue);
  hone_batcher_destroy(made.batcher);
  hone_advice_destroy(made.advice);
  hone_session_destroy(made.session);
  hone_engine_release(made.engine);
  hone_graph_destroy(made.graph);
  hone_model_destroy(made.model);
  hone_recipe_destroy(made.recipe);
  if (made.tensor.data) hone_tensor_free(context, &made.tensor);
  hone_device_close(made.device);
  hone_context_destroy(made.context);
  empty_made();
}

static bool put(void *user, const char *text, size_t length) {
  (void)user, (void)text, (void)length;
  return true;
}
static void do_nothing(void *user) { (void)user; }
static void see_support(void *user, const char *node, hone_support support, const char *reason) {
  (void)user, (void)node, (void)support, (void)reason;
}
static const hone_onnx_source no_source = {.struct_size = sizeof no_source, .bytes = "x", .count = 1};
static void see_node(void *user, const char *name, const char *op) { (void)user, (void)name, (void)op; }
static void visit_node(void *user, const hone_node_info *node) { (void)user, (void)node; }
static void see_tap(void *user, const hone_tap *tap) { (void)user, (void)tap; }
static void see_sensitivity(void *user, const hone_sensitivity *row) { (void)user, (void)row; }
static void see_quantised(void *user, const hone_quantised_node *row) { (void)user, (void)row; }
static hone_status no_sample(void *user, int64_t index, hone_named_tensor *out, int room, int *out_count) {
  (void)user, (void)index, (void)out, (void)room;
  *out_count = 0;
  return HONE_OK;
}
static const hone_sensitivity one_layer[1];
static void see_stairs(void *user, const hone_shrink_stairs *stairs) { (void)user, (void)stairs; }
static hone_status on_tap(void *user, const hone_tap *tap) {
  (void)user, (void)tap;
  return HONE_OK;
}

#define WITH(type, ...) (&(const type){.struct_size = sizeof(type), __VA_ARGS__})
#define context_with(...) WITH(hone_context_options, __VA_ARGS__)
#define with_size(type, bytes) (&(type){.struct_size = (bytes)}) /* to fill in */
#define pool_with(...) WITH(hone_pool_options, __VA_ARGS__)
#define batcher_with(...) WITH(hone_batcher_options, __VA_ARGS__)
#define queue_with(...) WITH(hone_queue_options, __VA_ARGS__)
#define call_with(...) WITH(hone_call, __VA_ARGS__)
#define device_with(...) WITH(hone_device_options, __VA_ARGS__)
#define build_with(...) WITH(hone_build_options, __VA_ARGS__)
#define print_with(...) WITH(hone_print_options, __VA_ARGS__)
#define passes_with(...) WITH(hone_pass_options, __VA_ARGS__)
#define session_with(...) WITH(hone_session_options, __VA_ARGS__)
#define report_with(...) WITH(hone_report_options, __VA_ARGS__)
#define save_with(...) WITH(hone_save_options, __VA_ARGS__)
#define peaks_with(...) WITH(hone_peaks_options, __VA_ARGS__)
#define roofline_with(...) WITH(hone_roofline_options, __VA_ARGS__)
#define html_with(...) WITH(hone_html_options, __VA_ARGS__)
#define advise_with(...) WITH(hone_advise_options, __VA_ARGS__)
#define diff_with(...) WITH(hone_diff_options, __VA_ARGS__)
#define verify_with(...) WITH(hone_verify_options, __VA_ARGS__)
#define quantize_with(...) WITH(hone_quantize_options, __VA_ARGS__)
#define plan_with(...)                                                                                                 \
  WITH(hone_planner_options, .quantize = quantize_with(.sample = no_sample, .sample_count = 3), __VA_ARGS__)
#define prune_with(...) WITH(hone_prune_options, .ratio = 0.5, __VA_ARGS__)
#define sparse_with(...) WITH(hone_sparse_options, __VA_ARGS__)
#define shrink_with(...) WITH(hone_shrink_options, __VA_ARGS__)

/* An engine whose file carries its model. */
static bool carry(void) {
  static char bytes[1 << 20];
  FILE *file = fopen(model_path, "rb");
  const size_t count = file ? fread(bytes, 1, sizeof bytes, file) : 0;
  const hone_save_options with = {.struct_size = sizeof with, .onnx = bytes, .onnx_bytes = count};
  if (file) fclose(file);
  const bool carried = count > 0 && hone_engine_save_with(engine, page_path, &with, diag) == HONE_OK &&
                       hone_engine_load(context, page_path, NULL, 0, &carrier) == HONE_OK;
  saved_engine_remove(page_path); /* the name is for a page; what is mapped stays */
  return carried;
}

static int setup(void **state) {
  (void)state;
  const hone_build_options quick = {.struct_size = sizeof quick, .level = -1};
  const hone_session_options profiling = {.struct_size = sizeof profiling, .profile = true};
  const hone_device_options one_thread = {.struct_size = sizeof one_thread, .threads = 1};
  const int file = mkstemp(engine_path);
  const int page = mkstemp(page_path), onnx = mkstemp(model_path);
  if (onnx < 0 || close(onnx) != 0) return 1;
  if (file < 0 || close(file) != 0 || page < 0 || close(page) != 0) return 1;
  if (hone_context_create(NULL, &context) != HONE_OK) return 1;
  diag = hone_context_diagnostics(context);
  if (hone_device_open(context, "cpu", 0, &one_thread, &device) != HONE_OK ||
      small_net_graph(context, false, &graph) != HONE_OK || hone_graph_create(context, "s", &scratch) != HONE_OK ||
      hone_graph_add_input(scratch, "x", HONE_F32, 4, dims, NULL, &scratch_value) != HONE_OK ||
      hone_engine_build(context, graph, &device, 1, &quick, &engine) != HONE_OK ||
      hone_engine_save(engine, engine_path, diag) != HONE_OK ||
      hone_session_create(engine, NULL, &session, diag) != HONE_OK ||
      hone_pool_create(context, engine, NULL, &pool) != HONE_OK ||
      hone_batcher_create(context, &(hone_batcher_options){.struct_size = sizeof(hone_batcher_options), .workers = 1},
                          &batcher) != HONE_OK ||
      hone_queue_open(batcher, engine, NULL, &queue, diag) != HONE_OK ||
      hone_request_create(queue, &request, diag) != HONE_OK ||
      hone_session_create(engine, &profiling, &profiled, diag) != HONE_OK || hone_session_run(profiled) != HONE_OK ||
      hone_advise(profiled, graph, NULL, &advice, diag) != HONE_OK)
    return 1;
  if (hone_recipe_read(context, "input\n", 6, NULL, &recipe) != HONE_OK) return 1;
  if (hone_graph_save_onnx(graph, model_path) != HONE_OK || hone_model_load(context, model_path, &model) != HONE_OK)
    return 1;
  if (!carry()) return 1;
  value = hone_graph_input(graph, 0);
  some_session = profiled;
  return 0;
}

static int teardown(void **state) {
  (void)state;
  saved_engine_remove(engine_path);
  (void)unlink(page_path);
  (void)unlink(model_path);
  hone_model_destroy(model);
  hone_recipe_destroy(recipe);
  hone_advice_destroy(advice);
  hone_pool_destroy(pool);
  hone_request_destroy(request);
  hone_queue_close(queue);
  hone_batcher_destroy(batcher);
  hone_session_destroy(profiled);
  hone_session_destroy(session);
  hone_engine_release(carrier);
  hone_engine_release(engine);
  hone_graph_destroy(scratch);
  hone_graph_destroy(graph);
  hone_device_close(device);
  hone_context_destroy(context);
  return 0;
}

/* Before each row: no messages. */
static void fresh(void) {
  hone_tensor x;
  hone_context_clear_messages(context);
  assert_int_equal(hone_session_tensor(session, "x", &x), HONE_OK); /* clears the session's */
}

static void judge(const char *row, hone_status got, hone_status want, bool with_message) {
  const int count = hone_context_message_count(context) + hone_session_message_count(session);
  const char *said = hone_context_message_count(context) ? hone_context_message(context, 0, NULL)
                     : count                             ? hone_session_message(session, 0, NULL)
                                                         : "";
  if (got != want) fail_msg("%s: %s, want %s; \"%s\"", row, hone_status_name(got), hone_status_name(want), said);
  if (with_message && (count == 0 || !said[0])) fail_msg("%s: refused without a message", row);
  drop_made();
}

#define STATUS(function, what, want, with_message, ...)                                                                \
  fresh();                                                                                                             \
  judge(#function ", " #what " " #__VA_ARGS__, (hone_status)(function __VA_ARGS__), (want), (with_message));
#define REFUSED(function, what, ...) STATUS(function, what, HONE_INVALID, true, __VA_ARGS__)
#define SILENT(function, what, ...) STATUS(function, what, HONE_INVALID, false, __VA_ARGS__)
#define DEFAULT(function, what, ...) STATUS(function, what, HONE_OK, false, __VA_ARGS__)
#define EMPTY(function, what, ...)                                                                                     \
  fresh();                                                                                                             \
  if ((function __VA_ARGS__) != 0) fail_msg("%s, %s %s: there is something", #function, #what, #__VA_ARGS__);
#define NOTHING(function, what, arguments, after)                                                                      \
  fresh();                                                                                                             \
  function arguments;                                                                                                  \
  if ((after) != 0) fail_msg("%s, %s: there is something", #function, #what);                                          \
  drop_made();
#define BUILD(field, ...)                                                                                              \
  REFUSED(hone_engine_build, field, (context, graph, &device, 1, build_with(__VA_ARGS__), &made.engine))
#define ATTRS(...)                                                                                                     \
  REFUSED(hone_graph_add_node, attrs,                                                                                  \
          (graph, "softmax", "n", &value, 1, &(const hone_attr)__VA_ARGS__, 1, &made.value, 1))
#define TENSORS(function, what, arguments)                                                                             \
  for (size_t i = 0; i < sizeof wrong_tensors / sizeof *wrong_tensors; ++i) {                                          \
    const hone_tensor *bad = &wrong_tensors[i];                                                                        \
    REFUSED(function, what, arguments)                                                                                 \
  }

static void test_rows(void **state) {
  (void)state;
#include "arguments.inc"
#include "arguments_edit.inc"
#include "arguments_recipe.inc"
#include "arguments_lifecycle.inc"
#include "arguments_planner.inc"
#include "arguments_queue.inc"
#include "arguments_reports.inc"
}

/* A program that was compiled with fewer fields; what follows them in its memory is not read. */
static void test_older_options(void **state) {
  (void)state;
  struct {
    hone_build_options options;
  } build;
  memset(&build, 0xa5, sizeof build);
  memset(&build, 0, offsetof(hone_build_options, time_budget_ms));
  build.options.struct_size = offsetof(hone_build_options, time_budget_ms);
  build.options.level = -1;
  assert_int_equal(hone_engine_build(context, graph, &device, 1, &build.options, &made.engine), HONE_OK);
  build.options.struct_size = offsetof(hone_build_options, progress_user); /* less than the first version */
  hone_engine_release(made.engine);
  assert_int_equal(hone_engine_build(context, graph, &device, 1, &build.options, &made.engine), HONE_INVALID);
  hone_session_options options;
  memset(&options, 0xa5, sizeof options);
  memset(&options, 0, offsetof(hone_session_options, no_replay));
  options.struct_size = offsetof(hone_session_options, no_replay);
  assert_int_equal(hone_session_create(engine, &options, &made.session, diag), HONE_OK);
  hone_context_options context_options;
  memset(&context_options, 0xa5, sizeof context_options);
  memset(&context_options, 0, offsetof(hone_context_options, library_path));
  context_options.struct_size = offsetof(hone_context_options, library_path);
  assert_int_equal(hone_context_create(&context_options, &made.context), HONE_OK);
  drop_made();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_older_options)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
