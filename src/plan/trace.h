/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h - the trace: what happened in runs of a session, step by step. */
#ifndef HN_PLAN_TRACE_H
#define HN_PLAN_TRACE_H

#include "base/memory.h"

typedef struct hn_trace_step {
  int step; /* of the schedule's plan */
  int64_t runs;
  double total_ns, min_ns, max_ns, median_ns, p99_ns;
  /* On a traced device: pieces of work in a run, the longest kernel's name; in the mean, from their begins to their
   * ends, how much of that lay beside what was in front of them, which the times above leave out, and how long nothing
   * ran before them. */
  int pieces;
  const char *kernel; /* NULL: not known */
  double busy_ns, beside_ns, gap_ns;
} hn_trace_step;

/* What a traced device's queue did in a run, in the mean: work + gap - beside = span. */
typedef struct hn_trace_queue {
  int64_t runs, unknown;     /* 0 runs: no device was traced. unknown: pieces whose step could not be told */
  double work_ns, gap_ns;    /* kernels and copies; when nothing ran inside a replay */
  double beside_ns, span_ns; /* work beside other work; what copies and replays took */
  double apart_ns;           /* between copies and replays, which tracing lengthens */
  double to_device_ns, to_host_ns;
  int replays;      /* in a run */
  double launch_ns; /* what giving so many replays and waiting for them takes, measured by itself; not of the span */
} hn_trace_queue;

typedef struct hn_trace {
  int schedule; /* whose steps these are */
  int64_t runs;
  int step_count;
  hn_trace_step *steps;
  double total_ns;          /* host time of all runs, end to end */
  double median_ns, p99_ns; /* of one run */
  hn_trace_queue queue;
  const char *untraced; /* why a device of its own was not traced; NULL: it was, or there is none */
} hn_trace;

#endif
