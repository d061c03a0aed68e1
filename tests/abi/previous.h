/* SPDX-License-Identifier: Apache-2.0 */
/* previous.h - a frozen copy of what a program saw of the public headers when structs that are filled in first had
 * struct_size. It includes nothing of theirs, and is not changed with them: a program that was compiled with it is the
 * older program of tests/abi/test_previous.c. */
#ifndef TESTS_ABI_PREVIOUS_H
#define TESTS_ABI_PREVIOUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum hone_status {
  HONE_OK = 0,
  HONE_INVALID = 1,
  HONE_MALFORMED = 2,
  HONE_UNSUPPORTED = 3,
  HONE_INCOMPATIBLE = 4,
  HONE_NO_MEMORY = 5,
  HONE_IO = 6,
  HONE_DEVICE = 7,
  HONE_LIMIT = 8,
  HONE_CANCELLED = 9,
  HONE_INTERNAL = 10
} hone_status;
typedef struct hone_diagnostics hone_diagnostics;
typedef enum hone_dtype {
  HONE_NONE = 0,
  HONE_F32 = 1,
  HONE_F16 = 2,
  HONE_BF16 = 3,
  HONE_F64 = 4,
  HONE_I8 = 5,
  HONE_I16 = 6,
  HONE_I32 = 7,
  HONE_I64 = 8,
  HONE_U8 = 9,
  HONE_U16 = 10,
  HONE_U32 = 11,
  HONE_U64 = 12,
  HONE_BOOL = 13,
  HONE_STRING = 14,
  HONE_F8E4M3FN = 15,
  HONE_F8E4M3FNUZ = 16,
  HONE_F8E5M2 = 17,
  HONE_F8E5M2FNUZ = 18,
  HONE_F8E8M0 = 19,
  HONE_F4E2M1 = 20,
  HONE_I4 = 21,
  HONE_U4 = 22,
  HONE_I2 = 23,
  HONE_U2 = 24,
  HONE_C64 = 25,
  HONE_C128 = 26,
  HONE_DTYPE_COUNT = 27
} hone_dtype;
typedef enum hone_format {
  HONE_PLAIN = 0,
  HONE_NCHW16C = 1,
  HONE_NCHW8C = 2,
  HONE_NCHW32C = 3,
  HONE_NCHW64C = 4,
  HONE_NHWC = 5,
  HONE_FORMAT_COUNT = 6
} hone_format;
typedef uint8_t hone_storage;
typedef enum hone_kind { HONE_ABSENT = 0, HONE_TENSOR = 1, HONE_SEQUENCE = 2, HONE_OPTIONAL = 3 } hone_kind;
typedef struct hone_shape {
  int32_t rank;
  int64_t dim[8];
} hone_shape;
typedef struct hone_type {
  hone_kind kind;
  hone_dtype dtype;
  hone_format format;
  hone_shape shape;
} hone_type;
typedef struct hone_tensor {
  hone_type type;
  void *data;
  size_t bytes;
} hone_tensor;
typedef struct hone_named_tensor {
  const char *name;
  hone_tensor tensor;
} hone_named_tensor;
typedef enum hone_attr_kind {
  HONE_ATTR_NONE = 0,
  HONE_ATTR_INT = 1,
  HONE_ATTR_FLOAT = 2,
  HONE_ATTR_STRING = 3,
  HONE_ATTR_INTS = 4,
  HONE_ATTR_FLOATS = 5,
  HONE_ATTR_STRINGS = 6,
  HONE_ATTR_TENSOR = 7
} hone_attr_kind;
typedef struct hone_attr {
  const char *name;
  hone_attr_kind kind;
  int64_t count;
  union {
    int64_t i;
    double f;
    const char *s;
    const int64_t *ints;
    const double *floats;
    const char *const *strings;
    const hone_tensor *tensor;
  };
} hone_attr;
typedef struct hone_cost {
  double flops, bytes_read, bytes_written;
} hone_cost;
typedef enum hone_roof {
  HONE_ROOF_F64,
  HONE_ROOF_F32,
  HONE_ROOF_TF32,
  HONE_ROOF_F16,
  HONE_ROOF_BF16,
  HONE_ROOF_FP8,
  HONE_ROOF_INT8,
  HONE_ROOF_L1,
  HONE_ROOF_L2,
  HONE_ROOF_L3,
  HONE_ROOF_MEMORY,
  HONE_ROOF_COUNT
} hone_roof;
typedef struct hone_facts {
  uint32_t struct_size;
  char name[96];
  char version[64];
  uint32_t isa;
  uint32_t isa_refused;
  int threads;
  double roofs[HONE_ROOF_COUNT];
  double clock_hz;
  double spreads[HONE_ROOF_COUNT];
  int cores;
  uint16_t ports[HONE_ROOF_L1], lanes[HONE_ROOF_L1];
  size_t l1_bytes, l2_bytes, l3_bytes;
  _Bool host_memory;
  _Bool described;
} hone_facts;
typedef struct hone_device_options {
  uint32_t struct_size;
  int threads;
  const int *cpus;
  int cpu_count;
  int spin_microseconds;
  const char *machine;
} hone_device_options;
typedef struct hone_context hone_context;
typedef enum hone_log_level {
  HONE_LOG_OFF = 0,
  HONE_LOG_WARN = 1,
  HONE_LOG_INFO = 2,
  HONE_LOG_VERBOSE = 3
} hone_log_level;
typedef void (*hone_log_fn)(void *user, hone_log_level level, const char *line);
typedef struct hone_context_options {
  uint32_t struct_size;
  void *(*resize)(void *user, void *old, size_t old_bytes, size_t new_bytes);
  void *resize_user;
  hone_log_fn log;
  void *log_user;
  hone_log_level log_level;
  const char *cache_dir;
  int64_t deadline_ms;
  const void *cancel;
  int64_t max_nodes, max_tensors, max_string_bytes, max_fold_bytes;
  const char *library_path;
  _Bool allow_external_links;
  uint64_t memory_limit_bytes;
} hone_context_options;
hone_status hone_context_create(const hone_context_options *options, hone_context **out_context);
void hone_context_destroy(hone_context *context);
const char *hone_context_message(const hone_context *context, int index, hone_status *out_status);
hone_diagnostics *hone_context_diagnostics(hone_context *context);
typedef struct hone_device hone_device;
hone_status hone_device_open(hone_context *context, const char *kind, int index, const hone_device_options *options,
                             hone_device **out_device);
