/* SPDX-License-Identifier: Apache-2.0 */
/* compile_graph_build.c - models built layer by layer, looked at, printed and optimised, for users.
 * Every argument of a caller is checked here once; ir/ checks what makes a graph right. */
#include "api/engine.h"
#include "api/compile.h"
#include "base/arguments.h"
#include "ir/text.h"
#include "ops/registry.h"
#include "pass/pipeline.h"
#include "pass/rewrite.h"
#include "tensor/shape.h"

hone_status hone_graph_create(hone_context *context, const char *name, hone_graph **out_graph) {
  if (out_graph) *out_graph = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, out_graph);
  return hn_graph_create(context, name && *name ? name : "graph", out_graph);
}

void hone_graph_destroy(hone_graph *graph) { hn_graph_destroy(graph); }

hone_status hone_graph_parse(hone_context *context, const char *text, size_t length, hone_graph **out_graph) {
  if (out_graph) *out_graph = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, text);
  HN_GIVEN(&context->diag, out_graph);
  hn_call_begin(context);
  return hn_graph_parse(context, text, length, NULL, 0, out_graph);
}

/* ---- building ---- */

static hone_status check_dtype(hone_graph *graph, const char *what, hone_dtype dtype) {
  if (dtype > HONE_NONE && dtype < HONE_DTYPE_COUNT) return HONE_OK;
  return HN_FAIL(&graph->context->diag, HONE_INVALID, "%s: there is no element type %d", what, (int)dtype);
}

/* One dim of an input: a number, or a symbol by its given or a made name. */
static hone_status input_dim(hone_graph *graph, const char *input, int axis, int64_t dim, const char *name,
                             int64_t *out) {
  hone_diagnostics *diag = &graph->context->diag;
  if (dim < -1)
    return HN_FAIL(diag, HONE_INVALID, "input %s: dim %d is %lld; allowed: -1 (free) or an extent", input, axis,
                   (long long)dim);
  if (dim >= 0) {
    *out = dim;
    return HONE_OK;
  }
  char made[96];
  if (!name || !*name) {
    hn_text text;
    hn_text_init(&text, graph->context->allocator);
    hn_text_printf(&text, "%s_dim%d", input, axis);
    hn_copy_text(made, sizeof made, hn_text_string(&text));
    hn_text_deinit(&text);
    name = made;
  }
  *out = hn_dim_named(&graph->dims, name);
  return graph->dims.failed ? HN_FAIL_MEMORY(diag) : HONE_OK;
}

hone_status hone_graph_add_input(hone_graph *graph, const char *name, hone_dtype dtype, int rank, const int64_t *dims,
                                 const char *const *names, hone_value **out_value) {
  if (out_value) *out_value = NULL;
  HN_GIVEN(NULL, graph);
  hone_diagnostics *diag = &graph->context->diag;
  if (!name || !*name) return HN_FAIL(diag, HONE_INVALID, "a graph input needs a name");
  if (hn_table_get(&graph->value_names, name)) return HN_FAIL(diag, HONE_INVALID, "a value is already called %s", name);
  if (rank < 0 || rank > HONE_MAX_RANK || (rank > 0 && !dims))
    return HN_FAIL(diag, HONE_INVALID, "input %s: rank is %d; allowed: 0 to %d, with dims", name, rank, HONE_MAX_RANK);
  HN_TRY(check_dtype(graph, name, dtype));
  hone_type type = {.kind = HONE_TENSOR, .dtype = dtype, .shape.rank = rank};
  for (int i = 0; i < rank; ++i)
    HN_TRY(input_dim(graph, name, i, dims[i], names ? names[i] : NULL, &type.shape.dim[i]));
  hn_value *value = hn_block_add_param(graph->main, name, &type);
  if (!value) return HONE_NO_MEMORY;
  if (out_value) *out_value = value;
  return HONE_OK;
}

static hone_status add_constant(hone_graph *graph, const char *name, const hone_tensor *tensor, bool borrow,
                                hone_value **out_value) {
  if (out_value) *out_value = NULL;
  HN_GIVEN(NULL, graph);
  hone_diagnostics *diag = &graph->context->diag;
  HN_GIVEN(diag, tensor);
  HN_GIVEN(diag, out_value);
  HN_TRY(hn_tensor_check(diag, name && *name ? name : "a constant", tensor));
  *out_value = hn_constant_create(graph, name, tensor, borrow);
  return *out_value ? HONE_OK : HONE_NO_MEMORY;
}

hone_status hone_graph_add_constant(hone_graph *graph, const char *name, const hone_tensor *tensor,
                                    hone_value **out_value) {
  return add_constant(graph, name, tensor, false, out_value);
}

hone_status hone_graph_borrow_constant(hone_graph *graph, const char *name, const hone_tensor *tensor,
                                       hone_value **out_value) {
  return add_constant(graph, name, tensor, true, out_value);
}

