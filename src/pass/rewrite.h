/* SPDX-License-Identifier: Apache-2.0 */
/* rewrite.h - the rewrite engine. A rule is one row of text in the notation of ir/graph.h: find -> put, when, because.
 *
 * The engine owns what holds for all rules: every use of an inner node lies inside the match; inner nodes are not
 * outputs of a block; commutative ops match both ways; the root keeps dtype and shape; origins are united; firing is
 * logged by name; work is bounded and indexed by the root's op. A fused node keeps its parts. */
#ifndef HN_PASS_REWRITE_H
#define HN_PASS_REWRITE_H

#include "pass/pipeline.h"

/* A match in progress: what the names in find are bound to. */
typedef struct hn_match {
  hn_pass_run *run;
  hn_node *root;
  const hn_binding *bindings;
  int binding_count;
} hn_match;

typedef struct hn_rewrite {
  const char *name;
  const char *find, *put;
  /* NULL when the condition holds, else the first unmet one in words (static); logged for `hone explain`. */
  const char *(*when)(const hn_match *match);
  /* Fills computed attributes of the node named by `into` in put, after it is built and before it is inferred again. */
  hone_status (*make)(const hn_match *match, hn_node *built);
  const char *why;
  bool fuses; /* the new root keeps the matched nodes as its parts, and is used only if the target accepts it */
} hn_rewrite;

hn_value *hn_bound(const hn_match *match, const char *name); /* NULL when not bound */
hn_node *hn_bound_node(const hn_match *match, const char *name);
const hone_type *hn_bound_type(const hn_match *match, const char *name);
/* Does the constant vary along this axis of `like` only (size 1 elsewhere, right-aligned broadcasting)? */
bool hn_varies_only_along(const hone_type *constant, const hone_type *like, int axis);

/* Applies rules until none fires (when repeat) or one sweep is done. */
hone_status hn_rewrite_run(hn_pass_run *run, const hn_rewrite *rules, bool repeat, const char *pass_name);

#endif
