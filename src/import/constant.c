/* SPDX-License-Identifier: Apache-2.0 */
/* constant.c - tensors of the model as constants of the graph. Bytes that lie aligned for their type are borrowed from
 * the mapped file; others are copied once, since kernels read through typed pointers. */
#include "import/importer.h"
#include "base/file.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <inttypes.h>
#include <string.h>

static const char *entry_of(const hn_onnx_tensor *tensor, const char *key) {
  const hn_onnx_entry *entries = tensor->external_data.items;
  for (int64_t i = 0; i < tensor->external_data.count; ++i) {
    if (hn_name_equal(entries[i].key, key)) return entries[i].value;
  }
  return NULL;
}

/* A decimal number without sign; `otherwise` when the text is NULL. */
static bool read_number(const char *text, uint64_t otherwise, uint64_t *out) {
  *out = otherwise;
  if (!text) return true;
  uint64_t value = 0;
  if (!*text) return false;
  for (; *text; ++text) {
    if (*text < '0' || *text > '9') return false;
    if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
        __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
      return false;
  }
  *out = value;
  return true;
}

static hone_status open_external(hn_importer *importer, const char *name, hn_external **out) {
  for (int i = 0; i < importer->external_count; ++i) {
    if (hn_name_equal(importer->externals[i].name, name)) {
      *out = &importer->externals[i];
      return HONE_OK;
    }
  }
  if (!hn_arena_grow(&importer->arena, (void **)&importer->externals, &importer->external_capacity,
                     importer->external_count + 1, sizeof(hn_external)))
    return HN_FAIL_MEMORY(importer->diag);
  hn_external *external = &importer->externals[importer->external_count++];
  *external = (hn_external){.name = name};
  *out = external;
  if (!importer->path)
    return HN_FAIL(importer->diag, HONE_UNSUPPORTED, "external data \"%s\", but the model was given without a path",
                   name);
  hn_blob blob;
  HN_TRY(hn_file_map_beside(importer->diag, importer->path, name, importer->context->allow_external_links, &blob));
  const uint8_t *const data = blob.data;
  const size_t bytes = blob.bytes;
  HN_TRY(hn_graph_add_mapping(importer->graph, &blob));
  importer->graph->model_hash = hn_hash_join(importer->graph->model_hash, hn_hash(data, bytes));
  external->data = data;
  external->bytes = bytes;
  return HONE_OK;
}

/* Where an external tensor's bytes are. NULL with OK: its file was already reported. */
static hone_status find_external(hn_importer *importer, const hn_onnx_tensor *tensor, size_t bytes, const void **out) {
  *out = NULL;
  const char *location = entry_of(tensor, "location");
  if (!location) return HN_FAIL(importer->diag, HONE_MALFORMED, "external data without a location");
  uint64_t offset, length;
  if (!read_number(entry_of(tensor, "offset"), 0, &offset) || !read_number(entry_of(tensor, "length"), bytes, &length))
    return HN_FAIL(importer->diag, HONE_MALFORMED, "external data whose offset or length is not a number");
  if (length != bytes)
    return HN_FAIL(importer->diag, HONE_MALFORMED, "external data of %" PRIu64 " bytes, its shape needs %zu", length,
                   bytes);
  hn_external *external = NULL;
  HN_TRY(open_external(importer, location, &external));
  if (!external->data) return HONE_OK;
  if (offset > external->bytes || length > external->bytes - offset)
    return HN_FAIL(importer->diag, HONE_MALFORMED,
                   "external data \"%s\" has %zu bytes, the tensor lies at %" PRIu64 " with %zu", location,
                   external->bytes, offset, bytes);
  *out = external->data + offset;
  return HONE_OK;
}

/* Where the elements are in a file; NULL: they are in one of the message's lists. */
static hone_status find_bytes(hn_importer *importer, const hn_onnx_tensor *tensor, const hone_type *type, size_t bytes,
                              const void **out, bool *out_lost) {
  *out = NULL;
  *out_lost = false;
  if (tensor->data_location != HN_ONNX_EXTERNAL) {
    HN_TRY(hn_onnx_tensor_check(importer->diag, tensor, type));
    if (tensor->has_raw_data && type->dtype != HONE_STRING) *out = bytes > 0 ? (const void *)tensor->raw_data.data : "";
    return HONE_OK;
  }
  if (type->dtype == HONE_STRING) return HN_FAIL(importer->diag, HONE_MALFORMED, "strings cannot be external data");
  HN_TRY(find_external(importer, tensor, bytes, out));
  *out_lost = *out == NULL;
  return HONE_OK;
}

