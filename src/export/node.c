/* SPDX-License-Identifier: Apache-2.0 */
/* node.c - nodes and graphs as ONNX messages. Field numbers: onnx.proto, NodeProto, AttributeProto, GraphProto.
 * Attributes with their default value are left out: rows declare ONNX's own defaults, and attributes that only our ops
 * have are at their defaults once fused nodes were taken apart. */
#include "export/writer.h"
#include "tensor/attrs.h"
#include <inttypes.h>
#include <string.h>

enum {
  ATTR_NAME = 1,
  ATTR_F = 2,
  ATTR_I = 3,
  ATTR_S = 4,
  ATTR_T = 5,
  ATTR_G = 6,
  ATTR_FLOATS = 7,
  ATTR_INTS = 8,
  ATTR_STRINGS = 9,
  ATTR_TYPE = 20
};
enum {
  TYPE_FLOAT = 1,
  TYPE_INT = 2,
  TYPE_STRING = 3,
  TYPE_TENSOR = 4,
  TYPE_GRAPH = 5,
  TYPE_FLOATS = 6,
  TYPE_INTS = 7,
  TYPE_STRINGS = 8
};
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP_TYPE = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };

const char *hn_export_name(const hn_exporter *exporter, const hn_value *value) {
  if (!value) return "";
  const char *given = exporter->names[value->id];
  return given ? given : value->name;
}

static bool is_default(const hone_op *op, const hone_attr *attr) {
  for (int i = 0; i < HONE_MAX_ATTRS && op->attr[i].name; ++i) {
    const hone_attr_decl *decl = &op->attr[i];
    if (!hn_name_equal(decl->name, attr->name)) continue;
    if (!decl->has_default || hn_name_equal(attr->name, "axis")) return false; /* concat's has none in ONNX */
    return decl->kind == HONE_ATTR_INT     ? decl->i == attr->i
           : decl->kind == HONE_ATTR_FLOAT ? (float)decl->f == (float)attr->f
                                           : hn_name_equal(decl->s, attr->s);
  }
  return false;
}

static void add_attr_value(hn_text *out, const hone_attr *attr, hn_text *tensor) {
  static const uint8_t types[] = {
      [HONE_ATTR_INT] = TYPE_INT,       [HONE_ATTR_FLOAT] = TYPE_FLOAT,   [HONE_ATTR_STRING] = TYPE_STRING,
      [HONE_ATTR_INTS] = TYPE_INTS,     [HONE_ATTR_FLOATS] = TYPE_FLOATS, [HONE_ATTR_STRINGS] = TYPE_STRINGS,
      [HONE_ATTR_TENSOR] = TYPE_TENSOR,
  };
  switch (attr->kind) {
  case HONE_ATTR_INT: hn_wire_int(out, ATTR_I, attr->i); break;
  case HONE_ATTR_FLOAT: hn_wire_float(out, ATTR_F, (float)attr->f); break;
  case HONE_ATTR_STRING: hn_wire_string(out, ATTR_S, attr->s); break;
  case HONE_ATTR_TENSOR:
    hn_export_tensor(tensor, "", attr->tensor);
    hn_wire_message(out, ATTR_T, tensor);
    break;
  default:
    for (int64_t i = 0; i < attr->count; ++i) {
      if (attr->kind == HONE_ATTR_INTS) hn_wire_int(out, ATTR_INTS, attr->ints[i]);
      if (attr->kind == HONE_ATTR_FLOATS) hn_wire_float(out, ATTR_FLOATS, (float)attr->floats[i]);
      if (attr->kind == HONE_ATTR_STRINGS) hn_wire_string(out, ATTR_STRINGS, attr->strings[i]);
    }
  }
  hn_wire_int(out, ATTR_TYPE, types[attr->kind]);
}

/* The name that a row's attribute has in ONNX: the other way round through `rename`'s "theirs=ours". */
static const char *onnx_attr_name(hn_exporter *exporter, const hone_onnx_row *row, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = row->rename; at && *at; at += strcspn(at, " ")) {
    at += strspn(at, " ");
    const size_t word = strcspn(at, " ");
    const char *equal = memchr(at, '=', word);
    if (equal && (size_t)(at + word - equal - 1) == length && memcmp(equal + 1, name, length) == 0)
      return hn_arena_printf(&exporter->arena, "%.*s", (int)(equal - at), at);
  }
  return name;
}

