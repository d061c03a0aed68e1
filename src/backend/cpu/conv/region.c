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

static bool has_empty_windows(const hn_sliding *s) {
  for (int i = 0; i < s->spatial; ++i)
    if (s->dilation[i] != 1 || s->pad_begin[i] >= s->kernel[i] || s->pad_end[i] >= s->kernel[i]) return true;
  return false;
}

static void read_pool(const hone_query *query, const hn_sliding *s, int block, hn_pool_args *out) {
  const int w = s->spatial - 1, h = w - 1; /* h -1: one row */
  *out = (hn_pool_args){.in_h = 1,
                        .out_h = 1,
                        .kernel_h = 1,
                        .stride_h = 1,
                        .dilation_h = 1,
                        .block = block,
                        .in_d = 1,
                        .out_d = 1,
                        .kernel_d = 1,
                        .stride_d = 1,
                        .dilation_d = 1};
  out->count_include_pad = hn_attr_int(query->attrs, "pool_count_include_pad") != 0;
  out->in_w = s->in[w], out->out_w = s->out[w], out->kernel_w = s->kernel[w];
  out->stride_w = s->stride[w], out->dilation_w = s->dilation[w];
  out->pad_left = s->pad_begin[w], out->pad_right = s->pad_end[w];
  if (h < 0) return;
  out->in_h = s->in[h], out->out_h = s->out[h], out->kernel_h = s->kernel[h];
  out->stride_h = s->stride[h], out->dilation_h = s->dilation[h];
  out->pad_top = s->pad_begin[h], out->pad_bottom = s->pad_end[h];
}

const char *hn_cpu_region_read_pool(const hone_query *query, int block, const hone_type *middle, hn_pool_args *out,
                                    bool *out_averages) {
  enum { LARGEST_WINDOW = 64 };
  hn_region_attrs attrs;
  hn_sliding sliding;
  const int64_t *window;
  const hone_type *y = &query->out[0].type;
  hn_cpu_region_attrs(query, "pool_", 0, &attrs);
  if (hn_attr_ints(&attrs.attrs, "kernel_shape", &window) != middle->shape.rank - 2)
    return "the window has another rank";
  if (hn_sliding_make(NULL, NULL, &attrs.attrs, &middle->shape, window, &sliding) != HONE_OK)
    return "its windows do not fit";
  const hone_type pooled = hn_cpu_region_type(middle, middle->shape.dim[1], &sliding);
  if (!hn_shape_equal(&pooled.shape, &y->shape)) return "the output has another shape";
  for (int i = 0; i < sliding.spatial; ++i)
    if ((sliding.kernel[i] - 1) * sliding.dilation[i] >= LARGEST_WINDOW || sliding.stride[i] > LARGEST_WINDOW)
      return "its windows are too large";
  if (middle->shape.dim[1] % block != 0 && has_empty_windows(&sliding)) return "a window may lie in the padding alone";
  *out_averages = hn_name_equal(hn_attr_text(query->attrs, "pool"), "average");
  read_pool(query, &sliding, block, out);
  return NULL;
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
