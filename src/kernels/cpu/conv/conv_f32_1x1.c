/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32_1x1.c - 1x1 stride 1 convolution on nChwBc: a matrix product over the flattened image. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/conv/conv_tile_1x1_f32.inc.h"

void HN_BLOCKED_NAME(hn_conv_f32_1x1)(const hn_conv_f32 *conv, int64_t begin, int64_t end) {
  const conv_plan plan = conv_plan_make(conv, 1);
  conv_strip strip;
  for (int64_t at = begin; at < end; ++at) {
    const conv_unit u = conv_unit_at(conv, &plan, at);
    conv_tile t = conv_tile_make(conv, &plan, &u);
    if (conv->plain_output) conv_tile_to_strip(&t, &u, &strip);
    const float *in = t.in;
    const int most = tile_pixels[u.blocks];
    for (int64_t pixel = u.row_begin; pixel < u.row_end; pixel += t.pixels) {
      t.pixels = tile_width(u.row_end - pixel, most);
      t.in = in + pixel * HN_BLOCK;
      conv_tile_begin(&t, &u, pixel);
      tiles_1x1[u.blocks][t.pixels](&t);
      conv_tile_end(&t, pixel + t.pixels == u.row_end);
    }
  }
}
