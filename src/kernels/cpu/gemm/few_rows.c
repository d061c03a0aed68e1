/* SPDX-License-Identifier: Apache-2.0 */
/* few_rows.c - eight rows of the right side pass side by side, so that memory sees eight streams; sums lie in the
 * output, of so few columns that they stay in the first cache. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/gemm/few_rows.h"
#include "kernels/cpu/simd.inc.h"

enum { STREAMS = 8, COLUMNS = 1024 };

/* `streams` rows of b from k on, for one vector of columns. */
HN_INLINE void add_vector(const hn_few_rows_args *p, int64_t k, int64_t column, int64_t lanes, int rows, int streams) {
  vf b[STREAMS];
  for (int s = 0; s < streams; ++s) {
    const float *from = p->b + (k + s) * p->n + column;
    b[s] = lanes == HN_LANES ? v_load(from) : v_load_part(from, lanes);
  }
  for (int r = 0; r < rows; ++r) {
    const float *a = p->a + r * p->k + k;
    float *y = p->y + r * p->n + column;
    vf sum = v_set(a[0]) * b[0];
    for (int s = 1; s < streams; ++s) sum = v_fma(v_set(a[s]), b[s], sum);
    if (k > 0) sum = sum + (lanes == HN_LANES ? v_load(y) : v_load_part(y, lanes));
    if (lanes == HN_LANES)
      v_store(y, sum);
    else
      v_store_part(y, lanes, sum);
  }
}

HN_INLINE void multiply(const hn_few_rows_args *p, int64_t first, int64_t last, int rows) {
  for (int64_t begin = first, end; begin < last; begin = end) {
    end = last - begin < COLUMNS ? last : begin + COLUMNS;
    int64_t k = 0;
    for (; p->k - k >= STREAMS; k += STREAMS) {
      int64_t c = begin;
      for (; end - c >= HN_LANES; c += HN_LANES) add_vector(p, k, c, HN_LANES, rows, STREAMS);
      if (c < end) add_vector(p, k, c, end - c, rows, STREAMS);
    }
    for (; k < p->k; ++k) {
      int64_t c = begin;
      for (; end - c >= HN_LANES; c += HN_LANES) add_vector(p, k, c, HN_LANES, rows, 1);
      if (c < end) add_vector(p, k, c, end - c, rows, 1);
    }
  }
}

void HN_SIMD_NAME(hn_few_rows_f32)(const hn_few_rows_args *args, int64_t first, int64_t last) {
  switch (args->m) {
  case 1: multiply(args, first, last, 1); break;
  case 2: multiply(args, first, last, 2); break;
  case 3: multiply(args, first, last, 3); break;
  default: multiply(args, first, last, 4); break;
  }
}
