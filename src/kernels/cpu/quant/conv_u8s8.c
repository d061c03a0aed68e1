/* SPDX-License-Identifier: Apache-2.0 */
/* isa: c avx2 avx512 avx_vnni avx512_vnni */
/* conv_u8s8.c - convolution of bytes as a product of matrices: a unit gathers what its pixels read into a panel, one
 * pixel behind the other in the order of the weights, and multiplies it tile by tile. Where a pixel's channels lie as
 * the weights want them (1x1), instruction sets that multiply bytes read them where they are. */
#include "kernels/cpu/quant/conv_words.inc.h"
/* first: what an element is */
#include "kernels/cpu/quant/conv_panel.inc.h"

/* Pixels and blocks of 16 channels of the largest tile: as many sums as there are registers. */
#if defined(HN_SIMD_AVX512)
enum { TILE_PIXELS = 12, TILE_BLOCKS = 2 };
#elif defined(HN_SIMD_AVX2)
enum { TILE_PIXELS = 6, TILE_BLOCKS = 1 };
#else
enum { TILE_PIXELS = 2, TILE_BLOCKS = 1 };
#endif

typedef struct tile {
  const panel *panel;
  const w_element *x; /* of its first pixel */
  const int8_t *weights;
  const int32_t *base, *w_zero, *sums;
  const float *scale, *bias;
  int64_t weight_stride; /* from block to block */
  w_target target[TILE_BLOCKS];
  int64_t pixel;
} tile;

/* x: of each third pixel; the two behind it are reached by the stride, so that few registers hold addresses. */
HN_INLINE void step(vi *acc, const int vectors, const int pixels, const w_element *const *x, int64_t stride, int at,
                    const int8_t *w, int64_t weight_stride) {
  vi weights[TILE_BLOCKS * W_VECTORS];
  HN_UNROLL
  for (int v = 0; v < vectors; ++v)
    weights[v] = w_weights(w + v / W_VECTORS * weight_stride + v % W_VECTORS * (W_BYTES / W_VECTORS));
  HN_UNROLL
  for (int p = 0; p < pixels; ++p) {
    const vi word = w_spread(x[p / 3] + p % 3 * stride + at);
    HN_UNROLL
    for (int v = 0; v < vectors; ++v) acc[p * vectors + v] = w_dot(acc[p * vectors + v], word, weights[v]);
  }
}

HN_INLINE void run_tile(const tile *t, const int blocks, const int pixels) {
  const int vectors = blocks * W_VECTORS;
  vi acc[TILE_PIXELS * TILE_BLOCKS * W_VECTORS];
  const panel *s = t->panel;
  const w_element *chunk = t->x;
  const int8_t *w = t->weights;
  HN_UNROLL
  for (int v = 0; v < vectors; ++v) {
    const vi base = vi_load(t->base + v * HN_LANES);
    HN_UNROLL
    for (int p = 0; p < pixels; ++p) acc[p * vectors + v] = base;
  }
  for (int64_t left = s->words; left > 0; left -= s->chunk_words, chunk += s->chunk_stride) {
    int64_t words = left < s->chunk_words ? left : s->chunk_words;
    const int64_t stride = s->pixel_stride;
    const w_element *x[TILE_PIXELS / 3 + 1];
    HN_UNROLL
    for (int i = 0; i < (pixels + 2) / 3; ++i) x[i] = chunk + 3 * i * stride;
    for (; words >= 4; words -= 4, w += 4 * W_BYTES) {
      HN_UNROLL
      for (int k = 0; k < 4; ++k) step(acc, vectors, pixels, x, stride, k * W_WORD, w + k * W_BYTES, t->weight_stride);
      HN_UNROLL
      for (int i = 0; i < (pixels + 2) / 3; ++i) {
        x[i] += 4 * W_WORD;
        __asm__("" : "+r"(x[i])); /* or all of them become indices of one, of which each tap wants its own */
      }
    }
    for (; words > 0; --words, w += W_BYTES) {
      step(acc, vectors, pixels, x, stride, 0, w, t->weight_stride);
      HN_UNROLL
      for (int i = 0; i < (pixels + 2) / 3; ++i) x[i] += W_WORD;
    }
  }
  if (t->sums) {
    HN_UNROLL
    for (int i = 0; i < vectors * pixels; ++i)
      acc[i] = vi_sub(acc[i], w_multiply(vi_load(t->w_zero + i % vectors * HN_LANES), vi_set(t->sums[i / vectors])));
  }
  HN_UNROLL
  for (int b = 0; b < blocks; ++b) {
    const w_target *to = &t->target[b];
    if (to->conv->residual || to->conv->floats) {
      int32_t sums[TILE_PIXELS * W_BLOCK];
      HN_UNROLL
      for (int i = 0; i < pixels * W_VECTORS; ++i)
        vi_store(sums + i * HN_LANES, acc[i / W_VECTORS * vectors + b * W_VECTORS + i % W_VECTORS]);
      if (to->conv->floats)
        w_store_floats(to, sums, W_BLOCK, pixels, t->scale + b * W_BLOCK, t->bias + b * W_BLOCK, t->pixel);
      else
        w_store_joined(to, sums, W_BLOCK, pixels, t->scale + b * W_BLOCK, t->pixel);
    } else if (t->scale) {
      vf scale[W_VECTORS];
      HN_UNROLL
      for (int v = 0; v < W_VECTORS; ++v) scale[v] = v_load(t->scale + b * W_BLOCK + v * HN_LANES);
      w_store_bytes(to, acc + b * W_VECTORS, vectors, pixels, scale, t->pixel);
    } else {
      w_store_sums(to, acc + b * W_VECTORS, vectors, pixels, t->pixel);
    }
  }
}

