/* SPDX-License-Identifier: Apache-2.0 */
/* rules_pieces.c - layers of convolutional networks that exporters write in pieces, or as a special case of another:
 * pools of whole planes, pixel shuffles, group normalisation, leaky rectifiers. */
#include "pass/passes.h"
#include "pass/rule_help.h"
#include "tensor/shape.h"

/* ---- leaky rectifiers ---- */

static const char *when_slope(const hn_match *match) {
  const hn_value *k = hn_bound(match, "k");
  if (!hn_is_scalar_constant(k)) return "";
  const double slope = hn_real(k->fact.constant, 0);
  return slope > 0 && slope < 1 ? NULL : "";
}

/* ---- pools of whole planes ---- */

static const char *when_whole(const hn_match *match) {
  const hone_shape *x = &hn_bound_type(match, "x")->shape;
  const hone_attrs *attrs = &match->root->attrs;
  const char *how = hn_attr_text(attrs, "auto_pad");
  if (x->rank < 3 || !hn_attr_ints_are(attrs, "pads", 0) || !hn_attr_ints_are(attrs, "dilations", 1)) return "";
  if (!hn_name_equal(how, "NOTSET") && !hn_name_equal(how, "VALID")) return "";
  for (int i = 2; i < x->rank; ++i)
    if (hn_attr_ints_at(attrs, "kernel_shape", i - 2, -1) != x->dim[i]) return "";
  return NULL;
}

/* ---- pixel shuffles ---- */

static bool has_perm(const hn_node *transpose, const int64_t *want) {
  const int64_t *perm;
  const int count = hn_attr_ints(&transpose->attrs, "perm", &perm);
  for (int i = 0; i < 6 && count == 6; ++i)
    if (perm[i] != want[i]) return false;
  return count == 6;
}

/* The block's side when axes a and b of the middle have it and the axes of x are where they should be; else 0. */
static int64_t block_of(const hn_match *match, const int64_t *perm, int a, int b) {
  const hn_node *transpose = hn_bound_node(match, "t");
  const hone_shape *middle = &transpose->in[0]->fact.type.shape, *x = &hn_bound_type(match, "x")->shape;
  if (x->rank != 4 || middle->rank != 6 || !has_perm(transpose, perm)) return 0;
  const int64_t side = middle->dim[a];
  if (HONE_SYMBOLIC(side) || side < 2 || middle->dim[b] != side || middle->dim[0] != x->dim[0]) return 0;
  return side;
}

static int64_t to_space(const hn_match *match, const char **out_mode) {
  static const int64_t crd[6] = {0, 1, 4, 2, 5, 3}, dcr[6] = {0, 3, 4, 1, 5, 2};
  const hone_shape *middle = &hn_bound_node(match, "t")->in[0]->fact.type.shape;
  const hone_shape *x = &hn_bound_type(match, "x")->shape;
  int64_t side = block_of(match, crd, 2, 3);
  *out_mode = side ? "CRD" : "DCR";
  if (!side) side = block_of(match, dcr, 1, 2);
  return side && middle->dim[4] == x->dim[2] && middle->dim[5] == x->dim[3] ? side : 0;
}

static const char *when_to_space(const hn_match *match) {
  const char *mode;
  return to_space(match, &mode) ? NULL : "";
}

static hone_status make_to_space(hn_match *match) {
  const char *mode;
  const int64_t side = to_space(match, &mode);
  HN_TRY(hn_bind_attr(match, &(hone_attr){.name = "mode", .kind = HONE_ATTR_STRING, .count = 3, .s = mode}));
  return hn_bind_attr(match, &(hone_attr){.name = "side", .kind = HONE_ATTR_INT, .i = side});
}

static int64_t to_depth(const hn_match *match) {
  static const int64_t perm[6] = {0, 3, 5, 1, 2, 4};
  const hone_shape *middle = &hn_bound_node(match, "t")->in[0]->fact.type.shape;
  const hone_shape *x = &hn_bound_type(match, "x")->shape;
  const int64_t side = block_of(match, perm, 3, 5);
  return side && middle->dim[1] == x->dim[1] && !HONE_SYMBOLIC(x->dim[2]) && middle->dim[2] * side == x->dim[2] ? side
                                                                                                                : 0;
}

static const char *when_to_depth(const hn_match *match) { return to_depth(match) ? NULL : ""; }

static hone_status make_to_depth(hn_match *match) {
  return hn_bind_attr(match, &(hone_attr){.name = "side", .kind = HONE_ATTR_INT, .i = to_depth(match)});
}

/* ---- group normalisation, by way of one "channel" for each group ---- */

static bool all_elements_are(const hn_value *value, double want) {
  for (int64_t i = 0; i < hn_elems(&value->fact.type.shape); ++i)
    if (hn_real(value->fact.constant, i) != want) return false;
  return true;
}

