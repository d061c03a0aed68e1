/* SPDX-License-Identifier: Apache-2.0 */
/* api/quantize.h - inside of api/: one quantisation in the making. */
#ifndef HN_API_QUANTIZE_H
#define HN_API_QUANTIZE_H

#include "base/context.h"
#include "calib/channels.h"
#include "calib/sites.h"
#include "device/device.h"
#include <hone/hone.h>

enum { HN_MOST_COMPARED = 32 }; /* samples whose outputs are looked at */
/* How far outputs are from f32's, on some of the samples. */
typedef struct hn_distances {
  struct hn_quantizing *q;
  hn_arena arena;
  float **want; /* f32's: [sample * outputs + output]; NULL where they would take too much memory */
  int count, capacity, outputs;
  size_t bytes;
  double rel_l2, cosine, sqnr_db, top1, terms; /* sums over outputs and samples of the last look, and how many */
} hn_distances;

typedef struct hn_quantizing {
  hone_context *context;
  hone_quantize_options options;
  hone_device *const *devices;
  int device_count;
  hn_scheme scheme;
  const hn_picker *picker;
  double picker_number;
  hn_arena arena;
  hone_graph *graph; /* our copy, in f32 until the end */
  hn_sites sites;    /* of it */
  int64_t samples;   /* that were seen */
  bool proved; /* an engine was held against the reference: those that run samples after it have the same kernels */
  hn_channels channels; /* of the graph: which may be scaled, and what they reach */
  hn_distances distances;
  double *const *bias;               /* what is added to the layers' biases, one list a sites.nodes; NULL: nothing */
  const hn_rounding *const *weights; /* bytes of the layers' weights, one a sites.nodes; NULL: the nearest */
} hn_quantizing;

/* ---- compile_quantize_observe.c ---- */
/* Passes that engines which only run samples are built without: nothing is joined whose joining takes longer to prove
 * than to run, and behind the first ones roundings stay as they are, computed in floats. */
enum { HN_LEFT_OUT_ALWAYS = 2, HN_LEFT_OUT = 8 };
extern const char *const hn_quantize_left_out[HN_LEFT_OUT];
/* Runs a graph over the samples. Values are named by their ids in it; see gets each of them, plain, after each sample:
 * the first `beside` in any order, several at the same time in the device's threads, where it must write no message,
 * the others then in the order of the list. fail: says in the caller's thread what see refused. most: samples at most;
 * 0: all. */
typedef hone_status hn_see_fn(void *user, int64_t sample, int index, const hone_tensor *tensor);
typedef struct hn_watch {
  const hone_graph *graph;
  const int *values;
  int count, beside;
  hn_see_fn *see, *fail;
  void *user;
  int64_t most;
  bool floats;      /* compute in f32 between roundings: bytes' kernels would be proved first, which takes longer */
  const char *what; /* for progress */
} hn_watch;
hone_status hn_quantize_watch(hn_quantizing *q, const hn_watch *watch, int64_t *out_samples);
/* Fills the sites' histograms, and on the first pass the channels' extents and f32's outputs. most: samples; 0: all. */
hone_status hn_quantize_observe(hn_quantizing *q, int64_t most);

/* ---- compile_quantize_distance.c ---- */
/* A copy of the graph with these sites in it: q's own with what corrects them, or some of them. */
hone_status hn_quantize_make(hn_quantizing *q, const hn_sites *sites, hone_graph **out);

void hn_distances_init(hn_distances *distances, hn_quantizing *q);
void hn_distances_deinit(hn_distances *distances);
int64_t hn_distances_samples(const hn_quantizing *q);                              /* how many are looked at */
hone_status hn_distances_keep(hn_distances *distances, const hone_tensor *output); /* of f32, in their order */
hone_status hn_distances_begin(hn_distances *distances);                           /* runs f32 and keeps all outputs */
hone_status hn_distances_look(hn_distances *distances, const hone_graph *graph, const char *what);

/* ---- compile_quantize_bias.c ---- */
hone_status hn_quantize_correct_bias(hn_quantizing *q); /* sets q->bias; NULL: no layer has one */

/* ---- compile_quantize_round.c ---- */
hone_status hn_quantize_round(hn_quantizing *q); /* sets q->weights */

/* ---- compile_quantize_correct.c ---- */
/* The corrections that were asked for, each kept where it makes the outputs nearer to f32's. */
hone_status hn_quantize_correct(hn_quantizing *q);
hone_status hn_quantize_check_corrections(hone_diagnostics *diag, const char *list, bool of_floats);

/* ---- compile_quantize_notes.c ---- */
hone_status hn_quantize_note(hn_quantizing *q); /* sets the graph's notes */

/* ---- compile_quantize_weights.c ---- */
hone_status hn_quantize_check_weights(hone_diagnostics *diag, hone_quantize_options *options); /* sets the block */
hone_status hn_quantize_weights(hn_quantizing *q); /* q->graph gets weights of few bits, and nothing else */

/* ---- compile_quantize_times.c ---- */
hone_status hn_quantize_time(hn_quantizing *q); /* tells options.layer_time */

/* ---- compile_quantize.c ---- */
hone_status hn_quantize_begin(hone_context *context, const hone_graph *graph, hone_device *const *devices,
                              int device_count, const hone_quantize_options *given, hn_quantizing *q);
/* A copy in 8 bits by ranges that nobody measured: what layers take does not hang on them, what they compute does. */
hone_status hn_quantize_assumed(hone_context *context, const hone_graph *graph, hone_graph **out_graph);
void hn_quantize_end(hn_quantizing *q);                /* with its graph, unless that was taken */
hone_status hn_quantize_find_ranges(hn_quantizing *q); /* sites, ranges and scales */
hone_status hn_quantize_find_sites(hn_quantizing *q);
void hn_quantize_tell_layers(const hn_quantizing *q); /* by events: which are quantised, and why others stay */
void hn_quantize_pick(hn_quantizing *q);              /* ranges and scales from what was observed */

#endif
