/* SPDX-License-Identifier: Apache-2.0 */
/* check_spaces.c - plans over several memories: every step works in its own device's memory, copies go between two of
 * them, and the host waits before it reads what a device was asked to copy. */
#include "plan/check.h"
#include "tensor/shape.h"

#define BAD(checker, ...) HN_FAIL((checker)->diag, HONE_MALFORMED, __VA_ARGS__)

hone_status hn_check_spaces(hn_plan_checker *checker) {
  const hn_plan *plan = checker->plan;
  uint64_t total = 0;
  if (plan->host < 0 || plan->host >= plan->device_count || plan->spaces[plan->host] != plan->host)
    return BAD(checker, "device %d is not the host's", plan->host);
  for (int d = 0; d < plan->device_count; ++d) {
    const int space = plan->spaces[d];
    if (space != d && (space != plan->host || space > d))
      return BAD(checker, "device %d works in the memory of device %d", d, space);
    if (space != d && plan->space_arena_bytes[d]) return BAD(checker, "device %d has an arena, but no memory", d);
    if (plan->space_arena_bytes[d] > UINT64_MAX / 2 - total) return BAD(checker, "the arenas are larger than memory");
    total += plan->space_arena_bytes[d];
  }
  if (total != plan->arena_bytes) return BAD(checker, "the arenas' bytes do not add up");
  if (plan->lanes > 1 && plan->dynamic) return BAD(checker, "lanes are for plans whose extents are all numbers");
  for (int t = 0; t < plan->tensor_count; ++t) {
    const hn_plan_tensor *tensor = &plan->tensors[t];
    if (plan->spaces[tensor->device] != tensor->device)
      return BAD(checker, "tensor %s lies with device %d, which has no memory of its own", tensor->name,
                 tensor->device);
    if (tensor->place == HN_PLACE_HEAP && tensor->device != plan->host)
      return BAD(checker, "tensor %s is not in the host's memory", tensor->name);
  }
  return HONE_OK;
}

/* The step whose copy made the bytes of a tensor; NULL when no copy did. */
static const hn_plan_step *copied_by(const hn_plan_checker *checker, int t, int *out_at) {
  const hn_plan *plan = checker->plan;
  const int root = hn_plan_root(plan, t), s = checker->written_at[root];
  *out_at = s;
  return s >= 0 && plan->steps[s].kind == HN_STEP_COPY ? &plan->steps[s] : NULL;
}

static hone_status check_arrived(hn_plan_checker *checker, int t) {
  int at;
  const hn_plan_step *copy = copied_by(checker, t, &at);
  if (copy && checker->plan->tensors[t].device == checker->plan->host && checker->waited_at[copy->device] < at)
    return BAD(checker, "%s is read before the host waited for its copy", checker->plan->tensors[t].name);
  return HONE_OK;
}

hone_status hn_check_in_space(hn_plan_checker *checker, const hn_plan_step *step) {
  const hn_plan *plan = checker->plan;
  if (step->kind == HN_STEP_VIEW && (step->out_count < 1 || step->out[0] < 0))
    return BAD(checker, "a view has no output");
  const int space = step->kind == HN_STEP_VIEW ? plan->tensors[step->out[0]].device : plan->spaces[step->device];
  if ((step->kind == HN_STEP_BRANCH || step->kind == HN_STEP_LOOP) && space != plan->host)
    return BAD(checker, "branches and loops run on the host");
  for (int i = 0; i < step->in_count + step->out_count; ++i) {
    const int t = i < step->in_count ? step->in[i] : step->out[i - step->in_count];
    if (t < 0 || plan->tensors[t].place == HN_PLACE_PACKED) continue;
    if (plan->tensors[t].device != space)
      return BAD(checker, "%s lies with device %d, and the step runs on device %d", plan->tensors[t].name,
                 plan->tensors[t].device, step->device);
    if (space == plan->host && step->kind != HN_STEP_VIEW && i < step->in_count) HN_TRY(check_arrived(checker, t));
  }
  return HONE_OK;
}

hone_status hn_check_copy(hn_plan_checker *checker, const hn_plan_step *step, int block) {
  const hn_plan *plan = checker->plan;
  if (block != 0 || step->in_count != 1 || step->out_count != 1 || step->in[0] < 0 || step->out[0] < 0)
    return BAD(checker, "a copy has one input and one output, in the main block");
  const hn_plan_tensor *from = &plan->tensors[step->in[0]], *to = &plan->tensors[step->out[0]];
  if (from->device == to->device || (from->device != plan->host && to->device != plan->host))
    return BAD(checker, "it copies %s within a memory, or past the host", from->name);
  if (step->device != (from->device == plan->host ? to->device : from->device))
    return BAD(checker, "device %d cannot copy %s", step->device, from->name);
  if (!hn_type_equal(&from->type, &to->type) || from->type.format != to->type.format)
    return BAD(checker, "%s and %s have different types", from->name, to->name);
  if (from->place == HN_PLACE_PACKED || from->place == HN_PLACE_HEAP || to->alias_of >= 0 ||
      (to->place != HN_PLACE_ARENA && to->place != HN_PLACE_OUTPUT))
    return BAD(checker, "it copies from or to bytes that are not there");
  checker->facts[step->out[0]].value = checker->facts[step->in[0]].value;
  checker->facts[step->out[0]].value_count = checker->facts[step->in[0]].value_count;
  return from->device == plan->host ? check_arrived(checker, step->in[0]) : HONE_OK;
}

hone_status hn_check_wait(hn_plan_checker *checker, const hn_plan_step *step, int s, int block) {
  const hn_plan *plan = checker->plan;
  if (block != 0 || step->in_count || step->out_count || plan->spaces[step->device] == plan->host)
    return BAD(checker, "only the main block waits, and only for a device with memory of its own");
  checker->waited_at[step->device] = s;
  return HONE_OK;
}
