/* SPDX-License-Identifier: Apache-2.0 */
/* conv_tensor.c - convolutions of images with their channels last on tensor cores, in f16, bf16 or tf32 with f32 sums:
 * any window, one group, or groups that are of 8 n channels, or are when some are taken together. The weights are
 * packed as rows of taps, each of all channels. */
#include "backend/cuda/conv/images.h"

enum { X, W, BIAS, RESIDUAL };
enum { TOGETHER = 32 }; /* channels of groups that are taken together */

static const char *read(const hone_query *query, hn_cuda_tensor_plan *p) {
  const hone_dtype compute = query->tactic->compute, held = compute == HONE_TF32 ? HONE_F32 : compute;
  const hn_cuda_conv_images images = {X,       W, RESIDUAL, held, 8, "the channels of a group are no multiple of 8",
                                      TOGETHER};
  HN_TRY_REASON(hn_cuda_tensor_begin(query, p));
  return hn_cuda_conv_images_read(query, &images, p);
}

static const char *plan(const hone_query *query, void *state, hone_needs *needs) {
  hn_cuda_tensor_plan asked, *p = state ? state : &asked;
  HN_TRY_REASON(read(query, p));
  needs->state = sizeof *p;
  return hn_cuda_tensor_plan_it(query, p, needs);
}

static hone_status pack(const hone_query *query, void *to) {
  hn_cuda_tensor_plan p;
  hone_needs needs = {0};
  if (plan(query, &p, &needs)) return HONE_INTERNAL;
  const hone_tensor *w = query->in[W].constant;
  const hn_cuda_tensor_rows packed = hn_cuda_tensor_packed(query, &p, to);
  const int64_t outputs = w->type.shape.dim[0], channels = w->type.shape.dim[1];
  const int64_t taps = hn_cuda_elements(&w->type.shape) / (outputs * channels);
  const int64_t of_group = outputs / ((int64_t)p.groups * p.together);
  for (int64_t row = 0; row < outputs; ++row) {
    const int64_t first = row / of_group % p.together * channels;
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t tap = 0; tap < taps; ++tap)
        hn_cuda_tensor_put(&p, &packed, row * packed.pitch + hn_cuda_tensor_tap_at(&p, tap) + first + c,
                           hn_cuda_weight(w, (row * channels + c) * taps + tap));
  }
  return HONE_OK;
}

const hone_tactic hn_tactics_cuda_conv_tensor[] = {
    {sizeof(hone_tactic), .name = "cuda.conv.f16.tensor", .isa = HN_CUDA_SM80, .compute = HONE_F16,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_STAGES},
     .version = 2, .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.f16.first", .isa = HN_CUDA_SM80, .compute = HONE_F16,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_FIRST},
     .version = 2, .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.f16.cluster", .isa = HN_CUDA_SM90, .compute = HONE_F16,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_CLUSTER},
     .version = 2, .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.f16.bulk", .isa = HN_CUDA_SM90A, .compute = HONE_F16,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_BULK},
     .version = 2, .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.f16.lasting", .isa = HN_CUDA_SM90A, .compute = HONE_F16,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_LASTING},
     .version = 2, .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.bf16.tensor", .isa = HN_CUDA_SM80, .compute = HONE_BF16,
     .storages = {{HONE_BF16_NHWC, HONE_BF16_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_STAGES},
     .version = 2, .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.bf16.first", .isa = HN_CUDA_SM80, .compute = HONE_BF16,
     .storages = {{HONE_BF16_NHWC, HONE_BF16_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_FIRST},
     .version = 2, .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.bf16.cluster", .isa = HN_CUDA_SM90, .compute = HONE_BF16,
     .storages = {{HONE_BF16_NHWC, HONE_BF16_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_CLUSTER},
     .version = 2, .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.bf16.bulk", .isa = HN_CUDA_SM90A, .compute = HONE_BF16,
     .storages = {{HONE_BF16_NHWC, HONE_BF16_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_BULK},
     .version = 2, .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.bf16.lasting", .isa = HN_CUDA_SM90A, .compute = HONE_BF16,
     .storages = {{HONE_BF16_NHWC, HONE_BF16_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_LASTING},
     .version = 2, .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.tf32.tensor", .isa = HN_CUDA_SM80, .compute = HONE_TF32,
     .storages = {{HONE_NHWC, HONE_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_STAGES}, .version = 2,
     .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = 1 << W | 1 << BIAS,
     .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack, .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.tf32.first", .isa = HN_CUDA_SM80, .compute = HONE_TF32,
     .storages = {{HONE_NHWC, HONE_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_FIRST}, .version = 2,
     .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = 1 << W | 1 << BIAS,
     .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack, .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.tf32.cluster", .isa = HN_CUDA_SM90, .compute = HONE_TF32,
     .storages = {{HONE_NHWC, HONE_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_CLUSTER}, .version = 2,
     .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = 1 << W | 1 << BIAS,
     .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack, .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.tf32.bulk", .isa = HN_CUDA_SM90A, .compute = HONE_TF32,
     .storages = {{HONE_NHWC, HONE_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_BULK}, .version = 2,
     .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = 1 << W | 1 << BIAS,
     .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack, .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.tf32.lasting", .isa = HN_CUDA_SM90A, .compute = HONE_TF32,
     .storages = {{HONE_NHWC, HONE_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_LASTING}, .version = 2,
     .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = 1 << W | 1 << BIAS,
     .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack, .launch = hn_cuda_tensor_launch},
    {0}};
