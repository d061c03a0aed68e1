/* SPDX-License-Identifier: Apache-2.0 */
/* test_rnn.c - LSTM and GRU cells against their equations in double, with strides, peepholes and clipping; steps on
 * tiles, which no row has in plain C, against those on vectors. */
#include "kernels/cpu/rnn/rnn.h"
#include <hone/types.h>

#include "kernel_test.h"

static hn_lstm_cell_fn *const lstm[] = VARIANTS_OF(hn_lstm_cell_f32);
static hn_gru_cell_fn *const gru[] = VARIANTS_OF(hn_gru_cell_f32);
static hn_gru_cell_fn *const gru_gates[] = VARIANTS_OF(hn_gru_gates_f32);
static hn_gru_cell_fn *const gru_output[] = VARIANTS_OF(hn_gru_output_f32);

enum { ROWS = 3, GAP = 5 }; /* GAP: floats between rows that must stay as they are */
static const double bound = 1.5e-6;

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double clipped(double x, double clip) { return clip > 0 ? fmax(-clip, fmin(clip, x)) : x; }

static void check_lstm(const hn_lstm_cell_args *a, const float *c_prev, const char *what) {
  for (int64_t i = 0; i < ROWS * a->hidden; ++i) {
    const int64_t row = i / a->hidden, j = i % a->hidden, n = a->hidden;
    const float *g = as_f32(a->gates) + row * a->gates_stride + j, *p = a->peephole;
    const double before = c_prev[row * a->c_prev_stride + j];
    const double in = sigmoid(clipped(g[0] + (p ? p[j] * before : 0), a->clip));
    const double forget =
        a->input_forget ? 1 - in : sigmoid(clipped(g[2 * n] + (p ? p[2 * n + j] * before : 0), a->clip));
    const double c = forget * before + in * tanh(clipped(g[3 * n], a->clip));
    const double out = sigmoid(clipped(g[n] + (p ? p[n + j] * c : 0), a->clip));
    CHECK_NEAR(as_f32(a->c)[row * a->c_stride + j], c, bound, "%s c, hidden %d", what, (int)n);
    CHECK_NEAR(as_f32(a->h)[row * a->h_stride + j], out * tanh(c), bound, "%s h, hidden %d", what, (int)n);
  }
}

/* What lies between the rows must still be what memset put there. */
static void check_gaps(const guarded *g, int64_t hidden) {
  for (int64_t row = 0; row + 1 < ROWS; ++row)
    for (int64_t i = 0; i < GAP * 4; ++i) assert_int_equal(g->data[(row * (hidden + GAP) + hidden) * 4 + i], 0x5a);
}

static guarded gapped(int64_t hidden) {
  guarded g = guarded_new((size_t)(ROWS * (hidden + GAP) - GAP) * 4);
  memset(g.data, 0x5a, g.bytes);
  return g;
}

static void test_lstm(void **state) {
  (void)state;
  uint64_t seed = 13;
  for (int64_t n = 1; n < 70; ++n) {
    guarded gates = random_floats(&seed, ROWS * 4 * n, 6.0F), c_prev = random_floats(&seed, ROWS * n, 2.0F);
    guarded peephole = random_floats(&seed, 3 * n, 1.0F), c = gapped(n), h = gapped(n);
    for (int v = 0; v < VARIANTS; ++v) {
      for (int options = 0; options < 8 && variant_runs(v); ++options) {
        const hn_lstm_cell_args a = {.gates = floats(&gates),
                                     .c_prev = floats(&c_prev),
                                     .c = floats(&c),
                                     .h = floats(&h),
                                     .hidden = n,
                                     .gates_stride = 4 * n,
                                     .c_prev_stride = n,
                                     .c_stride = n + GAP,
                                     .h_stride = n + GAP,
                                     .peephole = options & 1 ? floats(&peephole) : NULL,
                                     .clip = options & 2 ? 1.5F : 0.0F,
                                     .input_forget = options & 4};
        IN_PIECES(&seed, ROWS, lstm[v](&a, begin, end))
        check_lstm(&a, a.c_prev, variant_name[v]);
        check_gaps(&c, n);
        check_gaps(&h, n);
      }
    }
    guarded *all[] = {&gates, &c_prev, &peephole, &c, &h};
    for (size_t i = 0; i < COUNT(all); ++i) guarded_free(all[i]);
  }
}

