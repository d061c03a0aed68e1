/* SPDX-License-Identifier: Apache-2.0 */
/* check_storage.c - no two live tensors share bytes, and whoever writes over another tensor may. Lives are derived
 * from the steps again. */
#include "plan/check.h"
#include "base/peaks.h"
#include "tensor/shape.h"
#include <stdlib.h>

#define BAD(checker, ...) HN_FAIL((checker)->diag, HONE_MALFORMED, __VA_ARGS__)

/* Steps at which each tensor alone (not its aliases) is last read. */
static void last_reads(const hn_plan *plan, int *last) {
  for (int t = 0; t < plan->tensor_count; ++t) last[t] = -1;
  for (int s = 0; s < plan->step_count; ++s)
    for (int i = 0; i < plan->steps[s].in_count; ++i) {
      const int t = plan->steps[s].in[i];
      if (t < 0) continue;
      const bool later = plan->steps[s].kind == HN_STEP_COPY && plan->tensors[t].device == plan->host;
      const int until = later ? hn_plan_next_wait(plan, plan->steps[s].device, s) : s;
      if (until > last[t]) last[t] = until;
    }
}

static bool reads_root(const hn_plan *plan, const hn_plan_step *step, int root, const hone_type *type) {
  for (int i = 0; i < step->in_count; ++i)
    if (step->in[i] >= 0 && hn_plan_root(plan, step->in[i]) == root &&
        hn_type_equal(&plan->tensors[step->in[i]].type, type))
      return true;
  return false;
}

/* Which tensors are written while bytes of an alias, written before, are still to be read: steps in order, with the
 * latest read of what each root holds so far. */
static hone_status find_read_later(hn_plan_checker *checker, const int *last, bool *read_later) {
  const hn_plan *plan = checker->plan;
  int *by_step = HN_NEW(&checker->arena, int, plan->step_count + 1); /* head of a list a step, plus 1 */
  int *next = HN_NEW(&checker->arena, int, plan->tensor_count + 1);
  int *latest = HN_NEW(&checker->arena, int, plan->tensor_count + 1); /* plus 1 */
  if (!by_step || !next || !latest) return HN_FAIL_MEMORY(checker->diag);
  for (int t = 0; t < plan->tensor_count; ++t) {
    const int at = checker->written_at[t] + 1; /* 0: never, which is before all steps */
    next[t] = by_step[at];
    by_step[at] = t + 1;
  }
  for (int at = 0; at <= plan->step_count; ++at) {
    for (int t = by_step[at] - 1; at > 0 && t >= 0; t = next[t] - 1) read_later[t] = latest[hn_plan_root(plan, t)] > at;
    for (int t = by_step[at] - 1; t >= 0; t = next[t] - 1) {
      int *until = &latest[hn_plan_root(plan, t)];
      if (last[t] + 1 > *until) *until = last[t] + 1;
    }
  }
  return HONE_OK;
}

/* A call that writes into storage that others share: its tactic must allow it, and nobody may read the old bytes later.
 */
static hone_status check_in_place(hn_plan_checker *checker, const int *last) {
  const hn_plan *plan = checker->plan;
  bool *read_later = HN_NEW(&checker->arena, bool, plan->tensor_count + 1);
  if (!read_later) return HN_FAIL_MEMORY(checker->diag);
  HN_TRY(find_read_later(checker, last, read_later));
  for (int t = 0; t < plan->tensor_count; ++t) {
    const int s = checker->written_at[t];
    if (plan->tensors[t].alias_of < 0 || s < 0 || plan->steps[s].kind != HN_STEP_CALL) continue;
    const hn_plan_step *step = &plan->steps[s];
    const int root = hn_plan_root(plan, t);
    if (plan->tensors[t].place != HN_PLACE_ARENA || !(step->tactic->flags & HONE_TACTIC_IN_PLACE) ||
        step->out[0] != t || !reads_root(plan, step, root, &plan->tensors[t].type))
      return BAD(checker, "step %s may not write over %s", step->name, plan->tensors[root].name);
    for (int u = 0; read_later[t] && u < plan->tensor_count; ++u)
      if (u != t && hn_plan_root(plan, u) == root && checker->written_at[u] < s && last[u] > s)
        return BAD(checker, "step %s writes over %s, which is read later", step->name, plan->tensors[u].name);
  }
  return HONE_OK;
}

/* ---- tensors that lie in others ---- */

typedef struct range {
  uint64_t begin, end;
} range;

static range range_of(const hn_plan *plan, int t) {
  const hn_plan_tensor *tensor = &plan->tensors[t];
  return (range){tensor->offset, tensor->offset + hn_bytes(&tensor->type)};
}

/* Tensors of the arena by the place they share and by where they begin there, and where they end. */
typedef struct ordered {
  int top, t;
  range bytes;
} ordered;

