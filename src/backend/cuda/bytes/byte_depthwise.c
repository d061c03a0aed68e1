/* SPDX-License-Identifier: Apache-2.0 */
/* byte_depthwise.c - depthwise qlinear_conv of images with their channels last, 3 x 3 and 5 x 5. */
#include "kernels/cuda/bytes/window.h"
#include "backend/cuda/bytes/bytes.h"
#include "backend/cuda/conv/sliding.h"
#include <string.h>

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, BIAS, RESIDUAL };
static const hn_cuda_byte_ports ports = {X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, BIAS, RESIDUAL};

typedef struct state {
  hn_cuda_byte_window args;
  hn_cuda_builtin kernel;
} state;

/* u8 and i8; 3 x 3 and 5 x 5; stride 1 and 2; one pixel a thread and four. */
static const hn_cuda_builtin kernels[2][2][2][2] = {
    {{{HN_CUDA_byte_depthwise_u8_3_1_1, HN_CUDA_byte_depthwise_u8_3_1_4},
      {HN_CUDA_byte_depthwise_u8_3_2_1, HN_CUDA_byte_depthwise_u8_3_2_4}},
     {{HN_CUDA_byte_depthwise_u8_5_1_1, HN_CUDA_byte_depthwise_u8_5_1_4},
      {HN_CUDA_byte_depthwise_u8_5_2_1, HN_CUDA_byte_depthwise_u8_5_2_4}}},
    {{{HN_CUDA_byte_depthwise_i8_3_1_1, HN_CUDA_byte_depthwise_i8_3_1_4},
      {HN_CUDA_byte_depthwise_i8_3_2_1, HN_CUDA_byte_depthwise_i8_3_2_4}},
     {{HN_CUDA_byte_depthwise_i8_5_1_1, HN_CUDA_byte_depthwise_i8_5_1_4},
      {HN_CUDA_byte_depthwise_i8_5_2_1, HN_CUDA_byte_depthwise_i8_5_2_4}}}};

static void read_channel(const hone_query *query, int64_t channel, int64_t depth, int64_t first, int64_t count,
                         int8_t *out) {
  const hone_tensor *w = query->in[W].constant;
  const int flip = w->type.dtype == HONE_U8 ? 0x80 : 0;
  const uint8_t *from = (const uint8_t *)w->data + channel * depth + first;
  for (int64_t i = 0; i < count; ++i) out[i] = (int8_t)(from[i] ^ flip);
}

static const char *check_window(const hn_cuda_window *v) {
  if (v->kernel_h != v->kernel_w || (v->kernel_h != 3 && v->kernel_h != 5))
    return "its window is neither 3 x 3 nor 5 x 5";
  if (v->stride_h != v->stride_w || v->stride_h < 1 || v->stride_h > 2) return "its strides are neither 1 nor 2";
  return v->dilation_h != 1 || v->dilation_w != 1 ? "it is dilated" : NULL;
}

static int words_of(const hn_cuda_window *v) { return v->kernel_w * ((v->kernel_h + 3) / 4); }

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  hn_cuda_byte_window *a = &s->args;
  hn_cuda_tensor_plan p;
  hn_cuda_image x, y;
  const hone_dtype held = query->in[X].type.dtype;
  if (query->in_count <= Y_ZERO || query->in[W].type.shape.rank != 4) return "it has no weights over two axes";
  const int64_t *w = query->in[W].type.shape.dim;
  HN_TRY_REASON(hn_cuda_bytes_begin(query, &ports, w[0], w[1] * w[2] * w[3], read_channel, &p));
  HN_TRY_REASON(hn_cuda_image_of(&query->in[X], held, &x));
  HN_TRY_REASON(hn_cuda_image_of(&query->out[0], held, &y));
  if (w[1] != 1 || w[0] != x.c || y.c != x.c || hn_cuda_attr_int(query->attrs, "group", 1) != x.c)
    return "it is not depthwise";
  if (p.residual) return "it adds a residual";
  HN_TRY_REASON(hn_cuda_sliding(query, &query->in[X].type.shape, &query->out[0].type.shape, w + 2, &a->window));
  HN_TRY_REASON(check_window(&a->window));
  const int pixels = query->params ? (int)hn_cuda_first_param(query) : 4;
  if (pixels != 1 && pixels != 4) return "no such number of pixels";
  a->pitch = y.pitch, a->bytes = p.args.bytes;
  a->tiles = (y.w + pixels - 1) / pixels;
  a->threads = (unsigned)(y.n * y.h * a->tiles * (y.pitch / 4));
  s->kernel = kernels[held == HONE_I8][a->window.kernel_h == 5][a->window.stride_h == 2][pixels == 4];
  needs->state = sizeof *s;
  needs->packed = (size_t)y.pitch * ((size_t)words_of(&a->window) + 2) * sizeof(int32_t);
  return NULL;
}

/* Few outputs want many threads. */
static int variants(const hone_query *query, hone_params *out, int room) {
  enum { FEW = 100000 };
  state s;
  hone_needs needs = {0};
  if (plan(query, &s, &needs)) return 0;
  const int first = s.args.threads < FEW ? 1 : 4;
  for (int i = 0; i < 2 && i < room; ++i)
    out[i] = (hone_params){.count = 1, .items[0] = {.name = "pixels", .value = i ? 5 - first : first}};
  return room < 2 ? room : 2;
}

static hone_status pack(const hone_query *query, void *to) {
  state s;
  hone_needs needs = {0};
  int8_t taps[25];
  if (plan(query, &s, &needs)) return HONE_INTERNAL;
  const int pitch = s.args.pitch, size = s.args.window.kernel_h, packs = (size + 3) / 4;
  const int64_t channels = query->in[W].type.shape.dim[0];
  const hn_cuda_byte_vectors vectors = {(int32_t *)to + (int64_t)words_of(&s.args.window) * pitch,
                                        (float *)to + ((int64_t)words_of(&s.args.window) + 1) * pitch};
  memset(to, 0, needs.packed);
  hn_cuda_bytes_fill(query, &ports, channels, size * size, read_channel, &vectors);
  for (int64_t c = 0; c < channels; ++c) {
    read_channel(query, c, size * size, 0, size * size, taps);
    for (int row = 0; row < size; ++row)
      for (int k = 0; k < size; ++k)
        ((int8_t *)to)[(((int64_t)k * packs + row / 4) * pitch + c) * 4 + row % 4] = taps[row * size + k];
  }
  return HONE_OK;
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[X].data, (void *)(uintptr_t)&launch->packed,
                       &s->args};
  return hn_cuda_bytes_launch(stream, s->kernel, s->args.threads, arguments);
}

const hone_tactic hn_tactics_cuda_byte_depthwise[] = {
    {sizeof(hone_tactic), .name = "cuda.qlinear_conv.bytes.depthwise", .version = 1, .op = "qlinear_conv",
     .isa = HN_CUDA_SM80, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .storages = {{HONE_NHWC, HONE_NHWC}},
     .pack_mask = 1 << X_SCALE | 1 << W | 1 << W_SCALE | 1 << W_ZERO | 1 << Y_SCALE | 1 << BIAS, .variants = variants,
     .plan = plan, .pack = pack, .launch = launch},
    {0}};
