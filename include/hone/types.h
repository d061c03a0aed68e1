/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - element types, formats, shapes, tensors and attributes: the nouns that every row reads. */
#ifndef HONE_TYPES_H
#define HONE_TYPES_H

#include <hone/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_MAX_RANK 8

/* Element types. The numbers are stored in engines and never change. */
typedef enum hone_dtype {
  HONE_NONE = 0,
  HONE_F32 = 1,
  HONE_F16 = 2,
  HONE_BF16 = 3,
  HONE_F64 = 4,
  HONE_I8 = 5,
  HONE_I16 = 6,
  HONE_I32 = 7,
  HONE_I64 = 8,
  HONE_U8 = 9,
  HONE_U16 = 10,
  HONE_U32 = 11,
  HONE_U64 = 12,
  HONE_BOOL = 13, /* one byte, 0 or 1 */
  HONE_STRING = 14,
  HONE_F8E4M3FN = 15,
  HONE_F8E4M3FNUZ = 16,
  HONE_F8E5M2 = 17,
  HONE_F8E5M2FNUZ = 18,
  HONE_F8E8M0 = 19,
  HONE_F4E2M1 = 20, /* two elements a byte, the lower nibble first */
  HONE_I4 = 21,
  HONE_U4 = 22,
  HONE_I2 = 23, /* four elements a byte, the lowest bits first */
  HONE_U2 = 24,
  HONE_C64 = 25,
  HONE_C128 = 26,
  HONE_DTYPE_COUNT = 27,
  /* Of arithmetic alone, no tensor has it: what f32 holds is multiplied with ten bits behind the point, and summed in
   * f32. Behind the count, so that no type of a tensor ever has its number. */
  HONE_TF32 = 31
} hone_dtype;

/* Sets of element types, for ports. */
#define HONE_BIT(dtype) (1u << (dtype))
#define HONE_TYPES_FLOAT (HONE_BIT(HONE_F32) | HONE_BIT(HONE_F16) | HONE_BIT(HONE_BF16) | HONE_BIT(HONE_F64))
#define HONE_TYPES_SIGNED (HONE_BIT(HONE_I8) | HONE_BIT(HONE_I16) | HONE_BIT(HONE_I32) | HONE_BIT(HONE_I64))
#define HONE_TYPES_UNSIGNED (HONE_BIT(HONE_U8) | HONE_BIT(HONE_U16) | HONE_BIT(HONE_U32) | HONE_BIT(HONE_U64))
#define HONE_TYPES_INT (HONE_TYPES_SIGNED | HONE_TYPES_UNSIGNED)
#define HONE_TYPES_NUMBER (HONE_TYPES_FLOAT | HONE_TYPES_INT)
#define HONE_TYPES_BOOL HONE_BIT(HONE_BOOL)
#define HONE_TYPES_INDEX (HONE_BIT(HONE_I32) | HONE_BIT(HONE_I64))
#define HONE_TYPES_F8                                                                                                  \
  (HONE_BIT(HONE_F8E4M3FN) | HONE_BIT(HONE_F8E4M3FNUZ) | HONE_BIT(HONE_F8E5M2) | HONE_BIT(HONE_F8E5M2FNUZ) |           \
   HONE_BIT(HONE_F8E8M0))
#define HONE_TYPES_NARROW                                                                                              \
  (HONE_TYPES_F8 | HONE_BIT(HONE_F4E2M1) | HONE_BIT(HONE_I4) | HONE_BIT(HONE_U4) | HONE_BIT(HONE_I2) |                 \
   HONE_BIT(HONE_U2))
#define HONE_TYPES_FIXED (HONE_TYPES_NUMBER | HONE_TYPES_BOOL | HONE_TYPES_NARROW) /* all but strings and complex */
#define HONE_TYPES_ANY (HONE_TYPES_FIXED | HONE_BIT(HONE_STRING) | HONE_BIT(HONE_C64) | HONE_BIT(HONE_C128))

/* How elements lie in memory. Blocked formats group axis 1 by B and put the block last, the tail filled with zeros:
 * logical [N, C, d...] is stored as [N, ceil(C / B), d..., B]. nhwc puts all channels last, up to a multiple of 8:
 * [N, d..., ceil(C / 8) * 8], the tail zeros, too; bytes up to a multiple of 16. */
