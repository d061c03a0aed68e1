/* SPDX-License-Identifier: Apache-2.0 */
/* dims_text.c - dims as text and back. sum: [-] product {(+|-) product}; product: factor {* factor};
 * factor: number, name, "quoted name", (sum), floor(product / product), ceil(...), mod(sum, sum), min, max.
 * Quoted are names that are not letters, digits, _ . # with no digit first. */
#include "tensor/dims.h"
#include "base/checked.h"
#include "base/letters.h"
#include <string.h>

enum { MAX_DEPTH = 200, MAX_NAME = 256 };

static bool is_name_char(char c) { return hn_is_digit(c) || hn_is_letter(c) || c == '.' || c == '#'; }

/* ---- writing ---- */

static void text_name(hn_text *text, const char *name) {
  bool plain = name[0] && !hn_is_digit(name[0]);
  for (const char *c = name; *c; ++c) plain = plain && is_name_char(*c);
  if (plain)
    hn_text_add(text, name);
  else
    hn_text_quoted(text, name, strlen(name));
}

static void text_sum(hn_text *text, int64_t dim, const hone_dims *dims);

static void text_call(hn_text *text, const char *name, const hn_dim_node *node, const hone_dims *dims) {
  hn_text_printf(text, "%s(", name);
  text_sum(text, node->a, dims);
  hn_text_add(text, ",");
  text_sum(text, node->b, dims);
  hn_text_add(text, ")");
}

static void text_operand(hn_text *text, int64_t dim, const hone_dims *dims, bool divisor) {
  const hn_dim_node *node = hn_dim_at(dims, dim);
  const bool wrap = node && (node->op == HN_DIM_ADD || (divisor && node->op == HN_DIM_MUL));
  if (wrap) hn_text_add(text, "(");
  text_sum(text, dim, dims);
  if (wrap) hn_text_add(text, ")");
}

static void text_term(hn_text *text, int64_t dim, const hone_dims *dims) {
  const hn_dim_node *node = hn_dim_at(dims, dim);
  if (!node) {
    if (HONE_SYMBOLIC(dim))
      hn_text_add(text, "?");
    else
      hn_text_printf(text, "%lld", (long long)dim);
    return;
  }
  const hn_dim_symbol *symbol = hn_dim_symbol_at(dims, dim, NULL);
  switch (node->op) {
  case HN_DIM_SYMBOL: text_name(text, symbol ? symbol->name : "?"); break;
  case HN_DIM_MUL:
    if (node->a == -1)
      hn_text_add(text, "-");
    else
      text_operand(text, node->a, dims, false);
    if (node->a != -1) hn_text_add(text, "*");
    text_operand(text, node->b, dims, false);
    break;
  case HN_DIM_FLOOR_DIV:
  case HN_DIM_CEIL_DIV:
    hn_text_add(text, node->op == HN_DIM_FLOOR_DIV ? "floor(" : "ceil(");
    text_operand(text, node->a, dims, false);
    hn_text_add(text, "/");
    text_operand(text, node->b, dims, true);
    hn_text_add(text, ")");
    break;
  case HN_DIM_MOD: text_call(text, "mod", node, dims); break;
  case HN_DIM_MIN: text_call(text, "min", node, dims); break;
  case HN_DIM_MAX: text_call(text, "max", node, dims); break;
  default: break;
  }
}

static bool starts_negative(const hone_dims *dims, int64_t term) {
  const hn_dim_node *node = hn_dim_at(dims, term);
  const int64_t number = node && node->op == HN_DIM_MUL ? node->a : node ? 0 : term;
  return number < 0 && !HONE_SYMBOLIC(number);
}

static void text_sum(hn_text *text, int64_t dim, const hone_dims *dims) {
  for (const hn_dim_node *node; (node = hn_dim_at(dims, dim)) && node->op == HN_DIM_ADD; dim = node->b) {
    text_term(text, node->a, dims);
    if (!starts_negative(dims, hn_dim_at(dims, node->b) && hn_dim_at(dims, node->b)->op == HN_DIM_ADD
                                   ? hn_dim_at(dims, node->b)->a
                                   : node->b))
      hn_text_add(text, "+");
  }
  text_term(text, dim, dims);
}

void hn_text_dim(hn_text *text, int64_t dim, const hone_dims *dims) { text_sum(text, dim, dims); }

/* ---- reading ---- */

typedef struct reader {
  hone_dims *dims;
  const char *at, *end;
  int depth;
} reader;

static void skip_spaces(reader *r) {
  while (r->at < r->end && *r->at == ' ') ++r->at;
}

static bool take(reader *r, char c) {
  skip_spaces(r);
  if (r->at == r->end || *r->at != c) return false;
  ++r->at;
  return true;
}

static bool read_sum(reader *r, int64_t *out);

