/* SPDX-License-Identifier: Apache-2.0 */
/* prune.h - a model with fewer channels, or with weights in the 2:4 pattern, and what each width of a layer takes on
 * this machine (docs/PRUNING.md). */
#ifndef HONE_PRUNE_H
#define HONE_PRUNE_H

#include <hone/quantize.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What became of one layer (a node with constant weights). All is borrowed, for the time of the call. */
typedef struct hone_prune_layer {
  const char *name, *op;
  int group; /* layers of a group keep and lose the same output channels; -1: its outputs are fixed */
  int64_t inputs, inputs_kept, outputs, outputs_kept; /* channels; of products: rows and columns of the weights */
  const int64_t *removed_inputs, *removed_outputs;    /* places in the original, ascending; NULL where none are */
  const char *why, *why_node; /* why no output is removed, and the node that is the reason; NULL: some are; no node */
} hone_prune_layer;

typedef struct hone_prune_summary {
  uint32_t struct_size;
  double flops, flops_kept;        /* of one run, free dims taken as 1 on axis 0 and 64 elsewhere; 0: not known */
  double weights, weights_kept;    /* elements of constants of floats */
  int64_t channels, channels_kept; /* of all groups */
  int64_t groups, groups_pruned;
  int64_t dead;                     /* channels whose weights were zero already: they go first */
  double ms, ms_kept, ms_predicted; /* with target_ms: the model's time before and after, and what was predicted; 0 */
  int rounds;                       /* builds that it took */
} hone_prune_summary;

typedef struct hone_prune_options {
  uint32_t struct_size;
  double ratio;      /* share of the channels that goes: 0 < ratio < 1; 0 where target_ms says how many */
  int multiple;      /* the channels that stay are a multiple of it, and at least so many; 1 to 1024; 0: 8 */
  bool global;       /* channels of all groups compete; false: each group loses the same share */
  const char *score; /* "l1", "l2", "error"; NULL: "l1" */
  const char *const
      *keep; /* nodes whose outputs keep their channels: names or operators, globs. INVALID: fits nothing */
  int keep_count;
  hone_calibration_fn sample; /* for "error", as hone_quantize_options has it; NULL: none */
  void *sample_user;
  int64_t sample_count; /* how many will come: for progress alone */
  hone_progress_fn progress;
  void *progress_user;
  void (*layer)(void *user, const hone_prune_layer *layer); /* NULL: nobody asks */
  void *layer_user;
  /* Widths are chosen by measured times of the layers (hone_graph_shrink) until a run is predicted to take so long;
   * then the model is built and measured, and widths are chosen again if it takes longer. 0: none. */
  double target_ms;
  const hone_build_options *build; /* how engines are built for that; NULL: defaults */
} hone_prune_options;

/* Makes a copy of the graph with fewer channels: tensors really shrink. Names stay.
 *
 * Which channels belong together is found for each channel (src/prune/coupling.h): through activations, pools,
 * depthwise and grouped convolutions, residual sums, concatenations, flattening and squeeze-and-excite. What is fixed
 * (inputs and outputs of the model, operators that mix channels in ways that are not known) is told by `layer` with the
 * reason.
 *
 * out_masked    NULL, or the same model unshrunk, the weights of the removed channels zero in the layers that make them
 *               and in those that read them: it computes what out_pruned does, up to the order of sums. A channel that
 *               is not zero behind an activation (sigmoid(0) is 0.5) does not count, since its readers' weights are
 * zero. out_summary   NULL, or filled; its struct_size is the caller's. devices       run samples and measure; none are
 * needed for "l1" and "l2" without target_ms. Errors        INVALID      options, the model is quantised already, no
 * sample, a target below the least width's time UNSUPPORTED  nothing can be pruned, or a shape does not follow its
 * channels; the message names it NO_MEMORY, CANCELLED, LIMIT, what samples and builds give */
HONE_API HONE_CHECKED hone_status hone_graph_prune(hone_context *context, const hone_graph *graph,
                                                   hone_device *const *devices, int device_count,
                                                   const hone_prune_options *options, hone_graph **out_pruned,
                                                   hone_graph **out_masked, hone_prune_summary *out_summary);

/* ---- two of four weights ---- */

