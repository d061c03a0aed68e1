/* SPDX-License-Identifier: Apache-2.0 */
/* test_cast.c - conversions against definitions in double: every half float, every rounding case, every remainder. */
#include "kernels/cpu/copy/copy.h"

#include "kernel_test.h"

static hn_cast_fn *const f32_f16[] = VARIANTS_OF(hn_cast_f32_f16);
static hn_cast_fn *const f16_f32[] = VARIANTS_OF(hn_cast_f16_f32);
static hn_cast_fn *const f32_bf16[] = VARIANTS_OF(hn_cast_f32_bf16);
static hn_cast_fn *const bf16_f32[] = VARIANTS_OF(hn_cast_bf16_f32);
static hn_cast_fn *const f32_i64[] = VARIANTS_OF(hn_cast_f32_i64);
static hn_cast_fn *const i64_f32[] = VARIANTS_OF(hn_cast_i64_f32);
static hn_cast_fn *const f32_i32[] = VARIANTS_OF(hn_cast_f32_i32);
static hn_cast_fn *const i32_f32[] = VARIANTS_OF(hn_cast_i32_f32);
static hn_cast_fn *const f32_i8[] = VARIANTS_OF(hn_cast_f32_i8);
static hn_cast_fn *const i8_f32[] = VARIANTS_OF(hn_cast_i8_f32);
static hn_cast_fn *const f32_u8[] = VARIANTS_OF(hn_cast_f32_u8);
static hn_cast_fn *const u8_f32[] = VARIANTS_OF(hn_cast_u8_f32);
static hn_cast_fn *const f32_bool[] = VARIANTS_OF(hn_cast_f32_bool);

/* The value of a small float format of 16 bits; the all-ones exponent is infinity or NaN. */
static double small_value(uint32_t u, int mantissa_bits, int exponent_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int e = (int)(u >> mantissa_bits) & ((1 << exponent_bits) - 1), m = (int)u & ((1 << mantissa_bits) - 1);
  const double sign = u & 0x8000 ? -1 : 1;
  if (e == (1 << exponent_bits) - 1) return m ? NAN : sign * INFINITY;
  return sign * (e ? ldexp((1 << mantissa_bits) + m, e - bias - mantissa_bits) : ldexp(m, 1 - bias - mantissa_bits));
}

/* Whether u is a nearest value to x, the even one of two; infinity begins half a step behind the largest. */
static int is_nearest(double x, uint32_t u, int mantissa_bits, int exponent_bits) {
  const double y = small_value(u, mantissa_bits, exponent_bits);
  const uint32_t infinity = ((1U << exponent_bits) - 1U) << mantissa_bits, size = u & 0x7fff;
  if (isnan(x)) return isnan(y);
  if (isnan(y) || (x != 0 && y != 0 && (x < 0) != (y < 0)) || (signbit(x) != 0) != (u >> 15)) return 0;
  const double largest = small_value(infinity - 1, mantissa_bits, exponent_bits);
  const double step = largest - small_value(infinity - 2, mantissa_bits, exponent_bits);
  if (size == infinity) return fabs(x) >= largest + step / 2;
  const double up = size + 1 == infinity ? largest + step : fabs(small_value(size + 1, mantissa_bits, exponent_bits));
  const double down = size ? small_value(size - 1, mantissa_bits, exponent_bits) : -1;
  const double at = fabs(x), to_up = up - at, to_down = at - down, here = fabs(at - fabs(y));
  return here < fmin(to_up, to_down) || (here <= fmin(to_up, to_down) && size % 2 == 0);
}

static void check_small(const char *what, hn_cast_fn *narrow, hn_cast_fn *widen, int mantissa_bits, int exponent_bits) {
  static uint16_t all[65536], back[65536];
  static float wide[65536];
  uint64_t seed = 18;
  for (int i = 0; i < 65536; ++i) all[i] = (uint16_t)i;
  IN_PIECES(&seed, 65536, widen(all, wide, begin, end))
  for (int i = 0; i < 65536; ++i)
    CHECK_NEAR(wide[i], small_value((uint32_t)i, mantissa_bits, exponent_bits), 0.0, "%s widen %x", what, (unsigned)i);
  narrow(wide, back, 0, 65536);
  for (int i = 0; i < 65536; ++i)
    if (!isnan(wide[i])) assert_int_equal(back[i], i);
  /* Ties, their neighbours, and anything at all. */
  for (int i = 0; i < 65536; ++i) {
    uint32_t u;
    memcpy(&u, &wide[i], 4);
    u += i % 3 == 0 ? 1U << (22 - mantissa_bits) : random_next(&seed);
    u += i % 9 == 0 ? 1U : i % 9 == 3 ? UINT32_MAX : 0;
    memcpy(&wide[i], &u, 4);
  }
  narrow(wide, back, 0, 65536);
  for (int i = 0; i < 65536; ++i)
    if (!is_nearest(wide[i], back[i], mantissa_bits, exponent_bits))
      fail_msg("%s narrow %a gave %x", what, (double)wide[i], (unsigned)back[i]);
}