void hone_device_close(hone_device *device);
hone_status hone_device_facts(const hone_device *device, hone_facts *out_facts);
typedef struct hone_graph hone_graph;
typedef struct hn_value hone_value;
hone_status hone_graph_create(hone_context *context, const char *name, hone_graph **out_graph);
void hone_graph_destroy(hone_graph *graph);
typedef _Bool (*hone_write_fn)(void *user, const char *text, size_t length);
hone_status hone_graph_add_input(hone_graph *graph, const char *name, hone_dtype dtype, int rank, const int64_t *dims,
                                 const char *const *names, hone_value **out_value);
hone_status hone_graph_add_constant(hone_graph *graph, const char *name, const hone_tensor *tensor,
                                    hone_value **out_value);
hone_status hone_graph_add_node(hone_graph *graph, const char *op, const char *name, hone_value *const *inputs,
                                int in_count, const hone_attr *attrs, int attr_count, hone_value **out_values,
                                int out_count);
hone_status hone_graph_add_output(hone_graph *graph, const char *name, hone_value *value);
typedef struct hone_pass_event {
  const char *pass, *rule;
  const char *node;
  const char *unmet;
} hone_pass_event;
typedef struct hone_pass_options {
  uint32_t struct_size;
  const char *const *disable;
  int disable_count;
  const char *after;
  hone_device *const *devices;
  int device_count;
  void (*event)(void *user, const hone_pass_event *event);
  void *event_user;
} hone_pass_options;
typedef enum hone_span_kind {
  HONE_SPAN_RUN,
  HONE_SPAN_STEP,
  HONE_SPAN_SHARE,
  HONE_SPAN_PHASE,
  HONE_SPAN_PASS,
  HONE_SPAN_NODE,
  HONE_SPAN_CANDIDATE,
  HONE_SPAN_SAMPLE,
  HONE_SPAN_KIND_COUNT
} hone_span_kind;
typedef struct hone_span {
  hone_span_kind kind;
  const char *name;
  int64_t begin_ns, end_ns;
  int64_t run;
  int schedule;
  int step;
  int device;
  _Bool queued;
  int thread;
  int64_t parts;
  int64_t dropped;
} hone_span;
typedef void (*hone_span_fn)(void *user, const hone_span *span);
typedef struct hone_engine hone_engine;
typedef struct hone_profile_shape {
  const char *input;
  hone_shape min, opt, max;
  int profile;
} hone_profile_shape;
typedef void (*hone_progress_fn)(void *user, const char *what, int64_t done, int64_t total);
typedef struct hone_layer_type {
  const char *node;
  hone_dtype compute;
  hone_dtype output;
  _Bool preferred;
} hone_layer_type;
typedef struct hone_port_format {
  const char *name;
  _Bool on_device;
  hone_dtype dtype;
  hone_format format;
} hone_port_format;
typedef struct hone_build_options {
  uint32_t struct_size;
  const hone_profile_shape *shapes;
  int shape_count;
  const hone_pass_options *passes;
  _Bool reference_only;
  int level;
  int timing_runs;
  const char *timing_cache_path;
  const char *lock_path;
  uint64_t seed;
  int64_t scratch_limit_bytes;
  const char *const *tactics;
  int tactic_count;
  hone_progress_fn progress;
  void *progress_user;
  int64_t time_budget_ms;
  const void *stop_timing;
  _Bool timing_cache_only;
  int max_tactics;
  const char *const *tactic_sources;
  int tactic_source_count;
  _Bool keep_subnormals;
  uint32_t precisions;
  double max_error;
  const hone_named_tensor *inputs;
  int input_count;
  const hone_layer_type *layer_types;
  int layer_type_count;
  hone_span_fn on_span;
  void *on_span_user;
  const hone_port_format *port_formats;
  int port_format_count;
} hone_build_options;
hone_status hone_engine_build(hone_context *context, const hone_graph *graph, hone_device *const *devices,
                              int device_count, const hone_build_options *options, hone_engine **out_engine);
