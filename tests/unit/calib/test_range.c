/* SPDX-License-Identifier: Apache-2.0 */
/* test_range.c - histograms against counting again, ranges against sums over the values themselves, sums under taps
 * against a plain loop. */
#include "base/random.h"
#include "calib/moments.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MANY = 20000 };
static const hn_scheme u8 = {.dtype = HONE_U8}, s8 = {.dtype = HONE_I8, .symmetric = true};
static float values[MANY];
static hn_histogram histogram;

/* The sum of twelve is close to a normal distribution. */
static float normal(hn_random *random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += hn_random_unit(random);
  return (float)sum;
}

static void fill_normal(float outlier) {
  hn_random random = {.state = 7};
  for (int i = 0; i < MANY; ++i) values[i] = normal(&random);
  if (outlier != 0) values[17] = outlier;
}

static void count_again(int64_t parts) {
  int64_t odd;
  memset(&histogram, 0, sizeof histogram);
  for (int64_t i = 0; i < parts; ++i)
    assert_true(hn_histogram_add(&histogram, values + i * MANY / parts, MANY / parts, &odd));
}

static uint64_t in_bins(void) {
  uint64_t sum = histogram.zeros;
  for (int i = 0; i < HN_BINS; ++i) sum += histogram.bins[i];
  return sum;
}

static void test_histogram(void **state) {
  (void)state;
  fill_normal(0);
  for (int i = 0; i < 500; ++i) values[i * 3] = 0;
  for (int i = 0; i < MANY; ++i) values[i] *= i < MANY / 2 ? 0.01f : 1; /* the second half widens the bins */
  count_again(10);
  double low = 0, high = 0;
  for (int i = 0; i < MANY; ++i) {
    low = fmin(low, (double)values[i]);
    high = fmax(high, (double)values[i]);
  }
  assert_true(histogram.low == low && histogram.high == high);
  assert_int_equal(histogram.zeros, 500);
  assert_int_equal(in_bins(), MANY);
  const double width = hn_bin_width(&histogram);
  for (int bin = HN_BIN_ZERO - 900; bin < HN_BIN_ZERO + 900; bin += 100) { /* counted over a hundred bins */
    uint64_t want = 0, got = 0;
    for (int i = 0; i < MANY; ++i) {
      const double x = (double)values[i];
      want += x != 0 && x >= (bin - HN_BIN_ZERO) * width && x < (bin + 100 - HN_BIN_ZERO) * width;
    }
    for (int k = 0; k < 100; ++k) got += histogram.bins[bin + k];
    assert_true(llabs((long long)(want - got)) <= 2); /* rounding at the borders */
  }
}

static void test_not_finite(void **state) {
  (void)state;
  int64_t odd;
  fill_normal(0);
  count_again(1);
  const hn_histogram before = histogram;
  values[4321] = NAN;
  assert_false(hn_histogram_add(&histogram, values, MANY, &odd));
  assert_int_equal(odd, 4321);
  values[4321] = -INFINITY;
  assert_false(hn_histogram_add(&histogram, values, MANY, &odd));
  assert_int_equal(odd, 4321);
  assert_memory_equal(&before, &histogram, sizeof before);
}

