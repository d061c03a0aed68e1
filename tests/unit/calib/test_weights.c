/* SPDX-License-Identifier: Apache-2.0 */
/* test_weights.c - weights alone: scales and zero points of blocks by hand, every number of a matrix within half a step
 * of its weight, the last block shorter, and what stays or is refused. */
#include "calib/weights.h"
#include "unit/pass/pass_support.h"
#include <float.h>
#include <math.h>

enum { K = 100, N = 48, BLOCK = 32, BLOCKS = 4, CLEARED = 5 }; /* a column of zeros */

static float weight_at(int k, int n) { return n == CLEARED ? 0 : (float)((k * 37 + n * 101) % 199 - 80 - n) / 64; }

static size_t put_ones(char *to, size_t room, const char *head, int count) {
  size_t at = (size_t)snprintf(to, room, " const %s = [1", head);
  for (int i = 1; i < count; ++i) at += (size_t)snprintf(to + at, room - at, ", 1");
  return at + (size_t)snprintf(to + at, room - at, "]\n");
}

/* The matrix w as text, as [K, N] or turned over; odd: what stands in its middle instead. Beside it s, which is small,
 * and v, a convolution's. */
static char *model_of(bool turned, const char *odd, const char *nodes) {
  const size_t room = 1 << 17;
  char *text = malloc(room);
  assert_non_null(text);
  size_t at = (size_t)snprintf(text, room, "graph \"g\" opset 21 { in %%x: f32[3,%d] const %%w: f32[%d,%d] = [", K,
                               turned ? N : K, turned ? K : N);
  for (int i = 0; i < K * N; ++i) {
    const int k = turned ? i % K : i / N, n = turned ? i / K : i % N;
    at += odd && i == K * N / 2
              ? (size_t)snprintf(text + at, room - at, "%s%s", i ? ", " : "", odd)
              : (size_t)snprintf(text + at, room - at, "%s%.9g", i ? ", " : "", (double)weight_at(k, n));
  }
  at += (size_t)snprintf(text + at, room - at, "]\n");
  at += put_ones(text + at, room - at, "%s: f32[48,2]", 48 * 2);
  at += put_ones(text + at, room - at, "%v: f32[64,64,1,1]", 64 * 64);
  (void)snprintf(text + at, room - at, "%s }", nodes);
  return text;
}

typedef struct example {
  bench b;
  hn_sites sites;
  hone_status status;
} example;

static void begin(example *e, char *text, hone_dtype dtype, int64_t block) {
  const hn_weights_how how = {.dtype = dtype, .block = block};
  bench_parse(&e->b, text, strlen(text));
  free(text);
  assert_int_equal(hn_sites_find(e->b.graph, NULL, 0, &e->b.arena, &e->sites), HONE_OK);
  e->status = hn_weights_insert(&e->sites, &how);
  if (e->status == HONE_OK) assert_int_equal(hn_graph_verify(e->b.graph), HONE_OK);
}

static const struct {
  hone_dtype dtype;
  bool zeros;
  int least, most;
} forms[] = {{HONE_I8, false, -127, 127}, {HONE_I4, false, -7, 7}, {HONE_U8, true, 0, 255}, {HONE_U4, true, 0, 15}};

/* ---- scales ---- */

static void test_scales(void **state) {
  (void)state;
  static const float mixed[] = {-3, 9, 1, 9, 0.5f, 9}, above[] = {2, 6, 4}, below[] = {-2, -6}, none[] = {0, 0, 0};
  static const float tiny[] = {FLT_MIN, -FLT_MIN / 2}, huge[] = {FLT_MAX, -FLT_MAX};
  const struct {
    hone_dtype dtype;
    const float *data;
    int64_t count, step;
    double reach; /* over the greatest number */
    int zero;
  } rows[] = {{HONE_I8, mixed, 3, 2, 3.0 / 127, 0},
              {HONE_I4, mixed, 3, 2, 3.0 / 7, 0},
              {HONE_U8, mixed, 3, 2, 4.0 / 255, 191}, /* 3 / (4 / 255) = 191.25 */
              {HONE_U4, mixed, 3, 2, 4.0 / 15, 11},   /* 11.25 */
              {HONE_U4, above, 3, 1, 6.0 / 15, 0},    /* 0 is within, though no weight is */
              {HONE_U8, below, 2, 1, 6.0 / 255, 255},
              {HONE_I8, none, 3, 1, 1, 0},
              {HONE_U4, none, 3, 1, 1, 0},
              {HONE_I4, tiny, 2, 1, 1, 0},
              {HONE_U8, huge, 2, 1, 2 * (double)FLT_MAX / 255, 128}};
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    const hn_block_scale got = hn_block_scale_of(rows[i].dtype, rows[i].data, rows[i].count, rows[i].step);
    if (got.scale != (float)rows[i].reach || got.zero != rows[i].zero)
      fail_msg("row %zu: scale %.9g, zero %d", i, (double)got.scale, got.zero);
  }
}

/* ---- matrices ---- */

