/* SPDX-License-Identifier: Apache-2.0 */
/* copy_repeat.c - expand and tile, whose extents alone say what is repeated, and constant_of_shape. */
#include "backend/cpu/copy/copy.h"
#include <string.h>

static const char *check(const hone_query *query) {
  HN_TRY_REASON(hn_cpu_check(query, 2, 2, 1));
  return hn_cpu_check_moves(query, false);
}

static const char *plan_expand(const hone_query *query, void *plan, hone_needs *needs) {
  HN_TRY_REASON(check(query));
  const hone_shape *from = &query->in[0].type.shape, *to = &query->out[0].type.shape;
  if (from->rank > to->rank) return "the output has a smaller rank";
  for (int d = 0; d < from->rank; ++d)
    if (from->dim[d] != 1 && from->dim[d] != to->dim[to->rank - from->rank + d])
      return "the input does not broadcast to the output";
  needs->state = sizeof(hn_copy_plan);
  if (!plan) return NULL;
  int64_t from_stride[HONE_MAX_RANK], to_stride[HONE_MAX_RANK];
  hn_broadcast_strides(from, to, from_stride);
  hn_strides(to, to_stride);
  hn_copy_plan_make(plan, to->rank, to->dim, from_stride, to_stride, hn_cpu_element_bytes(query->out[0].type.dtype));
  return NULL;
}

/* Each axis that is repeated becomes two dimensions, repeats outside extent. */
static const char *plan_tile(const hone_query *query, void *plan, hone_needs *needs) {
  HN_TRY_REASON(check(query));
  const hone_shape *from = &query->in[0].type.shape, *to = &query->out[0].type.shape;
  if (from->rank != to->rank) return "the output has another rank";
  for (int d = 0; d < to->rank; ++d)
    if (from->dim[d] == 0 ? to->dim[d] != 0 : to->dim[d] % from->dim[d] != 0) return "an extent is not a multiple";
  int64_t from_stride[HONE_MAX_RANK], to_stride[HONE_MAX_RANK];
  int64_t dim[2 * HONE_MAX_RANK], a[2 * HONE_MAX_RANK], b[2 * HONE_MAX_RANK];
  int count = 0;
  hn_strides(from, from_stride);
  hn_strides(to, to_stride);
  for (int d = 0; d < to->rank; ++d) {
    const int64_t extent = from->dim[d], repeats = extent ? to->dim[d] / extent : 0;
    if (repeats != 1) dim[count] = repeats, a[count] = 0, b[count++] = extent * to_stride[d];
    if (extent != 1) dim[count] = extent, a[count] = from_stride[d], b[count++] = to_stride[d];
  }
  if (count > HN_COPY_RANK) return "more than 8 dimensions are repeated or kept";
  needs->state = sizeof(hn_copy_plan);
  if (plan) hn_copy_plan_make(plan, count, dim, a, b, hn_cpu_element_bytes(query->out[0].type.dtype));
  return NULL;
}

static hone_status launch(void *plan, hone_stream *stream, const hone_launch *launch) {
  hn_cpu_copy(stream, plan, launch->in[0].data, launch->out[0].data);
  return HONE_OK;
}

/* ---- constant_of_shape ---- */

typedef struct fill {
  uint64_t value; /* its first bytes */
  int64_t count;
  int element_bytes;
} fill;

static const char *plan_fill(const hone_query *query, void *memory, hone_needs *needs) {
  HN_TRY_REASON(hn_cpu_check(query, 1, 1, 1));
  const hone_type *out = &query->out[0].type;
  const hone_attr *attr = hn_attr_find(query->attrs, "value");
  const hone_tensor *value = attr && attr->kind == HONE_ATTR_TENSOR ? attr->tensor : NULL;
  if (out->format != HONE_PLAIN || hn_cpu_element_bytes(out->dtype) == 0) return "it is not plain, or of odd elements";
  if (value
          ? value->type.dtype != out->dtype || !hn_shape_known(&value->type.shape) || hn_elems(&value->type.shape) != 1
          : out->dtype != HONE_F32)
    return "the value has another type";
  fill *f = memory;
  needs->state = sizeof *f;
  if (!f) return NULL;
  f->element_bytes = hn_cpu_element_bytes(out->dtype);
  f->count = hn_elems(&out->shape);
  if (value) memcpy(&f->value, value->data, (size_t)f->element_bytes);
  return NULL;
}

static hone_status launch_fill(void *state, hone_stream *stream, const hone_launch *launch) {
  const fill *f = state;
  hn_cpu_fill(stream, launch->out[0].data, &f->value, f->element_bytes, f->count);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_copy_repeat[] = {
    {sizeof(hone_tactic), .name = "cpu.expand.any.c", .version = 1, .op = "expand", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .plan = plan_expand, .launch = launch},
    {sizeof(hone_tactic), .name = "cpu.tile.any.c", .version = 1, .op = "tile", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .plan = plan_tile, .launch = launch},
    {sizeof(hone_tactic), .name = "cpu.constant_of_shape.any.c", .version = 1, .op = "constant_of_shape",
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_fill, .launch = launch_fill},
    {0}};
