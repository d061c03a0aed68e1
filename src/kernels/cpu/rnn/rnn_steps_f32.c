/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_steps_f32.c - the steps' body. A row alone sums even and odd k apart, because its few sums in one
 * chain each would wait for the FMA's latency; several rows share every weight that is loaded. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/rnn/rnn.h"
#include "kernels/cpu/vecmath.inc.h"

#if defined(__clang__)
#define HN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define HN_UNROLL _Pragma("GCC unroll 64")
#endif

enum { MOST_ROWS = HN_LANES == 16 ? 4 : 2, MOST_GATES = 4, MOST_SUMS = 16, CHAINS_ALONE = 8 };

HN_INLINE vf get(const float *p, int64_t n) { return n == HN_LANES ? v_load(p) : v_load_part(p, n); }
HN_INLINE void put(float *p, int64_t n, vf v) {
  if (n == HN_LANES)
    v_store(p, v);
  else
    v_store_part(p, n, v);
}
HN_INLINE vf clipped(vf v, float clip) { return clip > 0.0F ? v_max(v_set(-clip), v_min(v_set(clip), v)) : v; }

/* sums[row * gates + gate] = a[row] times the tile's weights; `apart` chains a sum. Counts are constants. */
HN_INLINE void dot(const float *w, const float *a, int64_t n, const int rows, const int gates, const int apart,
                   vf *sums) {
  vf acc[MOST_SUMS];
  HN_UNROLL
  for (int i = 0; i < rows * gates * apart; ++i) acc[i] = v_set(0.0F);
  int64_t k = 0;
  for (; k + apart <= n; k += apart, w += apart * gates * HN_LANES) {
    HN_UNROLL
    for (int u = 0; u < apart; ++u) {
      HN_UNROLL
      for (int gate = 0; gate < gates; ++gate) {
        const vf weight = v_load(w + (u * gates + gate) * HN_LANES);
        HN_UNROLL
        for (int row = 0; row < rows; ++row) acc[(u * rows + row) * gates + gate] += v_set(a[row * n + k + u]) * weight;
      }
    }
  }
  for (; k < n; ++k, w += gates * HN_LANES) {
    HN_UNROLL
    for (int gate = 0; gate < gates; ++gate) {
      const vf weight = v_load(w + gate * HN_LANES);
      HN_UNROLL
      for (int row = 0; row < rows; ++row) acc[row * gates + gate] += v_set(a[row * n + k]) * weight;
    }
  }
  HN_UNROLL
  for (int i = 0; i < rows * gates; ++i) {
    sums[i] = acc[i];
    HN_UNROLL
    for (int u = 1; u < apart; ++u) sums[i] += acc[u * rows * gates + i];
  }
}

/* One row of a tile: where its units are, how many, and the state's products of all gates. */
typedef struct unit_row {
  const hn_rnn_step *s;
  int64_t row, at, lanes; /* at: the first unit */
  const vf *sums;
} unit_row;

HN_INLINE vf pre(const unit_row *u, int64_t gate) {
  const hn_rnn_step *s = u->s;
  return get(s->x + u->row * s->x_stride + gate * s->hidden + u->at, u->lanes);
}
HN_INLINE vf state(const unit_row *u, int64_t gate, int64_t bias_gate) {
  const hn_rnn_step *s = u->s;
  return s->h_bias ? u->sums[gate] + get(s->h_bias + bias_gate * s->hidden + u->at, u->lanes) : u->sums[gate];
}
HN_INLINE vf of(const unit_row *u, const float *rows) { return get(rows + u->row * u->s->hidden + u->at, u->lanes); }
HN_INLINE void keep(const unit_row *u, float *rows, vf v) { put(rows + u->row * u->s->hidden + u->at, u->lanes, v); }
HN_INLINE void finish(const unit_row *u, vf h) {
  keep(u, u->s->h, h);
  if (u->s->y) put(u->s->y + u->row * u->s->y_stride + u->at, u->lanes, h);
}

