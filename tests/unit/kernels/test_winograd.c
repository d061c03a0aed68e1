/* SPDX-License-Identifier: Apache-2.0 */
/* test_winograd.c - 3x3 convolution by minimal filtering against sums in double: random extents, pads and cuts, an odd
 * number of channels, partial tiles; results do not depend on how the work is cut. */
#include "kernel_check.h"

#include "kernels/cpu/conv/winograd.h"

typedef struct variant {
  const char *name;
  int block, most_blocks, is_supported;
  void (*patches)(const hn_winograd_f32 *, int64_t, int64_t, int64_t, int64_t, float *);
  void (*outputs)(const hn_winograd_f32 *, int64_t, int64_t, int64_t, int64_t, const float *, float *);
} variant;

enum { VARIANTS = 3 };

static void list_variants(variant *v) {
  memset(v, 0, VARIANTS * sizeof *v);
  v[0] =
      (variant){"c", 8, HN_CONV_F32_OC_BLOCKS_C, 1, hn_winograd_f32_patches_nchw8c_c, hn_winograd_f32_outputs_nchw8c_c};
#ifndef HONE_NO_AVX
  const int has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const int has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  v[1] = (variant){"avx2",
                   8,
                   HN_CONV_F32_OC_BLOCKS_AVX2,
                   has_avx2,
                   hn_winograd_f32_patches_nchw8c_avx2,
                   hn_winograd_f32_outputs_nchw8c_avx2};
  v[2] = (variant){"avx512",
                   16,
                   HN_CONV_F32_OC_BLOCKS_AVX512,
                   has_avx512,
                   hn_winograd_f32_patches_nchw16c_avx512,
                   hn_winograd_f32_outputs_nchw16c_avx512};
#endif
}

typedef struct data {
  guarded x, w, bias, residual; /* plain */
  double *want;
} data;

static int64_t blocked_at(const int64_t *nchw, int64_t channels, int64_t pixels, int block) {
  const int64_t blocks = (channels + block - 1) / block;
  return ((nchw[0] * blocks + nchw[1] / block) * pixels + nchw[2]) * block + nchw[1] % block;
}

/* Plain to blocked, lanes beyond the last channel zero. */
static guarded blocked(const float *plain, int64_t n, int64_t channels, int64_t pixels, int block) {
  const int64_t padded = (channels + block - 1) / block * block;
  guarded g = guarded_new(n * padded * pixels);
  memset(g.data, 0, (size_t)g.count * sizeof(float));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t p = 0; p < pixels; ++p)
        g.data[blocked_at((int64_t[]){i, c, p}, channels, pixels, block)] = plain[(i * channels + c) * pixels + p];
  return g;
}

static double sum_at(const hn_conv_f32 *c, const data *d, int64_t n, int64_t o, int64_t y, int64_t x) {
  double sum = d->bias.data ? (double)d->bias.data[o] : 0;
  for (int64_t i = 0; i < c->in_channels; ++i)
    for (int64_t k = 0; k < 9; ++k) {
      const int64_t iy = y + k / 3 - c->pad_top, ix = x + k % 3 - c->pad_left;
      if (iy < 0 || ix < 0 || iy >= c->in_height || ix >= c->in_width) continue;
      sum += (double)d->w.data[(o * c->in_channels + i) * 9 + k] *
             (double)d->x.data[((n * c->in_channels + i) * c->in_height + iy) * c->in_width + ix];
    }
  return sum;
}

static data make_data(const hn_conv_f32 *c, int has_bias, int has_residual, uint32_t *seed) {
  const int64_t outs = c->batch * c->out_channels * c->out_height * c->out_width;
  data d = {.x = guarded_random(c->batch * c->in_channels * c->in_height * c->in_width, seed),
            .w = guarded_random(c->out_channels * c->in_channels * 9, seed),
            .want = malloc((size_t)outs * sizeof(double))};
  assert_non_null(d.want);
  if (has_bias) d.bias = guarded_random(c->out_channels, seed);
  if (has_residual) d.residual = guarded_random(outs, seed);
  int64_t at = 0;
  for (int64_t n = 0; n < c->batch; ++n)
    for (int64_t o = 0; o < c->out_channels; ++o)
      for (int64_t p = 0; p < c->out_height * c->out_width; ++p, ++at) {
        const double sum = sum_at(c, &d, n, o, p / c->out_width, p % c->out_width);
        d.want[at] = reference_activation(sum + (has_residual ? (double)d.residual.data[at] : 0), &c->epilogue, o);
      }
  return d;
}

static void drop_data(data *d) {
  guarded_free(d->x);
  guarded_free(d->w);
  if (d->bias.data) guarded_free(d->bias);
  if (d->residual.data) guarded_free(d->residual);
  free(d->want);
}

