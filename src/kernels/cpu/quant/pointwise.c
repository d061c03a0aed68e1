/* SPDX-License-Identifier: Apache-2.0 */
/* pointwise.c - a group of four vectors at a time; the last of a row goes through buffers of that size. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/quant/pointwise.h"
#include "kernels/cpu/quant/bytes.inc.h"
#include "kernels/cpu/walk.inc.h"
#include <stdbool.h>

enum { SUM, PRODUCT, BLOCK = 64 };

HN_INLINE int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }

HN_INLINE vi saturated(vf y, vf low, vf high, vi flip) { return vi_add(vi_round(v_min(v_max(y, low), high)), flip); }

HN_INLINE vf joined(int kind, const hn_byte_pair *args, vf a, vf b) {
  if (kind == SUM) return b_fma(a, v_set(args->a_ratio), b_fma(b, v_set(args->b_ratio), v_set(args->shift)));
  /* The product is below 2^24, so exact; the other two are rounded one after the other. */
  const vf product = (a - v_set(args->a_zero)) * (b - v_set(args->b_zero)) * v_set(args->a_ratio);
  return b_rounded(product) + v_set(args->shift);
}

/* One byte in every place of a group, where the row has but one. */
HN_INLINE void pair_group(int kind, const hn_byte_pair *args, const uint8_t *a, const uint8_t *b, uint8_t *y) {
  const vi a_flip = vi_set(args->a_flip), b_flip = vi_set(args->b_flip), y_flip = vi_set(args->y_flip);
  const vf low = v_set(args->low), high = v_set(args->high);
  vi v[4];
  HN_UNROLL for (int i = 0; i < 4; ++i) {
    const vf one = b_numbers(a + i * HN_LANES, a_flip), other = b_numbers(b + i * HN_LANES, b_flip);
    v[i] = saturated(joined(kind, args, one, other), low, high, y_flip);
  }
  b_put(y, v[0], v[1], v[2], v[3], args->y_flip);
}

#if !defined(HN_SIMD_C)
#define HAS_SUMS
/* Bytes of one type on all sides. */
HN_INLINE bool has_one_type(const hn_byte_pair *args) {
  return args->a_flip == args->b_flip && args->a_flip == args->y_flip;
}

/* The same sums as pair_group's: below high before they are rounded, which gives the same, as both are whole numbers;
 * what is no number or below all bytes becomes the least i32, and low in the end. */
HN_INLINE vb packed(const bool is_signed, const vi *q, vb low) {
#if defined(HN_SIMD_AVX512)
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i first = _mm512_packs_epi32(q[0], q[1]), second = _mm512_packs_epi32(q[2], q[3]);
  const __m512i bytes = is_signed ? _mm512_max_epi8(_mm512_packs_epi16(first, second), low)
                                  : _mm512_max_epu8(_mm512_packus_epi16(first, second), low);
  return _mm512_permutexvar_epi32(order, bytes);
#else
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i first = _mm256_packs_epi32(q[0], q[1]), second = _mm256_packs_epi32(q[2], q[3]);
  const __m256i bytes = is_signed ? _mm256_max_epi8(_mm256_packs_epi16(first, second), low)
                                  : _mm256_max_epu8(_mm256_packus_epi16(first, second), low);
  return _mm256_permutevar8x32_epi32(bytes, order);
#endif
}

HN_INLINE vf number(const bool is_signed, const uint8_t *p) {
  return vf_from(is_signed ? b_load_signed(p) : b_load(p));
}

HN_INLINE vb sum_group(const hn_byte_pair *args, const bool is_signed, const uint8_t *a, const uint8_t *b, vb low) {
  vi q[4];
  HN_UNROLL for (int i = 0; i < 4; ++i) {
    const vf one = number(is_signed, a + i * HN_LANES), other = number(is_signed, b + i * HN_LANES);
    q[i] = vi_round(v_min(v_set(args->high), joined(SUM, args, one, other)));
  }
  return packed(is_signed, q, low);
}

HN_INLINE void sum_groups(const hn_byte_pair *args, const bool is_signed, const uint8_t *a, int64_t a_step,
                          const uint8_t *b, int64_t b_step, uint8_t *y, int64_t n) {
  const vb low = vb_set((int32_t)args->low);
  for (int64_t i = 0; i < n; i += B_GROUP, a += a_step, b += b_step)
    vb_store(y + i, sum_group(args, is_signed, a, b, low));
}

