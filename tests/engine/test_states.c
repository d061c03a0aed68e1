/* SPDX-License-Identifier: Apache-2.0 */
/* test_states.c - an input and the output that continues it in one buffer: tokens one by one give what they give with
 * caches that are copied, nothing is bound or allocated on the way, and pairs that cannot be one memory are refused. */
#include <hone/hone.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

enum { CAPACITY = 8, HEADS = 2, SIZE = 4, TOKENS = 5 };

typedef struct fixture {
  hone_context *context;
  hone_device *device;
  hone_engine *engine;
} fixture;

static hone_value *add_input(hone_graph *graph, const char *name, hone_dtype dtype, int rank, const int64_t *dims) {
  hone_value *value;
  assert_int_equal(hone_graph_add_input(graph, name, dtype, rank, dims, NULL, &value), HONE_OK);
  return value;
}

static hone_graph *make_graph(hone_context *context) {
  static int32_t total = CAPACITY;
  static const int64_t q[3] = {1, 1, HEADS * SIZE}, k[3] = {1, 1, SIZE}, cache[4] = {1, 1, CAPACITY, SIZE},
                       one[1] = {1};
  const hone_tensor tensor = {.type = {.kind = HONE_TENSOR, .dtype = HONE_I32}, .data = &total, .bytes = sizeof total};
  const hone_attr attrs[] = {{.name = "num_heads", .kind = HONE_ATTR_INT, .i = HEADS},
                             {.name = "kv_num_heads", .kind = HONE_ATTR_INT, .i = 1}};
  static const char *const names[] = {"y", "present.key", "present.value"};
  hone_graph *graph;
  hone_value *in[7], *out[3];
  assert_int_equal(hone_graph_create(context, "cache", &graph), HONE_OK);
  in[0] = add_input(graph, "q", HONE_F32, 3, q);
  in[1] = add_input(graph, "k", HONE_F32, 3, k);
  in[2] = add_input(graph, "v", HONE_F32, 3, k);
  in[3] = add_input(graph, "past.key", HONE_F32, 4, cache);
  in[4] = add_input(graph, "past.value", HONE_F32, 4, cache);
  in[5] = add_input(graph, "last", HONE_I32, 1, one);
  assert_int_equal(hone_graph_add_constant(graph, "total", &tensor, &in[6]), HONE_OK);
  assert_int_equal(hone_graph_add_node(graph, "group_query_attention", "attend", in, 7, attrs, 2, out, 3), HONE_OK);
  for (int i = 0; i < 3; ++i) assert_int_equal(hone_graph_add_output(graph, names[i], out[i]), HONE_OK);
  return graph;
}

static int set_up(void **state) {
  static fixture f;
  const hone_device_options options = {.struct_size = sizeof options, .threads = 1};
  const hone_build_options build = {.struct_size = sizeof build, .level = -1};
  assert_int_equal(hone_context_create(NULL, &f.context), HONE_OK);
  assert_int_equal(hone_device_open(f.context, "cpu", 0, &options, &f.device), HONE_OK);
  hone_graph *graph = make_graph(f.context);
  assert_int_equal(hone_engine_build(f.context, graph, &f.device, 1, &build, &f.engine), HONE_OK);
  hone_graph_destroy(graph);
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  hone_engine_release(f->engine);
  hone_device_close(f->device);
  hone_context_destroy(f->context);
  return 0;
}

static hone_status open_session(const fixture *f, const hone_session_state *states, int count, hone_session **out) {
  const hone_session_options options = {.struct_size = sizeof options, .states = states, .state_count = count};
  hone_diagnostics *diag = hone_context_diagnostics(f->context);
  hone_context_clear_messages(f->context);
  return hone_session_create(f->engine, &options, out, diag);
}

static void put(hone_session *session, const char *name, hone_dtype dtype, int rank, int64_t extent, void *data) {
  hone_tensor tensor = {.type = {.kind = HONE_TENSOR, .dtype = dtype, .shape = {.rank = rank, .dim = {1, 1, 1}}},
                        .data = data,
                        .bytes = (size_t)extent * 4};
  tensor.type.shape.dim[rank - 1] = extent;
  assert_int_equal(hone_session_copy_in(session, name, &tensor), HONE_OK);
}

