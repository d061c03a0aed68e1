/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_cells.c - the cells' body: one vector of hidden units at a time through the whole equation. */
/* isa: c avx2 avx512 */
/* held: f32 f64 */
#include "kernels/cpu/rnn/rnn.h"
#include "kernels/cpu/held.inc.h"
#include "kernels/cpu/vecmath.inc.h"

HN_INLINE vf get(const real *p, int64_t n) { return n == HN_LANES ? v_load(p) : v_load_part(p, n); }
HN_INLINE void put(real *p, int64_t n, vf v) {
  if (n == HN_LANES)
    v_store(p, v);
  else
    v_store_part(p, n, v);
}
HN_INLINE int64_t lanes_at(int64_t i, int64_t n) { return n - i < HN_LANES ? n - i : HN_LANES; }
HN_INLINE vf clipped(vf v, real clip) { return clip > 0 ? v_max(v_set(-clip), v_min(v_set(clip), v)) : v; }
/* (1 - z) n + z h. */
HN_INLINE vf blend(vf z, vf n, vf h) { return (v_set(1.0F) - z) * n + z * h; }

void HN_HELD_NAME(hn_lstm_cell)(const hn_lstm_cell_args *a, int64_t begin, int64_t end) {
  const int64_t size = a->hidden;
  for (int64_t row = begin; row < end; ++row) {
    const real *gates = (const real *)a->gates + row * a->gates_stride;
    for (int64_t j = 0; j < size; j += HN_LANES) {
      const int64_t m = lanes_at(j, size);
      const vf before = get((const real *)a->c_prev + row * a->c_prev_stride + j, m);
      vf i = get(gates + j, m), o = get(gates + size + j, m), f = get(gates + 2 * size + j, m);
      if (a->peephole) {
        i += get((const real *)a->peephole + j, m) * before;
        f += get((const real *)a->peephole + 2 * size + j, m) * before;
      }
      i = v_sigmoid(clipped(i, (real)a->clip));
      f = a->input_forget ? v_set(1.0F) - i : v_sigmoid(clipped(f, (real)a->clip));
      const vf c = f * before + i * v_tanh(clipped(get(gates + 3 * size + j, m), (real)a->clip));
      if (a->peephole) o += get((const real *)a->peephole + size + j, m) * c;
      put((real *)a->c + row * a->c_stride + j, m, c);
      put((real *)a->h + row * a->h_stride + j, m, v_sigmoid(clipped(o, (real)a->clip)) * v_tanh(c));
    }
  }
}

void HN_HELD_NAME(hn_gru_cell)(const hn_gru_cell_args *a, int64_t begin, int64_t end) {
  const int64_t size = a->hidden;
  for (int64_t row = begin; row < end; ++row) {
    const real *x = (const real *)a->x_gates + row * a->x_gates_stride,
               *h = (const real *)a->h_gates + row * a->h_gates_stride;
    for (int64_t j = 0; j < size; j += HN_LANES) {
      const int64_t m = lanes_at(j, size);
      const vf z = v_sigmoid(clipped(get(x + j, m) + get(h + j, m), (real)a->clip));
      const vf r = v_sigmoid(clipped(get(x + size + j, m) + get(h + size + j, m), (real)a->clip));
      const vf n = v_tanh(clipped(get(x + 2 * size + j, m) + r * get(h + 2 * size + j, m), (real)a->clip));
      put((real *)a->h + row * a->h_stride + j, m,
          blend(z, n, get((const real *)a->h_prev + row * a->h_prev_stride + j, m)));
    }
  }
}

void HN_HELD_NAME(hn_gru_gates)(const hn_gru_cell_args *a, int64_t begin, int64_t end) {
  const int64_t size = a->hidden;
  for (int64_t row = begin; row < end; ++row) {
    const real *x = (const real *)a->x_gates + row * a->x_gates_stride,
               *h = (const real *)a->h_gates + row * a->h_gates_stride;
    for (int64_t j = 0; j < size; j += HN_LANES) {
      const int64_t m = lanes_at(j, size);
      const vf r = v_sigmoid(clipped(get(x + size + j, m) + get(h + size + j, m), (real)a->clip));
      put((real *)a->z + row * a->z_stride + j, m, v_sigmoid(clipped(get(x + j, m) + get(h + j, m), (real)a->clip)));
      put((real *)a->reset + row * a->reset_stride + j, m,
          r * get((const real *)a->h_prev + row * a->h_prev_stride + j, m));
    }
  }
}

void HN_HELD_NAME(hn_gru_output)(const hn_gru_cell_args *a, int64_t begin, int64_t end) {
  const int64_t size = a->hidden;
  for (int64_t row = begin; row < end; ++row) {
    const real *x = (const real *)a->x_gates + row * a->x_gates_stride + 2 * size;
    const real *h = (const real *)a->h_gates + row * a->h_gates_stride + 2 * size;
    for (int64_t j = 0; j < size; j += HN_LANES) {
      const int64_t m = lanes_at(j, size);
      const vf n = v_tanh(clipped(get(x + j, m) + get(h + j, m), (real)a->clip));
      const vf z = get((const real *)a->z + row * a->z_stride + j, m);
      put((real *)a->h + row * a->h_stride + j, m,
          blend(z, n, get((const real *)a->h_prev + row * a->h_prev_stride + j, m)));
    }
  }
}
