/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_nbits_dots.c - f32 as three digits of a byte, so that weights of few bits are multiplied as they lie: of 64
 * bytes that arrive from memory, a load, two masks, a shift and six products are all that is done. Two panels go side
 * by side: four digits that are spread over a vector serve both, where a load for each product would be what the
 * products wait for. */
/* isa: avx512_vnni */
#include "kernels/cpu/gemm/gemm_nbits.h"
#include "kernels/cpu/simd.inc.h"

enum { PANEL = HN_NBITS_PANEL, DIGITS = HN_NBITS_DIGITS, WORD = PANEL * 4 /* bytes of a vector */ };
enum { WIDE = HN_NBITS_BESIDE, STREAMS = 2, MOST = STREAMS * WIDE };

/* The factor that makes |x| <= most less than 2^22 (a power of two), and 2^22 / that. */
HN_INLINE float scale_of(float most, float *unit) {
  int32_t bits, exponent;
  memcpy(&bits, &most, sizeof bits);
  exponent = (bits >> 23) - 126; /* most < 2^exponent */
  if (exponent < -80) exponent = -80;
  const int32_t up = (22 - exponent + 127) << 23, down = (exponent - 22 + 127) << 23;
  float scale;
  memcpy(&scale, &up, sizeof scale);
  memcpy(unit, &down, sizeof *unit);
  return scale;
}

HN_INLINE vf load_some(const float *x, int64_t left) {
  return left >= HN_LANES ? v_load(x) : left > 0 ? v_load_part(x, left) : v_set(0.0F);
}

/* The largest of a block, as bits: NaN is the most. */
HN_INLINE int32_t largest_of(const float *x, int64_t left, int64_t block) {
  __m512 most = _mm512_setzero_ps();
  for (int64_t i = 0; i < block; i += HN_LANES) {
    const vf v = load_some(x + i, left - i);
    most = _mm512_castsi512_ps(_mm512_max_epu32(vi_of(most), vi_of(_mm512_abs_ps(v))));
  }
  return (int32_t)_mm512_reduce_max_epu32(vi_of(most));
}

/* Sixteen numbers times scale as digits, the lowest first; adds up the digits, four together. */
HN_INLINE void split_digits(vf x, float scale, int64_t lanes, int8_t *to, int64_t step, __m128i *sums) {
  const vi low_byte = vi_set(255), half = vi_set(128);
  const __mmask16 kept = v_lanes_below(lanes);
  vi rest = _mm512_maskz_mov_epi32(kept, _mm512_cvtps_epi32(x * v_set(scale)));
  HN_UNROLL
  for (int d = 0; d < DIGITS; ++d) {
    const vi digit = vi_sub(vi_and(vi_add(rest, half), low_byte), half);
    const __m128i bytes = _mm512_cvtepi32_epi8(digit);
    rest = vi_right(vi_sub(rest, digit), 8);
    sums[d] = _mm_dpbusd_epi32(sums[d], _mm_set1_epi8(1), bytes);
    if (lanes == HN_LANES)
      _mm_storeu_si128((__m128i *)(void *)(to + d * step), bytes);
    else
      _mm_mask_storeu_epi8(to + d * step, kept, bytes);
  }
}

static void digits_of(const hn_gemm_nbits_dots *g, int64_t row, int64_t b) {
  const int64_t rest_of_row = g->k - b * g->block, left = rest_of_row < g->block ? rest_of_row : g->block;
  const int64_t at = row * g->blocks + b;
  const float *x = g->x + row * g->k + b * g->block;
  int8_t *to = g->digits + at * DIGITS * g->block;
  int32_t *digit_sums = g->digit_sums + at * DIGITS;
  const int32_t top = largest_of(x, left, g->block);
  if (top >= 0x7f800000) { /* not finite */
    g->units[at] = __builtin_nanf("");
    memset(to, 0, (size_t)(DIGITS * g->block));
    memset(digit_sums, 0, DIGITS * sizeof *digit_sums);
    return;
  }
  float largest;
  memcpy(&largest, &top, sizeof largest);
  const float scale = scale_of(largest, &g->units[at]);
  __m128i sums[DIGITS] = {_mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128()};
  for (int64_t i = 0; i < g->block; i += HN_LANES) {
    const int64_t lanes = g->block - i < HN_LANES ? g->block - i : HN_LANES;
    split_digits(load_some(x + i, left - i), scale, lanes, to + i, g->block, sums);
  }
  const __m128i pairs = _mm_hadd_epi32(sums[0], sums[1]), last = _mm_hadd_epi32(sums[2], _mm_setzero_si128());
  const __m128i times = _mm_set1_epi32(g->packs_zeros ? 1 : -g->zero);
  const __m128i all = _mm_mullo_epi32(_mm_hadd_epi32(pairs, last), times);
  _mm_storel_epi64((__m128i *)(void *)digit_sums, all);
  digit_sums[2] = _mm_extract_epi32(all, 2);
}

