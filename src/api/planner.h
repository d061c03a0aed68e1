/* SPDX-License-Identifier: Apache-2.0 */
/* api/planner.h - inside of api/: one planning of mixed precision. */
#ifndef HN_API_PLANNER_H
#define HN_API_PLANNER_H

#include "api/compile.h"
#include "api/quantize.h"
#include "search/search.h"
#include <hone/planner.h>

enum { HN_PLAN_T = HONE_PLAN_TYPES, HN_PLAN_EDGES = 4 };

/* A layer that may be in several types: a node with weights. In the order of the graph. */
typedef struct hn_planned_layer {
  int node;                            /* of q.sites.nodes */
  double macs;                         /* of one sample, to share out what several layers take together */
  unsigned types;                      /* that it may have, a bit each */
  const char *why_not_bytes;           /* NULL: bytes can do it */
  int from_count, from[HN_PLAN_EDGES]; /* layers whose outputs it reads, through what has no weights: the last ones */
  int readers;                         /* layers that read it so */
} hn_planned_layer;

/* What the tuner's times of one build say of each layer. */
typedef struct hn_plan_probe {
  double *own, *tail; /* [layer]: of its kernel; of what follows it up to the next layers, with converts */
  unsigned *narrow;   /* [layer]: bits of the narrow types that it took */
  double base, total; /* of what is behind no layer; of all */
} hn_plan_probe;

/* An engine that was built. */
typedef struct hn_plan_built {
  const uint8_t *types; /* [layer] */
  const char *what;
  double predicted_ns, predicted_noise;
  double expected_ns; /* by the tuner's sum */
  hn_plan_probe probe;
  hone_engine *engine;
  hone_session *session;
  double *run_ns; /* [run] */
  double median_ns, least_ns;
  double rel_l2, noise, same, drop, discord; /* means over the judged samples */
  bool beaten, fits;
} hn_plan_built;

/* Samples of the caller's: those of index first and above, at most count. */
typedef struct hn_plan_samples {
  hone_calibration_fn sample;
  void *user;
  int64_t first, count; /* count 0: until there are no more */
} hn_plan_samples;

/* What f32 gives for some samples. */
typedef struct hn_plan_wanted {
  float **outputs; /* [sample * output count + output]; NULL where it is no f32 */
  int64_t *elements, *top;
  int64_t count, capacity;
  size_t bytes;
} hn_plan_wanted;

typedef struct hn_planning {
  hone_context *context;
  hone_planner_options options;
  hone_build_options build;
  hn_quantizing q;
  hn_arena arena;
  hn_table layer_of; /* by the names of nodes: hn_planned_layer */
  hn_planned_layer *layers;
  int layer_count;
  int *home; /* [value id] of q.graph: the last layer that it comes from; -1: none */
  char cache_path[256];
  bool own_cache;
  hone_profile_shape *shapes; /* of the first sample, where the caller gives none */
  hn_plan_samples ranged, judged, noisy;
  hn_plan_wanted judged_f32, noisy_f32;
  hn_search_layer *costs;
  hn_search_edge *edges;
  hn_search search;
  double (*noise)[HN_PLAN_T];
  hn_frontier frontier;
  hn_plan_built *built;
  int built_count, built_room, chosen;
  int64_t stop_ns;
  hn_plan_probe *pure;                       /* [type]: all layers in it */
  hn_plan_probe mixed[HN_PLAN_T][HN_PLAN_T]; /* layers of parity 0 in the one, of 1 in the other */
  const uint8_t *parities;
  int64_t judged_count;
  uint8_t *scratch; /* [layer] */
} hn_planning;

/* ---- compile_planner.c ---- */
bool hn_plan_stopped(const hn_planning *p);

/* ---- compile_planner_tell.c ---- */
/* Tells the caller, and writes the chosen engine's ledger. UNSUPPORTED: nothing fits. */
hone_status hn_plan_tell(hn_planning *p);

/* ---- compile_planner_layers.c: layers, and graphs of given types ---- */
hone_status hn_plan_find_layers(hn_planning *p);
/* The graph with those layers quantised whose type is INT8. */
hone_status hn_plan_graph(hn_planning *p, const uint8_t *types, hone_graph **out);
/* Options of an engine of these types; entries in the arena. force: narrow types are taken where they can be, else
 * where they are faster. */
hone_status hn_plan_options(hn_planning *p, const uint8_t *types, bool force, hn_arena *arena, hone_build_options *out);

/* ---- compile_planner_run.c: engines on samples ---- */
typedef struct hn_plan_verdict {
  double rel_l2, noise, same; /* means over samples */
  double right, right_f32,
      discord; /* shares: right answers of those with labels; answers of which one alone is right */
  double labels;
  int64_t samples;
} hn_plan_verdict;
hone_status hn_plan_open(hn_planning *p, hone_engine *engine, hone_session **out);
/* wanted is filled in where it is empty: the engine is f32 then. */
hone_status hn_plan_judge(hn_planning *p, hone_session *session, const hn_plan_samples *samples, hn_plan_wanted *wanted,
                          hn_plan_verdict *out);
/* Runs all built engines in turns, and sets their times. */
hone_status hn_plan_time(hn_planning *p, int first, int count);
/* Free dims of the graph become numbers: those of the build's shapes, or of the first sample. */
hone_status hn_plan_fix_shapes(hn_planning *p, hone_graph *graph);

/* ---- compile_planner_noise.c ---- */
hone_status hn_plan_measure_noise(hn_planning *p);
hone_status hn_plan_remeasure_noise(hn_planning *p, const hn_plan_built *plan);

/* ---- compile_planner_times.c ---- */
hone_status hn_plan_build(hn_planning *p, const uint8_t *types, const char *what, hn_plan_built *out);
/* Builds all layers in one type for each, and in turns, and makes costs of their times. */
hone_status hn_plan_probe_all(hn_planning *p);
void hn_plan_price(hn_planning *p);

#endif
