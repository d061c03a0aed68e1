/* SPDX-License-Identifier: Apache-2.0 */
/* coupling.c - elements, the walk over the nodes, and from joined elements to units and groups. */
#include "prune/coupling.h"
#include "ir/named.h"
#include "prune/rules.h"
#include "tensor/attrs.h"
#include <stdlib.h>

enum { MOST_EXTENT = 1 << 16, MOST_ELEMENTS = 1 << 26 };

static hone_status no_memory(const hn_coupling *c) { return HN_FAIL_MEMORY(&c->graph->context->diag); }

int hn_coupling_axis(const hn_coupling *c, const hn_value *value, int axis) {
  return value && value->id < c->value_count ? c->axis_of[value->id * HONE_MAX_RANK + axis] : -1;
}

/* ---- elements ---- */

static bool in_main(const hn_coupling *c, const hn_value *value) {
  if (value->node) return value->node->owner == c->graph->main;
  return value->param_of ? value->param_of == c->graph->main : value->fact.constant != NULL;
}

static bool has_elements(int64_t extent) { return extent > 0 && extent <= MOST_EXTENT; }

static hone_status make_elements(hn_coupling *c) {
  const hone_graph *graph = c->graph;
  int64_t elements = 0;
  int axes = 0;
  c->axis_of = HN_NEW(c->arena, int, (size_t)graph->value_count *HONE_MAX_RANK + 1);
  if (!c->axis_of) return no_memory(c);
  for (int i = 0; i < graph->value_count * HONE_MAX_RANK; ++i) c->axis_of[i] = -1;
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 1) {
      if (elements > MOST_ELEMENTS)
        return HN_FAIL(&graph->context->diag, HONE_LIMIT, "the graph's axes have %lld places; at most %d are supported",
                       (long long)elements, MOST_ELEMENTS);
      c->axes = HN_NEW(c->arena, hn_coupled_axis, axes + 1);
      c->axis_of_element = HN_NEW(c->arena, int, elements + 1);
      c->parent = HN_NEW(c->arena, int, elements + 1);
      c->fixed = HN_NEW(c->arena, const hn_fixed *, elements + 1);
      if (!c->axes || !c->axis_of_element || !c->parent || !c->fixed) return no_memory(c);
    }
    for (int v = 0; v < graph->value_count; ++v) {
      hn_value *value = graph->values[v];
      if (hn_value_is_dead(value) || !in_main(c, value) || value->fact.type.kind != HONE_TENSOR) continue;
      for (int a = 0; a < value->fact.type.shape.rank; ++a) {
        const int64_t extent = value->fact.type.shape.dim[a];
        if (!has_elements(extent)) continue;
        if (pass == 0) {
          elements += extent;
          ++axes;
          continue;
        }
        c->axes[c->axis_count] = (hn_coupled_axis){value, a, c->element_count, extent};
        c->axis_of[v * HONE_MAX_RANK + a] = c->axis_count;
        for (int64_t i = 0; i < extent; ++i, ++c->element_count) {
          c->axis_of_element[c->element_count] = c->axis_count;
          c->parent[c->element_count] = c->element_count;
        }
        ++c->axis_count;
      }
    }
  }
  return HONE_OK;
}

static int find_root(const hn_coupling *c, int element) {
  while (c->parent[element] != element) {
    c->parent[element] = c->parent[c->parent[element]];
    element = c->parent[element];
  }
  return element;
}

static void join(const hn_coupling *c, int a, int b) {
  a = find_root(c, a);
  b = find_root(c, b);
  if (a == b) return;
  const int root = a < b ? a : b, other = a < b ? b : a;
  c->parent[other] = root;
  if (!c->fixed[root]) c->fixed[root] = c->fixed[other];
}

static void fix(const hn_coupling *c, int element, const hn_fixed *reason) {
  const int root = find_root(c, element);
  if (!c->fixed[root]) c->fixed[root] = reason;
}

static void fix_axis(const hn_coupling *c, int axis, const hn_fixed *reason) {
  if (axis < 0) return;
  for (int64_t i = 0; i < c->axes[axis].extent; ++i) fix(c, c->axes[axis].first + (int)i, reason);
}

