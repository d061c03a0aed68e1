/* SPDX-License-Identifier: Apache-2.0 */
/* test_element.c - every code of every narrow float, loads and stores of every dtype, and the comparison. */
#include "base/diag.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include "tensor/storage.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

typedef struct form {
  hone_dtype dtype;
  unsigned count, sign;
  double largest, smallest; /* finite and positive */
  bool infinity, negative_zero;
} form;

static const form forms[] = {
    {HONE_F16, 65536, 0x8000, 65504, 0x1p-24, true, true}, {HONE_BF16, 65536, 0x8000, 0x1.fep127, 0x1p-133, true, true},
    {HONE_F8E4M3FN, 256, 0x80, 448, 0x1p-9, false, true},  {HONE_F8E4M3FNUZ, 256, 0x80, 240, 0x1p-10, false, false},
    {HONE_F8E5M2, 256, 0x80, 57344, 0x1p-16, true, true},  {HONE_F8E5M2FNUZ, 256, 0x80, 57344, 0x1p-17, false, false},
    {HONE_F4E2M1, 16, 0x8, 6, 0.5, false, true},
};

static double decode(hone_dtype dtype, unsigned code) {
  if (dtype == HONE_F16) return (double)hn_f16_to_f32((uint16_t)code);
  if (dtype == HONE_BF16) return (double)hn_bf16_to_f32((uint16_t)code);
  return dtype == HONE_F4E2M1 ? hn_f4_to_f64((uint8_t)code) : hn_f8_to_f64(dtype, (uint8_t)code);
}

static unsigned encode(hone_dtype dtype, double value, bool saturate) {
  if (dtype == HONE_F16) return hn_f16_from_f64(value);
  if (dtype == HONE_BF16) return hn_bf16_from_f64(value);
  return dtype == HONE_F4E2M1 ? hn_f4_from_f64(value) : hn_f8_from_f64(dtype, value, saturate);
}

static void test_every_code_round_trips(void **state) {
  (void)state;
  for (size_t f = 0; f < HN_COUNT(forms); ++f) {
    double largest = 0, smallest = INFINITY;
    for (unsigned code = 0; code < forms[f].count; ++code) {
      const double value = decode(forms[f].dtype, code);
      if (isnan(value)) {
        assert_true(isnan(decode(forms[f].dtype, encode(forms[f].dtype, value, false))));
        continue;
      }
      assert_int_equal(encode(forms[f].dtype, value, false), code);
      if (isfinite(value) && value > largest) largest = value;
      if (value > 0 && value < smallest) smallest = value;
    }
    assert_true(largest == forms[f].largest && smallest == forms[f].smallest);
  }
}

/* Between neighbours: the middle goes to the even code, one bit of the double beside it to the nearer one. */
static void test_ties(void **state) {
  (void)state;
  for (size_t f = 0; f < HN_COUNT(forms); ++f) {
    const hone_dtype dtype = forms[f].dtype;
    for (unsigned code = 0; decode(dtype, code) < forms[f].largest; ++code) {
      const double low = decode(dtype, code), high = decode(dtype, code + 1), middle = (low + high) / 2;
      assert_true(low < high);
      assert_int_equal(encode(dtype, middle, false), code + (code & 1));
      assert_int_equal(encode(dtype, nextafter(middle, 0), false), code);
      assert_int_equal(encode(dtype, nextafter(middle, INFINITY), false), code + 1);
      const unsigned negative = (code + 1) | forms[f].sign;
      assert_int_equal(encode(dtype, -nextafter(middle, INFINITY), false), negative);
    }
  }
}

static void test_beyond_the_largest(void **state) {
  (void)state;
  for (size_t f = 0; f < HN_COUNT(forms); ++f) {
    const hone_dtype dtype = forms[f].dtype;
    const unsigned top = encode(dtype, forms[f].largest, false);
    const double step = forms[f].largest - decode(dtype, top - 1), tie = forms[f].largest + step / 2;
    assert_int_equal(encode(dtype, nextafter(tie, 0), false), top);
    static const double far[] = {1e30, 1e300, INFINITY, 0x1.fffffffffffffp1023};
    for (size_t i = 0; i < HN_COUNT(far); ++i) {
      if (dtype == HONE_BF16 && far[i] < 1e38) continue;
      const double got = decode(dtype, encode(dtype, far[i], false));
      if (dtype == HONE_F4E2M1)
        assert_true(got == 6);
      else
        assert_true(forms[f].infinity ? got == INFINITY : isnan(got));
      if (dtype == HONE_F16 || dtype == HONE_BF16) continue;
      assert_int_equal(encode(dtype, far[i], true), top);
      assert_int_equal(encode(dtype, -far[i], true), top | forms[f].sign);
    }
  }
  assert_int_equal(hn_f16_from_f64(65520),
                   0x7c00); /* a tie between the largest and what would follow: even, infinity */
  assert_int_equal(hn_f8_from_f64(HONE_F8E4M3FN, 464, false), 0x7e); /* a tie down to 448 */
  assert_int_equal(hn_f8_from_f64(HONE_F8E4M3FN, 465, false), 0x7f);
}

