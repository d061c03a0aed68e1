/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - what people and machines read: tables and JSON of graphs, engines, runs and decisions. */
#ifndef HONE_REPORT_H
#define HONE_REPORT_H

#include <hone/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/* JSON of reports begins with "schema": this number, which grows when a key goes or changes meaning (docs/JSON.md). */
#define HONE_JSON_SCHEMA 1

/* What the rows of a profile stand for. */
typedef enum hone_profile_by {
  HONE_BY_LAYER,     /* a step of the engine */
  HONE_BY_TYPE,      /* all steps of an operator */
  HONE_BY_ONNX_NODE, /* the model's nodes that a step stands for */
  HONE_BY_MODULE, /* the first two parts of the nodes' names, as frameworks write them: "features.3", "encoder/layer.0"
                   */
  HONE_BY_COUNT
} hone_profile_by;

typedef struct hone_report_options {
  uint32_t struct_size;
  bool json, color;
  int top;           /* rows of the candidates list; 0: 5 */
  const char *node;  /* explain: only this node; NULL: all */
  bool one_schedule; /* only of schedule number `schedule`; else of all, and of a profile the one that ran last */
  int schedule;
  int width; /* columns that tables may take; 0: 120. What does not fit is shortened, then left out (grid.h) */
  bool all;  /* explain: every node in full, not a line each */
  const hone_profile_shape *shapes; /* check: as hone_build_options has them */
  int shape_count;
  hone_profile_by by; /* profile */
  bool csv;           /* profile: the rows alone, as RFC 4180 has them */
  bool cold;          /* profile: nothing was left in caches before a run; layers are held against main memory */
  double
      unprofiled_ns; /* profile: the median of runs without profiling, which its overhead is told from; 0: not told */
  double unprofiled_device_ns; /* profile: the same of a device's part in such runs (hone_session_parts), which the sum
                                * of a traced run is held against; 0: not told */
  const char *ledger_path;     /* profile: as hone_report_explain has it, for what fusions lack; NULL: the engine's own,
                                * when     it was built in this process */
} hone_report_options;

/* The layer profile of a session that ran with profiling on: layer, type, median time, % of total, what bounds it and
 * the share of that roof; total, FPS; top optimisation candidates by time above their roofs; shares by class; what fell
 * back to the reference. Roofs are those of the first device's facts (hone_device_measure). INVALID when nothing was
 * profiled. */
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
  uint32_t struct_size;
  const char *name, *built_by, *device_name;
  int step_count, reference_steps;                    /* steps of all blocks; those that run on the reference */
  uint64_t weights_bytes, arena_bytes, scratch_bytes; /* at the opt shapes; weights: of the whole engine */
  double flops;                                       /* of one run at the opt shapes */
  double max_error_rel_l2;                            /* the largest measured error of a step; -1: none measured */
  double output_error_rel_l2; /* the largest of an output, from that without narrow types; -1: not measured */
  bool dynamic, after_run;
  int schedule_count;
  uint64_t schedule_weights_bytes; /* of the weights, what this schedule reads */
  /* What the reference costs, estimated for the opt shapes: the share of the work that it does, its time, what that
   * would be with kernels at half of the device's speed, and the time of all other steps. */
  int reference_nodes; /* nodes of the model that it runs */
  double reference_flops, reference_ns, kernel_ns, other_ns;
  /* Of one built in this process: the median layer's median time over its least; 1 if quiet, 0 if nothing was timed. */
  double time_spread;
  /* Likewise, over all schedules: nodes that measured times chose, and those whose times the timing cache had. */
  int timed_nodes, known_nodes;
  bool refittable, stripped; /* hone_engine_refit() takes it; its file had no weights */
  uint64_t onnx_bytes;       /* of the model that its file carries; 0: none */
} hone_engine_summary;
/* Of the first schedule. */
HONE_API hone_status hone_engine_summarize(const hone_engine *engine, hone_engine_summary *out_summary);
/* INVALID when there is no such schedule. */
HONE_API hone_status hone_engine_summarize_schedule(const hone_engine *engine, int schedule,
                                                    hone_engine_summary *out_summary);
/* The decision ledger: of an engine built in this process, or read from text (PATH.ledger). A ledger names the engine
 * that it was saved with: INVALID when a loaded engine and a path are given and the ledger is of another build. */
HONE_API HONE_CHECKED hone_status hone_report_explain(const hone_engine *engine, const char *ledger_path,
                                                      const hone_report_options *options, hone_write_fn write,
                                                      void *user, hone_diagnostics *diag);
/* Per-step numbers of a profiled session, for programs: of the schedule that ran last. Borrowed pointers. */
typedef struct hone_step_profile {
  uint32_t struct_size;
  const char *name, *op, *provider, *tactic;
  double mean_ns, min_ns, max_ns, median_ns, p99_ns;
  hone_cost cost;
  bool reference;   /* ran on the reference backend */
  int origin_count; /* nodes of the model that the step stands for */
  const char *const *origins;
  int in_count, out_count;
} hone_step_profile;
HONE_API int hone_session_step_count(const hone_session *session);
HONE_API hone_status hone_session_step(const hone_session *session, int index, hone_step_profile *out_profile);
/* What a step read or wrote in the last run, as it lies in memory: inputs from port 0, then outputs; INVALID: there is
 * no such port. kind ABSENT: an input that was left out. Dims of what did not run may be negative. */
HONE_API hone_status hone_session_step_type(const hone_session *session, int index, int port, hone_type *out_type);

