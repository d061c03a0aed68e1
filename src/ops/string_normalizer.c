/* SPDX-License-Identifier: Apache-2.0 */
/* string_normalizer.c - texts without stop words, in lower or upper case. Of letters: ASCII, Latin-1, Greek and
 * Cyrillic, whatever the locale. Of rank 1, or [1, texts]; where none is left, one empty text is. */
#include "ops/common_move.h"
#include <string.h>

typedef enum letters { AS_THEY_ARE, LOWER, UPPER } letters;

/* How far the lower case lies behind the upper one of a letter of two bytes (U+0080 to U+07FF); 0: no such letter. */
static int distance(int code, letters to) {
  static const struct {
    int first, last, distance;
  } upper[] = {{0xc0, 0xd6, 32},   {0xd8, 0xde, 32},   {0x391, 0x3a1, 32},
               {0x3a3, 0x3a9, 32}, {0x400, 0x40f, 80}, {0x410, 0x42f, 32}};
  for (size_t i = 0; i < HN_COUNT(upper); ++i) {
    const int shift = to == LOWER ? 0 : upper[i].distance;
    if (code >= upper[i].first + shift && code <= upper[i].last + shift)
      return to == LOWER ? upper[i].distance : -upper[i].distance;
  }
  return 0;
}

/* The byte, or two bytes, at a place in the other case. */
static size_t convert(const char *from, size_t left, letters to, char *out) {
  const unsigned char c = (unsigned char)from[0];
  if (c < 0x80 || left < 2 || (c & 0xe0) != 0xc0) {
    out[0] = to == LOWER && c >= 'A' && c <= 'Z'   ? (char)(c + 32)
             : to == UPPER && c >= 'a' && c <= 'z' ? (char)(c - 32)
                                                   : from[0];
    return 1;
  }
  int code = (c & 0x1f) << 6 | ((unsigned char)from[1] & 0x3f);
  if (to != AS_THEY_ARE) code += distance(code, to);
  out[0] = (char)(0xc0 | code >> 6);
  out[1] = (char)(0x80 | (code & 0x3f));
  return 2;
}

static bool same(const hone_string *text, const char *word, bool cased) {
  if (text->length != strlen(word)) return false;
  for (size_t i = 0; i < text->length;) {
    char a[2], b[2];
    const size_t bytes = convert(text->data + i, text->length - i, cased ? AS_THEY_ARE : LOWER, a);
    if (convert(word + i, text->length - i, cased ? AS_THEY_ARE : LOWER, b) != bytes || memcmp(a, b, bytes) != 0)
      return false;
    i += bytes;
  }
  return true;
}

static bool is_stop_word(const hone_attrs *attrs, const hone_string *text) {
  const hone_attr *words = hn_attr_find(attrs, "stopwords");
  for (int64_t i = 0; words && i < words->count; ++i)
    if (same(text, words->strings[i], hn_attr_int(attrs, "is_case_sensitive") != 0)) return true;
  return false;
}

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  const char *action = hn_attr_text(infer->attrs, "case_change_action");
  if (strcmp(action, "NONE") != 0 && strcmp(action, "LOWER") != 0 && strcmp(action, "UPPER") != 0)
    return HN_INFER_FAIL(infer, "case_change_action is \"%.20s\"; allowed are LOWER, UPPER and NONE", action);
  if (rank < 0) return HONE_OK;
  if (rank < 1 || rank > 2) return HN_INFER_FAIL(infer, "its input has rank %d; it must be 1 or 2", rank);
  if (rank == 2 && !HONE_SYMBOLIC(hn_in_shape(infer, 0)->dim[0]) && hn_in_shape(infer, 0)->dim[0] != 1)
    return HN_INFER_FAIL(infer, "its input has %lld rows; it must have one", (long long)hn_in_shape(infer, 0)->dim[0]);
  const int64_t left = hn_dim_fresh(infer->dims, "texts", true, INT64_MAX);
  hn_out_shape(infer, 0, rank, rank == 1 ? (int64_t[]){left} : (int64_t[]){1, left});
  return HONE_OK;
}

static hone_status write(hone_eval *eval, const hone_string *text, letters to, hone_string *out) {
  char *copy = eval->keep ? eval->keep(eval, text->length + 1) : NULL;
  if (!copy) return HN_FAIL(eval->diagnostics, HONE_LIMIT, "the heap of the session has no room for its texts");
  for (size_t i = 0; i < text->length;) i += convert(text->data + i, text->length - i, to, copy + i);
  *out = (hone_string){copy, text->length};
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window;
  const hone_string *x = eval->in[0].data;
  const int rank = eval->in[0].type.shape.rank;
  const char *action = hn_attr_text(eval->attrs, "case_change_action");
  const letters to = action[0] == 'L' ? LOWER : action[0] == 'U' ? UPPER : AS_THEY_ARE;
  const int64_t count = hn_elems(&eval->in[0].type.shape);
  int64_t left = 0, at = 0;
  if (rank == 2 && eval->in[0].type.shape.dim[0] != 1)
    return HN_FAIL(eval->diagnostics, HONE_INVALID, "its input has more than one row");
  for (int64_t i = 0; i < count; ++i) left += !is_stop_word(eval->attrs, &x[i]);
  const int64_t dims[2] = {rank == 1 ? (left ? left : 1) : 1, left ? left : 1};
  if (!eval->out[0].data) HN_TRY(eval->resize(eval, 0, rank, dims));
  HN_TRY(hn_eval_expect(eval, 0, rank, dims));
  hone_string *out = eval->out[0].data;
  if (left == 0) out[0] = (hone_string){"", 0};
  for (int64_t i = 0; i < count; ++i)
    if (!is_stop_word(eval->attrs, &x[i])) HN_TRY(write(eval, &x[i], to, &out[at++]));
  return HONE_OK;
}

const hone_op hn_op_string_normalizer = {
    .struct_size = sizeof(hone_op),
    .name = "string_normalizer",
    .doc = "texts without stop words, in one case",
    .in = {{"x", 0, HONE_BIT(HONE_STRING)}},
    .out = {{"y", 0, HONE_BIT(HONE_STRING)}},
    .attr = {HONE_STRING_ATTR("case_change_action", "NONE"), HONE_INT_ATTR("is_case_sensitive", 0),
             HONE_OPTIONAL_ATTR("stopwords", HONE_ATTR_STRINGS)},
    .traits = HONE_AFTER_RUN | HONE_WHOLE,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"StringNormalizer", 10, HONE_LATEST, .drop = "locale"}},
};