void hone_engine_release(hone_engine *engine);
typedef struct hone_port_info {
  uint32_t struct_size;
  const char *name;
  hone_type type;
  hone_shape min, opt, max;
  _Bool on_device;
  hone_dtype held;
  hone_format format;
  _Bool data_dependent;
} hone_port_info;
hone_status hone_engine_input(const hone_engine *engine, int index, hone_port_info *out_info);
hone_status hone_engine_output(const hone_engine *engine, int index, hone_port_info *out_info);
typedef struct hone_session hone_session;
typedef struct hone_tap {
  const char *name;
  const char *step, *op;
  const char *tactic;
  int origin_count;
  const char *const *origins;
  int64_t turn;
  const hone_tensor *tensor;
} hone_tap;
typedef struct hone_session_options {
  uint32_t struct_size;
  _Bool trust_weights;
  _Bool profile;
  int instance_cache;
  uint64_t heap_limit_bytes;
  hone_span_fn on_span;
  void *on_span_user;
  _Bool no_replay;
  _Bool one_schedule;
  int schedule;
  const char *const *taps;
  int tap_count;
  hone_status (*on_tap)(void *user, const hone_tap *tap);
  void *on_tap_user;
  int64_t deadline_ms;
  const void *cancel;
  int trace_shares;
  void *native_stream;
  _Bool parts;
  _Bool marks_only;
} hone_session_options;
hone_status hone_session_create(hone_engine *engine, const hone_session_options *options, hone_session **out_session,
                                hone_diagnostics *diag);
void hone_session_destroy(hone_session *session);
hone_status hone_session_copy_in(hone_session *session, const char *input, const hone_tensor *tensor);
hone_status hone_session_run(hone_session *session);
hone_status hone_session_tensor(hone_session *session, const char *name, hone_tensor *out_tensor);
const char *hone_session_message(const hone_session *session, int index, hone_status *out_status);
typedef struct hone_session_stats {
  uint32_t struct_size;
  uint64_t arena_bytes, scratch_bytes, io_bytes, state_bytes, heap_bytes, weights_bytes;
  int64_t runs, instances;
  int64_t replays, replayed_steps;
  int schedule;
} hone_session_stats;
hone_status hone_session_get_stats(const hone_session *session, hone_session_stats *out_stats);
typedef struct hone_engine_summary {
  uint32_t struct_size;
  const char *name, *built_by, *device_name;
  int step_count, reference_steps;
  uint64_t weights_bytes, arena_bytes, scratch_bytes;
  double flops;
  double max_error_rel_l2;
  double output_error_rel_l2;
  _Bool dynamic, after_run;
  int schedule_count;
  uint64_t schedule_weights_bytes;
  int reference_nodes;
  double reference_flops, reference_ns, kernel_ns, other_ns;
  double time_spread;
  int timed_nodes, known_nodes;
} hone_engine_summary;
hone_status hone_engine_summarize(const hone_engine *engine, hone_engine_summary *out_summary);
typedef struct hone_step_profile {
  uint32_t struct_size;
  const char *name, *op, *provider, *tactic;
  double mean_ns, min_ns, max_ns, median_ns, p99_ns;
  hone_cost cost;
  _Bool reference;
  int origin_count;
  const char *const *origins;
  int in_count, out_count;
} hone_step_profile;
hone_status hone_session_step(const hone_session *session, int index, hone_step_profile *out_profile);

#endif
