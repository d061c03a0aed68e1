/* SPDX-License-Identifier: Apache-2.0 */
/* rules_cleanup.c - nodes that do nothing, as exporters leave them. The engine's own condition, the root keeps dtype
 * and shape, is what makes most of these right. */
#include "pass/passes.h"
#include "pass/rule_help.h"
#include <math.h>

/* Rules that are right whenever the type stays; anything else is not worth a line in the log. */
static const char *when_type_stays(const hn_match *match) {
  return hn_when_same_type(hn_bound_type(match, "x"), &match->roots[0]->fact.type, "");
}

static const char *when_in_order(const hn_match *match) {
  const int64_t *perm;
  const int count = hn_attr_ints(&match->root->attrs, "perm", &perm);
  const int rank = hn_bound_type(match, "x")->shape.rank;
  if (count == 0 && (rank > 1 || rank < 0)) return "";
  for (int i = 0; i < count; ++i)
    if (perm[i] != i) return "";
  return when_type_stays(match);
}

/* The value of an input is known and every element of it is at least `least`. */
static bool all_at_least(const hn_value *value, int64_t least) {
  if (!value || !value->fact.value) return false;
  for (int64_t i = 0; i < value->fact.value_count; ++i)
    if (HONE_SYMBOLIC(value->fact.value[i]) || value->fact.value[i] < least) return false;
  return true;
}

/* Pads may be negative: they cancel in the shape, but not in what is copied. */
static const char *when_no_pads(const hn_match *match) {
  return all_at_least(hn_input(match->root, 1), 0) ? when_type_stays(match) : "";
}

/* A slice of the same shape with steps forward starts at 0. */
static const char *when_forward(const hn_match *match) {
  const hn_value *steps = hn_input(match->root, 4);
  return !steps || all_at_least(steps, 1) ? when_type_stays(match) : "";
}

/* Reals have two zeros, and -0 + 0 is 0: only x + (-0) and x - 0 are x. */
static bool all_have_sign(const hn_match *match, bool minus) {
  const hn_value *zero = hn_input(match->root, hn_input(match->root, 0) == hn_bound(match, "x") ? 1 : 0);
  const hone_tensor *tensor = zero ? zero->fact.constant : NULL;
  if (!tensor) return false;
  if (!hn_dtype_is_float(tensor->type.dtype)) return true;
  const int64_t count = hn_elems(&tensor->type.shape);
  for (int64_t i = 0; i < count; ++i)
    if (signbit(hn_real(tensor, i)) != minus) return false;
  return true;
}

static const char *when_minus_zero(const hn_match *match) {
  return all_have_sign(match, true) ? when_type_stays(match) : "it turns -0 into 0";
}

static const char *when_plus_zero(const hn_match *match) {
  return all_have_sign(match, false) ? when_type_stays(match) : "it turns -0 into 0";
}

static const char *when_scalar_slope(const hn_match *match) {
  return hn_is_scalar_constant(hn_bound(match, "k")) ? NULL : "";
}

const hn_rewrite hn_rules_cleanup[] = {
    {.name = "drop_identity", .find = "identity(x)", .put = "x", .why = "it does nothing"},
    {.name = "drop_dropout", .find = "dropout(x, ...)", .put = "x", .why = "it does nothing in inference"},
    {.name = "drop_cast",
     .find = "cast(x)",
     .put = "x",
     .when = when_type_stays,
     .why = "the elements have that type already"},
    {.name = "drop_reshape",
     .find = "reshape(x, s)",
     .put = "x",
     .when = when_type_stays,
     .why = "it has that shape already"},
    {.name = "drop_flatten",
     .find = "flatten(x)",
     .put = "x",
     .when = when_type_stays,
     .why = "it has that shape already"},
    {.name = "drop_squeeze",
     .find = "squeeze(x, ...)",
     .put = "x",
     .when = when_type_stays,
     .why = "it has that shape already"},
    {.name = "drop_expand",
     .find = "expand(x, s)",
     .put = "x",
     .when = when_type_stays,
     .why = "it has that shape already"},
    {.name = "drop_tile",
     .find = "tile(x, s)",
     .put = "x",
     .when = when_type_stays,
     .why = "every axis is repeated once"},
    {.name = "drop_transpose",
     .find = "transpose(x)",
     .put = "x",
     .when = when_in_order,
     .why = "the axes stay in order"},
    {.name = "drop_pad", .find = "pad(x, ...)", .put = "x", .when = when_no_pads, .why = "nothing is added"},
    {.name = "drop_slice", .find = "slice(x, ...)", .put = "x", .when = when_forward, .why = "everything is kept"},
    {.name = "drop_concat", .find = "concat(x)", .put = "x", .when = when_type_stays, .why = "it joins one tensor"},
    {.name = "drop_max", .find = "max(x)", .put = "x", .when = when_type_stays, .why = "the maximum of one"},
    {.name = "drop_min", .find = "min(x)", .put = "x", .when = when_type_stays, .why = "the minimum of one"},
    {.name = "mul_by_one", .find = "mul(x, 1)", .put = "x", .when = when_type_stays, .why = "x * 1 = x"},
    {.name = "div_by_one", .find = "div(x, 1)", .put = "x", .when = when_type_stays, .why = "x / 1 = x"},
    {.name = "add_zero",
     .find = "add(x, -0)",
     .put = "x",
     .when = when_minus_zero,
     .why = "x + (-0) = x, and x + 0 = x of integers"},
    {.name = "sub_zero", .find = "sub(x, 0)", .put = "x", .when = when_plus_zero, .why = "x - 0 = x"},
    {.name = "pow_one", .find = "pow(x, 1)", .put = "x", .when = when_type_stays, .why = "x to the power 1 is x"},
    {.name = "drop_expand_of_operand",
     .find = "b:any[elementwise](x, expand(y, s))",
     .put = "b(x, y)",
     .why = "elementwise nodes broadcast by themselves"},
    {.name = "drop_expand_of_first_operand",
     .find = "b:any[elementwise](expand(y, s), x)",
     .put = "b(y, x)",
     .why = "elementwise nodes broadcast by themselves"},
    {.name = "square", .find = "pow(x, 2)", .put = "mul(x, x)", .why = "a product costs less than a power"},
    {.name = "reciprocal", .find = "div(1, x)", .put = "reciprocal(x)", .why = "one operand less"},
    {.name = "clip_to_relu", .find = "clip(x, 0)", .put = "relu(x)", .why = "cut off at 0 below and not above"},
    {.name = "max_to_relu", .find = "max(x, 0)", .put = "relu(x)", .why = "the larger of x and 0"},
    {.name = "prelu_to_leaky_relu",
     .find = "prelu(x, k:const)",
     .put = "leaky_relu[alpha=$slope](x)",
     .when = when_scalar_slope,
     .make = hn_make_slope,
     .why = "one slope for all is an attribute"},
    {0}};
