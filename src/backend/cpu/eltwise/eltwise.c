/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise.c - every elementwise op in f32 or f64, plain or blocked, as one program over its operands. */
#include "backend/cpu/eltwise/eltwise.h"
#include <string.h>

/* Cuts planes where the neighbouring layers cut them. */
static void share_rows(const hone_type *out, const hone_facts *facts, hn_eltwise_state *state) {
  hn_eltwise_places *p = &state->places;
  const int64_t height = p->by_planes ? out->shape.dim[2] : 0;
  state->parts = 1;
  if (height == 0) return;
  state->rows = p->outer_dim[0] * p->outer_dim[1];
  const int64_t row = p->inner / height, parts = hn_cpu_row_parts(facts, out->shape.dim[0], height, row / p->block);
  if (parts > 1 && row > 0) {
    const int64_t share = hn_ceil_div(height, parts), fitting = p->part ? hn_cpu_greater(1, p->part / row) : share;
    p->part = hn_ceil_div(share, hn_ceil_div(share, fitting)) * row;
    state->parts = hn_ceil_div(p->inner, p->part);
  }
}

const char *hn_eltwise_plan(const hn_expr *expr, hone_dtype type, const hone_fact *in, int in_count,
                            const hone_type *out, const hone_facts *facts, hn_eltwise_state *state) {
  HN_TRY_REASON(hn_eltwise_compile(expr, type, &state->program));
  HN_TRY_REASON(hn_eltwise_place(in, in_count, out, &state->places));
  state->in_count = in_count;
  const hn_eltwise_places *p = &state->places;
  share_rows(out, facts, state);
  hone_type stored = *out;
  stored.dtype = type;
  int64_t units = p->part ? hn_ceil_div(p->inner, p->part) : 1;
  for (int d = 0; d < p->outer_rank; ++d) units *= p->outer_dim[d];
  state->grain = hn_cpu_grain(units, (double)hn_cpu_stored(&stored) *
                                         ((int)hone_dtype_bits(type) / 8 * (in_count + 1) * HN_CPU_NS_PER_BYTE +
                                          hn_expr_flops(expr) * HN_CPU_NS_PER_FLOP));
  return NULL;
}

typedef struct job {
  const hn_eltwise_state *state;
  hn_eltwise_args args;
} job;

/* The lanes behind the last channel become zeros again, whatever the program makes of them. */
static void clear_tail(const job *j, int64_t begin, int64_t end) {
  const hn_eltwise_places *p = &j->state->places;
  const int64_t parts = p->part ? hn_ceil_div(p->inner, p->part) : 1, part = p->part ? p->part : p->inner;
  for (int64_t unit = begin; unit < end; ++unit) {
    const bool turned = j->args.parts_first;
    const int64_t row = turned ? unit % j->state->rows : unit / parts;
    const int64_t first = (turned ? unit / j->state->rows : unit % parts) * part;
    if (row / p->rows_per_block % p->blocks != p->blocks - 1) continue;
    const int64_t last = first + part < p->inner ? first + part : p->inner;
    char *y = (char *)j->args.output->data + (size_t)(row * p->inner) * j->state->element;
    for (int64_t at = first; at < last; at += p->block)
      memset(y + (size_t)(at + p->tail) * j->state->element, 0, (size_t)(p->block - p->tail) * j->state->element);
  }
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  j->state->kernel(&j->args, begin, end);
  if (j->state->places.tail) clear_tail(j, begin, end);
}

void hn_eltwise_run(const hn_eltwise_state *s, hone_stream *stream, const void *const *in, void *out) {
  const hn_eltwise_places *p = &s->places;
  hn_eltwise_input inputs[HN_ELTWISE_INPUTS];
  hn_eltwise_output output = {.data = out};
  job j = {.state = s,
           .args = {.code = s->program.code,
                    .input = inputs,
                    .output = &output,
                    .code_count = s->program.count,
                    .input_count = s->in_count,
                    .output_count = 1,
                    .outer_rank = p->outer_rank,
                    .inner = p->inner,
                    .part = p->part,
                    .parts_first = s->parts > 1}};
  memcpy(j.args.outer_dim, p->outer_dim, sizeof p->outer_dim);
  memcpy(output.outer_stride, p->out_stride, sizeof p->out_stride);
  for (int i = 0; i < s->in_count; ++i) {
    inputs[i] = (hn_eltwise_input){.data = in[i], .inner_stride = p->in_inner[i], .period = p->in_period[i]};
    memcpy(inputs[i].outer_stride, p->in_stride[i], sizeof p->in_stride[i]);
  }
  hn_pool_run(hn_stream_pool(stream), hn_eltwise_units(&j.args), s->grain, body, &j);
}

