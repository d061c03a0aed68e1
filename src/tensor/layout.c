/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c - conversion between formats, element by element: [N, C, d...] <-> [N, ceil(C / B), d..., B]. */
#include "tensor/layout.h"
#include "tensor/shape.h"
#include <string.h>

/* Where element (n, c, p) lies, p flat over the dims after the channel. */
static int64_t element_at(int block, int64_t channels, int64_t points, int64_t n, int64_t c, int64_t p) {
  if (block == 1) return (n * channels + c) * points + p;
  const int64_t groups = hn_ceil_div(channels, block);
  return ((n * groups + c / block) * points + p) * block + c % block;
}

bool hn_layout_convert(const hone_tensor *from, hone_tensor *to) {
  const hone_shape *shape = &from->type.shape;
  const size_t size = hone_dtype_bits(from->type.dtype) / 8;
  size_t from_bytes, to_bytes;
  if (from->type.dtype != to->type.dtype || !hn_shape_equal(shape, &to->type.shape) || size == 0) return false;
  if (!hn_type_bytes(&from->type, &from_bytes) || !hn_type_bytes(&to->type, &to_bytes)) return false;
  if (from->bytes < from_bytes || to->bytes < to_bytes) return false;
  if (from->type.format == to->type.format) {
    memcpy(to->data, from->data, to_bytes);
    return true;
  }
  if (shape->rank < 2) return false;
  int64_t points = 1;
  for (int i = 2; i < shape->rank; ++i) points *= shape->dim[i];
  const int from_block = hn_format_block(from->type.format), to_block = hn_format_block(to->type.format);
  memset(to->data, 0, to_bytes);
  for (int64_t n = 0; n < shape->dim[0]; ++n)
    for (int64_t c = 0; c < shape->dim[1]; ++c)
      for (int64_t p = 0; p < points; ++p) {
        const int64_t a = element_at(from_block, shape->dim[1], points, n, c, p);
        const int64_t b = element_at(to_block, shape->dim[1], points, n, c, p);
        memcpy((char *)to->data + (size_t)b * size, (const char *)from->data + (size_t)a * size, size);
      }
  return true;
}
