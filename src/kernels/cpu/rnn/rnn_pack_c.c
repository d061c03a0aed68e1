/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_pack_c.c - recurrent weights in the order in which a step's tiles read them. */
#include "kernels/cpu/rnn/rnn.h"
#include "kernels/cpu/half.inc.h"

void hn_rnn_pack_f32_c(const float *r, int64_t gates, int64_t hidden, int64_t lanes, float *to) {
  const int64_t tiles = hn_rnn_tiles(hidden, lanes);
  for (int64_t tile = 0; tile < tiles; ++tile)
    for (int64_t k = 0; k < hidden; ++k)
      for (int64_t gate = 0; gate < gates; ++gate)
        for (int64_t lane = 0; lane < lanes; ++lane) {
          const int64_t unit = tile * lanes + lane;
          *to++ = unit < hidden ? r[(gate * hidden + unit) * hidden + k] : 0;
        }
}

void hn_rnn_pack_f16_c(const float *r, int64_t gates, int64_t hidden, int64_t lanes, uint16_t *to) {
  const int64_t tiles = hn_rnn_tiles(hidden, lanes);
  for (int64_t i = 0; i < tiles * hidden * gates * lanes; ++i) {
    const int64_t unit = i % lanes + i / (lanes * gates * hidden) * lanes, gate = i / lanes % gates;
    *to++ = unit < hidden ? f16_from_f32(r[(gate * hidden + unit) * hidden + i / (lanes * gates) % hidden]) : 0;
  }
}

void hn_rnn_pack_bf16_c(const float *r, int64_t gates, int64_t hidden, int64_t lanes, uint16_t *to) {
  const int64_t tiles = hn_rnn_tiles(hidden, lanes), pairs = (hidden + 1) / 2;
  for (int64_t i = 0; i < tiles * pairs * gates * lanes * 2; ++i) {
    const int64_t unit = i / 2 % lanes + i / (2 * lanes * gates * pairs) * lanes, gate = i / (2 * lanes) % gates;
    const int64_t k = i / (2 * lanes * gates) % pairs * 2 + i % 2;
    *to++ = unit < hidden && k < hidden ? bf16_from_f32(r[(gate * hidden + unit) * hidden + k]) : 0;
  }
}
