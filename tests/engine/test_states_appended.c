/* SPDX-License-Identifier: Apache-2.0 */
/* test_states_appended.c - ONNX's attention over a session's cache: prompts and tokens give what attention over all
 * tokens so far gives, with masks, windows and groups of heads; the cache has no holes, and ends where it ends. */
#include <hone/hone.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

enum {
  ROOM = 40,
  HEADS = 4,
  KEY_HEADS = 2,
  SIZE = 5,
  MOST = 20,
  HIDDEN = 1 /* the token that masks hide */,
  VALID = 6,
  LONG = 17
};

typedef struct variant {
  const char *what;
  bool masked, is_bool;
  int64_t window;       /* keys to the left; -1: all */
  bool has_lengths;     /* nonpad_kv_seqlen is at most VALID */
  const char *multiply; /* the only tactic for prompts of LONG tokens; NULL: any */
} variant;
static const variant variants[] = {
    {.what = "causal", .window = -1},
    {.what = "a mask that is added", .masked = true, .window = -1},
    {.what = "a mask of bools", .masked = true, .is_bool = true, .window = -1},
    {.what = "a window", .window = 2},
    {.what = "a mask and a window", .masked = true, .window = 3},
    {.what = "lengths", .window = -1, .has_lengths = true},
    {.what = "lengths and a mask", .masked = true, .is_bool = true, .window = -1, .has_lengths = true},
    {.what = "prompts in bf16", .masked = true, .window = -1, .multiply = "attend=cpu.attention.bf16.c"}};

typedef struct bed {
  hone_context *context;
  hone_device *device;
  hone_engine *engine;
} bed;

static hone_value *add_input(hone_graph *graph, const char *name, hone_dtype dtype, int rank, const int64_t *dims,
                             const char *const *names) {
  hone_value *value;
  assert_int_equal(hone_graph_add_input(graph, name, dtype, rank, dims, names, &value), HONE_OK);
  return value;
}

static void open_bed(bed *b, const variant *v) {
  static const char *const token[] = {NULL, "tokens", NULL}, *const columns[] = {"tokens", "columns"};
  static const char *const outputs[] = {"y", "present.key", "present.value"};
  const int64_t q[3] = {1, -1, HEADS * SIZE}, k[3] = {1, -1, KEY_HEADS * SIZE}, cache[4] = {1, KEY_HEADS, ROOM, SIZE};
  const hone_attr attrs[] = {{.name = "q_num_heads", .kind = HONE_ATTR_INT, .i = HEADS},
                             {.name = "kv_num_heads", .kind = HONE_ATTR_INT, .i = KEY_HEADS},
                             {.name = "is_causal", .kind = HONE_ATTR_INT, .i = 1},
                             {.name = "left_window_size", .kind = HONE_ATTR_INT, .i = v->window}};
  const int64_t widths[] = {HEADS * SIZE, KEY_HEADS * SIZE, KEY_HEADS * SIZE};
  static const char *const names[] = {"q", "k", "v"};
  hone_profile_shape shapes[4];
  const int64_t least = v->multiply ? LONG : 1; /* few rows are not for bf16 */
  for (int i = 0; i < 3; ++i)
    shapes[i] = (hone_profile_shape){
        names[i], {3, {1, least, widths[i]}}, {3, {1, least, widths[i]}}, {3, {1, MOST, widths[i]}}, 0};
  shapes[3] =
      (hone_profile_shape){"mask", {2, {least, ROOM + least}}, {2, {least, ROOM + least}}, {2, {MOST, ROOM + MOST}}, 0};
  const hone_build_options build = {.struct_size = sizeof build,
                                    .level = -1,
                                    .shapes = shapes,
                                    .shape_count = v->masked ? 4 : 3,
                                    .precisions = v->multiply ? HONE_BIT(HONE_BF16) : 0,
                                    .tactics = &v->multiply,
                                    .tactic_count = v->multiply ? 1 : 0};
  const hone_device_options two = {.struct_size = sizeof two, .threads = 2};
  hone_graph *graph;
  hone_value *in[7], *out[3];
  assert_int_equal(hone_context_create(NULL, &b->context), HONE_OK);
  assert_int_equal(hone_device_open(b->context, "cpu", 0, &two, &b->device), HONE_OK);
  assert_int_equal(hone_graph_create(b->context, "appended", &graph), HONE_OK);
  in[0] = add_input(graph, "q", HONE_F32, 3, q, token);
  in[1] = add_input(graph, "k", HONE_F32, 3, k, token);
  in[2] = add_input(graph, "v", HONE_F32, 3, k, token);
  in[3] =
      v->masked ? add_input(graph, "mask", v->is_bool ? HONE_BOOL : HONE_F32, 2, (int64_t[]){-1, -1}, columns) : NULL;
  in[4] = add_input(graph, "past.key", HONE_F32, 4, cache, NULL);
  in[5] = add_input(graph, "past.value", HONE_F32, 4, cache, NULL);
  in[6] = v->has_lengths ? add_input(graph, "valid", HONE_I64, 1, (int64_t[]){1}, NULL) : NULL;
  assert_int_equal(hone_graph_add_node(graph, "attention", "attend", in, v->has_lengths ? 7 : 6, attrs, 4, out, 3),
                   HONE_OK);
  for (int i = 0; i < 3; ++i) assert_int_equal(hone_graph_add_output(graph, outputs[i], out[i]), HONE_OK);
  const hone_status status = hone_engine_build(b->context, graph, &b->device, 1, &build, &b->engine);
  if (status != HONE_OK) fail_msg("%s: %s", v->what, hone_context_message(b->context, 0, NULL));
  hone_graph_destroy(graph);
}

