/* SPDX-License-Identifier: Apache-2.0 */
/* test_random.c - operators that draw: shapes and types, distributions within what chance leaves, the same numbers in
 * any window and of one seed, others of another; and inverses, against matrices that are worked out by hand. */
#include "unit/ops/op_case.h"

extern const hone_op hn_op_random_normal, hn_op_random_uniform, hn_op_random_normal_like, hn_op_random_uniform_like,
    hn_op_bernoulli, hn_op_multinomial, hn_op_inverse;

static const op_infer_row infer_rows[] = {
    {"random_normal", &hn_op_random_normal, "", {OP_INTS("shape", 2, 3)}, HONE_OK, "f32[2,3]"},
    {"random_normal_like", &hn_op_random_normal_like, "f16[N,3]", {{0}}, HONE_OK, "f16[N,3]"},
    {"random_uniform_like in another type",
     &hn_op_random_uniform_like,
     "i64[N,3]",
     {OP_INT("dtype", 11)},
     HONE_OK,
     "f64[N,3]"},
    {"random_uniform_like integers", &hn_op_random_uniform_like, "i64[3]", {{0}}, HONE_MALFORMED, ""},
    {"random_normal, a negative extent", &hn_op_random_normal, "", {OP_INTS("shape", 2, -1)}, HONE_MALFORMED, ""},
    {"bernoulli as bool", &hn_op_bernoulli, "f32[N]", {OP_INT("dtype", 9)}, HONE_OK, "bool[N]"},
    {"multinomial",
     &hn_op_multinomial,
     "f32[N,5]",
     {OP_INT("sample_size", 7), OP_INT("dtype", 7)},
     HONE_OK,
     "i64[N,7]"},
    {"multinomial of a vector", &hn_op_multinomial, "f32[5]", {{0}}, HONE_MALFORMED, ""},
    {"multinomial as reals", &hn_op_multinomial, "f32[2,5]", {OP_INT("dtype", 1)}, HONE_MALFORMED, ""},
    {"inverse", &hn_op_inverse, "f32[N,3,3]", {{0}}, HONE_OK, "f32[N,3,3]"},
    {"inverse of no square", &hn_op_inverse, "f32[2,3]", {{0}}, HONE_MALFORMED, ""},
};

static const op_eval_row eval_rows[] = {
    {"inverse of two matrices, one with its rows swapped",
     &hn_op_inverse,
     "f64[2,2,2]",
     {{0}},
     {{2, 1, 1, 1, 0, 4, 2, 0}},
     0,
     {1, -1, -1, 2, 0, 0.5, 0.25, 0},
     1e-12},
};

enum { COUNT = 40000 };

/* COUNT elements of the row, window by window; p: what every element of the input is. */
static double *drawn(const hone_op *op, const char *in, const hone_attr *attr, int64_t window, double p) {
  op_case c;
  double *numbers = malloc(COUNT * sizeof *numbers);
  assert_non_null(numbers);
  op_begin(&c, op, in, attr);
  assert_int_equal(op_infer(&c, op), HONE_OK);
  hone_tensor x = {.type = c.in_count ? c.in[0].type : (hone_type){.kind = HONE_ABSENT}},
              y = {.type = c.out[0].type, .bytes = hn_bytes(&c.out[0].type)};
  assert_int_equal(hn_elems(&y.type.shape), COUNT);
  y.data = calloc(1, y.bytes);
  if (x.type.kind == HONE_TENSOR) {
    x.bytes = hn_bytes(&x.type);
    x.data = calloc(1, x.bytes + 1);
    for (int64_t i = 0; i < hn_elems(&x.type.shape); ++i) hn_store_real(&x, i, i % 4 == 3 ? log(3) : p);
  }
  hone_eval eval = {
      .op = op, .attrs = &c.attrs, .in_count = c.in_count, .out_count = 1, .in = &x, .out = &y, .diagnostics = &c.diag};
  for (int64_t first = 0; first < COUNT; first += window)
    assert_int_equal(op->eval(&eval, &(hone_window){.output = 0, .first = first, .last = first + window}), HONE_OK);
  for (int64_t i = 0; i < COUNT; ++i) numbers[i] = hn_real(&y, i);
  free(x.data);
  free(y.data);
  hn_arena_deinit(&c.arena);
  return numbers;
}

