/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_define.c - operators that a program defines by their expression. They have an operator's row like all others;
 * engines have the expression itself (src/pass/plugins.c). */
#include "api/plugin.h"
#include "base/arguments.h"
#include "ops/op.h"
#include <ctype.h>
#include <string.h>

static bool is_name(const char *text) {
  if (!text || (!isalpha((unsigned char)text[0]) && text[0] != '_')) return false;
  for (const char *c = text; *c; ++c)
    if (!isalnum((unsigned char)*c) && *c != '_') return false;
  return true;
}

static hone_status check_name(hone_diagnostics *diag, const char *op, const char *what, const char *name) {
  if (is_name(name)) return HONE_OK;
  return HN_FAIL(diag, HONE_INVALID, "operator %s: %s is \"%.60s\"; a name is of letters, digits and _", op, what,
                 name ? name : "");
}

static hone_status check_inputs(hone_diagnostics *diag, const hone_op_definition *d) {
  HN_TRY(hn_argument_list(diag, "definition inputs", d->inputs, d->input_count, HONE_MAX_PORTS));
  if (d->input_count == 0) return HN_FAIL(diag, HONE_INVALID, "operator %s has no inputs", d->name);
  for (int i = 0; i < d->input_count; ++i) {
    HN_TRY(check_name(diag, d->name, "an input's name", d->inputs[i]));
    for (int k = 0; k < i; ++k)
      if (strcmp(d->inputs[i], d->inputs[k]) == 0)
        return HN_FAIL(diag, HONE_INVALID, "operator %s: two inputs are named %s", d->name, d->inputs[i]);
  }
  return HONE_OK;
}

static hone_status check_attrs(hone_diagnostics *diag, const hone_op_definition *d) {
  HN_TRY(hn_argument_list(diag, "definition attrs", d->attrs, d->attr_count, HONE_MAX_ATTRS));
  for (int i = 0; i < d->attr_count; ++i) {
    const hone_attr *attr = &d->attrs[i];
    HN_TRY(check_name(diag, d->name, "an attribute's name", attr->name));
    if (attr->kind != HONE_ATTR_FLOAT && attr->kind != HONE_ATTR_INT)
      return HN_FAIL(diag, HONE_INVALID, "operator %s: attribute %s is no number", d->name, attr->name);
    for (int k = 0; k < i; ++k)
      if (strcmp(attr->name, d->attrs[k].name) == 0)
        return HN_FAIL(diag, HONE_INVALID, "operator %s: two attributes are named %s", d->name, attr->name);
  }
  return HONE_OK;
}

/* false: no memory. */
static bool keep(hn_arena *arena, const char *text, const char **out) {
  *out = text ? hn_arena_text(arena, text) : NULL;
  return !text || *out;
}

static bool make_row(hn_arena *arena, const hone_op_definition *d, hone_op *op) {
  *op = (hone_op){.struct_size = sizeof *op,
                  .traits = HONE_ELEMENTWISE,
                  .infer = hn_infer_broadcast,
                  .eval = hn_eval_expr,
                  .cost = hn_cost_elementwise,
                  .out = {{.name = "y", .letter = 'T'}}};
  bool kept = keep(arena, d->name, &op->name) && keep(arena, d->expression, &op->expr) &&
              keep(arena, d->doc ? d->doc : "defined by the program", &op->doc) &&
              keep(arena, d->onnx_name, &op->onnx[0].name) && keep(arena, d->onnx_domain, &op->onnx[0].domain);
  if (d->onnx_name) op->onnx[0].first = 1, op->onnx[0].last = HONE_LATEST;
  for (int i = 0; i < d->input_count && kept; ++i) {
    op->in[i] = (hone_port){.letter = 'T', .types = HONE_TYPES_FLOAT};
    kept = keep(arena, d->inputs[i], &op->in[i].name);
  }
  for (int i = 0; i < d->attr_count && kept; ++i) {
    const hone_attr *attr = &d->attrs[i];
    op->attr[i] = (hone_attr_decl){.kind = attr->kind, .has_default = true};
    if (attr->kind == HONE_ATTR_INT)
      op->attr[i].i = attr->i;
    else
      op->attr[i].f = attr->f;
    kept = keep(arena, attr->name, &op->attr[i].name);
  }
  return kept;
}

/* Its expression under the defaults; whether that can be read does not depend on the attributes' values. */
static hone_status check_expression(hone_context *context, const hone_op *op, int input_count) {
  hn_expr expr;
  hn_arena arena;
  hone_attrs attrs;
  hn_arena_init(&arena, context->allocator);
  hone_status status = hn_attrs_complete(&arena, &context->diag, op, &(hone_attrs){0}, &attrs);
  if (status == HONE_OK) status = hn_expr_of_op(&context->diag, op, &attrs, input_count, &expr);
  hn_arena_deinit(&arena);
  if (status == HONE_OK) return HONE_OK;
  if (status == HONE_MALFORMED || status == HONE_INTERNAL) status = HONE_INVALID;
  return hone_note(&context->diag, status, "in the definition of operator %s", op->name);
}

hone_status hone_op_define(hone_context *context, const hone_op_definition *definition) {
  HN_GIVEN(NULL, context);
  hone_diagnostics *diag = &context->diag;
  HN_GIVEN(diag, definition);
  hone_op_definition taken;
  HN_OPTIONS(diag, "definition", definition, hone_op_definition, doc, &taken);
  HN_TRY(check_name(diag, taken.name ? taken.name : "?", "its name", taken.name));
  if (!taken.expression) return HN_FAIL(diag, HONE_INVALID, "operator %s has no expression", taken.name);
  HN_TRY(check_inputs(diag, &taken));
  HN_TRY(check_attrs(diag, &taken));
  hone_op *op = HN_NEW(&context->plugin_arena, hone_op, 1);
  if (!op || !make_row(&context->plugin_arena, &taken, op)) return HN_FAIL_MEMORY(diag);
  HN_TRY(check_expression(context, op, taken.input_count));
  return hn_plugin_add_op(context, NULL, op);
}
