/* SPDX-License-Identifier: Apache-2.0 */
/* classes.c - what kind of work a layer is, for the shares of a profile: what its operator's row says, else its traits.
 */
#include "report/report.h"

const char *hn_report_class(const hone_op *op) {
  if (op->report_class) return op->report_class;
  if (op->traits & HONE_HAS_BLOCKS) return "Control flow";
  if (op->traits & HONE_ELEMENTWISE) return "Elementwise";
  return op->traits & HONE_MOVES ? "Data movement" : "Other";
}

bool hn_step_runs(const hn_plan_step *step) { return step->kind != HN_STEP_VIEW && step->kind != HN_STEP_WAIT; }

bool hn_step_is_reference(const hn_plan_step *step) {
  const bool fails = step->op && (step->op->traits & HONE_FAILS); /* no kernel could do better */
  return step->kind == HN_STEP_CALL && step->tactic && step->tactic->flags & HONE_TACTIC_REFERENCE && !fails;
}

const char *hn_step_type(const hn_plan_step *step) {
  return step->op ? step->op->name : step->kind == HN_STEP_COPY ? "copy" : "control";
}

void hn_text_params(hn_text *text, const hone_params *params) {
  for (int i = 0; i < params->count; ++i)
    hn_text_printf(text, "%s%s=%lld", i ? "," : "{", params->items[i].name, (long long)params->items[i].value);
  if (params->count > 0) hn_text_add(text, "}");
}

const char *hn_step_tactic(hn_arena *arena, const hn_plan_step *step) {
  hn_text text;
  hn_text_init(&text, arena->allocator);
  hn_text_add(&text, step->tactic ? step->tactic->name : step->provider ? step->provider : "");
  hn_text_params(&text, &step->params);
  const char *made = text.failed ? NULL : hn_arena_text(arena, hn_text_string(&text));
  hn_text_deinit(&text);
  return made;
}
