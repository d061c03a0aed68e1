/* SPDX-License-Identifier: Apache-2.0 */
/* range.c - range of f32, i32 and i64 whose length is known when it runs. */
#include "backend/cpu/copy.h"

typedef struct numbers {
  hone_dtype dtype;
  int64_t count;
} numbers;

static const char *plan_range(const hone_query *query, numbers *n) {
  const char *reason = hn_cpu_check(query, 3, 3, 1);
  if (reason) return reason;
  n->dtype = query->out[0].type.dtype;
  if (n->dtype != HONE_F32 && n->dtype != HONE_I32 && n->dtype != HONE_I64) return "it is not of f32, i32 or i64";
  for (int i = 0; i < 3; ++i)
    if (!hn_cpu_is(&query->in[i], n->dtype, HONE_PLAIN) || hn_elems(&query->in[i].type.shape) != 1)
      return "start, limit and delta are not one number each";
  if (query->out[0].type.format != HONE_PLAIN || query->out[0].type.shape.rank != 1)
    return "the output is no plain list";
  n->count = query->out[0].type.shape.dim[0];
  return NULL;
}

/* The extent may come from a damaged file; the numbers only say what the elements are. */
static hone_status launch_range(void *state, hone_stream *stream, const hone_launch *l) {
  (void)stream;
  const numbers *n = state;
  const void *start = l->in[0].data, *delta = l->in[2].data;
  if (n->dtype == HONE_F32) {
    const double first = (double)*(const float *)start, step = (double)*(const float *)delta;
    for (int64_t i = 0; i < n->count; ++i) ((float *)l->out[0].data)[i] = (float)(first + (double)i * step);
  } else if (n->dtype == HONE_I32) {
    const uint32_t first = *(const uint32_t *)start, step = *(const uint32_t *)delta;
    for (int64_t i = 0; i < n->count; ++i) ((uint32_t *)l->out[0].data)[i] = first + (uint32_t)i * step;
  } else {
    const uint64_t first = *(const uint64_t *)start, step = *(const uint64_t *)delta;
    for (int64_t i = 0; i < n->count; ++i) ((uint64_t *)l->out[0].data)[i] = first + (uint64_t)i * step;
  }
  return HONE_OK;
}

HN_CPU_PLANNED_ROW(range, numbers);