static void fix_value(const hn_coupling *c, const hn_value *value, const hn_fixed *reason) {
  for (int a = 0; a < HONE_MAX_RANK; ++a) fix_axis(c, hn_coupling_axis(c, value, a), reason);
}

static const hn_fixed *reason_of(const hn_coupling *c, const char *why, const hn_node *node) {
  hn_fixed *reason = HN_NEW(c->arena, hn_fixed, 1);
  if (reason) *reason = (hn_fixed){why, node};
  return reason;
}

/* ---- for rules ---- */

static hn_value *value_at(const hn_linker *l, hn_side side) {
  const int count = side.out ? l->node->out_count : l->node->in_count;
  if (side.index < 0 || side.index >= count) return NULL;
  return side.out ? l->node->out[side.index] : l->node->in[side.index];
}

const hn_value *hn_link_value(const hn_linker *l, hn_side side) { return value_at(l, side); }

int hn_link_rank(const hn_linker *l, hn_side side) {
  const hn_value *value = value_at(l, side);
  return value && value->fact.type.kind == HONE_TENSOR ? value->fact.type.shape.rank : -1;
}

int64_t hn_link_dim(const hn_linker *l, hn_side side, int axis) {
  return axis >= 0 && axis < hn_link_rank(l, side) ? value_at(l, side)->fact.type.shape.dim[axis] : -1;
}

void hn_link_claim(const hn_linker *l, hn_side side, int axis) {
  if (axis < 0 || axis >= hn_link_rank(l, side)) return;
  l->claimed[(side.index + (side.out ? l->node->in_count : 0)) * HONE_MAX_RANK + axis] = true;
}

void hn_link_join(const hn_linker *l, hn_side a, int a_axis, int64_t a_first, hn_side b, int b_axis, int64_t b_first,
                  int64_t count) {
  static const hn_fixed free_extent = {.why = "an extent along it is free"};
  const hn_coupling *c = l->c;
  if (a_axis < 0 || b_axis < 0 || a_axis >= hn_link_rank(l, a) || b_axis >= hn_link_rank(l, b)) return;
  hn_link_claim(l, a, a_axis);
  hn_link_claim(l, b, b_axis);
  const int at = hn_coupling_axis(c, value_at(l, a), a_axis), bt = hn_coupling_axis(c, value_at(l, b), b_axis);
  if (at < 0 || bt < 0) {
    fix_axis(c, at, &free_extent);
    fix_axis(c, bt, &free_extent);
    return;
  }
  for (int64_t i = 0; i < count && a_first + i < c->axes[at].extent && b_first + i < c->axes[bt].extent; ++i)
    join(c, c->axes[at].first + (int)(a_first + i), c->axes[bt].first + (int)(b_first + i));
}

void hn_link_same(const hn_linker *l, hn_side a, int a_axis, hn_side b, int b_axis) {
  hn_link_join(l, a, a_axis, 0, b, b_axis, 0, MOST_EXTENT);
}

void hn_link_bundle(const hn_linker *l, hn_side side, int axis, int64_t first, int64_t count) {
  const int at = hn_coupling_axis(l->c, value_at(l, side), axis);
  for (int64_t i = 1; at >= 0 && i < count; ++i)
    join(l->c, l->c->axes[at].first + (int)first, l->c->axes[at].first + (int)(first + i));
}

const int64_t *hn_link_ints(const hn_node *node, int port, int64_t *out_count) {
  const hn_value *value = port < node->in_count ? node->in[port] : NULL;
  *out_count = value ? value->fact.value_count : 0;
  return value ? value->fact.value : NULL;
}

/* ---- the walk ---- */

static const char *no_rule(const hn_coupling *c, const hn_node *node) {
  return hn_arena_printf(c->arena, "nothing is known of the channels of %s", node->op->name);
}

static const hn_prune_rule *rule_of(const hn_node *node, const hn_coupling_options *options) {
  const hn_prune_rule *rule = node->block_count > 0 ? NULL : hn_prune_rule_of(node->op);
  return rule && rule->alone && !options->open ? NULL : rule;
}

