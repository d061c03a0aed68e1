/* SPDX-License-Identifier: Apache-2.0 */
/* expr_parse.c - reads the text of an expression: {name = call ;} call. Allocates nothing; columns count from 1. */
#include "tensor/expr_build.h"
#include "base/letters.h"
#include "tensor/attrs.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64, MAX_NAME = 64 };

typedef struct parser {
  hone_diagnostics *diag;
  const char *text, *at;
  const char *const *names;
  int in_count, depth;
  const hone_attrs *attrs;
  hn_expr *expr;
  char shared[HN_EXPR_MAX_STEPS][MAX_NAME]; /* names given with '=' */
  int shared_at[HN_EXPR_MAX_STEPS], shared_count;
} parser;

static void skip_spaces(parser *p) {
  while (*p->at == ' ' || *p->at == '\n' || *p->at == '\t') ++p->at;
}

static int column(const parser *p, const char *at) { return (int)(at - p->text) + 1; }

static hone_status expected(const parser *p, const char *what) {
  if (*p->at == 0)
    return HN_FAIL(p->diag, HONE_MALFORMED, "column %d: expected %s, but the text ends", column(p, p->at), what);
  return HN_FAIL(p->diag, HONE_MALFORMED, "column %d: expected %s, not '%c'", column(p, p->at), what, *p->at);
}

static hone_status emit(parser *p, hn_expr_step step, int *out) {
  *out = hn_expr_emit(p->expr, step);
  if (*out < 0)
    return HN_FAIL(p->diag, HONE_MALFORMED, "the expression has more than %d instructions", HN_EXPR_MAX_STEPS);
  return HONE_OK;
}

static hone_status emit_number(parser *p, double real, int64_t integer, int *out) {
  return emit(p, (hn_expr_step){.op = HN_EXPR_CONST, .real = real, .integer = integer}, out);
}

static int64_t truncated(double real) { return real > -0x1p63 && real < 0x1p63 ? (int64_t)real : 0; }

static hone_status read_name(parser *p, char *name) {
  const char *start = p->at;
  size_t length = 0;
  for (; hn_is_letter(*p->at) || hn_is_digit(*p->at); ++p->at)
    if (length + 1 < MAX_NAME) name[length++] = *p->at;
  name[length] = 0;
  if (p->at - start >= MAX_NAME)
    return HN_FAIL(p->diag, HONE_MALFORMED, "column %d: a name of %d characters", column(p, start),
                   (int)(p->at - start));
  return HONE_OK;
}

static hone_status read_number(parser *p, int *out) {
  char *real_end, *integer_end;
  errno = 0;
  const int64_t integer = strtoll(p->at, &integer_end, 10);
  const bool fits = errno == 0;
  const double real = strtod(p->at, &real_end);
  if (real_end == p->at) return expected(p, "a number");
  p->at = real_end;
  if (integer_end == real_end && fits && !(integer == 0 && signbit(real)))
    return emit_number(p, (double)integer, integer, out);
  return emit_number(p, real, truncated(real), out);
}

static hone_status read_attribute(parser *p, int *out) {
  const char *start = p->at++;
  char name[MAX_NAME];
  HN_TRY(read_name(p, name));
  const hone_attr *attr = hn_attr_find(p->attrs, name);
  if (attr && attr->kind == HONE_ATTR_INT) return emit_number(p, (double)attr->i, attr->i, out);
  if (attr && attr->kind == HONE_ATTR_FLOAT) return emit_number(p, attr->f, truncated(attr->f), out);
  return HN_FAIL(p->diag, HONE_MALFORMED, "column %d: $%s is not an attribute that is a number", column(p, start),
                 name);
}

static hone_status read_value(parser *p, int *out);

static hone_status read_call(parser *p, const char *name, const char *start, int *out) {
  int op = HN_EXPR_ADD;
  while (op < HN_EXPR_OP_COUNT && strcmp(hn_expr_row_of((hn_expr_op)op)->name, name) != 0) ++op;
  if (op == HN_EXPR_OP_COUNT)
    return HN_FAIL(p->diag, HONE_MALFORMED, "column %d: no function %s", column(p, start), name);
  int operands[3] = {0};
  const int arity = hn_expr_row_of((hn_expr_op)op)->arity;
  ++p->at; /* the parenthesis */
  for (int i = 0; i < arity; ++i) {
    if (i > 0) {
      skip_spaces(p);
      if (*p->at != ',') return expected(p, "','");
      ++p->at;
    }
    HN_TRY(read_value(p, &operands[i]));
  }
  skip_spaces(p);
  if (*p->at != ')') return expected(p, "')'");
  ++p->at;
  return emit(p,
              (hn_expr_step){
                  .op = (uint8_t)op, .a = (uint8_t)operands[0], .b = (uint8_t)operands[1], .c = (uint8_t)operands[2]},
              out);
}

/* The number of an input's name, or -1. */
static int find_input(const parser *p, const char *name) {
  for (int i = 0; p->names && i < p->in_count; ++i)
    if (p->names[i] && strcmp(p->names[i], name) == 0) return i;
  if (p->names || name[0] != 'x' || !hn_is_digit(name[1]) || strlen(name) > 4) return -1;
  char *end;
  const long number = strtol(name + 1, &end, 10);
  return *end == 0 && number < p->in_count ? (int)number : -1;
}

