/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - every rule that a graph keeps between passes. It trusts nothing: a broken list is reported, not followed.
 * Inference is run again on a copy of the dims, so that verifying changes no name that a later pass will see. */
#include "ir/graph.h"
#include "ir/build.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct verifier {
  const hone_graph *graph;
  hone_graph shadow; /* the graph with its own dims, for inference */
  hn_arena scratch;
  bool *defined;  /* by value id: its definition was seen */
  int *use_count; /* by value id: uses that were seen */
  bool *node_ids;
  int broken;
  bool no_memory; /* then what was found says little */
} verifier;

static void broken(verifier *v, const char *format, ...) HONE_PRINTF(2, 3);
static void broken(verifier *v, const char *format, ...) {
  char text[HN_DIAG_TEXT_BYTES];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  (void)HN_FAIL(&v->graph->context->diag, HONE_INTERNAL, "verify: %s", text);
  ++v->broken;
}

static void run_out(verifier *v) {
  (void)HN_FAIL_MEMORY(&v->graph->context->diag);
  v->no_memory = true;
}

static const char *name_of(const hn_value *value) { return value && value->name ? value->name : "(no name)"; }

static bool is_known(const verifier *v, const hn_value *value) {
  return value && value->id >= 0 && value->id < v->graph->value_count && v->graph->values[value->id] == value;
}

/* ---- values ---- */

static void check_type(verifier *v, const hn_value *value) {
  const hone_type *type = &value->fact.type;
  if (type->kind == HONE_ABSENT && value->param_of && !value->param_of->parent && value->param_of != v->graph->main)
    return; /* in parts */
  if (type->kind <= HONE_ABSENT || type->kind > HONE_OPTIONAL_SEQUENCE || type->dtype <= HONE_NONE ||
      type->dtype >= HONE_DTYPE_COUNT)
    broken(v, "value %s has no type", name_of(value));
  if (type->format != HONE_PLAIN) broken(v, "value %s is not plain", name_of(value));
  if (type->shape.rank < -1 || type->shape.rank > HONE_MAX_RANK) {
    broken(v, "value %s has rank %d", name_of(value), type->shape.rank);
    return;
  }
  for (int i = 0; i < type->shape.rank; ++i) {
    const int64_t dim = type->shape.dim[i];
    if (dim < 0 && !hn_dim_at(&v->graph->dims, dim))
      broken(v, "value %s has dim %lld, which is not an extent", name_of(value), (long long)dim);
  }
}

static void check_constant(verifier *v, const hn_value *value) {
  const hone_tensor *tensor = value->fact.constant;
  size_t bytes;
  if (!hn_type_equal(&tensor->type, &value->fact.type))
    broken(v, "constant %s: its tensor has another type", name_of(value));
  if (!hn_type_bytes(&tensor->type, &bytes) || bytes != tensor->bytes || (bytes > 0 && !tensor->data))
    broken(v, "constant %s: %zu bytes do not fit its type", name_of(value), tensor->bytes);
}

static void check_value(verifier *v, const hn_value *value, int id) {
  if (value->id != id) broken(v, "value %s has id %d in place %d", name_of(value), value->id, id);
  if (hn_value_is_dead(value)) {
    if (value->uses || value->use_count != 0) broken(v, "value %s has uses but no definition", name_of(value));
    return;
  }
  if (!value->name || hn_table_get(&v->graph->value_names, value->name) != value)
    broken(v, "value %s is not found by its name", name_of(value));
  if (value->node && value->param_of) broken(v, "value %s has two definitions", name_of(value));
  check_type(v, value);
  if (hn_value_is_constant(value)) check_constant(v, value);
  if (value->node && value->fact.constant) broken(v, "value %s is an output and a constant", name_of(value));
  int64_t count;
  if (value->fact.value && hn_elems_checked(&value->fact.type.shape, &count) && count != value->fact.value_count)
    broken(v, "value %s: %lld known elements are not those of its type", name_of(value),
           (long long)value->fact.value_count);
}

