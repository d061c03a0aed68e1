/* SPDX-License-Identifier: Apache-2.0 */
/* port_places.c - where the graph's inputs and outputs lie, as the options ask for it. */
#include "base/text.h"
#include "tensor/shape.h"
#include "tensor/storage.h"
#include "tune/tuning.h"
#include <string.h>

typedef struct placing {
  hn_choices *choices;
  const hone_build_options *options;
  int device; /* the first with memory of its own; -1: none has */
} placing;

/* The last entry that says something of a port; NULL: none does. */
static const hone_port_format *asked_for(const hone_build_options *options, const char *name) {
  const hone_port_format *found = NULL;
  for (int i = 0; i < options->port_format_count; ++i)
    if (!options->port_formats[i].name || strcmp(options->port_formats[i].name, name) == 0)
      found = &options->port_formats[i];
  return found;
}

static hone_status place(const placing *p, const char *name, const hn_value *value, hn_port_place *out) {
  const hone_port_format *asked = asked_for(p->options, name);
  hone_diagnostics *diag = &p->choices->context->diag;
  const hone_type *type = &value->fact.type;
  *out = (hn_port_place){.storage = HONE_PLAIN, .device = -1};
  if (!asked || !asked->on_device) return HONE_OK;
  if (p->device < 0)
    return HN_FAIL(diag, HONE_INVALID, "%s is to lie on a device, and none has memory of its own", name);
  const bool can =
      type->kind == HONE_TENSOR && type->dtype != HONE_STRING && !hn_value_on_heap(p->choices->graph, value);
  if (!can && asked->name)
    return HN_FAIL(diag, HONE_INVALID,
                   "%s cannot lie on a device: its extents depend on data, or it is not a numeric tensor", name);
  if (!can) return HONE_OK;
  const hone_dtype dtype = asked->dtype == type->dtype ? HONE_NONE : asked->dtype;
  hone_storage wanted;
  const bool is_one = hn_storage_find(dtype, asked->format, &wanted);
  out->device = p->device;
  out->storage = hn_storage_fit(type, wanted);
  if ((is_one && out->storage == wanted) || !asked->name) return HONE_OK;
  return HN_FAIL(diag, HONE_INVALID, "%s is %s of rank %d: it cannot be held as %s in format %s", name,
                 hone_dtype_name(type->dtype), type->shape.rank, hone_dtype_name(dtype ? dtype : type->dtype),
                 hone_format_name(asked->format));
}

static hone_status check_names(const placing *p) {
  const hone_graph *graph = p->choices->graph;
  for (int i = 0; i < p->options->port_format_count; ++i) {
    const char *name = p->options->port_formats[i].name;
    bool known = !name;
    hn_near near = {.wanted = name ? name : "", .length = name ? strlen(name) : 0};
    for (int k = 0; k < graph->main->param_count && !known; ++k) {
      known = strcmp(graph->main->params[k]->name, name) == 0;
      hn_near_add(&near, graph->main->params[k]->name);
    }
    for (int k = 0; k < graph->main->result_count && !known; ++k) {
      known = strcmp(graph->output_names[k], name) == 0;
      hn_near_add(&near, graph->output_names[k]);
    }
    if (known) continue;
    hn_text text;
    hn_text_init(&text, p->choices->context->allocator);
    hn_near_tell(&near, &text);
    const hone_status status =
        HN_FAIL(&p->choices->context->diag, HONE_INVALID,
                "a format is asked for %s, which is neither input nor output%s", name, hn_text_string(&text));
    hn_text_deinit(&text);
    return status;
  }
  return HONE_OK;
}

hone_status hn_tune_place_ports(hn_choices *choices) {
  const hn_block *root = choices->root;
  placing p = {.choices = choices, .options = choices->options, .device = -1};
  if (p.options->port_format_count == 0) return HONE_OK;
  for (int d = choices->device_count - 1; d >= 0; --d)
    if (!choices->devices[d]->facts.host_memory) p.device = d;
  choices->param_places = HN_NEW(&choices->arena, hn_port_place, root->param_count + 1);
  choices->result_places = HN_NEW(&choices->arena, hn_port_place, root->result_count + 1);
  if (!choices->param_places || !choices->result_places) return HN_FAIL_MEMORY(&choices->context->diag);
  HN_TRY(check_names(&p));
  for (int i = 0; i < root->param_count; ++i)
    HN_TRY(place(&p, root->params[i]->name, root->params[i], &choices->param_places[i]));
  for (int i = 0; i < root->result_count; ++i)
    HN_TRY(place(&p, choices->graph->output_names[i], root->results[i], &choices->result_places[i]));
  return HONE_OK;
}