/* All tiles in calls of at most call_tiles, the last first, blocks and sets one by one. */
static void run(const variant *v, hn_winograd_f32 *w, int64_t call_tiles) {
  hn_winograd_f32_plan(w, w->outputs, call_tiles, v->block);
  const int64_t in_blocks = (w->conv.in_channels + v->block - 1) / v->block;
  const int64_t out_blocks = (w->conv.out_channels + v->block - 1) / v->block;
  const int64_t sets = (out_blocks + w->conv.oc_blocks - 1) / w->conv.oc_blocks;
  guarded patches = guarded_new(hn_winograd_f32_patch_floats(w)),
          product = guarded_new(hn_winograd_f32_product_floats(w));
  for (int64_t call = (w->tiles + w->call_tiles - 1) / w->call_tiles; call > 0; --call) {
    const int64_t first = (call - 1) * w->call_tiles, left = w->tiles - first;
    const int64_t count = left < w->call_tiles ? left : w->call_tiles;
    for (int64_t b = in_blocks; b > 0; --b) v->patches(w, first, count, b - 1, b, patches.data);
    for (int64_t s = sets; s > 0; --s) v->outputs(w, first, count, s - 1, s, patches.data, product.data);
  }
  guarded_free(patches);
  guarded_free(product);
}

static double distance(const hn_conv_f32 *c, const data *d, const float *got, int block, const char *what) {
  const int64_t pixels = c->out_height * c->out_width, padded = (c->out_channels + block - 1) / block * block;
  double error = 0, norm = 1e-30;
  for (int64_t n = 0; n < c->batch; ++n)
    for (int64_t o = 0; o < padded; ++o)
      for (int64_t p = 0; p < pixels; ++p) {
        const double value = (double)got[blocked_at((int64_t[]){n, o, p}, c->out_channels, pixels, block)];
        if (o >= c->out_channels) {
          if (value != 0) fail_msg("%s: lane %lld is not zero", what, (long long)o);
          continue;
        }
        const double want = d->want[(n * c->out_channels + o) * pixels + p];
        error += (value - want) * (value - want);
        norm += want * want;
      }
  return sqrt(error / norm);
}

static void check_variant(const variant *v, hn_conv_f32 c, const data *d, int64_t outputs, uint32_t *seed) {
  char what[160];
  snprintf(what, sizeof what, "%s m=%d %dx%d @ %dx%d pads %d,%d", v->name, (int)outputs, (int)c.in_channels,
           (int)c.out_channels, (int)c.in_height, (int)c.in_width, (int)c.pad_top, (int)c.pad_left);
  const int64_t out_pixels = c.out_height * c.out_width, in_pixels = c.in_height * c.in_width;
  const int64_t out_blocks = (c.out_channels + v->block - 1) / v->block;
  guarded in = blocked(d->x.data, c.batch, c.in_channels, in_pixels, v->block), bias = {0}, residual = {0};
  guarded out = guarded_new(c.batch * out_blocks * v->block * out_pixels), again = guarded_new(out.count);
  guarded packed = guarded_new(hn_winograd_f32_packed_floats(c.out_channels, c.in_channels, outputs, v->block));
  for (int64_t b = out_blocks; b > 0; --b)
    hn_winograd_f32_pack_c(d->w.data, c.out_channels, c.in_channels, outputs, v->block, b - 1, b, packed.data);
  c.input = in.data;
  c.weights = packed.data;
  if (d->bias.data) c.epilogue.bias = (bias = blocked(d->bias.data, 1, c.out_channels, 1, v->block)).data;
  if (d->residual.data) {
    residual = blocked(d->residual.data, c.batch, c.out_channels, out_pixels, v->block);
    c.epilogue.residual = residual.data;
  }
  hn_winograd_f32 w = {.conv = c, .outputs = outputs};
  w.conv.oc_blocks = (int32_t)(1 + random_below(seed, v->most_blocks));
  w.conv.output = out.data;
  run(v, &w, 1 + random_below(seed, 40));
  const double error = distance(&c, d, out.data, v->block, what);
  if (!(error <= (outputs == 2 ? 1e-6 : 4e-6))) fail_msg("%s: relative error %.3g", what, error);
  w.conv.oc_blocks = (int32_t)(1 + random_below(seed, v->most_blocks));
  w.conv.output = again.data;
  run(v, &w, 1 + random_below(seed, 40));
  if (memcmp(out.data, again.data, (size_t)out.count * sizeof(float)))
    fail_msg("%s: another cut, another result", what);
  guarded_free(in);
  guarded_free(out);
  guarded_free(again);
  guarded_free(packed);
  if (bias.data) guarded_free(bias);
  if (residual.data) guarded_free(residual);
}

