/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - the list of what the passes did. */
#include "ir/log.h"

bool hn_pass_log_add(hn_pass_log *log, const char *pass, const char *rule, const char *node,
                     const char *unmet_or_null) {
  if (!hn_arena_grow(log->arena, (void **)&log->events, &log->capacity, log->count + 1, sizeof *log->events))
    return false;
  const char *name = hn_arena_text(log->arena, node);
  if (!name) return false;
  log->events[log->count++] =
      (hn_pass_event){.pass = pass, .rule = rule, .node = name, .fired = unmet_or_null == NULL, .unmet = unmet_or_null};
  return true;
}
