/* SPDX-License-Identifier: Apache-2.0 */
/* conv_panel.inc.h - the panel of a unit of a convolution of bytes: what each of its pixels reads, one pixel behind the
 * other in the order of the weights. The file that includes it says before what an element is: W_WORD and w_element. */
#ifndef HN_KERNELS_CPU_QUANT_CONV_PANEL_INC_H
#define HN_KERNELS_CPU_QUANT_CONV_PANEL_INC_H

#include "kernels/cpu/quant/conv_store.inc.h"

/* The pixels that a unit multiplies; strides in elements. */
typedef struct panel {
  const w_element *at;
  int64_t pixel_stride, chunk_stride;
  int64_t words, chunk_words; /* of a pixel; of them that lie together */
  const int32_t *sums;        /* of each pixel's elements, where weights have zero points, else NULL */
  bool is_input;              /* the image itself: behind the last pixel the tensor may end */
} panel;

/* 16 bytes, flipped, as elements. */
HN_INLINE void w_widen(w_element *to, const uint8_t *from, int32_t flip) {
#if defined(HN_SIMD_C)
  for (int i = 0; i < 16; ++i) to[i] = (w_element)(from[i] ^ flip);
#else
  const __m128i bytes = _mm_xor_si128(_mm_loadu_si128((const void *)from), _mm_set1_epi8((char)flip));
  if (W_WORD == 4)
    _mm_storeu_si128((void *)to, bytes);
  else
    _mm256_storeu_si256((void *)to, _mm256_cvtepu8_epi16(bytes));
#endif
}

typedef struct unit {
  int64_t image, group, pixel, pixels; /* of the output image */
  int64_t block, blocks;               /* of the group */
} unit;

static unit unit_at(const hn_conv_bytes *c, int64_t at) {
  const int64_t plane = c->out_height * c->out_width, chunks = (plane + c->unit_pixels - 1) / c->unit_pixels;
  const int64_t group_blocks = hn_conv_bytes_group_blocks(c);
  const int64_t sets = (group_blocks + c->unit_blocks - 1) / c->unit_blocks;
  unit u = {.block = at % sets * c->unit_blocks, .pixel = at / sets % chunks * c->unit_pixels};
  u.blocks = group_blocks - u.block < c->unit_blocks ? group_blocks - u.block : c->unit_blocks;
  u.pixels = plane - u.pixel < c->unit_pixels ? plane - u.pixel : c->unit_pixels;
  u.group = at / sets / chunks % c->groups;
  u.image = at / sets / chunks / c->groups;
  return u;
}

HN_INLINE void gather_zero(const hn_conv_bytes *c, w_element *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = (w_element)c->x_zero;
}

/* 64 channels of a pixel. */
HN_INLINE void widen_block(w_element *to, const uint8_t *from, int32_t flip) {
#if !defined(HN_SIMD_C)
  HN_UNROLL
  for (int i = 0; W_WORD == 4 && i < 64; i += B_GROUP)
    vb_store((uint8_t *)(void *)(to + i), vb_xor(vb_load(from + i), vb_set(flip)));
  if (W_WORD == 4) return;
#endif
  HN_UNROLL
  for (int i = 0; i < 64; i += 16) w_widen(to + i, from + i, flip);
}

/* A pixel's channels of a group from blocks of 64; may write up to 15 elements more, which come after it. */
HN_INLINE void gather_blocked(const hn_conv_bytes *c, const uint8_t *image, int64_t first, int64_t count, int64_t pixel,
                              w_element *to) {
  const int64_t plane = c->in_height * c->in_width * 64;
  const uint8_t *from = image + first / 64 * plane + pixel * 64;
  if (first % 16) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = (w_element)(image[(first + i) / 64 * plane + pixel * 64 + (first + i) % 64] ^ c->in_flip);
    return;
  }
  int64_t at = first % 64, i = 0;
  if (at == 0)
    for (; count - i >= 64; i += 64, from += plane) widen_block(to + i, from, c->in_flip);
  for (; i < count; i += 16, at += 16) {
    if (at == 64) from += plane, at = 0;
    w_widen(to + i, from + at, c->in_flip);
  }
}

