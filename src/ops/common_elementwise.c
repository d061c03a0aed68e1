/* SPDX-License-Identifier: Apache-2.0 */
/* common_elementwise.c - broadcasting walks for the elementwise rows that have an eval of their own. */
#include "ops/common_elementwise.h"

void hn_walk_start(hn_walk *walk, const hone_eval *eval, int input_count, int64_t first) {
  const hone_shape *shape = &eval->out[0].type.shape;
  *walk = (hn_walk){.rank = shape->rank, .count = input_count};
  for (int axis = 0; axis < shape->rank; ++axis) walk->dim[axis] = shape->dim[axis];
  hn_unflatten(shape, first, walk->index);
  for (int i = 0; i < input_count; ++i) {
    if (!hn_eval_given(eval, i)) continue;
    hn_broadcast_strides(&eval->in[i].type.shape, shape, walk->stride[i]);
    walk->at[i] = hn_flatten(shape->rank, walk->index, walk->stride[i]);
  }
}

void hn_walk_next(hn_walk *walk) {
  for (int axis = walk->rank - 1; axis >= 0; --axis) {
    const bool carry = ++walk->index[axis] == walk->dim[axis];
    for (int i = 0; i < walk->count; ++i)
      walk->at[i] += walk->stride[i][axis] - (carry ? walk->dim[axis] * walk->stride[i][axis] : 0);
    if (!carry) return;
    walk->index[axis] = 0;
  }
}

hone_status hn_infer_broadcast_given(hone_infer *infer) {
  hone_shape shape = {.rank = 0};
  for (int i = 0; i < infer->in_count; ++i) {
    if (!hn_in_given(infer, i)) continue;
    if (hn_in_rank(infer, i) < 0) return HONE_OK;
    const hone_shape *const pair[2] = {&shape, hn_in_shape(infer, i)};
    hone_shape joined;
    HN_TRY(hn_infer_broadcast_shapes(infer, 2, pair, &joined));
    shape = joined;
  }
  hn_out_shape(infer, 0, shape.rank, shape.dim);
  return HONE_OK;
}
