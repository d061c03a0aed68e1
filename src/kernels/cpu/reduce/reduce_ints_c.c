/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_ints_c.c - reductions of integers. Sums and products are those of the type's unsigned twin: they wrap. */
#include "kernels/cpu/reduce/reduce.h"

static uint64_t identity(hn_reduce_kind kind, uint64_t lowest, uint64_t highest) {
  switch (kind) {
  case HN_REDUCE_MAX: return lowest;
  case HN_REDUCE_MIN: return highest;
  case HN_REDUCE_PRODUCT: return 1;
  default: return 0;
  }
}

/* One step for columns [0, n) of a row, or for a row of n elements into one. */
#define STEP(type, twin, expression)                                                                                   \
  if (inner == 1) {                                                                                                    \
    type total = to[0];                                                                                                \
    for (int64_t i = 0; i < axis; ++i) {                                                                               \
      const type sum = total, one = from[i];                                                                           \
      total = (type)(expression);                                                                                      \
    }                                                                                                                  \
    to[0] = total;                                                                                                     \
    break;                                                                                                             \
  }                                                                                                                    \
  for (int64_t i = 0; i < axis; ++i)                                                                                   \
    for (int64_t c = 0; c < columns; ++c) {                                                                            \
      const type sum = to[c], one = from[i * inner + c];                                                               \
      to[c] = (type)(expression);                                                                                      \
    }                                                                                                                  \
  break;

#define DEFINE(type, twin, name, lowest, highest)                                                                      \
  static void reduce_##name(hn_reduce_kind kind, const type *restrict from, type *restrict to, int64_t axis,           \
                            int64_t inner, int64_t columns) {                                                          \
    for (int64_t c = 0; c < columns; ++c) to[c] = (type)identity(kind, (uint64_t)(lowest), (uint64_t)(highest));       \
    switch (kind) {                                                                                                    \
    case HN_REDUCE_MAX: STEP(type, twin, one > sum ? one : sum)                                                        \
    case HN_REDUCE_MIN: STEP(type, twin, one < sum ? one : sum)                                                        \
    case HN_REDUCE_PRODUCT: STEP(type, twin, (twin)sum *(twin)one)                                                     \
    case HN_REDUCE_SUM_SQUARE: STEP(type, twin, (twin)sum + (twin)one * (twin)one)                                     \
    case HN_REDUCE_L1: STEP(type, twin, (twin)sum + ((type)1 > one ? (twin)0 - (twin)one : (twin)one))                 \
    default: STEP(type, twin, (twin)sum + (twin)one)                                                                   \
    }                                                                                                                  \
  }
DEFINE(int8_t, uint32_t, i8, INT8_MIN, INT8_MAX)
DEFINE(uint8_t, uint32_t, u8, 0, UINT8_MAX)
DEFINE(int16_t, uint32_t, i16, INT16_MIN, INT16_MAX)
DEFINE(uint16_t, uint32_t, u16, 0, UINT16_MAX)
DEFINE(int32_t, uint32_t, i32, INT32_MIN, INT32_MAX)
DEFINE(uint32_t, uint32_t, u32, 0, UINT32_MAX)
DEFINE(int64_t, uint64_t, i64, INT64_MIN, INT64_MAX)
DEFINE(uint64_t, uint64_t, u64, 0, UINT64_MAX)

#define CASE(code, type, name)                                                                                         \
  case code: reduce_##name(a->kind, (const type *)x + from, (type *)y + to, a->axis, a->inner, columns); break;

void hn_reduce_ints_c(const hn_reduce_args *a, hn_reduce_type type, const void *x, void *y, int64_t begin,
                      int64_t end) {
  const int64_t blocks = (a->inner + HN_REDUCE_COLUMNS - 1) / HN_REDUCE_COLUMNS;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t o = unit / blocks, first = unit % blocks * HN_REDUCE_COLUMNS;
    const int64_t left = a->inner - first, columns = left < HN_REDUCE_COLUMNS ? left : HN_REDUCE_COLUMNS;
    const int64_t from = o * a->axis * a->inner + first, to = o * a->inner + first;
    switch (type) {
      CASE(HN_REDUCE_I8, int8_t, i8)
      CASE(HN_REDUCE_U8, uint8_t, u8)
      CASE(HN_REDUCE_I16, int16_t, i16)
      CASE(HN_REDUCE_U16, uint16_t, u16)
      CASE(HN_REDUCE_I32, int32_t, i32)
      CASE(HN_REDUCE_U32, uint32_t, u32)
      CASE(HN_REDUCE_I64, int64_t, i64)
      CASE(HN_REDUCE_U64, uint64_t, u64)
    }
  }
}
