/* SPDX-License-Identifier: Apache-2.0 */
/* classes.c - what kind of work a layer is, for the shares of a profile. A row names the operators whose traits do not
 * tell; a plug-in's operator is classed by its traits alone. */
#include "report/report.h"
#include <string.h>

static const struct {
  const char *name, *ops; /* each op between blanks */
} rows[] = {
    {"Convolution", " affine_conv conv conv_transpose conv_integer qlinear_conv deform_conv causal_conv_with_state "
                    "inverted_residual conv_pool "},
    {"Matrix product", " gemm linear matmul matmul_integer qlinear_matmul einsum "},
    {"Activation", " relu leaky_relu prelu sigmoid hard_sigmoid hard_swish silu swish mish tanh elu selu celu gelu "
                   "gelu_tanh softplus softsign thresholded_relu clip erf shrink "},
    {"Normalization", " batch_norm layer_norm rms_norm instance_norm group_norm lrn lp_normalization "
                      "mean_variance_normalization "},
    {"Pooling", " max_pool average_pool lp_pool global_average_pool global_max_pool global_lp_pool "
                "max_unpool roi_align max_roi_pool "},
    {"Softmax", " softmax log_softmax hardmax "},
    {"Attention", " attention qkv_attention rotary_embedding "},
    {"Recurrent", " lstm gru rnn "},
    {"Resize", " resize upsample grid_sample affine_grid "},
    {"Quantization", " quantize_linear dequantize_linear dynamic_quantize_linear "},
    {"Reformat", " reformat "},
    {"Data movement", " cast concat split transpose slice gather gather_nd gather_elements scatter_nd "
                      "scatter_elements pad expand tile reshape depth_to_space space_to_depth "},
};

const char *hn_report_class(const hone_op *op) {
  char wanted[72] = " ";
  hn_copy_text(wanted + 1, sizeof wanted - 2, op->name);
  strcat(wanted, " ");
  for (size_t i = 0; i < HN_COUNT(rows); ++i)
    if (strstr(rows[i].ops, wanted)) return rows[i].name;
  if (op->traits & HONE_HAS_BLOCKS) return "Control flow";
  if (op->traits & HONE_ELEMENTWISE) return "Elementwise";
  if (op->traits & HONE_MOVES) return "Data movement";
  return strncmp(op->name, "reduce_", 7) == 0 ? "Reduction" : "Other";
}

bool hn_step_runs(const hn_plan_step *step) { return step->kind != HN_STEP_VIEW && step->kind != HN_STEP_WAIT; }

bool hn_step_is_reference(const hn_plan_step *step) {
  const bool fails = step->op && (step->op->traits & HONE_FAILS); /* no kernel could do better */
  return step->kind == HN_STEP_CALL && step->tactic && step->tactic->flags & HONE_TACTIC_REFERENCE && !fails;
}

const char *hn_step_type(const hn_plan_step *step) {
  return step->op ? step->op->name : step->kind == HN_STEP_COPY ? "copy" : "control";
}

void hn_text_params(hn_text *text, const hone_params *params) {
  for (int i = 0; i < params->count; ++i)
    hn_text_printf(text, "%s%s=%lld", i ? "," : "{", params->items[i].name, (long long)params->items[i].value);
  if (params->count > 0) hn_text_add(text, "}");
}
