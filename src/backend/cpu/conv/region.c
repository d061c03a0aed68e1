/* SPDX-License-Identifier: Apache-2.0 */
/* region.c - what the tactics of fused chains of convolutions share. */
#include "backend/cpu/conv/region.h"
#include <string.h>

void hn_cpu_region_attrs(const hone_query *query, const char *prefix, int64_t group, hn_region_attrs *out) {
  int count = hn_attrs_behind(query->attrs, prefix, out->items, HN_REGION_ATTRS - 1);
  if (group > 0) out->items[count++] = (hone_attr){.name = "group", .kind = HONE_ATTR_INT, .i = group};
  out->attrs = (hone_attrs){count, out->items};
}

hone_type hn_cpu_region_type(const hone_type *x, int64_t channels, const hn_sliding *sliding) {
  hone_type type = *x;
  type.shape.dim[1] = channels;
  for (int i = 0; sliding && i < sliding->spatial; ++i) type.shape.dim[2 + i] = sliding->out[i];
  return type;
}

const char *hn_cpu_region_read(const hone_query *query, const hn_region_attrs *attrs, const hone_type *x, int weights,
                               int residual, const hone_type *y, hn_conv_f32 *out) {
  enum { CONV_PORTS = 4 };
  hone_fact in[CONV_PORTS] = {{.type = *x}, query->in[weights]};
  const hone_fact made = {.type = *y};
  if (hn_cpu_given(query, weights + 1)) in[2] = query->in[weights + 1];
  if (residual >= 0 && hn_cpu_given(query, residual)) in[3] = query->in[residual];
  const hone_query one = {.op = query->op,
                          .attrs = &attrs->attrs,
                          .in_count = CONV_PORTS,
                          .out_count = 1,
                          .in = in,
                          .out = &made,
                          .facts = query->facts};
  const uint32_t constants = 1u << weights | (hn_cpu_given(query, weights + 1) ? 2u << weights : 0);
  if ((query->constant_mask & constants) != constants) return "weights or biases are not constant";
  return hn_cpu_conv_read(&one, out);
}

int64_t hn_cpu_region_strip_rows(const hone_query *query, int64_t images, int64_t rows) {
  enum { LEAST_ROWS = 14, STRIPS_A_THREAD = 2 };
  const int64_t threads = hn_cpu_threads(query->facts);
  if (threads == 1 || images >= 4 * threads) return rows;
  const int64_t few = hn_ceil_div(rows, threads), many = hn_ceil_div(rows, threads * STRIPS_A_THREAD);
  return hn_cpu_greater(1, many >= LEAST_ROWS ? many : few);
}

void hn_cpu_region_keep(float *planes, int64_t count, int64_t rows, int64_t row, int64_t from, int64_t kept) {
  if (from == 0 || kept <= 0) return;
  for (int64_t plane = 0; plane < count; ++plane, planes += rows * row)
    memmove(planes, planes + from * row, (size_t)(kept * row) * sizeof *planes);
}
