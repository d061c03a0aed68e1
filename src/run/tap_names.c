/* SPDX-License-Identifier: Apache-2.0 */
/* tap_names.c - which values a name stands for, and what became of those that a plan does not have. */
#include "base/hash.h"
#include "base/text.h"
#include "run/tap.h"
#include <string.h>

/* ---- the list ---- */

/* The name of an output where the tensor's value is one. */
static const char *port_name(const hn_plan *plan, const char *value) {
  for (int i = 0; i < plan->output_count; ++i)
    if (strcmp(plan->tensors[plan->outputs[i].tensor].name, value) == 0) return plan->outputs[i].name;
  return value;
}

typedef struct listing {
  hn_table seen;
  hn_tap_item *items;
  int count;
} listing;

/* A value is written once; converts and copies, and views in another memory, only show it again. */
static bool add(const hn_plan *plan, listing *list, int step, int t) {
  if (t < 0 || plan->tensors[t].type.kind != HONE_TENSOR) return true;
  const char *value = plan->tensors[t].name;
  if (hn_table_get(&list->seen, value)) return true;
  list->items[list->count] =
      (hn_tap_item){.step = step, .tensor = t, .name = step < 0 ? value : port_name(plan, value)};
  return hn_table_put(&list->seen, value, &list->items[list->count++]);
}

hone_status hn_tap_list(const hn_plan *plan, hn_arena *arena, hn_tap_item **out, int *out_count,
                        hone_diagnostics *diag) {
  listing list = {0};
  int most = plan->input_count + 1;
  for (int s = 0; s < plan->step_count; ++s) most += plan->steps[s].out_count;
  hn_table_init(&list.seen, arena);
  list.items = HN_NEW(arena, hn_tap_item, most);
  bool fits = list.items != NULL;
  for (int i = 0; fits && i < plan->input_count; ++i) fits = add(plan, &list, -1, plan->inputs[i].tensor);
  for (int s = 0; fits && s < plan->step_count; ++s)
    for (int i = 0; fits && i < plan->steps[s].out_count && !plan->steps[s].caused_by; ++i)
      fits = add(plan, &list, s, plan->steps[s].out[i]);
  if (!fits) return HN_FAIL_MEMORY(diag);
  *out = list.items;
  *out_count = list.count;
  return HONE_OK;
}

void hn_tap_describe(const hn_plan *plan, const hn_tap_item *item, hone_tap *out) {
  *out = (hone_tap){.name = item->name};
  if (item->step < 0) return;
  const hn_plan_step *step = &plan->steps[item->step];
  out->step = step->name;
  out->op = step->op ? step->op->name : NULL;
  out->tactic = step->tactic ? step->tactic->name : NULL;
  out->origin_count = step->origin_count;
  out->origins = step->origins;
}

/* ---- what was not found ---- */

static bool comes_from(const hn_plan_step *step, const char *node) {
  for (int i = 0; i < step->origin_count; ++i)
    if (strcmp(step->origins[i], node) == 0) return true;
  return false;
}

/* "a, b and 3 more" */
static void add_item(hn_text *out, int number, int count, const char *name) {
  enum { SHOWN = 6 };
  if (number < SHOWN) hn_text_printf(out, "%s%s", number ? ", " : "", name);
  if (number == SHOWN) hn_text_printf(out, " and %d more", count - SHOWN);
}

/* The node's value is gone: where it went, and what is there in its stead. */
static void tell_fused(const hn_plan *plan, const hn_tap_item *items, int count, int s, const char *node,
                       hn_text *out) {
  const hn_plan_step *step = &plan->steps[s];
  hn_text_printf(out, "node %s went into step %s (%s) together with ", node, step->name,
                 step->op ? step->op->name : "copy");
  for (int i = 0, shown = 0; i < step->origin_count; ++i)
    if (strcmp(step->origins[i], node) != 0) add_item(out, shown++, step->origin_count - 1, step->origins[i]);
  hn_text_add(out, "; of their values only what the step writes is left: ");
  int written = 0;
  for (int i = 0; i < count; ++i)
    if (items[i].step == s) hn_text_printf(out, "%s%s", written++ ? ", " : "", items[i].name);
  if (!written) hn_text_add(out, "nothing");
  hn_text_printf(out, ". A build with the choice \"%s=parts\", or without the rule that joined them, has more",
                 step->name);
}

/* The names that are most alike: values, and nodes that steps stand for. */
static void tell_near(const hn_plan *plan, const hn_tap_item *items, int count, const char *wanted, hn_text *out) {
  hn_near near = {.wanted = wanted, .length = strlen(wanted)};
  for (int i = 0; i < count; ++i) hn_near_add(&near, items[i].name);
  for (int s = 0; s < plan->step_count; ++s)
    for (int i = 0; i < plan->steps[s].origin_count; ++i) hn_near_add(&near, plan->steps[s].origins[i]);
  hn_text_add(out, "no step writes a value of that name, and none runs a node of it");
  hn_near_tell(&near, out);
}

static bool is_constant(const hn_plan *plan, const char *name) {
  for (int t = 0; t < plan->tensor_count; ++t)
    if ((plan->tensors[t].place == HN_PLACE_CONSTANT || plan->tensors[t].place == HN_PLACE_PACKED) &&
        strcmp(plan->tensors[t].name, name) == 0)
      return true;
  return false;
}

static hone_status fail_name(const hn_plan *plan, const hn_tap_item *items, int count, const char *name,
                             hn_allocator allocator, hone_diagnostics *diag) {
  hn_text text;
  hn_text_init(&text, allocator);
  int fused = -1;
  for (int s = 0; s < plan->step_count && fused < 0; ++s)
    if (!plan->steps[s].caused_by && comes_from(&plan->steps[s], name)) fused = s;
  if (fused >= 0)
    tell_fused(plan, items, count, fused, name, &text);
  else if (is_constant(plan, name))
    hn_text_add(&text, "it is a constant: no step writes it");
  else
    tell_near(plan, items, count, name, &text);
  const hone_status status = HN_FAIL(diag, HONE_INVALID, "debug tensor %s: %s", name, hn_text_string(&text));
  hn_text_deinit(&text);
  return status;
}

/* ---- choosing ---- */

/* A step runs a node when it came from this node alone, or when no node of the model is called as the step is. */
static bool runs_node(const hn_plan_step *step, const char *node) {
  const bool one_of = comes_from(step, node);
  return one_of ? step->origin_count == 1 : strcmp(step->name, node) == 0;
}

hone_status hn_tap_choose(const hn_plan *plan, const hn_tap_item *items, int count, const char *name, bool *chosen,
                          hn_allocator allocator, hone_diagnostics *diag) {
  const bool all = strcmp(name, "*") == 0;
  bool found = all;
  for (int i = 0; i < count; ++i) {
    const bool is = all ? items[i].step >= 0
                        : strcmp(items[i].name, name) == 0 || strcmp(plan->tensors[items[i].tensor].name, name) == 0;
    chosen[i] = chosen[i] || is;
    found = found || is;
  }
  if (found) return HONE_OK; /* a value's name goes before a node's */
  for (int i = 0; i < count; ++i)
    if (items[i].step >= 0 && runs_node(&plan->steps[items[i].step], name)) chosen[i] = found = true;
  return found ? HONE_OK : fail_name(plan, items, count, name, allocator, diag);
}
