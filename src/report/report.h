/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - plan + trace -> report: what people and machines read. Each writes text or JSON, as the options say. */
#ifndef HN_REPORT_REPORT_H
#define HN_REPORT_REPORT_H

#include "base/text.h"
#include "plan/schedules.h"
#include "plan/trace.h"
#include <hone/report.h>

/* What a profile is made of. */
typedef struct hn_profile_input {
  const char *name; /* the engine's */
  const hn_plan *plan;
  int schedule_count; /* of the engine; the trace says which is this */
  const hn_trace *trace;
  const struct hn_work *work;   /* one a step, at the shapes that ran (report/bound.h) */
  const hone_facts *facts;      /* of the first device; peaks 0: not measured */
  int64_t batch;                /* first extent of the first input, as it ran; 1 for scalars */
  const struct hn_json *ledger; /* of the schedule that ran; NULL: none is there */
} hn_profile_input;

hone_status hn_report_profile(const hn_profile_input *input, const hone_report_options *options, hn_arena *arena,
                              hn_text *out);
/* Of all schedules, or of the one that the options name, which there is. */
hone_status hn_report_engine(const hn_schedules *schedules, const hone_report_options *options, hn_arena *arena,
                             hn_text *out);
hone_status hn_report_memory(const hn_schedules *schedules, const hone_report_options *options, hn_arena *arena,
                             hn_text *out, hone_diagnostics *diag);
/* text: a ledger, as tune/ledger.c writes it. MALFORMED; INVALID when options->node is no node of it, or when it does
 * not name the engine of this content hash (0: whichever). */
hone_status hn_report_explain(const char *what, const char *text, size_t length, uint64_t engine_hash,
                              const hone_report_options *options, hn_arena *arena, hn_text *out,
                              hone_diagnostics *diag);

/* ---- a verification: each step's error against the reference and its bound (verify.c) ---- */
typedef struct hn_verified_step {
  double error, bound; /* relative L2; HUGE_VAL: an integer differs, or a number is none */
  int64_t compared;
  const char *left_out; /* why the step was not run; NULL: it was */
} hn_verified_step;

/* rows: [schedule][step]; NULL: that schedule was not verified. */
void hn_report_verify(const hn_schedules *schedules, hn_verified_step *const *rows, const hone_report_options *options,
                      hn_arena *arena, hn_text *out);

/* ---- shared by the reports ---- */
/* Report options of any version, checked. */
hone_status hn_report_options_take(hone_diagnostics *diag, const hone_report_options *given, hone_report_options *out);
/* Bytes of the weights that a schedule reads, each once (shared.c); *out_shared: those that another one reads, too.
 * NO_MEMORY. */
hone_status hn_report_weights(const hn_schedules *schedules, int schedule, hn_arena *arena, uint64_t *out_bytes,
                              uint64_t *out_shared);
static inline bool hn_report_wants(const hone_report_options *options, int schedule) {
  return !options->one_schedule || options->schedule == schedule;
}
/* Does a device's step multiply on units for matrices (tensor cores)? *out_reason: why not, of a step that multiplies;
 * NULL: it has no products, or they are there (units.c). */
bool hn_step_on_matrix_units(const hn_plan *plan, const hn_plan_step *step, const char **out_reason);
/* What the reference costs: the last fields of the summary. */
void hn_report_cost(const hn_plan *plan, const hone_facts *facts, hone_engine_summary *out);
double hn_report_reference_ns(const hone_cost *cost); /* of one step, an estimate */
/* The class that a layer is counted under: "Convolution", "Activation", ... (classes.c). */
const char *hn_report_class(const hone_op *op);
bool hn_step_runs(const hn_plan_step *step);         /* not a view or a wait */
bool hn_step_is_reference(const hn_plan_step *step); /* the last resort, slow */
const char *hn_step_type(const hn_plan_step *step);  /* the op's name; what has none: "copy", "control" */
/* The tactic with its parameters; what has none: its provider, or "". NULL: out of memory. */
const char *hn_step_tactic(hn_arena *arena, const hn_plan_step *step);
/* Of the first activation that it reads and of its first output: "f32 nchw16c", "f32 > bf16 nchw32c". NULL: no memory.
 */
const char *hn_step_storage(hn_arena *arena, const hn_plan *plan, const hn_plan_step *step);
double hn_percent(double part, double whole);                  /* 0 of nothing */
void hn_text_params(hn_text *text, const hone_params *params); /* {a=1,b=2}; nothing when empty */

#endif
