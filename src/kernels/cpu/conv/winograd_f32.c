/* SPDX-License-Identifier: Apache-2.0 */
/* winograd_f32.c - minimal filtering of 3x3 convolutions on nChwBc; winograd.h has the algorithm. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/conv/conv_tile_1x1_f32.inc.h"
#include "kernels/cpu/conv/winograd.h"

#define HN_MOST_OUTPUTS 4
#define HN_MOST_EDGE 6

/* A line of a patch. Points +-a come in pairs: their polynomials differ in the sign of the odd part. For m = 2 the
 * first and last rows have their signs turned, as have the weights'. */
HN_INLINE void patch_line(vf *d, const int edge) {
  if (edge == 4) {
    const vf d1 = d[1], d2 = d[2];
    d[0] = d2 - d[0];
    d[1] = d1 + d2;
    d[2] = d2 - d1;
    d[3] = d[3] - d1;
    return;
  }
  const vf near = v_set(-0.5625f), far = v_set(-2.25f); /* -(3/4)^2, -(3/2)^2 */
  const vf a_even = v_fma(far, d[2], d[4]), a_odd = v_fma(far, d[1], d[3]) * 0.75f;
  const vf b_even = v_fma(near, d[2], d[4]), b_odd = v_fma(near, d[1], d[3]) * 1.5f;
  d[0] = v_fma(v_set(1.265625f), d[0], v_fma(v_set(-2.8125f), d[2], d[4]));
  d[5] = v_fma(v_set(1.265625f), d[1], v_fma(v_set(-2.8125f), d[3], d[5]));
  d[1] = a_even + a_odd;
  d[2] = a_even - a_odd;
  d[3] = b_even + b_odd;
  d[4] = b_even - b_odd;
}

/* The other way: edge products in, edge - 2 outputs out. */
HN_INLINE void output_line(const vf *m, vf *out, const int edge) {
  const vf near = m[1] + m[2], near_odd = m[1] - m[2];
  if (edge == 4) {
    out[0] = m[0] + near;
    out[1] = near_odd + m[3];
    return;
  }
  const vf far = m[3] + m[4], far_odd = m[3] - m[4];
  out[0] = m[0] + near + far;
  out[1] = v_fma(v_set(1.5f), far_odd, near_odd * 0.75f);
  out[2] = v_fma(v_set(2.25f), far, near * 0.5625f);
  out[3] = v_fma(v_set(3.375f), far_odd, v_fma(v_set(0.421875f), near_odd, m[5]));
}

/* One vector of channels of one patch. */
HN_INLINE void patch_vector(const float *from, ptrdiff_t row, float *to, ptrdiff_t step, const int edge) {
  vf d[HN_MOST_EDGE][HN_MOST_EDGE];
  HN_UNROLL
  for (int x = 0; x < edge; ++x) {
    vf line[HN_MOST_EDGE];
    HN_UNROLL
    for (int y = 0; y < edge; ++y) line[y] = v_load(from + y * row + x * HN_BLOCK);
    patch_line(line, edge);
    HN_UNROLL
    for (int y = 0; y < edge; ++y) d[y][x] = line[y];
  }
  HN_UNROLL
  for (int y = 0; y < edge; ++y) {
    patch_line(d[y], edge);
    HN_UNROLL
    for (int x = 0; x < edge; ++x) v_store(to + (y * edge + x) * step, d[y][x]);
  }
}

HN_OUTLINE void patch_4(const float *from, ptrdiff_t row, float *to, ptrdiff_t step) {
  for (int v = 0; v < HN_BLOCK; v += HN_LANES) patch_vector(from + v, row, to + v, step, 4);
}
HN_OUTLINE void patch_6(const float *from, ptrdiff_t row, float *to, ptrdiff_t step) {
  for (int v = 0; v < HN_BLOCK; v += HN_LANES) patch_vector(from + v, row, to + v, step, 6);
}

/* A patch that leaves the image, completed with zeros. */
HN_OUTLINE void patch_copy(const hn_conv_f32 *c, const float *plane, int64_t y0, int64_t x0, int64_t edge, float *to) {
  for (int64_t y = y0; y < y0 + edge; ++y)
    for (int64_t x = x0; x < x0 + edge; ++x, to += HN_BLOCK) {
      if (y < 0 || y >= c->in_height || x < 0 || x >= c->in_width)
        memset(to, 0, HN_BLOCK * sizeof(float));
      else
        memcpy(to, plane + (y * c->in_width + x) * HN_BLOCK, HN_BLOCK * sizeof(float));
    }
}

