/* SPDX-License-Identifier: Apache-2.0 */
/* arg_topk.c - along one axis of f32: where the largest or smallest element is (arg_max, arg_min), and the k best
 * (top_k), NaN counting as larger than every number; and the running sum (cum_sum), of integers and f64 as well. */
#include "backend/cpu/copy/copy.h"
#include "kernels/cpu/reduce/arg.h"
#include "kernels/cpu/reduce/cumulate.h"
#include "tensor/element.h"
#include <math.h>

static const double ns_per_element = 1.0, arg_ns_per_element = 0.15, sum_ns_per_element = 0.4;

/* Of arg_max and arg_min. */
typedef struct row_kernel {
  hn_arg_fn *kernel;
  bool largest;
} row_kernel;

typedef struct top_k_row_kernel {
  hn_better_fn *better;
} top_k_row_kernel;

typedef struct state {
  hn_better_fn *better;
  hn_cpu_rows rows;
  int64_t k, grain, worker_longs; /* top_k; of a worker's scratch */
  bool largest;
} state;

typedef struct job {
  const state *state;
  const float *x;
  float *values;
  int64_t *indices, *scratch;
} job;

static const char *read_axis(const hone_query *query, int axis, double ns_each, state *s) {
  if (!hn_cpu_is(&query->in[0], HONE_F32, HONE_PLAIN)) return "it is not plain f32";
  if (axis < 0) return "the axis is out of range";
  s->rows = hn_cpu_rows_along(&query->in[0].type.shape, axis);
  const int64_t rows = s->rows.outer * s->rows.inner;
  s->grain = hn_cpu_grain(rows, (double)rows * (double)s->rows.axis * ns_each);
  return NULL;
}

/* Is a strictly better than b? */
static bool beats(float a, float b, bool largest) {
  if (isnan(a) || isnan(b)) return largest ? isnan(a) && !isnan(b) : !isnan(a) && isnan(b);
  return largest ? a > b : a < b;
}

/* ---- arg_max, arg_min ---- */

typedef struct places {
  hn_arg_fn *kernel;
  hn_arg_args args;
  int64_t rows, grain;
} places;

static const char *plan_arg(const hone_query *query, void *memory, hone_needs *needs) {
  state s;
  const row_kernel *row = query->tactic->kernel;
  needs->state = sizeof(places);
  HN_TRY_REASON(hn_cpu_check(query, 1, 1, 1));
  HN_TRY_REASON(read_axis(query, hn_cpu_axis(query, "axis", query->in[0].type.shape.rank), arg_ns_per_element, &s));
  if (!hn_cpu_is(&query->out[0], HONE_I64, HONE_PLAIN)) return "the output is not i64";
  if (s.rows.axis < 1 || s.rows.axis > INT32_MAX) return "the axis is empty, or too long";
  const int64_t rows = s.rows.outer * s.rows.inner;
  if (hn_elems(&query->out[0].type.shape) != rows) return "the output has another size";
  if (!memory) return NULL;
  *(places *)memory = (places){.kernel = row->kernel,
                               .args = {.axis = s.rows.axis,
                                        .inner = s.rows.inner,
                                        .largest = row->largest,
                                        .last = hn_attr_int(query->attrs, "select_last_index") != 0},
                               .rows = rows,
                               .grain = s.grain};
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

/* ---- top_k: a heap of the k best, its worst at the root ---- */

static const char *plan_top_k(const hone_query *query, void *memory, hone_needs *needs) {
  state asked = {0}, *s = memory ? memory : &asked;
  HN_TRY_REASON(hn_cpu_check(query, 2, 2, 2));
  const int rank = query->in[0].type.shape.rank, axis = hn_cpu_axis(query, "axis", rank);
  HN_TRY_REASON(read_axis(query, axis, ns_per_element, s));
  hone_shape shape = query->in[0].type.shape;
  s->k = query->out[0].type.shape.rank == rank ? query->out[0].type.shape.dim[axis] : -1;
  if (s->k < 0 || s->k > s->rows.axis) return "k does not fit the axis";
  shape.dim[axis] = s->k;
  for (int i = 0; i < query->out_count; ++i) {
    if (query->out[i].type.kind == HONE_ABSENT && i == 1) continue;
    if (!hn_cpu_is(&query->out[i], i == 0 ? HONE_F32 : HONE_I64, HONE_PLAIN)) return "the outputs are not f32 and i64";
    if (!hn_shape_equal(&shape, &query->out[i].type.shape)) return "the output has another shape";
  }
  if (query->in[1].type.dtype != HONE_I64 || hn_elems(&query->in[1].type.shape) != 1) return "k is not one i64";
  s->largest = hn_attr_int(query->attrs, "largest") != 0;
  s->better = ((const top_k_row_kernel *)query->tactic->kernel)->better;
  s->worker_longs = hn_ceil_div(s->k, 8) * 8;
  needs->state = sizeof *s;
  needs->scratch = (size_t)(s->worker_longs * hn_cpu_threads(query->facts)) * sizeof(int64_t);
  return NULL;
}

/* Of equal elements the one with the lower index comes first. */
static bool comes_before(const job *j, const float *x, int64_t a, int64_t b) {
  const float left = x[a * j->state->rows.inner], right = x[b * j->state->rows.inner];
  if (beats(left, right, j->state->largest)) return true;
  return !beats(right, left, j->state->largest) && a < b;
}

/* Lets heap[at] sink to where both below it come before it. */
static void sink(const job *j, const float *x, int64_t *heap, int64_t count, int64_t at) {
  for (;;) {
    int64_t below = 2 * at + 1;
    if (below >= count) return;
    if (below + 1 < count && comes_before(j, x, heap[below], heap[below + 1])) ++below;
    if (comes_before(j, x, heap[below], heap[at])) return;
    const int64_t moved = heap[at];
    heap[at] = heap[below];
    heap[below] = moved;
    at = below;
  }
}

static void top_k_row(const job *j, int64_t *heap, int64_t row) {
  const state *s = j->state;
  const int64_t inner = s->rows.inner, outer = row / inner, at = row % inner;
  const float *x = j->x + outer * s->rows.axis * inner + at;
  for (int64_t i = 0; i < s->k; ++i) heap[i] = i;
  for (int64_t i = s->k / 2 - 1; i >= 0; --i) sink(j, x, heap, s->k, i);
  for (int64_t i = s->k; i < s->rows.axis; ++i) { /* equal ones come behind those that are in the heap */
    if (inner == 1) {
      i = s->better(x, i, s->rows.axis, x[heap[0]], s->largest);
      if (i == s->rows.axis) break;
    } else if (!comes_before(j, x, i, heap[0])) {
      continue;
    }
    heap[0] = i;
    sink(j, x, heap, s->k, 0);
  }
  for (int64_t left = s->k; left > 0; --left) { /* the worst of those left goes last */
    const int64_t to = (outer * s->k + left - 1) * inner + at;
    j->values[to] = x[heap[0] * inner];
    if (j->indices) j->indices[to] = heap[0];
    heap[0] = heap[left - 1];
    sink(j, x, heap, left - 1, 0);
  }
}

static void top_k_body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  for (int64_t row = begin; row < end; ++row) top_k_row(j, j->scratch + worker * j->state->worker_longs, row);
}

