/* SPDX-License-Identifier: Apache-2.0 */
/* quantised.c - prepares graphs with quantize_linear and dequantize_linear for the rules of rules_quantised.c, and
 * does what those cannot say: concatenations of any length and elementwise functions of one quantised tensor, which are
 * tables of 256 bytes. */
#include "pass/passes.h"
#include "pass/rule_help.h"

enum { X, SCALE, ZERO, CONSTANT_DEPTH = 8, MOST_PARTS = 64, MOST_CHAIN = 32, BYTES = 256 };
#define BYTE_TYPES (HONE_BIT(HONE_U8) | HONE_BIT(HONE_I8))

typedef struct quantised {
  hn_pass_run *run;
  const hone_op *quantize, *dequantize;
} quantised;

static bool is_byte(const hn_value *value) { return (HONE_BIT(value->fact.type.dtype) & BYTE_TYPES) != 0; }

/* Bytes on one side and f32 on the other, by the scales and zero points of constants. */
static bool has_constants(const hn_node *node) {
  const hn_value *scale = hn_input(node, SCALE), *zero = hn_input(node, ZERO), *y = node->out[0];
  if (!scale || !zero || !hn_value_is_constant(scale) || !hn_value_is_constant(zero)) return false;
  if (scale->fact.type.dtype != HONE_F32 || !is_byte(zero)) return false;
  if (hn_attr_int(&node->attrs, "block_size") != 0) return false;
  const hone_dtype real = is_byte(y) ? node->in[X]->fact.type.dtype : y->fact.type.dtype;
  if (real != HONE_F32) return false;
  const hone_attr *precision = hn_attr_find(&node->attrs, "precision");
  if (precision && precision->i > 1) return false; /* ONNX's 1 is f32 */
  for (int64_t i = 0; i < hn_elems(&scale->fact.type.shape); ++i) {
    const double each = hn_real(scale->fact.constant, i);
    if (!(each >= 0x1p-126 && each <= 0x1p127)) return false;
  }
  return true;
}

bool hn_quantised_by_one(const hn_node *node) {
  return has_constants(node) && hn_elems(&node->in[SCALE]->fact.type.shape) == 1 &&
         hn_elems(&node->in[ZERO]->fact.type.shape) == 1;
}

bool hn_quantised_along(const hn_node *node, int rank, int axis) {
  const int64_t own = hn_attr_int(&node->attrs, "axis");
  return has_constants(node) && node->in[SCALE]->fact.type.shape.rank == 1 && (own < 0 ? own + rank : own) == axis;
}

/* ---- before the rules ---- */

/* What is computed from constants alone is computed now: the rules want numbers. */
static hone_status fold_input(const quantised *q, hn_value *value, int depth) {
  hn_node *node = value ? value->node : NULL;
  if (!node || depth == 0 || node->in_count == 0 || node->owner->graph != q->run->graph) return HONE_OK;
  for (int i = 0; i < node->in_count; ++i) {
    HN_TRY(fold_input(q, node->in[i], depth - 1));
    if (node->in[i] && !hn_value_is_constant(node->in[i])) return HONE_OK;
  }
  return hn_fold_made(q->run, node, node->next);
}

/* A zero point that is left out is zero, in the scale's shape. */
static hone_status give_zero(const quantised *q, hn_node *node) {
  const hn_value *scale = node->in[SCALE];
  const hone_dtype dtype = node->op == q->quantize ? node->out[0]->fact.type.dtype : node->in[X]->fact.type.dtype;
  if (hn_input(node, ZERO) || !(HONE_BIT(dtype) & BYTE_TYPES) || !hn_shape_known(&scale->fact.type.shape))
    return HONE_OK;
  hn_value *zero = hn_filled(q->run->graph, dtype, scale->fact.type.shape.rank, scale->fact.type.shape.dim, 0);
  if (!zero) return HONE_NO_MEMORY;
  ++q->run->changes;
  if (node->in_count > ZERO) {
    hn_node_set_input(node, ZERO, zero);
    return HONE_OK;
  }
  return hn_node_add_input(node, zero);
}

