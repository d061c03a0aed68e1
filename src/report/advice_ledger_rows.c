/* SPDX-License-Identifier: Apache-2.0 */
/* advice_ledger_rows.c - remedies that the decision ledger shows: fusions that were refused, and why; candidates that
 * were never timed although they looked faster. */
#include "report/advice.h"
#include "report/explain.h"
#include <math.h>
#include <string.h>

/* ---- fusions ---- */

/* What a fusion would take in: a step that computes next to nothing and moves its bytes. */
static bool is_fusible(const hn_profile_row *row) {
  return row->step->op && (row->step->op->traits & (HONE_ELEMENTWISE | HONE_MOVES)) && !row->step->caused_by;
}

typedef struct refusal {
  const char *rule, *unmet;
} refusal;

static void add_refused(hn_advising *a, const hn_advice_row *row, const hn_json *events, const refusal *r) {
  int *rows = HN_NEW(a->arena, int, a->p->count + 1), count = 0;
  const char **names = HN_NEW(a->arena, const char *, a->p->count + 1);
  if (!rows || !names) {
    a->failed = true;
    return;
  }
  double sum = 0;
  for (size_t i = 0; i < hn_ledger_count(events) && count < a->p->count; ++i) {
    const hn_json *event = &events->items[i];
    const char *unmet = hn_ledger_text(event, "unmet");
    if (strcmp(hn_ledger_text(event, "rule"), r->rule) != 0 || strcmp(unmet, r->unmet) != 0) continue;
    const hn_profile_row *at = hn_advice_row_named(a, hn_ledger_text(event, "node"));
    if (!at || !is_fusible(at)) continue;
    rows[count] = (int)(at - a->p->rows);
    names[count++] = at->step->name;
    sum += at->median_ns;
  }
  if (sum < 0.01 * a->p->sum_ns) return;
  hn_advice_item *item = hn_advice_add(a, row, "%s was refused for %s: %s", r->rule, names[0], r->unmet);
  if (!item) return;
  item->rows = rows;
  item->layers = names;
  item->row_count = item->layer_count = count;
}

static bool was_told(const hn_json *events, size_t before, const refusal *r) {
  for (size_t i = 0; i < before; ++i)
    if (strcmp(hn_ledger_text(&events->items[i], "rule"), r->rule) == 0 &&
        strcmp(hn_ledger_text(&events->items[i], "unmet"), r->unmet) == 0)
      return true;
  return false;
}

/* Nothing in the model can meet that one. */
static bool lacks_kernel(const char *unmet) { return strstr(unmet, "no device has a kernel") != NULL; }

static void find_refusals(hn_advising *a, const hn_advice_row *row, bool kernel) {
  const hn_json *events = a->facts.ledger ? hn_json_get(a->facts.ledger, "passes") : NULL;
  for (size_t i = 0; i < hn_ledger_count(events) && !a->failed; ++i) {
    const refusal r = {hn_ledger_text(&events->items[i], "rule"), hn_ledger_text(&events->items[i], "unmet")};
    if (*r.unmet && lacks_kernel(r.unmet) == kernel && !was_told(events, i, &r)) add_refused(a, row, events, &r);
  }
}

static void find_refused(hn_advising *a, const hn_advice_row *row) { find_refusals(a, row, false); }
static void find_missing_kernels(hn_advising *a, const hn_advice_row *row) { find_refusals(a, row, true); }

/* ---- candidates ---- */

/* By how much an untimed candidate's estimate undercuts the chosen one's time. */
static double untimed_gain(const hn_json *node) {
  const hn_json *candidates = hn_json_get(node, "candidates");
  const int chosen = (int)hn_ledger_real(node, "chosen", -1);
  if (chosen < 0 || (size_t)chosen >= hn_ledger_count(candidates)) return 0;
  const double now = hn_ledger_best_ns(&candidates->items[chosen]);
  double least = now;
  for (size_t i = 0; i < candidates->length; ++i)
    if (strcmp(hn_ledger_text(&candidates->items[i], "state"), "estimated") == 0)
      least = fmin(least, hn_ledger_real(&candidates->items[i], "estimate_ns", now));
  return now > 0 ? now - least : 0;
}

static void find_untimed(hn_advising *a, const hn_advice_row *row) {
  const hn_json *nodes = a->facts.ledger ? hn_json_get(a->facts.ledger, "nodes") : NULL;
  int *rows = HN_NEW(a->arena, int, a->p->count + 1), count = 0;
  const char **names = HN_NEW(a->arena, const char *, a->p->count + 1);
  double gain = 0;
  if (!rows || !names) {
    a->failed = true;
    return;
  }
  for (size_t i = 0; i < hn_ledger_count(nodes) && count < a->p->count; ++i) {
    const double one = untimed_gain(&nodes->items[i]);
    const hn_profile_row *at = one > 0 ? hn_advice_row_named(a, hn_ledger_text(&nodes->items[i], "node")) : NULL;
    if (!at) continue;
    rows[count] = (int)(at - a->p->rows);
    names[count++] = at->step->name;
    gain += one;
  }
  if (gain < 0.02 * a->p->sum_ns || a->facts.level < 0) return;
  hn_advice_item *item =
      hn_advice_add(a, row, "%d layers have candidates whose estimates are faster and that were not timed", count);
  if (!item) return;
  item->rows = rows;
  item->layers = names;
  item->row_count = item->layer_count = count;
  item->factor = 0.3 * gain / a->p->median_ns; /* most estimates that look fast are wrong */
  hn_advice_flags(a, item, "--level 5");
}

const hn_advice_row hn_advice_ledger_rows[] = {
    {"refused-fusion", "fusion", "meet the condition that the fusion names",
     "what the rule's condition asks for: one reader, a bias by channel, extents it has kernels for", "medium", false,
     find_refused, hn_predict_fused, NULL},
    {"missing-kernel", "fusion", "none in the model: this device lacks a kernel for the fused form", NULL, "medium",
     false, find_missing_kernels, hn_predict_fused, NULL},
    {"untimed", "tuning", "let the tuner time all candidates", NULL, "low", true, find_untimed, hn_predict_share,
     hn_expect_run},
    {0},
};
