/* SPDX-License-Identifier: Apache-2.0 */
/* transpose.c - permutes the axes; without perm their order is reversed. */
#include "ops/common_move.h"

static void permutation(const hone_attrs *attrs, int rank, int *out) {
  const int64_t *perm;
  const int count = hn_attr_ints(attrs, "perm", &perm);
  for (int axis = 0; axis < rank; ++axis) out[axis] = count > 0 ? (int)perm[axis] : rank - 1 - axis;
}

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  const int64_t *perm;
  const int count = hn_attr_ints(infer->attrs, "perm", &perm);
  int order[HONE_MAX_RANK];
  int64_t dims[HONE_MAX_RANK];
  bool seen[HONE_MAX_RANK] = {false};
  if (count > HONE_MAX_RANK)
    return HN_INFER_FAIL(infer, "perm names %d axes; the largest rank is %d", count, HONE_MAX_RANK);
  if (rank >= 0 && count > 0 && count != rank)
    return HN_INFER_FAIL(infer, "perm names %d axes, but data has rank %d", count, rank);
  for (int i = 0; i < count; ++i) {
    if (perm[i] < 0 || perm[i] >= count || seen[perm[i]])
      return HN_INFER_FAIL(infer, "perm[%d] is %lld; perm must hold each of 0..%d once", i, (long long)perm[i],
                           count - 1);
    seen[perm[i]] = true;
  }
  if (rank < 0) return count > 0 ? hn_out_after_run(infer, 0, count, INT64_MAX) : HONE_OK;
  permutation(infer->attrs, rank, order);
  for (int axis = 0; axis < rank; ++axis) dims[axis] = hn_in_shape(infer, 0)->dim[order[axis]];
  hn_out_shape(infer, 0, rank, dims);
  if (rank <= 1) hn_infer_keep_value(infer, 0, 0);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_sized(eval));
  const hone_shape *from = &eval->in[0].type.shape;
  int64_t strides[HONE_MAX_RANK], moved[HONE_MAX_RANK], dims[HONE_MAX_RANK], first, last;
  int order[HONE_MAX_RANK];
  const int64_t *perm;
  const int count = hn_attr_ints(eval->attrs, "perm", &perm);
  if (count > 0 && count != from->rank)
    return HN_FAIL(eval->diagnostics, HONE_INVALID, "perm names %d axes, but data has rank %d", count, from->rank);
  permutation(eval->attrs, from->rank, order);
  hn_strides(from, strides);
  for (int axis = 0; axis < from->rank; ++axis) {
    moved[axis] = strides[order[axis]];
    dims[axis] = from->dim[order[axis]];
  }
  HN_TRY(hn_eval_expect(eval, 0, from->rank, dims));
  hn_window_range(eval, window, 0, &first, &last);
  hn_copy_strided(eval, 0, 0, 0, moved, first, last);
  return HONE_OK;
}

const hone_op hn_op_transpose = {
    .struct_size = sizeof(hone_op),
    .name = "transpose",
    .doc = "permutes the axes",
    .in = {{"data", 'T', HONE_TYPES_ANY}},
    .out = {{"transposed", 'T'}},
    .attr = {HONE_OPTIONAL_ATTR("perm", HONE_ATTR_INTS)},
    .traits = HONE_MOVES | HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .report_class = "Data movement",
    .onnx = {{"Transpose", 1, HONE_LATEST}},
};