/* Attributes that only our rows have, to tell forms of an operator apart, and the output that they matter to (-1: to
 * all). At another value than the default, ONNX cannot say them. */
static const struct {
  const char *name;
  int output;
} internal_attrs[] = {{"mask_like_data", 1}, {"default_axis", -1}};

/* Is the attribute one of those? Reports it when it matters. */
static bool is_internal(hn_exporter *exporter, const hn_node *node, const char *name) {
  for (size_t i = 0; i < HN_COUNT(internal_attrs); ++i) {
    if (!hn_name_equal(internal_attrs[i].name, name)) continue;
    const int output = internal_attrs[i].output;
    const bool matters =
        output < 0 || (output < node->out_count && node->out[output] && hn_value_use_count(node->out[output]) > 0);
    if (matters)
      exporter->worst = HN_FAIL(exporter->diag, HONE_UNSUPPORTED, "node %s: opset %d cannot say %s of %s", node->name,
                                HN_EXPORT_OPSET, name, node->op->name);
    return true;
  }
  return false;
}

/* From opset 18 on an operator with this attribute must be told how many equal outputs it has, where earlier ones
 * counted them. */
static bool needs_output_count(const hn_node *node) {
  if (hn_attr_has(&node->attrs, "num_outputs") || node->in_count > 1) return false;
  for (int i = 0; i < HONE_MAX_ATTRS && node->op->attr[i].name; ++i) {
    if (hn_name_equal(node->op->attr[i].name, "num_outputs")) return true;
  }
  return false;
}

static hone_status add_attrs(hn_exporter *exporter, hn_text *out, const hn_node *node, const hone_onnx_row *row) {
  hn_text attribute, tensor;
  hn_text_init(&attribute, out->allocator);
  hn_text_init(&tensor, out->allocator);
  hone_status status = HONE_OK;
  for (int i = 0; i < node->attrs.count; ++i) {
    const hone_attr *attr = &node->attrs.items[i];
    const bool counts_captures = node->block_count > 0 && hn_name_equal(attr->name, "captures");
    if (is_default(node->op, attr) || counts_captures || is_internal(exporter, node, attr->name)) continue;
    const char *name = onnx_attr_name(exporter, row, attr->name);
    if (!name) status = HN_FAIL_MEMORY(exporter->diag);
    if (!name) break;
    hn_wire_string(&attribute, ATTR_NAME, name);
    add_attr_value(&attribute, attr, &tensor);
    hn_wire_message(out, NODE_ATTRIBUTE, &attribute);
  }
  if (needs_output_count(node)) {
    const hone_attr count = {.name = "num_outputs", .kind = HONE_ATTR_INT, .i = node->out_count};
    hn_wire_string(&attribute, ATTR_NAME, count.name);
    add_attr_value(&attribute, &count, &tensor);
    hn_wire_message(out, NODE_ATTRIBUTE, &attribute);
  }
  hn_text_deinit(&tensor);
  hn_text_deinit(&attribute);
  return status;
}

/* Captures are the last inputs of a node with blocks: those that the attribute counts, or for a row without it all
 * that the blocks have as parameters. ONNX leaves them out: inner graphs see the names around them. */
static int capture_count(const hn_node *node) {
  if (node->block_count == 0) return 0;
  if (hn_attr_has(&node->attrs, "captures")) return (int)hn_attr_int(&node->attrs, "captures");
  return node->blocks[0]->param_count;
}