static bool is_aligned(const void *data, hone_dtype dtype) {
  const size_t bytes = hone_dtype_bits(dtype) / 8;
  const size_t alignment = bytes > 8 ? 8 : bytes > 0 ? bytes : 1; /* complex numbers are pairs */
  return (uintptr_t)data % alignment == 0;
}

static hone_tensor view_of(const hone_type *type, const void *data, size_t bytes) {
  hone_tensor tensor = {.type = *type, .bytes = bytes};
  memcpy(&tensor.data, &data, sizeof data); /* a view's data is not const, though nobody writes a constant */
  return tensor;
}

/* Decodes a list into memory that the graph takes. */
static hone_status constant_of_list(hn_importer *importer, const char *name, const hn_onnx_tensor *tensor,
                                    const hone_type *type, size_t bytes, hn_value **out) {
  const hn_allocator *allocator = &importer->context->allocator;
  void *data = hn_alloc(allocator, bytes);
  if (!data) return HN_FAIL_MEMORY(importer->diag);
  hn_onnx_tensor_fill(tensor, type, data);
  const hone_tensor view = view_of(type, data, bytes);
  if (bytes <= 4096 || type->dtype == HONE_STRING) { /* small: the graph's own copy is cheaper than a mapping */
    *out = hn_constant_create(importer->graph, name, &view, false);
    hn_free(allocator, data, bytes);
  } else {
    hn_blob blob = {.data = data, .bytes = bytes, .owned = true, .allocator = *allocator};
    HN_TRY(hn_graph_add_mapping(importer->graph, &blob));
    *out = hn_constant_create(importer->graph, name, &view, true);
  }
  return *out ? HONE_OK : HONE_NO_MEMORY;
}

hone_status hn_import_constant(hn_importer *importer, const char *name, const hn_onnx_tensor *tensor, hn_value **out) {
  *out = &importer->bad;
  hone_type type;
  size_t bytes;
  const void *data;
  bool lost;
  HN_TRY(hn_onnx_tensor_type(importer->diag, tensor, &type, &bytes));
  HN_TRY(find_bytes(importer, tensor, &type, bytes, &data, &lost));
  if (lost) return HONE_OK;
  hn_value *value = NULL;
  if (!data) {
    HN_TRY(constant_of_list(importer, name, tensor, &type, bytes, &value));
  } else {
    const hone_tensor view = view_of(&type, data, bytes);
    value = hn_constant_create(importer->graph, name, &view, is_aligned(data, type.dtype));
  }
  if (!value) return HONE_NO_MEMORY;
  *out = value;
  return HONE_OK;
}

hone_status hn_import_check_given(hn_importer *importer, const hn_onnx_tensor *tensor, const hone_tensor *given) {
  hone_type type;
  size_t bytes;
  HN_TRY_NOTE(importer->diag, hn_onnx_tensor_type(importer->diag, tensor, &type, &bytes), "in initializer \"%s\"",
              tensor->name);
  if (given->type.dtype == type.dtype && hn_shape_equal(&given->type.shape, &type.shape) && given->bytes >= bytes)
    return HONE_OK;
  return HN_FAIL(importer->diag, HONE_INVALID, "initializer \"%s\": the tensor that was given has another type",
                 tensor->name);
}

hone_status hn_import_initializer(hn_importer *importer, const hn_onnx_tensor *tensor, hn_value **out) {
  const hone_named_tensor *given = hn_table_get(&importer->given, tensor->name);
  if (!given) return hn_import_constant(importer, tensor->name, tensor, out);
  *out = &importer->bad;
  hone_type type;
  size_t bytes;
  HN_TRY(hn_onnx_tensor_type(importer->diag, tensor, &type, &bytes));
  const hone_tensor *from = &given->tensor;
  const hone_tensor view = view_of(&type, from->data, bytes);
  hn_value *value = hn_constant_create(importer->graph, tensor->name, &view, is_aligned(from->data, type.dtype));
  if (!value) return HONE_NO_MEMORY;
  importer->graph->model_hash = hn_hash_join(importer->graph->model_hash, hn_hash(from->data, bytes));
  *out = value;
  return HONE_OK;
}

