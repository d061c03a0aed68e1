/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise_compile.c - an expression becomes a program: one pass of rewrites that shorten it, then registers are given
 * out in order and taken back after an operand's last use (linear scan). */
#include "backend/cpu/eltwise/eltwise.h"
#include <math.h>
#include <string.h>

enum { NOT_THERE = 255 };

typedef struct row {
  uint8_t op, operands;
} row;

/* Operand count 0 with op 0: no such instruction. INPUT and CONST are made where they are needed. */
static const row rows[HN_EXPR_OP_COUNT] = {
    [HN_EXPR_ADD] = {HN_ELTWISE_ADD, 2},       [HN_EXPR_SUB] = {HN_ELTWISE_SUB, 2},
    [HN_EXPR_MUL] = {HN_ELTWISE_MUL, 2},       [HN_EXPR_DIV] = {HN_ELTWISE_DIV, 2},
    [HN_EXPR_MIN] = {HN_ELTWISE_MIN, 2},       [HN_EXPR_MAX] = {HN_ELTWISE_MAX, 2},
    [HN_EXPR_POW] = {HN_ELTWISE_POW, 2},       [HN_EXPR_FMOD] = {HN_ELTWISE_FMOD, 2},
    [HN_EXPR_NEG] = {HN_ELTWISE_NEG, 1},       [HN_EXPR_ABS] = {HN_ELTWISE_ABS, 1},
    [HN_EXPR_SIGN] = {HN_ELTWISE_SIGN, 1},     [HN_EXPR_RECIP] = {HN_ELTWISE_RECIPROCAL, 1},
    [HN_EXPR_SQRT] = {HN_ELTWISE_SQRT, 1},     [HN_EXPR_EXP] = {HN_ELTWISE_EXP, 1},
    [HN_EXPR_LOG] = {HN_ELTWISE_LOG, 1},       [HN_EXPR_ERF] = {HN_ELTWISE_ERF, 1},
    [HN_EXPR_TANH] = {HN_ELTWISE_TANH, 1},     [HN_EXPR_SIGMOID] = {HN_ELTWISE_SIGMOID, 1},
    [HN_EXPR_SIN] = {HN_ELTWISE_SIN, 1},       [HN_EXPR_COS] = {HN_ELTWISE_COS, 1},
    [HN_EXPR_TAN] = {HN_ELTWISE_TAN, 1},       [HN_EXPR_ASIN] = {HN_ELTWISE_ASIN, 1},
    [HN_EXPR_ACOS] = {HN_ELTWISE_ACOS, 1},     [HN_EXPR_ATAN] = {HN_ELTWISE_ATAN, 1},
    [HN_EXPR_SINH] = {HN_ELTWISE_SINH, 1},     [HN_EXPR_COSH] = {HN_ELTWISE_COSH, 1},
    [HN_EXPR_ASINH] = {HN_ELTWISE_ASINH, 1},   [HN_EXPR_ACOSH] = {HN_ELTWISE_ACOSH, 1},
    [HN_EXPR_ATANH] = {HN_ELTWISE_ATANH, 1},   [HN_EXPR_FLOOR] = {HN_ELTWISE_FLOOR, 1},
    [HN_EXPR_CEIL] = {HN_ELTWISE_CEIL, 1},     [HN_EXPR_ROUND] = {HN_ELTWISE_ROUND, 1},
    [HN_EXPR_LT] = {HN_ELTWISE_LT, 2},         [HN_EXPR_LE] = {HN_ELTWISE_LE, 2},
    [HN_EXPR_GT] = {HN_ELTWISE_GT, 2},         [HN_EXPR_GE] = {HN_ELTWISE_GE, 2},
    [HN_EXPR_EQ] = {HN_ELTWISE_EQ, 2},         [HN_EXPR_NE] = {HN_ELTWISE_NE, 2},
    [HN_EXPR_AND] = {HN_ELTWISE_AND, 2},       [HN_EXPR_OR] = {HN_ELTWISE_OR, 2},
    [HN_EXPR_XOR] = {HN_ELTWISE_XOR, 2},       [HN_EXPR_NOT] = {HN_ELTWISE_NOT, 1},
    [HN_EXPR_SELECT] = {HN_ELTWISE_SELECT, 3}, [HN_EXPR_ISNAN] = {HN_ELTWISE_IS_NAN, 1},
    [HN_EXPR_ISINF] = {HN_ELTWISE_IS_INF, 1},
};

/* One value: of a step, rewritten or not. */
typedef struct value {
  uint8_t op, operands, arg[3];
  bool is_input, is_const;
  double imm;
  int uses;
} value;

