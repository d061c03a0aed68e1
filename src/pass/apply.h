/* SPDX-License-Identifier: Apache-2.0 */
/* apply.h - a rule as parsed, and the attempt to apply it to a match. */
#ifndef HN_PASS_APPLY_H
#define HN_PASS_APPLY_H

#include "pass/match.h"

typedef struct hn_rule {
  const hn_rewrite *row;
  hn_roots find, put;
} hn_rule;

/* Replaces the match, or says why not (*out_unmet, static) and leaves the graph as it was. *out_next: the node to go on
 * with, which is the first one that was made, if any was. */
hone_status hn_rule_apply(const hn_rule *rule, hn_match *match, const char **out_unmet, hn_node **out_next);

#endif
