/* SPDX-License-Identifier: Apache-2.0 */
/* sequences.c - steps of a recurrent layer that follow each other over one sequence become one layer: unrolled cells
 * (rules_recurrent.c), and bodies of Scan and Loop (bodies.c). The products with the inputs of all steps are one then,
 * and the state stays where it is. */
#include "pass/sequences.h"
#include "pass/passes.h"

static bool follows(const hn_node *next, const hn_node *node) {
  if (next->op != node->op || !hn_is_step(next) || !hn_attrs_equal(&next->attrs, &node->attrs)) return false;
  for (int i = HN_RNN_W; i <= HN_RNN_B; ++i)
    if (hn_rnn_in(next, i) != hn_rnn_in(node, i)) return false;
  return hn_is_state(hn_rnn_in(next, HN_RNN_H), node, false) &&
         (hn_is_op(node, "gru") || hn_is_state(hn_rnn_in(next, HN_RNN_C), node, true));
}

/* The step that goes on from a node, found among the users of what it leaves. */
static hn_node *find_next(const hn_value *value, const hn_node *node) {
  for (const hn_use *use = value ? value->uses : NULL; use; use = use->next) {
    if (!use->node) continue;
    if (use->node->owner == node->owner && follows(use->node, node)) return use->node;
    if (!(use->node->op->traits & HONE_ALIASES)) continue;
    hn_node *found = find_next(use->node->out[0], node);
    if (found) return found;
  }
  return NULL;
}

/* Does anything but the states of the next step, and views for them, read the value? */
static bool has_other_use(const hn_value *value, const hn_node *next) {
  for (const hn_use *use = value ? value->uses : NULL; use; use = use->next) {
    if (use->block) return true;
    if (use->node == next && use->index >= HN_RNN_H) continue;
    if (!(use->node->op->traits & HONE_ALIASES) || has_other_use(use->node->out[0], next)) return true;
  }
  return false;
}

static bool h_is_read(const hn_node *node, const hn_node *next) {
  return has_other_use(hn_rnn_out(node, HN_RNN_Y), next) || has_other_use(hn_rnn_out(node, HN_RNN_Y_H), next);
}

/* ---- chains ---- */

typedef struct chain {
  hn_node **steps;
  int count, capacity;
  hn_element first; /* of the step with the smallest index */
  bool backwards;
} chain;

static hone_status add_step(hn_pass_run *run, chain *c, hn_node *node) {
  if (!hn_arena_grow(&run->graph->arena, (void **)&c->steps, &c->capacity, c->count + 1, sizeof *c->steps))
    return HN_FAIL_MEMORY(&run->context->diag);
  c->steps[c->count++] = node;
  return HONE_OK;
}

/* From one step on, as long as the next reads the next element of the same sequence, or always the one before. */
static hone_status find_chain(hn_pass_run *run, hn_node *node, chain *c) {
  hn_element last, at;
  *c = (chain){0};
  if (!hn_is_step(node) || !hn_find_element(node->in[HN_RNN_X], &last)) return HONE_OK;
  c->first = last;
  HN_TRY(add_step(run, c, node));
  for (;;) {
    hn_node *next = find_next(hn_rnn_out(node, HN_RNN_Y), node);
    if (!next) next = find_next(hn_rnn_out(node, HN_RNN_Y_H), node);
    if (!next || has_other_use(hn_rnn_out(node, HN_RNN_Y_C), next)) return HONE_OK;
    if (!hn_find_element(next->in[HN_RNN_X], &at) || at.from != last.from || at.axis != last.axis) return HONE_OK;
    const bool back = at.at < last.at;
    if (at.at != last.at + (back ? -1 : 1) || (c->count > 1 && c->backwards != back)) return HONE_OK;
    c->backwards = back;
    if (back) c->first = at;
    HN_TRY(add_step(run, c, next));
    last = at;
    node = next;
  }
}

static bool continues_chain(const hn_node *node) {
  for (int i = HN_RNN_H; i < node->in_count; ++i) {
    const hn_value *from = hn_behind_views(node->in[i]);
    if (from && from->node && from->node->owner == node->owner && hn_is_step(from->node) && follows(node, from->node))
      return true;
  }
  return false;
}

static hone_status unite_origins(hn_pass_run *run, const chain *c, hn_origins *out) {
  *out = c->steps[0]->origins;
  for (int i = 1; i < c->count; ++i) HN_TRY(hn_origins_union(run->graph, out, &c->steps[i]->origins, out));
  return HONE_OK;
}

/* What is read of one step: a part of the layer's y, or, when only the last is read, what the layer leaves. Outputs
 * that the layer lacks are read by the next step alone, which is dead by then. */
static hone_status replace_outputs(hn_sequence_maker *m, const chain *c, int i, hn_node *layer) {
  const hn_node *step = c->steps[i];
  const bool is_last = i + 1 == c->count;
  const int64_t at = c->backwards ? c->count - 1 - i : i;
  m->before = c->steps[i];
  for (int o = 0; o < step->out_count; ++o) {
    hn_value *old = step->out[o];
    if (!old || !old->uses || (o == HN_RNN_Y_C && !is_last)) continue;
    hn_value *by = hn_rnn_out(layer, o == HN_RNN_Y_C ? HN_RNN_Y_C : HN_RNN_Y);
    if (!by && is_last) by = hn_rnn_out(layer, HN_RNN_Y_H);
    if (!by) continue;
    if (by->out_index == HN_RNN_Y) HN_TRY(hn_make_slice(m, 0, at, at + 1, &by));
    HN_TRY(hn_make_view(m, &old->fact.type.shape, &by));
    hn_value_replace(old, by);
  }
  return HONE_OK;
}