typedef struct compiler {
  value values[HN_EXPR_MAX_STEPS];
  int count;
  uint8_t place[HN_EXPR_MAX_STEPS]; /* register, or NOT_THERE */
  int left[HN_EXPR_MAX_STEPS];      /* uses still to come */
  bool taken[HN_ELTWISE_REGISTERS];
  hone_dtype type; /* of the arithmetic: f32 or f64 */
  hn_eltwise_program *out;
} compiler;

/* The number as the kernel has it. */
static double as_held(const compiler *c, double number) { return c->type == HONE_F64 ? number : (double)(float)number; }

/* 1 / number in that type; 0 where one of the two is no ordinary number of it. */
static double reciprocal(const compiler *c, double number) {
  const float narrow = (float)number, inverse = 1 / narrow;
  if (c->type == HONE_F64) return isnormal(number) && isnormal(1 / number) ? 1 / number : 0;
  return isnormal(narrow) && isnormal(inverse) ? (double)inverse : 0;
}

static void unuse(compiler *c, int at) {
  value *v = &c->values[at];
  if (--v->uses > 0) return;
  for (int i = 0; i < v->operands; ++i) unuse(c, v->arg[i]);
}

/* Gives a value another instruction whose operands are among what its old operands were made of. */
static void replace(compiler *c, int at, uint8_t op, int operands, const uint8_t *arg, double imm) {
  value *v = &c->values[at];
  const value old = *v;
  v->op = op;
  v->operands = (uint8_t)operands;
  v->imm = imm;
  for (int i = 0; i < operands; ++i) {
    v->arg[i] = arg[i];
    ++c->values[arg[i]].uses;
  }
  for (int i = 0; i < old.operands; ++i) unuse(c, old.arg[i]);
}

static bool is_op(const compiler *c, int at, int op, int operands) {
  const value *v = &c->values[at];
  return !v->is_input && !v->is_const && v->op == op && v->operands == operands;
}

/* An operation with a constant on one side: the constant goes into the instruction. */
static bool with_constant(compiler *c, int at) {
  value *v = &c->values[at];
  if (v->operands != 2) return false;
  const bool left = c->values[v->arg[0]].is_const, right = c->values[v->arg[1]].is_const;
  if (left == right) return false;
  const double number = c->values[v->arg[left ? 0 : 1]].imm;
  const uint8_t other = v->arg[left ? 1 : 0];
  switch (v->op) {
  case HN_ELTWISE_ADD: replace(c, at, HN_ELTWISE_ADD_IMM, 1, &other, number); return true;
  case HN_ELTWISE_MUL: replace(c, at, HN_ELTWISE_MUL_IMM, 1, &other, number); return true;
  case HN_ELTWISE_MIN: replace(c, at, HN_ELTWISE_MIN_IMM, 1, &other, number); return true;
  case HN_ELTWISE_MAX:
    if (number == 0)
      replace(c, at, HN_ELTWISE_RELU, 1, &other, 0);
    else
      replace(c, at, HN_ELTWISE_MAX_IMM, 1, &other, number);
    return true;
  case HN_ELTWISE_SUB:
    if (right) replace(c, at, HN_ELTWISE_ADD_IMM, 1, &other, -number);
    return right;
  case HN_ELTWISE_DIV:
    if (!right || reciprocal(c, number) == 0) return false;
    replace(c, at, HN_ELTWISE_MUL_IMM, 1, &other, reciprocal(c, number));
    return true;
  default: return false;
  }
}

/* a * b + c where the product serves nothing else; exp(x) - 1 and log(1 + x), which cancel. */
static void with_operation(compiler *c, int at) {
  value *v = &c->values[at];
  if (v->op == HN_ELTWISE_ADD && v->operands == 2) {
    for (int side = 0; side < 2; ++side) {
      const value *product = &c->values[v->arg[side]];
      if (!is_op(c, v->arg[side], HN_ELTWISE_MUL, 2) || product->uses != 1) continue;
      const uint8_t arg[3] = {product->arg[0], product->arg[1], v->arg[1 - side]};
      replace(c, at, HN_ELTWISE_FMA, 3, arg, 0);
      return;
    }
  }
  if (v->op == HN_ELTWISE_ADD_IMM && v->imm == -1 && is_op(c, v->arg[0], HN_ELTWISE_EXP, 1)) {
    const uint8_t arg = c->values[v->arg[0]].arg[0];
    replace(c, at, HN_ELTWISE_EXPM1, 1, &arg, 0);
  }
  if (v->op == HN_ELTWISE_LOG && is_op(c, v->arg[0], HN_ELTWISE_ADD_IMM, 1) && c->values[v->arg[0]].imm == 1) {
    const uint8_t arg = c->values[v->arg[0]].arg[0];
    replace(c, at, HN_ELTWISE_LOG1P, 1, &arg, 0);
  }
}