/* One token behind `last` others. */
static void run_token(hone_session *session, int32_t last, float *y) {
  float q[HEADS * SIZE], k[SIZE], v[SIZE];
  for (int i = 0; i < HEADS * SIZE; ++i) q[i] = (float)((i * 7 + last * 3) % 5 - 2);
  for (int i = 0; i < SIZE; ++i) {
    k[i] = (float)((i * 5 + last * 2) % 7 - 3);
    v[i] = (float)(i + last * 10);
  }
  put(session, "q", HONE_F32, 3, HEADS * SIZE, q);
  put(session, "k", HONE_F32, 3, SIZE, k);
  put(session, "v", HONE_F32, 3, SIZE, v);
  put(session, "last", HONE_I32, 1, 1, &last);
  assert_int_equal(hone_session_run(session), HONE_OK);
  hone_tensor out;
  assert_int_equal(hone_session_tensor(session, "y", &out), HONE_OK);
  memcpy(y, out.data, HEADS * SIZE * sizeof *y);
}

static const hone_session_state pairs[] = {{"past.key", "present.key"}, {"past.value", "present.value"}};

static void test_tokens_in_place(void **state) {
  const fixture *f = *state;
  hone_session *kept, *copied;
  assert_int_equal(open_session(f, pairs, 2, &kept), HONE_OK);
  assert_int_equal(open_session(f, NULL, 0, &copied), HONE_OK);
  const void *before = NULL;
  for (int32_t t = 0; t < TOKENS; ++t) {
    float got[HEADS * SIZE], want[HEADS * SIZE];
    run_token(kept, t, got);
    run_token(copied, t, want);
    assert_memory_equal(got, want, sizeof got);
    for (int i = 0; i < 2; ++i) {
      hone_tensor past, present, other;
      assert_int_equal(hone_session_tensor(kept, pairs[i].input, &past), HONE_OK);
      assert_int_equal(hone_session_tensor(kept, pairs[i].output, &present), HONE_OK);
      assert_int_equal(hone_session_tensor(copied, pairs[i].output, &other), HONE_OK);
      assert_ptr_equal(past.data, present.data);
      assert_memory_equal(present.data, other.data, present.bytes);
      assert_int_equal(hone_session_copy_in(copied, pairs[i].input, &other), HONE_OK);
      if (i == 0 && t > 0) assert_ptr_equal(past.data, before);
      if (i == 0) before = past.data;
    }
  }
  hone_session_destroy(copied);
  hone_session_destroy(kept);
}

static void test_refused(void **state) {
  const fixture *f = *state;
  static const struct {
    const char *what;
    hone_session_state states[2];
    int count;
    const char *says;
  } rows[] = {
      {"crossed", {{"past.key", "present.value"}}, 1, "present.value cannot be kept where past.key lies"},
      {"an input that nothing continues", {{"q", "y"}}, 1, "y cannot be kept where q lies"},
      {"no such input", {{"past", "present.key"}}, 1, "no input is called past"},
      {"no such output", {{"past.key", "present"}}, 1, "no output is called present"},
      {"twice", {{"past.key", "present.key"}, {"past.key", "present.key"}}, 2, "is in two states"},
      {"no name", {{"past.key", NULL}}, 1, "a name is missing"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hone_session *session;
    assert_int_equal(open_session(f, rows[i].states, rows[i].count, &session), HONE_INVALID);
    assert_null(session);
    const char *said = hone_diagnostics_message(hone_context_diagnostics(f->context), 0, NULL);
    if (!said || !strstr(said, rows[i].says)) fail_msg("%s: \"%s\"", rows[i].what, said ? said : "");
  }
  hone_session *session;
  assert_int_equal(open_session(f, pairs, 2, &session), HONE_OK);
  float data[CAPACITY * SIZE] = {0};
  const hone_tensor cache = {.type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {4, {1, 1, CAPACITY, SIZE}}},
                             .data = data,
                             .bytes = sizeof data};
  assert_int_equal(hone_session_bind(session, "past.key", &cache), HONE_INVALID);
  assert_int_equal(hone_session_bind(session, "present.key", &cache), HONE_INVALID);
  int32_t last = CAPACITY;
  put(session, "last", HONE_I32, 1, 1, &last);
  assert_int_equal(hone_session_run(session), HONE_INVALID); /* what a run is given is the caller's */
  assert_non_null(strstr(hone_session_message(session, 0, NULL), "seqlens_k[0] is 8"));
  hone_session_destroy(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_tokens_in_place), cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
