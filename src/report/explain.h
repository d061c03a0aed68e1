/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h - inside of report/: the ledger as both tellings read it, every node in full and a line each. */
#ifndef HN_REPORT_EXPLAIN_H
#define HN_REPORT_EXPLAIN_H

#include "base/json.h"
#include "report/report.h"

typedef struct hn_explanation {
  const hn_json *ledger;   /* the whole */
  const hn_json *schedule; /* the part that is explained now */
  int schedule_count;
  const hone_report_options *options;
  hn_arena *arena;
  hn_text *out;
} hn_explanation;

/* One schedule of a ledger that is to be of the engine of this content hash (0: of any). MALFORMED, INVALID. */
hone_status hn_ledger_read(const char *what, const char *text, size_t length, uint64_t engine_hash, int schedule,
                           hn_arena *arena, const hn_json **out, hone_diagnostics *diag);
const char *hn_ledger_text(const hn_json *object, const char *key); /* "" when it is absent */
double hn_ledger_real(const hn_json *object, const char *key, double otherwise);
size_t hn_ledger_count(const hn_json *list);
/* The best time or estimate of a candidate in ns; a negative number when it has neither. */
double hn_ledger_best_ns(const hn_json *candidate);
/* Why a node that runs on the reference has nothing better: what most tactics said; NULL: another one runs it. */
const char *hn_ledger_lack(const hn_json *node);
/* ---- of an engine whose build quantised the model (explain_quantised.c) ---- */
const hn_json *hn_explain_quantised_layers(const hn_explanation *e); /* NULL: none was asked for */
void hn_explain_quantised_head(const hn_explanation *e);
void hn_explain_quantised(const hn_explanation *e, const hn_json *node);
void hn_text_ledger_tactic(hn_text *text, const hn_json *candidate); /* with its parameters */

/* ---- of an engine that was planned (explain_plan.c) ---- */
void hn_explain_plan_head(const hn_explanation *e);
void hn_explain_plan(const hn_explanation *e, const hn_json *node);
const hn_json *hn_explain_planned(const hn_explanation *e); /* its layers; NULL: it was not planned */
bool hn_explain_stands_for(const hn_json *node, const hn_json *layer);

/* A line a layer: what runs it, in what time, the runner-up, why; then totals. */
void hn_explain_summary(const hn_explanation *e, const hn_json *nodes);

#endif
