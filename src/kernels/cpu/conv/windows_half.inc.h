/* SPDX-License-Identifier: Apache-2.0 */
/* windows_half.inc.h - the windows of a plain image. A block of a window is put together in one register, of the runs
 * that reach into it, each loaded from where its first element would fall on the block's. The includer says in which
 * type. */
#ifndef HN_KERNELS_CPU_CONV_WINDOWS_HALF_INC_H
#define HN_KERNELS_CPU_CONV_WINDOWS_HALF_INC_H

#include "kernels/cpu/conv/windows_half.h"
#include "kernels/cpu/held.inc.h"

enum { BLOCK = 32, FEW = 3 /* sources */ };

/* ---- lines ---- */

/* Pixels [at, at + count) of one channel, rounded; zero behind them. */
HN_INLINE void load_run(const hn_windows_half *w, int64_t at, int64_t count, held *to) {
  if (w->x_is_half) {
    if (count < BLOCK) memset(to, 0, BLOCK * sizeof *to);
    memcpy(to, (const held *)w->x + at, (size_t)count * sizeof *to);
    return;
  }
  const float *x = (const float *)w->x + at;
  float some[BLOCK];
  if (count < BLOCK) {
    memset(some, 0, sizeof some);
    memcpy(some, x, (size_t)count * sizeof *some);
    x = some;
  }
  for (int i = 0; i < BLOCK; i += HN_LANES) h_store(to + i, v_load(x + i));
}

