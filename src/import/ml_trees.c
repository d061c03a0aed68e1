/* SPDX-License-Identifier: Apache-2.0 */
/* ml_trees.c - ensembles of trees, in the three forms that ai.onnx.ml has of them, into one: arrays of nodes and leaves
 * that are held against what a tree is, so that every row comes to a leaf. Source: TreeEnsembleClassifier and
 * TreeEnsembleRegressor of versions 1 and 3, TreeEnsemble of version 5. */
#include "import/ml.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAF = -1, MEMBER = 6, TRACKS_TRUE = 8 };

/* The arrays of the operator tree_ensemble, growing. Ways: node numbers, or ~number of a leaf. */
typedef struct forest {
  hn_import_call *call;
  int64_t node_count, leaf_count, root_count, weight_count;
  int32_t *features, (*ways)[2], *roots, *starts, *targets;
  uint8_t *modes;
  double *splits, *weights;
  int64_t target_count;
} forest;

static hone_status fail(const forest *f, const char *what, int64_t at) {
  return HN_FAIL(f->call->importer->diag, HONE_MALFORMED, "%s (number %lld)", what, (long long)at);
}

static bool make_room(forest *f, int64_t nodes, int64_t leaves, int64_t roots, int64_t weights) {
  hn_arena *arena = &f->call->importer->arena;
  f->features = HN_NEW(arena, int32_t, nodes + 1);
  f->ways = hn_arena_zero(arena, (size_t)nodes + 1, sizeof *f->ways);
  f->modes = HN_NEW(arena, uint8_t, nodes + 1);
  f->splits = HN_NEW(arena, double, nodes + 1);
  f->roots = HN_NEW(arena, int32_t, roots + 1);
  f->starts = HN_NEW(arena, int32_t, leaves + 1);
  f->targets = HN_NEW(arena, int32_t, weights + 1);
  f->weights = HN_NEW(arena, double, weights + 1);
  return f->features && f->ways && f->modes && f->splits && f->roots && f->starts && f->targets && f->weights;
}

/* Every node is reached once from the roots at most: then no way leads round. */
static hone_status check_trees(const forest *f) {
  bool *seen = HN_NEW(&f->call->importer->arena, bool, f->node_count + 1);
  if (!seen) return HN_FAIL_MEMORY(f->call->importer->diag);
  for (int64_t i = 0; i < f->root_count; ++i) {
    if (f->roots[i] >= f->node_count) return fail(f, "a root is no node", i);
    if (f->roots[i] >= 0 && seen[f->roots[i]]) return fail(f, "two trees have one root", i);
    if (f->roots[i] >= 0) seen[f->roots[i]] = true;
  }
  for (int64_t i = 0; i < f->node_count; ++i)
    for (int way = 0; way < 2; ++way) {
      const int32_t to = f->ways[i][way];
      if (to >= f->node_count || ~(int64_t)to >= f->leaf_count) return fail(f, "a node leads nowhere", i);
      if (to >= 0 && seen[to]) return fail(f, "two ways lead to one node", to);
      if (to >= 0) seen[to] = true;
    }
  return HONE_OK;
}

/* Each tree's nodes level by level, so that ways lead forwards and the upper levels lie together; nodes that nothing
 * leads to are left out. */
static hone_status sort_nodes(forest *f) {
  hn_arena *arena = &f->call->importer->arena;
  const size_t most = (size_t)f->node_count + 1;
  int32_t *order = HN_NEW(arena, int32_t, most), *place = HN_NEW(arena, int32_t, most);
  int32_t *features = HN_NEW(arena, int32_t, most), (*ways)[2] = hn_arena_zero(arena, most, sizeof *ways);
  uint8_t *modes = HN_NEW(arena, uint8_t, most);
  double *splits = HN_NEW(arena, double, most);
  int32_t count = 0, next = 0;
  if (!order || !place || !features || !ways || !modes || !splits) return HN_FAIL_MEMORY(f->call->importer->diag);
  for (int64_t t = 0; t < f->root_count; ++t) {
    if (f->roots[t] < 0) continue;
    place[f->roots[t]] = count;
    order[count++] = f->roots[t];
    f->roots[t] = place[f->roots[t]];
    for (; next < count; ++next)
      for (int way = 0; way < 2; ++way) {
        const int32_t to = f->ways[order[next]][way];
        if (to >= 0) {
          place[to] = count;
          order[count++] = to;
        }
        ways[next][way] = to >= 0 ? place[to] : to;
      }
  }
  for (int32_t i = 0; i < count; ++i) {
    features[i] = f->features[order[i]];
    modes[i] = f->modes[order[i]];
    splits[i] = f->splits[order[i]];
  }
  f->features = features;
  f->ways = ways;
  f->modes = modes;
  f->splits = splits;
  f->node_count = count;
  return HONE_OK;
}

