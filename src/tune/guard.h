/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h - bytes behind what a plug-in's row may write. */
#ifndef HN_TUNE_GUARD_H
#define HN_TUNE_GUARD_H

#include "ir/graph.h"

enum { HN_GUARD_BYTES = 64 };

/* Whose writes are watched. */
typedef struct hn_guarded {
  hone_context *context;
  const hn_node *node;
  const char *plugin;      /* its file */
  const char *kind, *name; /* "tactic", "eval of operator", and the row's name */
} hn_guarded;

/* The memory has HN_GUARD_BYTES more behind `end`. */
void hn_guard_set(void *end);
/* INVALID when something was written there, with the row and `what` it wrote. The guard is zero afterwards. */
hone_status hn_guard_check(const hn_guarded *guarded, const char *what, void *end, size_t bytes);

/* Of the outputs that are there, and scratch. */
void hn_guards_set(const hn_guarded *guarded, const hone_tensor *out, void *scratch, size_t scratch_bytes);
hone_status hn_guards_check(const hn_guarded *guarded, const hone_tensor *out, void *scratch, size_t scratch_bytes);

#endif
