/* SPDX-License-Identifier: Apache-2.0 */
/* branch.h - the two blocks of an `if`: which one runs, and which one must not. */
#ifndef HN_IR_BRANCH_H
#define HN_IR_BRANCH_H

#include "ir/graph.h"

bool hn_fact_decides(const hone_fact *condition, bool *out); /* false: only a run tells */
/* The message of the fail node inside; NULL: the block returns. */
const char *hn_block_failure(const hn_block *block);
/* Block `number` of a node with HONE_RUNS_ONE becomes one node of fail, whose message tells diagnostic first_message;
 * it and those behind it become a warning. *out_failed false: nothing was done, since the other block does not say
 * what the outputs are, or fails as well. */
hone_status hn_branch_fail(hn_node *node, int number, int first_message, bool *out_failed);

#endif
