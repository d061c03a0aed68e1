/* SPDX-License-Identifier: Apache-2.0 */
/* product_half_pack_c.c - weights of products of halves, once, when an engine is built. */
#include "kernels/cpu/gemm/product_half.h"
#include "kernels/cpu/half.inc.h"

enum { TILE = HN_PRODUCT_HALF_TILE, HALF = TILE / 2 };

static int64_t blocks_of(int64_t count) { return (count + TILE - 1) / TILE; }

int64_t hn_product_half_packed(int64_t groups, int64_t outs, int64_t depth, int64_t taps) {
  return groups * blocks_of(outs) * taps * blocks_of(depth) * HN_PRODUCT_HALF_WEIGHTS;
}

static float weight_at(const hn_product_half_weights *w, int64_t group, int64_t out, int64_t k, int64_t tap) {
  const int64_t column = w->columns ? k / w->depth : 0, channel = w->columns ? k % w->depth : k;
  return w->w[group * w->group + out * w->out + channel * w->in + column + tap * w->step];
}

/* Where element i of a block belongs: its channel and k, both within 32. */
typedef struct spot {
  int64_t channel, k;
} spot;
typedef spot spot_fn(int64_t i);

static spot in_pairs(int64_t i) { return (spot){i / (TILE * HALF) * HALF + i % TILE / 2, i / TILE % HALF * 2 + i % 2}; }
static spot in_rows(int64_t i) { return (spot){i % TILE, i / TILE}; }

static void pack(const hn_product_half_weights *weights, spot_fn *spot_of, uint16_t (*rounded)(float), uint16_t *to) {
  const int64_t out_blocks = blocks_of(weights->outs);
  const int64_t depth = weights->depth * (weights->columns ? weights->columns : 1), depth_blocks = blocks_of(depth);
  for (int64_t at = 0; at < weights->groups * out_blocks * weights->taps * depth_blocks; ++at) {
    const int64_t d = at % depth_blocks, tap = at / depth_blocks % weights->taps;
    const int64_t o = at / depth_blocks / weights->taps % out_blocks,
                  group = at / depth_blocks / weights->taps / out_blocks;
    for (int64_t i = 0; i < HN_PRODUCT_HALF_WEIGHTS; ++i, ++to) {
      const spot s = spot_of(i);
      const int64_t out = o * TILE + s.channel, k = d * TILE + s.k;
      *to = out < weights->outs && k < depth ? rounded(weight_at(weights, group, out, k, tap)) : 0;
    }
  }
}

void hn_product_bf16_pack_c(const hn_product_half_weights *weights, uint16_t *to) {
  pack(weights, in_pairs, bf16_from_f32, to);
}
void hn_product_f16_pack_c(const hn_product_half_weights *weights, uint16_t *to) {
  pack(weights, in_rows, f16_from_f32, to);
}
