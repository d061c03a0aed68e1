/* SPDX-License-Identifier: Apache-2.0 */
/* isa: c avx2 avx512 avx_vnni avx512_vnni */
/* conv_u8s8_dw.c - depthwise convolution of bytes. A unit lays the rows that it reads into a band of words, each the
 * taps below each other of one channel, pads with them: so an output is a dot of words for each column of its window,
 * and knows no borders. */
#include "kernels/cpu/quant/conv_dw3.inc.h"

/* Pixels at once: enough sums to hide the latency of adding. */
enum { PIXELS = HN_LANES == 16 ? 4 : 2 };
/* Channels at once, in four vectors of words; elements that a pixel of a band has. */
enum { CHANNELS = B_GROUP, VECTORS = 4, BAND_WORD = CHANNELS * W_WORD };
enum { VECTOR_WORD = HN_LANES * W_WORD };

typedef struct band {
  hn_conv_bytes_band is;
  w_element *at;
  w_element *weights; /* [step][column][words of a pixel] */
  uint8_t *lines;     /* of plain images: rows below each other, [W_WORD][pixel][channel] */
} band;

HN_INLINE void put_zeros(const hn_conv_bytes *c, w_element *to) {
  for (int i = 0; i < BAND_WORD; ++i) to[i] = (w_element)c->x_zero;
}

/* A pixel of W_WORD rows, interleaved. */
HN_INLINE void put_words(w_element *to, const uint8_t *const *row, int32_t flip) {
#if defined(HN_SIMD_C)
  for (int i = 0; i < CHANNELS; ++i)
    for (int r = 0; r < W_WORD; ++r) to[i * W_WORD + r] = (w_element)(row[r][i] ^ flip);
#else
  vb rows[W_WORD], words[VECTORS];
  HN_UNROLL
  for (int r = 0; r < W_WORD; ++r) rows[r] = vb_xor(vb_load(row[r]), vb_set(flip));
  const vb low = vb_low(rows[0], rows[1]), high = vb_high(rows[0], rows[1]);
#if defined(W_MULTIPLIES_BYTES)
  const vb low2 = vb_low(rows[2], rows[3]), high2 = vb_high(rows[2], rows[3]);
  words[0] = vb_low_pairs(low, low2), words[1] = vb_high_pairs(low, low2);
  words[2] = vb_low_pairs(high, high2), words[3] = vb_high_pairs(high, high2);
#else
  const vb none = vb_set(0);
  words[0] = vb_low(low, none), words[1] = vb_high(low, none);
  words[2] = vb_low(high, none), words[3] = vb_high(high, none);
#endif
  HN_UNROLL
  for (int v = 0; v < VECTORS; ++v) vb_store((uint8_t *)(void *)(to + v * VECTOR_WORD), words[v]);
#endif
}

typedef struct unit {
  int64_t image, channel, lanes, row, rows; /* lanes: channels that are there */
} unit;

/* Where the input row in_y of the unit's channels begins; NULL: it is a row of pads. */
HN_INLINE const uint8_t *row_at(const hn_conv_bytes *c, const uint8_t *from, int64_t in_y) {
  if (in_y < 0 || in_y >= c->in_height) return NULL;
  return from + in_y * c->in_width * (c->in_block == 64 ? 64 : 1);
}

/* A row of words from the input rows in_y, in_y + dilation and so on; also those that a window's last word has no tap
 * for, as another window's word may have one. in_x: of the row's first column. */
static void fill_row(const hn_conv_bytes *c, const band *b, const unit *u, const uint8_t *from, int64_t in_y,
                     int64_t in_x, w_element *to) {
  const int64_t before = in_x < 0 ? -in_x : 0, left = before < b->is.columns ? before : b->is.columns;
  const int64_t there = c->in_width - in_x - left, room = b->is.columns - left;
  const int64_t inside = there < 0 ? 0 : there < room ? there : room;
  const bool is_plain = c->in_block != 64;
  const uint8_t *row[W_WORD];
  int64_t next[W_WORD];
  uint8_t pads[CHANNELS];
  memset(pads, c->x_zero ^ c->in_flip, sizeof pads);
  for (int r = 0; r < W_WORD; ++r) {
    row[r] = row_at(c, from, in_y + r * c->dilation_height);
    next[r] = is_plain ? CHANNELS : 64;
    if (!row[r]) {
      row[r] = pads, next[r] = 0;
    } else if (is_plain) {
      uint8_t *line = b->lines + r * b->is.columns * CHANNELS;
      b_transpose(row[r] + in_x + left, c->in_height * c->in_width, line, CHANNELS, u->lanes, inside);
      row[r] = line;
    } else {
      row[r] += (in_x + left) * 64;
    }
  }
  for (int64_t x = 0; x < left; ++x, to += BAND_WORD) put_zeros(c, to);
  for (int64_t x = 0; x < inside; ++x, to += BAND_WORD) {
    put_words(to, row, c->in_flip);
    HN_UNROLL
    for (int r = 0; r < W_WORD; ++r) row[r] += next[r];
  }
  for (int64_t x = left + inside; x < b->is.columns; ++x, to += BAND_WORD) put_zeros(c, to);
}

