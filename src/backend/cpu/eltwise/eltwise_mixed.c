/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise_mixed.c - elementwise ops with operands or results of bool and half floats, on plain tensors: what is not f32
 * goes through f32 in scratch memory, and is rounded once, on the way out. Also clip, whose bounds may be absent. */
#include "backend/cpu/eltwise/eltwise.h"
#include "backend/cpu/copy/copy.h"

enum { CAST_BYTES = 6 }; /* an element of two bytes and one of four */

typedef struct row_kernel {
  hn_eltwise_fn *run;
  hn_cast_fn *from_f16, *from_bf16, *from_u8, *to_f16, *to_bf16, *to_bool;
} row_kernel;

typedef struct state {
  hn_eltwise_state program;
  int source[HN_ELTWISE_INPUTS];            /* which input each operand is */
  hn_cast_fn *from[HN_ELTWISE_INPUTS];      /* NULL: it is f32 */
  int64_t elements[HN_ELTWISE_INPUTS];      /* of each operand */
  size_t scratch_at[HN_ELTWISE_INPUTS + 1]; /* where its f32 copy lies; the last is the output's */
  hn_cast_fn *to;
  int64_t out_elements;
  size_t scratch_bytes;
} state;

static bool is_castable(hone_dtype dtype) {
  return dtype == HONE_F32 || dtype == HONE_F16 || dtype == HONE_BF16 || dtype == HONE_BOOL;
}

static hn_cast_fn *cast_from(const row_kernel *k, hone_dtype dtype) {
  return dtype == HONE_F16 ? k->from_f16 : dtype == HONE_BF16 ? k->from_bf16 : dtype == HONE_BOOL ? k->from_u8 : NULL;
}

static hn_cast_fn *cast_to(const row_kernel *k, hone_dtype dtype) {
  return dtype == HONE_F16 ? k->to_f16 : dtype == HONE_BF16 ? k->to_bf16 : dtype == HONE_BOOL ? k->to_bool : NULL;
}

static size_t take(state *s, int64_t elements) {
  const size_t at = s->scratch_bytes;
  s->scratch_bytes += ((size_t)elements * sizeof(float) + 63) / 64 * 64;
  return at;
}

/* The program over the inputs that are there. */
static const char *plan_expr(const hone_query *query, const hn_expr *expr, void *memory, hone_needs *needs) {
  const row_kernel *row = query->tactic->kernel;
  state asked = {0}, *s = memory ? memory : &asked;
  hone_fact in[HN_ELTWISE_INPUTS];
  int count = 0;
  for (int i = 0; i < query->in_count; ++i) {
    if (query->in[i].type.kind == HONE_ABSENT) continue;
    const hone_type *type = &query->in[i].type;
    if (!is_castable(type->dtype) || type->format != HONE_PLAIN) return "an input is not plain f32, f16, bf16 or bool";
    in[count] = query->in[i];
    s->source[count] = i;
    s->elements[count] = hn_elems(&type->shape);
    if (type->dtype != HONE_F32) s->scratch_at[count] = take(s, s->elements[count]);
    s->from[count] = cast_from(row, type->dtype);
    ++count;
  }
  const hone_type *out = &query->out[0].type;
  if (!is_castable(out->dtype) || out->format != HONE_PLAIN) return "the output is not plain f32, f16, bf16 or bool";
  s->out_elements = hn_elems(&out->shape);
  if (out->dtype != HONE_F32) s->scratch_at[HN_ELTWISE_INPUTS] = take(s, s->out_elements);
  s->to = cast_to(row, out->dtype);
  s->program.kernel = row->run;
  needs->state = sizeof *s;
  needs->scratch = s->scratch_bytes;
  return hn_eltwise_plan(expr, in, count, out, query->facts, &s->program);
}

static const char *plan_any(const hone_query *query, void *memory, hone_needs *needs) {
  hn_expr expr;
  HN_TRY_REASON(hn_cpu_check(query, 1, HN_ELTWISE_INPUTS, 1));
  bool mixed = query->out[0].type.dtype != HONE_F32;
  for (int i = 0; i < query->in_count; ++i) {
    if (query->in[i].type.kind == HONE_ABSENT) return "an optional input is absent";
    mixed = mixed || query->in[i].type.dtype != HONE_F32;
  }
  if (!mixed) return "all of it is f32";
  if (hn_expr_of_op(NULL, query->op, query->attrs, query->in_count, &expr) != HONE_OK) return "it has no expression";
  return plan_expr(query, &expr, memory, needs);
}

