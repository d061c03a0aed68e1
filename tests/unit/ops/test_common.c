/* SPDX-License-Identifier: Apache-2.0 */
/* test_common.c - what all operators share: the registry, broadcasting, values through infer, elementwise eval under
 * windows, inference on actual inputs, rows. */
#include "ops/op.h"
#include "ops/registry.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void test_registry(void **state) {
  (void)state;
  const hn_op_list *list = hn_builtin_ops();
  for (int i = 0; i < list->count; ++i) {
    if (i > 0 && strcmp(list->rows[i - 1]->name, list->rows[i]->name) >= 0)
      fail_msg("ops.inc is not sorted: %s before %s", list->rows[i - 1]->name, list->rows[i]->name);
    assert_true(list->rows[i]->struct_size == sizeof(hone_op));
    assert_ptr_equal(hn_op_find(list, list->rows[i]->name), list->rows[i]);
  }
  assert_null(hn_op_find(list, "no_such_op"));
  static const hone_op old = {.name = "a_op", .onnx = {{.name = "Thing", .first = 1, .last = 6}}};
  static const hone_op other = {.name = "b_op", .onnx = {{.name = "Thing", .first = 3, .last = 9, .domain = "com.x"}}};
  static const hone_op new = {.name = "c_op", .onnx = {{.name = "Thing", .first = 8, .last = HONE_LATEST}}};
  const hone_op *const rows[] = {&old, &other, &new};
  const hn_op_list small = {.rows = rows, .count = 3};
  const hone_onnx_row *row;
  bool known;
  assert_ptr_equal(hn_op_find_onnx(&small, "", "Thing", 6, &row, &known), &old);
  assert_ptr_equal(hn_op_find_onnx(&small, "ai.onnx", "Thing", 21, &row, &known), &new);
  assert_ptr_equal(row, &new.onnx[0]);
  assert_ptr_equal(hn_op_find_onnx(&small, "com.x", "Thing", 6, &row, &known), &other);
  assert_null(hn_op_find_onnx(&small, NULL, "Thing", 7, &row, &known));
  assert_true(known && !row);
  assert_null(hn_op_find_onnx(&small, NULL, "Nothing", 7, &row, &known));
  assert_false(known);
}

static const hone_op add_op = {
    .name = "add", .in = {{.name = "a"}, {.name = "b"}}, .expr = "add(a,b)", .infer = hn_infer_broadcast};

typedef struct fixture {
  hn_arena arena;
  hone_dims dims;
  hn_diag_entry entries[4];
  hone_diagnostics diag;
} fixture;

static int begin(void **state) {
  static fixture fix;
  hn_arena_init(&fix.arena, hn_allocator_default());
  hn_dims_init(&fix.dims, &fix.arena);
  hn_diag_init(&fix.diag, fix.entries, 4);
  *state = &fix;
  return 0;
}

static int end(void **state) {
  hn_arena_deinit(&((fixture *)*state)->arena);
  return 0;
}

static hone_status infer_two(fixture *fix, const hone_op *op, const hone_fact *in, int in_count, hone_fact *out) {
  static const hone_attrs none;
  hone_infer infer = {.op = op,
                      .attrs = &none,
                      .in_count = in_count,
                      .out_count = 1,
                      .in = in,
                      .out = out,
                      .dims = &fix->dims,
                      .diagnostics = &fix->diag,
                      .arena = &fix->arena};
  return op->infer(&infer);
}

static void test_broadcast(void **state) {
  fixture *fix = *state;
  const int64_t n = hn_dim_named(&fix->dims, "N"), m = hn_dim_named(&fix->dims, "M");
  const struct {
    const char *what;
    hone_shape a, b;
    hone_status status;
    hone_shape want;
  } row[] = {
      {"same", {2, {2, 3}}, {2, {2, 3}}, HONE_OK, {2, {2, 3}}},
      {"lower rank", {3, {4, 2, 3}}, {1, {3}}, HONE_OK, {3, {4, 2, 3}}},
      {"both ways", {2, {1, 3}}, {2, {2, 1}}, HONE_OK, {2, {2, 3}}},
      {"empty", {1, {0}}, {1, {1}}, HONE_OK, {1, {0}}},
      {"scalar", {0, {0}}, {0, {0}}, HONE_OK, {0, {0}}},
      {"symbol with 1", {1, {n}}, {1, {1}}, HONE_OK, {1, {n}}},
      {"symbol with a number", {1, {n}}, {1, {5}}, HONE_OK, {1, {5}}},
      {"two symbols", {1, {n}}, {1, {m}}, HONE_OK, {1, {hn_dim_max(&fix->dims, n, m)}}},
      {"unknown rank", {-1, {0}}, {1, {5}}, HONE_OK, {-1, {0}}},
      {"unequal", {1, {4}}, {1, {5}}, HONE_MALFORMED, {0, {0}}},
      {"empty with 2", {1, {0}}, {1, {2}}, HONE_MALFORMED, {0, {0}}},
  };
  for (size_t i = 0; i < HN_COUNT(row); ++i) {
    const hone_fact in[] = {{.type = {HONE_TENSOR, HONE_F32, HONE_PLAIN, row[i].a}},
                            {.type = {HONE_TENSOR, HONE_F32, HONE_PLAIN, row[i].b}}};
    hone_fact out = {.type = {HONE_TENSOR, HONE_F32, HONE_PLAIN, {.rank = -1}}};
    hn_diag_clear(&fix->diag);
    const hone_status got = infer_two(fix, &add_op, in, 2, &out);
    if (got != row[i].status || (fix->diag.count == 0) != (got == HONE_OK)) fail_msg("%s: status %d", row[i].what, got);
    if (got == HONE_OK && !hn_shape_equal(&out.type.shape, &row[i].want)) fail_msg("%s: another shape", row[i].what);
  }
}