/* Checks the weights' hashes, then runs every step alone against the reference, on seeded inputs at the opt shapes, and
 * reports the errors (4,096 elements each, or all). Weights that the engine holds only packed for a kernel are replaced
 * by seeded ones. *out_within_bounds is false when a step is over its bound. Errors: MALFORMED (weights are damaged),
 * LIMIT and CANCELLED (the options say so). */
typedef struct hone_verify_options {
  uint32_t struct_size;
  bool full, json;
  uint64_t seed;
  bool one_schedule; /* only schedule number `schedule`; else all */
  int schedule;
  int width;           /* as in hone_report_options */
  int64_t deadline_ms; /* a call taking longer ends with LIMIT; 0: none */
  const void *cancel;  /* const atomic_bool *: set by any thread to end the call with CANCELLED. Borrowed. */
} hone_verify_options;
HONE_API HONE_CHECKED hone_status hone_verify(hone_engine *engine, const hone_verify_options *options,
                                              hone_write_fn write, void *user, bool *out_within_bounds,
                                              hone_diagnostics *diag);

/* ONNX coverage of a model file before a build: operators, opsets, what is missing and where, and what share of the
 * work has no kernel on this machine's CPU, which a build on paper tells. Also written when something is missing, which
 * is then the call's error: UNSUPPORTED, with a message for each. Other errors are those of importing and building. */
HONE_API HONE_CHECKED hone_status hone_report_check(hone_context *context, const char *onnx_path,
                                                    const hone_report_options *options, hone_write_fn write,
                                                    void *user);
HONE_API HONE_CHECKED hone_status hone_report_operators(hone_context *context, const hone_report_options *options,
                                                        hone_write_fn write, void *user);

/* Peaks: of a device what was measured (every type, every cache, memory) beside what its clock and its model allow,
 * with ridge points; of named chips what their sheets' numbers come to, with the formulas. Chips are rows of text
 * (src/report/chips.h explains the fields), built in and of chip_file. The device may be NULL where `list` or chips are
 * given. Errors: INVALID (there is no such chip; the message names a near one), IO, MALFORMED and LIMIT (of chip_file:
 * the message names line and field). */
typedef struct hone_peaks_options {
  uint32_t struct_size;
  bool json, color;
  int width;                /* as in hone_report_options */
  bool list;                /* the chips that there are, a line each; with json all of each */
  const char *const *chips; /* by name or alias; none: the device */
  int chip_count;
  const char *chip_file; /* more chips; they stand before built-in ones of the same name. NULL: none */
  const char *cache_dir; /* where measured roofs are kept, by device, version, instruction sets and threads; NULL: they
                          * are not. A damaged file is replaced, which the report tells */
  bool measure;          /* anew, whatever is kept */
} hone_peaks_options;
HONE_API HONE_CHECKED hone_status hone_report_peaks(hone_device *device, const hone_peaks_options *options,
                                                    hone_write_fn write, void *user, hone_diagnostics *diag);

/* A roofline: each layer's operations, bytes, intensity (operations a byte) and rate beside the roof at that intensity,
 * and ridge points. Of a session that ran with profiling on, under the roofs that were measured; or of an engine on
 * paper, each layer at the roof of chips (then session may be NULL, and nothing runs). The formulas of what_if need
 * neither: chips or a device. Errors: those of hone_report_profile and hone_report_peaks; IO (of svg_path). */
typedef struct hone_roofline_options {
  uint32_t struct_size;
  bool json, color;
  int width;                /* as in hone_report_options */
  const char *const *chips; /* by name or alias; none: the machine that the session ran on */
  int chip_count;
  const char *chip_file;     /* as in hone_peaks_options */
  hone_dtype type;           /* f32, f16, bf16, i8: on paper and what_if in that type; NONE: the engine's own, f32 */
  const char *svg_path;      /* also plotted here; the file is replaced when it is complete. One chip at most */
  bool what_if;              /* also what kernel, extents, groups, batch and type do to a convolution, by formula */
  const hone_device *device; /* what_if without session and chips: its roofs, which hone_device_measure() found */
  bool one_schedule;         /* schedule number `schedule`; else the one that ran last, on paper the first */
  int schedule;
} hone_roofline_options;
HONE_API HONE_CHECKED hone_status hone_report_roofline(const hone_engine *engine, const hone_session *session,
                                                       const hone_roofline_options *options, hone_write_fn write,
                                                       void *user, hone_diagnostics *diag);

/* Sessions of two engines of one model, `count` of each, that ran in turns with profiling on, a[k] with b[k]: several,
 * since where a session's memory lies moves its times, too. It tells which layers differ, by how much time (with
 * an interval of 95 %), in which decisions, bytes and measured errors; the largest difference first. Layers are put
 * together by the model's nodes that they came from. *out_regressed: B's whole run takes more than max_regression
 * percent longer than A's, and the interval excludes that this is chance. Errors: INVALID (not the same number of
 * profiled runs, or fewer than six blocks of them). */
typedef struct hone_diff_options {
  uint32_t struct_size;
  bool json, color;
  int width;                   /* as in hone_report_options */
  int runs_of_a_block;         /* how many runs each session did at a time; 0: 1. The latest 512 of each count */
  const char *name_a, *name_b; /* what they are called; NULL: the engines' names */
  double max_regression;       /* percent; -1, or options NULL: not judged */
} hone_diff_options;
HONE_API HONE_CHECKED hone_status hone_report_diff(const hone_session *const *a, const hone_session *const *b,
                                                   int count, const hone_diff_options *options, hone_write_fn write,
                                                   void *user, bool *out_regressed, hone_diagnostics *diag);

#ifdef __cplusplus
}
#endif
#endif
