/* SPDX-License-Identifier: Apache-2.0 */
/* group.c - elementwise nodes that feed each other become one node with the joined expression, driven by traits alone.
 * A group grows from its last node towards its inputs; each producer that joins it has all its uses inside and the
 * shape of the result, so that nothing is computed twice and one intermediate tensor goes. */
#include "pass/passes.h"
#include "pass/fusion.h"
#include <string.h>

enum { MAX_INPUTS = 8, MAX_NODES = HN_EXPR_MAX };

typedef struct group {
  hn_pass_run *run;
  hn_node *nodes[MAX_NODES]; /* the root first */
  int node_count;
  hn_value *in[MAX_INPUTS + 2 * HONE_MAX_PORTS]; /* distinct */
  int in_count;
  hn_expr expr;
} group;

/* One float type throughout, a shape that is known as far as shapes are, and an expression over the inputs given. */
static bool is_member(const hn_node *node, hn_expr *out) {
  if (!(node->op->traits & HONE_ELEMENTWISE) || !node->op->expr || node->out_count != 1 || !node->out[0] ||
      node->block_count > 0 || node->in_count > HONE_MAX_PORTS)
    return false;
  const hone_type *type = &node->out[0]->fact.type;
  if (type->kind != HONE_TENSOR || !(HONE_BIT(type->dtype) & HONE_TYPES_FLOAT) || type->shape.rank < 0) return false;
  if (hn_expr_of_op(NULL, node->op, &node->attrs, node->in_count, out) != HONE_OK) return false;
  for (int i = 0; i < node->in_count; ++i)
    if (node->in[i] && node->in[i]->fact.type.dtype != type->dtype) return false;
  for (int i = 0; i < out->count; ++i)
    if (out->steps[i].op == HN_EXPR_INPUT && (out->steps[i].a >= node->in_count || !node->in[out->steps[i].a]))
      return false;
  return true;
}

static bool holds(const group *g, const hn_node *node) {
  for (int i = 0; i < g->node_count; ++i)
    if (g->nodes[i] == node) return true;
  return false;
}

/* A constant of one element is written into the expression. */
static bool is_literal(const hn_value *value, double *out) {
  if (!hn_is_scalar_constant(value)) return false;
  *out = hn_real(value->fact.constant, 0);
  return true;
}

/* An input is repeated along axes, or has the result's extents there: what kernels walk with fixed strides. */
static bool is_walkable(const hn_value *value, const hone_shape *like) {
  const hone_shape *shape = &value->fact.type.shape;
  if (shape->rank < 0 || shape->rank > like->rank) return false;
  for (int i = 0; i < shape->rank; ++i)
    if (shape->dim[i] != 1 && shape->dim[i] != like->dim[like->rank - shape->rank + i]) return false;
  return true;
}

static int add_input(group *g, hn_value *value) {
  int at = 0;
  while (at < g->in_count && g->in[at] != value) ++at;
  if (at == g->in_count) g->in[g->in_count++] = value;
  return at;
}

/* A node's expression over the distinct values among its inputs, with constants of one element written in. */
static bool own_expression(const hn_node *node, const hone_shape *like, group *out) {
  hn_expr *expr = &out->expr;
  if (!is_member(node, expr)) return false;
  out->in_count = 0;
  for (int i = 0; i < expr->count; ++i) {
    hn_expr_step *step = &expr->steps[i];
    if (step->op != HN_EXPR_INPUT) continue;
    hn_value *value = node->in[step->a];
    double number;
    if (is_literal(value, &number)) {
      *step = (hn_expr_step){.op = HN_EXPR_CONST, .real = number};
      continue;
    }
    if (!is_walkable(value, like)) return false;
    step->a = (uint8_t)add_input(out, value);
  }
  expr->in_count = out->in_count;
  return out->in_count > 0;
}

/* NULL when the producer of input `at` joined, else why it does not; "" when it is no candidate. */
static const char *join(group *g, int at) {
  hn_node *node = g->in[at]->node;
  const hn_node *root = g->nodes[0];
  group inner, joined = *g;
  int outer_map[HN_COUNT(g->in)] = {0}, map[HN_COUNT(g->in)];
  if (!node || node->owner != root->owner || !own_expression(node, &node->out[0]->fact.type.shape, &inner)) return "";
  if (g->node_count == MAX_NODES) return "the group has too many nodes";
  if (!hn_shape_equal(&node->out[0]->fact.type.shape, &root->out[0]->fact.type.shape))
    return "its result has another shape";
  if (node->out[0]->fact.type.dtype != root->out[0]->fact.type.dtype) return "its result has another type";
  for (const hn_use *use = node->out[0]->uses; use; use = use->next) {
    if (use->block) return "its result is an output";
    if (!holds(g, use->node)) return "its result has another use";
  }
  joined.in_count = 0;
  for (int i = 0; i < g->in_count; ++i) { /* what the producer reads comes where it stood */
    if (i != at) outer_map[i] = add_input(&joined, g->in[i]);
    for (int j = 0; i == at && j < inner.in_count; ++j) map[j] = add_input(&joined, inner.in[j]);
  }
  if (joined.in_count > MAX_INPUTS) return "the group would have too many inputs";
  if (!hn_expr_inline(&g->expr, at, &inner.expr, outer_map, map, joined.in_count, &joined.expr))
    return "the group's expression would be too long";
  joined.nodes[joined.node_count++] = node;
  *g = joined;
  return NULL;
}

