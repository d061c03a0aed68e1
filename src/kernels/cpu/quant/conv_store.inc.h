/* SPDX-License-Identifier: Apache-2.0 */
/* conv_store.inc.h - the way out of sums of bytes: corrected, requantised, and stored as bytes or as they are. Blocks
 * of 16 channels are W_VECTORS vectors. */
#ifndef HN_KERNELS_CPU_QUANT_CONV_STORE_INC_H
#define HN_KERNELS_CPU_QUANT_CONV_STORE_INC_H

#include "kernels/cpu/quant/bytes.inc.h"
#include "kernels/cpu/quant/conv.h"

enum {
  W_BLOCK = HN_CONV_BYTES_BLOCK,
  W_VECTORS = W_BLOCK / HN_LANES,
  W_GROUP = 4 / W_VECTORS /* pixels whose 16 channels are one vector of bytes */
};

#if defined(HN_SIMD_C)
HN_INLINE vi w_multiply(vi a, vi b) { return (vi)((vu)a * (vu)b); }
#elif defined(HN_SIMD_AVX2)
HN_INLINE vi w_multiply(vi a, vi b) { return _mm256_mullo_epi32(a, b); }
#else
HN_INLINE vi w_multiply(vi a, vi b) { return _mm512_mullo_epi32(a, b); }
#endif

/* Sums to bytes: below high before they are rounded, which gives the same, as both are whole numbers; what is above low
 * is seen last. */
typedef struct w_way_out {
  vf high;      /* less y_zero */
  int32_t zero; /* of y */
  vb low, flip;
} w_way_out;

HN_INLINE w_way_out w_way_out_make(int32_t y_zero, int32_t low, int32_t high, int32_t flip) {
  return (w_way_out){v_set((float)(high - y_zero)), y_zero, vb_set(low), vb_set(flip)};
}

/* A product that is no number, or below the least i32, becomes the least i32, and low in the end. */
HN_INLINE vi w_quantum(const w_way_out *o, vi sum, vf scale) {
  const vf y = v_min(o->high, vf_from(sum) * scale);
#if defined(HN_SIMD_C)
  return vi_round(v_max(y, v_set(-256.0F))); /* below all bytes: a conversion of what no i32 holds is undefined */
#else
  return vi_round(y);
#endif
}

/* Four vectors of numbers that are rounded. Each lane of 16 bytes holds four of each vector, in this order, that lie
 * there in theirs. */
HN_INLINE vb w_pack(const w_way_out *o, const vi *q) {
#if defined(HN_SIMD_AVX512)
  const __m512i zero = _mm512_set1_epi16((short)o->zero);
  const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(q[0], q[1]), zero);
  const vb bytes = _mm512_packus_epi16(low, _mm512_adds_epi16(_mm512_packs_epi32(q[2], q[3]), zero));
#elif defined(HN_SIMD_AVX2)
  const __m256i zero = _mm256_set1_epi16((short)o->zero);
  const __m256i low = _mm256_adds_epi16(_mm256_packs_epi32(q[0], q[1]), zero);
  const vb bytes = _mm256_packus_epi16(low, _mm256_adds_epi16(_mm256_packs_epi32(q[2], q[3]), zero));
#else
  vb bytes;
  for (int i = 0; i < B_GROUP; ++i) {
    const int32_t quantum = q[i / HN_LANES][i % HN_LANES];
    bytes[i] = quantum <= -o->zero ? 0 : (uint8_t)(quantum + o->zero); /* high is below 256 */
  }
#endif
  return vb_xor(vb_max(bytes, o->low), o->flip);
}

/* The same of four vectors of sums. */
HN_INLINE vb w_bytes(const w_way_out *o, const vi *sum, const vf *scale) {
  vi q[4];
  HN_UNROLL
  for (int i = 0; i < 4; ++i) q[i] = w_quantum(o, sum[i], scale[i]);
  return w_pack(o, q);
}

/* The bytes of w_bytes in the order of the vectors. */
HN_INLINE vb w_ordered(vb bytes) {
#if defined(HN_SIMD_AVX512)
  return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), bytes);
#elif defined(HN_SIMD_AVX2)
  return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
#else
  return bytes;
#endif
}

