/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.c - operators that match a pattern give way to others. In a pattern a value's name stands for any value, and
 * for the same one wherever it is written. What lies inside a match must be read by the match alone. */
#include "edit/model.h"
#include "ops/registry.h"
#include <string.h>

typedef struct matching {
  hone_model *model;
  const hn_edit_node *nodes[HN_EDIT_MAX_TERMS];
  const char *names[HN_EDIT_MAX_TERMS], *values[HN_EDIT_MAX_TERMS]; /* variables and what they stand for */
  int node_count, name_count;
} matching;

static bool match_node(matching *m, const hn_edit_term *term, const hn_edit_node *node);

static bool match_value(matching *m, const hn_edit_term *term, const char *value) {
  if (!term->op) {
    for (int i = 0; i < m->name_count; ++i)
      if (strcmp(m->names[i], term->name) == 0) return strcmp(m->values[i], value) == 0;
    if (m->name_count == HN_EDIT_MAX_TERMS) return false;
    m->names[m->name_count] = term->name;
    m->values[m->name_count++] = value;
    return true;
  }
  const hn_edit_node *node = hn_edit_producer(&m->model->graph, value);
  return node && strcmp(node->out[0], value) == 0 && hn_edit_use_count(&m->model->graph, value) == 1 &&
         match_node(m, term, node);
}

static bool match_node(matching *m, const hn_edit_term *term, const hn_edit_node *node) {
  if (strcmp(node->op, term->op) != 0 || strcmp(node->domain, term->domain) != 0) return false;
  if (node->in_count != term->in_count || m->node_count == HN_EDIT_MAX_TERMS) return false;
  for (int k = 1; k < node->out_count; ++k)
    if (*node->out[k] && hn_edit_use_count(&m->model->graph, node->out[k]) > 0) return false;
  m->nodes[m->node_count++] = node;
  for (int i = 0; i < term->in_count; ++i)
    if (!match_value(m, term->in[i], node->in[i])) return false;
  return true;
}

/* As the operator's row says. */
static bool commutes(const hone_model *model, const hn_edit_term *find) {
  const hone_onnx_row *onnx;
  bool known;
  const hone_op *op = hn_op_find_onnx(model->context->ops, find->domain, find->op, HONE_LATEST, &onnx, &known);
  return op && (op->traits & HONE_COMMUTES);
}

/* x * f(x): the inner value may be read twice by the match itself; then the operands are tried the other way round. */
static bool matches(hone_model *model, const hn_edit_term *find, const hn_edit_node *root, matching *m) {
  *m = (matching){.model = model};
  if (root->out_count > 0 && match_node(m, find, root)) return true;
  if (!commutes(model, find) || find->in_count != 2 || root->out_count == 0) return false;
  hn_edit_term *turned[2] = {find->in[1], find->in[0]};
  hn_edit_term other = *find;
  other.in = turned;
  *m = (matching){.model = model};
  return match_node(m, &other, root);
}

/* ---- what is put there ---- */

static hone_status put_term(matching *m, const hn_edit_term *term, const char *out, int *at, const char **value) {
  hone_model *model = m->model;
  if (!term->op) {
    *value = term->name; /* a value of the model, unless it is a variable */
    for (int i = 0; i < m->name_count; ++i)
      if (strcmp(m->names[i], term->name) == 0) *value = m->values[i];
    return *value == term->name ? hn_edit_want_value(model, term->name) : HONE_OK;
  }
  hn_edit_node *node = HN_NEW(&model->arena, hn_edit_node, 1);
  const char **in = HN_NEW(&model->arena, const char *, term->in_count + 1);
  const char **names = HN_NEW(&model->arena, const char *, 1);
  if (!node || !in || !names) return HN_FAIL_MEMORY(&model->context->diag);
  for (int i = 0; i < term->in_count; ++i) HN_TRY(put_term(m, term->in[i], NULL, at, &in[i]));
  const char *name = hn_edit_new_name(model, term->op);
  if (!name) return HN_FAIL_MEMORY(&model->context->diag);
  names[0] = out ? out : hn_edit_new_name(model, hn_arena_printf(&model->arena, "%s_out", name));
  if (!names[0]) return HN_FAIL_MEMORY(&model->context->diag);
  *node = (hn_edit_node){.name = name,
                         .op = term->op,
                         .domain = term->domain,
                         .in_count = term->in_count,
                         .out_count = 1,
                         .attr_count = term->attr_count,
                         .in = in,
                         .out = names,
                         .attrs = term->attrs};
  *value = names[0];
  if (!hn_edit_push_node(model, &model->graph, (*at)++, node)) return HN_FAIL_MEMORY(&model->context->diag);
  return hn_edit_add_domain(model, term->domain);
}

static hone_status replace_at(matching *m, const hn_edit_term *put, const hn_edit_node *root) {
  hn_edit_graph *graph = &m->model->graph;
  const char *out = root->out[0], *value;
  int at = 0;
  while (graph->nodes[at] != root) ++at;
  memmove(&graph->nodes[at], &graph->nodes[at + 1], (size_t)(graph->node_count - at - 1) * sizeof *graph->nodes);
  --graph->node_count;
  return put_term(m, put, out, &at, &value);
}

hone_status hn_edit_replace(hone_model *model, const hn_edit_term *find, const hn_edit_term *put, int *out_count) {
  *out_count = 0;
  if (!find->op || !put->op)
    return HN_FAIL(&model->context->diag, HONE_INVALID, "a replacement is of an operator, by an operator");
  const int before = model->graph.node_count;
  hn_edit_node **roots = hn_arena_copy(&model->arena, model->graph.nodes, (size_t)before * sizeof *roots);
  if (!roots && before > 0) return HN_FAIL_MEMORY(&model->context->diag);
  for (int i = before - 1; i >= 0; --i) {
    bool there = false; /* not gone with a match behind it */
    for (int k = 0; k < model->graph.node_count; ++k) there = there || model->graph.nodes[k] == roots[i];
    matching m;
    if (!there || !matches(model, find, roots[i], &m)) continue;
    HN_TRY(replace_at(&m, put, roots[i]));
    hn_edit_drop_unread(model);
    ++*out_count;
  }
  if (*out_count == 0)
    return HN_FAIL(&model->context->diag, HONE_INVALID, "nothing in the model matches the pattern of %s", find->op);
  return HONE_OK;
}