/* The list against the slots that its uses stand for; the number against the slots that were seen. */
static void check_uses(verifier *v, const hn_value *value, int id) {
  int count = 0;
  const hn_use *before = NULL;
  for (const hn_use *use = value->uses; use; before = use, use = use->next, ++count) {
    if (count > v->use_count[id]) break;
    const bool right = use->node
                           ? use->index >= 0 && use->index < use->node->in_count &&
                                 use->node->in[use->index] == value && use->node->in_use[use->index] == use
                           : use->block && use->index >= 0 && use->index < use->block->result_count &&
                                 use->block->results[use->index] == value && use->block->result_use[use->index] == use;
    if (!right || use->prev != before) {
      broken(v, "value %s: a use is not where it says", name_of(value));
      return;
    }
  }
  if (count != v->use_count[id] || count != value->use_count || value->last_use != before)
    broken(v, "value %s has %d uses in its list, %d counted, %d in the graph", name_of(value), count, value->use_count,
           v->use_count[id]);
}

/* ---- nodes ---- */

static bool is_visible(const verifier *v, const hn_block *block, const hn_value *value) {
  if (!is_known(v, value)) return false;
  if (hn_value_is_constant(value)) return true;
  return v->defined[value->id] && (value->node ? value->node->owner : value->param_of) == block;
}

static void see_use(verifier *v, const hn_value *value) {
  if (is_known(v, value)) ++v->use_count[value->id];
}

static void check_inputs(verifier *v, const hn_block *block, const hn_node *node) {
  for (int i = 0; i < node->in_count; ++i) {
    if (!node->in[i]) continue;
    see_use(v, node->in[i]);
    if (!is_visible(v, block, node->in[i]))
      broken(v, "node %s: input %d, %s, is not defined above it in its block", node->name, i, name_of(node->in[i]));
    else if (node->in[i]->fact.type.kind == HONE_ABSENT)
      broken(v, "node %s: input %d, %s, stands for an absent value", node->name, i, name_of(node->in[i]));
  }
}

static void check_outputs(verifier *v, const hn_node *node) {
  for (int i = 0; i < node->out_count; ++i) {
    const hn_value *value = node->out[i];
    if (!value) continue;
    if (!is_known(v, value) || value->node != node || value->out_index != i) {
      broken(v, "node %s: output %d, %s, does not say so", node->name, i, name_of(value));
    } else {
      v->defined[value->id] = true;
    }
  }
}

static void check_attrs(verifier *v, const hn_node *node) {
  const hone_op *op = node->op;
  int at = 0;
  for (int i = 0; i < HONE_MAX_ATTRS && op->attr[i].name; ++i) {
    const hone_attr_decl *decl = &op->attr[i];
    const hone_attr *attr = at < node->attrs.count ? &node->attrs.items[at] : NULL;
    const bool here = attr && hn_name_equal(attr->name, decl->name);
    if (here && attr->kind != decl->kind) broken(v, "node %s: attribute %s is of another kind", node->name, decl->name);
    if (!here && (decl->has_default || (decl->flags & HONE_ATTR_REQUIRED)))
      broken(v, "node %s: attribute %s is missing", node->name, decl->name);
    at += here;
  }
  if (at < node->attrs.count)
    broken(v, "node %s: attribute %s is not the op's, or out of order", node->name, node->attrs.items[at].name);
}

static void check_ports(verifier *v, const hn_node *node) {
  bool *wanted = HN_NEW(&v->scratch, bool, node->out_count);
  if (!wanted) {
    run_out(v);
    return;
  }
  for (int i = 0; i < node->out_count; ++i) wanted[i] = node->out[i] != NULL;
  if (hn_ports_check_counts(&v->graph->context->diag, node->op, node->in_count, node->in, node->out_count, wanted) !=
      HONE_OK)
    broken(v, "node %s: its inputs or outputs do not fit the ports of %s", node->name, node->op->name);
}