static void test_quick_halves(void **state) {
  (void)state;
  for (uint64_t code = 0; code <= UINT32_MAX; code += 4093) {
    const uint32_t bits = (uint32_t)code;
    float value;
    memcpy(&value, &bits, sizeof value);
    assert_int_equal(hn_f16_from_f32(value), hn_f16_from_f64(value));
  }
  for (uint32_t half = 0; half < 0x7c00; ++half) { /* ties, and their neighbours */
    const float middle = (hn_f16_to_f32((uint16_t)half) + hn_f16_to_f32((uint16_t)(half + 1))) / 2;
    for (int side = -1; side <= 1; ++side) {
      const float value = side ? nextafterf(middle, side > 0 ? INFINITY : -INFINITY) : middle;
      assert_int_equal(hn_f16_from_f32(value), hn_f16_from_f64(value));
    }
  }
}

static void test_zeros(void **state) {
  (void)state;
  static const double tiny[] = {0, 0x1p-1074, 0x1p-1022, 0x1p-200};
  for (size_t f = 0; f < HN_COUNT(forms); ++f)
    for (size_t i = 0; i < HN_COUNT(tiny); ++i) {
      assert_int_equal(encode(forms[f].dtype, tiny[i], false), 0);
      assert_int_equal(encode(forms[f].dtype, -tiny[i], false), forms[f].negative_zero ? forms[f].sign : 0);
    }
  assert_int_equal(hn_f4_from_f64(NAN), 8);
}

static void test_e8m0(void **state) {
  (void)state;
  for (unsigned code = 0; code < 255; ++code) {
    const double value = hn_f8_to_f64(HONE_F8E8M0, (uint8_t)code);
    assert_true(value == ldexp(1, (int)code - 127));
    assert_int_equal(hn_f8_from_f64(HONE_F8E8M0, value, false), code);
    assert_int_equal(hn_f8_from_f64(HONE_F8E8M0, nextafter(1.5 * value, 0), false), code);
    if (code < 254) assert_int_equal(hn_f8_from_f64(HONE_F8E8M0, 1.5 * value, false), code + 1);
  }
  assert_true(isnan(hn_f8_to_f64(HONE_F8E8M0, 255)));
  static const struct {
    double value;
    unsigned plain, saturated;
  } row[] = {{0, 255, 0}, {NAN, 255, 255}, {INFINITY, 255, 254}, {-1, 255, 255}, {0x1p128, 255, 254}, {1e-60, 255, 0}};
  for (size_t i = 0; i < HN_COUNT(row); ++i) {
    assert_int_equal(hn_f8_from_f64(HONE_F8E8M0, row[i].value, false), row[i].plain);
    assert_int_equal(hn_f8_from_f64(HONE_F8E8M0, row[i].value, true), row[i].saturated);
  }
}

/* Stores put nothing beside their own element, and loads give back what the dtype can hold. */
static void test_store_and_load(void **state) {
  (void)state;
  for (int d = 1; d < HONE_DTYPE_COUNT; ++d) {
    const hone_dtype dtype = (hone_dtype)d;
    if (dtype == HONE_STRING) continue;
    _Alignas(16) uint8_t data[16 * 9];
    memset(data, 0, sizeof data);
    hone_tensor tensor = hn_tensor_over(dtype, 1, (int64_t[]){8}, data);
    for (int64_t i = 0; i < 8; ++i) hn_store_real(&tensor, i, 1);
    for (int64_t i = 0; i < 8; i += 2) hn_store_int(&tensor, i, dtype == HONE_F8E8M0 ? 2 : 0);
    for (int64_t i = 0; i < 8; ++i) {
      const double want = i % 2 ? 1 : dtype == HONE_F8E8M0 ? 2 : 0;
      assert_true(hn_real(&tensor, i) == want && hn_int(&tensor, i) == (int64_t)want);
    }
    hn_copy_element(&tensor, 0, &tensor, 7);
    assert_true(hn_real(&tensor, 0) == 1 && hn_real(&tensor, 1) == 1);
    for (size_t i = tensor.bytes; i < sizeof data; ++i) assert_int_equal(data[i], 0);
  }
}

