/* SPDX-License-Identifier: Apache-2.0 */
/* common_epilogue.c - the activation that a convolution or linear layer applies before it stores. */
#include "ops/common_nn.h"
#include <math.h>

static double sigmoid(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }
static double unit(double x) {
  const double low = x < 0 ? 0 : x;
  return low > 1 ? 1 : low;
}

double hn_epilogue_apply(const hn_epilogue *epilogue, double x, int64_t channel) {
  const double alpha = epilogue->slope ? hn_real(epilogue->slope, channel) : epilogue->alpha, beta = epilogue->beta;
  switch (epilogue->activation) {
#define HN_ACT(NUMBER, name, expression, reference, ...)                                                               \
  case HN_ACTIVATION_##NUMBER:                                                                                         \
    return reference;
#include "kernels/activations.inc"
#undef HN_ACT
  case HN_ACTIVATION_COUNT: break;
  }
  return x;
}

static hone_status read(hone_diagnostics *diag, const hone_attrs *attrs, hn_epilogue *out) {
#define HN_ACT(NUMBER, name, ...) " " name
  static const char names[] =
#include "kernels/activations.inc"
      ;
#undef HN_ACT
  const char *name = hn_attr_text(attrs, "act");
  *out = (hn_epilogue){.activation = hn_activation_find(name),
                       .alpha = hn_attr_float(attrs, "act_alpha"),
                       .beta = hn_attr_float(attrs, "act_beta")};
  if (out->activation != HN_ACTIVATION_COUNT) return HONE_OK;
  return HN_FAIL(diag, HONE_MALFORMED, "act is \"%.40s\", expected \"\" or one of%s", name, names + 1);
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