static hone_status link_node(hn_coupling *c, const hn_node *node, const hn_coupling_options *options) {
  const int ports = node->in_count + node->out_count;
  const hn_prune_rule *rule = rule_of(node, options);
  const hn_arena_mark mark = hn_arena_here(c->arena);
  hn_linker l = {c, node, rule, HN_NEW(c->arena, bool, (size_t)ports *HONE_MAX_RANK + 1)};
  if (!l.claimed) return no_memory(c);
  const char *why = rule ? rule->link(&l) : NULL;
  bool all = true;
  for (int p = 0; p < ports; ++p) {
    const int rank = p < node->in_count ? hn_link_rank(&l, HN_IN(p)) : hn_link_rank(&l, HN_OUT(p - node->in_count));
    for (int a = 0; a < rank; ++a) all &= l.claimed[p * HONE_MAX_RANK + a];
  }
  if (rule && !why && all) {
    hn_arena_back(c->arena, &mark);
    return HONE_OK;
  }
  if (rule && !why) why = rule->why ? rule->why : "it is no axis of channels";
  if (!why) why = no_rule(c, node);
  const hn_fixed *reason = why ? reason_of(c, why, node) : NULL;
  if (!reason) return no_memory(c);
  for (int p = 0; p < ports; ++p) {
    const hn_value *value = p < node->in_count ? node->in[p] : node->out[p - node->in_count];
    for (int a = 0; value && a < HONE_MAX_RANK; ++a)
      if (!l.claimed[p * HONE_MAX_RANK + a]) fix_axis(c, hn_coupling_axis(c, value, a), reason);
  }
  return HONE_OK;
}

/* Constants may be read by nodes of branches and loops, whose own values have no elements. */
static void fix_inner(const hn_coupling *c, const hn_block *block, const hn_fixed *reason) {
  for (const hn_node *node = block->first; node; node = node->next) {
    for (int i = 0; block != c->graph->main && i < node->in_count; ++i)
      if (node->in[i] && hn_value_is_constant(node->in[i])) fix_value(c, node->in[i], reason);
    for (int i = 0; i < node->block_count; ++i) {
      for (int r = 0; r < node->blocks[i]->result_count; ++r)
        if (node->blocks[i]->results[r] && hn_value_is_constant(node->blocks[i]->results[r]))
          fix_value(c, node->blocks[i]->results[r], reason);
      fix_inner(c, node->blocks[i], reason);
    }
  }
}

static hone_status fix_kept(const hn_coupling *c, const hn_coupling_options *options) {
  static const hn_fixed kept = {.why = "it was named to stay"};
  hone_status status = HONE_OK;
  for (int k = 0; k < options->keep_count; ++k) {
    bool any = false;
    for (const hn_node *node = c->graph->main->first; node; node = node->next) {
      const bool here = hn_node_is_named(node, options->keep[k]);
      for (int i = 0; here && i < node->out_count; ++i) fix_value(c, node->out[i], &kept);
      any |= here;
    }
    if (!any)
      status = HN_FAIL(&c->graph->context->diag, HONE_INVALID,
                       "no node or operator of the model is named \"%.100s\", which was to keep its channels",
                       options->keep[k]);
  }
  return status;
}

/* ---- layers ---- */

static hone_status add_layer(hn_coupling *c, hn_node *node, const hn_prune_rule *rule) {
  hn_value *weights = rule->weights < node->in_count ? node->in[rule->weights] : NULL;
  const hn_value *x = node->in[0];
  if (!weights || !hn_value_is_constant(weights) || !x || hn_value_is_constant(x)) return HONE_OK;
  const bool turned = rule->turned && hn_attr_int(&node->attrs, rule->turned);
  const bool grouped = rule->group && hn_attr_int(&node->attrs, rule->group) != 1;
  const int rank = x->fact.type.shape.rank;
  if (!hn_arena_grow(c->arena, (void **)&c->layers, &c->layer_capacity, c->layer_count + 1, sizeof *c->layers))
    return no_memory(c);
  /* Of grouped layers the axis that has whole groups is the first: outputs, or a transposed convolution's inputs. */
  const int outputs = grouped ? 0 : turned ? rule->inputs : rule->outputs;
  c->layers[c->layer_count++] =
      (hn_coupled_layer){.node = node,
                         .weights = weights,
                         .weights_port = rule->weights,
                         .outputs = hn_coupling_axis(c, weights, outputs),
                         .inputs = grouped ? -1 : hn_coupling_axis(c, weights, turned ? rule->outputs : rule->inputs),
                         .x = rank > 0 ? hn_coupling_axis(c, x, rule->channels < 0 ? rank - 1 : rule->channels) : -1,
                         .group = -1};
  return HONE_OK;
}

