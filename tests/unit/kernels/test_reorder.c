/* SPDX-License-Identifier: Apache-2.0 */
/* test_reorder.c - plain to blocked and back, channel tails and pixel remainders. */
#include "kernels/cpu/reorder/reorder.h"

#include "kernel_test.h"

static hn_reorder_f32_fn *const to_blocked[] = VARIANTS_OF(hn_reorder_to_blocked_f32);
static hn_reorder_f32_fn *const from_blocked[] = VARIANTS_OF(hn_reorder_from_blocked_f32);

static void check_case(uint64_t *seed, int64_t images, int64_t channels, int64_t pixels, int32_t block) {
  const int64_t blocks = (channels + block - 1) / block;
  guarded x = random_floats(seed, images * channels * pixels, 1.0F);
  guarded y = guarded_new((size_t)(images * blocks * block * pixels) * 4), z = guarded_new(x.bytes);
  for (int v = 0; v < VARIANTS; ++v) {
    if (!variant_runs(v)) continue;
    hn_reorder_args a = {floats(&x), floats(&y), images, channels, pixels, block};
    memset(y.data, 0x5a, y.bytes);
    IN_PIECES(seed, hn_reorder_units(&a), to_blocked[v](&a, begin, end))
    for (int64_t i = 0; i < images * blocks * block * pixels; ++i) {
      const int64_t c = i / (pixels * block) % blocks * block + i % block, p = i / block % pixels;
      const int64_t image = i / (blocks * block * pixels);
      const float want = c < channels ? a.x[(image * channels + c) * pixels + p] : 0.0F;
      CHECK_NEAR(a.y[i], want, 0.0, "%s c%d, %d channels, %d pixels at %d", variant_name[v], (int)block, (int)channels,
                 (int)pixels, (int)i);
    }
    a = (hn_reorder_args){floats(&y), floats(&z), images, channels, pixels, block};
    memset(z.data, 0x5a, z.bytes);
    IN_PIECES(seed, hn_reorder_units(&a), from_blocked[v](&a, begin, end))
    assert_memory_equal(z.data, x.data, x.bytes);
  }
  guarded_free(&x);
  guarded_free(&y);
  guarded_free(&z);
}

static void test_shapes(void **state) {
  (void)state;
  uint64_t seed = 5;
  static const int64_t pixels[] = {1, 7, 16, 49, 255, 256, 300};
  for (int32_t block = 8; block <= 16; block += 8)
    for (int64_t channels = 1; channels < 40; channels += 1 + channels / 18)
      for (size_t i = 0; i < COUNT(pixels); ++i) check_case(&seed, 2, channels, pixels[i], block);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
