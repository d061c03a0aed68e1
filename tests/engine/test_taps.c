/* SPDX-License-Identifier: Apache-2.0 */
/* test_taps.c - debug taps: the values are those of the graph without any optimisation, by name; they change no output;
 * names that are not there are told where they went; a callback ends a run; loops, other shapes, no allocation. */
#include "support/small_net.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32, ROOM = 1 << 17 };

/* What the taps of a run showed. */
typedef struct seen_value {
  char name[64], step[64], tactic[64];
  int64_t turn;
  hone_shape shape;
  int64_t count;
  float data[ROOM / 4];
} seen_value;
typedef struct record {
  int count, stop_at; /* stop_at: that call ends the run; -1: none */
  seen_value values[MOST];
} record;

typedef struct fixture {
  hone_context *context;
  hone_device *device;
  hone_engine *tuned, *plain;
} fixture;

static hone_status on_tap(void *user, const hone_tap *tap) {
  record *r = user;
  assert_true(r->count < MOST);
  if (r->count == r->stop_at) return HONE_LIMIT;
  seen_value *v = &r->values[r->count++];
  assert_int_equal(tap->tensor->type.format, HONE_PLAIN);
  v->count = hone_tensor_count(tap->tensor);
  assert_true(v->count <= ROOM / 4);
  for (int64_t i = 0; i < v->count; ++i) v->data[i] = (float)hone_tensor_real(tap->tensor, i);
  v->shape = tap->tensor->type.shape;
  v->turn = tap->turn;
  strncpy(v->name, tap->name, sizeof v->name - 1);
  strncpy(v->step, tap->step ? tap->step : "", sizeof v->step - 1);
  strncpy(v->tactic, tap->tactic ? tap->tactic : "", sizeof v->tactic - 1);
  return HONE_OK;
}

static int set_up(void **state) {
  static fixture f;
  const hone_device_options one = {.struct_size = sizeof one, .threads = 1};
  const hone_profile_shape shape = {"x", {4, {1, 3, 16, 16}}, {4, {1, 3, 16, 16}}, {4, {3, 3, 16, 16}}, 0};
  const hone_build_options build = {.struct_size = sizeof build, .level = -1, .shapes = &shape, .shape_count = 1};
  const hone_pass_options none = {.struct_size = sizeof none, .after = "fold_branches"};
  hone_build_options plain = build;
  plain.passes = &none;
  plain.reference_only = true;
  hone_graph *graph;
  assert_int_equal(hone_context_create(NULL, &f.context), HONE_OK);
  assert_int_equal(hone_device_open(f.context, "cpu", 0, &one, &f.device), HONE_OK);
  assert_int_equal(small_net_graph(f.context, true, &graph), HONE_OK);
  assert_int_equal(hone_engine_build(f.context, graph, &f.device, 1, &build, &f.tuned), HONE_OK);
  assert_int_equal(hone_engine_build(f.context, graph, &f.device, 1, &plain, &f.plain), HONE_OK);
  hone_graph_destroy(graph);
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  hone_engine_release(f->tuned);
  hone_engine_release(f->plain);
  hone_device_close(f->device);
  hone_context_destroy(f->context);
  return 0;
}

static hone_status open_taps(const fixture *f, hone_engine *engine, const char *const *names, int count, record *r,
                             hone_session **out) {
  *r = (record){.stop_at = -1};
  hone_context_clear_messages(f->context);
  const hone_session_options options = {.struct_size = sizeof options,
                                        .taps = names,
                                        .tap_count = count,
                                        .on_tap = count ? on_tap : NULL,
                                        .on_tap_user = r};
  return hone_session_create(engine, &options, out, hone_context_diagnostics(f->context));
}

static hone_status run(hone_session *session, int64_t batch, float *out) {
  static float data[3 * 3 * 16 * 16];
  hone_tensor x = {.type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {4, {3, 3, 16, 16}}},
                   .data = data,
                   .bytes = sizeof data};
  small_net_fill(&x, 5);
  x.type.shape.dim[0] = batch;
  x.bytes = (size_t)batch * 3 * 16 * 16 * sizeof(float);
  assert_int_equal(hone_session_copy_in(session, "x", &x), HONE_OK);
  const hone_status status = hone_session_run(session);
  hone_tensor y;
  if (status != HONE_OK) {
    assert_non_null(strstr(hone_session_message(session, 0, NULL), "stopped at debug tensor"));
  }
  assert_int_equal(hone_session_tensor(session, "y", &y), HONE_OK);
  if (out) memcpy(out, y.data, (size_t)batch * 10 * sizeof(float));
  return status;
}