static hone_status copy_node(const hn_node *node, hn_node *before, hn_value *x, hn_node **out) {
  hn_value *in[HONE_MAX_PORTS];
  for (int i = 0; i < node->in_count; ++i) in[i] = i == 0 ? x : node->in[i];
  const hn_node_spec spec = {.op = node->op,
                             .name = node->name,
                             .attrs = node->attrs,
                             .in_count = node->in_count,
                             .out_count = 1,
                             .in = in,
                             .origins = node->origins,
                             .before = before};
  return hn_node_create(before->owner, &spec, out);
}

/* Every reader gets its own: what one reader makes of it does not depend on the others. */
static hone_status give_each_its_own(const quantised *q, hn_node *node) {
  hn_value *y = node->out[0];
  for (const hn_use *use = y->uses, *next; use; use = next) {
    next = use->next;
    hn_node *reader = use->node, *own;
    if (y->use_count == 1) break;
    if (!reader || reader->owner != node->owner) continue; /* of a body */
    const int index = use->index;
    HN_TRY(copy_node(node, node->next, node->in[X], &own));
    hn_node_set_input(reader, index, own->out[0]);
    ++q->run->changes;
  }
  return HONE_OK;
}

static hone_status prepare(const quantised *q, hn_node *node) {
  for (int i = 0; i < node->in_count; ++i)
    if (node->op == q->quantize ? i != X : true) HN_TRY(fold_input(q, node->in[i], CONSTANT_DEPTH));
  HN_TRY(give_zero(q, node));
  return node->op == q->dequantize ? give_each_its_own(q, node) : HONE_OK;
}

/* ---- concatenations ---- */

static hn_node *maker(const hn_value *value, const hone_op *op) {
  return value && value->node && value->node->op == op ? value->node : NULL;
}

/* quantize(concat(dequantize(x)...)) is concat(quantize(dequantize(x))...): parts of another scale are tables then. */
static hone_status part_concat(const quantised *q, hn_node *node) {
  hn_node *concat = node->in[X]->node, *own;
  hn_value *parts[MOST_PARTS];
  if (concat->in_count > MOST_PARTS || hn_value_use_count(concat->out[0]) != 1 || !hn_quantised_by_one(node))
    return HONE_OK;
  for (int i = 0; i < concat->in_count; ++i) {
    const hn_node *part = maker(concat->in[i], q->dequantize);
    if (!part || !hn_quantised_by_one(part)) return HONE_OK;
  }
  for (int i = 0; i < concat->in_count; ++i) {
    HN_TRY(copy_node(node, node, concat->in[i], &own));
    parts[i] = own->out[0];
  }
  hn_origins origins;
  HN_TRY(hn_origins_union(q->run->graph, &concat->origins, &node->origins, &origins));
  const hn_node_spec spec = {.op = concat->op,
                             .name = concat->name,
                             .attrs = concat->attrs,
                             .in_count = concat->in_count,
                             .out_count = 1,
                             .in = parts,
                             .origins = origins,
                             .before = node};
  HN_TRY(hn_node_create(node->owner, &spec, &own));
  hn_node_swap_names(q->run->graph, own, concat);
  hn_value_swap_names(q->run->graph, own->out[0], node->out[0]);
  hn_value_replace(node->out[0], own->out[0]);
  ++q->run->changes;
  return HONE_OK;
}

/* ---- tables ---- */

/* Elementwise nodes between roundings, each behind what it reads: the first ones dequantise, the last one quantises. */
typedef struct chain {
  hn_node *nodes[MOST_CHAIN];
  int count;
  hn_node *source; /* one that dequantises; others of them dequantise the same bytes alike */
} chain;

static bool is_same_constant(hn_value *a, hn_value *b) {
  if (a == b) return true;
  return a && b && hn_value_is_constant(a) && hn_value_is_constant(b) && hn_constant_hash(a) == hn_constant_hash(b);
}

static bool holds(const chain *c, const hn_node *node) {
  for (int i = 0; i < c->count; ++i)
    if (c->nodes[i] == node) return true;
  return false;
}

static bool is_number(hn_value *in) { return !in || (hn_is_scalar_constant(in) && in->fact.type.shape.rank <= 1); }

