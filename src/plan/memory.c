/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - the memory plan: lives of tensors, and offsets that never put two live tensors over each other.
 * Greedy by size (Pisarchyk and Lee 2020): each tensor, largest first, at the lowest gap among its live neighbours. */
#include "plan/plan.h"
#include "base/checked.h"

enum { ALIGNMENT = 64 };

static void live_at(hn_life *life, int step) {
  if (life->first > life->last) *life = (hn_life){step, step};
  if (step < life->first) life->first = step;
  if (step > life->last) life->last = step;
}

int hn_plan_root(const hn_plan *plan, int t) {
  while (plan->tensors[t].alias_of >= 0) t = plan->tensors[t].alias_of;
  return t;
}

int hn_plan_top(const hn_plan *plan, int t) {
  for (;;) {
    const hn_plan_tensor *tensor = &plan->tensors[t];
    if (tensor->alias_of < 0 && tensor->part_of < 0) return t;
    t = tensor->alias_of >= 0 ? tensor->alias_of : tensor->part_of;
  }
}

int hn_plan_next_wait(const hn_plan *plan, int device, int after_step) {
  const int last = plan->blocks[0].step_count - 1;
  for (int s = after_step + 1; s < last; ++s)
    if (plan->steps[s].kind == HN_STEP_WAIT && plan->steps[s].device == device) return s;
  return last;
}

void hn_plan_lives(const hn_plan *plan, hn_life *lives) {
  for (int t = 0; t < plan->tensor_count; ++t) lives[t] = (hn_life){1, 0};
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    for (int i = 0; i < step->in_count; ++i)
      if (step->in[i] >= 0) live_at(&lives[hn_plan_top(plan, step->in[i])], s);
    if (step->kind == HN_STEP_COPY && plan->tensors[step->in[0]].device == plan->host)
      live_at(&lives[hn_plan_top(plan, step->in[0])], hn_plan_next_wait(plan, step->device, s));
    for (int i = 0; i < step->out_count; ++i)
      if (step->out[i] >= 0) live_at(&lives[hn_plan_top(plan, step->out[i])], s);
  }
  for (int t = 0; t < plan->tensor_count; ++t) lives[t] = lives[hn_plan_top(plan, t)];
}

static bool overlap(hn_life a, hn_life b) { return a.first <= b.last && b.first <= a.last; }

/* Larger first; equal sizes in their given order, so that the result is the same everywhere. */
static void sort_by_size(int count, const size_t *bytes, int *order) {
  for (int gap = count / 2; gap > 0; gap /= 2)
    for (int i = gap; i < count; ++i) {
      const int item = order[i];
      int k = i;
      while (k >= gap &&
             (bytes[order[k - gap]] < bytes[item] || (bytes[order[k - gap]] == bytes[item] && order[k - gap] > item))) {
        order[k] = order[k - gap];
        k -= gap;
      }
      order[k] = item;
    }
}

/* The lowest offset at which `bytes` fit beside the placed tensors that live at the same time. placed is kept sorted by
 * offset, so one walk finds the first gap. */
static bool lowest_gap(const int *placed, int placed_count, const size_t *bytes, const hn_life *lives,
                       const size_t *offsets, int item, size_t *out) {
  size_t at = 0;
  for (int p = 0; p < placed_count; ++p) {
    const int other = placed[p];
    if (!overlap(lives[item], lives[other])) continue;
    size_t end;
    if (!hn_add_size(at, bytes[item], &end)) return false;
    if (end <= offsets[other]) break;
    const size_t other_end = offsets[other] + bytes[other];
    if (other_end > at && !hn_align_size(other_end, ALIGNMENT, &at)) return false;
  }
  *out = at;
  return true;
}

/* order holds the items still to place from `next` on; the placed ones are kept before it, sorted by offset. */
static void insert_by_offset(int *order, int placed_count, int item, const size_t *offsets) {
  int k = placed_count;
  while (k > 0 && offsets[order[k - 1]] > offsets[item]) {
    order[k] = order[k - 1];
    --k;
  }
  order[k] = item;
}

hone_status hn_memory_place(int count, const size_t *bytes, const hn_life *lives, int *order, size_t *offsets,
                            size_t *out_total) {
  int items = 0;
  for (int i = 0; i < count; ++i) {
    offsets[i] = 0;
    if (bytes[i] && lives[i].first <= lives[i].last) order[items++] = i;
  }
  sort_by_size(items, bytes, order);
  size_t total = 0;
  for (int k = 0; k < items; ++k) {
    const int item = order[k];
    size_t end;
    if (!lowest_gap(order, k, bytes, lives, offsets, item, &offsets[item]) ||
        !hn_add_size(offsets[item], bytes[item], &end))
      return HONE_LIMIT;
    if (end > total) total = end;
    insert_by_offset(order, k, item, offsets);
  }
  return hn_align_size(total, ALIGNMENT, out_total) ? HONE_OK : HONE_LIMIT;
}
