/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_tensor_io.c - tensors that the caller owns: made, read from files, looked at, compared. */
#include "api/tensor_files.h"
#include "base/arguments.h"
#include "base/context.h"
#include "tensor/element.h"
#include "tensor/shape.h"

hone_status hone_tensor_alloc(hone_context *context, const hone_type *type, hone_tensor *out_tensor) {
  if (out_tensor) *out_tensor = (hone_tensor){0};
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, type);
  HN_GIVEN(&context->diag, out_tensor);
  size_t bytes;
  if ((unsigned)type->format >= HONE_FORMAT_COUNT || type->kind != HONE_TENSOR || type->dtype <= HONE_NONE ||
      type->dtype >= HONE_DTYPE_COUNT || !hn_type_bytes(type, &bytes))
    return HN_FAIL(&context->diag, HONE_INVALID, "a tensor needs an element type and known extents");
  void *data = hn_alloc_zero(&context->allocator, bytes);
  if (!data) return HN_FAIL(&context->diag, HONE_NO_MEMORY, "no memory for a tensor of %zu bytes", bytes);
  *out_tensor = (hone_tensor){.type = *type, .data = data, .bytes = bytes};
  return HONE_OK;
}

void hone_tensor_free(hone_context *context, hone_tensor *tensor) {
  if (!tensor || !context) return;
  hn_free(&context->allocator, tensor->data, tensor->bytes);
  *tensor = (hone_tensor){0};
}

/* A number that is there. */
static bool has_number(const hone_tensor *tensor, int64_t index) {
  const size_t bits = tensor && tensor->data ? hone_dtype_bits(tensor->type.dtype) : 0;
  if (bits == 0 || tensor->type.dtype == HONE_STRING || index < 0) return false;
  const size_t per_byte = bits < 8 ? 8 / bits : 1, width = bits < 8 ? 1 : bits / 8;
  return (uint64_t)index / per_byte < tensor->bytes / width;
}

double hone_tensor_real(const hone_tensor *tensor, int64_t index) {
  return has_number(tensor, index) ? hn_real(tensor, index) : 0;
}

void hone_tensor_set_real(hone_tensor *tensor, int64_t index, double value) {
  if (has_number(tensor, index)) hn_store_real(tensor, index, value);
}

int64_t hone_tensor_count(const hone_tensor *tensor) {
  int64_t count;
  return tensor && hn_elems_checked(&tensor->type.shape, &count) ? count : 0;
}

hone_status hone_tensor_compare(const hone_tensor *got, const hone_tensor *want, double atol, double rtol,
                                hone_comparison *out) {
  hone_comparison by = {.worst = -1};
  HN_RESULT(NULL, out, hone_comparison, compared);
  hn_result_give(&by, out);
  HN_TRY(hn_argument_real(NULL, "atol", atol, 0));
  HN_TRY(hn_argument_real(NULL, "rtol", rtol, 0));
  if (hn_tensor_check(NULL, "got", got) != HONE_OK || hn_tensor_check(NULL, "want", want) != HONE_OK ||
      !hn_type_equal(&got->type, &want->type) || got->type.format != HONE_PLAIN || !hn_shape_known(&want->type.shape))
    return HONE_INVALID;
  const hn_error error = hn_compare(got, want, atol, rtol, 0, -1);
  by = (hone_comparison){.max_abs = error.max_abs,
                         .max_rel = error.max_rel,
                         .rel_l2 = error.rel_l2,
                         .worst = error.worst,
                         .mismatches = error.mismatches,
                         .compared = error.compared};
  hn_result_give(&by, out);
  return HONE_OK;
}

hone_status hone_tensor_read(hone_context *context, const char *path, hone_tensor *out_tensor) {
  if (out_tensor) *out_tensor = (hone_tensor){0};
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, path);
  HN_GIVEN(&context->diag, out_tensor);
  hn_blob file;
  HN_TRY(hn_file_map(&context->diag, path, &file));
  const hone_status status = hn_is_npy(&file) ? hn_npy_read(context, path, &file, out_tensor)
                                              : hn_tensor_pb_read(context, path, &file, out_tensor);
  hn_blob_close(&file);
  return status;
}

hone_status hone_tensor_write_npy(hone_context *context, const char *path, const hone_tensor *tensor) {
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, path);
  HN_GIVEN(&context->diag, tensor);
  HN_TRY(hn_tensor_check(&context->diag, path, tensor));
  if (tensor->type.format != HONE_PLAIN)
    return HN_FAIL(&context->diag, HONE_INVALID, "%s: only plain tensors with known extents can be written", path);
  return hn_npy_write(context, path, tensor);
}
