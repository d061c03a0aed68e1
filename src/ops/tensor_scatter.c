/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_scatter.c - writes an update into a cache along one axis, from a position of each batch entry on: how a
 * key-value cache grows. circular wraps around the end. */
#include "ops/common_move.h"

enum { CACHE = 0, UPDATE = 1, WRITE_INDICES = 2 };

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, CACHE), update_rank = hn_in_rank(infer, UPDATE);
  const char *mode = hn_attr_text(infer->attrs, "mode");
  int axis;
  int64_t same;
  if (!hn_name_equal(mode, "linear") && !hn_name_equal(mode, "circular"))
    return HN_INFER_FAIL(infer, "mode is \"%s\"; it must be linear or circular", mode);
  if (rank >= 0) {
    HN_TRY(hn_infer_axis(infer, hn_attr_int(infer->attrs, "axis"), rank, &axis));
    if (axis == 0) return HN_INFER_FAIL(infer, "axis 0 is the batch; it cannot be scattered along");
    if (update_rank >= 0 && update_rank != rank)
      return HN_INFER_FAIL(infer, "update has rank %d, but past_cache has rank %d", update_rank, rank);
    for (int d = 0; update_rank == rank && d < rank; ++d)
      if (d != axis)
        HN_TRY(hn_infer_same_dim(infer, hn_in_shape(infer, CACHE)->dim[d], hn_in_shape(infer, UPDATE)->dim[d],
                                 "past_cache and update", &same));
  }
  return hn_infer_same(infer);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_same_bytes(eval, window));
  const hone_shape *cache = &eval->in[CACHE].type.shape, *update = &eval->in[UPDATE].type.shape;
  const bool circular = hn_name_equal(hn_attr_text(eval->attrs, "mode"), "circular");
  int axis;
  HN_TRY(hn_eval_axis(eval, hn_attr_int(eval->attrs, "axis"), cache->rank, &axis));
  bool fits = cache->rank == update->rank && axis > 0;
  for (int d = 0; fits && d < cache->rank; ++d) fits = d == axis || cache->dim[d] == update->dim[d];
  const int64_t batches = fits ? cache->dim[0] : 0;
  if (!fits || update->dim[axis] > cache->dim[axis] ||
      (hn_eval_given(eval, WRITE_INDICES) && hn_elems(&eval->in[WRITE_INDICES].type.shape) != batches))
    return HN_FAIL(eval->diagnostics, HONE_INVALID, "update or write_indices do not fit past_cache");
  const hn_rows from = hn_rows_along(update, axis), to = hn_rows_along(cache, axis);
  for (int64_t outer = 0; outer < from.outer && to.len > 0; ++outer) {
    const int64_t batch = outer / (from.outer / batches);
    const int64_t begin = hn_eval_given(eval, WRITE_INDICES) ? hn_int(&eval->in[WRITE_INDICES], batch) : 0;
    if (begin < 0 || begin > (circular ? INT64_MAX - from.len : to.len - from.len))
      return HN_FAIL(eval->diagnostics, HONE_INVALID, "write index %lld leaves the cache", (long long)begin);
    for (int64_t i = 0; i < from.len && !hn_eval_ends(eval, outer * from.len + i); ++i)
      hn_copy_run(eval, &eval->out[0], (outer * to.len + (begin + i) % to.len) * to.inner, &eval->in[UPDATE],
                  (outer * from.len + i) * from.inner, from.inner);
  }
  return HONE_OK;
}

const hone_op hn_op_tensor_scatter = {
    .struct_size = sizeof(hone_op),
    .name = "tensor_scatter",
    .doc = "writes an update into a cache along one axis",
    .in = {{"past_cache", 'T', HONE_TYPES_ANY},
           {"update", 'T', HONE_TYPES_ANY},
           {"write_indices", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .out = {{"present_cache", 'T'}},
    .attr = {HONE_INT_ATTR("axis", -2), HONE_STRING_ATTR("mode", "linear")},
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"TensorScatter", 24, HONE_LATEST}},
};
