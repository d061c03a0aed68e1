/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.c - the body: two parts at a time, each pixel one permutation a part. */
/* isa: c avx2 avx512 */
/* held: f32 bf16 */
#include "kernels/cpu/copy/copy.h"
#include "kernels/cpu/held.inc.h"

#if defined(HN_SIMD_AVX512) && HN_HELD_IS_REAL
#define LANES 16
typedef struct {
  __m512i from;
  __mmask16 mask;
} picker;
HN_INLINE picker picker_of(const hn_lanes_part *part) {
  const __m512i from = _mm512_loadu_si512((const void *)part->from);
  return (picker){from, _mm512_cmpge_epi32_mask(from, _mm512_setzero_si512())};
}
HN_INLINE vf pick(vf old, picker p, const float *x) {
  return _mm512_mask_permutexvar_ps(old, p.mask, p.from, v_load(x));
}
HN_INLINE vf start(const float *y) { return y ? v_load(y) : v_set(0.0F); }
HN_INLINE void finish(float *y, vf v) { v_store(y, v); }
typedef vf lanes;
#elif defined(HN_SIMD_AVX512)
#define LANES 32
typedef struct {
  __m512i from;
  __mmask32 mask;
} picker;
typedef __m512i lanes;
HN_INLINE picker picker_of(const hn_lanes_part *part) {
  const __m256i low = _mm512_cvtepi32_epi16(_mm512_loadu_si512((const void *)part->from));
  const __m256i high = _mm512_cvtepi32_epi16(_mm512_loadu_si512((const void *)(part->from + 16)));
  const __m512i from = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  return (picker){from, ~_mm512_movepi16_mask(from)};
}
HN_INLINE lanes pick(lanes old, picker p, const held *x) {
  return _mm512_mask_permutexvar_epi16(old, p.mask, p.from, _mm512_loadu_si512((const void *)x));
}
HN_INLINE lanes start(const held *y) { return y ? _mm512_loadu_si512((const void *)y) : _mm512_setzero_si512(); }
HN_INLINE void finish(held *y, lanes v) { _mm512_storeu_si512((void *)y, v); }
#elif defined(HN_SIMD_AVX2) && HN_HELD_IS_REAL
#define LANES 8
typedef struct {
  __m256i from;
} picker;
HN_INLINE picker picker_of(const hn_lanes_part *part) { return (picker){_mm256_loadu_si256((const void *)part->from)}; }
/* blendv looks at the sign: set for -1. */
HN_INLINE vf pick(vf old, picker p, const float *x) {
  return _mm256_blendv_ps(_mm256_permutevar8x32_ps(v_load(x), p.from), old, _mm256_castsi256_ps(p.from));
}
HN_INLINE vf start(const float *y) { return y ? v_load(y) : v_set(0.0F); }
HN_INLINE void finish(float *y, vf v) { v_store(y, v); }
typedef vf lanes;
#else
#define LANES HN_HELD_BLOCK
typedef struct {
  const int32_t *from;
} picker;
typedef struct {
  held lane[LANES];
} lanes;
HN_INLINE picker picker_of(const hn_lanes_part *part) { return (picker){part->from}; }
HN_INLINE lanes pick(lanes old, picker p, const held *x) {
  for (int i = 0; i < LANES; ++i)
    if (p.from[i] >= 0) old.lane[i] = x[p.from[i]];
  return old;
}
HN_INLINE lanes start(const held *y) {
  lanes l = {{0}};
  if (y) memcpy(l.lane, y, sizeof l.lane);
  return l;
}
HN_INLINE void finish(held *y, lanes l) { memcpy(y, l.lane, sizeof l.lane); }
#endif

/* The place in its tensor of a unit's first pixel. */
HN_INLINE int64_t place(const hn_lanes_args *a, int64_t image, int64_t blocks, int64_t block, int64_t pixel) {
  return ((image * blocks + block) * a->pixels + pixel) * LANES;
}

void HN_HELD_NAME(hn_lanes)(const hn_lanes_args *a, int64_t begin, int64_t end) {
  const int64_t chunks = (a->pixels + a->chunk - 1) / a->chunk;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t pixel = unit / a->block_count % chunks * a->chunk, image = unit / a->block_count / chunks;
    const int64_t count = a->pixels - pixel < a->chunk ? a->pixels - pixel : a->chunk;
    const hn_lanes_block *b = &a->blocks[unit % a->block_count];
    held *y = (held *)a->y[b->output] + place(a, image, a->out_blocks[b->output], b->block, pixel);
    for (int64_t i = 0; i < b->count; i += 2) {
      const hn_lanes_part *p = &b->parts[i], *q = i + 1 < b->count ? p + 1 : p;
      const held *x = (const held *)a->x[p->input] + place(a, image, a->in_blocks[p->input], p->block, pixel);
      const held *z = (const held *)a->x[q->input] + place(a, image, a->in_blocks[q->input], q->block, pixel);
      if (b->is_whole) {
        memcpy(y, x, (size_t)(count * LANES) * sizeof *y);
        break;
      }
      const picker first = picker_of(p), second = picker_of(q);
      for (int64_t at = 0; at < count * LANES; at += LANES)
        finish(y + at, pick(pick(start(i ? y + at : NULL), first, x + at), second, z + at));
    }
  }
}
