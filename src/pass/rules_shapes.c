/* SPDX-License-Identifier: Apache-2.0 */
/* rules_shapes.c - what stands between neighbours that could be one: views in front of elementwise nodes, and constants
 * that leave out the leading axes. */
#include "pass/passes.h"
#include "pass/rule_help.h"
#include <string.h>

/* ---- views sink below what a layer may absorb ---- */

/* Does a layer make it that has no activation yet, for nobody else? */
static bool is_from_bare_layer(const hn_value *x) {
  static const char *const layers[] = {"conv", "conv_transpose", "linear", "matmul", "gemm"};
  if (!x->node || hn_value_use_count(x) != 1 || hn_value_is_result(x)) return false;
  if (hn_attr_has(&x->node->attrs, "act") && *hn_attr_text(&x->node->attrs, "act")) return false;
  for (size_t i = 0; i < HN_COUNT(layers); ++i)
    if (hn_name_equal(x->node->op->name, layers[i])) return true;
  return false;
}

static const char *when_scalars(const hn_match *match) {
  const hn_node *node = match->root;
  const hn_value *x = hn_bound(match, "x");
  if (!is_from_bare_layer(x)) return "";
  for (int i = 1; i < node->in_count; ++i)
    if (node->in[i] && (!hn_is_scalar_constant(node->in[i]) || node->in[i]->fact.type.shape.rank > 0)) return "";
  return NULL;
}

/* The constant varies along the last axis only, which the view leaves as it is. */
static const char *when_last_stays(const hn_match *match) {
  const hone_shape *x = &hn_bound_type(match, "x")->shape, *v = &hn_bound_type(match, "v")->shape;
  const hone_type *k = hn_bound_type(match, "k");
  if (!is_from_bare_layer(hn_bound(match, "x")) || x->rank < 1 || v->rank < 1) return "";
  if (x->dim[x->rank - 1] != v->dim[v->rank - 1]) return "";
  return hn_varies_only_along(k, hn_bound_type(match, "v"), v->rank - 1) ? NULL : "";
}

static hone_status make_flat(hn_match *match) { return hn_bind_ints(match, "flat", 1, (const int64_t[]){-1}); }

const hn_rewrite hn_rules_views[] = {{.name = "view_after_elementwise",
                                      .find = "u:any[elementwise](v:view(x), ...)",
                                      .put = "view[dims=v.dims](u(x, ...))",
                                      .when = when_scalars,
                                      .why = "the layer before the view may absorb it"},
                                     {.name = "view_after_row",
                                      .find = "u:any[elementwise](v:view(x), k:const)",
                                      .put = "view[dims=v.dims](u(x, reshape(k, flat)))",
                                      .when = when_last_stays,
                                      .make = make_flat,
                                      .why = "the layer before the view may absorb it"},
                                     {0}};

/* ---- constants with all axes ---- */

/* Blocked formats are told by the channels' axis, which a constant of fewer axes does not have. */
static const char *when_short(const hn_match *match) {
  const hone_shape *k = &hn_bound_type(match, "k")->shape, *x = &hn_bound_type(match, "x")->shape;
  const hone_shape *y = &match->roots[0]->fact.type.shape;
  return y->rank >= 3 && x->rank == y->rank && k->rank < y->rank && !hn_is_scalar_constant(hn_bound(match, "k")) ? NULL
                                                                                                                 : "";
}

static hone_status make_full(hn_match *match) {
  const hone_shape *k = &hn_bound_type(match, "k")->shape;
  const int rank = match->roots[0]->fact.type.shape.rank;
  int64_t full[HONE_MAX_RANK];
  for (int i = 0; i < rank; ++i) full[i] = i < rank - k->rank ? 1 : k->dim[i - (rank - k->rank)];
  return hn_bind_ints(match, "full", rank, full);
}

const hn_rewrite hn_rules_full_rank[] = {{.name = "constant_to_full_rank",
                                          .find = "b:any[elementwise](x, k:const)",
                                          .put = "b(x, reshape(k, full))",
                                          .when = when_short,
                                          .make = make_full,
                                          .why = "only a constant with a channel axis can be blocked"},
                                         {.name = "first_constant_to_full_rank",
                                          .find = "b:any[elementwise](k:const, x)",
                                          .put = "b(reshape(k, full), x)",
                                          .when = when_short,
                                          .make = make_full,
                                          .why = "only a constant with a channel axis can be blocked"},
                                         {0}};
