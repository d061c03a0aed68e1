/* SPDX-License-Identifier: Apache-2.0 */
/* constant_of_shape.c - a tensor of the given shape filled with one value; f32 zero without the attribute. */
#include "ops/common_move.h"

static const hone_tensor *fill_of(const hone_attrs *attrs) {
  const hone_attr *attr = hn_attr_find(attrs, "value");
  return attr && attr->kind == HONE_ATTR_TENSOR ? attr->tensor : NULL;
}

static void keep_value(hone_infer *infer, const hone_tensor *fill) {
  int64_t elems;
  if (!fill || !(hn_dtype_is_int(fill->type.dtype) || fill->type.dtype == HONE_BOOL)) return;
  if (!hn_elems_checked(&infer->out[0].type.shape, &elems) || HONE_SYMBOLIC(hn_int(fill, 0))) return;
  int64_t *value = hn_infer_value(infer, 0, elems);
  for (int64_t i = 0; value && i < elems; ++i) value[i] = hn_int(fill, 0);
}

static hone_status infer(hone_infer *infer) {
  int64_t length, count;
  const hone_tensor *fill = fill_of(infer->attrs);
  if (fill && (!hn_elems_checked(&fill->type.shape, &count) || count != 1))
    return HN_INFER_FAIL(infer, "value must have one element");
  hn_out_dtype(infer, 0, fill ? fill->type.dtype : HONE_F32);
  HN_TRY(hn_in_length(infer, 0, "input", &length));
  if (length < 0) return HONE_OK;
  if (length > HONE_MAX_RANK)
    return HN_INFER_UNSUPPORTED(infer, "a shape of %lld extents; the largest rank is %d", (long long)length,
                                HONE_MAX_RANK);
  const int64_t *value = hn_in_value(infer, 0, &count);
  if (!value && length > 0) return hn_out_after_run(infer, 0, (int)length, INT64_MAX);
  for (int64_t i = 0; i < length; ++i)
    if (value[i] < 0 && !HONE_SYMBOLIC(value[i]))
      return HN_INFER_FAIL(infer, "input[%lld] is %lld; it must not be negative", (long long)i, (long long)value[i]);
  hn_out_shape(infer, 0, (int)length, value);
  keep_value(infer, fill);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_sized(eval));
  const hone_tensor *fill = fill_of(eval->attrs);
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t at = first; at < last; ++at) {
    if (fill)
      hn_copy_element(&eval->out[0], at, fill, 0);
    else
      hn_store_real(&eval->out[0], at, 0);
  }
  return HONE_OK;
}

const hone_op hn_op_constant_of_shape = {
    .struct_size = sizeof(hone_op),
    .name = "constant_of_shape",
    .doc = "a tensor of a given shape filled with one value",
    .in = {{"input", 0, HONE_BIT(HONE_I64)}},
    .out = {{"output", 0, HONE_TYPES_ANY}},
    .attr = {HONE_OPTIONAL_ATTR("value", HONE_ATTR_TENSOR)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"ConstantOfShape", 9, HONE_LATEST}},
};
