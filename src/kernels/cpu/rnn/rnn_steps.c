/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_steps.c - the steps' body. A row alone sums even and odd k apart, because its few sums in one
 * chain each would wait for the FMA's latency; several rows share every weight that is loaded.
 * What is held in another type here are the weights: a step reads all of them and each once, so that its time is their
 * bytes'. Halves become floats as they are loaded, 16 bits of a line at a time. Of bf16 a line holds two k of a gate's
 * units beside each other; vectors of floats take them apart with one instruction each, while AVX512_BF16 multiplies
 * the pairs with pairs of the state that it rounds. */
/* isa: c avx2 avx512 avx512_bf16 */
/* held: f32 bf16 f16 */
#include "kernels/cpu/held.inc.h"
#if !HN_HELD_IS_REAL
#define HN_RNN_IS_ROUNDED
#endif
#include "kernels/cpu/rnn/rnn_step_cells.inc.h"

#if defined(HN_HELD_BF16) || !defined(__AVX512BF16__) /* in f32 and f16 that is AVX-512 again */

enum { MOST_ROWS = HN_LANES == 16 ? 4 : 2, MOST_GATES = 4, MOST_SUMS = 16, CHAINS_ALONE = 8 };
#if defined(HN_HELD_BF16)
enum { IN_PAIRS = 1 };
#else
enum { IN_PAIRS = 0 };
#endif

/* The chains of each sum become one. */
HN_INLINE void join(const vf *acc, const int count, const int apart, vf *sums) {
  HN_UNROLL
  for (int i = 0; i < count; ++i) {
    sums[i] = acc[i];
    HN_UNROLL
    for (int u = 1; u < apart; ++u) sums[i] += acc[u * count + i];
  }
}

#if !defined(HN_HELD_BF16)
/* sums[row * gates + gate] = a[row] times the tile's weights; `apart` chains a sum. Counts are constants. */
HN_INLINE void dot(const held *w, const float *a, int64_t n, const int rows, const int gates, const int apart,
                   vf *sums) {
  vf acc[MOST_SUMS];
  HN_UNROLL
  for (int i = 0; i < rows * gates * apart; ++i) acc[i] = v_set(0.0F);
  int64_t k = 0;
  for (; k + apart <= n; k += apart, w += apart * gates * HN_LANES) {
    HN_UNROLL
    for (int u = 0; u < apart; ++u) {
      HN_UNROLL
      for (int gate = 0; gate < gates; ++gate) {
        const vf weight = h_load(w + (u * gates + gate) * HN_LANES);
        HN_UNROLL
        for (int row = 0; row < rows; ++row) acc[(u * rows + row) * gates + gate] += v_set(a[row * n + k + u]) * weight;
      }
    }
  }
  for (; k < n; ++k, w += gates * HN_LANES) {
    HN_UNROLL
    for (int gate = 0; gate < gates; ++gate) {
      const vf weight = h_load(w + gate * HN_LANES);
      HN_UNROLL
      for (int row = 0; row < rows; ++row) acc[row * gates + gate] += v_set(a[row * n + k]) * weight;
    }
  }
  join(acc, rows * gates, apart, sums);
}
#elif defined(__AVX512BF16__)
enum { CHUNK = 256 /* of k, whose pairs stay in the first cache */ };

HN_INLINE void round_pairs(const float *a, int64_t n, uint16_t *to) {
  int64_t k = 0;
  for (; k + HN_LANES <= n; k += HN_LANES) v_store_bf16(to + k, v_load(a + k));
  if (k < n) v_store_bf16(to + k, v_load_part(a + k, n - k));
}
HN_INLINE __m512bh pair_of(const uint16_t *a) {
  uint32_t word;
  memcpy(&word, a, sizeof word);
  return (__m512bh)_mm512_set1_epi32((int)word);
}
HN_INLINE __m512bh pairs_of(const held *w) { return (__m512bh)_mm512_loadu_si512(w); }

/* As below; pairs of the state are rounded to bf16. */
HN_INLINE void dot(const held *w, const float *a, int64_t n, const int rows, const int gates, const int apart,
                   vf *sums) {
  _Alignas(64) uint16_t pairs[MOST_ROWS][CHUNK + HN_LANES];
  vf acc[MOST_SUMS];
  HN_UNROLL
  for (int i = 0; i < rows * gates * apart; ++i) acc[i] = v_set(0.0F);
  for (int64_t first = 0; first < n; first += CHUNK) {
    const int64_t count = n - first < CHUNK ? n - first : CHUNK;
    for (int row = 0; row < rows; ++row) round_pairs(a + row * n + first, count, pairs[row]);
    int64_t k = 0;
    for (; k + 2 * apart <= count; k += 2 * apart, w += 2 * apart * gates * HN_LANES) {
      HN_UNROLL
      for (int u = 0; u < apart; ++u) {
        HN_UNROLL
        for (int gate = 0; gate < gates; ++gate) {
          const __m512bh weights = pairs_of(w + (u * gates + gate) * 2 * HN_LANES);
          HN_UNROLL
          for (int row = 0; row < rows; ++row) {
            vf *sum = &acc[(u * rows + row) * gates + gate];
            *sum = _mm512_dpbf16_ps(*sum, weights, pair_of(&pairs[row][k + 2 * u]));
          }
        }
      }
    }
    for (; k < count; k += 2, w += 2 * gates * HN_LANES) {
      HN_UNROLL
      for (int gate = 0; gate < gates; ++gate) {
        const __m512bh weights = pairs_of(w + gate * 2 * HN_LANES);
        HN_UNROLL
        for (int row = 0; row < rows; ++row)
          acc[row * gates + gate] = _mm512_dpbf16_ps(acc[row * gates + gate], weights, pair_of(&pairs[row][k]));
      }
    }
  }
  join(acc, rows * gates, apart, sums);
}
#else
/* Even and odd of 2 * HN_LANES elements that lie in pairs. */
#if defined(HN_SIMD_AVX512)
HN_INLINE vf even_of(const held *w) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(w), 16)); }
HN_INLINE vf odd_of(const held *w) {
  return _mm512_castsi512_ps(_mm512_and_si512(_mm512_loadu_si512(w), _mm512_set1_epi32((int)0xffff0000U)));
}
#elif defined(HN_SIMD_AVX2)
HN_INLINE __m256i words_of(const held *w) { return _mm256_loadu_si256((const __m256i *)(const void *)w); }
HN_INLINE vf even_of(const held *w) { return _mm256_castsi256_ps(_mm256_slli_epi32(words_of(w), 16)); }
HN_INLINE vf odd_of(const held *w) {
  return _mm256_castsi256_ps(_mm256_and_si256(words_of(w), _mm256_set1_epi32((int)0xffff0000U)));
}
#else
HN_INLINE vf even_of(const held *w) {
  return (vf){bf16_to_f32(w[0]), bf16_to_f32(w[2]), bf16_to_f32(w[4]), bf16_to_f32(w[6])};
}
HN_INLINE vf odd_of(const held *w) { return even_of(w + 1); }
#endif

