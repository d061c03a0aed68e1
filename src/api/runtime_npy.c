/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_npy.c - NumPy's .npy files, versions 1.0 to 3.0. Source: numpy.lib.format.
 * A magic string, a version, the header's length, a Python dict literal with descr, fortran_order and shape, then the
 * elements. Only the literals that NumPy itself writes there are understood. */
#include "api/tensor_files.h"
#include "base/checked.h"
#include "base/context.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct npy_type {
  const char *code; /* without the byte order */
  hone_dtype dtype;
} npy_types[] = {
    {"f4", HONE_F32}, {"f2", HONE_F16},  {"f8", HONE_F64}, {"i1", HONE_I8},    {"i2", HONE_I16},
    {"i4", HONE_I32}, {"i8", HONE_I64},  {"u1", HONE_U8},  {"u2", HONE_U16},   {"u4", HONE_U32},
    {"u8", HONE_U64}, {"b1", HONE_BOOL}, {"c8", HONE_C64}, {"c16", HONE_C128},
};

static const char magic[] = "\x93NUMPY";
enum { MAGIC_BYTES = 6, ALIGNMENT = 64 };

bool hn_is_npy(const hn_blob *file) {
  return file->bytes >= MAGIC_BYTES && memcmp(file->data, magic, MAGIC_BYTES) == 0;
}

typedef struct npy_header {
  hone_type type;
  bool fortran_order, swapped; /* the other byte order than ours */
  size_t data_offset;
} npy_header;

/* ---- the header's text ---- */

typedef struct npy_text {
  hone_diagnostics *diag;
  const char *at, *end;
} npy_text;

static void skip_space(npy_text *t) {
  while (t->at < t->end && (*t->at == ' ' || *t->at == '\n' || *t->at == '\t')) ++t->at;
}

static bool take(npy_text *t, const char *word) {
  skip_space(t);
  const size_t length = strlen(word);
  if ((size_t)(t->end - t->at) < length || memcmp(t->at, word, length) != 0) return false;
  t->at += length;
  return true;
}

static hone_status expect(npy_text *t, const char *word) {
  if (take(t, word)) return HONE_OK;
  return HN_FAIL(t->diag, HONE_MALFORMED, "the header lacks %s", word);
}

static hone_status read_text(npy_text *t, char *out, size_t room) {
  const bool single = take(t, "'");
  if (!single) HN_TRY(expect(t, "\""));
  const char *close = memchr(t->at, single ? '\'' : '"', (size_t)(t->end - t->at));
  if (!close) return HN_FAIL(t->diag, HONE_MALFORMED, "the header has a text that does not end");
  if ((size_t)(close - t->at) >= room)
    return HN_FAIL(t->diag, HONE_MALFORMED, "the header has a text that is too long");
  memcpy(out, t->at, (size_t)(close - t->at));
  out[close - t->at] = 0;
  t->at = close + 1;
  return HONE_OK;
}

static hone_status read_descr(npy_text *t, npy_header *out) {
  char text[32];
  if (take(t, "[")) return HN_FAIL(t->diag, HONE_UNSUPPORTED, "its elements are records");
  HN_TRY(read_text(t, text, sizeof text));
  const bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
  for (size_t i = 0; i < HN_COUNT(npy_types); ++i) {
    if (!strchr("<>=|", text[0]) || strcmp(text + (text[0] != 0), npy_types[i].code) != 0) continue;
    out->type.dtype = npy_types[i].dtype;
    out->swapped = (text[0] == '<' && big) || (text[0] == '>' && !big);
    return HONE_OK;
  }
  return HN_FAIL(t->diag, HONE_UNSUPPORTED, "its elements are of NumPy's type \"%s\"", text);
}

