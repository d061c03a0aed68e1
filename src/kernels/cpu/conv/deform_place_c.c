/* SPDX-License-Identifier: Apache-2.0 */
/* deform_place_c.c - from offsets to places and weights, in double. */
#include "kernels/cpu/conv/deform.h"
#include <math.h>
#include <stddef.h>

void hn_deform_place_c(const hn_deform_args *a, int64_t move, int64_t pixel, int count, hn_deform_place *out) {
  const int64_t pixels = a->out_h * a->out_w, taps = a->kernel_h * a->kernel_w, tap = move % taps;
  const float *dy = a->offset + move * 2 * pixels + pixel, *dx = dy + pixels;
  const float *mask = a->mask ? a->mask + move * pixels + pixel : NULL;
  const int64_t ky = tap / a->kernel_w * a->dilation_h - a->pad_top;
  const int64_t kx = tap % a->kernel_w * a->dilation_w - a->pad_left;
  int64_t oy = pixel / a->out_w, ox = pixel % a->out_w;
  *out = (hn_deform_place){0};
  for (int i = 0; i < count; ++i) {
    const double y = (double)(oy * a->stride_h + ky) + (double)dy[i],
                 x = (double)(ox * a->stride_w + kx) + (double)dx[i];
    if (++ox == a->out_w) ox = 0, ++oy;
    if (!(y > -1 && y < (double)a->in_h && x > -1 && x < (double)a->in_w)) continue;
    const double top = floor(y), left = floor(x), part_y = y - top, part_x = x - left;
    for (int k = 0; k < HN_DEFORM_CORNERS; ++k) {
      const int64_t row = (int64_t)top + k / 2, column = (int64_t)left + k % 2;
      if (row < 0 || row >= a->in_h || column < 0 || column >= a->in_w) continue;
      const double weight = (k / 2 ? part_y : 1 - part_y) * (k % 2 ? part_x : 1 - part_x);
      out->at[k][i] = (int32_t)(row * a->in_w + column);
      out->weight[k][i] = (float)(mask ? weight * (double)mask[i] : weight);
    }
  }
}
