/* SPDX-License-Identifier: Apache-2.0 */
/* common_move.c - what the operators that move elements or compute shapes share.
 * Invariant: whatever a symbol left open in infer is checked here again on the actual numbers, before any access. */
#include "ops/common_move.h"

void hn_infer_keep_value(hone_infer *infer, int output, int input) {
  int64_t count;
  const int64_t *value = hn_in_value(infer, input, &count);
  int64_t *to = value ? hn_infer_value(infer, output, count) : NULL;
  for (int64_t i = 0; to && i < count; ++i) to[i] = value[i];
}

bool hn_in_number(const hone_infer *infer, int input, int64_t *out) {
  int64_t count;
  const int64_t *value = hn_in_given(infer, input) ? hn_in_value(infer, input, &count) : NULL;
  if (!value || count != 1 || HONE_SYMBOLIC(value[0])) return false;
  *out = value[0];
  return true;
}

hone_status hn_in_length(hone_infer *infer, int input, const char *what, int64_t *out) {
  const int rank = hn_in_rank(infer, input);
  *out = -1;
  if (rank < 0) return HONE_OK;
  if (rank != 1) return HN_INFER_FAIL(infer, "%s must have rank 1, but has rank %d", what, rank);
  const int64_t length = hn_in_shape(infer, input)->dim[0];
  *out = HONE_SYMBOLIC(length) ? -1 : length;
  return HONE_OK;
}

hone_status hn_infer_same_dim(hone_infer *infer, int64_t a, int64_t b, const char *what, int64_t *out) {
  if (!HONE_SYMBOLIC(a) && !HONE_SYMBOLIC(b) && a != b)
    return HN_INFER_FAIL(infer, "%s: extents %lld and %lld must be equal", what, (long long)a, (long long)b);
  *out = HONE_SYMBOLIC(a) ? b : a;
  return HONE_OK;
}

hone_status hn_infer_axes(hone_infer *infer, const int64_t *axes, int64_t count, int rank, int *out) {
  bool seen[HONE_MAX_RANK] = {false};
  if (count > rank) return HN_INFER_FAIL(infer, "%lld axes are named, but the rank is %d", (long long)count, rank);
  for (int64_t i = 0; i < count; ++i) {
    if (HONE_SYMBOLIC(axes[i])) return HN_INFER_UNSUPPORTED(infer, "an axis that depends on an extent");
    HN_TRY(hn_infer_axis(infer, axes[i], rank, &out[i]));
    if (seen[out[i]]) return HN_INFER_FAIL(infer, "axis %d is named twice", out[i]);
    seen[out[i]] = true;
  }
  return HONE_OK;
}

bool hn_dim_is_not_negative(const hone_infer *infer, int64_t dim) {
  int64_t low, high;
  if (!HONE_SYMBOLIC(dim)) return dim >= 0;
  return hn_dim_bounds(infer->dims, dim, &low, &high) && low >= 0;
}

hone_status hn_eval_sized(hone_eval *eval) {
  for (int output = 0; output < eval->out_count; ++output)
    if (eval->out[output].type.kind != HONE_ABSENT && !eval->out[output].data) return hn_eval_reinfer(eval);
  return HONE_OK;
}

hone_status hn_eval_same_bytes(hone_eval *eval, const hone_window *window) {
  (void)window; /* a copy of everything costs less than thinking about it */
  HN_TRY(hn_eval_sized(eval));
  const int64_t from = hn_elems(&eval->in[0].type.shape), to = hn_elems(&eval->out[0].type.shape);
  if (from != to)
    return HN_FAIL(eval->diagnostics, HONE_INVALID, "%lld elements cannot take a shape of %lld elements",
                   (long long)from, (long long)to);
  hn_copy_bytes(eval, 0, 0);
  return HONE_OK;
}

hone_status hn_eval_ints(hone_eval *eval, int input, int room, int64_t *out, int *out_count) {
  const hone_tensor *tensor = &eval->in[input];
  const int64_t count = hn_elems(&tensor->type.shape);
  if (count > room)
    return HN_FAIL(eval->diagnostics, HONE_INVALID, "input %d has %lld elements; at most %d make sense", input,
                   (long long)count, room);
  for (int64_t i = 0; i < count; ++i) out[i] = hn_int(tensor, i);
  *out_count = (int)count;
  return HONE_OK;
}

hone_status hn_eval_axis(hone_eval *eval, int64_t axis, int rank, int *out) {
  if (axis < -rank || axis >= rank)
    return HN_FAIL(eval->diagnostics, HONE_INVALID, "axis is %lld; allowed: %d to %d", (long long)axis, -rank,
                   rank - 1);
  *out = (int)(axis < 0 ? axis + rank : axis);
  return HONE_OK;
}

void hn_copy_run(const hone_eval *eval, hone_tensor *to, int64_t to_at, const hone_tensor *from, int64_t from_at,
                 int64_t count) {
  const size_t bits = hone_dtype_bits(to->type.dtype);
  if (bits % 8 == 0) {
    const size_t bytes = bits / 8;
    if (count > 0)
      (void)hn_stop_copy((hn_stop *)eval->stop, (uint8_t *)to->data + (size_t)to_at * bytes,
                         (const uint8_t *)from->data + (size_t)from_at * bytes, (size_t)count * bytes);
    return;
  }
  for (int64_t i = 0; i < count && !hn_eval_ends(eval, i + 1); ++i) hn_copy_element(to, to_at + i, from, from_at + i);
}

void hn_copy_strided(hone_eval *eval, int output, int input, int64_t base, const int64_t *strides, int64_t first,
                     int64_t last) {
  const hone_shape *shape = &eval->out[output].type.shape;
  int64_t index[HONE_MAX_RANK];
  if (first >= last) return;
  hn_unflatten(shape, first, index);
  int64_t from = base + hn_flatten(shape->rank, index, strides);
  for (int64_t at = first; at < last; ++at) {
    hn_copy_element(&eval->out[output], at, &eval->in[input], from);
    for (int axis = shape->rank - 1; axis >= 0; --axis) {
      from += strides[axis];
      if (++index[axis] < shape->dim[axis]) break;
      from -= strides[axis] * shape->dim[axis];
      index[axis] = 0;
    }
  }
}

hone_status hn_eval_expect(hone_eval *eval, int output, int rank, const int64_t *dims) {
  const hone_shape *shape = &eval->out[output].type.shape;
  bool same = shape->rank == rank;
  for (int axis = 0; same && axis < rank; ++axis) same = shape->dim[axis] == dims[axis];
  if (same) return HONE_OK;
  return HN_FAIL(eval->diagnostics, HONE_INVALID,
                 "the inputs' values do not give the shape that was planned for output %d", output);
}

hone_status hn_eval_index(hone_eval *eval, const hone_tensor *indices, int64_t at, int64_t extent, int64_t *out) {
  const int64_t index = hn_int(indices, at);
  if (index < -extent || index >= extent)
    return HN_FAIL(eval->diagnostics, HONE_INVALID, "indices[%lld] is %lld; allowed: %lld to %lld", (long long)at,
                   (long long)index, (long long)-extent, (long long)extent - 1);
  *out = index < 0 ? index + extent : index;
  return HONE_OK;
}
