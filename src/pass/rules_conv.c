/* SPDX-License-Identifier: Apache-2.0 */
/* rules_conv.c - what a convolution may absorb. Read a row as: find -> put, when, because.
 * Normalisation is affine in each channel, so the op itself, applied to the weights without its shift and to the bias
 * as it is, gives those of the merged convolution with one rounding (Jacob et al., arXiv:1712.05877, section 3.2). */
#include "pass/passes.h"
#include "pass/rule_help.h"
#include "tensor/shape.h"

/* Output channels: the first extent of conv's weights, the second of conv_transpose's. */
static int64_t channels(const hn_match *match, int axis) {
  const hone_type *weights = hn_bound_type(match, "w");
  return weights->shape.rank > axis ? weights->shape.dim[axis] : -1;
}

static hone_status make_conv(hn_match *match) {
  static const int64_t column[HONE_MAX_RANK] = {-1, 1, 1, 1, 1, 1, 1, 1};
  HN_TRY(hn_bind_ints(match, "column", hn_bound_type(match, "w")->shape.rank, column));
  HN_TRY(hn_bind_ints(match, "first", 1, (const int64_t[]){0}));
  return hn_bind_bias(match, channels(match, 0));
}

/* Weights are [C, M / group, taps...]: a number for each output channel becomes one for each row of its group, which
 * `grouped`, `repeated` and `column` shape. */
static hone_status make_transposed(hn_match *match) {
  const hone_shape *w = &hn_bound_type(match, "w")->shape;
  const hn_value *k = hn_bound(match, "k");
  const int64_t groups = hn_attr_int(&hn_bound_node(match, "c")->attrs, "group");
  const bool one = hn_is_scalar_constant(k);
  const int64_t grouped[3] = {one ? 1 : groups, 1, one ? 1 : w->dim[1]};
  const int64_t repeated[3] = {groups, w->dim[0] / groups, w->dim[1]};
  const int64_t column[HONE_MAX_RANK] = {w->dim[0], w->dim[1], 1, 1, 1, 1, 1, 1};
  HN_TRY(hn_bind_ints(match, "grouped", 3, grouped));
  HN_TRY(hn_bind_ints(match, "repeated", 3, repeated));
  HN_TRY(hn_bind_ints(match, "column", w->rank, column));
  HN_TRY(hn_bind_ints(match, "first", 1, (const int64_t[]){0}));
  return hn_bind_bias(match, channels(match, 1) * groups);
}

static const char *when_channel_transposed(const hn_match *match) {
  const hone_shape *w = &hn_bound_type(match, "w")->shape;
  if (!hn_shape_known(w) || w->rank < 3) return "the shape of the weights is not known";
  HN_TRY_REASON(hn_when_affine(match));
  return hn_when_along(match, 1);
}

/* ---- what stands in front ---- */

/* m: the product or sum that feeds the convolution; k is for each of its channels. */
static const char *when_in_front(const hn_match *match) {
  const hone_type *x = hn_bound_type(match, "x");
  if (hn_attr_int(&match->root->attrs, "group") != 1) return "the convolution has groups";
  if (!hn_shape_known(&hn_bound_type(match, "w")->shape)) return "the shape of the weights is not known";
  HN_TRY_REASON(hn_when_same_type(x, hn_bound_type(match, "m"), "the constant makes the input larger"));
  return hn_varies_only_along(hn_bound_type(match, "k"), x, 1) ? NULL
                                                               : "the constant does not vary along the channels only";
}

/* Zeros are padded behind the sum. */
static const char *when_unpadded(const hn_match *match) {
  const hone_attrs *attrs = &match->root->attrs;
  const int64_t *pads;
  const int count = hn_attr_ints(attrs, "pads", &pads);
  const hn_value *bias = hn_input(match->root, 2);
  if (bias && !hn_value_is_constant(bias)) return "the bias is not constant";
  if (!hn_name_equal(hn_attr_text(attrs, "auto_pad"), "NOTSET") &&
      !hn_name_equal(hn_attr_text(attrs, "auto_pad"), "VALID"))
    return "the convolution pads with zeros behind the sum";
  for (int i = 0; i < count; ++i)
    if (pads[i] != 0) return "the convolution pads with zeros behind the sum";
  return when_in_front(match);
}

