/* SPDX-License-Identifier: Apache-2.0 */
/* check_storage.c - no two live tensors share bytes, and whoever writes over another tensor may. Lives are derived
 * from the steps again. */
#include "plan/check.h"
#include "tensor/shape.h"

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

/* A call that writes into storage that others share: its tactic must allow it, and nobody may read the old bytes later.
 */
static hone_status check_in_place(hn_plan_checker *checker, const int *last) {
  const hn_plan *plan = checker->plan;
  for (int t = 0; t < plan->tensor_count; ++t) {
    const int s = checker->written_at[t];
    if (plan->tensors[t].alias_of < 0 || s < 0 || plan->steps[s].kind != HN_STEP_CALL) continue;
    const hn_plan_step *step = &plan->steps[s];
    const int root = hn_plan_root(plan, t);
    if (plan->tensors[t].place != HN_PLACE_ARENA || !(step->tactic->flags & HONE_TACTIC_IN_PLACE) ||
        step->out[0] != t || !reads_root(plan, step, root, &plan->tensors[t].type))
      return BAD(checker, "step %s may not write over %s", step->name, plan->tensors[root].name);
    for (int u = 0; u < plan->tensor_count; ++u)
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

/* Step s writes these bytes of tensor t's place: nobody may need what other tensors have there. */
static hone_status check_write(hn_plan_checker *checker, const int *last, int s, int t, range written) {
  const hn_plan *plan = checker->plan;
  const int top = hn_plan_top(plan, t);
  for (int u = 0; u < plan->tensor_count; ++u) {
    if (u == t || plan->tensors[u].place != HN_PLACE_ARENA || hn_plan_top(plan, u) != top) continue;
    const range other = range_of(plan, u);
    if (other.begin >= written.end || written.begin >= other.end) continue;
    const bool written_over = plan->tensors[t].alias_of >= 0 && last[u] == s; /* in place, checked for itself */
    if (checker->written_at[u] < s && last[u] >= s && !written_over)
      return BAD(checker, "step %s writes over %s, which is still needed", plan->steps[s].name, plan->tensors[u].name);
  }
  return HONE_OK;
}

/* An output of a tactic that leaves alone what is where it belongs: only the rest is written. */
static hone_status check_overlaid(hn_plan_checker *checker, const int *last, int s, int o) {
  const hn_plan *plan = checker->plan;
  const hn_plan_step *step = &plan->steps[s];
  const hn_plan_tensor *out = &plan->tensors[step->out[o]];
  hone_fact *facts = HN_NEW(&checker->arena, hone_fact, step->in_count + step->out_count);
  if (!facts) return HN_FAIL_MEMORY(checker->diag);
  HN_TRY(hn_plan_step_facts(plan, step, NULL, facts, facts + step->in_count, checker->diag));
  const hone_facts device = {
      .isa = step->tactic->isa, .threads = 1, .host_memory = plan->homes[step->device] == plan->host};
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
    HN_TRY(check_write(checker, last, s, step->out[o], (range){begin, begin + (joins ? in_bytes : out_bytes)}));
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
  for (int s = 0; any && s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    for (int o = 0; step->kind != HN_STEP_VIEW && o < step->out_count; ++o) {
      const int t = step->out[o];
      if (t < 0 || plan->tensors[t].place != HN_PLACE_ARENA || !shared[hn_plan_top(plan, t)]) continue;
      if (step->kind == HN_STEP_CALL && step->tactic->overlay)
        HN_TRY(check_overlaid(checker, last, s, o));
      else
        HN_TRY(check_write(checker, last, s, t, range_of(plan, t)));
    }
  }
  return HONE_OK;
}

static bool overlap(const hn_plan *plan, const hn_life *lives, int a, int b) {
  if (plan->tensors[a].device != plan->tensors[b].device) return false;
  if (lives[a].first > lives[b].last || lives[b].first > lives[a].last) return false;
  const uint64_t a_end = plan->tensors[a].offset + hn_bytes(&plan->tensors[a].type);
  const uint64_t b_end = plan->tensors[b].offset + hn_bytes(&plan->tensors[b].type);
  return plan->tensors[a].offset < b_end && plan->tensors[b].offset < a_end;
}

/* Tensors that own a place in the arena, each against those that are live when it begins. */
static hone_status check_overlaps(hn_plan_checker *checker, const hn_life *lives) {
  const hn_plan *plan = checker->plan;
  int *live = HN_NEW(&checker->arena, int, plan->tensor_count + 1), live_count = 0;
  int *by_first = HN_NEW(&checker->arena, int, plan->step_count + 1); /* head of a list a step */
  int *next = HN_NEW(&checker->arena, int, plan->tensor_count + 1);
  if (!live || !by_first || !next) return HN_FAIL_MEMORY(checker->diag);
  for (int s = 0; s < plan->step_count; ++s) by_first[s] = -1;
  for (int t = 0; t < plan->tensor_count; ++t) {
    if (plan->tensors[t].place != HN_PLACE_ARENA || hn_plan_top(plan, t) != t || lives[t].first > lives[t].last)
      continue;
    next[t] = by_first[lives[t].first];
    by_first[lives[t].first] = t;
  }
  for (int s = 0; s < plan->step_count; ++s) {
    int kept = 0;
    for (int k = 0; k < live_count; ++k)
      if (lives[live[k]].last >= s) live[kept++] = live[k];
    live_count = kept;
    for (int t = by_first[s]; t >= 0; t = next[t]) {
      for (int k = 0; k < live_count; ++k)
        if (overlap(plan, lives, t, live[k]))
          return BAD(checker, "tensors %s and %s share bytes while both are needed", plan->tensors[t].name,
                     plan->tensors[live[k]].name);
      live[live_count++] = t;
    }
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