static hone_status find_op(hone_graph *graph, const char *op, const char *name, const hone_op **out) {
  hone_diagnostics *diag = &graph->context->diag;
  *out = hn_op_find(graph->context->ops, op);
  if (!*out) return HN_FAIL(diag, HONE_INVALID, "node %s: there is no operator %s", name ? name : "(no name)", op);
  if ((*out)->traits & HONE_HAS_BLOCKS)
    return HN_FAIL(diag, HONE_UNSUPPORTED, "node %s: %s owns blocks, which this call cannot give", name ? name : op,
                   op);
  return HONE_OK;
}

/* What an attribute points to is there; whether the operator has such an attribute is its row's to say. */
static hone_status check_attrs(hone_diagnostics *diag, const hone_attr *attrs, int count) {
  for (int i = 0; i < count; ++i) {
    const hone_attr *attr = &attrs[i];
    if (!attr->name) return HN_FAIL(diag, HONE_INVALID, "attribute %d has no name", i);
    HN_TRY_NOTE(diag,
                hn_argument_range(diag, "an attribute's kind", (int64_t)attr->kind, HONE_ATTR_INT, HONE_ATTR_TENSOR),
                "attribute %s", attr->name);
    switch (attr->kind) {
    case HONE_ATTR_STRING:
    case HONE_ATTR_INTS:
    case HONE_ATTR_FLOATS: HN_TRY(hn_argument_list(diag, attr->name, attr->ints, attr->count, INT32_MAX)); break;
    case HONE_ATTR_STRINGS:
      HN_TRY(hn_argument_pointers(diag, attr->name, attr->strings, attr->count, INT32_MAX));
      break;
    case HONE_ATTR_TENSOR:
      if (!attr->tensor) return HN_FAIL(diag, HONE_INVALID, "%s: its tensor is NULL", attr->name);
      HN_TRY(hn_tensor_check(diag, attr->name, attr->tensor));
      break;
    default: break;
    }
  }
  return HONE_OK;
}

static hone_status add_node(hone_graph *graph, const char *op, const char *name, hone_value *const *inputs,
                            int in_count, const hone_attr *attrs, int attr_count, hone_value **out_values,
                            int out_count) {
  hone_diagnostics *diag = &graph->context->diag;
  const hone_op *row;
  if (!op) return hn_argument_missing(diag, "hone_graph_add_node", "op");
  HN_TRY(hn_argument_list(diag, "inputs", inputs, in_count, INT32_MAX));
  HN_TRY(hn_argument_list(diag, "attrs", attrs, attr_count, INT32_MAX));
  HN_TRY(find_op(graph, op, name, &row));
  HN_TRY_NOTE(diag, check_attrs(diag, attrs, attr_count), "in node %s (%s)", name ? name : "without a name", op);
  for (int i = 0; i < in_count; ++i)
    if (inputs[i] && (inputs[i]->id >= graph->value_count || graph->values[inputs[i]->id] != inputs[i]))
      return HN_FAIL(diag, HONE_INVALID, "node %s (%s): input %d belongs to another graph", name ? name : op, op, i);
  const hn_node_spec spec = {.op = row,
                             .name = name,
                             .attrs = {.count = attr_count, .items = attrs},
                             .in_count = in_count,
                             .out_count = out_count,
                             .in = inputs};
  hn_node *node;
  HN_TRY(hn_node_create(graph->main, &spec, &node));
  for (int i = 0; i < out_count; ++i) out_values[i] = node->out[i];
  return HONE_OK;
}

hone_status hone_graph_add_node(hone_graph *graph, const char *op, const char *name, hone_value *const *inputs,
                                int in_count, const hone_attr *attrs, int attr_count, hone_value **out_values,
                                int out_count) {
  HN_GIVEN(NULL, graph);
  HN_TRY(hn_argument_list(&graph->context->diag, "out_values", out_values, out_count, INT32_MAX));
  hn_call_begin(graph->context);
  const hone_status status = add_node(graph, op, name, inputs, in_count, attrs, attr_count, out_values, out_count);
  /* Only now: inputs and out_values may be the same list. */
  for (int i = 0; status != HONE_OK && i < out_count; ++i) out_values[i] = NULL;
  return status;
}

hone_status hone_graph_add_output(hone_graph *graph, const char *name, hone_value *value) {
  HN_GIVEN(NULL, graph);
  HN_GIVEN(&graph->context->diag, value);
  if (value->id >= graph->value_count || graph->values[value->id] != value)
    return HN_FAIL(&graph->context->diag, HONE_INVALID, "output %s: the value is not of this graph",
                   name ? name : "(no name)");
  return hn_block_add_result(graph->main, value, name);
}

/* ---- looking ---- */

void hone_value_type(const hone_value *value, hone_type *out_type) {
  if (!out_type) return;
  *out_type = (hone_type){.shape.rank = -1};
  if (!value) return;
  *out_type = value->fact.type;
  for (int i = 0; i < out_type->shape.rank; ++i)
    if (out_type->shape.dim[i] < 0) out_type->shape.dim[i] = -1;
}

