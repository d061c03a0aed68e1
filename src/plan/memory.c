/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - the memory plan: lives of tensors, and offsets that never put two live tensors over each other.
 * Greedy by size (Pisarchyk and Lee 2020): each tensor, largest first, at the lowest gap among its live neighbours. */
#include "plan/plan.h"
#include "base/checked.h"
#include "base/peaks.h"
#include <stdlib.h>
#include <string.h>

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

/* Placed items are found again by their lives: a tree over all items by their first step, which knows the latest last
 * step of those placed. Where many live at the same time, one walk over all that are placed, by offset, costs less. */
typedef struct placement {
  const size_t *bytes;
  const hn_life *lives;
  size_t *offsets;
  int count, sorted_count; /* placed; of them in order of their offsets */
  int *placed;
  int *near;     /* scratch: those that live at the same time as an item */
  int *by_first; /* all items */
  int *rank_of;  /* [item]: its number in by_first */
  hn_peaks ends;
} placement;

typedef struct keyed {
  uint64_t key;
  int item;
} keyed;

static int compare_keyed(const void *a, const void *b) {
  const keyed *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

static bool overlap(hn_life a, hn_life b) { return a.first <= b.last && b.first <= a.last; }

static void sort_by_offset(const placement *p, int *items, int count) {
  for (int gap = count / 2; gap > 0; gap /= 2)
    for (int i = gap; i < count; ++i) {
      const int item = items[i];
      int k = i;
      for (; k >= gap && p->offsets[items[k - gap]] > p->offsets[item]; k -= gap) items[k] = items[k - gap];
      items[k] = item;
    }
}

/* Those placed since the last time join the others, from behind. */
static void sort_placed(placement *p) {
  int *fresh = p->near, old = p->sorted_count, left = p->count - old;
  memcpy(fresh, p->placed + old, (size_t)left * sizeof *fresh);
  sort_by_offset(p, fresh, left);
  for (int to = p->count - 1; left > 0; --to)
    p->placed[to] =
        old > 0 && p->offsets[p->placed[old - 1]] > p->offsets[fresh[left - 1]] ? p->placed[--old] : fresh[--left];
  p->sorted_count = p->count;
}

/* Placed items that live at the same time, into near; -1: more than `most`. */
static int find_near(const placement *p, int item, int most) {
  const hn_life life = p->lives[item];
  const uint64_t least = (uint64_t)life.first + 1;
  int count = 0;
  for (int r = 0; (r = hn_peaks_next(&p->ends, r, least)) < p->ends.count; ++r) {
    if (p->lives[p->by_first[r]].first > life.last) break;
    if (count == most) return -1;
    p->near[count++] = p->by_first[r];
  }
  return count;
}

/* The lowest offset at which the item fits beside the placed items that live at the same time: one walk, by offset. */
static bool lowest_gap(placement *p, int item, size_t *out) {
  const int *others = p->near;
  int count = find_near(p, item, 32 + p->count / 32);
  if (count >= 0) {
    sort_by_offset(p, p->near, count);
  } else {
    sort_placed(p);
    others = p->placed;
    count = p->count;
  }
  size_t at = 0;
  for (int k = 0; k < count; ++k) {
    const int other = others[k];
    if (!overlap(p->lives[item], p->lives[other])) continue;
    size_t end;
    if (!hn_add_size(at, p->bytes[item], &end)) return false;
    if (end <= p->offsets[other]) break;
    const size_t other_end = p->offsets[other] + p->bytes[other];
    if (other_end > at && !hn_align_size(other_end, ALIGNMENT, &at)) return false;
  }
  *out = at;
  return true;
}

static bool start_placement(placement *p, hn_arena *arena, const int *items, int count, int all) {
  keyed *keys = HN_NEW(arena, keyed, count + 1);
  p->placed = HN_NEW(arena, int, count + 1);
  p->near = HN_NEW(arena, int, count + 1);
  p->by_first = HN_NEW(arena, int, count + 1);
  p->rank_of = HN_NEW(arena, int, all + 1);
  if (!keys || !p->placed || !p->near || !p->by_first || !p->rank_of || !hn_peaks_init(&p->ends, arena, count))
    return false;
  for (int k = 0; k < count; ++k) keys[k] = (keyed){(uint64_t)p->lives[items[k]].first, items[k]};
  qsort(keys, (size_t)count, sizeof *keys, compare_keyed);
  for (int r = 0; r < count; ++r) p->rank_of[p->by_first[r] = keys[r].item] = r;
  return true;
}

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

hone_status hn_memory_place(hn_arena *arena, int count, const size_t *bytes, const hn_life *lives, int *order,
                            size_t *offsets, size_t *out_total) {
  int items = 0;
  for (int i = 0; i < count; ++i) {
    offsets[i] = 0;
    if (bytes[i] && lives[i].first <= lives[i].last) order[items++] = i;
  }
  sort_by_size(items, bytes, order);
  placement p = {.bytes = bytes, .lives = lives, .offsets = offsets};
  if (!start_placement(&p, arena, order, items, count)) return HONE_NO_MEMORY;
  size_t total = 0;
  for (int k = 0; k < items; ++k) {
    const int item = order[k];
    size_t end;
    if (!lowest_gap(&p, item, &offsets[item]) || !hn_add_size(offsets[item], bytes[item], &end)) return HONE_LIMIT;
    if (end > total) total = end;
    p.placed[p.count++] = item;
    hn_peaks_set(&p.ends, p.rank_of[item], (uint64_t)lives[item].last + 1);
  }
  return hn_align_size(total, ALIGNMENT, out_total) ? HONE_OK : HONE_LIMIT;
}
