/* SPDX-License-Identifier: Apache-2.0 */
/* test_transpose.c - permutations of every rank and element size against an index by index copy. */
#include "kernels/cpu/transpose/transpose.h"

#include "kernel_test.h"

static hn_transpose_fn *const transpose[] = VARIANTS_OF(hn_transpose);

static void reference(int32_t rank, const int64_t *dim, const int32_t *perm, int32_t bytes, const char *x, char *y) {
  int64_t stride[HN_TRANSPOSE_RANK], total = 1;
  for (int32_t i = rank - 1; i >= 0; --i) {
    stride[i] = total;
    total *= dim[i];
  }
  for (int64_t at = 0; at < total; ++at) {
    int64_t left = at, from = 0;
    for (int32_t i = rank - 1; i >= 0; --i) {
      from += left % dim[perm[i]] * stride[perm[i]];
      left /= dim[perm[i]];
    }
    memcpy(y + at * bytes, x + from * bytes, (size_t)bytes);
  }
}

static void check_case(uint64_t *seed, int32_t rank, const int64_t *dim, const int32_t *perm, int32_t bytes) {
  size_t size = (size_t)bytes;
  for (int32_t i = 0; i < rank; ++i) size *= (size_t)dim[i];
  guarded x = guarded_new(size), y = guarded_new(size), want = guarded_new(size);
  for (size_t i = 0; i < size; ++i) x.data[i] = (char)random_next(seed);
  reference(rank, dim, perm, bytes, x.data, want.data);
  hn_transpose_plan plan;
  hn_transpose_plan_make(&plan, rank, dim, perm, bytes);
  for (int v = 0; v < VARIANTS; ++v) {
    if (!variant_runs(v)) continue;
    memset(y.data, 0x5a, size);
    IN_PIECES(seed, plan.units, transpose[v](&plan, x.data, y.data, begin, end))
    if (memcmp(y.data, want.data, size) != 0)
      fail_msg("%s: rank %d, %d bytes, first extent %d", variant_name[v], (int)rank, (int)bytes, (int)dim[0]);
  }
  guarded_free(&x);
  guarded_free(&y);
  guarded_free(&want);
}

static void test_random(void **state) {
  (void)state;
  uint64_t seed = 3;
  for (int trial = 0; trial < 3000; ++trial) {
    int64_t dim[HN_TRANSPOSE_RANK];
    int32_t perm[HN_TRANSPOSE_RANK];
    const int32_t rank = (int32_t)random_below(&seed, HN_TRANSPOSE_RANK + 1);
    for (int32_t i = 0; i < rank; ++i) {
      dim[i] = 1 + random_below(&seed, rank > 5 ? 4 : rank > 3 ? 9 : 30);
      const int32_t j = (int32_t)random_below(&seed, i + 1);
      perm[i] = perm[j];
      perm[j] = i;
    }
    check_case(&seed, rank, dim, perm, 1 << random_below(&seed, 4));
  }
}

static void test_matrices(void **state) {
  (void)state;
  uint64_t seed = 4;
  static const int32_t swap[2] = {1, 0}, keep[2] = {0, 1};
  static const int64_t side[] = {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130};
  for (size_t i = 0; i < COUNT(side); ++i)
    for (size_t j = 0; j < COUNT(side); ++j)
      for (int32_t bytes = 1; bytes <= 8; bytes *= 2)
        check_case(&seed, 2, (const int64_t[]){side[i], side[j]}, swap, bytes);
  check_case(&seed, 2, (const int64_t[]){300, 301}, keep, 4);
  check_case(&seed, 2, (const int64_t[]){300, 301}, keep, 1);
}

static void test_nothing(void **state) {
  (void)state;
  hn_transpose_plan plan;
  hn_transpose_plan_make(&plan, 3, (const int64_t[]){3, 0, 2}, (const int32_t[]){2, 1, 0}, 4);
  assert_int_equal(plan.units, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_matrices),
                                     cmocka_unit_test(test_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
