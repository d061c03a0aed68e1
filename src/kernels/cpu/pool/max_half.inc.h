/* SPDX-License-Identifier: Apache-2.0 */
/* max_half.inc.h - the maximum of blocks of halves under windows, as integers: no half is converted, and a vector holds
 * twice as many. The rows of a window are folded first, for all columns, then their columns.
 *
 * A half's bits as an i16, those but the sign turned over where it is negative, are in the order of the numbers; moved
 * on until -infinity is the least of all, what was less than that comes out as the greatest: NaN of both signs. */
#ifndef HN_KERNELS_CPU_POOL_MAX_HALF_INC_H
#define HN_KERNELS_CPU_POOL_MAX_HALF_INC_H

#include "kernels/cpu/held.inc.h"
#include "kernels/cpu/pool/taps.inc.h"

#if defined(HN_SIMD_AVX512)
enum { ORDER_LANES = 32 };
typedef __m512i order;
HN_INLINE order o_load(const void *p) { return _mm512_loadu_si512(p); }
HN_INLINE void o_store(void *p, order v) { _mm512_storeu_si512(p, v); }
HN_INLINE order o_set(int x) { return _mm512_set1_epi16((int16_t)x); }
HN_INLINE order o_max(order a, order b) { return _mm512_max_epi16(a, b); }
HN_INLINE order o_add(order a, order b) { return _mm512_add_epi16(a, b); }
HN_INLINE order o_turn(order v) {
  return _mm512_xor_si512(v, _mm512_and_si512(_mm512_srai_epi16(v, 15), o_set(INT16_MAX)));
}
#elif defined(HN_SIMD_AVX2)
enum { ORDER_LANES = 16 };
typedef __m256i order;
HN_INLINE order o_load(const void *p) { return _mm256_loadu_si256(p); }
HN_INLINE void o_store(void *p, order v) { _mm256_storeu_si256(p, v); }
HN_INLINE order o_set(int x) { return _mm256_set1_epi16((int16_t)x); }
HN_INLINE order o_max(order a, order b) { return _mm256_max_epi16(a, b); }
HN_INLINE order o_add(order a, order b) { return _mm256_add_epi16(a, b); }
HN_INLINE order o_turn(order v) {
  return _mm256_xor_si256(v, _mm256_and_si256(_mm256_srai_epi16(v, 15), o_set(INT16_MAX)));
}
#else
enum { ORDER_LANES = 8 };
typedef int16_t order __attribute__((vector_size(16)));
typedef uint16_t wrapping __attribute__((vector_size(16)));
HN_INLINE order o_load(const void *p) {
  order v;
  memcpy(&v, p, sizeof v);
  return v;
}
HN_INLINE void o_store(void *p, order v) { memcpy(p, &v, sizeof v); }
HN_INLINE order o_set(int x) {
  const int16_t v = (int16_t)x;
  return (order){v, v, v, v, v, v, v, v};
}
HN_INLINE order o_max(order a, order b) {
  const order greater = (order)(a > b);
  return (a & greater) | (b & ~greater);
}
HN_INLINE order o_add(order a, order b) { return (order)((wrapping)a + (wrapping)b); }
HN_INLINE order o_turn(order v) { return v ^ ((v >> 15) & o_set(INT16_MAX)); }
#endif

#if defined(HN_HELD_BF16)
enum { ORDER_NANS = 0x7f }; /* of each sign */
#else
enum { ORDER_NANS = 0x3ff };
#endif
HN_INLINE order order_of(const held *p) { return o_add(o_turn(o_load(p)), o_set(-ORDER_NANS)); }
HN_INLINE void store_order(held *p, order v) { o_store(p, o_turn(o_add(v, o_set(ORDER_NANS)))); }

enum { COLUMNS = 256 /* that are folded at once: 16 KiB */ };

/* The greatest of `count` from x on, `step` apart, or what is so_far. few: 0, or count where the compiler may know it.
 */
