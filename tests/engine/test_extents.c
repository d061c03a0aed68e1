/* SPDX-License-Identifier: Apache-2.0 */
/* test_extents.c - extents that are free until an instance is made, or until a step has run, and must then fit others:
 * those that fit say what the reference says, those that do not are refused in words, and nothing is read past a
 * block's end, behind which stands a forbidden page. */
#include "ir/text.h"
#include "support/guard.h"
#include "support/small_net.h"
#include <hone/hone.h>
#include <hone/tensor_io.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 16384 };

/* y has one free dim, and every graph one output %out. fits: the tuned shape; also: another that fits, or -1. */
typedef struct row {
  const char *y, *text;
  int64_t fits, also, wrong;
} row;

static const row rows[] = {
    {"f32[3,4,N]", " in %x: f32[3,4,500]\n %out = add(%x, %y)\n", 500, 1, 2},
    {"f32[3,4,N]", " in %x: f32[3,4,500]\n %out = add(%x, %y)\n", 1, 500, 499},
    {"bool[3,4,N]", " in %x: f32[3,4,500]\n %r = relu(%x)\n %out = where(%y, %x, %r)\n", 500, 1, 2},
    {"f32[3,4,N]", " in %x: f32[3,4,500]\n %out = equal(%x, %y)\n", 500, 1, 2},
    {"i32[3,4,N]", " in %x: i32[3,4,500]\n %out = bit_shift(%x, %y) [direction=\"LEFT\"]\n", 500, 1, 2},
    {"f32[3,4,N]", " in %x: f32[3,4,500]\n %out = sum(%x, %y, %y)\n", 500, 1, 2},
    {"f32[3,4,N]", " in %x: f32[3,4,500]\n in %w: f32[3,1,N]\n %out = max(%w, %y, %x)\n", 500, 1, 2},
    {"f32[3,4,N]", " in %x: f32[3,4,500]\n %a = mul(%x, %y)\n %b = add(%a, %x)\n %out = relu(%b)\n", 500, 1, 2},
    {"f32[N,6,8]", " in %x: f32[50,8,6]\n %out = matmul(%x, %y)\n", 50, 1, 2},
    {"f32[20,N]", " in %x: f32[300,7]\n %out = matmul(%y, %x)\n", 300, -1, 2},
    {"f32[N,7]", " in %x: f32[20,300]\n const %w: f32[7] = random 1\n %out = gemm(%x, %y, %w)\n", 300, -1, 2},
    {"f32[2,N]", " in %x: f32[2,300]\n %out = concat(%x, %y) [axis=0]\n", 300, -1, 2},
    {"f32[3,N]", " const %s: i64[2] = [3, 400]\n in %x: f32[1]\n %e = expand(%y, %s)\n %out = add(%e, %x)\n", 400, 1,
     2},
    {"f32[1,N,9,9]", " in %x: f32[1]\n const %w: f32[8,64,3,3] = random 1\n %c = conv(%y, %w)\n %out = add(%c, %x)\n",
     64, -1, 2},
    {"f32[8,N,3,3]", " in %x: f32[1,64,9,9]\n %out = conv(%x, %y)\n", 64, -1, 128},
    {"f32[N]", " in %x: f32[9,256]\n %out = layer_norm(%x, %y)\n", 256, -1, 2},
    {"f32[N,1,1]", " in %x: f32[2,256,3,3]\n %out = prelu(%x, %y)\n", 256, 1, 2},
    {"i64[40,N]", " in %x: f32[50,60]\n in %w: f32[40,60]\n %out = scatter_elements(%x, %y, %w) [axis=0]\n", 60, -1,
     59},
    {"f32[N,40]", " in %x: f32[M,40]\n %out = add(%x, %y)\n", 50, 1, 2},
};

