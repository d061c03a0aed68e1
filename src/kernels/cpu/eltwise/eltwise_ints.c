/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise_ints.c - elementwise programs on integers of any types: each step is a loop over a block of 64-bit lanes,
 * which the compiler makes vectors of. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/eltwise/eltwise_ints.h"
#include "kernels/cpu/eltwise/divide.inc.h"

#define EACH(result)                                                                                                   \
  for (int i = 0; i < HN_INTS_BLOCK; ++i) out[i] = (int64_t)(result);                                                  \
  break
static void step(const hn_ints_step *s, int64_t (*restrict values)[HN_INTS_BLOCK], int64_t *restrict out) {
  const int64_t *a = values[s->a], *b = values[s->b], *c = values[s->c];
  switch (s->op) {
  case HN_INTS_CONST: EACH(s->constant);
  case HN_INTS_ADD: EACH((uint64_t)a[i] + (uint64_t)b[i]);
  case HN_INTS_SUB: EACH((uint64_t)a[i] - (uint64_t)b[i]);
  case HN_INTS_MUL: EACH((uint64_t)a[i] * (uint64_t)b[i]);
  case HN_INTS_DIV:
  case HN_INTS_FMOD:
  case HN_INTS_MOD: EACH(divide_signed(s->op, a[i], b[i]));
  case HN_INTS_MIN: EACH(a[i] < b[i] ? a[i] : b[i]);
  case HN_INTS_MAX: EACH(a[i] < b[i] ? b[i] : a[i]);
  case HN_INTS_LT: EACH(a[i] < b[i]);
  case HN_INTS_LE: EACH(a[i] <= b[i]);
  case HN_INTS_GT: EACH(a[i] > b[i]);
  case HN_INTS_GE: EACH(a[i] >= b[i]);
  case HN_INTS_EQ: EACH(a[i] == b[i]);
  case HN_INTS_NE: EACH(a[i] != b[i]);
  case HN_INTS_AND: EACH((a[i] != 0) & (b[i] != 0));
  case HN_INTS_OR: EACH((a[i] != 0) | (b[i] != 0));
  case HN_INTS_XOR: EACH((a[i] != 0) ^ (b[i] != 0));
  case HN_INTS_NOT: EACH(a[i] == 0);
  case HN_INTS_SELECT: EACH(a[i] ? b[i] : c[i]);
  case HN_INTS_NONE:
  case HN_INTS_INPUT: break;
  }
}
#undef EACH

#define LOAD(code, type)                                                                                               \
  case code: {                                                                                                         \
    const type *x = (const type *)from + first;                                                                        \
    if (stride == 0)                                                                                                   \
      for (int i = 0; i < count; ++i) to[i] = (int64_t)x[0];                                                           \
    else if (stride == 1)                                                                                              \
      for (int i = 0; i < count; ++i) to[i] = (int64_t)x[i];                                                           \
    else                                                                                                               \
      for (int i = 0; i < count; ++i) to[i] = (int64_t)x[i * stride];                                                  \
    break;                                                                                                             \
  }
static void load(hn_ints_type type, const void *from, int64_t first, int64_t stride, int count, int64_t *restrict to) {
  switch (type) {
    LOAD(HN_INTS_I8, int8_t)
    LOAD(HN_INTS_U8, uint8_t)
    LOAD(HN_INTS_BOOL, uint8_t)
    LOAD(HN_INTS_I16, int16_t)
    LOAD(HN_INTS_U16, uint16_t)
    LOAD(HN_INTS_I32, int32_t)
    LOAD(HN_INTS_U32, uint32_t)
    LOAD(HN_INTS_I64, int64_t)
    LOAD(HN_INTS_U64, uint64_t)
  }
}
#undef LOAD

#define STORE(code, type, value)                                                                                       \
  case code:                                                                                                           \
    for (int i = 0; i < count; ++i) ((type *)to)[first + i] = (type)(value);                                           \
    break;
static void store(hn_ints_type type, const int64_t *restrict from, int count, int64_t first, void *restrict to) {
  switch (type) {
    STORE(HN_INTS_I8, int8_t, (uint64_t)from[i])
    STORE(HN_INTS_U8, uint8_t, (uint64_t)from[i])
    STORE(HN_INTS_BOOL, uint8_t, from[i] != 0)
    STORE(HN_INTS_I16, int16_t, (uint64_t)from[i])
    STORE(HN_INTS_U16, uint16_t, (uint64_t)from[i])
    STORE(HN_INTS_I32, int32_t, (uint64_t)from[i])
    STORE(HN_INTS_U32, uint32_t, (uint64_t)from[i])
    STORE(HN_INTS_I64, int64_t, (uint64_t)from[i])
    STORE(HN_INTS_U64, uint64_t, (uint64_t)from[i])
  }
}
#undef STORE

/* One block of a row: `count` elements from the place `index` on, which is number `first` of the result. */
static void block(const hn_ints_args *a, const int64_t *index, int64_t first, int count,
                  int64_t (*values)[HN_INTS_BLOCK]) {
  const hn_ints_program *p = a->program;
  for (int i = 0; i < p->count; ++i) {
    const hn_ints_step *s = &p->step[i];
    if (s->op != HN_INTS_INPUT) {
      step(s, values, values[i]);
      continue;
    }
    int64_t at = 0;
    for (int d = 0; d < p->rank; ++d) at += index[d] * s->stride[d];
    load(s->type, a->x[s->a], at, s->stride[p->rank - 1], count, values[i]);
  }
  store(p->to, values[p->count - 1], count, first, a->y);
}

void HN_SIMD_NAME(hn_eltwise_ints)(const hn_ints_args *a, int64_t begin, int64_t end) {
  const hn_ints_program *p = a->program;
  int64_t values[HN_INTS_STEPS][HN_INTS_BLOCK];
  int64_t index[HN_INTS_RANK];
  for (int i = 0; i < p->count; ++i) memset(values[i], 0, sizeof values[i]);
  hn_ints_place(p, begin, index);
  const int last = p->rank - 1;
  for (int64_t at = begin; at < end;) {
    int64_t count = p->dim[last] - index[last] < end - at ? p->dim[last] - index[last] : end - at;
    if (count > HN_INTS_BLOCK) count = HN_INTS_BLOCK;
    block(a, index, at, (int)count, values);
    at += count;
    hn_ints_advance(p, count, index);
  }
}
