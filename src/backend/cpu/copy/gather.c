/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c - slices along one axis chosen by indices, which are checked before the first is used. */
#include "backend/cpu/copy/copy.h"
#include <string.h>

typedef struct state {
  hn_cpu_rows rows;
  int64_t count, grain;
  size_t run_bytes;
} state;

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  HN_TRY_REASON(hn_cpu_check(query, 2, 2, 1));
  HN_TRY_REASON(hn_cpu_check_moves(query, false));
  const hone_type *data = &query->in[0].type, *indices = &query->in[1].type;
  if ((indices->dtype != HONE_I64 && indices->dtype != HONE_I32) || indices->format != HONE_PLAIN)
    return "the indices are not i32 or i64";
  const int axis = hn_cpu_axis(query, "axis", data->shape.rank);
  if (axis < 0) return "the axis is out of range";
  const hn_cpu_rows rows = hn_cpu_rows_along(&data->shape, axis);
  int64_t elements;
  if (!hn_mul_i64(rows.outer, hn_elems(&indices->shape), &elements) || !hn_mul_i64(elements, rows.inner, &elements) ||
      elements != hn_elems(&query->out[0].type.shape))
    return "the output has another number of elements";
  state *s = memory;
  needs->state = sizeof *s;
  if (!s) return NULL;
  s->rows = rows;
  s->count = hn_elems(&indices->shape);
  s->run_bytes = (size_t)rows.inner * (size_t)hn_cpu_element_bytes(data->dtype);
  const int64_t runs = rows.outer * s->count;
  s->grain = hn_cpu_grain(runs, (double)runs * (4 + 2 * (double)s->run_bytes * HN_CPU_NS_PER_BYTE));
  return NULL;
}

typedef struct job {
  const state *state;
  const hone_tensor *indices;
  const char *from;
  char *to;
} job;

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  const state *s = j->state;
  for (int64_t run = begin; run < end; ++run) {
    int64_t index = hn_cpu_index_at(j->indices, run % s->count);
    if (index < 0) index += s->rows.axis;
    const char *from = j->from + (size_t)(run / s->count * s->rows.axis + index) * s->run_bytes;
    char *to = j->to + (size_t)run * s->run_bytes;
    if (s->run_bytes == 4)
      memcpy(to, from, 4);
    else if (s->run_bytes == 8)
      memcpy(to, from, 8);
    else
      memcpy(to, from, s->run_bytes);
  }
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  job j = {.state = s, .indices = &launch->in[1], .from = launch->in[0].data, .to = launch->out[0].data};
  for (int64_t i = 0; i < s->count; ++i) {
    const int64_t index = hn_cpu_index_at(j.indices, i);
    if (index < -s->rows.axis || index >= s->rows.axis)
      return HN_FAIL(launch->diagnostics, HONE_MALFORMED, "indices[%lld] is %lld; allowed: %lld to %lld", (long long)i,
                     (long long)index, (long long)-s->rows.axis, (long long)s->rows.axis - 1);
  }
  if (s->run_bytes) hn_pool_run(hn_stream_pool(stream), s->rows.outer * s->count, s->grain, body, &j);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_gather[] = {
    {sizeof(hone_tactic), .name = "cpu.gather.any.c", .version = 1, .op = "gather", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_F16_PLAIN, HONE_F16_PLAIN}},
     .plan = plan, .launch = launch},
    {0}};
