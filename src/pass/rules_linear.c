/* SPDX-License-Identifier: Apache-2.0 */
/* rules_linear.c - matrix products with constant weights become linear layers, and what those may absorb. */
#include "pass/passes.h"
#include "pass/rule_help.h"

static const char *when_matrix(const hn_match *match) {
  if (hn_bound_type(match, "w")->shape.rank != 2) return "the weights are not a matrix";
  return hn_bound_type(match, "a")->shape.rank < 1 ? "the rank of the input is not known" : NULL;
}

static int64_t gemm_outputs(const hn_match *match) {
  return hn_bound_type(match, "w")->shape.dim[hn_attr_int(&match->root->attrs, "transB") == 0];
}

/* The addend is one row for all. */
static const char *when_row(const hn_match *match) {
  const hone_type *y = &match->roots[0]->fact.type;
  if (y->shape.rank != 2) return "the rank of the output is not known";
  return hn_varies_only_along(hn_bound_type(match, "k"), y, 1) ? NULL : "the addend differs from row to row";
}

static const char *when_addend(const hn_match *match) {
  return hn_when_same_type(hn_bound_type(match, "r"), &match->roots[0]->fact.type,
                           "the addend has not the shape of the output");
}

static hone_status make_gemm(hn_match *match) {
  const hone_dtype dtype = hn_bound_type(match, "w")->dtype;
  const int64_t outputs = gemm_outputs(match);
  hone_graph *graph = match->run->graph;
  const hone_attrs *attrs = &match->root->attrs;
  HN_TRY(hn_bind_ints(match, "flat", 1, (const int64_t[]){-1}));
  HN_TRY(hn_bind(match, "alpha", hn_constant_scalar(graph, dtype, hn_attr_float(attrs, "alpha"))));
  HN_TRY(hn_bind(match, "beta", hn_constant_scalar(graph, dtype, hn_attr_float(attrs, "beta"))));
  return hn_bind_filled(match, "b", dtype, 1, &outputs, 0);
}

static const char *when_feature(const hn_match *match) {
  HN_TRY_REASON(hn_when_affine(match));
  return hn_when_along(match, hn_bound_type(match, "c")->shape.rank - 1);
}

static hone_status make_linear(hn_match *match) {
  static const int64_t column[2] = {-1, 1};
  const int transposed = hn_attr_int(&hn_bound_node(match, "c")->attrs, "transpose_w") != 0;
  HN_TRY(hn_bind_ints(match, "along", transposed ? 2 : 1, column));
  return hn_bind_bias(match, hn_bound_type(match, "w")->shape.dim[!transposed]);
}

/* m: the product or sum that feeds the layer; k is for each of its features. */
static const char *when_in_front(const hn_match *match) {
  const hone_type *x = hn_bound_type(match, "x");
  const hn_value *bias = hn_input(match->root, 2);
  if (bias && !hn_value_is_constant(bias)) return "the bias is not constant";
  HN_TRY_REASON(hn_when_same_type(x, hn_bound_type(match, "m"), "the constant makes the input larger"));
  return hn_varies_only_along(hn_bound_type(match, "k"), x, x->shape.rank - 1) ? NULL
                                                                               : "the constant differs from row to row";
}

/* across: k beside the weights; summed: the axis of the weights that the product sums over. */
static hone_status make_in_front(hn_match *match) {
  const int64_t transposed = hn_attr_int(&hn_bound_node(match, "c")->attrs, "transpose_w") != 0;
  const int64_t across[2] = {transposed ? 1 : -1, transposed ? -1 : 1};
  HN_TRY(hn_bind_ints(match, "across", 2, across));
  HN_TRY(hn_bind_ints(match, "summed", 1, &transposed));
  return hn_bind_bias(match, hn_bound_type(match, "w")->shape.dim[!transposed]);
}

/* The summand has fewer axes than the layer's output, whose first ones are of one element. */
static const char *when_same_but_ones(const hn_match *match) {
  const hone_shape *c = &hn_bound_type(match, "c")->shape, *r = &hn_bound_type(match, "r")->shape;
  const int more = c->rank - r->rank;
  if (r->rank < 1 || more < 1 || !hn_shape_known(c) || !hn_shape_known(r)) return "";
  for (int i = 0; i < c->rank; ++i)
    if (c->dim[i] != (i < more ? 1 : r->dim[i - more])) return "";
  return NULL;
}

static hone_status make_like(hn_match *match) {
  const hone_shape *c = &hn_bound_type(match, "c")->shape;
  return hn_bind_ints(match, "like", c->rank, c->dim);
}

