/* SPDX-License-Identifier: Apache-2.0 */
/* split_to_sequence.c - a tensor cut along one axis into a sequence: into single slices (without the axis where
 * keepdims is 0), into parts of one length, the last one shorter, or of the lengths that a list says. */
#include "ops/common_list.h"
#include "tensor/element.h"

enum { X, SPLIT };

static hone_status infer(hone_infer *infer) {
  hone_type element = infer->in[X].type;
  int axis;
  HN_TRY(hn_infer_want_kind(infer, X, HONE_TENSOR, "a tensor"));
  if (element.shape.rank >= 0) {
    HN_TRY(hn_infer_axis(infer, hn_attr_int(infer->attrs, "axis"), element.shape.rank, &axis));
    if (hn_in_given(infer, SPLIT)) {
      element.shape.rank = -1;
    } else if (hn_attr_int(infer->attrs, "keepdims")) {
      element.shape.dim[axis] = 1;
    } else {
      --element.shape.rank;
      for (int d = axis; d < element.shape.rank; ++d) element.shape.dim[d] = element.shape.dim[d + 1];
    }
  }
  hn_out_list(infer, 0, HONE_SEQUENCE, &element);
  return HONE_OK;
}

/* The part that begins at `begin`, in memory that the run keeps. */
static hone_status cut(hone_eval *eval, int axis, int64_t begin, int64_t length, bool drop_axis, hone_tensor *out) {
  const hone_tensor *x = &eval->in[X];
  hone_tensor part = {.type = x->type};
  part.type.shape.dim[axis] = length;
  part.bytes = hn_bytes(&part.type);
  part.data = eval->keep ? eval->keep(eval, part.bytes) : NULL;
  if (!part.data) return HN_FAIL(eval->diagnostics, HONE_LIMIT, "the heap of the session has no room for its parts");
  const hn_rows rows = hn_rows_along(&x->type.shape, axis);
  const int64_t run = length * rows.inner;
  for (int64_t outer = 0; outer < rows.outer; ++outer)
    hn_copy_run(eval, &part, outer * run, x, (outer * rows.len + begin) * rows.inner, run);
  if (drop_axis) {
    --part.type.shape.rank;
    for (int d = axis; d < part.type.shape.rank; ++d) part.type.shape.dim[d] = part.type.shape.dim[d + 1];
  }
  *out = part;
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window;
  const hone_shape *shape = &eval->in[X].type.shape;
  const bool given = hn_eval_given(eval, SPLIT), listed = given && eval->in[SPLIT].type.shape.rank == 1;
  int axis;
  HN_TRY(hn_eval_axis(eval, hn_attr_int(eval->attrs, "axis"), shape->rank, &axis));
  const int64_t extent = shape->dim[axis], each = given && !listed ? hn_int(&eval->in[SPLIT], 0) : 1;
  if (each < 1) return HN_FAIL(eval->diagnostics, HONE_INVALID, "split is %lld", (long long)each);
  const int64_t count = listed ? hn_elems(&eval->in[SPLIT].type.shape) : extent / each + (extent % each != 0);
  hone_tensor *items;
  HN_TRY(hn_eval_list(eval, count, &items));
  int64_t begin = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t left = extent - begin, length = listed ? hn_int(&eval->in[SPLIT], i) : each < left ? each : left;
    if (length < 0 || length > left)
      return HN_FAIL(eval->diagnostics, HONE_INVALID, "split[%lld] is %lld, and %lld are left", (long long)i,
                     (long long)length, (long long)left);
    HN_TRY(cut(eval, axis, begin, length, !given && !hn_attr_int(eval->attrs, "keepdims"), &items[i]));
    begin += length;
  }
  if (begin == extent) return HONE_OK;
  return HN_FAIL(eval->diagnostics, HONE_INVALID, "split adds up to %lld, not to %lld", (long long)begin,
                 (long long)extent);
}

const hone_op hn_op_split_to_sequence = {
    .struct_size = sizeof(hone_op),
    .name = "split_to_sequence",
    .doc = "a tensor cut into a sequence",
    .in = {{"input", 'T', HONE_TYPES_ANY}, {"split", 0, HONE_TYPES_INDEX, HONE_PORT_OPTIONAL}},
    .out = {{"output_sequence", 'T'}},
    .attr = {HONE_INT_ATTR("axis", 0), HONE_INT_ATTR("keepdims", 1)},
    .traits = HONE_ANY_KIND | HONE_AFTER_RUN | HONE_WHOLE,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"SplitToSequence", 11, HONE_LATEST}},
};
