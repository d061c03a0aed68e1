/* SPDX-License-Identifier: Apache-2.0 */
/* data_dependent.c - steps whose extents are known only after running: resolved when their turn comes, their tensors on
 * the session's heap. */
#include "ops/ports.h"
#include "ops/op.h"
#include "run/session.h"
#include "tensor/shape.h"

/* What a data-dependent step's resize needs. */
typedef struct pending_call {
  hone_session *session;
  hn_instance *instance;
  const hn_plan_step *step;
  hone_launch *launch;
} pending_call;

hone_status hn_heap_full(hone_session *session, const char *what, size_t bytes) {
  if (hn_heap_leaves(&session->heap, bytes)) return HN_FAIL_MEMORY(&session->diag);
  return HN_FAIL(&session->diag, HONE_LIMIT,
                 "%s needs %zu bytes, more than the heap limit of the session leaves: it is %zu bytes "
                 "(heap_limit_bytes, --heap-limit)",
                 what, bytes, session->heap.limit_bytes);
}

/* Gives a heap tensor its extents and memory. */
hone_status hn_heap_place(hone_session *session, hn_instance *instance, int t, const hone_shape *shape) {
  const hn_plan_tensor *planned = &instance->plan->tensors[t];
  hone_tensor *tensor = &instance->tensors[t];
  tensor->type.shape = *shape;
  if (!hn_held_bytes(&tensor->type, &tensor->bytes))
    return HN_FAIL(&session->diag, HONE_LIMIT, "%s would be larger than memory can be", planned->name);
  tensor->data = hn_heap_alloc(&session->heap, tensor->bytes);
  return tensor->data ? HONE_OK : hn_heap_full(session, planned->name, tensor->bytes);
}

/* The numbers of symbols that this tensor's real extents reveal. */
hone_status hn_learn_symbols(hn_instance *instance, int t) {
  const hn_plan *plan = instance->plan;
  const hone_shape *planned = &plan->tensors[t].type.shape, *real = &instance->tensors[t].type.shape;
  if (plan->tensors[t].type.kind != HONE_TENSOR) return HONE_OK;
  for (int i = 0; planned->rank >= 0 && i < real->rank; ++i) {
    int number;
    const hn_dim_symbol *symbol = hn_dim_symbol_at(&plan->dims, planned->dim[i], &number);
    if (symbol && symbol->after_run) instance->symbols[number] = real->dim[i];
  }
  return HONE_OK;
}

/* Extents that came out of a run, against what the plan says of them without this run: in the main block all that is
 * known by now, in bodies, where symbols are of an earlier turn, what the input shapes say. */
static hone_status extents_as_planned(hone_session *session, const hn_instance *instance, int t,
                                      const hone_shape *real) {
  const hn_plan *plan = instance->plan;
  hone_shape planned = plan->tensors[t].type.shape;
  if (plan->tensors[t].type.kind != HONE_TENSOR) return HONE_OK; /* however many elements it has */
  const int64_t *symbols = plan->block_count > 1 ? instance->symbols_at_start : instance->symbols;
  for (int d = 0; d < planned.rank; ++d) {
    const int64_t code = planned.dim[d];
    if (!hn_dim_eval(&plan->dims, code, symbols, plan->dims.symbol_count, &planned.dim[d])) planned.dim[d] = code;
  }
  return hn_extents_agree(&session->diag, plan->tensors[t].name, real, &planned);
}

static void *keep(void *host, size_t bytes) {
  const pending_call *call = host;
  return hn_heap_keep(&call->session->heap, bytes);
}

static hone_status resize_output(void *host, int output, int rank, const int64_t *dims) {
  const pending_call *call = host;
  const int t = call->step->out[output];
  if (rank < 0 || rank > HONE_MAX_RANK || t < 0) return HONE_INTERNAL;
  const hone_shape shape = hn_shape(rank, dims);
  HN_TRY(extents_as_planned(call->session, call->instance, t, &shape));
  HN_TRY(hn_heap_place(call->session, call->instance, t, &shape));
  call->launch->out[output] = call->instance->tensors[t];
  return HONE_OK;
}

