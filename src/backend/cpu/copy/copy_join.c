/* SPDX-License-Identifier: Apache-2.0 */
/* copy_join.c - concat and split: one strided copy for each part. Blocked tensors are cut along their channels only
 * between blocks. */
#include "backend/cpu/copy/copy.h"

enum { MAX_PARTS = 4096 };

typedef struct part {
  hn_copy_plan plan;
  size_t offset; /* of the part in the whole, bytes */
} part;

typedef struct row_kernel {
  bool joins; /* concat: parts into the whole; else split: out of it */
} row_kernel;

typedef struct pieces {
  const hone_fact *whole, *parts;
  int count;
  bool joins;
} pieces;

typedef struct state {
  int count;
  part parts[];
} state;

static pieces pieces_of(const hone_query *query) {
  const bool joins = ((const row_kernel *)query->tactic->kernel)->joins;
  return joins ? (pieces){query->out, query->in, query->in_count, true}
               : (pieces){query->in, query->out, query->out_count, false};
}

static const char *check(const hone_query *query, const pieces *p) {
  const hone_type *w = &p->whole->type;
  const int axis = hn_cpu_axis(query, "axis", w->shape.rank), block = hn_format_block(w->format);
  int64_t sum = 0;
  if (axis < 0) return "the axis is out of range";
  for (int i = 0; i < p->count; ++i) {
    const hone_type *own = &p->parts[i].type;
    if (own->kind == HONE_ABSENT) return "a part is absent";
    if (own->dtype != w->dtype || own->format != w->format) return "a part has another type or format";
    if (own->shape.rank != w->shape.rank) return "a part has another rank";
    for (int d = 0; d < w->shape.rank; ++d)
      if (d != axis && own->shape.dim[d] != w->shape.dim[d]) return "a part has other extents beside the axis";
    if (axis == 1 && i + 1 < p->count && own->shape.dim[1] % block != 0) return "a part ends inside a channel block";
    sum += own->shape.dim[axis];
  }
  return sum == w->shape.dim[axis] ? NULL : "the parts do not add up to the whole";
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  const pieces p = pieces_of(query);
  const char *reason = p.joins ? hn_cpu_check(query, 1, MAX_PARTS, 1) : hn_cpu_check(query, 1, 2, MAX_PARTS);
  if (!reason) reason = hn_cpu_check_moves(query, true);
  if (!reason) reason = hn_cpu_check_held(query);
  if (!reason) reason = check(query, &p);
  if (reason) return reason;
  state *s = memory;
  needs->state = sizeof *s + (size_t)hn_cpu_greater(query->in_count, query->out_count) * sizeof(part);
  if (!s) return NULL;
  const hone_type *w = &p.whole->type;
  const int axis = hn_cpu_axis(query, "axis", w->shape.rank), bytes = hn_cpu_element_bytes(w->dtype);
  const hn_cpu_rows rows = hn_cpu_stored_rows(w, axis);
  size_t offset = 0;
  s->count = p.count;
  for (int i = 0; i < p.count; ++i) {
    const hn_cpu_rows own = hn_cpu_stored_rows(&p.parts[i].type, axis);
    const int64_t run = own.axis * own.inner, dim[2] = {own.outer, run};
    const int64_t in_whole[2] = {rows.axis * rows.inner, 1}, in_part[2] = {run, 1};
    hn_copy_plan_make(&s->parts[i].plan, 2, dim, p.joins ? in_part : in_whole, p.joins ? in_whole : in_part, bytes);
    s->parts[i].offset = offset;
    offset += (size_t)run * (size_t)bytes;
  }
  return NULL;
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
static int64_t overlay(const hone_query *query, int input, int output) {
  const pieces p = pieces_of(query);
  const hone_type *w = &p.whole->type;
  const int axis = hn_cpu_axis(query, "axis", w->shape.rank);
  int64_t offset = 0;
  if ((!p.joins && input != 0) || hn_cpu_stored_rows(w, axis).outer != 1) return -1;
  for (int i = 0; i < (p.joins ? input : output); ++i) {
    const hn_cpu_rows rows = hn_cpu_stored_rows(&p.parts[i].type, axis);
    offset += rows.axis * rows.inner;
  }
  return offset * hn_cpu_element_bytes(w->dtype);
}

const hone_tactic hn_tactics_cpu_copy_join[] = {
    {sizeof(hone_tactic), .name = "cpu.concat.any.c", .version = 1, .op = "concat", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW16C, HONE_NCHW16C},
                  {HONE_NCHW8C, HONE_NCHW8C},
                  {HONE_NCHW64C, HONE_NCHW64C}},
     .plan = plan, .launch = launch_concat, .overlay = overlay, .kernel = &(const row_kernel){.joins = true}},
    {sizeof(hone_tactic), .name = "cpu.concat.halves.c", .version = 1, .op = "concat", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN},
                  {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C},
                  {HONE_F16_PLAIN, HONE_F16_PLAIN},
                  {HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .plan = plan, .launch = launch_concat, .overlay = overlay, .kernel = &(const row_kernel){.joins = true}},
    {sizeof(hone_tactic), .name = "cpu.split.any.c", .version = 1, .op = "split", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW16C, HONE_NCHW16C},
                  {HONE_NCHW8C, HONE_NCHW8C},
                  {HONE_NCHW64C, HONE_NCHW64C}},
     .plan = plan, .launch = launch_split, .overlay = overlay, .kernel = &(const row_kernel){.joins = false}},
    {sizeof(hone_tactic), .name = "cpu.split.halves.c", .version = 1, .op = "split", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN},
                  {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C},
                  {HONE_F16_PLAIN, HONE_F16_PLAIN},
                  {HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .plan = plan, .launch = launch_split, .overlay = overlay, .kernel = &(const row_kernel){.joins = false}},
    {0}};
