/* SPDX-License-Identifier: Apache-2.0 */
/* sliding.c - the geometry of windows over two axes (one axis: a plane of one row), from attributes that were checked
 * when the graph was made; pads that auto_pad leaves open follow from the output's extents. */
#include "backend/cuda/conv/sliding.h"
#include <string.h>

static int64_t number(const hone_query *query, const char *name, int at, int64_t otherwise) {
  const hone_attr *attr = hn_cuda_attr(query->attrs, name);
  return attr && attr->kind == HONE_ATTR_INTS && at < attr->count ? attr->ints[at] : otherwise;
}

const char *hn_cuda_sliding(const hone_query *query, const hone_shape *in, const hone_shape *out, const int64_t *kernel,
                            hn_cuda_window *w) {
  const int spatial = in->rank - 2;
  const hone_attr *attr = hn_cuda_attr(query->attrs, "auto_pad");
  const char *automatic = attr && attr->kind == HONE_ATTR_STRING ? attr->s : "NOTSET";
  int64_t v[2][7] = {{1, 1, 1, 1, 1, 0, 0}, {1, 1, 1, 1, 1, 0, 0}}; /* in, out, kernel, stride, dilation, pads */
  if (spatial < 1 || spatial > 2 || out->rank != in->rank) return "its windows have not one or two axes";
  if (hn_cuda_elements(in) > INT32_MAX / 2 || hn_cuda_elements(out) > INT32_MAX / 2 || !hn_cuda_elements(in))
    return "no elements, or more than 30 bits count";
  for (int i = 0; i < spatial; ++i) {
    int64_t *to = v[2 - spatial + i];
    to[0] = in->dim[2 + i];
    to[1] = out->dim[2 + i];
    to[2] = kernel[i];
    to[3] = number(query, "strides", i, 1);
    to[4] = number(query, "dilations", i, 1);
    to[5] = number(query, "pads", i, 0);
    to[6] = number(query, "pads", spatial + i, 0);
    if (strncmp(automatic, "SAME", 4) == 0) {
      const int64_t needed = (to[1] - 1) * to[3] + (to[2] - 1) * to[4] + 1 - to[0], all = needed > 0 ? needed : 0;
      to[5] = strcmp(automatic, "SAME_LOWER") == 0 ? all - all / 2 : all / 2;
      to[6] = all - to[5];
    } else if (strcmp(automatic, "VALID") == 0) {
      to[5] = to[6] = 0;
    }
    for (int k = 0; k < 7; ++k)
      if (to[k] < 0 || to[k] > 1 << 24) return "an extent is out of range";
  }
  *w = (hn_cuda_window){.in_h = (int)v[0][0],
                        .in_w = (int)v[1][0],
                        .out_h = (int)v[0][1],
                        .out_w = (int)v[1][1],
                        .kernel_h = (int)v[0][2],
                        .kernel_w = (int)v[1][2],
                        .stride_h = (int)v[0][3],
                        .stride_w = (int)v[1][3],
                        .dilation_h = (int)v[0][4],
                        .dilation_w = (int)v[1][4],
                        .pad_h = (int)v[0][5],
                        .pad_w = (int)v[1][5],
                        .pad_end_h = (int)v[0][6],
                        .pad_end_w = (int)v[1][6],
                        .channels = (int)out->dim[1],
                        .count = (unsigned)hn_cuda_elements(out)};
  return NULL;
}
