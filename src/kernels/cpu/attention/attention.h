/* SPDX-License-Identifier: Apache-2.0 */
/* attention.h - softmax(q k^T * scale + mask) v for each head, without the scores ever leaving the caches.
 *
 *   q  batch x heads x q_len rows of size floats; k: batch x heads / group x kv_len rows of size floats; v: the same
 *      with v_size floats; y: as q with v_size floats. Rows are dense, everything above them has its own step, so that
 *      [batch, length, heads * size], [batch, heads, length, size] and one tensor with q, k and v beside each other
 *      are all read where they lie.
 *   mask  added to the scaled scores; its columns are dense, its steps may be 0
 *
 * A row whose scores are all -infinity gives zeros. Keys come in blocks with a running maximum and sum (Milakov and
 * Gimelshein, arXiv:1805.02867; Dao et al., arXiv:2205.14135), so that any length runs in the same scratch; up to
 * HN_ATTENTION_KEYS they are one block. The block does not depend on the range of a call: results do not either.
 *
 * Work units: a call does units [begin, end) of batch x heads x row chunks. Units of one head next to each other share
 * its packed keys and values. Each call needs its own scratch. */
#ifndef HN_KERNELS_CPU_ATTENTION_H
#define HN_KERNELS_CPU_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

#define HN_ATTENTION_KEYS INT64_C(512)

/* Floats from one batch, head, or row to the next. */
typedef struct hn_attention_steps {
  int64_t batch, head, row;
} hn_attention_steps;

typedef struct hn_attention_f32 {
  int64_t batch, heads, group; /* query heads, and how many of them share a key head */
  int64_t q_len, kv_len, size, v_size;
  const float *q, *k, *v;
  const float *mask; /* or NULL */
  float *y;
  hn_attention_steps q_step, k_step, v_step, y_step, mask_step;
  float scale;
  int32_t is_causal; /* query i sees keys 0 .. i only */
  int64_t row_chunk; /* query rows of a unit */
} hn_attention_f32;

static inline int64_t hn_attention_f32_units(const hn_attention_f32 *a) {
  return a->batch * a->heads * ((a->q_len + a->row_chunk - 1) / a->row_chunk);
}
/* Floats of scratch for a call, for every instruction set. */
int64_t hn_attention_f32_scratch_floats(const hn_attention_f32 *attention);

typedef void hn_attention_f32_fn(const hn_attention_f32 *attention, int64_t begin, int64_t end, float *scratch);
hn_attention_f32_fn hn_attention_f32_avx512, hn_attention_f32_avx2, hn_attention_f32_c;

#endif
