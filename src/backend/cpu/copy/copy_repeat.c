/* SPDX-License-Identifier: Apache-2.0 */
/* copy_repeat.c - expand and tile, whose extents alone say what is repeated, and constant_of_shape. */
#include "backend/cpu/copy/copy.h"
#include <string.h>

static const char *check(const hone_query *query) {
  const char *reason = hn_cpu_check(query, 2, 2, 1);
  return reason ? reason : hn_cpu_check_moves(query, false);
}

static const char *reject_expand(const hone_query *query) {
  const char *reason = check(query);
  if (reason) return reason;
  const hone_shape *from = &query->in[0].type.shape, *to = &query->out[0].type.shape;
  if (from->rank > to->rank) return "the output has a smaller rank";
  for (int d = 0; d < from->rank; ++d)
    if (from->dim[d] != 1 && from->dim[d] != to->dim[to->rank - from->rank + d])
      return "the input does not broadcast to the output";
  return NULL;
}

static size_t state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(hn_copy_plan);
}

static hone_status prepare_expand(hone_unit *unit, const hone_query *query, void *plan, hone_diagnostics *diagnostics) {
  (void)unit, (void)diagnostics;
  const hone_type *from = &query->in[0].type, *to = &query->out[0].type;
  int64_t from_stride[HONE_MAX_RANK], to_stride[HONE_MAX_RANK];
  hn_broadcast_strides(&from->shape, &to->shape, from_stride);
  hn_strides(&to->shape, to_stride);
  hn_copy_plan_make(plan, to->shape.rank, to->shape.dim, from_stride, to_stride, hn_cpu_element_bytes(to->dtype));
  return HONE_OK;
}

/* Each axis that is repeated becomes two dimensions, repeats outside extent; false when there are too many. */
static bool plan_tile(const hone_query *query, hn_copy_plan *plan) {
  const hone_shape *from = &query->in[0].type.shape, *to = &query->out[0].type.shape;
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
  if (count > HN_COPY_RANK) return false;
  hn_copy_plan_make(plan, count, dim, a, b, hn_cpu_element_bytes(query->out[0].type.dtype));
  return true;
}

static const char *reject_tile(const hone_query *query) {
  const char *reason = check(query);
  if (reason) return reason;
  const hone_shape *from = &query->in[0].type.shape, *to = &query->out[0].type.shape;
  if (from->rank != to->rank) return "the output has another rank";
  for (int d = 0; d < to->rank; ++d)
    if (from->dim[d] == 0 ? to->dim[d] != 0 : to->dim[d] % from->dim[d] != 0) return "an extent is not a multiple";
  hn_copy_plan plan;
  return plan_tile(query, &plan) ? NULL : "more than 8 dimensions are repeated or kept";
}

static hone_status prepare_tile(hone_unit *unit, const hone_query *query, void *plan, hone_diagnostics *diagnostics) {
  (void)unit;
  return plan_tile(query, plan) ? HONE_OK : HN_FAIL(diagnostics, HONE_UNSUPPORTED, "tile: too many dimensions");
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

static const hone_tensor *value_of(const hone_query *query) {
  const hone_attr *attr = hn_attr_find(query->attrs, "value");
  return attr && attr->kind == HONE_ATTR_TENSOR ? attr->tensor : NULL;
}

static const char *reject_fill(const hone_query *query) {
  const char *reason = hn_cpu_check(query, 1, 1, 1);
  if (reason) return reason;
  const hone_type *out = &query->out[0].type;
  const hone_tensor *value = value_of(query);
  if (out->format != HONE_PLAIN || hn_cpu_element_bytes(out->dtype) == 0) return "it is not plain, or of odd elements";
  if (!value) return out->dtype == HONE_F32 ? NULL : "the value has another type";
  if (value->type.dtype != out->dtype || !hn_shape_known(&value->type.shape) || hn_elems(&value->type.shape) != 1)
    return "the value has another type";
  return NULL;
}

static size_t fill_state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(fill);
}

static hone_status prepare_fill(hone_unit *unit, const hone_query *query, void *state, hone_diagnostics *diagnostics) {
  (void)unit, (void)diagnostics;
  fill *f = state;
  const hone_tensor *value = value_of(query);
  f->element_bytes = hn_cpu_element_bytes(query->out[0].type.dtype);
  f->count = hn_elems(&query->out[0].type.shape);
  if (value) memcpy(&f->value, value->data, (size_t)f->element_bytes);
  return HONE_OK;
}

static hone_status launch_fill(void *state, hone_stream *stream, const hone_launch *launch) {
  const fill *f = state;
  hn_cpu_fill(stream, launch->out[0].data, &f->value, f->element_bytes, f->count);
  return HONE_OK;
}

const hone_tactic hn_tactic_cpu_expand_any_c = {HN_CPU_MOVE_ROW("expand", "c"), .reject = reject_expand,
                                                .state_bytes = state_bytes, .prepare = prepare_expand,
                                                .launch = launch};
const hone_tactic hn_tactic_cpu_tile_any_c = {HN_CPU_MOVE_ROW("tile", "c"), .reject = reject_tile,
                                              .state_bytes = state_bytes, .prepare = prepare_tile, .launch = launch};
const hone_tactic hn_tactic_cpu_constant_of_shape_any_c = {HN_CPU_MOVE_ROW("constant_of_shape", "c"),
                                                           .reject = reject_fill, .state_bytes = fill_state_bytes,
                                                           .prepare = prepare_fill, .launch = launch_fill};