static hone_status read_named(parser *p, int *out) {
  const char *start = p->at;
  char name[MAX_NAME];
  HN_TRY(read_name(p, name));
  skip_spaces(p);
  if (*p->at == '(') return read_call(p, name, start, out);
  for (int i = 0; i < p->shared_count; ++i)
    if (strcmp(p->shared[i], name) == 0) {
      *out = p->shared_at[i];
      return HONE_OK;
    }
  const int input = find_input(p, name);
  if (input >= 0) return emit(p, (hn_expr_step){.op = HN_EXPR_INPUT, .a = (uint8_t)input}, out);
  if (strcmp(name, "inf") == 0) return emit_number(p, (double)INFINITY, 0, out);
  if (strcmp(name, "nan") == 0) return emit_number(p, (double)NAN, 0, out);
  return HN_FAIL(p->diag, HONE_MALFORMED, "column %d: %s is not one of the %d inputs", column(p, start), name,
                 p->in_count);
}

static hone_status read_value(parser *p, int *out) {
  *out = 0;
  if (++p->depth > MAX_DEPTH)
    return HN_FAIL(p->diag, HONE_MALFORMED, "column %d: nested deeper than %d", column(p, p->at), MAX_DEPTH);
  skip_spaces(p);
  if (*p->at == '$')
    HN_TRY(read_attribute(p, out));
  else if (hn_is_letter(*p->at))
    HN_TRY(read_named(p, out));
  else if (hn_is_digit(*p->at) || *p->at == '-' || *p->at == '.')
    HN_TRY(read_number(p, out));
  else
    return expected(p, "an input, a number, $attribute or a call");
  --p->depth;
  return HONE_OK;
}

/* `name =` ahead of a shared part; leaves the text alone when there is none. */
static hone_status read_label(parser *p, char *name, bool *out_found) {
  *out_found = false;
  skip_spaces(p);
  const char *start = p->at;
  if (!hn_is_letter(*p->at)) return HONE_OK;
  HN_TRY(read_name(p, name));
  skip_spaces(p);
  *out_found = *p->at == '=';
  if (!*out_found)
    p->at = start;
  else
    ++p->at;
  return HONE_OK;
}

hone_status hn_expr_parse(hone_diagnostics *diag, const char *text, const char *const *names, int in_count,
                          const hone_attrs *attrs, hn_expr *out) {
  hn_expr expr = {.in_count = in_count};
  parser p = {
      .diag = diag, .text = text, .at = text, .names = names, .in_count = in_count, .attrs = attrs, .expr = &expr};
  int root = 0;
  *out = (hn_expr){0};
  if (in_count < 0 || in_count > UINT8_MAX)
    return HN_FAIL(diag, HONE_MALFORMED, "an expression of %d inputs; at most %d", in_count, UINT8_MAX);
  while (true) {
    char name[MAX_NAME];
    bool labelled;
    HN_TRY(read_label(&p, name, &labelled));
    HN_TRY(read_value(&p, &root));
    skip_spaces(&p);
    if (!labelled) break;
    if (*p.at != ';') return expected(&p, "';'");
    ++p.at;
    if (p.shared_count == HN_EXPR_MAX_STEPS)
      return HN_FAIL(diag, HONE_MALFORMED, "more than %d shared parts", HN_EXPR_MAX_STEPS);
    memcpy(p.shared[p.shared_count], name, sizeof name);
    p.shared_at[p.shared_count++] = root;
  }
  if (*p.at != 0) return expected(&p, "the end");
  hn_expr_finish(&expr, root);
  *out = expr;
  return HONE_OK;
}

/* x0 and x1 joined, then the result with the next input, and so on. */
static hone_status fold_inputs(hone_diagnostics *diag, const char *text, const hone_attrs *attrs, int in_count,
                               hn_expr *out) {
  hn_expr pair, sum;
  HN_TRY(hn_expr_parse(diag, text, NULL, 2, attrs, &pair));
  HN_TRY(hn_expr_parse(diag, "x0", NULL, in_count, NULL, &sum));
  for (int i = 1; i < in_count; ++i) {
    const int identity[] = {0, i};
    int same[UINT8_MAX];
    for (int j = 0; j < in_count; ++j) same[j] = j;
    if (!hn_expr_inline(&pair, 0, &sum, identity, same, in_count, &sum))
      return HN_FAIL(diag, HONE_UNSUPPORTED, "more than %d instructions for %d inputs", HN_EXPR_MAX_STEPS, in_count);
  }
  *out = sum;
  return HONE_OK;
}

hone_status hn_expr_of_op(hone_diagnostics *diag, const hone_op *op, const hone_attrs *attrs, int in_count,
                          hn_expr *out) {
  const char *names[HONE_MAX_PORTS];
  int ports = 0;
  *out = (hn_expr){0};
  if (!op->expr) return HN_FAIL(diag, HONE_INTERNAL, "%s has no expression", op->name);
  if (op->expr[0] == '$' && !strchr(op->expr, '(')) {
    HN_TRY_NOTE(diag, hn_expr_parse(diag, hn_attr_text(attrs, op->expr + 1), NULL, in_count, NULL, out),
                "in attribute %s of %s", op->expr + 1, op->name);
    return HONE_OK;
  }
  for (; ports < HONE_MAX_PORTS && op->in[ports].name; ++ports) names[ports] = op->in[ports].name;
  if (ports > 0 && (op->in[ports - 1].flags & HONE_PORT_VARIADIC)) {
    if (in_count < 1 || in_count > UINT8_MAX)
      return HN_FAIL(diag, HONE_UNSUPPORTED, "%s of %d inputs; from 1 to %d are possible", op->name, in_count,
                     UINT8_MAX);
    HN_TRY_NOTE(diag, fold_inputs(diag, op->expr, attrs, in_count, out), "in the expression of %s", op->name);
    return HONE_OK;
  }
  HN_TRY_NOTE(diag, hn_expr_parse(diag, op->expr, names, in_count < ports ? in_count : ports, attrs, out),
              "in the expression of %s", op->name);
  return HONE_OK;
}