/* The same as gather_pixel, of one group of `blocks` whole blocks; what is written may alias all of c. */
HN_INLINE void gather_whole(const hn_conv_bytes *c, const uint8_t *image, int64_t y, int64_t x, const int64_t blocks,
                            w_element *to) {
  const int64_t width = c->in_width, height = c->in_height, plane = height * width * 64;
  const int64_t kernel_height = c->kernel_height, kernel_width = c->kernel_width;
  const int64_t down = c->dilation_height, across = c->dilation_width;
  const int32_t flip = c->in_flip;
  for (int64_t ky = 0; ky < kernel_height; ++ky, y += down) {
    const bool is_row = (uint64_t)y < (uint64_t)height;
    const uint8_t *row = is_row ? image + y * width * 64 : image;
    int64_t in_x = x;
    for (int64_t kx = 0; kx < kernel_width; ++kx, in_x += across, to += blocks * 64) {
      if (is_row && (uint64_t)in_x < (uint64_t)width)
        for (int64_t b = 0; b < blocks; ++b) widen_block(to + b * 64, row + b * plane + in_x * 64, flip);
      else
        gather_zero(c, to, blocks * 64);
    }
  }
}

/* All that the pixel at y, x of the output reads, tap by tap. */
static void gather_pixel(const hn_conv_bytes *c, const uint8_t *image, const unit *u, int64_t out_y, int64_t out_x,
                         w_element *to) {
  const int64_t channels = c->in_channels / c->groups, first = u->group * channels;
  const int64_t y = out_y * c->stride_height - c->pad_top, x = out_x * c->stride_width - c->pad_left;
  if (c->groups == 1 && channels % 64 == 0) {
    if (channels == 64)
      gather_whole(c, image, y, x, 1, to);
    else
      gather_whole(c, image, y, x, channels / 64, to);
    return;
  }
  for (int64_t ky = 0; ky < c->kernel_height; ++ky)
    for (int64_t kx = 0; kx < c->kernel_width; ++kx, to += channels) {
      const int64_t in_y = y + ky * c->dilation_height, in_x = x + kx * c->dilation_width;
      if (in_y < 0 || in_y >= c->in_height || in_x < 0 || in_x >= c->in_width)
        gather_zero(c, to, channels);
      else
        gather_blocked(c, image, first, channels, in_y * c->in_width + in_x, to);
    }
}

#if !defined(HN_SIMD_C)
/* Three planes of 16 pixels, with the channels of a pixel together; writes four bytes more, which come after it. */
HN_INLINE void interleave_three(const uint8_t *from, int64_t plane, uint8_t *to) {
  const __m128i a = _mm_loadu_si128((const void *)from), b = _mm_loadu_si128((const void *)(from + plane));
  const __m128i c = _mm_loadu_si128((const void *)(from + 2 * plane)), none = _mm_setzero_si128();
  const __m128i ab[2] = {_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)};
  const __m128i c0[2] = {_mm_unpacklo_epi8(c, none), _mm_unpackhi_epi8(c, none)};
  const __m128i closer = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  HN_UNROLL
  for (int i = 0; i < 2; ++i) {
    const __m128i low = _mm_unpacklo_epi16(ab[i], c0[i]), high = _mm_unpackhi_epi16(ab[i], c0[i]);
    _mm_storeu_si128((void *)(to + 24 * i), _mm_shuffle_epi8(low, closer));
    _mm_storeu_si128((void *)(to + 24 * i + 12), _mm_shuffle_epi8(high, closer));
  }
}
#endif

HN_INLINE void interleave(const uint8_t *from, int64_t plane, int64_t channels, int64_t pixels, uint8_t *to) {
  int64_t i = 0;
#if !defined(HN_SIMD_C)
  for (; channels == 3 && pixels >= 16 && i < pixels; i += 16) {
    if (pixels - i < 16) i = pixels - 16; /* some of them again */
    interleave_three(from + i, plane, to + i * 3);
  }
  if (i >= pixels) return;
#endif
  b_transpose(from + i, plane, to + i * channels, channels, channels, pixels - i);
}

