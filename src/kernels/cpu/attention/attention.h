/* SPDX-License-Identifier: Apache-2.0 */
/* attention.h - softmax(q k^T * scale + mask) v for each head, without the scores ever leaving the caches.
 *
 *   q  batch x heads x q_len rows of size floats; k: batch x heads / group x kv_len rows of size floats; v: the same
 *      with v_size floats; y: as q with v_size floats. Rows are dense, everything above them has its own step, so that
 *      [batch, length, heads * size], [batch, heads, length, size] and one tensor with q, k and v beside each other
 *      are all read where they lie.
 *   past_k, past_v  keys and values before those of k and v: past_len rows of a head's past_rows, all heads dense
 *   mask  added to the scaled scores, or bools that say which keys are seen; its columns are dense, its steps may be 0;
 *      keys behind its last column are not seen. The columns of new keys begin mask_gap behind those of the old ones
 *
 * A row that sees no key gives zeros. Keys come in blocks with a running maximum and sum (Milakov and
 * Gimelshein, arXiv:1805.02867; Dao et al., arXiv:2205.14135), so that any length runs in the same scratch; up to
 * HN_ATTENTION_KEYS they are one block. The block does not depend on the range of a call: results do not either.
 *
 * Work units: a call does units [begin, end) of batch x heads x row chunks. Units of one head next to each other share
 * its packed keys and values. Each call needs its own scratch.
 *
 * Few rows (head_chunk > 0; decoding): packing would cost more than it saves. A unit is then head_chunk of the query
 * heads of one key head, with all of their rows, and reads keys and values as they lie, once for four rows. */
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
  const void *mask; /* float or bool; or NULL */
  float *y;
  hn_attention_steps q_step, k_step, v_step, y_step, mask_step;
  float scale;
  int32_t is_causal; /* a query sees keys up to its own place only */
  int64_t row_chunk; /* query rows of a unit */

  /* With all of these 0 and NULL: query i is at place i, every key is new, nothing else is hidden. */
  float softcap;                 /* > 0: scores become softcap * tanh(score / softcap), before the mask */
  int32_t mask_is_bool;          /* one byte an element */
  int64_t mask_columns;          /* 0: kv_len */
  int64_t left_seen, right_seen; /* 0: all; else keys left and right of a query's place that it sees, + 1 */
  int64_t past_len, past_place;  /* of the kv_len keys; the place of query 0 */
  int64_t past_rows, mask_gap;
  const float *past_k, *past_v; /* or NULL */
  const int64_t *lengths;       /* or NULL: how many keys each batch sees */
  int32_t ends_at_length;       /* the last query is at place lengths[batch] - 1, whatever past_place says */
  float *present_k, *present_v; /* or NULL: where all keys and values go, kv_len rows a head; the past's own memory: the
                                   new ones go behind its rows */
  int32_t x_is_bf16, y_is_bf16; /* hn_attention_bf16 alone: what q, k and v, and y, point to */
  int64_t head_chunk;           /* > 0: few rows; heads of a unit, which divide group or are the last */
} hn_attention_f32;

static inline int64_t hn_attention_f32_units(const hn_attention_f32 *a) {
  if (a->head_chunk > 0) return a->batch * (a->heads / a->group) * ((a->group + a->head_chunk - 1) / a->head_chunk);
  return a->batch * a->heads * ((a->q_len + a->row_chunk - 1) / a->row_chunk);
}
/* Floats of scratch for a call, for every instruction set. */
int64_t hn_attention_f32_scratch_floats(const hn_attention_f32 *attention);

typedef void hn_attention_f32_fn(const hn_attention_f32 *attention, int64_t begin, int64_t end, float *scratch);
/* Copies keys and values of [begin, end) of batch x key heads to present_k and present_v. Units of few rows do it
 * themselves. */
void hn_attention_present_c(const hn_attention_f32 *attention, int64_t begin, int64_t end);

hn_attention_f32_fn hn_attention_f32_avx512, hn_attention_f32_avx2, hn_attention_f32_c;

/* The same with products of bf16 and f32 sums; not for few rows. Caches are f32. */
hn_attention_f32_fn hn_attention_bf16_c, hn_attention_bf16_amx_bf16;
int64_t hn_attention_bf16_scratch_floats(const hn_attention_f32 *attention);

/* ---- pairs of features turned by an angle that depends on the row (Su et al., arXiv:2104.09864) ---- */
/* Row r has `size` floats, of which the first 2 * half are turned. Its angles are row `places[at]` of cos and sin, or
 * row `at` where places is NULL, with at = r / outer * inner + (r / across) % inner: the batch and place of the row. */
typedef struct {
  const float *x, *cos, *sin; /* cos, sin: rows of `half` floats */
  float *y;                   /* not x */
  const int64_t *places;
  int64_t size, half, outer, inner, across;
  int32_t is_interleaved; /* pairs lie next to each other, not half apart */
} hn_rotary_args;

typedef void hn_rotary_f32_fn(const hn_rotary_args *args, int64_t begin, int64_t end);
hn_rotary_f32_fn hn_rotary_f32_avx512, hn_rotary_f32_avx2, hn_rotary_f32_c;

#endif