const hn_rewrite hn_rules_linear[] = {
    {.name = "matmul_to_linear",
     .find = "matmul(a, w:const)",
     .put = "linear(a, w)",
     .when = when_matrix,
     .fuses = true,
     .why = "constant weights can be packed once"},
    {.name = "gemm_to_linear",
     .find = "g:gemm[alpha=1, beta=1, transA=0](a, w:const)",
     .put = "linear[transpose_w=g.transB](a, w)",
     .fuses = true,
     .why = "constant weights can be packed once"},
    {.name = "gemm_bias_to_linear",
     .find = "g:gemm[alpha=1, beta=1, transA=0](a, w:const, k:const)",
     .put = "linear[transpose_w=g.transB](a, w, add(b, reshape(k, flat)))",
     .when = when_row,
     .make = make_gemm,
     .fuses = true,
     .why = "constant weights can be packed once"},
    {.name = "gemm_addend_to_linear",
     .find = "g:gemm[alpha=1, beta=1, transA=0](a, w:const, r)",
     .put = "linear[transpose_w=g.transB](a, w, _, r)",
     .when = when_addend,
     .fuses = true,
     .why = "constant weights can be packed once"},
    {.name = "scaled_gemm_to_linear",
     .find = "g:gemm[transA=0](a, w:const)",
     .put = "linear[transpose_w=g.transB](a, mul(w, alpha))",
     .make = make_gemm,
     .fuses = true,
     .why = "constant weights can be packed once, and scaled once"},
    {.name = "scaled_gemm_bias_to_linear",
     .find = "g:gemm[transA=0](a, w:const, k:const)",
     .put = "linear[transpose_w=g.transB](a, mul(w, alpha), add(b, mul(reshape(k, flat), beta)))",
     .when = when_row,
     .make = make_gemm,
     .fuses = true,
     .why = "constant weights can be packed once, and scaled once"},
    {.name = "bias_into_linear",
     .find = "add(c:linear[act=\"\"](x, w, ...), k:const)",
     .put = "c(x, w, add(b, reshape(k, flat)))",
     .when = when_feature,
     .make = make_linear,
     .why = "the bias is added while the tile is still in registers"},
    {.name = "minus_into_linear",
     .find = "sub(c:linear[act=\"\"](x, w, ...), k:const)",
     .put = "c(x, w, sub(b, reshape(k, flat)))",
     .when = when_feature,
     .make = make_linear,
     .why = "a constant taken off each feature is a bias"},
    {.name = "scale_into_linear",
     .find = "mul(c:linear[act=\"\"](x, w:const), k:const)",
     .put = "c(x, mul(w, reshape(k, along)))",
     .when = when_feature,
     .make = make_linear,
     .why = "a factor of each feature can be the weights' own"},
    {.name = "scale_into_biased_linear",
     .find = "mul(c:linear[act=\"\"](x, w:const, b:const), k:const)",
     .put = "c(x, mul(w, reshape(k, along)), mul(b, reshape(k, flat)))",
     .when = when_feature,
     .make = make_linear,
     .why = "a factor of each feature can be the weights' own"},
    {.name = "divisor_into_linear",
     .find = "div(c:linear[act=\"\"](x, w:const), k:const)",
     .put = "c(x, div(w, reshape(k, along)))",
     .when = when_feature,
     .make = make_linear,
     .why = "a divisor of each feature can be the weights' own"},
    {.name = "divisor_into_biased_linear",
     .find = "div(c:linear[act=\"\"](x, w:const, b:const), k:const)",
     .put = "c(x, div(w, reshape(k, along)), div(b, reshape(k, flat)))",
     .when = when_feature,
     .make = make_linear,
     .why = "a divisor of each feature can be the weights' own"},
    {.name = "scale_before_linear",
     .find = "c:linear(m:mul(x, k:const), w:const, ...)",
     .put = "c(x, mul(w, reshape(k, across)), ...)",
     .when = when_in_front,
     .make = make_in_front,
     .why = "a factor of each input feature can be the weights' own"},
    {.name = "bias_before_linear",
     .find = "c:linear(m:add(x, k:const), w:const, ...)",
     .put = "c(x, w, add(b, reduce_sum[keepdims=0](mul(w, reshape(k, across)), summed)), ...)",
     .when = when_in_front,
     .make = make_in_front,
     .why = "what the weights make of a constant is a bias"},
    {.name = "longer_residual_into_linear",
     .find = "add(c:linear[act=\"\"](x, w), r)",
     .put = "c(x, w, _, reshape(r, like))",
     .when = when_same_but_ones,
     .make = make_like,
     .asks = true,
     .why = "the sum is formed while the tile is still in registers"},
    {.name = "longer_residual_into_biased_linear",
     .find = "add(c:linear[act=\"\"](x, w, b), r)",
     .put = "c(x, w, b, reshape(r, like))",
     .when = when_same_but_ones,
     .make = make_like,
     .asks = true,
     .why = "the sum is formed while the tile is still in registers"},
    {.name = "residual_into_linear",
     .find = "add(c:linear[act=\"\"](x, w), r)",
     .put = "c(x, w, _, r)",
     .when = hn_when_residual,
     .fuses = true,
     .why = "the sum is formed while the tile is still in registers"},
    {.name = "residual_into_biased_linear",
     .find = "add(c:linear[act=\"\"](x, w, b), r)",
     .put = "c(x, w, b, r)",
     .when = hn_when_residual,
     .fuses = true,
     .why = "the sum is formed while the tile is still in registers"},
    {.name = "relu_into_linear",
     .find = "relu(c:linear[act=\"\"](...))",
     .put = "c[act=\"relu\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "leaky_relu_into_linear",
     .find = "a:leaky_relu(c:linear[act=\"\"](...))",
     .put = "c[act=\"leaky_relu\", act_alpha=a.alpha]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "sigmoid_into_linear",
     .find = "sigmoid(c:linear[act=\"\"](...))",
     .put = "c[act=\"sigmoid\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "silu_into_linear",
     .find = "swish[alpha=1](c:linear[act=\"\"](...))",
     .put = "c[act=\"silu\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "hard_swish_into_linear",
     .find = "hard_swish(c:linear[act=\"\"](...))",
     .put = "c[act=\"hard_swish\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "hard_sigmoid_into_linear",
     .find = "a:hard_sigmoid(c:linear[act=\"\"](...))",
     .put = "c[act=\"hard_sigmoid\", act_alpha=a.alpha, act_beta=a.beta]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "gelu_into_linear",
     .find = "gelu(c:linear[act=\"\"](...))",
     .put = "c[act=\"gelu\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "tanh_into_linear",
     .find = "tanh(c:linear[act=\"\"](...))",
     .put = "c[act=\"tanh\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "gelu_tanh_into_linear",
     .find = "gelu_tanh(c:linear[act=\"\"](...))",
     .put = "c[act=\"gelu_tanh\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "mish_into_linear",
     .find = "mish(c:linear[act=\"\"](...))",
     .put = "c[act=\"mish\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "elu_into_linear",
     .find = "a:elu(c:linear[act=\"\"](...))",
     .put = "c[act=\"elu\", act_alpha=a.alpha]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "clip_into_linear",
     .find = "clip(c:linear[act=\"\"](...), low:const, high:const)",
     .put = "c[act=\"clip\", act_alpha=$low, act_beta=$high]",
     .when = hn_when_bounds,
     .make = hn_make_bounds,
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "clip_low_into_linear",
     .find = "clip(c:linear[act=\"\"](...), low:const)",
     .put = "c[act=\"clip\", act_alpha=$low, act_beta=$high]",
     .when = hn_when_bounds,
     .make = hn_make_bounds,
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "clip_high_into_linear",
     .find = "clip(c:linear[act=\"\"](...), _, high:const)",
     .put = "c[act=\"clip\", act_alpha=$low, act_beta=$high]",
     .when = hn_when_bounds,
     .make = hn_make_bounds,
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "prelu_into_linear",
     .find = "prelu(c:linear[act=\"\"](x, w), k:const)",
     .put = "c[act=\"prelu\"](x, w, _, _, reshape(k, flat))",
     .when = hn_when_slopes,
     .make = hn_make_flat,
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "prelu_after_bias_into_linear",
     .find = "prelu(c:linear[act=\"\"](x, w, b), k:const)",
     .put = "c[act=\"prelu\"](x, w, b, _, reshape(k, flat))",
     .when = hn_when_slopes,
     .make = hn_make_flat,
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "prelu_after_residual_into_linear",
     .find = "prelu(c:linear[act=\"\"](x, w, _, r), k:const)",
     .put = "c[act=\"prelu\"](x, w, _, r, reshape(k, flat))",
     .when = hn_when_slopes,
     .make = hn_make_flat,
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "prelu_after_both_into_linear",
     .find = "prelu(c:linear[act=\"\"](x, w, b, r), k:const)",
     .put = "c[act=\"prelu\"](x, w, b, r, reshape(k, flat))",
     .when = hn_when_slopes,
     .make = hn_make_flat,
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "bias_after_residual_into_linear",
     .find = "add(c:linear[act=\"\"](x, w, _, r), k:const)",
     .put = "c(x, w, reshape(k, flat), r)",
     .when = hn_when_bias_late,
     .make = hn_make_flat,
     .why = "the bias is added while the tile is still in registers"},
    {.name = "second_bias_after_residual_into_linear",
     .find = "add(c:linear[act=\"\"](x, w, b:const, r), k:const)",
     .put = "c(x, w, add(b, reshape(k, flat)), r)",
     .when = hn_when_bias_late,
     .make = hn_make_flat,
     .why = "the bias is added while the tile is still in registers"},
    {0}};