static hone_status launch_top_k(void *memory, hone_stream *stream, const hone_launch *l) {
  const state *s = memory;
  if (((const int64_t *)l->in[1].data)[0] != s->k)
    return HN_FAIL(l->diagnostics, HONE_INVALID, "k is %lld, but the output has %lld",
                   (long long)((const int64_t *)l->in[1].data)[0], (long long)s->k);
  job j = {.state = s, .x = l->in[0].data, .values = l->out[0].data, .scratch = l->scratch};
  if (l->out_count > 1) j.indices = l->out[1].data;
  if (s->k > 0) hn_pool_run(hn_stream_pool(stream), s->rows.outer * s->rows.inner, s->grain, top_k_body, &j);
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
     .kernel = &(const row_kernel){hn_arg_f32_avx512, true}},
    {sizeof(hone_tactic), .name = "cpu.arg_max.f32.avx2", .version = 1, .op = "arg_max", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_arg, .launch = launch_arg,
     .kernel = &(const row_kernel){hn_arg_f32_avx2, true}},
#endif
    {sizeof(hone_tactic), .name = "cpu.arg_max.f32.c", .version = 2, .op = "arg_max", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_arg, .launch = launch_arg,
     .kernel = &(const row_kernel){hn_arg_f32_c, true}},
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.arg_min.f32.avx512", .version = 1, .op = "arg_min", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_arg, .launch = launch_arg,
     .kernel = &(const row_kernel){hn_arg_f32_avx512, false}},
    {sizeof(hone_tactic), .name = "cpu.arg_min.f32.avx2", .version = 1, .op = "arg_min", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_arg, .launch = launch_arg,
     .kernel = &(const row_kernel){hn_arg_f32_avx2, false}},
#endif
    {sizeof(hone_tactic), .name = "cpu.arg_min.f32.c", .version = 2, .op = "arg_min", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_arg, .launch = launch_arg,
     .kernel = &(const row_kernel){hn_arg_f32_c, false}},
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.top_k.f32.avx512", .version = 1, .op = "top_k", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_top_k, .launch = launch_top_k,
     .kernel = &(const top_k_row_kernel){hn_better_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.top_k.f32.avx2", .version = 1, .op = "top_k", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_top_k, .launch = launch_top_k,
     .kernel = &(const top_k_row_kernel){hn_better_f32_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.top_k.f32.c", .version = 2, .op = "top_k", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_top_k, .launch = launch_top_k,
     .kernel = &(const top_k_row_kernel){hn_better_f32_c}},
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
