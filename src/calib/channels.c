/* SPDX-License-Identifier: Apache-2.0 */
/* channels.c - which channels have one factor, and which none. */
#include "calib/channels.h"
#include "calib/channel_roles.h"
#include "tensor/attrs.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <math.h>
#include <string.h>

static const struct role_row {
  const char *op;
  hn_channel_role role;
  bool has_taps; /* a product whose weights have them: channels lie along axis 1, those of others along the last */
} roles[] = {{.op = "conv", .role = HN_CHANNEL_PRODUCT, .has_taps = true},
             {.op = "gemm", .role = HN_CHANNEL_PRODUCT},
             {.op = "matmul", .role = HN_CHANNEL_PRODUCT},
             {.op = "layer_norm", .role = HN_CHANNEL_NORM},
             {.op = "add", .role = HN_CHANNEL_SUM},
             {.op = "concat", .role = HN_CHANNEL_JOIN},
             {.op = "relu", .role = HN_CHANNEL_SAME},
             {.op = "leaky_relu", .role = HN_CHANNEL_SAME},
             {.op = "clip", .role = HN_CHANNEL_SAME},
             {.op = "max_pool", .role = HN_CHANNEL_SAME},
             {.op = "average_pool", .role = HN_CHANNEL_SAME},
             {.op = "global_average_pool", .role = HN_CHANNEL_SAME},
             {.op = "global_max_pool", .role = HN_CHANNEL_SAME},
             {.op = "reduce_mean", .role = HN_CHANNEL_SAME},
             {.op = "reshape", .role = HN_CHANNEL_SAME},
             {.op = "flatten", .role = HN_CHANNEL_SAME},
             {.op = "squeeze", .role = HN_CHANNEL_SAME},
             {.op = "identity", .role = HN_CHANNEL_SAME}};

static const struct role_row *role_row_of(const hn_node *node) {
  for (size_t i = 0; i < HN_COUNT(roles); ++i)
    if (strcmp(roles[i].op, node->op->name) == 0) return &roles[i];
  return NULL;
}

bool hn_channel_has_taps(const hn_node *product) {
  const struct role_row *row = role_row_of(product);
  return row && row->has_taps;
}

static bool is_real(const hn_value *value) {
  return value && value->fact.type.kind == HONE_TENSOR && value->fact.type.dtype == HONE_F32 &&
         value->fact.type.shape.rank > 0;
}

static bool is_free(const hn_value *value) { return is_real(value) && !hn_value_is_constant(value); }

static bool is_vector(const hn_value *value, int64_t count) {
  return !value || (is_real(value) && hn_value_is_constant(value) && hn_elems(&value->fact.type.shape) == count);
}

static int last_axis(const hn_value *value) { return value->fact.type.shape.rank - 1; }

/* Constant weights, and a bias of one number for each output. */
static bool is_product(const hn_node *node) {
  const hn_value *w = node->in_count > 1 ? node->in[1] : NULL, *b = node->in_count > 2 ? node->in[2] : NULL;
  if (!is_free(node->in[0]) || !is_real(w) || !hn_value_is_constant(w)) return false;
  const hone_shape *shape = &w->fact.type.shape;
  if (hn_channel_has_taps(node) ? shape->rank < 3 : shape->rank != 2) return false;
  if (strcmp(node->op->name, "gemm") == 0 &&
      (hn_attr_float(&node->attrs, "alpha") != 1 || hn_attr_float(&node->attrs, "beta") != 1 ||
       hn_attr_int(&node->attrs, "transA")))
    return false;
  return is_vector(b, shape->dim[hn_quant_axis(node)]) && !(node->in_count > 3 && node->in[3]);
}

/* What a factor cannot pass through: a bound below zero, or one that is no number known beforehand. */
static bool is_half_bound(const hn_node *node) {
  const hn_value *low = node->in_count > 1 ? node->in[1] : NULL, *high = node->in_count > 2 ? node->in[2] : NULL;
  if (low && (!hn_value_is_constant(low) || hn_real(low->fact.constant, 0) != 0)) return false;
  return !high || (hn_value_is_constant(high) && hn_real(high->fact.constant, 0) > 0);
}

static bool reduces_others(const hn_node *node, int axis) {
  const hn_value *axes = node->in_count > 1 ? node->in[1] : NULL;
  if (!axes || !axes->fact.value) return false;
  for (int64_t i = 0; i < axes->fact.value_count; ++i) {
    const int64_t at = axes->fact.value[i];
    if ((at < 0 ? at + node->in[0]->fact.type.shape.rank : at) <= axis) return false; /* the axis keeps its place */
  }
  return true;
}

