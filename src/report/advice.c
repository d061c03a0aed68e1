/* SPDX-License-Identifier: Apache-2.0 */
/* advice.c - the pattern of a profile by a decision tree, and the rows of advice evaluated over it.
 *
 * The tree asks first what hides everything else: operators without kernels, copies, what lies between steps; and last
 * what is left when a run does nothing but compute and move. Thresholds are shares of a run. */
#include "report/advice.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the pattern ---- */

enum { MANY_STEPS = 16 };

typedef struct leaf {
  const char *name, *text;
} leaf;

static const leaf leaves[HN_PATTERN_COUNT] = {
    [HN_PATTERN_UNKNOWN] = {"unknown", "no roofs were measured, so the layers have nothing to be held against"},
    [HN_PATTERN_REFERENCE] = {"reference-bound", "operators without a fast kernel take the time"},
    [HN_PATTERN_TRANSFER] = {"transfer-bound", "copies between host and device take the time"},
    [HN_PATTERN_LAUNCH] = {"launch-bound", "what lies between the layers takes the time, not the layers"},
    [HN_PATTERN_SMALL] = {"many small operators", "most of the time is in layers too short for their fixed costs"},
    [HN_PATTERN_FORMAT] = {"format-bound", "conversions between layouts and types take a good part of the time"},
    [HN_PATTERN_UNBALANCED] = {"unbalanced threads", "threads wait for the last one of each loop"},
    [HN_PATTERN_COMPUTE] = {"compute-bound", "the arithmetic units are the roof over most of the time"},
    [HN_PATTERN_MEMORY] = {"memory-bound", "caches and memory are the roof over most of the time"},
    [HN_PATTERN_MIXED] = {"mixed", "some layers are bound by arithmetic, some by memory"},
};

const char *hn_pattern_name(hn_pattern pattern) {
  return pattern >= 0 && pattern < HN_PATTERN_COUNT ? leaves[pattern].name : "unknown";
}

hn_pattern hn_pattern_of(const hn_pattern_shares *s, bool has_roofs, int steps) {
  if (s->reference > 0.3) return HN_PATTERN_REFERENCE;
  if (s->transfer > 0.3) return HN_PATTERN_TRANSFER;
  if (s->between > 0.25) return HN_PATTERN_LAUNCH;
  if (!has_roofs) return HN_PATTERN_UNKNOWN;
  if (s->latency > 0.4 && steps >= MANY_STEPS) return HN_PATTERN_SMALL;
  if (s->convert > 0.2) return HN_PATTERN_FORMAT;
  if (s->waiting > 0.2) return HN_PATTERN_UNBALANCED;
  if (s->compute > 0.6) return HN_PATTERN_COMPUTE;
  if (s->memory > 0.6) return HN_PATTERN_MEMORY;
  return HN_PATTERN_MIXED;
}

/* What lies between the layers of a run, in *out_run_ns. Tracing makes a run longer on the host and a queue's work not:
 * there it is what nobody traced took beyond the queue, and the gaps inside. */
static double between_ns(const hn_profile *p, double *out_run_ns) {
  const hn_trace_queue *queue = &p->in->trace->queue;
  const double plain_ns = p->options->unprofiled_ns, plain_device_ns = p->options->unprofiled_device_ns;
  *out_run_ns = p->mean_ns;
  if (!p->traced) return fmax(0, p->mean_ns - p->mean_sum_ns);
  const double device_ns = plain_device_ns > 0 ? plain_device_ns : queue->span_ns;
  *out_run_ns = plain_ns > 0 ? plain_ns : device_ns;
  return queue->gap_ns + fmax(0, *out_run_ns - device_ns);
}

