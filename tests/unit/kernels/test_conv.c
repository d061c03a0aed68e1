/* SPDX-License-Identifier: Apache-2.0 */
/* test_conv.c - every convolution variant this CPU has, and im2col, against sums in double. */
#include "kernel_check.h"

#include "kernels/cpu/conv/conv.h"

typedef void conv_function(const hn_conv_f32 *, int64_t, int64_t);
enum { GENERAL, POINTWISE, FIRST, DEPTHWISE, MULTIPLIED, KINDS };
static const char *const kind_names[KINDS] = {"conv", "conv_1x1", "conv_first", "conv_dw", "conv_dw_multiplier"};
static int is_by_channel(int kind) { return kind == DEPTHWISE || kind == MULTIPLIED; }

typedef struct variant {
  const char *name;
  int block, most_blocks, is_supported;
  conv_function *run[KINDS];
} variant;

enum { VARIANTS = 3 };

static void list_variants(variant *v) {
  memset(v, 0, VARIANTS * sizeof *v);
  v[0] = (variant){"c",
                   8,
                   HN_CONV_F32_OC_BLOCKS_C,
                   1,
                   {hn_conv_f32_nchw8c_c, hn_conv_f32_1x1_nchw8c_c, hn_conv_f32_first_nchw8c_c, hn_conv_dw_f32_nchw8c_c,
                    hn_conv_dw_multiplier_f32_nchw8c_c}};
#ifndef HONE_NO_AVX
  v[1] = (variant){"avx2",
                   8,
                   HN_CONV_F32_OC_BLOCKS_AVX2,
                   __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"),
                   {hn_conv_f32_nchw8c_avx2, hn_conv_f32_1x1_nchw8c_avx2, hn_conv_f32_first_nchw8c_avx2,
                    hn_conv_dw_f32_nchw8c_avx2, hn_conv_dw_multiplier_f32_nchw8c_avx2}};
  v[2] = (variant){"avx512",
                   16,
                   HN_CONV_F32_OC_BLOCKS_AVX512,
                   __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"),
                   {hn_conv_f32_nchw16c_avx512, hn_conv_f32_1x1_nchw16c_avx512, hn_conv_f32_first_nchw16c_avx512,
                    hn_conv_dw_f32_nchw16c_avx512, hn_conv_dw_multiplier_f32_nchw16c_avx512}};
#endif
}

static int64_t blocks_of(int64_t channels, int block) { return (channels + block - 1) / block; }

/* Plain NCHW to nChwBc; the lanes beyond the last channel are set to fill. */
static void to_blocked(const float *plain, int64_t n, int64_t channels, int64_t pixels, int block, float fill,
                       float *to) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t b = 0; b < blocks_of(channels, block); ++b)
      for (int64_t p = 0; p < pixels; ++p)
        for (int64_t lane = 0; lane < block; ++lane) {
          const int64_t ch = b * block + lane;
          *to++ = ch < channels ? plain[(i * channels + ch) * pixels + p] : fill;
        }
}

/* What the tests draw or state; out sizes follow. */
typedef struct shape {
  int64_t n, in, out, groups, h, w, kh, kw, sh, sw, dh, dw, top, left, bottom, right;
} shape;

static hn_conv_f32 conv_of(const shape *s) {
  hn_conv_f32 c = {.batch = s->n, .in_channels = s->in, .out_channels = s->out, .groups = s->groups};
  c.in_height = s->h;
  c.in_width = s->w;
  c.out_height = (s->h + s->top + s->bottom - (s->kh - 1) * s->dh - 1) / s->sh + 1;
  c.out_width = (s->w + s->left + s->right - (s->kw - 1) * s->dw - 1) / s->sw + 1;
  c.kernel_height = s->kh;
  c.kernel_width = s->kw;
  c.stride_height = s->sh;
  c.stride_width = s->sw;
  c.dilation_height = s->dh;
  c.dilation_width = s->dw;
  c.pad_top = s->top;
  c.pad_left = s->left;
  return c;
}

static int has_output(const shape *s) {
  return s->h + s->top + s->bottom > (s->kh - 1) * s->dh && s->w + s->left + s->right > (s->kw - 1) * s->dw;
}

