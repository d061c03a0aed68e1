/* SPDX-License-Identifier: Apache-2.0 */
/* concat.c - tensors side by side along one axis. */
#include "ops/common_move.h"

/* Lists of small integers joined: how shape subgraphs build shapes. */
static void join_values(hone_infer *infer) {
  int64_t total = 0, count, at = 0;
  for (int i = 0; i < infer->in_count; ++i) {
    if (!hn_in_value(infer, i, &count)) {
      if (hn_in_rank(infer, i) != 1 || hn_in_shape(infer, i)->dim[0] != 0) return;
      count = 0;
    }
    total += count;
  }
  int64_t *to = hn_infer_value(infer, 0, total);
  for (int i = 0; to && i < infer->in_count; ++i) {
    const int64_t *value = hn_in_value(infer, i, &count);
    for (int64_t j = 0; value && j < count; ++j) to[at++] = value[j];
  }
}

static hone_status infer(hone_infer *infer) {
  int rank = -1, axis;
  bool complete = true;
  for (int i = 0; i < infer->in_count; ++i) {
    const int own = hn_in_rank(infer, i);
    if (own < 0)
      complete = false;
    else if (rank >= 0 && own != rank)
      return HN_INFER_FAIL(infer, "input %d has rank %d, but others have %d", i, own, rank);
    else
      rank = own;
  }
  if (rank < 0) return HONE_OK;
  HN_TRY(hn_infer_axis(infer, hn_attr_int(infer->attrs, "axis"), rank, &axis));
  int64_t dims[HONE_MAX_RANK] = {0};
  bool started = false;
  for (int i = 0; i < infer->in_count; ++i) {
    if (hn_in_rank(infer, i) < 0) continue;
    const hone_shape *shape = hn_in_shape(infer, i);
    for (int d = 0; d < rank; ++d) {
      if (d == axis)
        dims[d] = started ? hn_dim_add(infer->dims, dims[d], shape->dim[d]) : shape->dim[d];
      else if (!started)
        dims[d] = shape->dim[d];
      else
        HN_TRY(hn_infer_same_dim(infer, dims[d], shape->dim[d], "concat beside its axis", &dims[d]));
    }
    started = true;
  }
  if (!complete) dims[axis] = hn_dim_fresh(infer->dims, "concat", true, INT64_MAX);
  hn_out_shape(infer, 0, rank, dims);
  if (rank == 1 && complete) join_values(infer);
  return HONE_OK;
}

/* Inputs whose actual extents do not fit together would be read or written outside. */
static hone_status check(hone_eval *eval, int axis) {
  const hone_shape *out = &eval->out[0].type.shape;
  int64_t sum = 0;
  for (int i = 0; i < eval->in_count; ++i) {
    const hone_shape *shape = &eval->in[i].type.shape;
    bool fits = shape->rank == out->rank;
    for (int d = 0; fits && d < out->rank; ++d) fits = d == axis || shape->dim[d] == out->dim[d];
    if (!fits || !hn_add_i64(sum, shape->dim[axis], &sum))
      return HN_FAIL(eval->diagnostics, HONE_INVALID, "input %d does not fit beside the others", i);
  }
  if (sum == out->dim[axis]) return HONE_OK;
  return HN_FAIL(eval->diagnostics, HONE_INVALID, "the inputs' extents add up to %lld, not to %lld", (long long)sum,
                 (long long)out->dim[axis]);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window; /* runs of whole rows are copied; skipping some saves little */
  HN_TRY(hn_eval_sized(eval));
  const hone_shape *shape = &eval->out[0].type.shape;
  int axis;
  HN_TRY(hn_eval_axis(eval, hn_attr_int(eval->attrs, "axis"), shape->rank, &axis));
  HN_TRY(check(eval, axis));
  const hn_rows out = hn_rows_along(shape, axis);
  int64_t begin = 0;
  for (int i = 0; i < eval->in_count; ++i) {
    const int64_t run = eval->in[i].type.shape.dim[axis] * out.inner;
    for (int64_t outer = 0; outer < out.outer && !hn_eval_ends(eval, outer); ++outer)
      hn_copy_run(eval, &eval->out[0], outer * out.len * out.inner + begin, &eval->in[i], outer * run, run);
    begin += run;
  }
  return HONE_OK;
}

const hone_op hn_op_concat = {
    .struct_size = sizeof(hone_op),
    .name = "concat",
    .doc = "tensors side by side along one axis",
    .in = {{"inputs", 'T', HONE_TYPES_ANY, HONE_PORT_VARIADIC}},
    .out = {{"concat_result", 'T'}},
    .attr = {HONE_INT_ATTR("axis", 1)},
    .traits = HONE_MOVES,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .report_class = "Data movement",
    .onnx = {{"Concat", 1, HONE_LATEST},
             {"QLinearConcat", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_qlinear_concat", .alias = true},
             {"FeatureVectorizer", 1, HONE_LATEST, "ai.onnx.ml", .adapt = "ml_feature_vectorizer", .alias = true}},
};
