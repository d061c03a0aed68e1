/* SPDX-License-Identifier: Apache-2.0 */
/* reshape.c - the same elements in the same order under another shape. In the shape, 0 keeps the input's extent (unless
 * allowzero) and one -1 takes what is left. */
#include "ops/common_move.h"

/* What is left for -1, given the other extents; a fresh symbol when that cannot be said yet. */
static hone_status infer_rest(hone_infer *infer, int count, int64_t *dims, int rest) {
  const hone_shape *from = hn_in_shape(infer, 0);
  dims[rest] = 1;
  const hone_shape kept = hn_shape(count, dims);
  int64_t others = 1, total;
  if (hn_shape_known(&kept)) {
    if (!hn_elems_checked(&kept, &others)) return HN_INFER_FAIL(infer, "shape has more elements than any tensor");
    if (others == 0) return HN_INFER_FAIL(infer, "shape has -1 beside an extent of 0, so that it says nothing");
    if (hn_elems_checked(from, &total) && total % others != 0)
      return HN_INFER_FAIL(infer, "%lld elements do not divide into the shape's other extents, %lld", (long long)total,
                           (long long)others);
  } else {
    others = hn_dim_product(infer->dims, count, dims);
    if (others == 0) return HN_INFER_FAIL(infer, "shape has -1 beside an extent of 0, so that it says nothing");
  }
  if (hn_in_rank(infer, 0) < 0)
    dims[rest] = hn_dim_fresh(infer->dims, "reshape", true, INT64_MAX);
  else
    dims[rest] = hn_dim_floor_div(infer->dims, hn_dim_product(infer->dims, from->rank, from->dim), others);
  return HONE_OK;
}

static hone_status infer_dims(hone_infer *infer, const int64_t *value, int count, int64_t *dims) {
  const int rank = hn_in_rank(infer, 0);
  const bool allow_zero = hn_attr_int(infer->attrs, "allowzero") != 0;
  int rest = -1;
  for (int i = 0; i < count; ++i) {
    dims[i] = value[i];
    if (value[i] == 0 && !allow_zero) {
      if (rank >= 0 && i >= rank)
        return HN_INFER_FAIL(infer, "shape[%d] is 0, which keeps an extent, but data has rank %d", i, rank);
      dims[i] = rank < 0 ? hn_dim_fresh(infer->dims, "reshape", true, INT64_MAX) : hn_in_shape(infer, 0)->dim[i];
    } else if (value[i] == -1) {
      if (rest >= 0) return HN_INFER_FAIL(infer, "shape has -1 at %d and at %d; one is allowed", rest, i);
      rest = i;
    } else if (value[i] < 0 && !HONE_SYMBOLIC(value[i])) {
      return HN_INFER_FAIL(infer, "shape[%d] is %lld; it must be -1 or more", i, (long long)value[i]);
    }
  }
  if (rest >= 0) return infer_rest(infer, count, dims, rest);
  const hone_shape shape = hn_shape(count, dims);
  int64_t want, have;
  if (rank < 0 || !hn_elems_checked(hn_in_shape(infer, 0), &have)) return HONE_OK;
  if (hn_shape_known(&shape) && (!hn_elems_checked(&shape, &want) || want != have))
    return HN_INFER_FAIL(infer, "%lld elements cannot take a shape of another number of elements", (long long)have);
  return HONE_OK;
}

static hone_status infer(hone_infer *infer) {
  int64_t length, count, dims[HONE_MAX_RANK];
  HN_TRY(hn_in_length(infer, 1, "shape", &length));
  if (length > HONE_MAX_RANK)
    return HN_INFER_UNSUPPORTED(infer, "a shape of %lld extents; the largest rank is %d", (long long)length,
                                HONE_MAX_RANK);
  const int64_t *value = hn_in_value(infer, 1, &count);
  if (length == 0) {
    count = 0;
    value = dims;
  }
  if (!value) return length < 0 ? HONE_OK : hn_out_after_run(infer, 0, (int)length, INT64_MAX);
  HN_TRY(infer_dims(infer, value, (int)count, dims));
  hn_out_shape(infer, 0, (int)count, dims);
  hn_infer_keep_value(infer, 0, 0);
  return HONE_OK;
}

const hone_op hn_op_reshape = {
    .struct_size = sizeof(hone_op),
    .name = "reshape",
    .doc = "the same elements under another shape",
    .in = {{"data", 'T', HONE_TYPES_ANY}, {"shape", 0, HONE_BIT(HONE_I64)}},
    .out = {{"reshaped", 'T'}},
    .attr = {HONE_INT_ATTR("allowzero", 0)},
    .traits = HONE_MOVES | HONE_ALIASES,
    .infer = infer,
    .eval = hn_eval_same_bytes,
    .cost = hn_cost_copy,
    .report_class = "Data movement",
    .onnx = {{"Reshape", 1, 4, .to_input = "shape=1", .drop = "consumed_inputs"}, {"Reshape", 5, HONE_LATEST}},
};
