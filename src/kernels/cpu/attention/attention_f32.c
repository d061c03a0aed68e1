/* SPDX-License-Identifier: Apache-2.0 */
/* attention_f32.c - attention. Every matrix lies in blocks [columns / HN_LANES][rows][HN_LANES],
 * which is what one register tile writes and the next one reads with constant offsets. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/attention/attention.h"
#define HN_TILE_BLOCK HN_LANES
#include "kernels/cpu/tile_f32.inc.h"
#include "kernels/cpu/attention/attention_rows.inc.h"

#if HN_LANES == 16
#define HN_MOST_ROWS 14
#elif HN_LANES == 8
#define HN_MOST_ROWS 6
#else
#define HN_MOST_ROWS 4
#endif

/* c = a b, or c += a b: a is rows x depth, b is depth x 1 or 2 panels. */
typedef struct product {
  const float *a, *b;
  float *c;
  int64_t depth, b_stride; /* floats between panels */
  int adds;
} product;

HN_INLINE void tile_product(const product *t, const int panels, const int rows) {
  vf acc[HN_TILE_VECTORS_MAX];
  const float *a = t->a, *b = t->b;
  HN_UNROLL
  for (int r = 0; r < rows; ++r) {
    HN_UNROLL
    for (int v = 0; v < panels; ++v)
      acc[r * panels + v] = t->adds ? v_load(t->c + (v * rows + r) * HN_LANES) : v_set(0.0f);
  }
  for (int64_t left = t->depth; left > 0; left -= HN_LANES, a += rows * HN_LANES, b += HN_LANES * HN_LANES)
    tile_run(acc, panels, rows, a, HN_LANES, b, t->b_stride, left < HN_LANES ? left : HN_LANES);
  HN_UNROLL
  for (int r = 0; r < rows; ++r) {
    HN_UNROLL
    for (int v = 0; v < panels; ++v) v_store(t->c + (v * rows + r) * HN_LANES, acc[r * panels + v]);
  }
}

HN_OUTLINE void product_1_1(const product *t) { tile_product(t, 1, 1); }
HN_OUTLINE void product_1_2(const product *t) { tile_product(t, 1, 2); }
HN_OUTLINE void product_1_3(const product *t) { tile_product(t, 1, 3); }
HN_OUTLINE void product_1_4(const product *t) { tile_product(t, 1, 4); }
HN_OUTLINE void product_2_1(const product *t) { tile_product(t, 2, 1); }
HN_OUTLINE void product_2_2(const product *t) { tile_product(t, 2, 2); }
HN_OUTLINE void product_2_3(const product *t) { tile_product(t, 2, 3); }
HN_OUTLINE void product_2_4(const product *t) { tile_product(t, 2, 4); }
#if HN_LANES >= 8
HN_OUTLINE void product_1_5(const product *t) { tile_product(t, 1, 5); }
HN_OUTLINE void product_1_6(const product *t) { tile_product(t, 1, 6); }
HN_OUTLINE void product_2_5(const product *t) { tile_product(t, 2, 5); }
HN_OUTLINE void product_2_6(const product *t) { tile_product(t, 2, 6); }
#endif
#if HN_LANES == 16
HN_OUTLINE void product_1_7(const product *t) { tile_product(t, 1, 7); }
HN_OUTLINE void product_1_8(const product *t) { tile_product(t, 1, 8); }
HN_OUTLINE void product_1_9(const product *t) { tile_product(t, 1, 9); }
HN_OUTLINE void product_1_10(const product *t) { tile_product(t, 1, 10); }
HN_OUTLINE void product_1_11(const product *t) { tile_product(t, 1, 11); }
HN_OUTLINE void product_1_12(const product *t) { tile_product(t, 1, 12); }
HN_OUTLINE void product_1_13(const product *t) { tile_product(t, 1, 13); }
HN_OUTLINE void product_1_14(const product *t) { tile_product(t, 1, 14); }
HN_OUTLINE void product_2_7(const product *t) { tile_product(t, 2, 7); }
HN_OUTLINE void product_2_8(const product *t) { tile_product(t, 2, 8); }
HN_OUTLINE void product_2_9(const product *t) { tile_product(t, 2, 9); }
HN_OUTLINE void product_2_10(const product *t) { tile_product(t, 2, 10); }
HN_OUTLINE void product_2_11(const product *t) { tile_product(t, 2, 11); }
HN_OUTLINE void product_2_12(const product *t) { tile_product(t, 2, 12); }
HN_OUTLINE void product_2_13(const product *t) { tile_product(t, 2, 13); }
HN_OUTLINE void product_2_14(const product *t) { tile_product(t, 2, 14); }
#endif
typedef void product_function(const product *);
static product_function *const products[3][HN_MOST_ROWS + 1] = {
    [1][1] = product_1_1,   [1][2] = product_1_2,   [1][3] = product_1_3,   [1][4] = product_1_4,
    [2][1] = product_2_1,   [2][2] = product_2_2,   [2][3] = product_2_3,   [2][4] = product_2_4,
#if HN_LANES >= 8
    [1][5] = product_1_5,   [1][6] = product_1_6,   [2][5] = product_2_5,   [2][6] = product_2_6,
#endif
#if HN_LANES == 16
    [1][7] = product_1_7,   [1][8] = product_1_8,   [1][9] = product_1_9,   [1][10] = product_1_10,
    [1][11] = product_1_11, [1][12] = product_1_12, [1][13] = product_1_13, [1][14] = product_1_14,
    [2][7] = product_2_7,   [2][8] = product_2_8,   [2][9] = product_2_9,   [2][10] = product_2_10,
    [2][11] = product_2_11, [2][12] = product_2_12, [2][13] = product_2_13, [2][14] = product_2_14,
#endif
};

