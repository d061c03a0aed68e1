/* SPDX-License-Identifier: Apache-2.0 */
/* run/engine.h - a checked plan on opened devices, and sessions over it: shape instances and the block interpreter. */
#ifndef HN_RUN_ENGINE_H
#define HN_RUN_ENGINE_H

#include "plan/plan.h"
#include "plan/trace.h"
#include <hone/session.h>
#include <stdatomic.h>

struct hone_engine {
  hn_allocator allocator;
  hn_plan *plan; /* checked */
  int device_count;
  hone_device **devices; /* retained; devices[d] serves plan device d */
  char *ledger;          /* text of the decision ledger when built in this process; else NULL */
  size_t ledger_bytes;
  atomic_int references;
  atomic_int weights_state; /* 0 unchecked, 1 checked, 2 damaged */
};

/* Takes the plan (also on failure). Errors: INVALID when a plan device has no fitting opened device. */
hone_status hn_engine_create(hn_allocator allocator, hn_plan *take_plan, hone_device *const *devices, int device_count,
                             hone_engine **out, hone_diagnostics *diag);

/* A trace of the profiled runs since the last reset; arrays live in the arena. INVALID when there was none. */
hone_status hn_session_trace(const hone_session *session, hn_arena *arena, hn_trace *out, hone_diagnostics *diag);
const hone_engine *hn_session_engine(const hone_session *session);

#endif
