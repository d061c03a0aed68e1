/* SPDX-License-Identifier: Apache-2.0 */
/* bodies.c - a Scan or Loop whose body is one step of a recurrent layer is that layer over the sequence. */
#include "pass/passes.h"
#include "pass/sequences.h"

/* What a body does. Counts as the ops' rows have them: parameters [first, first + states) are the states, results
 * [first_result, first_result + states) what becomes of them. */
typedef struct body {
  hn_node *node, *step;
  const hn_block *block;
  int first, first_result, states;
  int h, c; /* which state; c -1 for gru */
  hn_element sequence;
  int64_t count;
  bool backwards;
} body;

/* The one step in a block of otherwise views and a gather. */
static hn_node *find_step(const hn_block *block) {
  hn_node *step = NULL;
  for (hn_node *node = block->first; node; node = node->next) {
    if (hn_is_step(node) && !step)
      step = node;
    else if (!(node->op->traits & HONE_ALIASES) && !hn_is_op(node, "gather"))
      return NULL;
  }
  return step;
}

static int param_index(const hn_block *block, const hn_value *value) {
  for (int i = 0; value && i < block->param_count; ++i)
    if (block->params[i] == value) return i;
  return -1;
}

/* The state that goes through the step: read as its input, left as its result. */
static int find_state(const body *b, int input, bool c) {
  const int at = param_index(b->block, hn_behind_views(hn_rnn_in(b->step, input))) - b->first;
  if (at < 0 || at >= b->states || !b->node->in[b->first + at] ||
      !hn_is_state(b->block->results[b->first_result + at], b->step, c))
    return -1;
  return at;
}

static bool find_states(body *b) {
  const bool is_lstm = hn_is_op(b->step, "lstm");
  if (b->states != (is_lstm ? 2 : 1)) return false;
  b->h = find_state(b, HN_RNN_H, false);
  b->c = is_lstm ? find_state(b, HN_RNN_C, true) : -1;
  if (b->h < 0 || (is_lstm && b->c < 0)) return false;
  for (int i = b->first_result + b->states; i < b->block->result_count; ++i)
    if (!hn_is_state(b->block->results[i], b->step, false)) return false;
  for (int i = HN_RNN_W; i <= HN_RNN_B; ++i)
    if (hn_rnn_in(b->step, i) && !hn_value_is_constant(b->step->in[i])) return false;
  return true;
}

static bool read_scan(body *b) {
  const hn_node *node = b->node;
  b->first = b->first_result = 0;
  b->states = node->in_count - 1 - (int)hn_attr_int(&node->attrs, "captures");
  if (hn_attr_int(&node->attrs, "num_scan_inputs") != 1 || b->states < 1 ||
      !hn_attr_ints_are(&node->attrs, "scan_output_axes", 0))
    return false;
  b->backwards = hn_attr_ints_at(&node->attrs, "scan_input_directions", 0, 0) == 1;
  if (node->out_count > b->states && !hn_attr_ints_are(&node->attrs, "scan_output_directions", b->backwards))
    return false;
  if (param_index(b->block, hn_behind_views(b->step->in[HN_RNN_X])) != b->states) return false;
  b->sequence = (hn_element){.from = node->in[b->states]};
  if (!b->sequence.from) return false;
  b->sequence.axis = (int)hn_attr_ints_at(&node->attrs, "scan_input_axes", 0, 0);
  if (b->sequence.axis < 0) b->sequence.axis += b->sequence.from->fact.type.shape.rank;
  if (!hn_element_extents(&b->sequence)) return false;
  b->count = b->sequence.from->fact.type.shape.dim[b->sequence.axis];
  return true;
}

static bool is_true(const hn_value *value) {
  return value && value->fact.value && value->fact.value_count == 1 && value->fact.value[0] == 1;
}

