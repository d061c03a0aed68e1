/* SPDX-License-Identifier: Apache-2.0 */
/* expr_eval.c - runs expressions: in double, or in 64-bit integers that wrap. No input makes it trap: what integers
 * cannot divide gives 0, and the least integer by -1 gives itself. The simplest operations run over all lanes at once,
 * since nearly every fused chain is made of them. */
#include "tensor/expr.h"
#include "tensor/element.h"
#include <math.h>

/* ---- reals ---- */

static double floor_remainder(double a, double b) {
  const double rest = fmod(a, b);
  if (rest == 0) return copysign(0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

static double sigmoid(double x) {
  if (x >= 0) return 1 / (1 + exp(-x));
  const double e = exp(x);
  return e / (1 + e);
}

static double smaller(double a, double b) { return isnan(a) || a < b ? a : b; }
static double larger(double a, double b) { return isnan(a) || a > b ? a : b; }

static double round_even(double x) {
  const double below = floor(x), rest = x - below;
  if (rest == 0 || !isfinite(x)) return x;
  const double rounded = rest > 0.5 || (rest == 0.5 && fmod(below, 2) != 0) ? below + 1 : below;
  return copysign(rounded, x);
}

static int64_t to_int(double x) { return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : 0; }

static int64_t int_step(const hn_expr_step *step, bool wide_unsigned, int64_t a, int64_t b, int64_t c);

static double real_step(const hn_expr_step *step, double a, double b, double c) {
  switch ((hn_expr_op)step->op) {
  case HN_EXPR_CONST: return step->real;
  case HN_EXPR_MOD: return floor_remainder(a, b);
  case HN_EXPR_FMOD: return fmod(a, b);
  case HN_EXPR_POW: return pow(a, b);
  case HN_EXPR_MIN: return smaller(a, b);
  case HN_EXPR_MAX: return larger(a, b);
  case HN_EXPR_NEG: return -a;
  case HN_EXPR_ABS: return fabs(a);
  case HN_EXPR_SIGN: return isnan(a) ? a : (double)((a > 0) - (a < 0));
  case HN_EXPR_RECIP: return 1 / a;
  case HN_EXPR_SQRT: return sqrt(a);
  case HN_EXPR_EXP: return exp(a);
  case HN_EXPR_LOG: return log(a);
  case HN_EXPR_ERF: return erf(a);
  case HN_EXPR_TANH: return tanh(a);
  case HN_EXPR_SIGMOID: return sigmoid(a);
  case HN_EXPR_SIN: return sin(a);
  case HN_EXPR_COS: return cos(a);
  case HN_EXPR_TAN: return tan(a);
  case HN_EXPR_ASIN: return asin(a);
  case HN_EXPR_ACOS: return acos(a);
  case HN_EXPR_ATAN: return atan(a);
  case HN_EXPR_SINH: return sinh(a);
  case HN_EXPR_COSH: return cosh(a);
  case HN_EXPR_ASINH: return asinh(a);
  case HN_EXPR_ACOSH: return acosh(a);
  case HN_EXPR_ATANH: return atanh(a);
  case HN_EXPR_FLOOR: return floor(a);
  case HN_EXPR_CEIL: return ceil(a);
  case HN_EXPR_ROUND: return round_even(a);
  case HN_EXPR_LT: return a < b;
  case HN_EXPR_LE: return a <= b;
  case HN_EXPR_GT: return a > b;
  case HN_EXPR_GE: return a >= b;
  case HN_EXPR_EQ: return a == b;
  case HN_EXPR_NE: return a != b;
  case HN_EXPR_AND: return a != 0 && b != 0;
  case HN_EXPR_OR: return a != 0 || b != 0;
  case HN_EXPR_XOR: return (a != 0) != (b != 0);
  case HN_EXPR_NOT: return a == 0;
  case HN_EXPR_SELECT: return a != 0 ? b : c;
  case HN_EXPR_ISNAN: return isnan(a) != 0;
  case HN_EXPR_ISINF: return isinf(a) != 0;
  default: return (double)int_step(step, false, to_int(a), to_int(b), to_int(c)); /* bits */
  }
}

/* exp(x) - 1, of which nothing would be left for the smallest x. */
static bool is_expm1(const hn_expr *expr, const hn_expr_step *sub) {
  const hn_expr_step *one = &expr->steps[sub->b];
  return expr->steps[sub->a].op == HN_EXPR_EXP && one->op == HN_EXPR_CONST && one->real == 1;
}

void hn_expr_run_reals(const hn_expr *expr, int lanes, double (*values)[HN_EXPR_LANES]) {
  for (int i = 0; i < expr->count; ++i) {
    const hn_expr_step *step = &expr->steps[i];
    const double *a = values[step->a], *b = values[step->b], *c = values[step->c];
    double *out = values[i];
    switch ((hn_expr_op)step->op) {
    case HN_EXPR_INPUT: break;
    case HN_EXPR_CONST:
      for (int lane = 0; lane < lanes; ++lane) out[lane] = step->real;
      break;
    case HN_EXPR_ADD:
      for (int lane = 0; lane < lanes; ++lane) out[lane] = a[lane] + b[lane];
      break;
    case HN_EXPR_SUB:
      if (is_expm1(expr, step)) {
        const double *x = values[expr->steps[step->a].a];
        for (int lane = 0; lane < lanes; ++lane) out[lane] = expm1(x[lane]);
        break;
      }
      for (int lane = 0; lane < lanes; ++lane) out[lane] = a[lane] - b[lane];
      break;
    case HN_EXPR_MUL:
      for (int lane = 0; lane < lanes; ++lane) out[lane] = a[lane] * b[lane];
      break;
    case HN_EXPR_DIV:
      for (int lane = 0; lane < lanes; ++lane) out[lane] = a[lane] / b[lane];
      break;
    default: { /* operands that the operation lacks are not read: they may hold nothing yet */
      const int arity = hn_expr_row_of((hn_expr_op)step->op)->arity;
      for (int lane = 0; lane < lanes; ++lane)
        out[lane] = real_step(step, a[lane], arity > 1 ? b[lane] : 0, arity > 2 ? c[lane] : 0);
    }
    }
  }
}

double hn_expr_eval_real(const hn_expr *expr, const double *in) {
  double values[HN_EXPR_MAX_STEPS][HN_EXPR_LANES];
  for (int i = 0; i < expr->count; ++i)
    if (expr->steps[i].op == HN_EXPR_INPUT) values[i][0] = in[expr->steps[i].a];
  hn_expr_run_reals(expr, 1, values);
  return values[expr->count - 1][0];
}

/* ---- integers ---- */

static int64_t wrap(uint64_t bits) { return (int64_t)bits; }

static int64_t quotient(int64_t a, int64_t b, bool wide_unsigned) {
  if (b == 0) return 0;
  if (wide_unsigned) return wrap((uint64_t)a / (uint64_t)b);
  return b == -1 ? wrap(0 - (uint64_t)a) : a / b;
}

/* With the sign of a, or (floored) of b. */
static int64_t remainder_of(int64_t a, int64_t b, bool floored, bool wide_unsigned) {
  if (b == 0) return 0;
  if (wide_unsigned) return wrap((uint64_t)a % (uint64_t)b);
  const int64_t rest = b == -1 ? 0 : a % b;
  return floored && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static int64_t power(int64_t base, int64_t exponent, bool wide_unsigned) {
  if (exponent < 0 && !wide_unsigned) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, factor = (uint64_t)base;
  for (uint64_t left = (uint64_t)exponent; left; left >>= 1) {
    if (left & 1) result *= factor;
    factor *= factor;
  }
  return wrap(result);
}

static int64_t shift(int64_t a, int64_t by, bool left, bool wide_unsigned) {
  if (by < 0 || by > 63) return 0;
  if (left) return wrap((uint64_t)a << by);
  if (wide_unsigned || a >= 0) return wrap((uint64_t)a >> by);
  return wrap(~(~(uint64_t)a >> by));
}

static int64_t sign_of(int64_t a, bool wide_unsigned) { return wide_unsigned ? a != 0 : (a > 0) - (a < 0); }

static int64_t int_step(const hn_expr_step *step, bool wide_unsigned, int64_t a, int64_t b, int64_t c) {
  switch ((hn_expr_op)step->op) {
  case HN_EXPR_CONST: return step->integer;
  case HN_EXPR_ADD: return wrap((uint64_t)a + (uint64_t)b);
  case HN_EXPR_SUB: return wrap((uint64_t)a - (uint64_t)b);
  case HN_EXPR_MUL: return wrap((uint64_t)a * (uint64_t)b);
  case HN_EXPR_DIV: return quotient(a, b, wide_unsigned);
  case HN_EXPR_MOD: return remainder_of(a, b, true, wide_unsigned);
  case HN_EXPR_FMOD: return remainder_of(a, b, false, wide_unsigned);
  case HN_EXPR_POW: return power(a, b, wide_unsigned);
  case HN_EXPR_MIN: return hn_int_less(a, b, wide_unsigned) ? a : b;
  case HN_EXPR_MAX: return hn_int_less(a, b, wide_unsigned) ? b : a;
  case HN_EXPR_NEG: return wrap(0 - (uint64_t)a);
  case HN_EXPR_ABS: return a < 0 && !wide_unsigned ? wrap(0 - (uint64_t)a) : a;
  case HN_EXPR_SIGN: return sign_of(a, wide_unsigned);
  case HN_EXPR_RECIP: return quotient(1, a, wide_unsigned);
  case HN_EXPR_FLOOR:
  case HN_EXPR_CEIL:
  case HN_EXPR_ROUND: return a;
  case HN_EXPR_LT: return hn_int_less(a, b, wide_unsigned);
  case HN_EXPR_LE: return !hn_int_less(b, a, wide_unsigned);
  case HN_EXPR_GT: return hn_int_less(b, a, wide_unsigned);
  case HN_EXPR_GE: return !hn_int_less(a, b, wide_unsigned);
  case HN_EXPR_EQ: return a == b;
  case HN_EXPR_NE: return a != b;
  case HN_EXPR_AND: return a && b;
  case HN_EXPR_OR: return a || b;
  case HN_EXPR_XOR: return !a != !b;
  case HN_EXPR_NOT: return !a;
  case HN_EXPR_SELECT: return a ? b : c;
  case HN_EXPR_ISNAN:
  case HN_EXPR_ISINF: return 0;
  case HN_EXPR_BIT_AND: return a & b;
  case HN_EXPR_BIT_OR: return a | b;
  case HN_EXPR_BIT_XOR: return a ^ b;
  case HN_EXPR_BIT_NOT: return ~a;
  case HN_EXPR_SHIFT_LEFT: return shift(a, b, true, wide_unsigned);
  case HN_EXPR_SHIFT_RIGHT: return shift(a, b, false, wide_unsigned);
  default: { /* functions of reals, toward zero */
    const double x = wide_unsigned ? (double)(uint64_t)a : (double)a;
    return to_int(real_step(step, x, 0, 0));
  }
  }
}

void hn_expr_run_ints(const hn_expr *expr, int lanes, bool wide_unsigned, int64_t (*values)[HN_EXPR_LANES]) {
  for (int i = 0; i < expr->count; ++i) {
    const hn_expr_step *step = &expr->steps[i];
    if (step->op == HN_EXPR_INPUT) continue;
    const int arity = hn_expr_row_of((hn_expr_op)step->op)->arity;
    for (int lane = 0; lane < lanes; ++lane)
      values[i][lane] = int_step(step, wide_unsigned, arity > 0 ? values[step->a][lane] : 0,
                                 arity > 1 ? values[step->b][lane] : 0, arity > 2 ? values[step->c][lane] : 0);
  }
}

int64_t hn_expr_eval_int(const hn_expr *expr, const int64_t *in, bool wide_unsigned) {
  int64_t values[HN_EXPR_MAX_STEPS][HN_EXPR_LANES];
  for (int i = 0; i < expr->count; ++i)
    if (expr->steps[i].op == HN_EXPR_INPUT) values[i][0] = in[expr->steps[i].a];
  hn_expr_run_ints(expr, 1, wide_unsigned, values);
  return values[expr->count - 1][0];
}
