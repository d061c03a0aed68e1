/* SPDX-License-Identifier: Apache-2.0 */
/* rules_regions.c - chains of layers whose inner tensors need not leave the caches: a region keeps the layers, each
 * with what it has absorbed, as its parts. Read a row as: find -> put, when, because. */
#include "pass/passes.h"
#include "pass/rule_help.h"
#include "tensor/shape.h"

/* A layer's bias, or zeros, under a name. */
static hone_status bind_bias(hn_match *match, const char *layer, const char *weights, const char *name) {
  hn_value *bias = hn_input(hn_bound_node(match, layer), 2);
  if (bias) return hn_bind(match, name, bias);
  const hone_type *w = hn_bound_type(match, weights);
  return hn_bind_filled(match, name, w->dtype, 1, w->shape.dim, 0);
}

/* A convolution with nothing but constants beside its input. */
static const char *check_layer(const hn_match *match, const char *layer, const char *weights, bool adds) {
  const hn_node *conv = hn_bound_node(match, layer);
  const hone_shape *w = &hn_bound_type(match, weights)->shape;
  const hn_value *bias = hn_input(conv, 2);
  if (!hn_shape_known(w) || w->rank < 3) return "the shape of the weights is not known";
  if (bias && !hn_value_is_constant(bias)) return "the bias is not constant";
  if (hn_input(conv, 4)) return "its activation has slopes";
  return hn_input(conv, 3) && !adds ? "a residual is added inside" : NULL;
}

/* ---- inverted residuals ---- */

static const char *check_pointwise(const hn_match *match, const char *layer, const char *weights, bool adds) {
  const hone_attrs *attrs = &hn_bound_node(match, layer)->attrs;
  const hone_shape *w = &hn_bound_type(match, weights)->shape;
  const char *unmet = check_layer(match, layer, weights, adds);
  for (int i = 2; !unmet && i < w->rank; ++i)
    if (w->dim[i] != 1) unmet = "";
  if (unmet) return unmet;
  return hn_attr_ints_are(attrs, "strides", 1) && hn_attr_ints_are(attrs, "pads", 0)
             ? NULL
             : "a 1x1 convolution has strides or pads";
}

/* Each channel is filtered by itself. */
static const char *check_depthwise(const hn_match *match) {
  const hone_shape *w = &hn_bound_type(match, "wd")->shape;
  if (!hn_shape_known(w) || w->rank < 3) return "the shape of the weights is not known";
  if (w->dim[0] < 2 || w->dim[1] != 1 || hn_attr_int(&hn_bound_node(match, "d")->attrs, "group") != w->dim[0])
    return "";
  return check_layer(match, "d", "wd", false);
}

static const char *when_expands(const hn_match *match) {
  HN_TRY_REASON(check_depthwise(match));
  return check_pointwise(match, "e", "we", false);
}

/* Two rows: one has the residual as a port. */
static const char *when_projects(const hn_match *match) {
  const hn_value *residual = hn_input(hn_bound_node(match, "p"), 3);
  const char *unmet = check_depthwise(match);
  if (!unmet && !hn_bound(match, "r") && residual) unmet = "";
  return unmet ? unmet : check_pointwise(match, "p", "wp", true);
}

static const char *when_both(const hn_match *match) {
  HN_TRY_REASON(when_projects(match));
  return check_pointwise(match, "e", "we", false);
}

static hone_status make_expands(hn_match *match) {
  HN_TRY(bind_bias(match, "d", "wd", "bd"));
  return bind_bias(match, "e", "we", "be");
}

static hone_status make_projects(hn_match *match) {
  HN_TRY(bind_bias(match, "d", "wd", "bd"));
  return bind_bias(match, "p", "wp", "bp");
}

static hone_status make_both(hn_match *match) {
  HN_TRY(make_expands(match));
  return bind_bias(match, "p", "wp", "bp");
}

/* ---- squeeze and excite ---- */

static const char *when_excites(const hn_match *match) {
  HN_TRY_REASON(check_pointwise(match, "s", "ws", false));
  return check_pointwise(match, "e", "we", false);
}

