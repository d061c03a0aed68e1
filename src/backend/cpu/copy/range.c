/* SPDX-License-Identifier: Apache-2.0 */
/* range.c - range of f32, i32 and i64 whose length is known when it runs. */
#include "backend/cpu/copy/copy.h"

typedef struct numbers {
  hone_dtype dtype;
  int64_t count;
} numbers;

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  numbers asked = {0}, *n = memory ? memory : &asked;
  needs->state = sizeof *n;
  HN_TRY_REASON(hn_cpu_check(query, 3, 3, 1));
  n->dtype = query->out[0].type.dtype;
  if (n->dtype != HONE_F32 && n->dtype != HONE_I32 && n->dtype != HONE_I64) return "it is not of f32, i32 or i64";
  for (int i = 0; i < 3; ++i)
    if (!hn_cpu_is(&query->in[i], n->dtype, HONE_PLAIN) || hn_elems(&query->in[i].type.shape) != 1)
      return "start, limit and delta are not one number each";
  if (query->out[0].type.format != HONE_PLAIN || query->out[0].type.shape.rank != 1)
    return "the output is not a plain list";
  n->count = query->out[0].type.shape.dim[0];
  return NULL;
}

typedef struct job {
  hone_dtype dtype;
  const void *start, *delta;
  void *out;
} job;

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  if (j->dtype == HONE_F32) {
    const double first = (double)*(const float *)j->start, step = (double)*(const float *)j->delta;
    for (int64_t i = begin; i < end; ++i) ((float *)j->out)[i] = (float)(first + (double)i * step);
  } else if (j->dtype == HONE_I32) {
    const uint32_t first = *(const uint32_t *)j->start, step = *(const uint32_t *)j->delta;
    for (int64_t i = begin; i < end; ++i) ((uint32_t *)j->out)[i] = first + (uint32_t)i * step;
  } else {
    const uint64_t first = *(const uint64_t *)j->start, step = *(const uint64_t *)j->delta;
    for (int64_t i = begin; i < end; ++i) ((uint64_t *)j->out)[i] = first + (uint64_t)i * step;
  }
}

/* The extent may come from a damaged file; the numbers only say what the elements are. */
static hone_status launch(void *state, hone_stream *stream, const hone_launch *l) {
  const numbers *n = state;
  job j = {.dtype = n->dtype, .start = l->in[0].data, .delta = l->in[2].data, .out = l->out[0].data};
  hn_pool_run(hn_stream_pool(stream), n->count, hn_cpu_grain(n->count, (double)n->count), body, &j);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_range[] = {{sizeof(hone_tactic), .name = "cpu.range.any.c", .version = 1,
                                             .op = "range", .flags = HONE_TACTIC_REPEATABLE, .plan = plan,
                                             .launch = launch},
                                            {0}};
