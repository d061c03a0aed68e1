/* SPDX-License-Identifier: Apache-2.0 */
/* copy_join.c - concat and split: one strided copy for each part. Blocked tensors are cut along their channels only
 * between blocks. */
#include "backend/cpu/copy/copy.h"

enum { MAX_PARTS = 4096 };

typedef struct part {
  hn_copy_plan plan;
  size_t offset; /* of the part in the whole, bytes */
} part;

typedef struct state {
  int count;
  part parts[];
} state;

static const char *check(const hone_query *query, const hone_fact *whole, const hone_fact *parts, int count) {
  const hone_type *w = &whole->type;
  const int axis = hn_cpu_axis(query, "axis", w->shape.rank), block = hn_format_block(w->format);
  int64_t sum = 0;
  if (axis < 0) return "the axis is out of range";
  for (int i = 0; i < count; ++i) {
    const hone_type *p = &parts[i].type;
    if (p->kind == HONE_ABSENT) return "a part is absent";
    if (p->dtype != w->dtype || p->format != w->format) return "a part has another type or format";
    if (p->shape.rank != w->shape.rank) return "a part has another rank";
    for (int d = 0; d < w->shape.rank; ++d)
      if (d != axis && p->shape.dim[d] != w->shape.dim[d]) return "a part has other extents beside the axis";
    if (axis == 1 && i + 1 < count && p->shape.dim[1] % block != 0) return "a part ends inside a channel block";
    sum += p->shape.dim[axis];
  }
  return sum == w->shape.dim[axis] ? NULL : "the parts do not add up to the whole";
}

static const char *reject_concat(const hone_query *query) {
  const char *reason = hn_cpu_check(query, 1, MAX_PARTS, 1);
  if (!reason) reason = hn_cpu_check_moves(query, true);
  return reason ? reason : check(query, &query->out[0], query->in, query->in_count);
}

static const char *reject_split(const hone_query *query) {
  const char *reason = hn_cpu_check(query, 1, 2, MAX_PARTS);
  if (!reason) reason = hn_cpu_check_moves(query, true);
  return reason ? reason : check(query, &query->in[0], query->out, query->out_count);
}

static size_t state_bytes(const hone_query *query) {
  const int parts = query->in_count > query->out_count ? query->in_count : query->out_count;
  return sizeof(state) + (size_t)parts * sizeof(part);
}

static hone_status plan_parts(const hone_query *query, state *s, const hone_fact *whole, const hone_fact *parts,
                              int count, bool joins) {
  const int axis = hn_cpu_axis(query, "axis", whole->type.shape.rank), bytes = hn_cpu_element_bytes(whole->type.dtype);
  const hn_cpu_rows rows = hn_cpu_stored_rows(&whole->type, axis);
  size_t offset = 0;
  s->count = count;
  for (int i = 0; i < count; ++i) {
    const hn_cpu_rows own = hn_cpu_stored_rows(&parts[i].type, axis);
    const int64_t run = own.axis * own.inner, dim[2] = {own.outer, run};
    const int64_t in_whole[2] = {rows.axis * rows.inner, 1}, in_part[2] = {run, 1};
    hn_copy_plan_make(&s->parts[i].plan, 2, dim, joins ? in_part : in_whole, joins ? in_whole : in_part, bytes);
    s->parts[i].offset = offset;
    offset += (size_t)run * (size_t)bytes;
  }
  return HONE_OK;
}

static hone_status prepare_concat(hone_unit *unit, const hone_query *query, void *s, hone_diagnostics *diagnostics) {
  (void)unit, (void)diagnostics;
  return plan_parts(query, s, &query->out[0], query->in, query->in_count, true);
}

static hone_status prepare_split(hone_unit *unit, const hone_query *query, void *s, hone_diagnostics *diagnostics) {
  (void)unit, (void)diagnostics;
  return plan_parts(query, s, &query->in[0], query->out, query->out_count, false);
}

static hone_status launch_concat(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  for (int i = 0; i < s->count; ++i)
    hn_cpu_copy(stream, &s->parts[i].plan, launch->in[i].data, (char *)launch->out[0].data + s->parts[i].offset);
  return HONE_OK;
}

static hone_status launch_split(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  for (int i = 0; i < s->count; ++i)
    hn_cpu_copy(stream, &s->parts[i].plan, (const char *)launch->in[0].data + s->parts[i].offset, launch->out[i].data);
  return HONE_OK;
}

/* Where a part lies in the whole, when it lies there in one piece. */
static int64_t part_offset(const hone_query *query, const hone_fact *whole, const hone_fact *parts, int number) {
  const int axis = hn_cpu_axis(query, "axis", whole->type.shape.rank);
  int64_t offset = 0;
  if (hn_cpu_stored_rows(&whole->type, axis).outer != 1) return -1;
  for (int i = 0; i < number; ++i) {
    const hn_cpu_rows rows = hn_cpu_stored_rows(&parts[i].type, axis);
    offset += rows.axis * rows.inner;
  }
  return offset * hn_cpu_element_bytes(whole->type.dtype);
}

static int64_t overlay_concat(const hone_query *query, int input, int output) {
  return part_offset(query, &query->out[output], query->in, input);
}

static int64_t overlay_split(const hone_query *query, int input, int output) {
  return input == 0 ? part_offset(query, &query->in[0], query->out, output) : -1;
}

#define JOIN_FORMATS                                                                                                   \
  {                                                                                                                    \
    {HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}, { HONE_NCHW8C, HONE_NCHW8C }                               \
  }

const hone_tactic hn_tactic_cpu_concat_any_c = {
    HN_CPU_MOVE_ROW("concat", "c"), .formats = JOIN_FORMATS, .reject = reject_concat,   .state_bytes = state_bytes,
    .prepare = prepare_concat,      .launch = launch_concat, .overlay = overlay_concat,
};

const hone_tactic hn_tactic_cpu_split_any_c = {
    HN_CPU_MOVE_ROW("split", "c"), .formats = JOIN_FORMATS, .reject = reject_split,   .state_bytes = state_bytes,
    .prepare = prepare_split,      .launch = launch_split,  .overlay = overlay_split,
};
