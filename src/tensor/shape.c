/* SPDX-License-Identifier: Apache-2.0 */
/* shape.c - sizes and strides of known shapes.
 * Invariant: a shape accepted by hn_elems_checked has extents whose product, zeros counted as ones, stays below
 * INT64_MAX / 64, so that no stride and no size in bits overflows later. */
#include "tensor/shape.h"
#include "tensor/dims.h"
#include "tensor/element.h"
#include <assert.h>

hone_shape hn_shape(int rank, const int64_t *dims) {
  assert(rank >= -1 && rank <= HONE_MAX_RANK);
  hone_shape shape = {.rank = rank};
  for (int i = 0; i < rank; ++i) shape.dim[i] = dims[i];
  return shape;
}

bool hn_shape_known(const hone_shape *shape) {
  if (shape->rank < 0 || shape->rank > HONE_MAX_RANK) return false;
  for (int i = 0; i < shape->rank; ++i)
    if (shape->dim[i] < 0) return false;
  return true;
}

bool hn_shape_equal(const hone_shape *a, const hone_shape *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; ++i)
    if (a->dim[i] != b->dim[i]) return false;
  return true;
}

bool hn_type_equal(const hone_type *a, const hone_type *b) {
  return a->kind == b->kind && a->dtype == b->dtype && a->format == b->format && hn_shape_equal(&a->shape, &b->shape);
}

int64_t hn_elems(const hone_shape *shape) {
  uint64_t product = 1;
  for (int i = 0; i < shape->rank; ++i) product *= (uint64_t)shape->dim[i];
  return (int64_t)product;
}

bool hn_elems_checked(const hone_shape *shape, int64_t *out) {
  if (!hn_shape_known(shape)) return false;
  int64_t product = 1;
  bool empty = false;
  for (int i = 0; i < shape->rank; ++i) {
    const int64_t dim = shape->dim[i];
    empty = empty || dim == 0;
    if (!hn_mul_i64(product, dim == 0 ? 1 : dim, &product) || product > INT64_MAX / 64) return false;
  }
  *out = empty ? 0 : product;
  return true;
}

int hn_format_block(hone_format format) {
  switch (format) {
  case HONE_NCHW16C: return 16;
  case HONE_NCHW8C: return 8;
  case HONE_NCHW32C: return 32;
  case HONE_NCHW64C: return 64;
  case HONE_NHWC: return 8;
  default: return 1;
  }
}

static bool is_byte(hone_dtype dtype) { return dtype == HONE_U8 || dtype == HONE_I8; }

int hn_type_block(const hone_type *type) {
  return type->format == HONE_NHWC && is_byte(type->dtype) ? 16 : hn_format_block(type->format);
}

/* One pixel of whole blocks has the same bytes in every format: it is plain, so that it is never converted. */
static bool is_pixel_of_blocks(const hone_type *type) {
  for (int i = 2; i < type->shape.rank; ++i)
    if (type->shape.dim[i] != 1) return false;
  return !HONE_SYMBOLIC(type->shape.dim[1]) && type->shape.dim[1] % (is_byte(type->dtype) ? 64 : 16) == 0;
}

bool hn_can_block(const hone_type *type) {
  return type->kind == HONE_TENSOR && type->shape.rank >= 3 &&
         (hn_dtype_is_float(type->dtype) || is_byte(type->dtype)) && !is_pixel_of_blocks(type);
}

bool hn_takes_format(const hone_type *type, hone_format format) {
  const bool is_for = format == HONE_NHWC || is_byte(type->dtype) == (format == HONE_NCHW64C);
  return format == HONE_PLAIN || (hn_can_block(type) && is_for);
}

bool hn_reads_as(const hone_type *type, hone_format format) {
  if (type->format == format) return true;
  return type->format == HONE_PLAIN && type->shape.rank >= 3 && is_pixel_of_blocks(type) &&
         type->shape.dim[1] % hn_format_block(format) == 0;
}

bool hn_type_bytes(const hone_type *type, size_t *out) {
  const size_t bits = hone_dtype_bits(type->dtype);
  if (type->kind != HONE_TENSOR || bits == 0) return false;
  hone_shape shape = type->shape;
  const int64_t block = hn_type_block(type);
  if (block > 1) {
    if (!hn_shape_known(&shape) || shape.rank < 2) return false;
    int64_t padded;
    if (!hn_add_i64(shape.dim[1], block - 1, &padded)) return false;
    shape.dim[1] = padded / block * block;
  }
  int64_t elems;
  size_t total;
  if (!hn_elems_checked(&shape, &elems) || !hn_mul_size((size_t)elems, bits, &total)) return false;
  *out = total / 8 + (total % 8 != 0);
  return true;
}

size_t hn_bytes(const hone_type *type) {
  size_t bytes;
  return hn_type_bytes(type, &bytes) ? bytes : 0;
}