static void undo(hn_node *after, const hn_block *block, const hn_node *before) {
  while ((after ? after->next : block->first) != before) hn_node_remove(before->prev);
}

/* *out_layer: NULL when nothing was done. */
static hone_status join_chain(hn_pass_run *run, const chain *c, hn_node **out_layer) {
  hn_node *first = c->steps[0], *last = c->steps[c->count - 1], *after = first->prev, *layer;
  bool wants[3] = {false, h_is_read(last, NULL), has_other_use(hn_rnn_out(last, HN_RNN_Y_C), NULL)};
  *out_layer = NULL;
  for (int i = 0; i + 1 < c->count && !wants[0]; ++i) wants[0] = h_is_read(c->steps[i], c->steps[i + 1]);
  if (!wants[0] && !wants[1] && !wants[2]) return HONE_OK; /* dead */
  wants[1] = wants[1] && !wants[0];
  hn_sequence_maker m = {.run = run, .before = first};
  hn_value *x_h_c[3] = {NULL, first->in[HN_RNN_H], hn_rnn_in(first, HN_RNN_C)};
  const char *unmet = NULL;
  HN_TRY(unite_origins(run, c, &m.origins));
  HN_TRY(hn_make_sequence(&m, &c->first, c->count, &first->in[HN_RNN_X]->fact.type.shape, &x_h_c[0]));
  HN_TRY(hn_make_recurrent(&m, first, x_h_c, c->backwards, wants, &layer, &unmet));
  HN_TRY(hn_pass_log_event(run, "sequences", first, unmet));
  if (unmet) {
    undo(after, first->owner, first);
    return HONE_OK;
  }
  for (int i = c->count - 1; i >= 0; --i) HN_TRY(replace_outputs(&m, c, i, layer));
  *out_layer = layer;
  ++run->changes;
  return HONE_OK;
}

static hone_status join_chains(hn_pass_run *run, hn_block *block) {
  for (hn_node *node = block->first; node; node = node->next) {
    chain c = {0};
    if (!hn_is_step(node) || continues_chain(node)) continue;
    HN_TRY(find_chain(run, node, &c));
    hn_node *layer = NULL;
    if (c.count > 1) HN_TRY(join_chain(run, &c, &layer));
    if (layer) node = layer; /* the steps behind it are dead */
  }
  return HONE_OK;
}

/* ---- stacks ---- */

/* Do the inputs follow each other in one sequence? */
static bool find_stacked(const hn_node *concat, hn_element *out) {
  hn_element at;
  for (int i = 0; i < concat->in_count; ++i) {
    if (!hn_find_element(concat->in[i], i == 0 ? out : &at)) return false;
    if (i > 0 && (at.from != out->from || at.axis != out->axis || at.at != out->at + i)) return false;
    if (!hn_shape_equal(&concat->in[i]->fact.type.shape, &concat->in[0]->fact.type.shape)) return false;
  }
  return concat->in_count > 1;
}

/* Elements of a sequence that are joined again in their order are a part of it. */
static hone_status unstack(hn_pass_run *run, hn_node *concat, bool *out_done) {
  const hn_value *y = concat->out[0];
  const hone_shape *each = &concat->in[0]->fact.type.shape;
  hn_element place;
  *out_done = false;
  if (!find_stacked(concat, &place) || !hn_shape_known(&y->fact.type.shape)) return HONE_OK;
  int64_t axis = hn_attr_int(&concat->attrs, "axis"), outer = 1;
  if (axis < 0) axis += each->rank;
  for (int i = 0; i < axis; ++i) outer *= each->dim[i];
  if (place.outer > 1 && place.outer != outer) return HONE_OK;
  const hn_sequence_maker m = {run, concat, concat->origins};
  hn_value *by = place.from;
  HN_TRY(hn_make_slice(&m, place.axis, place.at, place.at + concat->in_count, &by));
  if (place.outer == 1 && outer > 1) HN_TRY(hn_make_swapped(&m, concat->in_count, outer, hn_elems(each) / outer, &by));
  HN_TRY(hn_make_view(&m, &y->fact.type.shape, &by));
  hn_value_replace(concat->out[0], by);
  hn_node_remove(concat);
  *out_done = true;
  ++run->changes;
  return HONE_OK;
}

static hone_status unstack_all(hn_pass_run *run, hn_block *block) {
  for (hn_node *node = block->first, *next; node; node = next) {
    bool done;
    next = node->next;
    if (hn_is_op(node, "concat")) HN_TRY(unstack(run, node, &done));
  }
  return HONE_OK;
}

static hone_status join_block(hn_pass_run *run, hn_block *block) {
  const int64_t before = run->changes;
  for (hn_node *node = block->first, *next; node; node = next) {
    next = node->next;
    for (int i = 0; i < node->block_count; ++i) HN_TRY(join_block(run, node->blocks[i]));
    if (node->block_count == 1) HN_TRY(hn_join_body(run, node));
  }
  HN_TRY(join_chains(run, block));
  return run->changes > before ? unstack_all(run, block) : HONE_OK;
}

hone_status hn_pass_join_steps(hn_pass_run *run) { return join_block(run, run->graph->main); }