static hone_status make_excites(hn_match *match) {
  HN_TRY(bind_bias(match, "s", "ws", "bs"));
  return bind_bias(match, "e", "we", "be");
}

/* ---- pools behind convolutions ---- */

static const char *when_pools(const hn_match *match) { return check_layer(match, "c", "w", false); }

static hone_status make_pools(hn_match *match) { return bind_bias(match, "c", "w", "b"); }

/* ---- the beginning of a network of bytes ---- */

static const char *when_begins(const hn_match *match) {
  const hn_node *conv = hn_bound_node(match, "c");
  const hone_shape *w = &hn_bound_type(match, "w")->shape;
  const hn_value *bias = hn_input(conv, 8);
  if (!hn_shape_known(w) || w->rank < 3) return "the shape of the weights is not known";
  if (w->dim[1] > 4) return "";
  if (bias && !hn_value_is_constant(bias)) return "the bias is not constant";
  if (hn_bound_type(match, "x")->dtype != HONE_F32) return "the image is not in f32";
  return hn_input(conv, 9) ? "a residual is added inside" : NULL;
}

static hone_status make_begins(hn_match *match) {
  hn_value *bias = hn_input(hn_bound_node(match, "c"), 8);
  if (bias) return hn_bind(match, "b", bias);
  return hn_bind_filled(match, "b", HONE_I32, 1, hn_bound_type(match, "w")->shape.dim, 0);
}

#define ACTIVATION(prefix, layer)                                                                                      \
  prefix "_act=" layer ".act, " prefix "_act_alpha=" layer ".act_alpha, " prefix "_act_beta=" layer ".act_beta"
#define DEPTHWISE_ATTRS                                                                                                \
  "depthwise_auto_pad=d.auto_pad, depthwise_dilations=d.dilations, depthwise_pads=d.pads, "                            \
  "depthwise_strides=d.strides, " ACTIVATION("depthwise", "d")
#define EXPAND(x) "e:conv[group=1](" x ", we:const, ...)"
#define FILTER(x) "d:conv(" x ", wd:const, ...)"

const hn_rewrite hn_rules_regions[] = {
    {.name = "inverted_residual",
     .find = "p:conv[group=1](" FILTER(EXPAND("x")) ", wp:const, ...)",
     .put = "inverted_residual[" ACTIVATION("expand", "e") ", " DEPTHWISE_ATTRS ", " ACTIVATION(
         "project", "p") "](x, we, be, wd, bd, wp, bp)",
     .when = when_both,
     .make = make_both,
     .fuses = true,
     .why = "the wide tensors between the layers need not leave the caches"},
    {.name = "inverted_residual_added",
     .find = "p:conv[group=1](" FILTER(EXPAND("x")) ", wp:const, bp:const, r)",
     .put = "inverted_residual[" ACTIVATION("expand", "e") ", " DEPTHWISE_ATTRS ", " ACTIVATION(
         "project", "p") "](x, we, be, wd, bd, wp, bp, r)",
     .when = when_both,
     .make = make_both,
     .fuses = true,
     .why = "the wide tensors between the layers need not leave the caches"},
    {.name = "separable",
     .find = "p:conv[group=1](" FILTER("x") ", wp:const, ...)",
     .put = "inverted_residual[" DEPTHWISE_ATTRS ", " ACTIVATION("project", "p") "](x, _, _, wd, bd, wp, bp)",
     .when = when_projects,
     .make = make_projects,
     .fuses = true,
     .why = "the wide tensors between the layers need not leave the caches"},
    {.name = "separable_added",
     .find = "p:conv[group=1](" FILTER("x") ", wp:const, bp:const, r)",
     .put = "inverted_residual[" DEPTHWISE_ATTRS ", " ACTIVATION("project", "p") "](x, _, _, wd, bd, wp, bp, r)",
     .when = when_projects,
     .make = make_projects,
     .fuses = true,
     .why = "the wide tensors between the layers need not leave the caches"},
    {.name = "squeeze_excite",
     .find = "mul(e:conv[group=1](s:conv[group=1](global_average_pool(x), ws:const, ...), we:const, ...), x)",
     .put = "squeeze_excite[" ACTIVATION("squeeze", "s") ", " ACTIVATION("excite", "e") "](x, ws, bs, we, be)",
     .when = when_excites,
     .make = make_excites,
     .fuses = true,
     .why = "four layers, three of them on one pixel, take as long as it takes to begin them"},
    {.name = "max_pool_into_conv",
     .find = "p:max_pool(c:conv(x, w:const, ...))",
     .put = "conv_pool[pool=\"max\", conv_auto_pad=c.auto_pad, conv_dilations=c.dilations, conv_group=c.group, "
            "conv_pads=c.pads, conv_strides=c.strides, pool_ceil_mode=p.ceil_mode, pool_dilations=p.dilations, "
            "pool_kernel_shape=p.kernel_shape, pool_pads=p.pads, pool_strides=p.strides, " ACTIVATION("conv",
                                                                                                      "c") "](x, w, b)",
     .when = when_pools,
     .make = make_pools,
     .fuses = true,
     .why = "what the convolution makes is read where it was just made"},
    {.name = "average_pool_into_conv",
     .find = "p:average_pool(c:conv(x, w:const, ...))",
     .put = "conv_pool[pool=\"average\", conv_auto_pad=c.auto_pad, conv_dilations=c.dilations, conv_group=c.group, "
            "conv_pads=c.pads, conv_strides=c.strides, pool_ceil_mode=p.ceil_mode, pool_dilations=p.dilations, "
            "pool_kernel_shape=p.kernel_shape, pool_pads=p.pads, pool_strides=p.strides, "
            "pool_count_include_pad=p.count_include_pad, " ACTIVATION("conv", "c") "](x, w, b)",
     .when = when_pools,
     .make = make_pools,
     .fuses = true,
     .why = "what the convolution makes is read where it was just made"},
    {0}};

