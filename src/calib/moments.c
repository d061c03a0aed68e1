/* SPDX-License-Identifier: Apache-2.0 */
/* moments.c - sums of activations under each tap of a sliding window. */
#include "calib/moments.h"

enum { MOST_TAPS = 256 }; /* along a row */

/* The outputs for which tap k of an axis reads inside: [first, last). */
static void inside(const hn_sliding *w, int axis, int64_t k, int64_t *first, int64_t *last) {
  const int64_t at = k * w->dilation[axis] - w->pad_begin[axis], stride = w->stride[axis];
  *first = at < 0 ? (-at + stride - 1) / stride : 0;
  *last = w->in[axis] > at ? (w->in[axis] - at + stride - 1) / stride : 0;
  if (*last > w->out[axis]) *last = w->out[axis];
}

static double sum_row(const float *x, int64_t stride, int64_t count) {
  enum { LANES = 16 };
  float lanes[LANES] = {0};
  int64_t i = 0;
  if (stride == 1)
    for (; i + LANES <= count; i += LANES)
      for (int k = 0; k < LANES; ++k) lanes[k] += x[i + k];
  double sum = 0;
  for (; i < count; ++i) sum += (double)x[i * stride];
  for (int k = 0; k < LANES; ++k) sum += (double)lanes[k];
  return sum;
}

enum { MOST_STRIDE = 4 };

/* The sum of a row's numbers under each tap: the sum of all whose place has the tap's remainder, less what lies before
 * the first output's and behind the last one's. */
static void tap_row(const float *row, const hn_sliding *w, double *sums) {
  const int64_t stride = w->stride[1];
  double all[MOST_STRIDE] = {0};
  for (int64_t r = 0; r < stride && stride <= MOST_STRIDE; ++r)
    if (r < w->in[1]) all[r] = sum_row(row + r, stride, (w->in[1] - r + stride - 1) / stride);
  for (int64_t kx = 0; kx < w->kernel[1]; ++kx) {
    int64_t left, right;
    inside(w, 1, kx, &left, &right);
    sums[kx] = 0;
    if (right <= left) continue;
    const int64_t first = left * stride - w->pad_begin[1] + kx * w->dilation[1], last = first + (right - left) * stride;
    if (stride > MOST_STRIDE) {
      sums[kx] = sum_row(row + first, stride, right - left);
      continue;
    }
    sums[kx] = all[first % stride];
    for (int64_t x = first % stride; x < first; x += stride) sums[kx] -= (double)row[x];
    for (int64_t x = last; x < w->in[1]; x += stride) sums[kx] -= (double)row[x];
  }
}

static void add_plane(const float *x, const hn_sliding *w, double *sums) {
  double taps[MOST_TAPS];
  for (int64_t y = 0; y < w->in[0]; ++y) {
    bool any = false;
    for (int64_t ky = 0; ky < w->kernel[0]; ++ky) {
      const int64_t at = y + w->pad_begin[0] - ky * w->dilation[0];
      if (at < 0 || at % w->stride[0] != 0 || at / w->stride[0] >= w->out[0]) continue;
      if (!any) tap_row(x + y * w->in[1], w, taps);
      any = true;
      for (int64_t kx = 0; kx < w->kernel[1]; ++kx) sums[ky * w->kernel[1] + kx] += taps[kx];
    }
  }
}

/* Each number is read once: a plane is one row. */
static bool reads_all(const hn_sliding *w) {
  for (int d = 0; d < 2; ++d)
    if (w->kernel[d] != 1 || w->stride[d] != 1 || w->pad_begin[d] != 0 || w->out[d] != w->in[d]) return false;
  return true;
}

void hn_tap_sums(const float *x, int64_t planes, int64_t channels, const hn_sliding *w, double *sums) {
  if (w->kernel[1] > MOST_TAPS) return;
  const int64_t plane = w->in[0] * w->in[1], taps = w->kernel[0] * w->kernel[1];
  if (reads_all(w)) {
    for (int64_t p = 0; p < planes; ++p) sums[p % channels] += sum_row(x + p * plane, 1, plane);
    return;
  }
  for (int64_t p = 0; p < planes; ++p) add_plane(x + p * plane, w, sums + p % channels * taps);
}

void hn_round_floats(const float *x, int64_t count, const hn_scale *scale, const hn_scheme *scheme, float *to) {
  const float low = (float)(hn_lowest(scale, scheme) / (double)scale->scale);
  const float high = (float)(hn_highest(scale, scheme) / (double)scale->scale);
  for (int64_t i = 0; scheme->dtype == HONE_F8E4M3FN && i < count; ++i)
    to[i] = (float)hn_rounded(scale, scheme, (double)x[i]);
  if (scheme->dtype == HONE_F8E4M3FN) return;
  const float magic = 0x1.8p23f; /* what is added to it is rounded to a whole number */
  for (int64_t i = 0; i < count; ++i) {
    float number = x[i] / scale->scale;
    number = number < low ? low : number > high ? high : number;
    to[i] = ((number + magic) - magic) * scale->scale;
  }
}