HN_INLINE void lstm_cell(const unit_row *u) {
  const hn_rnn_step *s = u->s;
  const vf before = of(u, s->c_prev);
  vf i = pre(u, 0) + u->sums[0], o = pre(u, 1) + u->sums[1], f = pre(u, 2) + u->sums[2];
  if (s->peephole) {
    i += get(s->peephole + u->at, u->lanes) * before;
    f += get(s->peephole + 2 * s->hidden + u->at, u->lanes) * before;
  }
  i = v_sigmoid(clipped(i, s->clip));
  f = s->input_forget ? v_set(1.0F) - i : v_sigmoid(clipped(f, s->clip));
  const vf c = f * before + i * v_tanh(clipped(pre(u, 3) + u->sums[3], s->clip));
  if (s->peephole) o += get(s->peephole + s->hidden + u->at, u->lanes) * c;
  keep(u, s->c, c);
  finish(u, v_sigmoid(clipped(o, s->clip)) * v_tanh(c));
}

/* (1 - z) n + z h. */
HN_INLINE vf blend(vf z, vf n, vf h) { return (v_set(1.0F) - z) * n + z * h; }

HN_INLINE void gru_cell(const unit_row *u) {
  const float clip = u->s->clip;
  const vf z = v_sigmoid(clipped(pre(u, 0) + state(u, 0, 0), clip));
  const vf r = v_sigmoid(clipped(pre(u, 1) + state(u, 1, 1), clip));
  const vf n = v_tanh(clipped(pre(u, 2) + r * state(u, 2, 2), clip));
  finish(u, blend(z, n, of(u, u->s->carried)));
}

HN_INLINE void gru_gates_cell(const unit_row *u) {
  const float clip = u->s->clip;
  keep(u, u->s->z, v_sigmoid(clipped(pre(u, 0) + state(u, 0, 0), clip)));
  keep(u, u->s->reset, v_sigmoid(clipped(pre(u, 1) + state(u, 1, 1), clip)) * of(u, u->s->carried));
}

HN_INLINE void gru_output_cell(const unit_row *u) {
  const vf n = v_tanh(clipped(pre(u, 2) + state(u, 0, 2), u->s->clip));
  finish(u, blend(of(u, u->s->z), n, of(u, u->s->carried)));
}

HN_INLINE void plain_cell(const unit_row *u) {
  const vf x = clipped(pre(u, 0) + u->sums[0], u->s->clip);
  finish(u, u->s->is_relu ? v_max(v_set(0.0F), x) : v_tanh(x));
}

HN_INLINE void tile_rows(const hn_rnn_step *s, const float *w, unit_row *u, const int rows, const int gates,
                         void (*cell)(const unit_row *)) {
  vf sums[MOST_SUMS];
  const int apart = rows == 1 ? CHAINS_ALONE / gates : 1;
  dot(w, s->h_prev + u->row * s->hidden, s->hidden, rows, gates, apart, sums);
  HN_UNROLL
  for (int row = 0; row < rows; ++row, ++u->row) {
    u->sums = sums + row * gates;
    cell(u);
  }
}

HN_INLINE void run(const hn_rnn_step *s, int64_t begin, int64_t end, const int gates, void (*cell)(const unit_row *)) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t tile = s->from_the_back ? begin + end - 1 - i : i, at = tile * HN_LANES;
    const float *w = s->packed + tile * HN_LANES * gates * s->hidden;
    unit_row u = {.s = s, .at = at, .lanes = s->hidden - at < HN_LANES ? s->hidden - at : HN_LANES};
    while (u.row + MOST_ROWS <= s->rows) tile_rows(s, w, &u, MOST_ROWS, gates, cell);
    while (MOST_ROWS > 2 && u.row + 2 <= s->rows) tile_rows(s, w, &u, 2, gates, cell);
    while (u.row < s->rows) tile_rows(s, w, &u, 1, gates, cell);
  }
}

#define STEP(name, gates, cell)                                                                                        \
  void HN_SIMD_NAME(name)(const hn_rnn_step *s, int64_t begin, int64_t end) { run(s, begin, end, gates, cell); }
STEP(hn_lstm_step_f32, 4, lstm_cell)
STEP(hn_gru_step_f32, 3, gru_cell)
STEP(hn_gru_gates_step_f32, 2, gru_gates_cell)
STEP(hn_gru_output_step_f32, 1, gru_output_cell)
STEP(hn_plain_step_f32, 1, plain_cell)