/* 16 channels of W_GROUP pixels, of which `lanes` are there: zeros are stored for the others. */
HN_INLINE void w_put_bytes(uint8_t *to, int64_t next, vb bytes, int64_t lanes) {
#if defined(HN_SIMD_C)
  (void)next;
  for (int i = 0; i < W_BLOCK; ++i) to[i] = i < lanes ? bytes[i] : 0;
#else
  const __m128i lane = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m128i keep = _mm_cmpgt_epi8(_mm_set1_epi8((char)lanes), lane);
#if defined(HN_SIMD_AVX512)
  const __m512i kept = _mm512_and_si512(bytes, _mm512_broadcast_i32x4(keep));
  _mm_storeu_si128((void *)to, _mm512_castsi512_si128(kept));
  _mm_storeu_si128((void *)(to + next), _mm512_extracti32x4_epi32(kept, 1));
  _mm_storeu_si128((void *)(to + 2 * next), _mm512_extracti32x4_epi32(kept, 2));
  _mm_storeu_si128((void *)(to + 3 * next), _mm512_extracti32x4_epi32(kept, 3));
#else
  _mm_storeu_si128((void *)to, _mm_and_si128(_mm256_castsi256_si128(bytes), keep));
  _mm_storeu_si128((void *)(to + next), _mm_and_si128(_mm256_extracti128_si256(bytes, 1), keep));
#endif
#endif
}

HN_INLINE void w_put_group(const w_way_out *o, uint8_t *to, int64_t next, const vi *sum, const vf *scale,
                           int64_t lanes) {
  w_put_bytes(to, next, w_ordered(w_bytes(o, sum, scale)), lanes);
}

/* The same of one pixel. */
HN_INLINE void w_put(const w_way_out *o, uint8_t *to, const vi *sum, const vf *scale, int64_t lanes) {
  vi group[4];
  vf scales[4];
  uint8_t bytes[B_GROUP];
  HN_UNROLL
  for (int i = 0; i < 4; ++i) group[i] = sum[i % W_VECTORS], scales[i] = scale[i % W_VECTORS];
  w_put_group(o, bytes, W_BLOCK, group, scales, lanes);
  memcpy(to, bytes, W_BLOCK);
}

/* Sums of pixels that follow each other, and of 16 channels from `channel` on, of which `lanes` are there. */
typedef struct w_target {
  const hn_conv_bytes *conv;
  w_way_out way;
  int64_t image, channel, lanes;
  uint8_t *first; /* of pixel 0: what divides is done once for many pixels */
  bool is_vectors;
  bool begins_blocks; /* every vector of 16 channels begins with a multiple of 16 */
} w_target;

HN_INLINE bool w_is_bytes(const hn_conv_bytes *c) { return c->scale && !c->floats; }

HN_INLINE int64_t w_out_at(const w_target *t, int64_t channel, int64_t pixel) {
  const hn_conv_bytes *c = t->conv;
  const int64_t block = c->out_block, planes = hn_conv_bytes_up(c->out_channels, block) / block;
  const int64_t plane = t->image * planes + channel / block;
  return (plane * c->out_height * c->out_width + pixel) * block + channel % block;
}

/* Whole vectors are stored, zeros behind the last channel with them; else one element at a time. */
static inline void w_target_at(w_target *t, int64_t channel, int64_t lanes) {
  const hn_conv_bytes *c = t->conv;
  t->channel = channel;
  t->lanes = lanes < W_BLOCK ? lanes : W_BLOCK;
  t->first = (uint8_t *)c->output + w_out_at(t, channel, 0) * (w_is_bytes(c) ? 1 : 4);
  t->is_vectors = t->begins_blocks && (w_is_bytes(c) ? c->out_block == 64 : c->out_block >= HN_LANES);
}

/* from: [pixel][16] elements of one or four bytes. */
HN_OUTLINE void w_scatter(const w_target *t, const void *from, int size, int pixels, int64_t at) {
  const int64_t next = t->conv->out_block;
  for (int64_t lane = 0; lane < t->lanes; ++lane) {
    const int64_t first = w_out_at(t, t->channel + lane, at);
    if (size == 1) {
      uint8_t *to = (uint8_t *)t->conv->output + first;
      for (int p = 0; p < pixels; ++p) to[p * next] = ((const uint8_t *)from)[p * W_BLOCK + lane];
    } else {
      int32_t *to = (int32_t *)t->conv->output + first;
      for (int p = 0; p < pixels; ++p) to[p * next] = ((const int32_t *)from)[p * W_BLOCK + lane];
    }
  }
}

