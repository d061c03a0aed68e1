/* SPDX-License-Identifier: Apache-2.0 */
/* expr.c - the instruction table, verification, text, and putting one expression into another.
 * Canonical order: shared results first, each after what it needs, then the root; every step is used, no two are the
 * same. So equal texts are equal codes, and printing and parsing are each other's inverse. */
#include "tensor/expr.h"
#include "tensor/expr_build.h"
#include <string.h>

static const hn_expr_row rows[HN_EXPR_OP_COUNT] = {
    [HN_EXPR_INPUT] = {"input", 0, 0},
    [HN_EXPR_CONST] = {"const", 0, 0},
    [HN_EXPR_ADD] = {"add", 2, 1},
    [HN_EXPR_SUB] = {"sub", 2, 1},
    [HN_EXPR_MUL] = {"mul", 2, 1},
    [HN_EXPR_DIV] = {"div", 2, 4},
    [HN_EXPR_MOD] = {"mod", 2, 6},
    [HN_EXPR_FMOD] = {"fmod", 2, 6},
    [HN_EXPR_POW] = {"pow", 2, 20},
    [HN_EXPR_MIN] = {"min", 2, 1},
    [HN_EXPR_MAX] = {"max", 2, 1},
    [HN_EXPR_NEG] = {"neg", 1, 1},
    [HN_EXPR_ABS] = {"abs", 1, 1},
    [HN_EXPR_SIGN] = {"sign", 1, 1},
    [HN_EXPR_RECIP] = {"recip", 1, 4},
    [HN_EXPR_SQRT] = {"sqrt", 1, 4},
    [HN_EXPR_EXP] = {"exp", 1, 10},
    [HN_EXPR_LOG] = {"log", 1, 10},
    [HN_EXPR_ERF] = {"erf", 1, 12},
    [HN_EXPR_TANH] = {"tanh", 1, 12},
    [HN_EXPR_SIGMOID] = {"sigmoid", 1, 12},
    [HN_EXPR_SIN] = {"sin", 1, 12},
    [HN_EXPR_COS] = {"cos", 1, 12},
    [HN_EXPR_TAN] = {"tan", 1, 16},
    [HN_EXPR_ASIN] = {"asin", 1, 16},
    [HN_EXPR_ACOS] = {"acos", 1, 16},
    [HN_EXPR_ATAN] = {"atan", 1, 16},
    [HN_EXPR_SINH] = {"sinh", 1, 12},
    [HN_EXPR_COSH] = {"cosh", 1, 12},
    [HN_EXPR_ASINH] = {"asinh", 1, 16},
    [HN_EXPR_ACOSH] = {"acosh", 1, 16},
    [HN_EXPR_ATANH] = {"atanh", 1, 16},
    [HN_EXPR_FLOOR] = {"floor", 1, 1},
    [HN_EXPR_CEIL] = {"ceil", 1, 1},
    [HN_EXPR_ROUND] = {"round", 1, 1},
    [HN_EXPR_LT] = {"lt", 2, 1},
    [HN_EXPR_LE] = {"le", 2, 1},
    [HN_EXPR_GT] = {"gt", 2, 1},
    [HN_EXPR_GE] = {"ge", 2, 1},
    [HN_EXPR_EQ] = {"eq", 2, 1},
    [HN_EXPR_NE] = {"ne", 2, 1},
    [HN_EXPR_AND] = {"and", 2, 1},
    [HN_EXPR_OR] = {"or", 2, 1},
    [HN_EXPR_XOR] = {"xor", 2, 1},
    [HN_EXPR_NOT] = {"not", 1, 1},
    [HN_EXPR_SELECT] = {"select", 3, 1},
    [HN_EXPR_ISNAN] = {"isnan", 1, 1},
    [HN_EXPR_ISINF] = {"isinf", 1, 1},
    [HN_EXPR_BIT_AND] = {"bit_and", 2, 1},
    [HN_EXPR_BIT_OR] = {"bit_or", 2, 1},
    [HN_EXPR_BIT_XOR] = {"bit_xor", 2, 1},
    [HN_EXPR_BIT_NOT] = {"bit_not", 1, 1},
    [HN_EXPR_SHIFT_LEFT] = {"shift_left", 2, 1},
    [HN_EXPR_SHIFT_RIGHT] = {"shift_right", 2, 1},
};

const hn_expr_row *hn_expr_row_of(hn_expr_op op) { return (unsigned)op < HN_EXPR_OP_COUNT ? &rows[op] : NULL; }