static void close_bed(bed *b) {
  hone_engine_release(b->engine);
  hone_device_close(b->device);
  hone_context_destroy(b->context);
}

/* ---- what it must be ---- */

static float number(int which, int64_t token, int64_t column) {
  return (float)((token * 31 + column * 17 + which * 7) % 23 - 11) / 8;
}

static double score(int64_t place, int64_t key, int64_t head) {
  double sum = 0;
  for (int64_t d = 0; d < SIZE; ++d)
    sum += (double)number(0, place, head * SIZE + d) * (double)number(1, key, head / 2 * SIZE + d);
  return sum / sqrt(SIZE);
}

static bool is_seen(const variant *v, int64_t place, int64_t key) {
  if (v->has_lengths && key >= VALID) return false;
  return key <= place && !(v->masked && key == HIDDEN) && (v->window < 0 || place - key <= v->window);
}

/* Of a query at `place` over all tokens up to it. */
static double want(const variant *v, int64_t place, int64_t head, int64_t column) {
  double top = -INFINITY, sum = 0, value = 0;
  for (int64_t key = 0; key <= place; ++key)
    if (is_seen(v, place, key)) top = fmax(top, score(place, key, head));
  for (int64_t key = 0; key <= place; ++key) {
    if (!is_seen(v, place, key)) continue;
    const double weight = exp(score(place, key, head) - top);
    sum += weight;
    value += weight * (double)number(2, key, head / 2 * SIZE + column);
  }
  return sum > 0 ? value / sum : 0;
}

/* ---- runs ---- */

static hone_status put(hone_session *session, const char *name, hone_dtype dtype, hone_shape shape, size_t element,
                       void *data) {
  size_t bytes = element;
  for (int i = 0; i < shape.rank; ++i) bytes *= (size_t)shape.dim[i];
  const hone_tensor tensor = {.type = {HONE_TENSOR, dtype, HONE_PLAIN, shape}, .data = data, .bytes = bytes};
  const hone_status status = hone_session_set_shape(session, name, shape.rank, shape.dim);
  return status == HONE_OK ? hone_session_copy_in(session, name, &tensor) : status;
}

/* Columns of rows that are not there say "seen": they must not count. */
static void put_mask(hone_session *session, const variant *v, int64_t length, int64_t count) {
  static float added[MOST * (ROOM + MOST)];
  static uint8_t bools[MOST * (ROOM + MOST)];
  const int64_t columns = ROOM + count;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t token = j < ROOM ? j : length + j - ROOM;
      const bool hidden = token == HIDDEN && (j < length || j >= ROOM);
      added[i * columns + j] = hidden ? -INFINITY : 0;
      bools[i * columns + j] = !hidden;
    }
  const hone_shape shape = {2, {count, columns}};
  assert_int_equal(v->is_bool ? put(session, "mask", HONE_BOOL, shape, 1, bools)
                              : put(session, "mask", HONE_F32, shape, 4, added),
                   HONE_OK);
}

static hone_status feed(hone_session *session, const variant *v, int64_t length, int64_t count) {
  float data[3][MOST * HEADS * SIZE];
  static const char *const names[] = {"q", "k", "v"};
  for (int n = 0; n < 3; ++n) {
    const int64_t width = (n == 0 ? HEADS : KEY_HEADS) * SIZE;
    for (int64_t i = 0; i < count * width; ++i) data[n][i] = number(n, length + i / width, i % width);
    const int64_t dims[3] = {1, count, width};
    assert_int_equal(hone_session_set_shape(session, names[n], 3, dims), HONE_OK);
  }
  if (v->masked) put_mask(session, v, length, count);
  int64_t valid = length + count < VALID ? length + count : VALID;
  if (v->has_lengths) assert_int_equal(put(session, "valid", HONE_I64, (hone_shape){1, {1}}, 8, &valid), HONE_OK);
  for (int n = 0; n < 3; ++n)
    assert_int_equal(
        put(session, names[n], HONE_F32, (hone_shape){3, {1, count, (n == 0 ? HEADS : KEY_HEADS) * SIZE}}, 4, data[n]),
        HONE_OK);
  assert_int_equal(hone_session_set_state_length(session, length), HONE_OK);
  return hone_session_run(session);
}

