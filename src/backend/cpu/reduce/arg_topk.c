/* SPDX-License-Identifier: Apache-2.0 */
/* arg_topk.c - along one axis of f32 or integers: where the largest or smallest element is (arg_max, arg_min), and the
 * k best (top_k), NaN counting as larger than every number; and the running sum (cum_sum), of f64 as well. */
#include "backend/cpu/copy/copy.h"
#include "kernels/cpu/reduce/arg.h"
#include "kernels/cpu/reduce/cumulate.h"
#include "kernels/cpu/reduce/top_k.h"
#include "tensor/element.h"

static const double top_k_ns_per_element = 1.0, arg_ns_per_element = 0.15, sum_ns_per_element = 0.4;

/* NULL where a row has no kernel for the type. */
typedef struct row_kernel {
  hn_arg_fn *f32, *i32, *i64;
  bool largest;
} row_kernel;

typedef struct top_k_row_kernel {
  hn_better_fn *f32, *i32, *i64;
} top_k_row_kernel;

static const char *read_axis(const hone_query *query, int axis, double ns_each, hn_cpu_rows *rows, int64_t *grain) {
  if (!hn_cpu_is(&query->in[0], query->in[0].type.dtype, HONE_PLAIN)) return "it is not plain";
  if (axis < 0) return "the axis is out of range";
  *rows = hn_cpu_rows_along(&query->in[0].type.shape, axis);
  const int64_t count = rows->outer * rows->inner;
  *grain = hn_cpu_grain(count, (double)count * (double)rows->axis * ns_each);
  return NULL;
}

/* ---- arg_max, arg_min ---- */

typedef struct places {
  hn_arg_fn *kernel;
  hn_arg_args args;
  int64_t rows, grain;
} places;

static const char *plan_arg(const hone_query *query, void *memory, hone_needs *needs) {
  const row_kernel *row = query->tactic->kernel;
  needs->state = sizeof(places);
  HN_TRY_REASON(hn_cpu_check(query, 1, 1, 1));
  const hone_type *x = &query->in[0].type;
  hn_arg_fn *kernel = x->dtype == HONE_F32   ? row->f32
                      : x->dtype == HONE_I32 ? row->i32
                      : x->dtype == HONE_I64 ? row->i64
                                             : NULL;
  if (!kernel) return "the row is for another type";
  hn_cpu_rows along;
  int64_t grain;
  HN_TRY_REASON(read_axis(query, hn_cpu_axis(query, "axis", x->shape.rank), arg_ns_per_element, &along, &grain));
  if (!hn_cpu_is(&query->out[0], HONE_I64, HONE_PLAIN)) return "the output is not i64";
  if (along.axis < 1 || along.axis > INT32_MAX) return "the axis is empty, or too long";
  const int64_t rows = along.outer * along.inner;
  if (hn_elems(&query->out[0].type.shape) != rows) return "the output has another size";
  if (!memory) return NULL;
  *(places *)memory = (places){.kernel = kernel,
                               .args = {.axis = along.axis,
                                        .inner = along.inner,
                                        .largest = row->largest,
                                        .last = hn_attr_int(query->attrs, "select_last_index") != 0},
                               .rows = rows,
                               .grain = grain};
  return NULL;
}

static void arg_body(void *arg, int worker, int64_t begin, int64_t end) {
  const places *p = arg;
  (void)worker;
  p->kernel(&p->args, begin, end);
}

static hone_status launch_arg(void *memory, hone_stream *stream, const hone_launch *l) {
  places p = *(const places *)memory;
  p.args.x = l->in[0].data, p.args.y = l->out[0].data;
  hn_pool_run(hn_stream_pool(stream), p.rows, p.grain, arg_body, &p);
  return HONE_OK;
}

/* ---- top_k ---- */

typedef struct bests {
  hn_top_k_fn *kernel;
  hn_top_k_args args;
  int64_t rows, grain;
  size_t worker_bytes; /* of scratch */
} bests;

typedef struct best_job {
  const bests *state;
  hn_top_k_args args;
  char *scratch;
} best_job;

