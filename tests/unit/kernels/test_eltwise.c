/* SPDX-License-Identifier: Apache-2.0 */
/* test_eltwise.c - every instruction against libm in double, and random programs over random shapes, bit for bit. */
#include "kernels/cpu/eltwise/eltwise.h"

#include "kernel_test.h"
#include <float.h>

static hn_eltwise_fn *const eltwise[] = VARIANTS_OF(hn_eltwise_f32);

/* Ordinary numbers, and those where functions change their mind. */
static const float special[] = {0.0F,    -0.0F,   1.0F,     -1.0F,     0.5F,   -0.5F,   1.5F,       2.5F,
                                -2.5F,   2.0F,    -2.0F,    3.0F,      -3.0F,  88.0F,   89.0F,      -87.5F,
                                -100.0F, -110.0F, 1e-40F,   -1e-40F,   1e-30F, 1e30F,   -1e30F,     3.4e38F,
                                1e6F,    1.5e6F,  -3e9F,    0.625F,    0.9F,   -0.625F, 8388609.0F, 16777217.0F,
                                4.0F,    9.1F,    INFINITY, -INFINITY, NAN,    1.0625F, 1.06249F,   89.3F};

static double sigmoid(double a) { return 1 / (1 + exp(-a)); }

/* imm is 0.75 throughout. */
static double expected(int op, double a, double b, double c) {
  const double nan = isnan(a) ? a : b;
  switch (op) {
  case HN_ELTWISE_ADD: return a + b;
  case HN_ELTWISE_SUB: return a - b;
  case HN_ELTWISE_MUL: return a * b;
  case HN_ELTWISE_DIV: return a / b;
  case HN_ELTWISE_MIN: return isnan(a) || isnan(b) ? nan : fmin(a, b);
  case HN_ELTWISE_MAX: return isnan(a) || isnan(b) ? nan : fmax(a, b);
  case HN_ELTWISE_POW: return pow(a, b);
  case HN_ELTWISE_FMOD: return fmod(a, b);
  case HN_ELTWISE_FMA: return a * b + c;
  case HN_ELTWISE_NEG: return -a;
  case HN_ELTWISE_ABS: return fabs(a);
  case HN_ELTWISE_SIGN: return a > 0 ? 1 : a < 0 ? -1 : a;
  case HN_ELTWISE_SQRT: return sqrt(a);
  case HN_ELTWISE_RECIPROCAL: return 1 / a;
  case HN_ELTWISE_EXP: return exp(a);
  case HN_ELTWISE_EXPM1: return expm1(a);
  case HN_ELTWISE_LOG: return log(a);
  case HN_ELTWISE_LOG1P: return log1p(a);
  case HN_ELTWISE_ERF: return erf(a);
  case HN_ELTWISE_TANH: return tanh(a);
  case HN_ELTWISE_SIGMOID: return sigmoid(a);
  case HN_ELTWISE_SIN: return sin(a);
  case HN_ELTWISE_COS: return cos(a);
  case HN_ELTWISE_TAN: return tan(a);
  case HN_ELTWISE_ASIN: return asin(a);
  case HN_ELTWISE_ACOS: return acos(a);
  case HN_ELTWISE_ATAN: return atan(a);
  case HN_ELTWISE_SINH: return sinh(a);
  case HN_ELTWISE_COSH: return cosh(a);
  case HN_ELTWISE_ASINH: return asinh(a);
  case HN_ELTWISE_ACOSH: return acosh(a);
  case HN_ELTWISE_ATANH: return atanh(a);
  case HN_ELTWISE_FLOOR: return floor(a);
  case HN_ELTWISE_CEIL: return ceil(a);
  case HN_ELTWISE_ROUND: return nearbyint(a);
  case HN_ELTWISE_LT: return a < b;
  case HN_ELTWISE_LE: return a <= b;
  case HN_ELTWISE_EQ: return a == b;
  case HN_ELTWISE_NE: return a != b;
  case HN_ELTWISE_GT: return a > b;
  case HN_ELTWISE_GE: return a >= b;
  case HN_ELTWISE_NOT: return a == 0;
  case HN_ELTWISE_AND: return a != 0 && b != 0;
  case HN_ELTWISE_OR: return a != 0 || b != 0;
  case HN_ELTWISE_XOR: return (a != 0) != (b != 0);
  case HN_ELTWISE_IS_NAN: return isnan(a) != 0;
  case HN_ELTWISE_IS_INF: return isinf(a) != 0;
  case HN_ELTWISE_SELECT: return a != 0 ? b : c;
  case HN_ELTWISE_RELU: return a < 0 ? 0 : a;
  case HN_ELTWISE_LEAKY_RELU: return a < 0 ? a * 0.75 : a;
  case HN_ELTWISE_CLIP: return isnan(a) || isnan(b) ? nan : isnan(c) ? c : fmin(fmax(a, b), c);
  case HN_ELTWISE_ADD_IMM: return a + 0.75;
  case HN_ELTWISE_MUL_IMM: return a * 0.75;
  case HN_ELTWISE_MIN_IMM: return a > 0.75 ? 0.75 : a;
  default: return a < 0.75 ? 0.75 : a;
  }
}

