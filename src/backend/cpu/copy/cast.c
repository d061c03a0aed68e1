/* SPDX-License-Identifier: Apache-2.0 */
/* cast.c - conversions between f32, or f64, and other element types, plain or blocked alike. */
#include "backend/cpu/copy/copy.h"

typedef struct row {
  hone_dtype from, to;
  hn_cast_fn *kernel;
} row;

typedef struct state {
  hn_cast_fn *kernel;
  int64_t elements;
  size_t bytes; /* read and written */
} state;

/* The same pairs for every instruction set. */
#ifndef HONE_NO_AVX
static const row rows_avx512[] = {{HONE_F32, HONE_F16, hn_cast_f32_f16_avx512},
                                  {HONE_F16, HONE_F32, hn_cast_f16_f32_avx512},
                                  {HONE_F32, HONE_BF16, hn_cast_f32_bf16_avx512},
                                  {HONE_BF16, HONE_F32, hn_cast_bf16_f32_avx512},
                                  {HONE_F32, HONE_I64, hn_cast_f32_i64_avx512},
                                  {HONE_I64, HONE_F32, hn_cast_i64_f32_avx512},
                                  {HONE_F32, HONE_I32, hn_cast_f32_i32_avx512},
                                  {HONE_I32, HONE_F32, hn_cast_i32_f32_avx512},
                                  {HONE_F32, HONE_I8, hn_cast_f32_i8_avx512},
                                  {HONE_I8, HONE_F32, hn_cast_i8_f32_avx512},
                                  {HONE_F32, HONE_U8, hn_cast_f32_u8_avx512},
                                  {HONE_U8, HONE_F32, hn_cast_u8_f32_avx512},
                                  {HONE_F32, HONE_BOOL, hn_cast_f32_bool_avx512},
                                  {HONE_BOOL, HONE_F32, hn_cast_u8_f32_avx512},
                                  {HONE_F64, HONE_I64, hn_cast_f64_i64_avx512},
                                  {HONE_I64, HONE_F64, hn_cast_i64_f64_avx512},
                                  {HONE_F64, HONE_I32, hn_cast_f64_i32_avx512},
                                  {HONE_I32, HONE_F64, hn_cast_i32_f64_avx512},
                                  {HONE_F64, HONE_I8, hn_cast_f64_i8_avx512},
                                  {HONE_I8, HONE_F64, hn_cast_i8_f64_avx512},
                                  {HONE_F64, HONE_U8, hn_cast_f64_u8_avx512},
                                  {HONE_U8, HONE_F64, hn_cast_u8_f64_avx512},
                                  {HONE_F64, HONE_BOOL, hn_cast_f64_bool_avx512},
                                  {HONE_F64, HONE_F32, hn_cast_f64_f32_avx512},
                                  {HONE_F32, HONE_F64, hn_cast_f32_f64_avx512},
                                  {HONE_BOOL, HONE_F64, hn_cast_u8_f64_avx512},
                                  {HONE_NONE, HONE_NONE, NULL}};
static const row rows_avx2[] = {{HONE_F32, HONE_F16, hn_cast_f32_f16_avx2},
                                {HONE_F16, HONE_F32, hn_cast_f16_f32_avx2},
                                {HONE_F32, HONE_BF16, hn_cast_f32_bf16_avx2},
                                {HONE_BF16, HONE_F32, hn_cast_bf16_f32_avx2},
                                {HONE_F32, HONE_I64, hn_cast_f32_i64_avx2},
                                {HONE_I64, HONE_F32, hn_cast_i64_f32_avx2},
                                {HONE_F32, HONE_I32, hn_cast_f32_i32_avx2},
                                {HONE_I32, HONE_F32, hn_cast_i32_f32_avx2},
                                {HONE_F32, HONE_I8, hn_cast_f32_i8_avx2},
                                {HONE_I8, HONE_F32, hn_cast_i8_f32_avx2},
                                {HONE_F32, HONE_U8, hn_cast_f32_u8_avx2},
                                {HONE_U8, HONE_F32, hn_cast_u8_f32_avx2},
                                {HONE_F32, HONE_BOOL, hn_cast_f32_bool_avx2},
                                {HONE_BOOL, HONE_F32, hn_cast_u8_f32_avx2},
                                {HONE_F64, HONE_I64, hn_cast_f64_i64_avx2},
                                {HONE_I64, HONE_F64, hn_cast_i64_f64_avx2},
                                {HONE_F64, HONE_I32, hn_cast_f64_i32_avx2},
                                {HONE_I32, HONE_F64, hn_cast_i32_f64_avx2},
                                {HONE_F64, HONE_I8, hn_cast_f64_i8_avx2},
                                {HONE_I8, HONE_F64, hn_cast_i8_f64_avx2},
                                {HONE_F64, HONE_U8, hn_cast_f64_u8_avx2},
                                {HONE_U8, HONE_F64, hn_cast_u8_f64_avx2},
                                {HONE_F64, HONE_BOOL, hn_cast_f64_bool_avx2},
                                {HONE_F64, HONE_F32, hn_cast_f64_f32_avx2},
                                {HONE_F32, HONE_F64, hn_cast_f32_f64_avx2},
                                {HONE_BOOL, HONE_F64, hn_cast_u8_f64_avx2},
                                {HONE_NONE, HONE_NONE, NULL}};