static void test_values(void **state) {
  fixture *fix = *state;
  const int64_t n = hn_dim_named(&fix->dims, "N");
  const struct {
    const char *expr;
    hone_dtype dtype, out_dtype;
    int64_t a[2], b[1];
    bool known;
    int64_t want[2];
  } row[] = {
      {"add(a,b)", HONE_I64, HONE_I64, {1, 2}, {10}, true, {11, 12}},
      {"div(a,b)", HONE_I64, HONE_I64, {7, -7}, {2}, true, {3, -3}},
      {"mul(a,b)", HONE_I8, HONE_I8, {100, -1}, {2}, true, {-56, -2}},
      {"add(a,b)", HONE_I64, HONE_I64, {n, 2}, {1}, true, {hn_dim_add(&fix->dims, n, 1), 3}},
      {"div(mul(a,b),b)", HONE_I64, HONE_I64, {n, 9}, {2}, true, {n, 9}},
      {"eq(a,b)", HONE_I64, HONE_BOOL, {n, -1}, {-1}, true, {0, 1}},
      {"eq(a,b)", HONE_I64, HONE_BOOL, {n, 3}, {3}, false, {0, 0}},
      {"select(eq(a,b),1,a)", HONE_I64, HONE_I64, {n, -1}, {-1}, true, {n, 1}},
      {"lt(a,b)", HONE_I64, HONE_BOOL, {n, 5}, {0}, true, {0, 0}},
      {"div(sub(a,b),2)", HONE_I64, HONE_I64, {n, 5}, {1}, false, {0, 0}}, /* N - 1 may be negative */
      {"exp(add(a,b))", HONE_I64, HONE_I64, {n, 5}, {1}, false, {0, 0}},
      {"mul(a,b)", HONE_I64, HONE_I64, {HONE_SYMBOL_BASE + 2, 1}, {6}, true, {INT64_MIN + 12, 6}}, /* wraps as int64
                                                                                                      does */
      {"add(a,b)", HONE_I64, HONE_I64, {HONE_SYMBOL_BASE + 2, 1}, {-3}, false, {0, 0}}, /* would read as a symbol */
  };
  for (size_t i = 0; i < HN_COUNT(row); ++i) {
    const hone_op op = {
        .name = "test", .in = {{.name = "a"}, {.name = "b"}}, .expr = row[i].expr, .infer = hn_infer_broadcast};
    const hone_fact in[] = {
        {.type = hn_tensor_type(row[i].dtype, 1, (int64_t[]){2}), .value = row[i].a, .value_count = 2},
        {.type = hn_tensor_type(row[i].dtype, 1, (int64_t[]){1}), .value = row[i].b, .value_count = 1}};
    hone_fact out = {.type = {HONE_TENSOR, row[i].out_dtype, HONE_PLAIN, {.rank = -1}}};
    assert_int_equal(infer_two(fix, &op, in, 2, &out), HONE_OK);
    if ((out.value != NULL) != row[i].known) fail_msg("row %zu (%s): known is %d", i, row[i].expr, out.value != NULL);
    if (!out.value) continue;
    assert_int_equal(out.value_count, 2);
    for (int j = 0; j < 2; ++j)
      if (out.value[j] != row[i].want[j])
        fail_msg("row %zu (%s): element %d is %lld", i, row[i].expr, j, (long long)out.value[j]);
    assert_false(fix->dims.failed);
  }
}

