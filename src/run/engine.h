/* SPDX-License-Identifier: Apache-2.0 */
/* run/engine.h - checked schedules on opened devices, and sessions over them: shape instances and the block
 * interpreter. */
#ifndef HN_RUN_ENGINE_H
#define HN_RUN_ENGINE_H

#include "base/context.h"
#include "plan/schedules.h"
#include "plan/trace.h"
#include <hone/session.h>
#include <pthread.h>
#include <stdatomic.h>

/* The weights that a device with memory of its own reads, uploaded once for all sessions. A blob of the weights lies at
 * the same distance from the address of its run. */
typedef struct hn_weight_run {
  uint64_t begin, end; /* in the schedules' weights */
  uint64_t at;         /* in the device's memory */
} hn_weight_run;
typedef struct hn_device_weights {
  hone_memory memory;
  int run_count, run_capacity;
  hn_weight_run *runs; /* sorted by begin */
} hn_device_weights;

struct hone_engine {
  hn_allocator allocator;
  hn_logger logger;        /* the context's */
  hn_schedules *schedules; /* checked */
  int device_count;
  hone_device **devices;             /* retained; devices[d] serves device d of every schedule */
  hone_device *staging;              /* gives the host's side of copies its memory; NULL: no copies */
  hn_device_weights *device_weights; /* one a device; empty for those in the host's memory */
  hn_arena weights_arena;
  pthread_mutex_t weights_mutex;
  bool uploaded;
  hone_engine *origin; /* whose schedules these are (hone_engine_share); NULL: its own */
  char *ledger;        /* text of the decision ledger when built in this process; else NULL */
  size_t ledger_bytes;
  double time_spread;           /* of the times it was tuned by, in this process; 0: not known */
  int timed_nodes, known_nodes; /* chosen by measured times; of them, by what the timing cache had before */
  hn_users *users;              /* of the plug-ins of the context that built or loaded it; may be NULL */
  atomic_int references;
  atomic_int weights_state; /* 0 unchecked, 1 checked, 2 damaged */
};

/* Takes the schedules (also on failure). Errors: INVALID when a device of theirs has no fitting opened one. */
hone_status hn_engine_create(hn_allocator allocator, hn_schedules *take_schedules, hone_device *const *devices,
                             int device_count, hone_engine **out, hone_diagnostics *diag);
/* UNSUPPORTED when a device is described only: nothing runs on it, and errors were not measured. */
hone_status hn_engine_check_real(const hone_engine *engine, const char *what, hone_diagnostics *diag);
/* INCOMPATIBLE when its file had no weights: nothing runs. */
hone_status hn_engine_check_weighted(const hone_engine *engine, hone_diagnostics *diag);
/* What all schedules have in common: devices, memory spaces, names and types of inputs and outputs. */
static inline const hn_plan *hn_engine_common(const hone_engine *engine) { return engine->schedules->plans[0]; }
/* INVALID, in words, when the engine has no such schedule. */
hone_status hn_engine_check_schedule(const hone_engine *engine, int schedule, hone_diagnostics *diag);

/* Uploads what devices with memory of their own read of the weights, at the first call (run/weights.c). */
hone_status hn_engine_upload(hone_engine *engine, hone_diagnostics *diag);
void hn_engine_drop_weights(hone_engine *engine);
/* Where bytes of the weights lie for a device: in the schedules' region itself, or in the device's memory. */
const void *hn_engine_weight(const hone_engine *engine, int device, uint64_t offset);

/* A trace of a schedule's profiled runs since the last reset; arrays live in the arena. INVALID when there was none. */
hone_status hn_session_trace(const hone_session *session, int schedule, hn_arena *arena, hn_trace *out,
                             hone_diagnostics *diag);
/* One step of it. */
hone_status hn_session_trace_step(const hone_session *session, int schedule, int step, hn_trace_step *out,
                                  hone_diagnostics *diag);

#endif
