/* SPDX-License-Identifier: Apache-2.0 */
/* named.h - nodes as users name them. */
#ifndef HN_IR_NAMED_H
#define HN_IR_NAMED_H

#include "ir/graph.h"

/* Does a glob fit the node's name, its operator's, or one that it came from? */
bool hn_node_is_named(const hn_node *node, const char *pattern);

#endif