/* x < 0 ? x * k : x */
static void leaky(compiler *c, int at) {
  value *v = &c->values[at];
  if (v->op != HN_ELTWISE_SELECT || v->operands != 3) return;
  const value *condition = &c->values[v->arg[0]], *low = &c->values[v->arg[1]];
  const uint8_t x = v->arg[2];
  if (!is_op(c, v->arg[0], HN_ELTWISE_LT, 2) || condition->arg[0] != x || !c->values[condition->arg[1]].is_const ||
      c->values[condition->arg[1]].imm != 0)
    return;
  if (!is_op(c, v->arg[1], HN_ELTWISE_MUL_IMM, 1) || low->arg[0] != x) return;
  replace(c, at, HN_ELTWISE_LEAKY_RELU, 1, &x, low->imm);
}

static const char *read_steps(const hn_expr *expr, compiler *c) {
  c->count = expr->count;
  for (int i = 0; i < expr->count; ++i) {
    const hn_expr_step *step = &expr->steps[i];
    value *v = &c->values[i];
    *v = (value){.arg = {step->a, step->b, step->c}};
    if (step->op == HN_EXPR_INPUT) {
      if (step->a >= HN_ELTWISE_INPUTS) return "it has more than 16 inputs";
      v->is_input = true;
    } else if (step->op == HN_EXPR_CONST) {
      v->is_const = true;
      v->imm = as_held(c, step->real);
    } else {
      v->op = rows[step->op].op;
      v->operands = rows[step->op].operands;
      if (v->operands == 0) return "its expression has an operation without vector code";
    }
    for (int j = 0; j < v->operands; ++j) ++c->values[v->arg[j]].uses;
  }
  ++c->values[expr->count - 1].uses; /* stored */
  return NULL;
}

static int free_register(compiler *c) {
  for (int r = 0; r < HN_ELTWISE_REGISTERS; ++r)
    if (!c->taken[r]) {
      c->taken[r] = true;
      return r;
    }
  return -1;
}

static void emit(compiler *c, hn_eltwise_instruction instruction) { c->out->code[c->out->count++] = instruction; }

/* Loads an input or a constant that is in no register yet. */
static bool make_there(compiler *c, int at) {
  if (c->place[at] != NOT_THERE) return true;
  const value *v = &c->values[at];
  const int r = free_register(c);
  if (r < 0) return false;
  c->place[at] = (uint8_t)r;
  if (v->is_const)
    emit(c, (hn_eltwise_instruction){.op = HN_ELTWISE_CONST, .dst = (uint8_t)r, .imm = v->imm});
  else
    emit(c, (hn_eltwise_instruction){.op = HN_ELTWISE_LOAD, .dst = (uint8_t)r, .a = v->arg[0]});
  return true;
}

static bool allocate(compiler *c) {
  for (int i = 0; i < c->count; ++i) {
    const value *v = &c->values[i];
    if (v->uses == 0 || v->is_input || v->is_const) continue;
    uint8_t arg[3] = {0};
    for (int j = 0; j < v->operands; ++j) {
      if (!make_there(c, v->arg[j])) return false;
      arg[j] = c->place[v->arg[j]];
    }
    for (int j = 0; j < v->operands; ++j)
      if (--c->left[v->arg[j]] == 0) c->taken[c->place[v->arg[j]]] = false;
    const int r = free_register(c);
    if (r < 0) return false;
    c->place[i] = (uint8_t)r;
    emit(c, (hn_eltwise_instruction){v->op, (uint8_t)r, arg[0], arg[1], arg[2], v->imm});
  }
  if (!make_there(c, c->count - 1)) return false;
  emit(c, (hn_eltwise_instruction){.op = HN_ELTWISE_STORE, .dst = 0, .a = c->place[c->count - 1]});
  return true;
}

const char *hn_eltwise_compile(const hn_expr *expr, hone_dtype type, hn_eltwise_program *out) {
  compiler c = {.type = type, .out = out};
  out->count = 0;
  HN_TRY_REASON(read_steps(expr, &c));
  for (int i = 0; i < c.count; ++i) {
    if (c.values[i].uses == 0 || c.values[i].is_input || c.values[i].is_const) continue;
    with_constant(&c, i);
    with_operation(&c, i);
    leaky(&c, i);
  }
  memset(c.place, NOT_THERE, sizeof c.place);
  for (int i = 0; i < c.count; ++i) c.left[i] = c.values[i].uses;
  return allocate(&c) ? NULL : "more than 16 of its values are needed at the same time";
}
