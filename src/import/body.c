/* SPDX-License-Identifier: Apache-2.0 */
/* body.c - the nodes, constants and results of a graph, and nodes that hold graphs: what these take from around them
 * becomes inputs of the node after its own, and parameters of every block after the declared ones. */
#include "import/importer.h"
#include "ir/branch.h"

hone_status hn_import_initializers(hn_importer *importer, hn_scope *scope, const hn_onnx_graph *graph) {
  const hn_onnx_tensor *tensors = graph->initializers.items;
  for (int64_t i = 0; i < graph->initializers.count; ++i) {
    const int from = hn_import_mark(importer);
    hn_value *value;
    const hone_status status = scope->outer || scope->frame
                                   ? hn_import_constant(importer, tensors[i].name, &tensors[i], &value)
                                   : hn_import_initializer(importer, &tensors[i], &value);
    HN_TRY(hn_import_problem(importer, status, from, "initializer \"%s\": ", tensors[i].name));
    const int bound = hn_import_mark(importer);
    HN_TRY(
        hn_import_problem(importer, hn_scope_bind(importer, scope, tensors[i].name, value), bound, "initializers: "));
  }
  const hn_onnx_sparse *sparse = graph->sparse_initializers.items;
  for (int64_t i = 0; i < graph->sparse_initializers.count; ++i) {
    const int from = hn_import_mark(importer);
    const char *name = sparse[i].values ? sparse[i].values->name : "";
    hn_value *value;
    hone_status status = hn_import_sparse(importer, name, &sparse[i], &value);
    if (status == HONE_OK) status = hn_scope_bind(importer, scope, name, value);
    HN_TRY(hn_import_problem(importer, status, from, "sparse initializer \"%s\": ", name));
  }
  return HONE_OK;
}

hone_status hn_import_nodes(hn_importer *importer, hn_scope *scope, const hn_proto_list *nodes) {
  const hn_onnx_node *items = nodes->items;
  scope->nodes = nodes;
  for (int64_t i = 0; i < nodes->count; ++i) HN_TRY(hn_import_node(importer, scope, &items[i], i));
  return HONE_OK;
}

static hone_status add_result(hn_importer *importer, hn_scope *scope, const char *name) {
  hn_value *value = hn_scope_find(scope, name);
  if (!value || value == &importer->absent) return HN_FAIL(importer->diag, HONE_MALFORMED, "it is made by no node");
  if (value == &importer->bad) return HONE_OK;
  return hn_block_add_result(scope->block, value, name);
}

hone_status hn_import_results(hn_importer *importer, hn_scope *scope, const hn_onnx_graph *graph) {
  const hn_onnx_value_info *outputs = graph->outputs.items;
  for (int64_t i = 0; i < graph->outputs.count; ++i) {
    const int from = hn_import_mark(importer);
    const hone_status status = add_result(importer, scope, outputs[i].name);
    HN_TRY(hn_import_problem(importer, status, from, "output \"%s\": ", outputs[i].name));
  }
  return HONE_OK;
}

/* The declared parameters of a block, then the captured ones. */
static hone_status add_params(hn_importer *importer, hn_scope *scope, const hn_onnx_graph *graph,
                              const hn_captures *captures) {
  const hn_onnx_value_info *inputs = graph->inputs.items;
  for (int64_t i = 0; i < graph->inputs.count; ++i) {
    hone_type type;
    HN_TRY_NOTE(importer->diag, hn_import_type(importer, inputs[i].type, true, &type), "in its graph's input %s",
                inputs[i].name);
    hn_value *value = hn_block_add_param(scope->block, inputs[i].name, &type);
    if (!value) return HONE_NO_MEMORY;
    HN_TRY(hn_scope_bind(importer, scope, inputs[i].name, value));
  }
  for (int i = 0; i < captures->count; ++i) {
    hn_value *value = hn_block_add_param(scope->block, captures->names[i], &captures->values[i]->fact.type);
    if (!value) return HONE_NO_MEMORY;
    if (hn_table_get(&scope->names, captures->names[i])) continue; /* a name of its own hides it */
    HN_TRY(hn_scope_bind(importer, scope, captures->names[i], value));
  }
  return HONE_OK;
}

static hone_status fill_block(hn_import_call *call, hn_node *node, int number, const hn_captures *captures) {
  hn_importer *importer = call->importer;
  const hn_onnx_graph *graph = call->bodies[number];
  hn_scope scope;
  HN_TRY(hn_scope_init(importer, &scope, call->scope, node->blocks[number]));
  HN_TRY(add_params(importer, &scope, graph, captures));
  HN_TRY(hn_infer_params(importer->graph, node, number));
  HN_TRY(hn_import_initializers(importer, &scope, graph));
  HN_TRY(hn_import_nodes(importer, &scope, &graph->nodes));
  return hn_import_results(importer, &scope, graph);
}

/* What filling one block met, to take it back. */
typedef struct filled {
  int first_message, problems, refused;
  bool bad;
} filled;