static hn_value *numbers(const forest *f, hone_dtype dtype, int rank, const int64_t *dims, void *items) {
  const hone_tensor tensor = hn_tensor_over(dtype, rank, dims, items);
  return hn_constant_create(f->call->importer->graph, NULL, &tensor, false);
}

/* The node of an ensemble, without what is added to its sums. */
static hone_status make_ensemble(forest *f, int64_t aggregate, hn_value *x, hn_value **out) {
  hn_import_call *call = f->call;
  HN_TRY(check_trees(f));
  HN_TRY(sort_nodes(f));
  const hone_dtype dtype = x->fact.type.dtype;
  const int64_t ways[2] = {f->node_count, 2}, starts = f->leaf_count + 1;
  hn_value *in[9] = {x,
                     numbers(f, HONE_I32, 1, &f->node_count, f->features),
                     hn_ml_constant(call, dtype, 1, &f->node_count, f->splits),
                     numbers(f, HONE_U8, 1, &f->node_count, f->modes),
                     numbers(f, HONE_I32, 2, ways, f->ways),
                     numbers(f, HONE_I32, 1, &f->root_count, f->roots),
                     numbers(f, HONE_I32, 1, &starts, f->starts),
                     numbers(f, HONE_I32, 1, &f->weight_count, f->targets),
                     hn_ml_constant(call, dtype, 1, &f->weight_count, f->weights)};
  for (int i = 1; i < 9; ++i)
    if (!in[i]) return HONE_NO_MEMORY;
  const hone_attr attrs[2] = {{.name = "targets", .kind = HONE_ATTR_INT, .i = f->target_count},
                              {.name = "aggregate", .kind = HONE_ATTR_INT, .i = aggregate}};
  return hn_import_make(call, "tree_ensemble", 9, in, 2, attrs, out);
}

/* ---- versions 1 and 3: nodes and leaves by the numbers of their trees and their own ---- */

typedef struct listed_node {
  int64_t tree, id, at;
} listed_node;

typedef struct listed {
  hn_ml_ints trees, ids, features, yes, no, missing;
  hn_ml_reals values;
  hn_ml_texts modes;
  hn_ml_ints weight_trees, weight_nodes, weight_targets;
  hn_ml_reals weights, base;
  listed_node *sorted;
  int32_t *places; /* of each node: its own number, or ~that of a leaf */
} listed;

static int compare_listed(const void *a, const void *b) {
  const listed_node *x = a, *y = b;
  if (x->tree != y->tree) return x->tree < y->tree ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

static int64_t find_listed(const listed *l, int64_t tree, int64_t id) {
  const listed_node key = {.tree = tree, .id = id};
  const listed_node *found =
      l->ids.count ? bsearch(&key, l->sorted, (size_t)l->ids.count, sizeof key, compare_listed) : NULL;
  return found ? found->at : -1;
}

static int mode_of(const char *text) {
  static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};
  for (size_t i = 0; i < HN_COUNT(names); ++i)
    if (strcmp(text, names[i]) == 0) return (int)i;
  return LEAF;
}

