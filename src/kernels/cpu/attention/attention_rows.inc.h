/* SPDX-License-Identifier: Apache-2.0 */
/* attention_rows.inc.h - what the attention kernels share: which keys a row sees, its mask, vectors with a last part,
 * and transposed squares. */
#ifndef HN_KERNELS_CPU_ATTENTION_ROWS_INC_H
#define HN_KERNELS_CPU_ATTENTION_ROWS_INC_H

#include "kernels/cpu/attention/attention.h"
#include "kernels/cpu/vecmath.inc.h"

HN_INLINE int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }
HN_INLINE int64_t panels_of(int64_t n) { return (n + HN_LANES - 1) / HN_LANES; }

HN_INLINE float largest_lane(vf v) {
#if HN_LANES == 16
  return _mm512_reduce_max_ps(v);
#else
  float lane[HN_LANES], top;
  v_store(lane, v);
  top = lane[0];
  for (int i = 1; i < HN_LANES; ++i) top = lane[i] > top ? lane[i] : top;
  return top;
#endif
}

HN_INLINE float sum_of_lanes(vf v) {
#if HN_LANES == 16
  return _mm512_reduce_add_ps(v);
#else
  float lane[HN_LANES];
  v_store(lane, v);
  for (int width = HN_LANES / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) lane[i] += lane[i + width];
  return lane[0];
#endif
}

/* Lanes [0, n) of x, the others get `otherwise`. */
HN_INLINE vf keep_lanes(vf x, int64_t n, float otherwise) { return v_select(vm_below(n), x, v_set(otherwise)); }

/* Lanes [0, n) get `otherwise`; any n. */
HN_INLINE vf drop_lanes(vf x, int64_t n, float otherwise) {
  return v_select(vm_below(lesser(n, HN_LANES)), v_set(otherwise), x);
}

/* n floats at p and zeros behind them. */
HN_INLINE vf load_lanes(const float *p, int64_t n) {
  if (n >= HN_LANES) return v_load(p);
#if HN_LANES == 16
  return _mm512_maskz_loadu_ps((__mmask16)((1U << n) - 1), p);
#else
  float lane[HN_LANES] = {0};
  for (int64_t i = 0; i < n; ++i) lane[i] = p[i];
  return v_load(lane);
#endif
}

HN_INLINE void store_lanes(float *p, int64_t n, vf x) {
  if (n >= HN_LANES) {
    v_store(p, x);
    return;
  }
#if HN_LANES == 16
  _mm512_mask_storeu_ps(p, (__mmask16)((1U << n) - 1), x);
#else
  float lane[HN_LANES];
  v_store(lane, x);
  for (int64_t i = 0; i < n; ++i) p[i] = lane[i];
#endif
}

/* Keys [low, high) of a block. */
typedef struct span {
  int64_t low, high;
} span;

HN_INLINE vf infinite(void) { return v_set(-__builtin_inff()); }

/* The scores of n lanes with their mask, n at least 1; bools are bytes. A masked score counts for nothing, be it NaN.
 */
HN_INLINE vf add_mask(vf x, const void *mask, int is_bool, int64_t j, int64_t n) {
  if (!is_bool) {
    const vf m = load_lanes((const float *)mask + j, n);
    return v_select(v_eq(m, infinite()), m, x + m);
  }
  const uint8_t *at = (const uint8_t *)mask + j;
#if HN_LANES == 16
  const __m128i seen = _mm_maskz_loadu_epi8((__mmask16)(n >= HN_LANES ? 0xffff : (1U << n) - 1), at);
  return _mm512_mask_blend_ps(_mm_test_epi8_mask(seen, seen), infinite(), x);
#else
  typedef uint8_t bytes __attribute__((vector_size(HN_LANES)));
  bytes seen = {0};
  if (n >= HN_LANES)
    memcpy(&seen, at, HN_LANES);
  else
    for (int64_t i = 0; i < n; ++i) seen[i] = at[i];
  int32_t wide[HN_LANES];
  for (int i = 0; i < HN_LANES; ++i) wide[i] = seen[i];
  return v_select(v_ne(vf_from(vi_load(wide)), v_set(0.0f)), x, infinite());
#endif
}

/* The largest of one row's scores, keys [low, high) of the block; what is before low becomes -infinity. The mask is
 * added to them on the way. */