/* `columns` pixels of an input row from in_x on, with the channels of a pixel together; row: of the group's first
 * plane, NULL: of pads. */
static void fill_line(const hn_conv_bytes *c, const uint8_t *row, int64_t in_x, int64_t columns, uint8_t *line) {
  const int64_t channels = c->in_channels / c->groups, plane = c->in_height * c->in_width;
  const int64_t first = in_x < 0 ? 0 : in_x, left = in_x < 0 ? -in_x : 0;
  int64_t inside = c->in_width - first < columns - left ? c->in_width - first : columns - left;
  if (!row || inside < 0) inside = 0;
  const int64_t before = inside ? left : columns;
  memset(line, c->x_zero ^ c->in_flip, (size_t)(before * channels));
  if (!inside) return;
  interleave(row + first, plane, channels, inside, line + left * channels);
  memset(line + (left + inside) * channels, c->x_zero ^ c->in_flip, (size_t)((columns - left - inside) * channels));
}

/* Windows whose rows lie together in their lines, of `length` elements that 16 * chunks hold; chunks and height may be
 * known to the compiler. */
HN_INLINE void gather_runs(const uint8_t *lines, int64_t line_bytes, int64_t next, int64_t height, int64_t length,
                           int64_t chunks, int64_t count, int32_t flip, w_element *to, int64_t stride) {
  for (int64_t i = 0; i < count; ++i, lines += next, to += stride)
    for (int64_t ky = 0; ky < height; ++ky)
      for (int64_t k = 0; k < chunks; ++k) w_widen(to + ky * length + k * 16, lines + ky * line_bytes + k * 16, flip);
}

/* `count` pixels of an output row, from y, x on. */
static void gather_plain(const hn_conv_bytes *c, const uint8_t *image, const unit *u, uint8_t *lines, int64_t y,
                         int64_t x, int64_t count, w_element *to, int64_t stride) {
  const int64_t channels = c->in_channels / c->groups, line_bytes = hn_conv_bytes_line(c);
  const uint8_t *from = image + u->group * channels * c->in_height * c->in_width;
  const int64_t in_x = x * c->stride_width - c->pad_left;
  const int64_t columns = (count - 1) * c->stride_width + (c->kernel_width - 1) * c->dilation_width + 1;
  for (int64_t ky = 0; ky < c->kernel_height; ++ky) {
    const int64_t in_y = y * c->stride_height - c->pad_top + ky * c->dilation_height;
    const bool is_inside = in_y >= 0 && in_y < c->in_height;
    fill_line(c, is_inside ? from + in_y * c->in_width : NULL, in_x, columns, lines + ky * line_bytes);
  }
  if (c->dilation_width == 1) { /* the taps of a row lie together in its line */
    const int64_t next = c->stride_width * channels, length = c->kernel_width * channels, height = c->kernel_height;
    if (length <= 16 && height == 3)
      gather_runs(lines, line_bytes, next, 3, length, 1, count, c->in_flip, to, stride);
    else if (length <= 32 && length > 16)
      gather_runs(lines, line_bytes, next, height, length, 2, count, c->in_flip, to, stride);
    else
      gather_runs(lines, line_bytes, next, height, length, (length + 15) / 16, count, c->in_flip, to, stride);
    return;
  }
  for (int64_t i = 0; i < count; ++i, to += stride) {
    w_element *next = to;
    for (int64_t ky = 0; ky < c->kernel_height; ++ky)
      for (int64_t kx = 0; kx < c->kernel_width; ++kx, next += channels) {
        const uint8_t *line = lines + ky * line_bytes + (i * c->stride_width + kx * c->dilation_width) * channels;
        for (int64_t k = 0; k < channels; k += 16) w_widen(next + k, line + k, c->in_flip);
      }
  }
}