/* The plain sum for output (n, o, y, x) from plain NCHW input and OIHW weights. */
static double reference_sum(const hn_conv_f32 *c, const float *in, const float *oihw, int64_t n, int64_t o, int64_t y,
                            int64_t x, double *magnitude) {
  const int64_t per_group = c->in_channels / c->groups, group = o / (c->out_channels / c->groups);
  double sum = 0;
  *magnitude = 0;
  for (int64_t i = 0; i < per_group; ++i)
    for (int64_t ky = 0; ky < c->kernel_height; ++ky)
      for (int64_t kx = 0; kx < c->kernel_width; ++kx) {
        const int64_t iy = y * c->stride_height - c->pad_top + ky * c->dilation_height;
        const int64_t ix = x * c->stride_width - c->pad_left + kx * c->dilation_width;
        if (iy < 0 || ix < 0 || iy >= c->in_height || ix >= c->in_width) continue;
        const double term =
            (double)in[((n * c->in_channels + group * per_group + i) * c->in_height + iy) * c->in_width + ix] *
            (double)oihw[((o * per_group + i) * c->kernel_height + ky) * c->kernel_width + kx];
        sum += term;
        *magnitude += fabs(term);
      }
  return sum;
}

/* Compares the output with the definition, the lanes of a blocked one beyond the last channel with zero. */
static void check_output(const hn_conv_f32 *c, const float *in, const float *oihw, int block, const char *what) {
  const int64_t pixels = c->out_height * c->out_width, out_blocks = blocks_of(c->out_channels, block);
  const int64_t terms = c->in_channels / c->groups * c->kernel_height * c->kernel_width;
  const int64_t channels = c->plain_output ? c->out_channels : out_blocks * block;
  const int64_t image = c->out_batch_stride ? c->out_batch_stride : channels * pixels;
  for (int64_t n = 0; n < c->batch; ++n)
    for (int64_t o = 0; o < channels; ++o)
      for (int64_t p = 0; p < pixels; ++p) {
        const int64_t in_image = c->plain_output ? o * pixels + p : (o / block * pixels + p) * block + o % block;
        const int64_t at = n * image + in_image;
        double magnitude;
        if (o >= c->out_channels) {
          if (c->output[at] != 0.0f) fail_msg("%s: lane %lld is not zero", what, (long long)o);
          continue;
        }
        double sum = reference_sum(c, in, oihw, n, o, p / c->out_width, p % c->out_width, &magnitude);
        if (c->epilogue.bias) sum += (double)c->epilogue.bias[o];
        if (c->epilogue.residual) sum += (double)c->epilogue.residual[at];
        check_real(c->output[at], reference_activation(sum, &c->epilogue, o), magnitude + 2 + fabs(sum), terms, what,
                   at);
      }
}

static void pack(int kind, const hn_conv_f32 *c, int block, const float *oihw, guarded *packed) {
  const int64_t taps = c->kernel_height * c->kernel_width, per_group = c->in_channels / c->groups;
  const int64_t out_blocks = blocks_of(c->out_channels, block);
  if (kind == FIRST) {
    *packed = guarded_new(hn_conv_f32_first_packed_floats(c->out_channels, per_group, taps, block));
    hn_conv_f32_first_pack_c(oihw, c->out_channels, per_group, taps, block, packed->data);
  } else if (is_by_channel(kind)) {
    *packed = guarded_new(hn_conv_f32_dw_packed_floats(c->out_channels, taps, block));
    hn_conv_f32_dw_pack_c(oihw, c->out_channels, taps, block, packed->data);
  } else {
    *packed = guarded_new(hn_conv_f32_packed_floats(c->out_channels, per_group, taps, block));
    hn_conv_f32_pack_c(oihw, c->out_channels, per_group, taps, block, out_blocks / 2, out_blocks, packed->data);
    hn_conv_f32_pack_c(oihw, c->out_channels, per_group, taps, block, 0, out_blocks / 2, packed->data);
  }
}

static int64_t count_units(int kind, const hn_conv_f32 *c, int block) {
  return is_by_channel(kind) ? hn_conv_f32_dw_units(c, block) : hn_conv_f32_units(c, block, kind == POINTWISE);
}

