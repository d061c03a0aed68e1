/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c - sums, products and extremes in f32, f64 and of integers. Axes that lie next to one another are one; where
 * there are several such groups, the last goes first and leaves its results in scratch for the next. What is blocked
 * over all pixels.
 */
#include "kernels/cpu/reduce/reduce.h"
#include "backend/cpu/cpu.h"
#include "tensor/element.h"

#define NS_PER_ELEMENT 0.25

enum { MOST_STAGES = (HONE_MAX_RANK + 1) / 2 };

typedef struct row_kernel {
  hn_reduce_fn *run; /* NULL: integers */
  hn_reduce_kind kind;
} row_kernel;

typedef struct stage {
  hn_reduce_args args; /* x and y are known to a launch alone */
  int64_t units, grain;
} stage;

typedef struct state {
  hn_reduce_fn *kernel; /* NULL: integers of `type` */
  hn_reduce_type type;
  int element_bytes, stages;
  stage stage[MOST_STAGES];
} state;

static const char *read_axes(const hone_query *query, bool *reduced) {
  const int rank = query->in[0].type.shape.rank;
  const hone_tensor *axes = hn_cpu_given(query, 1) ? query->in[1].constant : NULL;
  if (hn_cpu_given(query, 1) && !axes) return "the axes are data-dependent";
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
static const char *plan_blocked(const hone_query *query, const bool *reduced, state *s) {
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  const int block = hn_format_block(x->format);
  hn_reduce_args *args = &s->stage[0].args;
  if (!hn_reads_as(y, x->format) || x->shape.rank != y->shape.rank) return "the output is not blocked as the input is";
  *args = (hn_reduce_args){.outer = x->shape.dim[0] * hn_ceil_div(x->shape.dim[1], block), .axis = 1, .inner = block};
  for (int d = 0; d < x->shape.rank; ++d) {
    if (reduced[d] != (d >= 2)) return "blocked tensors are reduced over all their pixels only";
    if (d >= 2) args->axis *= x->shape.dim[d];
    if (y->shape.dim[d] != (d >= 2 ? 1 : x->shape.dim[d])) return "the output has another shape";
  }
  s->stages = 1;
  return args->axis > 0 ? NULL : "the planes are empty";
}

/* Neighbours that are all kept, or all reduced, become one extent; returns how many there are. */
static int join_axes(const hone_shape *x, const bool *reduced, int64_t *dim, bool *gone) {
  int count = 0;
  for (int d = 0; d < x->rank; ++d) {
    if (x->dim[d] == 1) continue;
    if (count == 0 || gone[count - 1] != reduced[d]) {
      dim[count] = 1;
      gone[count++] = reduced[d];
    }
    dim[count - 1] *= x->dim[d];
  }
  return count;
}

static void plan_stages(const hone_shape *x, const bool *reduced, state *s) {
  int64_t dim[HONE_MAX_RANK], inner = 1, outer;
  bool gone[HONE_MAX_RANK];
  const int count = join_axes(x, reduced, dim, gone);
  for (int i = count - 1; i >= 0; --i) {
    if (!gone[i]) {
      inner *= dim[i];
      continue;
    }
    outer = 1;
    for (int k = 0; k < i; ++k) outer *= dim[k];
    s->stage[s->stages++].args = (hn_reduce_args){.outer = outer, .axis = dim[i], .inner = inner};
  }
  if (s->stages == 0) s->stage[s->stages++].args = (hn_reduce_args){.outer = 1, .axis = 1, .inner = inner};
}

static const char *read_type(const hone_query *query, state *s) {
  static const hone_dtype types[] = {
      [HN_REDUCE_I8] = HONE_I8,   [HN_REDUCE_U8] = HONE_U8,   [HN_REDUCE_I16] = HONE_I16, [HN_REDUCE_U16] = HONE_U16,
      [HN_REDUCE_I32] = HONE_I32, [HN_REDUCE_U32] = HONE_U32, [HN_REDUCE_I64] = HONE_I64, [HN_REDUCE_U64] = HONE_U64};
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  s->element_bytes = (int)hone_dtype_bits(x->dtype) / 8;
  const hone_dtype held = hn_cpu_held(query->tactic);
  if (s->kernel) return x->dtype == held && y->dtype == held ? NULL : "it is of another type";
  if (y->dtype != x->dtype) return "the output has another type";
  for (int i = 0; i < (int)HN_COUNT(types); ++i)
    if (x->dtype == types[i]) {
      s->type = (hn_reduce_type)i;
      return NULL;
    }
  return "it is not of integers";
}

static size_t results(const state *s, int number) {
  const hn_reduce_args *a = &s->stage[number].args;
  return ((size_t)(a->outer * a->inner) * (size_t)s->element_bytes + 63) / 64 * 64;
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  const row_kernel *row = query->tactic->kernel;
  state asked = {0}, *s = memory ? memory : &asked;
  bool reduced[HONE_MAX_RANK];
  s->kernel = row->run;
  HN_TRY_REASON(hn_cpu_check(query, 1, 2, 1));
  HN_TRY_REASON(read_type(query, s));
  HN_TRY_REASON(read_axes(query, reduced));
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  if (x->format != HONE_PLAIN) {
    HN_TRY_REASON(row->run ? plan_blocked(query, reduced, s) : "it is not plain");
  } else {
    if (y->format != HONE_PLAIN) return "input and output have different formats";
    plan_stages(&x->shape, reduced, s);
    const hn_reduce_args *last = &s->stage[s->stages - 1].args;
    if (hn_elems(&y->shape) != last->outer * last->inner) return "the output has another shape";
    if (s->stages > 1 && row->run && x->dtype != hn_cpu_real(query->tactic))
      return "what is between two groups of axes would be rounded";
  }
  for (int i = 0; i < s->stages; ++i) {
    stage *one = &s->stage[i];
    one->args.kind = i > 0 && row->kind == HN_REDUCE_SUM_SQUARE ? HN_REDUCE_SUM : row->kind;
    one->units = hn_reduce_units(&one->args);
    const double elements = (double)one->args.outer * (double)one->args.axis * (double)one->args.inner;
    one->grain = hn_cpu_grain(one->units, elements * NS_PER_ELEMENT);
    if (i + 1 < s->stages) needs->scratch += results(s, i);
  }
  needs->state = sizeof *s;
  return NULL;
}

typedef struct job {
  const state *s;
  hn_reduce_args args;
  const void *x;
  void *y;
} job;

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  if (j->s->kernel)
    j->s->kernel(&j->args, begin, end);
  else
    hn_reduce_ints_c(&j->args, j->s->type, j->x, j->y, begin, end);
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *l) {
  const state *s = memory;
  char *next = l->scratch;
  const void *x = l->in[0].data;
  for (int i = 0; i < s->stages; ++i) {
    job j = {.s = s, .args = s->stage[i].args, .x = x, .y = i + 1 < s->stages ? (void *)next : l->out[0].data};
    if (s->kernel) {
      j.args.x = j.x;
      j.args.y = j.y;
    }
    hn_pool_run(hn_stream_pool(stream), s->stage[i].units, s->stage[i].grain, body, &j);
    x = j.y;
    next += results(s, i);
  }
  return HONE_OK;
}

