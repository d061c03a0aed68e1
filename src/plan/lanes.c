/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.c - which steps of a device may run side by side, and places for their values that let them.
 *
 * What a recording waits for is told from addresses when it is made, so that places decide how much runs side by side
 * and never whether it is right. */
#include "plan/plan.h"
#include "tensor/shape.h"
#include <string.h>

enum { MOST_STEPS = 4096 }; /* of plans that are looked at: ancestors are a bit a pair */

/* ---- assigning ---- */

/* The latest item of each lane that the lane's last one is known to be behind. */
typedef struct clocks {
  int at[HONE_MAX_LANES];
} clocks;

static void advance(clocks *to, const clocks *from) {
  for (int lane = 0; lane < HONE_MAX_LANES; ++lane)
    if (from->at[lane] > to->at[lane]) to->at[lane] = from->at[lane];
}

/* The lane whose last item is the latest one that this item depends on; else one that holds nothing; else the one whose
 * last item is the oldest. */
static int choose_lane(const int *tails, const int *needs, int most) {
  int lane = -1;
  for (int l = 0; l < most; ++l)
    if (needs[l] >= 0 && needs[l] == tails[l] && (lane < 0 || tails[l] > tails[lane])) lane = l;
  for (int l = 0; l < most && lane < 0; ++l)
    if (tails[l] < 0) lane = l;
  if (lane >= 0) return lane;
  lane = 0;
  for (int l = 1; l < most; ++l)
    if (tails[l] < tails[lane]) lane = l;
  return lane;
}

int hn_lanes_assign(hn_arena *arena, int count, int most, hn_depends_fn depends, const void *user, hn_lane_step *out) {
  clocks *known = HN_NEW(arena, clocks, count + 1);
  int tails[HONE_MAX_LANES], used = 1;
  if (!known) return 0;
  if (most > HONE_MAX_LANES) most = HONE_MAX_LANES;
  memset(tails, -1, sizeof tails);
  for (int i = 0; i < count; ++i) {
    int needs[HONE_MAX_LANES];
    memset(needs, -1, sizeof needs);
    for (int e = i - 1; e >= 0; --e)
      if (needs[out[e].lane] < 0 && depends(user, e, i)) needs[out[e].lane] = e;
    hn_lane_step *item = &out[i];
    *item = (hn_lane_step){.lane = choose_lane(tails, needs, most)};
    if (tails[item->lane] >= 0)
      known[i] = known[tails[item->lane]];
    else
      memset(&known[i], -1, sizeof known[i]);
    for (;;) { /* the latest first: what it waited for itself needs no wait */
      int latest = -1;
      for (int l = 0; l < most; ++l)
        if (l != item->lane && needs[l] > known[i].at[l] && needs[l] > latest) latest = needs[l];
      if (latest < 0) break;
      item->waits[item->wait_count++] = latest;
      advance(&known[i], &known[latest]);
    }
    known[i].at[item->lane] = i;
    tails[item->lane] = i;
    if (item->lane >= used) used = item->lane + 1;
  }
  return used;
}

/* ---- by values ---- */

/* Ancestors of the main block's steps: those that they need values of. */
typedef struct ancestry {
  int count;
  size_t words; /* a step */
  uint64_t *bits;
  int *ends; /* [step]: behind the last one that may be recorded together with it */
} ancestry;

static bool is_ancestor(const ancestry *a, int earlier, int later) {
  return a->bits[(size_t)later * a->words + (size_t)earlier / 64] >> (earlier % 64) & 1;
}

static bool is_recorded(const hn_plan *plan, const hn_plan_step *step) {
  return step->kind == HN_STEP_VIEW || (step->kind == HN_STEP_CALL && plan->spaces[step->device] != plan->host);
}

static bool trace_ancestors(const hn_plan *plan, hn_arena *arena, ancestry *a) {
  a->count = plan->blocks[0].step_count;
  a->words = (size_t)a->count / 64 + 1;
  a->bits = HN_NEW(arena, uint64_t, (size_t)a->count * a->words + 1);
  a->ends = HN_NEW(arena, int, a->count + 1);
  int *writer = HN_NEW(arena, int, plan->tensor_count + 1);
  if (!a->bits || !a->ends || !writer) return false;
  for (int t = 0; t < plan->tensor_count; ++t) writer[t] = -1;
  for (int s = 0; s < a->count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    uint64_t *own = &a->bits[(size_t)s * a->words];
    for (int i = 0; i < step->in_count; ++i) {
      const int from = step->in[i] >= 0 ? writer[step->in[i]] : -1;
      if (from < 0) continue;
      for (size_t w = 0; w < a->words; ++w) own[w] |= a->bits[(size_t)from * a->words + w];
      own[from / 64] |= (uint64_t)1 << (from % 64);
    }
    for (int i = 0; i < step->out_count; ++i)
      if (step->out[i] >= 0) writer[step->out[i]] = s;
  }
  for (int s = a->count - 1; s >= 0; --s) {
    const bool joined =
        s + 1 < a->count && is_recorded(plan, &plan->steps[s]) && is_recorded(plan, &plan->steps[s + 1]);
    a->ends[s] = joined ? a->ends[s + 1] : s + 1;
  }
  return true;
}