void HN_SIMD_NAME(hn_gemm_nbits_digits)(const hn_gemm_nbits_dots *g, int64_t begin, int64_t end) {
  enum { LINE = 64, LINES = 8 }; /* of a place for each block: as fast as memory gives them */
  int64_t line = 0;
  for (int64_t row = begin; row < end; ++row)
    for (int64_t b = 0; b < g->blocks; ++b) {
      for (int i = 0; i < LINES && line < g->fetched_lines; ++i, ++line) {
        _mm_prefetch(g->fetched[0] + line * LINE, _MM_HINT_T1);
        _mm_prefetch(g->fetched[1] + line * LINE, _MM_HINT_T1);
      }
      digits_of(g, row, b);
    }
}

/* sum + w . the four digits in each lane of x. As text: compilers keep copies of sums beside them. */
HN_INLINE vi dot(vi sum, vi w, vi x) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(w), "v"(x));
  return sum;
}

HN_INLINE vi spread(const int8_t *x) {
  int32_t four;
  memcpy(&four, x, sizeof four);
  return vi_set(four);
}

HN_INLINE void dots(const vi *w, const int8_t *x, int64_t row_step, int64_t block, const int wide, const int rows,
                    vi (*sums)[HN_NBITS_DOT_ROWS][DIGITS]) {
  HN_UNROLL
  for (int r = 0; r < rows; ++r) {
    HN_UNROLL
    for (int d = 0; d < DIGITS; ++d) {
      const vi four = spread(x + r * row_step + d * block);
      HN_UNROLL
      for (int p = 0; p < wide; ++p) sums[p][r][d] = dot(sums[p][r][d], w[p], four);
    }
  }
}

/* What the sums of a block begin with: less the zeros, which lie one panel's after the other's. */
HN_INLINE void start(const hn_gemm_nbits_dots *g, const char *zeros, int64_t at, const int wide, const int rows,
                     vi (*sums)[HN_NBITS_DOT_ROWS][DIGITS]) {
  HN_UNROLL
  for (int r = 0; r < rows; ++r) {
    HN_UNROLL
    for (int d = 0; d < DIGITS; ++d) {
      const vi sum = vi_set(g->digit_sums[(at + r * g->blocks) * DIGITS + d]);
      HN_UNROLL
      for (int p = 0; p < wide; ++p) {
        sums[p][r][d] = sum;
        if (g->packs_zeros)
          sums[p][r][d] =
              _mm512_mullo_epi32(vi_sub(vi_set(0), vi_load((const int32_t *)(const void *)(zeros + p * WORD))), sum);
      }
    }
  }
}

/* The sums of digits together. fits: in 32 bits, so that no multiplier is needed, which the products keep busy. */
HN_INLINE vf whole(const vi *digits, const int fits) {
  if (fits) return vf_from(vi_add(vi_left(vi_add(vi_left(digits[2], 8), digits[1]), 8), digits[0]));
  const vf lower = v_fma(vf_from(digits[1]), v_set(256.0F), vf_from(digits[0]));
  return v_fma(vf_from(digits[2]), v_set(65536.0F), lower);
}

/* Panels whose weights lie in one or two places: memory gives more where two are read in turns. */
typedef struct places {
  int64_t panel[STREAMS];
  const char *packed[STREAMS]; /* of the current block */
} places;

/* One block of some panels' channels, 16 each, for some rows. */
HN_INLINE void add_block(const hn_gemm_nbits_dots *g, const places *of, int64_t row, int64_t b, const int streams,
                         const int wide, const int rows, const int bits, const int fits, const int asks,
                         vf (*total)[HN_NBITS_DOT_ROWS]) {
  const int64_t at = row * g->blocks + b, row_step = g->blocks * DIGITS * g->block;
  const int8_t *x = g->digits + at * DIGITS * g->block;
  const int64_t to_words = (g->packs_zeros ? 2 : 1) * wide * WORD;
  const vi nibbles = vi_set(0x0f0f0f0f);
  vi sums[MOST][HN_NBITS_DOT_ROWS][DIGITS], word[MOST], half[MOST];
  HN_UNROLL
  for (int s = 0; s < streams; ++s) start(g, of->packed[s] + wide * WORD, at, wide, rows, sums + s * wide);
  for (int64_t i = 0, offset = to_words; i < g->block; i += 32 / bits, offset += wide * WORD) {
    HN_UNROLL
    for (int p = 0; p < streams * wide; ++p) {
      const char *words = of->packed[p / wide] + offset + p % wide * WORD;
      if (asks) _mm_prefetch(words + g->ahead, _MM_HINT_T0);
      word[p] = vi_load((const int32_t *)(const void *)words);
    }
    if (bits != 4) {
      dots(word, x + i, row_step, g->block, streams * wide, rows, sums);
      continue;
    }
    HN_UNROLL
    for (int p = 0; p < streams * wide; ++p) half[p] = vi_and(word[p], nibbles);
    dots(half, x + i, row_step, g->block, streams * wide, rows, sums);
    HN_UNROLL
    for (int p = 0; p < streams * wide; ++p) half[p] = vi_and(vi_right(word[p], 4), nibbles);
    dots(half, x + i + 4, row_step, g->block, streams * wide, rows, sums);
  }
  HN_UNROLL
  for (int p = 0; p < streams * wide; ++p) {
    const vf scale = v_load((const float *)(const void *)(of->packed[p / wide] + p % wide * WORD));
    HN_UNROLL
    for (int r = 0; r < rows; ++r) {
      total[p][r] = v_fma(whole(sums[p][r], fits), scale * v_set(g->units[at + r * g->blocks]), total[p][r]);
    }
  }
}

