/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool.c - pooling against loops over taps in double: random geometry, all layouts, ranges of rows. */
#include "kernels/cpu/pool/pool.h"

#include "kernel_test.h"

static hn_pool_fn *const pool_max[] = VARIANTS_OF(hn_pool_max_f32);
static hn_pool_fn *const pool_average[] = VARIANTS_OF(hn_pool_average_f32);
static hn_pool_global_fn *const global_max[] = VARIANTS_OF(hn_pool_global_max_f32);
static hn_pool_global_fn *const global_average[] = VARIANTS_OF(hn_pool_global_average_f32);

static double reference(const hn_pool_args *a, int64_t plane, int64_t oy, int64_t ox, int64_t lane, int average) {
  double sum = 0, top = -INFINITY;
  int64_t inside = 0, padded = 0;
  for (int64_t ky = 0; ky < a->kernel_h; ++ky) {
    for (int64_t kx = 0; kx < a->kernel_w; ++kx) {
      const int64_t y = oy * a->stride_h - a->pad_top + ky * a->dilation_h;
      const int64_t x = ox * a->stride_w - a->pad_left + kx * a->dilation_w;
      padded += y < a->in_h + a->pad_bottom && x < a->in_w + a->pad_right;
      if (y < 0 || y >= a->in_h || x < 0 || x >= a->in_w) continue;
      const double v = ((const float *)a->x)[((plane * a->in_h + y) * a->in_w + x) * a->block + lane];
      sum += v;
      top = fmax(top, v);
      ++inside;
    }
  }
  const int64_t count = a->count_include_pad ? padded : inside;
  return !average ? top : count > 0 ? sum / (double)count : 0;
}

static hn_pool_args random_geometry(uint64_t *seed, int32_t block) {
  hn_pool_args a = {
      .block = block, .in_d = 1, .out_d = 1, .kernel_d = 1, .stride_d = 1, .dilation_d = 1}; /* three: the sweep */
  a.kernel_h = 1 + random_below(seed, 4);
  a.kernel_w = 1 + random_below(seed, 5);
  a.stride_h = 1 + random_below(seed, 3);
  a.stride_w = 1 + random_below(seed, 3);
  a.dilation_h = 1 + random_below(seed, 2);
  a.dilation_w = 1 + random_below(seed, 3);
  a.pad_top = random_below(seed, a.kernel_h);
  a.pad_left = random_below(seed, a.kernel_w);
  a.pad_bottom = random_below(seed, a.kernel_h);
  a.pad_right = random_below(seed, a.kernel_w);
  a.count_include_pad = (int32_t)random_below(seed, 2);
  a.in_h = (a.kernel_h - 1) * a.dilation_h + 1 + random_below(seed, 6);
  a.in_w = (a.kernel_w - 1) * a.dilation_w + 1 + random_below(seed, block == 1 ? 90 : 9);
  /* One more than fits, now and then: what rounding up does. */
  a.out_h = (a.in_h + a.pad_top + a.pad_bottom - (a.kernel_h - 1) * a.dilation_h - 1) / a.stride_h + 1;
  a.out_w = (a.in_w + a.pad_left + a.pad_right - (a.kernel_w - 1) * a.dilation_w - 1) / a.stride_w + 1 +
            random_below(seed, 2);
  return a;
}

static void test_random(void **state) {
  (void)state;
  uint64_t seed = 11;
  static const int32_t block[] = {1, 1, 8, 16};
  for (int trial = 0; trial < 1500; ++trial) {
    hn_pool_args a = random_geometry(&seed, block[trial % 4]);
    enum { PLANES = 2 };
    guarded x = random_floats(&seed, PLANES * a.in_h * a.in_w * a.block, 1.0F);
    guarded y = guarded_new((size_t)(PLANES * a.out_h * a.out_w * a.block) * 4), z = guarded_new(y.bytes);
    for (int v = 0; v < VARIANTS * 2; ++v) {
      const int average = v % 2;
      if (!variant_runs(v / 2)) continue;
      hn_pool_fn *const f = average ? pool_average[v / 2] : pool_max[v / 2];
      a.x = floats(&x);
      a.y = floats(&y);
      f(&a, 0, PLANES * a.out_h);
      for (int64_t i = 0; i < PLANES * a.out_h * a.out_w * a.block; ++i) {
        const int64_t p = i / a.block;
        const double want =
            reference(&a, p / a.out_w / a.out_h, p / a.out_w % a.out_h, p % a.out_w, i % a.block, average);
        CHECK_NEAR(((const float *)a.y)[i], want, average ? 1e-6 : 0.0, "%s average %d, block %d, trial %d at %d",
                   variant_name[v / 2], average, (int)a.block, trial, (int)i);
      }
      a.y = floats(&z);
      IN_PIECES(&seed, PLANES * a.out_h, f(&a, begin, end))
      assert_memory_equal(y.data, z.data, y.bytes);
    }
    guarded_free(&x);
    guarded_free(&y);
    guarded_free(&z);
  }
}

static void test_global(void **state) {
  (void)state;
  uint64_t seed = 12;
  static const int32_t block[] = {1, 8, 16};
  enum { PLANES = 3 };
  for (size_t b = 0; b < COUNT(block); ++b) {
    for (int64_t pixels = 1; pixels < 200; pixels += 1 + pixels / 20) {
      guarded x = random_floats(&seed, PLANES * pixels * block[b], 1.0F);
      guarded y = guarded_new((size_t)(PLANES * block[b]) * 4);
      for (int v = 0; v < VARIANTS * 2; ++v) {
        if (!variant_runs(v / 2)) continue;
        const hn_pool_global_args a = {.x = floats(&x), .y = floats(&y), .pixels = pixels, .block = block[b]};
        IN_PIECES(&seed, PLANES, (v % 2 ? global_average : global_max)[v / 2](&a, begin, end))
        for (int64_t i = 0; i < PLANES * block[b]; ++i) {
          double sum = 0, top = -INFINITY;
          for (int64_t p = 0; p < pixels; ++p) {
            const double at = as_f32(a.x)[(i / block[b] * pixels + p) * block[b] + i % block[b]];
            sum += at;
            top = fmax(top, at);
          }
          CHECK_NEAR(as_f32(a.y)[i], v % 2 ? sum / (double)pixels : top, v % 2 ? 3e-7 : 0.0, "%s block %d, %d pixels",
                     variant_name[v / 2], (int)block[b], (int)pixels);
        }
      }
      guarded_free(&x);
      guarded_free(&y);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_global)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
