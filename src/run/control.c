/* SPDX-License-Identifier: Apache-2.0 */
/* control.c - branches and loops (ONNX operators If and Loop): blocks whose parameters are views of the step's inputs
 * and whose results are copied to its outputs. Everything inside lives on the session's heap. A loop's turns take the
 * heap's two sides in turn: what goes round lies on one while the next turn fills the other, and the side of the turn
 * before is free by then. Stacked slices are copied behind each other. So a loop needs the memory of two turns. */
#include "run/session.h"
#include "tensor/element.h"
#include "tensor/list.h"
#include "tensor/shape.h"
#include <string.h>

/* A parameter sees the bytes of what it stands for. */
static hone_status bind_param(hone_session *session, hn_instance *instance, int param, const hone_tensor *from) {
  const hn_plan_tensor *planned = &instance->plan->tensors[param];
  const bool becomes = planned->type.kind == HONE_OPTIONAL_SEQUENCE && from->type.kind == HONE_SEQUENCE;
  if (from->type.dtype != planned->type.dtype || (from->type.kind != planned->type.kind && !becomes))
    return HN_FAIL(&session->diag, HONE_INTERNAL, "%s has another type than was planned", planned->name);
  instance->tensors[param] = *from;
  return hn_learn_symbols(instance, param);
}

/* An output gets bytes of its own; its extents must be those that later steps were planned for. */
static hone_status copy_out(hone_session *session, hn_instance *instance, const hone_tensor *from, int t) {
  if (t < 0) return HONE_OK;
  const hn_plan *plan = instance->plan;
  hone_shape planned;
  if (from->type.kind == HONE_OPTIONAL_SEQUENCE && plan->tensors[t].type.kind == HONE_SEQUENCE) { /* no turn was run */
    if (hn_elems(&from->type.shape) < 1)
      return HN_FAIL(&session->diag, HONE_INVALID, "%s: the optional that it begins with holds nothing",
                     plan->tensors[t].name);
    from = hn_list_items(from);
  }
  if (from->type.kind == HONE_TENSOR &&
      hn_shape_eval(&plan->dims, &plan->tensors[t].type.shape, instance->symbols, plan->dims.symbol_count, &planned) &&
      !hn_shape_equal(&planned, &from->type.shape))
    return HN_FAIL(&session->diag, HONE_MALFORMED, "%s has other extents than the model says", plan->tensors[t].name);
  HN_TRY(hn_heap_place(session, instance, t, &from->type.shape));
  memcpy(instance->tensors[t].data, from->data, instance->tensors[t].bytes);
  return hn_learn_symbols(instance, t);
}

static hone_status read_condition(hone_session *session, const hone_tensor *tensor, bool *out) {
  if (hn_elems(&tensor->type.shape) != 1)
    return HN_FAIL(&session->diag, HONE_MALFORMED, "a condition has %lld elements, not one",
                   (long long)hn_elems(&tensor->type.shape));
  *out = hn_int(tensor, 0) != 0;
  return HONE_OK;
}

hone_status hn_run_branch(hone_session *session, hn_instance *instance, const hn_plan_step *step) {
  const hn_plan *plan = instance->plan;
  bool holds;
  HN_TRY(read_condition(session, &instance->tensors[step->in[0]], &holds));
  const int number = step->blocks[holds ? 0 : 1];
  const hn_plan_block *block = &plan->blocks[number];
  for (int i = 0; i < block->param_count; ++i)
    if (step->in[1 + i] >= 0)
      HN_TRY(bind_param(session, instance, block->params[i], &instance->tensors[step->in[1 + i]]));
  HN_TRY(hn_interpret(session, instance, number));
  for (int i = 0; i < step->out_count && i < block->result_count; ++i)
    HN_TRY(copy_out(session, instance, &instance->tensors[block->results[i]], step->out[i]));
  return HONE_OK;
}

/* What one iteration left to be stacked. */
typedef struct stacked {
  hone_tensor tensor;
  struct stacked *next;
} stacked;

typedef struct loop_run {
  hone_session *session;
  hn_instance *instance;
  const hn_plan_step *step;
  const hn_plan_block *body;
  int carried;         /* values that go round */
  int stacked_count;   /* results stacked along a new first axis */
  hone_tensor *values; /* carried, as they are by now */
  stacked **first, **last;
  int64_t trips;
  hn_arena_mark sides[2], slices; /* of the heap, where the first turn begins */
  int outer;                      /* the heap's side that the loop itself is on */
} loop_run;

/* Zeroed, on the heap's present side. */
static hone_status list(loop_run *loop, size_t bytes, void **out) {
  *out = hn_heap_alloc(&loop->session->heap, bytes);
  if (!*out) return hn_heap_full(loop->session, loop->step->name, bytes);
  memset(*out, 0, bytes);
  return HONE_OK;
}

