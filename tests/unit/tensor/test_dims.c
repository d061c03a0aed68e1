/* SPDX-License-Identifier: Apache-2.0 */
/* test_dims.c - canonical forms (equal texts must give equal codes), numbers against a direct evaluation, limits. */
#include "base/diag.h"
#include "base/random.h"
#include "tensor/dims.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

typedef struct fixture {
  hn_arena arena;
  hone_dims dims;
  hn_text text;
} fixture;

static int begin(void **state) {
  static fixture fix;
  hn_arena_init(&fix.arena, hn_allocator_default());
  hn_dims_init(&fix.dims, &fix.arena);
  hn_text_init(&fix.text, hn_allocator_default());
  *state = &fix;
  return 0;
}

static int end(void **state) {
  fixture *fix = *state;
  hn_text_deinit(&fix->text);
  hn_arena_deinit(&fix->arena);
  return 0;
}

static int64_t parse(fixture *fix, const char *text) {
  int64_t dim;
  if (!hn_dim_parse(&fix->dims, text, strlen(text), &dim)) fail_msg("cannot read %s", text);
  return dim;
}

static void test_canonical(void **state) {
  fixture *fix = *state;
  static const struct {
    const char *a, *b;
  } equal[] = {
      {"floor((N*3*H*W)/(N*3))", "H*W"},
      {"(a+b)-b", "a"},
      {"floor((2*H)/2)", "H"},
      {"H*W*N", "N*W*H"},
      {"a+b+1", "1+b+a"},
      {"2*(a+b)", "a+b+a+b"},
      {"(a+b)*(a-b)", "a*a-b*b"},
      {"floor((a*c+b*c)/(a+b))", "c"},
      {"floor(((a+b)*(a+2*b+1))/(a+b))", "a+2*b+1"},
      {"floor((2*H+1)/2)", "H"},
      {"floor((H+5)/2)", "floor((H+1)/2)+2"},
      {"floor((H-1)/2)+1", "floor((H+1)/2)"},
      {"floor((3*H)/2)", "H+floor(H/2)"},
      {"floor((2*H+3)/4)", "floor((H+1)/2)"},
      {"floor((floor((H+1)/2)+1)/2)", "floor((H+3)/4)"},
      {"floor((N*H)/(2*N))", "floor(H/2)"},
      {"floor((3*N*H)/(2*N))", "H+floor(H/2)"},
      {"floor((N*H+5)/N)", "H+floor(5/N)"},
      {"ceil(H/2)", "floor((H+1)/2)"},
      {"ceil((4*H)/2)", "2*H"},
      {"mod(4*H+5,4)", "1"},
      {"mod(N*H,N)", "0"},
      {"mod(6*H+1,4)", "mod(2*H+1,4)"},
      {"mod(mod(H,4),7)", "mod(H,4)"},
      {"min(a,min(b,a))", "min(b,a)"},
      {"max(a,0)", "a"},
      {"min(a,-1)", "-1"},
      {"max(a+1,a)", "a+1"},
      {"max(max(a,3),max(b,7))", "max(b,max(7,a))"},
      {"min(5,7)", "5"},
      {"H-H", "0"},
      {"0*H", "0"},
      {"--1", NULL},
      {"-(-H)", "H"},
      {"floor(7/2)", "3"},
      {"floor(-7/2)", "-4"},
  };
  for (size_t i = 0; i < HN_COUNT(equal); ++i) {
    int64_t a, b;
    const bool read = hn_dim_parse(&fix->dims, equal[i].a, strlen(equal[i].a), &a);
    if (!equal[i].b) {
      assert_false(read);
      continue;
    }
    b = parse(fix, equal[i].b);
    hn_text_clear(&fix->text);
    hn_text_dim(&fix->text, a, &fix->dims);
    if (a != b) fail_msg("%s is %s, not %s", equal[i].a, hn_text_string(&fix->text), equal[i].b);
    assert_true(parse(fix, hn_text_string(&fix->text)) == a);
  }
  static const char *const different[][2] = {{"a", "b"}, {"floor(H/2)", "floor((H+1)/2)"}, {"2*H", "3*H"}, {"H", "1"}};
  for (size_t i = 0; i < HN_COUNT(different); ++i)
    assert_true(parse(fix, different[i][0]) != parse(fix, different[i][1]));
  assert_false(fix->dims.failed);
}

