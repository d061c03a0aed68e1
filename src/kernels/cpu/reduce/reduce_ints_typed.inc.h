/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_ints_typed.inc.h - a reduction of integers of one type: T, W its unsigned twin, LOWEST and HIGHEST its bounds,
 * REDUCE the function's name. Sums and products are those of the twin: they wrap. */

/* One step for columns [0, n) of a row, or for a row of n elements into one. */
#define STEP(expression)                                                                                               \
  if (inner == 1) {                                                                                                    \
    T total = to[0];                                                                                                   \
    for (int64_t i = 0; i < axis; ++i) {                                                                               \
      const T sum = total, one = from[i];                                                                              \
      total = (T)(expression);                                                                                         \
    }                                                                                                                  \
    to[0] = total;                                                                                                     \
    break;                                                                                                             \
  }                                                                                                                    \
  for (int64_t i = 0; i < axis; ++i)                                                                                   \
    for (int64_t c = 0; c < columns; ++c) {                                                                            \
      const T sum = to[c], one = from[i * inner + c];                                                                  \
      to[c] = (T)(expression);                                                                                         \
    }                                                                                                                  \
  break

static void REDUCE(hn_reduce_kind kind, const T *restrict from, T *restrict to, int64_t axis, int64_t inner,
                   int64_t columns) {
  for (int64_t c = 0; c < columns; ++c) to[c] = (T)identity(kind, (uint64_t)(LOWEST), (uint64_t)(HIGHEST));
  switch (kind) {
  case HN_REDUCE_MAX: STEP(one > sum ? one : sum);
  case HN_REDUCE_MIN: STEP(one < sum ? one : sum);
  case HN_REDUCE_PRODUCT: STEP((W)sum * (W)one);
  case HN_REDUCE_SUM_SQUARE: STEP((W)sum + (W)one * (W)one);
  case HN_REDUCE_L1: STEP((W)sum + ((T)1 > one ? (W)0 - (W)one : (W)one));
  default: STEP((W)sum + (W)one);
  }
}
#undef STEP
#undef T
#undef W
#undef REDUCE
#undef LOWEST
#undef HIGHEST
