/* SPDX-License-Identifier: Apache-2.0 */
/* elements.c - types and elements to text and back.
 * f32 and f64 are rounded once from decimal; other floats are exact in a double. What a decimal cannot say (a NaN's
 * payload, complex numbers, a bool byte over 1) is written as # and the element's bits. */
#include "ir/elements.h"
#include <math.h>
#include <string.h>

enum { DIM_TEXT_LIMIT = 4096 };

/* The bits of an element of at most 64 bits; narrow ones lie lowest first in their byte. */
static uint64_t get_bits(const hone_tensor *tensor, int64_t at) {
  const size_t bits = hone_dtype_bits(tensor->type.dtype);
  const uint8_t *bytes = tensor->data;
  if (bits < 8) {
    const size_t first = (size_t)at * bits;
    return (uint64_t)(bytes[first / 8] >> first % 8) & ((1u << bits) - 1);
  }
  uint64_t value = 0;
  memcpy(&value, bytes + (size_t)at * (bits / 8), bits / 8); /* little endian, as every supported CPU is */
  return value;
}

static void set_bits(hone_tensor *tensor, int64_t at, uint64_t value) {
  const size_t bits = hone_dtype_bits(tensor->type.dtype);
  uint8_t *bytes = tensor->data;
  if (bits < 8) {
    const size_t first = (size_t)at * bits;
    const unsigned mask = ((1u << bits) - 1) << first % 8;
    bytes[first / 8] = (uint8_t)((bytes[first / 8] & ~mask) | ((unsigned)value << first % 8 & mask));
  } else {
    memcpy(bytes + (size_t)at * (bits / 8), &value, bits / 8);
  }
}

static bool is_complex(hone_dtype dtype) { return dtype == HONE_C64 || dtype == HONE_C128; }

/* Does the decimal of an element give the same bits back? */
static bool reads_back(const hone_tensor *tensor, int64_t at) {
  const hone_dtype dtype = tensor->type.dtype;
  if (is_complex(dtype)) return false;
  if (dtype == HONE_BOOL) return get_bits(tensor, at) <= 1;
  if (!hn_dtype_is_float(dtype)) return true;
  uint64_t storage[2] = {0, 0};
  hone_tensor again = hn_tensor_over(dtype, 0, NULL, storage);
  const double value = hn_real(tensor, at);
  hn_store_real(&again, 0, isnan(value) ? (double)NAN : value);
  return get_bits(&again, 0) == get_bits(tensor, at);
}

static void text_bits(hn_text *text, const hone_tensor *tensor, int64_t at) {
  const size_t bits = hone_dtype_bits(tensor->type.dtype);
  if (bits == 128) {
    uint64_t halves[2];
    memcpy(halves, (const uint8_t *)tensor->data + (size_t)at * sizeof halves, sizeof halves);
    hn_text_printf(text, "#%016llx%016llx", (unsigned long long)halves[0], (unsigned long long)halves[1]);
  } else {
    hn_text_printf(text, "#%0*llx", (int)(bits + 3) / 4, (unsigned long long)get_bits(tensor, at));
  }
}

static void text_element(hn_text *text, const hone_tensor *tensor, int64_t at) {
  const hone_dtype dtype = tensor->type.dtype;
  if (dtype == HONE_STRING) {
    const hone_string *string = (const hone_string *)tensor->data + at;
    hn_text_quoted(text, string->data, string->length);
  } else if (!reads_back(tensor, at)) {
    text_bits(text, tensor, at);
  } else if (dtype == HONE_F32) {
    hn_text_float(text, (float)hn_real(tensor, at));
  } else if (hn_dtype_is_float(dtype)) {
    hn_text_double(text, hn_real(tensor, at));
  } else if (dtype == HONE_U64) {
    hn_text_printf(text, "%llu", (unsigned long long)get_bits(tensor, at));
  } else {
    hn_text_printf(text, "%lld", (long long)hn_int(tensor, at));
  }
}

void hn_text_elements(hn_text *text, const hone_tensor *tensor) {
  const int64_t count = hn_elems(&tensor->type.shape);
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) hn_text_add(text, ", ");
    text_element(text, tensor, i);
  }
}

static hone_status lex_bits(hn_lexer *lexer, hone_tensor *tensor, int64_t at) {
  const size_t bits = hone_dtype_bits(tensor->type.dtype);
  if (lexer->token.length != (bits + 3) / 4)
    return hn_lex_expected(lexer, "as many hexadecimal digits as the type has");
  uint64_t halves[2];
  const int count = bits == 128 ? 2 : 1;
  HN_TRY(hn_lex_take_bits(lexer, halves, count));
  if (count == 2) {
    memcpy((uint8_t *)tensor->data + (size_t)at * sizeof halves, halves, sizeof halves);
  } else {
    set_bits(tensor, at, halves[0]);
  }
  return HONE_OK;
}

static hone_status lex_whole(hn_lexer *lexer, hone_tensor *tensor, int64_t at) {
  const hn_token token = lexer->token;
  int64_t value = 0;
  if (tensor->type.dtype == HONE_U64) {
    uint64_t wide = 0;
    HN_TRY(hn_lex_take_u64(lexer, &wide));
    set_bits(tensor, at, wide);
    return HONE_OK;
  }
  HN_TRY(hn_lex_take_int(lexer, &value));
  hn_store_int(tensor, at, value);
  if (hn_int(tensor, at) == value) return HONE_OK;
  lexer->token = token; /* for the place in the message */
  return hn_lex_expected(lexer, "a number that fits the type");
}

