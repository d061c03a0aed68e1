/* SPDX-License-Identifier: Apache-2.0 */
/* control.c - branches and loops (ONNX operators If and Loop): blocks whose parameters are views of the step's inputs
 * and whose results are copied to its outputs. Everything inside lives on the session's heap. */
#include "run/session.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <string.h>

/* A parameter sees the bytes of what it stands for. */
static hone_status bind_param(hone_session *session, hn_instance *instance, int param, const hone_tensor *from) {
  const hn_plan_tensor *planned = &instance->plan->tensors[param];
  if (from->type.dtype != planned->type.dtype || from->type.kind != planned->type.kind)
    return HN_FAIL(&session->diag, HONE_INTERNAL, "%s has another type than was planned", planned->name);
  instance->tensors[param] = *from;
  return hn_learn_symbols(instance, param);
}

/* An output gets bytes of its own; its extents must be those that later steps were planned for. */
static hone_status copy_out(hone_session *session, hn_instance *instance, const hone_tensor *from, int t) {
  if (t < 0) return HONE_OK;
  const hn_plan *plan = instance->plan;
  hone_shape planned;
  if (hn_shape_eval(&plan->dims, &plan->tensors[t].type.shape, instance->symbols, plan->dims.symbol_count, &planned) &&
      !hn_shape_equal(&planned, &from->type.shape))
    return HN_FAIL(&session->diag, HONE_MALFORMED, "%s has other extents than the model says", plan->tensors[t].name);
  HN_TRY(hn_heap_place(session, instance, t, &from->type.shape));
  memcpy(instance->tensors[t].data, from->data, from->bytes);
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
} loop_run;

static hone_status no_room(const loop_run *loop) {
  return HN_FAIL(&loop->session->diag, HONE_LIMIT, "the loop needs more than the session's heap limit leaves");
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
  hn_arena *heap = &loop->session->heap;
  loop->values = HN_NEW(heap, hone_tensor, loop->carried + 1);
  loop->first = HN_NEW(heap, stacked *, loop->stacked_count + 1);
  loop->last = HN_NEW(heap, stacked *, loop->stacked_count + 1);
  if (!loop->values || !loop->first || !loop->last) return no_room(loop);
  for (int i = 0; i < loop->carried; ++i) loop->values[i] = loop->instance->tensors[step->in[2 + i]];
  return HONE_OK;
}

static hone_status bind_body(loop_run *loop) {
  const hn_plan_step *step = loop->step;
  hn_instance *instance = loop->instance;
  int64_t *trip = hn_arena_alloc(&loop->session->heap, 16, 64);
  if (!trip) return no_room(loop);
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

static hone_status keep_results(loop_run *loop) {
  const int *results = loop->body->results + 1;
  for (int i = 0; i < loop->carried; ++i) loop->values[i] = loop->instance->tensors[results[i]];
  for (int i = 0; i < loop->stacked_count; ++i) {
    stacked *item = HN_NEW(&loop->session->heap, stacked, 1);
    if (!item) return no_room(loop);
    item->tensor = loop->instance->tensors[results[loop->carried + i]];
    if (loop->first[i] && !hn_shape_equal(&loop->first[i]->tensor.type.shape, &item->tensor.type.shape))
      return HN_FAIL(&loop->session->diag, HONE_MALFORMED,
                     "output %d of the loop changes its extents between iterations", loop->carried + i);
    if (loop->last[i])
      loop->last[i]->next = item;
    else
      loop->first[i] = item;
    loop->last[i] = item;
  }
  return HONE_OK;
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
  char *to = loop->instance->tensors[t].data;
  for (const stacked *item = loop->first[i]; item; item = item->next) {
    memcpy(to, item->tensor.data, item->tensor.bytes);
    to += item->tensor.bytes;
  }
  return hn_learn_symbols(loop->instance, t);
}

hone_status hn_run_loop(hone_session *session, hn_instance *instance, const hn_plan_step *step) {
  loop_run loop = {
      .session = session, .instance = instance, .step = step, .body = &instance->plan->blocks[step->blocks[0]]};
  HN_TRY(start_loop(&loop));
  const int64_t most = step->in[0] >= 0 ? hn_int(&instance->tensors[step->in[0]], 0) : INT64_MAX;
  bool holds = true;
  if (step->in[1] >= 0) HN_TRY(read_condition(session, &instance->tensors[step->in[1]], &holds));
  while (holds && loop.trips < most) {
    HN_TRY(bind_body(&loop));
    HN_TRY_NOTE(&session->diag, hn_interpret(session, instance, step->blocks[0]), "in iteration %lld of %s",
                (long long)loop.trips, step->name);
    HN_TRY(read_condition(session, &instance->tensors[loop.body->results[0]], &holds));
    HN_TRY(keep_results(&loop));
    ++loop.trips;
  }
  for (int i = 0; i < loop.carried; ++i) HN_TRY(copy_out(session, instance, &loop.values[i], step->out[i]));
  for (int i = 0; i < loop.stacked_count; ++i) HN_TRY(stack_output(&loop, i));
  return HONE_OK;
}
