/* SPDX-License-Identifier: Apache-2.0 */
/* test_activate_halves.c - every activation of results that are rounded to bf16 and f16, as docs/NUMERICS.md bounds it,
 * through depthwise convolutions whose only tap that is not zero is 1. */
#include "kernel_check.h"

#include "kernels/cpu/conv/conv.h"

enum { LANES = 32, SIDE = 30, N = SIDE * SIDE * LANES };

typedef void conv_function(const hn_conv_f32 *, int64_t, int64_t);
typedef struct variant {
  const char *name;
  conv_function *run;
  int is_bf16, is_supported;
} variant;

static double from_half(uint16_t x, int is_bf16) {
  if (is_bf16) {
    const uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
  }
  const int exponent = x >> 10 & 31, fraction = x & 1023;
  const double size = exponent == 31  ? fraction ? (double)NAN : (double)INFINITY
                      : exponent == 0 ? ldexp(fraction, -24)
                                      : ldexp(1024 + fraction, exponent - 25);
  return x >> 15 ? -size : size;
}

/* What may be lost before rounding and by it, of a result of this size. */
static double bound_of(hn_activation kind, double x, double want, int is_bf16) {
  const double before = is_bf16 ? 0x1p-12 : 0x1p-13, unit = is_bf16 ? 0x1p-7 : 0x1p-10;
  double bound = (before + unit / 2) * fabs(want) + (is_bf16 ? 1e-37 : 0x1p-25);
  if (kind == HN_ACTIVATION_GELU && x < -5) bound += 1e-9;
  if (kind == HN_ACTIVATION_GELU_TANH && x < 0) bound += (0x1p-22 * fabs(x * x * x) + 1e-37) * fabs(want) + 1e-36;
  if (kind == HN_ACTIVATION_HARD_SIGMOID || kind == HN_ACTIVATION_HARD_SWISH) bound += 0x1p-23 * (1 + fabs(x));
  return bound;
}

static void check_variant(const variant *v, const uint16_t *in, const float *weights, const float *slopes) {
  static uint16_t out[N];
  for (int kind = 0; kind < HN_ACTIVATION_COUNT; ++kind) {
    hn_conv_f32 c = {.batch = 1, .in_channels = LANES, .out_channels = LANES, .groups = LANES};
    c.in_height = c.in_width = c.out_height = c.out_width = SIDE;
    c.kernel_height = c.kernel_width = 3;
    c.stride_height = c.stride_width = c.dilation_height = c.dilation_width = c.pad_top = c.pad_left = 1;
    c.input = (const float *)(const void *)in;
    c.output = (float *)(void *)out;
    c.weights = weights;
    c.unit_rows = SIDE;
    c.oc_blocks = 1;
    c.epilogue = (hn_epilogue_f32){.activation = (hn_activation)kind, .alpha = 0.25f, .beta = 0.5f, .slope = slopes};
    v->run(&c, 0, hn_conv_f32_dw_units(&c, LANES));
    for (int i = 0; i < N; ++i) {
      const double x = from_half(in[i], v->is_bf16), got = from_half(out[i], v->is_bf16);
      const double want = reference_activation(x, &c.epilogue, i % LANES);
      if (!(fabs(got - want) <= bound_of((hn_activation)kind, x, want, v->is_bf16)))
        fail_msg("%s: activation %d of %.9g is %.9g, not %.9g", v->name, kind, x, got, want);
    }
  }
}

static void test_accuracy(void **state) {
  (void)state;
  __builtin_cpu_init();
#ifndef HONE_NO_AVX
  const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const int avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                     __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const int bf16 = avx512 && __builtin_cpu_supports("avx512bf16");
#endif
  const variant variants[] = {
      {"bf16 c", hn_conv_dw_bf16_nchw32c_c, 1, 1},
      {"f16 c", hn_conv_dw_f16_nchw32c_c, 0, 1},
#ifndef HONE_NO_AVX
      {"bf16 avx2", hn_conv_dw_bf16_nchw32c_avx2, 1, avx2},
      {"f16 avx2", hn_conv_dw_f16_nchw32c_avx2, 0, avx2},
      {"bf16 avx512", hn_conv_dw_bf16_nchw32c_avx512, 1, avx512},
      {"f16 avx512", hn_conv_dw_f16_nchw32c_avx512, 0, avx512},
      {"bf16 avx512_bf16", hn_conv_dw_bf16_nchw32c_avx512_bf16, 1, bf16},
#endif
  };
  static uint16_t in[2][N]; /* all sizes of either sign up to some 16, the same numbers again and again */
  static float weights[9 * LANES], slopes[LANES];
  for (int i = 0; i < N; ++i) {
    in[1][i] = (uint16_t)((0x3980 + i / 2 % 0x800) | (i & 1) << 15);  /* 2^-12 to 16 */
    in[0][i] = (uint16_t)((0x1000 + i / 2 % 0x3c00) | (i & 1) << 15); /* 2^-11 to 16 */
  }
  for (int lane = 0; lane < LANES; ++lane) weights[4 * LANES + lane] = 1, slopes[lane] = (float)(lane - 5) / 8;
  for (size_t i = 0; i < sizeof variants / sizeof *variants; ++i)
    if (variants[i].is_supported) check_variant(variants + i, in[variants[i].is_bf16], weights, slopes);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_accuracy)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