bool hn_held_bytes(const hone_type *type, size_t *out) {
  int64_t count;
  if (type->kind == HONE_TENSOR) return hn_type_bytes(type, out);
  return hn_elems_checked(&type->shape, &count) && hn_mul_size((size_t)count, sizeof(hone_tensor), out);
}

hone_status hn_tensor_check(hone_diagnostics *diag, const char *what, const hone_tensor *tensor) {
  if (!tensor) return HN_FAIL(diag, HONE_INVALID, "%s: the tensor is NULL", what);
  const hone_type *type = &tensor->type;
  size_t need;
  if (type->kind != HONE_TENSOR || hone_dtype_bits(type->dtype) == 0)
    return HN_FAIL(diag, HONE_INVALID, "%s: its kind is %d and its element type %d: not those of a tensor", what,
                   (int)type->kind, (int)type->dtype);
  if ((unsigned)type->format >= HONE_FORMAT_COUNT)
    return HN_FAIL(diag, HONE_INVALID, "%s: there is no format %d", what, (int)type->format);
  if (!hn_type_bytes(type, &need))
    return HN_FAIL(diag, HONE_INVALID, "%s: its dims must all be numbers, and small enough to count; its rank 0 to %d",
                   what, HONE_MAX_RANK);
  if (tensor->bytes < need || (need > 0 && !tensor->data))
    return HN_FAIL(diag, HONE_INVALID, "%s: its shape needs %zu bytes, and %zu were given", what, need,
                   tensor->data ? tensor->bytes : 0);
  return HONE_OK;
}

hone_type hn_tensor_type(hone_dtype dtype, int rank, const int64_t *dims) {
  return (hone_type){.kind = HONE_TENSOR, .dtype = dtype, .format = HONE_PLAIN, .shape = hn_shape(rank, dims)};
}

hone_tensor hn_tensor_over(hone_dtype dtype, int rank, const int64_t *dims, void *data) {
  const hone_type type = hn_tensor_type(dtype, rank, dims);
  return (hone_tensor){.type = type, .data = data, .bytes = hn_bytes(&type)};
}

void hn_strides(const hone_shape *shape, int64_t *out) {
  uint64_t stride = 1;
  for (int i = shape->rank - 1; i >= 0; --i) {
    out[i] = (int64_t)stride;
    stride *= (uint64_t)shape->dim[i];
  }
}

void hn_broadcast_strides(const hone_shape *from, const hone_shape *to, int64_t *out) {
  int64_t own[HONE_MAX_RANK];
  hn_strides(from, own);
  const int lead = to->rank - from->rank;
  assert(lead >= 0);
  for (int i = 0; i < to->rank; ++i) out[i] = i < lead || from->dim[i - lead] == 1 ? 0 : own[i - lead];
}

void hn_unflatten(const hone_shape *shape, int64_t flat, int64_t *index) {
  for (int i = shape->rank - 1; i >= 0; --i) {
    const int64_t dim = shape->dim[i] > 0 ? shape->dim[i] : 1;
    index[i] = flat % dim;
    flat /= dim;
  }
}

int64_t hn_flatten(int rank, const int64_t *index, const int64_t *strides) {
  int64_t flat = 0;
  for (int i = 0; i < rank; ++i) flat += index[i] * strides[i];
  return flat;
}

void hn_text_shape(hn_text *text, const hone_shape *shape, const hone_dims *dims) {
  if (shape->rank < 0) {
    hn_text_add(text, "[*]");
    return;
  }
  hn_text_add(text, "[");
  for (int i = 0; i < shape->rank; ++i) {
    if (i > 0) hn_text_add(text, ",");
    const int64_t dim = shape->dim[i];
    if (dims)
      hn_text_dim(text, dim, dims);
    else if (HONE_SYMBOLIC(dim))
      hn_text_add(text, "?");
    else
      hn_text_printf(text, "%lld", (long long)dim);
  }
  hn_text_add(text, "]");
}

void hn_text_type(hn_text *text, const hone_type *type, const hone_dims *dims) {
  if (type->kind == HONE_ABSENT) {
    hn_text_add(text, "absent");
    return;
  }
  if (type->kind == HONE_SEQUENCE) hn_text_add(text, "sequence(");
  if (type->kind == HONE_OPTIONAL) hn_text_add(text, "optional(");
  if (type->kind == HONE_OPTIONAL_SEQUENCE) hn_text_add(text, "optional_sequence(");
  hn_text_add(text, hone_dtype_name(type->dtype));
  hn_text_shape(text, &type->shape, dims);
  if (type->format != HONE_PLAIN) hn_text_printf(text, ":%s", hone_format_name(type->format));
  if (type->kind != HONE_TENSOR) hn_text_add(text, ")");
}
