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

#define T int8_t
#define W uint32_t
#define REDUCE reduce_i8
#define LOWEST INT8_MIN
#define HIGHEST INT8_MAX
#include "kernels/cpu/reduce/reduce_ints_typed.inc.h"
#define T uint8_t
#define W uint32_t
#define REDUCE reduce_u8
#define LOWEST 0
#define HIGHEST UINT8_MAX
#include "kernels/cpu/reduce/reduce_ints_typed.inc.h"
#define T int16_t
#define W uint32_t
#define REDUCE reduce_i16
#define LOWEST INT16_MIN
#define HIGHEST INT16_MAX
#include "kernels/cpu/reduce/reduce_ints_typed.inc.h"
#define T uint16_t
#define W uint32_t
#define REDUCE reduce_u16
#define LOWEST 0
#define HIGHEST UINT16_MAX
#include "kernels/cpu/reduce/reduce_ints_typed.inc.h"
#define T int32_t
#define W uint32_t
#define REDUCE reduce_i32
#define LOWEST INT32_MIN
#define HIGHEST INT32_MAX
#include "kernels/cpu/reduce/reduce_ints_typed.inc.h"
#define T uint32_t
#define W uint32_t
#define REDUCE reduce_u32
#define LOWEST 0
#define HIGHEST UINT32_MAX
#include "kernels/cpu/reduce/reduce_ints_typed.inc.h"
#define T int64_t
#define W uint64_t
#define REDUCE reduce_i64
#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX
#include "kernels/cpu/reduce/reduce_ints_typed.inc.h"
#define T uint64_t
#define W uint64_t
#define REDUCE reduce_u64
#define LOWEST 0
#define HIGHEST UINT64_MAX
#include "kernels/cpu/reduce/reduce_ints_typed.inc.h"

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
