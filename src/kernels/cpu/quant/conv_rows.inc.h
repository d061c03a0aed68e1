/* SPDX-License-Identifier: Apache-2.0 */
/* conv_rows.inc.h - a unit's input as padded rows, so that each tap of a window is a shift: nothing is copied once for
 * each tap. Of blocks of 64 channels and stride 1.
 *
 * [block of 64 channels][row][column][64]. Pixels are counted in these rows: of row_pixels in one the first out_width
 * are outputs. */
#ifndef HN_KERNELS_CPU_QUANT_CONV_ROWS_INC_H
#define HN_KERNELS_CPU_QUANT_CONV_ROWS_INC_H

#include "kernels/cpu/quant/conv_panel.inc.h"

typedef struct padded_rows {
  const uint8_t *at;
  int64_t row_pixels, pixels;                 /* of a row; from the first output to the last */
  int64_t block;                              /* bytes from 64 channels to the next */
  int64_t taps, tap_at[HN_CONV_BYTES_SHIFTS]; /* bytes */
} padded_rows;

/* x_zero is a byte of the input's type. */
static void fill_rows(const hn_conv_bytes *c, const uint8_t *from, int64_t y, int64_t rows, int64_t row_pixels,
                      uint8_t *to) {
  const int64_t left = c->pad_left < row_pixels ? c->pad_left : row_pixels;
  const int64_t inside = c->in_width < row_pixels - left ? c->in_width : row_pixels - left;
  for (int64_t r = 0; r < rows; ++r, ++y, to += row_pixels * 64) {
    const bool is_inside = y >= 0 && y < c->in_height;
    const int64_t before = is_inside ? left : row_pixels, count = is_inside ? inside : 0;
    memset(to, c->x_zero, (size_t)(before * 64));
    if (count) memcpy(to + before * 64, from + y * c->in_width * 64, (size_t)(count * 64));
    memset(to + (before + count) * 64, c->x_zero, (size_t)((row_pixels - before - count) * 64));
  }
}

static void pad_rows(const hn_conv_bytes *c, const unit *u, uint8_t *to, padded_rows *out) {
  const int64_t plane = c->in_height * c->in_width * 64, blocks = c->in_channels / 64;
  const int64_t count = (u->pixels + c->out_width - 1) / c->out_width, y = u->pixel / c->out_width - c->pad_top;
  const int64_t rows = count + (c->kernel_height - 1) * c->dilation_height;
  const int64_t row_pixels = hn_conv_bytes_row(c);
  const uint8_t *from = (const uint8_t *)c->input + u->image * blocks * plane;
  *out = (padded_rows){.at = to,
                       .row_pixels = row_pixels,
                       .pixels = (count - 1) * row_pixels + c->out_width,
                       .block = rows * row_pixels * 64,
                       .taps = c->kernel_height * c->kernel_width};
  for (int64_t b = 0; b < blocks; ++b) fill_rows(c, from + b * plane, y, rows, row_pixels, to + b * out->block);
  for (int64_t i = 0; i < out->taps; ++i)
    out->tap_at[i] =
        (i / c->kernel_width * c->dilation_height * row_pixels + i % c->kernel_width * c->dilation_width) * 64;
}

#endif
