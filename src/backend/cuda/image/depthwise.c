/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise.c - convolutions of one channel a group over images in halves or f32 with their channels last. Packed are
 * the weights, a row of channels for each tap, and the bias (kernels/cuda/image/depthwise.cu). */
#include "backend/cuda/image/image.h"
#include <string.h>

enum { X, W, BIAS, RESIDUAL, THREADS = 128, MOST_TAPS = 1 << 12 };

typedef struct state {
  hn_cuda_image_window args;
  hn_cuda_builtin kernel;
  bool has_residual;
} state;

static hn_cuda_builtin any_kernel(const hn_cuda_window *w, hone_dtype held) {
  if (held != HONE_F32) return held == HONE_BF16 ? HN_CUDA_depthwise_bf16 : HN_CUDA_depthwise_f16;
  if (w->kernel_h != w->kernel_w) return HN_CUDA_depthwise_f32;
  return w->kernel_w == 3   ? HN_CUDA_depthwise_f32_3
         : w->kernel_w == 5 ? HN_CUDA_depthwise_f32_5
                            : HN_CUDA_depthwise_f32;
}
/* By type, extent (3, 5, 7), stride (1, 2) and pixels of a thread: 1, 2 in a row, and 4 in each of two rows. */
static const hn_cuda_builtin kernels[2][3][2][3] = {
    {
        {
            {HN_CUDA_depthwise_f16_3_1_1, HN_CUDA_depthwise_f16_3_1_2, HN_CUDA_depthwise_f16_3_1_8},
            {HN_CUDA_depthwise_f16_3_2_1, HN_CUDA_depthwise_f16_3_2_2, HN_CUDA_BUILTIN_COUNT},
        },
        {
            {HN_CUDA_depthwise_f16_5_1_1, HN_CUDA_depthwise_f16_5_1_2, HN_CUDA_depthwise_f16_5_1_8},
            {HN_CUDA_depthwise_f16_5_2_1, HN_CUDA_depthwise_f16_5_2_2, HN_CUDA_BUILTIN_COUNT},
        },
        {
            {HN_CUDA_depthwise_f16_7_1_1, HN_CUDA_depthwise_f16_7_1_2, HN_CUDA_depthwise_f16_7_1_8},
            {HN_CUDA_BUILTIN_COUNT, HN_CUDA_BUILTIN_COUNT, HN_CUDA_BUILTIN_COUNT},
        },
    },
    {
        {
            {HN_CUDA_depthwise_bf16_3_1_1, HN_CUDA_depthwise_bf16_3_1_2, HN_CUDA_depthwise_bf16_3_1_8},
            {HN_CUDA_depthwise_bf16_3_2_1, HN_CUDA_depthwise_bf16_3_2_2, HN_CUDA_BUILTIN_COUNT},
        },
        {
            {HN_CUDA_depthwise_bf16_5_1_1, HN_CUDA_depthwise_bf16_5_1_2, HN_CUDA_BUILTIN_COUNT},
            {HN_CUDA_depthwise_bf16_5_2_1, HN_CUDA_BUILTIN_COUNT, HN_CUDA_BUILTIN_COUNT},
        },
        {
            {HN_CUDA_depthwise_bf16_7_1_1, HN_CUDA_BUILTIN_COUNT, HN_CUDA_BUILTIN_COUNT},
            {HN_CUDA_BUILTIN_COUNT, HN_CUDA_BUILTIN_COUNT, HN_CUDA_BUILTIN_COUNT},
        },
    },
};
static const struct { int pixels, rows; } tiles[3] = {{1, 1}, {2, 1}, {4, 2}};

static size_t weight_bytes(hone_dtype held) { return held == HONE_F32 ? 4 : 2; }

static const char *check(const hone_query *query) {
  const hone_shape *x = &query->in[X].type.shape, *w = &query->in[W].type.shape;
  if (x->rank < 3 || x->rank > 4 || w->rank != x->rank) return "it has not one or two axes";
  if (hn_cuda_attr_int(query->attrs, "group", 1) != x->dim[1] || w->dim[1] != 1 || w->dim[0] != x->dim[1])
    return "its groups have more than one channel";
  if (!hn_cuda_is_weight(query, W) || (hn_cuda_given(query, BIAS) && !hn_cuda_is_weight(query, BIAS)))
    return "its weights are not constants";
  if (hn_cuda_elements(w) > x->dim[1] * MOST_TAPS) return "its windows are too large";
  return NULL;
}

/* The kernel that is made for these windows and as many pixels a thread, else none. */
static hn_cuda_builtin own_kernel(const hn_cuda_window *w, hone_dtype held, int tile) {
  const bool own = held != HONE_F32 && w->kernel_h == w->kernel_w && w->kernel_h >= 3 && w->kernel_h <= 7 &&
                   w->kernel_h % 2 == 1 && w->stride_h == w->stride_w && (w->stride_w == 1 || w->stride_w == 2) &&
                   w->dilation_h == 1 && w->dilation_w == 1;
  return own ? kernels[held == HONE_BF16][w->kernel_w / 2 - 1][w->stride_w - 1][tile] : HN_CUDA_BUILTIN_COUNT;
}

