/* SPDX-License-Identifier: Apache-2.0 */
/* quantize.c - both directions, a group of four vectors at a time: what makes or takes whole vectors of bytes. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/quant/quantize.h"
#include "kernels/cpu/quant/bytes.inc.h"

HN_INLINE int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }

/* Saturated after the zero point is added: below 2^24 that is exact, and beyond saturation decides. */
HN_INLINE vi quantized(vf x, vf scale, vf zero, vf nan) {
  const vf y = v_round(x / scale) + zero;
  return vi_round(v_max(v_min(v_select(v_eq(y, y), y, nan), v_set(255.0F)), v_set(0.0F)));
}

HN_INLINE vf dequantized(const uint8_t *x, vf scale, vi zero, vi flip) {
  return vf_from(vi_sub(vi_xor(b_load(x), flip), zero)) * scale;
}

HN_INLINE int32_t zero_at(const hn_quantize_args *a, int64_t at) { return (a->zero ? a->zero[at] : 0) ^ a->flip; }

/* What belongs to the lanes of a group or of a block of channels. */
typedef struct {
  float scale[HN_BYTES_BLOCK], zero[HN_BYTES_BLOCK];
  int32_t whole_zero[HN_BYTES_BLOCK];
} lanes;

/* Lanes without a channel turn zero into zero. */
HN_INLINE void fill_lanes(const hn_quantize_args *a, int64_t channel, int64_t count, lanes *l) {
  for (int i = 0; i < HN_BYTES_BLOCK; ++i) {
    const int64_t at = a->each ? channel + i : 0;
    l->scale[i] = i < count ? a->scale[at] : 1.0F;
    l->whole_zero[i] = i < count ? zero_at(a, at) : a->flip;
    l->zero[i] = (float)l->whole_zero[i];
  }
}

HN_INLINE void quantize_group(const float *x, uint8_t *y, const float *scale, const float *zero, int64_t step,
                              int32_t flip) {
  vi v[4];
  const vf nan = v_set((float)flip);
  HN_UNROLL for (int i = 0; i < 4; ++i) v[i] =
      quantized(v_load(x + i * HN_LANES), v_load(scale + i * step), v_load(zero + i * step), nan);
  b_put(y, v[0], v[1], v[2], v[3], flip);
}

/* n elements with one scale and zero point each (step: HN_LANES) or one for all (step: 0, HN_LANES equal ones). */
HN_INLINE void quantize_row(const float *x, uint8_t *y, int64_t n, const float *scale, const float *zero,
                            int32_t flip) {
  int64_t i = 0;
  for (; n - i >= B_GROUP; i += B_GROUP) quantize_group(x + i, y + i, scale, zero, 0, flip);
  if (i == n) return;
  float from[B_GROUP] = {0};
  uint8_t to[B_GROUP];
  memcpy(from, x + i, (size_t)(n - i) * sizeof *x);
  quantize_group(from, to, scale, zero, 0, flip);
  memcpy(y + i, to, (size_t)(n - i));
}

HN_INLINE void dequantize_row(const uint8_t *x, float *y, int64_t n, float scale, int32_t zero, int32_t flip) {
  const vf s = v_set(scale);
  const vi z = vi_set(zero), f = vi_set(flip);
  int64_t i = 0;
  for (; n - i >= HN_LANES; i += HN_LANES) v_store(y + i, dequantized(x + i, s, z, f));
  for (; i < n; ++i) y[i] = (float)((x[i] ^ flip) - zero) * scale;
}

/* Elements [first, last) of a row along the axis. */
HN_INLINE void quantize_along(const hn_quantize_args *a, const float *x, uint8_t *y, int64_t first, int64_t last) {
  lanes l;
  for (int64_t i = first; i < last; i += HN_BYTES_BLOCK) {
    const int64_t n = at_most(last - i, HN_BYTES_BLOCK);
    float from[HN_BYTES_BLOCK] = {0};
    uint8_t to[HN_BYTES_BLOCK];
    fill_lanes(a, i, n, &l);
    memcpy(from, x + i, (size_t)n * sizeof *x);
    for (int j = 0; j < HN_BYTES_BLOCK; j += B_GROUP)
      quantize_group(from + j, to + j, l.scale + j, l.zero + j, HN_LANES, a->flip);
    memcpy(y + i, to, (size_t)n);
  }
}