static hone_status make_row(hn_match *match) {
  static const int64_t row[HONE_MAX_RANK] = {1, -1, 1, 1, 1, 1, 1, 1}, taps[HONE_MAX_RANK] = {1, 2, 3, 4, 5, 6, 7};
  const int rank = hn_bound_type(match, "w")->shape.rank;
  HN_TRY(hn_bind_ints(match, "row", rank, row));
  HN_TRY(hn_bind_ints(match, "taps", rank - 1, taps));
  return hn_bind_bias(match, channels(match, 0));
}

static const char *when_channel(const hn_match *match) {
  HN_TRY_REASON(hn_when_affine(match));
  return hn_when_along(match, 1);
}

static const char *when_one_group(const hn_match *match) {
  if (hn_attr_int(&hn_bound_node(match, "c")->attrs, "group") != 1) return "the convolution has groups";
  if (!hn_shape_known(&hn_bound_type(match, "w")->shape)) return "the shape of the weights is not known";
  return hn_when_affine(match);
}

/* x * s + t: what is left of a normalisation that no layer takes. */
static const char *when_channels_known(const hn_match *match) {
  const hone_shape *shape = &hn_bound_type(match, "x")->shape;
  if (shape->rank < 2) return "the input has no channels";
  return HONE_SYMBOLIC(shape->dim[1]) ? "the number of channels is not known" : NULL;
}

static hone_status make_affine(hn_match *match) {
  const hone_type *x = hn_bound_type(match, "x");
  const int64_t row[2] = {1, x->shape.dim[1]};
  const int64_t column[HONE_MAX_RANK] = {-1, 1, 1, 1, 1, 1, 1, 1};
  HN_TRY(hn_bind_filled(match, "one", x->dtype, 2, row, 1));
  HN_TRY(hn_bind_filled(match, "zero", x->dtype, 2, row, 0));
  return hn_bind_ints(match, "column", x->shape.rank - 1, column);
}

/* Zeros around the planes are what the convolution can add itself. */
static const char *when_zeros_around(const hn_match *match) {
  const hn_node *pad = hn_bound_node(match, "p");
  const hn_value *pads = hn_bound(match, "pads"), *zero = hn_input(pad, 2);
  const int rank = hn_bound_type(match, "x")->shape.rank;
  if (zero && (!hn_is_scalar_constant(zero) || hn_real(zero->fact.constant, 0) != 0)) return "it pads with no zeros";
  if (hn_input(pad, 3)) return "it pads some axes only";
  if (rank < 3 || !pads->fact.value || pads->fact.value_count != 2 * rank) return "the pads are not known";
  for (int i = 0; i < 2 * rank; ++i) {
    if (pads->fact.value[i] < 0) return "it cuts off";
    if (i % rank < 2 && pads->fact.value[i] > 0) return "it pads images or channels";
  }
  return NULL;
}

static hone_status make_pads(hn_match *match) {
  const int64_t *pads = hn_bound(match, "pads")->fact.value;
  const int rank = hn_bound_type(match, "x")->shape.rank, planes = rank - 2;
  int64_t sum[2 * HONE_MAX_RANK];
  for (int i = 0; i < 2 * planes; ++i)
    sum[i] = pads[i < planes ? i + 2 : i + 4] + hn_attr_ints_at(&match->root->attrs, "pads", i, 0);
  return hn_bind_list(match, "pads", 2 * planes, sum);
}

/* ---- pools over 1x1 convolutions ---- */

static bool is_not_padded(const hone_attrs *attrs) {
  const char *how = hn_attr_text(attrs, "auto_pad");
  return hn_attr_ints_are(attrs, "pads", 0) && (hn_name_equal(how, "NOTSET") || hn_name_equal(how, "VALID"));
}

/* Both are linear, and the one mixes channels, the other pixels. The pool reads more channels than before when the
 * convolution makes fewer; from 16 on what is multiplied less outweighs that. */
static const char *when_pool_first(const hn_match *match) {
  enum { FEW = 16 };
  const hone_attrs *pool = &match->root->attrs, *conv = &hn_bound_node(match, "c")->attrs;
  const hone_shape *w = &hn_bound_type(match, "w")->shape;
  if (!hn_shape_known(w) || hn_input(hn_bound_node(match, "c"), 3)) return "the convolution adds a residual";
  for (int i = 2; i < w->rank; ++i)
    if (w->dim[i] != 1) return "";
  if (!hn_attr_ints_are(conv, "strides", 1) || !is_not_padded(conv)) return "";
  if (!is_not_padded(pool) || hn_attr_int(pool, "ceil_mode") != 0) return "the pool pads";
  if (hn_attr_ints_are(pool, "strides", 1)) return "the pool leaves as many pixels";
  return w->dim[0] < FEW && w->dim[0] < w->dim[1] ? "the convolution makes few channels" : NULL;
}