static void test_conversions(void **state) {
  (void)state;
  static const struct {
    hone_dtype dtype;
    double value;
    int64_t want;
  } row[] = {
      {HONE_I8, 300.9, 44},
      {HONE_I8, -129, 127},
      {HONE_U8, -1, 255},
      {HONE_I4, 9, -7},
      {HONE_U4, 17, 1},
      {HONE_I2, 2, -2},
      {HONE_U2, 7, 3},
      {HONE_I64, -2.9, -2},
      {HONE_U64, 0x1p63, INT64_MIN},
      {HONE_BOOL, 0.25, 1},
      {HONE_I32, NAN, 0},
      {HONE_I32, INFINITY, 0},
      {HONE_I16, 0x1p70, 0},
      {HONE_U32, -0x1p32, 0},
      {HONE_U64, -1, -1},
      {HONE_I64, -0x1p63, INT64_MIN},
      {HONE_I64, 0x1.8p64, INT64_MIN},
  };
  for (size_t i = 0; i < HN_COUNT(row); ++i) {
    uint64_t data = 0;
    hone_tensor tensor = hn_tensor_over(row[i].dtype, 1, (int64_t[]){1}, &data);
    hn_store_real(&tensor, 0, row[i].value);
    assert_int_equal(hn_int(&tensor, 0), row[i].want);
  }
  uint64_t data = UINT64_MAX;
  hone_tensor wide = hn_tensor_over(HONE_U64, 0, NULL, &data);
  assert_true(hn_real(&wide, 0) == 0x1p64);
  uint16_t half = 0;
  hone_tensor narrow = hn_tensor_over(HONE_BF16, 0, NULL, &half);
  hn_store_int(&narrow, 0, ((int64_t)1 << 62) + ((int64_t)1 << 54) + 1); /* one above a tie that a double hides */
  assert_true(hn_real(&narrow, 0) == 0x1.02p62);
}

static void test_compare(void **state) {
  (void)state;
  float a[] = {1, 2, NAN, 4, INFINITY, 0}, b[] = {1, 2.5f, NAN, NAN, INFINITY, 0};
  const hone_tensor x = hn_tensor_over(HONE_F32, 1, (int64_t[]){6}, a),
                    y = hn_tensor_over(HONE_F32, 1, (int64_t[]){6}, b);
  hn_error error = hn_compare(&x, &y, 0, 0.5, 0, 3);
  assert_true(error.mismatches == 0 && error.max_abs == 0.5 && error.worst == 1 && error.compared == 3);
  assert_true(fabs(error.max_rel - 0.2) < 1e-15);
  error = hn_compare(&x, &y, 1, 1, 0, -1);
  assert_true(error.mismatches == 1 && error.worst == 3 && isinf(error.max_abs) && error.compared == 6);
  error = hn_compare(&x, &x, 0, 0, 0, -1);
  assert_true(error.mismatches == 0 && error.worst == -1 && error.max_abs == 0 && error.rel_l2 == 0);
  int64_t big[] = {INT64_MAX}, less[] = {INT64_MAX - 1};
  const hone_tensor p = hn_tensor_over(HONE_I64, 1, (int64_t[]){1}, big),
                    q = hn_tensor_over(HONE_I64, 1, (int64_t[]){1}, less);
  error = hn_compare(&p, &q, 100, 100, 0, -1);
  assert_true(error.mismatches == 1 && error.worst == 0 && error.max_abs >= 1);
  float complex_a[] = {1, 2, 3, 4}, complex_b[] = {1, 2, 3, 5};
  const hone_tensor u = hn_tensor_over(HONE_C64, 1, (int64_t[]){2}, complex_a);
  const hone_tensor v = hn_tensor_over(HONE_C64, 1, (int64_t[]){2}, complex_b);
  error = hn_compare(&u, &v, 0, 0, 0, -1);
  assert_true(error.mismatches == 1 && error.worst == 1 && error.max_abs == 1);
  hone_string s[] = {{"ab", 2}, {"", 0}}, t[] = {{"ab", 2}, {"c", 1}};
  const hone_tensor m = hn_tensor_over(HONE_STRING, 1, (int64_t[]){2}, s),
                    n = hn_tensor_over(HONE_STRING, 1, (int64_t[]){2}, t);
  error = hn_compare(&m, &n, 0, 0, 0, -1);
  assert_true(error.mismatches == 1 && error.worst == 1);
}

