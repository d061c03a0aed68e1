/* SPDX-License-Identifier: Apache-2.0 */
/* test_softmax.c - softmax and log-softmax against double, every variant, remainders, extremes and split ranges. */
#include "kernels/cpu/softmax/softmax.h"

#include "kernel_test.h"
#include <float.h>

static hn_softmax_fn *const softmax[] = VARIANTS_OF(hn_softmax_f32);
static hn_softmax_fn *const log_softmax[] = VARIANTS_OF(hn_log_softmax_f32);

/* Fills want with softmax or its logarithm. */
static void reference(const hn_softmax_args *a, int take_log, double *want) {
  for (int64_t line = 0; line < a->outer * a->inner; ++line) {
    const int64_t base = line / a->inner * a->axis * a->inner + line % a->inner;
    double top = -INFINITY, sum = 0;
    for (int64_t j = 0; j < a->axis; ++j) top = fmax(top, as_f32(a->x)[base + j * a->inner]);
    for (int64_t j = 0; j < a->axis; ++j) sum += exp(as_f32(a->x)[base + j * a->inner] - top);
    for (int64_t j = 0; j < a->axis; ++j) {
      const double x = as_f32(a->x)[base + j * a->inner] - top;
      want[base + j * a->inner] = take_log ? x - log(sum) : exp(x) / sum;
    }
  }
}

static void check_case(uint64_t *seed, int64_t outer, int64_t axis, int64_t inner, float scale) {
  const int64_t n = outer * axis * inner;
  guarded x = random_floats(seed, n, scale), y = guarded_new((size_t)n * 4), z = guarded_new((size_t)n * 4);
  double *const wanted = test_malloc((size_t)n * sizeof *wanted);
  for (int v = 0; v < VARIANTS; ++v) {
    for (int take_log = 0; take_log < 2 && variant_runs(v); ++take_log) {
      hn_softmax_fn *const f = take_log ? log_softmax[v] : softmax[v];
      hn_softmax_args a = {floats(&x), floats(&y), outer, axis, inner};
      f(&a, 0, hn_softmax_units(&a));
      reference(&a, take_log, wanted);
      for (int64_t i = 0; i < n; ++i) {
        const double want = wanted[i];
        if (!take_log && want < FLT_MIN && floats(&y)[i] == 0) continue; /* no exponential is subnormal */
        /* exp's argument is rounded: its error is relative to the argument's size. */
        const double bound = take_log ? 2e-7 * (2.0 * scale + 20.0) : want * 6e-7 * (1.0 + scale);
        CHECK_NEAR(floats(&y)[i], want, bound + 1e-40, "%s log %d, %d x %d x %d at %d", variant_name[v], take_log,
                   (int)outer, (int)axis, (int)inner, (int)i);
      }
      /* In place, in pieces: the same bits. */
      memcpy(z.data, x.data, x.bytes);
      a.x = a.y = floats(&z);
      IN_PIECES(seed, hn_softmax_units(&a), f(&a, begin, end))
      assert_memory_equal(z.data, y.data, y.bytes);
    }
  }
  test_free(wanted);
  guarded_free(&x);
  guarded_free(&y);
  guarded_free(&z);
}

static void test_shapes(void **state) {
  (void)state;
  uint64_t seed = 1;
  for (int64_t axis = 1; axis < 140; ++axis) check_case(&seed, 3, axis, 1, 4.0F);
  static const int64_t inner[] = {2, 3, 15, 16, 17, 63, 64, 65, 100, 131};
  for (size_t i = 0; i < COUNT(inner); ++i) check_case(&seed, 2, 7, inner[i], 4.0F);
  check_case(&seed, 2, 5000, 1, 10.0F);
  check_case(&seed, 2, 33, 1, 80.0F);
}

static void test_extremes(void **state) {
  (void)state;
  static const struct {
    const char *what;
    float x[3], want[3];
  } row[] = {
      {"large", {1e30F, 1e30F, -1e30F}, {0.5F, 0.5F, 0.0F}},
      {"masked", {-INFINITY, 2.0F, -INFINITY}, {0.0F, 1.0F, 0.0F}},
      {"nothing left", {-INFINITY, -INFINITY, -INFINITY}, {NAN, NAN, NAN}},
      {"NaN", {1.0F, NAN, 1.0F}, {NAN, NAN, NAN}},
  };
  for (int v = 0; v < VARIANTS; ++v) {
    for (size_t r = 0; r < COUNT(row) && variant_runs(v); ++r) {
      float y[3];
      const hn_softmax_args a = {row[r].x, y, 1, 3, 1};
      softmax[v](&a, 0, 1);
      for (int i = 0; i < 3; ++i) CHECK_NEAR(y[i], row[r].want[i], 0.0, "%s %s at %d", variant_name[v], row[r].what, i);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes), cmocka_unit_test(test_extremes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
