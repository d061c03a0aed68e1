/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise_ints.inc.h - the body for one ISA and one width of lanes: HN_INTS_LANE is the lane, HN_INTS_WORD the same
 * without a sign, HN_INTS_NAME makes names of it. Each step is a loop over a block, which the compiler makes vectors
 * of.
 */

#define EACH(result)                                                                                                   \
  for (int i = 0; i < HN_INTS_BLOCK; ++i) out[i] = (HN_INTS_LANE)(result);                                             \
  break
static void HN_INTS_NAME(step)(const hn_ints_step *s, HN_INTS_LANE (*restrict values)[HN_INTS_BLOCK],
                               HN_INTS_LANE *restrict out) {
  const HN_INTS_LANE *a = values[s->a], *b = values[s->b], *c = values[s->c];
  switch (s->op) {
  case HN_INTS_CONST: EACH(s->constant);
  case HN_INTS_ADD: EACH((HN_INTS_WORD)a[i] + (HN_INTS_WORD)b[i]);
  case HN_INTS_SUB: EACH((HN_INTS_WORD)a[i] - (HN_INTS_WORD)b[i]);
  case HN_INTS_MUL: EACH((HN_INTS_WORD)a[i] * (HN_INTS_WORD)b[i]);
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
      for (int i = 0; i < count; ++i) to[i] = (HN_INTS_LANE)x[0];                                                      \
    else if (stride == 1)                                                                                              \
      for (int i = 0; i < count; ++i) to[i] = (HN_INTS_LANE)x[i];                                                      \
    else                                                                                                               \
      for (int i = 0; i < count; ++i) to[i] = (HN_INTS_LANE)x[i * stride];                                             \
    break;                                                                                                             \
  }
static void HN_INTS_NAME(load)(hn_ints_type type, const void *from, int64_t first, int64_t stride, int count,
                               HN_INTS_LANE *restrict to) {
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
static void HN_INTS_NAME(store)(hn_ints_type type, const HN_INTS_LANE *restrict from, int count, int64_t first,
                                void *restrict to) {
  switch (type) {
    STORE(HN_INTS_I8, int8_t, (HN_INTS_WORD)from[i])
    STORE(HN_INTS_U8, uint8_t, (HN_INTS_WORD)from[i])
    STORE(HN_INTS_BOOL, uint8_t, from[i] != 0)
    STORE(HN_INTS_I16, int16_t, (HN_INTS_WORD)from[i])
    STORE(HN_INTS_U16, uint16_t, (HN_INTS_WORD)from[i])
    STORE(HN_INTS_I32, int32_t, (HN_INTS_WORD)from[i])
    STORE(HN_INTS_U32, uint32_t, (HN_INTS_WORD)from[i])
    STORE(HN_INTS_I64, int64_t, (HN_INTS_WORD)from[i])
    STORE(HN_INTS_U64, uint64_t, (HN_INTS_WORD)from[i])
  }
}
#undef STORE

/* One block of a row: `count` elements from the place `index` on, which is number `first` of the result. */
static void HN_INTS_NAME(block)(const hn_ints_args *a, const int64_t *index, int64_t first, int count,
                                HN_INTS_LANE (*values)[HN_INTS_BLOCK]) {
  const hn_ints_program *p = a->program;
  for (int i = 0; i < p->count; ++i) {
    const hn_ints_step *s = &p->step[i];
    if (s->op != HN_INTS_INPUT) {
      HN_INTS_NAME(step)(s, values, values[i]);
      continue;
    }
    int64_t at = 0;
    for (int d = 0; d < p->rank; ++d) at += index[d] * s->stride[d];
    HN_INTS_NAME(load)(s->type, a->x[s->a], at, s->stride[p->rank - 1], count, values[i]);
  }
  HN_INTS_NAME(store)(p->to, values[p->count - 1], count, first, a->y);
}

static void HN_INTS_NAME(range)(const hn_ints_args *a, int64_t begin, int64_t end) {
  const hn_ints_program *p = a->program;
  HN_INTS_LANE values[HN_INTS_STEPS][HN_INTS_BLOCK];
  int64_t index[HN_INTS_RANK], rest = begin;
  for (int i = 0; i < p->count; ++i) memset(values[i], 0, sizeof values[i]);
  for (int d = p->rank - 1; d >= 0; --d) {
    index[d] = rest % p->dim[d];
    rest /= p->dim[d];
  }
  const int last = p->rank - 1;
  for (int64_t at = begin; at < end;) {
    int64_t count = p->dim[last] - index[last] < end - at ? p->dim[last] - index[last] : end - at;
    if (count > HN_INTS_BLOCK) count = HN_INTS_BLOCK;
    HN_INTS_NAME(block)(a, index, at, (int)count, values);
    at += count;
    index[last] += count;
    for (int d = last; d > 0 && index[d] == p->dim[d]; --d) index[d] = 0, ++index[d - 1];
  }
}
