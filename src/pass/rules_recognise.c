/* SPDX-License-Identifier: Apache-2.0 */
/* rules_recognise.c - layers that exporters write in pieces get their name back. */
#include "pass/passes.h"
#include "pass/rule_help.h"

/* The axes in an i64 constant as a set of bits; 0 when there are none or one is out of range. */
static unsigned axis_bits(const hn_value *axes, int rank) {
  unsigned bits = 0;
  for (int64_t i = 0; axes->fact.value && i < axes->fact.value_count; ++i) {
    const int64_t axis = axes->fact.value[i] < 0 ? axes->fact.value[i] + rank : axes->fact.value[i];
    if (axis < 0 || axis >= rank) return 0;
    bits |= 1u << axis;
  }
  return bits;
}

/* The first of the last axes that the constant bound to `name` holds; -1 when it holds others. */
static int first_axis(const hn_match *match, const char *name) {
  const int rank = hn_bound_type(match, "x")->shape.rank;
  const unsigned bits = rank > 0 ? axis_bits(hn_bound(match, name), rank) : 0;
  for (int axis = 0; axis < rank; ++axis)
    if (bits == (1u << rank) - (1u << axis)) return axis;
  return -1;
}

/* ---- normalisation over the last axes ---- */

static const char *when_last_axes(const hn_match *match) {
  const int axis = first_axis(match, "axes");
  const hone_shape *shape = &hn_bound_type(match, "x")->shape;
  if (axis < 0) return "the mean is not over the last axes";
  if (hn_bound(match, "axes2") && first_axis(match, "axes2") != axis) return "mean and variance are over other axes";
  for (int i = axis; i < shape->rank; ++i)
    if (HONE_SYMBOLIC(shape->dim[i])) return "the size of what is normalised is not known";
  return hn_is_scalar_constant(hn_bound(match, "eps")) ? NULL : "epsilon is not a scalar";
}

static hone_status make_norm(hn_match *match) {
  const hone_type *x = hn_bound_type(match, "x");
  const int axis = first_axis(match, "axes");
  HN_TRY(hn_bind_filled(match, "ones", x->dtype, x->shape.rank - axis, x->shape.dim + axis, 1));
  HN_TRY(hn_bind_attr(match, &(hone_attr){.name = "axis", .kind = HONE_ATTR_INT, .i = axis - x->shape.rank}));
  return hn_bind_float(match, "epsilon", hn_real(hn_bound(match, "eps")->fact.constant, 0));
}

static int norm_axis(const hn_match *match) {
  const int rank = hn_bound_type(match, "c")->shape.rank;
  const int64_t axis = hn_attr_int(&hn_bound_node(match, "c")->attrs, "axis");
  return (int)(axis < 0 ? axis + rank : axis);
}

/* The constant has no more axes than what is normalised, and s is full, so that the result is full too. */
static const char *when_within(const hn_match *match) {
  const int axes = hn_bound_type(match, "c")->shape.rank - norm_axis(match);
  if (hn_bound_type(match, "k")->shape.rank > axes) return "the constant varies outside of what is normalised";
  return hn_bound_type(match, "s")->shape.rank == axes ? NULL : "the scale is broadcast";
}

static hone_status make_zeros(hn_match *match) {
  const hone_shape *shape = &hn_bound_type(match, "s")->shape;
  return hn_bind_filled(match, "zeros", hn_bound_type(match, "c")->dtype, shape->rank, shape->dim, 0);
}

/* ---- clips and pools ---- */

static const char *when_ordered(const hn_match *match) {
  const hn_value *low = hn_bound(match, "low"), *high = hn_bound(match, "high");
  if (!hn_is_scalar_constant(high) || (low && !hn_is_scalar_constant(low))) return "a bound is not a scalar";
  const double least = low ? hn_real(low->fact.constant, 0) : 0;
  return least <= hn_real(high->fact.constant, 0) ? NULL : "the bounds cross";
}

/* Of three axes the last is as likely a feature as a plane, so that these are left alone. */
static const char *when_planes(const hn_match *match) {
  const int rank = hn_bound_type(match, "x")->shape.rank;
  return rank >= 4 && first_axis(match, "axes") == 2 ? NULL : "the mean is not over the planes";
}

