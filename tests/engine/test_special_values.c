/* SPDX-License-Identifier: Apache-2.0 */
/* test_special_values.c - zeros of both signs, infinities, NaN and the ends of the range through elementwise operators:
 * kernels of every instruction set against the reference, and the signs of zeros as IEEE 754 has them. */
#include "support/built_session.h"
#include "ir/text.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include <hone/hone.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 32 };
static const float specials[COUNT] = {0.0f,     -0.0f, INFINITY, -INFINITY, NAN,    FLT_MAX, -FLT_MAX, FLT_MIN,
                                      -FLT_MIN, 1.0f,  -1.0f,    0.5f,      -0.5f,  2.0f,    -2.0f,    1e-20f,
                                      -1e-20f,  1e20f, -1e20f,   88.0f,     -88.0f, 104.0f,  -104.0f,  3.0f,
                                      -3.0f,    0.25f, -0.25f,   1e-6f,     -1e-6f, 10.0f,   -10.0f,   0.0f};

static const char *const unary[] = {"abs(%x)",        "acos(%x)",         "acosh(%x)",
                                    "asin(%x)",       "asinh(%x)",        "atan(%x)",
                                    "atanh(%x)",      "ceil(%x)",         "celu(%x)",
                                    "cos(%x)",        "cosh(%x)",         "elu(%x)",
                                    "erf(%x)",        "exp(%x)",          "floor(%x)",
                                    "gelu(%x)",       "gelu_tanh(%x)",    "hard_sigmoid(%x)",
                                    "hard_swish(%x)", "leaky_relu(%x)",   "log(%x)",
                                    "mish(%x)",       "neg(%x)",          "reciprocal(%x)",
                                    "relu(%x)",       "round(%x)",        "selu(%x)",
                                    "shrink(%x)",     "sigmoid(%x)",      "sign(%x)",
                                    "sin(%x)",        "sinh(%x)",         "softplus(%x)",
                                    "softsign(%x)",   "sqrt(%x)",         "swish(%x)",
                                    "tan(%x)",        "tanh(%x)",         "thresholded_relu(%x)",
                                    "identity(%x)",   "max(%x, %n)",      "min(%x, %i)",
                                    "max(%i, %x)",    "clip(%x, %n, %i)", "clip(%x, %m, %n)",
                                    "clip(%x, %m)",   "add(%x, %x)",      "mul(%x, %n)"};
/* Where a result of zero may have either sign: what the standard's formulas leave open. */
static const char *const either_zero[] = {"relu(%x)", "selu(%x)", "sign(%x)", "clip(%x, %m)"};

static const char *const sources[][2] = {
    {NULL, NULL},
#ifndef HONE_NO_AVX
    {"-AVX512", NULL},
    {"-AVX512", "-AVX2"},
#endif
};
enum { SOURCES = sizeof sources / sizeof sources[0] };

static void run(hone_context *context, hone_device *device, const char *expression, bool reference, int source,
                float *out) {
  char text[256];
  snprintf(text, sizeof text,
           "graph \"g\" {\n  in %%x: f32[%d]\n  const %%p: f32[] = [0]\n  const %%m: f32[] = [-0]\n  const %%i: f32[] "
           "= [1]\n  const %%n: f32[] = [nan]\n  %%y = %s\n  out %%y as \"y\"\n}\n",
           COUNT, expression);
  int count = 0;
  while (count < 2 && sources[source][count]) ++count;
  const hone_build_options build = {.struct_size = sizeof build,
                                    .level = -1,
                                    .reference_only = reference,
                                    .keep_subnormals = true,
                                    .tactic_sources = sources[source],
                                    .tactic_source_count = count};
  hone_graph *graph;
  hone_engine *engine;
  hone_session *session;
  hone_tensor x, y;
  const hone_type type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {1, {COUNT}}};
  if (hn_graph_parse(context, text, strlen(text), NULL, 0, &graph) != HONE_OK)
    fail_msg("%s: %s", expression, hone_context_message(context, 0, NULL));
  assert_int_equal(hone_engine_build(context, graph, &device, 1, &build, &engine), HONE_OK);
  assert_int_equal(hone_session_create(engine, NULL, &session, NULL), HONE_OK);
  assert_int_equal(hone_tensor_alloc(context, &type, &x), HONE_OK);
  memcpy(x.data, specials, sizeof specials);
  assert_int_equal(hone_session_copy_in(session, "x", &x), HONE_OK);
  assert_int_equal(hone_session_run(session), HONE_OK);
  assert_int_equal(hone_session_tensor(session, "y", &y), HONE_OK);
  memcpy(out, y.data, COUNT * sizeof *out);
  hone_tensor_free(context, &x);
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_graph_destroy(graph);
}

static bool same(float a, float b) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  if (isinf(a) || isinf(b)) return a == b;
  if (a == 0 && b == 0) return signbit(a) == signbit(b);
  /* The kernels' exp has no subnormal results; swish multiplies what is missing by x. */
  return fabsf(a - b) <= 2e-5f * fabsf(b) + 104 * FLT_MIN;
}

static bool has_either_zero(const char *expression) {
  for (size_t i = 0; i < sizeof either_zero / sizeof either_zero[0]; ++i)
    if (strcmp(expression, either_zero[i]) == 0) return true;
  return false;
}

static void test_unary(void **state) {
  (void)state;
  hone_context *context;
  hone_device *device;
  int wrong = 0;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, "cpu", 0, NULL, &device), HONE_OK);
  for (size_t e = 0; e < sizeof unary / sizeof unary[0]; ++e) {
    float want[COUNT], got[COUNT];
    run(context, device, unary[e], true, 0, want);
    for (int s = 0; s < SOURCES; ++s) {
      run(context, device, unary[e], false, s, got);
      for (int i = 0; i < COUNT; ++i)
        if (!same(got[i], want[i]) && !(has_either_zero(unary[e]) && got[i] == 0 && want[i] == 0)) {
          print_message("%s of %g is %g, the reference says %g (sources %d)\n", unary[e], (double)specials[i],
                        (double)got[i], (double)want[i], s);
          ++wrong;
        }
    }
  }
  assert_int_equal(wrong, 0);
  hone_device_close(device);
  hone_context_destroy(context);
}

/* -0 + 0 is 0, and neither the passes nor a kernel may say otherwise; what is x stays x. */
static void test_zeros(void **state) {
  (void)state;
  static const struct {
    const char *expression;
    bool minus; /* of -0 */
  } rows[] = {{"add(%x, %p)", false}, {"add(%x, %m)", true}, {"sub(%x, %p)", true},  {"sub(%x, %m)", false},
              {"mul(%x, %i)", true},  {"div(%x, %i)", true}, {"tanh(%x)", true},     {"sin(%x)", true},
              {"erf(%x)", true},      {"asinh(%x)", true},   {"softsign(%x)", true}, {"gelu(%x)", true},
              {"sqrt(%x)", true},     {"round(%x)", true},   {"neg(%x)", false}};
  hone_context *context;
  hone_device *device;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, "cpu", 0, NULL, &device), HONE_OK);
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r)
    for (int s = 0; s <= SOURCES; ++s) {
      float got[COUNT];
      run(context, device, rows[r].expression, s == SOURCES, s % SOURCES, got);
      if (got[1] != 0 || !signbit(got[1]) != !rows[r].minus)
        fail_msg("%s of -0 is %g (sources %d)", rows[r].expression, (double)got[1], s);
    }
  hone_device_close(device);
  hone_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_unary), cmocka_unit_test(test_zeros)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
