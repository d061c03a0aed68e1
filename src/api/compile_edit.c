/* SPDX-License-Identifier: Apache-2.0 */
/* compile_edit.c - ONNX models as they are written, for users: loaded, edited, saved. */
#include "base/arguments.h"
#include "edit/model.h"
#include "tensor/shape.h"
#include <string.h>

hone_status hone_model_load(hone_context *context, const char *path, hone_model **out_model) {
  if (out_model) *out_model = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, path);
  HN_GIVEN(&context->diag, out_model);
  hn_call_begin(context);
  hone_model *model = hn_alloc_zero(&context->allocator, sizeof *model);
  if (!model) return HN_FAIL_MEMORY(&context->diag);
  model->context = context;
  hn_arena_init(&model->arena, context->allocator);
  hn_text_init(&model->opsets, context->allocator);
  hn_table_init(&model->types, &model->arena);
  model->path = hn_arena_text(&model->arena, path);
  hone_status status = model->path ? hn_file_map(&context->diag, path, &model->file) : HN_FAIL_MEMORY(&context->diag);
  model->raw = (hn_proto_bytes){model->file.data, model->file.bytes};
  if (status == HONE_OK) {
    status = hn_edit_read(model);
    if (status != HONE_OK) (void)hone_note(&context->diag, status, "in %s", path);
  }
  if (status != HONE_OK)
    hone_model_destroy(model);
  else
    *out_model = model;
  return status;
}

void hone_model_destroy(hone_model *model) {
  if (!model) return;
  hone_context *context = model->context;
  hn_text_deinit(&model->opsets);
  hn_arena_deinit(&model->arena);
  hn_blob_close(&model->file);
  hn_free(&context->allocator, model, sizeof *model);
}

hone_status hone_model_edit(hone_model *model, const char *script) {
  HN_GIVEN(NULL, model);
  HN_GIVEN(&model->context->diag, script);
  hn_call_begin(model->context);
  return hn_edit_run(model, script);
}

static hone_status save(hone_model *model, const hn_edit_graph *graph, const char *path) {
  hn_text bytes;
  hn_text_init(&bytes, model->context->allocator);
  hone_status status = hn_edit_write(model, graph, false, &bytes);
  if (status == HONE_OK) status = hn_file_replace(&model->context->diag, path, hn_text_string(&bytes), bytes.length);
  hn_text_deinit(&bytes);
  return status;
}

hone_status hone_model_save(hone_model *model, const char *path) {
  HN_GIVEN(NULL, model);
  HN_GIVEN(&model->context->diag, path);
  hn_call_begin(model->context);
  return save(model, &model->graph, path);
}

hone_status hone_model_write(hone_model *model, hone_write_fn write, void *user) {
  HN_GIVEN(NULL, model);
  HN_GIVEN(&model->context->diag, write);
  hn_call_begin(model->context);
  hn_text bytes;
  hn_text_init(&bytes, model->context->allocator);
  hone_status status = hn_edit_write(model, &model->graph, false, &bytes);
  if (status == HONE_OK && !write(user, hn_text_string(&bytes), bytes.length))
    status = HN_FAIL(&model->context->diag, HONE_IO, "the model's bytes could not be written");
  hn_text_deinit(&bytes);
  return status;
}

int hone_model_node_count(const hone_model *model) { return model ? model->graph.node_count : 0; }
int hone_model_input_count(const hone_model *model) { return model ? model->graph.inputs.count : 0; }

static const hn_edit_node *node_at(const hone_model *model, int index) {
  return model && index >= 0 && index < model->graph.node_count ? model->graph.nodes[index] : NULL;
}

const char *hone_model_node_name(const hone_model *model, int index) {
  const hn_edit_node *node = node_at(model, index);
  return node ? node->name : NULL;
}

const char *hone_model_node_op(const hone_model *model, int index) {
  const hn_edit_node *node = node_at(model, index);
  return node ? node->op : NULL;
}

const char *hone_model_input_name(const hone_model *model, int index) {
  return model && index >= 0 && index < model->graph.inputs.count ? model->graph.inputs.items[index].name : NULL;
}

/* Searches ask for thousands of parts: what one needs is given back. */
static hone_status save_part(hone_model *model, const bool *keep, const hone_named_tensor *constants, int count,
                             const char *path) {
  hn_edit_tensor *tensors = HN_NEW(&model->arena, hn_edit_tensor, count + 1);
  if (!tensors) return HN_FAIL_MEMORY(&model->context->diag);
  for (int i = 0; i < count; ++i) {
    tensors[i].name = constants[i].name;
    HN_TRY(hn_edit_encode_tensor(model, constants[i].name, &constants[i].tensor, &tensors[i].raw));
  }
  const hn_edit_part part = {.keep = keep, .constants = tensors, .constant_count = count};
  hn_edit_graph graph = model->graph;
  HN_TRY(hn_edit_take_part(model, &part, &graph));
  return save(model, &graph, path);
}

hone_status hone_model_save_part(hone_model *model, const bool *keep, const hone_named_tensor *constants,
                                 int constant_count, const char *path) {
  HN_GIVEN(NULL, model);
  hone_diagnostics *diag = &model->context->diag;
  HN_GIVEN(diag, keep);
  HN_GIVEN(diag, path);
  HN_TRY(hn_argument_list(diag, "constants", constants, constant_count, INT32_MAX));
  for (int i = 0; i < constant_count; ++i) {
    if (!constants[i].name) return HN_FAIL(diag, HONE_INVALID, "constant %d has no name", i);
    HN_TRY(hn_tensor_check(diag, constants[i].name, &constants[i].tensor));
  }
  hn_call_begin(model->context);
  HN_TRY(hn_edit_infer_types(model)); /* they stay */
  const hn_arena_mark mark = hn_arena_here(&model->arena);
  const hone_status status = save_part(model, keep, constants, constant_count, path);
  hn_arena_back(&model->arena, &mark);
  return status;
}
