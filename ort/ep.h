/* SPDX-License-Identifier: Apache-2.0 */
/* ep.h - the provider: what its files share. One factory for each registration, one provider for each session that uses
 * it, one partition for each set of nodes that it runs.
 * Functions that can fail return an OrtStatus with words, NULL for OK; it is the caller's to hand on or release. */
#ifndef HONE_ORT_EP_H
#define HONE_ORT_EP_H

#include "ort_api.h"
#include <hone/hone.h>
#include <pthread.h>

#define EP_NAME "HoneExecutionProvider"
#define EP_CONTEXT_OP "EPContext"
#define EP_CONTEXT_DOMAIN "com.microsoft"

#define EP_TRY(call)                                                                                                   \
  do {                                                                                                                 \
    OrtStatus *const ep_try_status = (call);                                                                           \
    if (ep_try_status) return ep_try_status;                                                                           \
  } while (0)

/* ---- memory (arena.c): blocks that are freed together ---- */
typedef struct ep_arena {
  struct ep_block *blocks;
  size_t used; /* of the newest block */
} ep_arena;
/* Zeroed, aligned for any type; NULL: out of memory. */
void *ep_alloc(ep_arena *arena, size_t count, size_t bytes);
#define EP_NEW(arena, type, count) ((type *)ep_alloc((arena), (size_t)(count), sizeof(type)))
char *ep_copy_text(ep_arena *arena, const char *text); /* NULL: out of memory */
void ep_arena_free(ep_arena *arena);

/* Bytes that grow. After `failed` nothing more is added. */
typedef struct ep_bytes {
  uint8_t *data; /* malloc'ed; the owner frees it */
  size_t count, room;
  bool failed;
} ep_bytes;
void ep_bytes_add(ep_bytes *bytes, const void *data, size_t count);
void ep_bytes_printf(ep_bytes *bytes, const char *format, ...) HONE_PRINTF(2, 3);

/* Names -> numbers. */
typedef struct ep_names {
  int count, room;
  const char **names; /* borrowed */
  int *numbers;
} ep_names;
bool ep_names_init(ep_names *names, ep_arena *arena, int most); /* false: out of memory */
int ep_names_get(const ep_names *names, const char *name);      /* -1: not there */
void ep_names_put(ep_names *names, const char *name, int number);

/* ---- options (options.c) ---- */
typedef struct ep_profile {
  const char *input;
  int profile; /* from 0 */
  hone_shape min, opt, max;
} ep_profile;

typedef struct ep_options {
  ep_arena arena;
  int level, threads, min_nodes, device_index;
  bool fp16, bf16, tf32, keep_subnormals, context_enable, context_embed;
  double max_error;
  int64_t time_budget_ms;
  const char *device, *cache_dir, *timing_cache, *context_path, *context_prefix; /* "": none */
  const char *profile_min, *profile_opt, *profile_max;
  ep_profile *profiles; /* read from these */
  int profile_count;
} ep_options;

/* ---- factory and provider ---- */
typedef struct ep_factory {
  ort_ep_factory table; /* first: the runtime's pointer is ours */
  ort_calls ort;
  uint32_t version;
} ep_factory;

typedef struct ep_provider {
  ort_ep table; /* first */
  ep_factory *factory;
  const ort_calls *ort;
  const OrtLogger *logger;
  ep_options options;
  bool has_claimed;         /* nodes of some graph */
  pthread_mutex_t building; /* the context and the device's tuning belong to one thread at a time */
  hone_context *context;
  hone_device *device;
  int threads;   /* that the device has */
  char isa[128]; /* instruction sets of the device, for keys and compatibility */
  char compatibility[512];
} ep_provider;

OrtStatus *ep_options_read(const ep_factory *factory, const OrtSessionOptions *given, ep_options *out);
void ep_options_free(ep_options *options);
OrtStatus *ep_profiles_read(const ort_calls *ort, ep_options *options);
const ep_profile *ep_profile_find(const ep_options *options, const char *input, int profile); /* NULL: none */
/* What changes the engines that are built, as text. */
void ep_options_text(const ep_options *options, char *out, size_t room);

