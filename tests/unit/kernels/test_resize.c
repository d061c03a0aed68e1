/* SPDX-License-Identifier: Apache-2.0 */
/* test_resize.c - resizing by random tables against the sum that the header states. */
#include "kernels/cpu/resize/resize.h"

#include "kernel_test.h"

static hn_resize_fn *const nearest[] = VARIANTS_OF(hn_resize_nearest_f32);
static hn_resize_fn *const taps[] = VARIANTS_OF(hn_resize_taps_f32);

enum { PLANES = 2, MOST_TAPS = 5 };

static double reference(const hn_resize_args *a, int64_t i, int use_taps) {
  const int64_t lane = i % a->block, ox = i / a->block % a->out_w, oy = i / a->block / a->out_w % a->out_h;
  const float *plane = as_f32(a->x) + i / a->block / a->out_w / a->out_h * a->in_h * a->in_w * a->block;
  double sum = 0;
  for (int32_t ty = 0; ty < (use_taps ? a->taps_y : 1); ++ty) {
    for (int32_t tx = 0; tx < (use_taps ? a->taps_x : 1); ++tx) {
      const double x =
          plane[(a->index_y[ty * a->out_h + oy] * a->in_w + a->index_x[tx * a->out_w + ox]) * a->block + lane];
      sum += use_taps ? x * as_f32(a->weight_y)[ty * a->out_h + oy] * as_f32(a->weight_x)[tx * a->out_w + ox] : x;
    }
  }
  return sum;
}

static guarded random_indices(uint64_t *seed, int64_t n, int64_t below) {
  guarded g = guarded_new((size_t)n * 4);
  for (int64_t i = 0; i < n; ++i) ((int32_t *)(void *)g.data)[i] = (int32_t)random_below(seed, below);
  return g;
}

static void check_case(uint64_t *seed, hn_resize_args a) {
  const int64_t n = PLANES * a.out_h * a.out_w * a.block;
  guarded x = random_floats(seed, PLANES * a.in_h * a.in_w * a.block, 1.0F), y = guarded_new((size_t)n * 4);
  guarded iy = random_indices(seed, a.out_h * a.taps_y, a.in_h), ix = random_indices(seed, a.out_w * a.taps_x, a.in_w);
  guarded wy = random_floats(seed, a.out_h * a.taps_y, 1.0F), wx = random_floats(seed, a.out_w * a.taps_x, 1.0F);
  a.x = floats(&x);
  a.y = floats(&y);
  a.index_y = (const int32_t *)(const void *)iy.data;
  a.index_x = (const int32_t *)(const void *)ix.data;
  a.weight_y = floats(&wy);
  a.weight_x = floats(&wx);
  for (int v = 0; v < VARIANTS * 2; ++v) {
    if (!variant_runs(v / 2)) continue;
    memset(y.data, 0x5a, y.bytes);
    IN_PIECES(seed, PLANES * a.out_h, (v % 2 ? taps : nearest)[v / 2](&a, begin, end))
    for (int64_t i = 0; i < n; ++i)
      CHECK_NEAR(as_f32(a.y)[i], reference(&a, i, v % 2), v % 2 ? 2e-7 * a.taps_x * a.taps_y : 0.0,
                 "%s taps %d, block %d", variant_name[v / 2], v % 2, (int)a.block);
  }
  guarded *all[] = {&x, &y, &iy, &ix, &wy, &wx};
  for (size_t i = 0; i < COUNT(all); ++i) guarded_free(all[i]);
}

static void test_random(void **state) {
  (void)state;
  uint64_t seed = 15;
  static const int32_t block[] = {1, 1, 8, 16};
  for (int trial = 0; trial < 800; ++trial) {
    const hn_resize_args a = {.in_h = 1 + random_below(&seed, 6),
                              .in_w = 1 + random_below(&seed, 40),
                              .out_h = 1 + random_below(&seed, 6),
                              .out_w = 1 + random_below(&seed, 60),
                              .taps_y = 1 + (int32_t)random_below(&seed, MOST_TAPS),
                              .taps_x = 1 + (int32_t)random_below(&seed, MOST_TAPS),
                              .block = block[trial % 4],
                              .taps_z = 1,
                              .in_d = 1,
                              .out_d = 1,
                              .index_z = (const int32_t[]){0},
                              .weight_z = (const float[]){1.0F}};
    check_case(&seed, a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
