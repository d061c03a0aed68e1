/* SPDX-License-Identifier: Apache-2.0 */
/* common_reduce.c - reductions over a set of axes. Source: ONNX's Reduce* operators.
 * Reals are reduced in double, in row-major order of the input; integers in int64 that wrap. */
#include "ops/common_reduce.h"
#include "ops/common_move.h"
#include <math.h>

/* ---- infer ---- */

/* Which axes go. *out_known false: that is decided when the model runs. */
static hone_status infer_axes(hone_infer *infer, int rank, bool *reduced, bool *out_known) {
  int64_t count = 0, length = 0;
  const int64_t *axes = NULL;
  *out_known = true;
  if (hn_in_given(infer, 1)) {
    HN_TRY(hn_in_length(infer, 1, "axes", &length));
    axes = hn_in_value(infer, 1, &count);
    if (!axes && length != 0) {
      *out_known = false;
      return HONE_OK;
    }
  }
  if (!axes || count == 0) {
    for (int axis = 0; axis < rank; ++axis) reduced[axis] = !hn_attr_int(infer->attrs, "noop_with_empty_axes");
    return HONE_OK;
  }
  int list[HONE_MAX_RANK];
  HN_TRY(hn_infer_axes(infer, axes, count, rank, list));
  for (int64_t i = 0; i < count; ++i) reduced[list[i]] = true;
  return HONE_OK;
}

static hone_status infer_open(hone_infer *infer, int rank, bool keep) {
  int64_t length;
  HN_TRY(hn_in_length(infer, 1, "axes", &length));
  if (keep) return hn_out_after_run(infer, 0, rank, INT64_MAX);
  if (length < 0) return HONE_OK;
  if (length > rank) return HN_INFER_FAIL(infer, "%lld axes are named, but the rank is %d", (long long)length, rank);
  if (length == 0) return HONE_OK;
  return hn_out_after_run(infer, 0, rank - (int)length, INT64_MAX);
}

hone_status hn_infer_reduce(hone_infer *infer) {
  const hn_reduction *reduction = infer->op->details;
  const int rank = hn_in_rank(infer, 0);
  const bool keep = hn_attr_int(infer->attrs, "keepdims") != 0;
  bool reduced[HONE_MAX_RANK] = {false}, known;
  if (rank < 0) {
    if (!keep && !hn_in_given(infer, 1) && !hn_attr_int(infer->attrs, "noop_with_empty_axes"))
      hn_out_shape(infer, 0, 0, NULL);
    return HONE_OK;
  }
  HN_TRY(infer_axes(infer, rank, reduced, &known));
  if (!known) return infer_open(infer, rank, keep);
  int64_t dims[HONE_MAX_RANK];
  int out_rank = 0, reduced_count = 0;
  for (int axis = 0; axis < rank; ++axis) {
    reduced_count += reduced[axis];
    if (!reduced[axis])
      dims[out_rank++] = hn_in_shape(infer, 0)->dim[axis];
    else if (keep)
      dims[out_rank++] = 1;
  }
  hn_out_shape(infer, 0, out_rank, dims);
  if (!reduction->fold || rank > 1) return HONE_OK;
  if (reduced_count < rank || rank == 0) {
    hn_infer_keep_value(infer, 0, 0);
    return HONE_OK;
  }
  int64_t count;
  const int64_t *value = hn_in_value(infer, 0, &count);
  if (!value || count == 0) return HONE_OK;
  int64_t total = value[0];
  for (int64_t i = 1; i < count; ++i) total = reduction->fold(infer->dims, total, value[i]);
  int64_t *to = hn_infer_value(infer, 0, 1);
  if (to) to[0] = total;
  return HONE_OK;
}

/* ---- eval ---- */

double hn_reduce_add(double total, double x) { return total + x; }

double hn_reduce_add_square(double total, double x) { return total + x * x; }

double hn_reduce_log(double total, int64_t count) {
  (void)count;
  return log(total);
}

/* The input split into kept axes, which the output walks, and reduced ones. */
typedef struct axes_plan {
  int kept, gone;
  int64_t kept_dim[HONE_MAX_RANK], kept_stride[HONE_MAX_RANK];
  int64_t gone_dim[HONE_MAX_RANK], gone_stride[HONE_MAX_RANK];
  int64_t count; /* elements reduced to one */
} axes_plan;