static void measure_shares(hn_advising *a) {
  const hn_profile *p = a->p;
  hn_pattern_shares *s = &a->shares;
  if (p->sum_ns <= 0 || p->median_ns <= 0) return;
  for (int i = 0; i < p->count; ++i) {
    const hn_profile_row *row = &p->rows[i];
    const double share = row->median_ns / p->sum_ns;
    if (row->step->kind != HN_STEP_COPY && row->step->caused_by) s->convert += share;
    if (row->bound.kind == HN_BOUND_LATENCY) s->latency += share;
    if (row->bound.kind == HN_BOUND_COMPUTE) s->compute += share;
    if (row->bound.kind == HN_BOUND_MEMORY) s->memory += share;
  }
  s->reference = p->reference_ns / p->sum_ns;
  double of_ns;
  const double apart_ns = between_ns(p, &of_ns);
  s->transfer = (p->to_device_ns + p->to_host_ns) / (p->traced ? of_ns : p->median_ns);
  s->between = of_ns > 0 ? apart_ns / of_ns : 0;
  s->waiting = fmin(1, a->facts.waiting_ns / a->run_ns);
}

/* ---- items ---- */

static const char *format_text(hn_advising *a, const char *format, va_list arguments) {
  char text[768];
  (void)vsnprintf(text, sizeof text, format, arguments);
  const char *made = hn_arena_text(a->arena, text);
  if (!made) a->failed = true;
  return made;
}

hn_advice_item *hn_advice_add(hn_advising *a, const hn_advice_row *row, const char *finding, ...) {
  if (a->failed || !hn_arena_grow(a->arena, (void **)&a->items, &a->capacity, a->count + 1, sizeof *a->items)) {
    a->failed = true;
    return NULL;
  }
  va_list arguments;
  va_start(arguments, finding);
  hn_advice_item *item = &a->items[a->count];
  *item = (hn_advice_item){.row = row, .finding = format_text(a, finding, arguments), .unit = HONE_ROOF_COUNT};
  va_end(arguments);
  if (a->failed) return NULL;
  ++a->count;
  return item;
}

void hn_advice_flags(hn_advising *a, hn_advice_item *item, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (item) item->flags = format_text(a, format, arguments);
  va_end(arguments);
}

const hn_profile_row *hn_advice_row_named(const hn_advising *a, const char *name) {
  for (int i = 0; i < a->p->count; ++i) {
    const hn_plan_step *step = a->p->rows[i].step;
    if (strcmp(step->name, name) == 0) return &a->p->rows[i];
    if (step->origin_count == 1 && strcmp(step->origins[0], name) == 0) return &a->p->rows[i];
  }
  return NULL;
}

int hn_advice_take_rows(hn_advising *a, hn_advice_item *item,
                        bool (*takes)(const hn_advising *a, const hn_profile_row *row)) {
  const hn_profile *p = a->p;
  int *rows = HN_NEW(a->arena, int, p->count + 1);
  const char **names = HN_NEW(a->arena, const char *, p->count + 1);
  if (!item || !rows || !names) {
    a->failed = true;
    return 0;
  }
  int count = 0;
  for (int i = 0; i < p->count; ++i) {
    if (takes && !takes(a, &p->rows[i])) continue;
    rows[count] = i;
    names[count++] = p->rows[i].step->name;
  }
  item->rows = rows;
  item->layers = names;
  item->row_count = item->layer_count = count;
  return count;
}

static bool is_among(const hn_advising *a, const int *nodes, int count, const char *name) {
  for (int i = 0; i < count; ++i)
    if (strcmp(a->facts.model->nodes[nodes[i]].name, name) == 0) return true;
  return false;
}

void hn_advice_take_nodes(hn_advising *a, hn_advice_item *item, const int *nodes, int count) {
  const hn_profile *p = a->p;
  int *rows = HN_NEW(a->arena, int, p->count + 1);
  const char **names = HN_NEW(a->arena, const char *, count + 1);
  if (!item || !rows || !names) {
    a->failed = true;
    return;
  }
  for (int i = 0; i < count; ++i) names[i] = a->facts.model->nodes[nodes[i]].name;
  for (int i = 0; i < p->count; ++i) {
    const hn_plan_step *step = p->rows[i].step;
    bool all = step->origin_count > 0;
    for (int k = 0; k < step->origin_count && all; ++k) all = is_among(a, nodes, count, step->origins[k]);
    if (all) rows[item->row_count++] = i;
  }
  item->rows = rows;
  item->layers = names;
  item->layer_count = count;
  item->removed = item->row_count == 0;
}