static bool read_number(reader *r, int64_t *out) {
  int64_t value = 0;
  while (r->at < r->end && hn_is_digit(*r->at)) {
    if (!hn_mul_i64(value, 10, &value) || !hn_add_i64(value, *r->at - '0', &value)) return false;
    ++r->at;
  }
  *out = value;
  return true;
}

/* One escape of hn_text_quoted, after its backslash. */
static bool read_escape(reader *r, char *out) {
  if (r->at == r->end) return false;
  const char c = *r->at++;
  static const char letters[] = "ntrbf", bytes[] = "\n\t\r\b\f";
  const char *letter = c ? strchr(letters, c) : NULL;
  *out = letter ? bytes[letter - letters] : c;
  if (c != 'u') return letter || c == '"' || c == '\\' || c == '/';
  int code = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = r->at < r->end ? hn_hex_digit(*r->at++) : -1;
    if (digit < 0) return false;
    code = code * 16 + digit;
  }
  *out = (char)code;
  return code > 0 && code < 128;
}

static bool read_quoted(reader *r, char *name) {
  size_t length = 0;
  ++r->at;
  while (r->at < r->end && *r->at != '"') {
    char c = *r->at++;
    if (c == 0 || (c == '\\' && !read_escape(r, &c)) || length + 1 == MAX_NAME) return false;
    name[length++] = c;
  }
  name[length] = 0;
  return r->at < r->end && *r->at++ == '"';
}

static bool read_product(reader *r, int64_t *out);

/* The arguments of name(, after its parenthesis. */
static bool read_call(reader *r, const char *name, int64_t *out) {
  static const struct {
    const char *name;
    hn_dim_op op;
    char between;
  } calls[] = {{"floor", HN_DIM_FLOOR_DIV, '/'},
               {"ceil", HN_DIM_CEIL_DIV, '/'},
               {"mod", HN_DIM_MOD, ','},
               {"min", HN_DIM_MIN, ','},
               {"max", HN_DIM_MAX, ','}};
  int64_t a, b;
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
    if (strcmp(calls[i].name, name) != 0) continue;
    const bool divides = calls[i].between == '/';
    if (!(divides ? read_product(r, &a) : read_sum(r, &a)) || !take(r, calls[i].between)) return false;
    if (!(divides ? read_product(r, &b) : read_sum(r, &b)) || !take(r, ')')) return false;
    *out = hn_dim_make(r->dims, calls[i].op, a, b);
    return !r->dims->failed;
  }
  return false;
}

static bool read_factor(reader *r, int64_t *out) {
  char name[MAX_NAME];
  skip_spaces(r);
  if (r->at == r->end) return false;
  if (take(r, '(')) return read_sum(r, out) && take(r, ')');
  if (take(r, '-')) { /* "--N" is no number of ours, and would recurse without a bound */
    if (r->at < r->end && *r->at == '-') return false;
    if (!read_factor(r, out)) return false;
    *out = hn_dim_sub(r->dims, 0, *out);
    return !r->dims->failed;
  }
  if (hn_is_digit(*r->at)) return read_number(r, out);
  if (*r->at == '"') {
    if (!read_quoted(r, name)) return false;
  } else {
    size_t length = 0;
    for (; r->at < r->end && is_name_char(*r->at); ++r->at) {
      if (length + 1 == MAX_NAME) return false;
      name[length++] = *r->at;
    }
    name[length] = 0;
    if (length == 0) return false;
    if (take(r, '(')) return read_call(r, name, out);
  }
  *out = hn_dim_named(r->dims, name);
  return !r->dims->failed;
}

static bool read_product(reader *r, int64_t *out) {
  int64_t factor;
  if (++r->depth > MAX_DEPTH || !read_factor(r, out)) return false;
  while (take(r, '*')) {
    if (!read_factor(r, &factor)) return false;
    *out = hn_dim_mul(r->dims, *out, factor);
  }
  --r->depth;
  return !r->dims->failed;
}

static bool read_sum(reader *r, int64_t *out) {
  int64_t term;
  if (!read_product(r, out)) return false;
  while (true) {
    const bool minus = take(r, '-');
    if (!minus && !take(r, '+')) return !r->dims->failed;
    if (!read_product(r, &term)) return false;
    *out = minus ? hn_dim_sub(r->dims, *out, term) : hn_dim_add(r->dims, *out, term);
  }
}

bool hn_dim_parse(hone_dims *dims, const char *text, size_t length, int64_t *out) {
  reader r = {.dims = dims, .at = text, .end = text + length};
  *out = 0;
  if (dims->failed) return false;
  if (read_sum(&r, out)) {
    skip_spaces(&r);
    if (r.at == r.end) return true;
  }
  *out = 0;
  return false;
}