static bool take_source(chain *c, hn_node *node) {
  const hn_node *first = c->source;
  if (!hn_quantised_by_one(node)) return false;
  if (!first) c->source = node;
  return !first || (first->in[X] == node->in[X] && is_same_constant(first->in[SCALE], node->in[SCALE]) &&
                    is_same_constant(first->in[ZERO], node->in[ZERO]));
}

/* What makes the value, and what that depends on, up to one tensor of bytes: a function may read it more than once, as
 * x sigmoid(x) does. */
static bool take(const quantised *q, const hn_node *root, const hn_value *value, int depth, chain *c) {
  hn_node *node = value->node;
  if (!node || node->owner != root->owner || depth == 0) return false;
  if (holds(c, node)) return true;
  if (!hn_shape_equal(&value->fact.type.shape, &root->out[0]->fact.type.shape)) return false;
  if (node->op == q->dequantize) {
    if (!take_source(c, node)) return false;
  } else {
    if (!(node->op->traits & HONE_ELEMENTWISE) || node->out_count != 1 || node->in_count > HONE_MAX_PORTS) return false;
    for (int i = 0; i < node->in_count; ++i)
      if (!is_number(node->in[i]) && !take(q, root, node->in[i], depth - 1, c)) return false;
  }
  if (c->count >= MOST_CHAIN - 1) return false;
  c->nodes[c->count++] = node;
  return true;
}

/* Does nothing else read what is between? It would be computed all the same. */
static bool is_closed(const quantised *q, const chain *c) {
  for (int i = 0; i < c->count - 1; ++i)
    for (const hn_use *use = c->nodes[i]->out[0]->uses; use && c->nodes[i]->op != q->dequantize; use = use->next)
      if (!use->node || !holds(c, use->node)) return false;
  return true;
}

static bool find_chain(const quantised *q, hn_node *node, chain *out) {
  *out = (chain){.count = 0};
  if (!hn_quantised_by_one(node) || !take(q, node, node->in[X], MOST_CHAIN, out) || !out->source) return false;
  out->nodes[out->count++] = node;
  return is_closed(q, out);
}

static hn_value *all_bytes(hone_graph *graph, hone_dtype dtype) {
  uint8_t bytes[BYTES];
  static const int64_t dims[1] = {BYTES};
  for (int i = 0; i < BYTES; ++i) bytes[i] = (uint8_t)i;
  const hone_tensor tensor = {.type = hn_tensor_type(dtype, 1, dims), .data = bytes, .bytes = BYTES};
  return hn_constant_create(graph, NULL, &tensor, false);
}

static hn_value *made_of(const chain *c, hn_value *const *made, hn_value *in) {
  for (int i = 0; in && i < c->count; ++i)
    if (c->nodes[i]->out[0] == in) return made[i];
  return in;
}

/* The chain over all bytes, in front of its last node. */
static hone_status build_table(const chain *c, hn_value *bytes, hn_node **out_first, hn_value **out) {
  hn_node *root = c->nodes[c->count - 1], *node;
  hn_value *made[MOST_CHAIN];
  *out_first = NULL;
  for (int i = 0; i < c->count; ++i) {
    const hn_node *from = c->nodes[i];
    const bool reads_bytes = from->in[X] == c->source->in[X];
    hn_value *in[HONE_MAX_PORTS];
    for (int k = 0; k < from->in_count; ++k) in[k] = reads_bytes && k == X ? bytes : made_of(c, made, from->in[k]);
    const hn_node_spec spec = {.op = from->op,
                               .attrs = from->attrs,
                               .in_count = from->in_count,
                               .out_count = 1,
                               .in = in,
                               .origins = from->origins,
                               .before = root};
    HN_TRY(hn_node_create(root->owner, &spec, &node));
    if (!*out_first) *out_first = node;
    made[i] = node->out[0];
  }
  *out = made[c->count - 1];
  return HONE_OK;
}