/* How many numbers lie between two neighbours of an axis; 0: not known. */
static int64_t behind(const hone_shape *shape, int axis) {
  int64_t count = 1;
  for (int i = axis + 1; i < shape->rank; ++i) {
    if (shape->dim[i] <= 0) return 0;
    count *= shape->dim[i];
  }
  return count;
}

/* The same numbers under another shape: where its channels lie now. */
static int axis_in_shape(const hn_node *node, int axis) {
  const hone_shape *from = &node->in[0]->fact.type.shape, *to = &node->out[0]->fact.type.shape;
  const int64_t inner = behind(from, axis);
  for (int i = 0; i < to->rank && inner > 0; ++i)
    if (to->dim[i] == from->dim[axis] && behind(to, i) == inner) return i;
  return -1;
}

static int axis_through(const hn_channels *c, const hn_node *node) {
  const hn_value *out = node->out[0];
  int axis = -1;
  for (int i = 0; i < node->in_count && axis < 0; ++i)
    if (is_free(node->in[i])) axis = c->axis[node->in[i]->id];
  if (axis < 0) return -1;
  const char *op = node->op->name;
  if (strcmp(op, "clip") == 0 && !is_half_bound(node)) return -1;
  if (strcmp(op, "reduce_mean") == 0 && !reduces_others(node, axis)) return -1;
  if (strcmp(op, "concat") == 0)
    for (int i = 0; i < node->in_count; ++i)
      if (!is_free(node->in[i]) || c->axis[node->in[i]->id] != axis) return -1;
  if (strcmp(op, "add") == 0)
    for (int i = 0; i < node->in_count; ++i) {
      const hone_shape *shape = &node->in[i]->fact.type.shape;
      const int at = axis - (out->fact.type.shape.rank - shape->rank);
      if (!is_real(node->in[i]) || at < 0 || shape->dim[at] != out->fact.type.shape.dim[axis]) return -1;
      if (is_free(node->in[i]) && (at != axis || c->axis[node->in[i]->id] != axis)) return -1;
    }
  if (node->op->traits & HONE_ALIASES) return axis_in_shape(node, axis);
  return axis < out->fact.type.shape.rank ? axis : -1;
}

hn_channel_role hn_channel_role_of(const hn_channels *c, const hn_node *node) {
  const struct role_row *row = node->owner == c->graph->main ? role_row_of(node) : NULL;
  hn_channel_role role = row ? row->role : HN_CHANNEL_FIXED;
  if (role == HN_CHANNEL_PRODUCT && !is_product(node)) role = HN_CHANNEL_FIXED;
  if (role == HN_CHANNEL_NORM) {
    const int64_t axis = hn_attr_int(&node->attrs, "axis"), last = last_axis(node->in[0]);
    const int64_t count = is_free(node->in[0]) ? node->in[0]->fact.type.shape.dim[last] : -1;
    if ((axis != -1 && axis != last) || count <= 0 || !is_vector(node->in[1], count) || node->out_count != 1 ||
        (node->in_count > 2 && !is_vector(node->in[2], count)))
      role = HN_CHANNEL_FIXED;
  }
  return role;
}

static int axis_of_output(const hn_channels *c, const hn_node *node) {
  const hn_value *out = node->out[0];
  if (!is_real(out)) return -1;
  int axis = -1;
  switch (hn_channel_role_of(c, node)) {
  case HN_CHANNEL_FIXED: return -1;
  case HN_CHANNEL_PRODUCT: axis = hn_channel_axis_read(node, out); break;
  case HN_CHANNEL_NORM: axis = last_axis(out); break;
  case HN_CHANNEL_SAME:
  case HN_CHANNEL_SUM:
  case HN_CHANNEL_JOIN: axis = axis_through(c, node); break;
  }
  return axis >= 0 && out->fact.type.shape.dim[axis] > 0 ? axis : -1;
}

int hn_channel_axis_read(const hn_node *product, const hn_value *value) {
  return hn_channel_has_taps(product) ? 1 : last_axis(value);
}

/* ---- classes ---- */

int64_t hn_channel_class(const hn_channels *c, int64_t channel) {
  while (c->parent[channel] != channel) channel = c->parent[channel] = c->parent[c->parent[channel]];
  return channel;
}

