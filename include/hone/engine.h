/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - building, saving and loading engines. An engine is immutable and shared by sessions and threads. */
#ifndef HONE_ENGINE_H
#define HONE_ENGINE_H

#include <hone/device.h>
#include <hone/graph.h>
#include <hone/span.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_engine hone_engine;

/* The range of one input's shape. A static input needs none; a free dim without a profile is 1, with a warning.
 * Each profile gives the engine a schedule of its own, tuned at its opt shapes; weights that schedules have in common
 * are held once. Profiles are numbered from 0 without gaps, and may overlap; where there are several, each has a shape
 * for every input with free dims. */
enum { HONE_MAX_SCHEDULES = 16 };
typedef struct hone_profile_shape {
  const char *input;
  hone_shape min, opt, max;
  int profile;
} hone_profile_shape;

/* Called from the building thread, often; done of total in abstract units, what names the present work. */
typedef void (*hone_progress_fn)(void *user, const char *what, int64_t done, int64_t total);

/* Types for layers of the model, as trtexec's --layerPrecisions and --layerOutputTypes ask for. What is asked for is
 * allowed there, whatever the build's precisions are. Of a fused node the last entry for any of its layers counts. */
typedef struct hone_layer_type {
  const char *node;   /* of the model or of the optimised graph; a glob of fnmatch(3) */
  hone_dtype compute; /* what it reads and multiplies in: F32, F16, BF16, TF32; NONE: as is fastest */
  hone_dtype output;  /* what its outputs are held in: F32, F16, BF16; NONE: likewise */
  bool preferred;     /* where no tactic does so, a warning says so and any other runs; else the build fails */
} hone_layer_type;

/* Where and how an input or output of the engine lies for the caller: as hone_session_bind takes it and
 * hone_session_device_tensor gives it. */
typedef struct hone_port_format {
  const char *name;   /* of the input or output; NULL: all that can */
  bool on_device;     /* in the memory of the first device that has its own; false: the host's, plain, as the model */
  hone_dtype dtype;   /* held so, on a device: F16 or BF16 of what is f32 in the model; NONE: as in the model */
  hone_format format; /* on a device: PLAIN or NHWC */
} hone_port_format;

typedef struct hone_build_options {
  uint32_t struct_size;
  const hone_profile_shape *shapes;
  int shape_count;
  const hone_pass_options *passes; /* NULL: the whole pipeline */
  bool reference_only;             /* every step by the reference backend */
  int level;                       /* tuning effort 1..5 (0: the default, 3); -1: no timing (docs/TUNING.md) */
  int timing_runs;                 /* timed runs a candidate, at most 10^6; 0: by level */
  const char *timing_cache_path;   /* read, and merged with what was measured; NULL: none */
  const char *lock_path;           /* read when it exists: its choices are taken; else written. NULL: none */
  uint64_t seed;                   /* of the data that tuning and error measuring use */
  int64_t scratch_limit_bytes;     /* tactics that need more are rejected; 0: 1 GiB */
  const char *const *tactics;      /* "NODE=TACTIC[:param=value,...]", globs, or "NODE=parts": allow nothing else */
  int tactic_count;
  hone_progress_fn progress;
  void *progress_user;
  int64_t time_budget_ms;  /* no timing after so long (at most 10^12): the rest by estimates, errors are measured still;
                              0: none */
  const void *stop_timing; /* const atomic_bool *: set by any thread to end the timing as a budget does; NULL: never */
  bool timing_cache_only;  /* UNSUPPORTED when a layer would have to be timed */
  int max_tactics;         /* so many candidates of a node are timed, the likeliest; at most 10^6; 0: by level */
  /* "-NAME" leaves out the tactics of a provider (CPU, REF, CUDA), a vendor's library (CUBLAS_LT) or an instruction set
   * (AVX512); "+NAME" takes them back; the last word about a name counts. INVALID lists the names that are known. */
  const char *const *tactic_sources;
  int tactic_source_count;
  /* Subnormal numbers (f32 below 1.2e-38) slow many processors down a hundredfold. The engine's runs take zero for
   * them, in its f32 constants, too, in all threads and for the time of the run alone; true: they count. */
  bool keep_subnormals;
  /* Set of HONE_BIT(HONE_F16), HONE_BIT(HONE_BF16) and HONE_BIT(HONE_TF32): types in which what is f32 in the graph may
   * be held and computed (tf32: multiplied, on GPUs), where that is faster; each tactic's error stays within the bound
   * of its type. 0: results are those of f32. */
  uint32_t precisions;
  /* Bounds the relative L2 distance of each floating-point output from that of the engine without narrow types, on
   * `inputs` and seeded numbers for the others, at the opt shapes. Layers return to f32 until it holds, those first
   * that win most error for their time, but not those whose types are asked for by name (layer_types). 0: what tactics'
   * own bounds give. UNSUPPORTED when it cannot hold. */
  double max_error;
  const hone_named_tensor *inputs;
  int input_count;
  const hone_layer_type *layer_types; /* INVALID: the model has no such node */
  int layer_type_count;
  /* Called from the building thread when a span ends, so those inside it come first. Must not call back. NULL: none. */
  hone_span_fn on_span;
  void *on_span_user;
  /* Inputs and outputs on a device; of the entries that name a port the last counts. INVALID: no such port, no device
   * with memory of its own, or a port that cannot be held so. */
  const hone_port_format *port_formats;
  int port_format_count;
  bool refittable; /* the engine keeps its lock and what else hone_engine_refit() needs, some 100 bytes a step */
  /* Streams beside the first, in which branches of what a device replays as one run side by side, where that is timed
   * faster than one behind another (static shapes, level >= 1). 0: at most 3; -1: none; at most 7. */
  int max_aux_streams;
  /* UNSUPPORTED, with their names, where steps would run on the host and not on the device with memory of its own.
   * INVALID: there is no such device. */
  bool strict_device;
} hone_build_options;

