/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - the names of places and step kinds in engine files; never changed, since files hold them. */
#include "plan/plan.h"
#include <string.h>

static const char *const places[] = {"arena", "input", "output", "constant", "packed", "heap"};
static const char *const kinds[] = {"call", "view", "copy", "wait", "branch", "loop"};

static bool find(const char *const *names, size_t count, const char *name, int *out) {
  for (size_t i = 0; i < count; ++i)
    if (strcmp(names[i], name) == 0) {
      *out = (int)i;
      return true;
    }
  return false;
}

const char *hn_place_name(hn_place place) { return places[place]; }
const char *hn_step_kind_name(hn_step_kind kind) { return kinds[kind]; }

bool hn_place_find(const char *name, hn_place *out) {
  int at;
  if (!find(places, HN_COUNT(places), name, &at)) return false;
  *out = (hn_place)at;
  return true;
}

bool hn_step_kind_find(const char *name, hn_step_kind *out) {
  int at;
  if (!find(kinds, HN_COUNT(kinds), name, &at)) return false;
  *out = (hn_step_kind)at;
  return true;
}
