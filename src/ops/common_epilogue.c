/* SPDX-License-Identifier: Apache-2.0 */
/* common_epilogue.c - the activation that a convolution or linear layer applies before it stores. */
#include "ops/common_nn.h"
#include <math.h>

static double none(double x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return x;
}
static double relu(double x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return x < 0 ? 0 : x; /* a NaN stays one */
}
static double clip(double x, double alpha, double beta) {
  const double low = x < alpha ? alpha : x;
  return low > beta ? beta : low;
}
static double leaky_relu(double x, double alpha, double beta) {
  (void)beta;
  return x < 0 ? alpha * x : x;
}
static double sigmoid(double x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}
static double silu(double x, double alpha, double beta) { return x * sigmoid(x, alpha, beta); }
static double hard_sigmoid(double x, double alpha, double beta) { return clip(alpha * x + beta, 0, 1); }
static double hard_swish(double x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return x * hard_sigmoid(x, 1.0 / 6, 0.5);
}
static double gelu(double x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return 0.5 * x * (1 + erf(x * 0.70710678118654752440)); /* 1 / sqrt(2) */
}
static double tangent(double x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return tanh(x);
}
static double gelu_tanh(double x, double alpha, double beta) {
  const double u = 0.79788456080286535588 * (x + 0.044715 * x * x * x); /* sqrt(2 / pi) */
  return x * sigmoid(2 * u, alpha, beta);
}
static double elu(double x, double alpha, double beta) {
  (void)beta;
  return x < 0 ? alpha * expm1(x) : x;
}
static double mish(double x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return x > 40 ? x : x * tanh(log1p(exp(x)));
}

static const struct {
  const char *name;
  double (*apply)(double x, double alpha, double beta);
} acts[] = {{"", none},           {"relu", relu},
            {"clip", clip},       {"leaky_relu", leaky_relu},
            {"sigmoid", sigmoid}, {"silu", silu},
            {"gelu", gelu},       {"hard_sigmoid", hard_sigmoid},
            {"tanh", tangent},    {"hard_swish", hard_swish},
            {"elu", elu},         {"gelu_tanh", gelu_tanh},
            {"mish", mish},       {"prelu", leaky_relu}};

static hone_status read(hone_diagnostics *diag, const hone_attrs *attrs, hn_epilogue *out) {
  const char *name = hn_attr_text(attrs, "act");
  for (size_t i = 0; i < HN_COUNT(acts); ++i) {
    if (!hn_name_equal(acts[i].name, name)) continue;
    *out = (hn_epilogue){acts[i].apply, hn_attr_float(attrs, "act_alpha"), hn_attr_float(attrs, "act_beta"), NULL};
    return HONE_OK;
  }
  return HN_FAIL(
      diag, HONE_MALFORMED,
      "act is \"%.40s\", want \"\", relu, clip, leaky_relu, elu, sigmoid, silu, hard_swish, hard_sigmoid, gelu, "
      "gelu_tanh, mish, prelu or tanh",
      name);
}

static bool has_slopes(const hone_attrs *attrs) { return hn_name_equal(hn_attr_text(attrs, "act"), "prelu"); }

hone_status hn_epilogue_infer(hone_infer *infer, int slope) {
  hn_epilogue ignored;
  HN_TRY(read(infer->diagnostics, infer->attrs, &ignored));
  if (has_slopes(infer->attrs) && (slope < 0 || !hn_in_given(infer, slope)))
    return HN_INFER_FAIL(infer, "act is prelu, but there are no slopes");
  return slope < 0 ? HONE_OK : hn_want_rank(infer, slope, 1, 1);
}

hone_status hn_epilogue_read(const hone_eval *eval, int slope, hn_epilogue *out) {
  HN_TRY(read(eval->diagnostics, eval->attrs, out));
  if (slope >= 0 && has_slopes(eval->attrs)) out->slope = &eval->in[slope];
  return HONE_OK;
}
