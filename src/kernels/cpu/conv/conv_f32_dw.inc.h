/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32_dw.inc.h - depthwise convolution on nChwBc: one vector is one pixel of HN_LANES channels.
 *
 * 3x3 and 5x5 without dilation at stride 1 and 2 run in tiles along a row: a row's weights and the pixels that
 * neighbouring sums share stay in registers. Pixels whose taps leave the row at the sides, and all other
 * shapes, go one by one. Taps in the padding are skipped; the order is ky, kx in both.
 * The including file defines HN_LANES, HN_BLOCK and HN_CONV_DW, the function's name. */
#include "kernels/cpu/conv/conv_tile_f32.inc.h"

#if HN_LANES == 16
#define HN_DW_PIXELS 8
#define HN_DW_WIDTHS(X, k, s) X(k, s, 1) X(k, s, 2) X(k, s, 3) X(k, s, 4) X(k, s, 5) X(k, s, 6) X(k, s, 7) X(k, s, 8)
#else
#define HN_DW_PIXELS 4
#define HN_DW_WIDTHS(X, k, s) X(k, s, 1) X(k, s, 2) X(k, s, 3) X(k, s, 4)
#endif
#define HN_DW_TILES(X) HN_DW_WIDTHS(X, 3, 1) HN_DW_WIDTHS(X, 3, 2) HN_DW_WIDTHS(X, 5, 1) HN_DW_WIDTHS(X, 5, 2)

/* One row of output of one channel block. in and weights are at the first valid ky. */
typedef struct dw_row {
  const float *in, *weights, *bias, *residual;
  float *out;
  int64_t ky_count;
  ptrdiff_t in_step, weight_step; /* floats from one ky to the next */
  float low, high;
} dw_row;

HN_INLINE void dw_store(const dw_row *r, vf sum, ptrdiff_t at) {
  if (r->residual) sum += v_load(r->residual + at);
  v_store(r->out + at, v_min(v_set(r->high), v_max(v_set(r->low), sum)));
}

/* pixels outputs from x on, all taps inside the row; lane is the vector within the block. */
HN_INLINE void dw_tile(const dw_row *r, int64_t x, int64_t in_x, int lane, const int kernel, const int stride,
                       const int pixels) {
  vf acc[HN_DW_PIXELS];
  const float *in = r->in + in_x * HN_BLOCK + lane, *w = r->weights + lane;
  tile_start(acc, 1, pixels, r->bias ? r->bias + lane : NULL);
  for (int64_t ky = 0; ky < r->ky_count; ++ky, in += r->in_step, w += r->weight_step) {
    HN_UNROLL
    for (int kx = 0; kx < kernel; ++kx) {
      const vf weight = v_load(w + kx * HN_BLOCK);
      HN_UNROLL
      for (int p = 0; p < pixels; ++p) acc[p] = v_fma(v_load(in + (p * stride + kx) * HN_BLOCK), weight, acc[p]);
    }
  }
  HN_UNROLL
  for (int p = 0; p < pixels; ++p) dw_store(r, acc[p], (x + p) * HN_BLOCK + lane);
}

#define HN_DEFINE_DW(k, s, p)                                                                                          \
  HN_OUTLINE void dw_tile_##k##_##s##_##p(const dw_row *r, int64_t x, int64_t in_x, int lane) {                        \
    dw_tile(r, x, in_x, lane, k, s, p);                                                                                \
  }
HN_DW_TILES(HN_DEFINE_DW)

typedef void dw_function(const dw_row *, int64_t, int64_t, int);
#define HN_ENTRY_DW(k, s, p) [k == 5][s - 1][p] = dw_tile_##k##_##s##_##p,
static dw_function *const dw_tiles[2][2][HN_DW_PIXELS + 1] = {HN_DW_TILES(HN_ENTRY_DW)};

