/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h - convolution of bytes: sums of u8 activations times s8 weights in i32, requantised or as they are.
 *
 * What is s8 among the activations is taken as u8 with 128 added, what is u8 among the weights as s8 with 128 taken
 * away, and the zero points with them: (x - z_x)(w - z_w) stays what it is. A sum starts at `base`, which holds the
 * bias and all that follows from the zero points alone; pads are the byte z_x. Then y = f32(sum) * scale, rounded half
 * to even, + z_y, between low and high; or floats, or the sums themselves are the output. Outputs are computed in
 * blocks of 16 channels of a group.
 *
 * Weights lie as words of 32 bits' worth of taps for each channel: `word` of them, 4 where one instruction multiplies
 * four bytes, else 2, which are widened when they are used. Of products in tiles a channel's words are whole tiles. */
#ifndef HN_KERNELS_CPU_QUANT_CONV_H
#define HN_KERNELS_CPU_QUANT_CONV_H

#include <stdbool.h>
#include <stdint.h>

enum {
  HN_CONV_BYTES_BLOCK = 16,
  HN_CONV_BYTES_TILE = 16,
  HN_CONV_BYTES_SHIFTS = 64 /* taps that are shifts, at most */
};

/* What is added to a convolution's bytes: y = rne(fma(a, ra, fma(b, rb, shift))) between low and high, of bytes as the
 * numbers that they stand for; the convolution's are a and ra, or b and rb where it comes last. */
typedef struct hn_conv_bytes_sum {
  float own_ratio, residual_ratio, shift;
  int32_t low, high; /* of u8, after the flip */
  bool is_last;
} hn_conv_bytes_sum;

typedef struct hn_conv_bytes {
  const uint8_t *input;
  const int8_t *weights;
  const int32_t *base, *w_zero; /* of each packed channel; w_zero NULL: all are 0 */
  const float *scale;           /* NULL: the sums are the output */
  const float *bias;            /* of floats */
  const void *residual;         /* laid out as the output; NULL: none is added */
  void *output;
  int64_t batch, in_channels, out_channels, groups;
  int64_t in_height, in_width, out_height, out_width;
  int64_t kernel_height, kernel_width, stride_height, stride_width, dilation_height, dilation_width;
  int64_t pad_top, pad_left;
  int64_t in_block, out_block;       /* channels that lie together: 1 for plain images */
  int32_t in_flip, out_flip;         /* 0x80 for s8, else 0 */
  bool in_is_signed;                 /* s8 that is multiplied as it is: in_flip is 0, x_zero one of them */
  int32_t x_zero, y_zero, low, high; /* of u8, after the flip */
  hn_conv_bytes_sum sum;
  /* y = act((f32(sum) * scale + bias) + residual), each rounded to f32, for floats: between these. */
  bool floats;
  float least, most;
  /* The kernel's: products of a sum are filled up to a multiple of depth_step, and channels of a group, or of all where
   * it is depthwise, to one of channel_step. */
  int word, depth_step, channel_step;
  int64_t unit_pixels; /* of an output image that a unit computes; depthwise: rows */
  int64_t unit_blocks; /* of 16 channels of a group that a unit computes; depthwise: 1 */
  bool shifts;         /* in tiles: units are whole rows, of which taps are shifts where weights have no zero points */
  int64_t strip;       /* depthwise: pixels of a row that are computed before those of the next row */
} hn_conv_bytes;

/* begin and end are units; scratch is the worker's, of hn_conv_bytes_*scratch bytes, aligned to 64. */
typedef void hn_conv_bytes_fn(const hn_conv_bytes *conv, void *scratch, int64_t begin, int64_t end);
hn_conv_bytes_fn hn_conv_bytes_c, hn_conv_bytes_avx2, hn_conv_bytes_avx_vnni, hn_conv_bytes_avx512,
    hn_conv_bytes_avx512_vnni;
/* Depthwise: one input and one output channel a group. */
hn_conv_bytes_fn hn_conv_bytes_dw_c, hn_conv_bytes_dw_avx2, hn_conv_bytes_dw_avx_vnni, hn_conv_bytes_dw_avx512,
    hn_conv_bytes_dw_avx512_vnni;