/* All panels of one product. */
static void run_product(product t, int rows, int64_t panels) {
  while (panels > 0) {
    const int now = panels >= 2 ? 2 : 1;
    products[now][rows](&t);
    t.b += now * t.b_stride;
    t.c += now * rows * HN_LANES;
    panels -= now;
  }
}

/* Exponentials of the row over `base`, with their sum; zeros from n to the end. */
HN_INLINE float soften_row(float *scores, int64_t stride, int64_t n, int64_t end, float base) {
  const vf b = v_set(base);
  vf sum = v_set(0.0f);
  int64_t j = 0;
  for (; j < n; j += HN_LANES, scores += stride) {
    const vf e = v_exp_below_fast(v_load(scores) - b);
    v_store(scores, e);
    sum += e;
  }
  for (; j < end; j += HN_LANES, scores += stride) v_store(scores, v_set(0.0f));
  return sum_of_lanes(sum);
}

/* Rows of `size` floats into panels [size / HN_LANES][rows][HN_LANES], times factor. */
static void pack_rows(const float *from, int64_t step, int64_t rows, int64_t size, float factor, float *to) {
  const vf f = v_set(factor);
  for (int64_t p = 0; p < size; p += HN_LANES)
    for (int64_t r = 0; r < rows; ++r, to += HN_LANES) v_store(to, load_lanes(from + r * step + p, size - p) * f);
}

/* Keys into panels [keys / HN_LANES][size][HN_LANES]: a transpose, so that a panel's lanes are keys. */
static void pack_keys(const float *from, int64_t step, int64_t keys, int64_t size, float *to) {
  for (int64_t j = 0; j < keys; j += HN_LANES, to += size * HN_LANES) {
    const int64_t lanes = lesser(HN_LANES, keys - j);
    for (int64_t p = 0; p < size; p += HN_LANES) {
      const int64_t run = lesser(HN_LANES, size - p);
      float *square = to + p * HN_LANES;
      if (lanes == HN_LANES && run == HN_LANES) {
        turn_square(from + j * step + p, step, square);
        continue;
      }
      for (int64_t q = 0; q < run; ++q)
        for (int64_t i = 0; i < HN_LANES; ++i)
          square[q * HN_LANES + i] = i < lanes ? from[(j + i) * step + p + q] : 0.0f;
    }
  }
}

