/* SPDX-License-Identifier: Apache-2.0 */
/* rewrite.c - runs a list of rules over a graph: sweeps over all blocks' nodes in order, at each node the rules of its
 * op in the list's order, the first that applies wins.
 * Bounded: a sweep visits every node once, and the nodes that rules make; rules may fire FIRINGS_A_NODE times as often
 * as there were nodes. */
#include "pass/rewrite.h"
#include "pass/match.h"
#include <string.h>

enum { MAX_SWEEPS = 64, FIRINGS_A_NODE = 16, SPARE_FIRINGS = 256, CONSTANT_DEPTH = 8 };

hn_value *hn_bound(const hn_match *match, const char *name) {
  for (int i = 0; i < match->binding_count; ++i)
    if (strcmp(match->bindings[i].name, name) == 0) return match->bindings[i].value;
  return NULL;
}

hn_node *hn_bound_node(const hn_match *match, const char *name) {
  for (int i = 0; i < match->binding_count; ++i)
    if (strcmp(match->bindings[i].name, name) == 0) return match->bindings[i].node;
  return NULL;
}

const hone_type *hn_bound_type(const hn_match *match, const char *name) {
  const hn_value *value = hn_bound(match, name);
  return value ? &value->fact.type : NULL;
}

hone_status hn_bind(hn_match *match, const char *name, hn_value *value) {
  if (!value) return HONE_NO_MEMORY;
  for (int i = 0; i < match->binding_count; ++i) {
    if (strcmp(match->bindings[i].name, name) != 0) continue;
    match->bindings[i] = (hn_binding){.name = name, .value = value};
    return HONE_OK;
  }
  if (match->binding_count == HN_MATCH_BINDINGS)
    return HN_FAIL(&match->run->context->diag, HONE_INTERNAL, "a rule binds more than %d names", HN_MATCH_BINDINGS);
  match->bindings[match->binding_count++] = (hn_binding){.name = name, .value = value};
  return HONE_OK;
}

hone_status hn_bind_attr(hn_match *match, const hone_attr *attr) {
  hone_diagnostics *diag = &match->run->context->diag;
  hone_attrs copy;
  if (match->attr_count == HN_MATCH_ATTRS)
    return HN_FAIL(diag, HONE_INTERNAL, "a rule computes more than %d attributes", HN_MATCH_ATTRS);
  if (hn_attrs_copy(&match->run->graph->arena, &(hone_attrs){1, attr}, &copy) != HONE_OK) return HN_FAIL_MEMORY(diag);
  match->attrs[match->attr_count++] = copy.items[0];
  return HONE_OK;
}

hone_status hn_bind_float(hn_match *match, const char *name, double value) {
  return hn_bind_attr(match, &(hone_attr){.name = name, .kind = HONE_ATTR_FLOAT, .f = value});
}

bool hn_varies_only_along(const hone_type *constant, const hone_type *like, int axis) {
  const int rank = constant->shape.rank, offset = like->shape.rank - rank;
  if (rank < 0 || offset < 0 || axis < 0 || axis >= like->shape.rank) return false;
  for (int i = 0; i < rank; ++i)
    if (i + offset != axis && constant->shape.dim[i] != 1) return false;
  return true;
}

bool hn_is_scalar_constant(const hn_value *value) {
  int64_t count;
  return value && hn_value_is_constant(value) && hn_elems_checked(&value->fact.type.shape, &count) && count == 1;
}

typedef struct near_miss {
  const char *rule, *node, *unmet;
} near_miss;

/* One run of a list of rules. */
typedef struct sweeper {
  hn_pass_run *run;
  const char *pass;
  hn_arena scratch;
  hn_rule *rules;
  int rule_count;
  hn_table by_op; /* op name -> int list of the rules to try, ending with -1 */
  near_miss *misses;
  int miss_count, miss_capacity; /* of this sweep */
  int64_t fired, limit;
} sweeper;

static hone_status compile(sweeper *sweep, const hn_rewrite *rows) {
  hone_diagnostics *diag = &sweep->run->context->diag;
  int count = 0;
  while (rows[count].name) ++count;
  sweep->rules = HN_NEW(&sweep->scratch, hn_rule, count);
  if (!sweep->rules) return HN_FAIL_MEMORY(diag);
  for (int i = 0; i < count; ++i) {
    if (hn_pass_disabled(sweep->run, rows[i].name)) continue;
    hn_rule *rule = &sweep->rules[sweep->rule_count++];
    rule->row = &rows[i];
    HN_TRY(hn_notation_parse(&sweep->scratch, diag, rows[i].name, rows[i].find, &rule->find));
    HN_TRY(hn_notation_parse(&sweep->scratch, diag, rows[i].name, rows[i].put, &rule->put));
    const hn_term *root = rule->find.terms[0];
    if (root->kind != HN_TERM_OP || rule->find.count > HN_MATCH_ROOTS || rule->find.count != rule->put.count)
      return HN_FAIL(diag, HONE_INTERNAL, "rule %s: the first root must be an op, and put have as many roots as find",
                     rows[i].name);
    if (strcmp(root->op, "any") != 0 && !hn_op_find(sweep->run->context->ops, root->op))
      return HN_FAIL(diag, HONE_INTERNAL, "rule %s: no op is named %s", rows[i].name, root->op);
  }
  return HONE_OK;
}

