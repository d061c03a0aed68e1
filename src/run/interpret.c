/* SPDX-License-Identifier: Apache-2.0 */
/* interpret.c - the block interpreter: runs a block's steps in order. Steps whose extents are known only after running
 * are resolved when their turn comes: their tensors live on the session's heap. Nothing else allocates. */
#include "run/session.h"
#include "tensor/shape.h"
#include <string.h>

/* What a late step's resize needs. */
typedef struct late_call {
  hone_session *session;
  hn_instance *instance;
  const hn_plan_step *step;
  hone_launch *launch;
} late_call;

/* Gives a heap tensor its extents and memory. */
static hone_status place_on_heap(hone_session *session, hn_instance *instance, int t, const hone_shape *shape) {
  const hn_plan_tensor *planned = &session->engine->plan->tensors[t];
  hone_tensor *tensor = &instance->tensors[t];
  tensor->type.shape = *shape;
  if (!hn_type_bytes(&tensor->type, &tensor->bytes))
    return HN_FAIL(&session->diag, HONE_LIMIT, "%s would be larger than memory can be", planned->name);
  tensor->data = hn_arena_alloc(&session->heap, tensor->bytes ? tensor->bytes : 1, 64);
  if (!tensor->data)
    return HN_FAIL(&session->diag, HONE_LIMIT, "%s needs %zu bytes, more than the session's heap limit leaves",
                   planned->name, tensor->bytes);
  return HONE_OK;
}

/* The numbers of symbols that this tensor's real extents reveal. */
static hone_status learn_symbols(hone_session *session, hn_instance *instance, int t) {
  const hn_plan *plan = session->engine->plan;
  const hone_shape *planned = &plan->tensors[t].type.shape, *real = &instance->tensors[t].type.shape;
  for (int i = 0; planned->rank >= 0 && i < real->rank; ++i) {
    int number;
    const hn_dim_symbol *symbol = hn_dim_symbol_at(&plan->dims, planned->dim[i], &number);
    if (symbol && symbol->after_run) instance->symbols[number] = real->dim[i];
  }
  return HONE_OK;
}

static hone_status resize_late(void *host, int output, int rank, const int64_t *dims) {
  const late_call *call = host;
  const int t = call->step->out[output];
  if (rank < 0 || rank > HONE_MAX_RANK || t < 0) return HONE_INTERNAL;
  const hone_shape shape = hn_shape(rank, dims);
  HN_TRY(place_on_heap(call->session, call->instance, t, &shape));
  call->launch->out[output] = call->instance->tensors[t];
  return HONE_OK;
}

/* Shapes, memory and scratch of a step that had to wait. */
static hone_status resolve_late(hone_session *session, hn_instance *instance, const hn_plan_step *step,
                                hone_launch *launch) {
  const hn_plan *plan = session->engine->plan;
  hone_tensor *in = (hone_tensor *)(uintptr_t)launch->in;
  hone_fact facts[2 * HONE_MAX_PORTS] = {0};
  for (int i = 0; i < step->in_count; ++i) {
    if (step->in[i] < 0) continue;
    in[i] = instance->tensors[step->in[i]];
    if (i < HONE_MAX_PORTS) facts[i].type = in[i].type;
  }
  for (int i = 0; i < step->out_count; ++i) {
    const int t = step->out[i];
    if (t < 0) continue;
    if (plan->tensors[t].place == HN_PLACE_HEAP) {
      hone_shape shape;
      if (hn_shape_eval(&plan->dims, &plan->tensors[t].type.shape, instance->symbols, plan->dims.symbol_count,
                        &shape)) {
        HN_TRY(place_on_heap(session, instance, t, &shape));
      } else {
        instance->tensors[t].data = NULL;
        instance->tensors[t].bytes = 0;
      }
    }
    launch->out[i] = instance->tensors[t];
    if (i < HONE_MAX_PORTS) facts[HONE_MAX_PORTS + i].type = launch->out[i].type;
  }
  if (step->op->eval_scratch) {
    const size_t bytes =
        step->op->eval_scratch(&step->attrs, facts, step->in_count, facts + HONE_MAX_PORTS, step->out_count);
    launch->scratch = hn_arena_alloc(&session->heap, bytes ? bytes : 1, 64);
    if (!launch->scratch)
      return HN_FAIL(&session->diag, HONE_LIMIT, "%zu bytes of scratch are more than the session's heap limit leaves",
                     bytes);
  }
  return HONE_OK;
}

