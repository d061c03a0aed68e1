/* SPDX-License-Identifier: Apache-2.0 */
/* apply.c - a rule's put in place of a match. Everything that could forbid it is asked first or undone: a rule that
 * does not apply leaves no trace but its reason. */
#include "pass/match.h"
#include "pass/passes.h"
#include "pass/fusion.h"

static bool is_root_value(const hn_match *match, const hn_value *value) {
  for (int i = 0; i < match->root_count; ++i)
    if (match->roots[i] == value) return true;
  return false;
}

/* The uses that would be lost: of outputs that are not replaced, by nodes outside the match. */
static const char *check_uses(const hn_rewrite *row, const hn_match *match) {
  for (int n = 0; n < match->node_count; ++n) {
    const hn_node *node = match->nodes[n];
    bool is_root = false;
    for (int i = 0; i < node->out_count; ++i) is_root = is_root || (node->out[i] && is_root_value(match, node->out[i]));
    for (int i = 0; i < node->out_count; ++i) {
      if (!node->out[i] || is_root_value(match, node->out[i])) continue;
      for (const hn_use *use = node->out[i]->uses; use && !(row->keeps && !is_root); use = use->next) {
        if (is_root) return "another output of the root is used";
        if (use->block) return "an inner value is an output";
        if (!hn_match_holds(match, use->node)) return "an inner value has another use";
      }
    }
  }
  return NULL;
}

static bool stands_before(const hn_node *node, const hn_node *other) {
  for (const hn_node *at = node->next; at; at = at->next)
    if (at == other) return true;
  return false;
}

/* Where new nodes go: in front of the first root. With several roots, whatever is bound must stand before that. */
static const char *find_place(const hn_match *match, hn_node **out) {
  hn_node *first = match->root;
  for (int i = 1; i < match->root_count; ++i)
    if (match->roots[i]->node != first && stands_before(match->roots[i]->node, first)) first = match->roots[i]->node;
  *out = first;
  if (match->root_count == 1) return NULL;
  for (int i = 0; i < match->binding_count; ++i) {
    const hn_value *value = match->bindings[i].value;
    if (!value || !value->node || hn_match_holds(match, value->node)) continue;
    if (!stands_before(value->node, first)) return "an input of one root depends on another root";
  }
  return NULL;
}

static hone_status unite_origins(const hn_match *match, hn_origins *out) {
  *out = match->nodes[0]->origins;
  for (int i = 1; i < match->node_count; ++i)
    HN_TRY(hn_origins_union(match->root->owner->graph, out, &match->nodes[i]->origins, out));
  return HONE_OK;
}

/* The nodes made by one attempt: those between `after` and `before` in the block. */
typedef struct attempt {
  hn_block *block;
  hn_node *after, *before;
  hn_value *results[HN_MATCH_ROOTS];
} attempt;

static hn_node *first_made(const attempt *try) {
  hn_node *node = try->after ? try->after->next : try->block->first;
  return node == try->before ? NULL : node;
}

static void undo(const attempt *try) {
  while (first_made(try)) hn_node_remove(try->before->prev);
}

static bool was_made(const attempt *try, const hn_node *node) {
  for (const hn_node *at = first_made(try); at && at != try->before; at = at->next)
    if (at == node) return true;
  return false;
}

/* Text that does not fit the ops is our bug, unless a plug-in put ops of its own in place of ours; shapes that do not
 * fit are a condition that the row did not state. */
static hone_status forgive(hone_diagnostics *diag, int count, int dropped, const hn_rewrite *row, bool has_plugins,
                           hone_status status, const char **out_unmet) {
  if (status == HONE_OK) return HONE_OK;
  const bool foreign = status == HONE_INVALID && !row->guest && has_plugins;
  if (status == HONE_MALFORMED || status == HONE_UNSUPPORTED || foreign) {
    diag->count = count;
    diag->dropped = dropped;
    *out_unmet =
        foreign ? "a plug-in's operator has other ports or attributes" : "the replacement does not fit the shapes";
    return HONE_OK;
  }
  if (status == HONE_INVALID) status = HN_FAIL(diag, HONE_INTERNAL, "what it puts is not valid");
  return hone_note(diag, status, "in rule %s", row->name);
}

static hone_status build(const hn_rule *rule, hn_match *match, attempt *try) {
  if (rule->row->make) HN_TRY(rule->row->make(match));
  const hone_attrs attrs = {match->attr_count, match->attrs};
  hn_build build = {.block = try->block,
                    .before = try->before,
                    .bindings = match->bindings,
                    .binding_count = match->binding_count,
                    .attrs = &attrs};
  HN_TRY(unite_origins(match, &build.origins));
  return hn_notation_build(&build, &rule->put, try->results);
}

