/* SPDX-License-Identifier: Apache-2.0 */
/* common_random.c - shapes, types and elements of operators that draw. */
#include "ops/common_random.h"
#include "ops/onnx_tensor.h"
#include <math.h>

hone_status hn_infer_random(hone_infer *infer) {
  const bool is_like = infer->in_count > 0;
  const hone_attr *shape = hn_attr_find(infer->attrs, "shape");
  hone_dtype dtype = is_like ? infer->in[0].type.dtype : HONE_F32;
  if (hn_attr_has(infer->attrs, "dtype")) dtype = hn_dtype_of_onnx(hn_attr_int(infer->attrs, "dtype"));
  if (!(infer->op->out[0].types & HONE_BIT(dtype)))
    return HN_INFER_FAIL(infer, "%s cannot be drawn as %s", infer->op->name, hone_dtype_name(dtype));
  hn_out_dtype(infer, 0, dtype);
  if (is_like) return hn_infer_same(infer);
  if (!shape) return HN_INFER_FAIL(infer, "its attribute shape is missing");
  if (shape->count > HONE_MAX_RANK)
    return HN_INFER_UNSUPPORTED(infer, "a shape of %lld extents; the largest rank is %d", (long long)shape->count,
                                HONE_MAX_RANK);
  for (int64_t i = 0; i < shape->count; ++i)
    if (shape->ints[i] < 0)
      return HN_INFER_FAIL(infer, "shape[%lld] is %lld; it must not be negative", (long long)i,
                           (long long)shape->ints[i]);
  hn_out_shape(infer, 0, (int)shape->count, shape->ints);
  return HONE_OK;
}

double hn_draw_normal(const hone_eval *eval, int64_t place) { /* Box, Muller 1958 */
  const double turn = 6.283185307179586 * hn_draw(eval, place, 1);
  return hn_attr_float(eval->attrs, "mean") +
         hn_attr_float(eval->attrs, "scale") * sqrt(-2 * log(1 - hn_draw(eval, place, 0))) * cos(turn);
}

double hn_draw_uniform(const hone_eval *eval, int64_t place) {
  const double low = hn_attr_float(eval->attrs, "low"), high = hn_attr_float(eval->attrs, "high");
  return low + (high - low) * hn_draw(eval, place, 0);
}

hone_status hn_eval_random(hone_eval *eval, const hone_window *window) {
  hn_random_draw *const *draw = eval->op->details;
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t at = first; at < last && !hn_eval_ends(eval, at - first); ++at)
    hn_store_real(&eval->out[0], at, (*draw)(eval, at));
  return HONE_OK;
}

hone_cost hn_cost_random(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                         int out_count) {
  (void)attrs, (void)in, (void)in_count; /* what is like the output is not read */
  return hn_cost_work(20.0 * (double)hn_elems(&out[0].type.shape), NULL, 0, out, out_count);
}
