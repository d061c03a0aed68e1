/* SPDX-License-Identifier: Apache-2.0 */
/* test_norm.c - LayerNorm, RMSNorm, group normalisation and the per-channel affine map against double. */
#include "kernels/cpu/norm/norm.h"

#include "kernel_test.h"

static hn_norm_rows_fn *const layer_norm[] = VARIANTS_OF(hn_layer_norm_f32);
static hn_norm_rows_fn *const rms_norm[] = VARIANTS_OF(hn_rms_norm_f32);
static hn_channel_affine_fn *const affine[] = VARIANTS_OF(hn_channel_affine_f32);
static hn_group_norm_fn *const group_norm[] = VARIANTS_OF(hn_group_norm_f32);

enum { ROWS = 3 };

static double value_at(const hn_norm_rows_args *a, int64_t i) {
  return (double)(a->residual ? as_f32(a->x)[i] + as_f32(a->residual)[i] : as_f32(a->x)[i]);
}

/* a's inputs must still be what they were when the kernel ran. */
static void check_rows(const hn_norm_rows_args *a, int centered, const char *what) {
  for (int64_t row = 0; row < ROWS; ++row) {
    double mean = 0, square = 0;
    for (int64_t i = 0; i < a->n; ++i) mean += value_at(a, row * a->n + i) / (double)a->n;
    if (!centered) mean = 0;
    for (int64_t i = 0; i < a->n; ++i) square += pow(value_at(a, row * a->n + i) - mean, 2) / (double)a->n;
    const double inv = 1 / sqrt(square + a->epsilon);
    for (int64_t i = 0; i < a->n; ++i) {
      const double x = value_at(a, row * a->n + i), scale = a->scale ? as_f32(a->scale)[i] : 1,
                   bias = a->bias ? as_f32(a->bias)[i] : 0;
      /* The mean is off by a rounding of its own size, which inv amplifies. */
      const double bound = 4e-7 * ((fabs(x) + fabs(mean)) * inv * fabs(scale) + fabs(bias)) + 1e-30;
      CHECK_NEAR(as_f32(a->y)[row * a->n + i], (x - mean) * inv * scale + bias, bound, "%s row of %d at %d", what,
                 (int)a->n, (int)i);
      if (a->sum) CHECK_NEAR(as_f32(a->sum)[row * a->n + i], x, 0.0, "%s sum", what);
    }
    if (a->mean && centered) CHECK_NEAR(as_f32(a->mean)[row], mean, 3e-7 * (fabs(mean) + 1), "%s mean", what);
    if (a->inv_std) CHECK_NEAR(as_f32(a->inv_std)[row], inv, 1e-6 * inv, "%s inv_std", what);
  }
}

static void check_case(uint64_t *seed, int64_t n, int options) {
  guarded x = random_floats(seed, ROWS * n, 2.0F), r = random_floats(seed, ROWS * n, 2.0F);
  guarded scale = random_floats(seed, n, 2.0F), bias = random_floats(seed, n, 2.0F);
  guarded y = guarded_new(x.bytes), sum = guarded_new(x.bytes), z = guarded_new(x.bytes);
  guarded mean = guarded_new(ROWS * 4), inv = guarded_new(ROWS * 4);
  for (int64_t i = 0; i < ROWS * n; ++i) floats(&x)[i] += 5.0F;
  for (int v = 0; v < VARIANTS; ++v) {
    for (int centered = 0; centered < 2 && variant_runs(v); ++centered) {
      hn_norm_rows_fn *const f = centered ? layer_norm[v] : rms_norm[v];
      hn_norm_rows_args a = {.x = floats(&x), .y = floats(&y), .n = n, .epsilon = 1e-5F};
      if (options & 1) a.residual = floats(&r);
      if (options & 2) a.sum = floats(&sum);
      if (options & 4) {
        a.scale = floats(&scale);
        a.bias = floats(&bias);
      }
      if (options & 8) {
        a.mean = floats(&mean);
        a.inv_std = floats(&inv);
      }
      f(&a, 0, ROWS);
      check_rows(&a, centered, variant_name[v]);
      memcpy(z.data, x.data, x.bytes);
      a.x = a.y = floats(&z);
      IN_PIECES(seed, ROWS, f(&a, begin, end))
      assert_memory_equal(z.data, y.data, y.bytes);
    }
  }
  guarded *all[] = {&x, &r, &scale, &bias, &y, &sum, &z, &mean, &inv};
  for (size_t i = 0; i < COUNT(all); ++i) guarded_free(all[i]);
}

