/* SPDX-License-Identifier: Apache-2.0 */
/* advice.h - what to do about a profile: where the time goes, in a word, and remedies with what each would save. */
#ifndef HONE_ADVICE_H
#define HONE_ADVICE_H

#include <hone/report.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What was found about one profiled session, and the steps that were measured since. */
typedef struct hone_advice hone_advice;

typedef struct hone_advise_options {
  uint32_t struct_size;
  bool cold; /* as in hone_report_options */
  bool one_schedule;
  int schedule;
  const char *ledger_path; /* of an engine that was loaded; NULL: its own, where it was built in this process */
  int machine_threads;     /* that a device could use; 0: not known, and no more are advised */
  int level;               /* tuning effort of the engine, as in hone_build_options; 0: not known */
  double waiting_ns;       /* of a run, that threads wait for the last one of a loop; 0: not known */
  double unprofiled_ns;    /* the median of runs without profiling, which savings are of; 0: the profiled one */
  bool no_replay;          /* recorded runs of steps were turned off */
  int disabled_passes;     /* that the build left out */
  bool reference_only;     /* the build was told to */
  /* Another one that the model could run on, with its roofs measured: it is asked for facts in this call. NULL: none.
   */
  const hone_device *other_device;
  bool calibrated; /* samples are at hand: quantising by them is a remedy with flags (--int8) */
  bool throughput; /* requests may run side by side: streams are advised wherever cores are left */
} hone_advise_options;

/* Evaluates every row of advice over a session that ran with profiling on.
 *
 * graph       The model as it was imported; with it, defects are looked for and named by the model's nodes. NULL: not.
 * out_advice  Names, flags and texts are its own; it needs neither session nor graph afterwards. NULL on any error.
 *
 * Errors   INVALID (nothing was profiled; the ledger is of another build), IO and MALFORMED (of the ledger), NO_MEMORY
 * Source   the decision tree and each row's reckoning: docs/PROFILING.md */
HONE_API HONE_CHECKED hone_status hone_advise(const hone_session *session, const hone_graph *graph,
                                              const hone_advise_options *options, hone_advice **out_advice,
                                              hone_diagnostics *diag);
HONE_API void hone_advice_destroy(hone_advice *advice); /* NULL is fine */

/* One remedy. Borrowed from the advice. Times are of a run, in ns; the interval is the prediction's own. */
typedef struct hone_advice_info {
  uint32_t struct_size;
  const char *name, *kind; /* "bf16", "precision" */
  const char *finding, *remedy;
  const char *flags;        /* of the tool, that do it; NULL: none do */
  const char *model_change; /* NULL: none is needed */
  const char *confidence;   /* "high", "medium", "low" */
  int layer_count;
  const char *const *layers; /* steps of the engine, or nodes of the model */
  double saving_ns, saving_low_ns, saving_high_ns;
  bool timed;          /* the saving rests on times of this very change */
  bool applies_itself; /* a build with the flags is all that it takes */
  bool removed;        /* a defect of the model that the build removed: nothing is left to do */
  /* Of the different layers that it would change, those that were timed for the prediction; 0 of 0: none were looked
   * at. */
  int timed_layers, unknown_layers;
  bool expectable; /* hone_advice_expect() tells more: a build with the flags changes what the layers take */
  /* Of a run's time, the share of the layers whose times the saving rests on; 0: the profile and roofs told it. */
  double timed_share;
  /* Most of what it would change is too short for any roof to tell its time: the interval is wide, and what
   * hone_advice_expect() tells is worth its time however little the profile makes of it. */
  bool unsure;
} hone_advice_info;
HONE_API int hone_advice_count(const hone_advice *advice);
/* By what they save, the most first; then what the build removed. INVALID: there is no such item. */
HONE_API hone_status hone_advice_item(const hone_advice *advice, int index, hone_advice_info *out_info);
HONE_API const char *hone_advice_pattern(const hone_advice *advice); /* "compute-bound"; borrowed */

