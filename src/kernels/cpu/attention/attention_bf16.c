/* SPDX-License-Identifier: Apache-2.0 */
/* attention_bf16.c - attention in bf16 with f32 sums, on tiles: queries, keys, values and weights are rounded to bf16;
 * scores, their maximum, exponentials and sums are f32. Tiles are 32 rows of queries; a block of keys and values is
 * packed once for all rows of a unit:
 *   keys    [key / 16][size / 32] tiles of [feature / 2][key][feature % 2]
 *   values  [feature / 16][key / 32] tiles of [key / 2][feature][key % 2] */
/* isa: c amx_bf16 */
#include "kernels/cpu/attention/attention_rows.inc.h"
#include "kernels/cpu/amx.inc.h"

/* 2^r = 1 + r WEIGH1 + r^2 WEIGH2 + r^3 WEIGH3 */
#define WEIGH1 0.69328293F
#define WEIGH2 0.24221096F
#define WEIGH3 0.05500893F

enum {
  HALF = 16,          /* rows of a tile */
  ROWS = 2 * HALF,    /* of a step */
  DEPTH = 32,         /* bf16 of a tile's row */
  TILE = HALF * DEPTH /* bf16 of a tile */
};

/* c[halves * 16 rows][panels * 16] = (or +=) a b. a: rows of a_row elements; b: panels of `depth` tiles. */
typedef struct product {
  const uint16_t *a, *b;
  float *c;
  int64_t a_row, c_row; /* elements */
  int64_t depth, b_panel;
  int adds;
} product;

HN_INLINE void multiply(const product *p, amx_tiles *t, const int halves, const int panels) {
  const int64_t a_bytes = p->a_row * (int64_t)sizeof *p->a, c_bytes = p->c_row * (int64_t)sizeof *p->c;
  const uint16_t *a = p->a, *b = p->b;
  if (p->adds) {
    amx_load(t, 0, p->c, c_bytes);
    if (panels > 1) amx_load(t, 1, p->c + HALF, c_bytes);
    if (halves > 1) amx_load(t, 2, p->c + HALF * p->c_row, c_bytes);
    if (halves > 1 && panels > 1) amx_load(t, 3, p->c + HALF * p->c_row + HALF, c_bytes);
  } else {
    amx_zero(t, 0);
    if (panels > 1) amx_zero(t, 1);
    if (halves > 1) amx_zero(t, 2);
    if (halves > 1 && panels > 1) amx_zero(t, 3);
  }
  for (int64_t d = 0; d < p->depth; ++d, a += DEPTH, b += TILE) {
    amx_load(t, 4, a, a_bytes);
    amx_load(t, 6, b, AMX_ROW_BYTES);
    amx_dot_bf16(t, 0, 4, 6);
    if (panels > 1) {
      amx_load(t, 7, b + p->b_panel, AMX_ROW_BYTES);
      amx_dot_bf16(t, 1, 4, 7);
    }
    if (halves > 1) {
      amx_load(t, 5, a + HALF * p->a_row, a_bytes);
      amx_dot_bf16(t, 2, 5, 6);
      if (panels > 1) amx_dot_bf16(t, 3, 5, 7);
    }
  }
  amx_store(t, 0, p->c, c_bytes);
  if (panels > 1) amx_store(t, 1, p->c + HALF, c_bytes);
  if (halves > 1) amx_store(t, 2, p->c + HALF * p->c_row, c_bytes);
  if (halves > 1 && panels > 1) amx_store(t, 3, p->c + HALF * p->c_row + HALF, c_bytes);
}

HN_OUTLINE void multiply_1_1(const product *p, amx_tiles *t) { multiply(p, t, 1, 1); }
HN_OUTLINE void multiply_1_2(const product *p, amx_tiles *t) { multiply(p, t, 1, 2); }
HN_OUTLINE void multiply_2_1(const product *p, amx_tiles *t) { multiply(p, t, 2, 1); }
HN_OUTLINE void multiply_2_2(const product *p, amx_tiles *t) { multiply(p, t, 2, 2); }

static void run_product(product p, amx_tiles *t, int halves, int64_t panels) {
  for (; panels > 0; panels -= 2, p.b += 2 * p.b_panel, p.c += 2 * HALF) {
    if (panels > 1)
      (halves > 1 ? multiply_2_2 : multiply_1_2)(&p, t);
    else
      (halves > 1 ? multiply_2_1 : multiply_1_1)(&p, t);
  }
}

HN_INLINE int64_t tiles_of(int64_t n, int64_t each) { return (n + each - 1) / each; }