static int arity(const hn_expr_step *step) { return rows[step->op].arity; }

double hn_expr_flops(const hn_expr *expr) {
  double flops = 0;
  for (int i = 0; i < expr->count; ++i) flops += rows[expr->steps[i].op].flops;
  return flops;
}

hone_status hn_expr_verify(hone_diagnostics *diag, const hn_expr *expr) {
  if (expr->count < 1 || expr->count > HN_EXPR_MAX_STEPS)
    return HN_FAIL(diag, HONE_INTERNAL, "an expression of %d instructions", expr->count);
  for (int i = 0; i < expr->count; ++i) {
    const hn_expr_step *step = &expr->steps[i];
    if (step->op >= HN_EXPR_OP_COUNT) return HN_FAIL(diag, HONE_INTERNAL, "instruction %d has no operation", i);
    const uint8_t operands[] = {step->a, step->b, step->c};
    for (int j = 0; j < arity(step); ++j)
      if (operands[j] >= i)
        return HN_FAIL(diag, HONE_INTERNAL, "instruction %d (%s) reads %d, which comes later", i, rows[step->op].name,
                       operands[j]);
    if (step->op == HN_EXPR_INPUT && step->a >= expr->in_count)
      return HN_FAIL(diag, HONE_INTERNAL, "instruction %d reads input %d of %d", i, step->a, expr->in_count);
  }
  return HONE_OK;
}

/* ---- building ---- */

static bool same_step(const hn_expr_step *a, const hn_expr_step *b) {
  if (a->op != b->op) return false;
  if (a->op == HN_EXPR_CONST) return memcmp(&a->real, &b->real, sizeof a->real) == 0 && a->integer == b->integer;
  return a->a == b->a && a->b == b->b && a->c == b->c;
}

int hn_expr_emit(hn_expr *expr, hn_expr_step step) {
  const int operands = rows[step.op].arity;
  if (operands < 3) step.c = 0;
  if (operands < 2) step.b = 0;
  if (operands < 1 && step.op != HN_EXPR_INPUT) step.a = 0;
  for (int i = 0; i < expr->count; ++i)
    if (same_step(&expr->steps[i], &step)) return i;
  if (expr->count == HN_EXPR_MAX_STEPS) return -1;
  expr->steps[expr->count] = step;
  return expr->count++;
}

/* Copies step `at` of from with all it needs, once; to_at[i] is where step i went, or -1. Depth: at most
 * HN_EXPR_MAX_STEPS. */
static int copy_tree(const hn_expr *from, int at, hn_expr *to, int *to_at) {
  if (to_at[at] >= 0) return to_at[at];
  hn_expr_step step = from->steps[at];
  const int operands = arity(&step);
  if (operands > 0) step.a = (uint8_t)copy_tree(from, step.a, to, to_at);
  if (operands > 1) step.b = (uint8_t)copy_tree(from, step.b, to, to_at);
  if (operands > 2) step.c = (uint8_t)copy_tree(from, step.c, to, to_at);
  to_at[at] = hn_expr_emit(to, step);
  return to_at[at];
}

/* Marks what root needs; uses[i]: how many operands name step i. */
static void count_uses(const hn_expr *expr, int root, int *uses) {
  bool needed[HN_EXPR_MAX_STEPS] = {false};
  memset(uses, 0, HN_EXPR_MAX_STEPS * sizeof *uses);
  needed[root] = true;
  for (int i = root; i >= 0; --i) {
    if (!needed[i]) continue;
    const hn_expr_step *step = &expr->steps[i];
    const uint8_t operands[] = {step->a, step->b, step->c};
    for (int j = 0; j < arity(step); ++j) {
      needed[operands[j]] = true;
      ++uses[operands[j]];
    }
  }
}

static bool is_shared(const hn_expr *expr, const int *uses, int at) { return uses[at] > 1 && arity(&expr->steps[at]); }

/* The step that gives what step `at` does, past choices that are no choices: select(1, a, b) is a. */
static int settled(const hn_expr *expr, int at) {
  const hn_expr_step *step = &expr->steps[at];
  while (step->op == HN_EXPR_SELECT && expr->steps[step->a].op == HN_EXPR_CONST) {
    const hn_expr_step *condition = &expr->steps[step->a];
    if ((condition->real != 0) != (condition->integer != 0)) break; /* of reals another one than of integers */
    at = condition->integer ? step->b : step->c;
    step = &expr->steps[at];
  }
  return at;
}