static const char *check_types(const hn_match *match, const attempt *try) {
  for (int i = 0; i < match->root_count; ++i) {
    const hone_type *old = &match->roots[i]->fact.type, *now = &try->results[i]->fact.type;
    if (old->kind != now->kind || old->dtype != now->dtype) return "the element type would change";
    if (!hn_shape_equal(&old->shape, &now->shape)) return "the shape would change";
    if (try->results[i] == match->roots[i]) return "";
  }
  return NULL;
}

static hone_status ask_for_made(const hn_match *match, const attempt *try, const char **out_unmet) {
  for (const hn_node *node = first_made(try); node && node != try->before && !*out_unmet; node = node->next)
    if (!(node->op->traits & HONE_ALIASES))
      HN_TRY(hn_fusion_target_check(match->run, node, match->nodes, match->node_count, out_unmet));
  return HONE_OK;
}

/* The node whose name the new root takes: the one that put rebuilds, else the old root. */
static hn_node *namesake(const hn_rule *rule, const hn_match *match) {
  const hn_term *term = rule->put.terms[0];
  hn_node *bound = term->kind == HN_TERM_OP ? hn_bound_node(match, term->op) : NULL;
  return bound ? bound : match->root;
}

static hone_status keep_parts(const hn_match *match, const attempt *try) {
  hn_node *fused = try->results[0]->node;
  hn_value **outputs = HN_NEW(&try->block->graph->arena, hn_value *, fused->out_count);
  if (!outputs) return HN_FAIL_MEMORY(&try->block->graph->context->diag);
  for (int i = 0; i < match->root_count; ++i)
    if (try->results[i]->node == fused) outputs[try->results[i]->out_index] = match->roots[i];
  return hn_parts_attach(fused, match->nodes, match->node_count, outputs);
}

static void remove_matched(hn_match *match) {
  for (int left = match->node_count; left > 0;) {
    const int before = left;
    for (int i = 0; i < left; ++i) {
      if (!hn_node_is_unused(match->nodes[i])) continue;
      hn_node_remove(match->nodes[i]);
      match->nodes[i--] = match->nodes[--left];
    }
    if (left == before) return; /* kept for others */
  }
}

static hone_status commit(const hn_rule *rule, hn_match *match, const attempt *try, hn_node **out_next) {
  hone_graph *graph = try->block->graph;
  hn_node *next = match->root->next;
  while (next && hn_match_holds(match, next)) next = next->next;
  const bool made = was_made(try, try->results[0]->node);
  if (made) HN_TRY(hn_fold_made(match->run, first_made(try), try->results[0]->node));
  if (made) hn_node_swap_names(graph, try->results[0]->node, namesake(rule, match));
  if (rule->row->fuses) HN_TRY(keep_parts(match, try));
  if (rule->row->hands_on && made) {
    try->results[0]->node->parts = namesake(rule, match)->parts;
    namesake(rule, match)->parts = NULL;
  }
  for (int i = 0; i < match->root_count; ++i) {
    if (was_made(try, try->results[i]->node)) hn_value_swap_names(graph, try->results[i], match->roots[i]);
    hn_value_replace(match->roots[i], try->results[i]);
  }
  *out_next = first_made(try) ? first_made(try) : next;
  remove_matched(match);
  return HONE_OK;
}

hone_status hn_rule_apply(const hn_rule *rule, hn_match *match, const char **out_unmet, hn_node **out_next) {
  const hn_rewrite *row = rule->row;
  hone_diagnostics *diag = &match->run->context->diag;
  attempt try = {.block = match->root->owner};
  const int count = diag->count, dropped = diag->dropped;
  *out_unmet = row->guest  ? hn_guest_unmet(match, row->guest)
               : row->when ? row->when(match)
                           : NULL; /* first, as it may say that the rule was not meant */
  if (!*out_unmet) *out_unmet = check_uses(row, match);
  if (!*out_unmet) *out_unmet = find_place(match, &try.before);
  if (*out_unmet) return HONE_OK;
  try.after = try.before->prev;
  HN_TRY(
      forgive(diag, count, dropped, row, match->run->context->plugin_ops != NULL, build(rule, match, &try), out_unmet));
  if (!*out_unmet) *out_unmet = check_types(match, &try);
  if (!*out_unmet && row->fuses) {
    if (!was_made(&try, try.results[0]->node))
      return HN_FAIL(diag, HONE_INTERNAL, "rule %s fuses, but makes no node", row->name);
    HN_TRY(hn_fusion_target_check(match->run, try.results[0]->node, match->nodes, match->node_count, out_unmet));
  }
  if (!*out_unmet && row->asks) HN_TRY(ask_for_made(match, &try, out_unmet));
  if (*out_unmet) {
    undo(&try);
    return HONE_OK;
  }
  return commit(rule, match, &try, out_next);
}
