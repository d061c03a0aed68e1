/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise_ints_typed.inc.h - one instruction on one type, T: W is an unsigned type that it may be computed in, N makes
 * names. Operands are read where they lie and the result is written where it belongs, in one loop. */

static T N(divide_one)(hn_ints_op op, T a, T b) {
  return (T)-1 < (T)1 ? (T)divide_signed(op, (int64_t)a, (int64_t)b) : (T)divide_unsigned(op, (uint64_t)a, (uint64_t)b);
}

/* Vectors with a number that is no double go one by one. */
HN_INLINE void N(divide)(hn_ints_op op, const T *a, const T *b, int64_t count, T *restrict to) {
  typedef T numbers __attribute__((vector_size(DIVIDE_LANES * sizeof(T))));
  const uint64_t up = (T)-1 < (T)1 ? (uint64_t)1 << DIVIDE_BITS : 0;
  int64_t i = 0;
  for (; count - i >= DIVIDE_LANES; i += DIVIDE_LANES) {
    numbers left, right;
    memcpy(&left, a + i, sizeof left);
    memcpy(&right, b + i, sizeof right);
    const divide_ints x = __builtin_convertvector(left, divide_ints), y = __builtin_convertvector(right, divide_ints);
    if (sizeof(T) == 8) {
      const divide_bits over = (((divide_bits)x + up) | ((divide_bits)y + up)) >> (DIVIDE_BITS + (up != 0));
      uint64_t some = 0;
      HN_UNROLL
      for (int lane = 0; lane < DIVIDE_LANES; ++lane) some |= over[lane];
      if (some) {
        for (int lane = 0; lane < DIVIDE_LANES; ++lane) to[i + lane] = N(divide_one)(op, a[i + lane], b[i + lane]);
        continue;
      }
    }
    left = __builtin_convertvector(divide_lanes(op, x, y), numbers);
    memcpy(to + i, &left, sizeof left);
  }
  for (; i < count; ++i) to[i] = N(divide_one)(op, a[i], b[i]);
}

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
  case HN_INTS_DIV: N(divide)(HN_INTS_DIV, a, b, count, y); break;
  case HN_INTS_FMOD: N(divide)(HN_INTS_FMOD, a, b, count, y); break;
  case HN_INTS_MOD: N(divide)(HN_INTS_MOD, a, b, count, y); break;
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
