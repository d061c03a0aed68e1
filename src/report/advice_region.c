/* SPDX-License-Identifier: Apache-2.0 */
/* advice_region.c - the region that would keep what one step hands to the next in the caches. */
#include "report/advice.h"

static int readers(const hn_plan *plan, int tensor) {
  int count = 0;
  for (int s = 0; s < plan->step_count; ++s)
    for (int i = 0; i < plan->steps[s].in_count; ++i) count += plan->steps[s].in[i] == tensor;
  return count;
}

/* Two steps in turn, both bound by memory, the second the only reader of what the first writes. */
static bool are_a_region(const hn_advising *a, int first) {
  const hn_profile_row *x = &a->p->rows[first], *y = x + 1;
  const hn_plan *plan = a->p->in->plan;
  if (x->bound.kind != HN_BOUND_MEMORY || y->bound.kind != HN_BOUND_MEMORY || x->bound.level < HONE_ROOF_L3)
    return false;
  if (x->step->caused_by || y->step->caused_by || x->step->out_count != 1) return false;
  for (int i = 0; i < y->step->in_count; ++i)
    if (y->step->in[i] == x->step->out[0])
      return plan->tensors[y->step->in[i]].place == HN_PLACE_ARENA && readers(plan, x->step->out[0]) == 1;
  return false;
}

static double region_saving(const hn_advising *a, int first) {
  const hn_profile_row *x = &a->p->rows[first], *y = x + 1;
  const double x_bytes = x->work->in_bytes + x->work->out_bytes + x->work->params_bytes;
  const double y_bytes = y->work->in_bytes + y->work->out_bytes + y->work->params_bytes;
  if (x_bytes <= 0 || y_bytes <= 0) return 0;
  return 0.7 * (x->median_ns * x->work->out_bytes / x_bytes + y->median_ns * x->work->out_bytes / y_bytes);
}

void hn_find_region(hn_advising *a, const hn_advice_row *row) {
  int best = -1;
  for (int i = 0; i + 1 < a->p->count; ++i)
    if (are_a_region(a, i) && (best < 0 || region_saving(a, i) > region_saving(a, best))) best = i;
  if (best < 0 || region_saving(a, best) < 0.02 * a->p->sum_ns) return;
  hn_advice_item *item = hn_advice_add(a, row, "%s writes %.2f MB out to %s that %s alone reads again",
                                       a->p->rows[best].step->name, a->p->rows[best].work->out_bytes * 1e-6,
                                       hone_roof_name(a->p->rows[best].bound.level), a->p->rows[best + 1].step->name);
  int *rows = HN_NEW(a->arena, int, 2);
  const char **names = HN_NEW(a->arena, const char *, 2);
  if (!item || !rows || !names) {
    a->failed = true;
    return;
  }
  for (int i = 0; i < 2; ++i) {
    rows[i] = best + i;
    names[i] = a->p->rows[best + i].step->name;
  }
  item->rows = rows;
  item->layers = names;
  item->row_count = item->layer_count = 2;
  item->factor = region_saving(a, best);
}

void hn_predict_region(const hn_advising *a, hn_advice_item *item) {
  (void)a;
  item->saving_ns = item->factor;
  item->low_ns = 0.5 * item->factor;
  item->high_ns = 1.4 * item->factor;
}