static void check_block(const hn_node *back, int form, bool turned, int n, int b) {
  const hone_tensor *numbers = back->in[0]->fact.constant, *scales = back->in[1]->fact.constant;
  const int end = (b + 1) * BLOCK < K ? (b + 1) * BLOCK : K, at = turned ? n * BLOCKS + b : b * N + n;
  double low = 0, high = 0;
  for (int k = b * BLOCK; k < end; ++k) {
    low = fmin(low, (double)weight_at(k, n));
    high = fmax(high, (double)weight_at(k, n));
  }
  const float reach = (float)((forms[form].zeros ? high - low : fmax(high, -low)) / forms[form].most);
  const double scale = hn_real(scales, at);
  const int64_t zero = forms[form].zeros ? hn_int(back->in[2]->fact.constant, at) : 0;
  assert_true(scale == (double)(n == CLEARED ? 1 : reach));
  for (int k = b * BLOCK; k < end; ++k) {
    const int64_t number = hn_int(numbers, turned ? n * K + k : k * N + n);
    assert_in_range(number - forms[form].least, 0, forms[form].most - forms[form].least);
    const double apart = fabs((double)(number - zero) * scale - (double)weight_at(k, n));
    if (apart > scale * 0.50001 || (weight_at(k, n) == 0 && apart > 0))
      fail_msg("form %d, k %d, n %d: %g apart, the scale is %g", form, k, n, apart, scale);
  }
}

static void test_matrices(void **state) {
  (void)state;
  for (int form = 0; form < (int)HN_COUNT(forms); ++form)
    for (int turned = 0; turned < 2; ++turned) {
      example e;
      begin(&e, model_of(turned, NULL, turned ? "%y = gemm(%x, %w) [transB=1] out %y" : "%y = matmul(%x, %w) out %y"),
            forms[form].dtype, BLOCK);
      assert_int_equal(e.status, HONE_OK);
      const hn_node *back = e.sites.nodes[0].node->in[1]->node;
      assert_non_null(back);
      assert_string_equal(back->op->name, "dequantize_linear");
      assert_int_equal(hn_attr_int(&back->attrs, "axis"), turned);
      assert_int_equal(hn_attr_int(&back->attrs, "block_size"), BLOCK);
      assert_int_equal(back->in[0]->fact.type.dtype, forms[form].dtype);
      assert_int_equal(back->in[1]->fact.type.shape.dim[turned], BLOCKS);
      assert_int_equal(back->in_count, forms[form].zeros ? 3 : 2);
      for (int n = 0; n < N; ++n)
        for (int b = 0; b < BLOCKS; ++b) check_block(back, form, turned, n, b);
      bench_end(&e.b);
    }
}

/* One matrix that two products read is written once; summed over the other axis it is another one. */
static void test_shared(void **state) {
  (void)state;
  example e;
  begin(&e, model_of(false, NULL, "%a = matmul(%x, %w) %b = matmul(%x, %w) %c = gemm(%a, %w) [transB=1] out %b out %c"),
        HONE_I8, BLOCK);
  assert_int_equal(e.status, HONE_OK);
  assert_int_equal(bench_count(&e.b, "dequantize_linear"), 2);
  assert_ptr_equal(e.sites.nodes[0].node->in[1], e.sites.nodes[1].node->in[1]);
  assert_ptr_not_equal(e.sites.nodes[0].node->in[1], e.sites.nodes[2].node->in[1]);
  bench_end(&e.b);
}

/* ---- what stays ---- */

static void test_stays(void **state) {
  (void)state;
  static const char nodes[] = "in %i: f32[1,64,2,2] %a = matmul(%x, %w) @\"large\" %b = matmul(%a, %s) @\"small\" %c = "
                              "conv(%i, %v) @\"conv\" out %b out %c";
  static const char *const order[] = {"large", "small", "conv"};
  for (int form = 0; form < (int)HN_COUNT(forms); ++form) {
    example e;
    const bool i8 = forms[form].dtype == HONE_I8;
    const char *const why[] = {NULL, "it has fewer than 4096 weights",
                               i8 ? NULL : "convolutions' weights are written as int8 alone"};
    begin(&e, model_of(false, NULL, nodes), forms[form].dtype, BLOCK);
    assert_int_equal(e.sites.node_count, 3);
    for (int i = 0; i < 3; ++i) {
      const hn_quant_node *node = &e.sites.nodes[i];
      assert_string_equal(node->node->name, order[i]);
      if (why[i])
        assert_string_equal(node->why, why[i]);
      else
        assert_null(node->why);
      assert_int_equal(hn_value_is_constant(node->node->in[1]), why[i] != NULL);
    }
    bench_end(&e.b);
  }
}

static void test_not_finite(void **state) {
  (void)state;
  static const char *const odd[] = {"nan", "inf"}, *const says[] = {"NaN", "infinity"};
  for (int i = 0; i < 2; ++i) {
    example e;
    begin(&e, model_of(false, odd[i], "%y = matmul(%x, %w) @\"m\" out %y"), HONE_U4, BLOCK);
    assert_int_equal(e.status, HONE_UNSUPPORTED);
    assert_non_null(strstr(last_message(&e.b), "node m: its weights w hold"));
    assert_non_null(strstr(last_message(&e.b), says[i]));
    bench_end(&e.b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scales), cmocka_unit_test(test_matrices),   cmocka_unit_test(test_shared),
      cmocka_unit_test(test_stays),  cmocka_unit_test(test_not_finite),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
