/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.c - softmax and log-softmax along any axis of plain f32. */
#include "kernels/cpu/softmax/softmax.h"

#define NS_PER_ELEMENT 1.5

typedef hn_softmax_f32_fn range_kernel;
typedef hn_softmax_args range_args;
#include "backend/cpu/range.inc.h"

static const char *reject(const hone_query *query) {
  const char *reason = hn_cpu_check(query, 1, 1, 1);
  if (reason) return reason;
  const hone_fact *in = &query->in[0], *out = &query->out[0];
  if (!hn_cpu_is(in, HONE_F32, HONE_PLAIN) || !hn_cpu_is(out, HONE_F32, HONE_PLAIN)) return "it is not plain f32";
  if (!hn_shape_equal(&in->type.shape, &out->type.shape)) return "the output has another shape";
  if (hn_cpu_axis(query, "axis", in->type.shape.rank) < 0) return "the axis is out of range";
  return NULL;
}

static hone_status prepare(const hone_query *query, range *s, hn_softmax_f32_fn *kernel) {
  const hone_shape *shape = &query->in[0].type.shape;
  const hn_cpu_rows rows = hn_cpu_rows_along(shape, hn_cpu_axis(query, "axis", shape->rank));
  s->kernel = kernel;
  s->args = (hn_softmax_args){.outer = rows.outer, .axis = rows.axis, .inner = rows.inner};
  s->units = rows.axis > 0 ? hn_softmax_units(&s->args) : 0;
  s->grain = hn_cpu_grain(s->units, (double)hn_elems(shape) * NS_PER_ELEMENT);
  return HONE_OK;
}

#define ROW_OF(op_name, suffix, ISA, prepared)                                                                         \
  HN_CPU_ROW(op_name, f32, suffix, ISA, prepared, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE,              \
             .reject = reject, .state_bytes = range_bytes, .launch = range_launch)
#define ROW(suffix, ISA)                                                                                               \
  ROW_OF(softmax, suffix, ISA, prepare(query, s, hn_softmax_f32_##suffix))                                             \
  ROW_OF(log_softmax, suffix, ISA, prepare(query, s, hn_log_softmax_f32_##suffix))
HN_EACH_ISA(ROW)
