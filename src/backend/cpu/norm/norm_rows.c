/* SPDX-License-Identifier: Apache-2.0 */
/* norm_rows.c - LayerNorm and RMSNorm over the last axes of plain tensors, in f32 or f64. */
#include "kernels/cpu/norm/norm.h"

#define NS_PER_ELEMENT 0.4

typedef hn_norm_rows_fn range_kernel;
typedef hn_norm_rows_args range_args;
#include "backend/cpu/range.inc.h"

typedef struct row_kernel {
  hn_norm_rows_fn *run;
} row_kernel;

/* The kernel wants one number for each element of a row. */
static const char *check_operand(const hone_fact *operand, hone_dtype real, const hone_shape *x, int axis) {
  const hone_shape *shape = &operand->type.shape;
  if (!hn_cpu_is(operand, real, HONE_PLAIN)) return "scale or bias is not plain, or of another type";
  if (shape->rank < x->rank - axis || shape->rank > x->rank) return "scale or bias is broadcast along a row";
  for (int i = 0; i < shape->rank; ++i) {
    const int at = x->rank - shape->rank + i;
    if (shape->dim[i] != (at < axis ? 1 : x->dim[at])) return "scale or bias is broadcast along a row";
  }
  return NULL;
}

static const char *check(const hone_query *query) {
  HN_TRY_REASON(hn_cpu_check(query, 2, 3, 3));
  const hone_fact *x = &query->in[0];
  const hone_shape *shape = &x->type.shape;
  const hone_dtype held = hn_cpu_held(query->tactic), real = hn_cpu_real(query->tactic);
  if (!hn_cpu_is(x, held, HONE_PLAIN) || !hn_cpu_is(&query->out[0], held, HONE_PLAIN))
    return "it is not plain, or of another type";
  if (!hn_shape_equal(shape, &query->out[0].type.shape)) return "the output has another shape";
  const int axis = hn_cpu_axis(query, "axis", shape->rank);
  if (axis < 0) return "the axis is out of range";
  int64_t rows = 1;
  for (int i = 0; i < axis; ++i) rows *= shape->dim[i];
  for (int i = axis; i < shape->rank; ++i)
    if (shape->dim[i] == 0) return "the rows are empty";
  for (int i = 1; i < query->in_count; ++i)
    if (hn_cpu_given(query, i)) HN_TRY_REASON(check_operand(&query->in[i], real, shape, axis));
  for (int i = 1; i < query->out_count; ++i) {
    const hone_fact *moments = &query->out[i];
    if (moments->type.kind == HONE_ABSENT) continue;
    if (!hn_cpu_is(moments, real, HONE_PLAIN)) return "mean and deviation are not plain, or of another type";
    if (hn_elems(&moments->type.shape) != rows) return "mean and deviation have another shape";
  }
  return NULL;
}

static const char *plan(const hone_query *query, void *state, hone_needs *needs) {
  const char *reason = check(query);
  range *s = state;
  needs->state = sizeof *s;
  if (reason || !s) return reason;
  const hone_shape *shape = &query->in[0].type.shape;
  const int axis = hn_cpu_axis(query, "axis", shape->rank);
  s->kernel = ((const row_kernel *)query->tactic->kernel)->run;
  const double epsilon = hn_attr_float(query->attrs, "epsilon");
  s->args = (hn_norm_rows_args){.n = 1, .epsilon = epsilon};
  if (hn_cpu_real(query->tactic) == HONE_F32) s->args.epsilon = (double)(float)epsilon;
  s->units = 1;
  for (int i = 0; i < shape->rank; ++i) *(i < axis ? &s->units : &s->args.n) *= shape->dim[i];
  s->grain = hn_cpu_grain(s->units, (double)hn_elems(shape) * NS_PER_ELEMENT);
  return NULL;
}

static hone_status launch(void *state, hone_stream *stream, const hone_launch *launch) {
  range r = *(const range *)state;
  r.args.scale = launch->in[1].data;
  r.args.bias = launch->in_count > 2 ? launch->in[2].data : NULL;
  r.args.mean = launch->out_count > 1 ? launch->out[1].data : NULL;
  r.args.inv_std = launch->out_count > 2 ? launch->out[2].data : NULL;
  range_run(&r, stream, launch->in[0].data, launch->out[0].data);
  return HONE_OK;
}

