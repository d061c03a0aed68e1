/* SPDX-License-Identifier: Apache-2.0 */
/* arg_ints_typed.inc.h - the places of extremes of integers of one type. Before: ARG_NUMBER, the type; ARG_NAME(name),
 * what a function of it is called. */

/* Whether x, which comes behind `best`, takes its place. */
HN_INLINE bool ARG_NAME(takes)(ARG_NUMBER x, ARG_NUMBER best, bool largest, bool last) {
  if (last) return largest ? x >= best : x <= best;
  return largest ? x > best : x < best;
}

/* The extreme of a block is a fold without places; the block that had it is looked through once. */
HN_INLINE int64_t ARG_NAME(best_of_row)(const ARG_NUMBER *x, int64_t axis, bool largest, bool last) {
  ARG_NUMBER best = x[0];
  int64_t block = 0, i = 0;
  for (; axis - i >= BLOCK; i += BLOCK) {
    ARG_NUMBER most = x[i];
    for (int64_t j = 0; j < BLOCK; ++j) {
      const ARG_NUMBER next = x[i + j];
      most = (largest ? next > most : next < most) ? next : most;
    }
    if (ARG_NAME(takes)(most, best, largest, last)) best = most, block = i;
  }
  int64_t where = -1;
  for (; i < axis; ++i)
    if (ARG_NAME(takes)(x[i], best, largest, last)) best = x[i], where = i;
  if (where >= 0) return where;
  if (last) {
    for (where = (axis - block < BLOCK ? axis : block + BLOCK) - 1; x[where] != best;) --where;
  } else {
    for (where = block; x[where] != best;) ++where;
  }
  return where;
}

/* Places have the width of what is compared, so that a mask of the one selects among the other. */
HN_INLINE void ARG_NAME(best_of_columns)(const hn_arg_args *a, const ARG_NUMBER *x, int64_t *y, int64_t columns,
                                         bool largest, bool last) {
  ARG_NUMBER best[COLUMNS], at[COLUMNS];
  for (int64_t c = 0; c < columns; ++c) best[c] = x[c], at[c] = 0;
  for (int64_t i = 1; i < a->axis; ++i) {
    const ARG_NUMBER *from = x + i * a->inner;
    for (int64_t c = 0; c < columns; ++c) {
      const bool takes = ARG_NAME(takes)(from[c], best[c], largest, last);
      best[c] = takes ? from[c] : best[c];
      at[c] = takes ? (ARG_NUMBER)i : at[c];
    }
  }
  for (int64_t c = 0; c < columns; ++c) y[c] = at[c];
}

HN_INLINE void ARG_NAME(best_of_rows)(const hn_arg_args *a, int64_t begin, int64_t end, bool largest, bool last) {
  const ARG_NUMBER *all = a->x;
  for (int64_t row = begin, count = 1; row < end; row += count) {
    if (a->inner == 1) {
      a->y[row] = ARG_NAME(best_of_row)(all + row * a->axis, a->axis, largest, last);
      continue;
    }
    const int64_t outer = row / a->inner, column = row - outer * a->inner;
    const ARG_NUMBER *x = all + outer * a->axis * a->inner + column;
    count = a->inner - column < end - row ? a->inner - column : end - row;
    if (count >= COLUMNS)
      ARG_NAME(best_of_columns)(a, x, a->y + row, count = COLUMNS, largest, last);
    else
      ARG_NAME(best_of_columns)(a, x, a->y + row, count, largest, last);
  }
}

void ARG_NAME(hn_arg)(const hn_arg_args *args, int64_t begin, int64_t end) {
  if (args->largest && !args->last)
    ARG_NAME(best_of_rows)(args, begin, end, true, false);
  else if (args->largest)
    ARG_NAME(best_of_rows)(args, begin, end, true, true);
  else if (!args->last)
    ARG_NAME(best_of_rows)(args, begin, end, false, false);
  else
    ARG_NAME(best_of_rows)(args, begin, end, false, true);
}

/* The first of a vector of elements is looked for only where one of them is better. */
HN_INLINE int64_t ARG_NAME(first_better)(const ARG_NUMBER *x, int64_t begin, int64_t end, ARG_NUMBER bound,
                                         bool largest) {
  typedef ARG_NUMBER numbers __attribute__((vector_size(LOOK_BYTES)));
  enum { LOOK = LOOK_BYTES / sizeof(ARG_NUMBER), WORDS = LOOK_BYTES / sizeof(uint64_t) };
  int64_t i = begin;
  for (; end - i >= LOOK; i += LOOK) {
    numbers next;
    memcpy(&next, x + i, sizeof next);
    const numbers is_better = largest ? next > bound : next < bound;
    uint64_t word[WORDS], some = 0;
    memcpy(word, &is_better, sizeof word);
    HN_UNROLL
    for (int w = 0; w < WORDS; ++w) some |= word[w];
    if (some) break;
  }
  for (; i < end; ++i)
    if (largest ? x[i] > bound : x[i] < bound) return i;
  return end;
}

int64_t ARG_NAME(hn_better)(const void *x, int64_t begin, int64_t end, int64_t than, bool largest) {
  const ARG_NUMBER bound = ((const ARG_NUMBER *)x)[than];
  return largest ? ARG_NAME(first_better)(x, begin, end, bound, true)
                 : ARG_NAME(first_better)(x, begin, end, bound, false);
}
#undef ARG_NUMBER
#undef ARG_NAME
