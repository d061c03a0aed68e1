/* SPDX-License-Identifier: Apache-2.0 */
/* test_expr.c - expressions: text both ways, messages, numbers, and one put into another. */
#include "tensor/expr.h"
#include "tensor/attrs.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static hn_expr parse(const char *text, int in_count) {
  hn_expr expr;
  hn_diag_entry entry;
  hone_diagnostics diag;
  hn_diag_init(&diag, &entry, 1);
  if (hn_expr_parse(&diag, text, NULL, in_count, NULL, &expr) != HONE_OK) fail_msg("%s: %s", text, entry.text);
  assert_int_equal(hn_expr_verify(&diag, &expr), HONE_OK);
  return expr;
}

static void test_round_trip(void **state) {
  (void)state;
  static const struct {
    const char *text, *want;
  } row[] = {
      {"x0", "x0"},
      {" add( x0 , 1 ) ", "add(x0,1)"},
      {"mul(x0,sigmoid(x0))", "mul(x0,sigmoid(x0))"},
      {"add(mul(x0,x1),mul(x0,x1))", "t0=mul(x0,x1);add(t0,t0)"},
      {"mul(exp(x1),add(exp(x0),exp(x1)))", "t0=exp(x1);mul(t0,add(exp(x0),t0))"},
      {"select(lt(x0,0.5),x1,-2e+30)", "select(lt(x0,0.5),x1,-2e+30)"},
      {"max(x0,-inf)", "max(x0,-inf)"},
      {"a=exp(x0);b=add(a,a);mul(b,b)", "t0=exp(x0);t1=add(t0,t0);mul(t1,t1)"},
      {"unused=exp(x0);x1", "x1"},
      {"select(1,exp(x0),log(x0))", "exp(x0)"},
      {"t0=exp(x0);add(select(0,mul(t0,t0),x1),select(0.5,x0,x1))", "add(x1,select(0.5,x0,x1))"},
      {"add(x0,9007199254740993)", "add(x0,9007199254740993)"},
  };
  for (size_t i = 0; i < HN_COUNT(row); ++i) {
    const hn_expr expr = parse(row[i].text, 2);
    hn_text text;
    hn_text_init(&text, hn_allocator_default());
    hn_text_expr(&text, &expr);
    if (strcmp(hn_text_string(&text), row[i].want) != 0) fail_msg("%s gives %s", row[i].text, hn_text_string(&text));
    const hn_expr again = parse(hn_text_string(&text), 2);
    assert_int_equal(again.count, expr.count);
    assert_memory_equal(again.steps, expr.steps, (size_t)expr.count * sizeof expr.steps[0]);
    hn_text_deinit(&text);
  }
}

static void test_messages(void **state) {
  (void)state;
  static const struct {
    const char *text, *want;
  } row[] = {
      {"", "column 1: expected an input, a number, $attribute or a call, but the text ends"},
      {"add(x0)", "column 7: expected ',', not ')'"},
      {"add(x0,x1", "column 10: expected ')', but the text ends"},
      {"add(x0,y)", "column 8: y is not one of the 2 inputs"},
      {"add(x0,x2)", "column 8: x2 is not one of the 2 inputs"},
      {"frob(x0)", "column 1: no function frob"},
      {"const(x0)", "column 1: no function const"},
      {"x0 x1", "column 4: expected the end, not 'x'"},
      {"add(x0,$beta)", "column 8: $beta is not an attribute that is a number"},
      {"a=x0", "column 5: expected ';', but the text ends"},
      {"add(x0,-)", "column 8: expected a number, not '-'"},
  };
  for (size_t i = 0; i < HN_COUNT(row); ++i) {
    hn_expr expr;
    hn_diag_entry entry;
    hone_diagnostics diag;
    hn_diag_init(&diag, &entry, 1);
    assert_int_equal(hn_expr_parse(&diag, row[i].text, NULL, 2, NULL, &expr), HONE_MALFORMED);
    assert_string_equal(entry.text, row[i].want);
  }
  char deep[700] = "";
  hn_expr expr;
  for (int i = 0; i < 100; ++i) strcat(deep, "neg(");
  assert_int_equal(hn_expr_parse(NULL, deep, NULL, 1, NULL, &expr), HONE_MALFORMED);
  char wide[2000] = "";
  for (int i = 0; i < 70; ++i) {
    char part[48];
    snprintf(part, sizeof part, "s%d=add(x0,%d);", i, i);
    strcat(wide, part);
  }
  strcat(wide, "x0");
  assert_int_equal(hn_expr_parse(NULL, wide, NULL, 1, NULL, &expr), HONE_MALFORMED);
}

