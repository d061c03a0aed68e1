/* SPDX-License-Identifier: Apache-2.0 */
/* rules_shapes.c - what stands between neighbours that could be one: views in front of elementwise nodes, and constants
 * that leave out the leading axes. */
#include "pass/passes.h"
#include "pass/rule_help.h"
#include "tensor/shape.h"
#include <string.h>

/* ---- views sink below what a layer may absorb ---- */

/* The layer without an activation that makes x for nobody else, by way of elementwise nodes that it may absorb before;
 * NULL: there is none. */
static const hn_node *bare_layer(const hn_value *x) {
  static const char *const layers[] = {"conv", "conv_transpose", "linear", "matmul", "gemm"};
  enum { MOST_BETWEEN = 6 };
  for (int between = 0; between <= MOST_BETWEEN; ++between) {
    const hn_node *node = x->node;
    if (!node || hn_value_use_count(x) != 1 || hn_value_is_result(x)) return NULL;
    for (size_t i = 0; i < HN_COUNT(layers); ++i)
      if (hn_name_equal(node->op->name, layers[i]))
        return hn_attr_has(&node->attrs, "act") && *hn_attr_text(&node->attrs, "act") ? NULL : node;
    if (!(node->op->traits & HONE_ELEMENTWISE) || !node->in[0]) return NULL;
    const hn_value *from = hn_value_is_constant(node->in[0]) ? hn_input(node, 1) : node->in[0];
    if (!from || !hn_shape_equal(&from->fact.type.shape, &x->fact.type.shape)) return NULL;
    x = from;
  }
  return NULL;
}

static bool is_conv(const hn_node *layer) { return strncmp(layer->op->name, "conv", 4) == 0; }

static const char *when_scalars(const hn_match *match) {
  const hn_node *node = match->root;
  const hn_value *x = hn_bound(match, "x");
  if (!bare_layer(x)) return "";
  for (int i = 1; i < node->in_count; ++i)
    if (node->in[i] &&
        (!hn_is_scalar_constant(node->in[i]) || node->in[i]->fact.type.shape.rank > x->fact.type.shape.rank))
      return "";
  return NULL;
}

/* An axis of x that the view shows as its axes [first, last), as far as extents tell: what lies behind it is as much in
 * both. */
typedef struct shown {
  int axis, first, last;
} shown;

static int64_t elements_from(const hone_shape *shape, int first) {
  int64_t product = 1;
  for (int i = first; i < shape->rank; ++i)
    if (HONE_SYMBOLIC(shape->dim[i]) || !hn_mul_i64(product, shape->dim[i], &product)) return -1;
  return product;
}

static bool same_from(const hone_shape *a, int a_first, const hone_shape *b, int b_first) {
  bool same = a->rank - a_first == b->rank - b_first;
  for (int i = 0; same && a_first + i < a->rank; ++i) same = a->dim[a_first + i] == b->dim[b_first + i];
  return same || (elements_from(a, a_first) >= 0 && elements_from(a, a_first) == elements_from(b, b_first));
}

static bool find_shown(const hone_shape *x, const hone_shape *v, int axis, shown *out) {
  if (axis >= x->rank || HONE_SYMBOLIC(x->dim[axis])) return false;
  for (int last = v->rank; last > 0; --last) {
    int64_t product = 1;
    if (!same_from(x, axis + 1, v, last)) continue;
    for (int first = last - 1; first >= 0 && !HONE_SYMBOLIC(v->dim[first]); --first) {
      if (!hn_mul_i64(product, v->dim[first], &product) || product > x->dim[axis]) break;
      if (product != x->dim[axis]) continue;
      *out = (shown){axis, first, last};
      return true;
    }
  }
  return false;
}

/* The constant varies along what was the layer's channels, or last feature, only. */
static bool find_channels(const hn_match *match, shown *out) {
  const hn_value *x = hn_bound(match, "x");
  const hone_shape *v = &hn_bound_type(match, "v")->shape, *k = &hn_bound_type(match, "k")->shape;
  const hn_node *layer = bare_layer(x);
  if (!layer || x->fact.type.shape.rank < 1 || k->rank > v->rank || !hn_shape_known(k)) return false;
  if (!find_shown(&x->fact.type.shape, v, is_conv(layer) ? 1 : x->fact.type.shape.rank - 1, out)) return false;
  for (int i = 0; i < k->rank; ++i) {
    const int at = v->rank - k->rank + i;
    if (k->dim[i] != 1 && (at < out->first || at >= out->last || k->dim[i] != v->dim[at])) return false;
  }
  return true;
}