/* May the stored fact stand, when inference says `now`? It may know more, or less, but nothing else. */
static bool agrees(const hone_fact *stored, const hone_fact *now) {
  const hone_type *a = &stored->type, *b = &now->type;
  if (a->kind != b->kind || a->dtype != b->dtype) return false;
  if (a->shape.rank != b->shape.rank && a->shape.rank >= 0 && b->shape.rank >= 0) return false;
  for (int i = 0; i < a->shape.rank && i < b->shape.rank; ++i) {
    if (a->shape.dim[i] != b->shape.dim[i] && a->shape.dim[i] >= 0 && b->shape.dim[i] >= 0) return false;
  }
  if (!stored->value || !now->value || stored->value_count != now->value_count) return true;
  for (int64_t i = 0; i < now->value_count; ++i) {
    if (stored->value[i] != now->value[i] && !HONE_SYMBOLIC(stored->value[i]) && !HONE_SYMBOLIC(now->value[i]))
      return false;
  }
  return true;
}

static void check_inference(verifier *v, const hn_node *node) {
  const int room = node->out_count > HONE_MAX_PORTS ? node->out_count : HONE_MAX_PORTS;
  hone_fact *facts = HN_NEW(&v->scratch, hone_fact, room);
  for (int i = 0; i < node->in_count; ++i) {
    if (node->in[i] && !is_known(v, node->in[i])) return; /* reported */
  }
  if (!facts) {
    run_out(v);
    return;
  }
  const hone_status status = hn_infer_outputs(&v->shadow, node, &v->scratch, facts);
  if (status == HONE_NO_MEMORY) v->no_memory = true;
  if (status != HONE_OK) {
    broken(v, "node %s (%s): inference does not accept its inputs", node->name, node->op->name);
    return;
  }
  for (int i = 0; i < node->out_count; ++i) {
    if (node->out[i] && !agrees(&node->out[i]->fact, &facts[i]))
      broken(v, "node %s (%s): output %s is not what inference gives", node->name, node->op->name,
             name_of(node->out[i]));
  }
}

static void check_origins(verifier *v, const hn_node *node) {
  for (int i = 1; i < node->origins.count; ++i) {
    if (strcmp(node->origins.names[i - 1], node->origins.names[i]) >= 0) {
      broken(v, "node %s: its origins are not sorted", node->name);
      return;
    }
  }
}

static void check_block(verifier *v, const hn_block *block);

static void check_parts(verifier *v, const hn_node *node) {
  const hn_block *parts = node->parts;
  if (parts->parent) broken(v, "node %s: its parts have a parent", node->name);
  if (parts->param_count != node->in_count || parts->result_count != node->out_count) {
    broken(v, "node %s: its parts have %d params and %d results for %d inputs and %d outputs", node->name,
           parts->param_count, parts->result_count, node->in_count, node->out_count);
    return;
  }
  for (int i = 0; i < node->in_count; ++i) {
    const hone_type *type = &parts->params[i]->fact.type;
    if (node->in[i] ? type->kind != node->in[i]->fact.type.kind || type->dtype != node->in[i]->fact.type.dtype
                    : type->kind != HONE_ABSENT)
      broken(v, "node %s: param %d of its parts has another type than the input", node->name, i);
  }
  for (int i = 0; i < node->out_count; ++i) {
    const hn_value *result = parts->results[i];
    if (node->out[i] && (!result || result->fact.type.dtype != node->out[i]->fact.type.dtype))
      broken(v, "node %s: result %d of its parts has another type than the output", node->name, i);
  }
}

static void check_node(verifier *v, const hn_block *block, const hn_node *node) {
  if (node->owner != block) broken(v, "node %s is in another block than it says", node->name);
  if (!node->name || hn_table_get(&v->graph->node_names, node->name) != node)
    broken(v, "node %s is not found by its name", node->name ? node->name : "(no name)");
  if (node->id < 0 || node->id >= v->graph->next_node_id || v->node_ids[node->id]) {
    broken(v, "node %s has id %d, which is not its own", node->name, node->id);
  } else {
    v->node_ids[node->id] = true;
  }
  check_inputs(v, block, node);
  check_ports(v, node);
  check_attrs(v, node);
  check_origins(v, node);
  if (((node->op->traits & HONE_HAS_BLOCKS) != 0) != (node->block_count > 0))
    broken(v, "node %s (%s) has %d blocks", node->name, node->op->name, node->block_count);
  for (int i = 0; i < node->block_count; ++i) {
    if (node->blocks[i]->parent != node) broken(v, "node %s: block %d is not its own", node->name, i);
    check_block(v, node->blocks[i]);
  }
  if (node->parts) {
    check_block(v, node->parts);
    check_parts(v, node);
  }
  if (!(node->op->traits & HONE_HAS_BLOCKS)) check_inference(v, node);
  check_outputs(v, node);
}