/* n elements at p, rounded, and zeros behind them, to 32. */
HN_INLINE void round_some(const void *p, int is_bf16, int64_t n, uint16_t *to) {
  if (is_bf16 && n >= DEPTH) {
    memcpy(to, p, DEPTH * sizeof *to);
  } else if (is_bf16) {
    memset(to, 0, DEPTH * sizeof *to);
    memcpy(to, p, (size_t)n * sizeof *to);
  } else {
    for (int64_t i = 0; i < DEPTH; i += HN_LANES)
      v_store_bf16(to + i, i < n ? load_lanes((const float *)p + i, n - i) : v_set(0.0F));
  }
}

/* Rows of q, k, v: elements of one type, `step` of them apart. */
typedef struct source {
  const char *rows;
  int64_t step;
  int is_bf16;
} source;

HN_INLINE const void *element_of(const source *s, int64_t row, int64_t at) {
  return s->rows + (row * s->step + at) * (s->is_bf16 ? (int64_t)sizeof(uint16_t) : (int64_t)sizeof(float));
}

/* 16 rows of 16 words, `step` words apart, turned. */
HN_INLINE void turn_words(const uint16_t *from, int64_t step, uint16_t *to) {
#if HN_LANES == 16
  turn_square((const float *)(const void *)from, step, (float *)(void *)to);
#else
  for (int i = 0; i < HALF; ++i)
    for (int j = 0; j < HALF; ++j) memcpy(to + (j * HALF + i) * 2, from + (i * step + j) * 2, 2 * sizeof *to);
#endif
}

static void pack_keys(source s, int64_t keys, int64_t size, uint16_t *to) {
  _Alignas(64) uint16_t rows[TILE];
  for (int64_t j = 0; j < keys; j += HALF)
    for (int64_t p = 0; p < size; p += DEPTH, to += TILE) {
      if (s.is_bf16 && s.step % 2 == 0 && keys - j >= HALF && size - p >= DEPTH) {
        turn_words(element_of(&s, j, p), s.step / 2, to);
        continue;
      }
      if (keys - j < HALF) memset(rows, 0, sizeof rows);
      for (int64_t i = 0; i < HALF && j + i < keys; ++i)
        round_some(element_of(&s, j + i, p), s.is_bf16, size - p, rows + i * DEPTH);
      turn_words(rows, HALF, to);
    }
}

/* 16 elements of two rows beside each other. */
HN_INLINE void pair_rows(const uint16_t *even, const uint16_t *odd, uint16_t *to) {
#if HN_LANES == 16
  const __m512i low = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)even));
  const __m512i high = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)odd));
  _mm512_storeu_si512(to, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
#else
  for (int64_t i = 0; i < HALF; ++i) to[2 * i] = even[i], to[2 * i + 1] = odd[i];
#endif
}

static void pack_pair(source s, int64_t j, int64_t keys, int64_t size, int64_t panel, uint16_t *to) {
  if (s.is_bf16 && j + 1 < keys && size % HALF == 0) {
    const uint16_t *even = element_of(&s, j, 0), *odd = even + s.step;
    for (int64_t p = 0; p < size; p += HALF, to += panel) pair_rows(even + p, odd + p, to);
    return;
  }
  for (int64_t p = 0; p < size; p += DEPTH, to += 2 * panel) {
    uint16_t pair[2][DEPTH] = {{0}};
    for (int64_t i = 0; i < 2 && j + i < keys; ++i) round_some(element_of(&s, j + i, p), s.is_bf16, size - p, pair[i]);
    pair_rows(pair[0], pair[1], to);
    if (size - p > HALF) pair_rows(pair[0] + HALF, pair[1] + HALF, to + panel);
  }
}

static void pack_values(source s, int64_t keys, int64_t size, uint16_t *to) {
  const int64_t blocks = tiles_of(keys, DEPTH);
  for (int64_t j = 0; j < blocks * DEPTH; j += 2, to += DEPTH) pack_pair(s, j, keys, size, blocks * TILE, to);
}

/* 2^(d * f) for d <= 0 as far as bf16 sees it: the polynomial is a minimax fit of 2^r on |r| <= 1/2, exact at 0, within
 * 1.1e-4. `least` times f is so low that the power is 0. */
HN_INLINE vf weigh(vf d, vf f, vf least) {
  const vf magic = v_set(12582912.0F), at = v_max(least, d); /* in this order NaN stays */
  const vf n = v_fma(at, f, magic) - magic, r = v_fma(at, f, v_negate(n));
  vf p = v_fma(v_set(WEIGH3), r, v_set(WEIGH2));
  p = v_fma(p, r, v_set(WEIGH1));
  return v_scale(v_fma(p, r, v_set(1.0F)), n);
}

