/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - what people and machines read: tables and JSON of graphs, engines, runs and decisions. */
#ifndef HONE_REPORT_H
#define HONE_REPORT_H

#include <hone/session.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_report_options {
  uint32_t struct_size;
  bool json, color;
  int top;           /* rows of the candidates list; 0: 5 */
  const char *node;  /* explain: only this node; NULL: all */
  double idle_ns[2]; /* host-to-device and device-to-host time of a run, 0 on CPUs */
  bool one_schedule; /* only of schedule number `schedule`; else of all, and of a profile the one that ran last */
  int schedule;
} hone_report_options;

/* The layer profile of a session that ran with profiling on: layer, type, time, % of total; total, FPS; top
 * optimisation candidates; shares by class; what fell back to the reference. INVALID when nothing was profiled. */
HONE_API HONE_CHECKED hone_status hone_report_profile(const hone_session *session, const hone_report_options *options,
                                                      hone_write_fn write, void *user, hone_diagnostics *diag);
/* What an engine holds: inputs, outputs, steps with tactics, formats, measured errors, memory. */
HONE_API HONE_CHECKED hone_status hone_report_engine(const hone_engine *engine, const hone_report_options *options,
                                                     hone_write_fn write, void *user, hone_diagnostics *diag);
/* The memory plan of an engine at its opt shapes: weights, arena, scratch; what is live at each step, the peak, and
 * each tensor's place and life. */
HONE_API HONE_CHECKED hone_status hone_report_memory(const hone_engine *engine, const hone_report_options *options,
                                                     hone_write_fn write, void *user, hone_diagnostics *diag);
/* The same as hone_report_engine in numbers. Borrowed pointers. */
typedef struct hone_engine_summary {
  const char *name, *built_by, *device_name;
  int step_count, reference_steps;                    /* steps of all blocks; those that run on the reference */
  uint64_t weights_bytes, arena_bytes, scratch_bytes; /* at the opt shapes; weights: of the whole engine */
  double flops;                                       /* of one run at the opt shapes */
  double max_error_rel_l2;                            /* the largest measured error of a step; -1: none measured */
  bool dynamic, after_run;
  int schedule_count;
  uint64_t schedule_weights_bytes; /* of the weights, what this schedule reads */
} hone_engine_summary;
/* Of the first schedule. */
HONE_API void hone_engine_summarize(const hone_engine *engine, hone_engine_summary *out_summary);
/* INVALID when there is no such schedule. */
HONE_API hone_status hone_engine_summarize_schedule(const hone_engine *engine, int schedule,
                                                    hone_engine_summary *out_summary);
/* The decision ledger: of an engine built in this process, or read from text (PATH.ledger). */
HONE_API HONE_CHECKED hone_status hone_report_explain(const hone_engine *engine, const char *ledger_path,
                                                      const hone_report_options *options, hone_write_fn write,
                                                      void *user, hone_diagnostics *diag);
/* Per-step numbers of a profiled session, for programs: of the schedule that ran last. Borrowed pointers. */
typedef struct hone_step_profile {
  const char *name, *op, *provider, *tactic;
  double mean_ns, min_ns, max_ns, median_ns;
  hone_cost cost;
  bool reference; /* ran on the reference backend */
} hone_step_profile;
HONE_API int hone_session_step_count(const hone_session *session);
HONE_API hone_status hone_session_step(const hone_session *session, int index, hone_step_profile *out_profile);

/* Checks the weights' hashes, then runs every step alone against the reference, on seeded inputs at the opt shapes, and
 * reports the errors (4,096 elements each, or all). Weights that the engine holds only packed for a kernel are replaced
 * by seeded ones. *out_within_bounds is false when a step is over its bound. Errors: MALFORMED (weights are damaged).
 */
typedef struct hone_verify_options {
  uint32_t struct_size;
  bool full, json;
  uint64_t seed;
  bool one_schedule; /* only schedule number `schedule`; else all */
  int schedule;
} hone_verify_options;
HONE_API HONE_CHECKED hone_status hone_verify(hone_engine *engine, const hone_verify_options *options,
                                              hone_write_fn write, void *user, bool *out_within_bounds,
                                              hone_diagnostics *diag);

/* ONNX coverage of a model file before a build: operators, opsets, what is missing and where. Also written when
 * something is missing, which is then the call's error: UNSUPPORTED, with a message for each. */
HONE_API HONE_CHECKED hone_status hone_report_check(hone_context *context, const char *onnx_path,
                                                    const hone_report_options *options, hone_write_fn write,
                                                    void *user);
HONE_API HONE_CHECKED hone_status hone_report_operators(hone_context *context, const hone_report_options *options,
                                                        hone_write_fn write, void *user);

#ifdef __cplusplus
}
#endif
#endif
