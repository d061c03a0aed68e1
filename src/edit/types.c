/* SPDX-License-Identifier: Apache-2.0 */
/* types.c - what is known of a value's type: what the model states of it, else what hone's import infers. A model that
 * cannot be imported is inferred as far as its nodes can be: by the longest run of first nodes that can. */
#include "edit/model.h"
#include "export/wire.h"
#include "import/import.h"
#include "ops/onnx_tensor.h"
#include "tensor/dims.h"
#include "tensor/shape.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* TypeProto, TypeProto.Tensor, TensorShapeProto, Dimension */
enum { TYPE_TENSOR = 1, TENSOR_ELEMENT = 1, TENSOR_SHAPE = 2, SHAPE_DIM = 1, DIM_VALUE = 1, DIM_PARAM = 2 };

typedef struct type_writer {
  hn_text type, tensor, shape, dim;
} type_writer;

static void writer_begin(type_writer *w, hn_allocator allocator) {
  hn_text *const texts[] = {&w->type, &w->tensor, &w->shape, &w->dim};
  for (size_t i = 0; i < HN_COUNT(texts); ++i) hn_text_init(texts[i], allocator);
}

/* The finished TypeProto, kept in the arena. */
static hone_status writer_end(type_writer *w, hone_model *model, bool has_shape, hn_proto_bytes *out) {
  if (has_shape) hn_wire_message(&w->tensor, TENSOR_SHAPE, &w->shape);
  hn_wire_message(&w->type, TYPE_TENSOR, &w->tensor);
  *out = (hn_proto_bytes){.data = hn_arena_copy(&model->arena, hn_text_string(&w->type), w->type.length),
                          .length = w->type.length};
  const bool failed = w->type.failed || w->tensor.failed || w->shape.failed || w->dim.failed || !out->data;
  hn_text *const texts[] = {&w->type, &w->tensor, &w->shape, &w->dim};
  for (size_t i = 0; i < HN_COUNT(texts); ++i) hn_text_deinit(texts[i]);
  return failed ? HN_FAIL_MEMORY(&model->context->diag) : HONE_OK;
}

/* ---- what is inferred ---- */

static hone_status keep_type(hone_model *model, const hone_graph *graph, const hn_value *value) {
  const hone_type *type = &value->fact.type;
  if (!value->name || type->kind != HONE_TENSOR || type->dtype == HONE_NONE) return HONE_OK;
  type_writer w;
  writer_begin(&w, model->context->allocator);
  hn_wire_int(&w.tensor, TENSOR_ELEMENT, hn_onnx_of_dtype(type->dtype));
  for (int d = 0; d < type->shape.rank; ++d) {
    const hn_dim_symbol *symbol = hn_dim_symbol_at(&graph->dims, type->shape.dim[d], NULL);
    if (!HONE_SYMBOLIC(type->shape.dim[d]))
      hn_wire_int(&w.dim, DIM_VALUE, type->shape.dim[d]);
    else if (symbol && symbol->name && !strchr(symbol->name, '#'))
      hn_wire_string(&w.dim, DIM_PARAM, symbol->name);
    hn_wire_message(&w.shape, SHAPE_DIM, &w.dim);
  }
  hn_proto_bytes *kept = HN_NEW(&model->arena, hn_proto_bytes, 1);
  const char *name = hn_arena_text(&model->arena, value->name);
  if (!kept || !name) return HN_FAIL_MEMORY(&model->context->diag);
  HN_TRY(writer_end(&w, model, type->shape.rank >= 0, kept));
  return hn_table_put(&model->types, name, kept) ? HONE_OK : HN_FAIL_MEMORY(&model->context->diag);
}