static hone_status read_extent(npy_text *t, int64_t *out) {
  skip_space(t);
  int64_t value = 0;
  const char *const from = t->at;
  for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; ++t->at) {
    if (!hn_mul_i64(value, 10, &value) || !hn_add_i64(value, *t->at - '0', &value))
      return HN_FAIL(t->diag, HONE_MALFORMED, "an extent is out of range");
  }
  if (t->at == from) return HN_FAIL(t->diag, HONE_MALFORMED, "the shape is not a tuple of extents");
  (void)take(t, "L"); /* Python 2 */
  *out = value;
  return HONE_OK;
}

static hone_status read_shape(npy_text *t, hone_shape *out) {
  HN_TRY(expect(t, "("));
  out->rank = 0;
  while (!take(t, ")")) {
    if (out->rank == HONE_MAX_RANK) return HN_FAIL(t->diag, HONE_UNSUPPORTED, "its rank is above %d", HONE_MAX_RANK);
    HN_TRY(read_extent(t, &out->dim[out->rank++]));
    if (!take(t, ",")) {
      HN_TRY(expect(t, ")"));
      break;
    }
  }
  return HONE_OK;
}

static hone_status read_dict(npy_text *t, npy_header *out) {
  enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
  int found = 0;
  HN_TRY(expect(t, "{"));
  while (!take(t, "}")) {
    char key[32];
    HN_TRY(read_text(t, key, sizeof key));
    HN_TRY(expect(t, ":"));
    if (strcmp(key, "descr") == 0) {
      found |= DESCR;
      HN_TRY(read_descr(t, out));
    } else if (strcmp(key, "fortran_order") == 0) {
      found |= ORDER;
      out->fortran_order = take(t, "True");
      if (!out->fortran_order) HN_TRY(expect(t, "False"));
    } else if (strcmp(key, "shape") == 0) {
      found |= SHAPE;
      HN_TRY(read_shape(t, &out->type.shape));
    } else {
      return HN_FAIL(t->diag, HONE_MALFORMED, "the header has an unknown entry \"%s\"", key);
    }
    if (!take(t, ",")) {
      HN_TRY(expect(t, "}"));
      break;
    }
  }
  if (found == (DESCR | ORDER | SHAPE)) return HONE_OK;
  return HN_FAIL(t->diag, HONE_MALFORMED, "the header lacks descr, fortran_order or shape");
}

static hone_status read_header(hone_diagnostics *diag, const hn_blob *file, npy_header *out) {
  *out = (npy_header){.type = {.kind = HONE_TENSOR}};
  const uint8_t *bytes = file->data;
  const int version = file->bytes >= 8 ? bytes[6] : 0;
  const size_t start = version == 1 ? 10 : 12;
  if (version > 3) return HN_FAIL(diag, HONE_UNSUPPORTED, "format version %d; 1 to 3 are read", version);
  if (version < 1 || file->bytes < start) return HN_FAIL(diag, HONE_MALFORMED, "the file ends within its header");
  size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
  if (version > 1) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  if (length > file->bytes - start) return HN_FAIL(diag, HONE_MALFORMED, "the file ends within its header");
  out->data_offset = start + length;
  npy_text text = {.diag = diag, .at = (const char *)bytes + start, .end = (const char *)bytes + start + length};
  return read_dict(&text, out);
}

/* ---- the elements ---- */

static void swap_bytes(hone_tensor *tensor) {
  const hone_dtype dtype = tensor->type.dtype;
  size_t width = hone_dtype_bits(dtype) / 8;
  if (dtype == HONE_C64 || dtype == HONE_C128) width /= 2; /* each half of a complex number */
  uint8_t *bytes = tensor->data;
  for (size_t at = 0; at + width <= tensor->bytes; at += width) {
    for (size_t i = 0; i < width / 2; ++i) {
      const uint8_t held = bytes[at + i];
      bytes[at + i] = bytes[at + width - 1 - i];
      bytes[at + width - 1 - i] = held;
    }
  }
}