static bool planned_shape(const hn_instance *instance, int t, hone_shape *out) {
  const hn_plan *plan = instance->plan;
  return plan->tensors[t].type.kind == HONE_TENSOR &&
         hn_shape_eval(&plan->dims, &plan->tensors[t].type.shape, instance->symbols, plan->dims.symbol_count, out);
}

/* Gathers the inputs as they are by now, and places the outputs whose extents follow from the symbols. Inside a loop's
 * body extents may change from one time to the next, so there they are inferred anew. */
static hone_status gather_operands(hone_session *session, hn_instance *instance, const hn_plan_step *step,
                                   const hn_step_state *state, hone_launch *launch) {
  const hn_plan *plan = instance->plan;
  hone_tensor *in = (hone_tensor *)(uintptr_t)launch->in;
  const bool fixed = !state->nested || (step->op->traits & HONE_ALIASES);
  for (int i = 0; i < step->in_count; ++i)
    if (step->in[i] >= 0) in[i] = instance->tensors[step->in[i]];
  for (int i = 0; i < step->out_count; ++i) {
    const int t = step->out[i];
    if (t < 0) continue;
    if (plan->tensors[t].place == HN_PLACE_HEAP) {
      hone_shape shape;
      instance->tensors[t].data = NULL;
      instance->tensors[t].bytes = 0;
      if (fixed && planned_shape(instance, t, &shape)) HN_TRY(hn_heap_place(session, instance, t, &shape));
    }
    launch->out[i] = instance->tensors[t];
  }
  return HONE_OK;
}

/* Extents by the operator's own rules on the real inputs: outputs that have no place yet get one, the others must be
 * what was planned. Kernels can trust both. */
static hone_status infer_outputs(const pending_call *call, hone_launch *launch) {
  hone_session *session = call->session;
  const hn_plan_step *step = call->step;
  hn_arena *arena = &session->facts;
  hn_arena_reset(arena);
  const int room = step->out_count > HONE_MAX_PORTS ? step->out_count : HONE_MAX_PORTS;
  hone_fact *in = HN_NEW(arena, hone_fact, step->in_count + 1), *out = HN_NEW(arena, hone_fact, room);
  if (!in || !out) return HN_FAIL_MEMORY(&session->diag);
  for (int i = 0; i < step->in_count; ++i) {
    in[i].type = launch->in[i].type;
    in[i].type.format = HONE_PLAIN;
    if (in[i].type.kind != HONE_TENSOR) in[i].type.shape.rank = -1; /* of its elements: each may have its own */
    if (launch->in[i].data) in[i].constant = &launch->in[i];
  }
  hone_dims dims;
  hone_infer infer = {.op = step->op,
                      .attrs = &step->attrs,
                      .in_count = step->in_count,
                      .out_count = step->out_count,
                      .in = in,
                      .out = out,
                      .diagnostics = &session->diag};
  HN_TRY(hn_extents_infer(&infer, arena, &dims));
  for (int i = 0; i < step->out_count; ++i) {
    if (step->out[i] < 0 || out[i].type.kind != HONE_TENSOR) continue;
    const hone_shape *shape = &out[i].type.shape;
    if (launch->out[i].data)
      HN_TRY(hn_extents_agree(&session->diag, call->instance->plan->tensors[step->out[i]].name, shape,
                              &launch->out[i].type.shape));
    else if (hn_shape_known(shape))
      HN_TRY(resize_output((void *)(uintptr_t)call, i, shape->rank, shape->dim));
    else if (!(step->op->traits & HONE_AFTER_RUN))
      return HN_FAIL(&session->diag, HONE_UNSUPPORTED, "the shape of output %d does not follow from its inputs", i);
  }
  return HONE_OK;
}

