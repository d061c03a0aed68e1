/* SPDX-License-Identifier: Apache-2.0 */
/* rule_help.h - what the conditions and computations of several rule lists share. */
#ifndef HN_PASS_RULE_HELP_H
#define HN_PASS_RULE_HELP_H

#include "pass/rewrite.h"

/* A new constant all of whose elements are `value`; NULL when its extents are not numbers or memory ran out, which was
 * reported. */
hn_value *hn_filled(hone_graph *graph, hone_dtype dtype, int rank, const int64_t *dims, double value);
hone_status hn_bind_filled(hn_match *match, const char *name, hone_dtype dtype, int rank, const int64_t *dims,
                           double value);
hone_status hn_bind_ints(hn_match *match, const char *name, int count, const int64_t *values); /* i64, rank 1 */

hone_status hn_bind_list(hn_match *match, const char *name, int count, const int64_t *values); /* an attribute */
hn_value *hn_input(const hn_node *node, int index);                                            /* NULL when absent */

/* Conditions: NULL or the reason. */
const char *hn_when_same_type(const hone_type *a, const hone_type *b, const char *reason);
/* The constant bound to k varies along this axis of the value bound to c only. */
const char *hn_when_along(const hn_match *match, int axis);

/* The layer bound to c, as conv and linear have it. */
const char *hn_when_affine(const hn_match *match); /* it takes a constant into its bias */
const char *hn_when_residual(const hn_match *match);
const char *hn_when_bounds(const hn_match *match);
hone_status hn_make_bounds(hn_match *match); /* $low and $high */
/* Binds b to c's bias or to zeros, `outputs` of them, and flat to the shape [-1]. */
hone_status hn_bind_bias(hn_match *match, int64_t outputs);

/* k holds a slope for each channel, or last feature, of the layer bound to c. */
const char *hn_when_slopes(const hn_match *match);

/* k holds a summand for each channel, or last feature, of the layer bound to c, which adds a residual already. Binds
 * flat to the shape [-1]. */
const char *hn_when_bias_late(const hn_match *match);
hone_status hn_make_flat(hn_match *match);
hone_status hn_make_slope(hn_match *match); /* $slope: the scalar bound to k */

/* ---- quantize_linear and dequantize_linear (quantised.c) ---- */
/* Does it make bytes of f32 or f32 of bytes, with constants for scales and zero points: one positive scale for all, or
 * one for each index of this axis (of `rank`) ? */
bool hn_quantised_by_one(const hn_node *node);
bool hn_quantised_along(const hn_node *node, int rank, int axis);

/* ---- nodes of op view (views.c) ---- */
/* Is every extent known before anything runs (a number or an expression over inputs' extents)? */
bool hn_view_possible(const hone_graph *graph, const hone_type *type);
/* A view of x in front of a node, after which it is named. The shape can be written as text (numbers always can). */
hone_status hn_view_create(const hn_pass_run *run, hn_node *before, hn_value *x, const hone_shape *shape,
                           hn_node **out);
/* Binds $dims to the shape as text. */
hone_status hn_view_bind_dims(hn_match *match, const hone_shape *shape);

/* What a layer with an epilogue absorbs behind it; layer is the op's name. Each row: find, put, because. */
#define HN_ACTIVATION(layer, rule, find_text, put_text)                                                                \
  {                                                                                                                    \
    .name = rule "_into_" layer, .find = find_text, .put = put_text, .fuses = true,                                    \
    .why = "saves one read and one write of the whole output"                                                          \
  }
#define HN_CLIP(layer, rule, find_text)                                                                                \
  {                                                                                                                    \
    .name = rule "_into_" layer, .find = find_text, .put = "c[act=\"clip\", act_alpha=$low, act_beta=$high]",          \
    .when = hn_when_bounds, .make = hn_make_bounds, .fuses = true,                                                     \
    .why = "saves one read and one write of the whole output"                                                          \
  }