static hone_status run_late(hone_session *session, hn_instance *instance, const hn_plan_step *step,
                            hn_step_state *state) {
  hone_launch *launch = &state->launch;
  HN_TRY(resolve_late(session, instance, step, launch));
  late_call call = {.session = session, .instance = instance, .step = step, .launch = launch};
  launch->host = &call;
  launch->resize = resize_late;
  const hone_status status = step->tactic->launch(state->prepared.state, session->streams[step->device], launch);
  launch->host = NULL;
  launch->resize = NULL;
  HN_TRY(status);
  for (int i = 0; i < step->out_count; ++i)
    if (step->out[i] >= 0) HN_TRY(learn_symbols(session, instance, step->out[i]));
  return HONE_OK;
}

/* A view of a tensor on the heap: the same bytes under the shape that is known by now. */
static hone_status view_late(hone_session *session, hn_instance *instance, const hn_plan_step *step) {
  const hn_plan *plan = session->engine->plan;
  const hone_tensor *from = &instance->tensors[step->in[0]];
  hone_tensor *to = &instance->tensors[step->out[0]];
  hone_shape shape;
  if (!hn_shape_eval(&plan->dims, &plan->tensors[step->out[0]].type.shape, instance->symbols, plan->dims.symbol_count,
                     &shape))
    return HN_FAIL(&session->diag, HONE_INTERNAL, "the shape of a view is not known when its turn comes");
  to->type.shape = shape;
  if (!hn_type_bytes(&to->type, &to->bytes) || to->bytes != from->bytes)
    return HN_FAIL(&session->diag, HONE_MALFORMED, "a view changes the number of bytes from %zu to %zu", from->bytes,
                   to->bytes);
  to->data = from->data;
  return HONE_OK;
}

static hone_status copy_step(hone_session *session, hn_instance *instance, const hn_plan_step *step) {
  const hone_tensor *from = &instance->tensors[step->in[0]];
  const hone_tensor *to = &instance->tensors[step->out[0]];
  const hone_memory to_memory = {.data = to->data, .address = (uintptr_t)to->data, .bytes = to->bytes};
  const hone_memory from_memory = {.data = from->data, .address = (uintptr_t)from->data, .bytes = from->bytes};
  const hone_slice to_slice = {.memory = &to_memory, .bytes = to->bytes};
  const hone_slice from_slice = {.memory = &from_memory, .bytes = from->bytes};
  return hn_stream_copy(session->engine->devices[step->device], session->streams[step->device], to_slice, from_slice);
}

static hone_status run_step(hone_session *session, hn_instance *instance, int s) {
  const hn_plan_step *step = &session->engine->plan->steps[s];
  hn_step_state *state = &instance->steps[s];
  switch (step->kind) {
  case HN_STEP_CALL:
    if (state->late) return run_late(session, instance, step, state);
    return step->tactic->launch(state->prepared.state, session->streams[step->device], &state->launch);
  case HN_STEP_VIEW: return state->late ? view_late(session, instance, step) : HONE_OK;
  case HN_STEP_COPY: return copy_step(session, instance, step);
  case HN_STEP_WAIT:
    return hn_stream_wait(session->engine->devices[step->device], session->streams[step->device], &session->diag);
  default: return HN_FAIL(&session->diag, HONE_INTERNAL, "a plan step of unknown kind %d", (int)step->kind);
  }
}

hone_status hn_interpret(hone_session *session, hn_instance *instance, int block) {
  const hn_plan *plan = session->engine->plan;
  const hn_plan_block *b = &plan->blocks[block];
  for (int s = b->first_step; s < b->first_step + b->step_count; ++s) {
    if (session->profiling) {
      const int device = plan->steps[s].device;
      HN_TRY(hn_stream_mark(session->engine->devices[device], session->streams[device], 2 * s));
    }
    HN_TRY_NOTE(&session->diag, run_step(session, instance, s), "in step %s (%s)", plan->steps[s].name,
                plan->steps[s].op ? plan->steps[s].op->name : "copy");
    if (session->profiling) {
      const int device = plan->steps[s].device;
      HN_TRY(hn_stream_mark(session->engine->devices[device], session->streams[device], 2 * s + 1));
    }
  }
  return HONE_OK;
}