/* Units in the last place of a float that an instruction may be off; exact operations round once. */
static double allowed_ulp(int op) {
  switch (op) {
  case HN_ELTWISE_EXP:
  case HN_ELTWISE_LOG:
  case HN_ELTWISE_POW: return 1.0;
  case HN_ELTWISE_TANH:
  case HN_ELTWISE_ERF:
  case HN_ELTWISE_SIN:
  case HN_ELTWISE_COS: return 1.5;
  case HN_ELTWISE_SIGMOID:
  case HN_ELTWISE_EXPM1:
  case HN_ELTWISE_LOG1P:
  case HN_ELTWISE_ASIN:
  case HN_ELTWISE_ASINH: return 2.4;
  case HN_ELTWISE_TAN: return 3.3;
  case HN_ELTWISE_ACOSH: return 2.8;
  case HN_ELTWISE_ACOS:
  case HN_ELTWISE_ATAN:
  case HN_ELTWISE_SINH:
  case HN_ELTWISE_COSH:
  case HN_ELTWISE_ATANH: return 1.6;
  default: return 0.5;
  }
}

static double ulp_of(double want) {
  const float w = (float)want;
  if (w == 0.0F || !isfinite(w)) return ldexp(1.0, -149);
  const int e = ilogb(want) - 23;
  return ldexp(1.0, e < -149 ? -149 : e);
}

static void check_value(int v, int op, float got, double want, double a, double b, double c) {
  const float w = (float)want;
  if ((isnan(got) && isnan(w)) || got == w) return;
  /* Exponentials are not subnormal, since that costs an assist: they are 0 there. */
  if ((op == HN_ELTWISE_EXP || op == HN_ELTWISE_SIGMOID) && got == 0 && want < (1 + 1e-5) * FLT_MIN) return;
  /* A product before an add may be rounded or not. */
  const double slack = op == HN_ELTWISE_FMA ? fabs(a * b) * 6e-8 + fabs(a * b + c) * 6e-8 + 1e-44 : 0;
  const double bound = allowed_ulp(op) * ulp_of(want) + slack;
  if (!(fabs(got - want) <= bound))
    fail_msg("%s op %d (%g, %g, %g): got %.9g, want %.9g, bound %.3g", variant_name[v], op, a, b, c, (double)got, want,
             bound);
}

enum { N = 4096 };

/* All pairs of special values first, then numbers of every magnitude. */
static void fill_operands(float *a, float *b, float *c) {
  uint64_t seed = 16;
  const size_t s = COUNT(special);
  for (size_t i = 0; i < N; ++i) {
    const float scale = ldexpf(1.0F, (int)random_below(&seed, 14) - 6);
    a[i] = i < s * s ? special[i % s] : random_float(&seed, scale);
    b[i] = i < s * s ? special[i / s] : random_float(&seed, scale);
    c[i] = i < s * s ? special[(i + 7) % s] : random_float(&seed, scale);
  }
}

