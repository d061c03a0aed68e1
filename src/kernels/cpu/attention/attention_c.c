/* SPDX-License-Identifier: Apache-2.0 */
/* attention_c.c - the old keys and values of a cache and the new ones, one behind the other; and how much scratch
 * attention needs, with extents rounded up for the widest vectors. */
#include "kernels/cpu/attention/attention.h"
#include <string.h>

/* Old rows, then new ones; the old ones may be there already. */
static void join(const float *past, int64_t past_len, const float *fresh, int64_t step, int64_t fresh_len, int64_t size,
                 float *to) {
  const size_t row_bytes = (size_t)size * sizeof(float);
  if (past_len > 0 && past != to) memcpy(to, past, (size_t)past_len * row_bytes);
  to += past_len * size;
  if (step == size)
    memcpy(to, fresh, (size_t)fresh_len * row_bytes);
  else
    for (int64_t i = 0; i < fresh_len; ++i) memcpy(to + i * size, fresh + i * step, row_bytes);
}

static void join_head(const hn_attention_f32 *a, int64_t at, const float *past, const float *fresh,
                      hn_attention_steps steps, int64_t size, float *present) {
  const int64_t heads = a->heads / a->group, b = at / heads, h = at % heads;
  const int64_t rows = present == past ? a->past_rows : a->kv_len;
  join(past ? past + at * a->past_rows * size : NULL, a->past_len, fresh + b * steps.batch + h * steps.head, steps.row,
       a->kv_len - a->past_len, size, present + at * rows * size);
}

void hn_attention_present_c(const hn_attention_f32 *a, int64_t begin, int64_t end) {
  for (int64_t at = begin; at < end; ++at) {
    if (a->present_k) join_head(a, at, a->past_k, a->k, a->k_step, a->size, a->present_k);
    if (a->present_v) join_head(a, at, a->past_v, a->v, a->v_step, a->v_size, a->present_v);
  }
}

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

int64_t hn_attention_bf16_scratch_floats(const hn_attention_f32 *a) {
  enum { DEPTH = 32 };
  const int64_t block = a->kv_len < HN_ATTENTION_KEYS ? a->kv_len : HN_ATTENTION_KEYS;
  const int64_t keys = (block + DEPTH - 1) / DEPTH * DEPTH, rows = (a->row_chunk + DEPTH - 1) / DEPTH * DEPTH;
  const int64_t size = (a->size + DEPTH - 1) / DEPTH * DEPTH, v_size = (a->v_size + DEPTH - 1) / DEPTH * DEPTH;
  return DEPTH * keys + rows * (v_size + 2)             /* scores, sums, maxima and weights */
         + (keys * (size + v_size) + DEPTH * size) / 2; /* bf16: keys, values, queries */
}
