/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise_ints_typed.inc.h - one instruction on one type, T: W is an unsigned type that it may be computed in, N makes
 * names. Operands are read where they lie and the result is written where it belongs, in one loop. */

#define EACH(type, value)                                                                                              \
  {                                                                                                                    \
    type *restrict to = y;                                                                                             \
    for (int64_t i = 0; i < count; ++i) to[i] = (type)(value);                                                         \
    break;                                                                                                             \
  }
static void N(step)(hn_ints_op op, const void *const *x, int64_t count, void *restrict y) {
  const T *a = x[0], *b = x[1], *c = x[2];
  const uint8_t *when = x[0];
  switch (op) {
  case HN_INTS_ADD: EACH(T, (W)a[i] + (W)b[i])
  case HN_INTS_SUB: EACH(T, (W)a[i] - (W)b[i])
  case HN_INTS_MUL: EACH(T, (W)a[i] * (W)b[i])
  case HN_INTS_MIN: EACH(T, a[i] < b[i] ? a[i] : b[i])
  case HN_INTS_MAX: EACH(T, a[i] < b[i] ? b[i] : a[i])
  case HN_INTS_LT: EACH(uint8_t, a[i] < b[i])
  case HN_INTS_LE: EACH(uint8_t, a[i] <= b[i])
  case HN_INTS_GT: EACH(uint8_t, a[i] > b[i])
  case HN_INTS_GE: EACH(uint8_t, a[i] >= b[i])
  case HN_INTS_EQ: EACH(uint8_t, a[i] == b[i])
  case HN_INTS_NE: EACH(uint8_t, a[i] != b[i])
  case HN_INTS_SELECT: EACH(T, when[i] ? b[i] : c[i])
  default: break;
  }
}
#undef EACH

/* An operand that does not lie as it is read: repeated, or with a stride. */
static void N(gather)(const void *x, int64_t stride, int64_t count, void *restrict buffer) {
  const T *from = x;
  T *to = buffer;
  for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
}
#undef T
#undef W
#undef N