HN_INLINE void panel_rows(const hn_gemm_nbits_dots *g, places of, int64_t row, const int streams, const int wide,
                          const int rows, const int bits, const int fits, const int asks) {
  const int64_t bytes = hn_gemm_nbits_block_bytes(g);
  vf total[MOST][HN_NBITS_DOT_ROWS];
  HN_UNROLL
  for (int s = 0; s < streams; ++s) of.packed[s] = g->packed + of.panel[s] * g->blocks * bytes;
  HN_UNROLL
  for (int p = 0; p < streams * wide; ++p) {
    const vf begin = g->bias ? v_load(g->bias + (of.panel[p / wide] + p % wide) * PANEL) : v_set(0.0F);
    HN_UNROLL
    for (int r = 0; r < rows; ++r) total[p][r] = begin;
  }
  for (int64_t b = 0; b < g->blocks; ++b) {
    add_block(g, &of, row, b, streams, wide, rows, bits, fits, asks, total);
    HN_UNROLL
    for (int s = 0; s < streams; ++s) of.packed[s] += wide * bytes;
  }
  HN_UNROLL
  for (int p = 0; p < streams * wide; ++p) {
    const int64_t channel = (of.panel[p / wide] + p % wide) * PANEL, left = g->n - channel;
    HN_UNROLL
    for (int r = 0; r < rows; ++r) {
      float *y = g->y + (row + r) * g->n + channel;
      if (left >= PANEL)
        v_store(y, total[p][r]);
      else
        v_store_part(y, left, total[p][r]);
    }
  }
}

/* Weights stay in the caches for all rows. */
HN_INLINE void all_rows(const hn_gemm_nbits_dots *g, int64_t panel, const int wide, const int bits, const int fits,
                        const int asks) {
  const places of = {.panel = {panel}};
  int64_t row = 0;
  for (; g->m - row >= HN_NBITS_DOT_ROWS; row += HN_NBITS_DOT_ROWS)
    panel_rows(g, of, row, 1, wide, HN_NBITS_DOT_ROWS, bits, fits, asks);
  for (; row < g->m; ++row) panel_rows(g, of, row, 1, wide, 1, bits, fits, asks);
}

/* Of one row the first half of the pairs go beside the second. */
HN_INLINE void panels(const hn_gemm_nbits_dots *g, int64_t begin, int64_t end, const int bits, const int fits,
                      const int asks) {
  const int64_t count = hn_gemm_nbits_dots_panels(g), beside = hn_gemm_nbits_beside(g, begin, end);
  for (int64_t unit = begin; unit < begin + beside; ++unit)
    panel_rows(g, (places){.panel = {unit * WIDE, (unit + beside) * WIDE}}, 0, STREAMS, WIDE, 1, bits, fits, asks);
  for (int64_t unit = begin + STREAMS * beside; unit < end; ++unit) {
    if (count - unit * WIDE >= WIDE)
      all_rows(g, unit * WIDE, WIDE, bits, fits, asks);
    else
      all_rows(g, unit * WIDE, 1, bits, fits, asks);
  }
}

HN_INLINE void products(const hn_gemm_nbits_dots *g, int64_t begin, int64_t end, const int asks) {
  if (g->bits == 4 && g->block <= 32) /* weights and zeros below 16 by 2^22, 32 of them: below 2^31 */
    panels(g, begin, end, 4, 1, asks);
  else if (g->bits == 4)
    panels(g, begin, end, 4, 0, asks);
  else
    panels(g, begin, end, 8, 0, asks);
}

void HN_SIMD_NAME(hn_gemm_nbits_dots)(const hn_gemm_nbits_dots *g, int64_t begin, int64_t end) {
  if (g->ahead)
    products(g, begin, end, 1);
  else
    products(g, begin, end, 0);
}
