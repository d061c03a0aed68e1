/* SPDX-License-Identifier: Apache-2.0 */
/* storage.c - where tensors live: in others or in place where a tactic allows it, else the lowest free offset of the
 * arena. */
#include "lower/lowering.h"
#include "tensor/shape.h"

/* May the step write output 0 over input i? Its storage must be the arena's, of the same type, and dead afterwards. */
static bool may_overwrite(const hn_plan *plan, const hn_life *lives, int s, int i) {
  const hn_plan_step *step = &plan->steps[s];
  if (step->in[i] < 0) return false;
  const int root = hn_plan_root(plan, step->in[i]);
  if (plan->tensors[root].place != HN_PLACE_ARENA || lives[hn_plan_top(plan, root)].last != s) return false;
  const hone_type *from = &plan->tensors[root].type, *to = &plan->tensors[step->out[0]].type;
  return hn_type_equal(&plan->tensors[step->in[i]].type, to) && from->format == to->format && from->dtype == to->dtype;
}

/* All that lie in one place live until its top does: only lives of tops are kept up to date here. */
static void reuse_in_place(hn_plan *plan, hn_life *lives) {
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    if (step->kind != HN_STEP_CALL || !(step->tactic->flags & HONE_TACTIC_IN_PLACE) || step->out_count != 1) continue;
    hn_plan_tensor *out = &plan->tensors[step->out[0]];
    if (out->place != HN_PLACE_ARENA || out->alias_of >= 0 || out->part_of >= 0) continue;
    for (int i = 0; i < step->in_count; ++i) {
      if (!may_overwrite(plan, lives, s, i)) continue;
      const int root = hn_plan_root(plan, step->in[i]);
      out->alias_of = root;
      const int top = hn_plan_top(plan, root), last = lives[step->out[0]].last;
      if (lives[top].last < last) lives[top].last = last;
      break;
    }
  }
}

/* Resolved bytes of every tensor at opt. */
static hone_status sizes_at_opt(const hn_lowering *lowering, size_t *bytes) {
  const hn_plan *plan = lowering->plan;
  for (int t = 0; t < plan->tensor_count; ++t) {
    const hn_plan_tensor *tensor = &plan->tensors[t];
    bytes[t] = 0;
    if (tensor->place == HN_PLACE_HEAP || tensor->type.kind != HONE_TENSOR) continue;
    hone_type type = tensor->type;
    size_t need;
    if (!hn_shape_eval(&plan->dims, &tensor->type.shape, lowering->choices->symbols, plan->dims.symbol_count,
                       &type.shape) ||
        !hn_type_bytes(&type, &need))
      return HN_FAIL(&lowering->context->diag, HONE_LIMIT, "tensor %s is larger than memory can be", tensor->name);
    if (tensor->place == HN_PLACE_ARENA && tensor->alias_of < 0 && tensor->part_of < 0) bytes[t] = need;
  }
  return HONE_OK;
}

hone_status hn_lowering_storage(hn_lowering *lowering) {
  hn_plan *plan = lowering->plan;
  const int count = plan->tensor_count ? plan->tensor_count : 1;
  hn_life *lives = HN_NEW(&plan->arena, hn_life, count);
  size_t *bytes = HN_NEW(&plan->arena, size_t, count), *offsets = HN_NEW(&plan->arena, size_t, count), total = 0;
  size_t *inside = HN_NEW(&plan->arena, size_t, count), *here = HN_NEW(&plan->arena, size_t, count);
  int *order = HN_NEW(&plan->arena, int, count);
  if (!lives || !bytes || !offsets || !inside || !here || !order) return HN_FAIL_MEMORY(&lowering->context->diag);
  HN_TRY(hn_lowering_overlay(lowering, inside));
  hn_plan_lives(plan, lives);
  reuse_in_place(plan, lives);
  hn_plan_lives(plan, lives);
  HN_TRY(sizes_at_opt(lowering, bytes));
  for (int space = 0; space < plan->device_count; ++space) { /* one arena each */
    if (plan->spaces[space] != space) continue;
    for (int t = 0; t < plan->tensor_count; ++t) here[t] = plan->tensors[t].device == space ? bytes[t] : 0;
    const hone_status status = hn_memory_place(&plan->arena, &lowering->context->stop, plan->tensor_count, here, lives,
                                               order, offsets, &total);
    HN_TRY(hn_check_stop(lowering->context));
    if (status == HONE_NO_MEMORY) return HN_FAIL_MEMORY(&lowering->context->diag);
    if (status != HONE_OK)
      return HN_FAIL(&lowering->context->diag, HONE_LIMIT, "the activations are larger than memory can be");
    for (int t = 0; t < plan->tensor_count; ++t)
      if (plan->tensors[t].place == HN_PLACE_ARENA && plan->tensors[t].device == space)
        plan->tensors[t].offset = offsets[hn_plan_top(plan, t)] + hn_lowering_offset_in_top(plan, inside, t);
    plan->space_arena_bytes[space] = total;
    plan->arena_bytes += total;
  }
  for (int s = 0; s < plan->step_count; ++s)
    if (plan->steps[s].scratch_bytes > plan->scratch_bytes) plan->scratch_bytes = plan->steps[s].scratch_bytes;
  return HONE_OK;
}