/* ---- the rows ---- */

typedef struct row_kernel {
  hn_eltwise_fn *run;
} row_kernel;

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  hn_eltwise_state unused = {0}, *s = memory ? memory : &unused;
  hn_cpu_asked asked;
  hn_expr expr;
  needs->state = sizeof *s;
  const char *reason = hn_cpu_check(query, 1, HN_ELTWISE_INPUTS, 1);
  if (!reason) reason = hn_cpu_ask_f32(query, &asked);
  if (reason) return reason;
  const hone_query *q = &asked.query;
  for (int i = 0; i < q->in_count; ++i) {
    if (q->in[i].type.kind == HONE_ABSENT) return "an optional input is absent";
    if (q->in[i].type.dtype != HONE_F32) return "an input is not f32";
  }
  if (q->out[0].type.dtype != HONE_F32) return "the output is not f32";
  if (hn_expr_of_op(NULL, query->op, query->attrs, query->in_count, &expr) != HONE_OK) return "it has no expression";
  s->kernel = ((const row_kernel *)query->tactic->kernel)->run;
  s->element = hone_dtype_bits(query->out[0].type.dtype) / 8;
  return hn_eltwise_plan(&expr, hn_cpu_real(query->tactic), q->in, q->in_count, &q->out[0].type, q->facts, s);
}

static hone_status launch(void *state, hone_stream *stream, const hone_launch *launch) {
  const void *in[HN_ELTWISE_INPUTS];
  for (int i = 0; i < launch->in_count; ++i) in[i] = launch->in[i].data;
  hn_eltwise_run(state, stream, in, launch->out[0].data);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_eltwise[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.elementwise.f32.avx512", .version = 2, .op = "*elementwise",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_eltwise_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.elementwise.bf16.avx512", .version = 2, .op = "*elementwise",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){hn_eltwise_bf16_avx512}},
    {sizeof(hone_tactic), .name = "cpu.elementwise.f16.avx512", .version = 2, .op = "*elementwise",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){hn_eltwise_f16_avx512}},
    {sizeof(hone_tactic), .name = "cpu.elementwise.f64.avx512", .version = 1, .op = "*elementwise",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_eltwise_f64_avx512}},
    {sizeof(hone_tactic), .name = "cpu.elementwise.f32.avx2", .version = 2, .op = "*elementwise", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_eltwise_f32_avx2}},
    {sizeof(hone_tactic), .name = "cpu.elementwise.bf16.avx2", .version = 2, .op = "*elementwise", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){hn_eltwise_bf16_avx2}},
    {sizeof(hone_tactic), .name = "cpu.elementwise.f16.avx2", .version = 2, .op = "*elementwise", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){hn_eltwise_f16_avx2}},
    {sizeof(hone_tactic), .name = "cpu.elementwise.f64.avx2", .version = 1, .op = "*elementwise", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_eltwise_f64_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.elementwise.f32.c", .version = 2, .op = "*elementwise", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}}, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){hn_eltwise_f32_c}},
    {sizeof(hone_tactic), .name = "cpu.elementwise.bf16.c", .version = 2, .op = "*elementwise", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){hn_eltwise_bf16_c}},
    {sizeof(hone_tactic), .name = "cpu.elementwise.f16.c", .version = 2, .op = "*elementwise", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan,
     .launch = launch, .kernel = &(const row_kernel){hn_eltwise_f16_c}},
    {sizeof(hone_tactic), .name = "cpu.elementwise.f64.c", .version = 1, .op = "*elementwise", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_IN_PLACE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_eltwise_f64_c}},
    {0}};
