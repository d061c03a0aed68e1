/* SPDX-License-Identifier: Apache-2.0 */
/* change.c - edits of single nodes, values and types. What they make superfluous is dropped. */
#include "edit/model.h"
#include "export/wire.h"
#include "export/writer.h"
#include <string.h>

bool hn_edit_push_node(hone_model *model, hn_edit_graph *graph, int at, hn_edit_node *node) {
  if (!hn_arena_grow(&model->arena, (void **)&graph->nodes, &graph->node_capacity, graph->node_count + 1,
                     sizeof *graph->nodes))
    return false;
  memmove(&graph->nodes[at + 1], &graph->nodes[at], (size_t)(graph->node_count - at) * sizeof *graph->nodes);
  graph->nodes[at] = node;
  ++graph->node_count;
  return true;
}

bool hn_edit_push_value(hone_model *model, hn_edit_values *values, const hn_edit_value *value) {
  if (!hn_arena_grow(&model->arena, (void **)&values->items, &values->capacity, values->count + 1,
                     sizeof *values->items))
    return false;
  values->items[values->count++] = *value;
  return true;
}

const char *hn_edit_new_name(hone_model *model, const char *stem) {
  const hn_edit_graph *graph = &model->graph;
  if (!stem) return NULL; /* no memory for it */
  if (!hn_edit_is_value(graph, stem) && !hn_edit_find_node(graph, stem)) return hn_arena_text(&model->arena, stem);
  for (int number = 1;; ++number) {
    const char *name = hn_arena_printf(&model->arena, "%s_%d", stem, number);
    if (!name || (!hn_edit_is_value(graph, name) && !hn_edit_find_node(graph, name))) return name;
  }
}

static void drop_value(hn_edit_values *values, const char *name) {
  for (int i = 0; i < values->count; ++i)
    if (strcmp(values->items[i].name, name) == 0) {
      --values->count;
      memmove(&values->items[i], &values->items[i + 1], (size_t)(values->count - i) * sizeof *values->items);
      return;
    }
}

static void drop_node(hn_edit_graph *graph, const hn_edit_node *node) {
  int kept = 0;
  for (int i = 0; i < graph->node_count; ++i)
    if (graph->nodes[i] != node) graph->nodes[kept++] = graph->nodes[i];
  graph->node_count = kept;
}

/* ---- nodes ---- */

/* An output that the node wrote is written by what made its input, under the output's name: names of outputs stay. */
static hone_status keep_output(hone_model *model, const char *output, const char *input) {
  hn_edit_graph *graph = &model->graph;
  if (!hn_edit_find_value(&graph->outputs, output)) return HONE_OK;
  hn_edit_node *maker = hn_edit_producer(graph, input);
  if (!maker || hn_edit_find_value(&graph->outputs, input))
    return HN_FAIL(&model->context->diag, HONE_INVALID,
                   "%s is an output, and without its node would be %s itself, which is %s", output, input,
                   maker ? "an output, too" : "an input or a constant");
  for (int k = 0; k < maker->out_count; ++k)
    if (strcmp(maker->out[k], input) == 0) maker->out[k] = output;
  hn_edit_redirect(graph, input, output, NULL);
  return HONE_OK;
}

hone_status hn_edit_remove_node(hone_model *model, const char *name) {
  hn_edit_graph *graph = &model->graph;
  hn_edit_node *node;
  HN_TRY(hn_edit_want_node(model, name, &node));
  if (node->in_count == 0 || !*node->in[0])
    return HN_FAIL(&model->context->diag, HONE_INVALID,
                   "node %s (%s) reads nothing that its readers could read instead", name, node->op);
  for (int k = 1; k < node->out_count; ++k)
    if (*node->out[k] && hn_edit_use_count(graph, node->out[k]) > 0)
      return HN_FAIL(&model->context->diag, HONE_INVALID,
                     "node %s (%s) writes %s, too, which is read: only what it writes first has a stand-in, its first "
                     "input",
                     name, node->op, node->out[k]);
  const char *input = node->in[0], *output = node->out[0];
  drop_node(graph, node);
  hn_edit_redirect(graph, output, input, NULL);
  const hone_status status = keep_output(model, output, input);
  hn_edit_drop_unread(model);
  return status;
}