/* acc: [pixel][vector], `stride` vectors from pixel to pixel. */
HN_INLINE void w_store_bytes(const w_target *t, const vi *acc, const int stride, const int pixels, const vf *scale,
                             int64_t at) {
  uint8_t some[16 * W_BLOCK];
  uint8_t *to = t->is_vectors ? t->first + at * 64 : some;
  const int64_t next = t->is_vectors ? 64 : W_BLOCK;
  vf scales[4];
  HN_UNROLL
  for (int i = 0; i < 4; ++i) scales[i] = scale[i % W_VECTORS];
  HN_UNROLL
  for (int p = 0; p < pixels; p += W_GROUP) {
    if (pixels - p < W_GROUP) {
      HN_UNROLL
      for (int i = p; i < pixels; ++i) w_put(&t->way, to + i * next, acc + i * stride, scale, t->lanes);
      break;
    }
    vi sums[4];
    HN_UNROLL
    for (int i = 0; i < 4; ++i) sums[i] = acc[(p + i / W_VECTORS) * stride + i % W_VECTORS];
    w_put_group(&t->way, to + p * next, next, sums, scales, t->lanes);
  }
  if (!t->is_vectors) w_scatter(t, some, 1, pixels, at);
}

/* to: [pixel][16] of the residual. */
HN_OUTLINE void w_collect(const w_target *t, uint8_t *to, int pixels, int64_t at) {
  const int64_t next = t->conv->out_block;
  for (int64_t lane = 0; lane < t->lanes; ++lane) {
    const uint8_t *from = (const uint8_t *)t->conv->residual + w_out_at(t, t->channel + lane, at);
    for (int p = 0; p < pixels; ++p) to[p * W_BLOCK + lane] = from[p * next];
  }
}

/* What joins sums and residuals: of the convolution's own bytes bounds and zero point, then those of the sum. */
typedef struct w_joint {
  vf low, high, to_whole, to_number; /* of a quantum; to_whole rounds when it is added */
  vf own_ratio, residual_ratio, shift, sum_high;
} w_joint;

HN_INLINE w_joint w_joint_make(const hn_conv_bytes *c) {
  const hn_conv_bytes_sum *s = &c->sum;
  const float whole = 12582912.0F; /* 1.5 * 2^23: a sum with it has no room for fractions, and its last bit is even */
  return (w_joint){.low = v_set((float)(c->low - c->y_zero)),
                   .high = v_set((float)(c->high - c->y_zero)),
                   .to_whole = v_set(whole),
                   .to_number = v_set(whole - (float)(c->y_zero - c->out_flip)),
                   .own_ratio = v_set(s->own_ratio),
                   .residual_ratio = v_set(s->residual_ratio),
                   .shift = v_set(s->shift),
                   .sum_high = v_set((float)(s->high - c->out_flip))};
}

HN_INLINE vi w_joined(const w_joint *j, const bool is_last, vi sum, vf scale, vf residual) {
  const vf bounded = v_max(v_min(j->high, vf_from(sum) * scale), j->low);
  const vf own = b_rounded(bounded + j->to_whole) - j->to_number;
  const vf y = is_last ? b_fma(residual, j->residual_ratio, b_fma(own, j->own_ratio, j->shift))
                       : b_fma(own, j->own_ratio, b_fma(residual, j->residual_ratio, j->shift));
#if defined(HN_SIMD_C)
  return vi_round(v_max(v_min(j->sum_high, y), v_set(-256.0F)));
#else
  return vi_round(v_min(j->sum_high, y));
#endif
}

/* The numbers of a residual's bytes. */
HN_INLINE vf w_residual(const uint8_t *p, const bool is_signed) {
#if defined(HN_SIMD_C)
  const vi flip = vi_set(is_signed ? 0x80 : 0);
  return b_numbers(p, flip);
#else
  return vf_from(is_signed ? b_load_signed(p) : b_load(p));
#endif
}

