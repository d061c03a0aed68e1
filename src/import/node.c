/* SPDX-License-Identifier: Apache-2.0 */
/* node.c - one ONNX node: its operator's row, attributes and inputs, then the node or what stands for it. */
#include "import/importer.h"
#include "ir/notation.h"
#include "ops/ports.h"
#include "tensor/shape.h"
#include <inttypes.h>
#include <string.h>

/* Marks every output as not made, so that nothing which uses it is reported as well. */
static hone_status bind_bad(hn_importer *importer, hn_scope *scope, const hn_onnx_node *node) {
  const char *const *outputs = node->outputs.items;
  for (int64_t i = 0; i < node->outputs.count; ++i) {
    if (!*outputs[i] || hn_table_get(&scope->names, outputs[i])) continue;
    HN_TRY(hn_scope_bind(importer, scope, outputs[i], &importer->bad));
  }
  return HONE_OK;
}

static hone_status report(hn_import_call *call, hone_status status, int from) {
  return hn_import_problem(call->importer, status, from, "node \"%s\" (%s, opset %" PRId64 "): ", call->name,
                           call->node->op_type, call->opset);
}

static bool made_later(const hn_scope *scope, const char *name) {
  const hn_onnx_node *nodes = scope->nodes ? scope->nodes->items : NULL;
  for (int64_t i = 0; nodes && i < scope->nodes->count; ++i) {
    const char *const *outputs = nodes[i].outputs.items;
    for (int64_t o = 0; o < nodes[i].outputs.count; ++o) {
      if (hn_name_equal(outputs[o], name)) return true;
    }
  }
  return false;
}

/* *out_bad: an input is missing because of a problem that was reported. */
static hone_status find_inputs(hn_import_call *call, bool *out_bad) {
  hn_importer *importer = call->importer;
  const char *const *names = call->node->inputs.items;
  *out_bad = false;
  if (call->node->inputs.count > INT32_MAX) return HN_FAIL(importer->diag, HONE_LIMIT, "too many inputs");
  for (int i = 0; i < (int)call->node->inputs.count; ++i) {
    hn_value *value = *names[i] ? hn_scope_find(call->scope, names[i]) : &importer->absent;
    if (!value && made_later(call->scope, names[i]))
      return HN_FAIL(importer->diag, HONE_MALFORMED, "input \"%s\" is used before the node that makes it", names[i]);
    if (!value) return HN_FAIL(importer->diag, HONE_MALFORMED, "input \"%s\" is made by no node", names[i]);
    *out_bad |= value == &importer->bad;
    HN_TRY(hn_import_set_input(call, i, value == &importer->absent ? NULL : value));
  }
  return HONE_OK;
}

static hone_status prepare_outputs(hn_import_call *call) {
  hn_importer *importer = call->importer;
  if (call->node->outputs.count > INT32_MAX) return HN_FAIL(importer->diag, HONE_LIMIT, "too many outputs");
  call->out_names = call->node->outputs.items;
  call->out_count = (int)call->node->outputs.count;
  call->out = HN_NEW(&importer->arena, hn_value *, call->out_count);
  return call->out ? HONE_OK : HN_FAIL_MEMORY(importer->diag);
}

static hone_status find_row(hn_import_call *call) {
  bool known = false;
  call->op = hn_op_find_onnx(call->importer->context->ops, call->domain, call->node->op_type, (int)call->opset,
                             (const hone_onnx_row **)&call->row, &known);
  if (call->op) {
    while (!(call->op->traits & HONE_HAS_BLOCKS) && call->out_count > 1 && !*call->out_names[call->out_count - 1] &&
           !hn_out_is_counted(call->op, call->out_count - 1))
      --call->out_count;
    return HONE_OK;
  }
  const char *in_domain = *call->domain ? call->domain : "ai.onnx";
  const char *says = hn_import_foreign(call->domain, call->node->op_type);
  if (says) return HN_FAIL(call->importer->diag, HONE_UNSUPPORTED, "not supported (%s): %s", in_domain, says);
  if (known)
    return HN_FAIL(call->importer->diag, HONE_UNSUPPORTED, "the operator is not supported in this opset of %s",
                   in_domain);
  return HN_FAIL(call->importer->diag, HONE_UNSUPPORTED, "the operator (of %s) is not supported", in_domain);
}

static hone_status check_opset(const hn_import_call *call) {
  hone_diagnostics *diag = call->importer->diag;
  if (call->opset == 0)
    return HN_FAIL(diag, HONE_MALFORMED, "the model imports no version of domain \"%s\"",
                   *call->domain ? call->domain : "ai.onnx");
  if (call->opset < 0 || call->opset > INT32_MAX) return HN_FAIL(diag, HONE_MALFORMED, "its opset is out of range");
  if (!*call->domain && call->opset > HN_ONNX_LAST_OPSET)
    return HN_FAIL(diag, HONE_UNSUPPORTED, "the newest opset known here is %d", HN_ONNX_LAST_OPSET);
  return HONE_OK;
}