static void test_half_and_brain(void **state) {
  (void)state;
  for (int v = 0; v < VARIANTS; ++v) {
    if (!variant_runs(v)) continue;
    check_small(variant_name[v], f32_f16[v], f16_f32[v], 10, 5);
    check_small(variant_name[v], f32_bf16[v], bf16_f32[v], 7, 8);
  }
}

static int64_t truncated(float x, int64_t least, double limit) { return x >= -limit && x < limit ? (int64_t)x : least; }

enum { N = 77 };

static void test_integers(void **state) {
  (void)state;
  uint64_t seed = 19;
  static const float edge[] = {0.0F, -0.0F,          0.9F,  -0.9F,  255.5F, 256.0F,   -1.0F,     -128.5F,
                               3e9F, -2147483648.0F, 1e19F, -1e19F, NAN,    INFINITY, -INFINITY, 2147483520.0F};
  for (int n = 1; n <= N; ++n) {
    guarded x = random_floats(&seed, n, 300.0F), y8 = guarded_new((size_t)n), y32 = guarded_new((size_t)n * 4);
    guarded y64 = guarded_new((size_t)n * 8);
    for (int i = 0; i < n && i < (int)COUNT(edge); ++i) floats(&x)[(i * 5) % n] = edge[i];
    for (int v = 0; v < VARIANTS; ++v) {
      if (!variant_runs(v)) continue;
      IN_PIECES(&seed, n, f32_i32[v](x.data, y32.data, begin, end))
      IN_PIECES(&seed, n, f32_i64[v](x.data, y64.data, begin, end))
      for (int i = 0; i < n; ++i) {
        const float at = floats(&x)[i];
        assert_int_equal(((int32_t *)(void *)y32.data)[i], (int32_t)truncated(at, INT32_MIN, 2147483648.0));
        assert_int_equal(((int64_t *)(void *)y64.data)[i], truncated(at, INT64_MIN, 9223372036854775808.0));
      }
      IN_PIECES(&seed, n, f32_u8[v](x.data, y8.data, begin, end))
      for (int i = 0; i < n; ++i)
        assert_int_equal((uint8_t)y8.data[i], (uint8_t)truncated(floats(&x)[i], INT32_MIN, 2147483648.0));
      IN_PIECES(&seed, n, f32_i8[v](x.data, y8.data, begin, end))
      for (int i = 0; i < n; ++i)
        assert_int_equal((int8_t)y8.data[i], (int8_t)truncated(floats(&x)[i], INT32_MIN, 2147483648.0));
      IN_PIECES(&seed, n, f32_bool[v](x.data, y8.data, begin, end))
      for (int i = 0; i < n; ++i) assert_int_equal(y8.data[i], floats(&x)[i] != 0.0F);
    }
    guarded *all[] = {&x, &y8, &y32, &y64};
    for (size_t i = 0; i < COUNT(all); ++i) guarded_free(all[i]);
  }
}

static void test_from_integers(void **state) {
  (void)state;
  uint64_t seed = 20;
  guarded x = guarded_new(N * 8), y = guarded_new(N * 4);
  for (size_t i = 0; i < x.bytes; ++i) x.data[i] = (char)random_next(&seed);
  for (int v = 0; v < VARIANTS; ++v) {
    if (!variant_runs(v)) continue;
    IN_PIECES(&seed, N, i64_f32[v](x.data, y.data, begin, end))
    for (int i = 0; i < N; ++i) assert_true(floats(&y)[i] == (float)((int64_t *)(void *)x.data)[i]);
    IN_PIECES(&seed, N, i32_f32[v](x.data, y.data, begin, end))
    for (int i = 0; i < N; ++i) assert_true(floats(&y)[i] == (float)((int32_t *)(void *)x.data)[i]);
    IN_PIECES(&seed, N, i8_f32[v](x.data, y.data, begin, end))
    for (int i = 0; i < N; ++i) assert_true(floats(&y)[i] == (float)(int8_t)x.data[i]);
    IN_PIECES(&seed, N, u8_f32[v](x.data, y.data, begin, end))
    for (int i = 0; i < N; ++i) assert_true(floats(&y)[i] == (float)(uint8_t)x.data[i]);
  }
  guarded_free(&x);
  guarded_free(&y);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_half_and_brain), cmocka_unit_test(test_integers),
                                     cmocka_unit_test(test_from_integers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