static void settle(hn_expr *expr) {
  for (int i = 0; i < expr->count; ++i) {
    hn_expr_step *step = &expr->steps[i];
    const int operands = arity(step);
    if (operands > 0) step->a = (uint8_t)settled(expr, step->a);
    if (operands > 1) step->b = (uint8_t)settled(expr, step->b);
    if (operands > 2) step->c = (uint8_t)settled(expr, step->c);
  }
}

void hn_expr_finish(hn_expr *expr, int root) {
  settle(expr);
  root = settled(expr, root);
  const hn_expr from = *expr;
  int uses[HN_EXPR_MAX_STEPS], to_at[HN_EXPR_MAX_STEPS];
  memset(to_at, -1, sizeof to_at);
  count_uses(&from, root, uses);
  expr->count = 0;
  for (int i = 0; i < root; ++i)
    if (is_shared(&from, uses, i)) (void)copy_tree(&from, i, expr, to_at);
  (void)copy_tree(&from, root, expr, to_at);
}

/* Copies inner or outer into out under a map of inputs; out_at[i]: where its step i went. false when it is full. */
static bool append(const hn_expr *from, const int *map, int replaced, int replacement, hn_expr *out, int *out_at) {
  for (int i = 0; i < from->count; ++i) {
    hn_expr_step step = from->steps[i];
    if (step.op == HN_EXPR_INPUT && step.a == replaced) {
      out_at[i] = replacement;
      continue;
    }
    if (step.op == HN_EXPR_INPUT) step.a = (uint8_t)map[step.a];
    const int operands = arity(&step);
    if (operands > 0) step.a = (uint8_t)out_at[step.a];
    if (operands > 1) step.b = (uint8_t)out_at[step.b];
    if (operands > 2) step.c = (uint8_t)out_at[step.c];
    if ((out_at[i] = hn_expr_emit(out, step)) < 0) return false;
  }
  return true;
}

bool hn_expr_inline(const hn_expr *outer, int at, const hn_expr *inner, const int *outer_map, const int *map,
                    int in_count, hn_expr *out) {
  hn_expr joined = {.in_count = in_count};
  int inner_at[HN_EXPR_MAX_STEPS], outer_at[HN_EXPR_MAX_STEPS];
  if (!append(inner, map, -1, -1, &joined, inner_at)) return false;
  if (!append(outer, outer_map, at, inner_at[inner->count - 1], &joined, outer_at)) return false;
  hn_expr_finish(&joined, outer_at[outer->count - 1]);
  *out = joined;
  return true;
}

/* ---- text ---- */

typedef struct printer {
  hn_text *text;
  const hn_expr *expr;
  int names[HN_EXPR_MAX_STEPS]; /* the number of a shared result that is written already, or -1 */
} printer;

static void text_constant(hn_text *text, const hn_expr_step *step) {
  if ((double)step->integer == step->real && step->real > -0x1p62 && step->real < 0x1p62 &&
      !(step->integer == 0 && 1 / step->real < 0))
    hn_text_printf(text, "%lld", (long long)step->integer);
  else
    hn_text_double(text, step->real);
}

static void text_step(const printer *p, int at) {
  const hn_expr_step *step = &p->expr->steps[at];
  if (p->names[at] >= 0) {
    hn_text_printf(p->text, "t%d", p->names[at]);
    return;
  }
  if (step->op == HN_EXPR_INPUT) {
    hn_text_printf(p->text, "x%d", step->a);
  } else if (step->op == HN_EXPR_CONST) {
    text_constant(p->text, step);
  } else {
    const uint8_t operands[] = {step->a, step->b, step->c};
    hn_text_printf(p->text, "%s(", rows[step->op].name);
    for (int i = 0; i < arity(step); ++i) {
      if (i > 0) hn_text_add(p->text, ",");
      text_step(p, operands[i]);
    }
    hn_text_add(p->text, ")");
  }
}

void hn_text_expr(hn_text *text, const hn_expr *expr) {
  printer p = {.text = text, .expr = expr};
  int uses[HN_EXPR_MAX_STEPS], named = 0;
  if (expr->count < 1) return;
  memset(p.names, -1, sizeof p.names);
  count_uses(expr, expr->count - 1, uses);
  for (int i = 0; i < expr->count; ++i) {
    if (!is_shared(expr, uses, i)) continue;
    hn_text_printf(text, "t%d=", named);
    text_step(&p, i);
    hn_text_add(text, ";");
    p.names[i] = named++;
  }
  text_step(&p, expr->count - 1);
}
