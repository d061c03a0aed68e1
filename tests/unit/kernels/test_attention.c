/* SPDX-License-Identifier: Apache-2.0 */
/* test_attention.c - attention against double: every variant, sizes around vectors and tiles, masks, key blocks, shared
 * key heads, rows in one tensor, and split ranges. */
#include "kernels/cpu/attention/attention.h"

#include "kernel_test.h"

static hn_attention_f32_fn *const attention[] = VARIANTS_OF(hn_attention_f32);

typedef struct sizes {
  int64_t batch, heads, group, q_len, kv_len, size, v_size;
  int32_t is_causal;
  int mask; /* 0 none, 1 one row for all, 2 its own for each score, some of them -infinity */
  int64_t row_chunk;
} sizes;

/* Scores of one row into p as probabilities. */
static void weigh(const hn_attention_f32 *a, int64_t b, int64_t h, int64_t i, double *p) {
  const float *q = a->q + b * a->q_step.batch + h * a->q_step.head + i * a->q_step.row;
  const float *k = a->k + b * a->k_step.batch + h / a->group * a->k_step.head;
  double top = -(double)INFINITY, sum = 0;
  for (int64_t j = 0; j < a->kv_len; ++j) {
    double score = 0;
    for (int64_t d = 0; d < a->size; ++d) score += (double)q[d] * k[j * a->k_step.row + d];
    p[j] = score * a->scale;
    if (a->mask)
      p[j] += ((const float *)a->mask)[b * a->mask_step.batch + h * a->mask_step.head + i * a->mask_step.row + j];
    if (a->is_causal && j > i) p[j] = -(double)INFINITY;
    top = fmax(top, p[j]);
  }
  for (int64_t j = 0; j < a->kv_len; ++j) sum += p[j] = top == -(double)INFINITY ? 0 : exp(p[j] - top);
  for (int64_t j = 0; j < a->kv_len; ++j) p[j] = sum == 0 ? 0 : p[j] / sum;
}

static double error_of(const hn_attention_f32 *a, const float *y) {
  double *p = test_malloc((size_t)a->kv_len * sizeof *p), wrong = 0, all = 0;
  for (int64_t row = 0; row < a->batch * a->heads * a->q_len; ++row) {
    const int64_t i = row % a->q_len, h = row / a->q_len % a->heads, b = row / a->q_len / a->heads;
    const float *v = a->v + b * a->v_step.batch + h / a->group * a->v_step.head;
    weigh(a, b, h, i, p);
    for (int64_t d = 0; d < a->v_size; ++d) {
      double want = 0;
      for (int64_t j = 0; j < a->kv_len; ++j) want += p[j] * v[j * a->v_step.row + d];
      const double off = y[b * a->y_step.batch + h * a->y_step.head + i * a->y_step.row + d] - want;
      wrong += off * off;
      all += want * want;
    }
  }
  test_free(p);
  return sqrt(wrong / (all + 1e-30));
}

/* All rows of a key head in one unit, and those of single query heads: the same bits, and right. */
static void check_few(const hn_attention_f32 *a, hn_attention_f32_fn *kernel, guarded *y, guarded *z) {
  hn_attention_f32 few = *a;
  if (few.q_len > 16) return;
  guarded scratch[2];
  for (int one = 0; one < 2; ++one) {
    few.head_chunk = one ? 1 : few.group;
    few.y = floats(one ? z : y);
    scratch[one] = guarded_new((size_t)hn_attention_f32_scratch_floats(&few) * sizeof(float));
    kernel(&few, 0, hn_attention_f32_units(&few), floats(&scratch[one]));
  }
  if (!(error_of(&few, floats(y)) < 1e-6)) fail_msg("few rows: error %g", error_of(&few, floats(y)));
  assert_memory_equal(z->data, y->data, y->bytes);
  guarded_free(&scratch[0]);
  guarded_free(&scratch[1]);
}

