/* SPDX-License-Identifier: Apache-2.0 */
/* planner.h - which type each layer of a model should have: f32, bf16, f16 or 8 bits, by its measured time and what it
 * was measured to do to the outputs, with conversions priced (docs/PLANNING.md). */
#ifndef HONE_PLANNER_H
#define HONE_PLANNER_H

#include <hone/quantize.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a layer may be: indices of lists with one entry a type. */
typedef enum hone_plan_type {
  HONE_PLAN_F32,
  HONE_PLAN_BF16,
  HONE_PLAN_F16,
  HONE_PLAN_INT8,
  HONE_PLAN_TYPES
} hone_plan_type;
HONE_API const char *hone_plan_type_name(hone_plan_type type); /* "f32", "bf16", "f16", "int8" */

/* One engine that was built and measured. All is borrowed, for the time of the call. */
typedef struct hone_plan_point {
  const char *what;                  /* "f32", "bf16", "int8": all layers that can; "mixed" */
  double predicted_ms, ms, least_ms; /* by the search; median and least of runs in turns with the other points */
  double predicted_error, rel_l2;    /* of the outputs from f32's: by the search; a mean over the judged samples */
  double same_class;                 /* share of outputs whose largest element is that of f32 */
  double drop;                       /* of the share of right answers from f32's; without labels 1 - same_class */
  double drop_bound;                 /* one-sided 95 % bound of the drop: drop + 1.65 sqrt(d / n) */
  int64_t samples;                   /* that were judged, n */
  uint64_t weights_bytes;            /* of the engine */
  int layers[HONE_PLAN_TYPES];       /* how many have which type */
  bool beaten;                       /* another point is as fast and as near, and better in one */
  bool fits;                         /* the options' constraint holds; true without one */
  bool chosen;
} hone_plan_point;

/* What is known of one layer, and what it got in the chosen plan. */
typedef struct hone_plan_layer {
  const char *layer, *op;
  hone_plan_type got;
  bool possible[HONE_PLAN_TYPES];
  double ms[HONE_PLAN_TYPES];    /* its own, with what follows it up to the next layers */
  double noise[HONE_PLAN_TYPES]; /* |y' - y|^2 / |y|^2 of the outputs with this layer alone in the type */
  double saved_ms; /* of the whole network, predicted, by its type instead of f32, the others as they are */
  const char *why; /* why it is not in 8 bits; NULL: it is */
} hone_plan_layer;

typedef struct hone_planner_options {
  uint32_t struct_size;
  /* Samples, ranges, what stays in floats (keep), corrections. sample must be given. Nothing of it is changed. */
  const hone_quantize_options *quantize;
  /* Samples that points are judged on. NULL: the last third of quantize's, whose sample_count must be given then;
   * ranges and noises are of the others. */
  hone_calibration_fn judge;
  void *judge_user;
  int64_t judge_count; /* 0: until there are no more */
  /* The right class of a sample, by the number that judge, or without it quantize's sample, has for it; -1: not known.
   * NULL: no sample's is. */
  int64_t (*label)(void *user, int64_t index);
  void *label_user;
  /* Of every engine: shapes, level, timing cache, seed. precisions: the types that layers may have beside f32 and 8
   * bits. Its max_error, layer_types and lock_path must not be set. NULL: defaults. */
  const hone_build_options *build;
  /* At most one of the three; 0: none. Without one the knee is taken: the point with the longest way to the line
   * from the fastest to the nearest one, time by its share and error by its logarithm. */
  double max_drop;        /* of the share of right answers, 0 to 1: the fastest whose drop is not more */
  double max_error;       /* relative L2: the fastest that is as near */
  double target_ms;       /* the nearest that is as fast */
  int points;             /* built and measured at most, 3 to 64; 0: 12 */
  int64_t time_budget_ms; /* after it no further point is built; 0: none */
  const void *stop;       /* const atomic_bool *: ends the planning as the budget does; NULL: never */
  hone_progress_fn progress;
  void *progress_user;
  /* Called at the end: each point by rising time, then each layer in the model's order. NULL: nobody asks. */
  void (*point)(void *user, const hone_plan_point *point);
  void (*layer)(void *user, const hone_plan_layer *layer);
  void *user;
} hone_planner_options;

/* Calibrates, measures each layer's time and noise in each type, searches, builds and measures what the search
 * proposes, and gives the engine that was chosen. Its ledger says of each layer why it has its type.
 *
 * devices  run the samples and the engines; they are timed there as they are opened (threads)
 * Errors   INVALID      what hone_graph_quantize() says; options that contradict each other; no judged sample
 *          UNSUPPORTED  no point fits the constraint: the message has the nearest one
 *          LIMIT, CANCELLED before any point was measured; NO_MEMORY, IO, DEVICE */
HONE_API HONE_CHECKED hone_status hone_graph_plan(hone_context *context, const hone_graph *graph,
                                                  hone_device *const *devices, int device_count,
                                                  const hone_planner_options *options, hone_engine **out_engine);

#ifdef __cplusplus
}
#endif
#endif
