/* SPDX-License-Identifier: Apache-2.0 */
/* cut.c - slices of constants, attributes and inputs that count channels, shapes inferred again and compared. */
#include "prune/cut.h"
#include "prune/rules.h"
#include "tensor/attrs.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <string.h>

static hone_status no_memory(const hn_cut *cut) { return HN_FAIL_MEMORY(&cut->graph->context->diag); }

hone_status hn_cut_begin(hn_coupling *coupling, hone_graph *graph, hn_arena *arena, hn_cut *out) {
  *out = (hn_cut){.coupling = coupling, .graph = graph, .arena = arena};
  out->order = HN_NEW(arena, const int *, coupling->axis_count + 1);
  out->extent = HN_NEW(arena, int64_t, coupling->axis_count + 1);
  if (!out->order || !out->extent) return no_memory(out);
  for (int i = 0; i < coupling->axis_count; ++i) out->extent[i] = coupling->axes[i].extent;
  return HONE_OK;
}

hone_status hn_cut_by_units(hn_coupling *c, hone_graph *graph, hn_arena *arena, hn_cut *out) {
  HN_TRY(hn_cut_begin(c, graph, arena, out));
  for (int i = 0; i < c->axis_count; ++i) {
    const hn_coupled_axis *axis = &c->axes[i];
    int64_t stays = 0;
    for (int64_t k = 0; k < axis->extent; ++k) {
      const int unit = hn_coupling_unit(c, axis->first + (int)k);
      stays += unit < 0 || !c->units[unit].removed;
    }
    if (stays == axis->extent) continue;
    int *order = HN_NEW(arena, int, stays + 1);
    if (!order) return no_memory(out);
    int at = 0;
    for (int64_t k = 0; k < axis->extent; ++k) {
      const int unit = hn_coupling_unit(c, axis->first + (int)k);
      if (unit < 0 || !c->units[unit].removed) order[at++] = (int)k;
    }
    out->order[i] = order;
    out->extent[i] = stays;
  }
  return HONE_OK;
}

/* The order of an axis, to be changed; NULL: no memory. */
static int *own_order(hn_cut *cut, int axis) {
  const int64_t extent = cut->coupling->axes[axis].extent;
  if (cut->order[axis]) return (int *)(uintptr_t)cut->order[axis];
  int *order = HN_NEW(cut->arena, int, extent);
  for (int64_t i = 0; order && i < extent; ++i) order[i] = (int)i;
  cut->order[axis] = order;
  return order;
}

hone_status hn_cut_add_places(hn_cut *cut, int group, const int *place) {
  const hn_coupling *c = cut->coupling;
  const hn_group *g = &c->groups[group];
  for (int i = 0; i < g->count; ++i) {
    const hn_unit *to = hn_group_unit(c, g, i), *from = hn_group_unit(c, g, place[i]);
    for (int k = 0; k < to->count && place[i] != i; ++k) { /* alike: the k-th elements of both are on one axis */
      const int element = c->members[to->first + k], axis = c->axis_of_element[element];
      int *order = own_order(cut, axis);
      if (!order) return no_memory(cut);
      order[element - c->axes[axis].first] = c->members[from->first + k] - c->axes[axis].first;
    }
  }
  return HONE_OK;
}

int64_t hn_cut_extent(const hn_cut *cut, const hn_value *value, int axis) {
  const int at = hn_coupling_axis(cut->coupling, value, axis);
  return at < 0 ? value->fact.type.shape.dim[axis] : cut->extent[at];
}

int64_t hn_cut_before(const hn_cut *cut, const hn_value *value, int axis, int64_t at) {
  const int index = hn_coupling_axis(cut->coupling, value, axis);
  if (index < 0 || !cut->order[index]) return at;
  int64_t before = 0;
  for (int64_t i = 0; i < cut->extent[index]; ++i) before += cut->order[index][i] < at;
  return before;
}

/* ---- constants ---- */

static bool is_cut(const hn_cut *cut, const hn_value *value) {
  for (int a = 0; a < value->fact.type.shape.rank; ++a) {
    const int axis = hn_coupling_axis(cut->coupling, value, a);
    if (axis >= 0 && cut->order[axis]) return true;
  }
  return false;
}