static void check_case(uint64_t *seed, const sizes *s) {
  const int64_t kv_heads = s->heads / s->group, rows = s->batch * s->q_len, keys = s->batch * s->kv_len;
  guarded q = random_floats(seed, rows * s->heads * s->size, 3.0F),
          k = random_floats(seed, keys * kv_heads * s->size, 1),
          v = random_floats(seed, keys * kv_heads * s->v_size, 1.0F);
  guarded mask = random_floats(seed, s->mask == 2 ? rows * s->heads * s->kv_len : s->kv_len, 2.0F);
  const size_t y_bytes = (size_t)(rows * s->heads * s->v_size) * sizeof(float);
  guarded y = guarded_new(y_bytes), z = guarded_new(y_bytes);
  if (s->mask == 2)
    for (int64_t i = 0; i < rows * s->heads * s->kv_len; i += 5) floats(&mask)[i] = -INFINITY;
  if (s->mask == 2) /* the first row sees nothing */
    for (int64_t i = 0; i < s->kv_len; ++i) floats(&mask)[i] = -INFINITY;
  hn_attention_f32 a = {.batch = s->batch,
                        .heads = s->heads,
                        .group = s->group,
                        .q_len = s->q_len,
                        .kv_len = s->kv_len,
                        .size = s->size,
                        .v_size = s->v_size,
                        .q = floats(&q),
                        .k = floats(&k),
                        .v = floats(&v),
                        .mask = s->mask ? floats(&mask) : NULL,
                        .y = floats(&y),
                        .q_step = {s->q_len * s->heads * s->size, s->size, s->heads * s->size},
                        .k_step = {s->kv_len * kv_heads * s->size, s->kv_len * s->size, s->size},
                        .v_step = {s->kv_len * kv_heads * s->v_size, s->v_size, kv_heads * s->v_size},
                        .y_step = {s->heads * s->q_len * s->v_size, s->q_len * s->v_size, s->v_size},
                        .scale = 0.4F,
                        .is_causal = s->is_causal,
                        .row_chunk = s->row_chunk};
  if (s->mask == 2)
    a.mask_step = (hn_attention_steps){s->heads * s->q_len * s->kv_len, s->q_len * s->kv_len, s->kv_len};
  guarded scratch = guarded_new((size_t)hn_attention_f32_scratch_floats(&a) * sizeof(float));
  for (int v_at = 0; v_at < VARIANTS; ++v_at) {
    if (!variant_runs(v_at)) continue;
    a.y = floats(&y);
    attention[v_at](&a, 0, hn_attention_f32_units(&a), floats(&scratch));
    const double error = error_of(&a, floats(&y));
    if (!(error < 1e-6))
      fail_msg("%s: %d x %d x %d keys %d, size %d %d, mask %d causal %d: error %g", variant_name[v_at], (int)s->batch,
               (int)s->heads, (int)s->q_len, (int)s->kv_len, (int)s->size, (int)s->v_size, s->mask, s->is_causal,
               error);
    a.y = floats(&z);
    IN_PIECES(seed, hn_attention_f32_units(&a), attention[v_at](&a, begin, end, floats(&scratch)))
    assert_memory_equal(z.data, y.data, y.bytes);
    check_few(&a, attention[v_at], &y, &z);
  }
  guarded *const all[] = {&q, &k, &v, &mask, &y, &z, &scratch};
  for (size_t i = 0; i < COUNT(all); ++i) guarded_free(all[i]);
}

static void test_sizes(void **state) {
  (void)state;
  uint64_t seed = 1;
  static const int64_t size[] = {64, 32, 48, 80, 20, 5, 1, 16}, length[] = {1, 7, 14, 15, 29, 33, 128, 197};
  for (size_t i = 0; i < COUNT(size); ++i)
    for (size_t j = 0; j < COUNT(length); ++j)
      check_case(&seed, &(sizes){.batch = 1 + (int64_t)(j & 1),
                                 .heads = 2,
                                 .group = 1 + (int64_t)(i & 1),
                                 .q_len = length[j],
                                 .kv_len = length[(i + j) % COUNT(length)],
                                 .size = size[i],
                                 .v_size = size[(i + 3) % COUNT(size)],
                                 .mask = (int)((i + j) % 3),
                                 .row_chunk = j % 3 == 0 ? 28 : 200});
}

static void test_causal(void **state) {
  (void)state;
  uint64_t seed = 2;
  static const int64_t length[] = {1, 13, 31, 128, 513, 1030};
  for (size_t i = 0; i < COUNT(length); ++i)
    check_case(&seed, &(sizes){1, 2, 1, length[i], length[i], 17, 33, 1, (int)(i % 3), 300});
}

/* More keys than one block holds, with maxima that rise from block to block. */
static void test_blocks(void **state) {
  (void)state;
  uint64_t seed = 3;
  static const int64_t keys[] = {511, 512, 513, 1024, 1100};
  for (size_t i = 0; i < COUNT(keys); ++i)
    for (int mask = 0; mask < 3; ++mask) check_case(&seed, &(sizes){1, 2, 2, 15, keys[i], 24, 40, 0, mask, 15});
}

/* Weights far below the largest are zeros, and take no longer: nothing becomes subnormal. */
static void test_extremes(void **state) {
  (void)state;
  enum { KEYS = 40 };
  float q[1] = {1.0F}, k[KEYS], v[KEYS], y[1];
  for (int i = 0; i < KEYS; ++i) {
    k[i] = i == 3 ? 50.0F : -60.0F * (float)i;
    v[i] = i == 3 ? 2.0F : 1e30F;
  }
  hn_attention_f32 a = {1,
                        1,
                        1,
                        1,
                        KEYS,
                        1,
                        1,
                        q,
                        k,
                        v,
                        NULL,
                        y,
                        .q_step = {1, 1, 1},
                        .k_step = {KEYS, KEYS, 1},
                        .v_step = {KEYS, KEYS, 1},
                        .y_step = {1, 1, 1},
                        .scale = 1.0F,
                        .row_chunk = 1};
  k[0] = -1000.0F;
  guarded scratch = guarded_new((size_t)hn_attention_f32_scratch_floats(&a) * sizeof(float));
  for (int at = 0; at < VARIANTS; ++at) {
    if (!variant_runs(at)) continue;
    attention[at](&a, 0, 1, floats(&scratch));
    assert_float_equal(y[0], 2.0F, 1e-6F);
  }
  guarded_free(&scratch);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes), cmocka_unit_test(test_causal),
                                     cmocka_unit_test(test_blocks), cmocka_unit_test(test_extremes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
