/* SPDX-License-Identifier: Apache-2.0 */
/* choices.h - the choices: for every node the tactic, variant and formats that run it, with all that was learned. */
#ifndef HN_TUNE_CHOICES_H
#define HN_TUNE_CHOICES_H

#include "device/device.h"
#include "ir/graph.h"

typedef enum hn_candidate_state {
  HN_CANDIDATE_REJECTED,  /* reason says why */
  HN_CANDIDATE_ESTIMATED, /* not timed: pruned by cost, or timing is off */
  HN_CANDIDATE_TIMED,
  HN_CANDIDATE_INEXACT /* timed or not, its measured error is over its bound: never chosen */
} hn_candidate_state;

/* One tactic with one variant and one format pair for one node. */
typedef struct hn_candidate {
  const hone_tactic *tactic;
  const char *provider;
  int device; /* which of the build's devices */
  hone_params params;
  hone_format_pair formats;
  hn_candidate_state state;
  const char *reason;
  double estimate_ns;
  double time_ns, time_low_ns, time_high_ns; /* median and its 95 % interval */
  int runs;
  bool from_cache;
  double error_rel_l2; /* -1: not measured */
  double error_bound;
  size_t scratch_bytes, packed_bytes;
} hn_candidate;

/* The choices of one block: items [first, first + count). */
typedef struct hn_choice_block {
  hn_block *block;
  int first, count;
} hn_choice_block;

/* One runnable node. in/out hold the facts at opt shapes, plain format. */
typedef struct hn_choice {
  hn_node *node;
  hone_fact *in, *out;
  hone_cost cost;
  bool view;    /* only the shape changes: nothing runs, no candidates */
  bool control; /* If, Loop: the nodes of its blocks are choices of their own */
  bool locked;  /* the lock names what runs it */
  bool late;    /* touches extents known only after running: the reference alone can run it */
  int same_as;  /* an earlier choice with the same query: its measurements are shared; -1: none */
  int candidate_count, candidate_capacity;
  hn_candidate *candidates;
  int chosen;      /* index; -1: none accepts (an error) */
  const char *why; /* "fastest", "lock", "only one", "formats of neighbours" */
} hn_choice;

typedef struct hn_choices {
  hone_context *context;
  hn_arena arena;
  hone_graph *graph; /* borrowed; already optimised */
  hone_device *const *devices;
  int device_count;
  hn_choice *items; /* block after block, each in its order; the main block first */
  int count;
  hn_choice_block *blocks;
  int block_count;
  int64_t *symbols; /* values at opt */
  double reformat_ns_per_byte;
  bool optimal;    /* the formats' assignment is proved best under the measured times */
  double total_ns; /* of the chosen ones, with reformats */
} hn_choices;

/* The query of one candidate; in and out are the caller's room (the node's counts). */
void hn_candidate_query(const hn_choices *choices, const hn_choice *choice, const hn_candidate *candidate,
                        hone_fact *in, hone_fact *out, hone_query *query);
/* Does the choice need a tactic? */
static inline bool hn_choice_runs(const hn_choice *choice) { return !choice->view && !choice->control; }
/* Values whose extents are known only after running, or that cross a block's border, live on the session's heap. */
bool hn_value_on_heap(const hone_graph *graph, const hn_value *value);

#endif