hone_status hn_edit_insert(hone_model *model, hn_edit_node *node, const char *instead_of) {
  hn_edit_graph *graph = &model->graph;
  int at = 0;
  for (int i = 0; i < node->in_count; ++i) {
    if (!*node->in[i]) continue;
    HN_TRY(hn_edit_want_value(model, node->in[i]));
    for (int n = 0; n < graph->node_count; ++n)
      for (int k = 0; k < graph->nodes[n]->out_count; ++k)
        if (strcmp(graph->nodes[n]->out[k], node->in[i]) == 0 && n + 1 > at) at = n + 1;
  }
  for (int k = 0; k < node->out_count; ++k)
    if (hn_edit_is_value(graph, node->out[k]))
      return HN_FAIL(&model->context->diag, HONE_INVALID, "there is a value %s already", node->out[k]);
  if (instead_of) {
    HN_TRY(hn_edit_want_value(model, instead_of));
    if (hn_edit_find_value(&graph->outputs,
                           instead_of)) { /* the output keeps its name, and so what it was gets another */
      const char *name = hn_edit_new_name(model, hn_arena_printf(&model->arena, "%s_before", instead_of));
      hn_edit_node *maker = hn_edit_producer(graph, instead_of);
      if (!name) return HN_FAIL_MEMORY(&model->context->diag);
      if (!maker)
        return HN_FAIL(&model->context->diag, HONE_INVALID, "%s is an output that no node writes", instead_of);
      for (int k = 0; k < maker->out_count; ++k)
        if (strcmp(maker->out[k], instead_of) == 0) maker->out[k] = name;
      for (int i = 0; i < node->in_count; ++i)
        if (strcmp(node->in[i], instead_of) == 0) node->in[i] = name;
      node->out[0] = instead_of;
    } else {
      hn_edit_redirect(graph, instead_of, node->out[0], node);
    }
  }
  if (!hn_edit_push_node(model, graph, at, node)) return HN_FAIL_MEMORY(&model->context->diag);
  return hn_edit_add_domain(model, node->domain);
}

hone_status hn_edit_add_domain(hone_model *model, const char *domain) {
  enum { IMPORT_DOMAIN = 1, IMPORT_VERSION = 2 };
  const hn_proto_bytes added = {(const uint8_t *)hn_text_string(&model->opsets), model->opsets.length};
  const hn_proto_bytes places[] = {model->raw, added};
  for (size_t i = 0; i < HN_COUNT(places); ++i) {
    hn_edit_field field, part;
    const uint8_t *at = NULL;
    while (hn_edit_next(places[i], &at, &field)) {
      if (field.number != HN_MODEL_OPSET) continue;
      const uint8_t *inner = NULL;
      hn_proto_bytes name = {0};
      while (hn_edit_next(field.payload, &inner, &part))
        if (part.number == IMPORT_DOMAIN) name = part.payload;
      if (name.length == strlen(domain) && (name.length == 0 || memcmp(name.data, domain, name.length) == 0))
        return HONE_OK;
      if (!*domain && name.length == 7 && memcmp(name.data, "ai.onnx", 7) == 0) return HONE_OK;
    }
  }
  hn_text import;
  hn_text_init(&import, model->context->allocator);
  hn_wire_string(&import, IMPORT_DOMAIN, domain);
  hn_wire_int(&import, IMPORT_VERSION, *domain ? 1 : HN_EXPORT_OPSET);
  hn_wire_message(&model->opsets, HN_MODEL_OPSET, &import);
  hn_text_deinit(&import);
  return model->opsets.failed ? HN_FAIL_MEMORY(&model->context->diag) : HONE_OK;
}

/* ---- names ---- */

static void rename_values(hn_edit_values *values, const char *from, const char *to) {
  hn_edit_value *value = hn_edit_find_value(values, from);
  if (value) value->name = to;
}

hone_status hn_edit_rename(hone_model *model, const char *from, const char *to) {
  hn_edit_graph *graph = &model->graph;
  const char *name = hn_arena_text(&model->arena, to);
  if (!name) return HN_FAIL_MEMORY(&model->context->diag);
  hn_edit_node *node = hn_edit_find_node(graph, from);
  if (!node) HN_TRY(hn_edit_want_value(model, from));
  if (hn_edit_is_value(graph, to) || hn_edit_find_node(graph, to))
    return HN_FAIL(&model->context->diag, HONE_INVALID, "%s has that name already; rename takes one that is free", to);
  if (node) {
    node->name = name;
    if (!hn_edit_is_value(graph, from)) return HONE_OK; /* a value of the same name is renamed, too */
  }
  for (int i = 0; i < graph->node_count; ++i)
    for (int k = 0; k < graph->nodes[i]->out_count; ++k)
      if (strcmp(graph->nodes[i]->out[k], from) == 0) graph->nodes[i]->out[k] = name;
  hn_edit_tensor *tensor = hn_edit_find_tensor(graph, from);
  if (tensor) tensor->name = name;
  rename_values(&graph->inputs, from, name);
  rename_values(&graph->outputs, from, name);
  rename_values(&graph->infos, from, name);
  hn_edit_redirect(graph, from, name, NULL);
  return HONE_OK;
}

/* ---- types and outputs ---- */

