/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_files.h - the kinds of tensor files, by content. */
#ifndef HN_API_TENSOR_FILES_H
#define HN_API_TENSOR_FILES_H

#include "base/file.h"
#include <hone/tensor_io.h>

bool hn_is_npy(const hn_blob *file);
hone_status hn_npy_read(hone_context *context, const char *path, const hn_blob *file, hone_tensor *out);
hone_status hn_npy_write(hone_context *context, const char *path, const hone_tensor *tensor);
/* A TensorProto; it has no mark of its own, so this is what any other file is taken for. */
hone_status hn_tensor_pb_read(hone_context *context, const char *path, const hn_blob *file, hone_tensor *out);

#endif
