/* SPDX-License-Identifier: Apache-2.0 */
/* two_devices.c - random graphs over a device with memory of its own and the host. */
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

enum { MAX_VALUES = 64 };

hone_context *two_devices_context;
uint64_t two_devices_seed;

static uint64_t next(void) { /* SplitMix64 (Steele, Lea, Flood 2014) */
  uint64_t z = (two_devices_seed += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
float two_devices_number(void) { return (float)((double)(next() >> 11) / (double)((uint64_t)1 << 52) - 1); }

void two_devices_check(hone_status status) {
  if (status == HONE_OK) return;
  for (int i = 0; i < hone_context_message_count(two_devices_context); ++i)
    print_error("%s\n", hone_context_message(two_devices_context, i, NULL));
  fail_msg("%s (two_devices_seed %llu)", hone_status_name(status), (unsigned long long)two_devices_seed);
}

void two_devices_check_session(const hone_session *session, hone_status status) {
  if (status == HONE_OK) return;
  for (int i = 0; i < hone_session_message_count(session); ++i)
    print_error("%s\n", hone_session_message(session, i, NULL));
  fail_msg("%s (two_devices_seed %llu)", hone_status_name(status), (unsigned long long)two_devices_seed);
}

hone_device *two_devices_far(int index) {
  hone_device *device;
  const hone_device_options one = {.struct_size = sizeof one, .threads = 1};
  two_devices_check(hone_device_open(two_devices_context, "far", index, &one, &device));
  return device;
}

hone_value *two_devices_add(hone_graph *graph, const char *op, hone_value *a, hone_value *b, const hone_attr *attr) {
  hone_value *const in[2] = {a, b};
  hone_value *out;
  two_devices_check(hone_graph_add_node(graph, op, NULL, in, b ? 2 : 1, attr, attr ? 1 : 0, &out, 1));
  return out;
}

hone_value *two_devices_constant(hone_graph *graph, int rank, const int64_t *dims) {
  static float data[COUNT * COUNT];
  hone_type type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape.rank = rank};
  size_t count = 1;
  for (int i = 0; i < rank; ++i) count *= (size_t)(type.shape.dim[i] = dims[i]);
  for (size_t i = 0; i < count; ++i) data[i] = two_devices_number();
  const hone_tensor tensor = {.type = type, .data = data, .bytes = count * sizeof *data};
  hone_value *value;
  two_devices_check(hone_graph_add_constant(graph, NULL, &tensor, &value));
  return value;
}

/* One more value of ROWS x COLUMNS from earlier ones. far runs products and elementwise ops, the host the others. */
static hone_value *grow(hone_graph *graph, hone_value *const *values, int count) {
  hone_value *a = values[next() % (unsigned)count], *b = values[next() % (unsigned)count];
  static const int64_t square[2] = {COLUMNS, COLUMNS}, row[1] = {COLUMNS}, flat[1] = {COUNT}, back[2] = {ROWS, COLUMNS};
  static const int64_t order[2] = {1, 0};
  const hone_attr perm = {.name = "perm", .kind = HONE_ATTR_INTS, .count = 2, .ints = order};
  int64_t dims[2] = {COUNT, 0};
  const hone_tensor to_flat = {{HONE_TENSOR, HONE_I64, HONE_PLAIN, {1, {1}}}, dims, 8};
  int64_t both[2] = {back[0], back[1]};
  const hone_tensor to_back = {{HONE_TENSOR, HONE_I64, HONE_PLAIN, {1, {2}}}, both, 16};
  hone_value *shape, *other;
  switch (next() % 9) {
  case 0:
    return two_devices_add(graph, "add",
                           two_devices_add(graph, "matmul", a, two_devices_constant(graph, 2, square), NULL),
                           two_devices_constant(graph, 1, row), NULL);
  case 1:
    other = two_devices_add(graph, "matmul", a, two_devices_constant(graph, 2, square), NULL);
    return two_devices_add(graph, "tanh", two_devices_add(graph, "add", other, b, NULL), NULL, NULL);
  case 2: return two_devices_add(graph, "mul", a, b, NULL);
  case 3:
  case 4: return two_devices_add(graph, "softmax", a, NULL, NULL);
  case 5:
    other = two_devices_add(graph, "matmul", a, two_devices_constant(graph, 2, square), NULL);
    return two_devices_add(graph, "sub", other, two_devices_constant(graph, 1, row), NULL);
  case 6: /* a view, something on either side of it, and back */
    two_devices_check(hone_graph_add_constant(graph, NULL, &to_flat, &shape));
    other = two_devices_add(graph, "reshape", a, shape, NULL);
    other = next() % 2 ? two_devices_add(graph, "softmax", other, NULL, NULL)
                       : two_devices_add(graph, "add", other, two_devices_constant(graph, 1, flat), NULL);
    two_devices_check(hone_graph_add_constant(graph, NULL, &to_back, &shape));
    return two_devices_add(graph, "reshape", other, shape, NULL);
  case 7:
    return two_devices_add(
        graph, "transpose",
        two_devices_add(graph, "softmax", two_devices_add(graph, "transpose", a, NULL, &perm), NULL, NULL), NULL,
        &perm);
  default: return two_devices_add(graph, "max", a, b, NULL);
  }
}

hone_graph *two_devices_random(int nodes) {
  hone_graph *graph;
  hone_value *values[MAX_VALUES];
  const int64_t dims[2] = {ROWS, COLUMNS};
  two_devices_check(hone_graph_create(two_devices_context, "random", &graph));
  two_devices_check(hone_graph_add_input(graph, "a", HONE_F32, 2, dims, NULL, &values[0]));
  two_devices_check(hone_graph_add_input(graph, "b", HONE_F32, 2, dims, NULL, &values[1]));
  int count = 2;
  while (count < nodes + 2) {
    values[count] = grow(graph, values, count);
    ++count;
  }
  two_devices_check(hone_graph_add_output(graph, "y", values[count - 1]));
  two_devices_check(hone_graph_add_output(graph, "z", values[2 + next() % (unsigned)(count - 2)]));
  return graph;
}

static const char *const names[4] = {"a", "b", "y", "z"};

static hone_tensor tensor_over(float *data) {
  return (hone_tensor){{HONE_TENSOR, HONE_F32, HONE_PLAIN, {2, {ROWS, COLUMNS}}}, data, COUNT * sizeof *data};
}

void two_devices_run(hone_session *session, two_devices_numbers *n, bool bound) {
  for (int i = 0; i < 4; ++i) {
    hone_tensor t = tensor_over(i < 2 ? n->in[i] : n->out[i - 2]);
    if (!bound) t.data = NULL;
    if (bound || i >= 2) two_devices_check_session(session, hone_session_bind(session, names[i], &t));
    t = tensor_over(n->in[i & 1]);
    if (!bound && i < 2) two_devices_check_session(session, hone_session_copy_in(session, names[i], &t));
  }
  two_devices_check_session(session, hone_session_run(session));
  for (int i = 0; i < 2 && !bound; ++i) {
    hone_tensor t;
    two_devices_check_session(session, hone_session_tensor(session, names[2 + i], &t));
    memcpy(n->out[i], t.data, t.bytes);
  }
}

void two_devices_compare(const two_devices_numbers *got, const two_devices_numbers *want, const char *what) {
  for (int o = 0; o < 2; ++o)
    for (int i = 0; i < COUNT; ++i)
      if (!(fabsf(got->out[o][i] - want->out[o][i]) <= 1e-4f * (1 + fabsf(want->out[o][i]))))
        fail_msg("%s: output %s[%d] is %g, not %g (two_devices_seed %llu)", what, names[2 + o], i,
                 (double)got->out[o][i], (double)want->out[o][i], (unsigned long long)two_devices_seed);
}

void two_devices_reference(hone_graph *graph, two_devices_numbers *n) {
  hone_device *device;
  hone_engine *engine;
  hone_session *session;
  two_devices_check(hone_device_open(two_devices_context, "ref", 0, NULL, &device));
  two_devices_check(hone_engine_build(two_devices_context, graph, &device, 1, NULL, &engine));
  two_devices_check(hone_session_create(engine, NULL, &session, hone_context_diagnostics(two_devices_context)));
  two_devices_run(session, n, false);
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_device_close(device);
}

int two_devices_set_up(void **state) {
  (void)state;
  char path[4096];
  const char *folder = getenv("HONE_BUILD_DIR");
  snprintf(path, sizeof path, "%s/tests/libfar.so", folder ? folder : "build/release");
  if (hone_context_create(NULL, &two_devices_context) != HONE_OK) return -1;
  two_devices_check(hone_plugin_load(two_devices_context, path));
  return 0;
}
int two_devices_tear_down(void **state) {
  (void)state;
  hone_context_destroy(two_devices_context);
  return 0;
}
