/* SPDX-License-Identifier: Apache-2.0 */
/* compile_recipe_nodes.c - nodes that recipes add, made briefly. */
#include "api/attach.h"
#include "ops/onnx_tensor.h"
#include "ops/registry.h"
#include "tensor/shape.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

hone_status hn_attach_fail(hn_attach *a, const char *format, ...) {
  char text[320];
  va_list arguments;
  if (a->status != HONE_OK) return a->status;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return a->status = HN_FAIL(&a->graph->context->diag, HONE_INVALID, "recipe: %s", text);
}

void hn_attach_nodes(hn_attach *a, const char *op, int in_count, hn_value *const *in, int attr_count,
                     const hone_attr *attrs, int out_count, hn_value **out) {
  for (int i = 0; i < out_count; ++i) out[i] = NULL;
  for (int i = 0; i < in_count && a->status == HONE_OK; ++i)
    if (!in[i]) a->status = HONE_NO_MEMORY; /* a constant failed, which said so */
  if (a->status != HONE_OK) return;
  char name[64];
  (void)snprintf(name, sizeof name, "recipe_%s", op);
  const hn_node_spec spec = {.op = hn_op_find(a->graph->context->ops, op),
                             .name = name,
                             .attrs = {attr_count, attrs},
                             .in_count = in_count,
                             .out_count = out_count,
                             .in = in,
                             .before = a->before};
  hn_node *node;
  a->status = hn_node_create(a->graph->main, &spec, &node);
  for (int i = 0; a->status == HONE_OK && i < out_count; ++i) out[i] = node->out[i];
}

static hn_value *one(hn_attach *a, const char *op, int in_count, hn_value *const *in, int attr_count,
                     const hone_attr *attrs) {
  hn_value *out;
  hn_attach_nodes(a, op, in_count, in, attr_count, attrs, 1, &out);
  return out;
}

hn_value *hn_attach_unary(hn_attach *a, const char *op, hn_value *x) { return one(a, op, 1, &x, 0, NULL); }

hn_value *hn_attach_binary(hn_attach *a, const char *op, hn_value *x, hn_value *y) {
  return one(a, op, 2, (hn_value *const[]){x, y}, 0, NULL);
}

hn_value *hn_attach_along(hn_attach *a, const char *op, hn_value *x, const char *attr, int64_t axis) {
  const hone_attr attrs[] = {{.name = attr, .kind = HONE_ATTR_INT, .i = axis}};
  return one(a, op, 1, &x, 1, attrs);
}

hn_value *hn_attach_concat(hn_attach *a, int count, hn_value *const *in, int64_t axis) {
  const hone_attr attrs[] = {{.name = "axis", .kind = HONE_ATTR_INT, .i = axis}};
  return one(a, "concat", count, in, 1, attrs);
}

hn_value *hn_attach_cast(hn_attach *a, hn_value *x, hone_dtype to) {
  if (a->status != HONE_OK || x->fact.type.dtype == to) return x;
  return hn_attach_along(a, "cast", x, "to", hn_onnx_of_dtype(to));
}

hn_value *hn_attach_transpose(hn_attach *a, hn_value *x, int rank, const int64_t *order) {
  const hone_attr attrs[] = {{.name = "perm", .kind = HONE_ATTR_INTS, .count = rank, .ints = order}};
  return one(a, "transpose", 1, &x, 1, attrs);
}

hn_value *hn_attach_ints(hn_attach *a, int rank, int64_t count, const int64_t *values) {
  return a->status == HONE_OK ? hn_constant_int(a->graph, "recipe_ints", rank, count, values) : NULL;
}

hn_value *hn_attach_slice(hn_attach *a, hn_value *x, int64_t axis, int64_t first, int64_t last) {
  hn_value *const in[] = {x, hn_attach_ints(a, 1, 1, &first), hn_attach_ints(a, 1, 1, &last),
                          hn_attach_ints(a, 1, 1, &axis)};
  return one(a, "slice", 4, in, 0, NULL);
}

hn_value *hn_attach_reals(hn_attach *a, int rank, const int64_t *dims, const float *values) {
  if (a->status != HONE_OK) return NULL;
  hone_tensor tensor = {.type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = hn_shape(rank, dims)}};
  tensor.bytes = hn_bytes(&tensor.type);
  tensor.data = (void *)(uintptr_t)values; /* copied */
  return hn_constant_create(a->graph, "recipe_reals", &tensor, false);
}

hn_value *hn_attach_real(hn_attach *a, double value) {
  return a->status == HONE_OK ? hn_constant_scalar(a->graph, HONE_F32, value) : NULL;
}

hn_value *hn_attach_output(hn_attach *a, const char *name) {
  const hone_graph *graph = a->graph;
  const int count = graph->main->result_count;
  char all[160] = "";
  size_t used = 0;
  if (a->status != HONE_OK) return NULL;
  if (!name && count == 1) return graph->main->results[0];
  for (int i = 0; i < count; ++i) {
    if (name && strcmp(graph->output_names[i], name) == 0) return graph->main->results[i];
    if (used < sizeof all)
      used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", graph->output_names[i]);
  }
  if (name)
    hn_attach_fail(a, "the model has no output %s; its outputs: %s", name, all);
  else
    hn_attach_fail(a, "the model has %d outputs, and one must be named: %s", count, all);
  return NULL;
}

/* What changes neither the numbers nor which belong together. */
static bool passes_on(const char *op) {
  static const char *const names[] = {"reshape", "flatten", "squeeze", "unsqueeze", "identity", "cast", "transpose"};
  for (size_t i = 0; i < HN_COUNT(names); ++i)
    if (strcmp(op, names[i]) == 0) return true;
  return false;
}

bool hn_attach_is_probability(const hn_value *value) {
  while (value && value->node && passes_on(value->node->op->name)) value = value->node->in[0];
  const char *op = value && value->node ? value->node->op->name : "";
  return strcmp(op, "softmax") == 0 || strcmp(op, "sigmoid") == 0;
}

void hn_attach_softmax(hn_attach *a, hn_value **value, int64_t axis) {
  if (a->status != HONE_OK) return;
  if (!hn_attach_is_probability(*value)) {
    *value = hn_attach_along(a, "softmax", *value, "axis", axis);
    return;
  }
  a->recipe.softmax = false;
  hn_log(a->graph->context, HONE_LOG_WARN,
         "recipe: no softmax is added: the model's scores come from one, or from a sigmoid");
}

void hn_attach_check_labels(hn_attach *a, int64_t classes) {
  if (a->status == HONE_OK && a->recipe.label_count > classes)
    hn_attach_fail(a, "there is a label for class %lld, but the output has %lld classes",
                   (long long)a->recipe.label_count - 1, (long long)classes);
}