/* Two pixels where nothing is said: fewer or more are worth it for very small and for large batches. */
static int tile_of(const hone_query *query) {
  const int64_t asked = query->params ? hn_cuda_first_param(query) : 2;
  for (int t = 0; t < 3; ++t)
    if (tiles[t].pixels * tiles[t].rows == asked) return t;
  return 0;
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  hn_cuda_image image;
  hone_dtype held;
  HN_TRY_REASON(check(query));
  const hone_shape *w = &query->in[W].type.shape;
  const int tile = tile_of(query);
  HN_TRY_REASON(hn_cuda_image_windows(query, w->dim + 2, tiles[tile].pixels, tiles[tile].rows, &s->args, &held));
  s->kernel = own_kernel(&s->args.window, held, tile);
  if (s->kernel == HN_CUDA_BUILTIN_COUNT) {
    s->kernel = any_kernel(&s->args.window, held);
    HN_TRY_REASON(hn_cuda_image_windows(query, w->dim + 2, 1, 1, &s->args, &held));
  }
  const hn_activation act = hn_cuda_activation(query);
  if (act == HN_ACTIVATION_PRELU || act == HN_ACTIVATION_COUNT) return "its activation is not the kernel's own";
  s->has_residual = hn_cuda_given(query, RESIDUAL);
  if (s->has_residual) HN_TRY_REASON(hn_cuda_image_of(&query->in[RESIDUAL], held, &image));
  if (s->has_residual && !hn_cuda_same_shape(&query->in[RESIDUAL].type.shape, &query->out[0].type.shape))
    return "the residual is broadcast";
  s->args.act = (int)act;
  s->args.alpha = (float)hn_cuda_attr_float(query->attrs, "act_alpha", 0);
  s->args.beta = (float)hn_cuda_attr_float(query->attrs, "act_beta", 0);
  needs->state = sizeof *s;
  needs->packed = (size_t)s->args.pitch * ((size_t)hn_cuda_elements(w) / (size_t)w->dim[0] * weight_bytes(held) + 4);
  return NULL;
}

/* The best guess first, as the lowest levels time no other: one pixel a thread where there are few (a 7 x 7 image of
 * 960 channels: 1.3 us for 1.5), eight from a few waves of blocks on (batch 64: a fifth less than two), else two. */
static int variants(const hone_query *query, hone_params *out, int room) {
  enum { FEW = 10000, MANY = 400000 };
  static const int few[] = {0, 1, 2}, some[] = {1, 0, 2}, many[] = {2, 1, 0};
  hn_cuda_image_window a;
  hone_dtype held;
  int count = 0;
  if (check(query) || hn_cuda_image_windows(query, query->in[W].type.shape.dim + 2, 1, 1, &a, &held)) return 0;
  const int *order = a.threads < FEW ? few : a.threads < MANY ? some : many;
  for (int i = 0; i < 3 && count < room; ++i) {
    const int t = order[i];
    if (t > 0 && own_kernel(&a.window, held, t) == HN_CUDA_BUILTIN_COUNT) continue;
    out[count++] =
        (hone_params){.count = 1, .items[0] = {.name = "pixels", .value = (int64_t)tiles[t].pixels * tiles[t].rows}};
  }
  return count;
}

static hone_status pack(const hone_query *query, void *to) {
  const hone_shape *shape = &query->in[W].type.shape;
  const hone_tensor *weights = query->in[W].constant;
  const hone_tensor *bias = hn_cuda_given(query, BIAS) ? query->in[BIAS].constant : NULL;
  const hone_dtype held = hn_cuda_image_held(query, &query->in[X]);
  const int64_t channels = shape->dim[0], taps = hn_cuda_elements(shape) / channels, pitch = (channels + 7) / 8 * 8;
  const size_t rows_bytes = (size_t)(taps * pitch) * weight_bytes(held);
  float *sums = (float *)((char *)to + rows_bytes);
  memset(to, 0, rows_bytes + (size_t)pitch * sizeof *sums);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t t = 0; t < taps; ++t) {
      const float value = hn_cuda_weight(weights, c * taps + t);
      if (held == HONE_F32)
        ((float *)to)[t * pitch + c] = value;
      else
        ((uint16_t *)to)[t * pitch + c] = hn_cuda_half_of(held, value);
    }
    if (bias) sums[c] = hn_cuda_weight(bias, c);
  }
  return HONE_OK;
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  const void *residual = s->has_residual ? launch->in[RESIDUAL].data : NULL;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[X].data, (void *)(uintptr_t)&launch->packed,
                       (void *)&residual, &s->args};
  return hn_cuda_launch_shaped(stream, s->kernel,
                               &(hn_cuda_shape){.grid = {(s->args.threads + THREADS - 1) / THREADS, 1, 1},
                                                .threads = THREADS,
                                                .dependent = true},
                               arguments);
}

const hone_tactic hn_tactics_cuda_depthwise[] = {
    {sizeof(hone_tactic), .name = "cuda.conv.f16.depthwise", .version = 1, .op = "conv",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_PLAIN_UNITS,
     .pack_mask = 1 << W | 1 << BIAS, .compute = HONE_F16, .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}},
     .variants = variants, .plan = plan, .pack = pack, .launch = launch},
    {sizeof(hone_tactic), .name = "cuda.conv.bf16.depthwise", .version = 1, .op = "conv",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_PLAIN_UNITS,
     .pack_mask = 1 << W | 1 << BIAS, .compute = HONE_BF16, .storages = {{HONE_BF16_NHWC, HONE_BF16_NHWC}},
     .variants = variants, .plan = plan, .pack = pack, .launch = launch},
    {sizeof(hone_tactic), .name = "cuda.conv.f32.depthwise.nhwc", .version = 1, .op = "conv",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_PLAIN_UNITS,
     .pack_mask = 1 << W | 1 << BIAS, .storages = {{HONE_NHWC, HONE_NHWC}}, .variants = variants, .plan = plan,
     .pack = pack, .launch = launch},
    {0}};