static const seen_value *find(const record *r, const char *name) {
  for (int i = 0; i < r->count; ++i)
    if (strcmp(r->values[i].name, name) == 0) return &r->values[i];
  return NULL;
}

/* All values of the tuned engine that the plain one has, at two shapes, and the same outputs without taps. */
static void test_values(void **state) {
  const fixture *f = *state;
  static record tuned, plain, none;
  hone_session *a, *b, *c;
  const char *all[] = {"*", "x"};
  assert_int_equal(open_taps(f, f->tuned, all, 2, &tuned, &a), HONE_OK);
  assert_int_equal(open_taps(f, f->plain, all, 2, &plain, &b), HONE_OK);
  assert_int_equal(open_taps(f, f->tuned, NULL, 0, &none, &c), HONE_OK);
  for (int64_t batch = 1; batch <= 3; batch += 2) {
    float with[30], without[30];
    tuned.count = plain.count = 0;
    assert_int_equal(run(a, batch, with), HONE_OK);
    assert_int_equal(run(b, batch, NULL), HONE_OK);
    assert_int_equal(run(c, batch, without), HONE_OK);
    assert_memory_equal(with, without, (size_t)batch * 10 * sizeof(float));
    assert_int_equal(plain.count, 1 + 10);
    assert_true(tuned.count > 5 && tuned.count < plain.count);
    assert_string_equal(tuned.values[0].name, "x");
    assert_string_equal(tuned.values[tuned.count - 1].name, "y");
    int blocked = 0;
    for (int i = 0; i < tuned.count; ++i) {
      const seen_value *got = &tuned.values[i], *want = find(&plain, got->name);
      if (!want) fail_msg("the graph has no value %s", got->name);
      assert_int_equal(got->count, want->count);
      assert_int_equal(got->shape.dim[0], batch);
      assert_int_equal(got->turn, 0);
      blocked += strstr(got->tactic, "nchw") != NULL;
      for (int64_t k = 0; k < got->count; ++k)
        if (!(fabsf(got->data[k] - want->data[k]) <= 1e-4f * (1 + fabsf(want->data[k]))))
          fail_msg("%s[%d] is %g, not %g", got->name, (int)k, (double)got->data[k], (double)want->data[k]);
    }
    assert_true(blocked > 0); /* some were made plain for the callback */
  }
  hone_session_destroy(a);
  hone_session_destroy(b);
  hone_session_destroy(c);
}

static const char *message(const fixture *f) {
  const int count = hone_context_message_count(f->context);
  return count ? hone_context_message(f->context, count - 1, NULL) : "";
}

static void see(void *user, const hone_tap *tap) {
  assert_null(tap->tensor);
  *(int *)user += strcmp(tap->name, "relu1") == 0 || strcmp(tap->name, "x") == 0;
}