typedef struct places {
  const int *last; /* step that reads a tensor last */
  ordered *items;
  int count;
  int *first_of; /* [top]: its first item */
  hn_peaks ends;
} places;

static int compare_ordered(const void *a, const void *b) {
  const ordered *x = a, *y = b;
  if (x->top != y->top) return x->top < y->top ? -1 : 1;
  if (x->bytes.begin != y->bytes.begin) return x->bytes.begin < y->bytes.begin ? -1 : 1;
  return x->t < y->t ? -1 : x->t > y->t;
}

static hone_status find_places(hn_plan_checker *checker, const bool *shared, places *known) {
  const hn_plan *plan = checker->plan;
  known->items = HN_NEW(&checker->arena, ordered, plan->tensor_count + 1);
  known->first_of = HN_NEW(&checker->arena, int, plan->tensor_count + 1);
  if (!known->items || !known->first_of) return HN_FAIL_MEMORY(checker->diag);
  for (int t = 0; t < plan->tensor_count; ++t)
    if (plan->tensors[t].place == HN_PLACE_ARENA && shared[hn_plan_top(plan, t)])
      known->items[known->count++] = (ordered){hn_plan_top(plan, t), t, range_of(plan, t)};
  if (!hn_peaks_init(&known->ends, &checker->arena, known->count)) return HN_FAIL_MEMORY(checker->diag);
  qsort(known->items, (size_t)known->count, sizeof *known->items, compare_ordered);
  for (int k = known->count - 1; k >= 0; --k) {
    known->first_of[known->items[k].top] = k;
    hn_peaks_set(&known->ends, k, known->items[k].bytes.end);
  }
  return HONE_OK;
}

/* Step s writes these bytes of tensor t's place: nobody may need what other tensors have there. */
static hone_status check_write(hn_plan_checker *checker, const places *known, int s, int t, range written) {
  const hn_plan *plan = checker->plan;
  const int top = hn_plan_top(plan, t), *last = known->last;
  for (int k = known->first_of[top]; (k = hn_peaks_next(&known->ends, k, written.begin + 1)) < known->count; ++k) {
    const int u = known->items[k].t;
    if (known->items[k].top != top || known->items[k].bytes.begin >= written.end) break;
    if (u == t) continue;
    const bool written_over = plan->tensors[t].alias_of >= 0 && last[u] == s; /* in place, checked for itself */
    if (checker->written_at[u] < s && last[u] >= s && !written_over)
      return BAD(checker, "step %s writes over %s, which is still needed", plan->steps[s].name, plan->tensors[u].name);
  }
  return HONE_OK;
}

/* An output of a tactic that leaves alone what is where it belongs: only the rest is written. */
static hone_status check_overlaid(hn_plan_checker *checker, const places *known, int s, int o) {
  const hn_plan *plan = checker->plan;
  const hn_plan_step *step = &plan->steps[s];
  const hn_plan_tensor *out = &plan->tensors[step->out[o]];
  hone_fact *facts = HN_NEW(&checker->arena, hone_fact, step->in_count + step->out_count);
  if (!facts) return HN_FAIL_MEMORY(checker->diag);
  HN_TRY(hn_plan_step_facts(plan, step, NULL, facts, facts + step->in_count, checker->diag));
  const hone_facts device = {
      .isa = step->tactic->isa, .threads = 1, .host_memory = plan->spaces[step->device] == plan->host};
  hone_query query;
  hn_plan_step_query(plan, step, &device, facts, facts + step->in_count, &query);
  const uint64_t out_bytes = hn_bytes(&out->type);
  for (int i = 0; i < step->in_count; ++i) {
    if (step->in[i] < 0) continue;
    const hn_plan_tensor *in = &plan->tensors[step->in[i]];
    const int64_t offset = step->tactic->overlay(&query, i, o);
    const uint64_t in_bytes = hn_bytes(&in->type);
    if (offset < 0) continue;
    const bool joins = in_bytes <= out_bytes;
    const bool there =
        in->place == HN_PLACE_ARENA && hn_plan_top(plan, step->in[i]) == hn_plan_top(plan, step->out[o]) &&
        (joins ? out->offset + (uint64_t)offset == in->offset : in->offset + (uint64_t)offset == out->offset);
    if (there) continue;
    const uint64_t begin = out->offset + (joins ? (uint64_t)offset : 0);
    HN_TRY(check_write(checker, known, s, step->out[o], (range){begin, begin + (joins ? in_bytes : out_bytes)}));
  }
  return HONE_OK;
}