static const char *top_k_kernels(const top_k_row_kernel *row, hone_dtype dtype, bests *s) {
  switch (dtype) {
  case HONE_F32: s->kernel = hn_top_k_f32_c, s->args.better = row->f32; break;
  case HONE_I32: s->kernel = hn_top_k_i32_c, s->args.better = row->i32; break;
  case HONE_I64: s->kernel = hn_top_k_i64_c, s->args.better = row->i64; break;
  default: break;
  }
  return s->args.better ? NULL : "the row is for another type";
}

static const char *plan_top_k(const hone_query *query, void *memory, hone_needs *needs) {
  bests asked = {0}, *s = memory ? memory : &asked;
  HN_TRY_REASON(hn_cpu_check(query, 2, 2, 2));
  const hone_type *x = &query->in[0].type;
  const int rank = x->shape.rank, axis = hn_cpu_axis(query, "axis", rank);
  hn_cpu_rows along;
  *s = (bests){0};
  HN_TRY_REASON(top_k_kernels(query->tactic->kernel, x->dtype, s));
  HN_TRY_REASON(read_axis(query, axis, top_k_ns_per_element, &along, &s->grain));
  hone_shape shape = x->shape;
  const int64_t k = query->out[0].type.shape.rank == rank ? query->out[0].type.shape.dim[axis] : -1;
  if (k < 0 || k > along.axis) return "k does not fit the axis";
  if (along.axis > INT32_MAX) return "the axis is too long";
  shape.dim[axis] = k;
  for (int i = 0; i < query->out_count; ++i) {
    if (query->out[i].type.kind == HONE_ABSENT && i == 1) continue;
    if (!hn_cpu_is(&query->out[i], i == 0 ? x->dtype : HONE_I64, HONE_PLAIN)) return "an output has another type";
    if (!hn_shape_equal(&shape, &query->out[i].type.shape)) return "the output has another shape";
  }
  if (query->in[1].type.dtype != HONE_I64 || hn_elems(&query->in[1].type.shape) != 1) return "k is not one i64";
  s->args.axis = along.axis, s->args.inner = along.inner, s->args.k = k;
  s->args.largest = hn_attr_int(query->attrs, "largest") != 0;
  s->rows = along.outer * along.inner;
  s->worker_bytes = (size_t)hn_ceil_div(hn_top_k_kept(along.axis, k) * HN_TOP_K_ENTRY, 64) * 64;
  needs->state = sizeof *s;
  needs->scratch = s->worker_bytes * (size_t)hn_cpu_threads(query->facts);
  return NULL;
}

static void top_k_body(void *arg, int worker, int64_t begin, int64_t end) {
  const best_job *j = arg;
  j->state->kernel(&j->args, j->scratch + (size_t)worker * j->state->worker_bytes, begin, end);
}

static hone_status launch_top_k(void *memory, hone_stream *stream, const hone_launch *l) {
  const bests *s = memory;
  const int64_t k = ((const int64_t *)l->in[1].data)[0];
  if (k != s->args.k)
    return HN_FAIL(l->diagnostics, HONE_INVALID, "k is %lld, but the output has %lld", (long long)k,
                   (long long)s->args.k);
  best_job j = {.state = s, .args = s->args, .scratch = l->scratch};
  j.args.x = l->in[0].data, j.args.values = l->out[0].data;
  j.args.indices = l->out_count > 1 ? l->out[1].data : NULL;
  if (k > 0) hn_pool_run(hn_stream_pool(stream), s->rows, s->grain, top_k_body, &j);
  return HONE_OK;
}

/* ---- cum_sum ---- */

typedef struct sum_kernels {
  hn_cumulate_fn *f32, *f64, *i32, *i64; /* unsigned integers are summed as signed ones */
} sum_kernels;

typedef struct sums {
  hn_cumulate_fn *kernel;
  hn_cumulate_args args;
  int64_t rows, grain;
} sums;