typedef struct tile_place {
  int64_t image, y, x; /* of the first output */
} tile_place;

static inline tile_place place_of(const hn_winograd_f32 *w, int64_t tile) {
  const int64_t in_image = tile % (w->tiles_across * w->tiles_down);
  return (tile_place){tile / (w->tiles_across * w->tiles_down), in_image / w->tiles_across * w->outputs,
                      in_image % w->tiles_across * w->outputs};
}

void HN_BLOCKED_NAME(hn_winograd_f32_patches)(const hn_winograd_f32 *w, int64_t first, int64_t count,
                                              int64_t block_begin, int64_t block_end, float *patches) {
  const hn_conv_f32 *c = &w->conv;
  const int64_t edge = w->outputs + 2, in_plane = c->in_height * c->in_width * HN_BLOCK;
  const int64_t in_image = c->in_batch_stride ? c->in_batch_stride : ceil_div(c->in_channels, HN_BLOCK) * in_plane;
  float copy[HN_MOST_EDGE * HN_MOST_EDGE * HN_BLOCK];
  for (int64_t block = block_begin; block < block_end; ++block)
    for (int64_t i = 0; i < count; ++i) {
      const tile_place at = place_of(w, first + i);
      const int64_t y = at.y - c->pad_top, x = at.x - c->pad_left;
      const float *plane = c->input + at.image * in_image + block * in_plane;
      const float *from = plane + (y * c->in_width + x) * HN_BLOCK;
      ptrdiff_t row = c->in_width * HN_BLOCK;
      if (y < 0 || x < 0 || y + edge > c->in_height || x + edge > c->in_width) {
        patch_copy(c, plane, y, x, edge, copy);
        from = copy;
        row = edge * HN_BLOCK;
      }
      float *to = patches + (block * w->call_tiles + i) * HN_BLOCK;
      if (edge == 4)
        patch_4(from, row, to, w->patch_step);
      else
        patch_6(from, row, to, w->patch_step);
    }
}

/* What the outputs of one tile and block need. */
typedef struct finish {
  const float *bias, *residual; /* residual at the tile's first output */
  float *out;
  int64_t out_row;
  int rows, columns; /* inside the image */
  float low, high;
} finish;

/* A row of a tile's outputs on its way out: bias, residual, bounds. */
HN_INLINE void finish_row(vf *out, vf bias, const int y, const finish *f, const int v, const int outputs) {
  HN_UNROLL
  for (int x = 0; x < outputs; ++x) out[x] += bias;
  if (f->residual) {
    for (int x = 0; x < outputs; ++x)
      if (x < f->columns) out[x] += v_load(f->residual + y * f->out_row + x * HN_BLOCK + v);
  }
  tile_bound(out, outputs, f->low, f->high);
  HN_UNROLL
  for (int x = 0; x < outputs; ++x)
    if (x < f->columns) v_store(f->out + y * f->out_row + x * HN_BLOCK + v, out[x]);
}

/* False, and what was written is to be written again, when a product is NaN, infinite or so large that an output might
 * become it: a square is infinite from 2^64 on. Of a column's products four are asked, each by itself, because a pixel
 * that reaches a sum of them may cancel there exactly; a pixel that reaches none of the four meets a kernel whose line
 * is zero. The question is asked at the end: a branch between the halves costs 35 cycles a tile. */
HN_INLINE int output_vector(const float *product, ptrdiff_t step, const finish *f, const int v, const int edge) {
  const vf bias = f->bias ? v_load(f->bias + v) : v_set(0.0f);
  static const int asked_of_six[4] = {0, 1, 3, 5};
  vf half[HN_MOST_OUTPUTS][HN_MOST_EDGE], size[2] = {v_set(0.0f), v_set(0.0f)};
  HN_UNROLL
  for (int x = 0; x < edge; ++x) {
    vf line[HN_MOST_EDGE], out[HN_MOST_OUTPUTS];
    HN_UNROLL
    for (int y = 0; y < edge; ++y) line[y] = v_load(product + v + (y * edge + x) * step);
    output_line(line, out, edge);
    HN_UNROLL
    for (int y = 0; y < edge - 2; ++y) half[y][x] = out[y];
    HN_UNROLL
    for (int i = 0; i < 4; ++i) {
      const vf one = line[edge == 4 ? i : asked_of_six[i]];
      size[i % 2] = v_fma(one, one, size[i % 2]);
    }
  }
  HN_UNROLL
  for (int y = 0; y < edge - 2; ++y) {
    if (y >= f->rows) break;
    vf out[HN_MOST_OUTPUTS];
    output_line(half[y], out, edge);
    finish_row(out, bias, y, f, v, edge - 2);
  }
  return vm_all(v_lt(size[0] + size[1], v_set(__builtin_inff())));
}