/* The chosen split in one call, then a random split, unit by unit from the last: both right, and the same bits. */
static void check_shape(const variant *v, int kind, const shape *s, uint32_t seed) {
  hn_conv_f32 c = conv_of(s);
  const int block = v->block;
  const int64_t out_blocks = blocks_of(s->out, block), out_pixels = c.out_height * c.out_width;
  const int64_t in_floats = (kind == FIRST ? s->in : blocks_of(s->in, block) * block) * s->h * s->w;
  const int64_t in_gap = random_below(&seed, 2) * 5, out_gap = random_below(&seed, 2) * 7;
  c.plain_output = kind <= POINTWISE && random_below(&seed, 3) == 0;
  const int64_t out_floats = (c.plain_output ? s->out : out_blocks * block) * out_pixels;
  guarded plain = guarded_random(s->n * s->in * s->h * s->w, &seed);
  guarded oihw = guarded_random(s->out * (s->in / s->groups) * s->kh * s->kw, &seed);
  guarded bias = guarded_new(out_blocks * block), packed;
  guarded in = guarded_new(s->n * (in_floats + in_gap)), out = guarded_new(s->n * (out_floats + out_gap));
  guarded again = guarded_new(out.count), residual = guarded_new(out.count);
  char what[160];
  snprintf(what, sizeof what, "%s%s %s n%lld i%lld o%lld g%lld %lldx%lld k%lldx%lld s%lldx%lld d%lldx%lld p%lld,%lld",
           kind_names[kind], c.plain_output ? " to plain" : "", v->name, (long long)s->n, (long long)s->in,
           (long long)s->out, (long long)s->groups, (long long)s->h, (long long)s->w, (long long)s->kh,
           (long long)s->kw, (long long)s->sh, (long long)s->sw, (long long)s->dh, (long long)s->dw, (long long)s->top,
           (long long)s->left);
  for (int64_t n = 0; n < s->n; ++n) { /* NaN beyond the input's last channel: never read, or the sums show it */
    const float *from = plain.data + n * s->in * s->h * s->w;
    float *to = in.data + n * (in_floats + in_gap);
    if (kind == FIRST)
      memcpy(to, from, (size_t)in_floats * sizeof(float));
    else
      to_blocked(from, 1, s->in, s->h * s->w, block, is_by_channel(kind) ? 0.0f : NAN, to);
  }
  for (int64_t i = 0; i < bias.count; ++i) bias.data[i] = i < s->out ? random_real(&seed) : 0.0f;
  for (int64_t i = 0; i < residual.count; ++i) {
    const int64_t in_image = i % (out_floats + out_gap);
    const int is_channel = c.plain_output || in_image / (out_pixels * block) * block + in_image % block < s->out;
    residual.data[i] = is_channel ? random_real(&seed) : 0.0f;
  }
  pack(kind, &c, block, oihw.data, &packed);
  c.input = in.data;
  c.weights = packed.data;
  c.output = out.data;
  c.in_batch_stride = in_gap ? in_floats + in_gap : 0;
  c.out_batch_stride = out_gap ? out_floats + out_gap : 0;
  c.epilogue = random_epilogue(&seed);
  if (random_below(&seed, 4)) c.epilogue.bias = bias.data;
  if (random_below(&seed, 2)) c.epilogue.residual = residual.data;

  const int most = kind == FIRST && v->most_blocks > 2 ? 2 : v->most_blocks;
  hn_conv_f32_choose(&c, block, most, kind == POINTWISE, 2 << 20, 1 + (int)random_below(&seed, 3));
  v->run[kind](&c, 0, count_units(kind, &c, block));
  check_output(&c, plain.data, oihw.data, block, what);

  c.output = again.data;
  c.oc_blocks = (int32_t)(1 + random_below(&seed, most));
  c.unit_rows = 1 + random_below(&seed, kind == POINTWISE ? out_pixels : c.out_height);
  c.pixels_first = (int32_t)random_below(&seed, 2);
  if (c.epilogue.residual) { /* adding to the output in place is allowed */
    memcpy(again.data, residual.data, (size_t)residual.count * sizeof(float));
    c.epilogue.residual = again.data;
  }
  for (int64_t u = count_units(kind, &c, block); u > 0; --u) v->run[kind](&c, u - 1, u);
  for (int64_t n = 0; n < s->n; ++n)
    if (memcmp(out.data + n * (out_floats + out_gap), again.data + n * (out_floats + out_gap),
               (size_t)out_floats * sizeof(float)))
      fail_msg("%s: another split, another result", what);
  guarded_free(plain);
  guarded_free(oihw);
  guarded_free(bias);
  guarded_free(packed);
  guarded_free(in);
  guarded_free(out);
  guarded_free(again);
  guarded_free(residual);
}

