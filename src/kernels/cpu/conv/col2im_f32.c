/* SPDX-License-Identifier: Apache-2.0 */
/* col2im_f32.c - columns of blocks added back, each element's taps in the same order however the rows are cut.
 *
 * Blocks that overlap: tap after tap is added to the rows of a plane, so that columns are read in their order, the taps
 * of a block's row together. Where columns are as wide as the image (padded convolutions of stride 1), rows are no
 * bounds: elements that a tap would take over an edge count as zeros. Blocks side by side (patches): the places of a
 * row by the taps of a row are a matrix that is turned. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/conv/col2im.h"
#include "kernels/cpu/simd.inc.h"
#include "kernels/cpu/tile.inc.h"

enum { TOGETHER = 3 /* taps of a block's row, in one pass over the image */ };

HN_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
HN_INLINE int64_t greatest(int64_t a, int64_t b) { return a > b ? a : b; }

/* The first n >= 0 with n * stride >= from. */
HN_INLINE int64_t first_from(int64_t from, int64_t stride) { return from <= 0 ? 0 : (from + stride - 1) / stride; }

/* ---- blocks that overlap ---- */

HN_INLINE void add(const float *x, float *y, int64_t count, int64_t stride) {
  if (stride != 1) {
    for (int64_t i = 0; i < count; ++i) y[i * stride] += x[i];
    return;
  }
  for (int64_t i = 0; i < count; i += HN_LANES) {
    const int64_t n = count - i;
    if (n >= HN_LANES)
      v_store(y + i, v_load(y + i) + v_load(x + i));
    else
      v_store_part(y + i, n, v_load_part(y + i, n) + v_load_part(x + i, n));
  }
}

/* One tap of the block, whose places are at x, added to the rows [first, last) of a plane. */
HN_INLINE void add_tap(const hn_col2im_args *a, const float *x, int64_t ky, int64_t kx, int64_t first, int64_t last,
                       float *plane) {
  const int64_t down = ky * a->dilation_h - a->pad_top, right = kx * a->dilation_w - a->pad_left;
  const int64_t begin = first_from(-right, a->stride_w),
                end = least(a->count_w, first_from(a->out_w - right, a->stride_w));
  const int64_t stop = least(a->count_h, first_from(last - down, a->stride_h));
  for (int64_t place = first_from(first - down, a->stride_h); place < stop && begin < end; ++place)
    add(x + place * a->count_w + begin, plane + (place * a->stride_h + down) * a->out_w + begin * a->stride_w + right,
        end - begin, a->stride_w);
}

/* The columns of the vector that begins at one of them, modulo the width. */
HN_INLINE vf columns_from(int64_t column, int64_t width) {
  float lane[HN_LANES];
  for (int64_t i = 0; i < HN_LANES; ++i) lane[i] = (float)((column + i) % width);
  return v_load(lane);
}

/* `count` taps of a block's row, from kx on, added to whole rows of a plane as if they were one; x is `positions` apart
 * from tap to tap, and may be read a row before and behind what lies under these rows. */
HN_INLINE void add_rows(const hn_col2im_args *a, const float *x, int64_t positions, int64_t kx, int count,
                        int64_t first, int64_t last, float *plane) {
  const int64_t width = a->out_w, begin = first * width, end = last * width;
  const vf wide = v_set((float)width), step = v_set((float)(HN_LANES % width));
  const float *from[TOGETHER];
  vf low[TOGETHER], high[TOGETHER], column = columns_from(0, width);
  HN_UNROLL for (int k = 0; k < count; ++k) {
    const int64_t right = (kx + k) * a->dilation_w - a->pad_left;
    from[k] = x + k * positions - right;
    low[k] = v_set((float)right);
    high[k] = v_set((float)(width + right));
  }
  int64_t i = begin;
  for (; i <= end - HN_LANES; i += HN_LANES) {
    vf sum = v_load(plane + i);
    HN_UNROLL for (int k = 0; k < count; ++k) {
      const vm inside = vm_and(v_le(low[k], column), v_lt(column, high[k]));
      sum = sum + v_select(inside, v_load(from[k] + i), v_set(0.0F));
    }
    v_store(plane + i, sum);
    const vf next = column + step;
    column = v_select(v_lt(next, wide), next, next - wide);
  }
  for (int64_t c = i % width; i < end; ++i, c = c + 1 == width ? 0 : c + 1) HN_UNROLL for (int k = 0; k < count; ++k) {
      const int64_t right = (kx + k) * a->dilation_w - a->pad_left;
      if (c >= right && c < width + right) plane[i] += from[k][i];
    }
}

