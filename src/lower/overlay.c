/* SPDX-License-Identifier: Apache-2.0 */
/* overlay.c - joins and splits without copies: what is joined is made where the whole lies, and what is split off stays
 * there. Only in static plans, where every offset is known. Steps are taken from the last to the first for joins, so
 * that a join of what a later, larger join has already placed side by side finds its own place ready (DenseNet joins
 * the same tensors again and again). The plan's check derives from the steps that nothing needed is written over. */
#include "lower/lowering.h"
#include "tensor/shape.h"
#include <string.h>

enum { ALIGNMENT = 64 };

typedef struct overlay {
  hn_lowering *lowering;
  hn_plan *plan;
  size_t *inside; /* offset in part_of */
  hone_query query;
  hone_fact *facts;
} overlay;

static bool all_known(const hn_plan *plan) {
  for (int t = 0; t < plan->tensor_count; ++t)
    if (plan->tensors[t].type.kind == HONE_TENSOR && !hn_shape_known(&plan->tensors[t].type.shape)) return false;
  return true;
}

static size_t bytes_of(const hn_plan *plan, int t) { return hn_bytes(&plan->tensors[t].type); }

/* Has storage of its own that nothing has been decided about. */
static bool is_free(const hn_plan *plan, int t) {
  const hn_plan_tensor *tensor = &plan->tensors[t];
  return tensor->place == HN_PLACE_ARENA && tensor->alias_of < 0 && tensor->part_of < 0;
}

size_t hn_lowering_offset_in_top(const hn_plan *plan, const size_t *inside, int t) {
  size_t sum = 0;
  for (;;) {
    const hn_plan_tensor *tensor = &plan->tensors[t];
    if (tensor->alias_of >= 0) {
      t = tensor->alias_of;
    } else if (tensor->part_of >= 0) {
      sum += inside[t];
      t = tensor->part_of;
    } else {
      return sum;
    }
  }
}

static void put(overlay *o, int t, int whole, size_t offset) {
  o->plan->tensors[t].part_of = whole;
  o->inside[t] = offset;
}

static hone_status ask(overlay *o, const hn_plan_step *step) {
  hn_lowering *lowering = o->lowering;
  o->facts = HN_NEW(&o->plan->arena, hone_fact, step->in_count + step->out_count);
  if (!o->facts) return HN_FAIL_MEMORY(&lowering->context->diag);
  HN_TRY(hn_plan_step_facts(o->plan, step, NULL, o->facts, o->facts + step->in_count, &lowering->context->diag));
  hn_plan_step_query(o->plan, step, &lowering->choices->devices[step->device]->facts, o->facts,
                     o->facts + step->in_count, &o->query);
  return HONE_OK;
}

/* All inputs already lie in one tensor as the output wants them: then the output does, too. */
static bool lies_ready(overlay *o, const hn_plan_step *step) {
  const hn_plan *plan = o->plan;
  int whole = -1;
  size_t base = 0;
  for (int i = 0; i < step->in_count; ++i) {
    const int64_t offset = step->in[i] >= 0 ? step->tactic->overlay(&o->query, i, 0) : -1;
    if (offset < 0 || plan->tensors[step->in[i]].place != HN_PLACE_ARENA) return false;
    const int top = hn_plan_top(plan, step->in[i]);
    const size_t at = hn_lowering_offset_in_top(plan, o->inside, step->in[i]);
    if (at < (size_t)offset || (i > 0 && (top != whole || at - (size_t)offset != base))) return false;
    whole = top;
    base = at - (size_t)offset;
  }
  const int out = step->out[0];
  if (whole < 0 || whole == out || base % ALIGNMENT || bytes_of(plan, out) >= bytes_of(plan, whole) ||
      base > bytes_of(plan, whole) - bytes_of(plan, out))
    return false;
  put(o, out, whole, base);
  return true;
}

static void join(overlay *o, const hn_plan_step *step) {
  const hn_plan *plan = o->plan;
  const int out = step->out[0];
  if (is_free(plan, out) && lies_ready(o, step)) return;
  for (int i = 0; i < step->in_count; ++i) {
    if (step->in[i] < 0) continue;
    const int root = hn_plan_root(plan, step->in[i]);
    const int64_t offset = step->tactic->overlay(&o->query, i, 0);
    if (offset < 0 || offset % ALIGNMENT || !is_free(plan, root) ||
        bytes_of(plan, root) != bytes_of(plan, step->in[i]) || bytes_of(plan, root) >= bytes_of(plan, out) ||
        hn_plan_top(plan, out) == root)
      continue;
    put(o, root, out, (size_t)offset);
  }
}

static void split(overlay *o, const hn_plan_step *step) {
  const hn_plan *plan = o->plan;
  const int whole = hn_plan_root(plan, step->in[0]);
  for (int i = 0; i < step->out_count; ++i) {
    const int part = step->out[i];
    const int64_t offset = part >= 0 ? step->tactic->overlay(&o->query, 0, i) : -1;
    if (offset < 0 || offset % ALIGNMENT || !is_free(plan, part) ||
        bytes_of(plan, part) >= bytes_of(plan, step->in[0]) || hn_plan_top(plan, whole) == part)
      continue;
    put(o, part, whole, (size_t)offset);
  }
}

static bool moves(const hn_plan_step *step) {
  return step->kind == HN_STEP_CALL && step->tactic->overlay && step->in_count > 0 && step->in[0] >= 0 &&
         step->out_count > 0 && step->out[0] >= 0;
}

hone_status hn_lowering_overlay(hn_lowering *lowering, size_t *inside) {
  hn_plan *plan = lowering->plan;
  overlay o = {.lowering = lowering, .plan = plan, .inside = inside};
  memset(inside, 0, (size_t)plan->tensor_count * sizeof *inside);
  if (!all_known(plan)) return HONE_OK;
  for (int s = plan->blocks[0].step_count - 1; s >= 0; --s) {
    const hn_plan_step *step = &plan->steps[s];
    if (!moves(step) || step->out_count != 1 || plan->tensors[step->out[0]].place != HN_PLACE_ARENA ||
        plan->tensors[step->out[0]].alias_of >= 0)
      continue;
    HN_TRY(ask(&o, step));
    join(&o, step);
  }
  for (int s = 0; s < plan->blocks[0].step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    if (!moves(step) || plan->tensors[step->in[0]].place != HN_PLACE_ARENA ||
        bytes_of(plan, step->in[0]) <= bytes_of(plan, step->out[0]))
      continue;
    HN_TRY(ask(&o, step));
    split(&o, step);
  }
  return HONE_OK;
}