static hone_status check_parts(hn_plan_checker *checker, const int *last) {
  const hn_plan *plan = checker->plan;
  bool *shared = HN_NEW(&checker->arena, bool, plan->tensor_count + 1); /* tops with parts */
  if (!shared) return HN_FAIL_MEMORY(checker->diag);
  bool any = false;
  for (int t = 0; t < plan->tensor_count; ++t)
    if (plan->tensors[t].part_of >= 0) any = shared[hn_plan_top(plan, t)] = true;
  if (!any) return HONE_OK;
  places known = {.last = last};
  HN_TRY(find_places(checker, shared, &known));
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    for (int o = 0; step->kind != HN_STEP_VIEW && o < step->out_count; ++o) {
      const int t = step->out[o];
      if (t < 0 || plan->tensors[t].place != HN_PLACE_ARENA || !shared[hn_plan_top(plan, t)]) continue;
      if (step->kind == HN_STEP_CALL && step->tactic->overlay)
        HN_TRY(check_overlaid(checker, &known, s, o));
      else
        HN_TRY(check_write(checker, &known, s, t, range_of(plan, t)));
    }
  }
  return HONE_OK;
}

/* Tensors that own a place in an arena, by device and place, and those of them that begin or end with each step. */
typedef struct owners {
  ordered *items; /* top: the device */
  int count;
  int *first_on;                    /* [device]: its first item */
  int *begins, *ends;               /* [step]: head of a list of items, plus 1 */
  int *next_to_begin, *next_to_end; /* [item]: plus 1 */
  hn_peaks live;                    /* where the live ones end; 0: not live */
} owners;

static bool find_owners(hn_plan_checker *checker, const hn_life *lives, owners *o) {
  const hn_plan *plan = checker->plan;
  hn_arena *arena = &checker->arena;
  o->items = HN_NEW(arena, ordered, plan->tensor_count + 1);
  o->next_to_begin = HN_NEW(arena, int, plan->tensor_count + 1);
  o->next_to_end = HN_NEW(arena, int, plan->tensor_count + 1);
  o->begins = HN_NEW(arena, int, plan->step_count + 1);
  o->ends = HN_NEW(arena, int, plan->step_count + 1);
  o->first_on = HN_NEW(arena, int, plan->device_count + 1);
  if (!o->items || !o->next_to_begin || !o->next_to_end || !o->begins || !o->ends || !o->first_on) return false;
  for (int t = 0; t < plan->tensor_count; ++t)
    if (plan->tensors[t].place == HN_PLACE_ARENA && hn_plan_top(plan, t) == t && lives[t].first <= lives[t].last)
      o->items[o->count++] = (ordered){plan->tensors[t].device, t, range_of(plan, t)};
  qsort(o->items, (size_t)o->count, sizeof *o->items, compare_ordered);
  for (int k = o->count - 1; k >= 0; --k) {
    const hn_life life = lives[o->items[k].t];
    o->first_on[o->items[k].top] = k;
    o->next_to_begin[k] = o->begins[life.first];
    o->begins[life.first] = k + 1;
    o->next_to_end[k] = o->ends[life.last];
    o->ends[life.last] = k + 1;
  }
  return hn_peaks_init(&o->live, arena, o->count);
}

/* Each against those that are live when it begins. These share no bytes, so the first that ends behind its beginning
 * tells of all. */
static hone_status check_overlaps(hn_plan_checker *checker, const hn_life *lives) {
  const hn_plan *plan = checker->plan;
  owners o = {0};
  if (!find_owners(checker, lives, &o)) return HN_FAIL_MEMORY(checker->diag);
  for (int s = 0; s < plan->step_count; ++s) {
    for (int k = o.begins[s] - 1; k >= 0; k = o.next_to_begin[k] - 1) {
      const ordered *item = &o.items[k];
      const int other = hn_peaks_next(&o.live, o.first_on[item->top], item->bytes.begin + 1);
      if (other < o.count && o.items[other].top == item->top && o.items[other].bytes.begin < item->bytes.end)
        return BAD(checker, "tensors %s and %s share bytes while both are needed", plan->tensors[item->t].name,
                   plan->tensors[o.items[other].t].name);
      if (item->bytes.end > item->bytes.begin) hn_peaks_set(&o.live, k, item->bytes.end);
    }
    for (int k = o.ends[s] - 1; k >= 0; k = o.next_to_end[k] - 1) hn_peaks_set(&o.live, k, 0);
  }
  return HONE_OK;
}

hone_status hn_check_storage(hn_plan_checker *checker) {
  const hn_plan *plan = checker->plan;
  hn_life *lives = HN_NEW(&checker->arena, hn_life, plan->tensor_count + 1);
  int *last = HN_NEW(&checker->arena, int, plan->tensor_count + 1);
  if (!lives || !last) return HN_FAIL_MEMORY(checker->diag);
  hn_plan_lives(plan, lives);
  last_reads(plan, last);
  HN_TRY(check_in_place(checker, last));
  HN_TRY(check_parts(checker, last));
  return plan->dynamic ? HONE_OK : check_overlaps(checker, lives);
}
