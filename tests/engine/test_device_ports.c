/* SPDX-License-Identifier: Apache-2.0 */
/* test_device_ports.c - inputs and outputs in a device's memory: the same numbers as through the host's, by copies, by
 * another session's memory bound, without waiting, held in f16, from a saved engine; and what is refused. */
#include "support/two_devices.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GRAPHS = 24 };
static const char file[] = "device_ports.hone";

static hone_session *open_session(hone_engine *engine) {
  hone_session *session;
  two_devices_check(hone_session_create(engine, NULL, &session, hone_context_diagnostics(two_devices_context)));
  return session;
}

static hone_engine *build(const hone_graph *graph, hone_device *device, const hone_port_format *formats, int count) {
  hone_engine *engine;
  const hone_build_options options = {
      .struct_size = sizeof options, .level = -1, .port_formats = formats, .port_format_count = count};
  two_devices_check(hone_engine_build(two_devices_context, graph, &device, 1, &options, &engine));
  return engine;
}

static void read_out(hone_session *session, two_devices_numbers *n) {
  hone_tensor t;
  for (int i = 0; i < 2; ++i) {
    two_devices_check_session(session, hone_session_tensor(session, i ? "z" : "y", &t));
    assert_int_equal(t.type.dtype, HONE_F32);
    memcpy(n->out[i], t.data, t.bytes);
  }
}

/* One session reads what lies in another's input and writes into the other's output. */
static void try_bound(hone_engine *engine, two_devices_numbers *inputs, const two_devices_numbers *want) {
  hone_session *owner = open_session(engine), *session = open_session(engine);
  hone_tensor t;
  for (int again = 0; again < 2; ++again) {
    two_devices_numbers n = inputs[again];
    two_devices_run(owner, &inputs[again], false);
    for (int i = 0; i < 2; ++i) {
      two_devices_check_session(owner, hone_session_device_tensor(owner, i ? "b" : "a", &t));
      two_devices_check_session(session, hone_session_bind(session, i ? "b" : "a", &t));
    }
    two_devices_check_session(owner, hone_session_device_tensor(owner, "y", &t));
    two_devices_check_session(session, hone_session_bind(session, "y", &t));
    two_devices_check_session(session, hone_session_enqueue(session));
    two_devices_check_session(session, hone_session_wait(session));
    read_out(session, &n);
    two_devices_compare(&n, &want[again], "bound on the device");
    t.data = (char *)t.data + 4;
    assert_int_equal(hone_session_bind(session, "y", &t), HONE_INVALID);
  }
  hone_session_destroy(session);
  hone_session_destroy(owner);
}

static void try_engine(hone_engine *engine, two_devices_numbers *inputs, const two_devices_numbers *want) {
  hone_session *session = open_session(engine);
  hone_port_info port = HONE_SIZED(hone_port_info);
  hone_tensor t;
  assert_int_equal(hone_engine_input(engine, 0, &port), HONE_OK);
  assert_true(port.on_device && port.held == HONE_F32 && port.format == HONE_PLAIN && port.type.dtype == HONE_F32);
  for (int again = 0; again < 4; ++again) {
    two_devices_numbers n = inputs[again & 1];
    two_devices_run(session, &n, false);
    two_devices_compare(&n, &want[again & 1], "copied");
  }
  assert_int_equal(hone_session_tensor(session, "a", &t), HONE_INVALID); /* nobody could write into it */
  hone_session_destroy(session);
  try_bound(engine, inputs, want);
}

static void test_random_graphs(void **state) {
  (void)state;
  const hone_port_format all = {.on_device = true};
  for (int g = 0; g < GRAPHS; ++g) {
    two_devices_seed = 77000 + (uint64_t)g;
    hone_graph *graph = two_devices_random(5 + g);
    hone_device *device = two_devices_far(g & 1);
    two_devices_numbers inputs[2], want[2];
    for (int i = 0; i < 4 * COUNT; ++i) inputs[i / (2 * COUNT)].in[i / COUNT % 2][i % COUNT] = two_devices_number();
    for (int i = 0; i < 2; ++i) two_devices_reference(graph, &inputs[i]);
    memcpy(want, inputs, sizeof want);
    hone_engine *engine = build(graph, device, &all, 1), *loaded;
    try_engine(engine, inputs, want);
    two_devices_check(hone_engine_save(engine, file, hone_context_diagnostics(two_devices_context)));
    hone_engine_release(engine);
    two_devices_check(hone_engine_load(two_devices_context, file, &device, 1, &loaded));
    try_engine(loaded, inputs, want);
    hone_engine_release(loaded);
    hone_graph_destroy(graph);
    hone_device_close(device);
  }
  unlink(file);
  unlink("device_ports.hone.ledger");
}

