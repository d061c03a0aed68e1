/* SPDX-License-Identifier: Apache-2.0 */
/* conv_dw_bf16.c - depthwise convolution on nChw32c where one instruction rounds to bf16.
 *
 * A pixel of 32 channels is one vector, which becomes two of floats, its even and its odd channels, by a shift and a
 * mask. 3x3 and 5x5 without dilation at stride 1 and 2 run in tiles of 7 pixels along a row: a row's weights, even and
 * odd channels apart, stay in registers, and each pixel of the input is made floats once for all sums of a row of taps.
 * Rows and columns in the padding are left out. The order of a sum is ky, kx. Other shapes go pixel by pixel. */
/* isa: avx512_bf16 */
#define HN_HELD_BF16
#define HN_DW_SPREADS 0
#define HN_DW_HAS_TILES 0
#include "kernels/cpu/conv/conv_dw.inc.h"

enum { PIXELS = 7, HALVES = 2, TAPS = 25 };

/* One block of channels of one image. */
typedef struct block {
  const hn_conv_f32 *conv;
  const held *in, *residual;
  held *out;
  __mmask32 there;
  float low, high;
  hn_activation ends; /* what a tile's end does by itself: bounds (CLIP), HARD_SWISH, or nothing (NONE) */
  _Alignas(64) float weights[TAPS][HALVES][HN_LANES], bias[HALVES][HN_LANES], slope[HALVES][HN_LANES];
} block;

typedef vf sums[PIXELS][HALVES];

HN_INLINE void load_halves(const held *pixel, vf *x) {
  const __m512i both = _mm512_loadu_si512((const void *)pixel);
  x[0] = vf_of(_mm512_slli_epi32(both, 16));
  x[1] = vf_of(_mm512_and_si512(both, _mm512_set1_epi32((int32_t)0xffff0000)));
}

HN_INLINE void store_halves(held *pixel, __mmask32 there, const vf *x) {
  const __m512i even = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i places = _mm512_add_epi32(even, _mm512_slli_epi32(_mm512_add_epi32(even, _mm512_set1_epi32(16)), 16));
  const __m512i rounded = (__m512i)_mm512_cvtne2ps_pbh(x[1], x[0]);
  _mm512_storeu_si512((void *)pixel, _mm512_maskz_permutexvar_epi16(there, places, rounded));
}

/* A row of the input, from the tile's first column on, added to the sums; columns outside [from, to) are left out. */
HN_INLINE void add_row(sums sum, const held *in, const float *w, int64_t from, int64_t to, const int kernel,
                       const int stride, const int is_end) {
  const int columns = (PIXELS - 1) * stride + kernel;
  vf weights[5][HALVES];
  HN_UNROLL
  for (int i = 0; i < kernel * HALVES; ++i) weights[i / HALVES][i % HALVES] = v_load(w + i * HN_LANES);
  HN_UNROLL
  for (int c = 0; c < columns; ++c) {
    if (is_end && (c < from || c >= to)) continue;
    vf x[HALVES];
    load_halves(in + c * HN_HELD_BLOCK, x);
    HN_UNROLL
    for (int kx = 0; kx < kernel; ++kx) {
      if (c < kx || (c - kx) % stride || (c - kx) / stride >= PIXELS) continue;
      HN_UNROLL
      for (int half = 0; half < HALVES; ++half)
        sum[(c - kx) / stride][half] = v_fma(x[half], weights[kx][half], sum[(c - kx) / stride][half]);
    }
  }
}

/* What is done to pixels' sums in registers; residual: NULL for none. */
typedef struct ending {
  held *out;
  const held *residual;
  __mmask32 there;
  vf low, high, slope[HALVES];
  float alpha, beta;
} ending;

HN_INLINE ending ending_at(const block *b, int64_t at) {
  const hn_epilogue_f32 *e = &b->conv->epilogue;
  return (ending){b->out + at,    b->residual ? b->residual + at : NULL,      b->there, v_set(b->low),
                  v_set(b->high), {v_load(b->slope[0]), v_load(b->slope[1])}, e->alpha, e->beta};
}