static void check_geometry(hn_conv_f32 c, uint32_t *seed) {
  variant v[VARIANTS];
  list_variants(v);
  data d = make_data(&c, (int)random_below(seed, 2), (int)random_below(seed, 2), seed);
  for (int i = 0; i < VARIANTS; ++i)
    for (int64_t outputs = 2; outputs <= 4; outputs += 2)
      if (v[i].is_supported) check_variant(&v[i], c, &d, outputs, seed);
  drop_data(&d);
}

static hn_conv_f32 geometry(int64_t n, int64_t in, int64_t out, int64_t height, int64_t width, int64_t pad) {
  return (hn_conv_f32){.batch = n,
                       .in_channels = in,
                       .out_channels = out,
                       .groups = 1,
                       .in_height = height,
                       .in_width = width,
                       .out_height = height + 2 * pad - 2,
                       .out_width = width + 2 * pad - 2,
                       .kernel_height = 3,
                       .kernel_width = 3,
                       .stride_height = 1,
                       .stride_width = 1,
                       .dilation_height = 1,
                       .dilation_width = 1,
                       .pad_top = pad,
                       .pad_left = pad};
}

static void test_random(void **state) {
  (void)state;
  uint32_t seed = 29;
  for (int i = 0; i < 60; ++i) {
    hn_conv_f32 c = geometry(1 + random_below(&seed, 3), 1 + random_below(&seed, 40), 1 + random_below(&seed, 70),
                             3 + random_below(&seed, 9), 3 + random_below(&seed, 20), 0);
    c.pad_top = random_below(&seed, 4);
    c.pad_left = random_below(&seed, 4);
    c.out_height += c.pad_top + random_below(&seed, 4); /* and below, and to the right */
    c.out_width += c.pad_left + random_below(&seed, 4);
    c.epilogue = random_epilogue(&seed);
    check_geometry(c, &seed);
  }
}

static void test_small_images(void **state) {
  (void)state;
  uint32_t seed = 31;
  for (int64_t height = 1; height <= 7; ++height)
    for (int64_t width = 1; width <= 7; ++width) check_geometry(geometry(2, 17, 19, height, width, 1), &seed);
}

static void test_deep(void **state) {
  (void)state;
  uint32_t seed = 37;
  check_geometry(geometry(1, 512, 40, 7, 7, 1), &seed);
}

/* Infinities, NaN and numbers near the largest, planted in an image at random: each output is what a plain sum of
 * floats makes of them, and outputs that read none are as exact as ever. */
static void plant(data *d, uint32_t *seed) {
  static const float odd[] = {INFINITY, -INFINITY, NAN, 3e38f, -3e38f, 1e34f, 1e30f};
  for (int64_t k = 1 + random_below(seed, 4); k > 0; --k)
    d->x.data[random_below(seed, d->x.count)] = odd[random_below(seed, sizeof odd / sizeof odd[0])];
  for (int k = 0; k < 30; ++k) d->w.data[random_below(seed, d->w.count)] = 0; /* times infinity is NaN */
  for (int64_t k = 0; k < d->w.count; ++k)
    if (fabsf(d->w.data[k]) < 0x1p-18f) d->w.data[k] = 0; /* as such weights count beside large ones: winograd.h */
}

/* The sum, that of the finite terms' sizes, and of all with each kernel's largest weight: what errors are measured by.
 */
typedef struct wanted {
  double sum, size, most;
} wanted;

static wanted want_at(const hn_conv_f32 *c, const data *d, int64_t n, int64_t o, int64_t y, int64_t x) {
  wanted w = {.sum = sum_at(c, d, n, o, y, x)};
  for (int64_t i = 0; i < c->in_channels; ++i) {
    const float *kernel = d->w.data + (o * c->in_channels + i) * 9;
    double largest = 0;
    for (int64_t k = 0; k < 9; ++k) largest = fmax(largest, fabs((double)kernel[k]));
    for (int64_t k = 0; k < 9; ++k) {
      const int64_t iy = y + k / 3 - c->pad_top, ix = x + k % 3 - c->pad_left;
      if (iy < 0 || ix < 0 || iy >= c->in_height || ix >= c->in_width) continue;
      const double size = fabs((double)d->x.data[((n * c->in_channels + i) * c->in_height + iy) * c->in_width + ix]);
      if (isfinite(size)) w.size += fabs((double)kernel[k]) * size;
      w.most += largest * size;
    }
  }
  return w;
}

