/* SPDX-License-Identifier: Apache-2.0 */
/* leftovers.c - which fusion would remove a layer that is no product, and why it does not: what the passes said of it,
 * what the tuner measured, else what the plan shows of its neighbours. Pairs of layers that a kernel could be one for
 * are rows of a table. */
#include "report/leftovers.h"
#include "report/explain.h"
#include "report/fusion.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- neighbours ---- */

typedef enum neighbour {
  NEXT_PRODUCT,
  NEXT_CONV,
  NEXT_CONCAT,
  NEXT_POOL,
  NEXT_ELEMENTWISE,
} neighbour;

/* A fusion of two neighbours. */
typedef struct pair {
  const char *ops[6]; /* of the leftover; none: by traits */
  uint32_t traits;
  bool before; /* what reads it would take it in, not what it reads */
  neighbour next;
  const char *rule;   /* that makes it where its conditions hold; NULL: hone has none */
  const char *fusion; /* %s: the neighbour */
  const char *unmet;  /* where nothing else stands in the way */
} pair;

static const char no_form[] = "hone has no such form yet";
static const char not_shared[] = "no kernel was taken for both: hone explain --node says what each lacks";

/* The first that fits counts. */
static const pair pairs[] = {
    {{"max_pool", "average_pool"}, 0, false, NEXT_CONV, "conv_pool", "one kernel with %s", not_shared},
    {{"max_pool", "average_pool"}, 0, false, NEXT_CONCAT, NULL, "a pool in each layer that %s joins", no_form},
    {{"global_average_pool", "global_max_pool", "reduce_mean"},
     0,
     false,
     NEXT_PRODUCT,
     NULL,
     "sums over the image in the epilogue of %s",
     no_form},
    {{"layer_norm", "rms_norm", "group_norm", "instance_norm"},
     0,
     false,
     NEXT_PRODUCT,
     NULL,
     "moments in the epilogue of %s, applied where they are read",
     no_form},
    {{"softmax", "log_softmax"},
     0,
     false,
     NEXT_PRODUCT,
     "attention",
     "scores that stay in the caches with %s",
     not_shared},
    {{NULL},
     HONE_ELEMENTWISE,
     false,
     NEXT_PRODUCT,
     "fuse_conv, fuse_linear",
     "the epilogue of %s",
     "its operands are none of an epilogue's: numbers, one a channel, a residual of the same shape"},
    {{"max_pool", "average_pool"}, 0, true, NEXT_CONV, NULL, "%s reading it window by window", no_form},
    {{NULL}, HONE_ELEMENTWISE, true, NEXT_POOL, NULL, "%s applying it to what it reads", no_form},
    {{"global_average_pool", "global_max_pool"}, 0, false, NEXT_ELEMENTWISE, NULL, "one pass with %s", no_form},
    {{NULL}, HONE_MOVES, false, NEXT_PRODUCT, NULL, "%s storing in that order", no_form},
    {{NULL}, HONE_MOVES, true, NEXT_PRODUCT, NULL, "%s reading it where it lies", no_form},
    {{NULL}, HONE_ELEMENTWISE, true, NEXT_PRODUCT, NULL, "%s computing it while it packs its operand", no_form},
    {{NULL}, HONE_ELEMENTWISE, false, NEXT_ELEMENTWISE, "group_elementwise", "one pass with %s", not_shared},
    {{NULL}, HONE_MOVES, false, NEXT_ELEMENTWISE, NULL, "%s storing in that order", no_form},
};

static bool is_product(const hn_plan_step *step) { return step->op && hn_profile_is_gemm(hn_step_class(step)); }

/* Groups of elementwise operators and folded normalisations are no rows with that trait. */
static bool is_elementwise(const hn_plan_step *step) {
  return (step->op && (step->op->traits & (HONE_ELEMENTWISE | HONE_PER_CHANNEL))) ||
         strcmp(hn_step_type(step), "fused") == 0;
}

static bool is_neighbour(const hn_plan_step *step, neighbour next) {
  switch (next) {
  case NEXT_PRODUCT: return is_product(step);
  case NEXT_CONV: return is_product(step) && strstr(hn_step_type(step), "conv") != NULL;
  case NEXT_CONCAT: return strcmp(hn_step_type(step), "concat") == 0;
  case NEXT_POOL: return strstr(hn_step_type(step), "pool") != NULL && !is_product(step);
  case NEXT_ELEMENTWISE: return is_elementwise(step);
  }
  return false;
}

static bool is_same(const hn_plan *plan, int a, int b) {
  return a >= 0 && b >= 0 && hn_plan_top(plan, a) == hn_plan_top(plan, b);
}

