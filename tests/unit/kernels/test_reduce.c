/* SPDX-License-Identifier: Apache-2.0 */
/* test_reduce.c - the reductions against double, every variant and kind, remainders, NaN and split ranges. */
#include "kernels/cpu/reduce/reduce.h"

#include "kernel_test.h"

static hn_reduce_fn *const reduce[] = VARIANTS_OF(hn_reduce_f32);

/* Returns the reduction; *size gets the sum of sizes, which a sum's rounding error is relative to. */
static double reference(const hn_reduce_args *a, int64_t o, int64_t c, double *size) {
  double sum = 0, sizes = 0, squares = 0, product = 1, top = -INFINITY, low = INFINITY;
  for (int64_t i = 0; i < a->axis; ++i) {
    const double x = as_f32(a->x)[(o * a->axis + i) * a->inner + c];
    sum += x;
    sizes += fabs(x);
    squares += x * x;
    product *= x;
    top = fmax(top, x);
    low = fmin(low, x);
  }
  *size = sizes;
  switch (a->kind) {
  case HN_REDUCE_SUM: return sum;
  case HN_REDUCE_MEAN: *size /= (double)a->axis; return sum / (double)a->axis;
  case HN_REDUCE_MAX: *size = 0; return top;
  case HN_REDUCE_MIN: *size = 0; return low;
  case HN_REDUCE_PRODUCT: *size = fabs(product) * (double)a->axis * 0.2; return product;
  case HN_REDUCE_L1: return sizes;
  case HN_REDUCE_SUM_SQUARE: *size = squares; return squares;
  default: *size = sqrt(squares); return sqrt(squares);
  }
}

static void check_case(uint64_t *seed, int64_t outer, int64_t axis, int64_t inner) {
  const int64_t n = outer * axis * inner, m = outer * inner;
  guarded x = random_floats(seed, n, 1.5F), y = guarded_new((size_t)m * 4), z = guarded_new((size_t)m * 4);
  for (int v = 0; v < VARIANTS; ++v) {
    for (int kind = HN_REDUCE_SUM; kind <= HN_REDUCE_L2 && variant_runs(v); ++kind) {
      hn_reduce_args a = {floats(&x), floats(&y), outer, axis, inner, (hn_reduce_kind)kind};
      reduce[v](&a, 0, hn_reduce_units(&a));
      for (int64_t i = 0; i < m; ++i) {
        double size;
        const double want = reference(&a, i / inner, i % inner, &size);
        CHECK_NEAR(floats(&y)[i], want, 6e-7 * size + 1e-44, "%s kind %d, %d x %d x %d at %d", variant_name[v], kind,
                   (int)outer, (int)axis, (int)inner, (int)i);
      }
      a.y = floats(&z);
      IN_PIECES(seed, hn_reduce_units(&a), reduce[v](&a, begin, end))
      assert_memory_equal(z.data, y.data, y.bytes);
    }
  }
  guarded_free(&x);
  guarded_free(&y);
  guarded_free(&z);
}

static void test_shapes(void **state) {
  (void)state;
  uint64_t seed = 2;
  for (int64_t axis = 1; axis < 150; ++axis) check_case(&seed, 2, axis, 1);
  static const int64_t inner[] = {2, 3, 15, 16, 17, 63, 64, 65, 100, 131};
  for (size_t i = 0; i < COUNT(inner); ++i)
    for (int64_t axis = 1; axis < 70; axis += 11) check_case(&seed, 2, axis, inner[i]);
  check_case(&seed, 1, 300001, 1);
  check_case(&seed, 1, 20003, 5);
}

static void test_nan_is_kept(void **state) {
  (void)state;
  float x[37], y;
  for (int v = 0; v < VARIANTS; ++v) {
    for (int at = 0; at < 37 && variant_runs(v); ++at) {
      for (int i = 0; i < 37; ++i) x[i] = (float)i;
      x[at] = NAN;
      hn_reduce_args a = {x, &y, 1, 37, 1, HN_REDUCE_MAX};
      reduce[v](&a, 0, 1);
      assert_true(isnan(y));
      a.kind = HN_REDUCE_MIN;
      reduce[v](&a, 0, 1);
      assert_true(isnan(y));
    }
  }
}

static void test_infinities_and_nothing(void **state) {
  (void)state;
  const float x[3] = {1.0F, INFINITY, 2.0F};
  for (int v = 0; v < VARIANTS; ++v) {
    if (!variant_runs(v)) continue;
    float y = 0;
    hn_reduce_args a = {x, &y, 1, 3, 1, HN_REDUCE_SUM};
    reduce[v](&a, 0, 1);
    assert_true(isinf(y) && y > 0);
    a.axis = 0;
    reduce[v](&a, 0, 1);
    assert_true(y == 0.0F);
    a.kind = HN_REDUCE_MAX;
    reduce[v](&a, 0, 1);
    assert_true(isinf(y) && y < 0);
  }
}

/* Without the correction the error grows with the length: several times this bound at four million. */
static void test_long_sum(void **state) {
  (void)state;
  enum { N = 1 << 22 };
  uint64_t seed = 21;
  guarded x = random_floats(&seed, N, 0.5F);
  double want = 0;
  for (int i = 0; i < N; ++i) {
    floats(&x)[i] += 0.5F;
    want += floats(&x)[i];
  }
  for (int v = 0; v < VARIANTS; ++v) {
    if (!variant_runs(v)) continue;
    float y = 0, columns[2];
    hn_reduce_args a = {floats(&x), &y, 1, N, 1, HN_REDUCE_SUM};
    reduce[v](&a, 0, 1);
    CHECK_NEAR(y, want, 1.2e-7 * want, "%s row", variant_name[v]);
    a = (hn_reduce_args){floats(&x), columns, 1, N / 2, 2, HN_REDUCE_SUM};
    reduce[v](&a, 0, 1);
    CHECK_NEAR((double)columns[0] + columns[1], want, 1.2e-7 * want, "%s columns", variant_name[v]);
  }
  guarded_free(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes), cmocka_unit_test(test_nan_is_kept),
                                     cmocka_unit_test(test_long_sum), cmocka_unit_test(test_infinities_and_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