static void test_rows(void **state) {
  (void)state;
  uint64_t seed = 8;
  for (int64_t n = 1; n < 140; ++n) check_case(&seed, n, (int)n % 16);
  for (int options = 0; options < 16; ++options) check_case(&seed, 771, options);
}

static void test_channel_affine(void **state) {
  (void)state;
  uint64_t seed = 9;
  static const int32_t block[] = {1, 8, 16};
  for (size_t b = 0; b < COUNT(block); ++b) {
    for (int64_t pixels = 1; pixels < 40; ++pixels) {
      const int64_t channels = 11, blocks = (channels + block[b] - 1) / block[b];
      const int64_t planes = 2 * blocks, n = planes * pixels * block[b];
      guarded x = random_floats(&seed, n, 1.0F), y = guarded_new((size_t)n * 4);
      guarded scale = random_floats(&seed, blocks * block[b], 2.0F),
              shift = random_floats(&seed, blocks * block[b], 2.0F);
      for (int v = 0; v < VARIANTS * 2; ++v) {
        if (!variant_runs(v / 2)) continue;
        const hn_channel_affine_args a = {floats(&x), floats(&y), floats(&scale), v % 2 ? NULL : floats(&shift),
                                          channels,   pixels,     block[b],       v % 2};
        IN_PIECES(&seed, planes, affine[v / 2](&a, begin, end))
        for (int64_t i = 0; i < n; ++i) {
          const int64_t c = i / (pixels * block[b]) % blocks * block[b] + i % block[b];
          double want = (double)as_f32(a.x)[i] * as_f32(a.scale)[c] + (a.shift ? as_f32(a.shift)[c] : 0);
          want = a.relu && want < 0 ? 0 : want;
          CHECK_NEAR(as_f32(a.y)[i], want, 4e-7, "%s block %d, %d pixels", variant_name[v / 2], (int)block[b],
                     (int)pixels);
        }
      }
      guarded *all[] = {&x, &y, &scale, &shift};
      for (size_t i = 0; i < COUNT(all); ++i) guarded_free(all[i]);
    }
  }
}

static void test_group_norm(void **state) {
  (void)state;
  uint64_t seed = 10;
  enum { CHANNELS = 6, IMAGES = 2 };
  for (int64_t pixels = 2; pixels < 80; pixels += 3) {
    for (int64_t groups = 1; groups <= CHANNELS; groups += groups == 3 ? 3 : 1) {
      const int64_t n = CHANNELS / groups * pixels;
      guarded x = random_floats(&seed, IMAGES * CHANNELS * pixels, 2.0F), y = guarded_new(x.bytes);
      guarded scale = random_floats(&seed, CHANNELS, 2.0F), bias = random_floats(&seed, CHANNELS, 2.0F);
      for (int v = 0; v < VARIANTS; ++v) {
        if (!variant_runs(v)) continue;
        const hn_group_norm_args a = {floats(&x), floats(&y), floats(&scale), floats(&bias), CHANNELS, groups, pixels,
                                      1e-5F,      1};
        IN_PIECES(&seed, IMAGES * groups, group_norm[v](&a, begin, end))
        for (int64_t i = 0; i < IMAGES * CHANNELS * pixels; ++i) {
          const float *members = as_f32(a.x) + i / n * n;
          double mean = 0, square = 0;
          for (int64_t j = 0; j < n; ++j) mean += members[j] / (double)n;
          for (int64_t j = 0; j < n; ++j) square += pow(members[j] - mean, 2) / (double)n;
          const int64_t c = i / pixels % CHANNELS;
          const double want =
              (as_f32(a.x)[i] - mean) / sqrt(square + a.epsilon) * as_f32(a.scale)[c] + as_f32(a.bias)[c];
          CHECK_NEAR(as_f32(a.y)[i], want, 4e-6, "%s %d groups, %d pixels", variant_name[v], (int)groups, (int)pixels);
        }
      }
      guarded *all[] = {&x, &y, &scale, &bias};
      for (size_t i = 0; i < COUNT(all); ++i) guarded_free(all[i]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_channel_affine),
                                     cmocka_unit_test(test_group_norm)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