/* Imports the first `count` nodes, with every value of theirs that no other reads as an output, and takes the types. */
static hone_status infer_first(hone_model *model, int count) {
  hone_context *context = model->context;
  const int before = context->diag.count;
  bool *keep = HN_NEW(&model->arena, bool, model->graph.node_count + 1);
  if (!keep) return HN_FAIL_MEMORY(&context->diag);
  for (int i = 0; i < count; ++i) keep[i] = true;
  const hn_edit_part part = {.keep = keep};
  hn_edit_graph graph = model->graph;
  model->types_known = true; /* no type is looked for while types are looked for: all cuts are behind these nodes */
  hone_status status = hn_edit_take_part(model, &part, &graph);
  model->types_known = false;
  hn_text bytes;
  hn_text_init(&bytes, context->allocator);
  if (status == HONE_OK) status = hn_edit_write(model, &graph, true, &bytes);
  hone_graph *imported = NULL;
  if (status == HONE_OK)
    status = hn_import_onnx_memory(context, hn_text_string(&bytes), bytes.length, model->path, &imported);
  for (int i = 0; status == HONE_OK && i < imported->value_count; ++i)
    if (!hn_value_is_dead(imported->values[i])) status = keep_type(model, imported, imported->values[i]);
  hn_graph_destroy(imported);
  hn_text_deinit(&bytes);
  if (status != HONE_OK && status != HONE_NO_MEMORY) hn_diag_cut(&context->diag, before);
  return status;
}

hone_status hn_edit_infer_types(hone_model *model) {
  if (model->types_known) return HONE_OK;
  hn_table_init(&model->types, &model->arena);
  int known = 0, tried = model->graph.node_count + 1;
  hone_status status = infer_first(model, model->graph.node_count);
  if (status == HONE_OK) known = model->graph.node_count;
  while (status != HONE_NO_MEMORY && known < model->graph.node_count && tried - known > 1) {
    const int middle = known + (tried - known) / 2;
    status = middle > 0 ? infer_first(model, middle) : HONE_OK;
    if (status == HONE_OK)
      known = middle;
    else
      tried = middle;
  }
  model->types_known = status != HONE_NO_MEMORY;
  return status == HONE_NO_MEMORY ? status : HONE_OK;
}

hone_status hn_edit_type_of(hone_model *model, const char *value, hn_proto_bytes *out) {
  const hn_edit_values *const said[] = {&model->graph.inputs, &model->graph.outputs, &model->graph.infos};
  *out = (hn_proto_bytes){0};
  for (size_t i = 0; i < HN_COUNT(said) && !out->data; ++i) {
    const hn_edit_value *found = hn_edit_find_value(said[i], value);
    if (found) *out = found->type;
  }
  if (out->data) return HONE_OK;
  HN_TRY(hn_edit_infer_types(model));
  const hn_proto_bytes *kept = hn_table_get(&model->types, value);
  if (kept) *out = *kept;
  return HONE_OK;
}

/* ---- types as text ---- */

static hone_status bad_type(hone_model *model, const char *text) {
  return HN_FAIL(&model->context->diag, HONE_INVALID,
                 "%s is not a type; expected an element type and dims, as f32[1,3,N,?] or i64[2] (a name is a free "
                 "dim, ? an unknown one, no brackets an unknown rank)",
                 text);
}

hone_status hn_edit_parse_type(hone_model *model, const char *text, hn_proto_bytes *out) {
  const size_t letters = strcspn(text, "["), length = strlen(text);
  char word[HN_DIAG_TEXT_BYTES];
  if (length >= sizeof word || (text[letters] && text[length - 1] != ']')) return bad_type(model, text);
  (void)snprintf(word, sizeof word, "%.*s", (int)letters, text);
  const hone_dtype dtype = hone_dtype_find(word);
  if (dtype == HONE_NONE) return bad_type(model, text);
  type_writer w;
  writer_begin(&w, model->context->allocator);
  hn_wire_int(&w.tensor, TENSOR_ELEMENT, hn_onnx_of_dtype(dtype));
  bool good = true;
  for (const char *at = text + letters; good && *at && *at != ']' && at[1] != ']';) {
    const size_t used = strcspn(++at, ",]");
    (void)snprintf(word, sizeof word, "%.*s", (int)used, at);
    char *end;
    const long long number = strtoll(word, &end, 10);
    good = used > 0 && (*end || number >= 0);
    if (!*end)
      hn_wire_int(&w.dim, DIM_VALUE, number);
    else if (strcmp(word, "?") != 0)
      hn_wire_string(&w.dim, DIM_PARAM, word);
    hn_wire_message(&w.shape, SHAPE_DIM, &w.dim);
    at += used;
  }
  HN_TRY(writer_end(&w, model, text[letters] == '[', out));
  return good ? HONE_OK : bad_type(model, text);
}