/* What changes nothing but how a value lies: the neighbour is behind it. */
static bool is_passed_through(const hn_plan_step *step) { return step->kind == HN_STEP_VIEW || step->caused_by; }

/* The step that makes a value, of those in front of `step`; NULL: an input of the model. */
static const hn_plan_step *maker(const hn_plan *plan, const hn_plan_step *step, int wanted) {
  for (const hn_plan_step *at = step - 1; at >= plan->steps && wanted >= 0; --at)
    for (int o = 0; o < at->out_count; ++o) {
      if (!is_same(plan, at->out[o], wanted)) continue;
      if (!is_passed_through(at)) return at;
      wanted = at->in_count > 0 ? at->in[0] : -1;
      break;
    }
  return NULL;
}

/* The first one behind `step` that reads it. */
static const hn_plan_step *reader(const hn_plan *plan, const hn_plan_step *step, int wanted) {
  for (const hn_plan_step *at = step + 1; at < plan->steps + plan->step_count && wanted >= 0; ++at)
    for (int i = 0; i < at->in_count; ++i) {
      if (!is_same(plan, at->in[i], wanted)) continue;
      if (!is_passed_through(at)) return at;
      wanted = at->out_count > 0 ? at->out[0] : -1;
      break;
    }
  return NULL;
}

/* The first neighbour of that kind, on any port. */
static const hn_plan_step *neighbour_of(const hn_plan *plan, const hn_plan_step *step, const pair *row) {
  const int count = row->before ? step->out_count : step->in_count;
  for (int i = 0; i < count; ++i) {
    const hn_plan_step *next = row->before ? reader(plan, step, step->out[i]) : maker(plan, step, step->in[i]);
    if (next && is_neighbour(next, row->next)) return next;
  }
  return NULL;
}

static int reader_count(const hn_plan *plan, int tensor) {
  int count = 0;
  for (int s = 0; s < plan->step_count; ++s)
    for (int i = 0; i < plan->steps[s].in_count; ++i) count += plan->steps[s].in[i] == tensor;
  return count;
}

/* ---- texts ---- */

static const char *made_text(const hn_profile *p, const char *format, ...) HONE_PRINTF(2, 3);
static const char *made_text(const hn_profile *p, const char *format, ...) {
  char text[512];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(text, sizeof text, format, list);
  va_end(list);
  return hn_arena_text(p->arena, text);
}

/* A row's text with one %s in it. */
static const char *with_name(const hn_profile *p, const char *text, const char *name) {
  const char *at = strstr(text, "%s");
  return at ? made_text(p, "%.*s%s%s", (int)(at - text), text, name, at + 2) : text;
}

/* ---- what the passes and the tuner said ---- */

static bool is_named(const hn_plan_step *step, const char *name) {
  bool found = strcmp(step->name, name) == 0;
  for (int i = 0; i < step->origin_count && !found; ++i) found = strcmp(step->origins[i], name) == 0;
  return found;
}

static bool reads_the_same(const hn_plan *plan, const hn_plan_step *a, const hn_plan_step *b) {
  for (int i = 0; i < b->in_count; ++i)
    if (a->in_count > 0 && is_same(plan, a->in[0], b->in[i])) return true;
  return false;
}

/* Of the event's node, or of what is matched with it because both read one value: the mean of a squeeze and the
 * product that it scales. */
static bool is_about(const hn_profile *p, const hn_plan_step *step, const char *node) {
  if (is_named(step, node)) return true;
  for (int i = 0; i < p->count; ++i) {
    const hn_plan_step *other = p->rows[i].step;
    if (other != step && !is_product(other) && is_named(other, node) && reads_the_same(p->in->plan, step, other))
      return true;
  }
  return false;
}

static bool by_passes(const hn_profile *p, hn_leftover *left) {
  const hn_json *events = p->in->ledger ? hn_json_get(p->in->ledger, "passes") : NULL;
  for (size_t i = 0; i < hn_ledger_count(events); ++i) {
    const hn_json *event = &events->items[i];
    const char *unmet = hn_ledger_text(event, "unmet");
    if (!*unmet || !is_about(p, left->row->step, hn_ledger_text(event, "node"))) continue;
    left->rule = hn_ledger_text(event, "rule");
    left->fusion = made_text(p, "%s with %s", left->rule, hn_ledger_text(event, "node"));
    left->unmet = unmet;
    return true;
  }
  return false;
}