#define BN_CONSTANTS "scale:const, bias:const, mean:const, var:const"
#define BN_SCALED(x) "batch_norm[epsilon=n.epsilon](" x ", scale, sub(bias, bias), sub(mean, mean), var)"
#define BN(x) "batch_norm[epsilon=n.epsilon](" x ", scale, bias, mean, var)"

const hn_rewrite hn_rules_conv[] = {
    {.name = "bn_into_conv",
     .find = "n:batch_norm[training_mode=0](c:conv[act=\"\"](x, w:const, ...), " BN_CONSTANTS ")",
     .put = "c(x, squeeze(" BN_SCALED("unsqueeze(w, first)") ", first), squeeze(" BN("unsqueeze(b, first)") ", first))",
     .when = hn_when_affine,
     .make = make_conv,
     .why = "a normalisation with fixed moments is a scale and a shift of each channel"},
    {.name = "bn_into_conv_transpose",
     .find = "n:batch_norm[training_mode=0](c:conv_transpose[act=\"\"](x, w:const, ...), " BN_CONSTANTS ")",
     .put = "c(x, " BN_SCALED("w") ", squeeze(" BN("unsqueeze(b, first)") ", first))",
     .when = when_one_group,
     .make = make_transposed,
     .why = "a normalisation with fixed moments is a scale and a shift of each channel"},
    {.name = "bias_into_conv",
     .find = "add(c:conv[act=\"\"](x, w, ...), k:const)",
     .put = "c(x, w, add(b, reshape(k, flat)))",
     .when = when_channel,
     .make = make_conv,
     .why = "the bias is added while the tile is still in registers"},
    {.name = "minus_into_conv",
     .find = "sub(c:conv[act=\"\"](x, w, ...), k:const)",
     .put = "c(x, w, sub(b, reshape(k, flat)))",
     .when = when_channel,
     .make = make_conv,
     .why = "a constant taken off each channel is a bias"},
    {.name = "from_constant_into_conv",
     .find = "sub(k:const, c:conv[act=\"\"](x, w:const, ...))",
     .put = "c(x, neg(w), sub(reshape(k, flat), b))",
     .when = when_channel,
     .make = make_conv,
     .why = "k - (w x + b) = -w x + (k - b)"},
    {.name = "minus_conv",
     .find = "neg(c:conv[act=\"\"](x, w:const))",
     .put = "c(x, neg(w))",
     .when = hn_when_affine,
     .why = "the sign can be the weights' own"},
    {.name = "minus_biased_conv",
     .find = "neg(c:conv[act=\"\"](x, w:const, b:const))",
     .put = "c(x, neg(w), neg(b))",
     .when = hn_when_affine,
     .why = "the sign can be the weights' own"},
    {.name = "scale_into_conv",
     .find = "mul(c:conv[act=\"\"](x, w:const), k:const)",
     .put = "c(x, mul(w, reshape(k, column)))",
     .when = when_channel,
     .make = make_conv,
     .why = "a factor of each channel can be the weights' own"},
    {.name = "scale_into_biased_conv",
     .find = "mul(c:conv[act=\"\"](x, w:const, b:const), k:const)",
     .put = "c(x, mul(w, reshape(k, column)), mul(b, reshape(k, flat)))",
     .when = when_channel,
     .make = make_conv,
     .why = "a factor of each channel can be the weights' own"},
    {.name = "divisor_into_conv",
     .find = "div(c:conv[act=\"\"](x, w:const, ...), k:const)",
     .put = "c(x, div(w, reshape(k, column)), div(b, reshape(k, flat)))",
     .when = when_channel,
     .make = make_conv,
     .why = "a divisor of each channel can be the weights' own"},
    {.name = "bias_into_conv_transpose",
     .find = "add(c:conv_transpose[act=\"\"](x, w, ...), k:const)",
     .put = "c(x, w, add(b, reshape(k, flat)))",
     .when = when_channel_transposed,
     .make = make_transposed,
     .why = "the bias is added while the tile is still in registers"},
    {.name = "scale_into_conv_transpose",
     .find = "mul(c:conv_transpose[act=\"\"](x, w:const, ...), k:const)",
     .put = "c(x, mul(w, reshape(expand(reshape(k, grouped), repeated), column)), mul(b, reshape(k, flat)))",
     .when = when_channel_transposed,
     .make = make_transposed,
     .why = "a factor of each channel can be the weights' own"},
    {.name = "scale_before_conv",
     .find = "c:conv(m:mul(x, k:const), w:const, ...)",
     .put = "c(x, mul(w, reshape(k, row)), ...)",
     .when = when_in_front,
     .make = make_row,
     .why = "a factor of each input channel can be the weights' own"},
    {.name = "divisor_before_conv",
     .find = "c:conv(m:div(x, k:const), w:const, ...)",
     .put = "c(x, div(w, reshape(k, row)), ...)",
     .when = when_in_front,
     .make = make_row,
     .why = "a divisor of each input channel can be the weights' own"},
    {.name = "bias_before_conv",
     .find = "c:conv(m:add(x, k:const), w:const, ...)",
     .put = "c(x, w, add(b, reduce_sum[keepdims=0](mul(w, reshape(k, row)), taps)), ...)",
     .when = when_unpadded,
     .make = make_row,
     .why = "what the weights make of a constant is a bias"},
    {.name = "bn_to_affine",
     .find = "n:batch_norm[training_mode=0](x, " BN_CONSTANTS ")",
     .put = "add(mul(x, reshape(" BN_SCALED("one") ", column)), reshape(" BN("zero") ", column))",
     .when = when_channels_known,
     .make = make_affine,
     .why = "a factor and a summand of each channel can join elementwise neighbours"},
    {.name = "pool_before_conv",
     .find = "p:average_pool(c:conv[act=\"\"](x, w, ...))",
     .put = "c(p(x), w, ...)",
     .when = when_pool_first,
     .why = "fewer pixels are left to multiply"},
    {.name = "pad_into_conv",
     .find = "c:conv[act=\"\", auto_pad=\"NOTSET\"](p:pad[mode=\"constant\"](x, pads:const, ...), w, ...)",
     .put = "c[pads=$pads](x, w, ...)",
     .when = when_zeros_around,
     .make = make_pads,
     .why = "the convolution skips zeros that it would else read"},
    {.name = "residual_into_conv",
     .find = "add(c:conv[act=\"\"](x, w), r)",
     .put = "c(x, w, _, r)",
     .when = hn_when_residual,
     .fuses = true,
     .why = "the sum is formed while the tile is still in registers"},
    {.name = "residual_into_biased_conv",
     .find = "add(c:conv[act=\"\"](x, w, b), r)",
     .put = "c(x, w, b, r)",
     .when = hn_when_residual,
     .fuses = true,
     .why = "the sum is formed while the tile is still in registers"},
    {.name = "relu_into_conv",
     .find = "relu(c:conv[act=\"\"](...))",
     .put = "c[act=\"relu\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "leaky_relu_into_conv",
     .find = "a:leaky_relu(c:conv[act=\"\"](...))",
     .put = "c[act=\"leaky_relu\", act_alpha=a.alpha]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "sigmoid_into_conv",
     .find = "sigmoid(c:conv[act=\"\"](...))",
     .put = "c[act=\"sigmoid\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "silu_into_conv",
     .find = "swish[alpha=1](c:conv[act=\"\"](...))",
     .put = "c[act=\"silu\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "hard_swish_into_conv",
     .find = "hard_swish(c:conv[act=\"\"](...))",
     .put = "c[act=\"hard_swish\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "hard_sigmoid_into_conv",
     .find = "a:hard_sigmoid(c:conv[act=\"\"](...))",
     .put = "c[act=\"hard_sigmoid\", act_alpha=a.alpha, act_beta=a.beta]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "gelu_into_conv",
     .find = "gelu(c:conv[act=\"\"](...))",
     .put = "c[act=\"gelu\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "tanh_into_conv",
     .find = "tanh(c:conv[act=\"\"](...))",
     .put = "c[act=\"tanh\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "gelu_tanh_into_conv",
     .find = "gelu_tanh(c:conv[act=\"\"](...))",
     .put = "c[act=\"gelu_tanh\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "mish_into_conv",
     .find = "mish(c:conv[act=\"\"](...))",
     .put = "c[act=\"mish\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "elu_into_conv",
     .find = "a:elu(c:conv[act=\"\"](...))",
     .put = "c[act=\"elu\", act_alpha=a.alpha]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "clip_into_conv",
     .find = "clip(c:conv[act=\"\"](...), low:const, high:const)",
     .put = "c[act=\"clip\", act_alpha=$low, act_beta=$high]",
     .when = hn_when_bounds,
     .make = hn_make_bounds,
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "clip_low_into_conv",
     .find = "clip(c:conv[act=\"\"](...), low:const)",
     .put = "c[act=\"clip\", act_alpha=$low, act_beta=$high]",
     .when = hn_when_bounds,
     .make = hn_make_bounds,
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "clip_high_into_conv",
     .find = "clip(c:conv[act=\"\"](...), _, high:const)",
     .put = "c[act=\"clip\", act_alpha=$low, act_beta=$high]",
     .when = hn_when_bounds,
     .make = hn_make_bounds,
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "prelu_into_conv",
     .find = "prelu(c:conv[act=\"\"](x, w), k:const)",
     .put = "c[act=\"prelu\"](x, w, _, _, reshape(k, flat))",
     .when = hn_when_slopes,
     .make = hn_make_flat,
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "prelu_after_bias_into_conv",
     .find = "prelu(c:conv[act=\"\"](x, w, b), k:const)",
     .put = "c[act=\"prelu\"](x, w, b, _, reshape(k, flat))",
     .when = hn_when_slopes,
     .make = hn_make_flat,
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "prelu_after_residual_into_conv",
     .find = "prelu(c:conv[act=\"\"](x, w, _, r), k:const)",
     .put = "c[act=\"prelu\"](x, w, _, r, reshape(k, flat))",
     .when = hn_when_slopes,
     .make = hn_make_flat,
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "prelu_after_both_into_conv",
     .find = "prelu(c:conv[act=\"\"](x, w, b, r), k:const)",
     .put = "c[act=\"prelu\"](x, w, b, r, reshape(k, flat))",
     .when = hn_when_slopes,
     .make = hn_make_flat,
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "bias_after_residual_into_conv",
     .find = "add(c:conv[act=\"\"](x, w, _, r), k:const)",
     .put = "c(x, w, reshape(k, flat), r)",
     .when = hn_when_bias_late,
     .make = hn_make_flat,
     .why = "the bias is added while the tile is still in registers"},
    {.name = "second_bias_after_residual_into_conv",
     .find = "add(c:conv[act=\"\"](x, w, b:const, r), k:const)",
     .put = "c(x, w, add(b, reshape(k, flat)), r)",
     .when = hn_when_bias_late,
     .make = hn_make_flat,
     .why = "the bias is added while the tile is still in registers"},
    {.name = "relu_into_conv_transpose",
     .find = "relu(c:conv_transpose[act=\"\"](...))",
     .put = "c[act=\"relu\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "leaky_relu_into_conv_transpose",
     .find = "a:leaky_relu(c:conv_transpose[act=\"\"](...))",
     .put = "c[act=\"leaky_relu\", act_alpha=a.alpha]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "sigmoid_into_conv_transpose",
     .find = "sigmoid(c:conv_transpose[act=\"\"](...))",
     .put = "c[act=\"sigmoid\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "silu_into_conv_transpose",
     .find = "swish[alpha=1](c:conv_transpose[act=\"\"](...))",
     .put = "c[act=\"silu\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "hard_swish_into_conv_transpose",
     .find = "hard_swish(c:conv_transpose[act=\"\"](...))",
     .put = "c[act=\"hard_swish\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "hard_sigmoid_into_conv_transpose",
     .find = "a:hard_sigmoid(c:conv_transpose[act=\"\"](...))",
     .put = "c[act=\"hard_sigmoid\", act_alpha=a.alpha, act_beta=a.beta]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "gelu_into_conv_transpose",
     .find = "gelu(c:conv_transpose[act=\"\"](...))",
     .put = "c[act=\"gelu\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "tanh_into_conv_transpose",
     .find = "tanh(c:conv_transpose[act=\"\"](...))",
     .put = "c[act=\"tanh\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "gelu_tanh_into_conv_transpose",
     .find = "gelu_tanh(c:conv_transpose[act=\"\"](...))",
     .put = "c[act=\"gelu_tanh\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "mish_into_conv_transpose",
     .find = "mish(c:conv_transpose[act=\"\"](...))",
     .put = "c[act=\"mish\"]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "elu_into_conv_transpose",
     .find = "a:elu(c:conv_transpose[act=\"\"](...))",
     .put = "c[act=\"elu\", act_alpha=a.alpha]",
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "clip_into_conv_transpose",
     .find = "clip(c:conv_transpose[act=\"\"](...), low:const, high:const)",
     .put = "c[act=\"clip\", act_alpha=$low, act_beta=$high]",
     .when = hn_when_bounds,
     .make = hn_make_bounds,
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "clip_low_into_conv_transpose",
     .find = "clip(c:conv_transpose[act=\"\"](...), low:const)",
     .put = "c[act=\"clip\", act_alpha=$low, act_beta=$high]",
     .when = hn_when_bounds,
     .make = hn_make_bounds,
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {.name = "clip_high_into_conv_transpose",
     .find = "clip(c:conv_transpose[act=\"\"](...), _, high:const)",
     .put = "c[act=\"clip\", act_alpha=$low, act_beta=$high]",
     .when = hn_when_bounds,
     .make = hn_make_bounds,
     .fuses = true,
     .why = "saves one read and one write of the whole output"},
    {0}};

/* ---- behind grouped elementwise nodes ---- */

static bool one_a_channel(const hn_match *match, const char *name) {
  const hone_type *x = hn_bound_type(match, "x"), *k = hn_bound_type(match, name);
  return hn_varies_only_along(k, x, 1) && hn_elems(&k->shape) == x->shape.dim[1];
}

static const char *when_affine_input(const hn_match *match) {
  const hone_attrs *conv = &hn_bound_node(match, "c")->attrs;
  const hone_shape *w = &hn_bound_type(match, "w")->shape, *x = &hn_bound_type(match, "x")->shape;
  if (x->rank < 3 || !hn_shape_known(w) || HONE_SYMBOLIC(x->dim[1])) return "";
  for (int i = 2; i < w->rank; ++i)
    if (w->dim[i] != 1) return "the convolution is not 1x1";
  if (!hn_attr_ints_are(conv, "strides", 1) || !is_not_padded(conv) || hn_attr_int(conv, "group") != 1)
    return "the convolution has strides, pads or groups";
  return one_a_channel(match, "k") && one_a_channel(match, "shift") ? NULL : "the factors are not one a channel";
}

/* As constants, not as what folding will make of them: a kernel wants to know them. */
static hone_status bind_flat(hn_match *match, const char *name, const char *from) {
  hone_tensor tensor = *hn_bound(match, from)->fact.constant;
  const int64_t count = hn_elems(&tensor.type.shape);
  tensor.type = hn_tensor_type(tensor.type.dtype, 1, &count);
  return hn_bind(match, name, hn_constant_create(match->run->graph, NULL, &tensor, false));
}

static hone_status make_affine_input(hn_match *match) {
  HN_TRY(bind_flat(match, "factor", "k"));
  return bind_flat(match, "summand", "shift");
}

const hn_rewrite hn_rules_conv_inputs[] = {
    {.name = "affine_into_conv",
     .find = "c:conv(fused[expr=\"max(add(mul(x0,x1),x2),0)\"](x, k:const, shift:const), w:const)",
     .put = "affine_conv[pre_act=\"relu\", act=c.act, act_alpha=c.act_alpha, act_beta=c.act_beta](x, w, _, _, _, "
            "factor, summand)",
     .when = when_affine_input,
     .make = make_affine_input,
     .fuses = true,
     .why = "the input is normalised while it is in the inner caches"},
    {.name = "affine_into_biased_conv",
     .find = "c:conv(fused[expr=\"max(add(mul(x0,x1),x2),0)\"](x, k:const, shift:const), w:const, b:const)",
     .put = "affine_conv[pre_act=\"relu\", act=c.act, act_alpha=c.act_alpha, act_beta=c.act_beta](x, w, b, _, _, "
            "factor, summand)",
     .when = when_affine_input,
     .make = make_affine_input,
     .fuses = true,
     .why = "the input is normalised while it is in the inner caches"},
    {0}};
