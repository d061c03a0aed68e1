/* SPDX-License-Identifier: Apache-2.0 */
/* cumulate_typed.inc.h - running sums of one type. Before: CUMULATE_NUMBER, what is read and stored; CUMULATE_SUM, what
 * it is summed in; CUMULATE_NAME, the function. */

#define CUMULATE_PART(part) HN_SIMD_PASTE(CUMULATE_NAME, part)

/* A column alone. */
HN_INLINE void CUMULATE_PART(_row)(const hn_cumulate_args *a, const CUMULATE_NUMBER *x, CUMULATE_NUMBER *y) {
  CUMULATE_SUM sum = 0;
  for (int64_t i = 0; i < a->axis; ++i) {
    const int64_t at = (a->reverse ? a->axis - 1 - i : i) * a->inner;
    const CUMULATE_SUM before = sum;
    sum += (CUMULATE_SUM)x[at];
    y[at] = (CUMULATE_NUMBER)(a->exclusive ? before : sum);
  }
}

/* Columns side by side, in vectors of the compiler's. */
HN_INLINE void CUMULATE_PART(_columns)(const hn_cumulate_args *a, const CUMULATE_NUMBER *from, CUMULATE_NUMBER *to) {
  typedef CUMULATE_NUMBER numbers __attribute__((vector_size(GROUP * sizeof(CUMULATE_NUMBER))));
  typedef CUMULATE_SUM sums __attribute__((vector_size(GROUP * sizeof(CUMULATE_SUM))));
  sums sum[COLUMNS / GROUP] = {{0}};
  for (int64_t i = 0; i < a->axis; ++i) {
    const int64_t at = (a->reverse ? a->axis - 1 - i : i) * a->inner;
    for (int g = 0; g < COLUMNS / GROUP; ++g) {
      numbers x;
      memcpy(&x, from + at + g * GROUP, sizeof x);
      const sums before = sum[g];
      sum[g] += __builtin_convertvector(x, sums);
      x = __builtin_convertvector(a->exclusive ? before : sum[g], numbers);
      memcpy(to + at + g * GROUP, &x, sizeof x);
    }
  }
}

void HN_SIMD_NAME(CUMULATE_NAME)(const hn_cumulate_args *a, int64_t begin, int64_t end) {
  for (int64_t row = begin, count; row < end; row += count) {
    const int64_t outer = row / a->inner, column = row - outer * a->inner;
    const int64_t left = a->inner - column < end - row ? a->inner - column : end - row;
    const CUMULATE_NUMBER *x = (const CUMULATE_NUMBER *)a->x + outer * a->axis * a->inner + column;
    CUMULATE_NUMBER *y = (CUMULATE_NUMBER *)a->y + outer * a->axis * a->inner + column;
    count = left < COLUMNS ? 1 : COLUMNS;
    if (count == COLUMNS)
      CUMULATE_PART(_columns)(a, x, y);
    else
      CUMULATE_PART(_row)(a, x, y);
  }
}

#undef CUMULATE_PART
#undef CUMULATE_NUMBER
#undef CUMULATE_SUM
#undef CUMULATE_NAME