/* One unit's place and memory. */
typedef struct unit {
  const hn_attention_f32 *a;
  int64_t b, h, row, rows;        /* of the chunk */
  float *keys, *values;           /* packed: a block of them */
  float *queries, *scores;        /* of a tile */
  float *sums, *top, *weight;     /* of the chunk's rows */
  int64_t packed_head, packed_at; /* what keys and values hold: batch * heads + head, first key; -1: nothing */
} unit;

/* Scores of a tile to weights; the sums so far follow when a row's maximum rises. All rows take one step before the
 * next: their chains of dependent operations then overlap. */
static void soften(unit *u, int64_t at, int rows, int64_t first, int64_t count) {
  const hn_attention_f32 *a = u->a;
  const int64_t i = u->row + at, stride = (int64_t)rows * HN_LANES, v_panels = panels_of(a->v_size);
  const int64_t end = seen_by_rows(a, u->b, i, rows, first, count).high;
  float before[HN_MOST_ROWS], *top = u->top + at, *weight = u->weight + at;
  for (int r = 0; r < rows; ++r) {
    if (a->softcap > 0) cap_row(u->scores + r * HN_LANES, stride, end, a->softcap);
    const float most = mask_row(u->scores + r * HN_LANES, stride, seen_in(a, u->b, i + r, first, count),
                                mask_at(a, u->b, u->h, i + r, first), a->mask_is_bool);
    before[r] = top[r];
    if (most > top[r]) top[r] = most;
  }
  for (int r = 0; r < rows; ++r) {
    const float base = top[r] > -__builtin_inff() ? top[r] : 0.0f;
    const float sum =
        soften_row(u->scores + r * HN_LANES, stride, seen_in(a, u->b, i + r, first, count).high, end, base);
    if (first == 0 || before[r] == top[r]) {
      weight[r] += sum;
      continue;
    }
    const float keep = v_exp_below_fast(v_set(before[r] - base))[0];
    weight[r] = weight[r] * keep + sum;
    float *sums = u->sums + at * v_panels * HN_LANES + r * HN_LANES;
    for (int64_t p = 0; p < v_panels; ++p, sums += stride) v_store(sums, v_load(sums) * keep);
  }
}

static void run_tile(unit *u, int64_t at, int rows, int64_t first, int64_t count) {
  const hn_attention_f32 *a = u->a;
  const int64_t v_panels = panels_of(a->v_size), i = u->row + at;
  const span some = seen_by_rows(a, u->b, i, rows, first, count);
  const int64_t seen = some.high;
  float *sums = u->sums + at * v_panels * HN_LANES;
  if (some.low >= some.high && first > 0) return; /* the first block makes the sums */
  const float *q = a->q + u->b * a->q_step.batch + u->h * a->q_step.head + i * a->q_step.row;
  pack_rows(q, a->q_step.row, rows, a->size, a->scale, u->queries);
  run_product(
      (product){.a = u->queries, .b = u->keys, .c = u->scores, .depth = a->size, .b_stride = a->size * HN_LANES}, rows,
      panels_of(seen));
  soften(u, at, rows, first, count);
  run_product(
      (product){
          .a = u->scores, .b = u->values, .c = sums, .depth = seen, .b_stride = count * HN_LANES, .adds = first > 0},
      rows, v_panels);
}

static void store_tile(const unit *u, int64_t at, int rows) {
  const hn_attention_f32 *a = u->a;
  const int64_t v_panels = panels_of(a->v_size);
  const float *sums = u->sums + at * v_panels * HN_LANES;
  for (int r = 0; r < rows; ++r) {
    const float weight = u->weight[at + r];
    const vf scale = v_set(weight == 0.0f ? 0.0f : 1.0f / weight);
    float *y = a->y + u->b * a->y_step.batch + u->h * a->y_step.head + (u->row + at + r) * a->y_step.row;
    for (int64_t p = 0; p < v_panels; ++p, y += HN_LANES)
      store_lanes(y, a->v_size - p * HN_LANES, v_load(sums + (p * rows + r) * HN_LANES) * scale);
  }
}