static hone_status walk(hn_coupling *c, const hn_coupling_options *options) {
  static const hn_fixed input = {.why = "it is an input of the model"},
                        output = {.why = "it is an output of the model"}, inner = {.why = "a branch or loop reads it"};
  const hn_block *main = c->graph->main;
  for (int i = 0; i < main->param_count && !options->open; ++i) fix_value(c, main->params[i], &input);
  for (int i = 0; i < main->result_count && !options->open; ++i) fix_value(c, main->results[i], &output);
  HN_TRY(fix_kept(c, options));
  for (hn_node *node = main->first; node; node = node->next) {
    HN_TRY(link_node(c, node, options));
    const hn_prune_rule *rule = rule_of(node, options);
    if (rule && rule->weights > 0) HN_TRY(add_layer(c, node, rule));
  }
  fix_inner(c, main, &inner);
  return HONE_OK;
}

/* ---- units ---- */

static void mark_axis(const hn_coupling *c, int axis, bool *made) {
  for (int64_t k = 0; axis >= 0 && k < c->axes[axis].extent; ++k)
    made[find_root(c, c->axes[axis].first + (int)k)] = true;
}

static hone_status make_units(hn_coupling *c, bool open) {
  int *count = HN_NEW(c->arena, int, c->element_count + 1);
  bool *made = HN_NEW(c->arena, bool, c->element_count + 1); /* roots with outputs of a layer */
  c->unit_of = HN_NEW(c->arena, int, c->element_count + 1);
  c->members = HN_NEW(c->arena, int, c->element_count + 1);
  if (!count || !made || !c->unit_of || !c->members) return no_memory(c);
  for (int i = 0; i < c->layer_count; ++i) {
    mark_axis(c, c->layers[i].outputs, made);
    if (open) mark_axis(c, c->layers[i].inputs, made);
  }
  for (int e = 0; e < c->element_count; ++e) {
    const int root = find_root(c, e);
    c->unit_of[e] = -1;
    ++count[root];
    c->unit_count += root == e && made[e] && !c->fixed[e];
  }
  c->units = HN_NEW(c->arena, hn_unit, c->unit_count + 1);
  if (!c->units) return no_memory(c);
  int unit = 0, member = 0;
  for (int e = 0; e < c->element_count; ++e) {
    if (c->parent[e] != e || !made[e] || c->fixed[e]) continue;
    c->units[unit] = (hn_unit){.first = member};
    member += count[e];
    c->unit_of[e] = unit++;
  }
  for (int e = 0; e < c->element_count; ++e) {
    const int of = c->unit_of[find_root(c, e)];
    if (of >= 0) c->members[c->units[of].first + c->units[of].count++] = e;
  }
  return HONE_OK;
}

/* Units are alike when they have as many elements on the same axes. */
typedef struct sorted_unit {
  const int *axes;
  int count, unit;
} sorted_unit;

static int compare_shape(const sorted_unit *a, const sorted_unit *b) {
  if (a->count != b->count) return a->count < b->count ? -1 : 1;
  for (int i = 0; i < a->count; ++i)
    if (a->axes[i] != b->axes[i]) return a->axes[i] < b->axes[i] ? -1 : 1;
  return 0;
}

static int compare_units(const void *a, const void *b) {
  const sorted_unit *x = a, *y = b;
  const int shape = compare_shape(x, y);
  return shape ? shape : (x->unit > y->unit) - (x->unit < y->unit);
}

