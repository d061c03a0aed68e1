/* SPDX-License-Identifier: Apache-2.0 */
/* lifecycle.h - engines after they were built: other weights, files without weights or with the model, and building
 * anew what a file carries (docs/ENGINE.md). */
#ifndef HONE_LIFECYCLE_H
#define HONE_LIFECYCLE_H

#include <hone/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The same engine with other weights: those of a graph of the same structure (a model that was trained further). The
 * engine, built with `refittable`, keeps what was chosen; nothing is timed, the weights are folded, packed and checked
 * against the reference as in a build.
 *
 * graph      as it was given to hone_engine_build(): not optimised; its nodes by the same names
 * Ownership  one reference of the new engine is the caller's; the old one is not touched
 * Cost       a second for 100 MB of weights
 * Errors     INVALID   the engine keeps no choices, or the graph becomes other steps: the first that differs is named.
 *                      Weights decide some rewrites (a factor of one goes), so they may make the difference
 *            those of hone_engine_build() */
HONE_API HONE_CHECKED hone_status hone_engine_refit(hone_context *context, const hone_engine *engine,
                                                    const hone_graph *graph, hone_device *const *devices,
                                                    int device_count, hone_engine **out_engine);
/* A new engine of the model that another one's file carries (hone_save_options.onnx), chosen anew for these devices:
 * for a machine or a version of the library that the engine does not fit. The engine may have been loaded without
 * devices.
 *
 * options    those that a refittable engine keeps are taken from it: shapes, passes, types, ports, reference_only,
 *            scratch_limit_bytes, keep_subnormals; it stays refittable. NULL: the defaults
 * Ownership  one reference of the new engine is the caller's; the old one is not touched
 * Errors     INVALID   the file carries no model; MALFORMED: it is damaged; those of hone_graph_load_onnx_memory() and
 *                      hone_engine_build() */
HONE_API HONE_CHECKED hone_status hone_engine_rebuild(hone_context *context, const hone_engine *engine,
                                                      hone_device *const *devices, int device_count,
                                                      const hone_build_options *options, hone_engine **out_engine);

/* What the file has besides, or leaves out. */
typedef struct hone_save_options {
  uint32_t struct_size;
  /* No weights, but their hashes: the file describes the engine, and hone_engine_refit() gives weights to it. Nothing
   * runs before. INVALID: the engine was not built refittable. */
  bool strip_weights;
  /* The ONNX model that the engine was built of, whole, for hone_engine_rebuild(); up to 2 GiB - 1. NULL: the one that
   * it carried when it was loaded, if any. */
  const void *onnx;
  size_t onnx_bytes;
} hone_save_options;
/* hone_engine_save() with options; NULL: none. Errors: also INVALID, LIMIT (the model is too large). */
HONE_API HONE_CHECKED hone_status hone_engine_save_with(const hone_engine *engine, const char *path,
                                                        const hone_save_options *options, hone_diagnostics *diag);
/* The ONNX model that the engine's file carries, checked against its hash; borrowed from the engine. Errors: INVALID
 * (it carries none), MALFORMED (it is damaged). */
HONE_API HONE_CHECKED hone_status hone_engine_model(const hone_engine *engine, const void **out_bytes,
                                                    size_t *out_count, hone_diagnostics *diag);

/* Where bytes of an engine's weights come from: constants of the model, copied or packed for a kernel. */
typedef struct hone_weight_info {
  uint32_t struct_size;
  uint64_t bytes;
  const char *how; /* "copy", or the tactic that packed them */
  int from_count;
  const char *const *from; /* constants of the model, by name; borrowed from the engine */
} hone_weight_info;
HONE_API int hone_engine_weight_count(const hone_engine *engine);
/* INVALID when there is no such entry. */
HONE_API hone_status hone_engine_weight(const hone_engine *engine, int index, hone_weight_info *out_info);

#ifdef __cplusplus
}
#endif
#endif