static hone_status find_scratch(hone_session *session, const hn_plan_step *step, hone_launch *launch) {
  if (!step->op->eval_scratch) return HONE_OK;
  hone_fact *in = HN_NEW(&session->facts, hone_fact, step->in_count + step->out_count), *out = in + step->in_count;
  if (!in) return HN_FAIL_MEMORY(&session->diag);
  for (int i = 0; i < step->in_count; ++i) in[i].type = launch->in[i].type;
  for (int i = 0; i < step->out_count; ++i) out[i].type = launch->out[i].type;
  const size_t bytes = step->op->eval_scratch(&step->attrs, in, step->in_count, out, step->out_count);
  launch->scratch = hn_heap_alloc(&session->heap, bytes);
  return launch->scratch ? HONE_OK : hn_heap_full(session, "the scratch of a step", bytes);
}

/* Extents are those that the step was prepared for; a file's loop may have said otherwise. */
static hone_status check_inputs(hone_session *session, const hn_instance *instance, const hn_plan_step *step) {
  for (int i = 0; i < step->in_count; ++i) {
    hone_shape planned;
    const int t = step->in[i];
    if (t < 0 || instance->plan->tensors[t].place != HN_PLACE_HEAP) continue;
    if (!planned_shape(instance, t, &planned) || !hn_shape_equal(&planned, &instance->tensors[t].type.shape))
      return HN_FAIL(&session->diag, HONE_MALFORMED, "%s has other extents than the model says",
                     instance->plan->tensors[t].name);
  }
  return HONE_OK;
}

/* A step that was prepared before: its outputs are placed, and its tactic launched. */
static hone_status run_fixed(hone_session *session, hn_instance *instance, const hn_plan_step *step,
                             hn_step_state *state) {
  hone_launch *launch = &state->launch;
  hone_tensor *in = (hone_tensor *)(uintptr_t)launch->in;
  HN_TRY(check_inputs(session, instance, step));
  for (int i = 0; i < step->in_count; ++i)
    if (step->in[i] >= 0 && instance->plan->tensors[step->in[i]].place == HN_PLACE_HEAP)
      in[i] = instance->tensors[step->in[i]];
  for (int i = 0; i < step->out_count; ++i) {
    const int t = step->out[i];
    hone_shape shape;
    if (t < 0 || instance->plan->tensors[t].place != HN_PLACE_HEAP) continue;
    if (!planned_shape(instance, t, &shape)) return HONE_INTERNAL;
    HN_TRY(hn_heap_place(session, instance, t, &shape));
    launch->out[i] = instance->tensors[t];
  }
  if (state->nested && !state->checked) { /* those of the main block were checked with the instance */
    const pending_call call = {.session = session, .instance = instance, .step = step, .launch = launch};
    HN_TRY(infer_outputs(&call, launch));
    state->checked = true;
  }
  return hn_launch(session->engine->devices[step->device], &state->prepared, session->streams[step->device], launch);
}

hone_status hn_run_data_dependent(hone_session *session, hn_instance *instance, const hn_plan_step *step,
                                  hn_step_state *state) {
  hone_launch *launch = &state->launch;
  if (state->fixed) return run_fixed(session, instance, step, state);
  HN_TRY(gather_operands(session, instance, step, state, launch));
  pending_call call = {.session = session, .instance = instance, .step = step, .launch = launch};
  HN_TRY(infer_outputs(&call, launch));
  HN_TRY(find_scratch(session, step, launch));
  launch->host = &call;
  launch->resize = resize_output;
  launch->keep = keep;
  const hone_status status =
      hn_launch(session->engine->devices[step->device], &state->prepared, session->streams[step->device], launch);
  launch->host = NULL;
  launch->resize = NULL;
  launch->keep = NULL;
  HN_TRY(status);
  for (int i = 0; i < step->out_count; ++i)
    if (step->out[i] >= 0) HN_TRY(hn_learn_symbols(instance, step->out[i]));
  return HONE_OK;
}

/* A view of a tensor on the heap: the same bytes under the shape that is known by now. */
hone_status hn_view_data_dependent(hone_session *session, hn_instance *instance, const hn_plan_step *step) {
  const hn_plan *plan = instance->plan;
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