/* A row of taps from x on. Rows at the border are added by themselves: beside them lies another tap or nothing. */
HN_INLINE void add_taps(const hn_col2im_args *a, const float *x, int64_t ky, int64_t first, int64_t last,
                        float *plane) {
  const int64_t positions = a->count_h * a->count_w, down = ky * a->dilation_h - a->pad_top;
  const int64_t begin = greatest(first, down), end = least(last, a->count_h + down); /* rows that the tap has */
  const int64_t inner = greatest(first, down + 1), stop = least(last, a->count_h + down - 1);
  for (int64_t kx = 0; kx < a->block_w && begin < end; kx += TOGETHER) {
    const float *tap = x + kx * positions;
    const int64_t count = least(TOGETHER, a->block_w - kx);
    for (int64_t k = 0; k < count; ++k) {
      add_tap(a, tap + k * positions, ky, kx + k, begin, least(inner, end), plane);
      add_tap(a, tap + k * positions, ky, kx + k, greatest(stop, least(inner, end)), end, plane);
    }
    if (inner >= stop) continue;
    tap -= down * a->out_w;
    if (count == 3)
      add_rows(a, tap, positions, kx, 3, inner, stop, plane);
    else if (count == 2)
      add_rows(a, tap, positions, kx, 2, inner, stop, plane);
    else
      add_rows(a, tap, positions, kx, 1, inner, stop, plane);
  }
}

/* ---- blocks side by side ---- */

HN_INLINE vf load_some(const float *x, int64_t count) { return count == HN_LANES ? v_load(x) : v_load_part(x, count); }

/* Elements [0, count) of r at y[at], as far as they lie in [0, end). */
HN_INLINE void store_some(float *y, int64_t at, int64_t end, int64_t count, vf r) {
  if (at >= 0 && at + count <= end && count == HN_LANES) {
    v_store(y + at, r);
  } else if (at >= 0 && at + count <= end) {
    v_store_part(y + at, count, r);
  } else {
    float lane[HN_LANES];
    v_store(lane, r);
    for (int64_t k = greatest(0, -at); k < count && at + k < end; ++k) y[at + k] = lane[k];
  }
}

/* The taps of a block's row at all places, which are at x, written to a row of the image. */
HN_INLINE void put_patches(const hn_col2im_args *a, const float *x, float *y) {
  const int64_t positions = a->count_h * a->count_w, stride = a->stride_w;
  const int64_t end = a->out_w + a->pad_left, taps = least(stride, end);
  for (int64_t tap = 0; tap < taps; tap += HN_LANES)
    for (int64_t place = 0; place < a->count_w; place += HN_LANES) {
      const int64_t rows = a->block_w - tap, places = least(HN_LANES, a->count_w - place);
      const float *from = x + tap * positions + place;
      vf r[HN_LANES];
      HN_UNROLL for (int i = 0; i < HN_LANES; ++i) r[i] =
          i < rows ? load_some(from + i * positions, places) : v_set(0.0F);
      tile_turn(r);
      HN_UNROLL for (int i = 0; i < HN_LANES; ++i) {
        if (i >= places) break;
        store_some(y, (place + i) * stride + tap - a->pad_left, a->out_w, least(HN_LANES, taps - tap), r[i]);
      }
    }
  const int64_t behind = greatest(0, a->count_w * stride - a->pad_left);
  if (behind < a->out_w) memset(y + behind, 0, (size_t)(a->out_w - behind) * sizeof *y);
}

/* Rows [first, last) of a plane whose columns begin at x. */
HN_INLINE void put_rows(const hn_col2im_args *a, const float *x, int64_t first, int64_t last, float *plane) {
  const int64_t positions = a->count_h * a->count_w;
  for (int64_t row = first; row < last; ++row) {
    const int64_t place = (row + a->pad_top) / a->stride_h, ky = (row + a->pad_top) % a->stride_h;
    if (place < a->count_h && ky < a->block_h)
      put_patches(a, x + ky * a->block_w * positions + place * a->count_w, plane + row * a->out_w);
    else
      memset(plane + row * a->out_w, 0, (size_t)a->out_w * sizeof *plane);
  }
}

void HN_SIMD_NAME(hn_col2im_f32)(const hn_col2im_args *args, int64_t begin, int64_t end) {
  const hn_col2im_args *a = args;
  const int64_t taps = a->block_h * a->block_w, positions = a->count_h * a->count_w;
  const int is_apart = a->stride_w > 1 && a->block_h <= a->stride_h && a->block_w <= a->stride_w &&
                       (a->dilation_h == 1 || a->block_h == 1) && (a->dilation_w == 1 || a->block_w == 1);
  const int64_t most_right = (a->block_w - 1) * a->dilation_w - a->pad_left;
  const int is_level = a->stride_h == 1 && a->stride_w == 1 && a->count_w == a->out_w && a->out_w >= HN_LANES &&
                       a->out_w <= 1 << 24 && a->pad_left <= a->out_w && most_right <= a->out_w;
  for (int64_t unit = begin; unit < end;) {
    const int64_t plane = unit / a->out_h, first = unit % a->out_h, last = least(a->out_h, first + end - unit);
    const float *x = a->x + plane * taps * positions;
    float *y = a->y + plane * a->out_h * a->out_w;
    unit += last - first;
    if (is_apart) {
      put_rows(a, x, first, last, y);
      continue;
    }
    memset(y + first * a->out_w, 0, (size_t)((last - first) * a->out_w) * sizeof *y);
    for (int64_t ky = 0; ky < a->block_h; ++ky) {
      if (is_level) {
        add_taps(a, x + ky * a->block_w * positions, ky, first, last, y);
        continue;
      }
      for (int64_t kx = 0; kx < a->block_w; ++kx)
        add_tap(a, x + (ky * a->block_w + kx) * positions, ky, kx, first, last, y);
    }
  }
}
