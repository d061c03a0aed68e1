/* SPDX-License-Identifier: Apache-2.0 */
/* sequence_parts.c - which element of a sequence a step reads, and the nodes around the layer that takes the steps'
 * place. */
#include "pass/fusion.h"
#include "pass/sequences.h"
#include "pass/rule_help.h"

bool hn_is_op(const hn_node *node, const char *op) { return node && hn_name_equal(node->op->name, op); }

hn_value *hn_behind_views(hn_value *value) {
  while (value && value->node && (value->node->op->traits & HONE_ALIASES) && value->node->in[0])
    value = value->node->in[0];
  return value;
}

hn_value *hn_rnn_in(const hn_node *node, int index) { return index < node->in_count ? node->in[index] : NULL; }
hn_value *hn_rnn_out(const hn_node *node, int index) { return index < node->out_count ? node->out[index] : NULL; }

bool hn_is_step(const hn_node *node) {
  if (!hn_is_op(node, "lstm") && !hn_is_op(node, "gru")) return false;
  const hone_shape *x = &node->in[HN_RNN_X]->fact.type.shape;
  return hn_shape_known(x) && x->dim[0] == 1 && !hn_rnn_in(node, HN_RNN_LENGTHS) && hn_rnn_in(node, HN_RNN_H) &&
         (hn_rnn_in(node, HN_RNN_C) || hn_is_op(node, "gru")) && !hn_rnn_in(node, HN_RNN_C + 1) &&
         hn_attr_int(&node->attrs, "layout") == 0 && hn_name_equal(hn_attr_text(&node->attrs, "direction"), "forward");
}

bool hn_is_state(hn_value *value, const hn_node *node, bool c) {
  const hn_value *source = hn_behind_views(value);
  if (!source || source->node != node) return false;
  return c ? source->out_index == HN_RNN_Y_C : source->out_index == HN_RNN_Y || source->out_index == HN_RNN_Y_H;
}

/* ---- places ---- */

static bool one_index(const hn_value *value, int64_t *out) {
  if (!value || !value->fact.value || value->fact.value_count != 1 || HONE_SYMBOLIC(value->fact.value[0])) return false;
  *out = value->fact.value[0];
  return true;
}

/* Of a gather, or of a split's part. */
static bool find_along(const hn_node *node, const hn_value *value, hn_element *out) {
  int64_t axis = hn_attr_int(&node->attrs, "axis");
  if (axis < 0) axis += out->from->fact.type.shape.rank;
  out->axis = (int)axis;
  if (hn_is_op(node, "gather")) return one_index(hn_rnn_in(node, 1), &out->at);
  out->at = 0;
  for (int i = 0; i < value->out_index; ++i) {
    if (!node->out[i]) return false;
    out->at += node->out[i]->fact.type.shape.dim[axis];
  }
  return value->fact.type.shape.dim[axis] == 1;
}

static bool find_slice(const hn_node *node, hn_element *out) {
  const hn_value *axes = hn_rnn_in(node, 3);
  int64_t axis = 0;
  if (!one_index(hn_rnn_in(node, 1), &out->at) || (axes && !one_index(axes, &axis))) return false;
  if (axis < 0) axis += out->from->fact.type.shape.rank;
  out->axis = (int)axis;
  return node->out[0]->fact.type.shape.dim[axis] == 1;
}

bool hn_element_extents(hn_element *place) {
  const hone_shape *from = &place->from->fact.type.shape;
  if (!hn_shape_known(from) || place->axis < 0 || place->axis >= from->rank) return false;
  place->outer = place->inner = 1;
  for (int i = 0; i < from->rank; ++i)
    if (i != place->axis) *(i < place->axis ? &place->outer : &place->inner) *= from->dim[i];
  return true;
}

bool hn_find_element(hn_value *value, hn_element *out) {
  value = hn_behind_views(value);
  const hn_node *node = value->node;
  if (!hn_is_op(node, "gather") && !hn_is_op(node, "slice") && !hn_is_op(node, "split")) return false;
  *out = (hn_element){.from = node->in[0]};
  if (!hn_shape_known(&out->from->fact.type.shape) || !hn_shape_known(&value->fact.type.shape)) return false;
  if (!(hn_is_op(node, "slice") ? find_slice(node, out) : find_along(node, value, out))) return false;
  if (!hn_element_extents(out)) return false;
  const int64_t extent = out->from->fact.type.shape.dim[out->axis];
  if (out->at < 0) out->at += extent;
  return out->at >= 0 && out->at < extent && hn_elems(&value->fact.type.shape) == out->outer * out->inner;
}

