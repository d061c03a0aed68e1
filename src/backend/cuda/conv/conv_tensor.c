/* SPDX-License-Identifier: Apache-2.0 */
/* conv_tensor.c - convolutions of images with their channels last on tensor cores, in f16 or bf16 with f32 sums: any
 * window, one group or groups of 8 n channels. The weights are packed as rows of taps, each of all channels. */
#include "backend/cuda/conv/sliding.h"
#include "backend/cuda/product/tensor.h"

enum { X, W, BIAS, RESIDUAL };

/* Extents of channels, and how they lie. */
static const char *read_images(const hone_query *query, hn_cuda_tensor_plan *p) {
  const hone_dtype held = query->tactic->compute;
  hn_cuda_tensor *a = &p->args;
  hn_cuda_image x, y, residual;
  HN_TRY_REASON(hn_cuda_image_of(&query->in[X], held, &x));
  HN_TRY_REASON(hn_cuda_image_of(&query->out[0], held, &y));
  if (p->residual) {
    if (!hn_cuda_same_shape(&query->in[RESIDUAL].type.shape, &query->out[0].type.shape))
      return "the residual is broadcast";
    HN_TRY_REASON(hn_cuda_image_of(&query->in[RESIDUAL], held, &residual));
  }
  const int64_t groups = hn_cuda_attr_int(query->attrs, "group", 1);
  if (groups < 1 || x.c % groups || y.c % groups) return "the groups do not divide the channels";
  if (groups > 1 && (x.c / groups % 8 || y.c / groups % 8)) return "the channels of a group are no multiple of 8";
  const hone_shape *w = &query->in[W].type.shape;
  if (w->rank != query->in[X].type.shape.rank || w->dim[0] != y.c || w->dim[1] != x.c / groups)
    return "the weights do not fit the channels";
  p->groups = (int)groups;
  a->in_pitch = x.pitch, a->out_pitch = y.pitch;
  a->m = y.n * y.h * y.w, a->n = y.c / p->groups;
  a->depth = p->groups > 1 ? x.c / p->groups : x.pitch;
  if (*(const hn_cuda_tensor_way *)query->tactic->kernel != HN_CUDA_TENSOR_FIRST) return NULL;
  a->depth = 4;
  return x.c <= 4 && groups == 1 ? NULL : "it has groups, or more than four channels";
}

static const char *read(const hone_query *query, hn_cuda_tensor_plan *p) {
  hn_cuda_window v;
  HN_TRY_REASON(hn_cuda_tensor_begin(query, p));
  HN_TRY_REASON(read_images(query, p));
  HN_TRY_REASON(
      hn_cuda_sliding(query, &query->in[X].type.shape, &query->out[0].type.shape, query->in[W].type.shape.dim + 2, &v));
  hn_cuda_tensor *a = &p->args;
  a->in_h = v.in_h, a->in_w = v.in_w, a->out_h = v.out_h, a->out_w = v.out_w;
  a->kernel_h = v.kernel_h, a->kernel_w = v.kernel_w, a->stride_h = v.stride_h, a->stride_w = v.stride_w;
  a->dilation_h = v.dilation_h, a->dilation_w = v.dilation_w, a->pad_h = v.pad_h, a->pad_w = v.pad_w;
  return NULL;
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
  const int64_t taps = (int64_t)p.args.kernel_h * p.args.kernel_w, channels = w->type.shape.dim[1];
  for (int64_t row = 0; row < w->type.shape.dim[0]; ++row)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t tap = 0; tap < taps; ++tap)
        packed.rows[row * packed.pitch + tap * p.tap_pitch + c] =
            hn_cuda_half_of(query->tactic->compute, hn_cuda_weight(w, (row * channels + c) * taps + tap));
  return HONE_OK;
}

const hone_tactic hn_tactics_cuda_conv_tensor[] = {
    {sizeof(hone_tactic), .name = "cuda.conv.f16.tensor", .isa = HN_CUDA_SM80, .compute = HONE_F16,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_STAGES},
     .version = 1, .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.f16.first", .isa = HN_CUDA_SM80, .compute = HONE_F16,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_FIRST},
     .version = 1, .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.f16.cluster", .isa = HN_CUDA_SM90, .compute = HONE_F16,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_CLUSTER},
     .version = 1, .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.f16.bulk", .isa = HN_CUDA_SM90A, .compute = HONE_F16,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_BULK},
     .version = 1, .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.f16.lasting", .isa = HN_CUDA_SM90A, .compute = HONE_F16,
     .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_LASTING},
     .version = 1, .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.bf16.tensor", .isa = HN_CUDA_SM80, .compute = HONE_BF16,
     .storages = {{HONE_BF16_NHWC, HONE_BF16_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_STAGES},
     .version = 1, .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.bf16.first", .isa = HN_CUDA_SM80, .compute = HONE_BF16,
     .storages = {{HONE_BF16_NHWC, HONE_BF16_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_FIRST},
     .version = 1, .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.bf16.cluster", .isa = HN_CUDA_SM90, .compute = HONE_BF16,
     .storages = {{HONE_BF16_NHWC, HONE_BF16_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_CLUSTER},
     .version = 1, .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.bf16.bulk", .isa = HN_CUDA_SM90A, .compute = HONE_BF16,
     .storages = {{HONE_BF16_NHWC, HONE_BF16_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_BULK},
     .version = 1, .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {sizeof(hone_tactic), .name = "cuda.conv.bf16.lasting", .isa = HN_CUDA_SM90A, .compute = HONE_BF16,
     .storages = {{HONE_BF16_NHWC, HONE_BF16_NHWC}}, .kernel = &(const hn_cuda_tensor_way){HN_CUDA_TENSOR_LASTING},
     .version = 1, .op = "conv", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
     .pack_mask = 1 << W | 1 << BIAS, .variants = hn_cuda_tensor_variants, .plan = plan, .pack = pack,
     .launch = hn_cuda_tensor_launch},
    {0}};