static void test_text(void **state) {
  fixture *fix = *state;
  static const char *const texts[] = {"N",
                                      "2*N+1",
                                      "floor(H/2)",
                                      "N-1",
                                      "-N+1",
                                      "N*N",
                                      "mod(N,3)",
                                      "-3",
                                      "min(N,7)",
                                      "floor((N+2)/(H*H))",
                                      "\"batch size\"",
                                      "\"1x\"",
                                      "\"a\\\"b\\n\"",
                                      "nms#4",
                                      "-4*H+2*floor(N/3)",
                                      "max(2*N+H,3*H)"};
  for (size_t i = 0; i < HN_COUNT(texts); ++i) {
    (void)parse(fix, "N+H"); /* fixes which symbol comes first */
    hn_text_clear(&fix->text);
    hn_text_dim(&fix->text, parse(fix, texts[i]), &fix->dims);
    assert_string_equal(hn_text_string(&fix->text), texts[i]);
  }
  static const char *const bad[] = {"",
                                    "N+",
                                    "2**N",
                                    "(N",
                                    "N)",
                                    "floor(N)",
                                    "floor(N,2)",
                                    "\"open",
                                    "mod(N/2)",
                                    "huge(N)",
                                    "99999999999999999999",
                                    "N N",
                                    "\"\\q\"",
                                    "-",
                                    "*"};
  int64_t dim;
  for (size_t i = 0; i < HN_COUNT(bad); ++i)
    if (hn_dim_parse(&fix->dims, bad[i], strlen(bad[i]), &dim)) fail_msg("%s was read", bad[i]);
  assert_false(fix->dims.failed);
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* One of eight operations, on expressions and on what they are worth. */
static int64_t apply(hone_dims *dims, int op, int64_t a, int64_t b, int64_t x, int64_t y, int64_t *out_value) {
  switch (op) {
  case 0: *out_value = x + y; return hn_dim_add(dims, a, b);
  case 1: *out_value = x - y; return hn_dim_sub(dims, a, b);
  case 2: *out_value = x * y; return hn_dim_mul(dims, a, b);
  case 3: *out_value = floor_div(x, y); return hn_dim_floor_div(dims, a, b);
  case 4: *out_value = -floor_div(-x, y); return hn_dim_ceil_div(dims, a, b);
  case 5: *out_value = x - y * floor_div(x, y); return hn_dim_mod(dims, a, b);
  case 6: *out_value = x < y ? x : y; return hn_dim_min(dims, a, b);
  default: *out_value = x > y ? x : y; return hn_dim_max(dims, a, b);
  }
}

/* Random expressions: the canonical form has the value that the operations give one by one. */
static void test_against_numbers(void **state) {
  fixture *fix = *state;
  const char *const names[] = {"a", "b", "c"};
  hn_random random = {7};
  for (int trial = 0; trial < 3000; ++trial) {
    int64_t values[3], dim[8], want[8];
    int count = 0;
    for (int i = 0; i < 3; ++i) {
      dim[count] = hn_dim_named(&fix->dims, names[i]);
      want[count++] = values[i] = 1 + (int64_t)(hn_random_u64(&random) % 9);
    }
    dim[count] = want[count] = (int64_t)(hn_random_u64(&random) % 12) - 3;
    ++count;
    while (count < 8) {
      const uint64_t pick = hn_random_u64(&random);
      const int op = (int)(pick % 8), i = (int)(pick / 8 % (uint64_t)count), j = (int)(pick / 64 % (uint64_t)count);
      const bool divides = op >= 3 && op <= 5;
      int64_t low, high;
      if (divides && (want[j] <= 0 || (hn_dim_bounds(&fix->dims, dim[j], &low, &high), low < 0))) continue;
      dim[count] = apply(&fix->dims, op, dim[i], dim[j], want[i], want[j], &want[count]);
      if (fix->dims.failed) { /* too large to keep is an answer too */
        fix->dims.failed = false;
        break;
      }
      int64_t got, low_bound, high_bound;
      hn_text_clear(&fix->text);
      hn_text_dim(&fix->text, dim[count], &fix->dims);
      if (!hn_dim_eval(&fix->dims, dim[count], values, 3, &got)) {
        assert_non_null(strchr(hn_text_string(&fix->text), '/')); /* a divisor that is 0 inside an unused branch */
        break;
      }
      if (got != want[count])
        fail_msg("trial %d: %s is %lld with a=%lld b=%lld c=%lld, not %lld", trial, hn_text_string(&fix->text),
                 (long long)got, (long long)values[0], (long long)values[1], (long long)values[2],
                 (long long)want[count]);
      (void)hn_dim_bounds(&fix->dims, dim[count], &low_bound, &high_bound);
      assert_true(low_bound <= got && got <= high_bound);
      const int64_t again = parse(fix, hn_text_string(&fix->text));
      if (again != dim[count]) {
        hn_text_add(&fix->text, " reads back as ");
        hn_text_dim(&fix->text, again, &fix->dims);
        fail_msg("%s", hn_text_string(&fix->text));
      }
      ++count;
    }
  }
}

static void test_symbols(void **state) {
  fixture *fix = *state;
  hone_dims *dims = &fix->dims;
  int number;
  const int64_t batch = hn_dim_named(dims, "batch"), fresh = hn_dim_fresh(dims, "nms", true, 100);
  assert_true(hn_dim_named(dims, "batch") == batch && batch != fresh && hn_dim_fresh(dims, "nms", true, 100) != fresh);
  assert_string_equal(hn_dim_symbol_at(dims, batch, &number)->name, "batch");
  assert_int_equal(number, 0);
  assert_null(hn_dim_at(dims, 5));
  assert_null(hn_dim_symbol_at(dims, hn_dim_add(dims, batch, 1), NULL));
  const int64_t sum = hn_dim_add(dims, batch, fresh);
  assert_true(hn_dim_is_after_run(dims, sum) && !hn_dim_is_after_run(dims, batch));
  int64_t low, high, out;
  assert_true(hn_dim_bounds(dims, fresh, &low, &high) && low == 0 && high == 100);
  assert_true(hn_dim_bounds(dims, 7, &low, &high) && low == 7 && high == 7);
  const int64_t endless = hn_dim_fresh(dims, "rows", true, INT64_MAX);
  assert_false(hn_dim_bounds(dims, endless, &low, &high));
  assert_true(low == 0 && high == INT64_MAX);
  assert_false(hn_dim_eval(dims, sum, (int64_t[]){4, -1}, 2, &out));
  assert_true(hn_dim_eval(dims, sum, (int64_t[]){4, 6}, 2, &out) && out == 10);
  assert_false(hn_dim_eval(dims, hn_dim_mul(dims, batch, fresh), (int64_t[]){INT64_MAX, 2}, 2, &out));
  assert_false(hn_dim_eval(dims, hn_dim_floor_div(dims, batch, fresh), (int64_t[]){5, 0}, 2, &out));
  hone_shape known;
  const hone_shape shape = {.rank = 2, .dim = {batch, 3}}, below = {.rank = 1, .dim = {hn_dim_sub(dims, batch, 9)}};
  assert_true(hn_shape_eval(dims, &shape, (int64_t[]){8}, 1, &known) && known.dim[0] == 8 && known.dim[1] == 3);
  assert_false(hn_shape_eval(dims, &below, (int64_t[]){8}, 1, &known));
}

static void test_limits(void **state) {
  fixture *fix = *state;
  hone_dims *dims = &fix->dims;
  int64_t dim = hn_dim_named(dims, "x");
  for (int i = 0; i < 200 && !dims->failed; ++i) /* doubles in size until it is refused */
    dim = hn_dim_max(dims, hn_dim_floor_div(dims, hn_dim_add(dims, dim, 1), hn_dim_named(dims, "y")),
                     hn_dim_mod(dims, hn_dim_add(dims, dim, 2), hn_dim_named(dims, "z")));
  assert_true(dims->failed);
  dims->failed = false;
  assert_true(hn_dim_mul(dims, INT64_MAX, 2) == 0 && dims->failed);
  dims->failed = false;
  assert_true(hn_dim_add(dims, HONE_SYMBOL_BASE + 1, -1) == 0 && dims->failed); /* would read as a symbol */
  dims->failed = false;
  for (int i = 0; i < 1000; ++i) (void)hn_dim_add(dims, hn_dim_fresh(dims, "s", false, 9), i);
  assert_false(dims->failed);
  hone_dims bare;
  hn_dims_init(&bare, NULL);
  assert_true(hn_dim_floor_div(&bare, 7, 2) == 3 && !bare.failed);
  assert_true(hn_dim_named(&bare, "x") == 0 && bare.failed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_canonical, begin, end),
      cmocka_unit_test_setup_teardown(test_text, begin, end),
      cmocka_unit_test_setup_teardown(test_against_numbers, begin, end),
      cmocka_unit_test_setup_teardown(test_symbols, begin, end),
      cmocka_unit_test_setup_teardown(test_limits, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