/* The same where the dim comes out of a run: the first so many rows of a constant are selected. */
static const row late_rows[] = {
    {"f32[3,4,500]", " in %x: f32[3,4,500]\n %k = compress(%y, %mask) [axis=2]\n %out = add(%x, %k)\n", 500, 1, 2},
    {"f32[3,4,500]", " in %x: f32[3,4,500]\n %k = compress(%y, %mask) [axis=2]\n %out = sum(%k, %x, %x)\n", 500, 1, 2},
    {"f32[3,4,500]",
     " in %x: f32[3,4,500]\n %k = compress(%y, %mask) [axis=2]\n %l = greater(%k, %k)\n %out = where(%l, %x, %x)\n",
     500, 1, 2},
    {"f32[3,4,500]",
     " in %x: f32[3,4,500]\n %k = compress(%y, %mask) [axis=2]\n %m = mul(%k, %x)\n %out = reduce_max(%m) "
     "[keepdims=0]\n",
     500, 1, 2},
    {"f32[50,6,8]", " in %x: f32[50,8,6]\n %k = compress(%y, %mask) [axis=0]\n %out = matmul(%x, %k)\n", 50, 1, 2},
    {"f32[2,300]", " in %x: f32[2,300]\n %k = compress(%y, %mask) [axis=1]\n %out = concat(%x, %k) [axis=0]\n", 300, -1,
     2},
    {"f32[1,64,9,9]",
     " in %x: f32[1]\n const %w: f32[8,64,3,3] = random 1\n %k = compress(%y, %mask) [axis=1]\n %c = conv(%k, %w)\n"
     " %out = add(%c, %x)\n",
     64, -1, 2},
    {"f32[1,50,4]",
     " in %x: f32[1,2,50]\n const %most: i64[] = [6]\n %k = compress(%y, %mask) [axis=1]\n"
     " %out = non_max_suppression(%k, %x, %most)\n",
     50, -1, 2},
    {"f32[3,4,500]",
     " in %x: f32[3,4,500]\n in %ask: bool[]\n %k = compress(%y, %mask) [axis=2]\n"
     " %out = if(%ask, %x, %k)\n (%a: f32[3,4,500], %b: f32[3,4,L]) {\n %c = add(%a, %b)\n yield %c\n }\n"
     " (%d: f32[3,4,500], %e: f32[3,4,L]) {\n %f = sub(%d, %e)\n yield %f\n }\n",
     500, 1, 2},
};

typedef struct side {
  hone_context *context;
  hone_device *device;
  hone_engine *engine;
  hone_session *session;
} side;

static void check(const side *s, hone_status status, const char *what) {
  if (status == HONE_OK) return;
  const char *said = s->session ? hone_session_message(s->session, 0, NULL) : hone_context_message(s->context, 0, NULL);
  fail_msg("%s: %s", what, said ? said : "?");
}

static hone_status build(side *s, const char *text, bool reference, const hone_profile_shape *shapes, int shape_count) {
  const hone_build_options options = {.struct_size = sizeof options,
                                      .level = 1,
                                      .reference_only = reference,
                                      .shapes = shapes,
                                      .shape_count = shape_count};
  hone_graph *graph;
  check(s, hn_graph_parse(s->context, text, strlen(text), NULL, 0, &graph), text);
  const hone_status status = hone_engine_build(s->context, graph, &s->device, 1, &options, &s->engine);
  hone_graph_destroy(graph);
  return status;
}

static void open_side(side *s) {
  const hone_context_options guarded = {.struct_size = sizeof guarded, .resize = guard_resize};
  const hone_device_options options = {.struct_size = sizeof options, .threads = 2};
  *s = (side){0};
  assert_int_equal(hone_context_create(&guarded, &s->context), HONE_OK);
  assert_int_equal(hone_device_open(s->context, "cpu", 0, &options, &s->device), HONE_OK);
}

static void close_side(side *s) {
  hone_session_destroy(s->session);
  hone_engine_release(s->engine);
  hone_device_close(s->device);
  hone_context_destroy(s->context);
}

/* The shape of an input as its text says, with n for every free dim. */
static hone_shape shape_of(const char *type, int64_t n) {
  hone_shape shape = {0};
  for (const char *p = strchr(type, '['); *p && *p != ']';) {
    long long dim;
    ++p;
    shape.dim[shape.rank++] = sscanf(p, "%lld", &dim) == 1 ? dim : n;
    p += strcspn(p, ",]");
  }
  return shape;
}