HN_INLINE int64_t band_row(const hn_conv_bytes *c, const band *b, int64_t y, int64_t step) {
  return b->is.is_shared ? y * c->stride_height + step * W_WORD * c->dilation_height : y * b->is.steps + step;
}

/* The rows that the strip from x on of output row y reads. Those of a shared band are filled once: what an earlier row
 * read lies there. */
static void fill(const hn_conv_bytes *c, const band *b, const unit *u, int64_t y, int64_t x) {
  const int64_t plane = c->in_height * c->in_width;
  const uint8_t *image = c->input + u->image * hn_conv_bytes_up(c->in_channels, c->in_block) * plane;
  const uint8_t *from =
      c->in_block == 64 ? image + u->channel / 64 * plane * 64 + u->channel % 64 : image + u->channel * plane;
  const int64_t again = W_WORD * c->dilation_height; /* rows from a step to the next */
  for (int64_t s = 0; s < b->is.steps; ++s) {
    /* Row y - again / stride read it as its step s + 1, if there were that many. */
    const bool is_there =
        b->is.is_shared && again % c->stride_height == 0 && s + 1 < b->is.steps && y >= again / c->stride_height;
    if (is_there) continue;
    const int64_t in_y = (u->row + y) * c->stride_height - c->pad_top + s * again;
    fill_row(c, b, u, from, in_y, x * c->stride_width - c->pad_left,
             b->at + band_row(c, b, y, s) * b->is.columns * BAND_WORD);
  }
}

/* Where the unit's sums go. */
typedef struct target {
  const hn_conv_bytes *conv;
  const int32_t *base, *w_zero; /* w_zero NULL: all are 0 */
  const float *scale;           /* NULL: the sums are stored */
  const float *bias;            /* of floats */
  w_way_out out;
  vb keep;        /* the channels that are there */
  uint8_t *first; /* of the first channel at pixel 0 */
  int64_t lanes, plane;
} target;

HN_INLINE void store_bytes(const target *t, const vi *acc, const vf *scale, int64_t pixel) {
  const vb bytes = vb_and(w_bytes(&t->out, acc, scale), t->keep);
  if (t->conv->out_block == 64) {
    vb_store(t->first + pixel * 64, bytes);
    return;
  }
  uint8_t some[CHANNELS];
  vb_store(some, bytes);
  for (int64_t i = 0; i < t->lanes; ++i) t->first[i * t->plane + pixel] = some[i];
}

/* Sums in the order of channels: plain, or in blocks of HN_BLOCK that are full. */
HN_INLINE void store_sums(const target *t, vi *acc, int64_t pixel) {
  int32_t sums[CHANNELS], *to = (int32_t *)(void *)t->first + pixel * t->conv->out_block;
  w_in_order(acc);
  if (t->conv->out_block > 1) {
    const int64_t lanes = hn_conv_bytes_up(t->lanes, HN_BLOCK);
    HN_UNROLL
    for (int v = 0; v < VECTORS; ++v)
      if (v * HN_LANES < lanes)
        vi_store(to + v * HN_LANES / HN_BLOCK * HN_BLOCK * t->plane + v * HN_LANES % HN_BLOCK, acc[v]);
    return;
  }
  HN_UNROLL
  for (int v = 0; v < VECTORS; ++v) vi_store(sums + v * HN_LANES, acc[v]);
  for (int64_t i = 0; i < t->lanes; ++i) to[i * t->plane] = sums[i];
}

/* A one for each tap of a word of this step. */
HN_INLINE vi ones_of(const hn_conv_bytes *c, int64_t step) {
  const int64_t left = c->kernel_height - step * W_WORD, taps = left < W_WORD ? left : W_WORD;
  const uint32_t all = W_WORD == 4 ? 0x01010101U : 0x00010001U;
  return vi_set((int32_t)(all >> (W_WORD - taps) * (32 / W_WORD)));
}