/* The same as hn_conv_bytes, in tiles of HN_CONV_BYTES_TILE pixels and as many words. */
hn_conv_bytes_fn hn_conv_bytes_tiles_c, hn_conv_bytes_tiles_amx_int8;

static inline int64_t hn_conv_bytes_up(int64_t count, int64_t to) { return (count + to - 1) / to * to; }

/* Blocks of 16 output channels: of a group, and of all. */
static inline int64_t hn_conv_bytes_group_blocks(const hn_conv_bytes *c) {
  return hn_conv_bytes_up(c->out_channels / c->groups, HN_CONV_BYTES_BLOCK) / HN_CONV_BYTES_BLOCK;
}
/* Products of one sum. */
static inline int64_t hn_conv_bytes_depth(const hn_conv_bytes *c) {
  return c->in_channels / c->groups * c->kernel_height * c->kernel_width;
}
/* From one pixel's elements to the next one's in the panel that gathers them: whole vectors of 16, with room for the
 * last of them to begin at the last channel, and never a stride of whole pages, which would share cache sets. Rows of
 * tiles are whole lines of the cache, each in a set of its own. */
static inline int64_t hn_conv_bytes_panel_stride(const hn_conv_bytes *c) {
  const int64_t depth = hn_conv_bytes_depth(c), lines = hn_conv_bytes_up(depth, 64) / 64;
  if (c->depth_step == 64) return (lines | 1) * 64;
  const int64_t stride = hn_conv_bytes_up(depth + 15, 16);
  return stride % 512 == 0 ? stride + 32 : stride;
}
/* Of plain images the rows that a row of pixels reads are laid out with the channels of a pixel together: a line for
 * each row of the window, with room for a vector behind it. 0: there are none. */
static inline int64_t hn_conv_bytes_line(const hn_conv_bytes *c) {
  const int64_t pixels = c->unit_pixels < c->out_width ? c->unit_pixels : c->out_width;
  const int64_t columns = (pixels - 1) * c->stride_width + (c->kernel_width - 1) * c->dilation_width + 1;
  return c->in_block > 1 ? 0 : hn_conv_bytes_up(columns * (c->in_channels / c->groups) + 16, 64);
}
static inline int64_t hn_conv_bytes_units(const hn_conv_bytes *c) {
  const int64_t pixels = c->out_height * c->out_width, sets = hn_conv_bytes_group_blocks(c) + c->unit_blocks - 1;
  return c->batch * c->groups * ((pixels + c->unit_pixels - 1) / c->unit_pixels) * (sets / c->unit_blocks);
}
static inline int64_t hn_conv_bytes_dw_units(const hn_conv_bytes *c) {
  const int64_t blocks = hn_conv_bytes_up(c->out_channels, c->channel_step) / c->channel_step;
  return c->batch * blocks * ((c->out_height + c->unit_pixels - 1) / c->unit_pixels);
}

/* Pixels of a row with all that its windows read besides; rows that `rows` rows of outputs read. */
static inline int64_t hn_conv_bytes_row(const hn_conv_bytes *c) {
  return c->out_width + (c->kernel_width - 1) * c->dilation_width;
}
/* Bytes of these rows, and of the pixels that tiles read behind them. */
static inline int64_t hn_conv_bytes_rows_bytes(const hn_conv_bytes *c, int64_t rows) {
  return hn_conv_bytes_up(c->in_channels, 64) * hn_conv_bytes_row(c) *
             (rows + (c->kernel_height - 1) * c->dilation_height) +
         2 * HN_CONV_BYTES_TILE * 64;
}

/* What a worker has: the panel, of whole tiles of pixels, the sums of its pixels, and lines, in bytes. A panel may also
 * be a copy of blocks as they are. */
