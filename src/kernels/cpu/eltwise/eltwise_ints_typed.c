/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise_ints_typed.c - one instruction on integers of one type, or on bools. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/eltwise/eltwise_ints.h"
#include "kernels/cpu/eltwise/divide.inc.h"
#include <stdbool.h>

enum { OPERANDS = 3, BUFFER = 512 }; /* elements: of an operand that does not lie as it is read */

#define T int8_t
#define W uint32_t
#define N(name) name##_i8
#include "kernels/cpu/eltwise/eltwise_ints_typed.inc.h"
#define T uint8_t
#define W uint32_t
#define N(name) name##_u8
#include "kernels/cpu/eltwise/eltwise_ints_typed.inc.h"
#define T int16_t
#define W uint32_t
#define N(name) name##_i16
#include "kernels/cpu/eltwise/eltwise_ints_typed.inc.h"
#define T uint16_t
#define W uint32_t
#define N(name) name##_u16
#include "kernels/cpu/eltwise/eltwise_ints_typed.inc.h"
#define T int32_t
#define W uint32_t
#define N(name) name##_i32
#include "kernels/cpu/eltwise/eltwise_ints_typed.inc.h"
#define T uint32_t
#define W uint32_t
#define N(name) name##_u32
#include "kernels/cpu/eltwise/eltwise_ints_typed.inc.h"
#define T int64_t
#define W uint64_t
#define N(name) name##_i64
#include "kernels/cpu/eltwise/eltwise_ints_typed.inc.h"
#define T uint64_t
#define W uint64_t
#define N(name) name##_u64
#include "kernels/cpu/eltwise/eltwise_ints_typed.inc.h"

#define EACH(value)                                                                                                    \
  for (int64_t i = 0; i < count; ++i) to[i] = (uint8_t)(value);                                                        \
  break
static void step_bool(hn_ints_op op, const void *const *x, int64_t count, void *restrict y) {
  const uint8_t *a = x[0], *b = x[1];
  uint8_t *restrict to = y;
  switch (op) {
  case HN_INTS_AND: EACH((a[i] != 0) & (b[i] != 0));
  case HN_INTS_OR: EACH((a[i] != 0) | (b[i] != 0));
  case HN_INTS_XOR: EACH((a[i] != 0) ^ (b[i] != 0));
  case HN_INTS_NOT: EACH(a[i] == 0);
  default: step_u8(op, x, count, y);
  }
}
#undef EACH

static const struct {
  void (*step)(hn_ints_op op, const void *const *x, int64_t count, void *restrict y);
  void (*gather)(const void *x, int64_t stride, int64_t count, void *restrict buffer);
  int bytes;
} types[] = {[HN_INTS_I8] = {step_i8, gather_i8, 1},    [HN_INTS_U8] = {step_u8, gather_u8, 1},
             [HN_INTS_I16] = {step_i16, gather_i16, 2}, [HN_INTS_U16] = {step_u16, gather_u16, 2},
             [HN_INTS_I32] = {step_i32, gather_i32, 4}, [HN_INTS_U32] = {step_u32, gather_u32, 4},
             [HN_INTS_I64] = {step_i64, gather_i64, 8}, [HN_INTS_U64] = {step_u64, gather_u64, 8},
             [HN_INTS_BOOL] = {step_bool, gather_u8, 1}};

typedef struct operand {
  const hn_ints_step *step;
  hn_ints_type type;
  bool is_dense;  /* read where it lies */
  int64_t filled; /* the place that all of the buffer repeats; -1: none */
  _Alignas(64) unsigned char buffer[BUFFER * sizeof(int64_t)];
} operand;

static void open_operand(const hn_ints_program *p, int number, int step, operand *o) {
  const bool is_condition = p->step[p->count - 1].op == HN_INTS_SELECT && number == 0;
  o->step = &p->step[step];
  o->type = is_condition ? HN_INTS_BOOL : p->from;
  o->is_dense = o->step->op == HN_INTS_INPUT && o->step->stride[p->rank - 1] == 1;
  o->filled = -1;
  if (o->step->op != HN_INTS_CONST) return;
  types[o->type].gather(&o->step->constant, 0, BUFFER, o->buffer); /* the low bytes come first on what this runs on */
  o->filled = 0;
}

/* The elements from the place `index` on, at most BUFFER of them unless they are dense. */
static const void *read_operand(const hn_ints_args *a, const int64_t *index, int64_t count, operand *o) {
  const hn_ints_program *p = a->program;
  if (o->step->op == HN_INTS_CONST) return o->buffer;
  int64_t at = 0;
  for (int d = 0; d < p->rank; ++d) at += index[d] * o->step->stride[d];
  const char *from = (const char *)a->x[o->step->a] + at * types[o->type].bytes;
  if (o->is_dense) return from;
  const int64_t stride = o->step->stride[p->rank - 1];
  if (stride == 0 && o->filled == at) return o->buffer;
  types[o->type].gather(from, stride, stride == 0 ? BUFFER : count, o->buffer);
  if (stride == 0) o->filled = at;
  return o->buffer;
}

void HN_SIMD_NAME(hn_eltwise_ints_typed)(const hn_ints_args *a, int64_t begin, int64_t end) {
  const hn_ints_program *p = a->program;
  const hn_ints_step *step = &p->step[p->count - 1];
  const int last = p->rank - 1, count = step->op == HN_INTS_SELECT ? 3 : step->op == HN_INTS_NOT ? 1 : 2;
  const int32_t reads[OPERANDS] = {step->a, step->b, step->c};
  operand operands[OPERANDS];
  int64_t index[HN_INTS_RANK], most = end - begin;
  for (int k = 0; k < count; ++k) {
    open_operand(p, k, reads[k], &operands[k]);
    if (!operands[k].is_dense) most = BUFFER;
  }
  hn_ints_place(p, begin, index);
  for (int64_t at = begin; at < end;) {
    int64_t n = p->dim[last] - index[last] < end - at ? p->dim[last] - index[last] : end - at;
    if (n > most) n = most;
    const void *x[OPERANDS] = {0};
    for (int k = 0; k < count; ++k) x[k] = read_operand(a, index, n, &operands[k]);
    types[p->from].step(step->op, x, n, (char *)a->y + at * types[p->to].bytes);
    at += n;
    hn_ints_advance(p, n, index);
  }
}
