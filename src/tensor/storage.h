/* SPDX-License-Identifier: Apache-2.0 */
/* storage.h - how a value lies between two steps: element type and format, chosen by the tuner (hone/types.h); and the
 * way from one to another. */
#ifndef HN_TENSOR_STORAGE_H
#define HN_TENSOR_STORAGE_H

#include <hone/types.h>

hone_format hn_storage_format(hone_storage storage);
hone_dtype hn_storage_dtype(hone_storage storage); /* NONE: the value's own */
/* "plain", "nchw16c", "f16", "f16:nchw32c": part of locks, ledgers and timing caches. Never NULL. */
const char *hn_storage_name(hone_storage storage);
/* The storage of this type and format; false: there is none. */
bool hn_storage_find(hone_dtype dtype, hone_format format, hone_storage *out);
/* What a tensor of this type, as the graph has it, can take of a storage; and its type when it lies so. */
hone_storage hn_storage_fit(const hone_type *type, hone_storage wanted);
hone_type hn_stored_type(const hone_type *type, hone_storage storage);
/* One step turns the one into the other; else the way leads over HONE_PLAIN. */
bool hn_storage_is_direct(hone_storage from, hone_storage to);

/* Of two types that hold values (NONE: their own) the one that rounds more. */
static inline hone_dtype hn_storage_coarser(hone_dtype a, hone_dtype b) {
  return a == HONE_BF16 || b == HONE_NONE ? a : b;
}

/* ---- the same logical tensor in another storage, for constants and for tests; not for speed (layout.c) ---- */
/* Writes `from` into `to`: same dims, any two formats, whole-byte elements of one dtype or any two floats (rounded to
 * nearest); the channel tail becomes zeros. false when dtypes or dims do not fit or the buffers are too small. */
bool hn_layout_convert(const hone_tensor *from, hone_tensor *to);
/* Only the elements [first, last) in plain order; `to` is plain and the rest of it stays as it is. */
bool hn_layout_convert_run(const hone_tensor *from, hone_tensor *to, int64_t first, int64_t last);

#endif