static hone_status take_listed(hn_import_call *call, bool classes, listed *l) {
  *l = (listed){.trees = hn_ml_take_ints(call, "nodes_treeids"),
                .ids = hn_ml_take_ints(call, "nodes_nodeids"),
                .features = hn_ml_take_ints(call, "nodes_featureids"),
                .yes = hn_ml_take_ints(call, "nodes_truenodeids"),
                .no = hn_ml_take_ints(call, "nodes_falsenodeids"),
                .missing = hn_ml_take_ints(call, "nodes_missing_value_tracks_true"),
                .modes = hn_ml_take_texts(call, "nodes_modes"),
                .weight_trees = hn_ml_take_ints(call, classes ? "class_treeids" : "target_treeids"),
                .weight_nodes = hn_ml_take_ints(call, classes ? "class_nodeids" : "target_nodeids"),
                .weight_targets = hn_ml_take_ints(call, classes ? "class_ids" : "target_ids")};
  HN_TRY(hn_ml_take_reals(call, "nodes_values", "nodes_values_as_tensor", &l->values));
  HN_TRY(hn_ml_take_reals(call, "base_values", "base_values_as_tensor", &l->base));
  HN_TRY(hn_ml_take_reals(call, classes ? "class_weights" : "target_weights",
                          classes ? "class_weights_as_tensor" : "target_weights_as_tensor", &l->weights));
  const int64_t n = l->ids.count, w = l->weights.count;
  if (n < 1 || n > INT32_MAX || w > INT32_MAX || l->trees.count != n || l->features.count != n || l->yes.count != n ||
      l->no.count != n || l->modes.count != n || l->values.count != n || (l->missing.count && l->missing.count != n) ||
      l->weight_trees.count != w || l->weight_nodes.count != w || l->weight_targets.count != w)
    return HN_FAIL(call->importer->diag, HONE_MALFORMED, "its lists of nodes, or of leaves, have other lengths");
  return HONE_OK;
}

/* Numbers the nodes and leaves; leaves' weights stand behind each other, in the order that they are listed in. */
static hone_status number_listed(forest *f, listed *l) {
  const int64_t n = l->ids.count;
  hn_arena *arena = &f->call->importer->arena;
  l->sorted = HN_NEW(arena, listed_node, n);
  l->places = HN_NEW(arena, int32_t, n);
  if (!l->sorted || !l->places || !make_room(f, n, n, n, l->weights.count))
    return HN_FAIL_MEMORY(f->call->importer->diag);
  for (int64_t i = 0; i < n; ++i) {
    l->sorted[i] = (listed_node){l->trees.items[i], l->ids.items[i], i};
    l->places[i] = mode_of(l->modes.items[i]) == LEAF ? (int32_t)~f->leaf_count++ : (int32_t)f->node_count++;
    if (l->places[i] < 0 && strcmp(l->modes.items[i], "LEAF") != 0)
      return HN_FAIL(f->call->importer->diag, HONE_UNSUPPORTED, "nodes_modes has %.30s", l->modes.items[i]);
  }
  qsort(l->sorted, (size_t)n, sizeof *l->sorted, compare_listed);
  for (int64_t i = 1; i < n; ++i)
    if (compare_listed(&l->sorted[i - 1], &l->sorted[i]) == 0)
      return fail(f, "a node is listed twice", l->sorted[i].id);
  for (int64_t k = 0; k < l->weights.count; ++k) {
    const int64_t at = find_listed(l, l->weight_trees.items[k], l->weight_nodes.items[k]);
    if (at < 0) return fail(f, "a weight is for a node that there is not", k);
    if (l->places[at] < 0) ++f->starts[~l->places[at] + 1];
  }
  for (int64_t i = 0; i < f->leaf_count; ++i) f->starts[i + 1] += f->starts[i];
  f->weight_count = f->starts[f->leaf_count];
  return HONE_OK;
}

static hone_status place_weights(forest *f, const listed *l) {
  int32_t *next = HN_NEW(&f->call->importer->arena, int32_t, f->leaf_count + 1);
  if (!next) return HN_FAIL_MEMORY(f->call->importer->diag);
  memcpy(next, f->starts, (size_t)f->leaf_count * sizeof *next);
  for (int64_t k = 0; k < l->weights.count; ++k) {
    const int64_t at = find_listed(l, l->weight_trees.items[k], l->weight_nodes.items[k]);
    const int64_t target = l->weight_targets.items[k];
    if (target < 0 || target >= f->target_count)
      return fail(f, "a weight is for a target or class that there is not", k);
    if (l->places[at] >= 0) continue; /* of inner nodes: nobody ends there */
    const int32_t to = next[~l->places[at]]++;
    f->targets[to] = (int32_t)target;
    f->weights[to] = l->weights.items[k];
  }
  return HONE_OK;
}

