/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - the memory plan: lives of tensors, and offsets that never put two live tensors over each other.
 * Greedy by size (Pisarchyk and Lee 2020): each tensor, largest first, at the lowest gap among its live neighbours. */
#include "plan/plan.h"
#include "base/checked.h"
#include "base/peaks.h"
#include <limits.h>
#include <stdlib.h>

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

/* For every step an offset below which all is taken while it runs: nothing that lives then can lie lower. A tree of the
 * greatest and the least of its leaves; where both are the same, what lies below may be older. */
typedef struct floors {
  int leaves; /* a power of two */
  uint64_t *most, *least;
} floors;

static bool start_floors(floors *f, hn_arena *arena, int steps) {
  f->leaves = 1;
  while (f->leaves < steps) f->leaves *= 2;
  f->most = HN_NEW(arena, uint64_t, 2 * (size_t)f->leaves);
  f->least = HN_NEW(arena, uint64_t, 2 * (size_t)f->leaves);
  return f->most && f->least;
}

static uint64_t highest_floor(const floors *f, size_t node, int begin, int end, hn_life life) {
  if (begin > life.last || end <= life.first) return 0;
  if (f->most[node] == f->least[node] || (life.first <= begin && end - 1 <= life.last)) return f->most[node];
  const int middle = begin + (end - begin) / 2;
  const uint64_t a = highest_floor(f, 2 * node, begin, middle, life),
                 b = highest_floor(f, 2 * node + 1, middle, end, life);
  return a > b ? a : b;
}

/* An item that lives so long was placed at `at`, which is no lower than any floor of its life: floors there rise. */
static void raise_floors(floors *f, size_t node, int begin, int end, hn_life life, uint64_t at, uint64_t to) {
  if (begin > life.last || end <= life.first || f->most[node] < at) return;
  const bool is_even = f->most[node] == f->least[node];
  if (is_even && life.first <= begin && end - 1 <= life.last) {
    f->most[node] = f->least[node] = to;
    return;
  }
  for (size_t child = 2 * node; is_even && child <= 2 * node + 1; ++child)
    f->most[child] = f->least[child] = f->most[node];
  const int middle = begin + (end - begin) / 2;
  raise_floors(f, 2 * node, begin, middle, life, at, to);
  raise_floors(f, 2 * node + 1, middle, end, life, at, to);
  const uint64_t *most = &f->most[2 * node], *least = &f->least[2 * node];
  f->most[node] = most[0] > most[1] ? most[0] : most[1];
  f->least[node] = least[0] < least[1] ? least[0] : least[1];
}

/* Placed items in order of their offsets. */
typedef struct row {
  int *items, count;
  size_t *offsets, *tops; /* of the items; [k]: the highest end of items 0..k */
} row;

/* Placed items are found again by their lives: a tree over all items by their first step, which knows the latest last
 * step of those placed. Where many live at the same time, a walk over all that are placed, by offset, costs less: it
 * begins at the highest floor, and mostly ends soon. The few that came last are a row of their own, so that one that
 * lies low does not move all others each time. */
typedef struct placement {
  const size_t *bytes;
  const hn_life *lives;
  size_t *offsets;
  int count;     /* placed */
  int *unsorted; /* placed since the rows were last sorted */
  int unsorted_count;
  row all, late;
  bool is_crowded; /* walks have been shorter of late */
  int *near;       /* scratch: those that live at the same time as an item, */
  size_t *near_offsets;
  int *by_first; /* all items */
  int *rank_of;  /* [item]: its number in by_first */
  hn_peaks ends;
  floors floors;
} placement;

enum { LATE_ITEMS = 1024 };

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

/* Merges sorted items into a row, from behind. */
static void join_row(const placement *p, row *r, const int *items, int count) {
  int old = r->count, left = count, to = r->count += count;
  while (left > 0) {
    const bool moves = old > 0 && r->offsets[old - 1] > p->offsets[items[left - 1]];
    r->items[--to] = moves ? r->items[--old] : items[--left];
    r->offsets[to] = p->offsets[r->items[to]];
  }
  for (size_t top = to > 0 ? r->tops[to - 1] : 0; to < r->count; ++to) {
    const size_t end = r->offsets[to] + p->bytes[r->items[to]];
    r->tops[to] = top = end > top ? end : top;
  }
}

static void sort_placed(placement *p) {
  sort_by_offset(p, p->unsorted, p->unsorted_count);
  if (p->late.count + p->unsorted_count > LATE_ITEMS) {
    join_row(p, &p->all, p->late.items, p->late.count);
    p->late.count = 0;
  }
  join_row(p, p->unsorted_count > LATE_ITEMS ? &p->all : &p->late, p->unsorted, p->unsorted_count);
  p->unsorted_count = 0;
}