/* One output at x: taps kx in [begin, end), the first of them at in. */
static void dw_pixel(const dw_row *r, int64_t x, const float *in, ptrdiff_t tap_step, int64_t begin, int64_t end) {
  for (int lane = 0; lane < HN_BLOCK; lane += HN_LANES) {
    vf acc = r->bias ? v_load(r->bias + lane) : v_set(0.0f);
    for (int64_t ky = 0; ky < r->ky_count; ++ky) {
      const float *from = in + ky * r->in_step + lane, *w = r->weights + ky * r->weight_step + begin * HN_BLOCK + lane;
      for (int64_t kx = begin; kx < end; ++kx, from += tap_step, w += HN_BLOCK)
        acc = v_fma(v_load(from), v_load(w), acc);
    }
    dw_store(r, acc, x * HN_BLOCK + lane);
  }
}

static void dw_run_row(const hn_conv_f32 *c, const dw_row *r, int64_t inside_begin, int64_t inside_end) {
  int64_t step = 1;
  dw_function *const *tiles = NULL;
  if (c->dilation_width == 1 && c->stride_width <= 2 && (c->kernel_width == 3 || c->kernel_width == 5))
    tiles = dw_tiles[c->kernel_width == 5][c->stride_width - 1];
  for (int64_t x = 0; x < c->out_width; x += step) {
    const int64_t in_x = x * c->stride_width - c->pad_left;
    if (tiles && x >= inside_begin && x < inside_end) {
      step = tile_width(inside_end - x, HN_DW_PIXELS);
      for (int lane = 0; lane < HN_BLOCK; lane += HN_LANES) tiles[step](r, x, in_x, lane);
    } else {
      int64_t begin, end;
      tap_range(in_x, c->dilation_width, c->kernel_width, c->in_width, &begin, &end);
      step = 1;
      dw_pixel(r, x, r->in + (in_x + begin * c->dilation_width) * HN_BLOCK, c->dilation_width * HN_BLOCK, begin, end);
    }
  }
}

/* unit_rows rows of one channel block. */
static void dw_unit(const hn_conv_f32 *c, const conv_plan *plan, const conv_unit *u) {
  const int64_t taps = c->kernel_height * c->kernel_width;
  const float *image = c->input + u->image * plan->in_image + u->first_block * plan->in_plane;
  const float *weights = c->weights + u->first_block * taps * HN_BLOCK;
  const hn_epilogue_f32 *e = &c->epilogue;
  conv_tile done = {.conv = c, .out = c->output, .blocks = 1, .first_channel = u->first_block * HN_BLOCK};
  dw_row r = {.bias = e->bias ? e->bias + done.first_channel : NULL};
  int64_t inside_begin, inside_end;
  r.in_step = c->dilation_height * c->in_width * HN_BLOCK;
  r.weight_step = c->kernel_width * HN_BLOCK;
  activation_bounds(e, &r.low, &r.high);
  inside_range(c->out_width, c->stride_width, c->pad_left, (c->kernel_width - 1) * c->dilation_width, c->in_width,
               &inside_begin, &inside_end);
  for (int64_t y = u->row_begin; y < u->row_end; ++y) {
    const int64_t in_y = y * c->stride_height - c->pad_top;
    int64_t ky_begin, ky_end;
    tap_range(in_y, c->dilation_height, c->kernel_height, c->in_height, &ky_begin, &ky_end);
    r.ky_count = ky_end - ky_begin;
    r.in = image + (in_y + ky_begin * c->dilation_height) * c->in_width * HN_BLOCK;
    r.weights = weights + ky_begin * r.weight_step;
    done.offset = u->out_offset + y * c->out_width * HN_BLOCK;
    done.pixels = (int)c->out_width;
    r.out = c->output + done.offset;
    r.residual = e->residual ? e->residual + done.offset : NULL;
    dw_run_row(c, &r, inside_begin, inside_end);
    conv_tile_finish(&done);
  }
}

void HN_CONV_DW(const hn_conv_f32 *conv, int64_t begin, int64_t end) {
  hn_conv_f32 c = *conv;
  c.groups = 1; /* blocks of channels are counted without regard to groups */
  c.oc_blocks = 1;
  const conv_plan plan = conv_plan_make(&c, 0);
  for (int64_t at = begin; at < end; ++at) {
    const conv_unit u = conv_unit_at(&c, &plan, at);
    dw_unit(&c, &plan, &u);
  }
}