/* What turns scores into weights: 2^((score - base) * factor). */
typedef struct softener {
  float factor, least;
  int is_plain; /* scores are as the product left them, and every row of a batch sees the same keys */
} softener;

static softener softener_of(const hn_attention_f32 *a) {
  const float log2e = 1.44269504F, lowest = -200.0F; /* of powers: 0 in floats */
  softener s = {.is_plain = !a->mask && !(a->softcap > 0) && a->scale > 1e-30F};
  s.factor = s.is_plain ? a->scale * log2e : log2e;
  s.least = lowest / s.factor;
  return s;
}

/* One unit's place and memory. */
typedef struct unit {
  const hn_attention_f32 *a;
  int64_t b, h, row, rows;    /* of the chunk */
  int64_t score_row, sum_row; /* elements */
  uint16_t *keys, *values;    /* packed: a block of them */
  uint16_t *queries;          /* of a step: rows of the size */
  float *scores;              /* of a step; then its weights, in bf16 */
  softener soften;
  float *sums, *top, *weight;     /* of the chunk's rows */
  int64_t packed_head, packed_at; /* what keys and values hold; -1: nothing */
} unit;

/* Rows of one block are stored right behind their step, and the sums of all steps lie in one place. */
HN_INLINE int has_one_block(const unit *u) { return u->a->kv_len <= block_keys(u->a, 0); }
HN_INLINE float *sums_of(const unit *u, int64_t at) { return u->sums + (has_one_block(u) ? 0 : at * u->sum_row); }

static source rows_at(const hn_attention_f32 *a, const float *past, const float *fresh, hn_attention_steps steps,
                      int64_t size, const unit *u, int64_t first) {
  const int64_t head = u->h / a->group;
  if (first < a->past_len)
    return (source){(const char *)(past + ((u->b * (a->heads / a->group) + head) * a->past_rows + first) * size), size,
                    0};
  source s = {(const char *)fresh, 1, a->x_is_bf16};
  s.rows = element_of(&s, 0, u->b * steps.batch + head * steps.head + (first - a->past_len) * steps.row);
  s.step = steps.row;
  return s;
}

static void pack_block(unit *u, int64_t first, int64_t count) {
  const hn_attention_f32 *a = u->a;
  const int64_t head = u->b * a->heads + u->h / a->group * a->group;
  if (u->packed_head == head && u->packed_at == first) return;
  pack_keys(rows_at(a, a->past_k, a->k, a->k_step, a->size, u, first), count, a->size, u->keys);
  pack_values(rows_at(a, a->past_v, a->v, a->v_step, a->v_size, u, first), count, a->v_size, u->values);
  u->packed_head = head;
  u->packed_at = first;
}

static void pack_queries(const unit *u, int64_t at, int rows) {
  const hn_attention_f32 *a = u->a;
  const int64_t width = tiles_of(a->size, DEPTH) * DEPTH;
  source s = {(const char *)a->q, 1, a->x_is_bf16};
  s.rows = element_of(&s, 0, u->b * a->q_step.batch + u->h * a->q_step.head + (u->row + at) * a->q_step.row);
  s.step = a->q_step.row;
  for (int r = 0; r < rows; ++r)
    for (int64_t p = 0; p < a->size; p += DEPTH)
      round_some(element_of(&s, r, p), s.is_bf16, a->size - p, u->queries + r * width + p);
}

/* Weights of n scores over `base`, rounded, in lanes their sums; zeros from n to the end. They take the scores' place.
 */
HN_INLINE vf soften_row(float *scores, int64_t n, int64_t end, float base, softener s) {
  const vf b = v_set(base), f = v_set(s.factor), least = v_set(s.least);
  uint16_t *to = (uint16_t *)(void *)scores;
  vf sum = v_set(0.0F), second = sum;
  int64_t j = 0;
  for (; j + HN_LANES < n; j += 2 * HN_LANES) {
    const vf e = weigh(v_load(scores + j) - b, f, least), g = weigh(v_load(scores + j + HN_LANES) - b, f, least);
    v_store_bf16_two(to + j, e, g);
    sum += e;
    second += g;
  }
  for (; j < n; j += HN_LANES) {
    const vf e = weigh(v_load(scores + j) - b, f, least);
    v_store_bf16(to + j, e);
    sum += e;
  }
  for (; j < end; j += HN_LANES) v_store_bf16(to + j, v_set(0.0F));
  return sum + second;
}

