/* SPDX-License-Identifier: Apache-2.0 */
/* pointwise.c - a group of four vectors at a time; the last of a row goes through buffers of that size. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/quant/pointwise.h"
#include "kernels/cpu/quant/bytes.inc.h"
#include "kernels/cpu/walk.inc.h"

enum { SUM, PRODUCT, BLOCK = 64 };

HN_INLINE int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }

/* The numbers that HN_LANES bytes stand for. */
HN_INLINE vf numbers(const uint8_t *p, vi flip) { return vf_from(vi_sub(vi_xor(b_load(p), flip), flip)); }

HN_INLINE vi saturated(vf y, vf low, vf high, vi flip) { return vi_add(vi_round(v_min(v_max(y, low), high)), flip); }

/* One rounding: what v_fma gives where the instruction set has it. */
HN_INLINE vf fused(vf a, vf b, vf c) {
#if defined(HN_SIMD_C)
  return (vf){fmaf(a[0], b[0], c[0]), fmaf(a[1], b[1], c[1]), fmaf(a[2], b[2], c[2]), fmaf(a[3], b[3], c[3])};
#else
  return v_fma(a, b, c);
#endif
}

/* Kernels are compiled with contraction: this keeps a product from being fused with what is added to it. */
HN_INLINE vf rounded(vf a) {
#if defined(HN_SIMD_AVX512)
  __asm__("" : "+v"(a));
#elif defined(HN_SIMD_AVX2)
  __asm__("" : "+x"(a));
#else
  __asm__("" : "+m"(a));
#endif
  return a;
}

HN_INLINE vf joined(int kind, const hn_byte_pair *args, vf a, vf b) {
  if (kind == SUM) return fused(a, v_set(args->a_ratio), fused(b, v_set(args->b_ratio), v_set(args->shift)));
  /* The product is below 2^24, so exact; the other two are rounded one after the other. */
  const vf product = (a - v_set(args->a_zero)) * (b - v_set(args->b_zero)) * v_set(args->a_ratio);
  return rounded(product) + v_set(args->shift);
}

/* One byte in every place of a group, where the row has but one. */
HN_INLINE void pair_group(int kind, const hn_byte_pair *args, const uint8_t *a, const uint8_t *b, uint8_t *y) {
  const vi a_flip = vi_set(args->a_flip), b_flip = vi_set(args->b_flip), y_flip = vi_set(args->y_flip);
  const vf low = v_set(args->low), high = v_set(args->high);
  vi v[4];
  HN_UNROLL for (int i = 0; i < 4; ++i) {
    const vf one = numbers(a + i * HN_LANES, a_flip), other = numbers(b + i * HN_LANES, b_flip);
    v[i] = saturated(joined(kind, args, one, other), low, high, y_flip);
  }
  b_put(y, v[0], v[1], v[2], v[3], args->y_flip);
}

/* n elements; the steps are 0 or B_GROUP bytes from group to group. */
HN_INLINE void pair_run(int kind, const hn_byte_pair *args, const uint8_t *a, int64_t a_step, const uint8_t *b,
                        int64_t b_step, uint8_t *y, int64_t n) {
  uint8_t one[2][B_GROUP] = {{0}}, to[B_GROUP];
  if (!a_step) a = memset(one[0], *a, B_GROUP);
  if (!b_step) b = memset(one[1], *b, B_GROUP);
  for (; n >= B_GROUP; n -= B_GROUP, y += B_GROUP) {
    pair_group(kind, args, a, b, y);
    a += a_step * B_GROUP;
    b += b_step * B_GROUP;
  }
  if (n == 0) return;
  if (a_step) a = memcpy(one[0], a, (size_t)n);
  if (b_step) b = memcpy(one[1], b, (size_t)n);
  pair_group(kind, args, a, b, to);
  memcpy(y, to, (size_t)n);
}

HN_INLINE void pairs(int kind, const hn_byte_pair *args, int64_t begin, int64_t end) {
  const hn_byte_rows *r = &args->rows;
  const int64_t runs = hn_byte_rows_runs(r);
  walk w = walk_start(r->rank, r->dim, r->a_stride, r->b_stride, begin / runs);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t row = unit / runs, first = unit % runs * HN_POINTWISE_RUN;
    const int64_t n = at_most(r->inner - first, HN_POINTWISE_RUN);
    uint8_t *y = args->y + row * r->inner + first;
    pair_run(kind, args, args->a + w.at_from + first * r->a_step, r->a_step, args->b + w.at_to + first * r->b_step,
             r->b_step, y, n);
    if (r->tail && row / r->pixels % r->blocks == r->blocks - 1) memset(y + r->tail, 0, (size_t)(BLOCK - r->tail));
    if (first + n == r->inner) walk_next(&w);
  }
}

void HN_SIMD_NAME(hn_byte_add)(const hn_byte_pair *args, int64_t begin, int64_t end) { pairs(SUM, args, begin, end); }
void HN_SIMD_NAME(hn_byte_mul)(const hn_byte_pair *args, int64_t begin, int64_t end) {
  pairs(PRODUCT, args, begin, end);
}

