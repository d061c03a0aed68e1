/* SPDX-License-Identifier: Apache-2.0 */
/* epilogue.c - names of activations, and the shapes of bias and residual. */
#include "backend/cpu/epilogue.h"

static const struct {
  const char *name;
  hn_activation activation;
} rows[] = {
    {"", HN_ACTIVATION_NONE},
    {"relu", HN_ACTIVATION_RELU},
    {"clip", HN_ACTIVATION_CLIP},
    {"leaky_relu", HN_ACTIVATION_LEAKY_RELU},
    {"sigmoid", HN_ACTIVATION_SIGMOID},
    {"silu", HN_ACTIVATION_SILU},
    {"hard_swish", HN_ACTIVATION_HARDSWISH},
    {"hard_sigmoid", HN_ACTIVATION_HARDSIGMOID},
    {"gelu", HN_ACTIVATION_GELU_ERF},
    {"tanh", HN_ACTIVATION_TANH},
    {"gelu_tanh", HN_ACTIVATION_GELU_TANH},
    {"elu", HN_ACTIVATION_ELU},
    {"mish", HN_ACTIVATION_MISH},
    {"prelu", HN_ACTIVATION_PRELU},
};

bool hn_cpu_activation(const hone_attrs *attrs, hn_epilogue_f32 *out) {
  const char *name = hn_attr_text(attrs, "act");
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    if (!hn_name_equal(rows[i].name, name)) continue;
    out->activation = rows[i].activation;
    out->alpha = (float)hn_attr_float(attrs, "act_alpha");
    out->beta = (float)hn_attr_float(attrs, "act_beta");
    return true;
  }
  return false;
}

static const char *check_channels(const hone_fact *fact, int64_t channels, const char *type, const char *length) {
  if (!hn_cpu_is(fact, HONE_F32, HONE_PLAIN)) return type;
  return fact->type.shape.rank != 1 || fact->type.shape.dim[0] != channels ? length : NULL;
}

const char *hn_cpu_epilogue_reject(const hone_query *query, int bias, int residual, int64_t channels) {
  hn_epilogue_f32 epilogue;
  const char *reason = NULL;
  const hone_type *out = &query->out[0].type;
  if (!hn_cpu_activation(query->attrs, &epilogue)) return "its activation is not known";
  if (hn_cpu_given(query, bias))
    reason = check_channels(&query->in[bias], channels, "the bias is not plain f32", "the bias has another length");
  if (!reason && hn_cpu_has_slope(&epilogue) && !hn_cpu_given(query, residual + 1)) reason = "there are no slopes";
  if (!reason && hn_cpu_given(query, residual + 1))
    reason = check_channels(&query->in[residual + 1], channels, "the slopes are not plain f32",
                            "the slopes have another length");
  if (reason) return reason;
  if (hn_cpu_given(query, residual)) {
    const hone_fact *r = &query->in[residual];
    if (!hn_cpu_is(r, HONE_F32, out->format)) return "the residual is not f32 in the output's format";
    if (!hn_shape_equal(&r->type.shape, &out->shape)) return "the residual has another shape than the output";
  }
  return NULL;
}
