/* SPDX-License-Identifier: Apache-2.0 */
/* plugins.c - what plug-ins and programs bring to graphs: rewrites, which run on the engine that hone's own rules run
 * on, a plug-in at a time in the order in which they were loaded; and operators that are an expression, which become
 * that expression, so that an engine needs nobody who defined them. */
#include "base/text.h"
#include "pass/passes.h"
#include "tensor/expr.h"
#include <hone/plugin.h>
#include <string.h>

const char *hn_guest_unmet(const hn_match *match, const hone_rewrite *rewrite) {
  hone_bound bound[HN_MATCH_BINDINGS];
  int count = 0;
  if (!rewrite->when) return NULL;
  for (int i = 0; i < match->binding_count; ++i) {
    const hn_binding *binding = &match->bindings[i];
    const hn_value *value = binding->node && !binding->value ? binding->node->out[0] : binding->value;
    if (binding->rest) continue;
    bound[count++] = (hone_bound){.name = binding->name,
                                  .fact = value ? &value->fact : NULL,
                                  .op = binding->node ? binding->node->op : NULL,
                                  .attrs = binding->node ? &binding->node->attrs : NULL};
  }
  const hone_rewrite_match shown = {.struct_size = sizeof shown, .bound_count = count, .bound = bound};
  return rewrite->when(&shown);
}

static int count_of(const hn_plugin_rewrite *first, const char *path) {
  int count = 0;
  for (const hn_plugin_rewrite *known = first; known; known = known->next) count += known->path == path;
  return count;
}

/* A text that cannot be read, or puts what is not there, is the plug-in's mistake. */
static hone_status blame(hn_pass_run *run, const char *path, hone_status status) {
  if (status == HONE_INTERNAL || status == HONE_MALFORMED) status = HONE_INVALID;
  return hone_note(&run->context->diag, status, "in the rewrites of %s", path);
}

static hone_status run_plugin(hn_pass_run *run, const hn_plugin_rewrite *first) {
  hn_arena arena;
  hn_arena_init(&arena, run->context->allocator);
  hn_rewrite *rows = HN_NEW(&arena, hn_rewrite, count_of(first, first->path) + 1);
  int count = 0;
  for (const hn_plugin_rewrite *known = first; known && rows; known = known->next) {
    const hone_rewrite *from = known->rewrite;
    if (known->path != first->path) continue;
    rows[count++] = (hn_rewrite){.name = from->name,
                                 .find = from->find,
                                 .put = from->put,
                                 .why = from->why,
                                 .guest = from,
                                 .fuses = from->flags & HONE_REWRITE_FUSES,
                                 .keeps = from->flags & HONE_REWRITE_KEEPS};
  }
  const char *slash = strrchr(first->path, '/');
  const char *name = hn_arena_printf(run->log ? run->log->arena : &arena, "plug-in %s", /* the log keeps it */
                                     slash ? slash + 1 : first->path);
  hone_status status = rows && name ? hn_rewrite_run(run, rows, true, name) : HN_FAIL_MEMORY(&run->context->diag);
  hn_arena_deinit(&arena);
  return status == HONE_OK ? status : blame(run, first->path, status);
}

hone_status hn_pass_plugins(hn_pass_run *run) {
  const hn_plugin_rewrite *all = run->context->plugin_rewrites;
  for (const hn_plugin_rewrite *known = all; known; known = known->next) {
    const hn_plugin_rewrite *first = all;
    while (first->path != known->path) first = first->next;
    if (first == known) HN_TRY(run_plugin(run, known));
  }
  return HONE_OK;
}

/* ---- definitions ---- */

static hone_status make_expression(hn_match *match) {
  hn_expr expr;
  hn_text text;
  const hn_node *node = match->root;
  HN_TRY(hn_expr_of_op(&match->run->context->diag, node->op, &node->attrs, node->in_count, &expr));
  hn_text_init(&text, match->run->context->allocator);
  hn_text_expr(&text, &expr);
  const hone_attr attr = {
      .name = "expr", .kind = HONE_ATTR_STRING, .count = (int64_t)text.length, .s = hn_text_string(&text)};
  const hone_status status = text.failed ? HN_FAIL_MEMORY(&match->run->context->diag) : hn_bind_attr(match, &attr);
  hn_text_deinit(&text);
  return status;
}

/* op(x0, x1) -> fused[expr=$expr](x0, x1) */
static bool write_row(hn_arena *arena, const hone_op *op, hn_rewrite *out) {
  const char *names = "";
  for (int i = 0; i < HONE_MAX_PORTS && op->in[i].name && names; ++i)
    names = hn_arena_printf(arena, "%s%sx%d", names, i ? ", " : "", i);
  if (!names) return false;
  *out = (hn_rewrite){.name = op->name,
                      .find = hn_arena_printf(arena, "%s(%s)", op->name, names),
                      .put = hn_arena_printf(arena, "fused[expr=$expr](%s)", names),
                      .make = make_expression,
                      .why = "an operator that is its expression"};
  return out->find && out->put;
}

static hone_status run_definitions(hn_pass_run *run, hn_arena *arena) {
  int count = 0;
  for (const hn_plugin_op *known = run->context->plugin_ops; known; known = known->next) count += !known->path;
  if (count == 0) return HONE_OK;
  hn_rewrite *rows = HN_NEW(arena, hn_rewrite, count + 1);
  count = 0;
  for (const hn_plugin_op *known = run->context->plugin_ops; known && rows; known = known->next)
    if (!known->path && !write_row(arena, known->op, &rows[count++])) rows = NULL;
  return rows ? hn_rewrite_run(run, rows, false, "definitions") : HN_FAIL_MEMORY(&run->context->diag);
}

hone_status hn_pass_definitions(hn_pass_run *run) {
  hn_arena arena;
  hn_arena_init(&arena, run->context->allocator);
  const hone_status status = run_definitions(run, &arena);
  hn_arena_deinit(&arena);
  return status;
}
