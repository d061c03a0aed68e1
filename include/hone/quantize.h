/* SPDX-License-Identifier: Apache-2.0 */
/* quantize.h - from a model in f32 to one in 8 bits, by numbers that it has seen: no training (docs/QUANTIZING.md). */
#ifndef HONE_QUANTIZE_H
#define HONE_QUANTIZE_H

#include <hone/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Gives sample `index` of the calibration data (0, 1, ..., and from 0 again in later passes): fills in tensors for the
 * model's inputs, at most `room` (one an input), and how many; 0: there are no more samples. Tensors are borrowed until
 * the next call and may have other shapes than those before, where the model's dims are free. What it returns but OK
 * ends the calibration with that status. */
typedef hone_status (*hone_calibration_fn)(void *user, int64_t index, hone_named_tensor *out_inputs, int room,
                                           int *out_count);

/* One tensor's range, one layer's fate, or one correction's. All is borrowed, for the time of the call. */
typedef struct hone_quantize_event {
  const char *tensor; /* NULL: about a layer or a correction */
  double low, high;   /* what was seen of the tensor; 0 where ranges came from a file */
  double from, to;    /* what its bytes stand for */
  float scale;        /* x = (byte - zero_point) * scale */
  int zero_point;
  double clipped;         /* share of the values other than 0 that lie beyond */
  const char *layer, *op; /* of the layer: its node's name and operator */
  const char *why;        /* why it stays in f32; NULL: it is quantised */
  /* Of a correction that was tried: how far outputs are from f32's (relative L2, a mean over samples) without and with
   * it, and whether it was kept. NULL: about a tensor or a layer. */
  const char *correction;
  double apart_before, apart_after;
  bool kept;
} hone_quantize_event;

/* What one layer takes in a network built in f32 and in one built in 8 bits, by the tuner's measurements: 0 where none
 * was timed. Borrowed, for the time of the call. */
typedef struct hone_layer_time {
  const char *layer; /* NULL: of what is no layer that can be quantised */
  const char *op;    /* of the layer; else "conversions" (between types and formats), "others" */
  double f32_ns, int8_ns;
  int shared; /* a step computes so many layers at once in one of the two: each has an equal part of its time */
} hone_layer_time;

typedef struct hone_quantize_options {
  uint32_t struct_size;
  hone_calibration_fn sample; /* NULL: ranges come from cache_path alone */
  void *sample_user;
  const char *method; /* "mse", "minmax", "percentile[:PERCENT]", "entropy"; NULL: "mse"; of 8-bit floats "minmax" */
  /* What activations become: U8 with zero points, or I8 without (symmetric, as TensorRT wants them). NONE: U8.
   * F8E4M3FN (OCP OFP8): 8-bit floats, the weights, too, by scales whose largest is 448, without zero points; layers
   * write f32, biases stay in it, and nothing between layers is rounded. mse and entropy, and corrections but "bias",
   * are INVALID with it. */
  hone_dtype activations;
  bool per_tensor;         /* weights have one scale a layer, instead of one for each output channel */
  const char *const *keep; /* nodes that stay in f32: names or operators, globs. INVALID: one fits nothing */
  int keep_count;
  /* Ranges in a text file: taken from it where it exists (ours, or trtexec's), and samples then only correct biases;
   * else written there. NULL: none. INVALID: it is of another model, or lacks a tensor. */
  const char *cache_path;
  int64_t sample_count; /* how many samples will come, at most 10^9: for progress alone. 0: not known */
  hone_progress_fn progress;
  void *progress_user;
  bool uncorrected;                                            /* nothing is corrected */
  void (*event)(void *user, const hone_quantize_event *event); /* NULL: nobody asks */
  void *event_user;
  /* Names of corrections, separated by commas, or "all"; NULL: the usual ones. Samples are asked for again; each is
   * kept only where the outputs come nearer to those of f32. hone_quantize_corrections() lists them. */
  const char *corrections;
  /* hone_graph_sensitivity() alone: told of each layer behind what was measured, in the order of the layers, then of
   * conversions and of others. build: how both networks are built; NULL: the defaults; shapes are the first sample's.
   */
  void (*layer_time)(void *user, const hone_layer_time *row); /* NULL: nothing is timed */
  void *layer_time_user;
  const hone_build_options *build;
  /* I8, U8, I4, U4: weights alone are rounded, and activations stay in f32, so that no sample and no device is needed;
   * the options of either are INVALID with it. Matrices of products get one scale for each `block` weights along the
   * axis that is summed over: signed numbers are symmetric (-127..127, -7..7), unsigned ones have zero points.
   * Convolutions get one scale for each output channel, with I8 alone. Layers of fewer than 4096 weights stay.
   * NONE: activations, too. */
  hone_dtype weights;
  int64_t block; /* a power of two in 16..256; 0: 32 */
} hone_quantize_options;