/* ---- making ---- */

static hone_status make(const hn_sequence_maker *m, const char *op, int in_count, hn_value *const *in,
                        const hone_attr *attr, hn_value **out) {
  const hn_node_spec spec = {.op = hn_op_find(m->run->context->ops, op),
                             .attrs = {attr != NULL, attr},
                             .in_count = in_count,
                             .out_count = 1,
                             .in = in,
                             .origins = m->origins,
                             .before = m->before};
  hn_node *node;
  HN_TRY(hn_node_create(m->before->owner, &spec, &node));
  *out = node->out[0];
  return HONE_OK;
}

hone_status hn_make_view(const hn_sequence_maker *m, const hone_shape *shape, hn_value **x) {
  hn_node *view;
  if (hn_shape_equal(&(*x)->fact.type.shape, shape)) return HONE_OK;
  HN_TRY(hn_view_create(m->run, m->before, *x, shape, &view));
  *x = view->out[0];
  return HONE_OK;
}

static hone_status view_as(const hn_sequence_maker *m, int64_t a, int64_t b, int64_t c, hn_value **x) {
  const int64_t dims[3] = {a, b, c};
  const hone_shape shape = hn_shape(3, dims);
  return hn_make_view(m, &shape, x);
}

hone_status hn_make_slice(const hn_sequence_maker *m, int64_t axis, int64_t begin, int64_t end, hn_value **x) {
  if (begin == 0 && end == (*x)->fact.type.shape.dim[axis]) return HONE_OK;
  hone_graph *graph = m->run->graph;
  hn_value *in[4] = {*x, hn_constant_int(graph, NULL, 1, 1, &begin), hn_constant_int(graph, NULL, 1, 1, &end),
                     hn_constant_int(graph, NULL, 1, 1, &axis)};
  if (!in[1] || !in[2] || !in[3]) return HONE_NO_MEMORY;
  return make(m, "slice", 4, in, NULL, x);
}

hone_status hn_make_swapped(const hn_sequence_maker *m, int64_t a, int64_t b, int64_t c, hn_value **x) {
  static const int64_t order[3] = {1, 0, 2};
  const hone_attr perm = {.name = "perm", .kind = HONE_ATTR_INTS, .count = 3, .ints = order};
  if (a == 1 || b == 1) return view_as(m, b, a, c, x);
  HN_TRY(view_as(m, a, b, c, x));
  return make(m, "transpose", 1, x, &perm, x);
}

hone_status hn_make_sequence(const hn_sequence_maker *m, const hn_element *p, int64_t count, const hone_shape *step,
                             hn_value **x) {
  *x = p->from;
  HN_TRY(hn_make_slice(m, p->axis, p->at, p->at + count, x));
  if (p->outer > 1) HN_TRY(hn_make_swapped(m, p->outer, count, p->inner, x));
  return view_as(m, count, step->dim[1], step->dim[2], x);
}

hone_status hn_make_recurrent(const hn_sequence_maker *m, hn_node *step, hn_value *const x_h_c[3], bool backwards,
                              const bool wants[3], hn_node **out, const char **out_unmet) {
  const bool is_lstm = hn_is_op(step, "lstm");
  hn_value *in[] = {x_h_c[0], step->in[HN_RNN_W], step->in[HN_RNN_R], hn_rnn_in(step, HN_RNN_B), NULL, x_h_c[1],
                    x_h_c[2]};
  const char *names[3];
  hone_attr attrs[HONE_MAX_ATTRS];
  for (int i = 0; i < 3; ++i) names[i] = wants[i] ? NULL : "";
  for (int i = 0; i < step->attrs.count; ++i) {
    attrs[i] = step->attrs.items[i];
    if (!hn_name_equal(attrs[i].name, "direction")) continue;
    attrs[i].s = backwards ? "reverse" : "forward";
    attrs[i].count = 7;
  }
  const hn_node_spec spec = {.op = step->op,
                             .name = step->name,
                             .attrs = {step->attrs.count, attrs},
                             .in_count = is_lstm ? HN_RNN_C + 1 : HN_RNN_C,
                             .out_count = is_lstm ? HN_RNN_Y_C + 1 : HN_RNN_Y_C,
                             .in = in,
                             .out_names = names,
                             .origins = m->origins,
                             .before = m->before};
  HN_TRY(hn_node_create(m->before->owner, &spec, out));
  return hn_fusion_target_check(m->run, *out, &step, 1, out_unmet);
}