static int compare_groups(const void *a, const void *b) {
  const hn_group *x = a, *y = b;
  if (x->layer != y->layer) return x->layer < y->layer ? -1 : 1;
  return (x->first > y->first) - (x->first < y->first);
}

static int count_on(const hn_coupling *c, const hn_unit *unit, int axis) {
  int count = 0;
  for (int k = 0; k < unit->count; ++k) count += c->axis_of_element[c->members[unit->first + k]] == axis;
  return count;
}

/* The first layer that makes a unit's channels, or else reads them, and how many. */
static void find_layer(const hn_coupling *c, const hn_unit *unit, hn_group *group) {
  group->layer = -1;
  for (int reads = 0; reads < 2; ++reads)
    for (int i = 0; i < c->layer_count && group->layer < 0; ++i) {
      const int width = count_on(c, unit, reads ? c->layers[i].inputs : c->layers[i].outputs);
      if (width == 0) continue;
      group->layer = i;
      group->width = width;
    }
  group->channels = (int64_t)group->width * group->count;
  group->kept = group->channels;
}

static hone_status make_groups(hn_coupling *c) {
  sorted_unit *sorted = HN_NEW(c->arena, sorted_unit, c->unit_count + 1);
  int *axes = HN_NEW(c->arena, int, c->element_count + 1);
  c->unit_order = HN_NEW(c->arena, int, c->unit_count + 1);
  c->groups = HN_NEW(c->arena, hn_group, c->unit_count + 1);
  if (!sorted || !axes || !c->unit_order || !c->groups) return no_memory(c);
  for (int u = 0; u < c->unit_count; ++u) {
    const hn_unit *unit = &c->units[u];
    for (int k = 0; k < unit->count; ++k) axes[unit->first + k] = c->axis_of_element[c->members[unit->first + k]];
    sorted[u] = (sorted_unit){axes + unit->first, unit->count, u};
  }
  if (c->unit_count > 0) qsort(sorted, (size_t)c->unit_count, sizeof *sorted, compare_units);
  for (int i = 0; i < c->unit_count; ++i) {
    if (i == 0 || compare_shape(&sorted[i - 1], &sorted[i]) != 0) c->groups[c->group_count++] = (hn_group){.first = i};
    ++c->groups[c->group_count - 1].count;
    c->unit_order[i] = sorted[i].unit;
  }
  for (int g = 0; g < c->group_count; ++g) find_layer(c, &c->units[c->unit_order[c->groups[g].first]], &c->groups[g]);
  if (c->group_count > 0) qsort(c->groups, (size_t)c->group_count, sizeof *c->groups, compare_groups);
  for (int g = 0; g < c->group_count; ++g)
    for (int i = 0; i < c->groups[g].count; ++i) hn_group_unit(c, &c->groups[g], i)->group = g;
  return HONE_OK;
}

/* Where its outputs went: the group of the first that is free, or why none is. */
static void place_layers(hn_coupling *c) {
  static const hn_fixed too_long = {.why = "it has too many channels, or an unknown number"};
  for (int i = 0; i < c->layer_count; ++i) {
    hn_coupled_layer *layer = &c->layers[i];
    layer->fixed = &too_long;
    if (layer->outputs < 0) continue;
    const hn_coupled_axis *axis = &c->axes[layer->outputs];
    layer->fixed = c->fixed[find_root(c, axis->first)];
    for (int64_t k = 0; k < axis->extent && layer->group < 0; ++k) {
      const int unit = hn_coupling_unit(c, axis->first + (int)k);
      if (unit >= 0) layer->group = c->units[unit].group;
    }
  }
}

hone_status hn_coupling_find(hone_graph *graph, const hn_coupling_options *options, hn_arena *arena, hn_coupling *out) {
  *out = (hn_coupling){.graph = graph, .arena = arena, .value_count = graph->value_count};
  HN_TRY(make_elements(out));
  HN_TRY(walk(out, options));
  HN_TRY(make_units(out, options->open));
  HN_TRY(make_groups(out));
  place_layers(out);
  return HONE_OK;
}