static void test_names(void **state) {
  const fixture *f = *state;
  static record r;
  hone_session *session;
  /* a node that runs alone, an output, and what became of one that was fused */
  static const struct {
    const char *name, *says;
  } rows[] = {{"pool", NULL},
              {"y", NULL},
              {"x", NULL},
              {"conv1", "went into step conv1 (conv) together with relu1"},
              {"conv1", "\"conv1=parts\""},
              {"relu1", NULL},
              {"w4", "a constant"},
              {"polo", "near it: pool"},
              {"", "near it"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const hone_status status = open_taps(f, f->tuned, &rows[i].name, 1, &r, &session);
    if (rows[i].says) {
      if (status != HONE_INVALID || !strstr(message(f), rows[i].says)) fail_msg("%s: %s", rows[i].name, message(f));
      continue;
    }
    assert_int_equal(status, HONE_OK);
    assert_int_equal(run(session, 1, NULL), HONE_OK);
    assert_int_equal(run(session, 1, NULL), HONE_OK);
    assert_int_equal(r.count, 2);
    hone_session_destroy(session);
  }
  const char *two[] = {"nothing", "nil"}; /* both are told */
  assert_int_equal(open_taps(f, f->tuned, two, 2, &r, &session), HONE_INVALID);
  assert_int_equal(hone_context_message_count(f->context), 2);
  const hone_session_options no_callback = {.struct_size = sizeof no_callback, .taps = two, .tap_count = 1};
  assert_int_equal(hone_session_create(f->tuned, &no_callback, &session, NULL), HONE_INVALID);
  int found = 0;
  assert_int_equal(hone_engine_each_tap(f->tuned, see, &found, NULL), HONE_OK);
  assert_int_equal(found, 2);
}

static void test_stop(void **state) {
  const fixture *f = *state;
  static record r;
  hone_session *session;
  const char *all = "*";
  assert_int_equal(open_taps(f, f->tuned, &all, 1, &r, &session), HONE_OK);
  r.stop_at = 3;
  assert_int_equal(run(session, 1, NULL), HONE_LIMIT);
  assert_int_equal(r.count, 3);
  r.stop_at = -1;
  r.count = 0;
  assert_int_equal(run(session, 1, NULL), HONE_OK);
  assert_true(r.count > 3);
  hone_session_destroy(session);
}

/* A loop's body is seen at each turn. */
static void test_loop(void **state) {
  const fixture *f = *state;
  static const char text[] =
      "graph \"g\" opset 21 {\n in %x: f32[2]\n in %m: i64[]\n const %c: bool[] = [1]\n"
      " %y = loop(%m, %c, %x) [captures=0] @\"l\" (%i: i64[], %k: bool[], %a: f32[2]) { %d = add(%a, %a) @\"double\""
      " yield %k, %d }\n out %y as \"y\"\n}\n";
  hone_graph *graph;
  hone_engine *engine;
  hone_session *session;
  static record r;
  const char *name = "double";
  const hone_build_options build = {.struct_size = sizeof build, .level = -1};
  if (hone_graph_parse(f->context, text, sizeof text - 1, &graph) != HONE_OK) fail_msg("%s", message(f));
  if (hone_engine_build(f->context, graph, &f->device, 1, &build, &engine) != HONE_OK) fail_msg("%s", message(f));
  if (open_taps(f, engine, &name, 1, &r, &session) != HONE_OK) fail_msg("%s", message(f));
  float x[2] = {1, -3};
  int64_t trips = 4;
  const hone_tensor in = {{HONE_TENSOR, HONE_F32, HONE_PLAIN, {1, {2}}}, x, sizeof x},
                    m = {{HONE_TENSOR, HONE_I64, HONE_PLAIN, {0, {0}}}, &trips, sizeof trips};
  assert_int_equal(hone_session_copy_in(session, "x", &in), HONE_OK);
  assert_int_equal(hone_session_copy_in(session, "m", &m), HONE_OK);
  for (int again = 0; again < 2; ++again) {
    r.count = 0;
    assert_int_equal(hone_session_run(session), HONE_OK);
    assert_int_equal(r.count, 4);
    for (int turn = 0; turn < 4; ++turn) {
      assert_int_equal(r.values[turn].turn, turn);
      assert_true(r.values[turn].data[1] == -3.0f * (float)(2 << turn));
    }
  }
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_graph_destroy(graph);
}

static int allocations;
static void *counting(void *user, void *old, size_t old_bytes, size_t new_bytes) {
  (void)user;
  (void)old_bytes;
  ++allocations;
  if (new_bytes == 0) {
    free(old);
    return NULL;
  }
  void *fresh = NULL;
  if (posix_memalign(&fresh, 64, new_bytes) != 0) return NULL;
  if (old) memcpy(fresh, old, old_bytes < new_bytes ? old_bytes : new_bytes);
  free(old);
  return fresh;
}

static hone_status ignore(void *user, const hone_tap *tap) {
  (void)user;
  (void)tap;
  return HONE_OK;
}

static void test_no_allocation(void **state) {
  (void)state;
  hone_context *context;
  hone_device *device;
  hone_graph *graph;
  hone_engine *engine;
  hone_session *session;
  const hone_context_options options = {.struct_size = sizeof options, .resize = counting};
  const hone_device_options one = {.struct_size = sizeof one, .threads = 1};
  const hone_build_options build = {.struct_size = sizeof build, .level = -1};
  const char *all = "*";
  const hone_session_options taps = {.struct_size = sizeof taps, .taps = &all, .tap_count = 1, .on_tap = ignore};
  assert_int_equal(hone_context_create(&options, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, "cpu", 0, &one, &device), HONE_OK);
  assert_int_equal(small_net_graph(context, false, &graph), HONE_OK);
  assert_int_equal(hone_engine_build(context, graph, &device, 1, &build, &engine), HONE_OK);
  assert_int_equal(hone_session_create(engine, &taps, &session, NULL), HONE_OK);
  assert_int_equal(run(session, 1, NULL), HONE_OK);
  const int before = allocations;
  assert_int_equal(hone_session_run(session), HONE_OK);
  assert_int_equal(allocations, before);
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_graph_destroy(graph);
  hone_device_close(device);
  hone_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_names),
                                     cmocka_unit_test(test_stop), cmocka_unit_test(test_loop),
                                     cmocka_unit_test(test_no_allocation)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