static hone_status add_blocks(hn_exporter *exporter, hn_text *out, const hn_node *node) {
  static const char *const branches[] = {"then_branch", "else_branch"}, *const body[] = {"body"};
  const char *const *names = node->block_count == 2 ? branches : body;
  const int captures = capture_count(node), own = node->in_count - captures;
  for (int b = 0; b < node->block_count; ++b) {
    const hn_block *block = node->blocks[b];
    const int declared = block->param_count - captures;
    for (int i = 0; i < captures; ++i)
      exporter->names[block->params[declared + i]->id] = hn_export_name(exporter, node->in[own + i]);
    hn_text graph, attribute;
    hn_text_init(&graph, out->allocator);
    hn_text_init(&attribute, out->allocator);
    const hone_status status = hn_export_block(exporter, &graph, names[b], block, declared);
    hn_wire_string(&attribute, ATTR_NAME, names[b]);
    hn_wire_message(&attribute, ATTR_G, &graph);
    hn_wire_int(&attribute, ATTR_TYPE, TYPE_GRAPH);
    hn_wire_message(out, NODE_ATTRIBUTE, &attribute);
    hn_text_deinit(&attribute);
    hn_text_deinit(&graph);
    HN_TRY(status);
  }
  return HONE_OK;
}

static hone_status use_domain(hn_exporter *exporter, const hone_onnx_row *row) {
  if (!row->domain || !*row->domain) return HONE_OK;
  int64_t *version = hn_table_get(&exporter->domains, row->domain);
  if (!version) {
    version = HN_NEW(&exporter->arena, int64_t, 1);
    if (!version || !hn_table_put(&exporter->domains, row->domain, version) ||
        !hn_arena_grow(&exporter->arena, (void **)&exporter->domain_list, &exporter->domain_capacity,
                       exporter->domain_count + 1, sizeof(char *)))
      return HN_FAIL_MEMORY(exporter->diag);
    exporter->domain_list[exporter->domain_count++] = row->domain;
  }
  if (*version < row->first) *version = row->first;
  return HONE_OK;
}

/* Element types that came after the opset. */
static void check_dtype(hn_exporter *exporter, const hn_node *node, const hn_value *value) {
  const uint32_t later = HONE_BIT(HONE_I2) | HONE_BIT(HONE_U2) | HONE_BIT(HONE_F4E2M1) | HONE_BIT(HONE_F8E8M0);
  if (!value || !(HONE_BIT(value->fact.type.dtype) & later)) return;
  exporter->worst = HN_FAIL(exporter->diag, HONE_UNSUPPORTED, "node %s: opset %d has no element type %s", node->name,
                            HN_EXPORT_OPSET, hone_dtype_name(value->fact.type.dtype));
}

static hone_status add_node(hn_exporter *exporter, hn_text *out, const hn_node *node) {
  const hone_onnx_row *row = hn_export_row(node->op);
  if (node->op->traits & HONE_FAILS) {
    const hone_attr *message = hn_attr_find(&node->attrs, "message");
    exporter->worst = HN_FAIL(exporter->diag, HONE_UNSUPPORTED, "%s; ONNX has no operator for a branch that fails",
                              message ? message->s : node->name);
    return HONE_OK;
  }
  if (!row) {
    exporter->worst = HN_FAIL(exporter->diag, HONE_UNSUPPORTED, "node %s: opset %d has no operator for %s", node->name,
                              HN_EXPORT_OPSET, node->op->name);
    return HONE_OK;
  }
  for (int i = 0; i < node->in_count; ++i) check_dtype(exporter, node, node->in[i]);
  for (int i = 0; i < node->out_count; ++i) check_dtype(exporter, node, node->out[i]);
  HN_TRY(use_domain(exporter, row));
  const int in_count = node->in_count - capture_count(node);
  int last = in_count;
  while (last > 0 && !node->in[last - 1]) --last;
  for (int i = 0; i < last; ++i) hn_wire_string(out, NODE_INPUT, hn_export_name(exporter, node->in[i]));
  for (int i = 0; i < node->out_count; ++i) hn_wire_string(out, NODE_OUTPUT, hn_export_name(exporter, node->out[i]));
  hn_wire_string(out, NODE_NAME, node->name);
  hn_wire_string(out, NODE_OP_TYPE, row->name);
  HN_TRY(add_attrs(exporter, out, node, row));
  if (row->domain && *row->domain) hn_wire_string(out, NODE_DOMAIN, row->domain);
  return add_blocks(exporter, out, node);
}