static hn_cumulate_fn *sum_of(const sum_kernels *k, hone_dtype dtype) {
  switch (dtype) {
  case HONE_F32: return k->f32;
  case HONE_F64: return k->f64;
  case HONE_I32:
  case HONE_U32: return k->i32;
  case HONE_I64:
  case HONE_U64: return k->i64;
  default: return NULL;
  }
}

static const char *plan_cum_sum(const hone_query *query, void *memory, hone_needs *needs) {
  needs->state = sizeof(sums);
  HN_TRY_REASON(hn_cpu_check(query, 2, 2, 1));
  const hone_type *x = &query->in[0].type;
  const hone_tensor *constant = query->in[1].constant;
  const int rank = x->shape.rank;
  hn_cumulate_fn *kernel = sum_of(query->tactic->kernel, x->dtype);
  if (!kernel || !hn_cpu_is(&query->in[0], x->dtype, HONE_PLAIN)) return "it is not plain, or of another type";
  if (!hn_cpu_is(&query->out[0], x->dtype, HONE_PLAIN) || !hn_shape_equal(&x->shape, &query->out[0].type.shape))
    return "the output has another type";
  if (!constant || hn_elems(&constant->type.shape) != 1 || !hn_dtype_is_int(constant->type.dtype))
    return "the axis is not known";
  const int64_t given = hn_int(constant, 0);
  if (given < -rank || given >= rank) return "the axis is out of range";
  if (!memory) return NULL;
  const hn_cpu_rows along = hn_cpu_rows_along(&x->shape, (int)(given < 0 ? given + rank : given));
  const int64_t rows = along.outer * along.inner;
  *(sums *)memory = (sums){.kernel = kernel,
                           .args = {.axis = along.axis,
                                    .inner = along.inner,
                                    .exclusive = hn_attr_int(query->attrs, "exclusive") != 0,
                                    .reverse = hn_attr_int(query->attrs, "reverse") != 0},
                           .rows = rows,
                           .grain = hn_cpu_grain(rows, (double)hn_elems(&x->shape) * sum_ns_per_element)};
  return NULL;
}

static void cum_sum_body(void *arg, int worker, int64_t begin, int64_t end) {
  const sums *s = arg;
  (void)worker;
  s->kernel(&s->args, begin, end);
}

static hone_status launch_cum_sum(void *memory, hone_stream *stream, const hone_launch *l) {
  sums s = *(const sums *)memory;
  s.args.x = l->in[0].data, s.args.y = l->out[0].data;
  if (s.args.axis > 0) hn_pool_run(hn_stream_pool(stream), s.rows, s.grain, cum_sum_body, &s);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_arg_topk[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.arg_max.f32.avx512", .version = 1, .op = "arg_max", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_arg, .launch = launch_arg,
     .kernel = &(const row_kernel){.f32 = hn_arg_f32_avx512, .largest = true}},
    {sizeof(hone_tactic), .name = "cpu.arg_max.f32.avx2", .version = 1, .op = "arg_max", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_arg, .launch = launch_arg,
     .kernel = &(const row_kernel){.f32 = hn_arg_f32_avx2, .largest = true}},
#endif
    {sizeof(hone_tactic), .name = "cpu.arg_max.f32.c", .version = 2, .op = "arg_max", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_arg, .launch = launch_arg,
     .kernel = &(const row_kernel){.f32 = hn_arg_f32_c, .largest = true}},
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.arg_max.ints.avx512", .version = 1, .op = "arg_max", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_arg, .launch = launch_arg,
     .kernel = &(const row_kernel){.i32 = hn_arg_i32_avx512, .i64 = hn_arg_i64_avx512, .largest = true}},
    {sizeof(hone_tactic), .name = "cpu.arg_max.ints.avx2", .version = 1, .op = "arg_max", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_arg, .launch = launch_arg,
     .kernel = &(const row_kernel){.i32 = hn_arg_i32_avx2, .i64 = hn_arg_i64_avx2, .largest = true}},
