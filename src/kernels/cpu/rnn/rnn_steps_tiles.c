/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_steps_tiles.c - the steps on tiles, for weights of bf16: a tile of weights is 16 units of a gate and 32 of the
 * state, as hn_rnn_pack_bf16_c has them. The unit takes a KB of weights in the time in which AVX512_BF16 takes half of
 * one, and that for 16 rows at once: one row wastes 15 of 16 products and is faster still. */
/* isa: c amx_bf16 */
#include "kernels/cpu/amx.inc.h"
#define HN_RNN_IS_ROUNDED
#include "kernels/cpu/rnn/rnn_step_cells.inc.h"

enum {
  UNITS = 16,       /* of a tile */
  DEPTH = 32,       /* of the state in a tile */
  MOST_ROWS = 16,   /* in one pass */
  MOST_STREAMS = 4, /* tiles of sums */
  CHUNK = 32,       /* blocks of the state, rounded and kept in the first cache */
  TILE = MOST_ROWS * DEPTH
};

/* Sums of a pass. What is behind its rows is multiplied, too, and never looked at. */
typedef struct pass {
  const hn_rnn_step *s;
  int64_t row, rows, chunk; /* chunk: of the state that is in `state`, or -1 */
  _Alignas(64) uint16_t state[CHUNK * TILE];
  _Alignas(64) uint16_t rest[MOST_STREAMS * TILE]; /* weights of a last part, and zeros behind them */
  _Alignas(64) float sums[MOST_STREAMS][MOST_ROWS * UNITS];
} pass;

HN_INLINE int64_t blocks_of(int64_t n) { return (n + DEPTH - 1) / DEPTH; }

/* Blocks of 32 of all rows, zeros behind the last. */
static void round_state(pass *p, int64_t chunk) {
  const int64_t first = chunk * CHUNK * DEPTH, n = p->s->hidden - first;
  const int64_t blocks = blocks_of(n) < CHUNK ? blocks_of(n) : CHUNK;
  if (p->chunk == chunk) return;
  for (int64_t row = 0; row < p->rows; ++row) {
    const float *from = p->s->h_prev + (p->row + row) * p->s->hidden + first;
    for (int64_t k = 0; k < blocks * DEPTH; k += HN_LANES) {
      const int64_t left = n - k;
      const vf x = left >= HN_LANES ? v_load(from + k) : left > 0 ? v_load_part(from + k, left) : v_set(0.0F);
      v_store_bf16(p->state + k / DEPTH * TILE + row * DEPTH + k % DEPTH, x);
    }
  }
  p->chunk = chunk;
}

/* Adds the product of the state's tile 4 and weights to the stream's sums. */
HN_INLINE void add_to(amx_tiles *t, const int stream, const uint16_t *w, int64_t row_bytes) {
  if (stream == 0) {
    amx_load(t, 5, w, row_bytes);
    amx_dot_bf16(t, 0, 4, 5);
  } else if (stream == 1) {
    amx_load(t, 6, w, row_bytes);
    amx_dot_bf16(t, 1, 4, 6);
  } else if (stream == 2) {
    amx_load(t, 7, w, row_bytes);
    amx_dot_bf16(t, 2, 4, 7);
  } else {
    amx_load(t, 5, w, row_bytes);
    amx_dot_bf16(t, 3, 4, 5);
  }
}

HN_INLINE void add_block(amx_tiles *t, const uint16_t *state, const uint16_t *w, const int gates, const int first) {
  const int64_t row_bytes = gates * AMX_ROW_BYTES;
  amx_load(t, 4, state, AMX_ROW_BYTES);
  HN_UNROLL
  for (int gate = 0; gate < gates; ++gate) add_to(t, first + gate, w + gate * DEPTH, row_bytes);
}

/* The last part's weights where they may be read to the end of a tile. */
HN_INLINE const uint16_t *whole_block(pass *p, const uint16_t *w, int64_t n, const int gates) {
  for (int64_t i = 0; i < (n + 1) / 2 * gates; ++i) memcpy(p->rest + i * DEPTH, w + i * DEPTH, DEPTH * sizeof *w);
  return p->rest;
}

