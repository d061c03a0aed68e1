/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - coverage of a model: each node is looked up, then the model is imported, and what that complains about is
 * put down to the operators' rows. */
#include "import/check.h"
#include "base/looks.h"
#include "import/import.h"
#include "import/importer.h"
#include <inttypes.h>
#include <stdio.h>
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
  const char *says = op ? NULL : hn_import_foreign(domain, node->op_type);
  if (says) return says;
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
  return hn_table_put(&out->places, row->example, index) ? HONE_OK : HN_FAIL_MEMORY(&c->context->diag);
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

/* Inputs that are initializers too are constants: old files listed them all. */
static hone_status count_inputs(checker *c, const hn_onnx_graph *graph) {
  const hn_onnx_tensor *tensors = graph->initializers.items;
  const hn_onnx_value_info *inputs = graph->inputs.items;
  hn_table initial;
  hn_table_init(&initial, &c->out->arena);
  for (int64_t i = 0; i < graph->initializers.count; ++i)
    if (!hn_table_put(&initial, tensors[i].name, c)) return HN_FAIL_MEMORY(&c->context->diag);
  for (int64_t i = 0; i < graph->inputs.count; ++i) c->out->input_count += !hn_table_get(&initial, inputs[i].name);
  return HONE_OK;
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

/* ---- what importing and building say ---- */

/* node "NAME" (..., node NAME (... */
const char *hn_check_node_of(const char *text, char *out, size_t room, int *out_length) {
  if (strncmp(text, "node ", 5) != 0) return NULL;
  const char *begin = text + 5 + (text[5] == '"'), *end = strstr(begin, text[5] == '"' ? "\" (" : " (");
  if (!end) return NULL;
  (void)snprintf(out, room, "%.*s", (int)(end - begin), begin);
  const char *reason = strstr(text, "): ");
  reason = reason ? reason + 3 : text;
  *out_length = (int)strcspn(reason, "\n");
  return reason;
}

static hn_check_row *row_of_message(hn_check *check, const char *text) {
  char name[HN_DIAG_TEXT_BYTES];
  int length;
  if (!hn_check_node_of(text, name, sizeof name, &length)) return NULL;
  for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
    const int *index = hn_table_get(&check->places, part); /* a function's node has the call's name in front */
    if (index) return &check->rows[*index];
  }
  return NULL;
}

void hn_check_blame(hn_check *check, hone_context *context, int from) {
  hone_diagnostics *diag = &context->diag;
  int kept = from;
  for (int i = from; i < diag->count; ++i) {
    hn_diag_entry *entry = &diag->entries[i];
    hn_check_row *row = entry->status == HONE_UNSUPPORTED ? row_of_message(check, entry->text) : NULL;
    if (!row) {
      diag->entries[kept++] = *entry;
      continue;
    }
    if (!row->supported) continue; /* the first reason tells most */
    char name[HN_DIAG_TEXT_BYTES];
    int length = 0;
    const char *reason = hn_check_node_of(entry->text, name, sizeof name, &length);
    row->reason = hn_arena_printf(&check->arena, "%.*s", length, reason);
    if (!row->reason) row->reason = "it cannot be built";
    row->supported = false;
    check->unsupported_nodes += row->count;
  }
  diag->count = kept;
}

void hn_check_slow(hn_check *check, const char *node, double ns) {
  const char *last = strrchr(node, '/');
  const int *index = hn_table_get(&check->places, node);
  if (!index && last) index = hn_table_get(&check->places, last + 1);
  if (!index) return;
  check->rows[*index].slow_ns += ns;
  if (check->rows[*index].slow_count < check->rows[*index].count) ++check->rows[*index].slow_count;
}

static void import(hone_context *context, const char *path, hn_check *out) {
  const int from = context->diag.count;
  out->status = hn_import_onnx_memory(context, out->file.data, out->file.bytes, path, &out->graph);
  if (out->status != HONE_UNSUPPORTED) return;
  hn_check_blame(out, context, from);
  if (context->diag.count == from) out->status = HONE_OK; /* the rows say it all */
}

static int by_importance(const void *a, const void *b) {
  const hn_check_row *x = a, *y = b;
  if (x->supported != y->supported) return x->supported ? 1 : -1;
  const int domain = strcmp(x->domain, y->domain), op = strcmp(x->op, y->op);
  if (domain != 0 || op != 0) return domain != 0 ? domain : op;
  return (x->opset > y->opset) - (x->opset < y->opset);
}

static hone_status check_bytes(hone_context *context, const char *path, const hn_blob *file, hn_check *out) {
  checker c = {.context = context, .out = out};
  hn_table_init(&c.rows, &out->arena);
  hn_onnx_model *model;
  const int from = context->diag.count;
  hone_status status = hn_onnx_decode(context, &out->arena, file->data, file->bytes, &model);
  if (status == HONE_OK && !model->graph)
    status = HN_FAIL(&context->diag, HONE_MALFORMED, "the file is not an ONNX model: it has no graph");
  if (status == HONE_MALFORMED &&
      hn_say_looks(&context->diag, from, status, HN_WANTED_MODEL, path, file->data, file->bytes))
    return status;
  if (status != HONE_OK) return hone_note(&context->diag, status, "in %s", path);
  c.model = model;
  out->ir_version = model->ir_version;
  out->opset = hn_onnx_opset_of(&model->opsets, "");
  out->graph_name = model->graph->name;
  out->producer = hn_arena_printf(&out->arena, "%s%s%s", model->producer_name, *model->producer_version ? " " : "",
                                  model->producer_version);
  if (!out->producer) return HN_FAIL_MEMORY(&context->diag);
  out->initializer_count = model->graph->initializers.count;
  HN_TRY(count_inputs(&c, model->graph));
  out->output_count = model->graph->outputs.count;
  out->function_count = model->functions.count;
  HN_TRY(check_nodes(&c, &model->graph->nodes, &model->opsets));
  const hn_onnx_function *functions = model->functions.items;
  for (int64_t i = 0; i < model->functions.count; ++i)
    HN_TRY(check_nodes(&c, &functions[i].nodes, &functions[i].opsets));
  return HONE_OK;
}

void hn_check_sort(hn_check *check) {
  if (check->row_count > 0) qsort(check->rows, (size_t)check->row_count, sizeof *check->rows, by_importance);
}

hone_status hn_check_onnx(hone_context *context, const char *path, hn_check *out) {
  *out = (hn_check){0};
  HN_TRY(hn_file_map(&context->diag, path, &out->file));
  hn_arena_init(&out->arena, context->allocator);
  hn_table_init(&out->places, &out->arena);
  const hone_status status = check_bytes(context, path, &out->file, out);
  if (status == HONE_OK) {
    import(context, path, out);
    return HONE_OK;
  }
  hn_check_deinit(out);
  return status;
}

void hn_check_deinit(hn_check *check) {
  hn_graph_destroy(check->graph);
  hn_blob_close(&check->file);
  hn_arena_deinit(&check->arena);
  *check = (hn_check){0};
}