/* Pixels of blocks of 64 channels that are read one by one, in order. */
static bool is_pointwise(const hn_conv_bytes *c) {
  return c->in_block == 64 && c->groups == 1 && c->kernel_height * c->kernel_width == 1 &&
         c->stride_height * c->stride_width == 1 && c->pad_top + c->pad_left == 0 && c->out_height == c->in_height &&
         c->out_width == c->in_width;
}

static void gather(const hn_conv_bytes *c, const uint8_t *image, const unit *u, uint8_t *lines, w_element *to,
                   int64_t stride) {
  if (is_pointwise(c)) {
    for (int64_t i = 0; i < u->pixels; ++i) gather_blocked(c, image, 0, c->in_channels, u->pixel + i, to + i * stride);
    return;
  }
  int64_t y = u->pixel / c->out_width, x = u->pixel % c->out_width;
  for (int64_t i = 0; c->in_block == 1 && i < u->pixels; ++y, x = 0) {
    const int64_t rest = c->out_width - x, count = u->pixels - i < rest ? u->pixels - i : rest;
    gather_plain(c, image, u, lines, y, x, count, to + i * stride, stride);
    i += count;
  }
  for (int64_t i = 0; c->in_block == 64 && i < u->pixels; ++i, to += stride) {
    gather_pixel(c, image, u, y, x, to);
    if (++x == c->out_width) ++y, x = 0;
  }
}

HN_INLINE uint32_t element_value(const hn_conv_bytes *c, w_element x) {
  return W_WORD == 4 && c->in_is_signed ? (uint32_t)(int8_t)x : (uint32_t)x;
}

static panel panel_of(const hn_conv_bytes *c, const unit *u, void *scratch) {
  const int64_t plane = c->in_height * c->in_width, depth = hn_conv_bytes_depth(c);
  const int64_t image = hn_conv_bytes_up(c->in_channels, c->in_block) * plane;
  const uint8_t *input = c->input + u->image * image;
  panel p = {.words = hn_conv_bytes_up(depth, c->depth_step) / W_WORD};
  if (W_WORD == 4 && is_pointwise(c) && !c->in_flip && !c->w_zero) {
    p.at = (const w_element *)(const void *)(input + u->pixel * 64);
    p.pixel_stride = 64, p.chunk_stride = plane * 64, p.chunk_words = 64 / W_WORD, p.is_input = true;
    return p;
  }
  w_element *to = scratch;
  p.at = to;
#if !defined(HN_SIMD_C)
  if (W_WORD == 4 && c->depth_step == 4 && is_pointwise(c) && !c->w_zero) { /* s8: blocks are copied as they are */
    const int64_t chunk = u->pixels * 64, blocks = hn_conv_bytes_up(depth, 64) / 64;
    const uint8_t *from = input + u->pixel * 64;
    uint8_t *bytes = (uint8_t *)(void *)to;
    for (int64_t b = 0; b < blocks; ++b, from += plane * 64, bytes += chunk)
      for (int64_t i = 0; i < chunk; i += B_GROUP) vb_store(bytes + i, vb_xor(vb_load(from + i), vb_set(c->in_flip)));
    p.pixel_stride = 64, p.chunk_stride = chunk, p.chunk_words = 64 / W_WORD;
    return p;
  }
#endif
  p.pixel_stride = hn_conv_bytes_panel_stride(c), p.chunk_words = p.words;
  int32_t *sums = (int32_t *)(void *)((char *)scratch + hn_conv_bytes_sums_at(c));
  gather(c, input, u, (uint8_t *)scratch + hn_conv_bytes_lines_at(c), to, p.pixel_stride);
  for (int64_t i = 0; i < u->pixels && (c->w_zero || depth < p.words * W_WORD); ++i, to += p.pixel_stride) {
    for (int64_t k = depth; k < p.words * W_WORD; ++k) to[k] = 0;
    if (!c->w_zero) continue;
    uint32_t sum = 0;
    for (int64_t k = 0; k < depth; ++k) sum += element_value(c, to[k]);
    sums[i] = (int32_t)sum;
  }
  if (c->w_zero) p.sums = sums;
  return p;
}

#endif
