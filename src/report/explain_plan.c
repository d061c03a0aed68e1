/* SPDX-License-Identifier: Apache-2.0 */
/* explain_plan.c - of an engine that the planner made: which type each layer got, and why it is not in 8 bits. */
#include "report/explain.h"
#include <string.h>

static const char *const types[] = {"f32", "bf16", "f16", "int8"};

void hn_explain_plan_head(const hn_explanation *e) {
  const hn_json *plan = hn_json_get(e->ledger, "planner"), *layers = plan ? hn_json_get(plan, "layers") : NULL;
  if (!plan) return;
  hn_text_add(e->out, "planned layers:");
  for (size_t t = 0, named = 0; t < HN_COUNT(types); ++t) {
    int count = 0;
    for (size_t i = 0; i < hn_ledger_count(layers); ++i)
      count += strcmp(hn_ledger_text(&layers->items[i], "type"), types[t]) == 0;
    if (count > 0) hn_text_printf(e->out, "%s %d in %s", named++ ? "," : "", count, types[t]);
  }
  hn_text_printf(
      e->out,
      "\n  measured %.4f ms (predicted %.4f), f32 beside it %.4f ms; outputs %.2e from f32's and %.1f %% the "
      "same first class on %d samples\n\n",
      hn_ledger_real(plan, "ns", 0) * 1e-6, hn_ledger_real(plan, "predicted_ns", 0) * 1e-6,
      hn_ledger_real(plan, "f32_ns", 0) * 1e-6, hn_ledger_real(plan, "rel_l2", 0),
      100 * hn_ledger_real(plan, "same_class", 0), (int)hn_ledger_real(plan, "samples", 0));
}

bool hn_explain_stands_for(const hn_json *node, const hn_json *layer) {
  const char *name = hn_ledger_text(layer, "layer");
  const hn_json *origins = hn_json_get(node, "origins");
  if (strcmp(hn_ledger_text(node, "node"), name) == 0) return true;
  for (size_t i = 0; i < hn_ledger_count(origins); ++i)
    if (origins->items[i].kind == HN_JSON_STRING && strcmp(origins->items[i].string, name) == 0) return true;
  return false;
}

const hn_json *hn_explain_planned(const hn_explanation *e) {
  const hn_json *plan = hn_json_get(e->ledger, "planner");
  return plan ? hn_json_get(plan, "layers") : NULL;
}

/* A line a layer that the node stands for: its type, each type's time and noise, and why. */
void hn_explain_plan(const hn_explanation *e, const hn_json *node) {
  const hn_json *layers = hn_explain_planned(e);
  for (size_t i = 0; i < hn_ledger_count(layers); ++i) {
    const hn_json *layer = &layers->items[i];
    if (!hn_explain_stands_for(node, layer)) continue;
    const char *why = hn_ledger_text(layer, "why");
    hn_text_printf(e->out, "  planned: %s in %s, which saves %.4f ms of the network against f32%s%s\n",
                   hn_ledger_text(layer, "layer"), hn_ledger_text(layer, "type"),
                   hn_ledger_real(layer, "saved_ns", 0) * 1e-6, *why ? "; not in 8 bits: " : "", why);
    for (size_t t = 0; t < HN_COUNT(types); ++t) {
      const hn_json *of = hn_json_get(layer, types[t]);
      if (of)
        hn_text_printf(e->out, "    %-4s %.4f ms, noise %.1e\n", types[t], hn_ledger_real(of, "ns", 0) * 1e-6,
                       hn_ledger_real(of, "noise", 0));
    }
  }
}