/* Pixels of the last block of an image: zeros are stored behind the last channel. */
HN_INLINE void sum_pixels(const hn_byte_pair *args, const bool is_signed, const uint8_t *a, const uint8_t *b,
                          uint8_t *y, int64_t pixels) {
  const vb low = vb_set((int32_t)args->low);
  uint8_t keep[BLOCK] = {0};
  memset(keep, 0xff, (size_t)args->rows.tail);
  for (int64_t i = 0; i < pixels * BLOCK; i += BLOCK)
    HN_UNROLL for (int k = 0; k < BLOCK; k += B_GROUP)
        vb_store(y + i + k, vb_and(sum_group(args, is_signed, a + i + k, b + i + k, low), vb_load(keep + k)));
}

/* Rows of one pixel each that follow each other in all three. */
HN_INLINE bool is_pixels(const hn_byte_rows *r) {
  const int64_t plane = r->pixels * BLOCK, image = r->blocks * plane;
  return r->tail && r->rank == 3 && r->inner == BLOCK && r->a_step && r->b_step && r->a_stride[2] == BLOCK &&
         r->b_stride[2] == BLOCK && r->a_stride[1] == plane && r->b_stride[1] == plane &&
         (r->dim[0] == 1 || (r->a_stride[0] == image && r->b_stride[0] == image));
}

/* Pixels of a block times a number for each of its channels, by the same steps as joined(). */
HN_INLINE void multiply_pixels(const hn_byte_pair *args, const bool is_signed, const uint8_t *a, const uint8_t *b,
                               uint8_t *y, int64_t pixels, const uint8_t *keep) {
  const vb low = vb_set((int32_t)args->low);
  const vf high = v_set(args->high), a_zero = v_set(args->a_zero), ratio = v_set(args->a_ratio),
           shift = v_set(args->shift);
  vf factor[BLOCK / HN_LANES];
  HN_UNROLL for (int i = 0; i < BLOCK / HN_LANES; ++i) factor[i] =
      number(is_signed, b + i * HN_LANES) - v_set(args->b_zero);
  for (int64_t i = 0; i < pixels * BLOCK; i += BLOCK) HN_UNROLL for (int k = 0; k < BLOCK; k += B_GROUP) {
      vi q[4];
      HN_UNROLL for (int v = 0; v < 4; ++v) {
        const vf product = (number(is_signed, a + i + k + v * HN_LANES) - a_zero) * factor[k / HN_LANES + v] * ratio;
        q[v] = vi_round(v_min(high, b_rounded(product) + shift));
      }
      vb_store(y + i + k, vb_and(packed(is_signed, q, low), vb_load(keep + k)));
    }
}

/* Rows of one pixel each, and one row of factors for all pixels of a block. */
HN_INLINE bool has_factors(const hn_byte_rows *r) {
  const int64_t plane = r->pixels * BLOCK, image = r->blocks * plane;
  return r->rank == 3 && r->inner == BLOCK && r->a_step && r->b_step && r->a_stride[2] == BLOCK &&
         r->b_stride[2] == 0 && r->a_stride[1] == plane && r->b_stride[1] == BLOCK &&
         (r->dim[0] == 1 || r->a_stride[0] == image);
}

static void multiply_rows(const hn_byte_pair *args, int64_t begin, int64_t end) {
  const hn_byte_rows *r = &args->rows;
  uint8_t all[BLOCK], some[BLOCK] = {0};
  memset(all, 0xff, sizeof all);
  memset(some, 0xff, (size_t)(r->tail ? r->tail : BLOCK));
  for (int64_t row = begin, next; row < end; row = next) {
    const int64_t block = row / r->pixels, at = row * BLOCK;
    next = at_most(end, (block + 1) * r->pixels);
    const uint8_t *b = args->b + block / r->blocks * r->b_stride[0] + block % r->blocks * BLOCK;
    const uint8_t *keep = block % r->blocks == r->blocks - 1 ? some : all;
    if (args->a_flip)
      multiply_pixels(args, true, args->a + at, b, args->y + at, next - row, keep);
    else
      multiply_pixels(args, false, args->a + at, b, args->y + at, next - row, keep);
  }
}

static void sum_rows(const hn_byte_pair *args, int64_t begin, int64_t end) {
  const hn_byte_rows *r = &args->rows;
  for (int64_t row = begin, next; row < end; row = next) {
    const int64_t block = row / r->pixels, at = row * BLOCK;
    next = at_most(end, (block + 1) * r->pixels);
    const uint8_t *a = args->a + at, *b = args->b + at;
    if (block % r->blocks < r->blocks - 1) {
      if (args->a_flip)
        sum_groups(args, true, a, B_GROUP, b, B_GROUP, args->y + at, (next - row) * BLOCK);
      else
        sum_groups(args, false, a, B_GROUP, b, B_GROUP, args->y + at, (next - row) * BLOCK);
    } else if (args->a_flip) {
      sum_pixels(args, true, a, b, args->y + at, next - row);
    } else {
      sum_pixels(args, false, a, b, args->y + at, next - row);
    }
  }
}
#endif