/* In lanes the largest of n scores; behind them -infinity is stored up to a whole vector. */
HN_INLINE vf largest_of(float *scores, int64_t n) {
  vf most[4] = {infinite(), infinite(), infinite(), infinite()};
  int64_t j = 0;
  for (; j + 4 * HN_LANES <= n; j += 4 * HN_LANES) {
    HN_UNROLL
    for (int i = 0; i < 4; ++i) most[i] = v_max(most[i], v_load(scores + j + i * HN_LANES));
  }
  for (; j < n; j += HN_LANES) {
    vf x = v_load(scores + j);
    if (n - j < HN_LANES) v_store(scores + j, x = keep_lanes(x, n - j, -__builtin_inff()));
    most[0] = v_max(most[0], x);
  }
  return v_max(v_max(most[0], most[1]), v_max(most[2], most[3]));
}

/* The same with all that scale, cap and mask do to a row's scores. */
HN_OUTLINE vf finish_scores(const unit *u, int64_t i, int64_t first, span s, float *scores) {
  const hn_attention_f32 *a = u->a;
  if (!u->soften.is_plain)
    for (int64_t j = 0; j < s.high; j += HN_LANES) v_store(scores + j, v_load(scores + j) * a->scale);
  if (a->softcap > 0) cap_row(scores, HN_LANES, s.high, a->softcap);
  return v_set(mask_row(scores, HN_LANES, s, mask_at(a, u->b, u->h, i, first), a->mask_is_bool));
}

/* Lane i is the largest of row i's lanes, or their sum. Each round joins two vectors of n rows each to one of 2n. */
HN_INLINE vf join_rows(const vf *rows, const int is_sum) {
  vf row[HN_LANES];
  HN_UNROLL
  for (int i = 0; i < HN_LANES; ++i) row[i] = rows[i];
  HN_UNROLL
  for (int half = HN_LANES / 2; half > 0; half /= 2) {
    HN_UNROLL
    for (int i = 0; i < half; ++i) {
      const vf low = HN_LOWER(row[i], row[i + half]), high = HN_UPPER(row[i], row[i + half]);
      row[i] = is_sum ? low + high : v_max(low, high);
    }
  }
  return row[0];
}

static void follow_maxima(const unit *u, int64_t at, int rows, const float *keep) {
  for (int r = 0; r < rows; ++r) {
    float *sums = sums_of(u, at) + r * u->sum_row;
    for (int64_t p = 0; keep[r] != 1.0F && p < u->sum_row; p += HN_LANES) v_store(sums + p, v_load(sums + p) * keep[r]);
  }
}

/* Scores of a step to weights, in their place; the sums so far follow when a row's maximum rises. What lanes hold is
 * joined for many rows at once. */
static void soften(const unit *u, int64_t at, int rows, int64_t first, int64_t count, int64_t end) {
  const hn_attention_f32 *a = u->a;
  const int is_same = !a->is_causal && !a->left_seen && !a->right_seen;
  const span all = seen_in(a, u->b, u->row + at, first, count);
  float *top = u->top + at, *weight = u->weight + at, base[ROWS], keep[ROWS];
  vf lanes[ROWS];
  int64_t high[ROWS];
  for (int r = 0; r < rows; ++r) {
    const int64_t i = u->row + at + r;
    const span s = is_same ? all : seen_in(a, u->b, i, first, count);
    float *scores = u->scores + r * u->score_row;
    high[r] = s.high;
    lanes[r] = u->soften.is_plain && s.low == 0 ? largest_of(scores, s.high) : finish_scores(u, i, first, s, scores);
  }
  for (int r = rows; r < ROWS; ++r) lanes[r] = infinite();
  for (int r = 0; r < ROWS; r += HN_LANES) {
    const vf before = v_load(top + r), most = join_rows(lanes + r, 0), now = v_select(v_lt(before, most), most, before);
    const vf some = v_select(v_lt(infinite(), now), now, v_set(0.0F));
    v_store(top + r, now);
    v_store(base + r, some);
    v_store(keep + r, weigh(before - some, v_set(u->soften.factor), v_set(u->soften.least)));
  }
  for (int r = 0; r < rows; ++r) lanes[r] = soften_row(u->scores + r * u->score_row, high[r], end, base[r], u->soften);
  for (int r = 0; r < ROWS; r += HN_LANES)
    v_store(weight + r, v_load(weight + r) * v_load(keep + r) + join_rows(lanes + r, 1));
  if (first > 0) follow_maxima(u, at, rows, keep);
}

