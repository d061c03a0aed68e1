/* SPDX-License-Identifier: Apache-2.0 */
/* scans.c - what is left of Scan runs as a Loop: the body gathers its slices by the number of the turn, and what is
 * stacked along another axis, or backwards, is turned round behind the loop. A loop is what the runtime has. */
#include "pass/pipeline.h"
#include "pass/passes.h"
#include "tensor/shape.h"

typedef struct scan {
  hone_graph *graph;
  hn_node *node, *loop;
  int states, scanned, captures, stacked;
} scan;

static hone_status make(const scan *s, hn_block *block, hn_node *before, const char *op, int in_count,
                        hn_value *const *in, const hone_attr *attr, hn_value **out) {
  for (int i = 0; i < in_count; ++i)
    if (!in[i]) return HONE_NO_MEMORY;
  const hn_node_spec spec = {.op = hn_op_find(s->graph->context->ops, op),
                             .attrs = {.count = attr ? 1 : 0, .items = attr},
                             .in_count = in_count,
                             .in = in,
                             .out_count = 1,
                             .origins = s->node->origins,
                             .before = before};
  hn_node *made;
  HN_TRY(hn_node_create(block, &spec, &made));
  *out = made->out[0];
  return HONE_OK;
}

static hone_attr int_attr(const char *name, int64_t value) {
  return (hone_attr){.name = name, .kind = HONE_ATTR_INT, .i = value};
}

static int64_t axis_of(const scan *s, const char *name, int at, int rank) {
  const int64_t axis = hn_attr_ints_at(&s->node->attrs, name, at, 0);
  return axis < 0 ? axis + rank : axis;
}

/* How many slices there are, as a scalar in front of the scan. */
static hone_status count_slices(const scan *s, hn_value **out) {
  hn_value *x = s->node->in[s->states];
  const hone_shape *shape = &x->fact.type.shape;
  const int64_t axis = axis_of(s, "scan_input_axes", 0, shape->rank);
  const hone_attr none = int_attr("axis", 0);
  if (!HONE_SYMBOLIC(shape->dim[axis])) {
    *out = hn_constant_int(s->graph, NULL, 0, 1, &shape->dim[axis]);
    return *out ? HONE_OK : HONE_NO_MEMORY;
  }
  HN_TRY(make(s, s->node->owner, s->node, "shape", 1, &x, NULL, &x));
  hn_value *in[2] = {x, hn_constant_int(s->graph, NULL, 0, 1, &axis)};
  return make(s, s->node->owner, s->node, "gather", 2, in, &none, out);
}

static hone_status add_param(hn_block *block, const hn_value *like) {
  return hn_block_add_param(block, NULL, &like->fact.type) ? HONE_OK : HONE_NO_MEMORY;
}

/* An empty loop with the scan's states; what is scanned goes in front of the captures. */
static hone_status make_loop(scan *s) {
  const hone_attr captures = int_attr("captures", s->scanned + s->captures);
  const hone_type number = hn_tensor_type(HONE_I64, 0, NULL), condition = hn_tensor_type(HONE_BOOL, 0, NULL);
  hn_value **in = HN_NEW(&s->graph->arena, hn_value *, s->node->in_count + 2);
  if (!in) return HN_FAIL_MEMORY(&s->graph->context->diag);
  HN_TRY(count_slices(s, &in[0]));
  for (int i = 0; i < s->node->in_count; ++i) in[2 + i] = s->node->in[i];
  const hn_node_spec spec = {.op = hn_op_find(s->graph->context->ops, "loop"),
                             .name = s->node->name,
                             .attrs = {.count = 1, .items = &captures},
                             .in_count = s->node->in_count + 2,
                             .in = in,
                             .out_count = s->node->out_count,
                             .origins = s->node->origins,
                             .before = s->node,
                             .block_count = 1};
  HN_TRY(hn_node_create(s->node->owner, &spec, &s->loop));
  hn_block *body = s->loop->blocks[0];
  if (!hn_block_add_param(body, NULL, &number) || !hn_block_add_param(body, NULL, &condition)) return HONE_NO_MEMORY;
  for (int i = 0; i < s->node->in_count; ++i) HN_TRY(add_param(body, s->node->in[i]));
  return hn_infer_params(s->graph, s->loop, 0);
}

/* Slice number i, or i from the end, where the old body had a parameter. */
static hone_status gather_slice(const scan *s, int number, hn_value *from_end) {
  hn_block *body = s->loop->blocks[0];
  hn_value *in[2] = {body->params[2 + s->states + number], body->params[0]}, *slice;
  const int rank = in[0]->fact.type.shape.rank;
  const hone_attr axis = int_attr("axis", axis_of(s, "scan_input_axes", number, rank));
  if (hn_attr_ints_at(&s->node->attrs, "scan_input_directions", number, 0) == 1) in[1] = from_end;
  HN_TRY(make(s, body, NULL, "gather", 2, in, &axis, &slice));
  hn_value_replace(s->node->blocks[0]->params[s->states + number], slice);
  return HONE_OK;
}