/* Up to 16 pixels of whole vectors; what lies behind the last pixel's is not read. */
HN_INLINE void w_join(const hn_conv_bytes *c, const int32_t *sums, int64_t stride, int pixels, const float *scales,
                      const uint8_t *from, uint8_t *to, int64_t next, int64_t lanes, const bool is_last,
                      const bool is_signed) {
  const w_joint joint = w_joint_make(c);
  const w_way_out way = {.zero = is_signed ? 0x80 : 0, .low = vb_set(c->sum.low), .flip = vb_set(is_signed ? 0x80 : 0)};
  vf scale[W_VECTORS];
  HN_UNROLL
  for (int v = 0; v < W_VECTORS; ++v) scale[v] = v_load(scales + v * HN_LANES);
  for (int p = 0; p < pixels; p += W_GROUP) {
    vi q[4];
    const int last = pixels - 1 - p; /* behind it, that one again */
    HN_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int pixel = p + (i / W_VECTORS < last ? i / W_VECTORS : last), lane = i % W_VECTORS * HN_LANES;
      const vf residual = w_residual(from + pixel * next + lane, is_signed);
      q[i] = w_joined(&joint, is_last, vi_load(sums + pixel * stride + lane), scale[i % W_VECTORS], residual);
    }
    const vb bytes = w_ordered(w_pack(&way, q));
    if (last >= W_GROUP - 1) {
      w_put_bytes(to + p * next, next, bytes, lanes);
      continue;
    }
    uint8_t group[B_GROUP];
    w_put_bytes(group, W_BLOCK, bytes, lanes);
    for (int i = 0; i <= last; ++i) memcpy(to + (p + i) * next, group + i * W_BLOCK, W_BLOCK);
  }
}

/* Sums of up to 16 pixels, `stride` from pixel to pixel, that are rounded, added to the residual and rounded again. */
HN_OUTLINE void w_store_joined(const w_target *t, const int32_t *sums, int64_t stride, int pixels, const float *scales,
                               int64_t at) {
  const hn_conv_bytes *c = t->conv;
  uint8_t some[16 * W_BLOCK], beside[16 * W_BLOCK];
  uint8_t *to = t->is_vectors ? t->first + at * 64 : some;
  const uint8_t *from = t->is_vectors ? (const uint8_t *)c->residual + (to - (uint8_t *)c->output) : beside;
  const int64_t next = t->is_vectors ? 64 : W_BLOCK;
  if (!t->is_vectors) w_collect(t, beside, pixels, at);
  if (c->out_flip && c->sum.is_last)
    w_join(c, sums, stride, pixels, scales, from, to, next, t->lanes, true, true);
  else if (c->out_flip)
    w_join(c, sums, stride, pixels, scales, from, to, next, t->lanes, false, true);
  else if (c->sum.is_last)
    w_join(c, sums, stride, pixels, scales, from, to, next, t->lanes, true, false);
  else
    w_join(c, sums, stride, pixels, scales, from, to, next, t->lanes, false, false);
  if (!t->is_vectors) w_scatter(t, some, 1, pixels, at);
}

HN_INLINE void w_store_sums(const w_target *t, const vi *acc, const int stride, const int pixels, int64_t at) {
  const int64_t block = t->conv->out_block;
  int32_t sums[16 * W_BLOCK];
  if (t->is_vectors) {
    const int64_t plane = t->conv->out_height * t->conv->out_width * block;
    HN_UNROLL
    for (int v = 0; v < W_VECTORS; ++v) {
      if (v * HN_LANES >= hn_conv_bytes_up(t->lanes, block)) break;
      int32_t *to = (int32_t *)(void *)t->first + at * block + v * HN_LANES / block * plane + v * HN_LANES % block;
      HN_UNROLL
      for (int p = 0; p < pixels; ++p) vi_store(to + p * block, acc[p * stride + v]);
    }
    return;
  }
  HN_UNROLL
  for (int i = 0; i < pixels * W_VECTORS; ++i)
    vi_store(sums + i * HN_LANES, acc[i / W_VECTORS * stride + i % W_VECTORS]);
  w_scatter(t, sums, 4, pixels, at);
}

/* The first two roundings of floats. */
HN_INLINE vf w_float(vi sum, vf scale, vf bias) { return b_rounded(vf_from(sum) * scale) + bias; }