/* Rows of keys or values, old ones or new ones. */
typedef struct source {
  const float *rows;
  int64_t step;
} source;

static source rows_at(const hn_attention_f32 *a, const float *past, const float *fresh, hn_attention_steps steps,
                      int64_t size, int64_t b, int64_t head, int64_t first) {
  if (first < a->past_len)
    return (source){past + ((b * (a->heads / a->group) + head) * a->past_rows + first) * size, size};
  return (source){fresh + b * steps.batch + head * steps.head + (first - a->past_len) * steps.row, steps.row};
}

static source keys_at(const hn_attention_f32 *a, int64_t b, int64_t head, int64_t first) {
  return rows_at(a, a->past_k, a->k, a->k_step, a->size, b, head, first);
}

static source values_at(const hn_attention_f32 *a, int64_t b, int64_t head, int64_t first) {
  return rows_at(a, a->past_v, a->v, a->v_step, a->v_size, b, head, first);
}

static void pack_block(unit *u, int64_t first, int64_t count) {
  const hn_attention_f32 *a = u->a;
  const int64_t head = u->b * a->heads + u->h / a->group * a->group, at = u->h / a->group;
  if (u->packed_head == head && u->packed_at == first) return;
  const source k = keys_at(a, u->b, at, first), v = values_at(a, u->b, at, first);
  pack_keys(k.rows, k.step, count, a->size, u->keys);
  pack_rows(v.rows, v.step, count, a->v_size, 1.0f, u->values);
  u->packed_head = head;
  u->packed_at = first;
}

static void run_unit(unit *u) {
  const hn_attention_f32 *a = u->a;
  int rows;
  for (int64_t r = 0; r < u->rows; ++r) {
    u->top[r] = -__builtin_inff();
    u->weight[r] = 0.0f;
  }
  int64_t count;
  for (int64_t first = 0; first < a->kv_len; first += count) {
    count = block_keys(a, first);
    const span some = seen_by_rows(a, u->b, u->row, u->rows, first, count);
    if (first > 0 && some.low >= some.high) continue;
    pack_block(u, first, count);
    for (int64_t at = 0; at < u->rows; at += rows) {
      rows = tile_width(u->rows - at, HN_MOST_ROWS);
      run_tile(u, at, rows, first, count);
    }
  }
  for (int64_t at = 0; at < u->rows; at += rows) {
    rows = tile_width(u->rows - at, HN_MOST_ROWS);
    store_tile(u, at, rows);
  }
}

#include "kernels/cpu/attention/attention_few_f32.inc.h"

void HN_SIMD_NAME(hn_attention_f32)(const hn_attention_f32 *a, int64_t begin, int64_t end, float *scratch) {
  if (a->head_chunk > 0) {
    run_few(a, begin, end, scratch);
    return;
  }
  const int64_t keys = panels_of(lesser(a->kv_len, HN_ATTENTION_KEYS)) * HN_LANES;
  const int64_t size = panels_of(a->size) * HN_LANES, v_size = panels_of(a->v_size) * HN_LANES;
  const int64_t chunks = (a->q_len + a->row_chunk - 1) / a->row_chunk;
  unit u = {.a = a, .keys = scratch, .packed_head = -1};
  u.values = u.keys + keys * size;
  u.queries = u.values + keys * v_size;
  u.scores = u.queries + HN_MOST_ROWS * size;
  u.sums = u.scores + HN_MOST_ROWS * keys;
  u.top = u.sums + a->row_chunk * v_size;
  u.weight = u.top + a->row_chunk;
  for (int64_t at = begin; at < end; ++at) {
    u.row = at % chunks * a->row_chunk;
    u.rows = lesser(a->row_chunk, a->q_len - u.row);
    u.h = at / chunks % a->heads;
    u.b = at / chunks / a->heads;
    run_unit(&u);
  }
}