static void for_each_variant(int kind, shape s, uint32_t seed) {
  variant v[VARIANTS];
  list_variants(v);
  if (!has_output(&s)) return;
  for (int i = 0; i < VARIANTS; ++i) {
    const int64_t b = v[i].block;
    if (!v[i].is_supported) continue; /* left out of this build, it has no block to divide by */
    const int fits = s.groups == 1 || is_by_channel(kind) || (s.in / s.groups % b == 0 && s.out / s.groups % b == 0);
    if (fits) check_shape(&v[i], kind, &s, seed);
  }
}

static shape random_shape(uint32_t *seed) {
  shape s = {.groups = 1};
  s.n = 1 + random_below(seed, 2);
  s.in = 1 + random_below(seed, 50);
  s.out = 1 + random_below(seed, 90);
  s.h = 1 + random_below(seed, 9);
  s.w = 1 + random_below(seed, 40);
  s.kh = 1 + random_below(seed, 4);
  s.kw = 1 + random_below(seed, 4);
  s.sh = 1 + random_below(seed, 3);
  s.sw = 1 + random_below(seed, 3);
  s.dh = random_below(seed, 3) ? 1 : 2;
  s.dw = random_below(seed, 3) ? 1 : 2;
  s.top = random_below(seed, s.kh + 1);
  s.left = random_below(seed, s.kw + 1);
  s.bottom = random_below(seed, s.kh + 1);
  s.right = random_below(seed, s.kw + 1);
  return s;
}

static void test_general(void **state) {
  (void)state;
  uint32_t seed = 7;
  for (int i = 0; i < 250; ++i) for_each_variant(GENERAL, random_shape(&seed), random_next(&seed));
  for (int64_t w = 1; w <= 64; ++w) /* every tile width, 3x3 as networks use it */
    for (int64_t stride = 1; stride <= 2; ++stride)
      for_each_variant(GENERAL, (shape){1, 17, 40, 1, 3, w, 3, 3, stride, stride, 1, 1, 1, 1, 1, 1},
                       random_next(&seed));
}

