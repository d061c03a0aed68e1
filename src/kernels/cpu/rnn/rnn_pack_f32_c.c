/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_pack_f32_c.c - recurrent weights in the order in which a step's tiles read them. */
#include "kernels/cpu/rnn/rnn.h"

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