#define HN_ACTIVATION_RULES(layer)                                                                                     \
  HN_ACTIVATION(layer, "relu", "relu(c:" layer "[act=\"\"](...))", "c[act=\"relu\"]"),                                 \
      HN_ACTIVATION(layer, "leaky_relu", "a:leaky_relu(c:" layer "[act=\"\"](...))",                                   \
                    "c[act=\"leaky_relu\", act_alpha=a.alpha]"),                                                       \
      HN_ACTIVATION(layer, "sigmoid", "sigmoid(c:" layer "[act=\"\"](...))", "c[act=\"sigmoid\"]"),                    \
      HN_ACTIVATION(layer, "silu", "swish[alpha=1](c:" layer "[act=\"\"](...))", "c[act=\"silu\"]"),                   \
      HN_ACTIVATION(layer, "hard_swish", "hard_swish(c:" layer "[act=\"\"](...))", "c[act=\"hard_swish\"]"),           \
      HN_ACTIVATION(layer, "hard_sigmoid", "a:hard_sigmoid(c:" layer "[act=\"\"](...))",                               \
                    "c[act=\"hard_sigmoid\", act_alpha=a.alpha, act_beta=a.beta]"),                                    \
      HN_ACTIVATION(layer, "gelu", "gelu(c:" layer "[act=\"\"](...))", "c[act=\"gelu\"]"),                             \
      HN_ACTIVATION(layer, "tanh", "tanh(c:" layer "[act=\"\"](...))", "c[act=\"tanh\"]"),                             \
      HN_ACTIVATION(layer, "gelu_tanh", "gelu_tanh(c:" layer "[act=\"\"](...))", "c[act=\"gelu_tanh\"]"),              \
      HN_ACTIVATION(layer, "mish", "mish(c:" layer "[act=\"\"](...))", "c[act=\"mish\"]"),                             \
      HN_ACTIVATION(layer, "elu", "a:elu(c:" layer "[act=\"\"](...))", "c[act=\"elu\", act_alpha=a.alpha]"),           \
      HN_CLIP(layer, "clip", "clip(c:" layer "[act=\"\"](...), low:const, high:const)"),                               \
      HN_CLIP(layer, "clip_low", "clip(c:" layer "[act=\"\"](...), low:const)"),                                       \
      HN_CLIP(layer, "clip_high", "clip(c:" layer "[act=\"\"](...), _, high:const)")
#define HN_PRELU(layer, rule, inputs, put_text)                                                                        \
  {                                                                                                                    \
    .name = rule "_into_" layer, .find = "prelu(c:" layer "[act=\"\"](" inputs "), k:const)", .put = put_text,         \
    .when = hn_when_slopes, .make = hn_make_flat, .fuses = true,                                                       \
    .why = "saves one read and one write of the whole output"                                                          \
  }
#define HN_PRELU_RULES(layer)                                                                                          \
  HN_PRELU(layer, "prelu", "x, w", "c[act=\"prelu\"](x, w, _, _, reshape(k, flat))"),                                  \
      HN_PRELU(layer, "prelu_after_bias", "x, w, b", "c[act=\"prelu\"](x, w, b, _, reshape(k, flat))"),                \
      HN_PRELU(layer, "prelu_after_residual", "x, w, _, r", "c[act=\"prelu\"](x, w, _, r, reshape(k, flat))"),         \
      HN_PRELU(layer, "prelu_after_both", "x, w, b, r", "c[act=\"prelu\"](x, w, b, r, reshape(k, flat))")
#define HN_BIAS_LATE(layer, rule, inputs, put_text)                                                                    \
  {                                                                                                                    \
    .name = rule "_into_" layer, .find = "add(c:" layer "[act=\"\"](" inputs "), k:const)", .put = put_text,           \
    .when = hn_when_bias_late, .make = hn_make_flat, .why = "the bias is added while the tile is still in registers"   \
  }
#define HN_EPILOGUE_RULES(layer)                                                                                       \
  {.name = "residual_into_" layer,                                                                                     \
   .find = "add(c:" layer "[act=\"\"](x, w), r)",                                                                      \
   .put = "c(x, w, _, r)",                                                                                             \
   .when = hn_when_residual,                                                                                           \
   .fuses = true,                                                                                                      \
   .why = "the sum is formed while the tile is still in registers"},                                                   \
      {.name = "residual_into_biased_" layer,                                                                          \
       .find = "add(c:" layer "[act=\"\"](x, w, b), r)",                                                               \
       .put = "c(x, w, b, r)",                                                                                         \
       .when = hn_when_residual,                                                                                       \
       .fuses = true,                                                                                                  \
       .why = "the sum is formed while the tile is still in registers"},                                               \
      HN_ACTIVATION_RULES(layer), HN_PRELU_RULES(layer),                                                               \
      HN_BIAS_LATE(layer, "bias_after_residual", "x, w, _, r", "c(x, w, reshape(k, flat), r)"),                        \
      HN_BIAS_LATE(layer, "second_bias_after_residual", "x, w, b:const, r", "c(x, w, add(b, reshape(k, flat)), r)")

#endif