/* Pixels from x of the strip on, `at` in the image. has_zeros: what they read is summed up as well. */
HN_INLINE void run_pixels(const hn_conv_bytes *c, const band *b, const target *t, const int pixels,
                          const bool has_zeros, int64_t y, int64_t x, int64_t at) {
  vi acc[PIXELS * VECTORS], read[PIXELS * VECTORS];
  if (has_zeros) {
    HN_UNROLL
    for (int i = 0; i < pixels * VECTORS; ++i) read[i] = vi_set(0);
  }
  HN_UNROLL
  for (int i = 0; i < pixels * VECTORS; ++i) acc[i] = vi_load(t->base + i % VECTORS * HN_LANES);
  const w_element *w = b->weights;
  const int64_t next = c->stride_width * BAND_WORD;
  for (int64_t s = 0; s < b->is.steps; ++s) {
    const vi ones = ones_of(c, s);
    const w_element *in = b->at + (band_row(c, b, y, s) * b->is.columns + x * c->stride_width) * BAND_WORD;
    for (int64_t kx = 0; kx < c->kernel_width; ++kx, in += c->dilation_width * BAND_WORD, w += BAND_WORD) {
      HN_UNROLL
      for (int v = 0; v < VECTORS; ++v) {
        const vi weights = vi_load((const int32_t *)(const void *)(w + v * VECTOR_WORD));
        HN_UNROLL
        for (int p = 0; p < pixels; ++p) {
          const w_element *word = in + p * next + v * VECTOR_WORD;
          acc[p * VECTORS + v] = w_dot_at(acc[p * VECTORS + v], word, weights);
          if (has_zeros) read[p * VECTORS + v] = w_dot_at(read[p * VECTORS + v], word, ones);
        }
      }
    }
  }
  if (has_zeros) {
    HN_UNROLL
    for (int i = 0; i < pixels * VECTORS; ++i)
      acc[i] = vi_sub(acc[i], w_multiply(vi_load(t->w_zero + i % VECTORS * HN_LANES), read[i]));
  }
  if (!w_is_bytes(c)) {
    HN_UNROLL
    for (int p = 0; p < pixels; ++p) {
      vi sums[VECTORS]; /* or all of acc would live in memory, since its address is taken */
      HN_UNROLL
      for (int v = 0; v < VECTORS; ++v) sums[v] = acc[p * VECTORS + v];
      if (c->floats) {
        HN_UNROLL
        for (int v = 0; v < VECTORS; ++v)
          sums[v] =
              vi_of(w_between(c, w_float(sums[v], v_load(t->scale + v * HN_LANES), v_load(t->bias + v * HN_LANES))));
      }
      store_sums(t, sums, at + p);
    }
    return;
  }
  vf scale[VECTORS];
  HN_UNROLL
  for (int v = 0; v < VECTORS; ++v) scale[v] = v_load(t->scale + v * HN_LANES);
  HN_UNROLL
  for (int p = 0; p < pixels; ++p) store_bytes(t, acc + p * VECTORS, scale, at + p);
}

static target target_of(const hn_conv_bytes *c, const unit *u) {
  const int64_t planes = hn_conv_bytes_up(c->out_channels, c->out_block) / c->out_block;
  const int64_t plane = c->out_height * c->out_width, block = c->out_block;
  const int64_t first = ((u->image * planes + u->channel / block) * plane) * block + u->channel % block;
  uint8_t keep[CHANNELS] = {0};
  memset(keep, 0xff, (size_t)u->lanes);
  return (target){.conv = c,
                  .base = c->base + u->channel,
                  .w_zero = c->w_zero ? c->w_zero + u->channel : NULL,
                  .scale = c->scale ? c->scale + u->channel : NULL,
                  .bias = c->bias ? c->bias + u->channel : NULL,
                  .out = w_way_out_make(c->y_zero, c->low, c->high, c->out_flip),
                  .keep = vb_load(keep),
                  .first = (uint8_t *)c->output + first * (w_is_bytes(c) ? 1 : 4),
                  .lanes = u->lanes,
                  .plane = plane};
}