/* Fused, and slower so. */
static bool by_tuning(const hn_profile *p, const hn_leftovers *all, hn_leftover *left) {
  for (int i = 0; i < all->region_count; ++i) {
    const hn_refused_region *r = &all->regions[i];
    if (!is_named(left->row->step, r->name)) continue;
    left->rule = r->op;
    left->fusion = made_text(p, "%s %s", r->op, r->name);
    left->unmet = r->fused_ns > 0 && r->parts_ns > 0 ? made_text(p, "%s: %.4f ms as one, %.4f ms as parts", r->why,
                                                                 r->fused_ns * 1e-6, r->parts_ns * 1e-6)
                                                     : r->why;
    left->saving_ns = 0;
    return true;
  }
  return false;
}

/* ---- what the plan shows ---- */

static bool is_op_of(const pair *row, const hn_plan_step *step) {
  for (size_t i = 0; i < HN_COUNT(row->ops) && row->ops[i]; ++i)
    if (strcmp(row->ops[i], hn_step_type(step)) == 0) return true;
  return row->traits & HONE_ELEMENTWISE ? is_elementwise(step) : step->op && (step->op->traits & row->traits);
}

/* The value between both, when more than the two see it. */
static const char *seen_by_others(const hn_profile *p, const hn_plan_step *from) {
  const hn_plan *plan = p->in->plan;
  const int tensor = from->out_count > 0 ? from->out[0] : -1;
  if (tensor < 0) return NULL;
  const int count = reader_count(plan, tensor);
  if (plan->tensors[tensor].place == HN_PLACE_OUTPUT)
    return made_text(p, "what %s makes is an output, too", from->name);
  return count > 1 ? made_text(p, "%d layers read what %s makes", count, from->name) : NULL;
}

static bool by_neighbours(const hn_profile *p, hn_leftover *left) {
  const hn_plan_step *step = left->row->step;
  if (step->caused_by && step->kind != HN_STEP_COPY) {
    left->fusion = made_text(p, "%s reading what lies there, or its maker storing what it wants", step->caused_by);
    left->unmet = "both were timed in their storages, and this was cheaper";
    return true;
  }
  for (size_t i = 0; i < HN_COUNT(pairs); ++i) {
    const pair *row = &pairs[i];
    if (!is_op_of(row, step)) continue;
    const hn_plan_step *next = neighbour_of(p->in->plan, step, row);
    if (!next) continue;
    const char *shared = seen_by_others(p, row->before ? step : next);
    left->rule = row->rule;
    left->fusion = with_name(p, row->fusion, next->name);
    left->unmet = shared && row->rule ? shared : row->unmet;
    return true;
  }
  return false;
}

/* ---- all of it ---- */

static hone_status read_regions(const hn_profile *p, hn_leftovers *out) {
  const hn_json *splits = p->in->ledger ? hn_json_get(p->in->ledger, "splits") : NULL;
  out->regions = HN_NEW(p->arena, hn_refused_region, (int)hn_ledger_count(splits) + 1);
  if (!out->regions) return HONE_NO_MEMORY;
  for (size_t i = 0; i < hn_ledger_count(splits); ++i)
    out->regions[out->region_count++] =
        (hn_refused_region){.name = hn_ledger_text(&splits->items[i], "node"),
                            .op = hn_ledger_text(&splits->items[i], "op"),
                            .why = hn_ledger_text(&splits->items[i], "why"),
                            .fused_ns = hn_ledger_real(&splits->items[i], "fused_ns", 0),
                            .parts_ns = hn_ledger_real(&splits->items[i], "parts_ns", 0)};
  return HONE_OK;
}

static int by_saving(const void *a, const void *b) {
  const hn_leftover *x = a, *y = b;
  if (x->saving_ns != y->saving_ns) return x->saving_ns < y->saving_ns ? 1 : -1;
  return x->row < y->row ? -1 : x->row > y->row;
}

hone_status hn_leftovers_find(const hn_profile *p, hn_leftovers *out) {
  *out = (hn_leftovers){.items = HN_NEW(p->arena, hn_leftover, p->count + 1)};
  if (!out->items) return HONE_NO_MEMORY;
  HN_TRY(read_regions(p, out));
  for (int i = 0; i < p->count; ++i) {
    const hn_profile_row *row = &p->rows[i];
    if (hn_profile_is_gemm(hn_profile_class(row))) continue;
    hn_leftover *left = &out->items[out->count++];
    *left = (hn_leftover){.row = row, .saving_ns = hn_fusion_saving_ns(p, row)};
    if (!by_passes(p, left) && !by_tuning(p, out, left) && !by_neighbours(p, left)) left->saving_ns = 0;
    if (left->saving_ns > 0 && (!left->fusion || !left->unmet)) return HONE_NO_MEMORY;
    out->sum_ns += row->median_ns;
    out->saving_ns += left->saving_ns;
  }
  if (out->count) qsort(out->items, (size_t)out->count, sizeof *out->items, by_saving);
  return HONE_OK;
}
