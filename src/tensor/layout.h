/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - the same logical tensor in another storage, for constants and for tests. Not for speed. */
#ifndef HN_TENSOR_LAYOUT_H
#define HN_TENSOR_LAYOUT_H

#include <hone/types.h>

/* Writes `from` into `to`: same dims, any two formats, whole-byte elements of one dtype or any two floats (rounded to
 * nearest); the channel tail becomes zeros. false when dtypes or dims do not fit or the buffers are too small. */
bool hn_layout_convert(const hone_tensor *from, hone_tensor *to);
/* Only the elements [first, last) in plain order; `to` is plain and the rest of it stays as it is. */
bool hn_layout_convert_run(const hone_tensor *from, hone_tensor *to, int64_t first, int64_t last);

#endif