/* What lies in rows without a query is multiplied, too, and never looked at. */
static void run_step(unit *u, amx_tiles *t, int64_t at, int rows, int64_t first, int64_t count) {
  const hn_attention_f32 *a = u->a;
  const int64_t size_tiles = tiles_of(a->size, DEPTH);
  const span some = seen_by_rows(a, u->b, u->row + at, rows, first, count);
  if (some.low >= some.high && first > 0) return; /* the first block makes the sums */
  const int halves = rows > HALF ? 2 : 1;
  const int64_t depth = tiles_of(some.high, DEPTH);
  pack_queries(u, at, rows);
  run_product((product){.a = u->queries,
                        .b = u->keys,
                        .c = u->scores,
                        .a_row = size_tiles * DEPTH,
                        .c_row = u->score_row,
                        .depth = size_tiles,
                        .b_panel = size_tiles * TILE},
              t, halves, tiles_of(some.high, HALF));
  soften(u, at, rows, first, count, depth * DEPTH);
  run_product((product){.a = (const uint16_t *)(const void *)u->scores,
                        .b = u->values,
                        .c = sums_of(u, at),
                        .a_row = 2 * u->score_row,
                        .c_row = u->sum_row,
                        .depth = depth,
                        .b_panel = tiles_of(count, DEPTH) * TILE,
                        .adds = first > 0},
              t, halves, tiles_of(a->v_size, HALF));
}

static void store_rows(const unit *u, int64_t first, int64_t rows) {
  const hn_attention_f32 *a = u->a;
  const float *sums = sums_of(u, first);
  for (int64_t r = first; r < first + rows; ++r, sums += u->sum_row) {
    const vf scale = v_set(u->weight[r] == 0.0F ? 0.0F : 1.0F / u->weight[r]);
    const int64_t at = u->b * a->y_step.batch + u->h * a->y_step.head + (u->row + r) * a->y_step.row;
    uint16_t *halves = (uint16_t *)(void *)a->y + at;
    for (int64_t p = 0; p < a->v_size; p += HN_LANES) {
      const vf y = v_load(sums + p) * scale;
      if (!a->y_is_bf16) {
        store_lanes(a->y + at + p, a->v_size - p, y);
      } else if (a->v_size - p >= HN_LANES) {
        v_store_bf16(halves + p, y);
      } else {
        uint16_t some[HN_LANES];
        v_store_bf16(some, y);
        memcpy(halves + p, some, (size_t)(a->v_size - p) * sizeof *some);
      }
    }
  }
}

static void run_unit(unit *u, amx_tiles *t) {
  const hn_attention_f32 *a = u->a;
  for (int64_t r = 0; r < tiles_of(u->rows, ROWS) * ROWS; ++r) {
    u->top[r] = -__builtin_inff();
    u->weight[r] = 0.0F;
  }
  int64_t count;
  for (int64_t first = 0; first < a->kv_len; first += count) {
    count = block_keys(a, first);
    const span some = seen_by_rows(a, u->b, u->row, u->rows, first, count);
    if (first > 0 && some.low >= some.high) continue;
    pack_block(u, first, count);
    for (int64_t at = 0; at < u->rows; at += ROWS) {
      const int rows = (int)lesser(ROWS, u->rows - at);
      run_step(u, t, at, rows, first, count);
      if (has_one_block(u)) store_rows(u, at, rows);
    }
  }
  if (!has_one_block(u)) store_rows(u, 0, u->rows);
}

static int64_t up(int64_t n) { return tiles_of(n, DEPTH) * DEPTH; }

void HN_SIMD_NAME(hn_attention_bf16)(const hn_attention_f32 *a, int64_t begin, int64_t end, float *scratch) {
  const int64_t keys = up(lesser(a->kv_len, HN_ATTENTION_KEYS)), rows = up(a->row_chunk);
  const int64_t chunks = (a->q_len + a->row_chunk - 1) / a->row_chunk;
  unit u = {.a = a,
            .score_row = keys,
            .sum_row = tiles_of(a->v_size, HALF) * HALF,
            .soften = softener_of(a),
            .packed_head = -1};
  u.scores = scratch;
  u.sums = u.scores + ROWS * keys;
  u.top = u.sums + rows * up(a->v_size);
  u.weight = u.top + rows;
  u.keys = (uint16_t *)(void *)(u.weight + rows);
  u.values = u.keys + keys * up(a->size);
  u.queries = u.values + keys * up(a->v_size);
  amx_tiles tiles;
  amx_begin(&tiles);
  for (int64_t at = begin; at < end; ++at) {
    u.row = at % chunks * a->row_chunk;
    u.rows = lesser(a->row_chunk, a->q_len - u.row);
    u.h = at / chunks % a->heads;
    u.b = at / chunks / a->heads;
    run_unit(&u, &tiles);
  }
  amx_end(&tiles);
}