static void fill(side *s, const char *input) {
  static float room[MOST];
  hone_tensor x;
  check(s, hone_session_tensor(s->session, input, &x), input);
  if (x.type.dtype != HONE_F32) return;
  assert_true(hone_tensor_count(&x) <= MOST);
  x.data = room;
  small_net_fill(&x, 7);
  check(s, hone_session_copy_in(s->session, input, &x), input);
}

static void expect_same(side sides[2], const char *text) {
  hone_tensor out[2];
  for (int k = 0; k < 2; ++k) {
    check(&sides[k], hone_session_run(sides[k].session), text);
    check(&sides[k], hone_session_tensor(sides[k].session, "out", &out[k]), text);
  }
  assert_int_equal(out[0].type.shape.rank, out[1].type.shape.rank);
  for (int d = 0; d < out[0].type.shape.rank; ++d) assert_int_equal(out[0].type.shape.dim[d], out[1].type.shape.dim[d]);
  for (int64_t i = 0; i < hone_tensor_count(&out[0]); ++i)
    assert_float_equal(hone_tensor_real(&out[0], i), hone_tensor_real(&out[1], i), 1e-3);
}

static void expect_refused(const side *s, hone_status status, const char *text) {
  if (status != HONE_INVALID) fail_msg("status %d, not invalid: %s", (int)status, text);
  if (hone_session_message_count(s->session) < 1 || !strstr(hone_session_message(s->session, 0, NULL), "in step"))
    fail_msg("the message names no step: %s", text);
}

static void test_free_dims(void **state) {
  (void)state;
  for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r) {
    const row *c = &rows[r];
    char text[1024];
    (void)snprintf(text, sizeof text, "graph \"g\" opset 17 {\n in %%y: %s\n%s out %%out\n}\n", c->y, c->text);
    const bool both = strstr(c->text, "[3,1,N]") != NULL, m = strstr(c->text, "[M,40]") != NULL;
    const char *other = both ? "f32[3,1,N]" : "f32[M,40]";
    const hone_profile_shape shapes[2] = {
        {"y", shape_of(c->y, 1), shape_of(c->y, c->fits), shape_of(c->y, 600), 0},
        {both ? "w" : "x", shape_of(other, 1), shape_of(other, c->fits), shape_of(other, 600), 0}};
    side sides[2];
    for (int k = 0; k < 2; ++k) {
      open_side(&sides[k]);
      check(&sides[k], build(&sides[k], text, k == 1, shapes, both || m ? 2 : 1), text);
      check(&sides[k], hone_session_create(sides[k].engine, NULL, &sides[k].session, NULL), text);
    }
    for (int turn = 0; turn < 3; ++turn) { /* what fits runs again after what does not */
      const int64_t n = turn == 0 ? c->fits : turn == 1 ? c->wrong : c->also > 0 ? c->also : c->fits;
      for (int k = 0; k < 2; ++k) {
        const hone_shape y = shape_of(c->y, n), w = shape_of("f32[3,1,N]", n);
        check(&sides[k], hone_session_set_shape(sides[k].session, "y", y.rank, y.dim), text);
        if (both) check(&sides[k], hone_session_set_shape(sides[k].session, "w", w.rank, w.dim), text);
        if (turn == 1) {
          expect_refused(&sides[k], hone_session_run(sides[k].session), text);
          continue;
        }
        fill(&sides[k], "x");
        fill(&sides[k], "y");
      }
      if (turn != 1) expect_same(sides, text);
    }
    for (int k = 0; k < 2; ++k) close_side(&sides[k]);
  }
}

static void choose_rows(side *s, int64_t count) {
  hone_tensor mask;
  check(s, hone_session_tensor(s->session, "mask", &mask), "mask");
  bool room[600] = {0};
  memset(room, 1, (size_t)count);
  mask.data = room;
  check(s, hone_session_copy_in(s->session, "mask", &mask), "mask");
}

