/* SPDX-License-Identifier: Apache-2.0 */
/* product_bf16_pack_c.c - weights of product_bf16, once, when an engine is built. */
#include "kernels/cpu/gemm/product_bf16.h"
#include "kernels/cpu/half.inc.h"

enum { TILE = HN_PRODUCT_BF16_TILE, HALF = TILE / 2 };

static int64_t blocks_of(int64_t count) { return (count + TILE - 1) / TILE; }

int64_t hn_product_bf16_packed(int64_t groups, int64_t outs, int64_t depth, int64_t taps) {
  return groups * blocks_of(outs) * taps * blocks_of(depth) * HN_PRODUCT_BF16_WEIGHTS;
}

static float weight_at(const hn_product_bf16_weights *w, int64_t group, int64_t out, int64_t k, int64_t tap) {
  const int64_t column = w->columns ? k / w->depth : 0, channel = w->columns ? k % w->depth : k;
  return w->w[group * w->group + out * w->out + channel * w->in + column + tap * w->step];
}

void hn_product_bf16_pack_c(const hn_product_bf16_weights *weights, uint16_t *to) {
  const int64_t out_blocks = blocks_of(weights->outs);
  const int64_t depth = weights->depth * (weights->columns ? weights->columns : 1), depth_blocks = blocks_of(depth);
  for (int64_t at = 0; at < weights->groups * out_blocks * weights->taps * depth_blocks; ++at) {
    const int64_t d = at % depth_blocks, tap = at / depth_blocks % weights->taps;
    const int64_t o = at / depth_blocks / weights->taps % out_blocks,
                  group = at / depth_blocks / weights->taps / out_blocks;
    for (int64_t i = 0; i < HN_PRODUCT_BF16_WEIGHTS; ++i, ++to) {
      const int64_t half = i / (TILE * HALF), k = d * TILE + i / TILE % HALF * 2 + i % 2;
      const int64_t out = o * TILE + half * HALF + i % TILE / 2;
      *to = out < weights->outs && k < depth ? bf16_from_f32(weight_at(weights, group, out, k, tap)) : 0;
    }
  }
}
