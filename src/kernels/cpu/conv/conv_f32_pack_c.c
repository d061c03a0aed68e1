/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32_pack_c.c - weight packing, work-unit counts, first guesses and gathered pixels for the f32 convolutions. */
#include "kernels/cpu/conv/conv.h"

#include <string.h>

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t group_blocks(const hn_conv_f32 *c, int block) {
  return c->groups > 1 ? c->out_channels / c->groups / block : ceil_div(c->out_channels, block);
}

int64_t hn_conv_f32_units(const hn_conv_f32 *c, int block, int flat_pixels) {
  const int64_t rows = flat_pixels ? c->out_height * c->out_width : c->out_height;
  return c->batch * c->groups * ceil_div(group_blocks(c, block), c->oc_blocks) * ceil_div(rows, c->unit_rows);
}

int64_t hn_conv_f32_dw_units(const hn_conv_f32 *c, int block) {
  return c->batch * ceil_div(c->out_channels, block) * ceil_div(c->out_height, c->unit_rows);
}

/* Rows of one chunk when each thread is to find in its cache the rows that it wrote in the layer before: whole parts of
 * the image for each thread, cut at the same rows by every layer. */
static int64_t rows_of_thread(const hn_conv_f32 *c, int64_t rows, int64_t chunks, int threads) {
  const int64_t width = rows / c->out_height; /* 1 where rows are not flat pixels */
  const int64_t per_thread = ceil_div(c->out_height, threads) * width;
  return ceil_div(per_thread, ceil_div(chunks, threads));
}

/* Two blocks x 14 pixels need the least weight traffic of the AVX-512 tiles, so they lead wherever two blocks fit;
 * an odd count takes three. Units are cut so that each thread gets several, but not below a few tiles. Large images are
 * shared out by rows, small ones and those with heavy weights by channels. */
void hn_conv_f32_choose(hn_conv_f32 *c, int block, int most, int flat_pixels, size_t l2_bytes, int threads) {
  const int is_depthwise = c->groups > 1 && c->groups == c->in_channels;
  const int64_t groups = is_depthwise ? 1 : c->groups;
  const int64_t blocks = is_depthwise ? ceil_div(c->out_channels, block) : group_blocks(c, block);
  const int64_t kernel = flat_pixels ? 1 : c->kernel_height * c->kernel_width;
  const int64_t pixels = c->out_height * c->out_width, rows = flat_pixels ? pixels : c->out_height;
  const int64_t weight_bytes = c->out_channels * (c->in_channels / c->groups) * kernel * (int64_t)sizeof(float);
  c->oc_blocks = (int32_t)lesser(blocks, lesser(most, blocks % 2 && blocks % 3 == 0 ? 3 : 2));
  if (is_depthwise) c->oc_blocks = 1;
  const int by_rows = threads > 1 && c->batch < threads && pixels >= 96 * (int64_t)threads;
  c->pixels_first = weight_bytes > (int64_t)(l2_bytes / 2) || (threads > 1 && !by_rows);
  const int64_t sets = c->batch * groups * ceil_div(blocks, c->oc_blocks);
  const int64_t least_pixels = threads > 1 && sets < 8 * (int64_t)threads ? 24 : 56;
  const int64_t least = flat_pixels ? least_pixels : ceil_div(least_pixels, c->out_width);
  int64_t chunks = threads > 1 ? ceil_div((int64_t)threads * 4, sets) : 1;
  if (!c->pixels_first) { /* a chunk's input should stay in half of L2 while all channels pass over it */
    const int64_t row_bytes = c->in_channels * c->in_height * c->in_width * (int64_t)sizeof(float) / rows;
    const int64_t wanted = lesser(row_bytes * rows, INT64_C(1) << 40) / (int64_t)(l2_bytes / 2 + 1) + 1;
    if (wanted > chunks) chunks = wanted;
    if (by_rows && chunks < threads) chunks = threads;
  }
  c->unit_rows = by_rows && !c->pixels_first ? rows_of_thread(c, rows, chunks, threads) : ceil_div(rows, chunks);
  if (c->unit_rows < least) c->unit_rows = lesser(least, rows);
}

int64_t hn_conv_f32_gather_rows(const hn_conv_f32 *c, int block) {
  return c->batch * ceil_div(c->in_channels, block) * c->out_height;
}

void hn_conv_f32_gather_c(const hn_conv_f32 *c, int block, float *to, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const int64_t plane = row / c->out_height, y = row % c->out_height * c->stride_height;
    const float *from = c->input + (plane * c->in_height + y) * c->in_width * block;
    float *out = to + row * c->out_width * block;
    if (block == 16)
      for (int64_t x = 0; x < c->out_width; ++x) memcpy(out + x * 16, from + x * c->stride_width * 16, 64);
    else
      for (int64_t x = 0; x < c->out_width; ++x) memcpy(out + x * 8, from + x * c->stride_width * 8, 32);
  }
}