/* For i from 0 on, as often as m says, with x[i] gathered from a tensor outside. */
static bool read_loop(body *b) {
  enum { TRIPS, CONDITION, FIXED };
  const hn_node *node = b->node;
  const hn_value *trips = hn_rnn_in(node, TRIPS), *going = hn_rnn_in(node, CONDITION),
                 *x = hn_behind_views(b->step->in[HN_RNN_X]);
  const hn_value *goes_on = hn_behind_views(b->block->results[0]);
  b->first = FIXED;
  b->first_result = 1;
  b->states = node->in_count - FIXED - (int)hn_attr_int(&node->attrs, "captures");
  if (!trips || !trips->fact.value || trips->fact.value_count != 1 || HONE_SYMBOLIC(trips->fact.value[0])) return false;
  if ((going && !is_true(going)) || (goes_on != b->block->params[CONDITION] && !is_true(goes_on))) return false;
  b->count = trips->fact.value[0];
  if (!x || !hn_is_op(x->node, "gather") || hn_behind_views(x->node->in[1]) != b->block->params[TRIPS]) return false;
  const int from = param_index(b->block, x->node->in[0]);
  if (from < FIXED + b->states && !hn_value_is_constant(x->node->in[0])) return false;
  b->sequence = (hn_element){.from = from < 0 ? x->node->in[0] : node->in[from]};
  b->sequence.axis = (int)hn_attr_int(&x->node->attrs, "axis");
  if (!b->sequence.from) return false;
  if (b->sequence.axis < 0) b->sequence.axis += b->sequence.from->fact.type.shape.rank;
  return hn_element_extents(&b->sequence) && b->count <= b->sequence.from->fact.type.shape.dim[b->sequence.axis];
}

/* The outputs' types are those of the layer's outputs, as far as they are known. */
static hone_status replace_outputs(const body *b, const hn_sequence_maker *m, hn_node *layer) {
  for (int i = 0; i < b->node->out_count; ++i) {
    hn_value *old = b->node->out[i];
    if (!old || !old->uses) continue;
    const hn_value *result = b->block->results[b->first_result + i];
    hone_shape shape = result->fact.type.shape;
    if (i >= b->states) { /* stacked */
      for (int d = shape.rank; d > 0; --d) shape.dim[d] = shape.dim[d - 1];
      shape.dim[0] = b->count;
      ++shape.rank;
    }
    hn_value *by = layer->out[i == b->c ? HN_RNN_Y_C : i == b->h ? HN_RNN_Y_H : HN_RNN_Y];
    HN_TRY(hn_make_view(m, &shape, &by));
    hn_value_replace(old, by);
  }
  return HONE_OK;
}

static bool can_replace(const body *b) {
  if (b->count < 1 || b->node->out_count != b->block->result_count - b->first_result) return false;
  for (int i = b->first_result; i < b->block->result_count; ++i) {
    const hn_value *result = b->block->results[i];
    if (!result || !hn_shape_known(&result->fact.type.shape) || result->fact.type.shape.rank == HONE_MAX_RANK)
      return false;
  }
  return hn_elems(&b->step->in[HN_RNN_X]->fact.type.shape) == b->sequence.outer * b->sequence.inner;
}

static bool is_read(const hn_value *value) { return value && value->uses; }

hone_status hn_join_body(hn_pass_run *run, hn_node *node) {
  body b = {.node = node, .block = node->blocks[0], .step = find_step(node->blocks[0])};
  if (!b.step || !(hn_is_op(node, "scan") ? read_scan(&b) : hn_is_op(node, "loop") && read_loop(&b))) return HONE_OK;
  if (!find_states(&b) || !can_replace(&b)) return HONE_OK;
  hn_node *after = node->prev, *layer;
  const hn_sequence_maker m = {run, node, node->origins};
  const hone_shape *state = &b.step->in[HN_RNN_H]->fact.type.shape;
  hn_value *x_h_c[3] = {NULL, node->in[b.first + b.h], b.c < 0 ? NULL : node->in[b.first + b.c]};
  bool wants[3] = {false, is_read(node->out[b.h]), b.c >= 0 && is_read(node->out[b.c])};
  const char *unmet = NULL;
  for (int i = b.states; i < node->out_count; ++i) wants[0] = wants[0] || is_read(node->out[i]);
  HN_TRY(hn_make_sequence(&m, &b.sequence, b.count, &b.step->in[HN_RNN_X]->fact.type.shape, &x_h_c[0]));
  for (int i = 1; i < 3; ++i)
    if (x_h_c[i]) HN_TRY(hn_make_view(&m, state, &x_h_c[i]));
  HN_TRY(hn_make_recurrent(&m, b.step, x_h_c, b.backwards, wants, &layer, &unmet));
  HN_TRY(hn_pass_log_event(run, "sequences", node, unmet));
  if (unmet) {
    while ((after ? after->next : node->owner->first) != node) hn_node_remove(node->prev);
    return HONE_OK;
  }
  HN_TRY(replace_outputs(&b, &m, layer));
  hn_node_remove(node);
  ++run->changes;
  return HONE_OK;
}