/* ---- blocks ---- */

static void check_params(verifier *v, const hn_block *block) {
  for (int i = 0; i < block->param_count; ++i) {
    const hn_value *param = block->params[i];
    if (!is_known(v, param) || param->param_of != block || param->out_index != i) {
      broken(v, "param %d, %s, does not say so", i, name_of(param));
    } else {
      v->defined[param->id] = true;
    }
  }
}

static void check_results(verifier *v, const hn_block *block) {
  const bool is_parts = !block->parent && block != v->graph->main;
  for (int i = 0; i < block->result_count; ++i) {
    const hn_value *result = block->results[i];
    if (!result && is_parts) continue;
    see_use(v, result);
    if (!is_visible(v, block, result)) broken(v, "result %d, %s, is not defined in its block", i, name_of(result));
  }
}

static void check_block(verifier *v, const hn_block *block) {
  if (block->graph != v->graph) broken(v, "a block belongs to another graph");
  check_params(v, block);
  const hn_node *before = NULL;
  int count = 0;
  for (const hn_node *node = block->first; node; before = node, node = node->next) {
    if (node->prev != before || ++count > v->graph->next_node_id) {
      broken(v, "node %s: the list of its block is broken", node->name);
      return;
    }
    check_node(v, block, node);
  }
  if (block->last != before) broken(v, "a block does not end with its last node");
  check_results(v, block);
}

static void check_output_names(verifier *v) {
  const hone_graph *graph = v->graph;
  hn_table names;
  hn_table_init(&names, &v->scratch);
  for (int i = 0; i < graph->main->result_count; ++i) {
    const char *name = graph->output_names[i];
    if (!name || hn_table_get(&names, name)) {
      broken(v, "output %d has no name of its own", i);
    } else if (!hn_table_put(&names, name, graph->main)) {
      run_out(v);
    }
  }
}

static bool prepare(verifier *v, const hone_graph *graph) {
  v->graph = graph;
  hn_arena_init(&v->scratch, graph->context->allocator);
  v->shadow = *graph;
  v->shadow.dims.arena = &v->scratch;
  v->defined = HN_NEW(&v->scratch, bool, graph->value_count);
  v->use_count = HN_NEW(&v->scratch, int, graph->value_count);
  v->node_ids = HN_NEW(&v->scratch, bool, graph->next_node_id);
  return v->defined && v->use_count && v->node_ids && hn_dims_copy(&v->shadow.dims, &graph->dims);
}

hone_status hn_graph_verify(const hone_graph *graph) {
  verifier v = {0};
  if (!prepare(&v, graph)) {
    hn_arena_deinit(&v.scratch);
    return HN_FAIL_MEMORY(&graph->context->diag);
  }
  if (graph->main->parent) broken(&v, "the main block has a parent");
  for (int i = 0; i < graph->value_count; ++i) check_value(&v, graph->values[i], i);
  check_block(&v, graph->main);
  check_output_names(&v);
  for (int i = 0; i < graph->value_count; ++i) {
    const hn_value *value = graph->values[i];
    check_uses(&v, value, i);
    if (!hn_value_is_dead(value) && !hn_value_is_constant(value) && !v.defined[i])
      broken(&v, "value %s is defined by something outside the graph", name_of(value));
  }
  hn_arena_deinit(&v.scratch);
  if (v.no_memory) return HONE_NO_MEMORY;
  return v.broken == 0 ? HONE_OK : HONE_INTERNAL;
}
