/* SPDX-License-Identifier: Apache-2.0 */
/* pool_bytes.c - the greatest byte of a window. An i8 is compared as the u8 that is greater by 128.
 *
 * Of plain planes a row of outputs folds the rows of its window into one, all columns at once, then that row's columns.
 * Blocked planes go pixel by pixel. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/pool/taps.inc.h"
#include "kernels/cpu/quant/bytes.inc.h"

/* Row (kz, ky) of a window. */
HN_INLINE const uint8_t *row_of(const hn_pool_args *a, const uint8_t *plane, const row_taps *t, int64_t kz,
                                int64_t ky) {
  const int64_t level = (t->z.origin + kz * a->dilation_d) * a->in_h;
  return plane + (level + t->y.origin + ky * a->dilation_h) * a->in_w * a->block;
}

/* The greatest of each column, flipped. */
HN_INLINE void fold_rows(const hn_pool_args *a, const uint8_t *plane, const row_taps *t, uint8_t *to) {
  const vb flip = vb_set(a->flip);
  int64_t x = 0;
  for (; a->in_w - x >= B_GROUP; x += B_GROUP) {
    vb v = vb_set(0);
    for (int64_t kz = t->z.first; kz < t->z.last; ++kz)
      for (int64_t ky = t->y.first; ky < t->y.last; ++ky)
        v = vb_max(v, vb_xor(vb_load(row_of(a, plane, t, kz, ky) + x), flip));
    vb_store(to + x, v);
  }
  for (; x < a->in_w; ++x) {
    uint8_t v = 0;
    for (int64_t kz = t->z.first; kz < t->z.last; ++kz)
      for (int64_t ky = t->y.first; ky < t->y.last; ++ky) {
        const uint8_t one = row_of(a, plane, t, kz, ky)[x] ^ (uint8_t)a->flip;
        v = one > v ? one : v;
      }
    to[x] = v;
  }
}

/* Output column ox: a few columns at the borders, all of them where outputs are not beside each other. */
HN_INLINE uint8_t fold_columns(const hn_pool_args *a, const uint8_t *row, int64_t ox) {
  const taps t = taps_x(a, ox);
  uint8_t v = 0;
  for (int64_t k = t.first; k < t.last; ++k) {
    const uint8_t one = row[t.origin + k * a->dilation_w];
    v = one > v ? one : v;
  }
  return v ^ (uint8_t)a->flip;
}

HN_INLINE void plain_row(const hn_pool_args *a, const uint8_t *row, uint8_t *y) {
  const int64_t reach = (a->kernel_w - 1) * a->dilation_w; /* from the first tap to the last one */
  int64_t ox = 0;
  for (; a->stride_w == 1 && ox < at_most(a->pad_left, a->out_w); ++ox) y[ox] = fold_columns(a, row, ox);
  for (; a->stride_w == 1 && a->out_w - ox >= B_GROUP && ox - a->pad_left + reach + B_GROUP <= a->in_w; ox += B_GROUP) {
    vb v = vb_set(0);
    for (int64_t k = 0; k < a->kernel_w; ++k) v = vb_max(v, vb_load(row + ox - a->pad_left + k * a->dilation_w));
    vb_store(y + ox, vb_xor(v, vb_set(a->flip)));
  }
  for (; ox < a->out_w; ++ox) y[ox] = fold_columns(a, row, ox);
}

HN_INLINE void blocked_row(const hn_pool_args *a, const uint8_t *plane, uint8_t *y, const row_taps *t) {
  const vb flip = vb_set(a->flip);
  for (int64_t ox = 0; ox < a->out_w; ++ox) {
    const taps tx = taps_x(a, ox);
    vb v[64 / B_GROUP];
    HN_UNROLL for (int i = 0; i < 64 / B_GROUP; ++i) v[i] = vb_set(0);
    for (int64_t kz = t->z.first; kz < t->z.last; ++kz)
      for (int64_t ky = t->y.first; ky < t->y.last; ++ky) {
        const uint8_t *row = row_of(a, plane, t, kz, ky) + tx.origin * 64;
        for (int64_t kx = tx.first; kx < tx.last; ++kx) {
          HN_UNROLL for (int i = 0; i < 64 / B_GROUP; ++i) v[i] =
              vb_max(v[i], vb_xor(vb_load(row + kx * a->dilation_w * 64 + i * B_GROUP), flip));
        }
      }
    HN_UNROLL for (int i = 0; i < 64 / B_GROUP; ++i) vb_store(y + ox * 64 + i * B_GROUP, vb_xor(v[i], flip));
  }
}

void HN_SIMD_NAME(hn_pool_max_bytes)(const hn_pool_args *a, int64_t begin, int64_t end) {
  uint8_t row[HN_POOL_BYTES_WIDTH];
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t plane_at = unit / a->out_h / a->out_d * a->in_d;
    const uint8_t *plane = (const uint8_t *)a->x + plane_at * a->in_h * a->in_w * a->block;
    uint8_t *y = (uint8_t *)a->y + unit * a->out_w * a->block;
    const row_taps t = row_taps_at(a, unit, 1);
    if (a->block == 1) {
      fold_rows(a, plane, &t, row);
      plain_row(a, row, y);
    } else {
      blocked_row(a, plane, y, &t);
    }
  }
}
