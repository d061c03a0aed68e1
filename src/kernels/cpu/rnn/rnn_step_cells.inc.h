/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_step_cells.inc.h - the cells of a recurrent layer's step, on one vector of hidden units whose products with the
 * state are there. Where HN_RNN_IS_ROUNDED is defined, weights are rounded to bf16 or f16, and sigmoid and tanh are
 * good to 2e-7 of 1 instead of to the last bits of a float. */
#ifndef HN_KERNELS_CPU_RNN_RNN_STEP_CELLS_INC_H
#define HN_KERNELS_CPU_RNN_RNN_STEP_CELLS_INC_H

#include "kernels/cpu/rnn/rnn.h"
#include "kernels/cpu/vecmath.inc.h"

HN_INLINE vf get(const float *p, int64_t n) { return n == HN_LANES ? v_load(p) : v_load_part(p, n); }
HN_INLINE void put(float *p, int64_t n, vf v) {
  if (n == HN_LANES)
    v_store(p, v);
  else
    v_store_part(p, n, v);
}
HN_INLINE vf clipped(vf v, float clip) { return clip > 0.0F ? v_max(v_set(-clip), v_min(v_set(clip), v)) : v; }

#if defined(HN_RNN_IS_ROUNDED)
HN_INLINE vf gate_of(vf x) { return v_sigmoid_fast(x); }
HN_INLINE vf squash(vf x) { return v_fma(v_set(2.0F), v_sigmoid_fast(x + x), v_set(-1.0F)); }
#else
HN_INLINE vf gate_of(vf x) { return v_sigmoid(x); }
HN_INLINE vf squash(vf x) { return v_tanh(x); }
#endif

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
  i = gate_of(clipped(i, s->clip));
  f = s->input_forget ? v_set(1.0F) - i : gate_of(clipped(f, s->clip));
  const vf c = f * before + i * squash(clipped(pre(u, 3) + u->sums[3], s->clip));
  if (s->peephole) o += get(s->peephole + s->hidden + u->at, u->lanes) * c;
  keep(u, s->c, c);
  finish(u, gate_of(clipped(o, s->clip)) * squash(c));
}

/* (1 - z) n + z h. */
HN_INLINE vf blend(vf z, vf n, vf h) { return (v_set(1.0F) - z) * n + z * h; }

HN_INLINE void gru_cell(const unit_row *u) {
  const float clip = u->s->clip;
  const vf z = gate_of(clipped(pre(u, 0) + state(u, 0, 0), clip));
  const vf r = gate_of(clipped(pre(u, 1) + state(u, 1, 1), clip));
  const vf n = squash(clipped(pre(u, 2) + r * state(u, 2, 2), clip));
  finish(u, blend(z, n, of(u, u->s->carried)));
}

HN_INLINE void gru_gates_cell(const unit_row *u) {
  const float clip = u->s->clip;
  keep(u, u->s->z, gate_of(clipped(pre(u, 0) + state(u, 0, 0), clip)));
  keep(u, u->s->reset, gate_of(clipped(pre(u, 1) + state(u, 1, 1), clip)) * of(u, u->s->carried));
}

HN_INLINE void gru_output_cell(const unit_row *u) {
  const vf n = squash(clipped(pre(u, 2) + state(u, 0, 2), u->s->clip));
  finish(u, blend(of(u, u->s->z), n, of(u, u->s->carried)));
}

HN_INLINE void plain_cell(const unit_row *u) {
  const vf x = clipped(pre(u, 0) + u->sums[0], u->s->clip);
  finish(u, u->s->is_relu ? v_max(v_set(0.0F), x) : squash(x));
}

#endif