/* ---- the operator Constant: its value becomes a constant of the graph ---- */

static hone_status constant_of_numbers(hn_import_call *call, const hn_onnx_attribute *a, hn_value **out) {
  hn_importer *importer = call->importer;
  int64_t count = 1;
  hone_tensor tensor = {0};
  hone_string *strings = NULL;
  const bool is_list = hn_onnx_attribute_type(a) == HN_ONNX_ATTR_STRINGS;
  const hn_proto_bytes *texts = is_list ? a->strings.items : &a->s;
  switch (hn_onnx_attribute_type(a)) {
  case HN_ONNX_ATTR_FLOAT: tensor = hn_tensor_over(HONE_F32, 0, NULL, (void *)(uintptr_t)&a->f); break;
  case HN_ONNX_ATTR_INT: tensor = hn_tensor_over(HONE_I64, 0, NULL, (void *)(uintptr_t)&a->i); break;
  case HN_ONNX_ATTR_FLOATS: tensor = hn_tensor_over(HONE_F32, 1, &a->floats.count, a->floats.items); break;
  case HN_ONNX_ATTR_INTS: tensor = hn_tensor_over(HONE_I64, 1, &a->ints.count, a->ints.items); break;
  case HN_ONNX_ATTR_STRING:
  case HN_ONNX_ATTR_STRINGS:
    if (is_list) count = a->strings.count;
    strings = HN_NEW(&importer->arena, hone_string, count);
    if (!strings) return HN_FAIL_MEMORY(importer->diag);
    for (int64_t i = 0; i < count; ++i) strings[i] = (hone_string){(const char *)texts[i].data, texts[i].length};
    tensor = hn_tensor_over(HONE_STRING, is_list, &count, strings);
    break;
  default: return HN_FAIL(importer->diag, HONE_MALFORMED, "attribute %s has the wrong kind", a->name);
  }
  hn_value *value = hn_constant_create(importer->graph, call->out_names[0], &tensor, false);
  if (!value) return HONE_NO_MEMORY;
  *out = value;
  return HONE_OK;
}

static hone_status import_constant_node(hn_import_call *call) {
  hn_importer *importer = call->importer;
  const hn_onnx_attribute *attribute = call->node->attributes.items;
  if (call->node->attributes.count != 1 || call->out_count != 1)
    return HN_FAIL(importer->diag, HONE_MALFORMED, "a constant has one value and one output");
  attribute = hn_import_resolve(call->scope->frame, attribute);
  if (!attribute) return HN_FAIL(importer->diag, HONE_MALFORMED, "the call gives no value");
  const char *name = call->out_names[0];
  if (attribute->t) return hn_import_constant(importer, name, attribute->t, &call->out[0]);
  if (attribute->sparse) return hn_import_sparse(importer, name, attribute->sparse, &call->out[0]);
  return constant_of_numbers(call, attribute, &call->out[0]);
}

/* ---- composites ---- */

static hone_status build_composite(hn_import_call *call) {
  hn_importer *importer = call->importer;
  hn_binding bindings[HONE_MAX_PORTS];
  int count = 0;
  if (call->in_count > 0 && !hn_port_at(call->op->in, call->in_count - 1))
    return HN_FAIL(importer->diag, HONE_MALFORMED, "%d inputs are too many", call->in_count);
  for (int i = 0; i < HONE_MAX_PORTS && call->op->in[i].name; ++i) {
    hn_binding *binding = &bindings[count++];
    *binding = (hn_binding){.name = call->op->in[i].name};
    if (i < call->in_count) binding->value = call->in[i];
    if ((call->op->in[i].flags & HONE_PORT_VARIADIC) && i < call->in_count) {
      binding->rest_count = call->in_count - i;
      binding->rest = &call->in[i];
    }
  }
  hn_roots roots;
  HN_TRY(hn_notation_parse(&importer->arena, importer->diag, call->row->name, call->row->as, &roots));
  if (roots.count < call->out_count)
    return HN_FAIL(importer->diag, HONE_UNSUPPORTED, "output %d is not made here", roots.count);
  hn_value **results = HN_NEW(&importer->arena, hn_value *, roots.count);
  if (!results) return HN_FAIL_MEMORY(importer->diag);
  const hone_attrs attrs = {.count = call->attr_count, .items = call->attrs};
  const hn_build build = {.block = call->scope->block,
                          .bindings = bindings,
                          .binding_count = count,
                          .attrs = &attrs,
                          .origins = call->origins,
                          .name = call->name};
  HN_TRY(hn_notation_build(&build, &roots, results));
  memcpy(call->out, results, (size_t)call->out_count * sizeof *results);
  call->done = true;
  return HONE_OK;
}