OrtStatus *ep_provider_create(ep_factory *factory, const OrtSessionOptions *options, const OrtLogger *logger,
                              ep_provider **out);
void ep_provider_destroy(ep_provider *provider);
OrtStatus *ep_validate_compatibility(ort_ep_factory *factory, const OrtHardwareDevice *const *devices, size_t count,
                                     const char *info, int *out);

/* ---- errors and log (report.c) ---- */
OrtStatus *ep_fail(const ort_calls *ort, int code, const char *format, ...) HONE_PRINTF(3, 4);
OrtStatus *ep_fail_memory(const ort_calls *ort);
/* A status of hone's with the messages of the provider's context; what: the thing that failed. */
OrtStatus *ep_fail_context(const ep_provider *provider, hone_status status, const char *what);
OrtStatus *ep_fail_session(const ort_calls *ort, const hone_session *session, hone_status status, const char *what);
void ep_log(const ort_calls *ort, const OrtLogger *logger, int severity, const char *format, ...) HONE_PRINTF(4, 5);
bool ep_logs(const ort_calls *ort, const OrtLogger *logger, int severity);

/* ---- element types (types.c): ONNX's numbers, which the runtime shares ---- */
hone_dtype ep_dtype_of(int onnx_type); /* HONE_NONE: no type that partitions have */

/* ---- a graph of the runtime's, read (graph.c). Names and values are borrowed from it. ---- */
typedef struct ep_value {
  const char *name;
  const OrtValueInfo *info;
  int onnx_type;            /* of elements; 0: it is no tensor */
  int rank;                 /* -1: not known */
  int64_t *dims;            /* -1: free */
  const char **symbols;     /* names of free dims; "" without */
  const OrtValue *constant; /* NULL: computed, or given by the caller */
  const void *data;         /* of the constant */
  size_t bytes;
  int producer;   /* node, or -1 */
  bool is_output; /* of the graph */
} ep_value;

typedef struct ep_node {
  const OrtNode *node;
  const char *name, *op, *domain;
  int in_count, out_count, implicit_count;
  int *in, *out; /* values; -1: absent. Implicit inputs, which bodies take, follow the inputs. */
  size_t body_count;
} ep_node;

typedef struct ep_graph {
  ep_arena arena;
  const OrtGraph *graph;
  int node_count, value_count, opset_count;
  ep_node *nodes; /* in topological order */
  ep_value *values;
  const char **domains;
  int64_t *versions;
  ep_names names;
  bool captures; /* values of a graph around it */
} ep_graph;

OrtStatus *ep_graph_read(const ort_calls *ort, const OrtGraph *graph, ep_graph *out);
/* The node that stands for the graph: its values, by their names, are the graph's. */
OrtStatus *ep_graph_read_fused(const ort_calls *ort, ep_graph *graph, const OrtNode *fused, ep_node *out);
void ep_graph_free(ep_graph *graph);

/* ---- a model made of nodes (model.c) ---- */
typedef struct ep_model {
  ep_bytes bytes;             /* a ModelProto */
  hone_named_tensor *tensors; /* its larger constants */
  int tensor_count, tensor_room;
  ep_arena arena; /* names, and copies where the model owns its constants */
} ep_model;
typedef struct ep_cut {
  const int *nodes;
  int node_count;
  const int *inputs, *outputs; /* values */
  int input_count, output_count;
  bool number_names; /* nodes are named "NUMBER:NAME", so that every name is one node's */
} ep_cut;
/* Can the node's attributes be written? */
bool ep_node_is_writable(const ort_calls *ort, const ep_graph *graph, int node);
OrtStatus *ep_model_write(const ort_calls *ort, const ep_graph *graph, const ep_cut *cut, ep_model *out);
/* Copies the constants, so that the runtime may free its own. */
OrtStatus *ep_model_own(const ort_calls *ort, ep_model *model);
/* Of bytes and constants; 128 bits in hexadecimal digits and a zero. with_tensors false: their names and types only. */
void ep_model_hash(const ep_model *model, bool with_tensors, const char *salt, char out[33]);
void ep_model_free(ep_model *model);