hone_status hn_lex_element(hn_lexer *lexer, hone_tensor *tensor, int64_t at) {
  const hone_dtype dtype = tensor->type.dtype;
  if (dtype == HONE_STRING) {
    hone_string *string = (hone_string *)tensor->data + at;
    if (lexer->token.kind != HN_TOKEN_STRING) return hn_lex_expected(lexer, "quoted text");
    *string = (hone_string){lexer->token.text, lexer->token.length};
    return hn_lex_next(lexer);
  }
  if (lexer->token.kind == HN_TOKEN_BITS) return lex_bits(lexer, tensor, at);
  if (is_complex(dtype)) return hn_lex_expected(lexer, "# and the bits of a complex number");
  if (!hn_dtype_is_float(dtype)) return lex_whole(lexer, tensor, at);
  double value = 0;
  float narrow = 0;
  HN_TRY(hn_lex_take_real(lexer, &value, &narrow));
  hn_store_real(tensor, at, isnan(value) ? (double)NAN : dtype == HONE_F32 ? (double)narrow : value);
  return HONE_OK;
}

hone_status hn_lex_elements(hn_lexer *lexer, const hone_type *type, char close, hone_tensor *out) {
  int64_t count;
  size_t bytes;
  if (type->kind != HONE_TENSOR || !hn_elems_checked(&type->shape, &count) || !hn_type_bytes(type, &bytes))
    return hn_lex_expected(lexer, "the elements of a tensor whose dims are numbers");
  if (count > lexer->end - lexer->token.from) return hn_lex_expected(lexer, "as many elements as the type says");
  *out = (hone_tensor){.type = *type, .bytes = bytes, .data = hn_arena_alloc(lexer->arena, bytes, 64)};
  if (!out->data) return HN_FAIL_MEMORY(lexer->diag);
  memset(out->data, 0, bytes);
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) HN_TRY(hn_lex_take(lexer, ','));
    HN_TRY(hn_lex_element(lexer, out, i));
  }
  return hn_lex_take(lexer, close);
}

/* One dim, as raw text up to the comma or bracket that ends it; at the lexer's position, not its token. */
static hone_status lex_dim(hn_lexer *lexer, hone_dims *dims, int64_t *out) {
  const char *from = lexer->at;
  int depth = 0;
  bool quoted = false;
  for (; lexer->at < lexer->end; ++lexer->at) {
    const char c = *lexer->at;
    if (quoted && c == '\\' && lexer->end - lexer->at > 1) {
      ++lexer->at;
      continue;
    }
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (depth == 0 && (c == ',' || c == ']')) break;
    depth += (c == '(') - (c == ')');
  }
  lexer->token.from = from;
  const size_t length = (size_t)(lexer->at - from);
  if (lexer->at >= lexer->end || length > DIM_TEXT_LIMIT || !hn_dim_parse(dims, from, length, out)) {
    if (dims->failed) return HN_FAIL(lexer->diag, HONE_NO_MEMORY, "no room for more symbolic extents");
    return hn_lex_expected(lexer, "a dim");
  }
  if (*out < 0 && !HONE_SYMBOLIC(*out)) return hn_lex_expected(lexer, "a dim that is not negative");
  return HONE_OK;
}

/* After the opening bracket has become the current token: dims are read raw behind it. */
static hone_status lex_shape(hn_lexer *lexer, hone_dims *dims, hone_shape *out) {
  if (!hn_lex_is(lexer, '[')) return hn_lex_expected(lexer, "'[' of a shape");
  *out = (hone_shape){.rank = 0};
  if (lexer->end - lexer->at >= 2 && lexer->at[0] == '*' && lexer->at[1] == ']') {
    out->rank = -1;
    lexer->at += 2;
    return hn_lex_next(lexer);
  }
  if (lexer->at < lexer->end && *lexer->at == ']') {
    ++lexer->at;
    return hn_lex_next(lexer);
  }
  for (;;) {
    if (out->rank == HONE_MAX_RANK) return hn_lex_expected(lexer, "at most 8 dims");
    HN_TRY(lex_dim(lexer, dims, &out->dim[out->rank]));
    ++out->rank;
    if (*lexer->at++ == ']') return hn_lex_next(lexer);
  }
}

static hone_status lex_tensor_type(hn_lexer *lexer, hone_dims *dims, hone_type *out) {
  out->dtype = lexer->token.kind == HN_TOKEN_WORD ? hone_dtype_find(lexer->token.text) : HONE_NONE;
  if (out->dtype == HONE_NONE) return hn_lex_expected(lexer, "a type");
  HN_TRY(hn_lex_next(lexer));
  return lex_shape(lexer, dims, &out->shape);
}

hone_status hn_lex_type(hn_lexer *lexer, hone_dims *dims, hone_type *out) {
  *out = (hone_type){.kind = HONE_TENSOR, .shape = {.rank = -1}};
  if (hn_lex_is_word(lexer, "absent")) {
    out->kind = HONE_ABSENT;
    return hn_lex_next(lexer);
  }
  const bool sequence = hn_lex_is_word(lexer, "sequence");
  const bool both = hn_lex_is_word(lexer, "optional_sequence");
  if (!sequence && !both && !hn_lex_is_word(lexer, "optional")) return lex_tensor_type(lexer, dims, out);
  out->kind = sequence ? HONE_SEQUENCE : both ? HONE_OPTIONAL_SEQUENCE : HONE_OPTIONAL;
  HN_TRY(hn_lex_next(lexer));
  HN_TRY(hn_lex_take(lexer, '('));
  HN_TRY(lex_tensor_type(lexer, dims, out));
  return hn_lex_take(lexer, ')');
}