#define COMMON .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch
const hone_tactic hn_tactics_cpu_reduce[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.reduce_sum.f32.avx512", .version = 1, .op = "reduce_sum", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}},
     .kernel = &(const row_kernel){hn_reduce_f32_avx512, HN_REDUCE_SUM}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_mean.f32.avx512", .version = 1, .op = "reduce_mean",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}},
     .kernel = &(const row_kernel){hn_reduce_f32_avx512, HN_REDUCE_MEAN}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_max.f32.avx512", .version = 1, .op = "reduce_max", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}},
     .kernel = &(const row_kernel){hn_reduce_f32_avx512, HN_REDUCE_MAX}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_min.f32.avx512", .version = 1, .op = "reduce_min", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}},
     .kernel = &(const row_kernel){hn_reduce_f32_avx512, HN_REDUCE_MIN}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_prod.f32.avx512", .version = 1, .op = "reduce_prod",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}},
     .kernel = &(const row_kernel){hn_reduce_f32_avx512, HN_REDUCE_PRODUCT}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_sum_square.f32.avx512", .version = 1, .op = "reduce_sum_square",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}},
     .kernel = &(const row_kernel){hn_reduce_f32_avx512, HN_REDUCE_SUM_SQUARE}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_l1.f32.avx512", .version = 1, .op = "reduce_l1", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}},
     .kernel = &(const row_kernel){hn_reduce_f32_avx512, HN_REDUCE_L1}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_l2.f32.avx512", .version = 1, .op = "reduce_l2", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}},
     .kernel = &(const row_kernel){hn_reduce_f32_avx512, HN_REDUCE_L2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_sum.bf16.avx512", .version = 1, .op = "reduce_sum",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}},
     .kernel = &(const row_kernel){hn_reduce_bf16_avx512, HN_REDUCE_SUM}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_mean.bf16.avx512", .version = 1, .op = "reduce_mean",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}},
     .kernel = &(const row_kernel){hn_reduce_bf16_avx512, HN_REDUCE_MEAN}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_max.bf16.avx512", .version = 1, .op = "reduce_max",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}},
     .kernel = &(const row_kernel){hn_reduce_bf16_avx512, HN_REDUCE_MAX}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_sum.f16.avx512", .version = 1, .op = "reduce_sum", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .kernel = &(const row_kernel){hn_reduce_f16_avx512, HN_REDUCE_SUM}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_mean.f16.avx512", .version = 1, .op = "reduce_mean",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .kernel = &(const row_kernel){hn_reduce_f16_avx512, HN_REDUCE_MEAN}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_max.f16.avx512", .version = 1, .op = "reduce_max", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .kernel = &(const row_kernel){hn_reduce_f16_avx512, HN_REDUCE_MAX}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_sum.f64.avx512", .version = 1, .op = "reduce_sum", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_reduce_f64_avx512, HN_REDUCE_SUM},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_mean.f64.avx512", .version = 1, .op = "reduce_mean",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .kernel = &(const row_kernel){hn_reduce_f64_avx512, HN_REDUCE_MEAN}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_max.f64.avx512", .version = 1, .op = "reduce_max", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_reduce_f64_avx512, HN_REDUCE_MAX},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_min.f64.avx512", .version = 1, .op = "reduce_min", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_reduce_f64_avx512, HN_REDUCE_MIN},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_prod.f64.avx512", .version = 1, .op = "reduce_prod",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .kernel = &(const row_kernel){hn_reduce_f64_avx512, HN_REDUCE_PRODUCT}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_sum_square.f64.avx512", .version = 1, .op = "reduce_sum_square",
     .isa = HONE_ISA_AVX512, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .kernel = &(const row_kernel){hn_reduce_f64_avx512, HN_REDUCE_SUM_SQUARE}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_l1.f64.avx512", .version = 1, .op = "reduce_l1", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_reduce_f64_avx512, HN_REDUCE_L1},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_l2.f64.avx512", .version = 1, .op = "reduce_l2", .isa = HONE_ISA_AVX512,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_reduce_f64_avx512, HN_REDUCE_L2},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_sum.f32.avx2", .version = 1, .op = "reduce_sum", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const row_kernel){hn_reduce_f32_avx2, HN_REDUCE_SUM}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_mean.f32.avx2", .version = 1, .op = "reduce_mean", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const row_kernel){hn_reduce_f32_avx2, HN_REDUCE_MEAN}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_max.f32.avx2", .version = 1, .op = "reduce_max", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const row_kernel){hn_reduce_f32_avx2, HN_REDUCE_MAX}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_min.f32.avx2", .version = 1, .op = "reduce_min", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const row_kernel){hn_reduce_f32_avx2, HN_REDUCE_MIN}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_prod.f32.avx2", .version = 1, .op = "reduce_prod", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const row_kernel){hn_reduce_f32_avx2, HN_REDUCE_PRODUCT}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_sum_square.f32.avx2", .version = 1, .op = "reduce_sum_square",
     .isa = HONE_ISA_AVX2, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const row_kernel){hn_reduce_f32_avx2, HN_REDUCE_SUM_SQUARE}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_l1.f32.avx2", .version = 1, .op = "reduce_l1", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const row_kernel){hn_reduce_f32_avx2, HN_REDUCE_L1}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_l2.f32.avx2", .version = 1, .op = "reduce_l2", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const row_kernel){hn_reduce_f32_avx2, HN_REDUCE_L2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_sum.bf16.avx2", .version = 1, .op = "reduce_sum", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}},
     .kernel = &(const row_kernel){hn_reduce_bf16_avx2, HN_REDUCE_SUM}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_mean.bf16.avx2", .version = 1, .op = "reduce_mean", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}},
     .kernel = &(const row_kernel){hn_reduce_bf16_avx2, HN_REDUCE_MEAN}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_max.bf16.avx2", .version = 1, .op = "reduce_max", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}},
     .kernel = &(const row_kernel){hn_reduce_bf16_avx2, HN_REDUCE_MAX}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_sum.f16.avx2", .version = 1, .op = "reduce_sum", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .kernel = &(const row_kernel){hn_reduce_f16_avx2, HN_REDUCE_SUM}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_mean.f16.avx2", .version = 1, .op = "reduce_mean", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .kernel = &(const row_kernel){hn_reduce_f16_avx2, HN_REDUCE_MEAN}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_max.f16.avx2", .version = 1, .op = "reduce_max", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .kernel = &(const row_kernel){hn_reduce_f16_avx2, HN_REDUCE_MAX}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_sum.f64.avx2", .version = 1, .op = "reduce_sum", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_reduce_f64_avx2, HN_REDUCE_SUM},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_mean.f64.avx2", .version = 1, .op = "reduce_mean", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_reduce_f64_avx2, HN_REDUCE_MEAN},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_max.f64.avx2", .version = 1, .op = "reduce_max", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_reduce_f64_avx2, HN_REDUCE_MAX},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_min.f64.avx2", .version = 1, .op = "reduce_min", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_reduce_f64_avx2, HN_REDUCE_MIN},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_prod.f64.avx2", .version = 1, .op = "reduce_prod", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .kernel = &(const row_kernel){hn_reduce_f64_avx2, HN_REDUCE_PRODUCT}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_sum_square.f64.avx2", .version = 1, .op = "reduce_sum_square",
     .isa = HONE_ISA_AVX2, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .kernel = &(const row_kernel){hn_reduce_f64_avx2, HN_REDUCE_SUM_SQUARE}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_l1.f64.avx2", .version = 1, .op = "reduce_l1", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_reduce_f64_avx2, HN_REDUCE_L1},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_l2.f64.avx2", .version = 1, .op = "reduce_l2", .isa = HONE_ISA_AVX2,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_reduce_f64_avx2, HN_REDUCE_L2},
     COMMON},