/* What is left of them where something else reads what the depthwise layer makes; not before whole ones are found. */
const hn_rewrite hn_rules_region_beginnings[] = {
    {.name = "expand_depthwise",
     .find = FILTER(EXPAND("x")),
     .put = "inverted_residual[" ACTIVATION("expand", "e") ", " DEPTHWISE_ATTRS "](x, we, be, wd, bd)",
     .when = when_expands,
     .make = make_expands,
     .fuses = true,
     .why = "the wide tensors between the layers need not leave the caches"},
    {0}};

#define STEM_CONV                                                                                                      \
  "c:qlinear_conv(quantize_linear[block_size=0, precision=0](x, s:const, z:const), s, z, w:const, sw:const, "          \
  "zw:const, sy:const, zy:const, ...)"

const hn_rewrite hn_rules_byte_regions[] = {
    {.name = "max_pool_into_stem",
     .find = "p:max_pool(" STEM_CONV ")",
     .put = "qlinear_stem[pool_ceil_mode=p.ceil_mode, pool_dilations=p.dilations, pool_kernel_shape=p.kernel_shape, "
            "pool_pads=p.pads, pool_strides=p.strides, conv_auto_pad=c.auto_pad, conv_dilations=c.dilations, "
            "conv_group=c.group, conv_pads=c.pads, conv_strides=c.strides, conv_low=c.low, conv_high=c.high](x, s, z, "
            "w, sw, zw, sy, zy, b)",
     .when = when_begins,
     .make = make_begins,
     .fuses = true,
     .why = "the largest tensors need not be written"},
    {0}};

/* Not before pools are found behind them. */
const hn_rewrite hn_rules_byte_beginnings[] = {
    {.name = "quantize_into_stem",
     .find = STEM_CONV,
     .put = "qlinear_stem[conv_auto_pad=c.auto_pad, conv_dilations=c.dilations, conv_group=c.group, conv_pads=c.pads, "
            "conv_strides=c.strides, conv_low=c.low, conv_high=c.high](x, s, z, w, sw, zw, sy, zy, b)",
     .when = when_begins,
     .make = make_begins,
     .fuses = true,
     .why = "the largest tensors need not be written"},
    {0}};
