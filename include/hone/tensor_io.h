/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_io.h - tensors in files: .npy (NumPy format 1.0-3.0), .npz and ONNX TensorProto (.pb). */
#ifndef HONE_TENSOR_IO_H
#define HONE_TENSOR_IO_H

#include <hone/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads by content. *out_tensor's memory is the caller's: hone_tensor_free. Strings come as hone_string.
 * Errors: IO, MALFORMED, UNSUPPORTED (a kind of file or element we do not read), NO_MEMORY. */
HONE_API HONE_CHECKED hone_status hone_tensor_read(hone_context *context, const char *path, hone_tensor *out_tensor);
/* A value of a kind and element type: a sequence or an optional from ONNX's SequenceProto or OptionalProto (.pb), in
 * one block; a tensor as above. Free it likewise. */
HONE_API HONE_CHECKED hone_status hone_value_read(hone_context *context, const char *path, const hone_type *type,
                                                  hone_tensor *out_value);
/* The array `name` of an .npz that numpy.savez wrote. INVALID: it has none of that name; UNSUPPORTED: it is compressed.
 */
HONE_API HONE_CHECKED hone_status hone_tensor_read_npz(hone_context *context, const char *path, const char *name,
                                                       hone_tensor *out_tensor);
HONE_API HONE_CHECKED hone_status hone_tensor_write_npy(hone_context *context, const char *path,
                                                        const hone_tensor *tensor);
/* Zeroed memory for a type with known dims. */
HONE_API HONE_CHECKED hone_status hone_tensor_alloc(hone_context *context, const hone_type *type,
                                                    hone_tensor *out_tensor);
HONE_API void hone_tensor_free(hone_context *context, hone_tensor *tensor);

/* One element as a double, whatever the dtype (0 for strings). */
HONE_API double hone_tensor_real(const hone_tensor *tensor, int64_t index);
HONE_API void hone_tensor_set_real(hone_tensor *tensor, int64_t index, double value);
HONE_API int64_t hone_tensor_count(const hone_tensor *tensor);

typedef struct hone_comparison {
  uint32_t struct_size;
  double max_abs, max_rel, rel_l2;
  int64_t worst, mismatches, compared;
} hone_comparison;
/* |a - b| <= atol + rtol |b|; NaN equals NaN; other types exactly. INVALID when types or shapes differ. */
HONE_API HONE_CHECKED hone_status hone_tensor_compare(const hone_tensor *got, const hone_tensor *want, double atol,
                                                      double rtol, hone_comparison *out);

#ifdef __cplusplus
}
#endif
#endif