/* Depthwise: four vectors of sums as w_bytes takes them, in the order of their channels. */
HN_INLINE void w_in_order(vi *v) {
#if defined(HN_SIMD_AVX512)
  const vi a = _mm512_shuffle_i32x4(v[0], v[1], 0x44), b = _mm512_shuffle_i32x4(v[0], v[1], 0xee);
  const vi c = _mm512_shuffle_i32x4(v[2], v[3], 0x44), d = _mm512_shuffle_i32x4(v[2], v[3], 0xee);
  v[0] = _mm512_shuffle_i32x4(a, c, 0x88), v[1] = _mm512_shuffle_i32x4(a, c, 0xdd);
  v[2] = _mm512_shuffle_i32x4(b, d, 0x88), v[3] = _mm512_shuffle_i32x4(b, d, 0xdd);
#elif defined(HN_SIMD_AVX2)
  const vi a = _mm256_permute2x128_si256(v[0], v[1], 0x20), b = _mm256_permute2x128_si256(v[2], v[3], 0x20);
  const vi c = _mm256_permute2x128_si256(v[0], v[1], 0x31), d = _mm256_permute2x128_si256(v[2], v[3], 0x31);
  v[0] = a, v[1] = b, v[2] = c, v[3] = d;
#else
  (void)v;
#endif
}

/* A NaN stays one. */
HN_INLINE vf w_between(const hn_conv_bytes *c, vf y) { return v_max(v_set(c->least), v_min(v_set(c->most), y)); }

/* Sums of up to 16 pixels, `stride` from pixel to pixel, as floats. */
HN_OUTLINE void w_store_floats(const w_target *t, const int32_t *sums, int64_t stride, int pixels, const float *scales,
                               const float *biases, int64_t at) {
  const hn_conv_bytes *c = t->conv;
  const int64_t block = c->out_block, plane = c->out_height * c->out_width * block;
  const float *residual = c->residual;
  float some[16 * W_BLOCK];
  if (t->is_vectors) {
    const int64_t first = (const float *)(const void *)t->first - (const float *)c->output + at * block;
    for (int lane = 0; lane < hn_conv_bytes_up(t->lanes, block); lane += HN_LANES) {
      const vf scale = v_load(scales + lane), bias = v_load(biases + lane);
      const int64_t from = first + lane / block * plane + lane % block;
      float *to = (float *)c->output + from;
      for (int p = 0; p < pixels; ++p) {
        vf y = w_float(vi_load(sums + p * stride + lane), scale, bias);
        if (residual) y = y + v_load(residual + from + p * block);
        v_store(to + p * block, w_between(c, y));
      }
    }
    return;
  }
  for (int64_t lane = 0; residual && lane < t->lanes; ++lane) {
    const float *from = residual + w_out_at(t, t->channel + lane, at);
    for (int p = 0; p < pixels; ++p) some[p * W_BLOCK + lane] = from[p * block];
  }
  for (int i = 0; i < pixels * W_BLOCK; i += HN_LANES) {
    const int lane = i % W_BLOCK;
    vf y = w_float(vi_load(sums + i / W_BLOCK * stride + lane), v_load(scales + lane), v_load(biases + lane));
    if (residual) y = y + v_load(some + i);
    v_store(some + i, w_between(c, y));
  }
  w_scatter(t, some, 4, pixels, at);
}

/* Zeros in what a block of channels has behind the last one and no vector wrote. */
HN_OUTLINE void w_store_nothing(const w_target *t, int64_t pixels, int64_t at) {
  const hn_conv_bytes *c = t->conv;
  const int64_t size = w_is_bytes(c) ? 1 : 4, end = hn_conv_bytes_up(c->out_channels, c->out_block);
  const int64_t begin = !t->is_vectors  ? c->out_channels
                        : w_is_bytes(c) ? hn_conv_bytes_up(c->out_channels, W_BLOCK)
                                        : end;
  if (begin >= end) return;
  uint8_t *to = (uint8_t *)c->output + w_out_at(t, begin, at) * size;
  if (t->is_vectors) { /* of bytes: whole vectors are left */
    for (int64_t p = 0; p < pixels; ++p)
      for (int64_t i = 0; i < end - begin; i += W_BLOCK) memset(to + p * 64 + i, 0, W_BLOCK);
    return;
  }
  for (int64_t p = 0; p < pixels; ++p) memset(to + p * c->out_block * size, 0, (size_t)((end - begin) * size));
}

#endif
