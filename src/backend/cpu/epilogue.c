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

const char *hn_cpu_epilogue_reject(const hone_query *query, int bias, int residual, int64_t channels) {
  hn_epilogue_f32 ignored;
  const hone_type *out = &query->out[0].type;
  if (!hn_cpu_activation(query->attrs, &ignored)) return "its activation is not known";
  if (hn_cpu_given(query, bias)) {
    const hone_fact *b = &query->in[bias];
    if (!hn_cpu_is(b, HONE_F32, HONE_PLAIN)) return "the bias is not plain f32";
    if (b->type.shape.rank != 1 || b->type.shape.dim[0] != channels) return "the bias has another length";
  }
  if (hn_cpu_given(query, residual)) {
    const hone_fact *r = &query->in[residual];
    if (!hn_cpu_is(r, HONE_F32, out->format)) return "the residual is not f32 in the output's format";
    if (!hn_shape_equal(&r->type.shape, &out->shape)) return "the residual has another shape than the output";
  }
  return NULL;
}
