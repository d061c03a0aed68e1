/* SPDX-License-Identifier: Apache-2.0 */
/* shared.c - what reports share: their options, and what schedules have of an engine's weights alone and in common. */
#include "report/report.h"
#include "base/arguments.h"
#include "tensor/shape.h"
#include <stdlib.h>

typedef struct span {
  uint64_t begin, end;
} span;

typedef struct span_list {
  int count, capacity;
  span *items;
} span_list;

static bool add(hn_arena *arena, span_list *list, uint64_t begin, uint64_t bytes) {
  if (bytes == 0) return true;
  if (!hn_arena_grow(arena, (void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items)) return false;
  list->items[list->count++] = (span){begin, begin + bytes};
  return true;
}

static int by_begin(const void *a, const void *b) {
  const span *x = a, *y = b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Sorted, and without overlaps. */
static void join(span_list *list) {
  int kept = 0;
  if (list->count) qsort(list->items, (size_t)list->count, sizeof *list->items, by_begin);
  for (int i = 0; i < list->count; ++i) {
    span *last = kept ? &list->items[kept - 1] : NULL;
    if (!last || list->items[i].begin > last->end)
      list->items[kept++] = list->items[i];
    else if (list->items[i].end > last->end)
      last->end = list->items[i].end;
  }
  list->count = kept;
}

/* What a schedule reads of the weights. */
static bool gather(hn_arena *arena, const hn_plan *plan, span_list *list) {
  for (int t = 0; t < plan->tensor_count; ++t) {
    const hn_plan_tensor *tensor = &plan->tensors[t];
    size_t bytes;
    if (tensor->place == HN_PLACE_CONSTANT && tensor->alias_of < 0 && hn_type_bytes(&tensor->type, &bytes) &&
        !add(arena, list, tensor->offset, bytes))
      return false;
  }
  for (int s = 0; s < plan->step_count; ++s)
    if (!add(arena, list, plan->steps[s].packed_offset, plan->steps[s].packed_bytes)) return false;
  return true;
}

static uint64_t total(const span_list *list) {
  uint64_t sum = 0;
  for (int i = 0; i < list->count; ++i) sum += list->items[i].end - list->items[i].begin;
  return sum;
}

static uint64_t common(const span_list *a, const span_list *b) {
  uint64_t sum = 0;
  for (int i = 0, k = 0; i < a->count && k < b->count;) {
    const span *x = &a->items[i], *y = &b->items[k];
    const uint64_t begin = x->begin > y->begin ? x->begin : y->begin, end = x->end < y->end ? x->end : y->end;
    if (begin < end) sum += end - begin;
    if (x->end < y->end)
      ++i;
    else
      ++k;
  }
  return sum;
}

hone_status hn_report_weights(const hn_schedules *schedules, int schedule, hn_arena *arena, uint64_t *out_bytes,
                              uint64_t *out_shared) {
  span_list own = {0}, others = {0};
  for (int k = 0; k < schedules->count; ++k)
    if (!gather(arena, schedules->plans[k], k == schedule ? &own : &others)) return HONE_NO_MEMORY;
  join(&own);
  join(&others);
  *out_bytes = total(&own);
  *out_shared = common(&own, &others);
  return HONE_OK;
}

hone_status hn_report_options_take(hone_diagnostics *diag, const hone_report_options *given, hone_report_options *out) {
  HN_OPTIONS(diag, "report", given, hone_report_options, node, out);
  HN_TRY(hn_argument_range(diag, "report option width", out->width, 0, 1 << 16));
  HN_TRY(hn_argument_range(diag, "report option shape_count", out->shape_count, 0, INT32_MAX));
  if (out->shape_count > 0 && !out->shapes)
    return HN_FAIL(diag, HONE_INVALID, "report option shapes is NULL, and shape_count is %d", out->shape_count);
  HN_TRY(hn_argument_real(diag, "report option unprofiled_ns", out->unprofiled_ns, 0));
  HN_TRY(hn_argument_real(diag, "report option unprofiled_device_ns", out->unprofiled_device_ns, 0));
  HN_TRY(hn_argument_range(diag, "report option by", out->by, 0, HONE_BY_COUNT - 1));
  return hn_argument_range(diag, "report option top", out->top, 0, INT32_MAX);
}

static const hone_type *first_type(const hn_plan *plan, int count, const int *tensors) {
  for (int i = 0; i < count; ++i)
    if (tensors[i] >= 0 && plan->tensors[tensors[i]].place != HN_PLACE_CONSTANT &&
        plan->tensors[tensors[i]].place != HN_PLACE_PACKED)
      return &plan->tensors[tensors[i]].type;
  return NULL;
}

static void add_storage(hn_text *text, const hone_type *type) {
  hn_text_add(text, hone_dtype_name(type->dtype));
  if (type->format != HONE_PLAIN) hn_text_printf(text, " %s", hone_format_name(type->format));
}

const char *hn_step_storage(hn_arena *arena, const hn_plan *plan, const hn_plan_step *step) {
  const hone_type *in = first_type(plan, step->in_count, step->in);
  const hone_type *out = first_type(plan, step->out_count, step->out);
  hn_text text;
  hn_text_init(&text, arena->allocator);
  if (in) add_storage(&text, in);
  if (out && (!in || in->dtype != out->dtype || in->format != out->format)) {
    if (in) hn_text_add(&text, " > ");
    add_storage(&text, out);
  }
  const char *made = text.failed ? NULL : hn_arena_text(arena, hn_text_string(&text));
  hn_text_deinit(&text);
  return made;
}