hone_status hn_edit_set_type(hone_model *model, const char *value, const char *type) {
  hn_edit_graph *graph = &model->graph;
  HN_TRY(hn_edit_want_value(model, value));
  if (hn_edit_find_tensor(graph, value) && !hn_edit_find_value(&graph->inputs, value))
    return HN_FAIL(&model->context->diag, HONE_INVALID, "%s is a constant: its numbers have their type", value);
  hn_edit_value said = {.name = hn_arena_text(&model->arena, value)};
  if (!said.name) return HN_FAIL_MEMORY(&model->context->diag);
  HN_TRY(hn_edit_parse_type(model, type, &said.type));
  hn_edit_values *const places[] = {&graph->inputs, &graph->outputs, &graph->infos};
  hn_edit_value *found = NULL;
  for (size_t i = 0; i < HN_COUNT(places) && !found; ++i) {
    found = hn_edit_find_value(places[i], value);
    /* what was said of other values was inferred from this one */
    if (found && places[i] == &graph->inputs) graph->infos.count = 0;
    if (found) found->type = said.type;
  }
  if (!found && !hn_edit_push_value(model, &graph->infos, &said)) return HN_FAIL_MEMORY(&model->context->diag);
  return HONE_OK;
}

hone_status hn_edit_add_output(hone_model *model, const char *value) {
  hn_edit_graph *graph = &model->graph;
  HN_TRY(hn_edit_want_value(model, value));
  if (hn_edit_find_value(&graph->outputs, value))
    return HN_FAIL(&model->context->diag, HONE_INVALID, "%s is an output already", value);
  hn_edit_value output = {.name = hn_arena_text(&model->arena, value)};
  if (!output.name) return HN_FAIL_MEMORY(&model->context->diag);
  HN_TRY(hn_edit_type_of(model, value, &output.type));
  drop_value(&graph->infos, value);
  return hn_edit_push_value(model, &graph->outputs, &output) ? HONE_OK : HN_FAIL_MEMORY(&model->context->diag);
}

hone_status hn_edit_add_all_outputs(hone_model *model) {
  hn_edit_graph *graph = &model->graph;
  hn_table known;
  hn_table_init(&known, &model->arena);
  for (int i = 0; i < graph->outputs.count; ++i)
    if (!hn_table_put(&known, graph->outputs.items[i].name, model)) return HN_FAIL_MEMORY(&model->context->diag);
  for (int i = 0; i < graph->node_count; ++i)
    for (int k = 0; k < graph->nodes[i]->out_count; ++k) {
      hn_edit_value output = {.name = graph->nodes[i]->out[k]};
      if (!*output.name || hn_table_get(&known, output.name)) continue;
      HN_TRY(hn_edit_type_of(model, output.name, &output.type));
      if (!hn_edit_push_value(model, &graph->outputs, &output)) return HN_FAIL_MEMORY(&model->context->diag);
    }
  graph->infos.count = 0;
  return HONE_OK;
}

hone_status hn_edit_drop_output(hone_model *model, const char *value) {
  hn_edit_graph *graph = &model->graph;
  const char *near = NULL;
  for (int i = 0; i < graph->outputs.count; ++i) near = hone_nearest_name(value, near, graph->outputs.items[i].name);
  if (!hn_edit_find_value(&graph->outputs, value))
    return HN_FAIL(&model->context->diag, HONE_INVALID, "the model has no output %s%s%s", value,
                   near ? "; did you mean " : "", near ? near : "");
  if (graph->outputs.count == 1)
    return HN_FAIL(&model->context->diag, HONE_INVALID, "%s is the only output; a model has at least one", value);
  drop_value(&graph->outputs, value);
  hn_edit_drop_unread(model);
  return HONE_OK;
}

/* ---- constants ---- */

hone_status hn_edit_encode_tensor(hone_model *model, const char *name, const hone_tensor *tensor, hn_proto_bytes *out) {
  hn_text bytes;
  hn_text_init(&bytes, model->context->allocator);
  hn_export_tensor(&bytes, name, tensor);
  *out = (hn_proto_bytes){.data = hn_arena_copy(&model->arena, hn_text_string(&bytes), bytes.length),
                          .length = bytes.length};
  const bool failed = bytes.failed || !out->data;
  hn_text_deinit(&bytes);
  return failed ? HN_FAIL_MEMORY(&model->context->diag) : HONE_OK;
}

hone_status hn_edit_add_tensor(hone_model *model, const char *name, const hone_tensor *tensor) {
  hn_edit_graph *graph = &model->graph;
  hn_edit_tensor added = {.name = hn_arena_text(&model->arena, name)};
  if (hn_edit_is_value(graph, name))
    return HN_FAIL(&model->context->diag, HONE_INVALID, "there is a value %s already", name);
  HN_TRY(hn_edit_encode_tensor(model, name, tensor, &added.raw));
  if (!added.name || !hn_arena_grow(&model->arena, (void **)&graph->tensors, &graph->tensor_capacity,
                                    graph->tensor_count + 1, sizeof *graph->tensors))
    return HN_FAIL_MEMORY(&model->context->diag);
  graph->tensors[graph->tensor_count++] = added;
  return HONE_OK;
}