HN_OUTLINE int outputs_2(const float *product, ptrdiff_t step, const finish *f, int v) {
  return output_vector(product, step, f, v, 4);
}
HN_OUTLINE int outputs_4(const float *product, ptrdiff_t step, const finish *f, int v) {
  return output_vector(product, step, f, v, 6);
}

/* Weights from their transform: (a first line, a pair of lines for +-x, the last line) to three. What cancels leaves
 * less than 2^-20 of a kernel's largest weight, which here is zero, so that zeros are, whatever they are to multiply.
 */
HN_INLINE void kernel_line(const vf *u, vf *g, const int outputs) {
  g[0] = u[0] * (outputs == 2 ? -1.0f : 1.265625f);
  g[1] = (u[1] - u[2]) * (outputs == 2 ? 1.0f : -1.265625f);
  g[2] = u[3];
}
static void kernel_of(const float *from, ptrdiff_t step, int outputs, vf (*g)[3]) {
  const int edge = outputs + 2, lines[4] = {0, 1, 2, edge - 1};
  vf half[3][4], most = v_set(0.0f);
  for (int x = 0; x < 4; ++x) {
    vf u[4], out[3];
    for (int y = 0; y < 4; ++y) u[y] = v_load(from + (lines[y] * edge + lines[x]) * step);
    kernel_line(u, out, outputs);
    for (int y = 0; y < 3; ++y) half[y][x] = out[y];
  }
  for (int y = 0; y < 3; ++y) {
    kernel_line(half[y], g[y], outputs);
    for (int x = 0; x < 3; ++x) most = v_max(most, v_abs(g[y][x]));
  }
  most *= 0x1p-20f;
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 3; ++x) g[y][x] = v_select(v_lt(v_abs(g[y][x]), most), v_set(0.0f), g[y][x]);
}

/* Sums of one input channel times a kernel, at the places of a tile. Beyond the image nothing is added. */
static void add_channel(const hn_conv_f32 *c, const float *plane, const tile_place *at, vf (*const g)[3],
                        const finish *f, vf (*sum)[HN_MOST_OUTPUTS]) {
  for (int y = 0; y < f->rows; ++y)
    for (int x = 0; x < f->columns; ++x)
      for (int k = 0; k < 9; ++k) {
        const int64_t from_y = at->y + y + k / 3 - c->pad_top, from_x = at->x + x + k % 3 - c->pad_left;
        if (from_y < 0 || from_x < 0 || from_y >= c->in_height || from_x >= c->in_width) continue;
        sum[y][x] = v_fma(v_set(plane[(from_y * c->in_width + from_x) * HN_BLOCK]), g[k / 3][k % 3], sum[y][x]);
      }
}

/* The outputs of a tile whose products are not all of ordinary size, as a plain sum: a NaN, an infinity or a large
 * number reaches the outputs that read it, and no others. */
HN_OUTLINE void direct_vector(const hn_winograd_f32 *w, const tile_place *at, int64_t block, const finish *f, int v) {
  const hn_conv_f32 *c = &w->conv;
  const int outputs = (int)w->outputs;
  const int64_t in_plane = c->in_height * c->in_width * HN_BLOCK, in_blocks = ceil_div(c->in_channels, HN_BLOCK);
  const float *input = c->input + at->image * (c->in_batch_stride ? c->in_batch_stride : in_blocks * in_plane);
  const ptrdiff_t step = in_blocks * HN_BLOCK * HN_BLOCK;
  const float *weights = c->weights + block * hn_winograd_f32_places(outputs) * step + v;
  vf sum[HN_MOST_OUTPUTS][HN_MOST_OUTPUTS], g[3][3];
  for (int y = 0; y < outputs; ++y)
    for (int x = 0; x < outputs; ++x) sum[y][x] = v_set(0.0f);
  for (int64_t i = 0; i < c->in_channels; ++i) {
    kernel_of(weights + i * HN_BLOCK, step, outputs, g);
    add_channel(c, input + i / HN_BLOCK * in_plane + i % HN_BLOCK, at, g, f, sum);
  }
  const vf bias = f->bias ? v_load(f->bias + v) : v_set(0.0f);
  for (int y = 0; y < f->rows; ++y) finish_row(sum[y], bias, y, f, v, outputs);
}

