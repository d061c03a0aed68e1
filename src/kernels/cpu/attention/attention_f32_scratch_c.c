/* SPDX-License-Identifier: Apache-2.0 */
/* attention_f32_scratch_c.c - how much scratch attention needs: extents rounded up for the widest vectors. */
#include "kernels/cpu/attention/attention.h"

static int64_t up(int64_t n) { return (n + 15) / 16 * 16; }

int64_t hn_attention_f32_scratch_floats(const hn_attention_f32 *a) {
  enum { MOST_ROWS = 14 };
  const int64_t keys = up(a->kv_len < HN_ATTENTION_KEYS ? a->kv_len : HN_ATTENTION_KEYS);
  const int64_t size = up(a->size), v_size = up(a->v_size), rows = up(a->row_chunk);
  if (a->head_chunk > 0) /* queries, scores, sums, and each row's maximum and weight */
    return up(a->head_chunk * a->q_len) * (size + HN_ATTENTION_KEYS + 16 + v_size + 2);
  return keys * (size + v_size)      /* packed keys and values */
         + MOST_ROWS * (size + keys) /* a tile of queries and its scores */
         + rows * (v_size + 2);      /* sums, and each row's maximum and weight */
}
