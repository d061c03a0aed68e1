/* SPDX-License-Identifier: Apache-2.0 */
/* compile_quantize_report.c - a model that its author quantised: which of its nodes compute in bytes once the passes
 * are through, as its roundings are written, and what keeps the others in floats, the place where a rounding is missing
 * first. Conditions that no walk over the graph tells are those that the rules met (ir/log.h). */
#include "api/quantize.h"
#include "base/arguments.h"
#include "ir/log.h"
#include "pass/pipeline.h"
#include "tensor/element.h"
#include <string.h>

typedef struct reporting {
  hone_context *context;
  hn_arena arena;
  hone_graph *written, *passed; /* as the model has it; behind all passes */
  hn_pass_log log;
} reporting;

static bool is_op(const hn_node *node, const char *op) { return node && strcmp(node->op->name, op) == 0; }

static bool is_byte(const hn_value *value) {
  return value && (value->fact.type.dtype == HONE_U8 || value->fact.type.dtype == HONE_I8);
}

static bool is_float(const hn_value *value) {
  return value && value->fact.type.kind == HONE_TENSOR && hn_dtype_is_float(value->fact.type.dtype);
}

/* What quantising would round, and what only authors do. */
static bool is_layer(const hn_node *node) { return hn_quant_layer_of(node) || is_op(node, "conv_transpose"); }

static bool is_bound(const hn_node *node) { return is_op(node, "relu") || is_op(node, "clip"); }

/* It has roundings around it, or is a layer that would have: everything else is none of the report's. */
static bool is_asked(const hn_node *node) {
  if (is_op(node, "quantize_linear") || is_op(node, "dequantize_linear") || node->out_count == 0) return false;
  if (!is_float(node->out[0])) return false;
  if (is_bound(node) && !is_op(node->in[0]->node, "dequantize_linear")) return false; /* what makes its input has it */
  bool asked = is_layer(node);
  for (int i = 0; i < node->in_count; ++i) asked |= node->in[i] && is_op(node->in[i]->node, "dequantize_linear");
  for (const hn_use *use = node->out[0]->uses; use; use = use->next) asked |= is_op(use->node, "quantize_linear");
  return asked;
}

static bool comes_from(const hn_node *made, const hn_node *node) {
  for (int i = 0; i < made->origins.count; ++i)
    for (int k = 0; k < node->origins.count; ++k)
      if (strcmp(made->origins.names[i], node->origins.names[k]) == 0) return true;
  return strcmp(made->name, node->name) == 0;
}

/* Bytes go in or out of what became of it, which is no rounding itself. */
static bool in_bytes(const reporting *r, const hn_node *node) {
  for (const hn_node *made = r->passed->main->first; made; made = made->next) {
    if (is_op(made, "quantize_linear") || is_op(made, "dequantize_linear") || !comes_from(made, node)) continue;
    if (made->in_count > 0 && (is_byte(made->in[0]) || is_byte(made->out[0]))) return true;
  }
  return false;
}

static const char *said(const char *text) { return text ? text : "out of memory"; }

/* What is missing in front; NULL: nothing. */
static const char *lacks_input(reporting *r, const hn_node *node) {
  for (int i = 0; i < node->in_count; ++i) {
    const hn_value *in = node->in[i];
    if (!is_float(in) || is_op(in->node, "dequantize_linear")) continue;
    const bool constant = hn_value_is_constant(in);
    if (is_layer(node) && i == 1 && constant)
      return said(hn_arena_printf(&r->arena, "its weights %s have no DequantizeLinear", in->name));
    if (is_layer(node) && i >= 2 && !constant) continue;
    if (constant && (!is_op(node, "add") && !is_op(node, "mul"))) continue;
    if (is_layer(node) && i >= 2)
      return said(hn_arena_printf(&r->arena, "its bias %s is in floats: no DequantizeLinear of i32", in->name));
    return said(
        hn_arena_printf(&r->arena, "its input %s: QuantizeLinear and DequantizeLinear are missing there", in->name));
  }
  return NULL;
}

/* What is missing behind: a rounding that all readers share, behind a bound that the node takes over. */
static const char *lacks_output(reporting *r, const hn_node *node) {
  const hn_value *value = node->out[0];
  while (value->use_count == 1 && is_bound(value->uses->node)) value = value->uses->node->out[0];
  int rounded = 0;
  const hn_use *other = NULL;
  for (const hn_use *use = value->uses; use; use = use->next)
    if (is_op(use->node, "quantize_linear"))
      ++rounded;
    else
      other = use;
  if (rounded > 0 && !other) return NULL;
  const char *reader = other && other->node ? other->node->name : "an output of the model";
  return said(hn_arena_printf(&r->arena,
                              rounded > 0 ? "%s reads its output in floats, beside the QuantizeLinear"
                                          : "its output goes to %s without a QuantizeLinear",
                              reader));
}

/* Rules begin at the rounding behind a node. */
static bool reads(const hn_node *node, const char *reader) {
  for (const hn_use *use = node->out[0]->uses; use; use = use->next)
    if (use->node && (strcmp(use->node->name, reader) == 0 || (is_bound(use->node) && reads(use->node, reader))))
      return true;
  return false;
}

static const char *why_floats(reporting *r, const hn_node *node) {
  const char *lack = lacks_input(r, node);
  if (!lack) lack = lacks_output(r, node);
  for (int i = r->log.count - 1; i >= 0 && !lack; --i) {
    const hn_pass_event *event = &r->log.events[i];
    if (event->fired || !event->unmet || !strstr(event->rule ? event->rule : "", "quantised")) continue;
    if (strcmp(event->node, node->name) == 0 || reads(node, event->node)) lack = event->unmet;
  }
  return lack ? lack : "no integer kernel takes this operator with these roundings";
}

/* A graph that was not read from a file has no names of nodes to follow. */
static hone_status name_origins(hone_graph *graph) {
  for (hn_node *node = graph->main->first; node; node = node->next)
    if (node->origins.count == 0) HN_TRY(hn_origins_one(graph, node->name, &node->origins));
  return HONE_OK;
}

static hone_status run_passes(reporting *r) {
  HN_TRY(name_origins(r->written));
  HN_TRY(name_origins(r->passed));
  hn_pass_run run = {.context = r->context, .graph = r->passed, .log = &r->log};
  return hn_pipeline_run(&run, NULL);
}

static hone_status report(reporting *r, void (*see)(void *user, const hone_quantised_node *row), void *user) {
  HN_TRY(run_passes(r));
  for (const hn_node *node = r->written->main->first; node; node = node->next) {
    if (!is_asked(node)) continue;
    const bool bytes = in_bytes(r, node);
    const hone_quantised_node row = {
        .node = node->name, .op = node->op->name, .bytes = bytes, .why = bytes ? NULL : why_floats(r, node)};
    see(user, &row);
  }
  return HONE_OK;
}

hone_status hone_graph_quantised(hone_context *context, const hone_graph *graph,
                                 void (*see)(void *user, const hone_quantised_node *row), void *user) {
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, graph);
  HN_GIVEN(&context->diag, see);
  reporting r = {.context = context};
  hn_call_begin(context);
  hn_arena_init(&r.arena, context->allocator);
  r.log.arena = &r.arena;
  hone_status status = hn_graph_clone(graph, &r.written);
  if (status == HONE_OK) status = hn_graph_clone(graph, &r.passed);
  if (status == HONE_OK) status = report(&r, see, user);
  hn_graph_destroy(r.written);
  hn_graph_destroy(r.passed);
  hn_arena_deinit(&r.arena);
  return status;
}