/* The first item of a row behind which not all ends at or below `at`; 0 where the row does not know. */
static int first_above(const row *r, size_t at) {
  int low = 0, high = r->tops ? r->count : 0;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (r->tops[middle] > at)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
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

typedef enum walked { FOUND, TOO_FAR, TOO_LARGE } walked;

static size_t offset_at(const row *r, int at) { return at < r->count ? r->offsets[at] : SIZE_MAX; }

/* The lowest offset from *at on at which the item fits beside those of two rows that live at the same time; TOO_FAR:
 * that would take more than `most` looks. */
static walked walk(const placement *p, int item, const row *a, const row *b, int most, size_t *at) {
  const hn_life life = p->lives[item];
  int i = first_above(a, *at), k = first_above(b, *at);
  size_t end, next_b = offset_at(b, k);
  if (!hn_add_size(*at, p->bytes[item], &end)) return TOO_LARGE;
  for (; i < a->count || k < b->count; --most) {
    if (most == 0) return TOO_FAR;
    int other;
    size_t offset;
    if (i < a->count && a->offsets[i] <= next_b) {
      offset = a->offsets[i];
      other = a->items[i++];
    } else {
      other = b->items[k];
      offset = next_b;
      next_b = offset_at(b, ++k);
    }
    if (end <= offset) break;
    if (!overlap(life, p->lives[other])) continue;
    const size_t other_end = offset + p->bytes[other];
    if (other_end > *at && (!hn_align_size(other_end, ALIGNMENT, at) || !hn_add_size(*at, p->bytes[item], &end)))
      return TOO_LARGE;
  }
  return FOUND;
}

/* Beside the placed items that are near; false: there are more than `most`. */
static bool walk_near(placement *p, int item, int most, size_t *at, walked *out) {
  const int count = find_near(p, item, most);
  if (count < 0) return false;
  sort_by_offset(p, p->near, count);
  const row near = {.items = p->near, .count = count, .offsets = p->near_offsets}, none = {0};
  for (int k = 0; k < count; ++k) near.offsets[k] = p->offsets[near.items[k]];
  *out = walk(p, item, &near, &none, INT_MAX, at);
  return true;
}

/* So many neighbours of an item are found faster by their lives than in the rows of all that are placed. */
static int most_near(int placed) { return 32 + placed / 32; }

/* The lowest offset at which the item fits beside the placed items that live at the same time. */
static bool lowest_gap(placement *p, int item, size_t *out) {
  const int most = most_near(p->count);
  const size_t floor = (size_t)highest_floor(&p->floors, 1, 0, p->floors.leaves, p->lives[item]);
  walked how = TOO_FAR;
  *out = floor;
  if (p->is_crowded) {
    sort_placed(p);
    how = walk(p, item, &p->all, &p->late, most, out);
    if (how != TOO_FAR) return how == FOUND;
    *out = floor;
  }
  p->is_crowded = !walk_near(p, item, most, out, &how);
  if (p->is_crowded) {
    sort_placed(p);
    how = walk(p, item, &p->all, &p->late, INT_MAX, out);
  }
  return how == FOUND;
}

static bool start_row(row *r, hn_arena *arena, int most) {
  r->items = HN_NEW(arena, int, most);
  r->offsets = HN_NEW(arena, size_t, most);
  r->tops = HN_NEW(arena, size_t, most);
  return r->items && r->offsets && r->tops;
}

static bool start_placement(placement *p, hn_arena *arena, keyed *keys, const int *items, int count, int all) {
  int steps = 1;
  for (int k = 0; k < count; ++k)
    if (p->lives[items[k]].last >= steps) steps = p->lives[items[k]].last + 1;
  p->unsorted = HN_NEW(arena, int, count + 1);
  p->near = HN_NEW(arena, int, most_near(count) + 1);
  p->near_offsets = HN_NEW(arena, size_t, most_near(count) + 1);
  p->by_first = HN_NEW(arena, int, count + 1);
  p->rank_of = HN_NEW(arena, int, all + 1);
  if (!p->unsorted || !p->near || !p->near_offsets || !p->by_first || !p->rank_of ||
      !start_row(&p->all, arena, count + 1) || !start_row(&p->late, arena, LATE_ITEMS) ||
      !hn_peaks_init(&p->ends, arena, count) || !start_floors(&p->floors, arena, steps))
    return false;
  for (int k = 0; k < count; ++k) keys[k] = (keyed){(uint64_t)p->lives[items[k]].first, items[k]};
  qsort(keys, (size_t)count, sizeof *keys, compare_keyed);
  for (int r = 0; r < count; ++r) p->rank_of[p->by_first[r] = keys[r].item] = r;
  return true;
}

/* Larger first; equal sizes in their given order, so that the result is the same everywhere. */
static void sort_by_size(int count, const size_t *bytes, keyed *keys, int *order) {
  for (int k = 0; k < count; ++k) keys[k] = (keyed){UINT64_MAX - bytes[order[k]], order[k]};
  qsort(keys, (size_t)count, sizeof *keys, compare_keyed);
  for (int k = 0; k < count; ++k) order[k] = keys[k].item;
}

hone_status hn_memory_place(hn_arena *arena, hn_stop *stop, int count, const size_t *bytes, const hn_life *lives,
                            int *order, size_t *offsets, size_t *out_total) {
  int items = 0;
  for (int i = 0; i < count; ++i) {
    offsets[i] = 0;
    if (bytes[i] && lives[i].first <= lives[i].last) order[items++] = i;
  }
  keyed *keys = HN_NEW(arena, keyed, items + 1);
  placement p = {.bytes = bytes, .lives = lives, .offsets = offsets};
  if (!keys) return HONE_NO_MEMORY;
  sort_by_size(items, bytes, keys, order);
  if (!start_placement(&p, arena, keys, order, items, count)) return HONE_NO_MEMORY;
  size_t total = 0;
  for (int k = 0; k < items; ++k) {
    const int item = order[k];
    size_t end, above;
    if (k % 64 == 0 && hn_stop_now(stop)) return hn_stop_look(stop);
    if (!lowest_gap(&p, item, &offsets[item]) || !hn_add_size(offsets[item], bytes[item], &end) ||
        !hn_align_size(end, ALIGNMENT, &above))
      return HONE_LIMIT;
    if (end > total) total = end;
    p.unsorted[p.unsorted_count++] = item;
    ++p.count;
    hn_peaks_set(&p.ends, p.rank_of[item], (uint64_t)lives[item].last + 1);
    raise_floors(&p.floors, 1, 0, p.floors.leaves, lives[item], offsets[item], above);
  }
  return hn_align_size(total, ALIGNMENT, out_total) ? HONE_OK : HONE_LIMIT;
}