typedef enum hone_format {
  HONE_PLAIN = 0, /* row-major, ONNX's own order */
  HONE_NCHW16C = 1,
  HONE_NCHW8C = 2,
  HONE_NCHW32C = 3, /* a block is 64 bytes, a cache line: this one of 2-byte types, */
  HONE_NCHW64C = 4, /* this one of bytes */
  HONE_NHWC = 5,
  HONE_FORMAT_COUNT = 6
} hone_format;

/* How a value lies between two steps: element type and format as one number. A hone_format by itself is a storage, too:
 * in the value's own element type. The others hold what is f32 in the graph in a narrower type; f64 is only ever a
 * value's own, and names the rows that take it. */
typedef uint8_t hone_storage;
enum {
  HONE_F16_PLAIN = HONE_FORMAT_COUNT,
  HONE_F16_NCHW32C,
  HONE_F16_NHWC,
  HONE_BF16_PLAIN,
  HONE_BF16_NCHW32C,
  HONE_BF16_NHWC,
  HONE_F64_PLAIN,
  HONE_STORAGE_COUNT
};

/* What a value is. */
typedef enum hone_kind {
  HONE_ABSENT = 0,
  HONE_TENSOR = 1,
  HONE_SEQUENCE = 2,         /* any number of tensors */
  HONE_OPTIONAL = 3,         /* a tensor or none */
  HONE_OPTIONAL_SEQUENCE = 4 /* a sequence or none */
} hone_kind;

/* rank -1: not known. A dim >= 0 is an extent; symbolic dims are coded as hone/op.h says. */
typedef struct hone_shape {
  int32_t rank;
  int64_t dim[HONE_MAX_RANK];
} hone_shape;

/* For a sequence or an optional, dtype and shape are those of its elements. */
typedef struct hone_type {
  hone_kind kind;
  hone_dtype dtype;
  hone_format format;
  hone_shape shape;
} hone_type;

/* A typed view of memory that somebody else owns. Strings are an array of hone_string. A sequence or an optional is an
 * array of hone_tensor, its elements, which nobody changes; its shape is [how many]. */
typedef struct hone_tensor {
  hone_type type; /* all dims known */
  void *data;
  size_t bytes;
} hone_tensor;

typedef struct hone_string {
  const char *data;
  size_t length;
} hone_string;

/* Numbers for an input or an initializer, by its name. */
typedef struct hone_named_tensor {
  const char *name;
  hone_tensor tensor; /* plain, in the host's memory */
} hone_named_tensor;

typedef enum hone_attr_kind {
  HONE_ATTR_NONE = 0,
  HONE_ATTR_INT = 1,
  HONE_ATTR_FLOAT = 2,
  HONE_ATTR_STRING = 3,
  HONE_ATTR_INTS = 4,
  HONE_ATTR_FLOATS = 5,
  HONE_ATTR_STRINGS = 6,
  HONE_ATTR_TENSOR = 7
} hone_attr_kind;

/* One named attribute. count is the number of elements of the list kinds and the length of a string. */
typedef struct hone_attr {
  const char *name;
  hone_attr_kind kind;
  int64_t count;
  union {
    int64_t i;
    double f;
    const char *s;
    const int64_t *ints;
    const double *floats;
    const char *const *strings;
    const hone_tensor *tensor;
  };
} hone_attr;

/* Sorted as the op's row declares them; every attribute with a default is present. */
typedef struct hone_attrs {
  int count;
  const hone_attr *items;
} hone_attrs;

HONE_API const char *hone_dtype_name(hone_dtype dtype);    /* "f32"; static storage */
HONE_API hone_dtype hone_dtype_find(const char *name);     /* HONE_NONE if there is none of that name */
HONE_API size_t hone_dtype_bits(hone_dtype dtype);         /* 0 for NONE */
HONE_API const char *hone_format_name(hone_format format); /* "plain", "nchw16c"; static storage */

#ifdef __cplusplus
}
#endif
#endif
