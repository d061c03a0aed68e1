/* SPDX-License-Identifier: Apache-2.0 */
/* sequence.c - reverse_sequence and tensor_scatter: runs of elements moved to places that numbers known at run time
 * decide. */
#include "backend/cpu/copy/copy.h"
#include <string.h>

/* ---- reverse_sequence ---- */

typedef struct backwards {
  int64_t batches, steps, batch_stride, step_stride; /* strides in runs of run_bytes */
  size_t run_bytes;
  int64_t grain;
} backwards;

static const char *plan_reverse_sequence(const hone_query *query, void *memory, hone_needs *needs) {
  backwards asked = {0}, *b = memory ? memory : &asked;
  needs->state = sizeof *b;
  HN_TRY_REASON(hn_cpu_check(query, 2, 2, 1));
  HN_TRY_REASON(hn_cpu_check_moves(query, false));
  const hone_shape *x = &query->in[0].type.shape;
  const int64_t batch = hn_attr_int(query->attrs, "batch_axis"), time = hn_attr_int(query->attrs, "time_axis");
  if (x->rank < 2 || batch + time != 1 || batch * time != 0) return "its axes are not the first two";
  if (!hn_shape_equal(x, &query->out[0].type.shape)) return "the output has another shape";
  if (!hn_cpu_is(&query->in[1], HONE_I64, HONE_PLAIN) || hn_elems(&query->in[1].type.shape) != x->dim[batch])
    return "the lengths are not one i64 for each batch";
  const hn_cpu_rows rows = hn_cpu_rows_along(x, 1);
  *b = (backwards){.batches = x->dim[batch], .steps = x->dim[time]};
  b->batch_stride = batch == 0 ? x->dim[1] : 1;
  b->step_stride = batch == 0 ? 1 : x->dim[1];
  b->run_bytes = (size_t)rows.inner * (size_t)hn_cpu_element_bytes(query->in[0].type.dtype);
  b->grain = hn_cpu_grain(b->batches * b->steps, 2 * (double)hn_bytes(&query->in[0].type) * HN_CPU_NS_PER_BYTE);
  return NULL;
}

typedef struct backwards_job {
  const backwards *plan;
  const char *from;
  char *to;
  const int64_t *lengths;
} backwards_job;

/* A unit is a step of a batch, in the order of the memory that is written. */
static void backwards_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const backwards_job *j = arg;
  const backwards *p = j->plan;
  const bool batch_first = p->step_stride == 1;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t batch = batch_first ? unit / p->steps : unit % p->batches;
    const int64_t step = batch_first ? unit % p->steps : unit / p->batches, length = j->lengths[batch];
    const int64_t from = batch * p->batch_stride + (step < length ? length - 1 - step : step) * p->step_stride;
    memcpy(j->to + (size_t)unit * p->run_bytes, j->from + (size_t)from * p->run_bytes, p->run_bytes);
  }
}

static hone_status launch_reverse_sequence(void *state, hone_stream *stream, const hone_launch *l) {
  const backwards *p = state;
  backwards_job j = {.plan = p, .from = l->in[0].data, .to = l->out[0].data, .lengths = l->in[1].data};
  for (int64_t b = 0; b < p->batches; ++b)
    if (j.lengths[b] < 0 || j.lengths[b] > p->steps)
      return HN_FAIL(l->diagnostics, HONE_INVALID, "a sequence length of %lld is outside [0, %lld]",
                     (long long)j.lengths[b], (long long)p->steps);
  if (p->run_bytes > 0) hn_pool_run(hn_stream_pool(stream), p->batches * p->steps, p->grain, backwards_body, &j);
  return HONE_OK;
}

/* ---- tensor_scatter ---- */

typedef struct update {
  hn_cpu_rows from, to;
  int64_t per_batch; /* outer rows of a batch entry */
  size_t element_bytes;
  bool is_circular, has_places;
} update;

static const char *plan_tensor_scatter(const hone_query *query, void *memory, hone_needs *needs) {
  update asked = {0}, *u = memory ? memory : &asked;
  needs->state = sizeof *u;
  HN_TRY_REASON(hn_cpu_check(query, 2, 3, 1));
  HN_TRY_REASON(hn_cpu_check_moves(query, false));
  const hone_type *cache = &query->in[0].type, *fresh = &query->in[1].type;
  const int axis = hn_cpu_axis(query, "axis", cache->shape.rank);
  if (axis < 1 || fresh->shape.rank != cache->shape.rank || fresh->dtype != cache->dtype ||
      fresh->format != HONE_PLAIN || !hn_shape_equal(&cache->shape, &query->out[0].type.shape))
    return "the update does not fit the cache";
  for (int d = 0; d < cache->shape.rank; ++d)
    if (d == axis ? fresh->shape.dim[d] > cache->shape.dim[d] : fresh->shape.dim[d] != cache->shape.dim[d])
      return "the update does not fit the cache";
  u->from = hn_cpu_rows_along(&fresh->shape, axis);
  u->to = hn_cpu_rows_along(&cache->shape, axis);
  u->per_batch = cache->shape.dim[0] ? u->from.outer / cache->shape.dim[0] : 1;
  u->element_bytes = (size_t)hn_cpu_element_bytes(cache->dtype);
  u->is_circular = hn_name_equal(hn_attr_text(query->attrs, "mode"), "circular");
  u->has_places = hn_cpu_given(query, 2);
  if (u->has_places &&
      (!hn_cpu_is(&query->in[2], HONE_I64, HONE_PLAIN) || hn_elems(&query->in[2].type.shape) != cache->shape.dim[0]))
    return "the places are not one i64 for each batch";
  return NULL;
}

static hone_status launch_tensor_scatter(void *state, hone_stream *stream, const hone_launch *l) {
  const update *u = state;
  if (l->in[0].data != l->out[0].data) hn_cpu_copy_bytes(stream, l->in[0].data, l->out[0].data, l->out[0].bytes);
  const size_t run = (size_t)u->to.inner * u->element_bytes;
  for (int64_t outer = 0; outer < u->from.outer && u->to.axis > 0; ++outer) {
    const int64_t place = u->has_places ? ((const int64_t *)l->in[2].data)[outer / u->per_batch] : 0;
    if (place < 0 || place > (u->is_circular ? INT64_MAX - u->from.axis : u->to.axis - u->from.axis))
      return HN_FAIL(l->diagnostics, HONE_INVALID, "write index %lld leaves the cache", (long long)place);
    const int64_t first = place % u->to.axis, whole = hn_cpu_lesser(u->from.axis, u->to.axis - first);
    char *to = (char *)l->out[0].data + (size_t)(outer * u->to.axis) * run;
    const char *from = (const char *)l->in[1].data + (size_t)(outer * u->from.axis) * run;
    memcpy(to + (size_t)first * run, from, (size_t)whole * run);
    memcpy(to, from + (size_t)whole * run, (size_t)(u->from.axis - whole) * run); /* around the end */
  }
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_sequence[] = {
    {sizeof(hone_tactic), .name = "cpu.reverse_sequence.any.c", .version = 1, .op = "reverse_sequence",
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_reverse_sequence, .launch = launch_reverse_sequence},
    {sizeof(hone_tactic), .name = "cpu.tensor_scatter.any.c", .version = 1, .op = "tensor_scatter",
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan_tensor_scatter, .launch = launch_tensor_scatter, .states = {{0, 0}},
     .state_count = 1},
    {0}};
