/* SPDX-License-Identifier: Apache-2.0 */
/* find.c - nodes and values of a model by their names, and who reads what. Bodies of nodes see the values outside. */
#include "edit/model.h"
#include <string.h>

hn_edit_node *hn_edit_find_node(const hn_edit_graph *graph, const char *name) {
  for (int i = 0; i < graph->node_count; ++i)
    if (*name && strcmp(graph->nodes[i]->name, name) == 0) return graph->nodes[i];
  return NULL;
}

static bool writes(const hn_edit_node *node, const char *value) {
  for (int i = 0; i < node->out_count; ++i)
    if (*value && strcmp(node->out[i], value) == 0) return true;
  return false;
}

hn_edit_node *hn_edit_producer(const hn_edit_graph *graph, const char *value) {
  for (int i = 0; i < graph->node_count; ++i)
    if (writes(graph->nodes[i], value)) return graph->nodes[i];
  return NULL;
}

hn_edit_value *hn_edit_find_value(const hn_edit_values *values, const char *name) {
  for (int i = 0; i < values->count; ++i)
    if (strcmp(values->items[i].name, name) == 0) return &values->items[i];
  return NULL;
}

hn_edit_tensor *hn_edit_find_tensor(const hn_edit_graph *graph, const char *name) {
  for (int i = 0; i < graph->tensor_count; ++i)
    if (strcmp(graph->tensors[i].name, name) == 0) return &graph->tensors[i];
  return NULL;
}

bool hn_edit_is_value(const hn_edit_graph *graph, const char *name) {
  return hn_edit_find_value(&graph->inputs, name) || hn_edit_find_tensor(graph, name) || hn_edit_producer(graph, name);
}

bool hn_edit_is_constant_node(const hn_edit_node *node) {
  return strcmp(node->op, "Constant") == 0 && !*node->domain && node->in_count == 0;
}

/* ---- names that are wanted ---- */

hone_status hn_edit_want_value(hone_model *model, const char *name) {
  const hn_edit_graph *graph = &model->graph;
  if (hn_edit_is_value(graph, name)) return HONE_OK;
  const char *near = NULL;
  for (int i = 0; i < graph->inputs.count; ++i) near = hone_nearest_name(name, near, graph->inputs.items[i].name);
  for (int i = 0; i < graph->tensor_count; ++i) near = hone_nearest_name(name, near, graph->tensors[i].name);
  for (int i = 0; i < graph->node_count; ++i)
    for (int k = 0; k < graph->nodes[i]->out_count; ++k) near = hone_nearest_name(name, near, graph->nodes[i]->out[k]);
  const hn_edit_node *node = hn_edit_find_node(graph, name);
  if (node && node->out_count > 0)
    return HN_FAIL(&model->context->diag, HONE_INVALID, "%s is a node, not a value; it writes %s", name, node->out[0]);
  return HN_FAIL(&model->context->diag, HONE_INVALID, "the model has no value %s%s%s", name,
                 near ? "; did you mean " : "", near ? near : "");
}

hone_status hn_edit_want_node(hone_model *model, const char *name, hn_edit_node **out) {
  const hn_edit_graph *graph = &model->graph;
  *out = hn_edit_find_node(graph, name);
  if (!*out) *out = hn_edit_producer(graph, name); /* nodes need no names: a value means what writes it */
  if (*out) return HONE_OK;
  const char *near = NULL;
  for (int i = 0; i < graph->node_count; ++i) near = hone_nearest_name(name, near, graph->nodes[i]->name);
  return HN_FAIL(&model->context->diag, HONE_INVALID, "the model has no node %s%s%s", name,
                 near ? "; did you mean " : "", near ? near : "");
}

/* ---- reading ---- */

/* What is read inside a body and written outside of it, its results included. Names of inner scopes hide outer ones. */
static void each_capture(const hn_edit_graph *body, hn_edit_see_fn *see, void *user);

typedef struct capturing {
  const hn_edit_graph *body;
  hn_edit_see_fn *see;
  void *user;
} capturing;

static void see_inner(void *user, const char *value) {
  const capturing *c = user;
  if (!hn_edit_is_value(c->body, value)) c->see(c->user, value);
}

static void each_capture(const hn_edit_graph *body, hn_edit_see_fn *see, void *user) {
  capturing c = {body, see, user};
  for (int i = 0; i < body->node_count; ++i) hn_edit_each_read(body->nodes[i], see_inner, &c);
  for (int i = 0; i < body->outputs.count; ++i) see_inner(&c, body->outputs.items[i].name);
}

void hn_edit_each_read(const hn_edit_node *node, hn_edit_see_fn *see, void *user) {
  for (int i = 0; i < node->in_count; ++i)
    if (*node->in[i]) see(user, node->in[i]);
  for (int i = 0; i < node->attr_count; ++i)
    if (node->attrs[i].body) each_capture(node->attrs[i].body, see, user);
}

typedef struct counting {
  const char *name;
  int count;
} counting;

static void count_one(void *user, const char *value) {
  counting *c = user;
  c->count += strcmp(value, c->name) == 0;
}

int hn_edit_use_count(const hn_edit_graph *graph, const char *value) {
  counting c = {.name = value};
  for (int i = 0; i < graph->node_count; ++i) hn_edit_each_read(graph->nodes[i], count_one, &c);
  return c.count + (hn_edit_find_value(&graph->outputs, value) != NULL);
}

static void redirect_in(hn_edit_graph *graph, const char *from, const char *to, const hn_edit_node *except,
                        bool outputs) {
  for (int i = 0; i < graph->node_count; ++i) {
    hn_edit_node *node = graph->nodes[i];
    if (node == except) continue;
    for (int k = 0; k < node->in_count; ++k)
      if (strcmp(node->in[k], from) == 0) node->in[k] = to;
    for (int k = 0; k < node->attr_count; ++k)
      if (node->attrs[k].body && !hn_edit_is_value(node->attrs[k].body, from))
        redirect_in(node->attrs[k].body, from, to, NULL, true);
  }
  for (int i = 0; outputs && i < graph->outputs.count; ++i)
    if (strcmp(graph->outputs.items[i].name, from) == 0) graph->outputs.items[i].name = to;
}

void hn_edit_redirect(hn_edit_graph *graph, const char *from, const char *to, const hn_edit_node *except) {
  redirect_in(graph, from, to, except, false);
}
