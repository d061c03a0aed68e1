/* SPDX-License-Identifier: Apache-2.0 */
/* tree_f32.c - a block of rows goes down one tree after the other: the upper nodes of a tree stay in the caches while
 * all rows of the block pass them, and with gathers the rows go down side by side. */
/* isa: c avx512 */
#include "kernels/cpu/tree/tree.h"
#include "kernels/cpu/simd.inc.h"

/* Which way a row takes at a node: 0 where the comparison holds. */
HN_INLINE int way_of(const hn_tree_args *a, const float *row, int32_t at) {
  const float x = row[a->features[at]], split = a->splits[at];
  if (x != x) return !(a->modes[at] & HN_TREE_TRACKS_TRUE);
  return a->is_strict ? !(x < split) : !(x <= split);
}

HN_INLINE void go_down(const hn_tree_args *a, int32_t root, int64_t first, int count, int32_t *leaves) {
  for (int r = 0; r < count; ++r) {
    const float *row = a->x + (first + r) * a->feature_count;
    int32_t at = root;
    while (at >= 0) at = a->ways[2 * (int64_t)at + way_of(a, row, at)];
    leaves[r] = ~at;
  }
}

#ifdef HN_SIMD_AVX512
/* Offsets of rows and twice the nodes must fit 32 bits, which plan has asked. */
HN_INLINE void go_down_together(const hn_tree_args *a, int32_t root, int64_t first, int32_t *leaves) {
  const float *rows = a->x + first * a->feature_count;
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i base = _mm512_mullo_epi32(lane, _mm512_set1_epi32((int)a->feature_count));
  __m512i at = _mm512_set1_epi32(root);
  for (__mmask16 on = root >= 0 ? 0xffff : 0; on; on = _mm512_cmpge_epi32_mask(at, _mm512_setzero_si512())) {
    const __m512i feature = _mm512_mask_i32gather_epi32(at, on, at, a->features, 4);
    const __m512 x = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), on, _mm512_add_epi32(base, feature), rows, 4);
    const __m512 split = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), on, at, a->splits, 4);
    __mmask16 no = a->is_strict ? _mm512_cmp_ps_mask(x, split, _CMP_NLT_UQ) : _mm512_cmp_ps_mask(x, split, _CMP_NLE_UQ);
    for (unsigned missing = _mm512_mask_cmp_ps_mask(on, x, x, _CMP_UNORD_Q); missing; missing &= missing - 1) {
      const int r = __builtin_ctz(missing);
      int32_t nodes[16];
      _mm512_storeu_si512(nodes, at);
      if (a->modes[nodes[r]] & HN_TREE_TRACKS_TRUE) no = (__mmask16)(no & ~(1u << r));
    }
    const __m512i twice = _mm512_slli_epi32(at, 1), to = _mm512_mask_add_epi32(twice, no, twice, _mm512_set1_epi32(1));
    at = _mm512_mask_i32gather_epi32(at, on, to, a->ways, 4);
  }
  _mm512_storeu_si512(leaves, _mm512_xor_si512(at, _mm512_set1_epi32(-1)));
}
#endif

HN_INLINE void add_leaves(const hn_tree_args *a, int64_t first, int count, const int32_t *leaves) {
  for (int r = 0; r < count; ++r) {
    float *y = a->y + (first + r) * a->target_count;
    if (a->is_single) {
      *y += a->weights[leaves[r]];
      continue;
    }
    for (int32_t k = a->starts[leaves[r]]; k < a->starts[leaves[r] + 1]; ++k) y[a->targets[k]] += a->weights[k];
  }
}

void HN_SIMD_NAME(hn_tree_f32)(const hn_tree_args *args, int64_t first, int64_t last) {
  const hn_tree_args *a = args;
  int32_t leaves[HN_TREE_ROWS];
  for (int64_t i = first * a->target_count; i < last * a->target_count; ++i) a->y[i] = 0;
  for (int64_t t = 0; t < a->root_count; ++t)
    for (int64_t row = first; row < last; row += HN_TREE_ROWS) {
      const int count = last - row < HN_TREE_ROWS ? (int)(last - row) : HN_TREE_ROWS;
#ifdef HN_SIMD_AVX512
      if (count == HN_TREE_ROWS) {
        go_down_together(a, a->roots[t], row, leaves);
        add_leaves(a, row, count, leaves);
        continue;
      }
#endif
      go_down(a, a->roots[t], row, count, leaves);
      add_leaves(a, row, count, leaves);
    }
  if (a->scale == 1) return;
  for (int64_t i = first * a->target_count; i < last * a->target_count; ++i) a->y[i] *= a->scale;
}