static const hone_session_state pairs[] = {{"past.key", "present.key"}, {"past.value", "present.value"}};

static void check(hone_session *session, const variant *v, int64_t length, int64_t count) {
  hone_tensor y, past, present;
  assert_int_equal(hone_session_tensor(session, "y", &y), HONE_OK);
  for (int64_t i = 0; i < count * HEADS * SIZE; ++i) {
    const int64_t place = length + i / (HEADS * SIZE), head = i / SIZE % HEADS;
    const double right = want(v, place, head, i % SIZE), got = (double)((const float *)y.data)[i];
    if (!(fabs(got - right) < (v->multiply ? 2e-2 : 1e-5)))
      fail_msg("%s: token %d: %g, not %g", v->what, (int)place, got, right);
  }
  assert_int_equal(hone_session_tensor(session, "past.key", &past), HONE_OK);
  assert_int_equal(hone_session_tensor(session, "present.key", &present), HONE_OK);
  assert_ptr_equal(past.data, present.data);
  assert_int_equal(present.type.shape.dim[2], ROOM);
  assert_int_equal(present.bytes, past.bytes);
  const float *keys = past.data;
  for (int64_t h = 0; h < KEY_HEADS; ++h)
    for (int64_t t = 0; t < ROOM; ++t)
      for (int64_t d = 0; d < SIZE; ++d)
        assert_true(keys[(h * ROOM + t) * SIZE + d] == (t < length + count ? number(1, t, h * SIZE + d) : 0));
}

/* Few rows and many, which are other kernels. */
static void test_tokens(void **state) {
  static const int64_t few[] = {3, 1, 1, 2, 1, 12, 1}, many[] = {LONG, LONG + 1};
  (void)state;
  for (size_t n = 0; n < sizeof variants / sizeof *variants; ++n) {
    const variant *v = &variants[n];
    bed b;
    hone_session *session;
    int64_t length = 0;
    open_bed(&b, v);
    const hone_session_options options = {.struct_size = sizeof options, .states = pairs, .state_count = 2};
    assert_int_equal(hone_session_create(b.engine, &options, &session, NULL), HONE_OK);
    const int64_t *counts = v->multiply ? many : few;
    for (size_t i = 0; i < (v->multiply ? sizeof many : sizeof few) / sizeof *counts; ++i) {
      if (feed(session, v, length, counts[i]) != HONE_OK)
        fail_msg("%s: %s", v->what, hone_session_message(session, 0, NULL));
      check(session, v, length, counts[i]);
      length += counts[i];
    }
    /* A step back: what lies behind is overwritten. */
    if (!v->multiply) assert_int_equal(feed(session, v, length - 4, 2), HONE_OK);
    hone_session_destroy(session);
    close_bed(&b);
  }
}

static void test_refused(void **state) {
  (void)state;
  bed b;
  hone_session *session;
  open_bed(&b, &variants[0]);
  const hone_session_options both = {.struct_size = sizeof both, .states = pairs, .state_count = 2},
                             half = {.struct_size = sizeof half, .states = pairs, .state_count = 1};
  assert_int_equal(hone_session_create(b.engine, &both, &session, NULL), HONE_OK);
  assert_int_equal(feed(session, &variants[0], ROOM - 1, 1), HONE_OK);
  assert_int_equal(feed(session, &variants[0], ROOM - 1, 2), HONE_INVALID);
  assert_non_null(strstr(hone_session_message(session, 0, NULL), "2 new tokens behind 39: the cache has room for 40"));
  assert_int_equal(hone_session_set_state_length(session, -1), HONE_INVALID);
  assert_int_equal(feed(session, &variants[0], 0, 1), HONE_OK);
  hone_session_destroy(session);
  assert_int_equal(hone_session_create(b.engine, &half, &session, NULL), HONE_OK);
  assert_int_equal(feed(session, &variants[0], 0, 1), HONE_INVALID);
  assert_non_null(strstr(hone_session_message(session, 0, NULL), "together, or not at all"));
  hone_session_destroy(session);
  assert_int_equal(hone_session_create(b.engine, NULL, &session, NULL), HONE_OK);
  assert_int_equal(hone_session_set_state_length(session, 1), HONE_INVALID);
  assert_non_null(strstr(hone_session_message(session, 0, NULL), "no states"));
  hone_session_destroy(session);
  close_bed(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_tokens), cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
