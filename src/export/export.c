/* SPDX-License-Identifier: Apache-2.0 */
/* export.c - a whole graph as an ONNX file. The structure is written in memory, weights go straight to the file: their
 * lengths are known, so the graph message's length is too. Large weights start at multiples of ALIGNMENT in the file,
 * so that a reader that maps it need not copy them. Field numbers: onnx.proto, ModelProto. */
#include "export/export.h"
#include "base/file.h"
#include "export/writer.h"

enum { MODEL_IR_VERSION = 1, MODEL_PRODUCER = 2, MODEL_PRODUCER_VERSION = 3, MODEL_GRAPH = 7, MODEL_OPSET = 8 };
enum { GRAPH_INITIALIZER = 5 };
enum { ALIGNMENT = 64, LARGE_BYTES = 1024 };

static void add_opset(hn_text *out, const char *domain, int64_t version) {
  hn_text opset;
  hn_text_init(&opset, out->allocator);
  hn_wire_string(&opset, 1, domain);
  hn_wire_int(&opset, 2, version);
  hn_wire_message(out, MODEL_OPSET, &opset);
  hn_text_deinit(&opset);
}

static void model_head(const hn_exporter *exporter, hn_text *out) {
  hn_wire_int(out, MODEL_IR_VERSION, HN_EXPORT_IR_VERSION);
  hn_wire_string(out, MODEL_PRODUCER, "hone");
  hn_wire_string(out, MODEL_PRODUCER_VERSION, hone_version());
  add_opset(out, "", HN_EXPORT_OPSET);
  for (int i = 0; i < exporter->domain_count; ++i) {
    const int64_t *version = hn_table_get(&exporter->domains, exporter->domain_list[i]);
    add_opset(out, exporter->domain_list[i], *version);
  }
}

/* Constants that some node or result of any block uses. */
static bool is_written(const hn_value *value) { return hn_value_is_constant(value) && hn_value_use_count(value) > 0; }

/* The field's head and the tensor's, which end where the raw bytes begin, at `offset` of the file or padded behind it.
 */
static void tensor_field(const hn_exporter *exporter, const hn_value *value, uint64_t offset, hn_text *scratch,
                         hn_text *out) {
  const hone_tensor *tensor = value->fact.constant;
  const size_t raw = hn_export_raw_bytes(tensor);
  size_t pad = 0;
  for (int attempt = 0; attempt < 3; ++attempt) { /* the padding may lengthen the length in front of it */
    hn_text_clear(scratch);
    hn_text_clear(out);
    hn_export_tensor_head(scratch, hn_export_name(exporter, value), tensor, pad);
    hn_wire_length(out, GRAPH_INITIALIZER, (uint64_t)scratch->length + raw);
    if (raw < LARGE_BYTES) break;
    const size_t over = (size_t)((offset + out->length + scratch->length) % ALIGNMENT);
    if (over == 0) break;
    pad = (pad + ALIGNMENT - over) % ALIGNMENT;
    if (pad < 2) pad += ALIGNMENT;
  }
  hn_text_add_bytes(out, hn_text_string(scratch), scratch->length);
  out->failed |= scratch->failed;
}

typedef hone_status (*tensor_visitor)(void *user, const hn_text *head, const hone_tensor *tensor, size_t raw_bytes);

/* Visits the initializers of a graph message whose other fields end at `offset` of the file. */
static hone_status each_tensor(hn_exporter *exporter, uint64_t offset, tensor_visitor visit, void *user) {
  hn_text scratch, head;
  hn_text_init(&scratch, exporter->graph->context->allocator);
  hn_text_init(&head, exporter->graph->context->allocator);
  hone_status status = HONE_OK;
  for (int i = 0; status == HONE_OK && i < exporter->graph->value_count; ++i) {
    const hn_value *value = exporter->graph->values[i];
    if (!is_written(value)) continue;
    tensor_field(exporter, value, offset, &scratch, &head);
    const size_t raw = hn_export_raw_bytes(value->fact.constant);
    status = head.failed ? HN_FAIL_MEMORY(exporter->diag) : visit(user, &head, value->fact.constant, raw);
    offset += head.length + raw;
  }
  hn_text_deinit(&head);
  hn_text_deinit(&scratch);
  return status;
}