static void test_scales(void **state) {
  (void)state;
  const struct {
    hn_range range;
    const hn_scheme *scheme;
    double scale;
    int zero;
  } cases[] = {{{-1, 3}, &u8, 4.0 / 255, 64}, /* 63.75 */
               {{0, 6}, &u8, 6.0 / 255, 0},
               {{-2, 0}, &u8, 2.0 / 255, 255},
               {{1, 3}, &u8, 3.0 / 255, 0}, /* 0 is always there */
               {{-1, 3}, &s8, 3.0 / 127, 0},
               {{-5, 3}, &s8, 5.0 / 127, 0},
               {{0, 0}, &u8, 1, 0},
               {{0, 1e-40}, &u8, 1, 0},
               {{0, 0}, &s8, 1, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const hn_scale got = hn_scale_of_range(&cases[i].range, cases[i].scheme);
    assert_true(fabs((double)got.scale - cases[i].scale) < 1e-7 * cases[i].scale);
    assert_int_equal(got.zero, cases[i].zero);
    assert_true(hn_rounded(&got, cases[i].scheme, 0) == 0);
    assert_true(hn_rounded(&got, cases[i].scheme, 1e9) == hn_highest(&got, cases[i].scheme));
    assert_true(hn_rounded(&got, cases[i].scheme, -1e9) == hn_lowest(&got, cases[i].scheme));
  }
}

static hn_range pick(const char *name, const hn_scheme *scheme) {
  double number;
  const hn_picker *picker = hn_picker_find(name, &number);
  assert_non_null(picker);
  return picker->pick(&histogram, scheme, number);
}

/* Over the values, not over bins. */
static double mean_square(const hn_range *range, const hn_scheme *scheme) {
  const hn_scale scale = hn_scale_of_range(range, scheme);
  double sum = 0;
  for (int i = 0; i < MANY; ++i) {
    const double apart = hn_rounded(&scale, scheme, (double)values[i]) - (double)values[i];
    sum += apart * apart;
  }
  return sum / MANY;
}

/* Rounded to three bits behind the point, as far as 448 and as near as 2^-9 of the scale. */
static void test_floats(void **state) {
  (void)state;
  const hn_scheme e4m3 = {.dtype = HONE_F8E4M3FN, .symmetric = true};
  const hn_scale scale = hn_scale_of_range(&(hn_range){-7, 3.5}, &e4m3);
  assert_true(scale.scale == 0x1p-6f && scale.zero == 0); /* 7 / 448 */
  assert_true(hn_lowest(&scale, &e4m3) == -7 && hn_highest(&scale, &e4m3) == 7);
  assert_true(hn_rounded(&scale, &e4m3, 1.1) == 1.125 && hn_rounded(&scale, &e4m3, -0.9) == -0.875);
  assert_true(hn_rounded(&scale, &e4m3, 1.0625) == 1 && hn_rounded(&scale, &e4m3, 1.1875) == 1.25); /* ties to even */
  assert_true(hn_rounded(&scale, &e4m3, 100) == 7 && hn_rounded(&scale, &e4m3, 0x1p-17) == 0);
  assert_true(hn_scale_of_range(&(hn_range){0, 0}, &e4m3).scale == 1);
  const float x[4] = {1.1f, -0.9f, 100, 0};
  float got[4];
  hn_round_floats(x, 4, &scale, &e4m3, got);
  for (int i = 0; i < 4; ++i) assert_true((double)got[i] == hn_rounded(&scale, &e4m3, (double)x[i]));
}

static void test_mse(void **state) {
  (void)state;
  fill_normal(30);
  count_again(1);
  for (int k = 0; k < 2; ++k) {
    const hn_scheme *scheme = k ? &s8 : &u8;
    const hn_range all = pick("minmax", scheme), got = pick("mse", scheme);
    const double got_error = mean_square(&got, scheme);
    double best = HUGE_VAL;
    for (int a = 1; a <= 60; ++a)
      for (int b = 1; b <= 60; ++b) {
        const hn_range range = {all.low * a / 60, all.high * b / 60};
        best = fmin(best, mean_square(&range, scheme));
      }
    assert_true(all.high == 30);
    assert_true(got_error <= mean_square(&all, scheme));
    assert_true(got_error < 1.05 * best); /* grids differ */
  }
}

static int compare(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static void test_percentile(void **state) {
  (void)state;
  fill_normal(0);
  count_again(1);
  const hn_range got = pick("percentile:99", &u8), all = pick("percentile:100", &u8);
  float *sorted = malloc(sizeof values);
  assert_non_null(sorted);
  memcpy(sorted, values, sizeof values);
  qsort(sorted, MANY, sizeof *sorted, compare);
  const double width = hn_bin_width(&histogram); /* half a percent at each end */
  const int low = MANY / 200, high = MANY - MANY / 200;
  assert_true(got.low > (double)sorted[low - 2] - width && got.low < (double)sorted[low + 2] + width);
  assert_true(got.high > (double)sorted[high - 2] - width && got.high < (double)sorted[high + 2] + width);
  assert_true(all.low == histogram.low && all.high == histogram.high);
  free(sorted);
}

static void test_entropy(void **state) {
  (void)state;
  fill_normal(60); /* one of 20,000: nothing is lost by cutting it */
  count_again(1);
  const hn_range got = pick("entropy", &s8);
  assert_true(got.high < 30 && got.high > 1.5);
  for (int i = 0; i < MANY; ++i) values[i] = (float)(i + 1) / MANY; /* nothing is rare: all of it is kept */
  count_again(1);
  const hn_range even = pick("entropy", &u8);
  assert_true(even.low == 0 && even.high > 0.95);
}

/* More than one in a hundred at a bound: it is the activation's own, and stays. */
static void test_wall(void **state) {
  (void)state;
  static const char *const names[] = {"mse", "percentile:90", "entropy"};
  fill_normal(0);
  for (int i = 0; i < MANY; ++i) values[i] = values[i] < 0 ? 0 : i % 20 == 0 ? 6 : values[i];
  count_again(3);
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) assert_true(pick(names[i], &u8).high == 6);
}

/* What never varies has a scale, too. */
static void test_constant(void **state) {
  (void)state;
  static const float constants[] = {0, 3, -3};
  for (size_t k = 0; k < sizeof constants / sizeof *constants; ++k) {
    for (int i = 0; i < MANY; ++i) values[i] = constants[k];
    count_again(2);
    for (const hn_picker *row = hn_pickers; row->name; ++row) {
      const hn_range range = row->pick(&histogram, &u8, row->number);
      const hn_scale scale = hn_scale_of_range(&range, &u8);
      assert_true(fabs(hn_rounded(&scale, &u8, (double)constants[k]) - (double)constants[k]) < 1e-6);
    }
  }
}

static void test_names(void **state) {
  (void)state;
  static const char *const wrong[] = {
      "",        "mean",          "mse:3", "percentile:", "percentile:49", "percentile:101", "percentile:9x",
      "minmaxx", "percentile:nan"};
  double number;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) assert_null(hn_picker_find(wrong[i], &number));
  assert_non_null(hn_picker_find("percentile:99.5", &number));
  assert_true(number == 99.5);
}