HN_OUTLINE void tile_1_1(const tile *t) { run_tile(t, 1, 1); }
HN_OUTLINE void tile_1_2(const tile *t) { run_tile(t, 1, 2); }
#if defined(HN_SIMD_AVX512) || defined(HN_SIMD_AVX2)
HN_OUTLINE void tile_1_3(const tile *t) { run_tile(t, 1, 3); }
HN_OUTLINE void tile_1_4(const tile *t) { run_tile(t, 1, 4); }
HN_OUTLINE void tile_1_5(const tile *t) { run_tile(t, 1, 5); }
HN_OUTLINE void tile_1_6(const tile *t) { run_tile(t, 1, 6); }
#endif
#if defined(HN_SIMD_AVX512)
HN_OUTLINE void tile_1_7(const tile *t) { run_tile(t, 1, 7); }
HN_OUTLINE void tile_1_8(const tile *t) { run_tile(t, 1, 8); }
HN_OUTLINE void tile_1_9(const tile *t) { run_tile(t, 1, 9); }
HN_OUTLINE void tile_1_10(const tile *t) { run_tile(t, 1, 10); }
HN_OUTLINE void tile_1_11(const tile *t) { run_tile(t, 1, 11); }
HN_OUTLINE void tile_1_12(const tile *t) { run_tile(t, 1, 12); }
#endif
static void (*const one_block[])(const tile *) = {
    tile_1_1, tile_1_2,
#if defined(HN_SIMD_AVX512) || defined(HN_SIMD_AVX2)
    tile_1_3, tile_1_4, tile_1_5, tile_1_6,
#endif
#if defined(HN_SIMD_AVX512)
    tile_1_7, tile_1_8, tile_1_9, tile_1_10, tile_1_11, tile_1_12,
#endif
};
#if defined(HN_SIMD_AVX512)
HN_OUTLINE void tile_2_1(const tile *t) { run_tile(t, 2, 1); }
HN_OUTLINE void tile_2_2(const tile *t) { run_tile(t, 2, 2); }
HN_OUTLINE void tile_2_3(const tile *t) { run_tile(t, 2, 3); }
HN_OUTLINE void tile_2_4(const tile *t) { run_tile(t, 2, 4); }
HN_OUTLINE void tile_2_5(const tile *t) { run_tile(t, 2, 5); }
HN_OUTLINE void tile_2_6(const tile *t) { run_tile(t, 2, 6); }
HN_OUTLINE void tile_2_7(const tile *t) { run_tile(t, 2, 7); }
HN_OUTLINE void tile_2_8(const tile *t) { run_tile(t, 2, 8); }
HN_OUTLINE void tile_2_9(const tile *t) { run_tile(t, 2, 9); }
HN_OUTLINE void tile_2_10(const tile *t) { run_tile(t, 2, 10); }
HN_OUTLINE void tile_2_11(const tile *t) { run_tile(t, 2, 11); }
HN_OUTLINE void tile_2_12(const tile *t) { run_tile(t, 2, 12); }
static void (*const two_blocks[])(const tile *) = {tile_2_1, tile_2_2, tile_2_3, tile_2_4,  tile_2_5,  tile_2_6,
                                                   tile_2_7, tile_2_8, tile_2_9, tile_2_10, tile_2_11, tile_2_12};
#endif

static void run_unit(const hn_conv_bytes *c, const unit *u, const panel *p) {
  const int64_t group_blocks = hn_conv_bytes_group_blocks(c), out_group = c->out_channels / c->groups;
  const int64_t weight_stride = p->words * W_BYTES;
  tile t = {.panel = p, .weight_stride = weight_stride};
  const w_target target = {.conv = c,
                           .way = w_way_out_make(c->y_zero, c->low, c->high, c->out_flip),
                           .image = u->image,
                           .begins_blocks = c->groups == 1 || out_group % W_BLOCK == 0};
  t.target[0] = target;
  for (int64_t b = 0; b < u->blocks; b += TILE_BLOCKS) {
    const int64_t in_group = (u->block + b) * W_BLOCK, at = (u->group * group_blocks + u->block + b) * W_BLOCK;
    void (*const *tiles)(const tile *) = one_block;
#if defined(HN_SIMD_AVX512)
    if (u->blocks - b > 1) tiles = two_blocks;
#endif
    t.weights = c->weights + at / W_BLOCK * weight_stride;
    t.base = c->base + at;
    t.scale = c->scale ? c->scale + at : NULL;
    t.bias = c->bias ? c->bias + at : NULL;
    t.w_zero = c->w_zero ? c->w_zero + at : NULL;
    for (int k = 0; k < TILE_BLOCKS && b + k < u->blocks; ++k) {
      t.target[k] = target;
      w_target_at(&t.target[k], u->group * out_group + in_group + k * W_BLOCK, out_group - in_group - k * W_BLOCK);
    }
    for (int64_t i = 0; i < u->pixels; i += TILE_PIXELS) {
      const int64_t pixels = u->pixels - i < TILE_PIXELS ? u->pixels - i : TILE_PIXELS;
      t.x = p->at + i * p->pixel_stride;
      t.sums = p->sums ? p->sums + i : NULL;
      t.pixel = u->pixel + i;
      tiles[pixels - 1](&t);
    }
  }
  if (u->group == c->groups - 1 && u->block + u->blocks == group_blocks) w_store_nothing(t.target, u->pixels, u->pixel);
}

void HN_SIMD_NAME(hn_conv_bytes)(const hn_conv_bytes *c, void *scratch, int64_t begin, int64_t end) {
  panel p = {0};
  for (int64_t at = begin; at < end; ++at) {
    const unit u = unit_at(c, at);
    if (at == begin || u.block == 0) p = panel_of(c, &u, scratch); /* units of the same pixels follow each other */
    run_unit(c, &u, &p);
  }
}
