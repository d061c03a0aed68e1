/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c - conversion between storages, element by element: [N, C, d...] <-> [N, ceil(C / B), d..., B]. All channels
 * last is one block of them. */
#include "tensor/storage.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <string.h>

/* Points of all channels in turn: where the channels lie side by side, the lines stay in the cache. */
enum { NEAR = 64 };

/* Channels that lie side by side. */
static int64_t lanes_of(const hone_type *type) {
  const int block = hn_type_block(type);
  return type->format == HONE_NHWC ? hn_ceil_div(type->shape.dim[1], block) * block : block;
}

/* Where element (n, c, p) lies, p flat over the dims after the channel. */
static int64_t element_at(int64_t block, int64_t channels, int64_t points, int64_t n, int64_t c, int64_t p) {
  if (block == 1) return (n * channels + c) * points + p;
  const int64_t groups = hn_ceil_div(channels, block);
  return ((n * groups + c / block) * points + p) * block + c % block;
}

static int64_t points_of(const hone_shape *shape) {
  int64_t points = 1;
  for (int i = 2; i < shape->rank; ++i) points *= shape->dim[i];
  return points;
}

/* Same dims, whole-byte elements of one dtype or floats, and room. */
static bool can_convert(const hone_tensor *from, const hone_tensor *to) {
  size_t from_bytes, to_bytes;
  const hone_dtype a = from->type.dtype, b = to->type.dtype;
  const bool is_copy = a == b && from->type.format == HONE_PLAIN && to->type.format == HONE_PLAIN;
  if ((a != b && !(hn_dtype_is_float(a) && hn_dtype_is_float(b))) ||
      (!is_copy && (hone_dtype_bits(a) < 8 || hone_dtype_bits(b) < 8)) ||
      !hn_shape_equal(&from->type.shape, &to->type.shape))
    return false;
  if (!hn_type_bytes(&from->type, &from_bytes) || !hn_type_bytes(&to->type, &to_bytes)) return false;
  return from->bytes >= from_bytes && to->bytes >= to_bytes;
}

/* count elements of two dtypes, steps apart. */
static void round_line(hone_tensor *to, int64_t at, int64_t to_step, const hone_tensor *from, int64_t from_at,
                       int64_t from_step, int64_t count) {
  if (from->type.dtype == HONE_F32 && to->type.dtype == HONE_F16) {
    const float *source = (const float *)from->data + from_at;
    uint16_t *target = (uint16_t *)to->data + at;
    for (int64_t p = 0; p < count; ++p) target[p * to_step] = hn_f16_from_f32(source[p * from_step]);
    return;
  }
  for (int64_t p = 0; p < count; ++p) hn_store_real(to, at + p * to_step, hn_real(from, from_at + p * from_step));
}

/* count elements, from_step and to_step elements apart. */
static void move_line(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t count, size_t size) {
  if (size == 1) {
    for (int64_t p = 0; p < count; ++p) to[p * to_step] = from[p * from_step];
    return;
  }
  if (size == 2) {
    for (int64_t p = 0; p < count; ++p) memcpy(to + p * to_step * 2, from + p * from_step * 2, 2);
    return;
  }
  if (size == 4) {
    for (int64_t p = 0; p < count; ++p) memcpy(to + p * to_step * 4, from + p * from_step * 4, 4);
    return;
  }
  for (int64_t p = 0; p < count; ++p)
    memcpy(to + (size_t)(p * to_step) * size, from + (size_t)(p * from_step) * size, size);
}

bool hn_layout_convert(const hone_tensor *from, hone_tensor *to) {
  const hone_shape *shape = &from->type.shape;
  if (!can_convert(from, to)) return false;
  const bool same = from->type.dtype == to->type.dtype;
  const size_t size = hone_dtype_bits(to->type.dtype) / 8, to_bytes = hn_bytes(&to->type);
  if (from->type.format == to->type.format) {
    if (same)
      memcpy(to->data, from->data, to_bytes);
    else
      round_line(to, 0, 1, from, 0, 1, (int64_t)(to_bytes / size));
    return true;
  }
  if (shape->rank < 2) return false;
  const int64_t points = points_of(shape);
  const int64_t from_block = lanes_of(&from->type), to_block = lanes_of(&to->type);
  memset(to->data, 0, to_bytes);
  for (int64_t n = 0; n < shape->dim[0]; ++n)
    for (int64_t first = 0; first < points; first += NEAR)
      for (int64_t c = 0; c < shape->dim[1]; ++c) {
        const int64_t count = points - first < NEAR ? points - first : NEAR;
        const int64_t a = element_at(from_block, shape->dim[1], points, n, c, first);
        const int64_t b = element_at(to_block, shape->dim[1], points, n, c, first);
        if (same)
          move_line((char *)to->data + (size_t)b * size, to_block, (const char *)from->data + (size_t)a * size,
                    from_block, count, size);
        else
          round_line(to, b, to_block, from, a, from_block, count);
      }
  return true;
}

bool hn_layout_convert_run(const hone_tensor *from, hone_tensor *to, int64_t first, int64_t last) {
  const hone_shape *shape = &from->type.shape;
  if (!can_convert(from, to) || to->type.format != HONE_PLAIN || shape->rank < 2) return false;
  if (hone_dtype_bits(to->type.dtype) < 8) return false;
  const bool same = from->type.dtype == to->type.dtype;
  const size_t size = hone_dtype_bits(to->type.dtype) / 8;
  const int64_t points = points_of(shape), channels = shape->dim[1];
  if (first < 0 || last > hn_elems(shape)) return false;
  const int64_t block = lanes_of(&from->type);
  for (int64_t i = first; i < last; ++i) {
    const int64_t plane = i / points;
    const int64_t a = element_at(block, channels, points, plane / channels, plane % channels, i % points);
    if (same)
      memcpy((char *)to->data + (size_t)i * size, (const char *)from->data + (size_t)a * size, size);
    else
      hn_store_real(to, i, hn_real(from, a));
  }
  return true;
}