static bool can_have_lanes(const hn_plan *plan) {
  bool own = false;
  for (int d = 0; d < plan->device_count; ++d) own = own || plan->spaces[d] != plan->host;
  return own && !plan->dynamic && !plan->after_run && plan->blocks[0].step_count <= MOST_STEPS;
}

typedef struct value_items {
  const ancestry *of;
  const int *steps; /* [item] */
} value_items;

static bool needs_value(const void *user, int earlier, int later) {
  const value_items *items = user;
  return is_ancestor(items->of, items->steps[earlier], items->steps[later]);
}

hone_status hn_plan_width(const hn_plan *plan, hn_arena *arena, int most, int *out_lanes, hone_diagnostics *diag) {
  ancestry a;
  *out_lanes = 1;
  if (!can_have_lanes(plan) || most < 2) return HONE_OK;
  if (!trace_ancestors(plan, arena, &a)) return HN_FAIL_MEMORY(diag);
  int *steps = HN_NEW(arena, int, a.count + 1);
  hn_lane_step *lanes = HN_NEW(arena, hn_lane_step, a.count + 1);
  if (!steps || !lanes) return HN_FAIL_MEMORY(diag);
  for (int s = 0; s < a.count; s = a.ends[s]) {
    int count = 0;
    for (int k = s; k < a.ends[s]; ++k)
      if (plan->steps[k].kind == HN_STEP_CALL && is_recorded(plan, &plan->steps[k])) steps[count++] = k;
    const value_items items = {&a, steps};
    const int used = hn_lanes_assign(arena, count, most, needs_value, &items, lanes);
    if (used == 0) return HN_FAIL_MEMORY(diag);
    if (used > *out_lanes) *out_lanes = used;
  }
  return HONE_OK;
}

/* A place is kept until everything behind needs what its users made: nothing that could run beside them is left. */
static void lengthen(const hn_plan *plan, const ancestry *a, hn_life *lives) {
  for (int s = 0; s < a->count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    int last = a->ends[s] - 1;
    while (last > s && (plan->steps[last].kind == HN_STEP_VIEW || is_ancestor(a, s, last))) --last;
    for (int i = 0; i < step->in_count + step->out_count; ++i) {
      const int t = i < step->in_count ? step->in[i] : step->out[i - step->in_count];
      if (t < 0 || plan->tensors[t].device == plan->host) continue;
      hn_life *life = &lives[hn_plan_top(plan, t)];
      if (life->last < last) life->last = last;
    }
  }
  for (int t = 0; t < plan->tensor_count; ++t) lives[t] = lives[hn_plan_top(plan, t)];
}

hone_status hn_plan_place(hn_plan *plan, hn_arena *arena, int lanes, hone_diagnostics *diag) {
  const int count = plan->tensor_count + 1;
  hn_life *lives = HN_NEW(arena, hn_life, count);
  size_t *bytes = HN_NEW(arena, size_t, count), *offsets = HN_NEW(arena, size_t, count);
  uint64_t *inside = HN_NEW(arena, uint64_t, count);
  int *order = HN_NEW(arena, int, count);
  ancestry a;
  if (!lives || !bytes || !offsets || !inside || !order || !trace_ancestors(plan, arena, &a))
    return HN_FAIL_MEMORY(diag);
  hn_plan_lives(plan, lives);
  if (lanes > 1) lengthen(plan, &a, lives);
  for (int t = 0; t < plan->tensor_count; ++t)
    inside[t] = plan->tensors[t].offset - plan->tensors[hn_plan_top(plan, t)].offset;
  plan->arena_bytes = 0;
  for (int space = 0; space < plan->device_count; ++space) {
    size_t total = 0;
    if (plan->spaces[space] != space) continue;
    for (int t = 0; t < plan->tensor_count; ++t) {
      const hn_plan_tensor *tensor = &plan->tensors[t];
      const bool owns = tensor->place == HN_PLACE_ARENA && hn_plan_top(plan, t) == t && tensor->device == space;
      if (!owns || !hn_type_bytes(&tensor->type, &bytes[t])) bytes[t] = 0;
    }
    HN_TRY(hn_memory_place(arena, NULL, plan->tensor_count, bytes, lives, order, offsets, &total));
    for (int t = 0; t < plan->tensor_count; ++t)
      if (plan->tensors[t].place == HN_PLACE_ARENA && plan->tensors[t].device == space)
        plan->tensors[t].offset = offsets[hn_plan_top(plan, t)] + inside[t];
    plan->space_arena_bytes[space] = total;
    plan->arena_bytes += total;
  }
  plan->lanes = lanes;
  return HONE_OK;
}
