/* SPDX-License-Identifier: Apache-2.0 */
/* compile_graph_print.c - a graph as text that reads back, or as JSON, for users. */
#include "base/arguments.h"
#include "base/json.h"
#include "ir/text.h"
#include "tensor/attrs.h"
#include "tensor/shape.h"
#include <hone/report.h>

typedef struct json_graph {
  const hone_graph *graph;
  const hone_print_options *options;
  hn_json_writer json;
  hn_text type; /* reused */
} json_graph;

static void put_value(json_graph *j, const char *key, const hn_value *value, const char *name) {
  hn_json_open_flat(&j->json, key, '{');
  hn_json_put_text(&j->json, "name", name);
  hn_text_clear(&j->type);
  hn_text_type(&j->type, &value->fact.type, &j->graph->dims);
  hn_json_put_text(&j->json, "type", hn_text_string(&j->type));
  hn_json_close(&j->json, '}');
}

static void put_values(json_graph *j, const char *key, int count, hn_value *const *values) {
  hn_json_open_flat(&j->json, key, '[');
  for (int i = 0; i < count; ++i) hn_json_put_text(&j->json, NULL, values[i] ? values[i]->name : NULL);
  hn_json_close(&j->json, ']');
}

static void put_node(json_graph *j, const hn_node *node) {
  hn_json_open(&j->json, NULL, '{');
  hn_json_put_text(&j->json, "name", node->name);
  hn_json_put_text(&j->json, "op", node->op->name);
  put_values(j, "inputs", node->in_count, node->in);
  hn_json_open_flat(&j->json, "outputs", '[');
  for (int i = 0; i < node->out_count; ++i)
    if (node->out[i]) put_value(j, NULL, node->out[i], node->out[i]->name);
  hn_json_close(&j->json, ']');
  hn_text_clear(&j->type);
  hn_text_attrs(&j->type, &node->attrs, node->op);
  hn_json_put_text(&j->json, "attributes", hn_text_string(&j->type));
  if (j->options->with_origins) {
    hn_json_open_flat(&j->json, "from", '[');
    for (int i = 0; i < node->origins.count; ++i) hn_json_put_text(&j->json, NULL, node->origins.names[i]);
    hn_json_close(&j->json, ']');
  }
  if (node->block_count > 0) hn_json_put_int(&j->json, "blocks", node->block_count);
  hn_json_close(&j->json, '}');
}

static void put_graph(json_graph *j) {
  const hn_block *main = j->graph->main;
  hn_json_open(&j->json, NULL, '{');
  hn_json_put_int(&j->json, "schema", HONE_JSON_SCHEMA);
  hn_json_put_text(&j->json, "name", j->graph->name);
  hn_json_put_int(&j->json, "opset", j->graph->opset);
  hn_json_open(&j->json, "inputs", '[');
  for (int i = 0; i < main->param_count; ++i) put_value(j, NULL, main->params[i], main->params[i]->name);
  hn_json_close(&j->json, ']');
  hn_json_open(&j->json, "outputs", '[');
  for (int i = 0; i < main->result_count; ++i) put_value(j, NULL, main->results[i], j->graph->output_names[i]);
  hn_json_close(&j->json, ']');
  hn_json_open(&j->json, "constants", '[');
  for (int i = 0; i < j->graph->value_count; ++i) {
    const hn_value *value = j->graph->values[i];
    if (hn_value_is_constant(value) && value->use_count > 0) put_value(j, NULL, value, value->name);
  }
  hn_json_close(&j->json, ']');
  hn_json_open(&j->json, "nodes", '[');
  for (const hn_node *node = main->first; node; node = node->next) put_node(j, node);
  hn_json_close(&j->json, ']');
  hn_json_close(&j->json, '}');
}

static void print_json(const hone_graph *graph, const hone_print_options *options, hn_text *out) {
  json_graph j = {.graph = graph, .options = options};
  hn_text_init(&j.type, graph->context->allocator);
  hn_json_begin(&j.json, out);
  put_graph(&j);
  hn_text_add(out, "\n");
  out->failed = out->failed || j.type.failed;
  hn_text_deinit(&j.type);
}

hone_status hone_graph_print(const hone_graph *graph, const hone_print_options *given, hone_write_fn write,
                             void *user) {
  HN_GIVEN(NULL, graph);
  hone_diagnostics *diag = &graph->context->diag;
  HN_GIVEN(diag, write);
  hone_print_options taken;
  const hone_print_options *options = &taken;
  HN_OPTIONS(diag, "print", given, hone_print_options, constant_elements, &taken);
  if (!given) taken.with_types = true;
  HN_TRY(hn_argument_range(diag, "print option constant_elements", taken.constant_elements, -1, HN_NO_MOST));
  hn_text text;
  hn_text_init(&text, graph->context->allocator);
  hone_status status = HONE_OK;
  if (options->json) {
    print_json(graph, options, &text);
  } else {
    const hn_print_options inner = {.with_types = options->with_types,
                                    .with_origins = options->with_origins,
                                    .constant_elements =
                                        options->constant_elements < 0 ? INT64_MAX : options->constant_elements};
    status = hn_graph_print(graph, &inner, &text);
  }
  if (status == HONE_OK && text.failed) status = HN_FAIL_MEMORY(diag);
  if (status == HONE_OK && !write(user, hn_text_string(&text), text.length))
    status = HN_FAIL(diag, HONE_IO, "the text could not be written");
  hn_text_deinit(&text);
  return status;
}
