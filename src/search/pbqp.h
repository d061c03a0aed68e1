/* SPDX-License-Identifier: Apache-2.0 */
/* pbqp.h - the partitioned boolean quadratic problem over small matrices: each node takes one of its alternatives, and
 * edges charge for pairs of them. */
#ifndef HN_SEARCH_PBQP_H
#define HN_SEARCH_PBQP_H

#include "base/memory.h"
#include "base/stop.h"

/* What must not be costs HN_FORBIDDEN_NS: more than any layer takes, and small enough that nanoseconds added to it are
 * not lost. */
#define HN_FORBIDDEN_NS 1e15
enum { HN_PBQP_MAX = 16 };
typedef struct hn_pbqp_edge {
  int from, to;
  double cost[HN_PBQP_MAX * HN_PBQP_MAX]; /* [from's alternative * HN_PBQP_MAX + to's] */
} hn_pbqp_edge;
typedef struct hn_pbqp {
  int node_count;
  int *alternatives; /* one a node, 1..HN_PBQP_MAX */
  double *cost;      /* [node * HN_PBQP_MAX + alternative] */
  int edge_count;
  hn_pbqp_edge *edges;
  hn_stop *stop;       /* NULL: none */
  const bool *follows; /* nodes that local search lets answer their neighbours at once, none beside another; or NULL */
} hn_pbqp;
double hn_pbqp_total(const hn_pbqp *problem, const int *assignment);
/* NO_MEMORY, or why it was stopped, without a message. starts: start_count assignments to improve from, [start *
 * node_count + node]. *out_optimal: proved best. */
hone_status hn_pbqp_solve(const hn_pbqp *problem, const int *starts, int start_count, hn_arena *arena, int *assignment,
                          bool *out_optimal);

#endif
