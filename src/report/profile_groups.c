/* SPDX-License-Identifier: Apache-2.0 */
/* profile_groups.c - layers of a profile together: by class of work, operator, ONNX node or module. */
#include "report/profile.h"
#include <stdlib.h>
#include <string.h>

const char *hn_step_class(const hn_plan_step *step) {
  return step->op ? hn_report_class(step->op) : hn_step_type(step);
}

const char *hn_profile_class(const hn_profile_row *row) { return hn_step_class(row->step); }

/* What matrix units and tensor cores are for. */
bool hn_profile_is_gemm(const char *report_class) {
  static const char *const classes[] = {"Convolution", "Matrix product", "Attention", "Recurrent"};
  for (size_t i = 0; i < HN_COUNT(classes); ++i)
    if (strcmp(report_class, classes[i]) == 0) return true;
  return false;
}

static const char *key_class(hn_profile *p, const hn_profile_row *row) {
  (void)p;
  return hn_profile_class(row);
}

static const char *key_type(hn_profile *p, const hn_profile_row *row) {
  (void)p;
  return hn_step_type(row->step);
}

/* All nodes that the step stands for; a convert's are those of the layer that wanted it. */
static const char *key_node(hn_profile *p, const hn_profile_row *row) {
  const hn_plan_step *step = row->step;
  if (step->origin_count == 0) return step->caused_by ? step->caused_by : step->name;
  if (step->origin_count == 1) return step->origins[0];
  hn_text text;
  hn_text_init(&text, p->arena->allocator);
  for (int i = 0; i < step->origin_count; ++i) hn_text_printf(&text, "%s%s", i ? " + " : "", step->origins[i]);
  const char *made = text.failed ? NULL : hn_arena_text(p->arena, hn_text_string(&text));
  hn_text_deinit(&text);
  return made;
}

/* "/features/features.1/conv/Conv" and "features.1.conv.0": the first two parts of what contains the node. */
static const char *key_module(hn_profile *p, const hn_profile_row *row) {
  const hn_plan_step *step = row->step;
  const char *name = step->origin_count > 0 ? step->origins[0] : step->caused_by ? step->caused_by : step->name;
  const char mark = strchr(name, '/') ? '/' : '.';
  while (*name == mark) ++name;
  const char *end = name;
  for (int part = 0; part < 2; ++part) {
    const char *next = strchr(part ? end + 1 : end, mark);
    if (!next) break;
    end = next;
  }
  if (end == name) return hn_arena_text(p->arena, "(no module)");
  char *made = hn_arena_text(p->arena, name);
  if (made) made[end - name] = 0;
  return made;
}

static int by_time(const void *a, const void *b) {
  const hn_profile_group *x = a, *y = b;
  return x->median_ns < y->median_ns ? 1 : x->median_ns > y->median_ns ? -1 : strcmp(x->name, y->name);
}

/* In the order of the first layer of each; by time where that says more. */
static hone_status group(hn_profile *p, const char *(*key)(hn_profile *p, const hn_profile_row *row), bool sorted,
                         hn_profile_group **out, int *out_count) {
  hn_profile_group *groups = HN_NEW(p->arena, hn_profile_group, p->count + 1);
  int count = 0;
  if (!groups) return HONE_NO_MEMORY;
  for (int i = 0; i < p->count; ++i) {
    const hn_profile_row *row = &p->rows[i];
    const char *name = key(p, row);
    if (!name) return HONE_NO_MEMORY;
    int at = 0;
    while (at < count && strcmp(groups[at].name, name) != 0) ++at;
    if (at == count) groups[count++] = (hn_profile_group){.name = name};
    groups[at].median_ns += row->median_ns;
    groups[at].floor_ns += row->bound.floor_ns;
    groups[at].flops += row->work->cost.flops;
    groups[at].bytes += row->work->cost.bytes_read + row->work->cost.bytes_written;
    ++groups[at].count;
  }
  if (sorted) qsort(groups, (size_t)count, sizeof *groups, by_time);
  *out = groups;
  *out_count = count;
  return HONE_OK;
}

hone_status hn_profile_classes(hn_profile *p) { return group(p, key_class, true, &p->classes, &p->class_count); }

hone_status hn_profile_group_by(hn_profile *p) {
  switch (p->options->by) {
  case HONE_BY_TYPE: return group(p, key_type, true, &p->groups, &p->group_count);
  case HONE_BY_ONNX_NODE: return group(p, key_node, false, &p->groups, &p->group_count);
  case HONE_BY_MODULE: return group(p, key_module, false, &p->groups, &p->group_count);
  default: return HONE_OK;
  }
}
