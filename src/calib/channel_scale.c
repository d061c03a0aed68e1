/* SPDX-License-Identifier: Apache-2.0 */
/* channel_scale.c - factors of channels: what activations were seen to reach, the choice, and the constants that take
 * them in. */
#include "calib/channel_roles.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <math.h>
#include <string.h>

static const double most_scale = 8, least_scale = 0.01; /* channels that were seen to do little may do more elsewhere */

static const double bound_margin = 2; /* a bound stays so many times beyond what was seen: others reach further */

/* Channel i of n along an axis: [outer][n][inner]. */
typedef struct extents {
  int64_t outer, count, inner;
} extents;

static extents extents_of(const hone_shape *shape, int axis) {
  extents e = {1, shape->dim[axis], 1};
  for (int i = 0; i < shape->rank; ++i)
    if (i != axis) *(i < axis ? &e.outer : &e.inner) *= shape->dim[i];
  return e;
}

void hn_channels_see(hn_channels *c, const hn_value *value, const hone_tensor *tensor) {
  const int axis = c->axis[value->id];
  if (axis < 0) return;
  const extents e = extents_of(&tensor->type.shape, axis);
  const float *x = tensor->data;
  for (int64_t k = 0; k < e.count; ++k) {
    float low = HUGE_VALF, high = -HUGE_VALF;
    for (int64_t o = 0; o < e.outer; ++o)
      for (int64_t i = 0; i < e.inner; ++i) {
        const float number = x[(o * e.count + k) * e.inner + i];
        low = number < low ? number : low;
        high = number > high ? number : high;
      }
    if (!(high >= low)) continue;
    const float most = fmaxf(fabsf(low), fabsf(high));
    const int64_t channel = c->first[value->id] + k;
    c->reach[channel] += (double)most;
    c->middle[channel] += ((double)low + (double)high) / 2;
    c->most[channel] = fmax(c->most[channel], (double)most);
  }
}

/* ---- the choice ---- */

static bool any_but_one(const hn_channels *c) {
  for (int64_t i = 0; i < c->count; ++i)
    if (hn_channel_class(c, i) == i && c->scale[i] != 1) return true;
  return false;
}

/* Behind a bound factors are at most what brings the largest magnitude seen near it: the bound then cuts nothing. */
static void limit_by_bounds(const hn_channels *c) {
  for (const hn_node *node = c->graph->main->first; node; node = node->next) {
    if (strcmp(node->op->name, "clip") != 0 || c->axis[node->out[0]->id] < 0) continue;
    const hn_value *high = node->in_count > 2 ? node->in[2] : NULL;
    if (!high) continue;
    const double bound = hn_real(high->fact.constant, 0);
    const int64_t first = c->first[node->out[0]->id],
                  count = node->out[0]->fact.type.shape.dim[c->axis[node->out[0]->id]];
    for (int64_t k = first; k < first + count; ++k) {
      double *limit = &c->limit[hn_channel_class(c, k)];
      *limit = fmin(*limit, c->most[k] > 0 ? fmax(bound / (bound_margin * c->most[k]), 1) : 1);
    }
  }
}

bool hn_channels_equalise(hn_channels *c, const hn_sites *sites, double power) {
  for (int64_t i = 0; i < c->count; ++i) c->limit[i] = HUGE_VAL, c->scale[i] = most_scale;
  limit_by_bounds(c);
  for (int s = 0; s < sites->count; ++s) {
    const hn_value *value = sites->items[s].value;
    const int axis = c->axis[value->id];
    if (axis < 0) continue;
    const int64_t first = c->first[value->id], count = value->fact.type.shape.dim[axis];
    double widest = 0;
    for (int64_t k = first; k < first + count; ++k) widest = fmax(widest, c->reach[k]);
    for (int64_t k = first; k < first + count; ++k) {
      double *scale = &c->scale[hn_channel_class(c, k)];
      *scale = fmin(*scale, c->reach[k] > 0 ? pow(widest / c->reach[k], power) : 1);
    }
  }
  for (int64_t i = 0; i < c->count; ++i) {
    if (hn_channel_class(c, i) != i) continue;
    c->scale[i] = c->fixed[i] || c->scale[i] == most_scale ? 1 : fmin(c->scale[i], c->limit[i]);
  }
  return any_but_one(c);
}

/* The largest weight that meets each channel. */
static void see_weights(const hn_channels *c, double *out) {
  for (const hn_node *node = c->graph->main->first; node; node = node->next) {
    if (hn_channel_role_of(c, node) != HN_CHANNEL_PRODUCT || c->axis[node->in[0]->id] < 0) continue;
    if (hn_channel_has_taps(node)) continue; /* a normalisation's channels lie along the last axis */
    const hone_tensor *w = node->in[1]->fact.constant;
    const extents e = extents_of(&w->type.shape, 1 - hn_quant_axis(node));
    for (int64_t k = 0; k < e.count; ++k) {
      double *most = &out[hn_channel_class(c, c->first[node->in[0]->id] + k)];
      for (int64_t o = 0; o < e.outer; ++o)
        for (int64_t i = 0; i < e.inner; ++i)
          *most = fmax(*most, (double)fabsf(((const float *)w->data)[(o * e.count + k) * e.inner + i]));
    }
  }
}

bool hn_channels_smooth(hn_channels *c, double power) {
  double *weights = HN_NEW(c->arena, double, c->count + 1);
  if (!weights) return false;
  see_weights(c, weights);
  for (int64_t i = 0; i < c->count; ++i) c->scale[i] = 1;
  for (int64_t i = 0; i < c->count; ++i) {
    const int64_t root = hn_channel_class(c, i);
    if (c->fixed[root] || !c->normed[root] || !(c->most[i] > 0) || !(weights[root] > 0)) continue;
    c->scale[root] = fmin(fmax(pow(weights[root], 1 - power) / pow(c->most[i], power), least_scale), most_scale);
  }
  return any_but_one(c);
}