const char *hone_value_name(const hone_value *value) { return value ? value->name : NULL; }
int hone_graph_input_count(const hone_graph *graph) { return graph ? graph->main->param_count : 0; }
int hone_graph_output_count(const hone_graph *graph) { return graph ? graph->main->result_count : 0; }
int hone_graph_node_count(const hone_graph *graph) { return graph ? hn_graph_node_count(graph) : 0; }

hone_value *hone_graph_input(const hone_graph *graph, int index) {
  return index >= 0 && index < hone_graph_input_count(graph) ? graph->main->params[index] : NULL;
}

hone_value *hone_graph_output(const hone_graph *graph, int index) {
  return index >= 0 && index < hone_graph_output_count(graph) ? graph->main->results[index] : NULL;
}

const char *hone_graph_output_name(const hone_graph *graph, int index) {
  return index >= 0 && index < hone_graph_output_count(graph) ? graph->output_names[index] : NULL;
}

static void each_node(const hn_block *block, void (*see)(void *user, const char *name, const char *op), void *user) {
  for (const hn_node *node = block->first; node; node = node->next) {
    see(user, node->name, node->op->name);
    for (int i = 0; i < node->block_count; ++i) each_node(node->blocks[i], see, user);
  }
}

void hone_graph_each_node(const hone_graph *graph, void (*see)(void *user, const char *name, const char *op),
                          void *user) {
  if (graph && see) each_node(graph->main, see, user);
}

static void visit_nodes(const hn_block *block, void (*see)(void *user, const hone_node_info *node), void *user) {
  for (const hn_node *node = block->first; node; node = node->next) {
    const hone_node_info info = {.name = node->name,
                                 .op = node->op->name,
                                 .in_count = node->in_count,
                                 .out_count = node->out_count,
                                 .in = node->in,
                                 .out = node->out};
    see(user, &info);
    for (int i = 0; i < node->block_count; ++i) visit_nodes(node->blocks[i], see, user);
  }
}

void hone_graph_visit_nodes(const hone_graph *graph, void (*see)(void *user, const hone_node_info *node), void *user) {
  if (graph && see) visit_nodes(graph->main, see, user);
}

/* ---- passes ---- */

static hone_status send(hone_diagnostics *diag, const hn_text *text, hone_write_fn write, void *user) {
  if (text->failed) return HN_FAIL_MEMORY(diag);
  if (write(user, hn_text_string(text), text->length)) return HONE_OK;
  return HN_FAIL(diag, HONE_IO, "the text could not be written");
}

hone_status hn_pass_options_take(hone_diagnostics *diag, const hone_pass_options *given, hone_pass_options *out) {
  HN_OPTIONS(diag, "pass", given, hone_pass_options, after, out);
  HN_TRY(hn_argument_pointers(diag, "pass option disable", out->disable, out->disable_count, INT32_MAX));
  return hn_argument_pointers(diag, "pass option devices", out->devices, out->device_count, HN_MAX_DEVICES);
}

hone_status hone_graph_optimize(hone_graph *graph, const hone_pass_options *given) {
  HN_GIVEN(NULL, graph);
  hone_pass_options taken;
  const hone_pass_options *options = &taken;
  HN_TRY(hn_pass_options_take(&graph->context->diag, given, &taken));
  hn_call_begin(graph->context);
  hn_device_list list = {0};
  if (options->device_count > 0)
    HN_TRY(hn_device_list_open(graph->context, options->devices, options->device_count, &list));
  hn_device_target asked;
  const hn_target target = hn_target_of_devices(list.devices, list.count, &graph->dims, 0, &asked);
  hn_arena arena;
  hn_arena_init(&arena, graph->context->allocator);
  hn_pass_log log = {.arena = &arena};
  hn_pass_run run = {.context = graph->context,
                     .graph = graph,
                     .target = options->device_count > 0 ? &target : NULL,
                     .disable = options->disable,
                     .disable_count = options->disable_count,
                     .log = options->event ? &log : NULL};
  const hone_status status = hn_pipeline_run(&run, options->after);
  for (int i = 0; status == HONE_OK && i < log.count; ++i) {
    const hn_pass_event *from = &log.events[i];
    const hone_pass_event event = {from->pass, from->rule, from->node, from->fired ? NULL : from->unmet};
    options->event(options->event_user, &event);
  }
  hn_arena_deinit(&arena);
  hn_device_list_close(&list);
  return status;
}

hone_status hone_pass_list(hone_write_fn write, void *user) {
  HN_GIVEN(NULL, write);
  hn_text text;
  hn_text_init(&text, hn_allocator_default());
  int count;
  const hn_pass *passes = hn_pipeline(&count);
  for (int i = 0; i < count; ++i) {
    hn_text_printf(&text, "%s\t%s\n", passes[i].name, passes[i].doc);
    for (const hn_rewrite *rule = passes[i].rewrites; rule && rule->name; ++rule)
      hn_text_printf(&text, "%s/%s\t%s\n", passes[i].name, rule->name, rule->why);
  }
  const hone_status status = send(NULL, &text, write, user);
  hn_text_deinit(&text);
  return status;
}
