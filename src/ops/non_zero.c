/* SPDX-License-Identifier: Apache-2.0 */
/* non_zero.c - the coordinates of the elements that are not zero, one column each, in row-major order. */
#include "ops/common_move.h"

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  int64_t elems, high = INT64_MAX;
  if (rank < 0) return hn_out_after_run(infer, 0, 2, INT64_MAX);
  if (hn_elems_checked(hn_in_shape(infer, 0), &elems)) high = elems;
  hn_out_shape(infer, 0, 2, (int64_t[]){rank, hn_dim_fresh(infer->dims, "non_zero", true, high)});
  return HONE_OK;
}

static bool is_zero(const hone_tensor *x, int64_t at) {
  if (x->type.dtype == HONE_STRING) return ((const hone_string *)x->data)[at].length == 0;
  return hn_dtype_is_float(x->type.dtype) ? hn_real(x, at) == 0 : hn_int(x, at) == 0;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window; /* where a column comes from depends on all elements before it */
  const hone_tensor *x = &eval->in[0];
  const hone_shape *shape = &x->type.shape;
  const int64_t elems = hn_elems(shape);
  int64_t count = 0, index[HONE_MAX_RANK], column = 0;
  for (int64_t at = 0; at < elems; ++at) count += !is_zero(x, at);
  const int64_t dims[2] = {shape->rank, count};
  if (!eval->out[0].data) HN_TRY(eval->resize(eval, 0, 2, dims));
  HN_TRY(hn_eval_expect(eval, 0, 2, dims));
  for (int64_t at = 0; at < elems; ++at) {
    if (is_zero(x, at)) continue;
    hn_unflatten(shape, at, index);
    for (int d = 0; d < shape->rank; ++d) hn_store_int(&eval->out[0], d * count + column, index[d]);
    ++column;
  }
  return HONE_OK;
}

const hone_op hn_op_non_zero = {
    .struct_size = sizeof(hone_op),
    .name = "non_zero",
    .doc = "coordinates of the elements that are not zero",
    .in = {{"x", 0, HONE_TYPES_NUMBER | HONE_TYPES_BOOL | HONE_BIT(HONE_STRING)}},
    .out = {{"y", 0, HONE_BIT(HONE_I64)}},
    .traits = HONE_AFTER_RUN,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"NonZero", 9, HONE_LATEST}},
};
