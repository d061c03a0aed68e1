/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise_ints.h - elementwise programs on integers and bools: comparisons, logic, choices, sums and products.
 *
 * Every operand is widened to a lane of 64 bits, and the result is cut to its type; a bool is 0 or 1. One instruction
 * whose operands have one type needs no lanes: it reads and writes that type. */
#ifndef HN_KERNELS_CPU_ELTWISE_INTS_H
#define HN_KERNELS_CPU_ELTWISE_INTS_H

#include <stdint.h>

enum { HN_INTS_RANK = 8, HN_INTS_STEPS = 12, HN_INTS_BLOCK = 256 };

typedef enum hn_ints_op {
  HN_INTS_NONE,
  HN_INTS_INPUT,
  HN_INTS_CONST,
  HN_INTS_ADD,
  HN_INTS_SUB,
  HN_INTS_MUL,
  HN_INTS_DIV,  /* toward zero; by zero, this and the next are 0 */
  HN_INTS_FMOD, /* the remainder with the sign of a */
  HN_INTS_MOD,  /* with the sign of b */
  HN_INTS_MIN,
  HN_INTS_MAX,
  HN_INTS_LT,
  HN_INTS_LE,
  HN_INTS_GT,
  HN_INTS_GE,
  HN_INTS_EQ,
  HN_INTS_NE,
  HN_INTS_AND,
  HN_INTS_OR,
  HN_INTS_XOR,
  HN_INTS_NOT,
  HN_INTS_SELECT
} hn_ints_op;

typedef enum hn_ints_type {
  HN_INTS_I8,
  HN_INTS_U8,
  HN_INTS_I16,
  HN_INTS_U16,
  HN_INTS_I32,
  HN_INTS_U32,
  HN_INTS_I64,
  HN_INTS_U64,
  HN_INTS_BOOL
} hn_ints_type;

typedef struct {
  hn_ints_op op;
  int32_t a, b, c;              /* earlier steps; of INPUT: a is the operand */
  int64_t constant;             /* CONST */
  hn_ints_type type;            /* INPUT */
  int64_t stride[HN_INTS_RANK]; /* INPUT: elements; 0 where it is repeated */
} hn_ints_step;

typedef struct {
  hn_ints_step step[HN_INTS_STEPS]; /* the last one is the result */
  int32_t count, rank;
  int64_t dim[HN_INTS_RANK]; /* of the result, dense */
  hn_ints_type from, to;     /* from: of one instruction on one type */
} hn_ints_program;

typedef struct {
  const hn_ints_program *program;
  const void *const *x; /* operands */
  void *y;
} hn_ints_args;

/* Computes the elements [begin, end) of the result. */
typedef void hn_ints_fn(const hn_ints_args *args, int64_t begin, int64_t end);

/* The place of element number `at` of the result; then that `count` elements on, which end in its row at the latest. */
static inline void hn_ints_place(const hn_ints_program *p, int64_t at, int64_t *index) {
  for (int d = p->rank - 1; d >= 0; --d) {
    index[d] = at % p->dim[d];
    at /= p->dim[d];
  }
}

static inline void hn_ints_advance(const hn_ints_program *p, int64_t count, int64_t *index) {
  index[p->rank - 1] += count;
  for (int d = p->rank - 1; d > 0 && index[d] == p->dim[d]; --d) index[d] = 0, ++index[d - 1];
}

/* Any program. */
hn_ints_fn hn_eltwise_ints_avx512, hn_eltwise_ints_avx2, hn_eltwise_ints_c;
/* Operands and one instruction, the last step. All operands have the type `from` of the program, but the condition of
 * SELECT, which is a bool; constants fit into it. The result has it, too; that of comparisons and logic is a bool. */
hn_ints_fn hn_eltwise_ints_typed_avx512, hn_eltwise_ints_typed_avx2, hn_eltwise_ints_typed_c;

#endif