/* One of two branches that holds nothing worse than shapes which do not fit fails when it is taken. */
static hone_status forgive_branch(hn_import_call *call, hn_node *node, const filled *blocks, hone_status worst_before) {
  hn_importer *importer = call->importer;
  const int number = blocks[0].bad ? 0 : 1;
  const filled *block = &blocks[number];
  bool holds, failed = false;
  const bool taken =
      node->in_count > 0 && node->in[0] && hn_fact_decides(&node->in[0]->fact, &holds) && holds == (number == 0);
  if (taken || block->problems != block->refused) return HONE_OK;
  HN_TRY(hn_branch_fail(node, number, block->first_message, &failed));
  if (failed) importer->worst = worst_before;
  return HONE_OK;
}

/* *out_bad: something inside was a problem, and has been reported. */
static hone_status fill_blocks(hn_import_call *call, hn_node *node, const hn_captures *captures, bool *out_bad) {
  hn_importer *importer = call->importer;
  const hone_status worst_before = importer->worst;
  filled blocks[HN_IMPORT_MAX_BODIES];
  int bad = 0;
  for (int i = 0; i < call->body_count; ++i) {
    const int problems = importer->problems, refused = importer->refused;
    blocks[i].first_message = hn_import_mark(importer);
    HN_TRY(fill_block(call, node, i, captures));
    blocks[i].problems = importer->problems - problems;
    blocks[i].refused = importer->refused - refused;
    blocks[i].bad = node->blocks[i]->result_count != (int)call->bodies[i]->outputs.count || blocks[i].problems > 0;
    bad += blocks[i].bad;
  }
  if (bad == 1 && (call->op->traits & HONE_RUNS_ONE) && call->body_count == 2) {
    HN_TRY(forgive_branch(call, node, blocks, worst_before));
    if (hn_block_failure(node->blocks[0]) || hn_block_failure(node->blocks[1])) bad = 0;
  }
  *out_bad = bad > 0;
  return *out_bad ? HONE_OK : hn_infer_node(importer->graph, node);
}

/* Captured values follow the inputs of the ONNX node; an attribute of that name tells the row how many there are. */
static hone_status add_captures(hn_import_call *call, hn_captures *captures) {
  hn_importer *importer = call->importer;
  for (int i = 0; i < call->body_count; ++i) {
    if (!call->bodies[i]) return HN_FAIL(importer->diag, HONE_MALFORMED, "one of its graphs is missing");
    HN_TRY(hn_import_captures(importer, call->scope, call->bodies[i], captures));
  }
  if (call->body_count == 0) return HONE_OK;
  for (int i = call->in_count; i < HONE_MAX_PORTS && call->op->in[i].name; ++i) {
    if (call->op->in[i].flags & HONE_PORT_VARIADIC) break;
    HN_TRY(hn_import_set_input(call, i, NULL)); /* optional inputs left out at the end keep their places */
  }
  for (int i = 0; i < captures->count; ++i) HN_TRY(hn_import_set_input(call, call->in_count, captures->values[i]));
  const hone_attr count = {.name = "captures", .kind = HONE_ATTR_INT, .i = captures->count};
  for (int i = 0; i < HONE_MAX_ATTRS && call->op->attr[i].name; ++i) {
    if (hn_name_equal(call->op->attr[i].name, count.name)) return hn_import_add_attr(call, &count);
  }
  return HONE_OK;
}

hone_status hn_import_create(hn_import_call *call) {
  hn_importer *importer = call->importer;
  hn_captures captures = {0};
  HN_TRY(add_captures(call, &captures));
  const hn_node_spec spec = {.op = call->op,
                             .name = call->name,
                             .attrs = {.count = call->attr_count, .items = call->attrs},
                             .in_count = call->in_count,
                             .in = call->in,
                             .out_count = call->out_count,
                             .out_names = call->out_names,
                             .origins = call->origins,
                             .block_count = call->body_count};
  hn_node *node;
  HN_TRY(hn_node_create(call->scope->block, &spec, &node));
  bool bad = false;
  if (call->body_count > 0) HN_TRY(fill_blocks(call, node, &captures, &bad));
  for (int i = 0; i < call->out_count; ++i) call->out[i] = bad ? &importer->bad : node->out[i];
  return HONE_OK;
}

hone_status hn_import_make(hn_import_call *call, const char *op, int in_count, hn_value *const *in, int attr_count,
                           const hone_attr *attrs, hn_value **out) {
  hn_importer *importer = call->importer;
  const hn_node_spec spec = {.op = hn_op_find(importer->context->ops, op),
                             .attrs = {.count = attr_count, .items = attrs},
                             .in_count = in_count,
                             .in = in,
                             .out_count = 1,
                             .origins = call->origins};
  if (!spec.op) return HN_FAIL(importer->diag, HONE_UNSUPPORTED, "it needs the operator %s, which is missing", op);
  hn_node *node;
  HN_TRY(hn_node_create(call->scope->block, &spec, &node));
  *out = node->out[0];
  return HONE_OK;
}
