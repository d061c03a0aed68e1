/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h - the trace: what happened in runs of a session, step by step. */
#ifndef HN_PLAN_TRACE_H
#define HN_PLAN_TRACE_H

#include "base/memory.h"

typedef struct hn_trace_step {
  int step; /* of the schedule's plan */
  int64_t runs;
  double total_ns, min_ns, max_ns, median_ns, p99_ns;
} hn_trace_step;

typedef struct hn_trace {
  int schedule; /* whose steps these are */
  int64_t runs;
  int step_count;
  hn_trace_step *steps;
  double total_ns;          /* host time of all runs, end to end */
  double median_ns, p99_ns; /* of one run */
} hn_trace;

#endif