static hone_status fill_body(const scan *s) {
  static const int64_t one = 1;
  hn_block *body = s->loop->blocks[0], *old = s->node->blocks[0];
  hn_value *in[2] = {body->params[0], hn_constant_int(s->graph, NULL, 0, 1, &one)}, *from_end;
  HN_TRY(make(s, body, NULL, "add", 2, in, NULL, &from_end));
  HN_TRY(make(s, body, NULL, "neg", 1, &from_end, NULL, &from_end));
  for (int i = 0; i < s->scanned; ++i) HN_TRY(gather_slice(s, i, from_end));
  for (int i = 0; i < old->param_count; ++i) {
    const bool captured = i >= s->states + s->scanned; /* what has become a constant since is known inside as well */
    if (i >= s->states && !captured) continue;
    hn_value *in_it = s->node->in[i];
    hn_value_replace(old->params[i], captured && hn_value_is_constant(in_it) ? in_it : body->params[2 + i]);
  }
  hn_value *going = hn_constant_scalar(s->graph, HONE_BOOL, 1), *end;
  if (!going) return HONE_NO_MEMORY;
  HN_TRY(make(s, body, NULL, "identity", 1, &going, NULL, &end)); /* what the old nodes stand in front of */
  hn_block_move_nodes(old, end->node);
  hn_node_remove(end->node);
  HN_TRY(hn_block_add_result(body, going, NULL));
  for (int i = 0; i < old->result_count; ++i) HN_TRY(hn_block_add_result(body, old->results[i], NULL));
  return hn_infer_node(s->graph, s->loop);
}

static hone_status reverse(const scan *s, hn_value **x) {
  static const int64_t last = -1, before_first = INT64_MIN + 1, axis = 0;
  hn_value *in[5] = {*x, hn_constant_int(s->graph, NULL, 1, 1, &last),
                     hn_constant_int(s->graph, NULL, 1, 1, &before_first), hn_constant_int(s->graph, NULL, 1, 1, &axis),
                     hn_constant_int(s->graph, NULL, 1, 1, &last)};
  return make(s, s->node->owner, s->node, "slice", 5, in, NULL, x);
}

/* The loop stacks along a first axis. */
static hone_status move_axis(const scan *s, int64_t axis, hn_value **x) {
  const int rank = (*x)->fact.type.shape.rank;
  int64_t perm[HONE_MAX_RANK];
  for (int i = 0; i < rank; ++i) perm[i] = i < axis ? i + 1 : i == axis ? 0 : i;
  const hone_attr order = {.name = "perm", .kind = HONE_ATTR_INTS, .count = rank, .ints = perm};
  return make(s, s->node->owner, s->node, "transpose", 1, x, &order, x);
}

static hone_status replace_outputs(const scan *s) {
  for (int i = 0; i < s->node->out_count; ++i) {
    hn_value *old = s->node->out[i], *by = s->loop->out[i];
    if (!old || !old->uses) continue;
    const int number = i - s->states;
    if (number >= 0 && hn_attr_ints_at(&s->node->attrs, "scan_output_directions", number, 0) == 1)
      HN_TRY(reverse(s, &by));
    const int64_t axis = number < 0 ? 0 : axis_of(s, "scan_output_axes", number, by->fact.type.shape.rank);
    if (axis > 0) HN_TRY(move_axis(s, axis, &by));
    hn_value_swap_names(s->graph, old, by);
    hn_value_replace(old, by);
  }
  return HONE_OK;
}

/* What the loop's own nodes need to know beforehand. */
static bool has_ranks(const scan *s) {
  for (int i = 0; i < s->scanned; ++i)
    if (s->node->in[s->states + i]->fact.type.shape.rank < 1) return false;
  for (int i = 0; i < s->stacked; ++i)
    if (s->node->blocks[0]->results[s->states + i]->fact.type.shape.rank < 0 &&
        (hn_attr_ints_at(&s->node->attrs, "scan_output_axes", i, 0) != 0 ||
         hn_attr_ints_at(&s->node->attrs, "scan_output_directions", i, 0) != 0))
      return false;
  return true;
}

static hone_status lower(hn_pass_run *run, hn_node *node) {
  scan s = {.graph = run->graph, .node = node};
  s.scanned = (int)hn_attr_int(&node->attrs, "num_scan_inputs");
  s.captures = (int)hn_attr_int(&node->attrs, "captures");
  s.states = node->in_count - s.scanned - s.captures;
  s.stacked = node->out_count - s.states;
  if (!has_ranks(&s)) return HONE_OK;
  HN_TRY(make_loop(&s));
  HN_TRY(fill_body(&s));
  HN_TRY(replace_outputs(&s));
  HN_TRY(hn_pass_log_event(run, "scans", node, NULL));
  hn_node_swap_names(run->graph, node, s.loop);
  hn_node_remove(node);
  ++run->changes;
  return HONE_OK;
}

static hone_status lower_block(hn_pass_run *run, hn_block *block) {
  for (hn_node *node = block->first, *next; node; node = next) {
    next = node->next;
    for (int i = 0; i < node->block_count; ++i) HN_TRY(lower_block(run, node->blocks[i]));
    if (hn_name_equal(node->op->name, "scan")) HN_TRY(lower(run, node));
  }
  return HONE_OK;
}

hone_status hn_pass_scans(hn_pass_run *run) { return lower_block(run, run->graph->main); }