/* Builds an engine from a graph.
 *
 * Runs the pass pipeline on a copy, asks every tactic of the devices about every node, times those that accept, and
 * keeps the fastest whose measured error against the reference is within its bound.
 *
 * Ownership  one reference is the caller's: hone_engine_release().
 * Cost       seconds to minutes.
 * Errors     UNSUPPORTED   no tactic accepts some node, or the lock names one that does not; all are in the messages
 *            INVALID       a profile that does not fit the graph; NO_MEMORY, DEVICE, CANCELLED, LIMIT */
HONE_API HONE_CHECKED hone_status hone_engine_build(hone_context *context, const hone_graph *graph,
                                                    hone_device *const *devices, int device_count,
                                                    const hone_build_options *options, hone_engine **out_engine);
/* Joins timing caches: of two times of the same, the one of more runs. A cache at out_path is joined, too. Errors:
 * INVALID (a file is no timing cache; it stays as it is), IO. */
HONE_API HONE_CHECKED hone_status hone_timing_cache_merge(hone_context *context, const char *const *paths, int count,
                                                          const char *out_path);
/* Writes the engine (format in docs/ENGINE.md), and beside it PATH.ledger when the engine was built in this process. */
HONE_API HONE_CHECKED hone_status hone_engine_save(const hone_engine *engine, const char *path, hone_diagnostics *diag);
/* The same bytes without a ledger, in pieces and in their order, the weights in one: hone_engine_load_memory() takes
 * them. Any thread may call it. Errors: UNSUPPORTED (a described machine's engine), IO (write returned false),
 * NO_MEMORY. */
HONE_API HONE_CHECKED hone_status hone_engine_write(const hone_engine *engine, hone_write_fn write, void *user,
                                                    hone_diagnostics *diag);
/* The file is mapped and must not change underneath. Errors: IO, MALFORMED (damaged; nothing of it was executed),
 * INCOMPATIBLE (made for another CPU feature set, format or tactic version; the message says which), DEVICE (it runs on
 * a kind of device that was not given). Without devices (device_count 0) the engine is opened to look at: tactics of
 * devices that are not here are names, and sessions fail with DEVICE. */
HONE_API HONE_CHECKED hone_status hone_engine_load(hone_context *context, const char *path, hone_device *const *devices,
                                                   int device_count, hone_engine **out_engine);
/* The bytes are copied: for storage that cannot be trusted to stay as it is. */
HONE_API HONE_CHECKED hone_status hone_engine_load_memory(hone_context *context, const void *bytes, size_t count,
                                                          hone_device *const *devices, int device_count,
                                                          hone_engine **out_engine);
/* The same engine on other opened devices: plan and weights are shared, nothing is read or checked again. For sessions
 * that shall not share one pool of threads: N sessions on N devices of one thread each do not wait for one another.
 * Devices of kinds that are not given stay the engine's. The new engine holds the first. Errors: INCOMPATIBLE (another
 * CPU feature set), NO_MEMORY. */
HONE_API HONE_CHECKED hone_status hone_engine_share(hone_engine *engine, hone_device *const *devices, int device_count,
                                                    hone_engine **out_engine, hone_diagnostics *diag);
HONE_API void hone_engine_retain(hone_engine *engine);
HONE_API void hone_engine_release(hone_engine *engine); /* NULL is fine; sessions hold their engine */

typedef struct hone_port_info {
  uint32_t struct_size;
  const char *name;         /* borrowed from the engine */
  hone_type type;           /* as the model has it: plain; free dims are -1 */
  hone_shape min, opt, max; /* inputs */
  bool on_device;           /* it lies in a device's memory (hone_port_format), */
  hone_dtype held;          /* so: in this type */
  hone_format format;       /* and format */
  bool data_dependent;      /* an output whose shape a run alone tells: it cannot be bound */
} hone_port_info;
/* Inputs and outputs of the engine: free dims are those that vary within a schedule or between schedules; min and max
 * span all schedules, though shapes between two of them may belong to none; opt is the first schedule's. */
HONE_API int hone_engine_input_count(const hone_engine *engine);
HONE_API int hone_engine_output_count(const hone_engine *engine);
HONE_API hone_status hone_engine_input(const hone_engine *engine, int index, hone_port_info *out_info);
HONE_API hone_status hone_engine_output(const hone_engine *engine, int index, hone_port_info *out_info);
/* What the model calls a free dim of an input or output: "batch", or an expression over such names, "2*length"; dims of
 * one name are equal. A dim without a name has a made one. "": a number, or there is no such port or dim; cut where
 * room is too small. */
HONE_API void hone_engine_dim_text(const hone_engine *engine, const char *port, int dim, char *out, size_t room);
HONE_API int hone_engine_schedule_count(const hone_engine *engine);
/* An input as one schedule takes it. INVALID when there is no such schedule or input. */
HONE_API hone_status hone_engine_schedule_input(const hone_engine *engine, int schedule, int index,
                                                hone_port_info *out_info);

/* Bytes of weights that one run of a schedule reads from memory, as the model has them: those that products and other
 * layers of the main block have packed, each as often as a layer reads it; neither tables of which a few rows are
 * chosen nor activations and caches. What a run of one row takes at least is this over the memory's bandwidth. 0: there
 * is no such schedule. */
HONE_API uint64_t hone_engine_weights_read(const hone_engine *engine, int schedule);

#ifdef __cplusplus
}
#endif
#endif