static void unite(const hn_channels *c, int64_t a, int64_t b) {
  a = hn_channel_class(c, a), b = hn_channel_class(c, b);
  if (a == b) return;
  c->parent[b] = a;
  c->fixed[a] |= c->fixed[b];
  c->normed[a] |= c->normed[b];
}

static int64_t channels_of(const hn_channels *c, const hn_value *value) {
  return c->axis[value->id] < 0 ? 0 : value->fact.type.shape.dim[c->axis[value->id]];
}

static void fix(const hn_channels *c, const hn_value *value) {
  for (int64_t i = 0; i < channels_of(c, value); ++i) c->fixed[hn_channel_class(c, c->first[value->id] + i)] = true;
}

static void unite_node(const hn_channels *c, const hn_node *node) {
  const hn_channel_role role = hn_channel_role_of(c, node);
  const hn_value *out = node->out_count > 0 ? node->out[0] : NULL;
  const bool through = out && c->axis[out->id] >= 0;
  int64_t at = 0;
  for (int i = 0; i < node->in_count; ++i) {
    const hn_value *in = node->in[i];
    if (!in || hn_value_is_constant(in) || c->axis[in->id] < 0) continue;
    const int64_t count = channels_of(c, in);
    if (role == HN_CHANNEL_PRODUCT && i == 0 && c->axis[in->id] == hn_channel_axis_read(node, in)) continue;
    if (!through || role == HN_CHANNEL_FIXED || role == HN_CHANNEL_PRODUCT || role == HN_CHANNEL_NORM) {
      fix(c, in);
      continue;
    }
    const bool joins = role == HN_CHANNEL_JOIN && hn_channel_joins(node, c->axis[out->id]);
    for (int64_t k = 0; k < count; ++k) unite(c, c->first[out->id] + at + k, c->first[in->id] + k);
    if (joins) at += count;
  }
  for (int64_t k = 0; through && role == HN_CHANNEL_NORM && k < channels_of(c, out); ++k)
    c->normed[hn_channel_class(c, c->first[out->id] + k)] = true;
}

bool hn_channel_joins(const hn_node *concat, int axis) {
  const int64_t along = hn_attr_int(&concat->attrs, "axis");
  return (along < 0 ? along + concat->out[0]->fact.type.shape.rank : along) == axis;
}

hone_status hn_channels_find(hone_graph *graph, hn_arena *arena, hn_channels *out) {
  hone_diagnostics *diag = &graph->context->diag;
  *out = (hn_channels){.graph = graph, .arena = arena, .value_count = graph->value_count};
  out->axis = HN_NEW(arena, int, graph->value_count + 1);
  out->first = HN_NEW(arena, int64_t, graph->value_count + 1);
  if (!out->axis || !out->first) return HN_FAIL_MEMORY(diag);
  for (int i = 0; i < graph->value_count; ++i) out->axis[i] = -1;
  for (const hn_node *node = graph->main->first; node; node = node->next) {
    if (node->out_count == 0) continue;
    hn_value *value = node->out[0];
    if (!value || (out->axis[value->id] = axis_of_output(out, node)) < 0) continue;
    out->first[value->id] = out->count;
    out->count += channels_of(out, value);
  }
  out->parent = HN_NEW(arena, int64_t, out->count + 1);
  out->fixed = HN_NEW(arena, bool, out->count + 1);
  out->normed = HN_NEW(arena, bool, out->count + 1);
  out->limit = HN_NEW(arena, double, out->count + 1);
  out->reach = HN_NEW(arena, double, out->count + 1);
  out->most = HN_NEW(arena, double, out->count + 1);
  out->scale = HN_NEW(arena, double, out->count + 1);
  out->middle = HN_NEW(arena, double, out->count + 1);
  out->shift = HN_NEW(arena, double, out->count + 1);
  if (!out->parent || !out->fixed || !out->normed || !out->limit || !out->reach || !out->most || !out->scale ||
      !out->middle || !out->shift)
    return HN_FAIL_MEMORY(diag);
  for (int64_t i = 0; i < out->count; ++i) out->parent[i] = i, out->scale[i] = 1;
  for (const hn_node *node = graph->main->first; node; node = node->next) unite_node(out, node);
  for (int i = 0; i < graph->main->result_count; ++i) fix(out, graph->main->results[i]);
  return hn_channels_find_shifts(out);
}
