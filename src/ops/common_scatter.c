/* SPDX-License-Identifier: Apache-2.0 */
/* common_scatter.c - the reductions of scatter_elements and scatter_nd. Updates are applied in the order of the
 * indices, so that repeated indices give the same result every time. */
#include "ops/common_move.h"
#include <math.h>

static bool is_reduction(const char *name) {
  static const char *const names[] = {"none", "add", "mul", "max", "min"};
  for (size_t i = 0; i < HN_COUNT(names); ++i)
    if (hn_name_equal(name, names[i])) return true;
  return false;
}

hone_status hn_infer_scatter(hone_infer *infer) {
  const char *reduction = hn_attr_text(infer->attrs, "reduction");
  const hone_dtype dtype = infer->in[0].type.dtype;
  if (!is_reduction(reduction))
    return HN_INFER_FAIL(infer, "reduction is \"%s\"; it must be none, add, mul, max or min", reduction);
  if (!hn_name_equal(reduction, "none") && !(HONE_BIT(dtype) & (HONE_TYPES_NUMBER | HONE_TYPES_BOOL)))
    return HN_INFER_UNSUPPORTED(infer, "reduction %s of %s", reduction, hone_dtype_name(dtype));
  return hn_infer_same(infer);
}

static double reduced_real(const char *reduction, double old, double update) {
  switch (reduction[1]) {
  case 'd': return old + update;
  case 'u': return old * update;
  case 'a': return update > old || isnan(update) ? update : old;
  default: return update < old || isnan(update) ? update : old;
  }
}

static int64_t reduced_int(const char *reduction, int64_t old, int64_t update, bool is_unsigned) {
  const bool below = is_unsigned ? (uint64_t)old < (uint64_t)update : old < update;
  switch (reduction[1]) {
  case 'd': return (int64_t)((uint64_t)old + (uint64_t)update);
  case 'u': return (int64_t)((uint64_t)old * (uint64_t)update);
  case 'a': return below ? update : old;
  default: return below ? old : update;
  }
}

void hn_scatter_element(hone_eval *eval, const char *reduction, int64_t at, const hone_tensor *updates, int64_t from) {
  hone_tensor *out = &eval->out[0];
  const hone_dtype dtype = out->type.dtype;
  if (hn_name_equal(reduction, "none"))
    hn_copy_element(out, at, updates, from);
  else if (hn_dtype_is_float(dtype))
    hn_store_real(out, at, reduced_real(reduction, hn_real(out, at), hn_real(updates, from)));
  else
    hn_store_int(out, at, reduced_int(reduction, hn_int(out, at), hn_int(updates, from), hn_dtype_is_unsigned(dtype)));
}
