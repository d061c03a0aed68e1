/* SPDX-License-Identifier: Apache-2.0 */
/* test_copy.c - strided copies with positive, negative and zero strides, and fills. */
#include "kernels/cpu/copy/copy.h"

#include "kernel_test.h"

/* Random extents; both sides are windows of larger tensors, the source partly reversed or repeated. */
static void check_random(uint64_t *seed) {
  const int32_t rank = (int32_t)random_below(seed, HN_COPY_RANK + 1), bytes = 1 << random_below(seed, 4);
  int64_t dim[HN_COPY_RANK], from[HN_COPY_RANK], to[HN_COPY_RANK];
  int64_t from_size = 1, to_size = 1, start = 0, total = 1;
  for (int32_t i = rank - 1; i >= 0; --i) {
    dim[i] = 1 + random_below(seed, rank > 5 ? 4 : rank > 2 ? 7 : 60);
    const int64_t step = random_below(seed, 3) ? 1 : 1 + random_below(seed, 3);
    const int64_t turn = random_below(seed, 8);
    from[i] = turn == 0 ? 0 : turn == 1 ? -from_size * step : from_size * step;
    if (from[i] < 0) start -= from[i] * (dim[i] - 1);
    from_size *= from[i] == 0 ? 1 : (dim[i] - 1) * step + 1 + random_below(seed, 2);
    to[i] = to_size * (random_below(seed, 4) ? 1 : 2);
    to_size = to[i] * (dim[i] + random_below(seed, 2));
    total *= dim[i];
  }
  guarded x = guarded_new((size_t)(from_size * bytes)), y = guarded_new((size_t)(to_size * bytes));
  guarded want = guarded_new(y.bytes);
  for (size_t i = 0; i < x.bytes; ++i) x.data[i] = (char)random_next(seed);
  memset(y.data, 0x5a, y.bytes);
  memset(want.data, 0x5a, y.bytes);
  for (int64_t at = 0; at < total; ++at) {
    int64_t left = at, f = start, t = 0;
    for (int32_t i = rank - 1; i >= 0; --i) {
      f += left % dim[i] * from[i];
      t += left % dim[i] * to[i];
      left /= dim[i];
    }
    memcpy(want.data + t * bytes, x.data + f * bytes, (size_t)bytes);
  }
  hn_copy_plan plan;
  hn_copy_plan_make(&plan, rank, dim, from, to, bytes);
  IN_PIECES(seed, plan.units, hn_copy_c(&plan, x.data + start * bytes, y.data, begin, end))
  assert_memory_equal(y.data, want.data, y.bytes);
  guarded_free(&x);
  guarded_free(&y);
  guarded_free(&want);
}

static void test_random(void **state) {
  (void)state;
  uint64_t seed = 6;
  for (int i = 0; i < 4000; ++i) check_random(&seed);
}

static void test_long_line(void **state) {
  (void)state;
  uint64_t seed = 7;
  enum { N = 50001 };
  guarded x = random_floats(&seed, N, 1.0F), y = guarded_new(N * 4);
  hn_copy_plan plan;
  hn_copy_plan_make(&plan, 1, (const int64_t[]){N}, (const int64_t[]){1}, (const int64_t[]){1}, 4);
  assert_true(plan.units > 1);
  IN_PIECES(&seed, plan.units, hn_copy_c(&plan, x.data, y.data, begin, end))
  assert_memory_equal(x.data, y.data, x.bytes);
  hn_copy_plan_make(&plan, 1, (const int64_t[]){N}, (const int64_t[]){-1}, (const int64_t[]){1}, 4);
  IN_PIECES(&seed, plan.units, hn_copy_c(&plan, floats(&x) + N - 1, y.data, begin, end))
  for (int i = 0; i < N; ++i) assert_true(floats(&y)[i] == floats(&x)[N - 1 - i]);
  hn_copy_plan_make(&plan, 2, (const int64_t[]){3, 0}, (const int64_t[]){1, 1}, (const int64_t[]){1, 1}, 4);
  assert_int_equal(plan.units, 0);
  guarded_free(&x);
  guarded_free(&y);
}

static void test_fill(void **state) {
  (void)state;
  const uint64_t value = UINT64_C(0x0123456789abcdef);
  for (int32_t bytes = 1; bytes <= 8; bytes *= 2) {
    guarded y = guarded_new((size_t)(100 * bytes));
    memset(y.data, 0x5a, y.bytes);
    hn_fill_c(y.data, &value, bytes, 3, 97);
    for (int i = 0; i < 100; ++i)
      for (int b = 0; b < bytes; ++b)
        assert_int_equal((unsigned char)y.data[i * bytes + b],
                         i >= 3 && i < 97 ? ((const unsigned char *)&value)[b] : 0x5a);
    guarded_free(&y);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_long_line),
                                     cmocka_unit_test(test_fill)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