/* ---- what was asked before (claims.c). reasons[node]: why it is left; NULL: it is not ---- */
bool ep_claims_load(const ep_provider *provider, const char *hash, ep_arena *arena, int node_count,
                    const char **reasons); /* false: not there; reasons are as they were */
void ep_claims_save(const ep_provider *provider, const char *hash, int node_count, const char *const *reasons);

/* ---- convex sets (partition.c) ---- */
/* group[v] of each supported node v; -1 of others. from[]/to[]: edges between nodes. Sets are convex: no path leaves
 * one and comes back; and none can be joined with a neighbour. Returns how many; -1: out of memory. */
int ep_partition(int node_count, const bool *supported, int edge_count, const int *from, const int *to, int *group);

/* ---- the two entries of the runtime ---- */
OrtStatus *ep_get_capability(ort_ep *ep, const OrtGraph *graph, OrtEpGraphSupportInfo *info);
OrtStatus *ep_compile(ort_ep *ep, const OrtGraph **graphs, const OrtNode **fused_nodes, size_t count,
                      ort_node_compute_info **out_infos, OrtNode **out_context_nodes);
void ep_release_infos(ort_ep *ep, ort_node_compute_info **infos, size_t count);

/* ---- engines of a partition (engines.c) ---- */
typedef struct ep_port {
  const char *name;
  int onnx_type;
  hone_dtype dtype;
  hone_shape shape; /* -1: free. rank -1: not known before a run */
} ep_port;

/* A session and the input shapes that it was given last. */
typedef struct ep_slot {
  struct ep_slot *next;
  hone_session *session;
  hone_shape *shapes; /* of the inputs; rank -1: none yet */
} ep_slot;

typedef struct ep_engine {
  struct ep_engine *next;
  hone_engine *engine;
  int schedule_count;
  hone_port_info *in;  /* of each schedule, the partition's inputs in their order */
  hone_port_info *out; /* of its outputs; type.shape has rank -1 where it is not always the same */
  ep_slot *free_slots; /* behind the partition's lock */
} ep_engine;

typedef struct ep_partition_state {
  ort_node_compute_info table; /* first */
  ep_provider *provider;
  ep_arena arena;
  const char *name;
  int in_count, out_count;
  ep_port *in, *out;
  ep_model model; /* kept where engines are built later; else empty */
  bool has_free_dims;
  pthread_mutex_t lock;     /* of what follows */
  ep_engine *engines;       /* the newest first */
  int builds;               /* for shapes that came; then */
  hone_shape *least, *most; /* each dim of each input, of what came so far */
} ep_partition_state;

/* Builds, or takes from the cache, one engine as the ports say; by the profile options where dims are free. */
OrtStatus *ep_engine_prepare(ep_partition_state *partition, ep_engine **out);
/* Takes an engine that was loaded or built into the partition, which releases it; here, too, when that fails. It gets
 * its first session, so that damaged weights are told now. */
OrtStatus *ep_engine_adopt(ep_partition_state *partition, hone_engine *engine, ep_engine **out);
/* One that takes the shapes, built when there is none. */
OrtStatus *ep_engine_find(ep_partition_state *partition, const hone_shape *shapes, ep_engine **out);
OrtStatus *ep_slot_take(ep_partition_state *partition, ep_engine *engine, ep_slot **out);
void ep_slot_give(ep_partition_state *partition, ep_engine *engine, ep_slot *slot);
void ep_engines_free(ep_partition_state *partition);
/* Do the profile options name every input with free dims? */
bool ep_profiles_cover(const ep_partition_state *partition);

OrtStatus *ep_compute(ort_node_compute_info *info, void *state, OrtKernelContext *context);

/* ---- compiled models (context.c) ---- */
bool ep_is_context_node(const ort_calls *ort, const ep_node *node);
OrtStatus *ep_context_write(ep_partition_state *partition, const ep_engine *engine, OrtNode **out);
OrtStatus *ep_context_load(ep_partition_state *partition, const ep_graph *graph);

#endif
