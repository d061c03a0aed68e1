/* SPDX-License-Identifier: Apache-2.0 */
/* copy.h - what the tactics that only move elements share. */
#ifndef HN_BACKEND_CPU_COPY_H
#define HN_BACKEND_CPU_COPY_H

#include "backend/cpu/cpu.h"
#include "kernels/cpu/copy/copy.h"

int hn_cpu_element_bytes(hone_dtype dtype); /* 1, 2, 4 or 8; 0 for what is not moved by whole bytes */
/* NULL when in[0] and all outputs are plain (or of any one format when any_format), of one dtype moved by bytes. */
const char *hn_cpu_check_moves(const hone_query *query, bool any_format);
/* NULL, or why the input is no list of at most room integers. */
/* NULL, or why a row for tensors held in two bytes leaves this one to the row for any type. */
const char *hn_cpu_check_held(const hone_query *query);
const char *hn_cpu_check_list(const hone_query *query, int input, int64_t room);
void hn_cpu_copy(hone_stream *stream, const hn_copy_plan *plan, const void *from, void *to);
/* bytes: read and written, for the grain alone. */
void hn_cpu_cast(hone_stream *stream, hn_cast_fn *kernel, const void *from, void *to, int64_t elements, double bytes);
void hn_cpu_copy_bytes(hone_stream *stream, const void *from, void *to, size_t bytes);
void hn_cpu_fill(hone_stream *stream, void *to, const void *value, int element_bytes, int64_t count);
/* An element of a tensor of indices, i64 or i32. */
static inline int64_t hn_cpu_index_at(const hone_tensor *indices, int64_t at) {
  return indices->type.dtype == HONE_I64 ? ((const int64_t *)indices->data)[at] : ((const int32_t *)indices->data)[at];
}
/* Extents before, along and behind an axis as they lie in memory: along axis 1 of a blocked tensor, channel blocks. */
hn_cpu_rows hn_cpu_stored_rows(const hone_type *type, int axis);

#endif