#if defined(W_HAS_DW3)
static void run_rows(const hn_conv_bytes *c, const band *b, const unit *u, const target *t) {
  const int64_t plane = c->in_height * c->in_width * 64, blocks = hn_conv_bytes_up(c->in_channels, 64) / 64;
  const uint8_t *from = c->input + (u->image * blocks + u->channel / 64) * plane;
  uint8_t pads[CHANNELS];
  memset(pads, c->x_zero ^ c->in_flip, sizeof pads);
  dw3_shift((const int8_t *)b->weights, (int8_t *)b->at);
  dw3 d = {.weights = {(const int8_t *)b->weights, (const int8_t *)b->at}, .base = t->base, .scale = t->scale};
  const int64_t pixel = c->floats ? 16 * 4 : 64;
  const int kind = c->floats ? DW3_FLOATS : c->in_flip ? DW3_FLIPPED : DW3_PLAIN;
  d.conv = c, d.bias = t->bias, d.plane = t->plane, d.lanes = t->lanes;
  d.out = t->out, d.keep = t->keep;
  d.in_width = c->in_width, d.out_width = c->out_width, d.pad_left = c->pad_left;
  d.x_zero = c->x_zero, d.flip = c->in_flip;
  for (int64_t y = 0, rows; y < u->rows; y += rows) {
    rows = c->stride_height == 1 && u->rows - y > 1 ? 2 : 1;
    for (int r = 0; r < 4; ++r) {
      const uint8_t *row = row_at(c, from, (u->row + y) * c->stride_height - c->pad_top + r);
      d.row[r] = row ? row : pads, d.next[r] = row ? 64 : 0;
    }
    for (int r = 0; r < 2; ++r) d.to[r] = t->first + (u->row + y + r) * c->out_width * pixel;
    (rows == 2 ? dw3_two : c->stride_width == 1 ? dw3_one : dw3_half)[kind](&d);
  }
}
#endif

static void run_unit(const hn_conv_bytes *c, const band *b, const unit *u) {
  const target t = target_of(c, u);
  const int64_t words = b->is.steps * c->kernel_width * VECTORS;
  const int8_t *packed = c->weights + u->channel * b->is.steps * c->kernel_width * W_WORD;
  for (int64_t i = 0; i < words; ++i)
    vi_store((int32_t *)(void *)(b->weights + i * VECTOR_WORD), w_weights(packed + i * VECTOR_WORD));
#if defined(W_HAS_DW3)
  if (dw3_takes(c)) { /* of 64 channels: nothing is behind them */
    run_rows(c, b, u, &t);
    return;
  }
#endif
  if (c->in_block != 64) memset(b->lines, 0, (size_t)(W_WORD * b->is.columns * CHANNELS));
  for (int64_t first = 0; first < c->out_width; first += c->strip) {
    const int64_t pixels = c->out_width - first < c->strip ? c->out_width - first : c->strip;
    for (int64_t y = 0; y < u->rows; ++y) {
      fill(c, b, u, y, first); /* just before it is read: it is in the first cache then */
      const int64_t at = (u->row + y) * c->out_width + first;
      int64_t x = 0;
      if (t.w_zero) {
        for (; pixels - x >= PIXELS / 2; x += PIXELS / 2) run_pixels(c, b, &t, PIXELS / 2, true, y, x, at + x);
        for (; x < pixels; ++x) run_pixels(c, b, &t, 1, true, y, x, at + x);
      }
      for (; pixels - x >= PIXELS; x += PIXELS) run_pixels(c, b, &t, PIXELS, false, y, x, at + x);
      for (; x < pixels; ++x) run_pixels(c, b, &t, 1, false, y, x, at + x);
    }
  }
  /* Zeros in what a block has behind the last channels. */
  const int64_t end = hn_conv_bytes_up(u->channel % 64 + u->lanes, CHANNELS);
  if (!w_is_bytes(c) || c->out_block != 64 || u->channel + u->lanes < c->out_channels || end == 64) return;
  uint8_t *to = t.first - u->channel % 64 + u->row * c->out_width * 64 + end;
  for (int64_t p = 0; p < u->rows * c->out_width; ++p) memset(to + p * 64, 0, (size_t)(64 - end));
}

void HN_SIMD_NAME(hn_conv_bytes_dw)(const hn_conv_bytes *c, void *scratch, int64_t begin, int64_t end) {
  const int64_t blocks = hn_conv_bytes_up(c->out_channels, CHANNELS) / CHANNELS;
  const int64_t chunks = (c->out_height + c->unit_pixels - 1) / c->unit_pixels;
  band b = {.is = hn_conv_bytes_band_of(c), .at = scratch};
  b.weights = b.at + b.is.rows * b.is.columns * BAND_WORD;
  b.lines = (uint8_t *)(void *)(b.weights + b.is.steps * c->kernel_width * BAND_WORD);
  for (int64_t at = begin; at < end; ++at) {
    unit u = {
        .channel = at / chunks % blocks * CHANNELS, .image = at / chunks / blocks, .row = at % chunks * c->unit_pixels};
    u.lanes = c->out_channels - u.channel < CHANNELS ? c->out_channels - u.channel : CHANNELS;
    u.rows = c->out_height - u.row < c->unit_pixels ? c->out_height - u.row : c->unit_pixels;
    run_unit(c, &b, &u);
  }
}