/* What became of one layer. All is borrowed, for the time of the call. */
typedef struct hone_sparse_layer {
  const char *name, *op;
  double plain,
      kept;        /* share of the weights' magnitude that is left in their own order, and in the one that was found */
  bool permuted;   /* its input channels have another order, and so have the outputs of the layers before it */
  const char *why; /* why it stays dense; NULL: it does not */
} hone_sparse_layer;
typedef struct hone_sparse_options {
  uint32_t struct_size;
  const char *const *keep; /* nodes that stay dense: names or operators, globs. INVALID: fits nothing */
  int keep_count;
  bool in_order; /* channels stay in their order */
  hone_progress_fn progress;
  void *progress_user;
  void (*layer)(void *user, const hone_sparse_layer *layer); /* NULL: nobody asks */
  void *layer_user;
} hone_sparse_options;
/* A copy of the graph in which of each four consecutive input channels, for each output and tap, the two weights of
 * least magnitude are zero: the pattern that sparse tensor cores take (NVIDIA A100 whitepaper, 2020). Channels change
 * places first where that keeps more magnitude (Pool and Yu 2021, Channel permutations for N:M sparsity), with
 * everything that shares them, so that the model computes what it did. Kernels for such weights are rows among the
 * dense ones (HONE_TACTIC_TWO_OF_FOUR): the tuner takes them where they were faster. Errors: INVALID (quantised
 * already, keep), UNSUPPORTED (no layer can be), NO_MEMORY, CANCELLED. */
HONE_API HONE_CHECKED hone_status hone_graph_sparsify(hone_context *context, const hone_graph *graph,
                                                      const hone_sparse_options *options, hone_graph **out_graph);

/* ---- what each width of a layer takes on this machine, before anyone retrains ---- */

typedef struct hone_shrink_step {
  int64_t width;      /* channels */
  double ns;          /* of the fastest tactic, as the tuner measures it; 0: not measured */
  const char *tactic; /* NULL: none */
  bool edge;          /* less time than anything wider, by 3 % or more: the top of a stair */
} hone_shrink_step;
/* One layer of the optimised graph over its output or input channels. All is borrowed, for the time of the call. */
typedef struct hone_shrink_stairs {
  const char *layer, *op;
  bool inputs; /* its input channels vary; else its output channels (depthwise: both together) */
  int64_t full;
  const hone_shrink_step *steps; /* the widest first, which is `full` */
  int count;
  int next;         /* the step that saves most time for the channels it takes; 0: none is worth it */
  const char *like; /* an earlier layer with the same shapes, whose times these are; NULL: none */
  /* With sparsity, at full width: the time by such weights' kernel as a share of that of the fastest dense one, both
   * as the tuner measured them. 0: not measured, and dense_why says why the layer has no such kernel. */
  double sparse_share;
  const char *dense_why;
} hone_shrink_stairs;
typedef struct hone_shrink_options {
  uint32_t struct_size;
  const char *const *layers; /* names or operators of nodes of the model or of the optimised graph, globs; none: all */
  int layer_count;
  int widths;   /* how many of a side, at most; 2 to 64; 0: 8 */
  int multiple; /* widths are multiples of it; 1 to 1024; 0: 8 */
  bool outputs_only;
  const hone_build_options *build; /* level, timing cache, budget, types, shapes (free dims without one are 1) */
  /* Layers in 8 bits, as hone_graph_quantize() makes them, by ranges that nobody measured: times do not hang on them.
   * A model that is quantised already needs no such option, and is INVALID with it. */
  bool int8;
  /* "2:4": layers by weights of which two of four are zero, in the order that channels have, since which two does not
   * change times. NULL: weights as they are. INVALID: another pattern; together with int8, as there are no kernels. */
  const char *sparsity;
} hone_shrink_options;
/* Measures with the tuner's own benches, all widths in one tuning, so that layers are as cold as in a network.
 * see       called once for each side of each layer.
 * Errors    as hone_engine_build; INVALID: no layer has such a name; UNSUPPORTED: the model has no layer that can vary
 */
HONE_API HONE_CHECKED hone_status hone_graph_shrink(hone_context *context, const hone_graph *graph,
                                                    hone_device *const *devices, int device_count,
                                                    const hone_shrink_options *options,
                                                    void (*see)(void *user, const hone_shrink_stairs *stairs),
                                                    void *user);
/* One line a way to score: "name\twhat it is". */
HONE_API HONE_CHECKED hone_status hone_prune_scorers(hone_write_fn write, void *user);

#ifdef __cplusplus
}
#endif
#endif