static void check_gru(const hn_gru_cell_args *a, int reset_before, const char *what) {
  for (int64_t i = 0; i < ROWS * a->hidden; ++i) {
    const int64_t row = i / a->hidden, j = i % a->hidden, n = a->hidden;
    const float *x = as_f32(a->x_gates) + row * a->x_gates_stride + j,
                *g = as_f32(a->h_gates) + row * a->h_gates_stride + j;
    const double before = as_f32(a->h_prev)[row * a->h_prev_stride + j];
    const double z = sigmoid(clipped((double)x[0] + g[0], a->clip));
    const double r = sigmoid(clipped((double)x[n] + g[n], a->clip));
    const double next = tanh(clipped(x[2 * n] + (reset_before ? 1 : r) * g[2 * n], a->clip));
    CHECK_NEAR(as_f32(a->h)[row * a->h_stride + j], (1 - z) * next + z * before, bound, "%s h, hidden %d", what,
               (int)n);
    if (!reset_before) continue;
    CHECK_NEAR(as_f32(a->z)[row * a->z_stride + j], z, bound, "%s z", what);
    CHECK_NEAR(as_f32(a->reset)[row * a->reset_stride + j], r * before, bound, "%s reset", what);
  }
}

static void test_gru(void **state) {
  (void)state;
  uint64_t seed = 14;
  for (int64_t n = 1; n < 70; ++n) {
    guarded x = random_floats(&seed, ROWS * 3 * n, 3.0F), g = random_floats(&seed, ROWS * 3 * n, 3.0F);
    guarded h_prev = random_floats(&seed, ROWS * n, 1.0F), h = gapped(n), z = gapped(n), reset = gapped(n);
    for (int v = 0; v < VARIANTS * 2; ++v) {
      if (!variant_runs(v / 2)) continue;
      hn_gru_cell_args a = {.x_gates = floats(&x),
                            .h_gates = floats(&g),
                            .h_prev = floats(&h_prev),
                            .h = floats(&h),
                            .z = floats(&z),
                            .reset = floats(&reset),
                            .hidden = n,
                            .x_gates_stride = 3 * n,
                            .h_gates_stride = 3 * n,
                            .h_prev_stride = n,
                            .h_stride = n + GAP,
                            .z_stride = n + GAP,
                            .reset_stride = n + GAP,
                            .clip = v % 2 ? 1.0F : 0.0F};
      IN_PIECES(&seed, ROWS, gru[v / 2](&a, begin, end))
      check_gru(&a, 0, variant_name[v / 2]);
      memset(h.data, 0x5a, h.bytes);
      IN_PIECES(&seed, ROWS, gru_gates[v / 2](&a, begin, end))
      IN_PIECES(&seed, ROWS, gru_output[v / 2](&a, begin, end))
      check_gru(&a, 1, variant_name[v / 2]);
      check_gaps(&h, n);
      check_gaps(&z, n);
      check_gaps(&reset, n);
    }
    guarded *all[] = {&x, &g, &h_prev, &h, &z, &reset};
    for (size_t i = 0; i < COUNT(all); ++i) guarded_free(all[i]);
  }
}

/* Two kernels of one step: what their weights are held in, and the units of their tiles. */
typedef struct pair {
  hn_rnn_step_fn *step[2];
  int gates, lanes[2];
  hone_dtype held[2];
} pair;

/* Weights of a kind, packed for tiles of so many units. */
static guarded pack_weights(const guarded *r, const pair *p, int kind, int64_t n) {
  const int64_t lanes = p->lanes[kind], floats_each = hn_rnn_packed_floats(n, p->gates, lanes);
  guarded packed;
  if (p->held[kind] == HONE_BF16) {
    packed = guarded_new((size_t)hn_rnn_packed_pairs(n, p->gates, lanes) * 4);
    hn_rnn_pack_bf16_c(floats(r), p->gates, n, lanes, (uint16_t *)(void *)packed.data);
  } else if (p->held[kind] == HONE_F16) {
    packed = guarded_new((size_t)floats_each * 2);
    hn_rnn_pack_f16_c(floats(r), p->gates, n, lanes, (uint16_t *)(void *)packed.data);
  } else {
    packed = guarded_new((size_t)floats_each * 4);
    hn_rnn_pack_f32_c(floats(r), p->gates, n, lanes, floats(&packed));
  }
  return packed;
}

