/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - what the passes did, kept for the ledger and for `hone explain`: every rule that fired or nearly did. */
#ifndef HN_IR_LOG_H
#define HN_IR_LOG_H

#include "ir/graph.h"

typedef struct hn_pass_event {
  const char *pass, *rule; /* static */
  const char *node;        /* the root node's name; in the log's arena */
  bool fired;
  const char *unmet; /* when it did not: the first unmet condition, in words */
} hn_pass_event;

typedef struct hn_pass_log {
  hn_arena *arena;
  hn_pass_event *events;
  int count, capacity;
} hn_pass_log;

#endif
