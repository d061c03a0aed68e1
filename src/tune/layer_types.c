/* SPDX-License-Identifier: Apache-2.0 */
/* layer_types.c - types that the options ask for by the names of layers: those of the model's nodes that a node stands
 * for, or its own. Of the entries that name a node, the last one that says something counts. */
#include "base/text.h"
#include "tensor/storage.h"
#include "tune/tuning.h"
#include <fnmatch.h>
#include <string.h>

static bool names(const char *pattern, const char *name) {
  return strcmp(pattern, name) == 0 || fnmatch(pattern, name, 0) == 0;
}

static bool names_node(const char *pattern, const hn_node *node) {
  for (int i = 0; i < node->origins.count; ++i)
    if (names(pattern, node->origins.names[i])) return true;
  return names(pattern, node->name);
}

bool hn_layer_type_find(const hone_build_options *options, const hn_node *node, hone_layer_type *out) {
  *out = (hone_layer_type){0};
  for (int i = 0; i < options->layer_type_count; ++i) {
    const hone_layer_type *entry = &options->layer_types[i];
    if (!names_node(entry->node, node)) continue;
    *out = (hone_layer_type){.node = entry->node,
                             .compute = entry->compute ? entry->compute : out->compute,
                             .output = entry->output ? entry->output : out->output,
                             .preferred = entry->preferred};
  }
  return out->compute || out->output;
}

/* The first type of floats among the facts. */
static hone_dtype own_type(const hone_fact *facts, int count) {
  for (int i = 0; i < count; ++i)
    if (facts[i].type.kind == HONE_TENSOR && hn_dtype_is_float(facts[i].type.dtype)) return facts[i].type.dtype;
  return HONE_NONE;
}

const char *hn_layer_type_decline(const hone_layer_type *asked, const hn_choice *choice, const hone_tactic *tactic,
                                  const hone_storage_pair *pair) {
  hone_dtype output = own_type(choice->out, choice->node->out_count);
  hone_dtype compute = own_type(choice->in, choice->node->in_count);
  if (compute == HONE_NONE) compute = output;
  if (compute == HONE_NONE) return NULL; /* it has no floats */
  const hone_dtype narrow = hn_storage_coarser(tactic->compute, hn_storage_dtype(pair->in));
  if (narrow != HONE_NONE) compute = narrow;
  if (asked->compute && asked->compute != compute) return "another type was asked for this layer to compute in";
  if (hn_storage_dtype(pair->out) != HONE_NONE) output = hn_storage_dtype(pair->out);
  if (asked->output && output && asked->output != output) return "another type was asked for this layer's outputs";
  return NULL;
}

static bool is_in(const hn_block *block, const char *pattern, hn_near *near) {
  for (const hn_node *node = block->first; node; node = node->next) {
    if (names_node(pattern, node)) return true;
    hn_near_add(near, node->name);
    for (int i = 0; i < node->block_count; ++i)
      if (is_in(node->blocks[i], pattern, near)) return true;
  }
  return false;
}

hone_status hn_layer_types_check(hone_context *context, const hone_graph *graph, const hone_build_options *options) {
  for (int i = 0; i < options->layer_type_count; ++i) {
    const char *wanted = options->layer_types[i].node;
    hn_near near = {.wanted = wanted, .length = strlen(wanted)};
    if (is_in(graph->main, wanted, &near)) continue;
    hn_text text;
    hn_text_init(&text, context->allocator);
    hn_near_tell(&near, &text);
    const hone_status status =
        HN_FAIL(&context->diag, HONE_INVALID, "a type is asked for layer %s, which the model does not have%s", wanted,
                hn_text_string(&text));
    hn_text_deinit(&text);
    return status;
  }
  return HONE_OK;
}
