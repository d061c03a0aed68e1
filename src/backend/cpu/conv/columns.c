/* SPDX-License-Identifier: Apache-2.0 */
/* columns.c - where the pixels of a panel of columns meet the kernel. */
#include "backend/cpu/conv/columns.h"

void hn_cpu_find_places(const hn_conv_f32 *c, int64_t pixel, int count, int width, int64_t tap,
                        hn_cpu_tap_places *places) {
  const int64_t kx = tap % c->kernel_width, ky = tap / c->kernel_width % c->kernel_height;
  const int64_t kz = tap / (c->kernel_width * c->kernel_height);
  int64_t ox = pixel % c->out_width, oy = pixel / c->out_width % c->out_height;
  int64_t oz = pixel / (c->out_width * c->out_height);
  places->is_run = count == width;
  for (int i = 0; i < width; ++i) {
    const int64_t z = oz * c->stride_depth + kz * c->dilation_depth - c->pad_front;
    const int64_t y = oy * c->stride_height + ky * c->dilation_height - c->pad_top;
    const int64_t x = ox * c->stride_width + kx * c->dilation_width - c->pad_left;
    const bool is_inside =
        i < count && z >= 0 && z < c->in_depth && y >= 0 && y < c->in_height && x >= 0 && x < c->in_width;
    places->at[i] = is_inside ? (int32_t)((z * c->in_height + y) * c->in_width + x) : -1;
    places->is_run = places->is_run && is_inside && (i == 0 || places->at[i] == places->at[i - 1] + 1);
    if (++ox == c->out_width) ox = 0, ++oy;
    if (oy == c->out_height) oy = 0, ++oz;
  }
}