hone_status hn_import_tensor(hn_importer *importer, const hn_onnx_tensor *tensor, hone_tensor *out) {
  hone_type type;
  size_t bytes;
  const void *data;
  bool lost;
  HN_TRY(hn_onnx_tensor_type(importer->diag, tensor, &type, &bytes));
  HN_TRY(find_bytes(importer, tensor, &type, bytes, &data, &lost));
  if (lost) return HN_FAIL(importer->diag, HONE_IO, "its external data could not be read");
  if (!data || !is_aligned(data, type.dtype)) {
    void *copy = hn_arena_alloc(&importer->arena, bytes, 64);
    if (!copy) return HN_FAIL_MEMORY(importer->diag);
    if (data) {
      memcpy(copy, data, bytes);
    } else {
      hn_onnx_tensor_fill(tensor, &type, copy);
    }
    data = copy;
  }
  *out = view_of(&type, data, bytes);
  return HONE_OK;
}

/* The flat place of the i-th value; false when it lies outside. */
static bool sparse_place(const hone_tensor *indices, int64_t i, const hone_shape *shape, int64_t *out) {
  if (indices->type.shape.rank == 1) {
    *out = hn_int(indices, i);
    return *out >= 0 && *out < hn_elems(shape);
  }
  int64_t flat = 0;
  for (int axis = 0; axis < shape->rank; ++axis) {
    const int64_t at = hn_int(indices, i * shape->rank + axis);
    if (at < 0 || at >= shape->dim[axis]) return false;
    flat = flat * shape->dim[axis] + at;
  }
  *out = flat;
  return true;
}

static hone_status check_sparse(hn_importer *importer, const hone_tensor *values, const hone_tensor *indices,
                                const hone_shape *shape) {
  const hone_shape *v = &values->type.shape, *i = &indices->type.shape;
  const bool flat = i->rank == 1 && i->dim[0] == hn_elems(v);
  const bool full = i->rank == 2 && i->dim[0] == hn_elems(v) && i->dim[1] == shape->rank;
  if (v->rank == 1 && indices->type.dtype == HONE_I64 && (flat || full) && hone_dtype_bits(values->type.dtype) >= 8 &&
      values->type.dtype != HONE_STRING)
    return HONE_OK;
  return HN_FAIL(importer->diag, HONE_MALFORMED, "a sparse tensor whose values and indices do not fit together");
}

hone_status hn_import_sparse(hn_importer *importer, const char *name, const hn_onnx_sparse *sparse, hn_value **out) {
  *out = &importer->bad;
  if (!sparse->values || !sparse->indices)
    return HN_FAIL(importer->diag, HONE_MALFORMED, "a sparse tensor without values or indices");
  hn_onnx_tensor shape_only = {.dims = sparse->dims, .data_type = sparse->values->data_type, .name = name};
  hone_type type;
  size_t bytes;
  hone_tensor values, indices;
  HN_TRY(hn_onnx_tensor_type(importer->diag, &shape_only, &type, &bytes));
  HN_TRY(hn_import_tensor(importer, sparse->values, &values));
  HN_TRY(hn_import_tensor(importer, sparse->indices, &indices));
  HN_TRY(check_sparse(importer, &values, &indices, &type.shape));
  if (bytes > (uint64_t)importer->context->limits.max_fold_bytes)
    return HN_FAIL(importer->diag, HONE_LIMIT, "a sparse tensor of %zu bytes when written in full", bytes);
  void *data = hn_arena_zero(&importer->arena, 1, bytes);
  if (!data) return HN_FAIL_MEMORY(importer->diag);
  hone_tensor dense = view_of(&type, data, bytes);
  for (int64_t i = 0; i < hn_elems(&values.type.shape); ++i) {
    int64_t place;
    if (!sparse_place(&indices, i, &type.shape, &place))
      return HN_FAIL(importer->diag, HONE_MALFORMED, "index %" PRId64 " of a sparse tensor lies outside it", i);
    hn_copy_element(&dense, place, &values, i);
  }
  hn_value *value = hn_constant_create(importer->graph, name, &dense, false);
  if (!value) return HONE_NO_MEMORY;
  *out = value;
  return HONE_OK;
}
