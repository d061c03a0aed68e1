/* SPDX-License-Identifier: Apache-2.0 */
/* rotary.h - pairs of features turned by an angle that depends on the row (Su et al., arXiv:2104.09864). */
#ifndef HN_KERNELS_CPU_ROTARY_H
#define HN_KERNELS_CPU_ROTARY_H

#include <stdint.h>

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