/* The rules whose root an op may be; found when the op is met first. */
static const int *rules_of(sweeper *sweep, const hone_op *op) {
  int *list = hn_table_get(&sweep->by_op, op->name);
  if (list) return list;
  list = HN_NEW(&sweep->scratch, int, sweep->rule_count + 1);
  if (!list) return NULL;
  int count = 0;
  for (int i = 0; i < sweep->rule_count; ++i) {
    const hn_term *root = sweep->rules[i].find.terms[0];
    const bool fits =
        strcmp(root->op, "any") == 0 ? (op->traits & root->trait) == root->trait : strcmp(root->op, op->name) == 0;
    if (fits) list[count++] = i;
  }
  list[count] = -1;
  return hn_table_put(&sweep->by_op, op->name, list) ? list : NULL;
}

static hone_status note_miss(sweeper *sweep, const hn_rewrite *row, const hn_node *node, const char *unmet) {
  if (!*unmet || !sweep->run->log) return HONE_OK;
  if (!hn_arena_grow(&sweep->scratch, (void **)&sweep->misses, &sweep->miss_capacity, sweep->miss_count + 1,
                     sizeof *sweep->misses))
    return HN_FAIL_MEMORY(&sweep->run->context->diag);
  sweep->misses[sweep->miss_count++] = (near_miss){row->name, node->name, unmet};
  return HONE_OK;
}

static hone_status log_event(sweeper *sweep, const char *rule, const char *node, const char *unmet) {
  hn_pass_log *log = sweep->run->log;
  if (log && !hn_pass_log_add(log, sweep->pass, rule, node, unmet)) return HN_FAIL_MEMORY(&sweep->run->context->diag);
  return HONE_OK;
}

/* Tries one rule in all orders of commutative inputs; the first reason is the one that is told. */
static hone_status try_rule(sweeper *sweep, const hn_rule *rule, hn_node *node, bool *out_fired, hn_node **out_next) {
  hn_matcher matcher;
  const char *first_unmet = NULL, *name = node->name;
  hn_match_begin(&matcher, sweep->run, &rule->find, node);
  while (hn_match_next(&matcher)) {
    const char *unmet;
    HN_TRY(hn_rule_apply(rule, &matcher.match, &unmet, out_next));
    if (!unmet) {
      *out_fired = true;
      return log_event(sweep, rule->row->name, name, NULL);
    }
    if (!first_unmet) first_unmet = unmet;
  }
  return first_unmet ? note_miss(sweep, rule->row, node, first_unmet) : HONE_OK;
}

/* Does it depend on constants alone? What put computes on those is for folding to finish, not for rules. */
static bool is_constant_expression(const hn_node *node, int depth) {
  if (node->in_count == 0 || depth == 0 || (node->op->traits & HONE_IMPURE)) return false;
  for (int i = 0; i < node->in_count; ++i) {
    const hn_value *in = node->in[i];
    if (!in || hn_value_is_constant(in)) continue;
    if (!in->node || !is_constant_expression(in->node, depth - 1)) return false;
  }
  return true;
}

static hone_status visit(sweeper *sweep, hn_node *node, hn_node **out_next) {
  const int *list = rules_of(sweep, node->op);
  if (!list) return HN_FAIL_MEMORY(&sweep->run->context->diag);
  *out_next = node->next;
  if (is_constant_expression(node, CONSTANT_DEPTH)) return HONE_OK;
  for (; *list >= 0; ++list) {
    bool fired = false;
    HN_TRY(try_rule(sweep, &sweep->rules[*list], node, &fired, out_next));
    if (!fired) continue;
    if (++sweep->fired > sweep->limit)
      return HN_FAIL(&sweep->run->context->diag, HONE_LIMIT, "%s: rule %s fired as the %lld-th one; they do not end",
                     sweep->pass, sweep->rules[*list].row->name, (long long)sweep->fired);
    return HONE_OK;
  }
  return HONE_OK;
}

static hone_status sweep_block(sweeper *sweep, hn_block *block) {
  for (hn_node *node = block->first, *next; node; node = next) {
    HN_TRY(hn_check_stop(sweep->run->context));
    for (int i = 0; i < node->block_count; ++i) HN_TRY(sweep_block(sweep, node->blocks[i]));
    HN_TRY(visit(sweep, node, &next));
  }
  return HONE_OK;
}

static hone_status sweep_all(sweeper *sweep, const hn_rewrite *rules, bool repeat) {
  HN_TRY(compile(sweep, rules));
  if (sweep->rule_count == 0) return HONE_OK;
  for (int i = 0; i < (repeat ? MAX_SWEEPS : 1); ++i) {
    const int64_t fired = sweep->fired;
    sweep->miss_count = 0;
    HN_TRY(sweep_block(sweep, sweep->run->graph->main));
    if (sweep->fired == fired) break;
  }
  for (int i = 0; i < sweep->miss_count; ++i)
    HN_TRY(log_event(sweep, sweep->misses[i].rule, sweep->misses[i].node, sweep->misses[i].unmet));
  sweep->run->changes += sweep->fired;
  return HONE_OK;
}

hone_status hn_rewrite_run(hn_pass_run *run, const hn_rewrite *rules, bool repeat, const char *pass_name) {
  sweeper sweep = {.run = run, .pass = pass_name};
  sweep.limit = (int64_t)run->graph->next_node_id * FIRINGS_A_NODE + SPARE_FIRINGS;
  hn_arena_init(&sweep.scratch, run->context->allocator);
  hn_table_init(&sweep.by_op, &sweep.scratch);
  const hone_status status = sweep_all(&sweep, rules, repeat);
  hn_arena_deinit(&sweep.scratch);
  return status;
}