static const char *plan_clip(const hone_query *query, void *memory, hone_needs *needs) {
  static const char *const texts[2][2] = {{"x0", "min(x0, x1)"}, {"max(x0, x1)", "min(max(x0, x1), x2)"}};
  hn_expr expr;
  HN_TRY_REASON(hn_cpu_check(query, 1, 3, 1));
  const int low = hn_cpu_given(query, 1), high = hn_cpu_given(query, 2);
  if (hn_expr_parse(NULL, texts[low][high], NULL, 1 + low + high, NULL, &expr) != HONE_OK) return "no expression";
  return plan_expr(query, &expr, memory, needs);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  const void *in[HN_ELTWISE_INPUTS];
  char *scratch = launch->scratch;
  for (int i = 0; i < s->program.in_count; ++i) {
    in[i] = launch->in[s->source[i]].data;
    if (!s->from[i]) continue;
    hn_cpu_cast(stream, s->from[i], in[i], scratch + s->scratch_at[i], s->elements[i],
                (double)s->elements[i] * CAST_BYTES);
    in[i] = scratch + s->scratch_at[i];
  }
  void *out = s->to ? scratch + s->scratch_at[HN_ELTWISE_INPUTS] : launch->out[0].data;
  hn_eltwise_run(&s->program, stream, in, out);
  if (s->to)
    hn_cpu_cast(stream, s->to, out, launch->out[0].data, s->out_elements, (double)s->out_elements * CAST_BYTES);
  return HONE_OK;
}

#ifndef HONE_NO_AVX
static const row_kernel kernels_avx512 = {hn_eltwise_f32_avx512,  hn_cast_f16_f32_avx512, hn_cast_bf16_f32_avx512,
                                          hn_cast_u8_f32_avx512,  hn_cast_f32_f16_avx512, hn_cast_f32_bf16_avx512,
                                          hn_cast_f32_bool_avx512};
static const row_kernel kernels_avx2 = {hn_eltwise_f32_avx2,  hn_cast_f16_f32_avx2, hn_cast_bf16_f32_avx2,
                                        hn_cast_u8_f32_avx2,  hn_cast_f32_f16_avx2, hn_cast_f32_bf16_avx2,
                                        hn_cast_f32_bool_avx2};
#endif
static const row_kernel kernels_c = {hn_eltwise_f32_c,  hn_cast_f16_f32_c,  hn_cast_bf16_f32_c, hn_cast_u8_f32_c,
                                     hn_cast_f32_f16_c, hn_cast_f32_bf16_c, hn_cast_f32_bool_c};

const hone_tactic hn_tactics_cpu_eltwise_mixed[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.elementwise.mixed.avx512", .version = 1, .op = "*elementwise",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .plan = plan_any, .launch = launch,
     .kernel = &kernels_avx512},
    {sizeof(hone_tactic), .name = "cpu.clip.any.avx512", .version = 1, .op = "clip", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .plan = plan_clip, .launch = launch,
     .kernel = &kernels_avx512},
    {sizeof(hone_tactic), .name = "cpu.elementwise.mixed.avx2", .version = 1, .op = "*elementwise",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE, .plan = plan_any, .launch = launch,
     .kernel = &kernels_avx2},
    {sizeof(hone_tactic), .name = "cpu.clip.any.avx2", .version = 1, .op = "clip", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .plan = plan_clip, .launch = launch,
     .kernel = &kernels_avx2},
#endif
    {sizeof(hone_tactic), .name = "cpu.elementwise.mixed.c", .version = 1, .op = "*elementwise", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_any, .launch = launch, .kernel = &kernels_c},
    {sizeof(hone_tactic), .name = "cpu.clip.any.c", .version = 1, .op = "clip", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .plan = plan_clip, .launch = launch, .kernel = &kernels_c},
    {0}};