void HN_SIMD_NAME(hn_quantize)(const hn_quantize_args *a, int64_t begin, int64_t end) {
  const int along = a->each && a->inner == 1;
  for (int64_t unit = begin; unit < end; ++unit) {
    const hn_quantize_piece r = hn_quantize_piece_at(a, unit);
    const float *x = (const float *)a->x + r.row * hn_quantize_row(a);
    uint8_t *y = (uint8_t *)a->y + r.row * hn_quantize_row(a);
    if (along) {
      quantize_along(a, x, y, r.first, r.last);
      continue;
    }
    float scale[HN_LANES], zero[HN_LANES];
    const int64_t at = a->each ? r.row % a->axis : 0;
    v_store(scale, v_set(a->scale[at]));
    v_store(zero, v_set((float)zero_at(a, at)));
    quantize_row(x + r.first, y + r.first, r.last - r.first, scale, zero, a->flip);
  }
}

void HN_SIMD_NAME(hn_dequantize)(const hn_quantize_args *a, int64_t begin, int64_t end) {
  const int along = a->each && a->inner == 1;
  for (int64_t unit = begin; unit < end; ++unit) {
    const hn_quantize_piece r = hn_quantize_piece_at(a, unit);
    const uint8_t *x = (const uint8_t *)a->x + r.row * hn_quantize_row(a);
    float *y = (float *)a->y + r.row * hn_quantize_row(a);
    const int64_t at = a->each ? r.row % a->axis : 0;
    for (int64_t i = r.first; along && i < r.last; ++i) y[i] = (float)((x[i] ^ a->flip) - zero_at(a, i)) * a->scale[i];
    if (!along) dequantize_row(x + r.first, y + r.first, r.last - r.first, a->scale[at], zero_at(a, at), a->flip);
  }
}

/* A unit of blocked bytes. */
typedef struct {
  int64_t image, channel, pixel; /* where it begins */
  int64_t channels, pixels;      /* that are there */
  int64_t bytes;                 /* where the bytes of its first pixel lie */
} block;

HN_INLINE block block_at(const hn_quantize_args *a, int64_t unit) {
  const int64_t chunks = (a->inner + HN_QUANTIZE_PIXELS - 1) / HN_QUANTIZE_PIXELS;
  const int64_t blocks = (a->axis + HN_BYTES_BLOCK - 1) / HN_BYTES_BLOCK, plane = unit / chunks;
  block b = {.image = plane / blocks, .channel = plane % blocks * HN_BYTES_BLOCK};
  b.pixel = unit % chunks * HN_QUANTIZE_PIXELS;
  b.channels = at_most(a->axis - b.channel, HN_BYTES_BLOCK);
  b.pixels = at_most(a->inner - b.pixel, HN_QUANTIZE_PIXELS);
  b.bytes = (plane * a->inner + b.pixel) * HN_BYTES_BLOCK;
  return b;
}

void HN_SIMD_NAME(hn_quantize_plain_blocked)(const hn_quantize_args *a, int64_t begin, int64_t end) {
  uint8_t rows[HN_BYTES_BLOCK][HN_QUANTIZE_PIXELS];
  for (int64_t unit = begin; unit < end; ++unit) {
    const block b = block_at(a, unit);
    const float *x = (const float *)a->x + (b.image * a->axis + b.channel) * a->inner + b.pixel;
    for (int64_t c = 0; c < b.channels; ++c) {
      float scale[HN_LANES], zero[HN_LANES];
      const int64_t at = a->each ? b.channel + c : 0;
      v_store(scale, v_set(a->scale[at]));
      v_store(zero, v_set((float)zero_at(a, at)));
      quantize_row(x + c * a->inner, rows[c], b.pixels, scale, zero, a->flip);
    }
    if (b.channels < HN_BYTES_BLOCK) memset(rows[b.channels], 0, sizeof rows - (size_t)b.channels * sizeof rows[0]);
    b_transpose(rows[0], HN_QUANTIZE_PIXELS, (uint8_t *)a->y + b.bytes, HN_BYTES_BLOCK, HN_BYTES_BLOCK, b.pixels);
  }
}

void HN_SIMD_NAME(hn_dequantize_blocked_plain)(const hn_quantize_args *a, int64_t begin, int64_t end) {
  uint8_t rows[HN_BYTES_BLOCK][HN_QUANTIZE_PIXELS];
  for (int64_t unit = begin; unit < end; ++unit) {
    const block b = block_at(a, unit);
    float *y = (float *)a->y + (b.image * a->axis + b.channel) * a->inner + b.pixel;
    b_transpose((const uint8_t *)a->x + b.bytes, HN_BYTES_BLOCK, rows[0], HN_QUANTIZE_PIXELS, b.pixels, b.channels);
    for (int64_t c = 0; c < b.channels; ++c) {
      const int64_t at = a->each ? b.channel + c : 0;
      dequantize_row(rows[c], y + c * a->inner, b.pixels, a->scale[at], zero_at(a, at), a->flip);
    }
  }
}

