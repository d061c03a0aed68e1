/* SPDX-License-Identifier: Apache-2.0 */
/* few.c - 1x1 convolutions of images in halves with their channels last to one to four channels, which leave as plain
 * planes, f32 or held: the last layer of networks that mark pixels (kernels/cuda/image/few_held.cu). */
#include "backend/cuda/image/image.h"
#include <string.h>

enum { X, W, BIAS, RESIDUAL, THREADS = 256, EACH = 256, MOST = 4, MOST_CHANNELS = 2048 };

typedef struct state {
  hn_cuda_few args;
  hn_cuda_builtin kernel;
  unsigned shared_bytes;
} state;

static int padded_outputs(int64_t outputs) { return outputs < 3 ? (int)outputs : MOST; }

static const char *check(const hone_query *query) {
  const hone_shape *x = &query->in[X].type.shape, *w = &query->in[W].type.shape, *y = &query->out[0].type.shape;
  hn_cuda_window window;
  if (x->rank < 3 || x->rank > 4 || w->rank != x->rank || y->rank != x->rank) return "it has not one or two axes";
  if (hn_cuda_attr_int(query->attrs, "group", 1) != 1) return "it has groups";
  if (hn_cuda_given(query, RESIDUAL)) return "it adds a residual";
  if (!hn_cuda_is_weight(query, W) || (hn_cuda_given(query, BIAS) && !hn_cuda_is_weight(query, BIAS)))
    return "its weights are not constants";
  if (w->dim[0] > MOST) return "it has more than four channels";
  if (w->dim[1] > MOST_CHANNELS || w->dim[1] != x->dim[1]) return "it reads too many channels";
  HN_TRY_REASON(hn_cuda_sliding(query, x, y, w->dim + 2, &window));
  for (int d = 2; d < x->rank; ++d)
    if (w->dim[d] != 1 || y->dim[d] != x->dim[d]) return "it is not 1x1 with stride 1 and no pads";
  return NULL;
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  static const hn_cuda_builtin kernels[2][3] = {{HN_CUDA_few_f16_1, HN_CUDA_few_f16_2, HN_CUDA_few_f16_4},
                                                {HN_CUDA_few_bf16_1, HN_CUDA_few_bf16_2, HN_CUDA_few_bf16_4}};
  state asked, *s = state_memory ? state_memory : &asked;
  const hone_dtype held = query->tactic->compute;
  const hn_activation act = hn_cuda_activation(query);
  hn_cuda_image x;
  HN_TRY_REASON(check(query));
  HN_TRY_REASON(hn_cuda_image_of(&query->in[X], held, &x));
  const bool to_f32 = hn_cuda_plain_f32(&query->out[0]);
  if (!to_f32 && !hn_cuda_plain_of(&query->out[0], held))
    return "its output is neither plain f32 nor plain as its input";
  if (act == HN_ACTIVATION_PRELU || act == HN_ACTIVATION_COUNT) return "its activation is not the kernel's own";
  const int outputs = (int)query->in[W].type.shape.dim[0], padded = padded_outputs(outputs);
  *s = (state){.args = {.pixels = (unsigned)(x.n * x.h * x.w),
                        .plane = (unsigned)(x.h * x.w),
                        .pitch = x.pitch,
                        .outputs = outputs,
                        .to_f32 = to_f32,
                        .act = (int)act,
                        .alpha = (float)hn_cuda_attr_float(query->attrs, "act_alpha", 0),
                        .beta = (float)hn_cuda_attr_float(query->attrs, "act_beta", 0)},
               .kernel = kernels[held == HONE_BF16][padded == MOST ? 2 : padded - 1],
               .shared_bytes = (unsigned)((size_t)(padded * x.pitch) * sizeof(float))};
  needs->state = sizeof *s;
  needs->packed = s->shared_bytes + (size_t)padded * sizeof(float);
  return NULL;
}

static hone_status pack(const hone_query *query, void *to) {
  const hone_tensor *weights = query->in[W].constant;
  const hone_tensor *bias = hn_cuda_given(query, BIAS) ? query->in[BIAS].constant : NULL;
  const int64_t outputs = weights->type.shape.dim[0], channels = weights->type.shape.dim[1];
  const int64_t pitch = (channels + 7) / 8 * 8, padded = padded_outputs(outputs);
  float *rows = to, *sums = rows + padded * pitch;
  memset(to, 0, (size_t)(padded * pitch + padded) * sizeof *rows);
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t c = 0; c < channels; ++c) rows[o * pitch + c] = hn_cuda_weight(weights, o * channels + c);
    if (bias) sums[o] = hn_cuda_weight(bias, o);
  }
  return HONE_OK;
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[X].data, (void *)(uintptr_t)&launch->packed,
                       &s->args};
  return hn_cuda_launch_shaped(stream, s->kernel,
                               &(hn_cuda_shape){.grid = {(s->args.pixels + EACH - 1) / EACH, 1, 1},
                                                .threads = THREADS,
                                                .shared_bytes = s->shared_bytes,
                                                .dependent = true},
                               arguments);
}

const hone_tactic hn_tactics_cuda_few[] = {
    {sizeof(hone_tactic), .name = "cuda.conv.f16.few", .version = 1, .op = "conv",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_PLAIN_UNITS,
     .pack_mask = 1 << W | 1 << BIAS, .compute = HONE_F16,
     .storages = {{HONE_F16_NHWC, HONE_PLAIN}, {HONE_F16_NHWC, HONE_F16_PLAIN}}, .plan = plan, .pack = pack,
     .launch = launch},
    {sizeof(hone_tactic), .name = "cuda.conv.bf16.few", .version = 1, .op = "conv",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE | HONE_TACTIC_PLAIN_UNITS,
     .pack_mask = 1 << W | 1 << BIAS, .compute = HONE_BF16,
     .storages = {{HONE_BF16_NHWC, HONE_PLAIN}, {HONE_BF16_NHWC, HONE_BF16_PLAIN}}, .plan = plan, .pack = pack,
     .launch = launch},
    {0}};
