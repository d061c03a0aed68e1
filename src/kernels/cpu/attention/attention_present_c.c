/* SPDX-License-Identifier: Apache-2.0 */
/* attention_present_c.c - the old keys and values of a cache and the new ones, one behind the other. */
#include "kernels/cpu/attention/attention.h"
#include <string.h>

static void join(const float *past, int64_t past_len, const float *fresh, int64_t step, int64_t fresh_len, int64_t size,
                 float *to) {
  const size_t row_bytes = (size_t)size * sizeof(float);
  if (past_len > 0) memcpy(to, past, (size_t)past_len * row_bytes);
  to += past_len * size;
  if (step == size)
    memcpy(to, fresh, (size_t)fresh_len * row_bytes);
  else
    for (int64_t i = 0; i < fresh_len; ++i) memcpy(to + i * size, fresh + i * step, row_bytes);
}

void hn_attention_present_c(const hn_attention_f32 *a, int64_t begin, int64_t end) {
  const int64_t heads = a->heads / a->group, fresh = a->kv_len - a->past_len;
  for (int64_t at = begin; at < end; ++at) {
    const int64_t b = at / heads, h = at % heads, past = at * a->past_len;
    if (a->present_k)
      join(a->past_k ? a->past_k + past * a->size : NULL, a->past_len, a->k + b * a->k_step.batch + h * a->k_step.head,
           a->k_step.row, fresh, a->size, a->present_k + at * a->kv_len * a->size);
    if (a->present_v)
      join(a->past_v ? a->past_v + past * a->v_size : NULL, a->past_len,
           a->v + b * a->v_step.batch + h * a->v_step.head, a->v_step.row, fresh, a->v_size,
           a->present_v + at * a->kv_len * a->v_size);
  }
}