/* Roots are the nodes that no other leads to. */
static hone_status place_nodes(forest *f, const listed *l) {
  const int64_t n = l->ids.count;
  bool *is_child = HN_NEW(&f->call->importer->arena, bool, n);
  if (!is_child) return HN_FAIL_MEMORY(f->call->importer->diag);
  for (int64_t i = 0; i < n; ++i) {
    const int32_t place = l->places[i];
    if (place < 0) continue;
    const int64_t yes = find_listed(l, l->trees.items[i], l->yes.items[i]),
                  no = find_listed(l, l->trees.items[i], l->no.items[i]);
    if (yes < 0 || no < 0 || l->features.items[i] < 0 || l->features.items[i] > INT32_MAX)
      return fail(f, "a node leads to one that there is not, or reads no feature", i);
    const bool missing = l->missing.count && l->missing.items[i];
    f->features[place] = (int32_t)l->features.items[i];
    f->splits[place] = l->values.items[i];
    f->modes[place] = (uint8_t)(mode_of(l->modes.items[i]) | (missing ? TRACKS_TRUE : 0));
    f->ways[place][0] = l->places[yes];
    f->ways[place][1] = l->places[no];
    is_child[yes] = is_child[no] = true;
  }
  for (int64_t i = 0; i < n; ++i)
    if (!is_child[i]) f->roots[f->root_count++] = l->places[i];
  return HONE_OK;
}

static hone_status grow_listed(forest *f, listed *l) {
  HN_TRY(number_listed(f, l));
  HN_TRY(place_weights(f, l));
  return place_nodes(f, l);
}

static hone_status add_base(const forest *f, const listed *l, hn_value **y) {
  if (l->base.count == 0) return HONE_OK;
  if (l->base.count != f->target_count && l->base.count != 1)
    return HN_FAIL(f->call->importer->diag, HONE_UNSUPPORTED, "base_values has %lld entries for %lld targets",
                   (long long)l->base.count, (long long)f->target_count);
  return hn_ml_join(f->call, "add", y,
                    hn_ml_constant(f->call, (*y)->fact.type.dtype, 1, &l->base.count, l->base.items));
}

static hone_status regressor(hn_import_call *call) {
  static const char *const names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const char *aggregate = hn_ml_take_text(call, "aggregate_function", "SUM");
  const char *transform = hn_ml_take_text(call, "post_transform", "NONE");
  forest f = {.call = call, .target_count = hn_contrib_take_int(call, "n_targets", 1)};
  listed l;
  hn_value *x, *y;
  int64_t number = -1;
  for (size_t i = 0; i < HN_COUNT(names); ++i)
    if (strcmp(names[i], aggregate) == 0) number = (int64_t)i;
  if (number < 0) return HN_FAIL(call->importer->diag, HONE_MALFORMED, "aggregate_function is %.20s", aggregate);
  HN_TRY(take_listed(call, false, &l));
  HN_TRY(hn_ml_features(call, &x));
  HN_TRY(grow_listed(&f, &l));
  HN_TRY(make_ensemble(&f, number, x, &y));
  HN_TRY(add_base(&f, &l, &y));
  HN_TRY(hn_ml_post(call, transform, &y));
  HN_TRY(hn_ml_cast(call, HONE_F32, &y));
  call->out[0] = y;
  call->done = true;
  return HONE_OK;
}

/* One of two classes alone has weights: it is the second one, whatever number they give it. */
static bool has_one_class(const listed *l, int64_t labels) {
  for (int64_t i = 1; i < l->weights.count; ++i)
    if (l->weight_targets.items[i] != l->weight_targets.items[0]) return false;
  return labels == 2 && l->weights.count > 0;
}

static hone_status classifier(hn_import_call *call) {
  const char *transform = hn_ml_take_text(call, "post_transform", "NONE");
  const hn_ml_labels labels = hn_ml_take_labels(call, "classlabels_int64s", "classlabels_strings");
  forest f = {.call = call, .target_count = hn_ml_label_count(&labels)};
  listed l;
  hn_value *x, *y;
  bool positive = true;
  HN_TRY(take_listed(call, true, &l));
  HN_TRY(hn_ml_features(call, &x));
  if (has_one_class(&l, f.target_count)) {
    int64_t *zeros = HN_NEW(&call->importer->arena, int64_t, l.weights.count);
    if (!zeros) return HN_FAIL_MEMORY(call->importer->diag);
    l.weight_targets.items = zeros;
    f.target_count = 1;
    if (l.base.count == 2) l.base = (hn_ml_reals){1, l.base.items + 1};
  }
  for (int64_t i = 0; i < l.weights.count; ++i) positive = positive && l.weights.items[i] >= 0;
  HN_TRY(grow_listed(&f, &l));
  HN_TRY(make_ensemble(&f, 1, x, &y));
  HN_TRY(add_base(&f, &l, &y));
  return hn_ml_classify(call, &labels, transform, positive, y);
}