/* y of a graph whose one input is held in f16. */
static void test_halves(void **state) {
  (void)state;
  const hone_port_format formats[] = {{.on_device = true}, {"x", true, HONE_F16, HONE_PLAIN}};
  const int64_t dims[2] = {ROWS, COLUMNS};
  hone_graph *graph;
  hone_value *x;
  float data[COUNT];
  hone_device *device = two_devices_far(0);
  two_devices_check(hone_graph_create(two_devices_context, "halves", &graph));
  two_devices_check(hone_graph_add_input(graph, "x", HONE_F32, 2, dims, NULL, &x));
  two_devices_check(hone_graph_add_output(graph, "y", two_devices_add(graph, "add", x, x, NULL)));
  hone_engine *engine = build(graph, device, formats, 2);
  hone_session *session = open_session(engine);
  for (int i = 0; i < COUNT; ++i) data[i] = two_devices_number();
  hone_tensor t = {{HONE_TENSOR, HONE_F32, HONE_PLAIN, {2, {ROWS, COLUMNS}}}, data, sizeof data};
  two_devices_check_session(session, hone_session_copy_in(session, "x", &t));
  two_devices_check_session(session, hone_session_run(session));
  two_devices_check_session(session, hone_session_tensor(session, "y", &t));
  for (int i = 0; i < COUNT; ++i)
    assert_true(fabs(hone_tensor_real(&t, i) - 2 * (double)data[i]) <= fabs((double)data[i]) / 1024);
  two_devices_check_session(session, hone_session_device_tensor(session, "x", &t));
  assert_int_equal(t.type.dtype, HONE_F16);
  assert_int_equal(t.bytes, 2 * COUNT);
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_graph_destroy(graph);
  hone_device_close(device);
}

static void refuse(const hone_graph *graph, hone_device *device, hone_port_format format, const char *words) {
  hone_engine *engine;
  const hone_build_options options = {
      .struct_size = sizeof options, .level = -1, .port_formats = &format, .port_format_count = 1};
  assert_int_equal(hone_engine_build(two_devices_context, graph, &device, 1, &options, &engine), HONE_INVALID);
  const char *said = hone_context_message(two_devices_context, 0, NULL);
  if (!strstr(said, words)) fail_msg("\"%s\" does not say \"%s\"", said, words);
  hone_context_clear_messages(two_devices_context);
}

static void test_refused(void **state) {
  (void)state;
  hone_device *far = two_devices_far(0), *cpu;
  two_devices_seed = 5;
  hone_graph *graph = two_devices_random(5);
  two_devices_check(hone_device_open(two_devices_context, "cpu", 0, NULL, &cpu));
  refuse(graph, far, (hone_port_format){"aa", true, HONE_NONE, HONE_PLAIN}, "near it: a");
  refuse(graph, cpu, (hone_port_format){"a", true, HONE_NONE, HONE_PLAIN}, "none has memory of its own");
  refuse(graph, far, (hone_port_format){"a", true, HONE_NONE, HONE_NHWC}, "it cannot be held");
  refuse(graph, far, (hone_port_format){"a", true, HONE_I8, HONE_PLAIN}, "f32, f16 and bf16, not i8");
  refuse(graph, far, (hone_port_format){"a", false, HONE_F16, HONE_PLAIN}, "as the model has it");
  refuse(graph, far, (hone_port_format){"a", true, HONE_NONE, HONE_NCHW8C}, "plain and nhwc");
  hone_engine *engine = build(graph, cpu, NULL, 0);
  hone_session *session;
  int stream = 0;
  const hone_session_options options = {.struct_size = sizeof options, .native_stream = &stream};
  assert_int_equal(hone_session_create(engine, &options, &session, hone_context_diagnostics(two_devices_context)),
                   HONE_INVALID);
  hone_context_clear_messages(two_devices_context);
  hone_engine_release(engine);
  hone_graph_destroy(graph);
  hone_device_close(cpu);
  hone_device_close(far);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_graphs), cmocka_unit_test(test_halves),
                                     cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, two_devices_set_up, two_devices_tear_down);
}