static hone_status make_table(const quantised *q, hn_node *node) {
  chain c;
  if (!find_chain(q, node, &c)) return HONE_OK;
  hone_graph *graph = q->run->graph;
  hn_value *bytes = all_bytes(graph, c.source->in[X]->fact.type.dtype), *table;
  hn_node *first, *lookup;
  if (!bytes) return HONE_NO_MEMORY;
  HN_TRY(build_table(&c, bytes, &first, &table));
  hn_value *in[2] = {c.source->in[X], table};
  hn_origins origins = node->origins;
  for (int i = 0; i < c.count - 1; ++i) HN_TRY(hn_origins_union(graph, &origins, &c.nodes[i]->origins, &origins));
  const hn_node *named = c.nodes[c.count - 2];
  const hn_node_spec spec = {.op = hn_op_find(q->run->context->ops, "byte_lookup"),
                             .name = named->op == q->dequantize ? node->name : named->name,
                             .in_count = 2,
                             .out_count = 1,
                             .in = in,
                             .origins = origins,
                             .before = node};
  HN_TRY(hn_node_create(node->owner, &spec, &lookup));
  HN_TRY(hn_fold_made(q->run, first, lookup));
  hn_value_swap_names(graph, lookup->out[0], node->out[0]);
  hn_value_replace(node->out[0], lookup->out[0]);
  ++q->run->changes;
  return HONE_OK;
}

/* ---- the passes ---- */

typedef hone_status visit_fn(const quantised *q, hn_node *node);

static hone_status visit_block(const quantised *q, hn_block *block, visit_fn *visit) {
  for (hn_node *node = block->first, *next; node; node = next) {
    next = node->next;
    HN_TRY(hn_check_stop(q->run->context));
    for (int i = 0; i < node->block_count; ++i) HN_TRY(visit_block(q, node->blocks[i], visit));
    if (node->op == q->quantize || node->op == q->dequantize) HN_TRY(visit(q, node));
  }
  return HONE_OK;
}

static hone_status visit_all(hn_pass_run *run, visit_fn *visit) {
  const quantised q = {run, hn_op_find(run->context->ops, "quantize_linear"),
                       hn_op_find(run->context->ops, "dequantize_linear")};
  return visit_block(&q, run->graph->main, visit);
}

/* Exporters of trained roundings write one for each branch that reads a value: what makes the value ends in one. */
static hone_status merge_rounding(const quantised *q, hn_node *node) {
  /* Nodes come in the block's order, so the first of equals takes the readers of those below it, and they have none. */
  if (node->op != q->quantize || !node->out[0]->uses) return HONE_OK;
  for (const hn_use *use = node->in[X]->uses, *next; use; use = next) {
    hn_node *other = use->node;
    next = use->next;
    if (!other || other == node || other->op != node->op || other->owner != node->owner || use->index != X) continue;
    if (other->in_count != node->in_count || !hn_attrs_equal(&other->attrs, &node->attrs)) continue;
    bool same = true;
    for (int i = X + 1; i < node->in_count; ++i) same &= is_same_constant(node->in[i], other->in[i]);
    if (!same || other->out[0]->fact.type.dtype != node->out[0]->fact.type.dtype) continue;
    HN_TRY(hn_origins_union(q->run->graph, &node->origins, &other->origins, &node->origins));
    hn_value_replace(other->out[0], node->out[0]); /* nothing reads it: it goes with what is dead */
    ++q->run->changes;
  }
  return HONE_OK;
}

hone_status hn_pass_quantised_ends(hn_pass_run *run) {
  HN_TRY(visit_all(run, merge_rounding));
  return visit_all(run, prepare);
}

static hone_status visit_concat(const quantised *q, hn_node *node) {
  const hone_op *concat = hn_op_find(q->run->context->ops, "concat");
  return node->op == q->quantize && maker(node->in[X], concat) ? part_concat(q, node) : HONE_OK;
}

hone_status hn_pass_quantised_concats(hn_pass_run *run) { return visit_all(run, visit_concat); }

static hone_status visit_chain(const quantised *q, hn_node *node) {
  return node->op == q->quantize ? make_table(q, node) : HONE_OK;
}

hone_status hn_pass_byte_tables(hn_pass_run *run) { return visit_all(run, visit_chain); }