/* ---- all together ---- */

/* Every output that is wanted must have been made. */
static hone_status check_made(const hn_import_call *call) {
  for (int i = 0; i < call->out_count; ++i)
    if (*call->out_names[i] && !call->out[i])
      return HN_FAIL(call->importer->diag, HONE_UNSUPPORTED, "output %d (\"%s\") is not made here", i,
                     call->out_names[i]);
  return HONE_OK;
}

static hone_status build(hn_import_call *call) {
  const hone_status before = call->importer->worst;
  call->importer->worst = HONE_OK; /* to see whether an attribute was a problem */
  const hone_status status = hn_import_attributes(call);
  const bool failed = call->importer->worst != HONE_OK;
  if (failed && before != HONE_OK) {
    const hone_status now = call->importer->worst;
    call->importer->worst = before;
    HN_TRY(hn_import_problem(call->importer, now, call->importer->diag->count, "%s", ""));
  } else if (!failed) {
    call->importer->worst = before;
  }
  HN_TRY(status);
  if (failed) {
    for (int i = 0; i < call->out_count; ++i) call->out[i] = &call->importer->bad;
    return HONE_OK;
  }
  const hn_adapter *adapter = call->row->adapt ? hn_adapter_find(call->row->adapt) : NULL;
  if (call->row->adapt && !adapter)
    return HN_FAIL(call->importer->diag, HONE_INTERNAL, "there is no adapter \"%s\"", call->row->adapt);
  if ((adapter || call->row->as) && call->out_count < 1)
    return HN_FAIL(call->importer->diag, HONE_MALFORMED, "it has no output");
  if (adapter) HN_TRY(adapter->run(call));
  if (call->done) return check_made(call);
  return call->row->as ? build_composite(call) : hn_import_create(call);
}

static hone_status bind_outputs(hn_import_call *call) {
  for (int i = 0; i < call->out_count; ++i) {
    if (!*call->out_names[i]) continue;
    HN_TRY(hn_scope_bind(call->importer, call->scope, call->out_names[i],
                         call->out[i] ? call->out[i] : &call->importer->bad));
  }
  return HONE_OK;
}

static hone_status import_one(hn_import_call *call) {
  hn_importer *importer = call->importer;
  HN_TRY(prepare_outputs(call));
  const hn_onnx_function *function = hn_onnx_find_function(importer->model, call->node);
  bool bad = false;
  if (!function) {
    HN_TRY(check_opset(call));
    if (!*call->domain && hn_name_equal(call->node->op_type, "Constant")) {
      HN_TRY(import_constant_node(call));
      return bind_outputs(call);
    }
    HN_TRY(find_row(call));
  }
  HN_TRY(find_inputs(call, &bad));
  if (bad) return bind_bad(importer, call->scope, call->node);
  HN_TRY(function ? hn_import_function(call, function) : build(call));
  return bind_outputs(call);
}

static const char *name_of(hn_importer *importer, const hn_scope *scope, const hn_onnx_node *node, int64_t index) {
  const char *name = node->name;
  if (!*name) name = hn_arena_printf(&importer->arena, "%s_%" PRId64, node->op_type, index);
  if (!name || !scope->frame) return name;
  return hn_arena_printf(&importer->arena, "%s/%s", scope->frame->name, name);
}

hone_status hn_import_node(hn_importer *importer, hn_scope *scope, const hn_onnx_node *node, int64_t index) {
  HN_TRY(hn_import_count_work(importer));
  hn_import_call call = {.importer = importer, .scope = scope, .node = node, .domain = hn_onnx_domain(node->domain)};
  call.opset = hn_onnx_opset_of(scope->opsets, call.domain);
  if (call.opset == 0 && !*call.domain && importer->model->ir_version < 3) call.opset = 1; /* before opset_import */
  call.name = name_of(importer, scope, node, index);
  if (!call.name) return HN_FAIL_MEMORY(importer->diag);
  const int from = hn_import_mark(importer), refusals = importer->graph->refusals;
  HN_TRY(hn_origins_one(importer->graph, call.name, &call.origins));
  const hone_status status = import_one(&call);
  if (status == HONE_OK) return HONE_OK;
  HN_TRY(report(&call, status, from));
  importer->refused += importer->graph->refusals != refusals;
  return bind_bad(importer, scope, node);
}