/* What a run of an engine under some options would take, from the times of the layers that it is made of. */
typedef struct hone_expectation {
  uint32_t struct_size;
  double run_ns;  /* of a run: its layers and the conversions between them */
  double like_ns; /* of the engine that was given, by the same kind of times; 0: they say nothing of it */
  /* Different layers with kernels that had no time, and those of them that were timed for this. */
  int unknown_layers, timed_layers;
  double timed_ns, likeliest_ns;   /* these, by their fastest kernels and by those that estimates would have taken */
  double joined_ns, joined_now_ns; /* layers that compute several layers of `like` at once, and those */
  double known_share; /* of a run's time, as it is estimated: layers whose times were known or were timed for this */
  double taken_ns, joined_taken_ns; /* of `like`, layers that others can take in; those among joined_now_ns */
} hone_expectation;
/* Chooses kernels as hone_engine_build() does, but of the layers whose times the timing cache does not have it times
 * the longest ones alone, until 95 % of a run is known or the options' time budget is used up; the others are estimated
 * by those. No engine is made, and nothing that was chosen runs as a network. What was timed stands in the timing
 * cache, so that a build does not time it again.
 *
 * like      An engine of the same model, built in this process: where its fused nodes run as their parts, they do here.
 *           NULL: none.
 * options   Of the build that is thought of. Its first profile counts; max_error, the lock, refittable and what is
 * called back are without effect. Errors    as hone_engine_build(), and INVALID for `like` without a ledger */
HONE_API HONE_CHECKED hone_status hone_engine_expect(hone_context *context, const hone_graph *graph,
                                                     hone_device *const *devices, int device_count,
                                                     const hone_build_options *options, const hone_engine *like,
                                                     hone_expectation *out_expectation);
/* Puts what was expected of the remedy's build in the place of what the profile alone predicts, where the row of advice
 * knows how, and orders remedies anew. *out_used: it did. INVALID: there is no such item. */
HONE_API HONE_CHECKED hone_status hone_advice_expect(hone_advice *advice, int index,
                                                     const hone_expectation *expectation, bool *out_used,
                                                     hone_diagnostics *diag);

/* One step of a staircase, measured: it is copied, and the report ends with all of them. */
typedef struct hone_advice_step {
  uint32_t struct_size;
  const char *name, *flags; /* flags NULL: none */
  const char *why;          /* it was kept, or not */
  double predicted_ns, measured_ns;
  double low_ns, high_ns; /* of the difference to the best step before it */
  double change_percent;  /* from the first step */
  double error;           /* relative L2 of the outputs from the first step's; -1: not measured */
  bool kept;
  const char *kind;                           /* of the remedy; NULL: it is none */
  double before_ns;                           /* the best step's before it, measured in turns with this one */
  double predicted_low_ns, predicted_high_ns; /* the prediction's own interval, of this step's time */
  int timed_nodes, known_nodes; /* of its engine, as in hone_engine_summary: known ones were timed before the build */
  double timed_share; /* that the prediction rests on, as in hone_advice_info; 0: on nothing that was timed for it */
} hone_advice_step;
HONE_API HONE_CHECKED hone_status hone_advice_add_step(hone_advice *advice, const hone_advice_step *step,
                                                       hone_diagnostics *diag);

/* Pattern, remedies, what was removed, the staircase; as text or JSON. Errors: IO, NO_MEMORY. */
HONE_API HONE_CHECKED hone_status hone_report_advice(const hone_advice *advice, const hone_report_options *options,
                                                     hone_write_fn write, void *user, hone_diagnostics *diag);

/* ---- two times that were measured in turns ---- */
typedef struct hone_times_difference {
  uint32_t struct_size;
  double a_ns, b_ns;                     /* medians of the blocks' medians */
  double difference_ns, low_ns, high_ns; /* b - a of blocks that ran beside each other: their median, and an interval of
                                          * 95 % around it by ranks, whatever they are distributed like */
} hone_times_difference;
/* a and b: blocks * runs_of_a_block times each, block after block. 6 to 512 blocks of 1 to 512
 * runs. Errors: INVALID. */
HONE_API HONE_CHECKED hone_status hone_compare_times(const double *a_ns, const double *b_ns, int blocks,
                                                     int runs_of_a_block, hone_times_difference *out,
                                                     hone_diagnostics *diag);

#ifdef __cplusplus
}
#endif
#endif