static void test_value_of_constant(void **state) {
  fixture *fix = *state;
  int32_t data[] = {4, -1};
  const hone_tensor constant = hn_tensor_over(HONE_I32, 1, (int64_t[]){2}, data);
  const hone_fact in[] = {{.type = constant.type, .constant = &constant},
                          {.type = constant.type, .constant = &constant}};
  hone_fact out = {.type = {HONE_TENSOR, HONE_I32, HONE_PLAIN, {.rank = -1}}};
  assert_int_equal(infer_two(fix, &add_op, in, 2, &out), HONE_OK);
  assert_true(out.value_count == 2 && out.value[0] == 8 && out.value[1] == -2);
}

static void test_axis(void **state) {
  fixture *fix = *state;
  hone_infer infer = {.diagnostics = &fix->diag};
  int axis;
  assert_true(hn_infer_axis(&infer, -1, 3, &axis) == HONE_OK && axis == 2);
  assert_true(hn_infer_axis(&infer, 0, 3, &axis) == HONE_OK && axis == 0);
  assert_int_equal(fix->diag.count, 0);
  assert_int_equal(hn_infer_axis(&infer, 3, 3, &axis), HONE_MALFORMED);
  assert_string_equal(fix->entries[0].text, "axis 3 is not in [-3, 2]");
  assert_int_equal(hn_infer_axis(&infer, INT64_MIN, 3, &axis), HONE_MALFORMED);
  assert_int_equal(hn_infer_axis(&infer, 0, 0, &axis), HONE_MALFORMED);
}

/* Every window of a broadcasting sum gives what the whole gives there, and leaves the rest alone. */
static void test_eval_windows(void **state) {
  (void)state;
  enum { ELEMS = 2 * 3 * 40 };
  float a[ELEMS], b[3], whole[ELEMS], part[ELEMS];
  for (int i = 0; i < ELEMS; ++i) a[i] = (float)i;
  for (int i = 0; i < 3; ++i) b[i] = 1000.0f * (float)(i + 1);
  const hone_tensor in[] = {hn_tensor_over(HONE_F32, 3, (int64_t[]){2, 3, 40}, a),
                            hn_tensor_over(HONE_F32, 2, (int64_t[]){3, 1}, b)};
  hone_tensor out = hn_tensor_over(HONE_F32, 3, (int64_t[]){2, 3, 40}, whole);
  hone_eval eval = {.op = &add_op, .in_count = 2, .out_count = 1, .in = in, .out = &out};
  assert_int_equal(hn_eval_expr(&eval, NULL), HONE_OK);
  for (int i = 0; i < ELEMS; ++i) assert_true(whole[i] == a[i] + b[i / 40 % 3]);
  out.data = part;
  for (int first = 0; first < ELEMS; first += 7)
    for (int last = first; last <= ELEMS; last += 11) {
      for (int i = 0; i < ELEMS; ++i) part[i] = -1;
      assert_int_equal(hn_eval_expr(&eval, &(hone_window){0, first, last}), HONE_OK);
      for (int i = 0; i < ELEMS; ++i) assert_true(part[i] == (i >= first && i < last ? whole[i] : -1));
    }
}

static void test_eval_domains(void **state) {
  (void)state;
  const hone_op where = {.name = "where", .in = {{.name = "c"}, {.name = "x"}, {.name = "y"}}, .expr = "select(c,x,y)"};
  bool c[] = {true, false};
  int64_t x[] = {INT64_MAX, 1}, y[] = {3, INT64_MIN + 1}, got[2];
  hone_tensor in[] = {hn_tensor_over(HONE_BOOL, 1, (int64_t[]){2}, c), hn_tensor_over(HONE_I64, 1, (int64_t[]){2}, x),
                      hn_tensor_over(HONE_I64, 1, (int64_t[]){2}, y)};
  hone_tensor out = hn_tensor_over(HONE_I64, 1, (int64_t[]){2}, got);
  hone_eval eval = {.op = &where, .in_count = 3, .out_count = 1, .in = in, .out = &out};
  assert_int_equal(hn_eval_expr(&eval, NULL), HONE_OK);
  assert_true(got[0] == INT64_MAX && got[1] == INT64_MIN + 1); /* no double could hold them */
  hone_string s[] = {{"yes", 3}, {"yes", 3}}, t[] = {{"no", 2}, {"no", 2}}, chosen[2];
  in[1] = hn_tensor_over(HONE_STRING, 1, (int64_t[]){2}, s);
  in[2] = hn_tensor_over(HONE_STRING, 1, (int64_t[]){2}, t);
  out = hn_tensor_over(HONE_STRING, 1, (int64_t[]){2}, chosen);
  assert_int_equal(hn_eval_expr(&eval, NULL), HONE_OK);
  assert_true(chosen[0].length == 3 && chosen[1].length == 2);
  eval.op = &add_op;
  assert_int_equal(hn_eval_expr(&eval, NULL), HONE_UNSUPPORTED);
  uint64_t big[] = {UINT64_MAX, 8}, two[] = {2, 2}, half[2];
  const hone_op div_op = {.name = "div", .in = {{.name = "a"}, {.name = "b"}}, .expr = "div(a,b)"};
  in[0] = hn_tensor_over(HONE_U64, 1, (int64_t[]){2}, big);
  in[1] = hn_tensor_over(HONE_U64, 1, (int64_t[]){2}, two);
  out = hn_tensor_over(HONE_U64, 1, (int64_t[]){2}, half);
  eval.op = &div_op;
  eval.in_count = 2;
  assert_int_equal(hn_eval_expr(&eval, NULL), HONE_OK);
  assert_true(half[0] == UINT64_MAX / 2 && half[1] == 4);
}

