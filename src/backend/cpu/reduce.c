/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c - sums, products and extremes of f32 over axes that lie next to one another; blocked over all pixels. */
#include "kernels/cpu/reduce/reduce.h"
#include "tensor/element.h"

#define NS_PER_ELEMENT 0.25

typedef hn_reduce_f32_fn range_kernel;
typedef hn_reduce_args range_args;
#include "backend/cpu/range.inc.h"

static const char *read_axes(const hone_query *query, bool *reduced) {
  const int rank = query->in[0].type.shape.rank;
  const hone_tensor *axes = hn_cpu_given(query, 1) ? query->in[1].constant : NULL;
  if (hn_cpu_given(query, 1) && !axes) return "the axes are not known before the run";
  if (axes && (axes->type.dtype != HONE_I64 || axes->type.shape.rank > 1)) return "the axes are not a list of i64";
  const int64_t count = axes ? hn_elems(&axes->type.shape) : 0;
  for (int d = 0; d < rank; ++d) reduced[d] = count == 0 && !hn_attr_int(query->attrs, "noop_with_empty_axes");
  for (int64_t i = 0; i < count; ++i) {
    const int64_t axis = hn_int(axes, i);
    if (axis < -rank || axis >= rank) return "an axis is out of range";
    reduced[axis < 0 ? axis + rank : axis] = true;
  }
  return NULL;
}

/* Blocked tensors keep their lanes apart: every pixel of a channel block becomes one. */
static const char *plan_blocked(const hone_query *query, const bool *reduced, hn_reduce_args *args) {
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  const int block = hn_format_block(x->format);
  if (!hn_reads_as(y, x->format) || x->shape.rank != y->shape.rank) return "the output is not blocked as the input is";
  *args = (hn_reduce_args){.outer = x->shape.dim[0] * hn_ceil_div(x->shape.dim[1], block), .axis = 1, .inner = block};
  for (int d = 0; d < x->shape.rank; ++d) {
    if (reduced[d] != (d >= 2)) return "blocked tensors are reduced over all their pixels only";
    if (d >= 2) args->axis *= x->shape.dim[d];
    if (y->shape.dim[d] != (d >= 2 ? 1 : x->shape.dim[d])) return "the output has another shape";
  }
  return args->axis > 0 ? NULL : "the planes are empty";
}

static const char *plan(const hone_query *query, hn_reduce_args *args) {
  const char *reason = hn_cpu_check(query, 1, 2, 1);
  bool reduced[HONE_MAX_RANK];
  if (reason) return reason;
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  if (x->dtype != HONE_F32 || y->dtype != HONE_F32) return "it is not f32";
  reason = read_axes(query, reduced);
  if (reason) return reason;
  if (x->format != HONE_PLAIN) return plan_blocked(query, reduced, args);
  if (y->format != HONE_PLAIN) return "input and output have different formats";
  *args = (hn_reduce_args){.outer = 1, .axis = 1, .inner = 1};
  bool inside = false;
  for (int d = 0; d < x->shape.rank; ++d) {
    const int64_t dim = x->shape.dim[d];
    if (dim == 1) continue;
    if (reduced[d] && args->inner != 1) return "the axes do not lie next to one another";
    inside = inside || reduced[d];
    *(reduced[d] ? &args->axis : inside ? &args->inner : &args->outer) *= dim;
  }
  return hn_elems(&y->shape) == args->outer * args->inner ? NULL : "the output has another shape";
}

static const char *reject(const hone_query *query) {
  hn_reduce_args args;
  return plan(query, &args);
}

static hone_status prepare(const hone_query *query, range *s, hn_reduce_f32_fn *kernel, hn_reduce_kind kind,
                           hone_diagnostics *diagnostics) {
  const char *reason = plan(query, &s->args);
  if (reason) return HN_FAIL(diagnostics, HONE_UNSUPPORTED, "%s", reason);
  s->kernel = kernel;
  s->args.kind = kind;
  s->units = hn_reduce_units(&s->args);
  s->grain = hn_cpu_grain(s->units, (double)hn_cpu_stored(&query->in[0].type) * NS_PER_ELEMENT);
  return HONE_OK;
}

#define ROW_OF(op_name, kind, suffix, ISA)                                                                             \
  HN_CPU_ROW(op_name, f32, suffix, ISA, prepare(query, s, hn_reduce_f32_##suffix, kind, diag),                         \
             .flags = HONE_TACTIC_REPEATABLE, .formats = HN_CPU_FORMATS_##suffix, .reject = reject,                    \
             .state_bytes = range_bytes, .launch = range_launch)
#define ROW(suffix, ISA)                                                                                               \
  ROW_OF(reduce_sum, HN_REDUCE_SUM, suffix, ISA)                                                                       \
  ROW_OF(reduce_mean, HN_REDUCE_MEAN, suffix, ISA)                                                                     \
  ROW_OF(reduce_max, HN_REDUCE_MAX, suffix, ISA)                                                                       \
  ROW_OF(reduce_min, HN_REDUCE_MIN, suffix, ISA)                                                                       \
  ROW_OF(reduce_prod, HN_REDUCE_PRODUCT, suffix, ISA)                                                                  \
  ROW_OF(reduce_sum_square, HN_REDUCE_SUM_SQUARE, suffix, ISA)                                                         \
  ROW_OF(reduce_l1, HN_REDUCE_L1, suffix, ISA)                                                                         \
  ROW_OF(reduce_l2, HN_REDUCE_L2, suffix, ISA)
HN_EACH_ISA(ROW)