static void test_after_run(void **state) {
  (void)state;
  for (size_t r = 0; r < sizeof late_rows / sizeof *late_rows; ++r) {
    const row *c = &late_rows[r];
    char text[1024];
    (void)snprintf(text, sizeof text, "graph \"g\" opset 17 {\n in %%y: %s\n in %%mask: bool[%lld]\n%s out %%out\n}\n",
                   c->y, (long long)c->fits, c->text);
    side sides[2];
    for (int k = 0; k < 2; ++k) {
      open_side(&sides[k]);
      check(&sides[k], build(&sides[k], text, k == 1, NULL, 0), text);
      check(&sides[k], hone_session_create(sides[k].engine, NULL, &sides[k].session, NULL), text);
      fill(&sides[k], "x");
      fill(&sides[k], "y");
    }
    for (int turn = 0; turn < 3; ++turn) {
      const int64_t n = turn == 0 ? c->fits : turn == 1 ? c->wrong : c->also > 0 ? c->also : c->fits;
      for (int k = 0; k < 2; ++k) {
        choose_rows(&sides[k], n);
        if (turn == 1) expect_refused(&sides[k], hone_session_run(sides[k].session), text);
      }
      if (turn != 1) expect_same(sides, text);
    }
    for (int k = 0; k < 2; ++k) close_side(&sides[k]);
  }
}

static void test_told_at_build(void **state) {
  (void)state;
  static const char text[] = "graph \"g\" opset 17 {\n in %x: f32[3,4,500]\n in %y: f32[3,4,N]\n"
                             " %z = relu(%x)\n %out = add(%z, %y)\n out %out\n}\n";
  const hone_profile_shape never = {"y", {3, {3, 4, 1}}, {3, {3, 4, 2}}, {3, {3, 4, 500}}, 0};
  side s;
  open_side(&s);
  assert_int_equal(build(&s, text, false, &never, 1), HONE_INVALID);
  const char *said = hone_context_message(s.context, 0, NULL);
  assert_non_null(strstr(said, "extents 500 and 2 do not broadcast"));
  assert_non_null(strstr(said, "opt shapes"));
  close_side(&s);
}

static void note_warning(void *user, hone_log_level level, const char *line) {
  char *all = user;
  if (level == HONE_LOG_WARN) (void)snprintf(all + strlen(all), MOST - strlen(all), "%s\n", line);
}

/* 1 and 500 broadcast, and nothing between does. */
static void test_warned_at_build(void **state) {
  (void)state;
  static const char text[] = "graph \"g\" opset 17 {\n in %x: f32[3,4,500]\n in %y: f32[3,4,N]\n"
                             " %out = add(%x, %y)\n out %out\n}\n";
  static char said[MOST];
  const hone_profile_shape between = {"y", {3, {3, 4, 1}}, {3, {3, 4, 1}}, {3, {3, 4, 500}}, 0};
  const hone_profile_shape beyond = {"y", {3, {3, 4, 1}}, {3, {3, 4, 1}}, {3, {3, 4, 600}}, 0};
  const hone_context_options logs = {
      .struct_size = sizeof logs, .log = note_warning, .log_user = said, .log_level = HONE_LOG_WARN};
  side s = {0};
  assert_int_equal(hone_context_create(&logs, &s.context), HONE_OK);
  assert_int_equal(hone_device_open(s.context, "cpu", 0, NULL, &s.device), HONE_OK);
  check(&s, build(&s, text, false, &between, 1), text);
  assert_non_null(strstr(said, "the middle of the profile cannot run: extents 500 and 251 do not broadcast"));
  assert_null(strstr(said, "the profile's max"));
  hone_engine_release(s.engine);
  check(&s, build(&s, text, false, &beyond, 1), text);
  assert_non_null(strstr(said, "the profile's max cannot run: extents 500 and 600 do not broadcast"));
  assert_int_equal(hone_context_message_count(s.context), 0);
  close_side(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_free_dims), cmocka_unit_test(test_after_run),
                                     cmocka_unit_test(test_told_at_build), cmocka_unit_test(test_warned_at_build)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
