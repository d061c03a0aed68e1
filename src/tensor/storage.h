/* SPDX-License-Identifier: Apache-2.0 */
/* storage.h - how a value lies between two steps: element type and format, chosen by the tuner (hone/types.h). */
#ifndef HN_TENSOR_STORAGE_H
#define HN_TENSOR_STORAGE_H

#include <hone/types.h>

hone_format hn_storage_format(hone_storage storage);
hone_dtype hn_storage_dtype(hone_storage storage); /* NONE: the value's own */
/* "plain", "nchw16c", "f16", "f16:nchw16c": part of locks, ledgers and timing caches. Never NULL. */
const char *hn_storage_name(hone_storage storage);
/* What a tensor of this type, as the graph has it, can take of a storage; and its type when it lies so. */
hone_storage hn_storage_fit(const hone_type *type, hone_storage wanted);
hone_type hn_stored_type(const hone_type *type, hone_storage storage);
/* One step turns the one into the other; else the way leads over HONE_PLAIN. */
bool hn_storage_is_direct(hone_storage from, hone_storage to);

/* Of two types that hold values (NONE: their own) the one that rounds more. */
static inline hone_dtype hn_storage_wider_error(hone_dtype a, hone_dtype b) {
  return a == HONE_BF16 || b == HONE_NONE ? a : b;
}

#endif
