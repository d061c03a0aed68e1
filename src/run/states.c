/* SPDX-License-Identifier: Apache-2.0 */
/* states.c - an input and the output that continues it in one buffer of the session's, whatever the other inputs'
 * shapes are. */
#include "base/arguments.h"
#include "run/session.h"
#include "tensor/shape.h"

static bool reads(const hn_plan_step *step, int t) {
  for (int i = 0; i < step->in_count; ++i)
    if (step->in[i] == t) return true;
  return false;
}

/* Does the step's tactic let these two tensors be one memory? */
static bool continues(const hn_plan_step *step, int in, int out) {
  if (step->kind != HN_STEP_CALL || !step->tactic) return false;
  for (int i = 0; i < step->tactic->state_count; ++i) {
    const hone_state_ports *ports = &step->tactic->states[i];
    if (ports->in < step->in_count && ports->out < step->out_count && step->in[ports->in] == in &&
        step->out[ports->out] == out)
      return true;
  }
  return false;
}

/* The step that continues the pair; NULL: none does. */
static const hn_plan_step *writer_of(const hn_plan *plan, int in, int out) {
  for (int s = 0; s < plan->step_count; ++s)
    if (continues(&plan->steps[s], in, out)) return &plan->steps[s];
  return NULL;
}

/* NULL, or why the two cannot be one memory in this plan. */
static const char *refusal(const hn_plan *plan, int in, int out) {
  const hn_plan_tensor *from = &plan->tensors[in], *to = &plan->tensors[out];
  if (from->type.kind != HONE_TENSOR || to->type.kind != HONE_TENSOR || to->place != HN_PLACE_OUTPUT ||
      from->place != HN_PLACE_INPUT || to->alias_of >= 0)
    return "they are not an input and an output of known extents that a step writes";
  if (from->device != plan->host || to->device != plan->host) return "they do not lie in the host's memory";
  if (from->type.dtype != to->type.dtype || from->type.format != to->type.format) return "their types differ";
  for (int t = 0; t < plan->tensor_count; ++t)
    if (plan->tensors[t].alias_of == in || plan->tensors[t].alias_of == out)
      return "another value shares the memory of one of them";
  const hn_plan_step *writer = writer_of(plan, in, out);
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    const bool grows = writer && writer->tactic->flags & HONE_TACTIC_APPENDS; /* then it is not all of the output */
    if (!continues(step, in, out) && (reads(step, in) || (grows && reads(step, out))))
      return "a further step reads one of them";
  }
  return writer ? NULL : "no step's tactic continues the input in place";
}

static hone_status take(hone_session *session, const hone_session_state *given, hn_state *state) {
  const hn_schedules *schedules = session->engine->schedules;
  const hn_plan *common = hn_engine_common(session->engine);
  if (!given->input || !given->output)
    return HN_FAIL(&session->diag, HONE_INVALID, "session option states: a name is missing");
  state->in = hn_port_find(common->inputs, common->input_count, given->input);
  state->out = hn_port_find(common->outputs, common->output_count, given->output);
  if (state->in < 0) return HN_FAIL(&session->diag, HONE_INVALID, "no input is called %s", given->input);
  if (state->out < 0) return HN_FAIL(&session->diag, HONE_INVALID, "no output is called %s", given->output);
  for (const hn_state *other = session->states; other < state; ++other)
    if (other->in == state->in || other->out == state->out)
      return HN_FAIL(&session->diag, HONE_INVALID, "%s or %s is in two states", given->input, given->output);
  for (int k = 0; k < schedules->count; ++k) {
    const hn_plan *plan = schedules->plans[k];
    const char *why = refusal(plan, plan->inputs[state->in].tensor, plan->outputs[state->out].tensor);
    if (why)
      return HN_FAIL(&session->diag, HONE_INVALID, "%s cannot be kept where %s lies: %s", given->output, given->input,
                     why);
    const hn_plan_step *writer = writer_of(plan, plan->inputs[state->in].tensor, plan->outputs[state->out].tensor);
    state->appends = writer->tactic->flags & HONE_TACTIC_APPENDS;
  }
  return HONE_OK;
}

hone_status hn_states_make(hone_session *session) {
  const hone_session_options *options = &session->options;
  if (options->state_count == 0) return HONE_OK;
  hn_state *states = HN_NEW(&session->arena, hn_state, options->state_count);
  if (!states) return HN_FAIL_MEMORY(&session->diag);
  session->states = states;
  for (int i = 0; i < options->state_count; ++i) {
    HN_TRY(take(session, &options->states[i], &states[i]));
    session->state_count = i + 1;
  }
  return HONE_OK;
}

const hn_state *hn_state_of(const hone_session *session, int input, int output) {
  for (int i = 0; i < session->state_count; ++i)
    if (session->states[i].in == input || session->states[i].out == output) return &session->states[i];
  return NULL;
}

/* Its buffer for the instance's shapes: the one that is there, or another one of zeros. */
static hone_status fit(hone_session *session, hn_instance *instance, hn_state *state) {
  const hn_plan_port *in = &instance->plan->inputs[state->in], *out = &instance->plan->outputs[state->out];
  const hone_tensor *from = &instance->tensors[in->tensor];
  hone_tensor *to = &instance->tensors[out->tensor];
  if (state->appends) { /* what is there of the output are the input's rows */
    to->type.shape = from->type.shape;
    to->bytes = from->bytes;
  }
  if (!hn_shape_equal(&from->type.shape, &to->type.shape))
    return HN_FAIL(&session->diag, HONE_INVALID,
                   "%s has other extents than %s, whose buffer it is: the lengths that decide them must agree",
                   out->name, in->name);
  if (state->memory.data && hn_shape_equal(&state->shape, &from->type.shape)) return HONE_OK;
  hone_memory made = {0};
  HN_TRY(hn_session_host_alloc(session, from->bytes, &made));
  if (!hn_stop_clear(&session->stop, made.data, made.bytes)) {
    hn_session_host_free(session, &made);
    return hn_stop_check(&session->stop, &session->diag);
  }
  hn_session_host_free(session, &state->memory);
  state->memory = made;
  state->shape = from->type.shape;
  return HONE_OK;
}

hone_status hn_states_fit(hone_session *session, hn_instance *instance) {
  for (int i = 0; i < session->state_count; ++i) HN_TRY(fit(session, instance, &session->states[i]));
  return HONE_OK;
}

hone_status hone_session_set_state_length(hone_session *session, int64_t length) {
  HN_TRY(hn_session_enter(session));
  hone_status status = hn_argument_range(&session->diag, "length", length, 0, INT64_MAX);
  if (status == HONE_OK && session->state_count == 0)
    status = HN_FAIL(&session->diag, HONE_INVALID, "the session has no states");
  if (status == HONE_OK) session->state_length = length;
  return hn_session_leave(session, status);
}

void hn_states_drop(hone_session *session) {
  for (int i = 0; i < session->state_count; ++i) hn_session_host_free(session, &session->states[i].memory);
}