static const char *when_groups(const hn_match *match) {
  const hone_shape *x = &hn_bound_type(match, "x")->shape, *y = &match->roots[0]->fact.type.shape;
  const hone_shape *middle = &hn_bound_type(match, "n")->shape;
  if (x->rank < 3 || !hn_shape_equal(x, y) || HONE_SYMBOLIC(x->dim[1])) return "";
  if (middle->rank < 3 || middle->dim[0] != x->dim[0] || HONE_SYMBOLIC(middle->dim[1])) return "";
  if (middle->dim[1] < 1 || x->dim[1] % middle->dim[1] != 0) return "the groups do not divide the channels";
  return all_elements_are(hn_bound(match, "unit"), 1) && all_elements_are(hn_bound(match, "none"), 0)
             ? NULL
             : "the groups have factors or summands of their own";
}

static hone_status make_groups(hn_match *match) {
  const hone_type *x = hn_bound_type(match, "x");
  HN_TRY(hn_bind_filled(match, "ones", x->dtype, 1, &x->shape.dim[1], 1));
  HN_TRY(hn_bind_filled(match, "zeros", x->dtype, 1, &x->shape.dim[1], 0));
  return hn_bind_attr(
      match, &(hone_attr){.name = "groups", .kind = HONE_ATTR_INT, .i = hn_bound_type(match, "n")->shape.dim[1]});
}

/* Scale and bias have one element a channel, as the constant has. */
static const char *when_each_channel(const hn_match *match) {
  const hone_shape *c = &hn_bound_type(match, "c")->shape, *s = &hn_bound_type(match, "s")->shape;
  if (c->rank < 3 || s->rank != 1 || s->dim[0] != c->dim[1]) return "the layer has a scale for each group";
  return hn_when_along(match, 1);
}

static hone_status make_flat(hn_match *match) { return hn_bind_ints(match, "flat", 1, (const int64_t[]){-1}); }

const hn_rewrite hn_rules_pieces[] = {{.name = "max_to_leaky_relu",
                                       .find = "max(x, mul(x, k:const))",
                                       .put = "leaky_relu[alpha=$slope](x)",
                                       .when = when_slope,
                                       .make = hn_make_slope,
                                       .why = "one step for a function in pieces"},
                                      {.name = "average_pool_of_all",
                                       .find = "average_pool(x)",
                                       .put = "global_average_pool(x)",
                                       .when = when_whole,
                                       .fuses = true,
                                       .why = "the window is the whole plane"},
                                      {.name = "max_pool_of_all",
                                       .find = "max_pool(x)",
                                       .put = "global_max_pool(x)",
                                       .when = when_whole,
                                       .fuses = true,
                                       .why = "the window is the whole plane"},
                                      {.name = "shuffle_to_space",
                                       .find = "view(t:transpose(view(x)))",
                                       .put = "depth_to_space[blocksize=$side, mode=$mode](x)",
                                       .when = when_to_space,
                                       .make = make_to_space,
                                       .fuses = true,
                                       .why = "one copy, and a name"},
                                      {.name = "shuffle_to_depth",
                                       .find = "view(t:transpose(view(x)))",
                                       .put = "space_to_depth[blocksize=$side](x)",
                                       .when = when_to_depth,
                                       .make = make_to_depth,
                                       .fuses = true,
                                       .why = "one copy, and a name"},
                                      {.name = "group_norm",
                                       .find = "view(n:instance_norm(view(x), unit:const, none:const))",
                                       .put = "group_norm[num_groups=$groups, epsilon=n.epsilon](x, ones, zeros)",
                                       .when = when_groups,
                                       .make = make_groups,
                                       .fuses = true,
                                       .why = "one pass over the data for a layer in pieces"},
                                      {.name = "scale_into_group_norm",
                                       .find = "mul(c:group_norm(x, s:const, b:const), k:const)",
                                       .put = "c(x, mul(s, reshape(k, flat)), mul(b, reshape(k, flat)))",
                                       .when = when_each_channel,
                                       .make = make_flat,
                                       .fuses = true,
                                       .why = "the layer has a scale of its own"},
                                      {.name = "bias_into_group_norm",
                                       .find = "add(c:group_norm(x, s:const, b:const), k:const)",
                                       .put = "c(x, s, add(b, reshape(k, flat)))",
                                       .when = when_each_channel,
                                       .make = make_flat,
                                       .fuses = true,
                                       .why = "the layer has a bias of its own"},
                                      {.name = "scale_into_instance_norm",
                                       .find = "mul(c:instance_norm(x, s:const, b:const), k:const)",
                                       .put = "c(x, mul(s, reshape(k, flat)), mul(b, reshape(k, flat)))",
                                       .when = when_each_channel,
                                       .make = make_flat,
                                       .fuses = true,
                                       .why = "the layer has a scale of its own"},
                                      {.name = "bias_into_instance_norm",
                                       .find = "add(c:instance_norm(x, s:const, b:const), k:const)",
                                       .put = "c(x, s, add(b, reshape(k, flat)))",
                                       .when = when_each_channel,
                                       .make = make_flat,
                                       .fuses = true,
                                       .why = "the layer has a bias of its own"},
                                      {0}};
