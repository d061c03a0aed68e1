/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise.h - an interpreter of straight-line elementwise programs on blocks that stay in L1.
 *
 * A program works on numbered registers, each a block of HN_ELTWISE_BLOCK reals: one instruction runs over the
 * whole block before the next, so that decoding costs one branch for each 256 elements and a chain of any length
 * reads and writes memory once. What an element becomes depends on nothing but the elements at its place. */
#ifndef HN_KERNELS_CPU_ELTWISE_H
#define HN_KERNELS_CPU_ELTWISE_H

#include <stdint.h>

enum {
  HN_ELTWISE_BLOCK = 256,
  HN_ELTWISE_REGISTERS = 16,
  HN_ELTWISE_INPUTS = 16,
  HN_ELTWISE_OUTPUTS = 8,
  HN_ELTWISE_OUTER_RANK = 7
};

/* Truth is 1 and falsehood 0 in results; any value but 0 (a NaN too) is true as an operand.
 * Minimum, maximum, clip and relu hand a NaN on. */
typedef enum {
  HN_ELTWISE_LOAD,  /* dst = input number a */
  HN_ELTWISE_STORE, /* output number dst = register a */
  HN_ELTWISE_CONST, /* dst = imm */
  HN_ELTWISE_ADD,
  HN_ELTWISE_SUB,
  HN_ELTWISE_MUL,
  HN_ELTWISE_DIV,
  HN_ELTWISE_MIN,
  HN_ELTWISE_MAX,
  HN_ELTWISE_POW,
  HN_ELTWISE_FMOD, /* C's fmod: the sign of a */
  HN_ELTWISE_FMA,  /* a * b + c */
  HN_ELTWISE_NEG,
  HN_ELTWISE_ABS,
  HN_ELTWISE_SIGN, /* -1, 0, 1; NaN stays */
  HN_ELTWISE_SQRT,
  HN_ELTWISE_RECIPROCAL,
  HN_ELTWISE_EXP,
  HN_ELTWISE_EXPM1,
  HN_ELTWISE_LOG,
  HN_ELTWISE_LOG1P,
  HN_ELTWISE_ERF,
  HN_ELTWISE_TANH,
  HN_ELTWISE_SIGMOID,
  HN_ELTWISE_SIN,
  HN_ELTWISE_COS,
  HN_ELTWISE_TAN,
  HN_ELTWISE_ASIN,
  HN_ELTWISE_ACOS,
  HN_ELTWISE_ATAN,
  HN_ELTWISE_SINH,
  HN_ELTWISE_COSH,
  HN_ELTWISE_ASINH,
  HN_ELTWISE_ACOSH,
  HN_ELTWISE_ATANH,
  HN_ELTWISE_FLOOR,
  HN_ELTWISE_CEIL,
  HN_ELTWISE_ROUND, /* half to even */
  HN_ELTWISE_LT,    /* a < b */
  HN_ELTWISE_LE,
  HN_ELTWISE_EQ,
  HN_ELTWISE_NE,
  HN_ELTWISE_GT,
  HN_ELTWISE_GE,
  HN_ELTWISE_NOT,
  HN_ELTWISE_AND,
  HN_ELTWISE_OR,
  HN_ELTWISE_XOR,
  HN_ELTWISE_IS_NAN,
  HN_ELTWISE_IS_INF,
  HN_ELTWISE_SELECT, /* a ? b : c */
  HN_ELTWISE_RELU,
  HN_ELTWISE_LEAKY_RELU, /* a < 0 ? a * imm : a */
  HN_ELTWISE_CLIP,       /* min(max(a, b), c) */
  HN_ELTWISE_ADD_IMM,    /* a + imm */
  HN_ELTWISE_MUL_IMM,    /* a * imm */
  HN_ELTWISE_MIN_IMM,    /* min(a, imm) */
  HN_ELTWISE_MAX_IMM,    /* max(a, imm) */
  HN_ELTWISE_OP_COUNT
} hn_eltwise_op;

/* dst, a, b, c: registers, except where the op's line says otherwise. dst may be one of the operands.
 * A register never written is 0. Each output is stored exactly once. */
typedef struct {
  uint8_t op; /* hn_eltwise_op */
  uint8_t dst, a, b, c;
  double imm; /* a float for kernels of f32 */
} hn_eltwise_instruction;

typedef struct {
  const void *data;     /* elements of the type that the kernel names */
  int64_t inner_stride; /* 1: contiguous along a row; 0: one value for the whole row */
  int64_t period;       /* 8, 16 or 32: a row of the output reads these many values again and again;
                           then rows and parts are whole periods. 0: no repetition */
  int64_t outer_stride[HN_ELTWISE_OUTER_RANK]; /* elements; 0 broadcasts */
} hn_eltwise_input;

/* Rows are contiguous. An output may be the very memory of an input of the same strides. */
typedef struct {
  void *data;
  int64_t outer_stride[HN_ELTWISE_OUTER_RANK]; /* elements */
} hn_eltwise_output;

typedef struct {
  const hn_eltwise_instruction *code;
  const hn_eltwise_input *input;
  const hn_eltwise_output *output;
  int32_t code_count, input_count, output_count;
  int32_t outer_rank;                       /* 0 .. HN_ELTWISE_OUTER_RANK; 0 is one row */
  int64_t outer_dim[HN_ELTWISE_OUTER_RANK]; /* the last varies fastest from row to row */
  int64_t inner;                            /* elements of a row */
  int64_t part;                             /* elements of a row that make one work unit; 0: the whole row */
  int32_t parts_first;                      /* 1: unit = part * rows + row */
} hn_eltwise_args;

/* Work units: rows * ceil(inner / part); unit = row * parts_of_a_row + part unless parts_first is set. */
static inline int64_t hn_eltwise_units(const hn_eltwise_args *a) {
  int64_t rows = 1;
  for (int32_t d = 0; d < a->outer_rank; ++d) rows *= a->outer_dim[d];
  return a->part > 0 ? rows * ((a->inner + a->part - 1) / a->part) : rows;
}

/* Computes the units [begin, end). Uses about 45 KiB of stack. */
typedef void hn_eltwise_fn(const hn_eltwise_args *args, int64_t begin, int64_t end);

hn_eltwise_fn hn_eltwise_f32_avx512, hn_eltwise_f32_avx2, hn_eltwise_f32_c;
hn_eltwise_fn hn_eltwise_bf16_avx512, hn_eltwise_bf16_avx2, hn_eltwise_bf16_c;
hn_eltwise_fn hn_eltwise_f16_avx512, hn_eltwise_f16_avx2, hn_eltwise_f16_c;
hn_eltwise_fn hn_eltwise_f64_avx512, hn_eltwise_f64_avx2, hn_eltwise_f64_c;

#endif