static void test_tap_sums(void **state) {
  (void)state;
  enum { CHANNELS = 2, IN = 9, MOST = 64 };
  static const hn_sliding windows[] = {
      {.spatial = 2,
       .in = {9, 9},
       .out = {9, 9},
       .kernel = {3, 3},
       .stride = {1, 1},
       .dilation = {1, 1},
       .pad_begin = {1, 1}},
      {.spatial = 2,
       .in = {9, 9},
       .out = {4, 5},
       .kernel = {3, 2},
       .stride = {2, 2},
       .dilation = {2, 1},
       .pad_begin = {2, 1}},
      {.spatial = 2, .in = {9, 9}, .out = {9, 9}, .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}},
      {.spatial = 2,
       .in = {9, 9},
       .out = {13, 3},
       .kernel = {5, 5},
       .stride = {1, 3},
       .dilation = {1, 1},
       .pad_begin = {4, 0}}};
  fill_normal(0);
  for (size_t k = 0; k < sizeof windows / sizeof *windows; ++k) {
    const hn_sliding *w = &windows[k];
    const int64_t taps = w->kernel[0] * w->kernel[1];
    double got[MOST] = {0}, want[MOST] = {0};
    hn_tap_sums(values, 2 * CHANNELS, CHANNELS, w, got);
    for (int64_t p = 0; p < 2 * CHANNELS; ++p)
      for (int64_t oy = 0; oy < w->out[0]; ++oy)
        for (int64_t ox = 0; ox < w->out[1]; ++ox)
          for (int64_t t = 0; t < taps; ++t) {
            const int64_t y = oy * w->stride[0] - w->pad_begin[0] + t / w->kernel[1] * w->dilation[0];
            const int64_t x = ox * w->stride[1] - w->pad_begin[1] + t % w->kernel[1] * w->dilation[1];
            if (y >= 0 && y < IN && x >= 0 && x < IN)
              want[p % CHANNELS * taps + t] += (double)values[(p * IN + y) * IN + x];
          }
    for (int64_t i = 0; i < CHANNELS * taps; ++i) assert_true(fabs(got[i] - want[i]) < 1e-3);
  }
}

static void test_round_floats(void **state) {
  (void)state;
  static float got[MANY];
  fill_normal(25);
  for (int k = 0; k < 2; ++k) {
    const hn_scheme *scheme = k ? &s8 : &u8;
    const hn_scale scale = {.scale = 0.015625f, .zero = k ? 0 : 100}; /* a power of two: ties are exact */
    values[0] = 1.5f * scale.scale;
    hn_round_floats(values, MANY, &scale, scheme, got);
    for (int i = 0; i < MANY; ++i) assert_true((double)got[i] == hn_rounded(&scale, scheme, (double)values[i]));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_histogram), cmocka_unit_test(test_not_finite),   cmocka_unit_test(test_scales),
      cmocka_unit_test(test_mse),       cmocka_unit_test(test_percentile),   cmocka_unit_test(test_entropy),
      cmocka_unit_test(test_wall),      cmocka_unit_test(test_constant),     cmocka_unit_test(test_names),
      cmocka_unit_test(test_tap_sums),  cmocka_unit_test(test_round_floats), cmocka_unit_test(test_floats)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
