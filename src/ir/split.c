/* SPDX-License-Identifier: Apache-2.0 */
/* split.c - a fused node gives way to its parts: they stand where it stood, under the names that they had. */
#include "ir/graph.h"

typedef struct splitting {
  hone_graph *graph;
  hn_node *fused;
  hn_value **from, **by; /* values of the parts, and what they are in the graph */
  int count;
  hn_node **made;
  int made_count;
} splitting;

static hn_value *mapped(const splitting *s, const hn_value *value) {
  for (int i = 0; i < s->count; ++i)
    if (s->from[i] == value) return s->by[i];
  return NULL;
}

bool hn_node_can_split(const hn_node *node) {
  const hn_block *parts = node->parts;
  if (!parts || !parts->first) return false;
  for (const hn_node *part = parts->first; part; part = part->next)
    if (part->block_count) return false;
  for (int i = 0; i < parts->result_count; ++i) { /* every output has a producer of its own among them */
    const hn_value *result = parts->results[i];
    if (!result) continue;
    if (!result->node) return false;
    for (int j = 0; j < i; ++j)
      if (parts->results[j] == result) return false;
  }
  return true;
}

static hone_status copy_node(splitting *s, const hn_node *part) {
  hn_arena *arena = &s->graph->arena;
  hn_value **in = HN_NEW(arena, hn_value *, part->in_count + 1);
  const char **names = HN_NEW(arena, const char *, part->out_count + 1);
  if (!in || !names) return HN_FAIL_MEMORY(&s->graph->context->diag);
  for (int i = 0; i < part->in_count; ++i) {
    in[i] = part->in[i] && hn_value_is_constant(part->in[i]) ? part->in[i] : mapped(s, part->in[i]);
    if (part->in[i] && !in[i] && part->in[i]->fact.type.kind != HONE_ABSENT)
      return HN_FAIL(&s->graph->context->diag, HONE_INTERNAL, "%s, a part of %s, reads %s from outside", part->name,
                     s->fused->name, part->in[i]->name);
  }
  for (int i = 0; i < part->out_count; ++i) names[i] = part->out[i] ? NULL : "";
  const hn_node_spec spec = {.op = part->op,
                             .name = part->name,
                             .attrs = part->attrs,
                             .in_count = part->in_count,
                             .out_count = part->out_count,
                             .in = in,
                             .out_names = names,
                             .origins = part->origins,
                             .before = s->fused};
  hn_node *copy;
  HN_TRY(hn_node_create(s->fused->owner, &spec, &copy));
  s->made[s->made_count++] = copy;
  for (int i = 0; i < part->out_count; ++i) {
    if (!part->out[i]) continue;
    s->from[s->count] = part->out[i];
    s->by[s->count++] = copy->out[i];
  }
  return HONE_OK;
}

static hone_status start(splitting *s) {
  const hn_block *parts = s->fused->parts;
  int nodes = 0, values = parts->param_count;
  for (const hn_node *part = parts->first; part; part = part->next) {
    ++nodes;
    values += part->out_count;
  }
  s->from = HN_NEW(&s->graph->arena, hn_value *, values + 1);
  s->by = HN_NEW(&s->graph->arena, hn_value *, values + 1);
  s->made = HN_NEW(&s->graph->arena, hn_node *, nodes + 1);
  if (!s->from || !s->by || !s->made) return HN_FAIL_MEMORY(&s->graph->context->diag);
  for (int i = 0; i < parts->param_count; ++i) {
    s->from[i] = parts->params[i];
    s->by[i] = s->fused->in[i];
  }
  s->count = parts->param_count;
  return HONE_OK;
}

/* Names, parts of parts and uses change hands: nothing here can fail. */
static void finish(splitting *s) {
  hn_block *parts = s->fused->parts;
  int k = 0;
  for (hn_node *part = parts->first; part; part = part->next, ++k) {
    hn_node_swap_names(s->graph, part, s->made[k]);
    s->made[k]->parts = part->parts;
    part->parts = NULL;
    for (int i = 0; i < part->out_count; ++i)
      if (part->out[i]) hn_value_swap_names(s->graph, part->out[i], s->made[k]->out[i]);
  }
  for (int i = 0; i < s->fused->out_count; ++i) {
    if (!s->fused->out[i] || !parts->results[i]) continue;
    hn_value *by = mapped(s, parts->results[i]);
    hn_value_swap_names(s->graph, s->fused->out[i], by);
    hn_value_replace(s->fused->out[i], by);
  }
  hn_node_remove(s->fused);
}

hone_status hn_node_split(hone_graph *graph, hn_node *node) {
  splitting s = {.graph = graph, .fused = node};
  HN_TRY(start(&s));
  hone_status status = HONE_OK;
  for (const hn_node *part = node->parts->first; part && status == HONE_OK; part = part->next)
    status = copy_node(&s, part);
  if (status == HONE_OK)
    finish(&s);
  else
    while (s.made_count > 0) hn_node_remove(s.made[--s.made_count]);
  return status;
}
