/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise_mixed.c - elementwise ops with operands or results of bool and half floats, on plain tensors: what is not f32
 * goes through f32 in scratch memory, and is rounded once, on the way out; beside f64 all goes through that. Also clip,
 * whose bounds may be absent. */
#include "backend/cpu/eltwise/eltwise.h"
#include "backend/cpu/copy/copy.h"

enum { CAST_BYTES = 6 }; /* about: an element of two bytes and one of four */

/* Casts that are NULL are not there. */
typedef struct row_kernel {
  hn_eltwise_fn *run;
  hn_cast_fn *from_f16, *from_bf16, *from_u8, *to_f16, *to_bf16, *to_bool;
  hone_dtype real; /* of the arithmetic: f32 or f64 */
  hn_cast_fn *from_f32, *to_f32;
} row_kernel;

typedef struct state {
  hn_eltwise_state program;
  int source[HN_ELTWISE_INPUTS];            /* which input each operand is */
  hn_cast_fn *from[HN_ELTWISE_INPUTS];      /* NULL: it is of the arithmetic's type */
  int64_t elements[HN_ELTWISE_INPUTS];      /* of each operand */
  size_t scratch_at[HN_ELTWISE_INPUTS + 1]; /* where its copy in that type lies; the last is the output's */
  hn_cast_fn *to;
  int64_t out_elements;
  size_t scratch_bytes;
} state;

static hn_cast_fn *cast_from(const row_kernel *k, hone_dtype dtype) {
  switch (dtype) {
  case HONE_F16: return k->from_f16;
  case HONE_BF16: return k->from_bf16;
  case HONE_BOOL: return k->from_u8;
  case HONE_F32: return k->from_f32;
  default: return NULL;
  }
}

static hn_cast_fn *cast_to(const row_kernel *k, hone_dtype dtype) {
  switch (dtype) {
  case HONE_F16: return k->to_f16;
  case HONE_BF16: return k->to_bf16;
  case HONE_BOOL: return k->to_bool;
  case HONE_F32: return k->to_f32;
  default: return NULL;
  }
}

static size_t take(state *s, const row_kernel *row, int64_t elements) {
  const size_t at = s->scratch_bytes;
  s->scratch_bytes += ((size_t)elements * (hone_dtype_bits(row->real) / 8) + 63) / 64 * 64;
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
    s->from[count] = cast_from(row, type->dtype);
    if ((type->dtype != row->real && !s->from[count]) || type->format != HONE_PLAIN)
      return "an input is not plain, or of a type that it does not convert";
    in[count] = query->in[i];
    s->source[count] = i;
    s->elements[count] = hn_elems(&type->shape);
    if (type->dtype != row->real) s->scratch_at[count] = take(s, row, s->elements[count]);
    ++count;
  }
  const hone_type *out = &query->out[0].type;
  s->to = cast_to(row, out->dtype);
  if ((out->dtype != row->real && !s->to) || out->format != HONE_PLAIN)
    return "the output is not plain, or of a type that it does not convert";
  s->out_elements = hn_elems(&out->shape);
  if (out->dtype != row->real) s->scratch_at[HN_ELTWISE_INPUTS] = take(s, row, s->out_elements);
  s->program.kernel = row->run;
  needs->state = sizeof *s;
  needs->scratch = s->scratch_bytes;
  return hn_eltwise_plan(expr, row->real, in, count, out, query->facts, &s->program);
}

/* Beside f64 all is computed in that, and nowhere else. */
static bool is_real_there(const hone_query *query, hone_dtype real) {
  bool wide = query->out[0].type.dtype == HONE_F64;
  for (int i = 0; i < query->in_count; ++i) wide = wide || query->in[i].type.dtype == HONE_F64;
  return wide == (real == HONE_F64);
}

static const char *plan_any(const hone_query *query, void *memory, hone_needs *needs) {
  const hone_dtype real = ((const row_kernel *)query->tactic->kernel)->real;
  hn_expr expr;
  HN_TRY_REASON(hn_cpu_check(query, 1, HN_ELTWISE_INPUTS, 1));
  if (!is_real_there(query, real)) return "it is computed in another type";
  bool mixed = query->out[0].type.dtype != real;
  for (int i = 0; i < query->in_count; ++i) {
    if (query->in[i].type.kind == HONE_ABSENT) return "an optional input is absent";
    mixed = mixed || query->in[i].type.dtype != real;
  }
  if (!mixed) return "all of it is of one type";
  if (hn_expr_of_op(NULL, query->op, query->attrs, query->in_count, &expr) != HONE_OK) return "it has no expression";
  return plan_expr(query, &expr, memory, needs);
}