static void check_planted(const hn_conv_f32 *c, const data *d, const float *got, int block, const char *what) {
  for (int64_t n = 0; n < c->batch; ++n)
    for (int64_t o = 0; o < c->out_channels; ++o)
      for (int64_t p = 0; p < c->out_height * c->out_width; ++p) {
        const double is =
            (double)got[blocked_at((int64_t[]){n, o, p}, c->out_channels, c->out_height * c->out_width, block)];
        const wanted w = want_at(c, d, n, o, p / c->out_width, p % c->out_width);
        const int huge = !isnan(w.sum) && w.size > 3e38; /* whether it overflows depends on the order */
        if (huge || (isnan(w.sum) && isnan(is)) || is == w.sum) continue;
        /* a tile of ordinary numbers is as exact as its largest values, those below 2^90 */
        if (!(isfinite(w.sum) && fabs(is - w.sum) <= 2e-6 * (w.most + 8)))
          fail_msg("%s: channel %d, place %d is %g, not %g", what, (int)o, (int)p, is, w.sum);
      }
}

static void check_planted_variant(const variant *v, hn_conv_f32 c, const data *d, int64_t outputs, uint32_t *seed) {
  char what[80];
  snprintf(what, sizeof what, "%s m=%d, planted", v->name, (int)outputs);
  const int64_t out_blocks = (c.out_channels + v->block - 1) / v->block;
  guarded in = blocked(d->x.data, c.batch, c.in_channels, c.in_height * c.in_width, v->block);
  guarded out = guarded_new(c.batch * out_blocks * v->block * c.out_height * c.out_width);
  guarded packed = guarded_new(hn_winograd_f32_packed_floats(c.out_channels, c.in_channels, outputs, v->block));
  hn_winograd_f32_pack_c(d->w.data, c.out_channels, c.in_channels, outputs, v->block, 0, out_blocks, packed.data);
  c.input = in.data;
  c.weights = packed.data;
  c.output = out.data;
  c.oc_blocks = (int32_t)(1 + random_below(seed, v->most_blocks));
  hn_winograd_f32 w = {.conv = c, .outputs = outputs};
  run(v, &w, 1 + random_below(seed, 40));
  check_planted(&c, d, out.data, v->block, what);
  guarded_free(in);
  guarded_free(out);
  guarded_free(packed);
}

static void test_planted(void **state) {
  (void)state;
  uint32_t seed = 41;
  variant v[VARIANTS];
  list_variants(v);
  for (int round = 0; round < 40; ++round) {
    hn_conv_f32 c = geometry(1 + random_below(&seed, 2), 1 + random_below(&seed, 40), 1 + random_below(&seed, 40),
                             4 + random_below(&seed, 12), 4 + random_below(&seed, 12), random_below(&seed, 2));
    data d = make_data(&c, 0, 0, &seed);
    plant(&d, &seed);
    for (int i = 0; i < VARIANTS; ++i)
      for (int64_t outputs = 2; outputs <= 4; outputs += 2)
        if (v[i].is_supported) check_planted_variant(&v[i], c, &d, outputs, &seed);
    drop_data(&d);
  }
}

/* One huge pixel at each place of a tile, and kernels whose lines cancel in the transforms: on the way through the
 * products it must not vanish from those that are looked at while it spoils others. */
static void test_huge_places(void **state) {
  (void)state;
  static const float line[][3] = {{1, 0, 0},  {0, 1, 0}, {0, 0, 1},  {1, 1, 1},
                                  {1, 0, -1}, {1, 2, 1}, {1, -2, 1}, {0, 1, -1}};
  enum { LINES = sizeof line / sizeof line[0], SIDE = 8 };
  uint32_t seed = 43;
  variant v[VARIANTS];
  list_variants(v);
  for (int kernel = 0; kernel < LINES * LINES; ++kernel) {
    const hn_conv_f32 c = geometry(1, 1, 1, SIDE, SIDE, 0);
    data d = make_data(&c, 0, 0, &seed);
    const float scale = 0.3f + (float)random_below(&seed, 1000) / 1000;
    for (int k = 0; k < 9; ++k) d.w.data[k] = line[kernel / LINES][k / 3] * line[kernel % LINES][k % 3] * scale;
    for (int place = 0; place < SIDE * SIDE; ++place) {
      const float before = d.x.data[place];
      d.x.data[place] = 1e34f;
      for (int i = 0; i < VARIANTS; ++i)
        for (int64_t outputs = 2; outputs <= 4; outputs += 2)
          if (v[i].is_supported) check_planted_variant(&v[i], c, &d, outputs, &seed);
      d.x.data[place] = before;
    }
    drop_data(&d);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_small_images),
                                     cmocka_unit_test(test_deep), cmocka_unit_test(test_planted),
                                     cmocka_unit_test(test_huge_places)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