/* Column-major elements to row-major places. */
static void copy_fortran(hone_tensor *to, const uint8_t *from) {
  const hone_shape *shape = &to->type.shape;
  const size_t width = hone_dtype_bits(to->type.dtype) / 8;
  int64_t strides[HONE_MAX_RANK], index[HONE_MAX_RANK] = {0};
  hn_strides(shape, strides);
  const int64_t count = hn_elems(shape);
  for (int64_t i = 0; i < count; ++i) {
    memcpy((uint8_t *)to->data + (size_t)hn_flatten(shape->rank, index, strides) * width, from + (size_t)i * width,
           width);
    for (int axis = 0; axis < shape->rank && ++index[axis] == shape->dim[axis]; ++axis) index[axis] = 0;
  }
}

static hone_status read_tensor(hone_context *context, const hn_blob *file, hone_tensor *out) {
  npy_header header;
  HN_TRY(read_header(&context->diag, file, &header));
  size_t bytes;
  if (!hn_type_bytes(&header.type, &bytes) || bytes > file->bytes - header.data_offset)
    return HN_FAIL(&context->diag, HONE_MALFORMED, "%zu bytes of elements, fewer than its shape needs",
                   file->bytes - header.data_offset);
  HN_TRY(hone_tensor_alloc(context, &header.type, out));
  const uint8_t *from = file->data + header.data_offset;
  if (header.fortran_order && header.type.shape.rank > 1) {
    copy_fortran(out, from);
  } else if (bytes > 0) {
    memcpy(out->data, from, bytes);
  }
  if (header.swapped) swap_bytes(out);
  if (header.type.dtype == HONE_BOOL) {
    uint8_t *flags = out->data;
    for (size_t i = 0; i < bytes; ++i) flags[i] = flags[i] != 0;
  }
  return HONE_OK;
}

hone_status hn_npy_read(hone_context *context, const char *path, const hn_blob *file, hone_tensor *out) {
  HN_TRY_NOTE(&context->diag, read_tensor(context, file, out), "in %s (.npy)", path);
  return HONE_OK;
}

/* The type to write: NumPy has no narrow or brain floats, which f32 holds exactly, and no integers under a byte. */
static hone_dtype written_dtype(hone_dtype dtype) {
  for (size_t i = 0; i < HN_COUNT(npy_types); ++i) {
    if (npy_types[i].dtype == dtype) return dtype;
  }
  if (hn_dtype_is_float(dtype)) return HONE_F32;
  return hn_dtype_is_unsigned(dtype) ? HONE_U8 : HONE_I8;
}

/* descr: byte order and kind. */
static void header_of(hn_text *text, char order, const char *code, const hone_shape *shape) {
  hn_text_printf(text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order, code);
  for (int i = 0; i < shape->rank; ++i)
    hn_text_printf(text, "%s%" PRId64 "%s", i > 0 ? " " : "", shape->dim[i], i + 1 < shape->rank || i == 0 ? "," : "");
  hn_text_add(text, "), }");
  while ((MAGIC_BYTES + 4 + text->length + 1) % ALIGNMENT != 0 && !text->failed) hn_text_add(text, " ");
  hn_text_add(text, "\n");
}

static void header_text(hn_text *text, hone_dtype dtype, const hone_shape *shape) {
  const char *code = "";
  for (size_t i = 0; i < HN_COUNT(npy_types); ++i) {
    if (npy_types[i].dtype == dtype) code = npy_types[i].code;
  }
  const char order = hone_dtype_bits(dtype) <= 8 ? '|' : __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? '>' : '<';
  header_of(text, order, code, shape);
}

static hone_status write_parts(hone_context *context, const char *path, const hn_text *header, const void *data,
                               size_t bytes) {
  const uint8_t length[4] = {1, 0, (uint8_t)(header->length & 0xff), (uint8_t)(header->length >> 8)};
  hone_diagnostics *diag = &context->diag;
  hn_file_writer writer;
  HN_TRY(hn_file_begin(diag, &writer, path));
  HN_TRY(hn_file_write(diag, &writer, magic, MAGIC_BYTES));
  HN_TRY(hn_file_write(diag, &writer, length, sizeof length));
  HN_TRY(hn_file_write(diag, &writer, header->data, header->length));
  HN_TRY(hn_file_write(diag, &writer, data, bytes));
  return hn_file_commit(diag, &writer);
}

