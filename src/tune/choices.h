/* SPDX-License-Identifier: Apache-2.0 */
/* choices.h - the choices: for every node the tactic, variant and storages that run it, with all that was learned. */
#ifndef HN_TUNE_CHOICES_H
#define HN_TUNE_CHOICES_H

#include "device/device.h"
#include "ir/graph.h"
#include <hone/engine.h>

typedef enum hn_candidate_state {
  HN_CANDIDATE_REJECTED,  /* reason says why */
  HN_CANDIDATE_ESTIMATED, /* not timed: pruned by cost, or timing is off */
  HN_CANDIDATE_TIMED,
  HN_CANDIDATE_INEXACT, /* timed or not, its measured error is over its bound: never chosen */
  HN_CANDIDATE_WITHHELD /* accepts, but another type was asked for: it only says what f32 would give */
} hn_candidate_state;

/* One tactic with one variant and one pair of storages for one node. */
typedef struct hn_candidate {
  const hone_tactic *tactic;
  const char *provider;
  int device; /* which of the build's devices */
  hone_params params;
  hone_storage_pair storages;
  hn_candidate_state state;
  const char *reason;
  double floor_ns;                           /* less is not possible by the device's peaks */
  double estimate_ns;                        /* what is to be expected */
  double time_ns, time_low_ns, time_high_ns; /* median, least sample, upper end of the median's 95 % interval */
  int runs;
  bool from_cache, known; /* known: an earlier build timed it */
  double error_rel_l2;    /* -1: not measured */
  double error_bound;
  size_t scratch_bytes, packed_bytes;
  const void *packed; /* its weights, where they were packed beforehand (tune/pack.c); in the choices' memory */
} hn_candidate;

/* A fused node that was replaced by its parts, since they are faster; texts in the tuner's arena, then the choices'. */
typedef struct hn_split {
  const char *node, *op, *why;
  double fused_ns, parts_ns; /* 0: not measured */
} hn_split;

/* The parts of a fused node, tried. */
enum { HN_TRIAL_PAIRS = 12 };
typedef struct hn_parts_trial {
  const char *why;            /* they were not tried, or what came of it */
  struct hn_choices *choices; /* of the parts, in the owner's memory; NULL: not tried */
  int count;
  hone_storage_pair storages[HN_TRIAL_PAIRS]; /* around the parts */
  double ns[HN_TRIAL_PAIRS];                  /* all parts, with converts between them */
} hn_parts_trial;

/* The choices of one block: items [first, first + count). */
typedef struct hn_choice_block {
  hn_block *block;
  int first, count;
} hn_choice_block;

/* One runnable node. in/out hold the facts at opt shapes, as the graph has them. */
typedef struct hn_choice {
  hn_node *node;
  hone_fact *in, *out;
  hone_cost cost;
  bool view;                    /* only the shape changes: nothing runs, no candidates */
  bool control;                 /* If, Loop: the nodes of its blocks are choices of their own */
  bool locked;                  /* the lock names what runs it */
  bool data_dependent;          /* touches extents known only after running: the reference alone can run it */
  bool crosses_in, crosses_out; /* reads or makes what crosses a block's border: plain, and the host's */
  bool nested;                  /* inside a branch or a loop: the host's */
  bool on_host;                 /* in the host's memory, though another device could run it */
  bool each_pair;               /* every pair of storages is wanted by itself, not the fastest of all */
  int same_as;                  /* an earlier choice with the same query: its measurements are shared; -1: none */
  int identical_count;          /* how many share its measurements */
  hn_parts_trial *trial;        /* NULL: the node has no parts */
  double taken_ns, convert_ns;  /* in the assignment: its own time, and that of converts of what it writes */
  bool split;                   /* its parts are to run instead, */
  double parts_ns;              /* in so much time */
  bool widened;                 /* it is to run without narrow types, for the sake of the outputs' error */
  bool f32_probed;              /* so much was measured of that (tune/accuracy.c): */
  double f32_error;             /* of the outputs, with this layer alone in f32 */
  double f32_won, f32_lost_ns;  /* of the square of the outputs' error, and of the network's time */
  int candidate_count, candidate_capacity;
  hn_candidate *candidates;
  hone_storage viewed_in; /* of a view: how what it passes on lies */
  double cold_ns;         /* of the fastest candidate, on weights as cold as in a network; 0: not measured */
  int chosen;             /* index; -1: none accepts (an error) */
  const char *why;        /* "fastest", "lock", "only one", "storages of its neighbours" */
} hn_choice;

/* Where an input or output of the graph lies: in the host's memory (device -1, plain) or a device's. */
typedef struct hn_port_place {
  hone_storage storage;
  int device;
} hn_port_place;

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
  const int64_t *min_symbols, *max_symbols;
  struct hn_tuning *tuning;          /* borrowed while tuning */
  const hone_build_options *options; /* borrowed from the call that builds */
  hn_block *root;                    /* the main block, or the parts of a fused node */
  const hn_choice *outer;            /* of that fused node; NULL: root is the main block */
  size_t cold_bytes; /* timed launches spread over so much memory; 0: everything stays in the inner cache */
  struct hn_convert_times *converts;
  unsigned narrow;   /* storages in types narrower than the values' own that usable candidates have, a bit each */
  int untimed_count; /* that nothing was timed for: the time was used up */
  int split_count;
  const hn_split *splits;
  hn_port_place *param_places, *result_places; /* of the main block's; NULL: all plain, in the host's memory */
  bool settled;                                /* fused nodes no longer give way to their parts */
  double *output_errors; /* [result], relative L2 against f32_ns's plan; -1: not compared. NULL: not measured */
  double fastest_error;  /* the largest of them in the fastest plan, and what that takes */
  double fastest_ns;
  double f32_ns;   /* of the plan without narrow types, where output_errors were measured */
  bool optimal;    /* the assignment of storages is proved best under the measured times */
  double total_ns; /* of the chosen ones, with converts */
} hn_choices;

/* Is the tactic from none of the sources that the build leaves out: providers, libraries, instruction sets
 * (tune/sources.c)? */
bool hn_source_allowed(const hone_build_options *options, const hone_device *device, const hone_tactic *tactic);
/* The query of one candidate; in and out are the caller's room (the node's counts). */
void hn_candidate_query(const hn_choices *choices, const hn_choice *choice, const hn_candidate *candidate,
                        hone_fact *in, hone_fact *out, hone_query *query);
/* Does the choice need a tactic? */
static inline bool hn_choice_runs(const hn_choice *choice) { return !choice->view && !choice->control; }
/* Values whose extents are known only after running, or that cross a block's border, live on the session's heap. */
bool hn_value_on_heap(const hone_graph *graph, const hn_value *value);

#endif