int64_t hn_conv_f32_packed_floats(int64_t out_channels, int64_t in_per_group, int64_t kernel_pixels, int block) {
  return ceil_div(out_channels, block) * block * ceil_div(in_per_group, block) * block * kernel_pixels;
}

void hn_conv_f32_pack_c(const float *oihw, int64_t out_channels, int64_t in_per_group, int64_t kernel_pixels, int block,
                        int64_t block_begin, int64_t block_end, float *packed) {
  const int64_t in_blocks = ceil_div(in_per_group, block), square = (int64_t)block * block;
  for (int64_t ob = block_begin; ob < block_end; ++ob) {
    float *base = packed + ob * in_blocks * kernel_pixels * square;
    memset(base, 0, (size_t)(in_blocks * kernel_pixels * square) * sizeof(float));
    for (int64_t lane = 0; lane < block && ob * block + lane < out_channels; ++lane) {
      const float *from = oihw + (ob * block + lane) * in_per_group * kernel_pixels;
      for (int64_t i = 0; i < in_per_group; ++i)
        for (int64_t k = 0; k < kernel_pixels; ++k)
          base[((i / block * kernel_pixels + k) * block + i % block) * block + lane] = *from++;
    }
  }
}

void hn_conv_f32_pack_merged_c(const float *oihw, int64_t groups, int64_t in_per_group, int64_t out_per_group,
                               int64_t together, int64_t kernel_pixels, int block, float *packed) {
  const int64_t in_blocks = together * in_per_group / block, square = (int64_t)block * block;
  const int64_t out_blocks = ceil_div(groups, together) * together * out_per_group / block;
  memset(packed, 0, (size_t)(out_blocks * in_blocks * kernel_pixels * square) * sizeof(float));
  for (int64_t o = 0; o < groups * out_per_group; ++o) {
    float *base = packed + o / block * in_blocks * kernel_pixels * square;
    const int64_t first = o / out_per_group % together * in_per_group;
    for (int64_t i = first; i < first + in_per_group; ++i)
      for (int64_t k = 0; k < kernel_pixels; ++k)
        base[((i / block * kernel_pixels + k) * block + i % block) * block + o % block] = *oihw++;
  }
}

void hn_conv_transpose_f32_pack_c(const float *iohw, int64_t groups, int64_t in_per_group, int64_t out_per_group,
                                  int64_t kernel_pixels, int block, float *packed) {
  const int64_t in_blocks = ceil_div(in_per_group, block), out_blocks = ceil_div(out_per_group, block);
  const int64_t square = (int64_t)block * block, group_floats = out_blocks * in_blocks * kernel_pixels * square;
  memset(packed, 0, (size_t)(groups * group_floats) * sizeof(float));
  for (int64_t g = 0; g < groups; ++g, packed += group_floats)
    for (int64_t i = 0; i < in_per_group; ++i)
      for (int64_t o = 0; o < out_per_group; ++o) {
        float *to =
            packed + (o / block * kernel_pixels * in_blocks + i / block) * square + i % block * block + o % block;
        for (int64_t k = 0; k < kernel_pixels; ++k) to[k * in_blocks * square] = *iohw++;
      }
}

int64_t hn_conv_f32_first_packed_floats(int64_t out_channels, int64_t in_channels, int64_t kernel_pixels, int block) {
  return ceil_div(out_channels, block) * block * in_channels * kernel_pixels;
}

void hn_conv_f32_first_pack_c(const float *oihw, int64_t out_channels, int64_t in_channels, int64_t kernel_pixels,
                              int block, float *packed) {
  const int64_t taps = in_channels * kernel_pixels, blocks = ceil_div(out_channels, block);
  for (int64_t ob = 0; ob < blocks; ++ob)
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t lane = 0; lane < block; ++lane) {
        const int64_t o = ob * block + lane;
        *packed++ = o < out_channels ? oihw[o * taps + tap] : 0.0f;
      }
}

int64_t hn_conv_f32_dw_packed_floats(int64_t channels, int64_t kernel_pixels, int block) {
  return ceil_div(channels, block) * block * kernel_pixels;
}

void hn_conv_f32_dw_pack_c(const float *oihw, int64_t channels, int64_t kernel_pixels, int block, float *packed) {
  hn_conv_f32_first_pack_c(oihw, channels, 1, kernel_pixels, block, packed);
}