bool hn_advice_step_fits(const hone_advice_step *step) {
  const double most_apart = 0.3, predicted_ns = step->before_ns - step->predicted_ns,
               saved_ns = step->before_ns - step->measured_ns;
  return fabs(saved_ns - predicted_ns) <= most_apart * fabs(predicted_ns) ||
         (predicted_ns >= -step->high_ns && predicted_ns <= -step->low_ns);
}

/* ---- all of it ---- */

static int by_saving(const void *a, const void *b) {
  const hn_advice_item *x = a, *y = b;
  if (x->removed != y->removed) return x->removed ? 1 : -1;
  if (x->saving_ns != y->saving_ns) return x->saving_ns < y->saving_ns ? 1 : -1;
  return strcmp(x->row->name, y->row->name);
}

void hn_advice_sort(hn_advising *a) {
  if (a->count) qsort(a->items, (size_t)a->count, sizeof *a->items, by_saving);
}

/* No run can win more than it takes, nor lose by a remedy that is left out when it does not help. */
static void limit(const hn_advising *a, hn_advice_item *item) {
  double *const all[] = {&item->saving_ns, &item->low_ns, &item->high_ns};
  for (size_t i = 0; i < HN_COUNT(all); ++i) {
    *all[i] *= a->scale;
    if (!(*all[i] > 0)) *all[i] = 0;
    if (*all[i] > a->run_ns) *all[i] = a->run_ns;
  }
}

static void evaluate(hn_advising *a, const hn_advice_row *rows) {
  for (const hn_advice_row *row = rows; row->name && !a->failed; ++row) {
    const int first = a->count;
    row->find(a, row);
    for (int i = first; i < a->count; ++i) {
      if (!a->items[i].removed && row->predict) row->predict(a, &a->items[i]);
      limit(a, &a->items[i]);
    }
  }
}

/* What would save less than this share of a run is not worth a line, nor a build. */
static const double least_share = 0.005;

static void drop_small(hn_advising *a) {
  int kept = 0;
  for (int i = 0; i < a->count; ++i)
    if (a->items[i].removed || strcmp(a->items[i].row->kind, HN_ADVICE_DEFECT) == 0 ||
        strcmp(a->items[i].row->kind, HN_ADVICE_POWER) == 0 || a->items[i].unsure ||
        a->items[i].saving_ns >= least_share * a->run_ns)
      a->items[kept++] = a->items[i];
  a->count = kept;
}

hone_status hn_advise(const hn_profile *profile, const hn_advice_facts *facts, hn_arena *arena, hn_advising **out) {
  hn_advising *a = HN_NEW(arena, hn_advising, 1);
  *out = NULL;
  if (!a) return HONE_NO_MEMORY;
  *a = (hn_advising){.p = profile, .arena = arena};
  if (facts) a->facts = *facts;
  a->run_ns = profile->options->unprofiled_ns > 0 ? profile->options->unprofiled_ns : profile->median_ns;
  /* Medians do not add up: of what others take from a run, each layer bears its share. */
  double of_ns;
  const double added_ns = profile->sum_ns + between_ns(profile, &of_ns);
  a->scale = added_ns > 0 ? a->run_ns / added_ns : 1;
  measure_shares(a);
  a->pattern = hn_pattern_of(&a->shares, profile->floor_ns > 0, profile->count);
  a->pattern_text = leaves[a->pattern].text;
  evaluate(a, hn_advice_run_rows);
  evaluate(a, hn_advice_ledger_rows);
  evaluate(a, hn_advice_device_rows);
  if (a->facts.model) evaluate(a, hn_advice_model_rows);
  if (a->failed) return HONE_NO_MEMORY;
  drop_small(a);
  hn_advice_sort(a);
  *out = a;
  return HONE_OK;
}
