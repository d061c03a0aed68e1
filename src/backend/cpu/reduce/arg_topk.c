/* SPDX-License-Identifier: Apache-2.0 */
/* arg_topk.c - along one axis of f32: where the largest or smallest element is (arg_max, arg_min), the k best (top_k),
 * and the running sum (cum_sum). NaN counts as larger than every number. */
#include "backend/cpu/copy/copy.h"
#include "tensor/element.h"
#include <math.h>

static const double ns_per_element = 1.0;

typedef struct row_kernel {
  bool largest; /* of arg_max and arg_min */
} row_kernel;

typedef struct state {
  hn_cpu_rows rows;
  int64_t k, grain, worker_longs; /* top_k; of a worker's scratch */
  bool largest, last, exclusive, reverse;
} state;

typedef struct job {
  const state *state;
  const float *x;
  float *values;
  int64_t *indices, *scratch;
} job;

static const char *read_axis(const hone_query *query, int axis, state *s) {
  if (!hn_cpu_is(&query->in[0], HONE_F32, HONE_PLAIN)) return "it is not plain f32";
  if (axis < 0) return "the axis is out of range";
  s->rows = hn_cpu_rows_along(&query->in[0].type.shape, axis);
  const int64_t rows = s->rows.outer * s->rows.inner;
  s->grain = hn_cpu_grain(rows, (double)rows * (double)s->rows.axis * ns_per_element);
  return NULL;
}

/* Is a strictly better than b? */
static bool beats(float a, float b, bool largest) {
  if (isnan(a) || isnan(b)) return largest ? isnan(a) && !isnan(b) : !isnan(a) && isnan(b);
  return largest ? a > b : a < b;
}

/* ---- arg_max, arg_min: here NaN beats everything, whichever is asked for ---- */

static bool beats_or_nan(float a, float b, bool largest) {
  if (isnan(a) || isnan(b)) return isnan(a) && !isnan(b);
  return largest ? a > b : a < b;
}

static const char *plan_arg(const hone_query *query, void *memory, hone_needs *needs) {
  state asked = {0}, *s = memory ? memory : &asked;
  needs->state = sizeof *s;
  HN_TRY_REASON(hn_cpu_check(query, 1, 1, 1));
  HN_TRY_REASON(read_axis(query, hn_cpu_axis(query, "axis", query->in[0].type.shape.rank), s));
  if (!hn_cpu_is(&query->out[0], HONE_I64, HONE_PLAIN)) return "the output is not i64";
  if (s->rows.axis < 1) return "the axis is empty";
  if (hn_elems(&query->out[0].type.shape) != s->rows.outer * s->rows.inner) return "the output has another size";
  s->last = hn_attr_int(query->attrs, "select_last_index") != 0;
  s->largest = ((const row_kernel *)query->tactic->kernel)->largest;
  return NULL;
}

static void arg_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  const state *s = j->state;
  for (int64_t row = begin; row < end; ++row) {
    const float *x = j->x + row / s->rows.inner * s->rows.axis * s->rows.inner + row % s->rows.inner;
    int64_t best = 0;
    for (int64_t i = 1; i < s->rows.axis; ++i) {
      const float at = x[i * s->rows.inner], of = x[best * s->rows.inner];
      if (beats_or_nan(at, of, s->largest) || (s->last && !beats_or_nan(of, at, s->largest))) best = i;
    }
    j->indices[row] = best;
  }
}

static hone_status launch_arg(void *memory, hone_stream *stream, const hone_launch *l) {
  const state *s = memory;
  job j = {.state = s, .x = l->in[0].data, .indices = l->out[0].data};
  hn_pool_run(hn_stream_pool(stream), s->rows.outer * s->rows.inner, s->grain, arg_body, &j);
  return HONE_OK;
}

/* ---- top_k: a heap of the k best, its worst at the root ---- */

static const char *plan_top_k(const hone_query *query, void *memory, hone_needs *needs) {
  state asked = {0}, *s = memory ? memory : &asked;
  HN_TRY_REASON(hn_cpu_check(query, 2, 2, 2));
  const int rank = query->in[0].type.shape.rank, axis = hn_cpu_axis(query, "axis", rank);
  HN_TRY_REASON(read_axis(query, axis, s));
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
  for (int64_t i = s->k; i < s->rows.axis; ++i) {
    if (!comes_before(j, x, i, heap[0])) continue;
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

/* ---- cum_sum, in double as a long row's error would grow with its length ---- */

static const char *plan_cum_sum(const hone_query *query, void *memory, hone_needs *needs) {
  state asked = {0}, *s = memory ? memory : &asked;
  needs->state = sizeof *s;
  HN_TRY_REASON(hn_cpu_check(query, 2, 2, 1));
  const hone_tensor *axis = query->in[1].constant;
  const int rank = query->in[0].type.shape.rank;
  if (!axis || hn_elems(&axis->type.shape) != 1 || !hn_dtype_is_int(axis->type.dtype)) return "the axis is not known";
  const int64_t given = hn_int(axis, 0);
  HN_TRY_REASON(read_axis(query, given < -rank || given >= rank ? -1 : (int)(given < 0 ? given + rank : given), s));
  if (!hn_cpu_is(&query->out[0], HONE_F32, HONE_PLAIN) ||
      !hn_shape_equal(&query->in[0].type.shape, &query->out[0].type.shape))
    return "the output has another type";
  s->exclusive = hn_attr_int(query->attrs, "exclusive") != 0;
  s->reverse = hn_attr_int(query->attrs, "reverse") != 0;
  return NULL;
}

static void cum_sum_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  const state *s = j->state;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t first = row / s->rows.inner * s->rows.axis * s->rows.inner + row % s->rows.inner;
    double sum = 0;
    for (int64_t i = 0; i < s->rows.axis; ++i) {
      const int64_t at = first + (s->reverse ? s->rows.axis - 1 - i : i) * s->rows.inner;
      const double before = sum;
      sum += (double)j->x[at];
      j->values[at] = (float)(s->exclusive ? before : sum);
    }
  }
}

static hone_status launch_cum_sum(void *memory, hone_stream *stream, const hone_launch *l) {
  const state *s = memory;
  job j = {.state = s, .x = l->in[0].data, .values = l->out[0].data};
  if (s->rows.axis > 0) hn_pool_run(hn_stream_pool(stream), s->rows.outer * s->rows.inner, s->grain, cum_sum_body, &j);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_arg_topk[] = {
    {sizeof(hone_tactic), .name = "cpu.arg_max.f32.c", .version = 1, .op = "arg_max", .flags = HONE_TACTIC_REPEATABLE,
     .plan = plan_arg, .launch = launch_arg, .kernel = &(const row_kernel){.largest = true}},
    {sizeof(hone_tactic), .name = "cpu.arg_min.f32.c", .version = 1, .op = "arg_min", .flags = HONE_TACTIC_REPEATABLE,
     .plan = plan_arg, .launch = launch_arg, .kernel = &(const row_kernel){.largest = false}},
    {sizeof(hone_tactic), .name = "cpu.top_k.f32.c", .version = 1, .op = "top_k", .flags = HONE_TACTIC_REPEATABLE,
     .plan = plan_top_k, .launch = launch_top_k},
    {sizeof(hone_tactic), .name = "cpu.cum_sum.f32.c", .version = 1, .op = "cum_sum", .flags = HONE_TACTIC_REPEATABLE,
     .plan = plan_cum_sum, .launch = launch_cum_sum},
    {0}};