/* Makes a model in 8 bits of one in f32: standard ONNX with QuantizeLinear and DequantizeLinear, for hone and others.
 *
 * The graph is copied; normalisations are folded into convolutions; the copy runs over the samples, and ranges are
 * picked from what its activations were. Then convolutions and products with constant weights are quantised, and what
 * lies between them.
 *
 * devices   run the calibration; none: INVALID, unless weights alone are rounded.
 * Errors    INVALID      it is quantised already, there is no sample, an activation is the wrong shape, NaN or infinite
 * (the message names tensor and sample), the cache does not fit; UNSUPPORTED: no layer can be quantised, or a weight is
 * NaN; IO; NO_MEMORY; CANCELLED; LIMIT; what `sample` returned */
HONE_API HONE_CHECKED hone_status hone_graph_quantize(hone_context *context, const hone_graph *graph,
                                                      hone_device *const *devices, int device_count,
                                                      const hone_quantize_options *options, hone_graph **out_graph);
/* What rounding some layers does to the outputs, against f32, on the samples: a mean over outputs and samples. */
typedef struct hone_sensitivity {
  const char *layer, *op; /* borrowed, for the time of the call */
  bool cumulative;        /* with all layers before it; else it alone */
  double rel_l2, cosine, sqnr_db;
  double top1;    /* share of outputs whose largest element is that of f32 */
  double weights; /* how many it has */
  int64_t index;  /* of the layer, among those that can be quantised */
} hone_sensitivity;
/* Quantises one layer at a time, and then from the first up to each, and tells how far the outputs are each time.
 * Biases are not corrected. At most 32 samples are run. Ownership, errors: as hone_graph_quantize; samples are needed.
 * see: called once a measurement. */
HONE_API HONE_CHECKED hone_status hone_graph_sensitivity(hone_context *context, const hone_graph *graph,
                                                         hone_device *const *devices, int device_count,
                                                         const hone_quantize_options *options,
                                                         void (*see)(void *user, const hone_sensitivity *row),
                                                         void *user);
/* A node of a quantised model with roundings around it, or a layer without. Borrowed, for the time of the call. */
typedef struct hone_quantised_node {
  const char *node, *op;
  bool bytes;      /* it computes on bytes, or hands them on, as its roundings are written */
  const char *why; /* else what keeps it in floats: where a rounding is missing, or what no kernel has */
} hone_quantised_node;
/* What becomes of a model's own QuantizeLinear and DequantizeLinear: each node of the main graph that has some. The
 * graph stays as it is. Errors: those of the passes; NO_MEMORY. */
HONE_API HONE_CHECKED hone_status hone_graph_quantised(hone_context *context, const hone_graph *graph,
                                                       void (*see)(void *user, const hone_quantised_node *row),
                                                       void *user);
/* Plots what the two calls told, count layers in their order: alone, cumulative and, unless NULL, times; names are
 * read. The file is replaced when it is complete. IO, NO_MEMORY, INVALID. */
HONE_API HONE_CHECKED hone_status hone_sensitivity_plot(hone_context *context, const char *title,
                                                        const hone_sensitivity *alone,
                                                        const hone_sensitivity *cumulative,
                                                        const hone_layer_time *times, int64_t count, const char *path);
/* One line a correction, in the order in which they are done: "name\twhat it does\tusual" or "... on request". */
HONE_API HONE_CHECKED hone_status hone_quantize_corrections(hone_write_fn write, void *user);
/* One line a way to pick ranges: "name\twhat it does". */
HONE_API HONE_CHECKED hone_status hone_range_pickers(hone_write_fn write, void *user);

#ifdef __cplusplus
}
#endif
#endif
