/* SPDX-License-Identifier: Apache-2.0 */
/* rules_dynamic.c - convolutions of bytes whose scales a run finds, and what they may absorb behind them. Each rounding
 * stays: conv_dynamic multiplies, adds and bounds as the nodes did, one after the other. */
#include "pass/passes.h"
#include "pass/rule_help.h"

enum { X_ZERO = 2, W_ZERO = 3 };

/* Is the product that of a number and of one for each channel, or of two numbers? */
static const char *when_scaled(const hn_match *match) {
  const hone_type *sw = hn_bound_type(match, "sw"), *sx = hn_bound_type(match, "sx"), *c = hn_bound_type(match, "c");
  if (sw->dtype != HONE_F32 || sx->dtype != HONE_F32) return "a scale is not f32";
  if (!hn_shape_known(&sx->shape) || hn_elems(&sx->shape) != 1 || sx->shape.rank > 1)
    return "the input has many scales";
  if (hn_elems(&sw->shape) == 1) return sw->shape.rank <= c->shape.rank ? NULL : "the scale adds a dimension";
  if (!hn_varies_only_along(sw, c, 1)) return "the weights' scales are not for output channels";
  return hn_elems(&sw->shape) == hn_bound_type(match, "w")->shape.dim[0]
             ? NULL
             : "the weights' scales are not one for each output channel";
}

static hone_status bind_zero(hn_match *match, const char *name, int port, const char *of) {
  hn_value *zero = hn_input(hn_bound_node(match, "c"), port);
  if (zero) return hn_bind(match, name, zero);
  return hn_bind_filled(match, name, hn_bound_type(match, of)->dtype, 0, NULL, 0);
}

static hone_status make_scaled(hn_match *match) {
  HN_TRY(bind_zero(match, "zx", X_ZERO, "x"));
  HN_TRY(bind_zero(match, "zw", W_ZERO, "w"));
  return hn_bind_ints(match, "flat", 1, (const int64_t[]){-1});
}

static const char *when_biased(const hn_match *match) {
  const hone_type *k = hn_bound_type(match, "k"), *c = hn_bound_type(match, "c");
  if (k->dtype != HONE_F32 || !hn_varies_only_along(k, c, 1))
    return "the constant does not vary along the channels only";
  return hn_elems(&k->shape) == hn_bound_type(match, "w")->shape.dim[0] ? NULL : "one number is for all channels";
}

#define ATTRS                                                                                                          \
  "auto_pad=c.auto_pad, dilations=c.dilations, group=c.group, kernel_shape=c.kernel_shape, pads=c.pads, "              \
  "strides=c.strides"
#define SAVES "saves one read and one write of the whole output"
#define INPUTS "x, w, zx, zw, sx, sw"

const hn_rewrite hn_rules_dynamic[] = {{.name = "scales_into_conv_integer",
                                        .find = "mul(cast[to=1](c:conv_integer(x, w:const, ...)), mul(sx, sw:const))",
                                        .put = "conv_dynamic[" ATTRS "](x, w, zx, zw, sx, reshape(sw, flat))",
                                        .when = when_scaled,
                                        .make = make_scaled,
                                        .fuses = true,
                                        .why = "sums become floats while they are in registers"},
                                       {.name = "bias_into_conv_dynamic",
                                        .find = "add(c:conv_dynamic[act=\"\"](x, w, zx, zw, sx, sw), k:const)",
                                        .put = "c(" INPUTS ", reshape(k, flat))",
                                        .when = when_biased,
                                        .make = hn_make_flat,
                                        .fuses = true,
                                        .why = SAVES},
                                       {.name = "residual_into_conv_dynamic",
                                        .find = "add(c:conv_dynamic[act=\"\"](x, w, zx, zw, sx, sw), r)",
                                        .put = "c(" INPUTS ", _, r)",
                                        .when = hn_when_residual,
                                        .fuses = true,
                                        .why = SAVES},
                                       {.name = "residual_into_biased_conv_dynamic",
                                        .find = "add(c:conv_dynamic[act=\"\"](x, w, zx, zw, sx, sw, b), r)",
                                        .put = "c(" INPUTS ", b, r)",
                                        .when = hn_when_residual,
                                        .fuses = true,
                                        .why = SAVES},
                                       {.name = "relu_into_conv_dynamic",
                                        .find = "relu(c:conv_dynamic[act=\"\"](...))",
                                        .put = "c[act=\"relu\"]",
                                        .fuses = true,
                                        .why = "saves one read and one write of the whole output"},
                                       {.name = "clip_into_conv_dynamic",
                                        .find = "clip(c:conv_dynamic[act=\"\"](...), low:const, high:const)",
                                        .put = "c[act=\"clip\", act_alpha=$low, act_beta=$high]",
                                        .when = hn_when_bounds,
                                        .make = hn_make_bounds,
                                        .fuses = true,
                                        .why = "saves one read and one write of the whole output"},
                                       {.name = "clip_low_into_conv_dynamic",
                                        .find = "clip(c:conv_dynamic[act=\"\"](...), low:const)",
                                        .put = "c[act=\"clip\", act_alpha=$low, act_beta=$high]",
                                        .when = hn_when_bounds,
                                        .make = hn_make_bounds,
                                        .fuses = true,
                                        .why = "saves one read and one write of the whole output"},
                                       {.name = "clip_high_into_conv_dynamic",
                                        .find = "clip(c:conv_dynamic[act=\"\"](...), _, high:const)",
                                        .put = "c[act=\"clip\", act_alpha=$low, act_beta=$high]",
                                        .when = hn_when_bounds,
                                        .make = hn_make_bounds,
                                        .fuses = true,
                                        .why = "saves one read and one write of the whole output"},
                                       {0}};