static void test_names(void **state) {
  (void)state;
  for (int d = 1; d < HONE_DTYPE_COUNT; ++d) {
    assert_int_equal(hone_dtype_find(hone_dtype_name((hone_dtype)d)), d);
    assert_true(hone_dtype_bits((hone_dtype)d) > 0);
    const bool is_float = hn_dtype_is_float((hone_dtype)d), is_int = hn_dtype_is_int((hone_dtype)d);
    assert_false(is_float && is_int);
    assert_true(is_int || !hn_dtype_is_unsigned((hone_dtype)d));
  }
  assert_int_equal(hone_dtype_find("none"), HONE_NONE);
  assert_int_equal(hone_dtype_find("float"), HONE_NONE);
  assert_int_equal(hone_dtype_bits(HONE_NONE), 0);
  assert_string_equal(hone_dtype_name((hone_dtype)99), "none");
}

/* Floats of all exponents, around every tie, laid with the channels last and rounded, as one by one; and back. */
static void test_layout_rounds(void **state) {
  (void)state;
  enum { CHANNELS = 3, POINTS = 4 * 256 * 37, COUNT = 2 * CHANNELS * POINTS, PITCH = 8 };
  static float plain[COUNT], back[COUNT];
  static uint16_t last[2 * POINTS * PITCH];
  for (uint32_t i = 0; i < COUNT; ++i) {
    const uint32_t fraction = (i * 2654435761u & 0x7fe000) + (i % 5 == 0   ? 0xfff
                                                              : i % 5 == 1 ? 0x1000
                                                              : i % 5 == 2 ? 0x1001
                                                                           : i),
                   bits = (i % 256) << 23 | (i % 7 == 0 ? 1u << 31 : 0) | (fraction & 0x7fffff);
    memcpy(&plain[i], &bits, sizeof bits);
  }
  const hone_type type = hn_tensor_type(HONE_F32, 3, (const int64_t[]){2, CHANNELS, POINTS});
  hone_tensor from = {.type = type, .data = plain, .bytes = sizeof plain},
              to = {.type = hn_stored_type(&type, HONE_F16_NHWC), .data = last, .bytes = sizeof last},
              again = {.type = type, .data = back, .bytes = sizeof back};
  assert_int_equal(hn_bytes(&to.type), sizeof last);
  assert_true(hn_layout_convert(&from, &to));
  for (int64_t i = 0; i < COUNT; ++i) {
    const int64_t image = i / (CHANNELS * POINTS), c = i / POINTS % CHANNELS, p = i % POINTS;
    const uint16_t got = last[(image * POINTS + p) * PITCH + c], want = hn_f16_from_f64((double)plain[i]);
    if (got != want) fail_msg("%a is %#x, not %#x", (double)plain[i], want, got);
    if (c == 0) assert_int_equal(last[(image * POINTS + p) * PITCH + CHANNELS], 0);
  }
  assert_true(hn_layout_convert(&to, &again));
  for (int64_t i = 0; i < COUNT; ++i) {
    const float want = hn_f16_to_f32(hn_f16_from_f64((double)plain[i]));
    assert_true(back[i] == want || (isnan(back[i]) && isnan(want)));
  }
}

/* Bytes last come in sixteens. */
static void test_bytes_last(void **state) {
  (void)state;
  enum { CHANNELS = 19, POINTS = 5, PITCH = 32, COUNT = 2 * CHANNELS * POINTS };
  uint8_t plain[COUNT], back[COUNT], last[2 * POINTS * PITCH];
  for (int i = 0; i < COUNT; ++i) plain[i] = (uint8_t)(i * 37 + 1);
  const hone_type type = hn_tensor_type(HONE_U8, 3, (const int64_t[]){2, CHANNELS, POINTS});
  const hone_tensor from = {.type = type, .data = plain, .bytes = sizeof plain};
  hone_tensor to = {.type = hn_stored_type(&type, HONE_NHWC), .data = last, .bytes = sizeof last},
              again = {.type = type, .data = back, .bytes = sizeof back};
  assert_int_equal(hn_bytes(&to.type), sizeof last);
  assert_true(hn_layout_convert(&from, &to));
  for (int i = 0; i < 2 * POINTS * PITCH; ++i) {
    const int pixel = i / PITCH, c = i % PITCH, image = pixel / POINTS;
    assert_int_equal(last[i], c < CHANNELS ? plain[(image * CHANNELS + c) * POINTS + pixel % POINTS] : 0);
  }
  assert_true(hn_layout_convert(&to, &again));
  assert_memory_equal(back, plain, sizeof plain);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_code_round_trips),
      cmocka_unit_test(test_ties),
      cmocka_unit_test(test_beyond_the_largest),
      cmocka_unit_test(test_quick_halves),
      cmocka_unit_test(test_bytes_last),
      cmocka_unit_test(test_zeros),
      cmocka_unit_test(test_e8m0),
      cmocka_unit_test(test_store_and_load),
      cmocka_unit_test(test_conversions),
      cmocka_unit_test(test_compare),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_layout_rounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