static void add_identity(hn_text *out, const char *from, const char *to, hn_text *node) {
  hn_wire_string(node, NODE_INPUT, from);
  hn_wire_string(node, NODE_OUTPUT, to);
  hn_wire_string(node, NODE_OP_TYPE, "Identity");
  hn_wire_message(out, GRAPH_NODE, node);
}

/* A name that no value and no output has. */
static const char *fresh_name(hn_exporter *exporter, const char *like) {
  for (int64_t i = 1;; ++i) {
    const char *name = hn_arena_printf(&exporter->arena, "%s_%" PRId64, like, i);
    if (!name) return NULL;
    if (hn_table_get(&exporter->graph->value_names, name) || hn_table_get(&exporter->taken, name)) continue;
    return hn_table_put(&exporter->taken, name, exporter) ? name : NULL;
  }
}

/* An output's public name; another value that happens to have it gets a new one. */
static hone_status name_output(hn_exporter *exporter, const hn_value *value, const char *name, bool passed_on) {
  const hn_value *other = hn_table_get(&exporter->graph->value_names, name);
  if (other && (other != value || passed_on) && !exporter->names[other->id]) {
    if (other == value && other->param_of) return HONE_OK; /* an input that is an output under its own name */
    if (other->param_of)
      return HN_FAIL(exporter->diag, HONE_UNSUPPORTED, "an input and another value's output are both named %s", name);
    exporter->names[other->id] = fresh_name(exporter, name);
    if (!exporter->names[other->id]) return HN_FAIL_MEMORY(exporter->diag);
  }
  if (!passed_on) exporter->names[value->id] = name;
  return HONE_OK;
}

/* The results' names; a value that the block does not make itself, or that is a result twice, needs a node that
 * passes it on. */
static hone_status name_results(hn_exporter *exporter, const hn_block *block, const char **names) {
  hone_graph *graph = exporter->graph;
  for (int i = 0; i < block->result_count; ++i) {
    hn_value *value = block->results[i];
    bool passed_on = !value->node;
    for (int k = 0; k < i; ++k) passed_on |= block->results[k] == value;
    if (block == graph->main) {
      names[i] = graph->output_names[i];
      HN_TRY(name_output(exporter, value, names[i], passed_on));
    } else {
      names[i] = passed_on ? fresh_name(exporter, value->name) : hn_export_name(exporter, value);
      if (!names[i]) return HN_FAIL_MEMORY(exporter->diag);
    }
  }
  return HONE_OK;
}

static hone_status add_nodes(hn_exporter *exporter, hn_text *out, const hn_block *block, hn_text *message) {
  for (const hn_node *node = block->first; node; node = node->next) {
    HN_TRY(add_node(exporter, message, node));
    hn_wire_message(out, GRAPH_NODE, message);
  }
  return HONE_OK;
}

hone_status hn_export_block(hn_exporter *exporter, hn_text *out, const char *name, const hn_block *block,
                            int param_count) {
  const char **results = HN_NEW(&exporter->arena, const char *, block->result_count);
  if (!results) return HN_FAIL_MEMORY(exporter->diag);
  HN_TRY(name_results(exporter, block, results));
  hn_text message;
  hn_text_init(&message, out->allocator);
  hone_status status = add_nodes(exporter, out, block, &message);
  for (int i = 0; status == HONE_OK && i < block->result_count; ++i) {
    const char *from = hn_export_name(exporter, block->results[i]);
    if (strcmp(from, results[i]) != 0) add_identity(out, from, results[i], &message);
  }
  hn_wire_string(out, GRAPH_NAME, name);
  for (int i = 0; i < param_count; ++i) {
    hn_export_value_info(exporter, &message, hn_export_name(exporter, block->params[i]), &block->params[i]->fact.type);
    hn_wire_message(out, GRAPH_INPUT, &message);
  }
  for (int i = 0; i < block->result_count; ++i) {
    hn_export_value_info(exporter, &message, results[i], &block->results[i]->fact.type);
    hn_wire_message(out, GRAPH_OUTPUT, &message);
  }
  hn_text_deinit(&message);
  return status;
}
