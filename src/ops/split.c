/* SPDX-License-Identifier: Apache-2.0 */
/* split.c - one tensor cut along an axis into parts of given or equal extents. */
#include "ops/common_move.h"

/* Equal parts: with num_outputs the last may be smaller, without it the axis must divide. */
static hone_status equal_parts(hone_infer *infer, int64_t extent, int64_t *parts) {
  const int count = infer->out_count;
  const bool uneven = hn_attr_has(infer->attrs, "num_outputs");
  if (uneven && hn_attr_int(infer->attrs, "num_outputs") != count)
    return HN_INFER_FAIL(infer, "num_outputs is %lld, but there are %d outputs",
                         (long long)hn_attr_int(infer->attrs, "num_outputs"), count);
  if (!uneven && !HONE_SYMBOLIC(extent) && extent % count != 0)
    return HN_INFER_FAIL(infer, "extent %lld does not split into %d equal parts", (long long)extent, count);
  const int64_t part =
      uneven ? hn_dim_ceil_div(infer->dims, extent, count) : hn_dim_floor_div(infer->dims, extent, count);
  int64_t rest = extent;
  for (int i = 0; i < count; ++i) {
    parts[i] = uneven && !HONE_SYMBOLIC(rest) && !HONE_SYMBOLIC(part) && rest < part ? rest : part;
    if (uneven && i == count - 1) parts[i] = rest;
    rest = hn_dim_sub(infer->dims, rest, parts[i]);
  }
  return HONE_OK;
}

static hone_status given_parts(hone_infer *infer, int64_t extent, int64_t *parts, bool *out_known) {
  int64_t length, count, sum = 0;
  HN_TRY(hn_in_length(infer, 1, "split", &length));
  const int64_t *value = hn_in_value(infer, 1, &count);
  *out_known = value != NULL;
  if (length >= 0 && length != infer->out_count)
    return HN_INFER_FAIL(infer, "split has %lld parts, but there are %d outputs", (long long)length, infer->out_count);
  if (!value) return HONE_OK;
  for (int i = 0; i < infer->out_count; ++i) {
    if (value[i] < 0 && !HONE_SYMBOLIC(value[i]))
      return HN_INFER_FAIL(infer, "split[%d] is %lld; it must not be negative", i, (long long)value[i]);
    parts[i] = value[i];
    sum = hn_dim_add(infer->dims, sum, value[i]);
  }
  if (!HONE_SYMBOLIC(sum) && !HONE_SYMBOLIC(extent) && sum != extent)
    return HN_INFER_FAIL(infer, "split adds up to %lld, but the axis has extent %lld", (long long)sum,
                         (long long)extent);
  return HONE_OK;
}

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  int64_t parts[HONE_MAX_FACT_VALUES];
  bool known = true;
  int axis;
  if (infer->out_count > HONE_MAX_FACT_VALUES)
    return HN_INFER_UNSUPPORTED(infer, "%d outputs; at most %d", infer->out_count, HONE_MAX_FACT_VALUES);
  if (rank < 0) return HONE_OK;
  HN_TRY(hn_infer_axis(infer, hn_attr_int(infer->attrs, "axis"), rank, &axis));
  hone_shape shape = *hn_in_shape(infer, 0);
  const int64_t extent = shape.dim[axis];
  if (hn_in_given(infer, 1))
    HN_TRY(given_parts(infer, extent, parts, &known));
  else
    HN_TRY(equal_parts(infer, extent, parts));
  int64_t count, at = 0;
  const int64_t *value = rank == 1 && known ? hn_in_value(infer, 0, &count) : NULL;
  for (int i = 0; i < infer->out_count; ++i) {
    shape.dim[axis] = known ? parts[i] : hn_dim_fresh(infer->dims, "split", true, INT64_MAX);
    hn_out_shape(infer, i, rank, shape.dim);
    if (!value || HONE_SYMBOLIC(parts[i])) continue;
    int64_t *to = hn_infer_value(infer, i, parts[i]);
    for (int64_t j = 0; to && j < parts[i]; ++j) to[j] = value[at + j];
    at += parts[i];
  }
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window; /* each output is runs of whole rows */
  HN_TRY(hn_eval_sized(eval));
  const hone_shape *shape = &eval->in[0].type.shape;
  int axis;
  HN_TRY(hn_eval_axis(eval, hn_attr_int(eval->attrs, "axis"), shape->rank, &axis));
  const hn_rows in = hn_rows_along(shape, axis);
  hone_shape part = *shape;
  int64_t begin = 0, sum = 0;
  for (int i = 0; i < eval->out_count; ++i) {
    const hone_shape *own = &eval->out[i].type.shape;
    if (own->rank == shape->rank) part.dim[axis] = own->dim[axis];
    HN_TRY(hn_eval_expect(eval, i, part.rank, part.dim));
    sum += part.dim[axis];
  }
  if (sum != in.len)
    return HN_FAIL(eval->diagnostics, HONE_INVALID, "the parts add up to %lld, but the axis has extent %lld",
                   (long long)sum, (long long)in.len);
  for (int i = 0; i < eval->out_count; ++i) {
    const int64_t run = eval->out[i].type.shape.dim[axis] * in.inner;
    for (int64_t outer = 0; outer < in.outer && !hn_eval_ends(eval, outer); ++outer)
      hn_copy_run(eval, &eval->out[i], outer * run, &eval->in[0], outer * in.len * in.inner + begin, run);
    begin += run;
  }
  return HONE_OK;
}

const hone_op hn_op_split = {
    .struct_size = sizeof(hone_op),
    .name = "split",
    .doc = "cuts a tensor along one axis",
    .in = {{"input", 'T', HONE_TYPES_ANY}, {"split", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .out = {{"outputs", 'T', 0, HONE_PORT_VARIADIC}},
    .attr = {HONE_INT_ATTR("axis", 0), HONE_OPTIONAL_ATTR("num_outputs", HONE_ATTR_INT)},
    .traits = HONE_MOVES,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .report_class = "Data movement",
    .onnx = {{"Split", 2, 12, .to_input = "split=1"}, {"Split", 13, HONE_LATEST}},
};