HN_INLINE float mask_row(float *scores, int64_t stride, span s, const void *mask, int is_bool) {
  vf most = infinite();
  for (int64_t j = 0; j < s.high; j += HN_LANES, scores += stride) {
    vf x = v_load(scores);
    if (mask) x = add_mask(x, mask, is_bool, j, s.high - j);
    if (s.high - j < HN_LANES) x = keep_lanes(x, s.high - j, -__builtin_inff()); /* behind the last key */
    if (j < s.low) x = drop_lanes(x, s.low - j, -__builtin_inff());
    if (mask || s.high - j < HN_LANES || j < s.low) v_store(scores, x);
    most = v_max(most, x);
  }
  return largest_lane(most);
}

HN_OUTLINE void cap_row(float *scores, int64_t stride, int64_t n, float cap) {
  const float narrow = 1.0f / cap;
  for (int64_t j = 0; j < n; j += HN_LANES, scores += stride)
    v_store(scores, v_tanh_fast(v_load(scores) * narrow) * cap);
}

/* A square of HN_LANES x HN_LANES floats turned: log2(HN_LANES) rounds, each of which interleaves row i with row
 * i + HN_LANES / 2. */
#if HN_LANES == 16
#define HN_LOWER(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HN_UPPER(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
enum { ROUNDS = 4 };
#elif HN_LANES == 8
#define HN_LOWER(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HN_UPPER(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
enum { ROUNDS = 3 };
#else
#define HN_LOWER(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HN_UPPER(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
enum { ROUNDS = 2 };
#endif
HN_INLINE void turn_square(const float *from, int64_t step, float *to) {
  vf row[HN_LANES], next[HN_LANES];
  HN_UNROLL
  for (int i = 0; i < HN_LANES; ++i) row[i] = v_load(from + i * step);
  HN_UNROLL
  for (int round = 0; round < ROUNDS; ++round) {
    HN_UNROLL
    for (int i = 0; i < HN_LANES / 2; ++i) {
      next[2 * i] = HN_LOWER(row[i], row[i + HN_LANES / 2]);
      next[2 * i + 1] = HN_UPPER(row[i], row[i + HN_LANES / 2]);
    }
    HN_UNROLL
    for (int i = 0; i < HN_LANES; ++i) row[i] = next[i];
  }
  HN_UNROLL
  for (int i = 0; i < HN_LANES; ++i) v_store(to + i * HN_LANES, row[i]);
}

/* Keys that query i of batch b may see. */
HN_INLINE span seen_by(const hn_attention_f32 *a, int64_t b, int64_t i) {
  const int64_t far = INT64_C(1) << 40; /* lengths come from outside */
  int64_t low = 0, high = a->mask_columns ? a->mask_columns : a->kv_len, place = a->past_place + i;
  if (a->lengths) {
    const int64_t length = a->lengths[b] > far ? far : a->lengths[b] < -far ? -far : a->lengths[b];
    high = lesser(high, length);
    if (a->ends_at_length) place = length - a->q_len + i;
  }
  if (a->is_causal) high = lesser(high, place + 1);
  if (a->right_seen) high = lesser(high, place + a->right_seen);
  if (a->left_seen) low = place - a->left_seen + 1;
  high = high < 0 ? 0 : lesser(high, a->kv_len);
  return (span){low < 0 ? 0 : lesser(low, high), high};
}

/* The same of a block's keys, counted from its first. */
HN_INLINE span seen_in(const hn_attention_f32 *a, int64_t b, int64_t i, int64_t first, int64_t count) {
  const span s = seen_by(a, b, i);
  const int64_t low = s.low - first, high = s.high - first;
  return (span){low < 0 ? 0 : lesser(low, count), high < 0 ? 0 : lesser(high, count)};
}

/* Blocks do not cross from the past to the new keys. */
HN_INLINE int64_t block_keys(const hn_attention_f32 *a, int64_t first) {
  return lesser(HN_ATTENTION_KEYS, (first < a->past_len ? a->past_len : a->kv_len) - first);
}

/* What `rows` rows from query i on see of a block together. */
HN_INLINE span seen_by_rows(const hn_attention_f32 *a, int64_t b, int64_t i, int64_t rows, int64_t first,
                            int64_t count) {
  return (span){seen_in(a, b, i, first, count).low, seen_in(a, b, i + rows - 1, first, count).high};
}

/* Where a row's mask begins for a block of keys. */
HN_INLINE const void *mask_at(const hn_attention_f32 *a, int64_t b, int64_t h, int64_t i, int64_t first) {
  if (!a->mask) return NULL;
  const int64_t gap = first < a->past_len ? 0 : a->mask_gap;
  const int64_t at = b * a->mask_step.batch + h * a->mask_step.head + i * a->mask_step.row + first + gap;
  return a->mask_is_bool ? (const void *)((const uint8_t *)a->mask + at) : (const void *)((const float *)a->mask + at);
}

#endif
