/* SPDX-License-Identifier: Apache-2.0 */
/* part.c - a part of a graph as a graph of its own: values whose nodes are gone become inputs, or constants where their
 * numbers are given. */
#include "edit/model.h"
#include <string.h>

typedef struct parting {
  hone_model *model;
  const hn_edit_part *part;
  const hn_edit_graph *from;
  hn_edit_graph to;
  hn_table made, ends, read; /* values that kept nodes write; that are inputs or constants; that are read */
  hn_table stays;            /* Constant nodes, by what they write */
  hone_status status;
} parting;

static bool put(parting *p, hn_table *table, const char *name) {
  if (!hn_table_put(table, name, p)) p->status = HN_FAIL_MEMORY(&p->model->context->diag);
  return p->status == HONE_OK;
}

static void add_tensor(parting *p, const hn_edit_tensor *tensor) {
  hn_edit_graph *to = &p->to;
  if (!hn_arena_grow(&p->model->arena, (void **)&to->tensors, &to->tensor_capacity, to->tensor_count + 1,
                     sizeof *to->tensors)) {
    p->status = HN_FAIL_MEMORY(&p->model->context->diag);
    return;
  }
  to->tensors[to->tensor_count++] = *tensor;
}

static void add_value(parting *p, hn_edit_values *values, const hn_edit_value *value) {
  if (!hn_edit_push_value(p->model, values, value)) p->status = HN_FAIL_MEMORY(&p->model->context->diag);
}

/* A value of a node that is gone. */
static void cut(parting *p, const char *name) {
  for (int i = 0; i < p->part->constant_count; ++i)
    if (strcmp(p->part->constants[i].name, name) == 0) {
      add_tensor(p, &p->part->constants[i]);
      return;
    }
  hn_edit_value value = {.name = name};
  p->status = hn_edit_type_of(p->model, name, &value.type);
  if (p->status == HONE_OK && !value.type.data)
    p->status = HN_FAIL(&p->model->context->diag, HONE_UNSUPPORTED,
                        "%s would become an input, and its type is not known; the edit `type %s f32[...]` states it",
                        name, name);
  if (p->status == HONE_OK) add_value(p, &p->to.inputs, &value);
}

/* Something kept reads the value: where does it come from? */
static void see_read(void *user, const char *name) {
  parting *p = user;
  if (p->status != HONE_OK || !put(p, &p->read, name)) return;
  if (hn_table_get(&p->made, name) || hn_table_get(&p->ends, name)) return;
  if (!put(p, &p->ends, name)) return;
  const hn_edit_value *input = hn_edit_find_value(&p->from->inputs, name);
  const hn_edit_tensor *tensor = hn_edit_find_tensor(p->from, name);
  if (tensor) add_tensor(p, tensor);
  if (input && p->status == HONE_OK) add_value(p, &p->to.inputs, input); /* a default has both */
  if (input || tensor) return;
  const hn_edit_node *node = hn_edit_producer(p->from, name);
  if (node && hn_edit_is_constant_node(node))
    put(p, &p->stays, name);
  else if (node)
    cut(p, name);
}

static void take_nodes(parting *p) {
  const hn_edit_graph *from = p->from;
  for (int i = 0; i < from->node_count && p->status == HONE_OK; ++i)
    if (p->part->keep[i]) hn_edit_each_read(from->nodes[i], see_read, p);
  for (int i = 0; i < from->node_count && p->status == HONE_OK; ++i) {
    const hn_edit_node *node = from->nodes[i];
    const bool stays = hn_edit_is_constant_node(node) && hn_table_get(&p->stays, node->out[0]);
    if ((p->part->keep[i] || stays) && !hn_edit_push_node(p->model, &p->to, p->to.node_count, from->nodes[i]))
      p->status = HN_FAIL_MEMORY(&p->model->context->diag);
  }
}

static void add_output(parting *p, const char *name) {
  hn_edit_value value = {.name = name};
  const hn_edit_value *known = hn_edit_find_value(&p->from->outputs, name);
  if (known)
    value = *known;
  else
    p->status = hn_edit_type_of(p->model, name, &value.type); /* an output without a type is fine */
  if (p->status == HONE_OK && !hn_edit_find_value(&p->to.outputs, name)) add_value(p, &p->to.outputs, &value);
}

static void take_outputs(parting *p) {
  const hn_edit_graph *from = p->from;
  for (int i = 0; p->part->outputs && i < p->part->output_count && p->status == HONE_OK; ++i)
    add_output(p, p->part->outputs[i]);
  if (p->part->outputs) return;
  for (int i = 0; i < from->outputs.count && p->status == HONE_OK; ++i)
    if (hn_table_get(&p->made, from->outputs.items[i].name)) add_output(p, from->outputs.items[i].name);
  for (int i = 0; i < from->node_count; ++i)
    for (int k = 0; p->part->keep[i] && k < from->nodes[i]->out_count && p->status == HONE_OK; ++k) {
      const char *name = from->nodes[i]->out[k];
      if (*name && !hn_table_get(&p->read, name)) add_output(p, name);
    }
}

