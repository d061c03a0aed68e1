/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - coverage of a model: its messages are decoded, each node is looked up, nothing is built. */
#include "import/check.h"
#include "base/file.h"
#include "import/importer.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct checker {
  hone_context *context;
  const hn_onnx_model *model;
  hn_check *out;
  hn_table rows; /* "domain\nop\nopset\nreason" -> int: the number of the row */
} checker;

/* Why a node cannot be imported as far as its operator and attributes tell, "" when it can; NULL: out of memory. */
static const char *reason_of(const checker *c, const hn_onnx_node *node, const char *domain, int64_t opset) {
  if (!*domain && hn_name_equal(node->op_type, "Constant")) return "";
  if (opset <= 0 || opset > INT32_MAX) return "the model imports no such version of the domain";
  if (!*domain && opset > HN_ONNX_LAST_OPSET) return "the opset is newer than those known here";
  const hone_onnx_row *row;
  bool known = false;
  const hone_op *op = hn_op_find_onnx(c->context->ops, domain, node->op_type, (int)opset, &row, &known);
  if (!op) return known ? "not supported in this opset" : "the operator is not supported";
  const hn_onnx_attribute *attributes = node->attributes.items;
  for (int64_t i = 0; i < node->attributes.count; ++i) {
    if (!hn_import_knows_attribute(op, row, attributes[i].name))
      return hn_arena_printf(&c->out->arena, "attribute %s is not known here", attributes[i].name);
  }
  return "";
}

static hone_status add_row(checker *c, const char *key, const hn_check_row *row) {
  hn_check *out = c->out;
  int *index = hn_table_get(&c->rows, key);
  if (!index) {
    index = HN_NEW(&out->arena, int, 1);
    if (!index || !hn_table_put(&c->rows, key, index) ||
        !hn_arena_grow(&out->arena, (void **)&out->rows, &out->row_capacity, out->row_count + 1, sizeof(hn_check_row)))
      return HN_FAIL_MEMORY(&c->context->diag);
    *index = out->row_count;
    out->rows[out->row_count++] = *row;
  }
  ++out->rows[*index].count;
  return HONE_OK;
}

static hone_status check_node(checker *c, const hn_onnx_node *node, int64_t index, const hn_proto_list *opsets) {
  hn_check *out = c->out;
  const char *domain = hn_onnx_domain(node->domain);
  int64_t opset = hn_onnx_opset_of(opsets, domain);
  if (opset == 0 && !*domain && c->model->ir_version < 3) opset = 1; /* before opset_import */
  hn_check_row row = {.op = node->op_type, .domain = *domain ? domain : "ai.onnx", .opset = opset};
  row.reason = reason_of(c, node, domain, opset);
  row.example = *node->name ? node->name : hn_arena_printf(&out->arena, "%s_%" PRId64, node->op_type, index);
  if (!row.reason || !row.example) return HN_FAIL_MEMORY(&c->context->diag);
  row.supported = !*row.reason;
  ++out->node_count;
  out->unsupported_nodes += !row.supported;
  const char *key = hn_arena_printf(&out->arena, "%s\n%s\n%" PRId64 "\n%s", row.domain, row.op, opset, row.reason);
  return key ? add_row(c, key, &row) : HN_FAIL_MEMORY(&c->context->diag);
}

/* Graphs inside nodes are at most as deep as the decoder allows. */
static hone_status check_nodes(checker *c, const hn_proto_list *nodes, const hn_proto_list *opsets) {
  const hn_onnx_node *items = nodes->items;
  for (int64_t i = 0; i < nodes->count; ++i) {
    if (i % 256 == 0) HN_TRY(hn_check_stop(c->context));
    if (!hn_onnx_find_function(c->model, &items[i])) HN_TRY(check_node(c, &items[i], i, opsets));
    const hn_onnx_attribute *attributes = items[i].attributes.items;
    for (int64_t a = 0; a < items[i].attributes.count; ++a) {
      if (attributes[a].g) HN_TRY(check_nodes(c, &attributes[a].g->nodes, opsets));
    }
  }
  return HONE_OK;
}

static int by_importance(const void *a, const void *b) {
  const hn_check_row *x = a, *y = b;
  if (x->supported != y->supported) return x->supported ? 1 : -1;
  const int domain = strcmp(x->domain, y->domain), op = strcmp(x->op, y->op);
  if (domain != 0 || op != 0) return domain != 0 ? domain : op;
  return (x->opset > y->opset) - (x->opset < y->opset);
}

static hone_status check_bytes(hone_context *context, const hn_blob *file, hn_check *out) {
  checker c = {.context = context, .out = out};
  hn_table_init(&c.rows, &out->arena);
  hn_onnx_model *model;
  HN_TRY(hn_onnx_decode(context, &out->arena, file->data, file->bytes, &model));
  c.model = model;
  if (!model->graph) return HN_FAIL(&context->diag, HONE_MALFORMED, "the file is not an ONNX model: it has no graph");
  out->ir_version = model->ir_version;
  out->opset = hn_onnx_opset_of(&model->opsets, "");
  out->graph_name = model->graph->name;
  out->producer = hn_arena_printf(&out->arena, "%s%s%s", model->producer_name, *model->producer_version ? " " : "",
                                  model->producer_version);
  if (!out->producer) return HN_FAIL_MEMORY(&context->diag);
  out->initializer_count = model->graph->initializers.count;
  out->input_count = model->graph->inputs.count;
  out->output_count = model->graph->outputs.count;
  out->function_count = model->functions.count;
  HN_TRY(check_nodes(&c, &model->graph->nodes, &model->opsets));
  const hn_onnx_function *functions = model->functions.items;
  for (int64_t i = 0; i < model->functions.count; ++i)
    HN_TRY(check_nodes(&c, &functions[i].nodes, &functions[i].opsets));
  if (out->row_count > 0) qsort(out->rows, (size_t)out->row_count, sizeof *out->rows, by_importance);
  return HONE_OK;
}

hone_status hn_check_onnx(hone_context *context, const char *path, hn_check *out) {
  *out = (hn_check){0};
  hn_blob file;
  HN_TRY(hn_file_map(&context->diag, path, &file));
  hn_arena_init(&out->arena, context->allocator);
  const hone_status status = check_bytes(context, &file, out);
  hn_blob_close(&file);
  if (status == HONE_OK) return HONE_OK;
  hn_check_deinit(out);
  return hone_note(&context->diag, status, "in %s", path);
}

void hn_check_deinit(hn_check *check) {
  hn_arena_deinit(&check->arena);
  *check = (hn_check){0};
}