static hone_status add_bytes(void *user, const hn_text *head, const hone_tensor *tensor, size_t raw_bytes) {
  uint64_t *total = user;
  (void)tensor;
  *total += head->length + raw_bytes;
  return HONE_OK;
}

typedef struct file_sink {
  hone_diagnostics *diag;
  hn_file_writer *writer;
} file_sink;

static hone_status write_tensor(void *user, const hn_text *head, const hone_tensor *tensor, size_t raw_bytes) {
  const file_sink *sink = user;
  HN_TRY(hn_file_write(sink->diag, sink->writer, head->data, head->length));
  return hn_file_write(sink->diag, sink->writer, tensor->data, raw_bytes);
}

/* Where the initializers begin depends on the width of the graph's length, and that length on the padding in front of
 * them: a few rounds settle it. */
static hone_status settle_length(hn_exporter *exporter, size_t head_bytes, size_t body_bytes, uint64_t *out) {
  uint64_t total = body_bytes;
  for (int round = 0; round < 4; ++round) {
    const uint64_t offset = head_bytes + 1 + hn_wire_varint_bytes(total) + body_bytes;
    uint64_t next = body_bytes;
    HN_TRY(each_tensor(exporter, offset, add_bytes, &next));
    *out = next;
    if (hn_wire_varint_bytes(next) == hn_wire_varint_bytes(total)) return HONE_OK;
    total = next;
  }
  return HN_FAIL(exporter->diag, HONE_INTERNAL, "the length of the graph does not settle");
}

static hone_status write_file(hn_exporter *exporter, const char *path, hn_text *head, const hn_text *body) {
  uint64_t total = 0;
  HN_TRY(settle_length(exporter, head->length, body->length, &total));
  hn_wire_length(head, MODEL_GRAPH, total);
  if (head->failed || body->failed) return HN_FAIL_MEMORY(exporter->diag);
  hn_file_writer writer;
  const file_sink sink = {exporter->diag, &writer};
  HN_TRY(hn_file_begin(exporter->diag, &writer, path));
  hone_status status = hn_file_write(exporter->diag, &writer, head->data, head->length);
  if (status == HONE_OK) status = hn_file_write(exporter->diag, &writer, hn_text_string(body), body->length);
  if (status == HONE_OK) status = each_tensor(exporter, writer.offset, write_tensor, (void *)(uintptr_t)&sink);
  if (status == HONE_OK) status = hn_file_commit(exporter->diag, &writer);
  if (status != HONE_OK) hn_file_abandon(&writer);
  return status;
}

static hone_status export_graph(hn_exporter *exporter, const char *path) {
  hone_graph *graph = exporter->graph;
  HN_TRY(hn_export_expand(graph));
  exporter->names = HN_NEW(&exporter->arena, const char *, graph->value_count);
  if (!exporter->names) return HN_FAIL_MEMORY(exporter->diag);
  for (int i = 0; i < graph->main->result_count; ++i) {
    if (!hn_table_put(&exporter->taken, graph->output_names[i], exporter)) return HN_FAIL_MEMORY(exporter->diag);
  }
  hn_text head, body;
  hn_text_init(&head, graph->context->allocator);
  hn_text_init(&body, graph->context->allocator);
  hone_status status = hn_export_block(exporter, &body, graph->name && *graph->name ? graph->name : "graph",
                                       graph->main, graph->main->param_count);
  if (status == HONE_OK) status = exporter->worst;
  if (status == HONE_OK) {
    model_head(exporter, &head);
    status = write_file(exporter, path, &head, &body);
  }
  hn_text_deinit(&body);
  hn_text_deinit(&head);
  return status;
}

hone_status hn_export_onnx(const hone_graph *graph, const char *path) {
  hn_exporter exporter = {.diag = &graph->context->diag};
  HN_TRY(hn_graph_clone(graph, &exporter.graph));
  hn_arena_init(&exporter.arena, graph->context->allocator);
  hn_table_init(&exporter.taken, &exporter.arena);
  hn_table_init(&exporter.domains, &exporter.arena);
  const hone_status status = export_graph(&exporter, path);
  hn_arena_deinit(&exporter.arena);
  hn_graph_destroy(exporter.graph);
  return status;
}
