/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_tensor_io.c - tensors that the caller owns: made, read from files, looked at, compared. */
#include "api/tensor_files.h"
#include "base/context.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <string.h>

hone_status hone_tensor_alloc(hone_context *context, const hone_type *type, hone_tensor *out_tensor) {
  *out_tensor = (hone_tensor){0};
  size_t bytes;
  if (type->kind != HONE_TENSOR || type->dtype <= HONE_NONE || type->dtype >= HONE_DTYPE_COUNT ||
      !hn_type_bytes(type, &bytes))
    return HN_FAIL(&context->diag, HONE_INVALID, "a tensor needs an element type and known extents");
  void *data = hn_alloc_zero(&context->allocator, bytes);
  if (!data) return HN_FAIL(&context->diag, HONE_NO_MEMORY, "no memory for a tensor of %zu bytes", bytes);
  *out_tensor = (hone_tensor){.type = *type, .data = data, .bytes = bytes};
  return HONE_OK;
}

void hone_tensor_free(hone_context *context, hone_tensor *tensor) {
  if (!tensor) return;
  hn_free(&context->allocator, tensor->data, tensor->bytes);
  *tensor = (hone_tensor){0};
}

double hone_tensor_real(const hone_tensor *tensor, int64_t index) {
  return tensor->type.dtype == HONE_STRING ? 0 : hn_real(tensor, index);
}

void hone_tensor_set_real(hone_tensor *tensor, int64_t index, double value) {
  if (tensor->type.dtype != HONE_STRING) hn_store_real(tensor, index, value);
}

int64_t hone_tensor_count(const hone_tensor *tensor) {
  int64_t count;
  return hn_elems_checked(&tensor->type.shape, &count) ? count : 0;
}

hone_status hone_tensor_compare(const hone_tensor *got, const hone_tensor *want, double atol, double rtol,
                                hone_comparison *out) {
  *out = (hone_comparison){.worst = -1};
  if (!hn_type_equal(&got->type, &want->type) || got->type.format != HONE_PLAIN || !hn_shape_known(&want->type.shape))
    return HONE_INVALID;
  const hn_error error = hn_compare(got, want, atol, rtol, 0, -1);
  *out = (hone_comparison){.max_abs = error.max_abs,
                           .max_rel = error.max_rel,
                           .rel_l2 = error.rel_l2,
                           .worst = error.worst,
                           .mismatches = error.mismatches,
                           .compared = error.compared};
  return HONE_OK;
}

/* What a file is when it is certainly no tensor; NULL otherwise. */
static const char *other_kind(const hn_blob *file) {
  static const struct {
    const char *mark;
    size_t length;
    const char *kind;
  } kinds[] = {
      {"\x89PNG", 4, "a PNG image"}, {"\xff\xd8\xff", 3, "a JPEG image"}, {"PK\x03\x04", 4, "a ZIP archive (.npz?)"},
      {"GIF8", 4, "a GIF image"},    {"RIFF", 4, "a RIFF file"},
  };
  for (size_t i = 0; i < HN_COUNT(kinds); ++i) {
    if (file->bytes >= kinds[i].length && memcmp(file->data, kinds[i].mark, kinds[i].length) == 0) return kinds[i].kind;
  }
  return NULL;
}

hone_status hone_tensor_read(hone_context *context, const char *path, hone_tensor *out_tensor) {
  *out_tensor = (hone_tensor){0};
  hn_blob file;
  HN_TRY(hn_file_map(&context->diag, path, &file));
  const char *other = other_kind(&file);
  hone_status status;
  if (other) {
    status = HN_FAIL(&context->diag, HONE_UNSUPPORTED, "%s: %s, not a tensor (.npy or .pb)", path, other);
  } else if (hn_is_npy(&file)) {
    status = hn_npy_read(context, path, &file, out_tensor);
  } else {
    status = hn_tensor_pb_read(context, path, &file, out_tensor);
  }
  hn_blob_close(&file);
  return status;
}

hone_status hone_tensor_write_npy(hone_context *context, const char *path, const hone_tensor *tensor) {
  if (tensor->type.kind != HONE_TENSOR || tensor->type.format != HONE_PLAIN || !hn_shape_known(&tensor->type.shape) ||
      tensor->bytes < hn_bytes(&tensor->type))
    return HN_FAIL(&context->diag, HONE_INVALID, "%s: only plain tensors with known extents can be written", path);
  return hn_npy_write(context, path, tensor);
}