static void test_each_op(void **state) {
  (void)state;
  static float a[N], b[N], c[N], y[N];
  fill_operands(a, b, c);
  for (int v = 0; v < VARIANTS; ++v) {
    for (int op = HN_ELTWISE_ADD; op < HN_ELTWISE_OP_COUNT && variant_runs(v); ++op) {
      const hn_eltwise_instruction code[] = {{HN_ELTWISE_LOAD, 0, 0, 0, 0, 0},
                                             {HN_ELTWISE_LOAD, 1, 1, 0, 0, 0},
                                             {HN_ELTWISE_LOAD, 2, 2, 0, 0, 0},
                                             {(uint8_t)op, 3, 0, 1, 2, 0.75F},
                                             {HN_ELTWISE_STORE, 0, 3, 0, 0, 0}};
      const hn_eltwise_input in[] = {{a, 1, 0, {0}}, {b, 1, 0, {0}}, {c, 1, 0, {0}}};
      const hn_eltwise_output out = {y, {0}};
      const hn_eltwise_args args = {
          .code = code, .input = in, .output = &out, .code_count = 5, .input_count = 3, .output_count = 1, .inner = N};
      eltwise[v](&args, 0, hn_eltwise_units(&args));
      for (int i = 0; i < N; ++i) check_value(v, op, y[i], expected(op, a[i], b[i], c[i]), a[i], b[i], c[i]);
    }
  }
}

/* Around ln(FLT_MIN) and below it. */
static void test_no_subnormal(void **state) {
  (void)state;
  static float x[N], y[N];
  for (int i = 0; i < N; ++i) x[i] = i % 2 ? -86.0F - (float)i * 5e-3F : -87.3366F + (float)(i - N / 2) * 1e-7F;
  static const hn_eltwise_op ops[] = {HN_ELTWISE_EXP, HN_ELTWISE_SIGMOID};
  for (int v = 0; v < VARIANTS; ++v) {
    for (int k = 0; k < 2 && variant_runs(v); ++k) {
      const hn_eltwise_instruction code[] = {
          {HN_ELTWISE_LOAD, 0, 0, 0, 0, 0}, {(uint8_t)ops[k], 1, 0, 0, 0, 0}, {HN_ELTWISE_STORE, 0, 1, 0, 0, 0}};
      const hn_eltwise_input in[] = {{x, 1, 0, {0}}};
      const hn_eltwise_output out = {y, {0}};
      const hn_eltwise_args args = {
          .code = code, .input = in, .output = &out, .code_count = 3, .input_count = 1, .output_count = 1, .inner = N};
      eltwise[v](&args, 0, hn_eltwise_units(&args));
      for (int i = 0; i < N; ++i) {
        if (y[i] != 0 && y[i] < FLT_MIN)
          fail_msg("%s op %d (%g): %g is subnormal", variant_name[v], ops[k], (double)x[i], (double)y[i]);
        check_value(v, ops[k], y[i], expected(ops[k], x[i], 0, 0), x[i], 0, 0);
      }
    }
  }
}

/* Operations whose float result is one correct rounding, so that a program of them has one right answer. */
static const uint8_t exact[] = {
    HN_ELTWISE_ADD,     HN_ELTWISE_SUB,   HN_ELTWISE_MUL,    HN_ELTWISE_DIV,   HN_ELTWISE_MIN,  HN_ELTWISE_MAX,
    HN_ELTWISE_NEG,     HN_ELTWISE_ABS,   HN_ELTWISE_SQRT,   HN_ELTWISE_FLOOR, HN_ELTWISE_CEIL, HN_ELTWISE_ROUND,
    HN_ELTWISE_LT,      HN_ELTWISE_NOT,   HN_ELTWISE_SELECT, HN_ELTWISE_RELU,  HN_ELTWISE_CLIP, HN_ELTWISE_ADD_IMM,
    HN_ELTWISE_MUL_IMM, HN_ELTWISE_CONST, HN_ELTWISE_LOAD};