/* Pixels beside each other become channels beside each other. */
#if defined(HN_SIMD_AVX512)
HN_INLINE void interleave(held runs[][BLOCK], const int channels, held *to) {
  __m512i run[4];
  HN_UNROLL
  for (int c = 0; c < channels; ++c) { /* in halves, as they were stored */
    const __m256i low = _mm256_loadu_si256((const void *)runs[c]),
                  high = _mm256_loadu_si256((const void *)&runs[c][16]);
    run[c] = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
  const __m512i lane = _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12,
                                        11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  HN_UNROLL
  for (int part = 0; part < channels; ++part) {
    const __m512i at = _mm512_add_epi16(lane, _mm512_set1_epi16((int16_t)(part * BLOCK)));
    const __m512i pixel = _mm512_mulhi_epu16(at, _mm512_set1_epi16((int16_t)(65536 / channels + 1)));
    const __m512i channel = _mm512_sub_epi16(at, _mm512_mullo_epi16(pixel, _mm512_set1_epi16((int16_t)channels)));
    __m512i v = _mm512_permutexvar_epi16(pixel, run[0]);
    HN_UNROLL
    for (int c = 1; c < channels; ++c) {
      const __mmask32 mine = _mm512_cmpeq_epi16_mask(channel, _mm512_set1_epi16((int16_t)c));
      v = _mm512_mask_permutexvar_epi16(v, mine, pixel, run[c]);
    }
    _mm512_storeu_si512((void *)(to + part * BLOCK), v);
  }
}
#else
HN_INLINE void interleave(held runs[][BLOCK], const int channels, held *to) {
  for (int i = 0; i < BLOCK; ++i) {
    HN_UNROLL
    for (int c = 0; c < channels; ++c) to[i * channels + c] = runs[c][i];
  }
}
#endif

/* channels: 0 where they are many. Pixels [begin, end) of a line are the image's from x on. */
HN_INLINE void fill_line(const hn_windows_half *w, int64_t x, int64_t begin, int64_t end, const int channels,
                         held *line) {
  const int64_t plane = w->in_height * w->in_width, all = channels ? channels : w->channels;
  for (int64_t p = begin; p < end; p += BLOCK) {
    const int64_t count = end - p < BLOCK ? end - p : BLOCK;
    held runs[HN_WINDOWS_HALF_CHANNELS][BLOCK], *to = line + p * all;
    for (int64_t c = 0; c < all; ++c) load_run(w, c * plane + x + p - begin, count, runs[c]);
    if (channels == 1)
      memcpy(to, runs[0], sizeof runs[0]);
    else if (channels)
      interleave(runs, channels, to);
    else
      for (int64_t i = 0; i < count * all; ++i) to[i] = runs[i % all][i / all];
  }
}

HN_OUTLINE void make_line(const hn_windows_half *w, int64_t row, held *line) {
  const int64_t pixels = hn_windows_half_line_pixels(w), room = w->in_width + w->pad_left;
  const int64_t end = row < 0 || row >= w->in_height ? 0 : room < pixels ? room : pixels; /* of pixels of the image */
  const int64_t begin = w->pad_left < end ? w->pad_left : end, x = row * w->in_width;
  memset(line, 0, (size_t)(begin * w->channels) * sizeof *line);
  memset(line + end * w->channels, 0, (size_t)(w->line - end * w->channels) * sizeof *line);
  switch (w->channels) { /* a block writes zeros behind the last pixel */
  case 1: fill_line(w, x, begin, end, 1, line); break;
  case 2: fill_line(w, x, begin, end, 2, line); break;
  case 3: fill_line(w, x, begin, end, 3, line); break;
  case 4: fill_line(w, x, begin, end, 4, line); break;
  default: fill_line(w, x, begin, end, 0, line);
  }
}

/* ---- windows ---- */

/* Part of a window that lies in one run and in one depth block. */
typedef struct piece {
  int64_t line, from; /* counted from a window's first line, elements from its first pixel */
  int64_t lane, count;
} piece;

/* All of block `block`. */
HN_INLINE int64_t cut_block(const hn_windows_half *w, int64_t block, piece *pieces) {
  const int64_t columns = w->dilation_width == 1 ? 1 : w->kernel_width, depth = hn_windows_half_depth(w);
  const int64_t run = depth / (w->kernel_height * columns), end = depth - block * BLOCK;
  int64_t count = 0;
  for (int64_t lane = 0; lane < BLOCK && lane < end; lane += pieces[count++].count) {
    const int64_t k = block * BLOCK + lane, at = k / run, in_run = k % run;
    const int64_t left = run - in_run < BLOCK - lane ? run - in_run : BLOCK - lane;
    pieces[count] =
        (piece){at / columns * w->dilation_height, at % columns * w->dilation_width * w->channels + in_run, lane, left};
  }
  return count;
}

#if defined(HN_SIMD_AVX512)
typedef struct source {
  const held *from; /* of what would be the block's first element */
  __mmask32 mine;
} source;
HN_INLINE source source_of(const held *line, const piece *p) {
  return (source){line + p->from - p->lane, (__mmask32)((((uint64_t)1 << p->count) - 1) << p->lane)};
}
/* What a mask leaves out is not read. count: of sources, at most FEW; 0: many. */
HN_INLINE void copy_pixels(const source *s, int64_t many, const int count, int64_t pixels, int64_t step, held *to) {
  source few[FEW]; /* the compiler need not think that a store changes these */
  for (int i = 0; i < count; ++i) few[i] = s[i];
  for (int64_t p = 0; p < pixels; ++p, to += BLOCK) {
    __m512i v = _mm512_setzero_si512();
    HN_UNROLL
    for (int i = 0; i < count; ++i) v = _mm512_mask_loadu_epi16(v, few[i].mine, few[i].from + p * step);
    for (int64_t i = 0; !count && i < many; ++i) v = _mm512_mask_loadu_epi16(v, s[i].mine, s[i].from + p * step);
    _mm512_storeu_si512((void *)to, v);
  }
}
#else
typedef struct source {
  const held *from;
  int64_t lane, count;
} source;
HN_INLINE source source_of(const held *line, const piece *p) { return (source){line + p->from, p->lane, p->count}; }
HN_INLINE void copy_pixels(const source *s, int64_t many, const int count, int64_t pixels, int64_t step, held *to) {
  for (int64_t p = 0; p < pixels; ++p, to += BLOCK) {
    memset(to, 0, BLOCK * sizeof *to);
    for (int64_t i = 0; i < (count ? count : many); ++i)
      memcpy(to + s[i].lane, s[i].from + p * step, (size_t)s[i].count * sizeof *to);
  }
}
#endif

HN_OUTLINE void copy_row(const source *s, int64_t count, int64_t pixels, int64_t step, held *to) {
  switch (count) {
  case 1: copy_pixels(s, count, 1, pixels, step, to); break;
  case 2: copy_pixels(s, count, 2, pixels, step, to); break;
  case 3: copy_pixels(s, count, 3, pixels, step, to); break;
  default: copy_pixels(s, count, 0, pixels, step, to);
  }
}

void HN_HELD_NAME(hn_windows)(const hn_windows_half *w, int64_t begin, int64_t end) {
  const int64_t blocks = (hn_windows_half_depth(w) + BLOCK - 1) / BLOCK, first = begin * w->stride_height;
  held *lines = w->lines + HN_WINDOWS_HALF_MARGIN;
  for (int64_t line = w->made < first ? first : w->made; line < hn_windows_half_made(w, end); ++line)
    make_line(w, line - w->pad_top, lines + line % w->ring * w->line);
  for (int64_t block = 0; block < blocks; ++block) {
    piece pieces[BLOCK];
    source sources[BLOCK];
    const int64_t count = cut_block(w, block, pieces);
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t i = 0; i < count; ++i)
        sources[i] = source_of(lines + (row * w->stride_height + pieces[i].line) % w->ring * w->line, &pieces[i]);
      copy_row(sources, count, w->out_width, w->stride_width * w->channels,
               w->y + block * w->y_block + (row - begin) * w->out_width * BLOCK);
    }
  }
}

#endif