#endif
    {sizeof(hone_tactic), .name = "cpu.arg_max.ints.c", .version = 1, .op = "arg_max", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_arg, .launch = launch_arg,
     .kernel = &(const row_kernel){.i32 = hn_arg_i32_c, .i64 = hn_arg_i64_c, .largest = true}},
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.arg_min.f32.avx512", .version = 1, .op = "arg_min", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_arg, .launch = launch_arg,
     .kernel = &(const row_kernel){.f32 = hn_arg_f32_avx512, .largest = false}},
    {sizeof(hone_tactic), .name = "cpu.arg_min.f32.avx2", .version = 1, .op = "arg_min", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_arg, .launch = launch_arg,
     .kernel = &(const row_kernel){.f32 = hn_arg_f32_avx2, .largest = false}},
#endif
    {sizeof(hone_tactic), .name = "cpu.arg_min.f32.c", .version = 2, .op = "arg_min", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_arg, .launch = launch_arg,
     .kernel = &(const row_kernel){.f32 = hn_arg_f32_c, .largest = false}},
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.arg_min.ints.avx512", .version = 1, .op = "arg_min", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_arg, .launch = launch_arg,
     .kernel = &(const row_kernel){.i32 = hn_arg_i32_avx512, .i64 = hn_arg_i64_avx512, .largest = false}},
    {sizeof(hone_tactic), .name = "cpu.arg_min.ints.avx2", .version = 1, .op = "arg_min", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_arg, .launch = launch_arg,
     .kernel = &(const row_kernel){.i32 = hn_arg_i32_avx2, .i64 = hn_arg_i64_avx2, .largest = false}},
#endif
    {sizeof(hone_tactic), .name = "cpu.arg_min.ints.c", .version = 1, .op = "arg_min", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_arg, .launch = launch_arg,
     .kernel = &(const row_kernel){.i32 = hn_arg_i32_c, .i64 = hn_arg_i64_c, .largest = false}},
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.top_k.f32.avx512", .version = 2, .op = "top_k", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_top_k, .launch = launch_top_k,
     .kernel = &(const top_k_row_kernel){.f32 = hn_better_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.top_k.f32.avx2", .version = 2, .op = "top_k", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_top_k, .launch = launch_top_k,
     .kernel = &(const top_k_row_kernel){.f32 = hn_better_f32_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.top_k.f32.c", .version = 3, .op = "top_k", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_top_k, .launch = launch_top_k,
     .kernel = &(const top_k_row_kernel){.f32 = hn_better_f32_c}},
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.top_k.ints.avx512", .version = 1, .op = "top_k", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_top_k, .launch = launch_top_k,
     .kernel = &(const top_k_row_kernel){.i32 = hn_better_i32_avx512, .i64 = hn_better_i64_avx512}},
    {sizeof(hone_tactic), .name = "cpu.top_k.ints.avx2", .version = 1, .op = "top_k", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_top_k, .launch = launch_top_k,
     .kernel = &(const top_k_row_kernel){.i32 = hn_better_i32_avx2, .i64 = hn_better_i64_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.top_k.ints.c", .version = 1, .op = "top_k", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_top_k, .launch = launch_top_k,
     .kernel = &(const top_k_row_kernel){.i32 = hn_better_i32_c, .i64 = hn_better_i64_c}},
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.cum_sum.any.avx512", .version = 1, .op = "cum_sum", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_cum_sum, .launch = launch_cum_sum,
     .kernel = &(const sum_kernels){hn_cumulate_f32_avx512, hn_cumulate_f64_avx512, hn_cumulate_i32_avx512,
                                    hn_cumulate_i64_avx512}},
    {sizeof(hone_tactic), .name = "cpu.cum_sum.any.avx2", .version = 1, .op = "cum_sum", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_cum_sum, .launch = launch_cum_sum,
     .kernel =
         &(const sum_kernels){hn_cumulate_f32_avx2, hn_cumulate_f64_avx2, hn_cumulate_i32_avx2, hn_cumulate_i64_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.cum_sum.any.c", .version = 1, .op = "cum_sum", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_cum_sum, .launch = launch_cum_sum,
     .kernel = &(const sum_kernels){hn_cumulate_f32_c, hn_cumulate_f64_c, hn_cumulate_i32_c, hn_cumulate_i64_c}},
    {0}};
