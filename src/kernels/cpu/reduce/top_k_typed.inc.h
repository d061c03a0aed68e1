/* SPDX-License-Identifier: Apache-2.0 */
/* top_k_typed.inc.h - the k best of rows of one type. Before: TOP_K_NUMBER, the type; TOP_K_TYPE, how it ends a name;
 * TOP_K_ENTRY, what is sorted. */
#define ENTRY TOP_K_ENTRY
#define NAME(name) PASTE(name, TOP_K_TYPE)

static ENTRY NAME(entry)(const TOP_K_NUMBER *x, int64_t at, int64_t step, bool largest) {
  return PASTE(ENTRY, _of)(NAME(rank)(x[at * step], largest), at);
}

static void NAME(sort_few)(ENTRY *e, int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    const ENTRY one = e[i];
    int64_t to = i;
    for (; to > 0 && PASTE(ENTRY, _before)(one, e[to - 1]); --to) e[to] = e[to - 1];
    e[to] = one;
  }
}

/* Which of three places has the middle one. */
static int64_t NAME(middle_of)(const ENTRY *e, int64_t a, int64_t b, int64_t c) {
  const bool falls = PASTE(ENTRY, _before)(e[b], e[a]);
  const int64_t first = falls ? b : a, second = falls ? a : b;
  if (PASTE(ENTRY, _before)(e[second], e[c])) return second;
  return PASTE(ENTRY, _before)(e[first], e[c]) ? c : first;
}

/* Where the middle one of three goes when what comes before it is brought in front of it. It takes no branch by what it
 * compares (Lomuto's scheme with the step as a number). */
static int64_t NAME(part)(ENTRY *e, int64_t begin, int64_t end, uint64_t *seed) {
  const int64_t a = any_place(seed, begin, end), b = any_place(seed, begin, end), c = any_place(seed, begin, end);
  const int64_t pivot = NAME(middle_of)(e, a, b, c);
  const ENTRY middle = e[pivot];
  int64_t to = begin;
  e[pivot] = e[end - 1];
  for (int64_t i = begin; i < end - 1; ++i) {
    const ENTRY one = e[i];
    e[i] = e[to];
    e[to] = one;
    to += PASTE(ENTRY, _before)(one, middle);
  }
  e[end - 1] = e[to];
  e[to] = middle;
  return to;
}

/* Brings the `best` best of `count` to the front, the worst of them last. */
static void NAME(select)(ENTRY *e, int64_t count, int64_t best, uint64_t *seed) {
  int64_t begin = 0, end = count;
  while (end - begin > FEW) {
    const int64_t at = NAME(part)(e, begin, end, seed);
    if (at == best - 1) return;
    if (at >= best)
      end = at;
    else
      begin = at + 1;
  }
  NAME(sort_few)(e + begin, end - begin);
}

static void NAME(sort)(ENTRY *e, int64_t count, uint64_t *seed) {
  while (count > FEW) { /* the shorter part by a call: there are no more than 64 at a time */
    const int64_t at = NAME(part)(e, 0, count, seed), behind = count - at - 1;
    NAME(sort)(at < behind ? e : e + at + 1, at < behind ? at : behind, seed);
    if (at < behind) e += at + 1;
    count = at < behind ? behind : at;
  }
  NAME(sort_few)(e, count);
}

/* The first place from `from` on whose entry comes before `bound`, which is of an earlier place. */
static inline int64_t NAME(next)(const hn_top_k_args *a, const TOP_K_NUMBER *x, int64_t from, ENTRY bound) {
  if (a->inner == 1) return a->better(x, from, a->axis, PASTE(ENTRY, _at)(bound), a->largest);
  while (from < a->axis && !PASTE(ENTRY, _before)(NAME(entry)(x, from, a->inner, a->largest), bound)) ++from;
  return from;
}

static void NAME(best_few)(const hn_top_k_args *a, const TOP_K_NUMBER *x, ENTRY *e) {
  NAME(sort_few)(e, a->k);
  for (int64_t i = a->k; (i = NAME(next)(a, x, i, e[a->k - 1])) < a->axis; ++i) {
    const ENTRY one = NAME(entry)(x, i, a->inner, a->largest);
    int64_t to = a->k - 1;
    for (; to > 0 && PASTE(ENTRY, _before)(one, e[to - 1]); --to) e[to] = e[to - 1];
    e[to] = one;
  }
}

static void NAME(best_many)(const hn_top_k_args *a, const TOP_K_NUMBER *x, ENTRY *e, int64_t room) {
  uint64_t seed = 1;
  int64_t count = room, i = room;
  while (i < a->axis) {
    NAME(select)(e, count, a->k, &seed);
    count = a->k;
    for (const ENTRY bound = e[count - 1]; count < room && (i = NAME(next)(a, x, i, bound)) < a->axis; ++i)
      e[count++] = NAME(entry)(x, i, a->inner, a->largest);
  }
  if (a->k < count) NAME(select)(e, count, a->k, &seed);
  NAME(sort)(e, a->k, &seed);
}

static void NAME(top_k_row)(const hn_top_k_args *a, ENTRY *e, int64_t row) {
  const int64_t outer = row / a->inner, column = row - outer * a->inner;
  const int64_t room = a->k <= FEW ? a->k : hn_top_k_kept(a->axis, a->k);
  const TOP_K_NUMBER *x = (const TOP_K_NUMBER *)a->x + outer * a->axis * a->inner + column;
  for (int64_t i = 0; i < room; ++i) e[i] = NAME(entry)(x, i, a->inner, a->largest);
  if (a->k <= FEW)
    NAME(best_few)(a, x, e);
  else
    NAME(best_many)(a, x, e, room);
  for (int64_t j = 0; j < a->k; ++j) {
    const int64_t at = PASTE(ENTRY, _at)(e[j]), to = (outer * a->k + j) * a->inner + column;
    ((TOP_K_NUMBER *)a->values)[to] = x[at * a->inner];
    if (a->indices) a->indices[to] = at;
  }
}

void PASTE(PASTE(hn_top_k, TOP_K_TYPE), _c)(const hn_top_k_args *args, void *scratch, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) NAME(top_k_row)(args, scratch, row);
}
#undef ENTRY
#undef NAME
#undef TOP_K_NUMBER
#undef TOP_K_ENTRY
#undef TOP_K_TYPE