static void take_infos(parting *p) {
  for (int i = 0; i < p->from->infos.count && p->status == HONE_OK; ++i) {
    const hn_edit_value *info = &p->from->infos.items[i];
    if (hn_table_get(&p->made, info->name) && !hn_edit_find_value(&p->to.outputs, info->name))
      add_value(p, &p->to.infos, info);
  }
}

/* An output may be an input or a constant itself; it must be there. */
static void read_outputs(parting *p) {
  for (int i = 0; p->part->outputs && i < p->part->output_count; ++i)
    if (!hn_table_get(&p->made, p->part->outputs[i])) see_read(p, p->part->outputs[i]);
}

hone_status hn_edit_take_part(hone_model *model, const hn_edit_part *part, hn_edit_graph *graph) {
  hn_edit_graph from = *graph;
  parting p = {.model = model, .part = part, .from = &from, .to = {.raw = graph->raw}};
  hn_table *const tables[] = {&p.made, &p.ends, &p.read, &p.stays};
  for (size_t i = 0; i < HN_COUNT(tables); ++i) hn_table_init(tables[i], &model->arena);
  for (int i = 0; i < from.node_count && p.status == HONE_OK; ++i)
    for (int k = 0; part->keep[i] && k < from.nodes[i]->out_count && p.status == HONE_OK; ++k)
      put(&p, &p.made, from.nodes[i]->out[k]);
  read_outputs(&p);
  take_nodes(&p);
  take_outputs(&p);
  take_infos(&p);
  if (p.status == HONE_OK && p.to.outputs.count == 0)
    p.status = HN_FAIL(&model->context->diag, HONE_INVALID, "nothing would be left of the model");
  if (p.status == HONE_OK) *graph = p.to;
  return p.status;
}

/* ---- from values to values ---- */

typedef struct walk {
  hone_model *model;
  const hn_edit_graph *graph;
  hn_table stops, seen;
  bool *keep;
  const char **waiting;
  int count, capacity;
  bool failed;
} walk;

static void want(void *user, const char *value) {
  walk *w = user;
  if (w->failed || hn_table_get(&w->seen, value) || hn_table_get(&w->stops, value)) return;
  w->failed = !hn_table_put(&w->seen, value, w) ||
              !hn_arena_grow(&w->model->arena, (void **)&w->waiting, &w->capacity, w->count + 1, sizeof *w->waiting);
  if (!w->failed) w->waiting[w->count++] = value;
}

/* Marks the nodes that the wanted values need. */
static void walk_back(walk *w) {
  while (w->count > 0 && !w->failed) {
    const char *value = w->waiting[--w->count];
    for (int i = 0; i < w->graph->node_count; ++i) {
      const hn_edit_node *node = w->graph->nodes[i];
      bool writes = false;
      for (int k = 0; k < node->out_count; ++k) writes = writes || strcmp(node->out[k], value) == 0;
      if (!writes || w->keep[i]) continue;
      w->keep[i] = true;
      hn_edit_each_read(node, want, w);
    }
  }
}

static hone_status walk_begin(walk *w, hone_model *model) {
  *w = (walk){.model = model, .graph = &model->graph};
  hn_table_init(&w->stops, &model->arena);
  hn_table_init(&w->seen, &model->arena);
  w->keep = HN_NEW(&model->arena, bool, model->graph.node_count + 1);
  return w->keep ? HONE_OK : HN_FAIL_MEMORY(&model->context->diag);
}

hone_status hn_edit_extract(hone_model *model, const char *const *inputs, int input_count, const char *const *outputs,
                            int output_count) {
  walk w;
  HN_TRY(walk_begin(&w, model));
  for (int i = 0; i < input_count; ++i) {
    HN_TRY(hn_edit_want_value(model, inputs[i]));
    w.failed = w.failed || !hn_table_put(&w.stops, inputs[i], model);
  }
  for (int i = 0; i < output_count; ++i) HN_TRY(hn_edit_want_value(model, outputs[i]));
  for (int i = 0; i < output_count; ++i) {
    const hn_edit_node *node = hn_edit_producer(&model->graph, outputs[i]);
    if (!node || hn_table_get(&w.stops, outputs[i]))
      return HN_FAIL(&model->context->diag, HONE_INVALID, "%s is %s: nothing computes it in between", outputs[i],
                     node ? "an input of the part, too" : "an input or a constant of the model");
    want(&w, outputs[i]);
  }
  walk_back(&w);
  if (w.failed) return HN_FAIL_MEMORY(&model->context->diag);
  const hn_edit_part part = {.keep = w.keep, .outputs = outputs, .output_count = output_count};
  hn_edit_graph graph = model->graph;
  HN_TRY(hn_edit_take_part(model, &part, &graph));
  for (int i = 0; i < input_count; ++i)
    if (!hn_edit_find_value(&graph.inputs, inputs[i]) && !hn_edit_find_tensor(&graph, inputs[i]))
      return HN_FAIL(&model->context->diag, HONE_INVALID, "%s does not lead to what is extracted", inputs[i]);
  model->graph = graph;
  return HONE_OK;
}