static hone_status give_room(hone_eval *eval, int output, int rank, const int64_t *dims) {
  static float room[64];
  eval->out[output] = hn_tensor_over(eval->out[output].type.dtype, rank, dims, room);
  return eval->out[output].bytes <= sizeof room ? HONE_OK : HONE_NO_MEMORY;
}

static hone_status infer_from_value(hone_infer *infer) {
  int64_t count;
  const int64_t *dims = hn_in_value(infer, 0, &count);
  if (!dims) return hn_out_after_run(infer, 0, 1, 100);
  if (count > HONE_MAX_RANK) return HN_INFER_FAIL(infer, "rank %lld", (long long)count);
  hn_out_shape(infer, 0, (int)count, dims);
  return HONE_OK;
}

static void test_reinfer(void **state) {
  fixture *fix = *state;
  const hone_op op = {.name = "fill", .in = {{.name = "shape"}}, .infer = infer_from_value};
  int32_t dims[] = {2, 5};
  hone_tensor in[] = {hn_tensor_over(HONE_I32, 1, (int64_t[]){2}, dims)};
  hone_tensor out = {.type = {HONE_TENSOR, HONE_F32, HONE_PLAIN, {.rank = -1}}};
  hone_eval eval = {
      .op = &op, .in_count = 1, .out_count = 1, .in = in, .out = &out, .resize = give_room, .diagnostics = &fix->diag};
  assert_int_equal(hn_eval_reinfer(&eval), HONE_OK);
  assert_true(out.data && out.type.shape.rank == 2 && out.type.shape.dim[1] == 5);
  out.data = NULL;
  in[0] = hn_tensor_over(HONE_I32, 1, (int64_t[]){2}, NULL); /* nothing there: the dims stay unknown */
  assert_true(hn_eval_reinfer(&eval) != HONE_OK && fix->diag.count > 0);
}

static void test_rows(void **state) {
  (void)state;
  const hone_shape shape = {3, {2, 3, 4}};
  const hn_rows rows = hn_rows_along(&shape, -2);
  assert_true(rows.outer == 2 && rows.len == 3 && rows.inner == 4);
  assert_int_equal(hn_row_at(&rows, 5, 2), 1 * 12 + 2 * 4 + 1);
  hone_tensor out = {.type = hn_tensor_type(HONE_F32, 3, shape.dim)};
  const hone_eval eval = {.out_count = 1, .out = &out};
  for (int64_t begin = 0; begin < 24; ++begin)
    for (int64_t stop = begin; stop <= 24; ++stop) { /* every element of the window lies in one of the rows */
      int64_t first, last;
      hn_rows_window(&eval, &(hone_window){0, begin, stop}, &rows, &first, &last);
      assert_true(first >= 0 && last <= 8);
      for (int64_t at = begin; at < stop; ++at) {
        const int64_t row = at / 12 * 4 + at % 4;
        assert_true(row >= first && row < last);
      }
    }
}

static void test_cost(void **state) {
  (void)state;
  const hone_fact in = {.type = hn_tensor_type(HONE_F32, 1, (int64_t[]){10})};
  const hone_attr attr = {.name = "expr", .kind = HONE_ATTR_STRING, .count = 14, .s = "add(mul(x0,x0),1)"};
  const hone_cost fused = hn_cost_elementwise(&(hone_attrs){1, &attr}, &in, 1, &in, 1);
  assert_true(fused.flops == 20 && fused.bytes_read == 40 && fused.bytes_written == 40);
  const hone_cost copy = hn_cost_copy(NULL, &in, 1, &in, 1);
  assert_true(copy.flops == 0 && copy.bytes_read == 40);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_registry),
      cmocka_unit_test_setup_teardown(test_broadcast, begin, end),
      cmocka_unit_test_setup_teardown(test_values, begin, end),
      cmocka_unit_test_setup_teardown(test_value_of_constant, begin, end),
      cmocka_unit_test_setup_teardown(test_axis, begin, end),
      cmocka_unit_test(test_eval_windows),
      cmocka_unit_test(test_eval_domains),
      cmocka_unit_test_setup_teardown(test_reinfer, begin, end),
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_cost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
