/* SPDX-License-Identifier: Apache-2.0 */
/* attention_few_f32.inc.h - attention of few query rows over many keys: bound by reading keys and values, so both are
 * read as they lie, once for up to four rows. Included by attention_f32.c. A row's result does not depend on which
 * rows it shares a pass with. */

/* Sums of v_size floats kept in registers while the keys of a block go by: rows x vectors. */
#if HN_LANES == 16
#define HN_FEW_VECTORS(rows) ((rows) == 4 ? 4 : 8)
#else
#define HN_FEW_VECTORS(rows) (8 / (rows))
#endif
enum { FEW_KEYS = 4, FEW_SCORES = HN_ATTENTION_KEYS + 16 }; /* keys of a pass; floats between rows of scores */
enum { FEW_AHEAD = 16 };                                    /* keys that are fetched before they are read */

/* Rows of one key head: row r is query r % q_len of head `head` + r / q_len. */
typedef struct few {
  const hn_attention_f32 *a;
  int64_t b, head, rows;
  float *queries, *scores, *sums, *top, *weight;
} few;

/* The sums of four vectors. Halves are added to halves, so that every sum is made in the same way. */
HN_INLINE void four_sums(vf a, vf b, vf c, vf d, float *to) {
#if HN_LANES == 16
#define HN_FRONT(x, y) __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23)
#define HN_REAR(x, y) __builtin_shufflevector(x, y, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31)
#define HN_EVEN(x, y) __builtin_shufflevector(x, y, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)
#define HN_ODD(x, y) __builtin_shufflevector(x, y, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31)
#elif HN_LANES == 8
#define HN_FRONT(x, y) __builtin_shufflevector(x, y, 0, 1, 2, 3, 8, 9, 10, 11)
#define HN_REAR(x, y) __builtin_shufflevector(x, y, 4, 5, 6, 7, 12, 13, 14, 15)
#define HN_EVEN(x, y) __builtin_shufflevector(x, y, 0, 1, 4, 5, 8, 9, 12, 13)
#define HN_ODD(x, y) __builtin_shufflevector(x, y, 2, 3, 6, 7, 10, 11, 14, 15)
#else
#define HN_FRONT(x, y) __builtin_shufflevector(x, y, 0, 1, 4, 5)
#define HN_REAR(x, y) __builtin_shufflevector(x, y, 2, 3, 6, 7)
#define HN_EVEN(x, y) __builtin_shufflevector(x, y, 0, 2, 4, 6)
#define HN_ODD(x, y) __builtin_shufflevector(x, y, 1, 3, 5, 7)
#endif
  const vf ab = HN_FRONT(a, b) + HN_REAR(a, b), cd = HN_FRONT(c, d) + HN_REAR(c, d);
  vf sums = HN_EVEN(ab, cd) + HN_ODD(ab, cd); /* a quarter of the lanes for each */
#if HN_LANES == 16
  sums += __builtin_shufflevector(sums, sums, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  sums += __builtin_shufflevector(sums, sums, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
#elif HN_LANES == 8
  sums += __builtin_shufflevector(sums, sums, 1, 0, 3, 2, 5, 4, 7, 6);
#endif
  for (int i = 0; i < 4; ++i) to[i] = sums[i * (HN_LANES / 4)];
}

/* Rows [row, row + FEW_KEYS) of what is read from memory later: pages change often, where the processor's own
 * prefetching begins anew. */
HN_INLINE void fetch_rows(source from, int64_t row, int64_t end, int64_t size) {
  for (int64_t i = row; i < lesser(row + FEW_KEYS, end); ++i)
    for (int64_t p = 0; p < size; p += 16) __builtin_prefetch(from.rows + i * from.step + p, 0, 2);
}

/* Scores of `rows` rows for keys [s.low, s.high); up to three behind them are written too. */
HN_INLINE void few_scores(const few *f, int64_t row, const int rows, source k, source v, span s) {
  const int64_t size = f->a->size, stride = panels_of(size) * HN_LANES;
  const float *q = f->queries + row * stride;
  float *to = f->scores + row * FEW_SCORES;
  for (int64_t j = s.low; j < s.high; j += FEW_KEYS) {
    const float *key[FEW_KEYS];
    vf acc[4 * FEW_KEYS];
    if (row == 0) {
      fetch_rows(k, j + FEW_AHEAD, s.high, size);
      fetch_rows(v, j, s.high, f->a->v_size);
    }
    HN_UNROLL
    for (int i = 0; i < FEW_KEYS; ++i) key[i] = k.rows + lesser(j + i, s.high - 1) * k.step;
    HN_UNROLL
    for (int i = 0; i < rows * FEW_KEYS; ++i) acc[i] = v_set(0.0f);
    int64_t p = 0;
    for (; p + HN_LANES <= size; p += HN_LANES) {
      HN_UNROLL
      for (int i = 0; i < FEW_KEYS; ++i) {
        const vf one = v_load(key[i] + p);
        HN_UNROLL
        for (int r = 0; r < rows; ++r)
          acc[r * FEW_KEYS + i] = v_fma(v_load(q + r * stride + p), one, acc[r * FEW_KEYS + i]);
      }
    }
    if (p < size) {
      HN_UNROLL
      for (int i = 0; i < FEW_KEYS; ++i) {
        const vf one = load_lanes(key[i] + p, size - p);
        HN_UNROLL
        for (int r = 0; r < rows; ++r)
          acc[r * FEW_KEYS + i] = v_fma(v_load(q + r * stride + p), one, acc[r * FEW_KEYS + i]);
      }
    }
    HN_UNROLL
    for (int r = 0; r < rows; ++r)
      four_sums(acc[r * FEW_KEYS], acc[r * FEW_KEYS + 1], acc[r * FEW_KEYS + 2], acc[r * FEW_KEYS + 3],
                to + r * FEW_SCORES + j);
  }
}

/* Adds weights x values to columns [at, at + vectors * HN_LANES) of the sums; the last vector may hold n floats only.
 */
HN_INLINE void few_values(const few *f, int64_t row, const int rows, source v, span s, int64_t at, const int vectors,
                          int64_t n) {
  const int64_t stride = panels_of(f->a->v_size) * HN_LANES;
  const float *p = f->scores + row * FEW_SCORES, *from = v.rows + at;
  float *sums = f->sums + row * stride + at;
  vf acc[16];
  HN_UNROLL
  for (int i = 0; i < rows * vectors; ++i) acc[i] = v_load(sums + i / vectors * stride + i % vectors * HN_LANES);
  for (int64_t j = s.low; j < s.high; ++j) {
    const float *value = from + j * v.step;
    HN_UNROLL
    for (int i = 0; i < vectors; ++i) {
      const vf one = n < HN_LANES ? load_lanes(value, n) : v_load(value + i * HN_LANES);
      HN_UNROLL
      for (int r = 0; r < rows; ++r)
        acc[r * vectors + i] = v_fma(v_set(p[r * FEW_SCORES + j]), one, acc[r * vectors + i]);
    }
  }
  HN_UNROLL
  for (int i = 0; i < rows * vectors; ++i) v_store(sums + i / vectors * stride + i % vectors * HN_LANES, acc[i]);
}

HN_INLINE void few_all_values(const few *f, int64_t row, const int rows, source v, span s) {
  const int64_t size = f->a->v_size;
  int64_t at = 0;
  for (; size - at >= HN_FEW_VECTORS(rows) * HN_LANES; at += HN_FEW_VECTORS(rows) * HN_LANES)
    few_values(f, row, rows, v, s, at, HN_FEW_VECTORS(rows), HN_LANES);
  for (; HN_FEW_VECTORS(rows) > 4 && size - at >= 4 * HN_LANES; at += 4 * HN_LANES)
    few_values(f, row, rows, v, s, at, 4, HN_LANES);
  for (; HN_FEW_VECTORS(rows) > 2 && size - at >= 2 * HN_LANES; at += 2 * HN_LANES)
    few_values(f, row, rows, v, s, at, 2, HN_LANES);
  for (; size - at >= HN_LANES; at += HN_LANES) few_values(f, row, rows, v, s, at, 1, HN_LANES);
  if (at < size) few_values(f, row, rows, v, s, at, 1, size - at);
}

/* A row's scores to weights, as soften() does. */
static void few_soften(const few *f, int64_t row, span s, int64_t end, int64_t first) {
  const hn_attention_f32 *a = f->a;
  const int64_t stride = panels_of(a->v_size) * HN_LANES, h = f->head + row / a->q_len, i = row % a->q_len;
  float *scores = f->scores + row * FEW_SCORES, before = f->top[row], *sums = f->sums + row * stride;
  if (a->softcap > 0) cap_row(scores, HN_LANES, s.high, a->softcap);
  const float most = mask_row(scores, HN_LANES, s, mask_at(a, f->b, h, i, first), a->mask_is_bool);
  if (most > before) f->top[row] = most;
  const float base = f->top[row] > -__builtin_inff() ? f->top[row] : 0.0f;
  const float sum = soften_row(scores, HN_LANES, s.high, end, base);
  if (before == f->top[row] || before == -__builtin_inff()) { /* sums of zeros keep themselves */
    f->weight[row] += sum;
    return;
  }
  const float keep = v_exp_below_fast(v_set(before - base))[0];
  f->weight[row] = f->weight[row] * keep + sum;
  for (int64_t p = 0; p < stride; p += HN_LANES) v_store(sums + p, v_load(sums + p) * keep);
}

HN_INLINE void few_rows(const few *f, int64_t row, const int rows, int64_t first, int64_t count) {
  const hn_attention_f32 *a = f->a;
  const int64_t key_head = f->head / a->group;
  span each[4], all = {count, 0};
  for (int r = 0; r < rows; ++r) {
    each[r] = seen_in(a, f->b, (row + r) % a->q_len, first, count);
    if (each[r].low >= each[r].high) continue;
    all.low = lesser(all.low, each[r].low);
    all.high = each[r].high > all.high ? each[r].high : all.high;
  }
  if (all.low >= all.high) return;
  const source values = values_at(a, f->b, key_head, first);
  few_scores(f, row, rows, keys_at(a, f->b, key_head, first), values, all);
  for (int r = 0; r < rows; ++r) few_soften(f, row + r, each[r], all.high, first);
  few_all_values(f, row, rows, values, all);
}

HN_OUTLINE void few_rows_1(const few *f, int64_t row, int64_t first, int64_t count) {
  few_rows(f, row, 1, first, count);
}
HN_OUTLINE void few_rows_2(const few *f, int64_t row, int64_t first, int64_t count) {
  few_rows(f, row, 2, first, count);
}
HN_OUTLINE void few_rows_4(const few *f, int64_t row, int64_t first, int64_t count) {
  few_rows(f, row, 4, first, count);
}

static void begin_few(const few *f) {
  const hn_attention_f32 *a = f->a;
  const int64_t v_stride = panels_of(a->v_size) * HN_LANES, stride = panels_of(a->size) * HN_LANES;
  for (int64_t r = 0; r < f->rows; ++r) {
    const float *q =
        a->q + f->b * a->q_step.batch + (f->head + r / a->q_len) * a->q_step.head + r % a->q_len * a->q_step.row;
    pack_rows(q, 0, 1, a->size, a->scale, f->queries + r * stride);
    memset(f->sums + r * v_stride, 0, (size_t)v_stride * sizeof(float));
    f->top[r] = -__builtin_inff();
    f->weight[r] = 0.0f;
  }
}

static void end_few(const few *f) {
  const hn_attention_f32 *a = f->a;
  const int64_t stride = panels_of(a->v_size) * HN_LANES;
  for (int64_t r = 0; r < f->rows; ++r) {
    const vf scale = v_set(f->weight[r] == 0.0f ? 0.0f : 1.0f / f->weight[r]);
    float *y = a->y + f->b * a->y_step.batch + (f->head + r / a->q_len) * a->y_step.head + r % a->q_len * a->y_step.row;
    for (int64_t p = 0; p < a->v_size; p += HN_LANES)
      store_lanes(y + p, a->v_size - p, v_load(f->sums + r * stride + p) * scale);
  }
}

static void run_few(const hn_attention_f32 *a, int64_t begin, int64_t end, float *scratch) {
  const int64_t key_heads = a->heads / a->group, chunks = (a->group + a->head_chunk - 1) / a->head_chunk;
  const int64_t most = a->head_chunk * a->q_len, size = panels_of(a->size) * HN_LANES;
  few f = {.a = a, .queries = scratch};
  f.scores = f.queries + most * size;
  f.sums = f.scores + most * FEW_SCORES;
  f.top = f.sums + most * panels_of(a->v_size) * HN_LANES;
  f.weight = f.top + most;
  for (int64_t at = begin; at < end; ++at) {
    const int64_t chunk = at % chunks, key_head = at / chunks % key_heads;
    f.b = at / chunks / key_heads;
    f.head = key_head * a->group + chunk * a->head_chunk;
    f.rows = lesser(a->head_chunk, a->group - chunk * a->head_chunk) * a->q_len;
    if (chunk == 0) hn_attention_present_c(a, f.b * key_heads + key_head, f.b * key_heads + key_head + 1);
    begin_few(&f);
    int64_t count;
    for (int64_t first = 0; first < a->kv_len; first += count) {
      count = block_keys(a, first);
      int64_t row = 0;
      for (; f.rows - row >= 4; row += 4) few_rows_4(&f, row, first, count);
      for (; f.rows - row >= 2; row += 2) few_rows_2(&f, row, first, count);
      for (; row < f.rows; ++row) few_rows_1(&f, row, first, count);
    }
    end_few(&f);
  }
}