static hone_status put_constant(const hn_cut *cut, hn_value *old, const hone_tensor *tensor) {
  hn_value *made = hn_constant_create(cut->graph, old->name, tensor, false);
  if (!made) return HONE_NO_MEMORY;
  hn_value_replace(old, made);
  hn_value_swap_names(cut->graph, old, made);
  return HONE_OK;
}

/* Zeroed storage for a tensor of the value's type with these extents. */
static hone_status make_tensor(const hn_cut *cut, const hn_value *value, const int64_t *extents, hone_tensor *out) {
  const hone_type *type = &value->fact.type;
  if (type->dtype == HONE_STRING)
    return HN_FAIL(&cut->graph->context->diag, HONE_UNSUPPORTED, "constant %s: its strings cannot be cut", value->name);
  *out = hn_tensor_over(type->dtype, type->shape.rank, extents, NULL);
  if (!hn_type_bytes(&out->type, &out->bytes)) return no_memory(cut);
  out->data = hn_arena_zero(cut->arena, out->bytes + 64, 1);
  return out->data ? HONE_OK : no_memory(cut);
}

static hone_status cut_constant(const hn_cut *cut, hn_value *value) {
  const hone_tensor *from = value->fact.constant;
  const hone_shape *shape = &from->type.shape;
  int64_t extents[HONE_MAX_RANK], strides[HONE_MAX_RANK], index[HONE_MAX_RANK];
  const int *order[HONE_MAX_RANK];
  hone_tensor to;
  for (int a = 0; a < shape->rank; ++a) {
    const int axis = hn_coupling_axis(cut->coupling, value, a);
    order[a] = axis < 0 ? NULL : cut->order[axis];
    extents[a] = axis < 0 ? shape->dim[a] : cut->extent[axis];
  }
  const hn_arena_mark mark = hn_arena_here(cut->arena);
  HN_TRY(make_tensor(cut, value, extents, &to));
  hn_strides(shape, strides);
  const int64_t count = hn_elems(&to.type.shape);
  for (int64_t i = 0; i < count; ++i) {
    hn_unflatten(&to.type.shape, i, index);
    int64_t at = 0;
    for (int a = 0; a < shape->rank; ++a) at += strides[a] * (order[a] ? order[a][index[a]] : index[a]);
    hn_copy_element(&to, i, from, at);
  }
  HN_TRY(put_constant(cut, value, &to));
  hn_arena_back(cut->arena, &mark);
  return HONE_OK;
}

static hone_status mask_constant(const hn_cut *cut, hn_value *value) {
  const hone_tensor *from = value->fact.constant;
  const hone_shape *shape = &from->type.shape;
  bool *stays[HONE_MAX_RANK] = {NULL};
  int64_t index[HONE_MAX_RANK];
  hone_tensor to;
  const hn_arena_mark mark = hn_arena_here(cut->arena);
  for (int a = 0; a < shape->rank; ++a) {
    const int axis = hn_coupling_axis(cut->coupling, value, a);
    if (axis < 0 || !cut->order[axis]) continue;
    stays[a] = HN_NEW(cut->arena, bool, shape->dim[a] + 1);
    if (!stays[a]) return no_memory(cut);
    for (int64_t i = 0; i < cut->extent[axis]; ++i) stays[a][cut->order[axis][i]] = true;
  }
  HN_TRY(make_tensor(cut, value, shape->dim, &to));
  const int64_t count = hn_elems(shape);
  for (int64_t i = 0; i < count; ++i) {
    bool kept = true;
    hn_unflatten(shape, i, index);
    for (int a = 0; a < shape->rank; ++a) kept &= !stays[a] || stays[a][index[a]];
    if (kept) hn_copy_element(&to, i, from, i);
  }
  HN_TRY(put_constant(cut, value, &to));
  hn_arena_back(cut->arena, &mark);
  return HONE_OK;
}

