/* SPDX-License-Identifier: Apache-2.0 */
/* prune_log.c - what of the log is worth telling when all passes have run. A rule is tried again and again while the
 * graph changes; only the last reason against it counts, and only while the node is still there. */
#include "pass/passes.h"

typedef struct settling {
  hn_arena arena;
  hn_table alive; /* names of nodes that still run, or that an elementwise group is made of */
  hn_table told;  /* "rule node" */
} settling;

static bool note_block(settling *s, const hn_block *block, const hone_op *group) {
  for (const hn_node *node = block->first; node; node = node->next) {
    if (!hn_table_put(&s->alive, node->name, s)) return false;
    for (int i = 0; i < node->block_count; ++i)
      if (!note_block(s, node->blocks[i], group)) return false;
    /* Elementwise groups are made last, of whatever no rule took: what was said of their members still holds. */
    if (node->op == group && node->parts && !note_block(s, node->parts, group)) return false;
  }
  return true;
}

/* From the last event to the first: marks misses that are not to be told by unmet = NULL. */
static bool mark(settling *s, hn_pass_log *log) {
  for (int i = log->count - 1; i >= 0; --i) {
    hn_pass_event *event = &log->events[i];
    const char *key = hn_arena_printf(&s->arena, "%s %s", event->rule, event->node);
    if (!key) return false;
    const bool stale = hn_table_get(&s->told, key) || !hn_table_get(&s->alive, event->node);
    if (!event->fired && stale) event->unmet = NULL;
    if (!hn_table_put(&s->told, key, s)) return false;
  }
  return true;
}

hone_status hn_pass_log_prune(hn_pass_run *run) {
  hn_pass_log *log = run->log;
  if (!log) return HONE_OK;
  settling s;
  hn_arena_init(&s.arena, run->context->allocator);
  hn_table_init(&s.alive, &s.arena);
  hn_table_init(&s.told, &s.arena);
  const bool done = note_block(&s, run->graph->main, hn_op_find(run->context->ops, "fused")) && mark(&s, log);
  hn_arena_deinit(&s.arena);
  if (!done) return HN_FAIL_MEMORY(&run->context->diag);
  int kept = 0;
  for (int i = 0; i < log->count; ++i)
    if (log->events[i].fired || log->events[i].unmet) log->events[kept++] = log->events[i];
  log->count = kept;
  return HONE_OK;
}