HN_INLINE order fold_steps(order so_far, const held *x, int64_t count, int64_t step, const int few,
                           const int is_order) {
  HN_UNROLL
  for (int k = 0; k < few; ++k) so_far = o_max(so_far, is_order ? o_load(x + k * step) : order_of(x + k * step));
  for (int64_t k = 0; !few && k < count; ++k)
    so_far = o_max(so_far, is_order ? o_load(x + k * step) : order_of(x + k * step));
  return so_far;
}

/* The rows under the window, of elements [begin, end) of them. */
HN_INLINE void fold_rows_of(const hn_pool_args *a, const held *plane, const row_taps *t, int64_t begin, int64_t end,
                            const int few, held *to) {
  const int64_t row = a->in_w * HN_HELD_BLOCK, step = a->dilation_h * row, rows = t->y.last - t->y.first;
  const held *x = plane + ((t->z.origin * a->in_h) + t->y.origin) * row + t->y.first * step;
  for (int64_t at = begin; at < end; at += ORDER_LANES, to += ORDER_LANES) {
    order v = o_set(INT16_MIN);
    if (few)
      v = fold_steps(v, x + at, rows, step, few, 0);
    else
      for (int64_t kz = t->z.first; kz < t->z.last; ++kz)
        v = fold_steps(v, x + kz * a->dilation_d * a->in_h * row + at, rows, step, 0, 0);
    o_store(to, v);
  }
}
HN_OUTLINE void fold_rows(const hn_pool_args *a, const held *plane, const row_taps *t, int64_t begin, int64_t end,
                          held *to) {
  const int64_t rows = t->z.first == 0 && t->z.last == 1 ? t->y.last - t->y.first : 0;
  begin *= HN_HELD_BLOCK, end *= HN_HELD_BLOCK;
  if (rows == 2)
    fold_rows_of(a, plane, t, begin, end, 2, to);
  else if (rows == 3)
    fold_rows_of(a, plane, t, begin, end, 3, to);
  else
    fold_rows_of(a, plane, t, begin, end, 0, to);
}

/* Outputs [ox, last), whose windows lie in `columns`, the first of which is `begin`. */
HN_INLINE void fold_columns(const hn_pool_args *a, const held *columns, int64_t begin, int64_t ox, int64_t last,
                            held *y) {
  const int64_t step = a->dilation_w * HN_HELD_BLOCK;
  for (; ox < last; ++ox) {
    const taps tx = taps_x(a, ox);
    const held *x = columns + (tx.origin - begin) * HN_HELD_BLOCK + tx.first * step;
    const int64_t count = tx.last - tx.first;
    for (int64_t lane = 0; lane < HN_HELD_BLOCK; lane += ORDER_LANES) {
      const order v = o_set(INT16_MIN);
      store_order(y + ox * HN_HELD_BLOCK + lane, count == 3   ? fold_steps(v, x + lane, 3, step, 3, 1)
                                                 : count == 2 ? fold_steps(v, x + lane, 2, step, 2, 1)
                                                              : fold_steps(v, x + lane, count, step, 0, 1));
    }
  }
}

HN_INLINE int max_row_fits(const hn_pool_args *a) { return (a->kernel_w - 1) * a->dilation_w < COLUMNS; }

HN_INLINE void max_row(const hn_pool_args *a, const held *plane, held *y, const row_taps *t) {
  const int64_t reach = (a->kernel_w - 1) * a->dilation_w + 1, together = (COLUMNS - reach) / a->stride_w + 1;
  _Alignas(64) held columns[COLUMNS * HN_HELD_BLOCK];
  for (int64_t first = 0; first < a->out_w; first += together) {
    const int64_t last = first + at_most(together, a->out_w - first), left = first * a->stride_w - a->pad_left;
    const int64_t begin = left < 0 ? 0 : left, right = (last - 1) * a->stride_w - a->pad_left + reach;
    fold_rows(a, plane, t, begin, at_most(right, a->in_w), columns);
    fold_columns(a, columns, begin, first, last, y);
  }
}

#endif