/* ---- version 5: arrays as ours, but for sets ---- */

typedef struct arrays {
  hn_ml_ints roots, features, yes, no, yes_leafs, no_leafs, missing, targets;
  hn_ml_reals splits, modes, members, weights;
} arrays;

static hone_status take_arrays(hn_import_call *call, arrays *a) {
  *a = (arrays){.roots = hn_ml_take_ints(call, "tree_roots"),
                .features = hn_ml_take_ints(call, "nodes_featureids"),
                .yes = hn_ml_take_ints(call, "nodes_truenodeids"),
                .no = hn_ml_take_ints(call, "nodes_falsenodeids"),
                .yes_leafs = hn_ml_take_ints(call, "nodes_trueleafs"),
                .no_leafs = hn_ml_take_ints(call, "nodes_falseleafs"),
                .missing = hn_ml_take_ints(call, "nodes_missing_value_tracks_true"),
                .targets = hn_ml_take_ints(call, "leaf_targetids")};
  HN_TRY(hn_ml_take_reals(call, NULL, "nodes_splits", &a->splits));
  HN_TRY(hn_ml_take_reals(call, NULL, "nodes_modes", &a->modes));
  HN_TRY(hn_ml_take_reals(call, NULL, "membership_values", &a->members));
  HN_TRY(hn_ml_take_reals(call, NULL, "leaf_weights", &a->weights));
  const int64_t n = a->features.count;
  if (n < 1 || n > INT32_MAX / 2 || a->members.count > INT32_MAX / 2 || a->weights.count > INT32_MAX ||
      a->yes.count != n || a->no.count != n || a->yes_leafs.count != n || a->no_leafs.count != n ||
      a->splits.count != n || a->modes.count != n || (a->missing.count && a->missing.count != n) ||
      a->targets.count != a->weights.count)
    return HN_FAIL(call->importer->diag, HONE_MALFORMED, "its lists of nodes, or of leaves, have other lengths");
  return HONE_OK;
}

/* Where a way of a node leads in our numbers, sets being further nodes at the end; INT32_MIN: out of range. */
static int32_t way(const forest *f, const arrays *a, int64_t to, bool leaf) {
  const int64_t count = leaf ? a->weights.count : a->features.count;
  (void)f;
  return to < 0 || to >= count ? INT32_MIN : leaf ? (int32_t)~to : (int32_t)to;
}

/* A set is a chain of comparisons with its members, which all lead where the set's way of true does: leaves alone may
 * be led to so often, so that what is no leaf is led to by the last one, whose ways are exchanged. */
static hone_status add_set(forest *f, const arrays *a, int64_t node, int64_t *member) {
  const int32_t yes = f->ways[node][0], no = f->ways[node][1];
  const uint8_t missing = f->modes[node] & TRACKS_TRUE;
  const int64_t first = *member;
  int64_t at = node;
  while (*member < a->members.count && !isnan(a->members.items[*member])) ++*member;
  if (*member == a->members.count) return fail(f, "a set of members has no end", node);
  const int64_t count = (*member)++ - first;
  if (count == 0) return fail(f, "a set has no members", node);
  if (count > 1 && yes >= 0)
    return HN_FAIL(f->call->importer->diag, HONE_UNSUPPORTED,
                   "a set of several members leads to a node, not to a leaf");
  for (int64_t i = 0; i < count; ++i) {
    const int64_t next = i + 1 < count ? f->node_count++ : -1;
    f->features[at] = f->features[node];
    f->splits[at] = a->members.items[first + i];
    f->modes[at] = (uint8_t)(4 | missing);
    f->ways[at][0] = yes;
    f->ways[at][1] = next < 0 ? no : (int32_t)next;
    at = next;
  }
  return HONE_OK;
}