/* As for f32, by pairs of k: two chains of a sum that is apart. */
HN_INLINE void dot(const held *w, const float *a, int64_t n, const int rows, const int gates, const int apart,
                   vf *sums) {
  const int pairs = apart > 1 ? apart / 2 : 1, odd_chain = apart > 1 ? 1 : 0;
  vf acc[MOST_SUMS];
  HN_UNROLL
  for (int i = 0; i < rows * gates * apart; ++i) acc[i] = v_set(0.0F);
  int64_t k = 0;
  for (; k + 2 * pairs <= n; k += 2 * pairs, w += 2 * pairs * gates * HN_LANES) {
    HN_UNROLL
    for (int u = 0; u < pairs; ++u) {
      HN_UNROLL
      for (int gate = 0; gate < gates; ++gate) {
        const vf even = even_of(w + (u * gates + gate) * 2 * HN_LANES);
        const vf odd = odd_of(w + (u * gates + gate) * 2 * HN_LANES);
        HN_UNROLL
        for (int row = 0; row < rows; ++row) {
          const float *at = a + row * n + k + 2 * u;
          acc[(2 * u * rows + row) * gates + gate] += v_set(at[0]) * even;
          acc[((2 * u + odd_chain) * rows + row) * gates + gate] += v_set(at[1]) * odd;
        }
      }
    }
  }
  for (; k < n; k += 2, w += 2 * gates * HN_LANES) {
    HN_UNROLL
    for (int gate = 0; gate < gates; ++gate) {
      const vf even = even_of(w + gate * 2 * HN_LANES), odd = odd_of(w + gate * 2 * HN_LANES);
      HN_UNROLL
      for (int row = 0; row < rows; ++row) {
        acc[row * gates + gate] += v_set(a[row * n + k]) * even;
        if (k + 1 < n) acc[row * gates + gate] += v_set(a[row * n + k + 1]) * odd;
      }
    }
  }
  join(acc, rows * gates, apart, sums);
}
#endif

HN_INLINE void tile_rows(const hn_rnn_step *s, const held *w, unit_row *u, const int rows, const int gates,
                         void (*cell)(const unit_row *)) {
  vf sums[MOST_SUMS];
  const int apart = rows == 1 ? CHAINS_ALONE / gates : 1;
  dot(w, s->h_prev + u->row * s->hidden, s->hidden, rows, gates, apart, sums);
  HN_UNROLL
  for (int row = 0; row < rows; ++row, ++u->row) {
    u->sums = sums + row * gates;
    cell(u);
  }
}

HN_INLINE void run(const hn_rnn_step *s, int64_t begin, int64_t end, const int gates, void (*cell)(const unit_row *)) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t tile = s->from_the_back ? begin + end - 1 - i : i, at = tile * HN_LANES;
    const int64_t depth = IN_PAIRS ? (s->hidden + 1) / 2 * 2 : s->hidden;
    const held *w = (const held *)s->packed + tile * HN_LANES * gates * depth;
    unit_row u = {.s = s, .at = at, .lanes = s->hidden - at < HN_LANES ? s->hidden - at : HN_LANES};
    while (u.row + MOST_ROWS <= s->rows) tile_rows(s, w, &u, MOST_ROWS, gates, cell);
    while (MOST_ROWS > 2 && u.row + 2 <= s->rows) tile_rows(s, w, &u, 2, gates, cell);
    while (u.row < s->rows) tile_rows(s, w, &u, 1, gates, cell);
  }
}

void HN_HELD_NAME(hn_lstm_step)(const hn_rnn_step *s, int64_t begin, int64_t end) { run(s, begin, end, 4, lstm_cell); }
void HN_HELD_NAME(hn_gru_step)(const hn_rnn_step *s, int64_t begin, int64_t end) { run(s, begin, end, 3, gru_cell); }
void HN_HELD_NAME(hn_gru_gates_step)(const hn_rnn_step *s, int64_t begin, int64_t end) {
  run(s, begin, end, 2, gru_gates_cell);
}
void HN_HELD_NAME(hn_gru_output_step)(const hn_rnn_step *s, int64_t begin, int64_t end) {
  run(s, begin, end, 1, gru_output_cell);
}
void HN_HELD_NAME(hn_plain_step)(const hn_rnn_step *s, int64_t begin, int64_t end) {
  run(s, begin, end, 1, plain_cell);
}

#endif