/* The next code point of UTF-8, or U+FFFD for a byte that begins none; moves on. */
static uint32_t next_code(const hone_string *text, size_t *at) {
  const unsigned char *bytes = (const unsigned char *)text->data + *at;
  const size_t left = text->length - *at;
  const size_t count = bytes[0] < 0x80                       ? 1
                       : bytes[0] >= 0xc2 && bytes[0] < 0xe0 ? 2
                       : (bytes[0] & 0xf0) == 0xe0           ? 3
                       : (bytes[0] & 0xf8) == 0xf0           ? 4
                                                             : 0;
  uint32_t code = count == 1 ? bytes[0] : count ? bytes[0] & (0x7fU >> count) : 0;
  for (size_t i = 1; i < count; ++i) {
    if (i >= left || (bytes[i] & 0xc0) != 0x80) {
      ++*at;
      return 0xfffd;
    }
    code = code << 6 | (bytes[i] & 0x3f);
  }
  *at += count ? count : 1;
  return count ? code : 0xfffd;
}

static size_t count_codes(const hone_string *text) {
  size_t count = 0;
  for (size_t at = 0; at < text->length; ++count) (void)next_code(text, &at);
  return count;
}

/* numpy's texts have one length, in UTF-32. */
static hone_status write_texts(hone_context *context, const char *path, const hone_tensor *tensor) {
  const hone_string *texts = tensor->data;
  const int64_t count = hn_elems(&tensor->type.shape);
  size_t most = 1, all;
  for (int64_t i = 0; i < count; ++i)
    if (count_codes(&texts[i]) > most) most = count_codes(&texts[i]);
  if (!hn_mul_size((size_t)count, most * sizeof(uint32_t), &all))
    return HN_FAIL(&context->diag, HONE_LIMIT, "%s: its texts are too long", path);
  uint32_t *codes = hn_alloc_zero(&context->allocator, all ? all : 1);
  if (!codes) return HN_FAIL_MEMORY(&context->diag);
  for (int64_t i = 0; i < count; ++i) {
    uint32_t *to = codes + (size_t)i * most;
    for (size_t at = 0; at < texts[i].length;) *to++ = next_code(&texts[i], &at);
  }
  hn_text header;
  char code[32];
  hn_text_init(&header, context->allocator);
  (void)snprintf(code, sizeof code, "U%zu", most);
  header_of(&header, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? '>' : '<', code, &tensor->type.shape);
  const hone_status status =
      header.failed ? HN_FAIL_MEMORY(&context->diag) : write_parts(context, path, &header, codes, all);
  hn_text_deinit(&header);
  hn_free(&context->allocator, codes, all ? all : 1);
  return status;
}

hone_status hn_npy_write(hone_context *context, const char *path, const hone_tensor *tensor) {
  if (tensor->type.dtype == HONE_STRING) return write_texts(context, path, tensor);
  const hone_dtype dtype = written_dtype(tensor->type.dtype);
  hone_tensor converted = *tensor;
  if (dtype != tensor->type.dtype) {
    hone_type type = tensor->type;
    type.dtype = dtype;
    HN_TRY(hone_tensor_alloc(context, &type, &converted));
    const int64_t count = hn_elems(&type.shape);
    for (int64_t i = 0; i < count; ++i) hn_store_real(&converted, i, hn_real(tensor, i));
  }
  hn_text header;
  hn_text_init(&header, context->allocator);
  header_text(&header, dtype, &tensor->type.shape);
  const hone_status status = header.failed
                                 ? HN_FAIL_MEMORY(&context->diag)
                                 : write_parts(context, path, &header, converted.data, hn_bytes(&converted.type));
  hn_text_deinit(&header);
  if (converted.data != tensor->data) hone_tensor_free(context, &converted);
  return status;
}