/* Where a channel of blocked floats begins, a whole block of it. */
HN_INLINE int64_t float_at(const hn_quantize_args *a, const block *b, int64_t channel) {
  const int64_t blocks = (a->axis + HN_BLOCK - 1) / HN_BLOCK, c = b->channel + channel;
  return ((b->image * blocks + c / HN_BLOCK) * a->inner + b->pixel) * HN_BLOCK + c % HN_BLOCK;
}

void HN_SIMD_NAME(hn_quantize_blocked)(const hn_quantize_args *a, int64_t begin, int64_t end) {
  lanes l;
  const vf nan = v_set((float)a->flip);
  for (int64_t unit = begin; unit < end; ++unit) {
    const block b = block_at(a, unit);
    const int64_t there = (b.channels + HN_BLOCK - 1) / HN_BLOCK * HN_BLOCK; /* channels that lie in memory */
    fill_lanes(a, b.channel, b.channels, &l);
    for (int64_t c = 0; c < HN_BYTES_BLOCK; c += B_GROUP) {
      uint8_t *y = (uint8_t *)a->y + b.bytes + c;
      const float *x[4];
      HN_UNROLL for (int i = 0; i < 4; ++i) x[i] =
          c + i * HN_LANES < there ? (const float *)a->x + float_at(a, &b, c + i * HN_LANES) : NULL;
      for (int64_t p = 0; p < b.pixels; ++p) {
        vi v[4];
        HN_UNROLL for (int i = 0; i < 4; ++i) {
          const int64_t at = c + i * HN_LANES;
          v[i] = x[i] ? quantized(v_load(x[i] + p * HN_BLOCK), v_load(l.scale + at), v_load(l.zero + at), nan)
                      : vi_set(a->flip);
        }
        b_put(y + p * HN_BYTES_BLOCK, v[0], v[1], v[2], v[3], a->flip);
      }
    }
  }
}

void HN_SIMD_NAME(hn_dequantize_blocked)(const hn_quantize_args *a, int64_t begin, int64_t end) {
  lanes l;
  const vi flip = vi_set(a->flip);
  for (int64_t unit = begin; unit < end; ++unit) {
    const block b = block_at(a, unit);
    const uint8_t *x = (const uint8_t *)a->x + b.bytes;
    const int64_t there = (b.channels + HN_BLOCK - 1) / HN_BLOCK * HN_BLOCK;
    fill_lanes(a, b.channel, b.channels, &l);
    for (int64_t c = 0; c < there; c += HN_LANES) {
      float *y = (float *)a->y + float_at(a, &b, c);
      const vf scale = v_load(l.scale + c);
      const vi zero = vi_load(l.whole_zero + c);
      for (int64_t p = 0; p < b.pixels; ++p)
        v_store(y + p * HN_BLOCK, dequantized(x + p * HN_BYTES_BLOCK + c, scale, zero, flip));
    }
  }
}

void HN_SIMD_NAME(hn_quantize_range)(const float *x, int64_t count, float *low, float *high) {
  vf least[4], most[4];
  HN_UNROLL for (int i = 0; i < 4; ++i) least[i] = most[i] = v_set(0.0F);
  for (; count >= B_GROUP; count -= B_GROUP, x += B_GROUP) {
    HN_UNROLL for (int i = 0; i < 4; ++i) {
      const vf v = v_load(x + i * HN_LANES); /* the second of two is taken where one is NaN */
      least[i] = v_min(v, least[i]), most[i] = v_max(v, most[i]);
    }
  }
  for (; count > 0; count -= HN_LANES, x += HN_LANES) {
    const vf v = count < HN_LANES ? v_load_part(x, count) : v_load(x);
    least[0] = v_min(v, least[0]), most[0] = v_max(v, most[0]);
  }
  const vf lows = v_min(v_min(least[0], least[1]), v_min(least[2], least[3]));
  *high = v_largest_number(v_max(v_max(most[0], most[1]), v_max(most[2], most[3])));
  *low = -v_largest_number(v_negate(lows));
}
