/* SPDX-License-Identifier: Apache-2.0 */
/* match.c - finding a rule's pattern at a node. One try is deterministic: where inputs may be swapped it follows a list
 * of choices, which the next try changes from the end, so that all orders are seen once. */
#include "pass/match.h"
#include <string.h>

static bool match_value(hn_matcher *matcher, const hn_term *term, hn_value *value);

static const hn_binding *find_binding(const hn_match *match, const char *name) {
  for (int i = 0; i < match->binding_count; ++i)
    if (strcmp(match->bindings[i].name, name) == 0) return &match->bindings[i];
  return NULL;
}

bool hn_match_holds(const hn_match *match, const hn_node *node) {
  for (int i = 0; i < match->node_count; ++i)
    if (match->nodes[i] == node) return true;
  return false;
}

static bool add_binding(hn_match *match, const hn_binding *binding) {
  if (match->binding_count == HN_MATCH_BINDINGS) return false;
  match->bindings[match->binding_count++] = *binding;
  return true;
}

static hn_value *output_of(const hn_binding *binding, int output) {
  if (!binding->node) return output == 0 ? binding->value : NULL;
  return output < binding->node->out_count ? binding->node->out[output] : NULL;
}

static bool match_name(hn_matcher *matcher, const hn_term *term, hn_value *value) {
  hn_match *match = &matcher->match;
  const hn_binding *bound = find_binding(match, term->name);
  if (!value || (term->is_const && !hn_value_is_constant(value))) return false;
  if (bound) return output_of(bound, term->output) == value;
  return term->output == 0 && add_binding(match, &(hn_binding){.name = term->name, .value = value});
}

/* A constant all of whose elements are this number, as its own type can hold it. */
static bool match_number(const hn_term *term, const hn_value *value) {
  if (!value || !hn_value_is_constant(value)) return false;
  const hone_tensor *tensor = value->fact.constant;
  const hone_dtype dtype = tensor->type.dtype;
  int64_t count;
  if (!(hn_dtype_is_float(dtype) || hn_dtype_is_int(dtype))) return false;
  if (!hn_elems_checked(&tensor->type.shape, &count) || count < 1) return false;
  uint64_t storage[2] = {0, 0};
  hone_tensor want = hn_tensor_over(dtype, 0, NULL, storage);
  hn_store_real(&want, 0, term->number);
  if (hn_dtype_is_int(dtype) && hn_real(&want, 0) != term->number) return false;
  for (int64_t i = 0; i < count; ++i)
    if (hn_real(tensor, i) != hn_real(&want, 0)) return false;
  return true;
}

/* Attributes come from floats: 0.1 is also what 0.1f is. */
static bool same_number(double a, double b) { return a == b || (float)a == (float)b; }

static bool number_of(const hone_attr *attr, double *out) {
  if (attr->kind != HONE_ATTR_INT && attr->kind != HONE_ATTR_FLOAT) return false;
  *out = attr->kind == HONE_ATTR_INT ? (double)attr->i : attr->f;
  return true;
}

static bool same_attr(const hone_attr *a, const hone_attr *b) {
  double x, y;
  if (number_of(a, &x) && number_of(b, &y)) return same_number(x, y);
  hone_attr named = *a; /* names may differ: c.act against act */
  named.name = b->name;
  return hn_attrs_equal(&(hone_attrs){1, &named}, &(hone_attrs){1, b});
}

static bool match_attrs(const hn_match *match, const hn_term *term, const hn_node *node) {
  for (int i = 0; i < term->attr_count; ++i) {
    const hn_term_attr *want = &term->attrs[i];
    const hone_attr *have = hn_attr_find(&node->attrs, want->name), *value = &want->value;
    if (want->value.kind == HONE_ATTR_NONE) {
      const hn_binding *bound = want->from ? find_binding(match, want->from) : NULL;
      value = bound && bound->node ? hn_attr_find(&bound->node->attrs, want->attr) : NULL;
      if (!value && !have && bound && bound->node) continue; /* absent in both */
    }
    if (!have || !value || !same_attr(have, value)) return false;
  }
  return true;
}

/* Does this try swap the first two inputs of the commutative node met now? */
static bool next_choice(hn_matcher *matcher) {
  const int at = matcher->choices_met++;
  if (at >= HN_MATCH_CHOICES) return false;
  if (at >= matcher->choice_count) {
    matcher->swapped[at] = false;
    matcher->choice_count = at + 1;
  }
  return matcher->swapped[at];
}