#if !defined(HN_SIMD_C)
/* Sixteen entries at a time: of bytes whose upper half is not theirs the index has its first bit set and gives zero. */
#if defined(HN_SIMD_AVX512)
typedef __m512i part;
HN_INLINE part part_load(const uint8_t *p) { return _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)p)); }
HN_INLINE vb part_of(vb so_far, part table, vb x) {
  const vb at = _mm512_adds_epu8(x, _mm512_set1_epi8(0x70));
  return _mm512_or_si512(so_far, _mm512_shuffle_epi8(table, at));
}
#else
typedef __m256i part;
HN_INLINE part part_load(const uint8_t *p) { return _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)p)); }
HN_INLINE vb part_of(vb so_far, part table, vb x) {
  const vb at = _mm256_adds_epu8(x, _mm256_set1_epi8(0x70));
  return _mm256_or_si256(so_far, _mm256_shuffle_epi8(table, at));
}
#endif
HN_INLINE void look_up(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t n) {
  int64_t i = 0;
  for (; n - i >= B_GROUP; i += B_GROUP) {
    const vb at = vb_load(x + i);
    vb v = vb_set(0);
    HN_UNROLL for (int t = 0; t < 16; ++t) v = part_of(v, part_load(table + 16 * t), vb_xor(at, vb_set(16 * t)));
    vb_store(y + i, v);
  }
  for (; i < n; ++i) y[i] = table[x[i]];
}
#else
HN_INLINE void look_up(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = table[x[i]];
}
#endif

void HN_SIMD_NAME(hn_byte_lookup)(const hn_byte_lookup *a, int64_t begin, int64_t end) {
  const int64_t first = begin * HN_POINTWISE_RUN, last = at_most(a->count, end * HN_POINTWISE_RUN);
  look_up(a->table, a->x + first, a->y + first, last - first);
  if (!a->tail) return;
  for (int64_t pixel = first / BLOCK; pixel < last / BLOCK; ++pixel)
    if (pixel / a->pixels % a->blocks == a->blocks - 1)
      memset(a->y + pixel * BLOCK + a->tail, 0, (size_t)(BLOCK - a->tail));
}

/* Sums of the bytes after the flip. */
HN_INLINE int32_t sum_row(const uint8_t *x, int64_t n, int32_t flip) {
  vi sum = vi_set(0);
  int32_t lane[HN_LANES], total = 0;
  int64_t i = 0;
  for (; n - i >= HN_LANES; i += HN_LANES) sum = vi_add(sum, vi_xor(b_load(x + i), vi_set(flip)));
  vi_store(lane, sum);
  for (int j = 0; j < HN_LANES; ++j) total += lane[j];
  for (; i < n; ++i) total += x[i] ^ flip;
  return total;
}

HN_INLINE void sum_block(const uint8_t *x, int64_t pixels, int32_t flip, int32_t *sums) {
  vi sum[BLOCK / HN_LANES];
  HN_UNROLL for (int i = 0; i < BLOCK / HN_LANES; ++i) sum[i] = vi_set(0);
  for (int64_t p = 0; p < pixels; ++p) {
    HN_UNROLL for (int i = 0; i < BLOCK / HN_LANES; ++i) sum[i] =
        vi_add(sum[i], vi_xor(b_load(x + p * BLOCK + i * HN_LANES), vi_set(flip)));
  }
  HN_UNROLL for (int i = 0; i < BLOCK / HN_LANES; ++i) vi_store(sums + i * HN_LANES, sum[i]);
}

void HN_SIMD_NAME(hn_byte_mean)(const hn_byte_mean *a, int64_t begin, int64_t end) {
  const int64_t blocks = (a->channels + BLOCK - 1) / BLOCK;
  const vf zero = v_set((float)a->y_zero);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t image = unit / blocks, channel = unit % blocks * BLOCK, n = at_most(a->channels - channel, BLOCK);
    int32_t sums[BLOCK] = {0};
    uint8_t to[BLOCK];
    if (a->x_blocked)
      sum_block(a->x + unit * a->pixels * BLOCK, a->pixels, a->x_flip, sums);
    else
      for (int64_t c = 0; c < n; ++c)
        sums[c] = sum_row(a->x + (image * a->channels + channel + c) * a->pixels, a->pixels, a->x_flip);
    for (int c = 0; c < BLOCK; c += B_GROUP) {
      vi v[4];
      HN_UNROLL for (int i = 0; i < 4; ++i) {
        const vi sum = vi_sub(vi_load(sums + c + i * HN_LANES), vi_set((int32_t)(a->pixels * a->x_zero)));
        v[i] = vi_round(v_min(v_max(v_round(vf_from(sum) * v_set(a->scale)) + zero, v_set(0.0F)), v_set(255.0F)));
      }
      b_put(to + c, v[0], v[1], v[2], v[3], a->y_flip);
    }
    if (!a->y_blocked) {
      memcpy(a->y + image * a->channels + channel, to, (size_t)n);
      continue;
    }
    memset(to + n, 0, (size_t)(BLOCK - n));
    memcpy(a->y + unit * BLOCK, to, BLOCK);
  }
}