/* Whole groups; the steps are 0 or B_GROUP bytes from group to group. */
HN_INLINE void pair_groups(int kind, const hn_byte_pair *args, const uint8_t *a, int64_t a_step, const uint8_t *b,
                           int64_t b_step, uint8_t *y, int64_t n) {
#if defined(HAS_SUMS)
  if (kind == SUM && has_one_type(args)) {
    if (args->a_flip)
      sum_groups(args, true, a, a_step, b, b_step, y, n);
    else
      sum_groups(args, false, a, a_step, b, b_step, y, n);
    return;
  }
#endif
  for (int64_t i = 0; i < n; i += B_GROUP, a += a_step, b += b_step) pair_group(kind, args, a, b, y + i);
}

/* n elements; the steps are 0 or 1. */
HN_INLINE void pair_run(int kind, const hn_byte_pair *args, const uint8_t *a, int64_t a_step, const uint8_t *b,
                        int64_t b_step, uint8_t *y, int64_t n) {
  uint8_t one[2][B_GROUP] = {{0}}, to[B_GROUP];
  if (!a_step) a = memset(one[0], *a, B_GROUP);
  if (!b_step) b = memset(one[1], *b, B_GROUP);
  const int64_t whole = n / B_GROUP * B_GROUP, rest = n - whole;
  pair_groups(kind, args, a, a_step * B_GROUP, b, b_step * B_GROUP, y, whole);
  if (rest == 0) return;
  if (a_step) a = memcpy(one[0], a + whole, (size_t)rest);
  if (b_step) b = memcpy(one[1], b + whole, (size_t)rest);
  pair_group(kind, args, a, b, to);
  memcpy(y + whole, to, (size_t)rest);
}

HN_INLINE void pairs(int kind, const hn_byte_pair *args, int64_t begin, int64_t end) {
  const hn_byte_rows *r = &args->rows;
  const int64_t runs = hn_byte_rows_runs(r);
#if defined(HAS_SUMS)
  if (kind == SUM && has_one_type(args) && is_pixels(r)) {
    sum_rows(args, begin, end);
    return;
  }
  if (kind == PRODUCT && has_one_type(args) && has_factors(r)) {
    multiply_rows(args, begin, end);
    return;
  }
#endif
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

#if defined(HN_SIMD_AVX512)
/* Entries of lanes of 16 bits, of whose bytes the first bit of x chooses one. */
HN_INLINE __m512i entries(const __m512i *table, __m512i x) {
  const __m512i pair = _mm512_srli_epi16(x, 1);
  const __m512i low = _mm512_permutex2var_epi16(table[0], pair, table[1]);
  const __m512i high = _mm512_permutex2var_epi16(table[2], pair, table[3]);
  const __m512i both = _mm512_mask_blend_epi16(_mm512_test_epi16_mask(x, _mm512_set1_epi16(128)), low, high);
  return _mm512_srlv_epi16(both, _mm512_slli_epi16(_mm512_and_si512(x, _mm512_set1_epi16(1)), 3));
}

HN_INLINE void look_up(const uint8_t *from, const uint8_t *x, uint8_t *y, int64_t n) {
  const __m512i one = _mm512_set1_epi16(0xff);
  __m512i table[4];
  int64_t i = 0;
  HN_UNROLL for (int t = 0; t < 4; ++t) table[t] = _mm512_loadu_si512((const void *)(from + 64 * t));
  for (; n - i >= 64; i += 64) {
    const __m512i at = _mm512_loadu_si512((const void *)(x + i));
    const __m512i even = entries(table, _mm512_and_si512(at, one));
    const __m512i odd = _mm512_slli_epi16(entries(table, _mm512_srli_epi16(at, 8)), 8);
    _mm512_storeu_si512((void *)(y + i), _mm512_or_si512(_mm512_and_si512(even, one), odd));
  }
  for (; i < n; ++i) y[i] = from[x[i]];
}
#elif defined(HN_SIMD_AVX2)
/* Sixteen entries at a time: of bytes whose upper half is not theirs the index has its first bit set and gives zero. */
HN_INLINE vb part_of(vb so_far, const uint8_t *table, vb x) {
  const vb at = _mm256_adds_epu8(x, _mm256_set1_epi8(0x70));
  const vb part = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)table));
  return _mm256_or_si256(so_far, _mm256_shuffle_epi8(part, at));
}

HN_INLINE void look_up(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t n) {
  int64_t i = 0;
  for (; n - i >= B_GROUP; i += B_GROUP) {
    const vb at = vb_load(x + i);
    vb v = vb_set(0);
    HN_UNROLL for (int t = 0; t < 16; ++t) v = part_of(v, table + 16 * t, vb_xor(at, vb_set(16 * t)));
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