static bool match_args(hn_matcher *matcher, const hn_term *term, hn_node *node) {
  const bool swap = (node->op->traits & HONE_COMMUTES) && node->in_count == 2 && term->arg_count == 2 &&
                    term->args[0]->kind != HN_TERM_REST && term->args[1]->kind != HN_TERM_ELLIPSIS &&
                    next_choice(matcher);
  for (int i = 0; i < term->arg_count; ++i) {
    const hn_term *arg = term->args[i];
    if (arg->kind == HN_TERM_ELLIPSIS) return true;
    if (arg->kind == HN_TERM_REST) {
      const int count = i < node->in_count ? node->in_count - i : 0;
      return add_binding(&matcher->match, &(hn_binding){.name = arg->name, .rest_count = count, .rest = node->in + i});
    }
    const int from = swap ? 1 - i : i;
    if (!match_value(matcher, arg, from < node->in_count ? node->in[from] : NULL)) return false;
  }
  for (int i = term->arg_count; i < node->in_count; ++i)
    if (node->in[i]) return false;
  return true;
}

static bool match_op(const hn_term *term, const hone_op *op) {
  return strcmp(term->op, "any") == 0 ? (op->traits & term->trait) == term->trait : strcmp(term->op, op->name) == 0;
}

static bool match_node(hn_matcher *matcher, const hn_term *term, hn_node *node) {
  hn_match *match = &matcher->match;
  if (node->owner != matcher->root->owner || !match_op(term, node->op)) return false;
  if (hn_match_holds(match, node) || match->node_count == HN_MATCH_NODES || !match_attrs(match, term, node))
    return false;
  match->nodes[match->node_count++] = node;
  if (term->name && !add_binding(match, &(hn_binding){.name = term->name, .node = node, .value = node->out[0]}))
    return false;
  return !term->has_args || match_args(matcher, term, node);
}

static bool match_value(hn_matcher *matcher, const hn_term *term, hn_value *value) {
  switch (term->kind) {
  case HN_TERM_NAME: return match_name(matcher, term, value);
  case HN_TERM_NUMBER: return match_number(term, value);
  case HN_TERM_ABSENT: return !value;
  case HN_TERM_OP: return value && value->node && value->out_index == 0 && match_node(matcher, term, value->node);
  case HN_TERM_REST:
  case HN_TERM_ELLIPSIS: return false;
  }
  return false;
}

/* A further root: another output of a bound node, or a user of a bound value. */
static bool match_further_root(hn_matcher *matcher, const hn_term *term) {
  hn_match *match = &matcher->match;
  if (term->kind == HN_TERM_NAME) {
    const hn_binding *bound = find_binding(match, term->name);
    hn_value *value = bound ? output_of(bound, term->output) : NULL;
    if (value) match->roots[match->root_count++] = value;
    return value != NULL;
  }
  const int bindings = match->binding_count, nodes = match->node_count, met = matcher->choices_met;
  for (int i = 0; i < bindings; ++i) {
    if (!match->bindings[i].value) continue;
    for (const hn_use *use = match->bindings[i].value->uses; use; use = use->next) {
      if (!use->node || !use->node->out[0] || !match_value(matcher, term, use->node->out[0])) {
        match->binding_count = bindings;
        match->node_count = nodes;
        matcher->choices_met = met;
        continue;
      }
      match->roots[match->root_count++] = use->node->out[0];
      return true;
    }
  }
  return false;
}

static bool try_once(hn_matcher *matcher) {
  hn_match *match = &matcher->match;
  match->binding_count = match->node_count = match->root_count = match->attr_count = 0;
  matcher->choices_met = 0;
  if (!matcher->root->out[0] || !match_node(matcher, matcher->find->terms[0], matcher->root)) return false;
  match->roots[match->root_count++] = matcher->root->out[0];
  for (int i = 1; i < matcher->find->count; ++i)
    if (!match_further_root(matcher, matcher->find->terms[i])) return false;
  return true;
}

/* The next list of choices: of those that this try met, the last one not swapped yet is. */
static bool next_choices(hn_matcher *matcher) {
  int last = matcher->choices_met < HN_MATCH_CHOICES ? matcher->choices_met : HN_MATCH_CHOICES;
  while (last > 0 && matcher->swapped[last - 1]) --last;
  if (last == 0) return false;
  matcher->swapped[last - 1] = true;
  matcher->choice_count = last;
  return true;
}

void hn_match_begin(hn_matcher *matcher, hn_pass_run *run, const hn_roots *find, hn_node *root) {
  *matcher = (hn_matcher){.find = find, .root = root, .match = {.run = run, .root = root}};
}

bool hn_match_next(hn_matcher *matcher) {
  while (!matcher->done) {
    const bool matches = try_once(matcher);
    matcher->done = !next_choices(matcher);
    if (matches) return true;
  }
  return false;
}