static const char *plan_clip(const hone_query *query, void *memory, hone_needs *needs) {
  static const char *const texts[2][2] = {{"x0", "min(x0, x1)"}, {"max(x0, x1)", "min(max(x0, x1), x2)"}};
  hn_expr expr;
  HN_TRY_REASON(hn_cpu_check(query, 1, 3, 1));
  if (!is_real_there(query, ((const row_kernel *)query->tactic->kernel)->real)) return "it is computed in another type";
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
static const row_kernel kernels_avx512 = {hn_eltwise_f32_avx512,
                                          hn_cast_f16_f32_avx512,
                                          hn_cast_bf16_f32_avx512,
                                          hn_cast_u8_f32_avx512,
                                          hn_cast_f32_f16_avx512,
                                          hn_cast_f32_bf16_avx512,
                                          hn_cast_f32_bool_avx512,
                                          HONE_F32,
                                          NULL,
                                          NULL};
static const row_kernel kernels_avx2 = {hn_eltwise_f32_avx2,
                                        hn_cast_f16_f32_avx2,
                                        hn_cast_bf16_f32_avx2,
                                        hn_cast_u8_f32_avx2,
                                        hn_cast_f32_f16_avx2,
                                        hn_cast_f32_bf16_avx2,
                                        hn_cast_f32_bool_avx2,
                                        HONE_F32,
                                        NULL,
                                        NULL};
static const row_kernel doubles_avx512 = {.run = hn_eltwise_f64_avx512,
                                          .from_u8 = hn_cast_u8_f64_avx512,
                                          .to_bool = hn_cast_f64_bool_avx512,
                                          .real = HONE_F64,
                                          .from_f32 = hn_cast_f32_f64_avx512,
                                          .to_f32 = hn_cast_f64_f32_avx512};
static const row_kernel doubles_avx2 = {.run = hn_eltwise_f64_avx2,
                                        .from_u8 = hn_cast_u8_f64_avx2,
                                        .to_bool = hn_cast_f64_bool_avx2,
                                        .real = HONE_F64,
                                        .from_f32 = hn_cast_f32_f64_avx2,
                                        .to_f32 = hn_cast_f64_f32_avx2};
#endif
static const row_kernel kernels_c = {hn_eltwise_f32_c,
                                     hn_cast_f16_f32_c,
                                     hn_cast_bf16_f32_c,
                                     hn_cast_u8_f32_c,
                                     hn_cast_f32_f16_c,
                                     hn_cast_f32_bf16_c,
                                     hn_cast_f32_bool_c,
                                     HONE_F32,
                                     NULL,
                                     NULL};
static const row_kernel doubles_c = {.run = hn_eltwise_f64_c,
                                     .from_u8 = hn_cast_u8_f64_c,
                                     .to_bool = hn_cast_f64_bool_c,
                                     .real = HONE_F64,
                                     .from_f32 = hn_cast_f32_f64_c,
                                     .to_f32 = hn_cast_f64_f32_c};

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
    {sizeof(hone_tactic), .name = "cpu.elementwise.mixed_f64.avx512", .version = 1, .op = "*elementwise",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .plan = plan_any, .launch = launch,
     .kernel = &doubles_avx512},
    {sizeof(hone_tactic), .name = "cpu.clip.f64.avx512", .version = 1, .op = "clip", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .plan = plan_clip, .launch = launch,
     .kernel = &doubles_avx512},
    {sizeof(hone_tactic), .name = "cpu.elementwise.mixed_f64.avx2", .version = 1, .op = "*elementwise",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE, .plan = plan_any, .launch = launch,
     .kernel = &doubles_avx2},
    {sizeof(hone_tactic), .name = "cpu.clip.f64.avx2", .version = 1, .op = "clip", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .plan = plan_clip, .launch = launch,
     .kernel = &doubles_avx2},
#endif
    {sizeof(hone_tactic), .name = "cpu.elementwise.mixed.c", .version = 1, .op = "*elementwise", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_any, .launch = launch, .kernel = &kernels_c},
    {sizeof(hone_tactic), .name = "cpu.clip.any.c", .version = 1, .op = "clip", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .plan = plan_clip, .launch = launch, .kernel = &kernels_c},
    {sizeof(hone_tactic), .name = "cpu.elementwise.mixed_f64.c", .version = 1, .op = "*elementwise", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_any, .launch = launch, .kernel = &doubles_c},
    {sizeof(hone_tactic), .name = "cpu.clip.f64.c", .version = 1, .op = "clip", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .plan = plan_clip, .launch = launch, .kernel = &doubles_c},
    {0}};
