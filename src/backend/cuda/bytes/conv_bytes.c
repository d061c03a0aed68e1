/* SPDX-License-Identifier: Apache-2.0 */
/* conv_bytes.c - qlinear_conv of images with their channels last on tensor cores: any window, one group or groups of 16
 * n channels, with a residual. The weights are packed as rows of taps, each of all channels. */
#include "backend/cuda/bytes/bytes.h"
#include "backend/cuda/conv/images.h"

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, BIAS, RESIDUAL };
static const hn_cuda_byte_ports ports = {X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, BIAS, RESIDUAL};

void hn_cuda_bytes_conv_channel(const hone_query *query, int64_t channel, int64_t depth, int64_t first, int64_t count,
                                int8_t *out) {
  const hone_tensor *w = query->in[W].constant;
  const int flip = w->type.dtype == HONE_U8 ? 0x80 : 0;
  const uint8_t *from = (const uint8_t *)w->data + channel * depth + first;
  for (int64_t i = 0; i < count; ++i) out[i] = (int8_t)(from[i] ^ flip);
}

static int64_t depth_of(const hone_query *query) {
  const hone_shape *w = &query->in[W].type.shape;
  return w->dim[0] > 0 ? hn_cuda_elements(w) / w->dim[0] : 0;
}

static const char *plan(const hone_query *query, void *state, hone_needs *needs) {
  hn_cuda_tensor_plan asked, *p = state ? state : &asked;
  const hn_cuda_conv_images images = {
      X, W, RESIDUAL, query->in[X].type.dtype, 16, "the channels of a group are no multiple of 16", 0};
  if (query->in_count <= Y_ZERO || query->in[W].type.shape.rank < 3) return "it has no weights";
  HN_TRY_REASON(hn_cuda_bytes_begin(query, &ports, query->in[W].type.shape.dim[0], depth_of(query),
                                    hn_cuda_bytes_conv_channel, p));
  HN_TRY_REASON(hn_cuda_conv_images_read(query, &images, p));
  needs->state = sizeof *p;
  return hn_cuda_tensor_plan_it(query, p, needs);
}

static hone_status pack(const hone_query *query, void *to) {
  hn_cuda_tensor_plan p;
  hone_needs needs = {0};
  if (plan(query, &p, &needs)) return HONE_INTERNAL;
  const int64_t depth = depth_of(query), pitch = (int64_t)p.args.blocks * p.row;
  hn_cuda_bytes_vectors(query, &ports, &p, depth, hn_cuda_bytes_conv_channel, to);
  const hone_tensor *w = query->in[W].constant;
  const uint8_t *from = w->data, flip = w->type.dtype == HONE_U8 ? 0x80 : 0;
  const int64_t outputs = w->type.shape.dim[0], channels = w->type.shape.dim[1];
  const int64_t taps = hn_cuda_elements(&w->type.shape) / (outputs * channels);
  for (int64_t row = 0; row < outputs; ++row)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t tap = 0; tap < taps; ++tap)
        ((uint8_t *)to)[hn_cuda_bytes_row(&p, row) * pitch + hn_cuda_tensor_tap_at(&p, tap) + c] =
            (uint8_t)(from[(row * channels + c) * taps + tap] ^ flip);
  return HONE_OK;
}

#define COMMON                                                                                                         \
  .storages = {{HONE_NHWC, HONE_NHWC}}, .version = 3, .op = "qlinear_conv",                                            \
  .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,                                                            \
  .pack_mask = 1 << X_SCALE | 1 << W | 1 << W_SCALE | 1 << W_ZERO | 1 << Y_SCALE | 1 << BIAS,                          \
  .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack, .launch = hn_cuda_tensor_launch

const hone_tactic hn_tactics_cuda_conv_bytes[] = {
    {sizeof(hone_tactic), .name = "cuda.qlinear_conv.bytes.tensor", .isa = HN_CUDA_SM80,
     .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_STAGES}, COMMON},
    {sizeof(hone_tactic), .name = "cuda.qlinear_conv.bytes.first", .isa = HN_CUDA_SM80,
     .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_FIRST}, COMMON},
    {sizeof(hone_tactic), .name = "cuda.qlinear_conv.bytes.cluster", .isa = HN_CUDA_SM90,
     .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_CLUSTER}, COMMON},
    {sizeof(hone_tactic), .name = "cuda.qlinear_conv.bytes.bulk", .isa = HN_CUDA_SM90A,
     .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_BULK}, COMMON},
    {sizeof(hone_tactic), .name = "cuda.qlinear_conv.bytes.lasting", .isa = HN_CUDA_SM90A,
     .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_LASTING}, COMMON},
    {sizeof(hone_tactic), .name = "cuda.qlinear_conv.bytes.short", .isa = HN_CUDA_SM90A,
     .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_SHORT}, COMMON},
    {0}};
