/* SPDX-License-Identifier: Apache-2.0 */
/* test_gemm.c - every GEMM variant this CPU has against sums in double, and against itself in other splits. */
#include "kernel_check.h"

#include "kernels/cpu/gemm/gemm.h"

typedef void gemm_function(const hn_gemm_f32 *, int64_t, int64_t, int64_t, int64_t, float *);
typedef struct variant {
  const char *name;
  gemm_function *run;
  int64_t (*a_tiles)(const hn_gemm_f32 *);
  void (*pack_a)(const hn_gemm_f32 *, int64_t, int64_t, float *);
  int panel, most_panels;
  int is_supported;
} variant;

enum { VARIANTS = 3 };

static void list_variants(variant *v) {
  memset(v, 0, VARIANTS * sizeof *v);
  v[0] = (variant){"4x8_c", hn_gemm_f32_4x8_c, hn_gemm_f32_a_tiles_c, hn_gemm_f32_pack_a_c, HN_GEMM_F32_PANEL_C, 2, 1};
#ifndef HONE_NO_AVX
  v[1] = (variant){"6x16_avx2",
                   hn_gemm_f32_6x16_avx2,
                   hn_gemm_f32_a_tiles_avx2,
                   hn_gemm_f32_pack_a_avx2,
                   HN_GEMM_F32_PANEL_AVX2,
                   3,
                   __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")};
  v[2] = (variant){"14x32_avx512",
                   hn_gemm_f32_14x32_avx512,
                   hn_gemm_f32_a_tiles_avx512,
                   hn_gemm_f32_pack_a_avx512,
                   HN_GEMM_F32_PANEL_AVX512,
                   4,
                   __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")};
#endif
}

typedef struct shape {
  int64_t m, n, k;
  int transpose_a, transpose_b;
} shape;

/* Everything in C that the call must write, against the definition. */
static void check_product(const hn_gemm_f32 *g, const float *b, const shape *s, const char *what) {
  for (int64_t i = 0; i < g->m; ++i)
    for (int64_t j = 0; j < g->n; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t p = 0; p < g->k; ++p) {
        const double x = (double)g->a[i * g->a_row_stride + p * g->a_column_stride] *
                         (double)(s->transpose_b ? b[j * g->k + p] : b[p * g->n + j]);
        sum += x;
        magnitude += fabs(x);
      }
      if (g->epilogue.bias) sum += (double)g->epilogue.bias[g->bias_per_row ? i : j];
      if (g->epilogue.residual) sum += (double)g->epilogue.residual[i * g->epilogue.residual_stride + j];
      magnitude += 2 + fabs(sum);
      check_real(g->c[i * g->c_row_stride + j], reference_activation(sum, &g->epilogue, g->bias_per_row ? i : j),
                 magnitude, g->k, what, i * g->n + j);
    }
}

/* One part of k after the other: C holds the sums between them. */
static void run_by_k(const variant *v, const hn_gemm_f32 *whole, int64_t row, int64_t row_end, int64_t panel,
                     int64_t panel_end, float *scratch, uint32_t *seed) {
  hn_gemm_f32 g = *whole;
  const int64_t blocks = 1 + random_below(seed, 3);
  for (g.k_begin = 0; g.k_begin < g.k || g.k == 0; g.k_begin = g.k_end) {
    g.k_end = g.k_begin + blocks * g.block_k < g.k ? g.k_begin + blocks * g.block_k : g.k;
    v->run(&g, row, row_end, panel, panel_end, scratch);
    if (g.k == 0) break;
  }
}

/* A packed by two calls for two more, on other columns each: the same bits. */
static void check_shared_a(const variant *v, const hn_gemm_f32 *whole, const guarded *c, int64_t panel, uint32_t *seed,
                           const char *what) {
  hn_gemm_f32 g = *whole;
  guarded again = guarded_new(c->count), packed = guarded_new(hn_gemm_f32_a_floats(&g));
  const int64_t tiles = v->a_tiles(&g), middle = random_below(seed, tiles + 1);
  memcpy(again.data, c->data, (size_t)c->count * sizeof(float)); /* what lies between rows */
  for (int64_t i = 0; i < g.m; ++i) memset(again.data + i * g.c_row_stride, 0, (size_t)g.n * sizeof(float));
  v->pack_a(&g, middle, tiles, packed.data);
  v->pack_a(&g, 0, middle, packed.data);
  g.c = again.data;
  g.a_packed = packed.data;
  const int64_t row = random_below(seed, g.m + 1) / g.block_m * g.block_m;
  v->run(&g, 0, g.m, panel, hn_gemm_f32_panels(g.n, v->panel), NULL);
  run_by_k(v, &g, row, g.m, 0, panel, NULL, seed);
  run_by_k(v, &g, 0, row, 0, panel, NULL, seed);
  if (memcmp(c->data, again.data, (size_t)c->count * sizeof(float))) fail_msg("%s: packed once, another result", what);
  guarded_free(again);
  guarded_free(packed);
}

/* Runs all of C in one call, then again in four calls with other blocks; both must be right and the same bits. */
static void check_shape(const variant *v, const shape *s, uint32_t seed) {
  const int64_t c_stride = s->n + random_below(&seed, 3), r_stride = s->n + 1;
  const int64_t panels = hn_gemm_f32_panels(s->n, v->panel);
  guarded a = guarded_random(s->m * s->k, &seed), b = guarded_random(s->k * s->n, &seed);
  guarded bias = guarded_random(s->m > s->n ? s->m : s->n, &seed), residual = guarded_random(s->m * r_stride, &seed);
  guarded packed = guarded_new(hn_gemm_f32_packed_floats(s->k, s->n, v->panel));
  guarded c = guarded_new(s->m * c_stride), again = guarded_new(s->m * c_stride);
  hn_gemm_f32 g = {.m = s->m, .n = s->n, .k = s->k, .a = a.data, .b_packed = packed.data, .c = c.data};
  char what[96];
  snprintf(what, sizeof what, "%s %lldx%lldx%lld%s%s", v->name, (long long)s->m, (long long)s->n, (long long)s->k,
           s->transpose_a ? " ta" : "", s->transpose_b ? " tb" : "");
  g.a_row_stride = s->transpose_a ? 1 : s->k;
  g.a_column_stride = s->transpose_a ? s->m : 1;
  g.c_row_stride = c_stride;
  g.epilogue = random_epilogue(&seed);
  g.bias_per_row = (int32_t)random_below(&seed, 2);
  if (random_below(&seed, 4)) g.epilogue.bias = bias.data;
  if (random_below(&seed, 2)) g.epilogue.residual = residual.data;
  g.epilogue.residual_stride = r_stride;
  hn_gemm_f32_pack_b_c(b.data, s->transpose_b ? 1 : s->n, s->transpose_b ? s->k : 1, s->k, s->n, v->panel, 0,
                       panels / 2, packed.data);
  hn_gemm_f32_pack_b_c(b.data, s->transpose_b ? 1 : s->n, s->transpose_b ? s->k : 1, s->k, s->n, v->panel, panels / 2,
                       panels, packed.data);

  hn_gemm_f32_choose(&g, v->panel, 2 << 20);
  guarded scratch = guarded_new(hn_gemm_f32_scratch_floats(&g));
  v->run(&g, 0, s->m, 0, panels, scratch.data);
  guarded_free(scratch);
  check_product(&g, b.data, s, what);

  g.c = again.data;
  g.tile_panels = (int32_t)(1 + random_below(&seed, v->most_panels));
  g.block_k = 16 * (1 + random_below(&seed, 4));
  g.block_m = 1 + random_below(&seed, 40);
  g.block_n = v->panel * (1 + random_below(&seed, 6));
  scratch = guarded_new(hn_gemm_f32_scratch_floats(&g));
  const int64_t row = random_below(&seed, s->m + 1), panel = random_below(&seed, panels + 1);
  v->run(&g, row, s->m, panel, panels, scratch.data);
  run_by_k(v, &g, 0, row, 0, panel, scratch.data, &seed);
  v->run(&g, row, s->m, 0, panel, scratch.data);
  run_by_k(v, &g, 0, row, panel, panels, scratch.data, &seed);
  if (memcmp(c.data, again.data, (size_t)c.count * sizeof(float))) fail_msg("%s: another split, another result", what);
  check_shared_a(v, &g, &c, panel, &seed, what);
  guarded_free(scratch);
  guarded_free(a);
  guarded_free(b);
  guarded_free(bias);
  guarded_free(residual);
  guarded_free(packed);
  guarded_free(c);
  guarded_free(again);
}

static void for_each_variant(const shape *s, uint32_t seed) {
  variant v[VARIANTS];
  list_variants(v);
  for (int i = 0; i < VARIANTS; ++i)
    if (v[i].is_supported) check_shape(&v[i], s, seed);
}

static void test_small_rows(void **state) {
  (void)state;
  for (int64_t m = 1; m <= 17; ++m)
    for (int64_t n = 1; n <= 300; n = n * 2 + 3)
      for (int64_t k = 1; k <= 130; k = k * 3 + 2)
        for_each_variant(&(shape){m, n, k, 0, 0}, (uint32_t)(m * 7919 + n * 31 + k));
}

static void test_random_shapes(void **state) {
  (void)state;
  uint32_t seed = 20240611;
  for (int i = 0; i < 400; ++i) {
    const shape s = {1 + random_below(&seed, 90), 1 + random_below(&seed, 150), 1 + random_below(&seed, 260),
                     (int)random_below(&seed, 2), (int)random_below(&seed, 2)};
    for_each_variant(&s, random_next(&seed));
  }
}

static void test_whole_tiles(void **state) {
  (void)state;
  static const shape rows[] = {{128, 384, 384, 0, 0}, {28, 64, 512, 0, 1}, {197, 192, 77, 1, 0}, {1, 1000, 1280, 0, 1}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) for_each_variant(&rows[i], (uint32_t)i + 1);
}

/* k = 0: the empty sum, then bias and activation. */
static void test_empty_sum(void **state) {
  (void)state;
  for (int64_t m = 1; m < 20; m += 6)
    for (uint32_t seed = 0; seed < 12; ++seed) for_each_variant(&(shape){m, 37, 0, 0, 0}, seed);
}

/* Every activation over a wide range, through a 1 x n product with 1; extremes included. */
static void test_activation_accuracy(void **state) {
  (void)state;
  enum { N = 8192 };
  variant v[VARIANTS];
  list_variants(v);
  guarded b = guarded_new(N), packed = guarded_new(N), c = guarded_new(N);
  const float one = 1;
  for (int i = 0; i < N; ++i) b.data[i] = (float)((i - N / 2) * (1.0 / 37)) * (i % 7 ? 1.0f : 1e-3f);
  for (int i = 0; i < VARIANTS; ++i) {
    if (!v[i].is_supported) continue;
    hn_gemm_f32_pack_b_c(b.data, N, 1, 1, N, v[i].panel, 0, N / v[i].panel, packed.data);
    for (int kind = 0; kind < HN_ACTIVATION_COUNT; ++kind) {
      hn_gemm_f32 g = {.m = 1, .n = N, .k = 1, .a = &one, .b_packed = packed.data, .c = c.data};
      g.a_row_stride = g.a_column_stride = 1;
      g.c_row_stride = N;
      g.epilogue = (hn_epilogue_f32){.activation = (hn_activation)kind, .alpha = 0.2f, .beta = 0.5f, .slope = b.data};
      hn_gemm_f32_choose(&g, v[i].panel, 2 << 20);
      v[i].run(&g, 0, 1, 0, N / v[i].panel, NULL);
      for (int j = 0; j < N; ++j) {
        const double x = (double)b.data[j], want = reference_activation(x, &g.epilogue, j);
        /* four roundings; erfc's exponent x^2 / 2 is rounded once more, relative to its size; hardsigmoid and
         * hardswish round sums near zero */
        double scale = kind == HN_ACTIVATION_GELU && x < 0 ? 4 + x * x : 4;
        if (kind == HN_ACTIVATION_GELU_TANH && x < 0) scale += 2 * fabs(x + 0.044715 * x * x * x);
        double bound = scale * 0x1p-23 * fabs(want) + 1e-37 * (1 + fabs(x));
        if (kind == HN_ACTIVATION_HARD_SIGMOID || kind == HN_ACTIVATION_HARD_SWISH) bound += 0x1p-23 * (1 + fabs(x));
        if (!(fabs((double)c.data[j] - want) <= bound))
          fail_msg("%s: activation %d of %.9g is %.9g, not %.9g", v[i].name, kind, x, (double)c.data[j], want);
      }
    }
  }
  guarded_free(b);
  guarded_free(packed);
  guarded_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_small_rows), cmocka_unit_test(test_random_shapes),       cmocka_unit_test(test_whole_tiles),
      cmocka_unit_test(test_empty_sum),  cmocka_unit_test(test_activation_accuracy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
