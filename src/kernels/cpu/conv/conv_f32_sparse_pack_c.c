/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32_sparse_pack_c.c - are weights two of four, and which two. */
#include "kernels/cpu/conv/conv.h"

#include <string.h>

enum { BLOCK = 16, FOUR = 4, PICKED = 2 };

static int64_t blocks_of(int64_t channels) { return (channels + BLOCK - 1) / BLOCK; }

int64_t hn_conv_f32_sparse_block_floats(int64_t in_channels) {
  const int64_t in_blocks = blocks_of(in_channels), halves = in_blocks * BLOCK;
  return in_blocks * HN_CONV_F32_SPARSE_FLOATS + blocks_of(halves / 2) * BLOCK;
}

int hn_conv_f32_is_sparse(const float *weights, int64_t out_channels, int64_t in_channels) {
  if (in_channels % FOUR) return 0;
  for (int64_t i = 0; i < out_channels * in_channels; i += FOUR) {
    int others = 0;
    for (int k = 0; k < FOUR; ++k) others += weights[i + k] != 0;
    if (others > PICKED) return 0;
  }
  return 1;
}

/* One output: its weights a lane of each vector, its places two bits each, the first lowest. */
static void pack_output(const float *from, int64_t in_channels, float *lane, uint16_t *places) {
  for (int64_t group = 0; group < in_channels / FOUR; ++group, from += FOUR) {
    const int64_t block = group / (BLOCK / FOUR), in_block = group % (BLOCK / FOUR);
    int picked = 0;
    for (int k = 0; k < FOUR; ++k) {
      if (from[k] == 0) continue;
      const int64_t at = in_block * PICKED + picked++;
      lane[block * HN_CONV_F32_SPARSE_FLOATS + at * BLOCK] = from[k];
      places[block * BLOCK] = (uint16_t)(places[block * BLOCK] | k << 2 * at);
    }
  }
}

void hn_conv_f32_sparse_pack_c(const float *weights, int64_t out_channels, int64_t in_channels, float *packed) {
  const int64_t floats = hn_conv_f32_sparse_block_floats(in_channels);
  memset(packed, 0, (size_t)(blocks_of(out_channels) * floats) * sizeof *packed);
  for (int64_t o = 0; o < out_channels; ++o) {
    float *block = packed + o / BLOCK * floats;
    uint16_t *places = (uint16_t *)(void *)(block + blocks_of(in_channels) * HN_CONV_F32_SPARSE_FLOATS);
    pack_output(weights + o * in_channels, in_channels, block + o % BLOCK, places + o % BLOCK);
  }
}