static hone_status place_arrays(forest *f, const arrays *a) {
  const int64_t n = a->features.count;
  int64_t member = 0;
  f->node_count = n;
  for (int64_t i = 0; i < n; ++i) {
    const int mode = (int)a->modes.items[i];
    if (mode < 0 || mode > MEMBER || a->features.items[i] < 0 || a->features.items[i] > INT32_MAX)
      return fail(f, "a node has no such mode, or reads no feature", i);
    f->features[i] = (int32_t)a->features.items[i];
    f->splits[i] = a->splits.items[i];
    f->modes[i] = (uint8_t)(mode | (a->missing.count && a->missing.items[i] ? TRACKS_TRUE : 0));
    f->ways[i][0] = way(f, a, a->yes.items[i], a->yes_leafs.items[i] != 0);
    f->ways[i][1] = way(f, a, a->no.items[i], a->no_leafs.items[i] != 0);
    if (f->ways[i][0] == INT32_MIN || f->ways[i][1] == INT32_MIN) return fail(f, "a node leads nowhere", i);
    if (mode == MEMBER) HN_TRY(add_set(f, a, i, &member));
  }
  f->leaf_count = f->weight_count = a->weights.count;
  for (int64_t i = 0; i < f->leaf_count; ++i) {
    if (a->targets.items[i] < 0 || a->targets.items[i] >= f->target_count) return fail(f, "a leaf has no target", i);
    f->starts[i + 1] = (int32_t)i + 1;
    f->targets[i] = (int32_t)a->targets.items[i];
    f->weights[i] = a->weights.items[i];
  }
  for (int64_t i = 0; i < a->roots.count; ++i) {
    if (a->roots.items[i] < 0 || a->roots.items[i] >= n) return fail(f, "a root is no node", i);
    f->roots[f->root_count++] = (int32_t)a->roots.items[i];
  }
  return HONE_OK;
}

static hone_status trees(hn_import_call *call) {
  static const char *const transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const int64_t transform = hn_contrib_take_int(call, "post_transform", 0);
  const int64_t aggregate = hn_contrib_take_int(call, "aggregate_function", 1);
  forest f = {.call = call, .target_count = hn_contrib_take_int(call, "n_targets", 1)};
  arrays a;
  hn_value *x = hn_contrib_input(call, 0), *y;
  hone_attr hits;
  (void)hn_import_take_attr(call, "nodes_hitrates", &hits);
  if (!x || transform < 0 || transform > 4)
    return HN_FAIL(call->importer->diag, HONE_MALFORMED, "its input is missing, or there is no such post_transform");
  HN_TRY(take_arrays(call, &a));
  if (!make_room(&f, a.features.count + a.members.count, a.weights.count, a.roots.count, a.weights.count))
    return HN_FAIL_MEMORY(call->importer->diag);
  HN_TRY(place_arrays(&f, &a));
  HN_TRY(make_ensemble(&f, aggregate, x, &y));
  HN_TRY(hn_ml_post(call, transforms[transform], &y));
  call->out[0] = y;
  call->done = true;
  return HONE_OK;
}

#define LISTED                                                                                                         \
  "nodes_treeids nodes_nodeids nodes_featureids nodes_values nodes_values_as_tensor nodes_modes nodes_truenodeids "    \
  "nodes_falsenodeids nodes_missing_value_tracks_true base_values base_values_as_tensor post_transform "
const hn_adapter hn_ml_tree_adapters[] = {
    {"ml_tree_classifier",
     LISTED "classlabels_int64s classlabels_strings class_treeids class_nodeids class_ids class_weights "
            "class_weights_as_tensor",
     classifier},
    {"ml_tree_regressor",
     LISTED "aggregate_function n_targets target_treeids target_nodeids target_ids target_weights "
            "target_weights_as_tensor",
     regressor},
    {"ml_trees",
     "aggregate_function leaf_targetids leaf_weights membership_values n_targets nodes_falseleafs nodes_falsenodeids "
     "nodes_featureids nodes_hitrates nodes_missing_value_tracks_true nodes_modes nodes_splits nodes_trueleafs "
     "nodes_truenodeids post_transform tree_roots",
     trees},
    {0}};