static void grow(group *g) {
  for (bool grown = true; grown;) {
    grown = false;
    for (int i = 0; i < g->in_count && !grown; ++i) grown = !join(g, i);
  }
}

/* Why those that feed the group stay outside. */
static hone_status note_outsiders(group *g) {
  for (int i = 0; i < g->in_count; ++i) {
    const char *unmet = join(g, i);
    if (unmet && *unmet) HN_TRY(hn_pass_log_event(g->run, "group_elementwise", g->in[i]->node, unmet));
  }
  return HONE_OK;
}

static hone_status create_fused(group *g, const char *text, hn_node **out) {
  hn_node *root = g->nodes[0];
  const hone_attr attr = {.name = "expr", .kind = HONE_ATTR_STRING, .count = (int64_t)strlen(text), .s = text};
  hn_origins origins = root->origins;
  for (int i = 1; i < g->node_count; ++i)
    HN_TRY(hn_origins_union(g->run->graph, &origins, &g->nodes[i]->origins, &origins));
  const hn_node_spec spec = {.op = hn_op_find(g->run->context->ops, "fused"),
                             .name = root->name,
                             .attrs = {1, &attr},
                             .in_count = g->in_count,
                             .out_count = 1,
                             .in = g->in,
                             .origins = origins,
                             .before = root};
  if (!spec.op) return HN_FAIL(&g->run->context->diag, HONE_INTERNAL, "no op is named fused");
  return hn_node_create(root->owner, &spec, out);
}

/* Puts the fused node in the group's place, unless no device takes it. *out_node: the node to go on from. */
static hone_status replace(group *g, const char *text, hn_node **out_node) {
  hn_node *root = g->nodes[0], *fused;
  hone_graph *graph = g->run->graph;
  HN_TRY(create_fused(g, text, &fused));
  const bool same = hn_type_equal(&fused->out[0]->fact.type, &root->out[0]->fact.type);
  const char *unmet = same ? NULL : "the shape would change";
  if (same) HN_TRY(hn_fusion_target_check(g->run, fused, g->nodes, g->node_count, &unmet));
  if (unmet) {
    hn_node_remove(fused);
    return hn_pass_log_event(g->run, "group_elementwise", root, unmet);
  }
  hn_node_swap_names(graph, fused, root);
  hn_value_swap_names(graph, fused->out[0], root->out[0]);
  HN_TRY(hn_parts_attach(fused, g->nodes, g->node_count, &root->out[0]));
  HN_TRY(hn_pass_log_event(g->run, "group_elementwise", fused, NULL));
  hn_value_replace(root->out[0], fused->out[0]);
  for (int i = 0; i < g->node_count; ++i) { /* a node joined after its users */
    hn_node_remove(g->nodes[i]);
  }
  ++g->run->changes;
  *out_node = fused;
  return HONE_OK;
}

static hone_status group_node(hn_pass_run *run, hn_node **node) {
  group g = {.run = run};
  const hn_node *root = *node;
  if (root->out_count != 1 || !root->out[0] || !own_expression(root, &root->out[0]->fact.type.shape, &g))
    return HONE_OK;
  g.nodes[g.node_count++] = *node;
  grow(&g);
  HN_TRY(note_outsiders(&g));
  if (g.node_count < 2) return HONE_OK;
  hn_text text;
  hn_text_init(&text, run->context->allocator);
  hn_text_expr(&text, &g.expr);
  const hone_status status =
      text.failed ? HN_FAIL_MEMORY(&run->context->diag) : replace(&g, hn_text_string(&text), node);
  hn_text_deinit(&text);
  return status;
}

static hone_status group_block(hn_pass_run *run, hn_block *block) {
  for (hn_node *node = block->last; node; node = node->prev) {
    HN_TRY(hn_check_stop(run->context));
    for (int i = 0; i < node->block_count; ++i) HN_TRY(group_block(run, node->blocks[i]));
    HN_TRY(group_node(run, &node));
  }
  return HONE_OK;
}

hone_status hn_pass_group_elementwise(hn_pass_run *run) { return group_block(run, run->graph->main); }
