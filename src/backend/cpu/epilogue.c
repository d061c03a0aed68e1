/* SPDX-License-Identifier: Apache-2.0 */
/* epilogue.c - activations, and the shapes of bias and residual. */
#include "backend/cpu/epilogue.h"

bool hn_cpu_activation(const hone_attrs *attrs, hn_epilogue_f32 *out) {
  out->activation = hn_activation_find(hn_attr_text(attrs, "act"));
  out->alpha = (float)hn_attr_float(attrs, "act_alpha");
  out->beta = (float)hn_attr_float(attrs, "act_beta");
  return out->activation != HN_ACTIVATION_COUNT;
}

static const char *check_channels(const hone_fact *fact, int64_t channels, const char *type, const char *length) {
  if (!hn_cpu_is(fact, HONE_F32, HONE_PLAIN)) return type;
  return fact->type.shape.rank != 1 || fact->type.shape.dim[0] != channels ? length : NULL;
}

const char *hn_cpu_epilogue_check(const hone_query *query, int bias, int residual, int64_t channels) {
  hn_epilogue_f32 epilogue;
  const hone_type *out = &query->out[0].type;
  if (!hn_cpu_activation(query->attrs, &epilogue)) return "its activation is not known";
  if (hn_cpu_given(query, bias))
    HN_TRY_REASON(
        check_channels(&query->in[bias], channels, "the bias is not plain f32", "the bias has another length"));
  if (hn_cpu_given(query, residual + 1))
    HN_TRY_REASON(check_channels(&query->in[residual + 1], channels, "the slopes are not plain f32",
                                 "the slopes have another length"));
  else if (hn_cpu_has_slope(&epilogue))
    return "there are no slopes";
  if (hn_cpu_given(query, residual)) {
    const hone_fact *r = &query->in[residual];
    if (!hn_cpu_is(r, HONE_F32, out->format)) return "the residual is not f32 in the output's format";
    if (!hn_shape_equal(&r->type.shape, &out->shape)) return "the residual has another shape than the output";
  }
  return NULL;
}