static void test_groups(void **state) {
  (void)state;
  uint32_t seed = 11;
  for (int64_t groups = 2; groups <= 4; ++groups)
    for (int64_t per_group = 8; per_group <= 48; per_group += 8) {
      const shape s = {2, per_group * groups, (56 - per_group) * groups, groups, 6, 15, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1};
      const shape p = {2, per_group * groups, (56 - per_group) * groups, groups, 6, 15, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
      for_each_variant(GENERAL, s, random_next(&seed));
      for_each_variant(POINTWISE, p, random_next(&seed));
    }
}

static void test_pointwise(void **state) {
  (void)state;
  uint32_t seed = 13;
  for (int64_t pixels = 1; pixels <= 64; ++pixels)
    for (int64_t in = 1; in <= 70; in = in * 2 + 3) {
      const shape s = {1 + pixels % 2, in, 1 + random_below(&seed, 90), 1, 1, pixels, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
      for_each_variant(POINTWISE, s, random_next(&seed));
    }
  for_each_variant(POINTWISE, (shape){1, 160, 320, 1, 7, 7, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, 3);
}

static void test_first(void **state) {
  (void)state;
  uint32_t seed = 17;
  for (int i = 0; i < 250; ++i) {
    shape s = random_shape(&seed);
    s.in = 1 + random_below(&seed, 8);
    for_each_variant(FIRST, s, random_next(&seed));
  }
  for_each_variant(FIRST, (shape){1, 3, 64, 1, 40, 64, 7, 7, 2, 2, 1, 1, 3, 3, 3, 3}, 5);
  for_each_variant(FIRST, (shape){1, 3, 32, 1, 40, 70, 3, 3, 2, 2, 1, 1, 0, 0, 1, 1}, 6);
  for_each_variant(FIRST, (shape){1, 3, 16, 1, 23, 70, 11, 11, 4, 4, 1, 1, 2, 2, 2, 2}, 7);
}

static void test_depthwise(void **state) {
  (void)state;
  uint32_t seed = 19;
  for (int i = 0; i < 300; ++i) {
    shape s = random_shape(&seed);
    s.out = s.groups = s.in;
    for_each_variant(DEPTHWISE, s, random_next(&seed));
  }
  for (int64_t w = 1; w <= 30; ++w)
    for (int64_t k = 3; k <= 5; k += 2)
      for (int64_t stride = 1; stride <= 2; ++stride) {
        const shape s = {1, 20, 20, 20, 9, w, k, k, stride, stride, 1, 1, k / 2, k / 2, k / 2, k / 2};
        for_each_variant(DEPTHWISE, s, random_next(&seed));
      }
}

static void test_multiplier(void **state) {
  (void)state;
  uint32_t seed = 23;
  for (int i = 0; i < 300; ++i) {
    shape s = random_shape(&seed);
    s.groups = s.in;
    s.out = s.in * (2 + random_below(&seed, 19)); /* also more outputs a channel than a block has lanes */
    for_each_variant(MULTIPLIED, s, random_next(&seed));
  }
  for (int64_t w = 1; w <= 30; ++w)
    for (int64_t k = 3; k <= 5; k += 2)
      for (int64_t stride = 1; stride <= 2; ++stride) {
        const int64_t in = 2 + random_below(&seed, 20), m = 2 + random_below(&seed, 3);
        const shape s = {1, in, in * m, in, 9, w, k, k, stride, stride, 1, 1, k / 2, k / 2, k / 2, k / 2};
        for_each_variant(MULTIPLIED, s, random_next(&seed));
      }
}

/* One output of a transposed convolution, from plain input and IOHW weights. */
static double transposed_sum(const hn_conv_f32 *c, const float *in, const float *iohw, int64_t n, int64_t o, int64_t y,
                             int64_t x, double *magnitude) {
  double sum = 0;
  *magnitude = 0;
  for (int64_t ky = 0; ky < c->kernel_height; ++ky)
    for (int64_t kx = 0; kx < c->kernel_width; ++kx) {
      const int64_t py = y + c->pad_top - ky * c->dilation_height, px = x + c->pad_left - kx * c->dilation_width;
      if (py < 0 || px < 0 || py % c->stride_height || px % c->stride_width) continue;
      const int64_t iy = py / c->stride_height, ix = px / c->stride_width;
      for (int64_t i = 0; i < c->in_channels && iy < c->in_height && ix < c->in_width; ++i) {
        const double term = (double)in[((n * c->in_channels + i) * c->in_height + iy) * c->in_width + ix] *
                            (double)iohw[((i * c->out_channels + o) * c->kernel_height + ky) * c->kernel_width + kx];
        sum += term;
        *magnitude += fabs(term);
      }
    }
  return sum;
}

static void check_transposed(const variant *v, conv_function *run, hn_conv_f32 c, uint32_t seed) {
  const int64_t in_pixels = c.in_height * c.in_width, pixels = c.out_height * c.out_width, block = v->block;
  const int64_t taps = c.kernel_height * c.kernel_width, out_blocks = blocks_of(c.out_channels, v->block);
  const int64_t padded_in = blocks_of(c.in_channels, v->block) * block, padded_out = out_blocks * block;
  guarded plain = guarded_random(c.batch * c.in_channels * in_pixels, &seed),
          in = guarded_new(c.batch * padded_in * in_pixels);
  guarded iohw = guarded_random(c.in_channels * c.out_channels * taps, &seed), bias = guarded_new(padded_out);
  guarded packed = guarded_new(padded_out * padded_in * taps), out = guarded_new(c.batch * padded_out * pixels);
  to_blocked(plain.data, c.batch, c.in_channels, in_pixels, v->block, NAN, in.data);
  for (int64_t i = 0; i < padded_out; ++i) bias.data[i] = i < c.out_channels ? random_real(&seed) : 0.0f;
  hn_conv_transpose_f32_pack_c(iohw.data, 1, c.in_channels, c.out_channels, taps, v->block, packed.data);
  c.input = in.data;
  c.weights = packed.data;
  c.output = out.data;
  c.epilogue = random_epilogue(&seed);
  if (random_below(&seed, 2)) c.epilogue.bias = bias.data;
  c.oc_blocks = (int32_t)(1 + random_below(&seed, v->most_blocks));
  c.unit_rows = (1 + random_below(&seed, c.in_height)) * c.stride_height;
  c.pixels_first = (int32_t)random_below(&seed, 2);
  for (int64_t u = hn_conv_f32_units(&c, v->block, 0); u > 0; --u) run(&c, u - 1, u);
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t o = 0; o < padded_out; ++o)
      for (int64_t p = 0; p < pixels; ++p) {
        const int64_t at = ((n * out_blocks + o / block) * pixels + p) * block + o % block;
        double magnitude;
        if (o >= c.out_channels) {
          if (out.data[at] != 0.0f) fail_msg("transposed %s: lane %lld is not zero", v->name, (long long)o);
          continue;
        }
        double sum = transposed_sum(&c, plain.data, iohw.data, n, o, p / c.out_width, p % c.out_width, &magnitude);
        if (c.epilogue.bias) sum += (double)bias.data[o];
        check_real(out.data[at], reference_activation(sum, &c.epilogue, o), magnitude + 2 + fabs(sum),
                   c.in_channels * taps, v->name, at);
      }
  guarded_free(plain);
  guarded_free(in);
  guarded_free(iohw);
  guarded_free(bias);
  guarded_free(packed);
  guarded_free(out);
}

/* Every second one without overlap. */
static void test_transposed(void **state) {
  (void)state;
  uint32_t seed = 29;
  variant v[VARIANTS];
  list_variants(v);
  conv_function *runs[VARIANTS] = {hn_conv_transpose_f32_nchw8c_c};
#ifndef HONE_NO_AVX
  runs[1] = hn_conv_transpose_f32_nchw8c_avx2;
  runs[2] = hn_conv_transpose_f32_nchw16c_avx512;
#endif
  for (int i = 0; i < 240; ++i) {
    shape s = random_shape(&seed);
    hn_conv_f32 c = conv_of(&s);
    const int overlaps = i % 2;
    if (!overlaps) {
      c.kernel_height = c.stride_height, c.kernel_width = c.stride_width;
      c.dilation_height = c.dilation_width = 1;
      c.pad_top = c.pad_left = s.bottom = s.right = 0;
    }
    c.out_height = (s.h - 1) * s.sh + (c.kernel_height - 1) * c.dilation_height + 1 - c.pad_top - s.bottom;
    c.out_width = (s.w - 1) * s.sw + (c.kernel_width - 1) * c.dilation_width + 1 - c.pad_left - s.right;
    if (c.out_height < 1 || c.out_width < 1) continue;
    assert_true(overlaps || hn_conv_transpose_f32_scatters(&c));
    for (int k = 0; k < VARIANTS; ++k)
      if (v[k].is_supported) check_transposed(&v[k], runs[k], c, random_next(&seed));
  }
}

/* im2col is exact: each element is an input pixel or zero. */
static void test_im2col(void **state) {
  (void)state;
  uint32_t seed = 23;
  for (int i = 0; i < 200; ++i) {
    const shape s = random_shape(&seed);
    if (!has_output(&s)) continue;
    hn_conv_f32 c = conv_of(&s);
    const int64_t pixels = c.out_height * c.out_width, rows = s.in * s.kh * s.kw, stride = pixels + 3;
    guarded in = guarded_random(s.in * s.h * s.w, &seed), columns = guarded_new(rows * stride);
    c.input = in.data;
    const int64_t cut = random_below(&seed, rows + 1);
    hn_im2col_f32_c(&c, columns.data, stride, cut, rows);
    hn_im2col_f32_c(&c, columns.data, stride, 0, cut);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t p = 0; p < stride; ++p) {
        const int64_t iy = p / c.out_width * s.sh - s.top + r / s.kw % s.kh * s.dh;
        const int64_t ix = p % c.out_width * s.sw - s.left + r % s.kw * s.dw;
        float want = 0;
        if (iy >= 0 && ix >= 0 && iy < s.h && ix < s.w) want = in.data[(r / (s.kh * s.kw) * s.h + iy) * s.w + ix];
        if (p >= pixels) want = guard_value; /* the gap between rows is not written */
        if (columns.data[r * stride + p] != want) fail_msg("row %lld, pixel %lld", (long long)r, (long long)p);
      }
    guarded_free(in);
    guarded_free(columns);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_general),    cmocka_unit_test(test_groups),    cmocka_unit_test(test_pointwise),
      cmocka_unit_test(test_first),      cmocka_unit_test(test_depthwise), cmocka_unit_test(test_multiplier),
      cmocka_unit_test(test_transposed), cmocka_unit_test(test_im2col),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