/* Activations that need more than bounds, and zeros in the lanes beyond the last channel. */
HN_OUTLINE void finish_rows(const hn_conv_f32 *c, const finish *f, int64_t lanes) {
  const hn_epilogue_f32 *e = &c->epilogue;
  for (int y = 0; y < f->rows; ++y) {
    float *o = f->out + y * f->out_row;
    if (!activation_is_bounds(e)) activate_channels(o, f->columns * HN_BLOCK, e, c->out_channels - lanes, HN_BLOCK);
    for (int x = 0; x < f->columns; ++x)
      for (int64_t lane = lanes; lane < HN_BLOCK; ++lane) o[x * HN_BLOCK + lane] = 0.0f;
  }
}

static void finish_tiles(const hn_winograd_f32 *w, int64_t first, int64_t count, int64_t block, const float *product) {
  const hn_conv_f32 *c = &w->conv;
  const int64_t out_plane = c->out_height * c->out_width * HN_BLOCK, lanes = c->out_channels - block * HN_BLOCK;
  const int64_t out_image = c->out_batch_stride ? c->out_batch_stride : ceil_div(c->out_channels, HN_BLOCK) * out_plane;
  finish f = {.bias = c->epilogue.bias ? c->epilogue.bias + block * HN_BLOCK : NULL,
              .out_row = c->out_width * HN_BLOCK};
  const int needs_more =
      !activation_is_bounds(&c->epilogue) || (lanes < HN_BLOCK && c->epilogue.activation > HN_ACTIVATION_RELU);
  activation_bounds(&c->epilogue, &f.low, &f.high);
  for (int64_t i = 0; i < count; ++i, product += HN_BLOCK) {
    const tile_place at = place_of(w, first + i);
    const int64_t offset = at.image * out_image + block * out_plane + (at.y * c->out_width + at.x) * HN_BLOCK;
    f.rows = (int)(c->out_height - at.y < w->outputs ? c->out_height - at.y : w->outputs);
    f.columns = (int)(c->out_width - at.x < w->outputs ? c->out_width - at.x : w->outputs);
    f.out = c->output + offset;
    f.residual = c->epilogue.residual ? c->epilogue.residual + offset : NULL;
    for (int v = 0; v < HN_BLOCK; v += HN_LANES) {
      const int is_ordinary =
          w->outputs == 2 ? outputs_2(product, w->product_step, &f, v) : outputs_4(product, w->product_step, &f, v);
      if (!is_ordinary) direct_vector(w, &at, block, &f, v);
    }
    if (needs_more) finish_rows(c, &f, lanes);
  }
}

void HN_BLOCKED_NAME(hn_winograd_f32_outputs)(const hn_winograd_f32 *w, int64_t first, int64_t count, int64_t set_begin,
                                              int64_t set_end, const float *patches, float *product) {
  const hn_conv_f32 *c = &w->conv;
  const int64_t places = hn_winograd_f32_places(w->outputs), in_blocks = ceil_div(c->in_channels, HN_BLOCK);
  const int64_t out_blocks = ceil_div(c->out_channels, HN_BLOCK), place_weights = in_blocks * HN_BLOCK * HN_BLOCK;
  conv_tile t = {.conv = c,
                 .in_channels = c->in_channels,
                 .in_plane = w->call_tiles * HN_BLOCK,
                 .out_plane = w->call_tiles * HN_BLOCK,
                 .weight_stride = places * place_weights,
                 .low = -__builtin_inff(),
                 .high = __builtin_inff()};
  for (int64_t set = set_begin; set < set_end; ++set) {
    const int64_t block = set * c->oc_blocks;
    t.blocks = (int)(out_blocks - block < c->oc_blocks ? out_blocks - block : c->oc_blocks);
    const int most = tile_pixels[t.blocks];
    for (int64_t place = 0; place < places; ++place) {
      t.weights = c->weights + block * t.weight_stride + place * place_weights;
      t.out = product + place * w->product_step;
      for (int64_t i = 0; i < count; i += t.pixels) {
        t.pixels = tile_width(count - i, most);
        t.in = patches + place * w->patch_step + i * HN_BLOCK;
        t.offset = i * HN_BLOCK;
        HN_BLOCKED_NAME(hn_conv_f32_1x1_tiles)[t.blocks][t.pixels](&t);
      }
    }
    for (int b = 0; b < t.blocks; ++b) finish_tiles(w, first, count, block + b, product + b * w->call_tiles * HN_BLOCK);
  }
}
