/* SPDX-License-Identifier: Apache-2.0 */
/* match.h - finding a rule's pattern at a node (match.c), and applying the rule there (apply.c). */
#ifndef HN_PASS_MATCH_H
#define HN_PASS_MATCH_H

#include "pass/rewrite.h"

enum { HN_MATCH_CHOICES = 12 };

/* A search through the orders of commutative inputs: each further call of hn_match_next tries other orders. */
typedef struct hn_matcher {
  const hn_roots *find;
  hn_node *root;
  hn_match match;
  bool swapped[HN_MATCH_CHOICES]; /* for each commutative term, as it was met */
  int choice_count;               /* decided for the next try */
  int choices_met;                /* in this try */
  bool done;
} hn_matcher;

void hn_match_begin(hn_matcher *matcher, hn_pass_run *run, const hn_roots *find, hn_node *root);
bool hn_match_next(hn_matcher *matcher); /* false: no further match */

bool hn_match_holds(const hn_match *match, const hn_node *node); /* is the node matched? */

/* A rule as parsed. */
typedef struct hn_rule {
  const hn_rewrite *row;
  hn_roots find, put;
} hn_rule;

/* Replaces the match, or says why not (*out_unmet, static) and leaves the graph as it was. *out_next: the node to go on
 * with, which is the first one that was made, if any was. */
hone_status hn_rule_apply(const hn_rule *rule, hn_match *match, const char **out_unmet, hn_node **out_next);

#endif