enum { MOST_CODE = 24, INPUTS = 3, OUTPUTS = 3 };

typedef struct {
  hn_eltwise_instruction code[MOST_CODE];
  hn_eltwise_input in[INPUTS];
  hn_eltwise_output out[OUTPUTS];
  guarded in_memory[INPUTS], out_memory[OUTPUTS];
  hn_eltwise_args args;
  int64_t rows;
} program;

static void random_code(uint64_t *seed, program *p) {
  int n = 0;
  for (uint8_t i = 0; i < INPUTS; ++i) p->code[n++] = (hn_eltwise_instruction){HN_ELTWISE_LOAD, i, i, 0, 0, 0};
  const int length = 1 + (int)random_below(seed, 14), early = (int)random_below(seed, length);
  for (int i = 0; i < length; ++i) {
    const uint8_t op = exact[random_below(seed, COUNT(exact))];
    const uint8_t dst = (uint8_t)random_below(seed, 6);
    const uint8_t a = (uint8_t)random_below(seed, op == HN_ELTWISE_LOAD ? INPUTS : 4);
    p->code[n++] =
        (hn_eltwise_instruction){op, dst, a, (uint8_t)random_below(seed, 4), (uint8_t)random_below(seed, 4), 0.75F};
    if (i == early) /* and later instructions go on using the register */
      p->code[n++] = (hn_eltwise_instruction){HN_ELTWISE_STORE, 0, dst, 0, 0, 0};
  }
  for (uint8_t o = 1; o < OUTPUTS; ++o)
    p->code[n++] = (hn_eltwise_instruction){HN_ELTWISE_STORE, o, (uint8_t)random_below(seed, 6), 0, 0, 0};
  p->args.code = p->code;
  p->args.code_count = n;
}

/* Rows of outputs are dense; inputs broadcast along some of the dimensions. */
static void random_shape(uint64_t *seed, program *p) {
  hn_eltwise_args *a = &p->args;
  a->outer_rank = (int32_t)random_below(seed, 4);
  a->inner = 1 + (random_below(seed, 2) ? random_below(seed, 40) : random_below(seed, 900));
  a->part = random_below(seed, 2) ? 0 : 1 + random_below(seed, a->inner);
  p->rows = 1;
  for (int32_t d = a->outer_rank - 1; d >= 0; --d) {
    a->outer_dim[d] = 1 + random_below(seed, 6);
    for (int o = 0; o < OUTPUTS; ++o) p->out[o].outer_stride[d] = p->rows * a->inner;
    p->rows *= a->outer_dim[d];
  }
  for (int i = 0; i < INPUTS; ++i) {
    p->in[i].inner_stride = random_below(seed, 3) != 0;
    int64_t size = p->in[i].inner_stride ? a->inner : 1;
    for (int32_t d = a->outer_rank - 1; d >= 0; --d) {
      p->in[i].outer_stride[d] = random_below(seed, 3) ? size : 0;
      size *= p->in[i].outer_stride[d] ? a->outer_dim[d] : 1;
    }
    p->in_memory[i] = random_floats(seed, size, 4.0F);
    p->in[i].data = floats(&p->in_memory[i]);
  }
  for (int o = 0; o < OUTPUTS; ++o) {
    p->out_memory[o] = guarded_new((size_t)(p->rows * a->inner) * 4);
    p->out[o].data = floats(&p->out_memory[o]);
  }
  a->input = p->in;
  a->output = p->out;
  a->input_count = INPUTS;
  a->output_count = OUTPUTS;
}

