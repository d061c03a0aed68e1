/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.c - softmax and log-softmax along any axis of plain f32. */
#include "kernels/cpu/softmax/softmax.h"

#define NS_PER_ELEMENT 1.5

typedef hn_softmax_f32_fn range_kernel;
typedef hn_softmax_args range_args;
#include "backend/cpu/range.inc.h"

typedef struct row_kernel {
  hn_softmax_f32_fn *run;
} row_kernel;

static const char *plan(const hone_query *query, void *state, hone_needs *needs) {
  const char *reason = hn_cpu_check(query, 1, 1, 1);
  if (reason) return reason;
  const hone_fact *in = &query->in[0], *out = &query->out[0];
  const hone_shape *shape = &in->type.shape;
  if (!hn_cpu_is(in, HONE_F32, HONE_PLAIN) || !hn_cpu_is(out, HONE_F32, HONE_PLAIN)) return "it is not plain f32";
  if (!hn_shape_equal(shape, &out->type.shape)) return "the output has another shape";
  const int axis = hn_cpu_axis(query, "axis", shape->rank);
  if (axis < 0) return "the axis is out of range";
  range *s = state;
  needs->state = sizeof *s;
  if (!s) return NULL;
  const hn_cpu_rows rows = hn_cpu_rows_along(shape, axis);
  s->kernel = ((const row_kernel *)query->tactic->kernel)->run;
  s->args = (hn_softmax_args){.outer = rows.outer, .axis = rows.axis, .inner = rows.inner};
  s->units = rows.axis > 0 ? hn_softmax_units(&s->args) : 0;
  s->grain = hn_cpu_grain(s->units, (double)hn_elems(shape) * NS_PER_ELEMENT);
  return NULL;
}

const hone_tactic hn_tactics_cpu_softmax[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.softmax.f32.avx512", .version = 1, .op = "softmax", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .plan = plan, .launch = range_launch,
     .kernel = &(const row_kernel){hn_softmax_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.log_softmax.f32.avx512", .version = 1, .op = "log_softmax",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .plan = plan,
     .launch = range_launch, .kernel = &(const row_kernel){hn_log_softmax_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.softmax.f32.avx2", .version = 1, .op = "softmax", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .plan = plan, .launch = range_launch,
     .kernel = &(const row_kernel){hn_softmax_f32_avx2}},
    {sizeof(hone_tactic), .name = "cpu.log_softmax.f32.avx2", .version = 1, .op = "log_softmax", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .plan = plan, .launch = range_launch,
     .kernel = &(const row_kernel){hn_log_softmax_f32_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.softmax.f32.c", .version = 1, .op = "softmax", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .plan = plan, .launch = range_launch,
     .kernel = &(const row_kernel){hn_softmax_f32_c}},
    {sizeof(hone_tactic), .name = "cpu.log_softmax.f32.c", .version = 1, .op = "log_softmax", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .plan = plan, .launch = range_launch,
     .kernel = &(const row_kernel){hn_log_softmax_f32_c}},
    {0}};
