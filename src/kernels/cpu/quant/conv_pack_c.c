/* SPDX-License-Identifier: Apache-2.0 */
/* conv_pack_c.c - weights of convolutions of bytes in words, and what a channel's sum begins with. */
#include "kernels/cpu/quant/conv.h"
#include <string.h>

enum { BLOCK = HN_CONV_BYTES_BLOCK };

static int64_t packed_channels(const hn_conv_bytes *c, bool is_depthwise) {
  return is_depthwise ? hn_conv_bytes_up(c->out_channels, c->channel_step)
                      : c->groups * hn_conv_bytes_group_blocks(c) * BLOCK;
}

hn_conv_bytes_layout hn_conv_bytes_lay_out_c(const hn_conv_bytes *c, bool is_depthwise) {
  const int64_t channels = packed_channels(c, is_depthwise);
  const int64_t a_channel = is_depthwise ? hn_conv_bytes_up(c->kernel_height, c->word) * c->kernel_width
                                         : hn_conv_bytes_up(hn_conv_bytes_depth(c), c->depth_step);
  hn_conv_bytes_layout l = {.weights = hn_conv_bytes_up(sizeof(hn_conv_bytes_head), 64)};
  l.base = l.weights + hn_conv_bytes_up(channels * a_channel, 64);
  l.sums = l.base + channels * 4;
  l.w_zero = l.sums + channels * 4;
  l.scale = l.w_zero + channels * 4;
  l.end = l.scale + channels * 4;
  return l;
}

/* Sums wrap: with zero points taken apart they may pass the type where the whole does not. */
static int32_t wrap(int64_t value) { return (int32_t)(uint32_t)(uint64_t)value; }

static int32_t weight_at(const hn_conv_bytes_constants *k, int64_t at) {
  return k->w_is_signed ? ((const int8_t *)k->w)[at] : (int32_t)((const uint8_t *)k->w)[at] - 128;
}

static int32_t weight_zero(const hn_conv_bytes_constants *k, int64_t channel) {
  if (!k->w_zero) return k->w_is_signed ? 0 : -128;
  const uint8_t bits = k->w_zero[k->w_zero_is_one ? 0 : channel];
  return k->w_is_signed ? (int8_t)bits : (int32_t)bits - 128;
}

/* Where channel's weight of one tap lies; the order of a sum is [tap][channel of the group]. */
static int64_t place(const hn_conv_bytes *c, int64_t packed, int64_t in, int64_t tap) {
  const int64_t in_group = c->in_channels / c->groups, k = tap * in_group + in, word = c->word;
  const int64_t words = hn_conv_bytes_up(hn_conv_bytes_depth(c), c->depth_step) / word;
  return ((packed / BLOCK * words + k / word) * BLOCK + packed % BLOCK) * word + k % word;
}

/* Depthwise: where a channel lies among those that are computed together. */
static int64_t place_channel(const hn_conv_bytes *c, int64_t channel) {
  const int64_t step = c->channel_step, in = channel % step, vector = in % BLOCK / 4;
  return channel - in + vector * (step / 4) + in / BLOCK * 4 + in % 4;
}

/* Depthwise: [channels together][step][column][channel][taps below each other]. */
static int64_t place_depthwise(const hn_conv_bytes *c, int64_t packed, int64_t tap) {
  const int64_t word = c->word, steps = hn_conv_bytes_up(c->kernel_height, word) / word;
  const int64_t row = tap / c->kernel_width, column = tap % c->kernel_width;
  const int64_t at = (packed / c->channel_step * steps + row / word) * c->kernel_width + column;
  return (at * c->channel_step + packed % c->channel_step) * word + row % word;
}

static int64_t packed_at(const hn_conv_bytes *c, bool is_depthwise, int64_t o) {
  const int64_t out_group = c->out_channels / c->groups;
  if (is_depthwise) return place_channel(c, o);
  return o / out_group * hn_conv_bytes_group_blocks(c) * BLOCK + o % out_group;
}

void hn_conv_bytes_spread_c(const hn_conv_bytes *c, bool is_depthwise, const float *from, bool is_one, float factor,
                            float *to) {
  memset(to, 0, (size_t)packed_channels(c, is_depthwise) * sizeof *to);
  for (int64_t o = 0; from && o < c->out_channels; ++o)
    to[packed_at(c, is_depthwise, o)] = factor * from[is_one ? 0 : o];
}

void hn_conv_bytes_pack_c(const hn_conv_bytes *c, bool is_depthwise, const hn_conv_bytes_constants *k, void *to) {
  const hn_conv_bytes_layout l = hn_conv_bytes_lay_out_c(c, is_depthwise);
  const int64_t in_group = c->in_channels / c->groups;
  const int64_t taps = c->kernel_height * c->kernel_width, depth = hn_conv_bytes_depth(c);
  char *bytes = to;
  memset(bytes, 0, (size_t)l.end);
  int8_t *weights = (int8_t *)(bytes + l.weights);
  int32_t *base = (int32_t *)(bytes + l.base), *sums = (int32_t *)(bytes + l.sums);
  int32_t *w_zero = (int32_t *)(bytes + l.w_zero);
  float *scale = (float *)(bytes + l.scale);
  hn_conv_bytes_head head = {.x_zero = k->x_zero, .y_zero = k->y_zero};
  for (int64_t o = 0; o < c->out_channels; ++o) {
    const int64_t packed = packed_at(c, is_depthwise, o);
    int64_t sum = 0;
    for (int64_t i = 0; i < in_group; ++i)
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int32_t w = weight_at(k, (o * in_group + i) * taps + tap);
        weights[is_depthwise ? place_depthwise(c, packed, tap) : place(c, packed, i, tap)] = (int8_t)w;
        sum += w;
      }
    const int32_t zero = weight_zero(k, o);
    w_zero[packed] = zero;
    if (zero) head.has_w_zero = 1;
    sums[packed] = wrap(sum - zero * depth);
    base[packed] = wrap((k->bias ? k->bias[o] : 0) - k->x_zero * (sum - zero * depth));
    if (k->w_scale) scale[packed] = k->x_scale * k->w_scale[k->w_scale_is_one ? 0 : o] / k->y_scale;
  }
  memcpy(bytes, &head, sizeof head);
}

void hn_conv_bytes_base_c(const hn_conv_bytes_layout *l, const void *packed, int32_t x_zero, int32_t *to) {
  const int32_t *base = (const int32_t *)((const char *)packed + l->base);
  const int32_t *sums = (const int32_t *)((const char *)packed + l->sums);
  for (int64_t i = 0; i < (l->sums - l->base) / 4; ++i) to[i] = wrap(base[i] - (int64_t)x_zero * sums[i]);
}