hone_status hn_cut_mask(const hn_cut *cut) {
  const int count = cut->graph->value_count;
  bool *masked = HN_NEW(cut->arena, bool, count + 1);
  if (!masked) return no_memory(cut);
  for (hn_node *node = cut->graph->main->first; node; node = node->next) {
    const hn_prune_rule *rule = hn_prune_rule_of(node->op);
    for (int i = 0; rule && i < node->in_count && i < 32; ++i)
      if (rule->masked & 1u << i && node->in[i] && hn_value_is_constant(node->in[i])) masked[node->in[i]->id] = true;
  }
  for (int i = 0; i < count; ++i) {
    hn_value *value = cut->graph->values[i];
    if (masked[i] && is_cut(cut, value)) HN_TRY(mask_constant(cut, value));
  }
  return HONE_OK;
}

/* ---- what counts channels ---- */

hone_status hn_cut_set_ints(const hn_cut *cut, hn_node *node, int port, const int64_t *values) {
  const hn_value *old = node->in[port];
  const hone_type *type = &old->fact.type;
  hone_tensor tensor;
  HN_TRY(make_tensor(cut, old, type->shape.dim, &tensor)); /* of its type, also where it was computed */
  for (int64_t i = 0; i < hn_elems(&type->shape); ++i) hn_store_int(&tensor, i, values[i]);
  /* Other nodes may read the same numbers for what has another size. */
  hn_value *made = hn_constant_create(cut->graph, old->name, &tensor, false);
  if (!made) return HONE_NO_MEMORY;
  hn_node_set_input(node, port, made);
  if (hn_value_use_count(old) == 0) hn_value_swap_names(cut->graph, (hn_value *)(uintptr_t)old, made);
  return HONE_OK;
}

hone_status hn_cut_set_attr(const hn_cut *cut, hn_node *node, const char *name, int64_t value) {
  hone_attr *items = hn_arena_copy(&cut->graph->arena, node->attrs.items, (size_t)node->attrs.count * sizeof *items);
  if (!items) return no_memory(cut);
  for (int i = 0; i < node->attrs.count; ++i)
    if (strcmp(items[i].name, name) == 0) items[i].i = value;
  node->attrs.items = items;
  return HONE_OK;
}

/* ---- all of it ---- */

static hone_status compare(const hn_cut *cut) {
  const hn_coupling *c = cut->coupling;
  for (int i = 0; i < c->axis_count; ++i) {
    const hn_coupled_axis *axis = &c->axes[i];
    const hn_value *value = cut->graph->values[axis->value->id];
    if (!value->node || hn_value_use_count(value) == 0) continue;
    const hone_shape *shape = &value->fact.type.shape;
    if (axis->axis < shape->rank && shape->dim[axis->axis] == cut->extent[i]) continue;
    return HN_FAIL(&cut->graph->context->diag, HONE_UNSUPPORTED,
                   "node %s (%s): without the channels that go, its output %s has %lld places on axis %d, where %lld "
                   "were expected; its shape is computed in a way that does not follow the channels: keep the layers "
                   "before it",
                   value->node->name, value->node->op->name, value->name,
                   axis->axis < shape->rank ? (long long)shape->dim[axis->axis] : -1LL, axis->axis,
                   (long long)cut->extent[i]);
  }
  return HONE_OK;
}

hone_status hn_cut_apply(const hn_cut *cut) {
  hone_graph *graph = cut->graph;
  const int count = graph->value_count;
  for (hn_node *node = graph->main->first; node; node = node->next) {
    const hn_prune_rule *rule = hn_prune_rule_of(node->op);
    if (rule && rule->recut) HN_TRY(rule->recut(cut, node));
  }
  for (int i = 0; i < count; ++i) {
    hn_value *value = graph->values[i];
    if (hn_value_is_constant(value) && hn_value_use_count(value) > 0 && is_cut(cut, value))
      HN_TRY(cut_constant(cut, value));
  }
  for (int i = 0; i < graph->main->param_count; ++i) {
    hn_value *param = graph->main->params[i];
    for (int a = 0; a < param->fact.type.shape.rank; ++a) param->fact.type.shape.dim[a] = hn_cut_extent(cut, param, a);
  }
  HN_TRY_NOTE(&graph->context->diag, hn_infer_graph(graph), "without the channels that go");
  return compare(cut);
}
