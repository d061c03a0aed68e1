/* SPDX-License-Identifier: Apache-2.0 */
/* copy_common.c - what the tactics that only move elements share. */
#include "backend/cpu/copy/copy.h"
#include <string.h>

int hn_cpu_element_bytes(hone_dtype dtype) {
  const size_t bits = hone_dtype_bits(dtype);
  if (dtype == HONE_STRING) return 0;
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? (int)(bits / 8) : 0;
}

const char *hn_cpu_check_moves(const hone_query *query, bool any_format) {
  const hone_type *in = &query->in[0].type;
  if (hn_cpu_element_bytes(in->dtype) == 0) return "its elements are not moved by whole bytes";
  if (!any_format && in->format != HONE_PLAIN) return "it is not plain";
  for (int i = 0; i < query->out_count; ++i) {
    if (query->out[i].type.kind == HONE_ABSENT) return "an output is absent";
    if (query->out[i].type.dtype != in->dtype) return "the output has another type";
    if (query->out[i].type.format != in->format) return "input and output have different formats";
  }
  return NULL;
}

const char *hn_cpu_check_held(const hone_query *query) {
  const hone_dtype dtype = query->in[0].type.dtype;
  if (hn_cpu_held(query->tactic) == HONE_F32 || dtype == HONE_BF16 || dtype == HONE_F16) return NULL;
  return "the row for any type does the same";
}

const char *hn_cpu_check_list(const hone_query *query, int input, int64_t room) {
  const hone_type *type = &query->in[input].type;
  if (type->dtype != HONE_I64 && type->dtype != HONE_I32) return "a list is not of i32 or i64";
  if (type->format != HONE_PLAIN || type->shape.rank > 1 || hn_elems(&type->shape) > room) return "a list is too long";
  return NULL;
}

typedef struct job {
  hn_cast_fn *cast;
  const hn_copy_plan *plan;
  const void *from;
  void *to;
  size_t bytes;
  int element_bytes;
} job;

static void copy_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  hn_copy_c(j->plan, j->from, j->to, begin, end);
}

void hn_cpu_copy(hone_stream *stream, const hn_copy_plan *plan, const void *from, void *to) {
  if (plan->units == 0 || from == to) return;
  job j = {.plan = plan, .from = from, .to = to};
  double bytes = 2.0 * (double)plan->inner * plan->element_bytes;
  for (int d = 0; d < plan->outer_rank; ++d) bytes *= (double)plan->outer_dim[d];
  hn_pool_run(hn_stream_pool(stream), plan->units, hn_cpu_grain(plan->units, bytes * HN_CPU_NS_PER_BYTE), copy_body,
              &j);
}

static void cast_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  j->cast(j->from, j->to, begin, end);
}

void hn_cpu_cast(hone_stream *stream, hn_cast_fn *kernel, const void *from, void *to, int64_t elements, double bytes) {
  if (elements == 0) return;
  job j = {.cast = kernel, .from = from, .to = to};
  hn_pool_run(hn_stream_pool(stream), elements, hn_cpu_grain(elements, bytes * HN_CPU_NS_PER_BYTE), cast_body, &j);
}

enum { PIECE = 16384 };

static void bytes_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  const size_t first = (size_t)begin * PIECE, last = (size_t)end * PIECE < j->bytes ? (size_t)end * PIECE : j->bytes;
  memcpy((char *)j->to + first, (const char *)j->from + first, last - first);
}

void hn_cpu_copy_bytes(hone_stream *stream, const void *from, void *to, size_t bytes) {
  if (from == to || bytes == 0) return;
  job j = {.from = from, .to = to, .bytes = bytes};
  const int64_t pieces = (int64_t)((bytes + PIECE - 1) / PIECE);
  hn_pool_run(hn_stream_pool(stream), pieces, hn_cpu_grain(pieces, 2 * (double)bytes * HN_CPU_NS_PER_BYTE), bytes_body,
              &j);
}

static void fill_body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  hn_fill_c(j->to, j->from, j->element_bytes, begin, end);
}

void hn_cpu_fill(hone_stream *stream, void *to, const void *value, int element_bytes, int64_t count) {
  if (count == 0) return;
  job j = {.from = value, .to = to, .element_bytes = element_bytes};
  hn_pool_run(hn_stream_pool(stream), count, hn_cpu_grain(count, (double)(count * element_bytes) * HN_CPU_NS_PER_BYTE),
              fill_body, &j);
}

hn_cpu_rows hn_cpu_stored_rows(const hone_type *type, int axis) {
  hone_shape shape = type->shape;
  const int block = hn_format_block(type->format);
  if (block > 1) shape.dim[1] = hn_ceil_div(shape.dim[1], block);
  hn_cpu_rows rows = hn_cpu_rows_along(&shape, axis);
  rows.inner *= block;
  return rows;
}