/* ---- constants ---- */

static double scale_at(const hn_channels *c, const hn_value *value, int64_t k) {
  return c->axis[value->id] < 0 ? 1 : c->scale[hn_channel_class(c, c->first[value->id] + k)];
}

static bool is_scaled(const hn_channels *c, const hn_value *value) {
  if (c->axis[value->id] < 0) return false;
  for (int64_t k = 0; k < value->fact.type.shape.dim[c->axis[value->id]]; ++k)
    if (scale_at(c, value, k) != 1) return true;
  return false;
}

bool hn_channels_changed(const hn_channels *c, const hn_value *value) {
  bool changed = is_scaled(c, value);
  for (int64_t k = 0; c->shifts[value->id] && k < value->fact.type.shape.dim[c->axis[value->id]]; ++k)
    changed |= c->shift[c->first[value->id] + k] != 0;
  return changed;
}

void hn_channels_remember(const hn_channels *c, hn_channels *clone) {
  clone->samples = c->samples;
  for (int i = 0; i < c->value_count && clone->count == c->count; ++i) {
    const hn_value *value = c->graph->values[i];
    if (c->axis[i] < 0 || hn_channels_changed(c, value)) continue;
    const int64_t count = value->fact.type.shape.dim[c->axis[i]];
    for (int64_t k = c->first[i]; k < c->first[i] + count; ++k) {
      clone->reach[k] = c->reach[k];
      clone->most[k] = c->most[k];
      clone->middle[k] = c->middle[k];
    }
  }
}

/* Input `port` of a node gets a scaled copy: along one axis by the value's factors, along another (-1: none) by the
 * reciprocals of another value's, whose channels begin anew with each group. */
typedef struct scaling {
  int axis, reader_axis;
  const hn_value *value, *read;
  int64_t groups;
} scaling;

static hone_status scale_constant(const hn_channels *c, hn_node *node, int port, const scaling *how) {
  const hone_tensor *from = node->in[port]->fact.constant;
  const int64_t count = hn_elems(&from->type.shape);
  float *to = hn_arena_alloc(c->arena, (size_t)count * sizeof *to + 1, 64);
  if (!to) return HN_FAIL_MEMORY(&c->graph->context->diag);
  const extents e = extents_of(&from->type.shape, how->axis);
  const extents r = how->reader_axis < 0 ? (extents){1, 1, 1} : extents_of(&from->type.shape, how->reader_axis);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t output = i / e.inner % e.count, input = i / r.inner % r.count;
    double factor = how->value ? scale_at(c, how->value, output) : 1;
    if (how->read) factor /= scale_at(c, how->read, output / (e.count / how->groups) * r.count + input);
    to[i] = (float)((double)((const float *)from->data)[i] * factor);
  }
  hone_tensor tensor = *from;
  tensor.data = to;
  hn_value *made = hn_constant_create(c->graph, node->in[port]->name, &tensor, false);
  if (!made) return HONE_NO_MEMORY;
  hn_node_set_input(node, port, made);
  return HONE_OK;
}

/* A vector of one number for each channel, whatever its shape. */
static hone_status scale_vector(const hn_channels *c, hn_node *node, int port) {
  if (port >= node->in_count || !node->in[port]) return HONE_OK;
  const hone_shape *shape = &node->in[port]->fact.type.shape;
  int axis = 0;
  for (int i = 0; i < shape->rank; ++i)
    if (shape->dim[i] > 1) axis = i;
  const scaling how = {.axis = axis, .reader_axis = -1, .value = node->out[0], .groups = 1};
  return scale_constant(c, node, port, &how);
}

static hone_status scale_product(const hn_channels *c, hn_node *node) {
  const bool taps = hn_channel_has_taps(node);
  const int axis = hn_quant_axis(node);
  const scaling how = {.axis = axis,
                       .reader_axis = taps ? 1 : 1 - axis,
                       .value = is_scaled(c, node->out[0]) ? node->out[0] : NULL,
                       .read = is_scaled(c, node->in[0]) ? node->in[0] : NULL,
                       .groups = taps ? hn_attr_int(&node->attrs, "group") : 1};
  if (!how.value && !how.read) return HONE_OK;
  HN_TRY(scale_constant(c, node, 1, &how));
  return how.value ? scale_vector(c, node, 2) : HONE_OK;
}

static hone_status apply_factors(const hn_channels *c) {
  for (hn_node *node = c->graph->main->first; node; node = node->next) {
    const hn_channel_role role = hn_channel_role_of(c, node);
    if (role == HN_CHANNEL_PRODUCT) {
      HN_TRY(scale_product(c, node));
    } else if (role == HN_CHANNEL_NORM && is_scaled(c, node->out[0])) {
      HN_TRY(scale_vector(c, node, 1));
      HN_TRY(scale_vector(c, node, 2));
    } else if (role == HN_CHANNEL_SUM && is_scaled(c, node->out[0])) {
      const hn_value *out = node->out[0];
      for (int i = 0; i < node->in_count; ++i) {
        if (!hn_value_is_constant(node->in[i])) continue;
        const int missing = out->fact.type.shape.rank - node->in[i]->fact.type.shape.rank;
        const scaling how = {.axis = c->axis[out->id] - missing, .reader_axis = -1, .value = out, .groups = 1};
        HN_TRY(scale_constant(c, node, i, &how));
      }
    }
  }
  return HONE_OK;
}

hone_status hn_channels_apply(const hn_channels *c) {
  HN_TRY(apply_factors(c));
  return hn_channels_apply_shifts(c);
}
