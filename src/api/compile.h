/* SPDX-License-Identifier: Apache-2.0 */
/* api/compile.h - inside of api/: what a build's options say of input shapes, checked against the graph, and what its
 * passes ask devices. */
#ifndef HN_API_COMPILE_H
#define HN_API_COMPILE_H

#include "base/context.h"
#include "base/span.h"
#include "ir/graph.h"
#include "plan/schedules.h"
#include "tensor/shape.h"
#include "tensor/target.h"
#include "tune/tune.h"
#include <hone/engine.h>
#include <hone/hone.h>

/* How many schedules are asked for; 1 when nothing is said. INVALID: numbers with gaps, an input that the model does
 * not have or that a profile leaves out. */
hone_status hn_profiles_count(hone_context *context, const hone_graph *graph, const hone_build_options *options,
                              int *out);
hone_status hn_profiles_read(hone_context *context, const hone_graph *graph, const hone_build_options *options,
                             int profile, hn_arena *arena, hn_ranges *out);
/* Do the operators take the shapes that are tuned for? INVALID names the node when they do not. A warning when they
 * refuse those of min, of max or of the middle: others may still run. */
hone_status hn_profiles_try(hone_context *context, const hone_graph *graph, const hn_ranges *ranges, hn_arena *arena);
/* What the options say of an input; NULL: nothing. */
const hone_profile_shape *hn_profile_shape(const hone_build_options *options, int profile, const char *input);
/* Warns of each free dim without a profile, which is taken as 1. */
void hn_profiles_warn(hone_context *context, const hone_graph *graph, const hone_build_options *options, int profile);
/* How sizes are tried, and what becomes of those that work. */
typedef struct hn_size_tries {
  bool (*works)(void *user, const hn_ranges *ranges);
  void *user;
  bool takes; /* they are the caller's to take: OK, and no message; else a message tells them */
} hn_size_tries;
/* After a build that ended with `status`: where free dims were taken as 1 and that may be why, adds a message that
 * names them, with sizes that work if there are some. Changes the ranges; is the status. */
hone_status hn_profiles_suggest(hone_context *context, const hone_graph *graph, const hone_build_options *options,
                                int profile, const hn_ranges *ranges, hone_status status, const hn_size_tries *tries);

/* What a program gives as a model in memory, checked. */
hone_status hn_onnx_source_take(hone_context *context, const hone_onnx_source *given, hone_onnx_source *out);
/* A CPU on paper that has this one's instruction sets and threads: engines for it are chosen by estimates alone. */
hone_status hn_open_paper(hone_context *context, hone_device **out);

/* ---- what passes may ask devices (compile_target.c) ----
 * Which of them have a tactic, not the reference, for this op with these facts? Shapes may be symbolic; symbols are
 * taken as 64 then. */
typedef struct hn_device_target {
  hone_device *const *devices; /* borrowed */
  int device_count;
  const hone_dims *dims; /* of the graph; borrowed */
  uint32_t precisions;   /* types that f32 may be narrowed to: nothing is fused for a kernel that will not be allowed */
} hn_device_target;

hn_target hn_target_of_devices(hone_device *const *devices, int device_count, const hone_dims *dims,
                               uint32_t precisions, hn_device_target *out);

/* ---- a build that somebody looks into (compile_build.c) ---- */
typedef struct hn_build_watch {
  /* What was chosen, once a schedule is tuned; choices->graph is the optimised graph. NULL: nobody asks. */
  hone_status (*see)(void *user, hn_choices *choices);
  void *user;
  bool sizes;            /* free dims without a profile: where 1 does not fit, sizes that do, without a word */
  bool unjudged;         /* what narrow types do to the outputs is measured by the caller */
  bool unproved;         /* kernels are not held against the reference: the caller has proved them on such a graph */
  const hn_lock *lock;   /* in the place of the options' file; NULL: that */
  hn_sampling *sampling; /* layers of the first schedule are looked at, and no engine is made; NULL: it is */
} hn_build_watch;
/* hone_engine_build() with a watch; NULL: none. */
hone_status hn_engine_build_watched(hone_context *context, const hone_graph *graph, hone_device *const *devices,
                                    int device_count, const hone_build_options *options, const hn_build_watch *watch,
                                    hone_engine **out_engine);

/* ---- engines that can be given other weights (compile_refit.c) ----
 * What such an engine keeps, as JSON; freed by hn_text_deinit(). */
hone_status hn_refit_describe(hone_context *context, const hone_build_options *options, const char *lock, size_t length,
                              hn_text *out);

/* ---- what only the lowered plans tell (compile_lanes.c) ----
 * Times branches side by side against one behind another, and keeps what is faster; run's errors. The engine is the
 * builder's alone. */
hone_status hn_engine_choose_lanes(hone_context *context, hone_engine *engine, const hone_build_options *options);
/* Build option strict_device. */
hone_status hn_engine_refuse_host_steps(hone_context *context, const hn_schedules *schedules);

/* ---- how far the outputs are from those of f32 (compile_accuracy.c) ---- */
typedef struct hn_accuracy {
  hone_context *context;
  const hone_build_options *options;
  const hone_graph *graph; /* optimised */
  const hn_ranges *ranges;
  hn_spans spans;
  hn_arena arena;    /* of what is kept */
  hone_tensor *want; /* one a result */
} hn_accuracy;
/* For hn_tune(): the first five fields are the caller's. Errors of run: what lowering and running give. */
hn_judge hn_accuracy_begin(hn_accuracy *accuracy);
void hn_accuracy_end(hn_accuracy *accuracy);
/* What was chosen so far as an engine, and the build's inputs for a session on one. */
hone_status hn_accuracy_engine(const hn_accuracy *accuracy, const hn_choices *choices, hone_engine **out);
hone_status hn_accuracy_inputs(const hn_accuracy *accuracy, hone_session *session);
/* The session's words for what failed go to the context; is the status. */
hone_status hn_accuracy_tell(const hn_accuracy *accuracy, const hone_session *session, hone_status status);

/* ---- plans as wholes against one another (compile_race.c) ----
 * The judge's functions that time; user is its hn_accuracy. */
hone_status hn_race_enter(void *user, const hn_choices *choices, void **out_plan);
hone_status hn_race_time(void *user, void *plan, double *out_ns);
void hn_race_leave(void *user, void *plan);
/* One run's time: the last one's computing by the device's clock, of some queued one behind another, or the mean of
 * them where everything is the host's. The session has option `parts`. */
hone_status hn_race_burst(hone_session *session, int runs, double *out_ns);

#endif
