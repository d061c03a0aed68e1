/* SPDX-License-Identifier: Apache-2.0 */
/* rewrite.h - the rewrite engine. A rule is one row of text in the notation of ir/notation.h: find -> put, when,
 * because.
 *
 * The engine owns what holds for all rules: every use of an inner node lies inside the match; inner nodes are not
 * outputs of a block; commutative ops match both ways; the root keeps dtype and shape; origins are united; firing is
 * logged by name; work is bounded and indexed by the root's op. A fused node keeps its parts.
 *
 * In find, an op without "..." has no other inputs than those written; a number matches a constant all of whose
 * elements are that number; an attribute's number matches INT and FLOAT. With several roots, the later ones are looked
 * for among the users of what the earlier ones bound. */
#ifndef HN_PASS_REWRITE_H
#define HN_PASS_REWRITE_H

#include "ir/notation.h"
#include "pass/pipeline.h"

enum { HN_MATCH_NODES = 24, HN_MATCH_BINDINGS = 32, HN_MATCH_ROOTS = 4, HN_MATCH_ATTRS = 8 };

/* A match: what the names in find are bound to. */
typedef struct hn_match {
  hn_pass_run *run;
  hn_node *root; /* of the first root */
  hn_binding bindings[HN_MATCH_BINDINGS];
  int binding_count;
  hn_node *nodes[HN_MATCH_NODES]; /* all matched ones, the first root first */
  int node_count;
  hn_value *roots[HN_MATCH_ROOTS]; /* the values that will be replaced */
  int root_count;
  hone_attr attrs[HN_MATCH_ATTRS]; /* what $name in put stands for */
  int attr_count;
} hn_match;

typedef struct hn_rewrite {
  const char *name;
  const char *find, *put;
  /* NULL when the condition holds, else the first unmet one in words (static); logged for `hone explain`, unless it is
   * "": then the rule was not meant. */
  const char *(*when)(const hn_match *match);
  /* Computes what put needs and text cannot say: constants by hn_bind, attributes ($name) by hn_bind_attr. */
  hone_status (*make)(hn_match *match);
  const char *why;
  bool fuses; /* the new root keeps the matched nodes as its parts, and is used only if the target accepts it */
  bool keeps; /* inner nodes may have other uses: they stay for those */
  bool asks;  /* nodes that compute are made only where the target accepts them; they keep no parts */
  const struct hone_rewrite *guest; /* a plug-in's row, which says `when` in its own way */
  bool hands_on; /* the new root is the node that put rebuilds, on other inputs: its parts go over to it */
} hn_rewrite;

hn_value *hn_bound(const hn_match *match, const char *name); /* NULL when not bound */
hn_node *hn_bound_node(const hn_match *match, const char *name);
const hone_type *hn_bound_type(const hn_match *match, const char *name);
/* One more binding, or the same name bound to another value. value NULL: NO_MEMORY was reported already. */
hone_status hn_bind(hn_match *match, const char *name, hn_value *value);
hone_status hn_bind_attr(hn_match *match, const hone_attr *attr); /* lists are copied */
hone_status hn_bind_float(hn_match *match, const char *name, double value);
/* Does the constant vary along this axis of `like` only (size 1 elsewhere, right-aligned broadcasting)? */
bool hn_varies_only_along(const hone_type *constant, const hone_type *like, int axis);
/* A constant with one element. */
bool hn_is_scalar_constant(const hn_value *value);

/* Applies rules until none fires (when repeat) or one sweep is done. INTERNAL or MALFORMED: a rule's text is wrong.
 * LIMIT: the rules would go on for ever. */
hone_status hn_rewrite_run(hn_pass_run *run, const hn_rewrite *rules, bool repeat, const char *pass_name);

#endif