/* ---- in front of a cut, and behind it ---- */

typedef struct downstream {
  const hn_table *from; /* the cut's values, and what follows from them */
  bool reads;
} downstream;

static void see_downstream(void *user, const char *value) {
  downstream *d = user;
  d->reads = d->reads || hn_table_get(d->from, value);
}

/* Flags of the nodes that follow from the stops; their outputs become stops, too. Nodes stand behind what they read. */
static void walk_down(walk *w) {
  for (int i = 0; i < w->graph->node_count && !w->failed; ++i) {
    const hn_edit_node *node = w->graph->nodes[i];
    downstream d = {.from = &w->stops};
    hn_edit_each_read(node, see_downstream, &d);
    bool writes_cut = false; /* what makes one of the values does not follow from another */
    for (int k = 0; k < node->out_count; ++k) writes_cut = writes_cut || hn_table_get(&w->stops, node->out[k]);
    w->keep[i] = d.reads && !writes_cut;
    for (int k = 0; w->keep[i] && k < node->out_count; ++k)
      w->failed = w->failed || !hn_table_put(&w->stops, node->out[k], w);
  }
}

hone_status hn_edit_split(hone_model *model, const char *const *values, int count, bool behind) {
  walk w;
  hone_diagnostics *diag = &model->context->diag;
  const hn_edit_graph *whole = &model->graph;
  HN_TRY(walk_begin(&w, model));
  for (int i = 0; i < count; ++i) {
    HN_TRY(hn_edit_want_value(model, values[i]));
    if (!hn_edit_producer(whole, values[i]))
      return HN_FAIL(diag, HONE_INVALID, "%s is an input or a constant: nothing stands in front of it", values[i]);
    w.failed = w.failed || !hn_table_put(&w.stops, values[i], w.keep);
  }
  walk_down(&w);
  const char **outputs = HN_NEW(&model->arena, const char *, whole->outputs.count + count + 1);
  if (w.failed || !outputs) return HN_FAIL_MEMORY(diag);
  int output_count = 0;
  for (int i = 0; i < count && !behind; ++i) outputs[output_count++] = values[i];
  for (int i = 0; i < whole->outputs.count; ++i) { /* a value of the cut that is an output is one of the front */
    const char *name = whole->outputs.items[i].name;
    const void *place = hn_table_get(&w.stops, name);
    if (behind ? place == &w : !place) outputs[output_count++] = name;
  }
  if (output_count == 0) return HN_FAIL(diag, HONE_INVALID, "nothing follows from %s that is an output", values[0]);
  if (!behind) return hn_edit_extract(model, NULL, 0, outputs, output_count);
  const hn_edit_part part = {.keep = w.keep, .outputs = outputs, .output_count = output_count};
  hn_edit_graph graph = model->graph;
  HN_TRY(hn_edit_take_part(model, &part, &graph));
  for (int i = 0; i < graph.inputs.count; ++i) {
    const char *name = graph.inputs.items[i].name;
    if (!hn_edit_find_value(&whole->inputs, name) && !hn_table_get(&w.stops, name))
      return HN_FAIL(diag, HONE_INVALID, "%s crosses the cut, too; name it beside %s", name, values[0]);
  }
  model->graph = graph;
  return HONE_OK;
}

void hn_edit_drop_unread(hone_model *model) {
  walk w;
  hn_edit_graph *graph = &model->graph;
  if (walk_begin(&w, model) != HONE_OK) return; /* what is not needed stays */
  for (int i = 0; i < graph->outputs.count; ++i) want(&w, graph->outputs.items[i].name);
  walk_back(&w);
  if (w.failed) return;
  int nodes = 0, tensors = 0, infos = 0;
  for (int i = 0; i < graph->node_count; ++i)
    if (w.keep[i]) graph->nodes[nodes++] = graph->nodes[i];
  graph->node_count = nodes;
  for (int i = 0; i < graph->tensor_count; ++i)
    if (hn_table_get(&w.seen, graph->tensors[i].name)) graph->tensors[tensors++] = graph->tensors[i];
  graph->tensor_count = tensors;
  for (int i = 0; i < graph->infos.count; ++i)
    if (hn_edit_is_value(graph, graph->infos.items[i].name)) graph->infos.items[infos++] = graph->infos.items[i];
  graph->infos.count = infos;
}