/* Runs the program on one element, one instruction at a time. */
static void interpret(const program *p, int64_t row, int64_t i, float *out) {
  float r[HN_ELTWISE_REGISTERS] = {0};
  for (int32_t k = 0; k < p->args.code_count; ++k) {
    const hn_eltwise_instruction *ins = p->args.code + k;
    if (ins->op == HN_ELTWISE_LOAD) {
      const hn_eltwise_input *in = &p->in[ins->a];
      int64_t at = i * in->inner_stride, left = row;
      for (int32_t d = p->args.outer_rank - 1; d >= 0; --d) {
        at += left % p->args.outer_dim[d] * in->outer_stride[d];
        left /= p->args.outer_dim[d];
      }
      r[ins->dst] = as_f32(in->data)[at];
    } else if (ins->op == HN_ELTWISE_STORE) {
      out[ins->dst] = r[ins->a];
    } else if (ins->op == HN_ELTWISE_CONST) {
      r[ins->dst] = (float)ins->imm;
    } else {
      r[ins->dst] = (float)expected(ins->op, r[ins->a], r[ins->b], r[ins->c]);
    }
  }
}

static void test_random_programs(void **state) {
  (void)state;
  uint64_t seed = 17;
  for (int trial = 0; trial < 1500; ++trial) {
    program p = {0};
    random_shape(&seed, &p);
    random_code(&seed, &p);
    for (int v = 0; v < VARIANTS; ++v) {
      if (!variant_runs(v)) continue;
      for (int o = 0; o < OUTPUTS; ++o) memset(p.out_memory[o].data, 0x5a, p.out_memory[o].bytes);
      IN_PIECES(&seed, hn_eltwise_units(&p.args), eltwise[v](&p.args, begin, end))
      for (int64_t i = 0; i < p.rows * p.args.inner; ++i) {
        float want[OUTPUTS];
        interpret(&p, i / p.args.inner, i % p.args.inner, want);
        for (int o = 0; o < OUTPUTS; ++o)
          CHECK_NEAR(as_f32(p.out[o].data)[i], want[o], 0.0, "%s trial %d, row of %d, output %d at %d", variant_name[v],
                     trial, (int)p.args.inner, o, (int)i);
      }
    }
    for (int i = 0; i < INPUTS; ++i) guarded_free(&p.in_memory[i]);
    for (int o = 0; o < OUTPUTS; ++o) guarded_free(&p.out_memory[o]);
  }
}

/* y0 = x + 1 over x's own memory, and then y1 = x * 2 from what x was. */
static void test_in_place(void **state) {
  (void)state;
  static const hn_eltwise_instruction code[] = {{HN_ELTWISE_LOAD, 0, 0, 0, 0, 0},
                                                {HN_ELTWISE_ADD_IMM, 1, 0, 0, 0, 1.0F},
                                                {HN_ELTWISE_STORE, 0, 1, 0, 0, 0},
                                                {HN_ELTWISE_MUL_IMM, 1, 0, 0, 0, 2.0F},
                                                {HN_ELTWISE_STORE, 1, 1, 0, 0, 0}};
  enum { LENGTH = 1000 };
  for (int v = 0; v < VARIANTS; ++v) {
    float x[LENGTH], y[LENGTH];
    for (int i = 0; i < LENGTH && variant_runs(v); ++i) x[i] = (float)i;
    const hn_eltwise_input in = {x, 1, 0, {0}};
    const hn_eltwise_output out[] = {{x, {0}}, {y, {0}}};
    const hn_eltwise_args a = {.code = code,
                               .input = &in,
                               .output = out,
                               .code_count = 5,
                               .input_count = 1,
                               .output_count = 2,
                               .inner = LENGTH};
    if (variant_runs(v)) eltwise[v](&a, 0, 1);
    for (int i = 0; i < LENGTH && variant_runs(v); ++i) assert_true(x[i] == (float)(i + 1) && y[i] == (float)(2 * i));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_op), cmocka_unit_test(test_no_subnormal),
                                     cmocka_unit_test(test_random_programs), cmocka_unit_test(test_in_place)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
