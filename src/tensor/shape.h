/* SPDX-License-Identifier: Apache-2.0 */
/* shape.h - sizes of shapes and types whose dims are all known numbers, and row-major walks over them. */
#ifndef HN_TENSOR_SHAPE_H
#define HN_TENSOR_SHAPE_H

#include "base/checked.h"
#include "base/diag.h"
#include "base/text.h"
#include <hone/op.h>

/* What one schedule is for: one shape a graph input. */
typedef struct hn_ranges {
  hone_shape *min, *opt, *max;
} hn_ranges;

hone_shape hn_shape(int rank, const int64_t *dims);
bool hn_shape_known(const hone_shape *shape);                  /* rank known and every dim a number >= 0 */
bool hn_shape_equal(const hone_shape *a, const hone_shape *b); /* same rank and same dims (symbolic: same code) */
bool hn_type_equal(const hone_type *a, const hone_type *b);    /* kind, dtype, format, shape */
int64_t hn_elems(const hone_shape *shape);                     /* product; 1 for rank 0. Known shapes only. */
bool hn_elems_checked(const hone_shape *shape, int64_t *out);  /* false when unknown or over INT64_MAX / 64 */
/* Bytes of a tensor of this type in its format: blocked formats count the padded channels, narrow types are packed.
 * false when not known or too large. STRING counts sizeof(hone_string). */
bool hn_type_bytes(const hone_type *type, size_t *out);
/* The same of what a run holds: of sequences and optionals, whose shape says how many elements, sizeof(hone_tensor). */
bool hn_held_bytes(const hone_type *type, size_t *out);
size_t hn_bytes(const hone_type *type);   /* as hn_type_bytes, 0 when not known */
int hn_format_block(hone_format format);  /* channels come in multiples of it: 1, 8, 16, 32, 64 */
int hn_type_block(const hone_type *type); /* of its format and element type: bytes last come in sixteens */
/* A caller's tensor: known type, extents and format, with memory for them. INVALID says what is wrong of `what`. */
hone_status hn_tensor_check(hone_diagnostics *diag, const char *what, const hone_tensor *tensor);
/* May this tensor carry a blocked format: rank >= 3, floats or bytes (u8, i8), and not one pixel of whole blocks (16n
 * channels; 64n of bytes), which is plain. */
bool hn_can_block(const hone_type *type);
/* May it carry this one: bytes lie plain, as HONE_NCHW64C or HONE_NHWC, floats in any format but the
 * second. */
bool hn_takes_format(const hone_type *type, hone_format format);
/* Its bytes are those of this format: it has it, or is a plain tensor that could only be blocked without a change. */
bool hn_reads_as(const hone_type *type, hone_format format);
hone_type hn_tensor_type(hone_dtype dtype, int rank, const int64_t *dims);
hone_tensor hn_tensor_over(hone_dtype dtype, int rank, const int64_t *dims, void *data);

void hn_strides(const hone_shape *shape, int64_t *out); /* row-major, in elements */
/* Strides of `from` seen as if broadcast (numpy rules) to `to`: 0 along broadcast axes. */
void hn_broadcast_strides(const hone_shape *from, const hone_shape *to, int64_t *out);
void hn_unflatten(const hone_shape *shape, int64_t flat, int64_t *index); /* flat -> coordinates */
int64_t hn_flatten(int rank, const int64_t *index, const int64_t *strides);

/* "f32[1,3,224,224]", with symbolic dims by name when dims is given; blocked formats add ":nchw16c". */
void hn_text_shape(hn_text *text, const hone_shape *shape, const hone_dims *dims);
void hn_text_type(hn_text *text, const hone_type *type, const hone_dims *dims);

#endif
