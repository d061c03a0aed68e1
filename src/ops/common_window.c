/* SPDX-License-Identifier: Apache-2.0 */
/* common_window.c - the cosine windows. N is the size when periodic, else one less. */
#include "ops/common_elementwise.h"
#include "ops/common_move.h"
#include "ops/onnx_tensor.h"
#include <math.h>

hone_status hn_infer_cosine_window(hone_infer *infer) {
  const int64_t number = hn_attr_int(infer->attrs, "output_datatype");
  const hone_dtype dtype = hn_dtype_of_onnx(number);
  int64_t count;
  const int64_t *size = hn_in_value(infer, 0, &count);
  if (!(HONE_BIT(dtype) & HONE_TYPES_NUMBER))
    return HN_INFER_FAIL(infer, "output_datatype is %lld, which is not a numeric type", (long long)number);
  hn_out_dtype(infer, 0, dtype);
  if (!size || count != 1) return hn_out_after_run(infer, 0, 1, INT64_MAX);
  if (size[0] < 0 && !HONE_SYMBOLIC(size[0]))
    return HN_INFER_FAIL(infer, "size is %lld; it must not be negative", (long long)size[0]);
  hn_out_shape(infer, 0, 1, size);
  return HONE_OK;
}

hone_status hn_eval_cosine_window(hone_eval *eval, const hone_window *window) {
  const double *coefficients = eval->op->details;
  HN_TRY(hn_eval_sized(eval));
  const int64_t size = hn_eval_dim(&eval->out[0], 0), period = hn_attr_int(eval->attrs, "periodic") ? size : size - 1;
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t at = first; at < last; ++at) {
    const double angle = period > 0 ? 6.283185307179586476925 * (double)at / (double)period : 0;
    hn_store_real(&eval->out[0], at, coefficients[0] - coefficients[1] * cos(angle) + coefficients[2] * cos(2 * angle));
  }
  return HONE_OK;
}
