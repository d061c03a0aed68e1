/* SPDX-License-Identifier: Apache-2.0 */
/* lists.c - operators on sequences: where the sequence is made in view, of tensors that are known one by one, they
 * become operators on those tensors, and nothing of the sequence is left at run time. Source: the ONNX operator
 * specifications. */
#include "import/importer.h"
#include "tensor/shape.h"

/* The node that makes the sequence out of tensors; NULL: it comes from elsewhere. */
static const hn_node *made_by(const hn_import_call *call, const char *op) {
  const hn_value *sequence = hn_contrib_input(call, 0);
  const bool here = sequence && sequence->node && sequence->node->owner == call->scope->block;
  return here && hn_name_equal(sequence->node->op->name, op) ? sequence->node : NULL;
}

static bool constant_position(const hn_import_call *call, int index, int64_t count, int64_t *out) {
  const hn_value *value = hn_contrib_input(call, index);
  if (!value || !value->fact.value || value->fact.value_count != 1 || HONE_SYMBOLIC(value->fact.value[0])) return false;
  *out = value->fact.value[0] < 0 ? value->fact.value[0] + count : value->fact.value[0];
  return *out >= 0 && *out < count;
}

static hone_status finish(hn_import_call *call, hn_value *value) {
  call->out[0] = value;
  call->done = true;
  return HONE_OK;
}

/* SequenceEmpty: its attribute dtype is ONNX's number. */
static hone_status empty(hn_import_call *call) {
  const int64_t number = hn_contrib_take_int(call, "dtype", 1);
  const hone_dtype dtype = hn_dtype_of_onnx(number);
  const hone_attr attr = {.name = "dtype", .kind = HONE_ATTR_INT, .i = dtype};
  if (dtype == HONE_NONE)
    return HN_FAIL(call->importer->diag, HONE_UNSUPPORTED, "element type %lld is not known", (long long)number);
  return hn_import_add_attr(call, &attr);
}

static hone_status at(hn_import_call *call) {
  const hn_node *node = made_by(call, "sequence_construct");
  int64_t position;
  if (!node || !constant_position(call, 1, node->in_count, &position)) return HONE_OK;
  hn_value *value = node->in[position];
  HN_TRY(hn_import_make(call, "identity", 1, &value, 0, NULL, &value));
  return finish(call, value);
}

/* Concat, of tensors with a new axis where new_axis says so. */
static hone_status concat(hn_import_call *call) {
  const hn_node *node = made_by(call, "sequence_construct");
  const hone_attr *axis = hn_import_find_attr(call, "axis"), *adds = hn_import_find_attr(call, "new_axis");
  if (!node || node->in_count < 1 || !axis) return HONE_OK;
  hn_value **parts = HN_NEW(&call->importer->arena, hn_value *, node->in_count), *y;
  if (!parts) return HN_FAIL_MEMORY(call->importer->diag);
  for (int i = 0; i < node->in_count; ++i) {
    parts[i] = node->in[i];
    if (!adds || !adds->i) continue;
    hn_value *in[2] = {node->in[i], hn_constant_int(call->importer->graph, NULL, 1, 1, &axis->i)};
    if (!in[1]) return HONE_NO_MEMORY;
    HN_TRY(hn_import_make(call, "unsqueeze", 2, in, 0, NULL, &parts[i]));
  }
  const hone_attr along = *axis;
  HN_TRY(hn_import_make(call, "concat", node->in_count, parts, 1, &along, &y));
  return finish(call, y);
}

/* ---- SequenceMap: a loop over the elements, which puts what its body makes into new sequences ---- */

typedef struct map {
  hn_import_call *call;
  const hn_onnx_graph *body;
  hn_captures captures;
  hn_node *loop;
  int count; /* of the sequences that it makes */
} map;

/* The loop's inputs: its number of turns, empty sequences, then what the node has, and what the body captures. */
static hone_status map_inputs(map *m, hn_value ***out, int *out_count) {
  hn_import_call *call = m->call;
  hn_importer *importer = call->importer;
  const hn_onnx_value_info *outputs = m->body->outputs.items;
  *out_count = 2 + m->count + call->in_count + m->captures.count;
  hn_value **in = HN_NEW(&importer->arena, hn_value *, *out_count);
  if (!in) return HN_FAIL_MEMORY(importer->diag);
  HN_TRY(hn_import_make(call, "sequence_length", 1, call->in, 0, NULL, &in[0]));
  for (int i = 0; i < m->count; ++i) {
    hone_type type;
    HN_TRY_NOTE(importer->diag, hn_import_type(importer, outputs[i].type, true, &type), "in its body's output %s",
                outputs[i].name);
    const hone_attr dtype = {.name = "dtype", .kind = HONE_ATTR_INT, .i = type.dtype};
    HN_TRY(hn_import_make(call, "sequence_construct", 0, NULL, 1, &dtype, &in[2 + i]));
  }
  for (int i = 0; i < call->in_count; ++i) in[2 + m->count + i] = call->in[i];
  for (int i = 0; i < m->captures.count; ++i) in[2 + m->count + call->in_count + i] = m->captures.values[i];
  *out = in;
  return HONE_OK;
}

