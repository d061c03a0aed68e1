/* SPDX-License-Identifier: Apache-2.0 */
/* clip.c - x between min and max; either bound may be absent. The expression holds only when both are there.
 * When min > max every element becomes max, as the specification says since opset 6. A NaN, of x or a bound, wins. */
#include "ops/common_elementwise.h"
#include <math.h>

/* A bound is a scalar; a tensor of one element is let through, since exporters write it. */
static hone_status check_bound(hone_infer *infer, int input, const char *what) {
  if (!hn_in_given(infer, input)) return HONE_OK;
  const hone_shape *shape = hn_in_shape(infer, input);
  for (int axis = 0; axis < shape->rank; ++axis)
    if (shape->dim[axis] != 1 && !HONE_SYMBOLIC(shape->dim[axis]))
      return HN_INFER_FAIL(infer, "%s must be a scalar, but its dim %d is %lld", what, axis,
                           (long long)shape->dim[axis]);
  return HONE_OK;
}

static hone_status infer(hone_infer *infer) {
  HN_TRY(check_bound(infer, 1, "min"));
  HN_TRY(check_bound(infer, 2, "max"));
  return hn_infer_same(infer);
}

static void clip_reals(hone_eval *eval, int64_t first, int64_t last) {
  const double low = hn_eval_given(eval, 1) ? hn_real(&eval->in[1], 0) : -INFINITY;
  const double high = hn_eval_given(eval, 2) ? hn_real(&eval->in[2], 0) : INFINITY;
  for (int64_t at = first; at < last; ++at) {
    double value = hn_real(&eval->in[0], at);
    if (value < low || isnan(low)) value = low;
    if (value > high || isnan(high)) value = high;
    hn_store_real(&eval->out[0], at, value);
  }
}

static void clip_ints(hone_eval *eval, int64_t first, int64_t last) {
  const bool is_unsigned = hn_dtype_is_unsigned(eval->in[0].type.dtype);
  const bool has_low = hn_eval_given(eval, 1), has_high = hn_eval_given(eval, 2);
  const int64_t low = has_low ? hn_int(&eval->in[1], 0) : 0, high = has_high ? hn_int(&eval->in[2], 0) : 0;
  for (int64_t at = first; at < last; ++at) {
    int64_t value = hn_int(&eval->in[0], at);
    if (has_low && hn_int_less(value, low, is_unsigned)) value = low;
    if (has_high && hn_int_less(high, value, is_unsigned)) value = high;
    hn_store_int(&eval->out[0], at, value);
  }
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  for (int input = 1; input <= 2; ++input)
    if (hn_eval_given(eval, input) && hn_elems(&eval->in[input].type.shape) != 1)
      return HN_FAIL(eval->diagnostics, HONE_INVALID, "%s must have one element", input == 1 ? "min" : "max");
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  if (hn_dtype_is_float(eval->in[0].type.dtype))
    clip_reals(eval, first, last);
  else
    clip_ints(eval, first, last);
  return HONE_OK;
}

const hone_op hn_op_clip = {
    .struct_size = sizeof(hone_op),
    .name = "clip",
    .doc = "x between min and max, each optional",
    .in = {{"input", 'T', HONE_TYPES_NUMBER},
           {"min", 'T', HONE_TYPES_NUMBER, HONE_PORT_OPTIONAL},
           {"max", 'T', HONE_TYPES_NUMBER, HONE_PORT_OPTIONAL}},
    .out = {{"output", 'T'}},
    .traits = HONE_ELEMENTWISE,
    .expr = "min(max(input, min), max)",
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_elementwise,
    .report_class = "Activation",
    .onnx = {{"Clip", 1, 10, .to_input = "min=1 max=2", .drop = "consumed_inputs"}, {"Clip", 11, HONE_LATEST}},
};