static void test_names_and_attributes(void **state) {
  (void)state;
  const char *const names[] = {"data", "min"};
  const hone_attr items[] = {{.name = "alpha", .kind = HONE_ATTR_FLOAT, .f = 0.25},
                             {.name = "n", .kind = HONE_ATTR_INT, .i = 3}};
  const hone_attrs attrs = {2, items};
  hn_expr expr;
  assert_int_equal(hn_expr_parse(NULL, "min(mul(data,$alpha),add(min,$n))", names, 2, &attrs, &expr), HONE_OK);
  assert_true(hn_expr_eval_real(&expr, (double[]){100, 1}) == 4);
  const hone_op lrelu = {.name = "leaky", .in = {{.name = "x"}}, .expr = "select(lt(x,0),mul(x,$alpha),x)"};
  assert_int_equal(hn_expr_of_op(NULL, &lrelu, &attrs, 1, &expr), HONE_OK);
  assert_true(hn_expr_eval_real(&expr, (double[]){-8}) == -2);
  const hone_op sum = {.name = "sum", .in = {{.name = "x", .flags = HONE_PORT_VARIADIC}}, .expr = "add(x0,x1)"};
  assert_int_equal(hn_expr_of_op(NULL, &sum, &attrs, 4, &expr), HONE_OK);
  assert_true(hn_expr_eval_real(&expr, (double[]){1, 20, 300, 4000}) == 4321);
  assert_int_equal(hn_expr_of_op(NULL, &sum, &attrs, 1, &expr), HONE_OK);
  assert_true(hn_expr_eval_real(&expr, (double[]){7}) == 7);
  assert_int_equal(hn_expr_of_op(NULL, &sum, &attrs, 60, &expr), HONE_UNSUPPORTED);
  const hone_attr fused[] = {{.name = "expr", .kind = HONE_ATTR_STRING, .count = 12, .s = "mul(x0,x1)"}};
  const hone_op fused_op = {.name = "fused", .in = {{.name = "x", .flags = HONE_PORT_VARIADIC}}, .expr = "$expr"};
  assert_int_equal(hn_expr_of_op(NULL, &fused_op, &(hone_attrs){1, fused}, 2, &expr), HONE_OK);
  assert_true(hn_expr_eval_real(&expr, (double[]){6, 7}) == 42);
  assert_true(hn_expr_flops(&expr) == 1);
}

static void test_reals(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double a, b, want;
  } row[] = {
      {"mod(x0,x1)", -7, 3, 2},       {"fmod(x0,x1)", -7, 3, -1},     {"mod(x0,x1)", 7, -3, -2},
      {"round(x0)", 2.5, 0, 2},       {"round(x0)", -3.5, 0, -4},     {"round(x0)", 0.5, 0, 0},
      {"sign(x0)", -0.1, 0, -1},      {"sigmoid(x0)", -1000, 0, 0},   {"sigmoid(x0)", 1000, 0, 1},
      {"max(x0,x1)", NAN, 1, NAN},    {"max(x0,x1)", 1, NAN, NAN},    {"min(x0,x1)", NAN, 1, NAN},
      {"min(x0,x1)", 1, NAN, NAN},    {"eq(x0,x1)", NAN, NAN, 0},     {"ne(x0,x1)", NAN, NAN, 1},
      {"isnan(x0)", NAN, 0, 1},       {"isinf(x0)", -INFINITY, 0, 1}, {"select(x0,x1,3)", 0, 2, 3},
      {"select(x0,x1,3)", 0.5, 2, 2}, {"recip(x0)", 4, 0, 0.25},      {"pow(x0,x1)", 2, 10, 1024},
      {"bit_and(x0,x1)", 6, 3, 2},    {"sub(x0,x1)", 1, 3, -2},       {"div(x0,x1)", 1, 4, 0.25},
      {"not(x0)", 0, 0, 1},           {"xor(x0,x1)", 5, 0, 1},        {"erf(x0)", 0, 0, 0},
  };
  for (size_t i = 0; i < HN_COUNT(row); ++i) {
    const hn_expr expr = parse(row[i].text, 2);
    const double got = hn_expr_eval_real(&expr, (double[]){row[i].a, row[i].b});
    if (got != row[i].want && !(isnan(got) && isnan(row[i].want))) fail_msg("%s gives %g", row[i].text, got);
  }
}