static inline int64_t hn_conv_bytes_sums_at(const hn_conv_bytes *c) {
  const int64_t pixels = hn_conv_bytes_up(c->unit_pixels, HN_CONV_BYTES_TILE), row = hn_conv_bytes_panel_stride(c);
  const int64_t blocks = hn_conv_bytes_up(hn_conv_bytes_depth(c), 64);
  const int64_t panel = hn_conv_bytes_up((pixels * (row > blocks ? row : blocks) + 64) * (c->word == 4 ? 1 : 2), 64);
  const int64_t shifted = c->shifts ? hn_conv_bytes_rows_bytes(c, c->unit_pixels / c->out_width) : 0;
  return shifted > panel ? hn_conv_bytes_up(shifted, 64) : panel;
}
static inline int64_t hn_conv_bytes_lines_at(const hn_conv_bytes *c) {
  return hn_conv_bytes_sums_at(c) + hn_conv_bytes_up(c->unit_pixels * 4, 64);
}
static inline int64_t hn_conv_bytes_scratch(const hn_conv_bytes *c) {
  return hn_conv_bytes_lines_at(c) + c->kernel_height * hn_conv_bytes_line(c);
}

/* Depthwise works on bands: words of the taps below each other, of channel_step channels, a row of them for each
 * vertical step. Outputs share rows of a band where that spares some.
 *
 * Four vectors hold a pixel's words, in the order that interleaving bytes gives, and packing sums takes back: of each
 * 16 channels the first vector holds 0 .. 3, the second 4 .. 7. What is packed for channels lies in that order, too. */
typedef struct hn_conv_bytes_band {
  int64_t steps;   /* words that a column of the window takes */
  int64_t columns; /* of a row of a strip */
  int64_t rows;
  bool is_shared; /* row y * stride + step * word * dilation; else row y * steps + step */
} hn_conv_bytes_band;
static inline hn_conv_bytes_band hn_conv_bytes_band_of(const hn_conv_bytes *c) {
  hn_conv_bytes_band b = {.steps = (c->kernel_height + c->word - 1) / c->word};
  b.columns = (c->strip - 1) * c->stride_width + (c->kernel_width - 1) * c->dilation_width + 1;
  b.rows = (c->unit_pixels - 1) * c->stride_height + (b.steps - 1) * c->word * c->dilation_height + 1;
  b.is_shared = b.rows <= 2 * c->unit_pixels * b.steps;
  if (!b.is_shared) b.rows = c->unit_pixels * b.steps;
  return b;
}
static inline int64_t hn_conv_bytes_dw_scratch(const hn_conv_bytes *c) {
  const hn_conv_bytes_band b = hn_conv_bytes_band_of(c);
  const int64_t plain = c->in_block > 1 ? 0 : c->word * b.columns * c->channel_step;
  return (b.rows * b.columns + b.steps * c->kernel_width) * c->channel_step * 4 + plain;
}

/* What pack writes, in bytes from its beginning. */
typedef struct hn_conv_bytes_layout {
  int64_t weights, base, sums, w_zero, scale, end;
} hn_conv_bytes_layout;
hn_conv_bytes_layout hn_conv_bytes_lay_out_c(const hn_conv_bytes *conv, bool is_depthwise);

/* What does not depend on a channel: behind the layout's beginning. */
typedef struct hn_conv_bytes_head {
  int32_t x_zero, y_zero, has_w_zero;
} hn_conv_bytes_head;

/* A constant of one element, or of one for each output channel. */
typedef struct hn_conv_bytes_constants {
  const void *w;         /* [out_channels][in_channels / groups][kernel] */
  const uint8_t *w_zero; /* NULL: 0; the bits of what w's type is */
  const float *w_scale;  /* NULL: sums are the output */
  const int32_t *bias;   /* NULL: 0 */
  bool w_is_signed, w_zero_is_one, w_scale_is_one;
  float x_scale, y_scale;
  int32_t x_zero, y_zero; /* as in hn_conv_bytes */
} hn_conv_bytes_constants;
void hn_conv_bytes_pack_c(const hn_conv_bytes *conv, bool is_depthwise, const hn_conv_bytes_constants *constants,
                          void *to);
/* One number for each packed channel, of one or of one for each output channel, times factor; 0 where there is none. */
void hn_conv_bytes_spread_c(const hn_conv_bytes *conv, bool is_depthwise, const float *from, bool is_one, float factor,
                            float *to);
/* base for a zero point of x that was not known: that of zero, and what the sums of weights add. */
void hn_conv_bytes_base_c(const hn_conv_bytes_layout *layout, const void *packed, int32_t x_zero, int32_t *to);

#endif