static hone_status make_plan(hone_eval *eval, axes_plan *out) {
  const hone_shape *shape = &eval->in[0].type.shape;
  int64_t axes[HONE_MAX_RANK], strides[HONE_MAX_RANK], dims[HONE_MAX_RANK];
  bool reduced[HONE_MAX_RANK] = {false};
  int count = 0, out_rank = 0;
  if (hn_eval_given(eval, 1)) HN_TRY(hn_eval_ints(eval, 1, HONE_MAX_RANK, axes, &count));
  for (int i = 0; i < count; ++i) {
    int axis;
    HN_TRY(hn_eval_axis(eval, axes[i], shape->rank, &axis));
    reduced[axis] = true;
  }
  if (count == 0 && !hn_attr_int(eval->attrs, "noop_with_empty_axes"))
    for (int axis = 0; axis < shape->rank; ++axis) reduced[axis] = true;
  hn_strides(shape, strides);
  *out = (axes_plan){.count = 1};
  for (int axis = 0; axis < shape->rank; ++axis) {
    if (reduced[axis]) {
      out->gone_dim[out->gone] = shape->dim[axis];
      out->gone_stride[out->gone++] = strides[axis];
      out->count *= shape->dim[axis];
      if (hn_attr_int(eval->attrs, "keepdims")) dims[out_rank++] = 1;
    } else {
      out->kept_dim[out->kept] = shape->dim[axis];
      out->kept_stride[out->kept++] = strides[axis];
      dims[out_rank++] = shape->dim[axis];
    }
  }
  return hn_eval_expect(eval, 0, out_rank, dims);
}

static int64_t kept_base(const axes_plan *plan, int64_t at) {
  int64_t base = 0;
  for (int axis = plan->kept - 1; axis >= 0; --axis) {
    base += at % plan->kept_dim[axis] * plan->kept_stride[axis];
    at /= plan->kept_dim[axis];
  }
  return base;
}

/* The offset of the i-th of the reduced elements. */
static int64_t gone_offset(const axes_plan *plan, int64_t i) {
  int64_t offset = 0;
  for (int axis = plan->gone - 1; axis >= 0; --axis) {
    offset += i % plan->gone_dim[axis] * plan->gone_stride[axis];
    i /= plan->gone_dim[axis];
  }
  return offset;
}

static double real_start(hn_reduce_start start) {
  static const double values[] = {
      [HN_START_ZERO] = 0, [HN_START_ONE] = 1, [HN_START_LOWEST] = -INFINITY, [HN_START_HIGHEST] = INFINITY};
  return values[start];
}

static int64_t int_start(hn_reduce_start start, hone_dtype dtype) {
  if (start == HN_START_ZERO || start == HN_START_ONE) return start == HN_START_ONE;
  const int bits = (int)hone_dtype_bits(dtype);
  const bool low = start == HN_START_LOWEST;
  if (dtype == HONE_BOOL) return !low;
  if (hn_dtype_is_unsigned(dtype)) return low ? 0 : (int64_t)(UINT64_MAX >> (64 - bits));
  return low ? -(INT64_MAX >> (64 - bits)) - 1 : INT64_MAX >> (64 - bits);
}

static double reduce_real(const hone_eval *eval, const axes_plan *plan, int64_t base, const hn_reduction *reduction) {
  const hone_tensor *x = &eval->in[0];
  double largest = 0, total = real_start(reduction->start);
  if (reduction->shift_by_largest) {
    largest = -INFINITY;
    for (int64_t i = 0; i < plan->count && !hn_eval_ends(eval, i); ++i)
      largest = fmax(largest, hn_real(x, base + gone_offset(plan, i)));
    if (!isfinite(largest)) largest = 0;
  }
  for (int64_t i = 0; i < plan->count && !hn_eval_ends(eval, i); ++i)
    total = reduction->real(total, hn_real(x, base + gone_offset(plan, i)) - largest);
  return (reduction->finish ? reduction->finish(total, plan->count) : total) + largest;
}

hone_status hn_eval_reduce(hone_eval *eval, const hone_window *window) {
  const hn_reduction *reduction = eval->op->details;
  HN_TRY(hn_eval_sized(eval));
  axes_plan plan;
  HN_TRY(make_plan(eval, &plan));
  const hone_tensor *x = &eval->in[0];
  const hone_dtype dtype = x->type.dtype;
  const bool as_int = reduction->integer && !hn_dtype_is_float(dtype), is_unsigned = hn_dtype_is_unsigned(dtype);
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t at = first; at < last; ++at) {
    const int64_t base = kept_base(&plan, at);
    if (as_int) {
      int64_t total = int_start(reduction->start, dtype);
      for (int64_t i = 0; i < plan.count && !hn_eval_ends(eval, i); ++i)
        total = reduction->integer(total, hn_int(x, base + gone_offset(&plan, i)), is_unsigned);
      hn_store_int(&eval->out[0], at, total);
    } else {
      hn_store_real(&eval->out[0], at, reduce_real(eval, &plan, base, reduction));
    }
  }
  return HONE_OK;
}

hone_cost hn_cost_reduce(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                         int out_count) {
  (void)attrs; /* one operation per element read */
  return (hone_cost){.flops = (double)hn_elems(&in[0].type.shape),
                     .bytes_read = hn_cost_bytes(in, in_count),
                     .bytes_written = hn_cost_bytes(out, out_count)};
}
