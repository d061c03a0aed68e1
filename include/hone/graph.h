/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h - models: read from ONNX or built layer by layer. */
#ifndef HONE_GRAPH_H
#define HONE_GRAPH_H

#include <hone/context.h>
#include <hone/device.h>
#include <hone/op.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_graph hone_graph;
typedef struct hone_value hone_value; /* opaque; owned by its graph */

/* Reads an ONNX model (opsets 1 to 27, external data beside the file).
 * All problems of the model are in the messages, each with node, operator, opset and reason.
 * Errors: IO, MALFORMED, UNSUPPORTED (an operator or a feature we do not know), LIMIT, NO_MEMORY. */
HONE_API HONE_CHECKED hone_status hone_graph_load_onnx(hone_context *context, const char *path, hone_graph **out_graph);
/* The same from memory, which must outlive the graph. External data is looked for beside `path` when it is given. */
HONE_API HONE_CHECKED hone_status hone_graph_load_onnx_memory(hone_context *context, const void *bytes, size_t count,
                                                              const char *path, hone_graph **out_graph);
/* A model in memory, whose initializers may lie elsewhere in memory. All is borrowed. */
typedef struct hone_onnx_source {
  uint32_t struct_size;
  const void *bytes; /* of a ModelProto */
  size_t count;
  const char *path; /* beside which external data is looked for; NULL: there is none */
  /* Initializers of the main graph that take their elements from here: what the model's own tensor holds of data is not
   * looked at, its type must be the same. Not strings. */
  const hone_named_tensor *tensors;
  int tensor_count;
} hone_onnx_source;
/* Reads a model whose bytes and tensors outlive the graph and the builds of its engines. Errors: as above, and INVALID
 * (a tensor that is no initializer of the model, or of another type). */
HONE_API HONE_CHECKED hone_status hone_graph_load_onnx_source(hone_context *context, const hone_onnx_source *source,
                                                              hone_graph **out_graph);
/* Writes the graph as an ONNX model (opset 21). Written to a temporary name, then renamed. */
HONE_API HONE_CHECKED hone_status hone_graph_save_onnx(const hone_graph *graph, const char *path);
/* Reads the text that hone_graph_print writes with all constants in full. */
HONE_API HONE_CHECKED hone_status hone_graph_parse(hone_context *context, const char *text, size_t length,
                                                   hone_graph **out_graph);
HONE_API HONE_CHECKED hone_status hone_graph_create(hone_context *context, const char *name, hone_graph **out_graph);
HONE_API void hone_graph_destroy(hone_graph *graph); /* NULL is fine; before its context */

/* Where text goes: called any number of times; returning false stops the writer with IO. */
typedef bool (*hone_write_fn)(void *user, const char *text, size_t length);
typedef struct hone_print_options {
  uint32_t struct_size;
  bool with_types, with_origins, json;
  int64_t constant_elements; /* constants of more elements print as their hash; 0: 64, -1: all in full */
} hone_print_options;
HONE_API HONE_CHECKED hone_status hone_graph_print(const hone_graph *graph, const hone_print_options *options,
                                                   hone_write_fn write, void *user);

/* ---- building by hand; a failed call leaves the graph as it was ---- */

/* A graph input. Dims -1 are free; names[i] (names may be NULL, entries too) names a free dim, so that equal names are
 * equal extents. The value is borrowed from the graph. */
HONE_API HONE_CHECKED hone_status hone_graph_add_input(hone_graph *graph, const char *name, hone_dtype dtype, int rank,
                                                       const int64_t *dims, const char *const *names,
                                                       hone_value **out_value);
/* A constant; the bytes are copied (hone_graph_borrow_constant: borrowed, they must outlive graph and its engines'
 * builds). */
HONE_API HONE_CHECKED hone_status hone_graph_add_constant(hone_graph *graph, const char *name,
                                                          const hone_tensor *tensor, hone_value **out_value);
HONE_API HONE_CHECKED hone_status hone_graph_borrow_constant(hone_graph *graph, const char *name,
                                                             const hone_tensor *tensor, hone_value **out_value);
/* Any operator by its row's name: inputs in port order, NULL for absent ones; attributes by name, the rest default.
 * out_values receives out_count outputs. name NULL: one is made.
 * Errors: INVALID (no such op, wrong ports or attributes; the message names them), MALFORMED (shapes do not fit). */
HONE_API HONE_CHECKED hone_status hone_graph_add_node(hone_graph *graph, const char *op, const char *name,
                                                      hone_value *const *inputs, int in_count, const hone_attr *attrs,
                                                      int attr_count, hone_value **out_values, int out_count);
HONE_API HONE_CHECKED hone_status hone_graph_add_output(hone_graph *graph, const char *name, hone_value *value);

/* The type as far as it is known. */
HONE_API void hone_value_type(const hone_value *value, hone_type *out_type);
HONE_API const char *hone_value_name(const hone_value *value); /* borrowed */

/* ---- looking ---- */
HONE_API int hone_graph_input_count(const hone_graph *graph);
HONE_API int hone_graph_output_count(const hone_graph *graph);
HONE_API int hone_graph_node_count(const hone_graph *graph);
/* Calls see() with each node's name and operator, those of blocks included. */
HONE_API void hone_graph_each_node(const hone_graph *graph, void (*see)(void *user, const char *name, const char *op),
                                   void *user);
/* The same with what the node reads and writes: NULL for absent ones. Borrowed from the graph. */
typedef struct hone_node_info {
  const char *name, *op;
  int in_count, out_count;
  hone_value *const *in, *const *out;
} hone_node_info;
HONE_API void hone_graph_visit_nodes(const hone_graph *graph, void (*see)(void *user, const hone_node_info *node),
                                     void *user);
HONE_API hone_value *hone_graph_input(const hone_graph *graph, int index);
HONE_API hone_value *hone_graph_output(const hone_graph *graph, int index);
HONE_API const char *hone_graph_output_name(const hone_graph *graph, int index);

/* ---- passes ---- */
/* What a rule did to a node, or would have done but for one condition. */
typedef struct hone_pass_event {
  const char *pass, *rule;
  const char *node;  /* where the rule begins: its last node */
  const char *unmet; /* NULL: it fired; else the first unmet condition, in words */
} hone_pass_event;
typedef struct hone_pass_options {
  uint32_t struct_size;
  const char *const *disable; /* names of passes or rules to leave out */
  int disable_count;
  const char *after; /* stop after this pass; NULL: all */
  /* Fused operators are made only where a tactic of these devices takes them; none: wherever a rule holds. */
  hone_device *const *devices;
  int device_count;
  /* Called for each event when all passes have run; NULL: nobody asks. */
  void (*event)(void *user, const hone_pass_event *event);
  void *event_user;
} hone_pass_options;
/* Optimises in place: fusions, folding, dead code, as the pipeline lists them. INVALID names an unknown pass or rule.
 */
HONE_API HONE_CHECKED hone_status hone_graph_optimize(hone_graph *graph, const hone_pass_options *options);
/* One line a pass ("name\twhat it does") and one a rule ("pass/rule\twhy"). */
HONE_API HONE_CHECKED hone_status hone_pass_list(hone_write_fn write, void *user);

#ifdef __cplusplus
}
#endif
#endif
