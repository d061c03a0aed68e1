/* SPDX-License-Identifier: Apache-2.0 */
/* explain_summary.c - the decision ledger in a line a layer, and the reading of its entries. */
#include "report/explain.h"
#include "report/grid.h"
#include <string.h>

const char *hn_ledger_text(const hn_json *object, const char *key) {
  const hn_json *item = hn_json_get(object, key);
  return item && item->kind == HN_JSON_STRING ? item->string : "";
}

double hn_ledger_real(const hn_json *object, const char *key, double otherwise) {
  const hn_json *item = hn_json_get(object, key);
  return item && (item->kind == HN_JSON_INT || item->kind == HN_JSON_REAL) ? item->real : otherwise;
}

size_t hn_ledger_count(const hn_json *list) {
  return list && (list->kind == HN_JSON_ARRAY || list->kind == HN_JSON_OBJECT) ? list->length : 0;
}

double hn_ledger_best_ns(const hn_json *candidate) {
  const char *state = hn_ledger_text(candidate, "state");
  if (strcmp(state, "rejected") == 0 || strcmp(state, "inexact") == 0) return -1;
  return hn_ledger_real(candidate, "low_ns", hn_ledger_real(candidate, "estimate_ns", -1));
}

void hn_text_ledger_tactic(hn_text *text, const hn_json *candidate) {
  const hn_json *params = hn_json_get(candidate, "params");
  hn_text_add(text, hn_ledger_text(candidate, "tactic"));
  for (size_t i = 0; i < hn_ledger_count(params); ++i)
    hn_text_printf(text, "%s%s=%lld", i ? "," : "{", params->items[i].key, (long long)params->items[i].i);
  if (hn_ledger_count(params) > 0) hn_text_add(text, "}");
}

static const hn_json *chosen_of(const hn_json *node) {
  const hn_json *candidates = hn_json_get(node, "candidates");
  const double chosen = hn_ledger_real(node, "chosen", -1);
  return chosen >= 0 && chosen < (double)hn_ledger_count(candidates) ? &candidates->items[(size_t)chosen] : NULL;
}

static bool is_reference(const hn_json *candidate) {
  return candidate && strcmp(hn_ledger_text(candidate, "provider"), "ref") == 0;
}

/* Tactics of the operator itself were asked; those for any operator say nothing of it. */
static bool is_for_any(const hn_json *candidate) {
  return strstr(hn_ledger_text(candidate, "tactic"), ".any.") != NULL;
}

const char *hn_ledger_lack(const hn_json *node) {
  const hn_json *candidates = hn_json_get(node, "candidates");
  if (!is_reference(chosen_of(node))) return NULL;
  const char *most = "there is no kernel for this operator";
  size_t most_count = 0;
  for (size_t i = 0; i < hn_ledger_count(candidates); ++i) {
    const hn_json *candidate = &candidates->items[i];
    const char *reason = hn_ledger_text(candidate, "reason");
    if (!*reason || is_for_any(candidate) || is_reference(candidate)) continue;
    size_t count = 0;
    for (size_t k = i; k < candidates->length; ++k)
      count += strcmp(hn_ledger_text(&candidates->items[k], "reason"), reason) == 0;
    if (count > most_count) most = reason, most_count = count;
  }
  return most;
}

/* The best of the others; one of another tactic before another variant of the same. */
static const hn_json *runner_up(const hn_json *node, const hn_json *chosen) {
  const hn_json *candidates = hn_json_get(node, "candidates"), *best = NULL;
  bool best_is_other = false;
  for (size_t i = 0; i < hn_ledger_count(candidates); ++i) {
    const hn_json *candidate = &candidates->items[i];
    const double ns = hn_ledger_best_ns(candidate);
    const bool other = strcmp(hn_ledger_text(candidate, "tactic"), hn_ledger_text(chosen, "tactic")) != 0;
    if (candidate == chosen || ns < 0 || is_reference(candidate) || (best_is_other && !other)) continue;
    if (best && best_is_other == other && hn_ledger_best_ns(best) <= ns) continue;
    best = candidate;
    best_is_other = other;
  }
  return best;
}

static void add_tactic(const hn_explanation *e, hn_grid *grid, const hn_json *candidate) {
  hn_text name;
  hn_text_init(&name, e->arena->allocator);
  if (candidate) hn_text_ledger_tactic(&name, candidate);
  hn_grid_add(grid, "%s", hn_text_string(&name));
  grid->failed = grid->failed || name.failed;
  hn_text_deinit(&name);
}

static bool is_timed(const hn_json *candidate) { return hn_ledger_real(candidate, "time_ns", -1) >= 0; }

static void add_node(const hn_explanation *e, hn_grid *grid, const hn_json *node, const hn_json *chosen) {
  const hn_json *second = runner_up(node, chosen);
  const char *lack = hn_ledger_lack(node);
  const double ns = hn_ledger_best_ns(chosen);
  hn_grid_add(grid, "%s", hn_ledger_text(node, "node"));
  hn_grid_add(grid, "%s", hn_ledger_text(node, "op"));
  add_tactic(e, grid, chosen);
  hn_grid_add(grid, is_timed(chosen) ? "%.4f" : "~%.4f", ns * 1e-6);
  add_tactic(e, grid, second);
  if (second && ns > 0)
    hn_grid_add(grid, is_timed(second) && is_timed(chosen) ? "%+.0f %%" : "~%+.0f %%",
                100 * (hn_ledger_best_ns(second) / ns - 1));
  else
    hn_grid_add(grid, "%s", "");
  hn_grid_add(grid, "%s", lack ? lack : hn_ledger_text(node, "why"));
}

static const char *plural(size_t count) { return count == 1 ? "" : "s"; }

void hn_explain_summary(const hn_explanation *e, const hn_json *nodes) {
  static const char *const heads[] = {"layer", "type", "tactic", "ms", "runner-up", "gap", "why"};
  size_t run = 0, reference = 0;
  double reference_ns = 0, sum_ns = 0;
  hn_grid grid;
  hn_grid_init(&grid, e->arena, e->options, "lllrlrl", "eb");
  for (size_t i = 0; i < HN_COUNT(heads); ++i) hn_grid_add(&grid, "%s", heads[i]);
  for (size_t i = 0; i < nodes->length; ++i) {
    const hn_json *chosen = chosen_of(&nodes->items[i]);
    if (!chosen) continue; /* nothing runs, or its blocks do */
    add_node(e, &grid, &nodes->items[i], chosen);
    ++run;
    sum_ns += hn_ledger_best_ns(chosen);
    reference += is_reference(chosen);
    if (is_reference(chosen)) reference_ns += hn_ledger_best_ns(chosen);
  }
  hn_grid_write(&grid, e->out);
  const size_t splits = hn_ledger_count(hn_json_get(e->schedule, "splits"));
  hn_text_printf(e->out, "\n%zu layer%s, %.4f ms without converts", run, plural(run), sum_ns * 1e-6);
  if (reference > 0)
    hn_text_printf(e->out, "; %zu on the reference, %.4f ms of it by estimate", reference, reference_ns * 1e-6);
  if (nodes->length > run)
    hn_text_printf(e->out, "; %zu more node%s only change%s a shape or choose%s what runs", nodes->length - run,
                   plural(nodes->length - run), nodes->length - run == 1 ? "s" : "",
                   nodes->length - run == 1 ? "s" : "");
  if (splits > 0)
    hn_text_printf(e->out, "; %zu fused node%s run%s as parts", splits, plural(splits), splits == 1 ? "s" : "");
  hn_text_add(e->out, "\n~: an estimate, not timed; gap: how much longer the runner-up takes\n");
}