static hone_status start_loop(loop_run *loop) {
  const hn_plan_step *step = loop->step;
  loop->stacked_count = loop->body->result_count - 1;
  const int64_t captures = hn_attr_int(&step->attrs, "captures");
  loop->carried = step->in_count - 2 - (int)captures;
  if (captures < 0 || loop->carried < 0 || loop->carried > loop->stacked_count ||
      step->out_count != loop->body->result_count - 1)
    return HN_FAIL(&loop->session->diag, HONE_MALFORMED, "the loop's inputs, results and outputs do not fit together");
  loop->stacked_count -= loop->carried;
  void *values, *first, *last;
  HN_TRY(list(loop, (size_t)loop->carried * sizeof *loop->values, &values));
  HN_TRY(list(loop, (size_t)loop->stacked_count * sizeof *loop->first, &first));
  HN_TRY(list(loop, (size_t)loop->stacked_count * sizeof *loop->last, &last));
  loop->values = values;
  loop->first = first;
  loop->last = last;
  for (int i = 0; i < loop->carried; ++i) loop->values[i] = loop->instance->tensors[step->in[2 + i]];
  const hn_heap *heap = &loop->session->heap;
  for (int side = 0; side < 2; ++side) loop->sides[side] = hn_arena_here(&heap->sides[side]);
  loop->slices = hn_arena_here(&heap->slices);
  loop->outer = heap->side;
  return HONE_OK;
}

/* The next turn's side: nothing on it lives since the last turn ended. */
static void turn_side(loop_run *loop) {
  hn_heap *heap = &loop->session->heap;
  heap->side ^= 1;
  hn_arena_back(&heap->sides[heap->side], &loop->sides[heap->side]);
}

static hone_status bind_body(loop_run *loop) {
  const hn_plan_step *step = loop->step;
  hn_instance *instance = loop->instance;
  void *numbers;
  HN_TRY(list(loop, 2 * sizeof(int64_t), &numbers));
  int64_t *trip = numbers;
  trip[0] = loop->trips;
  trip[1] = 1; /* the condition held, else this iteration would not run */
  const hone_tensor number = hn_tensor_over(HONE_I64, 0, NULL, &trip[0]);
  const hone_tensor condition = hn_tensor_over(HONE_BOOL, 0, NULL, &trip[1]);
  HN_TRY(bind_param(loop->session, instance, loop->body->params[0], &number));
  HN_TRY(bind_param(loop->session, instance, loop->body->params[1], &condition));
  for (int i = 2; i < loop->body->param_count; ++i) {
    const bool carried = i - 2 < loop->carried;
    if (!carried && step->in[i] < 0) continue;
    HN_TRY(bind_param(loop->session, instance, loop->body->params[i],
                      carried ? &loop->values[i - 2] : &instance->tensors[step->in[i]]));
  }
  return HONE_OK;
}

/* A result that the next turn reads. One that was only handed through still lies where the next turn writes. */
static hone_status carry(loop_run *loop, hone_tensor *value, const hone_tensor *result) {
  hn_heap *heap = &loop->session->heap;
  const int last = heap->side ^ 1;
  *value = *result;
  if (!hn_arena_is_younger(&heap->sides[last], &loop->sides[last], result->data)) return HONE_OK;
  value->data = hn_heap_alloc(heap, result->bytes);
  if (!value->data) return hn_heap_full(loop->session, loop->step->name, result->bytes);
  memcpy(value->data, result->data, result->bytes);
  return HONE_OK;
}

static hone_status keep_slice(loop_run *loop, int i, const hone_tensor *result) {
  hn_heap *heap = &loop->session->heap;
  stacked *item = hn_heap_slice(heap, sizeof *item);
  if (!item) return hn_heap_full(loop->session, loop->step->name, sizeof *item);
  *item = (stacked){.tensor = *result};
  item->tensor.data = hn_heap_slice(heap, result->bytes);
  if (!item->tensor.data) return hn_heap_full(loop->session, loop->step->name, result->bytes);
  memcpy(item->tensor.data, result->data, result->bytes);
  if (loop->first[i] && !hn_shape_equal(&loop->first[i]->tensor.type.shape, &item->tensor.type.shape))
    return HN_FAIL(&loop->session->diag, HONE_MALFORMED, "output %d of the loop changes its extents between iterations",
                   loop->carried + i);
  if (loop->last[i])
    loop->last[i]->next = item;
  else
    loop->first[i] = item;
  loop->last[i] = item;
  return HONE_OK;
}

