/* SPDX-License-Identifier: Apache-2.0 */
/* tap.h - debug taps: values handed to the caller right after the step that writes them, before their memory is used
 * again. They are a matter of the session alone: the plan, its choices and its memory stay as they are. */
#ifndef HN_RUN_TAP_H
#define HN_RUN_TAP_H

#include "plan/plan.h"
#include <hone/session.h>

struct hn_instance;

/* A value that can be tapped. */
typedef struct hn_tap_item {
  int step, tensor; /* step -1: an input */
  const char *name; /* the output's name where it is one, else the value's */
  int64_t turns;    /* how often it was written in this run */
} hn_tap_item;

/* Those of one instance, in step order. */
typedef struct hn_taps {
  const hn_plan *plan;
  int count;
  hn_tap_item *items;
  int *first;          /* items of step s: [first[s + 1], first[s + 2]) */
  hone_memory staging; /* for what lies in a device's memory */
  void *plain;         /* for what lies in a blocked format */
  size_t plain_bytes;
} hn_taps;

/* All that can be tapped, inputs first, each name once; in the arena (run/tap_names.c). */
hone_status hn_tap_list(const hn_plan *plan, hn_arena *arena, hn_tap_item **out, int *out_count,
                        hone_diagnostics *diag);
/* Sets chosen[i] for the items that a name stands for: "*", a value, an output, a node. INVALID says what became of a
 * name that stands for none, and what is near it. */
hone_status hn_tap_choose(const hn_plan *plan, const hn_tap_item *items, int count, const char *name, bool *chosen,
                          hn_allocator allocator, hone_diagnostics *diag);
void hn_tap_describe(const hn_plan *plan, const hn_tap_item *item, hone_tap *out); /* all but the tensor */

/* Finds what the session's options ask for, and makes room for it. */
hone_status hn_taps_make(hone_session *session, struct hn_instance *instance, const hn_plan *plan);
void hn_taps_drop(hone_session *session, struct hn_instance *instance);
/* Hands out what the step wrote; step -1: the inputs. Never allocates. */
hone_status hn_taps_fire(hone_session *session, struct hn_instance *instance, int step);
static inline bool hn_taps_after(const hn_taps *taps, int step) {
  return taps->count > 0 && taps->first[step + 1] < taps->first[step + 2];
}

#endif
