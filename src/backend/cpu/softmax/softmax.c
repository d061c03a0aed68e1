/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.c - softmax and log-softmax along any axis of plain tensors, in f32. */
#include "kernels/cpu/softmax/softmax.h"

#define NS_PER_ELEMENT 1.5

typedef hn_softmax_fn range_kernel;
typedef hn_softmax_args range_args;
#include "backend/cpu/range.inc.h"

typedef struct row_kernel {
  hn_softmax_fn *run;
} row_kernel;

static const char *plan(const hone_query *query, void *state, hone_needs *needs) {
  HN_TRY_REASON(hn_cpu_check(query, 1, 1, 1));
  const hone_fact *in = &query->in[0], *out = &query->out[0];
  const hone_shape *shape = &in->type.shape;
  const hone_dtype held = hn_cpu_held(query->tactic);
  if (!hn_cpu_is(in, held, HONE_PLAIN) || !hn_cpu_is(out, held, HONE_PLAIN))
    return "it is not plain, or of another type";
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

#define COMMON .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .plan = plan, .launch = range_launch
const hone_tactic hn_tactics_cpu_softmax[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.softmax.f32.avx512", .version = 1, .op = "softmax", .isa = HONE_ISA_AVX512,
     .kernel = &(const row_kernel){hn_softmax_f32_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.log_softmax.f32.avx512", .version = 1, .op = "log_softmax",
     .isa = HONE_ISA_AVX512, .kernel = &(const row_kernel){hn_log_softmax_f32_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.softmax.bf16.avx512", .version = 1, .op = "softmax", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .kernel = &(const row_kernel){hn_softmax_bf16_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.log_softmax.bf16.avx512", .version = 1, .op = "log_softmax",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .kernel = &(const row_kernel){hn_log_softmax_bf16_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.softmax.f16.avx512", .version = 1, .op = "softmax", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}}, .kernel = &(const row_kernel){hn_softmax_f16_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.log_softmax.f16.avx512", .version = 1, .op = "log_softmax",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .kernel = &(const row_kernel){hn_log_softmax_f16_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.softmax.f64.avx512", .version = 1, .op = "softmax", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_softmax_f64_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.log_softmax.f64.avx512", .version = 1, .op = "log_softmax",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .kernel = &(const row_kernel){hn_log_softmax_f64_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.softmax.f32.avx2", .version = 1, .op = "softmax", .isa = HONE_ISA_AVX2,
     .kernel = &(const row_kernel){hn_softmax_f32_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.log_softmax.f32.avx2", .version = 1, .op = "log_softmax", .isa = HONE_ISA_AVX2,
     .kernel = &(const row_kernel){hn_log_softmax_f32_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.softmax.bf16.avx2", .version = 1, .op = "softmax", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .kernel = &(const row_kernel){hn_softmax_bf16_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.log_softmax.bf16.avx2", .version = 1, .op = "log_softmax", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .kernel = &(const row_kernel){hn_log_softmax_bf16_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.softmax.f16.avx2", .version = 1, .op = "softmax", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}}, .kernel = &(const row_kernel){hn_softmax_f16_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.log_softmax.f16.avx2", .version = 1, .op = "log_softmax", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}}, .kernel = &(const row_kernel){hn_log_softmax_f16_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.softmax.f64.avx2", .version = 1, .op = "softmax", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_softmax_f64_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.log_softmax.f64.avx2", .version = 1, .op = "log_softmax", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_log_softmax_f64_avx2}, COMMON},
#endif
    {sizeof(hone_tactic), .name = "cpu.softmax.f32.c", .version = 1, .op = "softmax", .isa = HONE_ISA_C,
     .kernel = &(const row_kernel){hn_softmax_f32_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.log_softmax.f32.c", .version = 1, .op = "log_softmax", .isa = HONE_ISA_C,
     .kernel = &(const row_kernel){hn_log_softmax_f32_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.softmax.bf16.c", .version = 1, .op = "softmax", .isa = HONE_ISA_C,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .kernel = &(const row_kernel){hn_softmax_bf16_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.log_softmax.bf16.c", .version = 1, .op = "log_softmax", .isa = HONE_ISA_C,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .kernel = &(const row_kernel){hn_log_softmax_bf16_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.softmax.f16.c", .version = 1, .op = "softmax", .isa = HONE_ISA_C,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}}, .kernel = &(const row_kernel){hn_softmax_f16_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.log_softmax.f16.c", .version = 1, .op = "log_softmax", .isa = HONE_ISA_C,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}}, .kernel = &(const row_kernel){hn_log_softmax_f16_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.softmax.f64.c", .version = 1, .op = "softmax", .isa = HONE_ISA_C,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_softmax_f64_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.log_softmax.f64.c", .version = 1, .op = "log_softmax", .isa = HONE_ISA_C,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_log_softmax_f64_c}, COMMON},
    {0}};