/* sums[gate] of a tile of units; few gates have several chains of sums, since each waits for the one before. */
HN_INLINE void multiply(pass *p, amx_tiles *t, const uint16_t *w, const int gates) {
  const int chains = MOST_STREAMS / gates;
  const int64_t blocks = blocks_of(p->s->hidden), step = gates * TILE, rest = p->s->hidden % DEPTH;
  amx_zero(t, 0);
  amx_zero(t, 1);
  amx_zero(t, 2);
  amx_zero(t, 3);
  for (int64_t first = 0; first < blocks; first += CHUNK) {
    const int64_t count = blocks - first < CHUNK ? blocks - first : CHUNK;
    const int64_t whole = first + count == blocks && rest ? count - 1 : count;
    const uint16_t *state = p->state;
    round_state(p, first / CHUNK);
    int64_t k = 0;
    for (; k + chains <= whole; k += chains) {
      HN_UNROLL
      for (int u = 0; u < chains; ++u, state += TILE, w += step) add_block(t, state, w, gates, u * gates);
    }
    for (; k < whole; ++k, state += TILE, w += step) add_block(t, state, w, gates, 0);
    if (whole < count) add_block(t, state, whole_block(p, w, rest, gates), gates, 0);
  }
  amx_store(t, 0, p->sums[0], UNITS * (int64_t)sizeof(float));
  amx_store(t, 1, p->sums[1], UNITS * (int64_t)sizeof(float));
  amx_store(t, 2, p->sums[2], UNITS * (int64_t)sizeof(float));
  amx_store(t, 3, p->sums[3], UNITS * (int64_t)sizeof(float));
}

HN_INLINE void finish_tile(const pass *p, int64_t at, const int gates, void (*cell)(const unit_row *)) {
  const int chains = MOST_STREAMS / gates;
  for (int64_t row = 0; row < p->rows; ++row)
    for (int64_t i = 0; i < UNITS && at + i < p->s->hidden; i += HN_LANES) {
      const int64_t left = p->s->hidden - at - i;
      vf sums[MOST_STREAMS];
      HN_UNROLL
      for (int gate = 0; gate < gates; ++gate) {
        sums[gate] = v_load(p->sums[gate] + row * UNITS + i);
        HN_UNROLL
        for (int u = 1; u < chains; ++u) sums[gate] += v_load(p->sums[u * gates + gate] + row * UNITS + i);
      }
      cell(&(unit_row){p->s, p->row + row, at + i, left < HN_LANES ? left : HN_LANES, sums});
    }
}

HN_INLINE void run(const hn_rnn_step *s, int64_t begin, int64_t end, const int gates, void (*cell)(const unit_row *)) {
  const int64_t tile_bf16 = (s->hidden + 1) / 2 * gates * DEPTH;
  pass p;
  amx_tiles tiles;
  p.s = s;
  memset(p.rest, 0, sizeof p.rest);
  amx_begin(&tiles);
  for (p.row = 0; p.row < s->rows; p.row += MOST_ROWS) {
    p.rows = s->rows - p.row < MOST_ROWS ? s->rows - p.row : MOST_ROWS;
    p.chunk = -1;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t tile = s->from_the_back ? begin + end - 1 - i : i;
      multiply(&p, &tiles, (const uint16_t *)s->packed + tile * tile_bf16, gates);
      finish_tile(&p, tile * UNITS, gates, cell);
    }
  }
  amx_end(&tiles);
}

void HN_SIMD_NAME(hn_lstm_step_tiles)(const hn_rnn_step *s, int64_t begin, int64_t end) {
  run(s, begin, end, 4, lstm_cell);
}
void HN_SIMD_NAME(hn_gru_step_tiles)(const hn_rnn_step *s, int64_t begin, int64_t end) {
  run(s, begin, end, 3, gru_cell);
}
void HN_SIMD_NAME(hn_gru_gates_step_tiles)(const hn_rnn_step *s, int64_t begin, int64_t end) {
  run(s, begin, end, 2, gru_gates_cell);
}
void HN_SIMD_NAME(hn_gru_output_step_tiles)(const hn_rnn_step *s, int64_t begin, int64_t end) {
  run(s, begin, end, 1, gru_output_cell);
}
void HN_SIMD_NAME(hn_plain_step_tiles)(const hn_rnn_step *s, int64_t begin, int64_t end) {
  run(s, begin, end, 1, plain_cell);
}