static void test_ints(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t a, b, want;
    bool wide;
  } row[] = {
      {"div(x0,x1)", -7, 2, -3, false},
      {"mod(x0,x1)", -7, 3, 2, false},
      {"fmod(x0,x1)", -7, 3, -1, false},
      {"div(x0,x1)", 1, 0, 0, false},
      {"mod(x0,x1)", 1, 0, 0, false},
      {"div(x0,x1)", INT64_MIN, -1, INT64_MIN, false},
      {"mod(x0,x1)", INT64_MIN, -1, 0, false},
      {"div(x0,x1)", -1, 2, INT64_MAX, true},
      {"lt(x0,x1)", -1, 1, 0, true},
      {"lt(x0,x1)", -1, 1, 1, false},
      {"max(x0,x1)", -1, 1, -1, true},
      {"min(x0,x1)", -1, 1, -1, false},
      {"add(x0,x1)", INT64_MAX, 1, INT64_MIN, false},
      {"neg(x0)", INT64_MIN, 0, INT64_MIN, false},
      {"shift_right(x0,x1)", -8, 1, -4, false},
      {"shift_right(x0,x1)", -8, 1, INT64_MAX - 3, true},
      {"shift_left(x0,x1)", 1, 64, 0, false},
      {"pow(x0,x1)", 3, 4, 81, false},
      {"pow(x0,x1)", -1, -3, -1, false},
      {"pow(x0,x1)", 2, -1, 0, false},
      {"pow(x0,x1)", 2, 64, 0, false},
      {"sqrt(x0)", 17, 0, 4, false},
      {"mul(x0,x1)", (int64_t)1 << 62, 6, INT64_MIN, false},
      {"bit_not(x0)", 0, 0, -1, false},
      {"add(x0,9007199254740993)", 0, 0, 9007199254740993, false},
  };
  for (size_t i = 0; i < HN_COUNT(row); ++i) {
    const hn_expr expr = parse(row[i].text, 2);
    const int64_t got = hn_expr_eval_int(&expr, (int64_t[]){row[i].a, row[i].b}, row[i].wide);
    if (got != row[i].want) fail_msg("%s gives %lld", row[i].text, (long long)got);
  }
}

static void test_inline(void **state) {
  (void)state;
  const hn_expr outer = parse("mul(x0,add(x1,x0))", 2), inner = parse("exp(sub(x1,x0))", 2);
  hn_expr joined;
  assert_true(hn_expr_inline(&outer, 0, &inner, (int[]){0, 2}, (int[]){1, 0}, 3, &joined));
  assert_int_equal(hn_expr_verify(NULL, &joined), HONE_OK);
  hn_text text;
  hn_text_init(&text, hn_allocator_default());
  hn_text_expr(&text, &joined);
  assert_string_equal(hn_text_string(&text), "t0=exp(sub(x0,x1));mul(t0,add(x2,t0))");
  hn_text_deinit(&text);
  hn_expr doubling = parse("add(x0,x0)", 1), chain = doubling;
  int length = 1;
  while (hn_expr_inline(&doubling, 0, &chain, (int[]){0}, (int[]){0}, 1, &chain)) ++length;
  assert_int_equal(length, HN_EXPR_MAX_STEPS - 1); /* one input, then an instruction each */
  hn_text_init(&text, hn_allocator_default());
  hn_text_expr(&text, &chain);
  assert_true(text.length < 2000); /* sharing keeps 2^63 terms short */
  const hn_expr again = parse(hn_text_string(&text), 1);
  assert_memory_equal(&again, &chain, sizeof again.count + sizeof again.in_count);
  assert_true(hn_expr_eval_real(&chain, (double[]){1}) == 0x1p63);
  hn_text_deinit(&text);
}

static void test_verify(void **state) {
  (void)state;
  hn_expr expr = parse("add(x0,x1)", 2);
  expr.steps[2].b = 2;
  assert_int_equal(hn_expr_verify(NULL, &expr), HONE_INTERNAL);
  expr.steps[2].b = 1;
  expr.in_count = 1;
  assert_int_equal(hn_expr_verify(NULL, &expr), HONE_INTERNAL);
  expr.in_count = 2;
  expr.steps[0].op = HN_EXPR_OP_COUNT;
  assert_int_equal(hn_expr_verify(NULL, &expr), HONE_INTERNAL);
  expr.count = 0;
  assert_int_equal(hn_expr_verify(NULL, &expr), HONE_INTERNAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip), cmocka_unit_test(test_messages), cmocka_unit_test(test_names_and_attributes),
      cmocka_unit_test(test_reals),      cmocka_unit_test(test_ints),     cmocka_unit_test(test_inline),
      cmocka_unit_test(test_verify),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