/* The state is exact in bf16 and weights are in f16, so that both multiply the same. */
static void check_pair(uint64_t *seed, const pair *p, int64_t n, int64_t rows) {
  enum { STATES = 5, H = 0, C = 1, Z = 2, RESET = 3, Y = 4 };
  guarded r = random_floats(seed, p->gates * n * n, 0.3F), x = random_floats(seed, rows * 4 * n, 2.0F);
  guarded h_prev = random_floats(seed, rows * n, 1.0F), c_prev = random_floats(seed, rows * n, 1.0F), out[2];
  for (int64_t i = 0; i < rows * n; ++i) floats(&h_prev)[i] = roundf(floats(&h_prev)[i] * 64) / 64;
  for (int64_t i = 0; i < p->gates * n * n; ++i) floats(&r)[i] = roundf(floats(&r)[i] * 1024) / 1024;
  for (int kind = 0; kind < 2; ++kind) {
    guarded packed = pack_weights(&r, p, kind, n);
    out[kind] = guarded_new((size_t)(STATES * rows * n) * sizeof(float));
    memset(out[kind].data, 0, out[kind].bytes);
    float *to = floats(&out[kind]);
    const hn_rnn_step s = {.packed = packed.data,
                           .x = floats(&x),
                           .h_bias = floats(&x),
                           .h_prev = floats(&h_prev),
                           .h = to + H * rows * n,
                           .c_prev = floats(&c_prev),
                           .c = to + C * rows * n,
                           .carried = floats(&h_prev),
                           .z = to + Z * rows * n,
                           .reset = to + RESET * rows * n,
                           .y = to + Y * rows * n,
                           .rows = rows,
                           .hidden = n,
                           .x_stride = 4 * n,
                           .y_stride = n,
                           .from_the_back = (int32_t)(n % 2)};
    IN_PIECES(seed, hn_rnn_tiles(n, p->lanes[kind]), p->step[kind](&s, begin, end))
    guarded_free(&packed);
  }
  for (int64_t i = 0; i < STATES * rows * n; ++i)
    CHECK_NEAR(floats(&out[0])[i], floats(&out[1])[i], 1e-5, "%d gates, hidden %d", p->gates, (int)n);
  guarded *all[] = {&r, &x, &h_prev, &c_prev, &out[0], &out[1]};
  for (size_t i = 0; i < COUNT(all); ++i) guarded_free(all[i]);
}

static void test_tiles(void **state) {
  (void)state;
  uint64_t seed = 15;
  static const pair pairs[] = {
      {{hn_lstm_step_tiles_c, hn_lstm_step_bf16_c}, 4, {16, 4}, {HONE_BF16, HONE_BF16}},
      {{hn_gru_step_tiles_c, hn_gru_step_bf16_c}, 3, {16, 4}, {HONE_BF16, HONE_BF16}},
      {{hn_gru_gates_step_tiles_c, hn_gru_gates_step_bf16_c}, 2, {16, 4}, {HONE_BF16, HONE_BF16}},
      {{hn_gru_output_step_tiles_c, hn_gru_output_step_bf16_c}, 1, {16, 4}, {HONE_BF16, HONE_BF16}},
      {{hn_plain_step_tiles_c, hn_plain_step_bf16_c}, 1, {16, 4}, {HONE_BF16, HONE_BF16}}};
  for (size_t i = 0; i < COUNT(pairs); ++i) {
    for (int64_t n = 1; n < 70; n += 6) check_pair(&seed, &pairs[i], n, 1 + n % 4 * 6);
    check_pair(&seed, &pairs[i], 160, 2);
  }
  check_pair(&seed, &pairs[4], 1063, 1); /* its state is rounded in two parts */
}

static void test_halves(void **state) {
  (void)state;
  uint64_t seed = 16;
  static const pair pairs[] = {{{hn_lstm_step_f16_c, hn_lstm_step_f32_c}, 4, {4, 4}, {HONE_F16}},
                               {{hn_gru_step_f16_c, hn_gru_step_f32_c}, 3, {4, 4}, {HONE_F16}},
                               {{hn_gru_gates_step_f16_c, hn_gru_gates_step_f32_c}, 2, {4, 4}, {HONE_F16}},
                               {{hn_gru_output_step_f16_c, hn_gru_output_step_f32_c}, 1, {4, 4}, {HONE_F16}},
                               {{hn_plain_step_f16_c, hn_plain_step_f32_c}, 1, {4, 4}, {HONE_F16}}};
  for (size_t i = 0; i < COUNT(pairs); ++i)
    for (int64_t n = 1; n < 90; n += 5) check_pair(&seed, &pairs[i], n, 1 + n % 4 * 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lstm), cmocka_unit_test(test_gru),
                                     cmocka_unit_test(test_tiles), cmocka_unit_test(test_halves)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
