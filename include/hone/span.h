/* SPDX-License-Identifier: Apache-2.0 */
/* span.h - spans of time, for profiles and traces: of a session's runs (hone_session_options.on_span) and of a build's
 * work (hone_build_options.on_span). Spans of a kind lie inside those of the kind before: run, step, share; and phase,
 * pass; phase, node, candidate, sample. */
#ifndef HONE_SPAN_H
#define HONE_SPAN_H

#include <hone/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hone_span_kind {
  HONE_SPAN_RUN,       /* of a session: one call of hone_session_run() */
  HONE_SPAN_STEP,      /* of a run: a step of the main block */
  HONE_SPAN_SHARE,     /* of a step: what one thread of the CPU's pool did of a parallel loop, from its first part of it
                        * to its last */
  HONE_SPAN_PHASE,     /* of a build: a schedule, its passes, its tuning and what that does, lowering */
  HONE_SPAN_PASS,      /* of the passes */
  HONE_SPAN_NODE,      /* of tuning: all that is measured for one node; of a fused one also its parts, as nodes in it */
  HONE_SPAN_CANDIDATE, /* of a node or a phase: preparing a candidate, its error, and its first samples */
  HONE_SPAN_SAMPLE,    /* of a candidate or a node: timed launches of a candidate */
  HONE_SPAN_KIND_COUNT
} hone_span_kind;

/* Pointers are borrowed: of runs from the engine, of a build for the time of the call. */
typedef struct hone_span {
  hone_span_kind kind;
  const char *name;         /* of the step, phase, pass or node; of the engine's network; of a candidate: its tactic,
                             * parameters and storages; of a share: its step's name */
  int64_t begin_ns, end_ns; /* on CLOCK_MONOTONIC */
  int64_t run;              /* the session's runs are counted from 1; 0: a build */
  int schedule;             /* of the engine that runs or is built */
  int step;                 /* for hone_session_step(); of a share: the innermost one, in a loop's body; else -1 */
  int device;               /* of a step: which of the engine's devices; else -1 */
  bool queued;              /* of a step: it ran in that device's queue, beside what the host did */
  int thread;               /* of a share: 0 is the one that runs the session, 1 and up are the pool's */
  int64_t parts;            /* of a share: how many parts of the loop; of a sample: launches */
  int64_t dropped;          /* of a run: shares that there was no room for */
} hone_span;

typedef void (*hone_span_fn)(void *user, const hone_span *span);

#ifdef __cplusplus
}
#endif
#endif