static hone_status make_map(map *m) {
  hn_import_call *call = m->call;
  hn_value **in;
  int count;
  HN_TRY(map_inputs(m, &in, &count));
  const hone_attr captures = {.name = "captures", .kind = HONE_ATTR_INT, .i = count - 2 - m->count};
  const hn_node_spec spec = {.op = call->op,
                             .name = call->name,
                             .attrs = {.count = 1, .items = &captures},
                             .in_count = count,
                             .in = in,
                             .out_count = m->count,
                             .out_names = call->out_names,
                             .origins = call->origins,
                             .block_count = 1};
  HN_TRY(hn_node_create(call->scope->block, &spec, &m->loop));
  hn_block *block = m->loop->blocks[0];
  const hone_type number = hn_tensor_type(HONE_I64, 0, NULL), condition = hn_tensor_type(HONE_BOOL, 0, NULL);
  if (!hn_block_add_param(block, NULL, &number) || !hn_block_add_param(block, NULL, &condition)) return HONE_NO_MEMORY;
  for (int i = 2; i < count; ++i)
    if (!hn_block_add_param(block, NULL, &in[i]->fact.type)) return HONE_NO_MEMORY;
  return hn_infer_params(call->importer->graph, m->loop, 0);
}

/* An input of the body is an element of a sequence, or what is the same for all turns. */
static hone_status map_names(const map *m, hn_import_call *inside) {
  hn_block *block = m->loop->blocks[0];
  const hn_onnx_value_info *inputs = m->body->inputs.items;
  for (int i = 0; i < m->call->in_count; ++i) {
    hn_value *value = block->params[2 + m->count + i];
    if (value->fact.type.kind == HONE_SEQUENCE) {
      hn_value *in[2] = {value, block->params[0]};
      HN_TRY(hn_import_make(inside, "sequence_at", 2, in, 0, NULL, &value));
    }
    HN_TRY(hn_scope_bind(m->call->importer, inside->scope, inputs[i].name, value));
  }
  for (int i = 0; i < m->captures.count; ++i)
    if (!hn_table_get(&inside->scope->names, m->captures.names[i]))
      HN_TRY(hn_scope_bind(m->call->importer, inside->scope, m->captures.names[i],
                           block->params[2 + m->count + m->call->in_count + i]));
  return HONE_OK;
}

static hone_status fill_map(const map *m) {
  hn_importer *importer = m->call->importer;
  const hn_onnx_value_info *outputs = m->body->outputs.items;
  hn_scope scope;
  HN_TRY(hn_scope_init(importer, &scope, m->call->scope, m->loop->blocks[0]));
  hn_import_call inside = {.importer = importer, .scope = &scope, .origins = m->call->origins};
  HN_TRY(map_names(m, &inside));
  HN_TRY(hn_import_initializers(importer, &scope, m->body));
  HN_TRY(hn_import_nodes(importer, &scope, &m->body->nodes));
  hn_value *going = hn_constant_scalar(importer->graph, HONE_BOOL, 1);
  if (!going) return HONE_NO_MEMORY;
  HN_TRY(hn_block_add_result(scope.block, going, NULL));
  for (int i = 0; i < m->count; ++i) {
    hn_value *in[2] = {scope.block->params[2 + i], hn_scope_find(&scope, outputs[i].name)}, *longer;
    if (!in[1])
      return HN_FAIL(importer->diag, HONE_MALFORMED, "its body's output %s is made by no node", outputs[i].name);
    if (in[1] == &importer->bad) return HN_FAIL(importer->diag, HONE_UNSUPPORTED, "its body cannot be imported");
    HN_TRY(hn_import_make(&inside, "sequence_insert", 2, in, 0, NULL, &longer));
    HN_TRY(hn_block_add_result(scope.block, longer, NULL));
  }
  return hn_infer_node(importer->graph, m->loop);
}

static hone_status sequence_map(hn_import_call *call) {
  map m = {.call = call, .body = call->body_count == 1 ? call->bodies[0] : NULL, .count = call->out_count};
  if (!m.body || call->in_count < 1 || call->in_count != (int)m.body->inputs.count ||
      call->out_count != (int)m.body->outputs.count)
    return HN_FAIL(call->importer->diag, HONE_MALFORMED, "its inputs and outputs are not those of its body");
  for (int i = 0; i < call->in_count; ++i)
    if (!call->in[i]) return HN_FAIL(call->importer->diag, HONE_MALFORMED, "input %d is missing", i);
  HN_TRY(hn_import_captures(call->importer, call->scope, m.body, &m.captures));
  HN_TRY(make_map(&m));
  HN_TRY(fill_map(&m));
  for (int i = 0; i < call->out_count; ++i) call->out[i] = m.loop->out[i];
  call->done = true;
  return HONE_OK;
}

const hn_adapter hn_list_adapters[] = {{"concat_from_sequence", "", concat},
                                       {"sequence_at", "", at},
                                       {"sequence_empty", "", empty},
                                       {"sequence_map", "", sequence_map},
                                       {0}};