static hone_status keep_results(loop_run *loop) {
  const int *results = loop->body->results + 1;
  const hone_tensor *tensors = loop->instance->tensors;
  for (int i = 0; i < loop->carried; ++i) HN_TRY(carry(loop, &loop->values[i], &tensors[results[i]]));
  for (int i = 0; i < loop->stacked_count; ++i) HN_TRY(keep_slice(loop, i, &tensors[results[loop->carried + i]]));
  return HONE_OK;
}

/* Puts a slice behind the first `at` elements; packed ones may begin in the middle of a byte. */
static int64_t append_slice(hone_tensor *to, int64_t at, const hone_tensor *slice) {
  const int64_t count = hn_elems(&slice->type.shape);
  const size_t bits = hone_dtype_bits(to->type.dtype);
  if (bits < 8)
    for (int64_t i = 0; i < count; ++i) hn_copy_element(to, at + i, slice, i);
  else
    memcpy((char *)to->data + (size_t)at * (bits / 8), slice->data, slice->bytes);
  return at + count;
}

/* All iterations' slices, one after the other, under a new first axis. */
static hone_status stack_output(loop_run *loop, int i) {
  const int t = loop->step->out[loop->carried + i];
  const hn_plan *plan = loop->instance->plan;
  if (t < 0) return HONE_OK;
  hone_shape shape = plan->tensors[t].type.shape;
  const hone_shape *slice = loop->first[i] ? &loop->first[i]->tensor.type.shape : NULL;
  if (slice && slice->rank >= HONE_MAX_RANK)
    return HN_FAIL(&loop->session->diag, HONE_UNSUPPORTED, "a stacked output would have rank %d", slice->rank + 1);
  if (slice) shape.rank = slice->rank + 1;
  if (shape.rank < 1) shape.rank = 1;
  for (int d = 1; d < shape.rank; ++d)
    shape.dim[d] = slice ? slice->dim[d - 1] : HONE_SYMBOLIC(shape.dim[d]) ? 0 : shape.dim[d];
  shape.dim[0] = loop->trips;
  HN_TRY(hn_heap_place(loop->session, loop->instance, t, &shape));
  hone_tensor *to = &loop->instance->tensors[t];
  int64_t at = 0;
  for (const stacked *item = loop->first[i]; item; item = item->next) at = append_slice(to, at, &item->tensor);
  hn_clear_tail(to);
  return hn_learn_symbols(loop->instance, t);
}

static hone_status read_trips(const loop_run *loop, int64_t *out) {
  *out = INT64_MAX;
  if (loop->step->in[0] < 0) return HONE_OK;
  const hone_tensor *trips = &loop->instance->tensors[loop->step->in[0]];
  if (hn_elems(&trips->type.shape) != 1)
    return HN_FAIL(&loop->session->diag, HONE_INVALID, "the number of iterations has %lld elements, not one",
                   (long long)hn_elems(&trips->type.shape));
  *out = hn_int(trips, 0);
  return HONE_OK;
}

/* The outputs go where the loop's own step is to put them: behind what the last turn left there, or in its place. */
static hone_status end_loop(loop_run *loop) {
  hn_heap *heap = &loop->session->heap;
  const int other = loop->outer ^ 1;
  if (heap->side == other) hn_arena_back(&heap->sides[loop->outer], &loop->sides[loop->outer]);
  heap->side = loop->outer;
  for (int i = 0; i < loop->carried; ++i)
    HN_TRY(copy_out(loop->session, loop->instance, &loop->values[i], loop->step->out[i]));
  for (int i = 0; i < loop->stacked_count; ++i) HN_TRY(stack_output(loop, i));
  hn_arena_back(&heap->sides[other], &loop->sides[other]);
  hn_arena_back(&heap->slices, &loop->slices);
  return HONE_OK;
}

hone_status hn_run_loop(hone_session *session, hn_instance *instance, const hn_plan_step *step) {
  loop_run loop = {
      .session = session, .instance = instance, .step = step, .body = &instance->plan->blocks[step->blocks[0]]};
  HN_TRY(start_loop(&loop));
  int64_t most;
  HN_TRY(read_trips(&loop, &most));
  bool holds = true;
  if (step->in[1] >= 0) HN_TRY(read_condition(session, &instance->tensors[step->in[1]], &holds));
  while (holds && loop.trips < most) {
    turn_side(&loop);
    HN_TRY(bind_body(&loop));
    HN_TRY_NOTE(&session->diag, hn_interpret(session, instance, step->blocks[0]), "in iteration %lld of %s",
                (long long)loop.trips, step->name);
    HN_TRY(read_condition(session, &instance->tensors[loop.body->results[0]], &holds));
    HN_TRY(keep_results(&loop));
    ++loop.trips;
  }
  return end_loop(&loop);
}
