/* SPDX-License-Identifier: Apache-2.0 */
/* test_previous.c - a program that was compiled against the previous headers runs with this library: a network by hand,
 * an engine, a session, and every struct that is filled in, none of which is written behind what the program knows.
 * What lies behind its option structs is garbage, and nobody reads it. The only header of ours here is the frozen copy.
 */
#include "abi/previous.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

enum { COUNT = 4, BEHIND = 256, GARBAGE = 0xa5 };

/* A struct of the program's, and what its memory has behind it. */
#define PLACE(type)                                                                                                    \
  struct {                                                                                                             \
    type known;                                                                                                        \
    unsigned char behind[BEHIND];                                                                                      \
  }
#define PREPARE(place)                                                                                                 \
  (memset(&(place), GARBAGE, sizeof(place)), memset(&(place).known, 0, sizeof(place).known),                           \
   (place).known.struct_size = sizeof(place).known)

static void check_untouched(const unsigned char *behind, const char *what) {
  for (int i = 0; i < BEHIND; ++i)
    if (behind[i] != GARBAGE) fail_msg("%s: byte %d behind the program's struct was written", what, i);
}

typedef struct bed {
  hone_context *context;
  hone_device *device;
  hone_engine *engine;
  hone_session *session;
} bed;

static hone_graph *make_graph(hone_context *context) {
  hone_graph *graph;
  hone_value *x, *y;
  const int64_t dims[] = {1, COUNT};
  assert_int_equal(hone_graph_create(context, "older", &graph), HONE_OK);
  assert_int_equal(hone_graph_add_input(graph, "x", HONE_F32, 2, dims, NULL, &x), HONE_OK);
  assert_int_equal(hone_graph_add_node(graph, "relu", "r", (hone_value *const[]){x}, 1, NULL, 0, &y, 1), HONE_OK);
  assert_int_equal(hone_graph_add_output(graph, "y", y), HONE_OK);
  return graph;
}

static void open_bed(bed *b) {
  PLACE(hone_context_options) context;
  PLACE(hone_device_options) device;
  PLACE(hone_build_options) build;
  PLACE(hone_session_options) session;
  PREPARE(context);
  PREPARE(device);
  PREPARE(build);
  PREPARE(session);
  device.known.threads = 2;
  build.known.level = -1;
  session.known.profile = true;
  assert_int_equal(hone_context_create(&context.known, &b->context), HONE_OK);
  assert_int_equal(hone_device_open(b->context, "cpu", 0, &device.known, &b->device), HONE_OK);
  hone_graph *graph = make_graph(b->context);
  if (hone_engine_build(b->context, graph, &b->device, 1, &build.known, &b->engine) != HONE_OK)
    fail_msg("%s", hone_context_message(b->context, 0, NULL));
  hone_graph_destroy(graph);
  assert_int_equal(hone_session_create(b->engine, &session.known, &b->session, hone_context_diagnostics(b->context)),
                   HONE_OK);
}

static void close_bed(bed *b) {
  hone_session_destroy(b->session);
  hone_engine_release(b->engine);
  hone_device_close(b->device);
  hone_context_destroy(b->context);
}

static void run_once(const bed *b) {
  const float numbers[COUNT] = {-1, 2, -3, 4}, want[COUNT] = {0, 2, 0, 4};
  const hone_tensor x = {.type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {2, {1, COUNT}}},
                         .data = (void *)numbers,
                         .bytes = sizeof numbers};
  hone_tensor y;
  assert_int_equal(hone_session_copy_in(b->session, "x", &x), HONE_OK);
  assert_int_equal(hone_session_run(b->session), HONE_OK);
  assert_int_equal(hone_session_tensor(b->session, "y", &y), HONE_OK);
  assert_int_equal(y.bytes, sizeof want);
  assert_memory_equal(y.data, want, sizeof want);
}

static void test_runs(void **state) {
  (void)state;
  bed b;
  PLACE(hone_facts) facts;
  PLACE(hone_port_info) port;
  PLACE(hone_engine_summary) summary;
  PLACE(hone_session_stats) stats;
  PLACE(hone_step_profile) step;
  PREPARE(facts);
  PREPARE(port);
  PREPARE(summary);
  PREPARE(stats);
  PREPARE(step);
  open_bed(&b);
  run_once(&b);
  assert_int_equal(hone_device_facts(b.device, &facts.known), HONE_OK);
  assert_int_equal(facts.known.threads, 2);
  check_untouched(facts.behind, "hone_device_facts");
  assert_int_equal(hone_engine_input(b.engine, 0, &port.known), HONE_OK);
  assert_string_equal(port.known.name, "x");
  assert_int_equal(port.known.type.shape.dim[1], COUNT);
  check_untouched(port.behind, "hone_engine_input");
  assert_int_equal(hone_engine_output(b.engine, 0, &port.known), HONE_OK);
  assert_string_equal(port.known.name, "y");
  check_untouched(port.behind, "hone_engine_output");
  assert_int_equal(hone_engine_summarize(b.engine, &summary.known), HONE_OK);
  assert_string_equal(summary.known.name, "older");
  check_untouched(summary.behind, "hone_engine_summarize");
  assert_int_equal(hone_session_get_stats(b.session, &stats.known), HONE_OK);
  assert_int_equal(stats.known.runs, 1);
  check_untouched(stats.behind, "hone_session_get_stats");
  assert_int_equal(hone_session_step(b.session, 0, &step.known), HONE_OK);
  assert_true(step.known.median_ns >= 0 && step.known.name);
  check_untouched(step.behind, "hone_session_step");
  close_bed(&b);
}

/* A struct whose size was never set, or is none that there was. */
static void test_wrong_sizes(void **state) {
  (void)state;
  bed b;
  open_bed(&b);
  static const uint32_t sizes[] = {0, 1, sizeof(uint32_t), offsetof(hone_port_info, data_dependent), UINT32_MAX};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    PLACE(hone_port_info) port;
    memset(&port, GARBAGE, sizeof port);
    port.known.struct_size = sizes[i];
    assert_int_equal(hone_engine_input(b.engine, 0, &port.known), HONE_INVALID);
    check_untouched(port.behind, "hone_engine_input");
    assert_int_equal(port.known.struct_size, sizes[i]);
  }
  close_bed(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_runs), cmocka_unit_test(test_wrong_sizes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
