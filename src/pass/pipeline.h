/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.h - graph -> graph: a list of passes by name, in order; each a row. */
#ifndef HN_PASS_PIPELINE_H
#define HN_PASS_PIPELINE_H

#include "base/span.h"
#include "ir/graph.h"
#include "ir/log.h"
#include "tensor/target.h"

struct hn_rewrite;

/* One run over a graph. */
typedef struct hn_pass_run {
  hone_context *context;
  hone_graph *graph;
  const hn_target *target; /* NULL: everything is accepted */
  const char *const *disable;
  int disable_count;
  bool builds;                /* an engine is built of it: what lowering relies on runs also behind `after` */
  hn_pass_log *log;           /* may be NULL */
  int64_t changes;            /* counted by the pass */
  hn_spans spans;             /* one a pass; tell NULL: nobody listens */
  const struct hn_pool *pool; /* whose threads fold constants; NULL: the caller's alone */
} hn_pass_run;

/* A pass: either a function or a list of rewrites for the engine. */
typedef struct hn_pass {
  const char *name, *doc;
  hone_status (*run)(hn_pass_run *run);
  const struct hn_rewrite *rewrites; /* ends with name NULL */
  bool repeat;                       /* until nothing changes (bounded) */
  bool always;                       /* lowering relies on it: it cannot be disabled, and runs behind `after`, too */
} hn_pass;

const hn_pass *hn_pipeline(int *out_count); /* in order; static */
/* Runs the list; stops after the pass named `after` (NULL: all). The graph is verified after every pass in debug and
 * test builds (HN_VERIFY_PASSES). INVALID names an unknown pass or rule in disable or after. */
hone_status hn_pipeline_run(hn_pass_run *run, const char *after);
bool hn_pass_log_add(hn_pass_log *log, const char *pass, const char *rule, const char *node, const char *unmet_or_null);
bool hn_pass_disabled(const hn_pass_run *run, const char *name); /* a pass's or a rule's name */

#endif
