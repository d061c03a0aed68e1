/* SPDX-License-Identifier: Apache-2.0 */
/* col2im_f32.c - tap after tap is added to the rows of a plane, so that columns are read in their order; each element
 * of the image has its taps added in the same order, wherever the rows are cut. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/conv/col2im.h"
#include "kernels/cpu/simd.inc.h"

HN_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The first n >= 0 with n * stride >= from. */
HN_INLINE int64_t first_from(int64_t from, int64_t stride) { return from <= 0 ? 0 : (from + stride - 1) / stride; }

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

void HN_SIMD_NAME(hn_col2im_f32)(const hn_col2im_args *args, int64_t begin, int64_t end) {
  const hn_col2im_args *a = args;
  const int64_t taps = a->block_h * a->block_w, positions = a->count_h * a->count_w;
  for (int64_t unit = begin; unit < end;) {
    const int64_t plane = unit / a->out_h, first = unit % a->out_h, last = least(a->out_h, first + end - unit);
    float *y = a->y + plane * a->out_h * a->out_w;
    memset(y + first * a->out_w, 0, (size_t)((last - first) * a->out_w) * sizeof *y);
    for (int64_t tap = 0; tap < taps; ++tap)
      add_tap(a, a->x + (plane * taps + tap) * positions, tap / a->block_w, tap % a->block_w, first, last, y);
    unit += last - first;
  }
}