#define COMMON .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .plan = plan, .launch = launch
const hone_tactic hn_tactics_cpu_norm_rows[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.layer_norm.f32.avx512", .version = 1, .op = "layer_norm", .isa = HONE_ISA_AVX512,
     .kernel = &(const row_kernel){hn_layer_norm_f32_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.rms_norm.f32.avx512", .version = 1, .op = "rms_norm", .isa = HONE_ISA_AVX512,
     .kernel = &(const row_kernel){hn_rms_norm_f32_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.layer_norm.bf16.avx512", .version = 2, .op = "layer_norm",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}},
     .kernel = &(const row_kernel){hn_layer_norm_bf16_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.rms_norm.bf16.avx512", .version = 2, .op = "rms_norm", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .kernel = &(const row_kernel){hn_rms_norm_bf16_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.layer_norm.f16.avx512", .version = 2, .op = "layer_norm", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}}, .kernel = &(const row_kernel){hn_layer_norm_f16_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.rms_norm.f16.avx512", .version = 2, .op = "rms_norm", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}}, .kernel = &(const row_kernel){hn_rms_norm_f16_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.layer_norm.f64.avx512", .version = 1, .op = "layer_norm", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_layer_norm_f64_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.rms_norm.f64.avx512", .version = 1, .op = "rms_norm", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_rms_norm_f64_avx512}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.layer_norm.f32.avx2", .version = 1, .op = "layer_norm", .isa = HONE_ISA_AVX2,
     .kernel = &(const row_kernel){hn_layer_norm_f32_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.rms_norm.f32.avx2", .version = 1, .op = "rms_norm", .isa = HONE_ISA_AVX2,
     .kernel = &(const row_kernel){hn_rms_norm_f32_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.layer_norm.bf16.avx2", .version = 2, .op = "layer_norm", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .kernel = &(const row_kernel){hn_layer_norm_bf16_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.rms_norm.bf16.avx2", .version = 2, .op = "rms_norm", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .kernel = &(const row_kernel){hn_rms_norm_bf16_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.layer_norm.f16.avx2", .version = 2, .op = "layer_norm", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}}, .kernel = &(const row_kernel){hn_layer_norm_f16_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.rms_norm.f16.avx2", .version = 2, .op = "rms_norm", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}}, .kernel = &(const row_kernel){hn_rms_norm_f16_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.layer_norm.f64.avx2", .version = 1, .op = "layer_norm", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_layer_norm_f64_avx2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.rms_norm.f64.avx2", .version = 1, .op = "rms_norm", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_rms_norm_f64_avx2}, COMMON},
#endif
    {sizeof(hone_tactic), .name = "cpu.layer_norm.f32.c", .version = 1, .op = "layer_norm", .isa = HONE_ISA_C,
     .kernel = &(const row_kernel){hn_layer_norm_f32_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.rms_norm.f32.c", .version = 1, .op = "rms_norm", .isa = HONE_ISA_C,
     .kernel = &(const row_kernel){hn_rms_norm_f32_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.layer_norm.bf16.c", .version = 2, .op = "layer_norm", .isa = HONE_ISA_C,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .kernel = &(const row_kernel){hn_layer_norm_bf16_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.rms_norm.bf16.c", .version = 2, .op = "rms_norm", .isa = HONE_ISA_C,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}}, .kernel = &(const row_kernel){hn_rms_norm_bf16_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.layer_norm.f16.c", .version = 2, .op = "layer_norm", .isa = HONE_ISA_C,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}}, .kernel = &(const row_kernel){hn_layer_norm_f16_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.rms_norm.f16.c", .version = 2, .op = "rms_norm", .isa = HONE_ISA_C,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}}, .kernel = &(const row_kernel){hn_rms_norm_f16_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.layer_norm.f64.c", .version = 1, .op = "layer_norm", .isa = HONE_ISA_C,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_layer_norm_f64_c}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.rms_norm.f64.c", .version = 1, .op = "rms_norm", .isa = HONE_ISA_C,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_rms_norm_f64_c}, COMMON},
    {0}};