static const char *when_channels_shown(const hn_match *match) {
  shown s;
  return find_channels(match, &s) ? NULL : "";
}

/* own: the constant's extents among the axes that show the channels; wide: all of those; column: x's channels alone. */
static hone_status make_column(hn_match *match) {
  shown s;
  const hone_shape *x = &hn_bound_type(match, "x")->shape, *v = &hn_bound_type(match, "v")->shape;
  const hone_shape *k = &hn_bound_type(match, "k")->shape;
  int64_t own[HONE_MAX_RANK], column[HONE_MAX_RANK];
  (void)find_channels(match, &s);
  const int count = s.last - s.first, short_by = v->rank - k->rank;
  for (int i = 0; i < count; ++i) own[i] = s.first + i < short_by ? 1 : k->dim[s.first + i - short_by];
  for (int i = s.axis; i < x->rank; ++i) column[i - s.axis] = i == s.axis ? x->dim[i] : 1;
  HN_TRY(hn_bind_ints(match, "own", count, own));
  HN_TRY(hn_bind_ints(match, "wide", count, v->dim + s.first));
  return hn_bind_ints(match, "column", x->rank - s.axis, column);
}

/* A summand of the view's shape is seen as the layer's output is. Beside convolutions it has been that before: another
 * view would keep it from having their format. A summand that is a layer's output itself stays as it is: that layer may
 * add the view, and the view put on it would come back to x next, and so on. So every firing gives one more sum the
 * output of a layer of products (else of a convolution) to read, and none takes that away. */
static const char *when_summand(const hn_match *match) {
  const hn_value *x = hn_bound(match, "x"), *v = hn_bound(match, "v"), *r = hn_bound(match, "r");
  const hn_node *layer = bare_layer(x), *other = bare_layer(r);
  if (!layer || r == v || hn_value_is_constant(r) || hn_input(layer, 3)) return "";
  if (other && !is_conv(other)) return "";
  if (hn_when_same_type(&r->fact.type, &v->fact.type, "") || !hn_view_possible(match->run->graph, &x->fact.type))
    return "";
  if (!is_conv(layer)) return NULL;
  return r->node && hn_name_equal(r->node->op->name, "view") &&
                 hn_shape_equal(&r->node->in[0]->fact.type.shape, &x->fact.type.shape)
             ? NULL
             : "";
}

static hone_status make_source(hn_match *match) { return hn_view_bind_dims(match, &hn_bound_type(match, "x")->shape); }

const hn_rewrite hn_rules_views[] = {{.name = "view_after_elementwise",
                                      .find = "u:any[elementwise](v:view(x), ...)",
                                      .put = "view[dims=v.dims](u(x, ...))",
                                      .when = when_scalars,
                                      .why = "the layer before the view may absorb it"},
                                     {.name = "view_after_row",
                                      .find = "u:any[elementwise](v:view(x), k:const)",
                                      .put = "view[dims=v.dims](u(x, reshape(expand(reshape(k, own), wide), column)))",
                                      .when = when_channels_shown,
                                      .make = make_column,
                                      .why = "the layer before the view may absorb it"},
                                     {.name = "view_after_row_first",
                                      .find = "u:any[elementwise](k:const, v:view(x))",
                                      .put = "view[dims=v.dims](u(reshape(expand(reshape(k, own), wide), column), x))",
                                      .when = when_channels_shown,
                                      .make = make_column,
                                      .why = "the layer before the view may absorb it"},
                                     {.name = "view_after_sum",
                                      .find = "u:add(v:view(x), r)",
                                      .put = "view[dims=v.dims](u(x, view[dims=$dims](r)))",
                                      .when = when_summand,
                                      .make = make_source,
                                      .why = "the layer before the view may add it"},
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