/* The mean of f over the numbers, five standard errors of `deviation` at most from `want`. */
static void check_mean(const char *what, const double *numbers, double (*f)(double), double want, double deviation) {
  double sum = 0;
  for (int64_t i = 0; i < COUNT; ++i) sum += f(numbers[i]);
  if (!(fabs(sum / COUNT - want) < 5 * deviation / sqrt(COUNT)))
    fail_msg("%s: a mean of %g, not %g", what, sum / COUNT, want);
}
static double itself(double x) { return x; }
static double squared(double x) { return x * x; }
static double fourth(double x) { return x * x * x * x; }
static double below_half(double x) { return x < 0.5; }
static double is_last(double x) { return x == 3; }

static void test_distributions(void **state) {
  (void)state;
  const hone_attr wide[OP_ATTRS] = {OP_INTS("shape", 200, 200), OP_FLOAT("seed", 3)};
  const hone_attr chosen[OP_ATTRS] = {OP_INT("sample_size", COUNT), OP_FLOAT("seed", 5)};
  double *normal = drawn(&hn_op_random_normal, "", wide, COUNT, 0);
  check_mean("normal", normal, itself, 0, 1);
  check_mean("normal, squared", normal, squared, 1, sqrt(2));
  check_mean("normal, its fourth power", normal, fourth, 3, sqrt(96));
  double *uniform = drawn(&hn_op_random_uniform, "", wide, COUNT, 0);
  check_mean("uniform", uniform, itself, 0.5, sqrt(1.0 / 12));
  check_mean("uniform, lower half", uniform, below_half, 0.5, 0.5);
  for (int64_t i = 0; i < COUNT; ++i) assert_true(uniform[i] >= 0 && uniform[i] <= 1);
  double *ones = drawn(&hn_op_bernoulli, "f32[40000]", (hone_attr[OP_ATTRS]){{0}}, COUNT, 0.25);
  check_mean("bernoulli, a fourth of them certain", ones, itself, 0.25 * 0.75 + 0.25, 0.5);
  double *classes = drawn(&hn_op_multinomial, "f32[1,4]", chosen, COUNT, 0); /* 1, 1, 1 and 3 */
  check_mean("multinomial, the last of four", classes, is_last, 0.5, 0.5);
  free(normal), free(uniform), free(ones), free(classes);
}

static void test_windows_and_seeds(void **state) {
  (void)state;
  hone_attr attr[OP_ATTRS] = {OP_INTS("shape", 200, 200), OP_FLOAT("seed", 3)};
  double *all = drawn(&hn_op_random_normal, "", attr, COUNT, 0), *parts = drawn(&hn_op_random_normal, "", attr, 160, 0);
  assert_memory_equal(all, parts, COUNT * sizeof *all);
  attr[1].f = 4;
  double *others = drawn(&hn_op_random_normal, "", attr, COUNT, 0);
  double product = 0;
  for (int64_t i = 0; i < COUNT; ++i) product += all[i] * others[i];
  assert_true(fabs(product / COUNT) < 5 / sqrt(COUNT)); /* no sign of each other */
  free(all), free(parts), free(others);
}

static void test_infer(void **state) {
  (void)state;
  op_check_infer(infer_rows, sizeof infer_rows / sizeof *infer_rows);
}

static void test_eval(void **state) {
  (void)state;
  op_check_eval(eval_rows, sizeof eval_rows / sizeof *eval_rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_infer), cmocka_unit_test(test_eval),
                                     cmocka_unit_test(test_distributions), cmocka_unit_test(test_windows_and_seeds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
