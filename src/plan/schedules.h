/* SPDX-License-Identifier: Apache-2.0 */
/* schedules.h - what an engine holds: one or more plans of the same network, each tuned for a range of input shapes,
 * over one region of weights. An engine with one schedule is the same with count 1.
 *
 * The plans read the region through pointers that they borrow. Blobs of equal bytes stand in it once, whichever
 * schedules read them. */
#ifndef HN_PLAN_SCHEDULES_H
#define HN_PLAN_SCHEDULES_H

#include "base/buckets.h"
#include "base/file.h"
#include "base/pool.h"
#include "plan/plan.h"
#include <hone/engine.h>

typedef struct hn_weight_blob { /* where bytes of the weights came from, for refit and strip */
  uint64_t offset, bytes;
  uint64_t hash;   /* XXH3-64 of the bytes, while building */
  const char *how; /* "copy" or the packing tactic's name */
  int from_count;
  const char *const *from; /* initializer names */
} hn_weight_blob;

typedef struct hn_schedules {
  hn_allocator allocator;
  hn_arena arena; /* of the texts and tables here */
  const char *name;
  const char *built_by;    /* "hone 0.1.0" */
  const char *device_name; /* facts.name at build */
  uint32_t device_isa;     /* union of what the chosen tactics need */
  uint64_t model_hash;
  uint64_t content_hash; /* of the file that this was read from: its header's, which has the weights' hashes; else 0 */
  bool keep_subnormals;  /* runs flush them to zero otherwise */
  const char *refit;     /* how to build it again with other weights, as JSON (api/compile_refit.c); NULL: not kept */
  const char *recipe;    /* how photos are prepared and outputs told (recipe/recipe.h), as text; NULL: there is none */
  const uint8_t *onnx;   /* of the file: the model that it was built of; NULL: not kept */
  uint64_t onnx_bytes, onnx_hash;
  int plugin_name_count; /* rows (operators, tactics) that plug-ins brought, and those files' names, in turn */
  const char *const *plugin_names;
  int count;
  hn_plan *plans[HONE_MAX_SCHEDULES];
  const uint8_t *weights; /* of the file or owned */
  uint64_t weights_bytes;
  uint8_t *owned_weights; /* NULL when mapped */
  size_t owned_bytes;
  hn_blob file;
  int weight_count, weight_capacity;
  hn_weight_blob *weights_table;
  hn_buckets rows_of;      /* rows of weights_table made here, by hash */
  uint64_t *weight_hashes; /* XXH3-64 of each MiB */
  int weight_hash_count;
  bool shown;           /* to look at only: devices may be missing, nothing runs */
  bool stripped;        /* read from a file without its weights, of which bytes and hashes are known: nothing runs */
  bool weights_checked; /* made in this process, so there are no hashes to check */
} hn_schedules;

hone_status hn_schedules_create(hn_allocator allocator, hn_schedules **out, hone_diagnostics *diag);
void hn_schedules_destroy(hn_schedules *schedules);
/* Takes the plan (also on failure), which reads the region's weights. MALFORMED when its ports, their types or its
 * devices are not those of the others; LIMIT when there are HONE_MAX_SCHEDULES already. */
hone_status hn_schedules_add(hn_schedules *schedules, hn_plan *take_plan, hone_diagnostics *diag);

/* ---- making weights (plan/weights.c) ----
 * Room for blobs behind the weights so far, bytes a multiple of 64, and one of what was written there, 64-aligned and
 * zero up to the next, as a blob: a new one, which closes up to the weights before it, or the one of equal bytes that
 * is there already. In the order of their places. The region may move with each room; blob->hash is given, how and from
 * are copied. */
hone_status hn_schedules_reserve(hn_schedules *schedules, uint64_t bytes, hone_diagnostics *diag);
hone_status hn_schedules_room(hn_schedules *schedules, uint64_t bytes, uint8_t **out, hone_diagnostics *diag);
hone_status hn_schedules_keep(hn_schedules *schedules, const hn_weight_blob *blob, const uint8_t *bytes,
                              uint64_t *out_offset, hone_diagnostics *diag);
/* Every MiB's hash, unless made here; by all threads of the pool (NULL: by the caller). */
hone_status hn_schedules_check_weights(const hn_schedules *schedules, const hn_pool *pool, hn_stop *stop,
                                       hone_diagnostics *diag);

/* ---- choosing by shapes (plan/choose.c); only: that schedule alone, -1: any ---- */
/* The schedule that takes these shapes, one an input, and whose opt shapes are nearest: the least sum of
 * |log(dim/opt)|, the first of equals. INVALID names input, dim, value and what each schedule allows. symbols: room for
 * the most that a plan has. */
hone_status hn_schedules_choose(const hn_schedules *schedules, int only, const hone_shape *inputs, int64_t *symbols,
                                int *out, hone_diagnostics *diag);
/* Does some schedule take this shape for this input, whatever the others are? */
hone_status hn_schedules_allow(const hn_schedules *schedules, int only, int input, const hone_shape *shape,
                               hone_diagnostics *diag);

/* The plug-in's file that brought a row of this name; NULL: none did, or it is not known. */
const char *hn_schedules_plugin(const hn_schedules *schedules, const char *row);

/* ---- engine file (plan/write.c, plan/read.c): layout in format.h ---- */
/* Where an engine does not fit this machine or library, but its file has the model; of the file. */
#define HN_ENGINE_REBUILDS "the engine carries its model: hone build --from %s -o NEW.hone builds it anew here"
/* What a file has beside the plans. */
typedef struct hn_engine_parts {
  bool stripped; /* it has no weights */
  const void *onnx;
  uint64_t onnx_bytes; /* 0: it has no model */
} hn_engine_parts;
/* Those of the file that was read; made here: weights alone. */
hn_engine_parts hn_schedules_parts(const hn_schedules *schedules);
/* *out_hash: the content_hash that readers of the file will find. */
hone_status hn_schedules_write(const hn_schedules *schedules, const hn_engine_parts *parts, const char *path,
                               uint64_t *out_hash, hone_diagnostics *diag);
/* The same bytes to a function. IO: it returned false. */
hone_status hn_schedules_put(const hn_schedules *schedules, const hn_engine_parts *parts, hone_write_fn write,
                             void *user, hone_diagnostics *diag);
/* The model's bytes against their hash. INVALID: there is none. MALFORMED: they are damaged. */
hone_status hn_schedules_check_onnx(const hn_schedules *schedules, hone_diagnostics *diag);
/* Reads structure and meaning; weights are not touched. ops and the opened devices: for resolving names. */
hone_status hn_schedules_read(hn_allocator allocator, const struct hn_op_list *ops, hone_device *const *devices,
                              int device_count, hn_blob *take_blob, const char *what, hn_schedules **out,
                              hone_diagnostics *diag);
/* The same to look at only: a tactic of a device that is not among them becomes a row with a name, a version and
 * nothing else (launch NULL), and what only it could confirm is not checked. */
hone_status hn_schedules_show(hn_allocator allocator, const struct hn_op_list *ops, hone_device *const *devices,
                              int device_count, hn_blob *take_blob, const char *what, hn_schedules **out,
                              hone_diagnostics *diag);

#endif