#endif
static const row rows_c[] = {{HONE_F32, HONE_F16, hn_cast_f32_f16_c},
                             {HONE_F16, HONE_F32, hn_cast_f16_f32_c},
                             {HONE_F32, HONE_BF16, hn_cast_f32_bf16_c},
                             {HONE_BF16, HONE_F32, hn_cast_bf16_f32_c},
                             {HONE_F32, HONE_I64, hn_cast_f32_i64_c},
                             {HONE_I64, HONE_F32, hn_cast_i64_f32_c},
                             {HONE_F32, HONE_I32, hn_cast_f32_i32_c},
                             {HONE_I32, HONE_F32, hn_cast_i32_f32_c},
                             {HONE_F32, HONE_I8, hn_cast_f32_i8_c},
                             {HONE_I8, HONE_F32, hn_cast_i8_f32_c},
                             {HONE_F32, HONE_U8, hn_cast_f32_u8_c},
                             {HONE_U8, HONE_F32, hn_cast_u8_f32_c},
                             {HONE_F32, HONE_BOOL, hn_cast_f32_bool_c},
                             {HONE_BOOL, HONE_F32, hn_cast_u8_f32_c},
                             {HONE_F64, HONE_I64, hn_cast_f64_i64_c},
                             {HONE_I64, HONE_F64, hn_cast_i64_f64_c},
                             {HONE_F64, HONE_I32, hn_cast_f64_i32_c},
                             {HONE_I32, HONE_F64, hn_cast_i32_f64_c},
                             {HONE_F64, HONE_I8, hn_cast_f64_i8_c},
                             {HONE_I8, HONE_F64, hn_cast_i8_f64_c},
                             {HONE_F64, HONE_U8, hn_cast_f64_u8_c},
                             {HONE_U8, HONE_F64, hn_cast_u8_f64_c},
                             {HONE_F64, HONE_BOOL, hn_cast_f64_bool_c},
                             {HONE_F64, HONE_F32, hn_cast_f64_f32_c},
                             {HONE_F32, HONE_F64, hn_cast_f32_f64_c},
                             {HONE_BOOL, HONE_F64, hn_cast_u8_f64_c},
                             {HONE_NONE, HONE_NONE, NULL}};

static hn_cast_fn *find(const row *rows, const hone_query *query) {
  for (; rows->kernel; ++rows)
    if (rows->from == query->in[0].type.dtype && rows->to == query->out[0].type.dtype) return rows->kernel;
  return NULL;
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  HN_TRY_REASON(hn_cpu_check(query, 1, 1, 1));
  const hone_type *in = &query->in[0].type, *out = &query->out[0].type;
  if (in->format != HONE_PLAIN || out->format != HONE_PLAIN) return "it is not plain";
  if (!hn_shape_equal(&in->shape, &out->shape)) return "the output has another shape";
  hn_cast_fn *kernel = find(query->tactic->kernel, query);
  if (!kernel) return "there is no vector code between these types";
  state *s = memory;
  needs->state = sizeof *s;
  if (s) *s = (state){kernel, hn_elems(&in->shape), hn_bytes(in) + hn_bytes(out)};
  return NULL;
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  hn_cpu_cast(stream, s->kernel, launch->in[0].data, launch->out[0].data, s->elements, (double)s->bytes);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_cast[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.cast.any.avx512", .version = 1, .op = "cast", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch, .kernel = rows_avx512},
    {sizeof(hone_tactic), .name = "cpu.cast.any.avx2", .version = 1, .op = "cast", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch, .kernel = rows_avx2},
#endif
    {sizeof(hone_tactic), .name = "cpu.cast.any.c", .version = 1, .op = "cast", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch, .kernel = rows_c},
    {0}};
