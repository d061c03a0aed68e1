/* SPDX-License-Identifier: Apache-2.0 */
/* channel_shift.c - channels of values that nothing but sums and products reads may be shifted: the maker's bias takes
 * the shift in, the readers' biases take it out. Moved to the middle of what they reach, channels need less room
 * together while weights stay as they are. */
#include "calib/channel_roles.h"
#include "tensor/attrs.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <math.h>
#include <string.h>

static int64_t channels_of(const hn_channels *c, const hn_value *value) {
  return c->axis[value->id] < 0 ? 0 : value->fact.type.shape.dim[c->axis[value->id]];
}

/* It has a bias, or may get one. */
static bool takes_bias(const hn_channels *c, const hn_node *node) {
  return node && hn_channel_role_of(c, node) == HN_CHANNEL_PRODUCT && strcmp(node->op->name, "matmul") != 0;
}

/* A border of zeros would not be shifted. */
static bool has_border(const hn_node *node) {
  if (strcmp(node->op->name, "conv") != 0) return false;
  const char *pad = hn_attr_text(&node->attrs, "auto_pad");
  return strncmp(pad, "SAME", 4) == 0 || !hn_attr_ints_are(&node->attrs, "pads", 0);
}

static bool is_sum(const hn_channels *c, const hn_node *node) {
  return node && hn_channel_role_of(c, node) == HN_CHANNEL_SUM && node->in_count == 2 &&
         !hn_value_is_constant(node->in[0]) && !hn_value_is_constant(node->in[1]);
}

static bool stays(const hn_channels *c, const hn_value *value) {
  const hn_node *node = value->node;
  if (is_sum(c, node) && !(c->shifts[node->in[0]->id] && c->shifts[node->in[1]->id])) return false;
  for (const hn_use *use = value->uses; use; use = use->next) {
    if (!use->node || use->node->owner != c->graph->main) return false;
    if (is_sum(c, use->node) && c->shifts[use->node->out[0]->id]) continue;
    if (!takes_bias(c, use->node) || use->index != 0 || has_border(use->node) ||
        c->axis[value->id] != hn_channel_axis_read(use->node, value))
      return false;
  }
  return true;
}

hone_status hn_channels_find_shifts(hn_channels *c) {
  c->shifts = HN_NEW(c->arena, bool, c->graph->value_count + 1);
  if (!c->shifts) return HN_FAIL_MEMORY(&c->graph->context->diag);
  for (const hn_node *node = c->graph->main->first; node; node = node->next)
    if (node->out_count > 0 && node->out[0] && c->axis[node->out[0]->id] >= 0)
      c->shifts[node->out[0]->id] = takes_bias(c, node) || is_sum(c, node);
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < c->value_count; ++i)
      if (c->shifts[i] && !stays(c, c->graph->values[i])) c->shifts[i] = false, changed = true;
  }
  return HONE_OK;
}

bool hn_channels_align(hn_channels *c, const hn_sites *sites) {
  bool any = false;
  for (const hn_node *node = c->graph->main->first; node; node = node->next) {
    const hn_value *out = node->out_count > 0 ? node->out[0] : NULL;
    if (!out || !c->shifts[out->id]) continue;
    for (int64_t k = 0; k < channels_of(c, out); ++k) {
      const int64_t at = c->first[out->id] + k;
      if (is_sum(c, node))
        c->shift[at] = c->shift[c->first[node->in[0]->id] + k] + c->shift[c->first[node->in[1]->id] + k];
      else
        c->shift[at] = sites->of[out->id] >= 0 && c->samples > 0 ? -c->middle[at] / (double)c->samples : 0;
      any |= c->shift[at] != 0;
    }
  }
  return any;
}

/* ---- biases ---- */

/* What the input's shifts add to output o, by the node's weights as they are now. */
static double seen_through(const hn_channels *c, const hn_node *node, int64_t o) {
  const hn_value *x = node->in[0];
  const hone_tensor *w = node->in[1]->fact.constant;
  const hone_shape *shape = &w->type.shape;
  const bool conv = strcmp(node->op->name, "conv") == 0, rows = hn_quant_axis(node) == 0;
  const int64_t outputs = shape->dim[hn_quant_axis(node)], inner = hn_elems(shape) / outputs;
  const int64_t groups = conv ? hn_attr_int(&node->attrs, "group") : 1, taps = conv ? inner / shape->dim[1] : 1;
  const int64_t first = c->first[x->id] + o / (outputs / groups) * (inner / taps);
  double sum = 0;
  for (int64_t i = 0; i < inner; ++i)
    sum += (double)((const float *)w->data)[rows ? o * inner + i : i * outputs + o] * c->shift[first + i / taps];
  return sum;
}

hone_status hn_channels_apply_shifts(const hn_channels *c) {
  for (hn_node *node = c->graph->main->first; node; node = node->next) {
    if (!takes_bias(c, node)) continue;
    const bool reads = c->axis[node->in[0]->id] >= 0 && c->shifts[node->in[0]->id];
    const bool makes = c->shifts[node->out[0]->id];
    if (!reads && !makes) continue;
    const hn_value *old = node->in_count > 2 ? node->in[2] : NULL;
    const int64_t outputs = node->in[1]->fact.type.shape.dim[hn_quant_axis(node)];
    float *bias = hn_arena_alloc(c->arena, (size_t)outputs * sizeof *bias + 1, 64);
    if (!bias) return HN_FAIL_MEMORY(&c->graph->context->diag);
    for (int64_t o = 0; o < outputs; ++o) {
      double b = old ? hn_real(old->fact.constant, o) : 0;
      if (reads) b -= seen_through(c, node, o);
      if (makes) b += c->shift[c->first[node->out[0]->id] + o];
      bias[o] = (float)b;
    }
    const char *name = old ? old->name : hn_arena_printf(c->arena, "%s_bias", node->in[1]->name);
    const hone_tensor tensor = hn_tensor_over(HONE_F32, 1, &outputs, bias);
    hn_value *made = name ? hn_constant_create(c->graph, name, &tensor, false) : NULL;
    if (!made) return HN_FAIL_MEMORY(&c->graph->context->diag);
    if (node->in_count == 2)
      HN_TRY(hn_node_add_input(node, made));
    else
      hn_node_set_input(node, 2, made);
  }
  return HONE_OK;
}