#endif
    {sizeof(hone_tactic), .name = "cpu.reduce_sum.f32.c", .version = 1, .op = "reduce_sum", .isa = HONE_ISA_C,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const row_kernel){hn_reduce_f32_c, HN_REDUCE_SUM}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_mean.f32.c", .version = 1, .op = "reduce_mean", .isa = HONE_ISA_C,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const row_kernel){hn_reduce_f32_c, HN_REDUCE_MEAN}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_max.f32.c", .version = 1, .op = "reduce_max", .isa = HONE_ISA_C,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const row_kernel){hn_reduce_f32_c, HN_REDUCE_MAX}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_min.f32.c", .version = 1, .op = "reduce_min", .isa = HONE_ISA_C,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const row_kernel){hn_reduce_f32_c, HN_REDUCE_MIN}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_prod.f32.c", .version = 1, .op = "reduce_prod", .isa = HONE_ISA_C,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const row_kernel){hn_reduce_f32_c, HN_REDUCE_PRODUCT}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_sum_square.f32.c", .version = 1, .op = "reduce_sum_square",
     .isa = HONE_ISA_C, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const row_kernel){hn_reduce_f32_c, HN_REDUCE_SUM_SQUARE}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_l1.f32.c", .version = 1, .op = "reduce_l1", .isa = HONE_ISA_C,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const row_kernel){hn_reduce_f32_c, HN_REDUCE_L1}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_l2.f32.c", .version = 1, .op = "reduce_l2", .isa = HONE_ISA_C,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .kernel = &(const row_kernel){hn_reduce_f32_c, HN_REDUCE_L2}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_sum.ints.c", .version = 1, .op = "reduce_sum",
     .kernel = &(const row_kernel){NULL, HN_REDUCE_SUM}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_max.ints.c", .version = 1, .op = "reduce_max",
     .kernel = &(const row_kernel){NULL, HN_REDUCE_MAX}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_min.ints.c", .version = 1, .op = "reduce_min",
     .kernel = &(const row_kernel){NULL, HN_REDUCE_MIN}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_prod.ints.c", .version = 1, .op = "reduce_prod",
     .kernel = &(const row_kernel){NULL, HN_REDUCE_PRODUCT}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_sum_square.ints.c", .version = 1, .op = "reduce_sum_square",
     .kernel = &(const row_kernel){NULL, HN_REDUCE_SUM_SQUARE}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_l1.ints.c", .version = 1, .op = "reduce_l1",
     .kernel = &(const row_kernel){NULL, HN_REDUCE_L1}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_sum.bf16.c", .version = 1, .op = "reduce_sum", .isa = HONE_ISA_C,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}},
     .kernel = &(const row_kernel){hn_reduce_bf16_c, HN_REDUCE_SUM}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_mean.bf16.c", .version = 1, .op = "reduce_mean", .isa = HONE_ISA_C,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}},
     .kernel = &(const row_kernel){hn_reduce_bf16_c, HN_REDUCE_MEAN}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_max.bf16.c", .version = 1, .op = "reduce_max", .isa = HONE_ISA_C,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}},
     .kernel = &(const row_kernel){hn_reduce_bf16_c, HN_REDUCE_MAX}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_sum.f16.c", .version = 1, .op = "reduce_sum", .isa = HONE_ISA_C,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .kernel = &(const row_kernel){hn_reduce_f16_c, HN_REDUCE_SUM}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_mean.f16.c", .version = 1, .op = "reduce_mean", .isa = HONE_ISA_C,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .kernel = &(const row_kernel){hn_reduce_f16_c, HN_REDUCE_MEAN}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_max.f16.c", .version = 1, .op = "reduce_max", .isa = HONE_ISA_C,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .kernel = &(const row_kernel){hn_reduce_f16_c, HN_REDUCE_MAX}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_sum.f64.c", .version = 1, .op = "reduce_sum", .isa = HONE_ISA_C,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_reduce_f64_c, HN_REDUCE_SUM},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_mean.f64.c", .version = 1, .op = "reduce_mean", .isa = HONE_ISA_C,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_reduce_f64_c, HN_REDUCE_MEAN},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_max.f64.c", .version = 1, .op = "reduce_max", .isa = HONE_ISA_C,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_reduce_f64_c, HN_REDUCE_MAX},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_min.f64.c", .version = 1, .op = "reduce_min", .isa = HONE_ISA_C,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_reduce_f64_c, HN_REDUCE_MIN},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_prod.f64.c", .version = 1, .op = "reduce_prod", .isa = HONE_ISA_C,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_reduce_f64_c, HN_REDUCE_PRODUCT},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_sum_square.f64.c", .version = 1, .op = "reduce_sum_square",
     .isa = HONE_ISA_C, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .kernel = &(const row_kernel){hn_reduce_f64_c, HN_REDUCE_SUM_SQUARE}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_l1.f64.c", .version = 1, .op = "reduce_l1", .isa = HONE_ISA_C,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_reduce_f64_c, HN_REDUCE_L1},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.reduce_l2.f64.c", .version = 1, .op = "reduce_l2", .isa = HONE_ISA_C,
     .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .kernel = &(const row_kernel){hn_reduce_f64_c, HN_REDUCE_L2},
     COMMON},
    {0}};
