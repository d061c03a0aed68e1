/* SPDX-License-Identifier: Apache-2.0 */
/* function.c - a call of a model-local function: its nodes take the call's place, named after it. */
#include "import/importer.h"

static hone_status bind_inputs(hn_import_call *call, const hn_onnx_function *function, hn_scope *body) {
  hn_importer *importer = call->importer;
  const char *const *names = function->inputs.items;
  if (call->in_count > function->inputs.count)
    return HN_FAIL(importer->diag, HONE_MALFORMED, "%d inputs, but the function has %d", call->in_count,
                   (int)function->inputs.count);
  for (int i = 0; i < (int)function->inputs.count; ++i) {
    hn_value *value = i < call->in_count && call->in[i] ? call->in[i] : &importer->absent;
    HN_TRY(hn_scope_bind(importer, body, names[i], value));
  }
  return HONE_OK;
}

hone_status hn_import_function(hn_import_call *call, const hn_onnx_function *function) {
  hn_importer *importer = call->importer;
  const hn_import_frame *outer = call->scope->frame;
  const hn_import_frame frame = {.outer = outer,
                                 .function = function,
                                 .node = call->node,
                                 .name = call->name,
                                 .depth = outer ? outer->depth + 1 : 1};
  if (frame.depth > HN_IMPORT_MAX_CALLS)
    return HN_FAIL(importer->diag, HONE_LIMIT, "functions call each other more than %d deep", HN_IMPORT_MAX_CALLS);
  if (call->out_count > function->outputs.count)
    return HN_FAIL(importer->diag, HONE_MALFORMED, "%d outputs, but the function has %d", call->out_count,
                   (int)function->outputs.count);
  hn_scope body;
  HN_TRY(hn_scope_init(importer, &body, NULL, call->scope->block));
  body.opsets = &function->opsets;
  body.frame = &frame;
  HN_TRY(bind_inputs(call, function, &body));
  HN_TRY(hn_import_nodes(importer, &body, &function->nodes));
  const char *const *names = function->outputs.items;
  for (int i = 0; i < call->out_count; ++i) {
    call->out[i] = hn_scope_find(&body, names[i]);
    if (!call->out[i] || call->out[i] == &importer->absent)
      return HN_FAIL(importer->diag, HONE_MALFORMED, "the function does not make its output \"%s\"", names[i]);
  }
  call->done = true;
  return HONE_OK;
}