/* CLIP stands for any bounds. */
HN_INLINE void end_pixel(const ending *e, const vf *sum, int64_t pixel, const hn_activation kind,
                         const int has_residual) {
  vf x[HALVES] = {sum[0], sum[1]}, residual[HALVES];
  if (has_residual) {
    load_halves(e->residual + pixel * HN_HELD_BLOCK, residual);
    x[0] += residual[0], x[1] += residual[1];
  }
  HN_UNROLL
  for (int half = 0; half < HALVES; ++half)
    x[half] = kind == HN_ACTIVATION_PRELU  ? rectify_one(x[half], e->slope[half])
              : kind == HN_ACTIVATION_CLIP ? v_min(e->high, v_max(e->low, x[half]))
                                           : activate_half(x[half], kind, e->alpha, e->beta);
  store_halves(e->out + pixel * HN_HELD_BLOCK, e->there, x);
}

HN_OUTLINE void end_others(const block *b, const sums sum, int64_t at, int64_t pixels) {
  const ending e = ending_at(b, at);
  switch (b->conv->epilogue.activation) {
#define HN_ACT(NUMBER, ...)                                                                                            \
  case HN_ACTIVATION_##NUMBER:                                                                                         \
    for (int64_t p = 0; p < pixels; ++p) end_pixel(&e, sum[p], p, HN_ACTIVATION_##NUMBER, e.residual != NULL);         \
    break;
#include "kernels/activations.inc"
#undef HN_ACT
  case HN_ACTIVATION_COUNT: break;
  }
}

HN_INLINE void end_tile(const block *b, const sums sum, int64_t at, int64_t pixels, const hn_activation kind,
                        const int is_end) {
  const ending e = ending_at(b, at);
  HN_UNROLL
  for (int p = 0; p < PIXELS; ++p) {
    if (is_end && p >= pixels) break;
    end_pixel(&e, sum[p], p, kind, 0);
  }
}

/* Up to PIXELS outputs of row y from x on. */
HN_INLINE void tile(const block *b, int64_t y, int64_t x, const int kernel, const int stride, const int is_end) {
  const hn_conv_f32 *c = b->conv;
  const int64_t in_x = x * stride - c->pad_left, in_y = y * stride - c->pad_top;
  const int64_t begin = in_y < 0 ? 0 : in_y, end = in_y + kernel < c->in_height ? in_y + kernel : c->in_height;
  const int64_t at = (y * c->out_width + x) * HN_HELD_BLOCK, pixels = c->out_width - x;
  const held *in = b->in + (begin * c->in_width + in_x) * HN_HELD_BLOCK;
  const float *w = b->weights[0][0] + (begin - in_y) * kernel * HN_HELD_BLOCK;
  sums sum;
  HN_UNROLL
  for (int i = 0; i < PIXELS * HALVES; ++i) sum[i / HALVES][i % HALVES] = v_load(b->bias[i % HALVES]);
  for (int64_t i = begin; i < end; ++i, in += c->in_width * HN_HELD_BLOCK, w += kernel * HN_HELD_BLOCK)
    add_row(sum, in, w, -in_x, c->in_width - in_x, kernel, stride, is_end);
  if (b->ends == HN_ACTIVATION_CLIP) {
    end_tile(b, sum, at, pixels, HN_ACTIVATION_CLIP, is_end);
  } else if (b->ends == HN_ACTIVATION_HARD_SWISH) {
    end_tile(b, sum, at, pixels, HN_ACTIVATION_HARD_SWISH, is_end);
  } else {
    sums copy; /* the sums themselves stay in registers */
    HN_UNROLL
    for (int i = 0; i < PIXELS * HALVES; ++i) copy[i / HALVES][i % HALVES] = sum[i / HALVES][i % HALVES];
    end_others(b, copy, at, pixels < PIXELS ? pixels : PIXELS);
  }
}

HN_OUTLINE void full_3_1(const block *b, int64_t y, int64_t x) { tile(b, y, x, 3, 1, 0); }
HN_OUTLINE void full_3_2(const block *b, int64_t y, int64_t x) { tile(b, y, x, 3, 2, 0); }
HN_OUTLINE void full_5_1(const block *b, int64_t y, int64_t x) { tile(b, y, x, 5, 1, 0); }
HN_OUTLINE void full_5_2(const block *b, int64_t y, int64_t x) { tile(b, y, x, 5, 2, 0); }
HN_OUTLINE void some_3_1(const block *b, int64_t y, int64_t x) { tile(b, y, x, 3, 1, 1); }
HN_OUTLINE void some_3_2(const block *b, int64_t y, int64_t x) { tile(b, y, x, 3, 2, 1); }
HN_OUTLINE void some_5_1(const block *b, int64_t y, int64_t x) { tile(b, y, x, 5, 1, 1); }
HN_OUTLINE void some_5_2(const block *b, int64_t y, int64_t x) { tile(b, y, x, 5, 2, 1); }
/* [kernel is 5][stride - 1][some columns lie outside] */
typedef void tile_fn(const block *, int64_t y, int64_t x);
static tile_fn *const tile_fns[2][2][2] = {{{full_3_1, some_3_1}, {full_3_2, some_3_2}},
                                           {{full_5_1, some_5_1}, {full_5_2, some_5_2}}};

static int has_tiles(const hn_conv_f32 *c) {
  const int64_t kernel = c->kernel_width, stride = c->stride_width;
  return (kernel == 3 || kernel == 5) && c->kernel_height == kernel && (stride == 1 || stride == 2) &&
         c->stride_height == stride && c->dilation_height == 1 && c->dilation_width == 1;
}

HN_INLINE void split(const float *from, float (*to)[HN_LANES]) {
  v_store(to[0], v_load_even(from));
  v_store(to[1], v_load_even(from + 1));
}

static void block_begin(block *b, const hn_conv_f32 *c, const conv_plan *plan, const conv_unit *u) {
  static const float none[HN_HELD_BLOCK] = {0};
  const int64_t taps = c->kernel_height * c->kernel_width, channel = u->first_block * HN_HELD_BLOCK;
  const int64_t left = c->out_channels - channel;
  const hn_epilogue_f32 *e = &c->epilogue;
  const held *residual = (const held *)(const void *)e->residual;
  b->conv = c;
  activation_bounds(e, &b->low, &b->high);
  b->ends = residual                                    ? HN_ACTIVATION_NONE
            : activation_is_bounds(e)                   ? HN_ACTIVATION_CLIP
            : e->activation == HN_ACTIVATION_HARD_SWISH ? HN_ACTIVATION_HARD_SWISH
                                                        : HN_ACTIVATION_NONE;
  b->in = (const held *)(const void *)c->input + u->image * plan->in_image + u->first_block * plan->in_plane;
  b->out = (held *)(void *)c->output + u->out_offset;
  b->residual = residual ? residual + u->out_offset : NULL;
  b->there = left < HN_HELD_BLOCK ? (__mmask32)((1U << left) - 1) : ~(__mmask32)0;
  for (int64_t t = 0; t < taps; ++t) split(c->weights + (u->first_block * taps + t) * HN_HELD_BLOCK, b->weights[t]);
  split(e->bias ? e->bias + channel : none, b->bias);
  split(e->slope ? e->slope + channel : none, b->slope);
}

static void run_unit(const hn_conv_f32 *c, const conv_plan *plan, const conv_unit *u) {
  const int64_t kernel = c->kernel_width, stride = c->stride_width;
  tile_fn *const *tiles = tile_fns[kernel == 5][stride - 1];
  block b;
  block_begin(&b, c, plan, u);
  for (int64_t y = u->row_begin; y < u->row_end; ++y)
    for (int64_t x = 0; x < c->out_width; x += PIXELS) {
      const int64_t in_x = x * stride - c->pad_left;
      tiles[in_x < 0 || in_x + (PIXELS - 1) * stride + kernel > c->in_width](&b, y, x);
    }
}

void HN_HELD_BLOCKED_NAME(hn_conv_dw)(const hn_conv_f32 *conv, int64_t begin, int64_t end) {
  if (!has_tiles(conv)) {
    dw_run(conv, begin, end);
    return;
  }
  hn_conv_f32 c = *conv;
  c.groups = 1; /* blocks of channels are counted without regard to groups */
  c.oc_blocks = 1;
  const conv_plan plan = conv_plan_make(&c, 0);
  for (int64_t at = begin; at < end; ++at) {
    const conv_unit u = conv_unit_at(&c, &plan, at);
    run_unit(&c, &plan, &u);
  }
}