#define VARIANCE "reduce_mean[keepdims=1](mul(d, d), axes2:const)"
#define CENTRED "d:sub(x, reduce_mean[keepdims=1](x, axes:const))"
#define SQUARES "reduce_mean[keepdims=1](mul(x, x), axes:const)"

#define ERF "add(erf(div(x, 1.4142135623730951)), 1)"
#define ERF_BY_PRODUCT "add(erf(mul(x, 0.7071067811865476)), 1)"
#define TANH(cube) "add(tanh(mul(add(x, mul(" cube ", 0.044715)), 0.7978845608028654)), 1)"

#define CLIPPED "clip(add(x, 3), 0, 6)"
#define SIXTH "0.16666666666666666"

const hn_rewrite hn_rules_recognise[] = {
    {.name = "max_min_to_clip",
     .find = "min(max(x, low:const), high:const)",
     .put = "clip(x, low, high)",
     .when = when_ordered,
     .why = "one step for a function in pieces"},
    {.name = "min_max_to_clip",
     .find = "max(min(x, high:const), low:const)",
     .put = "clip(x, low, high)",
     .when = when_ordered,
     .why = "one step for a function in pieces"},
    {.name = "relu_min_to_clip",
     .find = "min(relu(x), high:const)",
     .put = "clip(x, 0, high)",
     .when = when_ordered,
     .why = "one step for a function in pieces"},
    {.name = "min_relu_to_clip",
     .find = "relu(min(x, high:const))",
     .put = "clip(x, 0, high)",
     .when = when_ordered,
     .why = "one step for a function in pieces"},
    {.name = "hard_sigmoid",
     .find = "div(" CLIPPED ", 6)",
     .put = "hard_sigmoid[alpha=" SIXTH ", beta=0.5](x)",
     .why = "one step for a function in pieces"},
    {.name = "hard_sigmoid_by_product",
     .find = "mul(" CLIPPED ", " SIXTH ")",
     .put = "hard_sigmoid[alpha=" SIXTH ", beta=0.5](x)",
     .why = "one step for a function in pieces"},
    {.name = "hard_swish",
     .find = "mul(x, hard_sigmoid[alpha=" SIXTH ", beta=0.5](x))",
     .put = "hard_swish(x)",
     .why = "one step for a function in pieces"},
    {.name = "hard_swish_sixth_last",
     .find = "div(mul(x, " CLIPPED "), 6)",
     .put = "hard_swish(x)",
     .why = "one step for a function in pieces"},
    {.name = "hard_swish_product_last",
     .find = "mul(mul(x, " CLIPPED "), " SIXTH ")",
     .put = "hard_swish(x)",
     .why = "one step for a function in pieces"},
    {.name = "silu",
     .find = "mul(x, sigmoid(x))",
     .put = "swish[alpha=1.0](x)",
     .why = "one step for a function in pieces"},
    {.name = "softplus",
     .find = "log(add(exp(x), 1))",
     .put = "softplus(x)",
     .why = "one step for a function in pieces"},
    {.name = "mish", .find = "mul(x, tanh(softplus(x)))", .put = "mish(x)", .why = "one step for a function in pieces"},
    {.name = "gelu_half_last",
     .find = "mul(mul(x, " ERF "), 0.5)",
     .put = "gelu(x)",
     .why = "one step for a function in pieces"},
    {.name = "gelu_half_first",
     .find = "mul(mul(x, 0.5), " ERF ")",
     .put = "gelu(x)",
     .why = "one step for a function in pieces"},
    {.name = "gelu_half_inside",
     .find = "mul(x, mul(" ERF ", 0.5))",
     .put = "gelu(x)",
     .why = "one step for a function in pieces"},
    {.name = "gelu_by_product_half_last",
     .find = "mul(mul(x, " ERF_BY_PRODUCT "), 0.5)",
     .put = "gelu(x)",
     .why = "one step for a function in pieces"},
    {.name = "gelu_by_product_half_first",
     .find = "mul(mul(x, 0.5), " ERF_BY_PRODUCT ")",
     .put = "gelu(x)",
     .why = "one step for a function in pieces"},
    {.name = "gelu_by_product_half_inside",
     .find = "mul(x, mul(" ERF_BY_PRODUCT ", 0.5))",
     .put = "gelu(x)",
     .why = "one step for a function in pieces"},
    {.name = "gelu_tanh_half_last",
     .find = "mul(mul(x, " TANH("pow(x, 3)") "), 0.5)",
     .put = "gelu_tanh(x)",
     .why = "one step for a function in pieces"},
    {.name = "gelu_tanh_half_first",
     .find = "mul(mul(x, 0.5), " TANH("pow(x, 3)") ")",
     .put = "gelu_tanh(x)",
     .why = "one step for a function in pieces"},
    {.name = "gelu_tanh_half_inside",
     .find = "mul(x, mul(" TANH("pow(x, 3)") ", 0.5))",
     .put = "gelu_tanh(x)",
     .why = "one step for a function in pieces"},
    {.name = "gelu_tanh_by_products_half_last",
     .find = "mul(mul(x, " TANH("mul(x, mul(x, x))") "), 0.5)",
     .put = "gelu_tanh(x)",
     .why = "one step for a function in pieces"},
    {.name = "gelu_tanh_by_products_half_first",
     .find = "mul(mul(x, 0.5), " TANH("mul(x, mul(x, x))") ")",
     .put = "gelu_tanh(x)",
     .why = "one step for a function in pieces"},
    {.name = "gelu_tanh_by_products_half_inside",
     .find = "mul(x, mul(" TANH("mul(x, mul(x, x))") ", 0.5))",
     .put = "gelu_tanh(x)",
     .why = "one step for a function in pieces"},
    {.name = "layer_norm",
     .find = "div(" CENTRED ", sqrt(add(" VARIANCE ", eps:const)))",
     .put = "layer_norm[axis=$axis, epsilon=$epsilon](x, ones)",
     .when = when_last_axes,
     .make = make_norm,
     .fuses = true,
     .why = "one pass over the data for a layer in pieces"},
    {.name = "layer_norm_by_reciprocal",
     .find = "mul(" CENTRED ", reciprocal(sqrt(add(" VARIANCE ", eps:const))))",
     .put = "layer_norm[axis=$axis, epsilon=$epsilon](x, ones)",
     .when = when_last_axes,
     .make = make_norm,
     .fuses = true,
     .why = "one pass over the data for a layer in pieces"},
    {.name = "rms_norm",
     .find = "div(x, sqrt(add(" SQUARES ", eps:const)))",
     .put = "rms_norm[axis=$axis, epsilon=$epsilon](x, ones)",
     .when = when_last_axes,
     .make = make_norm,
     .fuses = true,
     .why = "one pass over the data for a layer in pieces"},
    {.name = "rms_norm_by_reciprocal",
     .find = "mul(x, reciprocal(sqrt(add(" SQUARES ", eps:const))))",
     .put = "rms_norm[axis=$axis, epsilon=$epsilon](x, ones)",
     .when = when_last_axes,
     .make = make_norm,
     .fuses = true,
     .why = "one pass over the data for a layer in pieces"},
    {.name = "scale_into_layer_norm",
     .find = "mul(c:layer_norm(x, s:const), k:const)",
     .put = "c(x, mul(s, k))",
     .when = when_within,
     .fuses = true,
     .why = "the layer has a scale of its own"},
    {.name = "scale_into_rms_norm",
     .find = "mul(c:rms_norm(x, s:const), k:const)",
     .put = "c(x, mul(s, k))",
     .when = when_within,
     .fuses = true,
     .why = "the layer has a scale of its own"},
    {.name = "bias_into_layer_norm",
     .find = "add(c:layer_norm(x, s:const), k:const)",
     .put = "c(x, s, add(zeros, k))",
     .when = when_within,
     .make = make_zeros,
     .fuses = true,
     .why = "the layer has a bias of its own"},
    {.name = "mean_to_pool",
     .find = "reduce_mean[keepdims=1](x, axes:const)",
     .put = "global_average_pool(x)",
     .when = when_planes,
     .fuses = true,
     .why = "pooling keeps blocked formats"},
    {.name = "flat_mean_to_pool",
     .find = "reduce_mean[keepdims=0](x, axes:const)",
     .put = "squeeze(global_average_pool(x), axes)",
     .when = when_planes,
     .why = "pooling keeps blocked formats"},
    {0}};
