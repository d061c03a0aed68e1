/* SPDX-License-Identifier: Apache-2.0 */
/* norm_channels.c - normalisation by channel in f32 or f64, plain or blocked: batch norm with given moments, instance
 * norm and group norm. */
#include "kernels/cpu/norm/norm.h"
#include "backend/cpu/cpu.h"
#include "tensor/storage.h"
#include <math.h>

#define NS_PER_ELEMENT 0.4

typedef struct row_kernel {
  hn_channel_affine_fn *affine;      /* of batch norm; */
  hn_group_norm_fn *plain, *blocked; /* of the others */
} row_kernel;

typedef struct state {
  hn_channel_affine_fn *affine;
  hn_group_norm_fn *group;
  int64_t channels, groups, pixels, units, grain;
  double epsilon;
  int block;
  bool wide; /* f64 */
} state;

static const char *check_tensors(const hone_query *query, int operands) {
  HN_TRY_REASON(hn_cpu_check(query, 1 + operands, 1 + operands, 5));
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  for (int i = 1; i < query->out_count; ++i)
    if (query->out[i].type.kind != HONE_ABSENT) return "the moments are requested as outputs";
  const hone_dtype held = hn_cpu_held(query->tactic);
  if (x->dtype != held || y->dtype != held) return "it is of another type";
  if (x->format != y->format || !hn_shape_equal(&x->shape, &y->shape)) return "the output has another type";
  if (x->shape.rank < 2) return "it has no channels";
  for (int i = 1; i <= operands; ++i) {
    const hone_fact *operand = &query->in[i];
    if (!hn_cpu_is(operand, hn_cpu_real(query->tactic), HONE_PLAIN))
      return "a parameter is not plain, or of another type";
    if (operand->type.shape.rank != 1 || operand->type.shape.dim[0] != x->shape.dim[1])
      return "a parameter does not have one number for each channel";
  }
  return NULL;
}

static void measure(const hone_query *query, state *s) {
  const hone_type *x = &query->in[0].type;
  s->block = hn_format_block(x->format);
  s->channels = x->shape.dim[1];
  s->pixels = 1;
  for (int i = 2; i < x->shape.rank; ++i) s->pixels *= x->shape.dim[i];
  s->wide = hn_cpu_real(query->tactic) == HONE_F64;
  s->epsilon = hn_attr_float(query->attrs, "epsilon");
  if (!s->wide) s->epsilon = (double)(float)s->epsilon;
}

static const char *plan_batch(const hone_query *query, void *memory, hone_needs *needs) {
  HN_TRY_REASON(check_tensors(query, 4));
  if (hn_attr_int(query->attrs, "training_mode")) return "it computes the moments (training mode)";
  const hone_type *x = &query->in[0].type;
  const int64_t block = hn_format_block(x->format), blocks = hn_ceil_div(x->shape.dim[1], block);
  state *s = memory;
  needs->state = sizeof *s;
  const size_t real_bytes = hn_cpu_real(query->tactic) == HONE_F64 ? sizeof(double) : sizeof(float);
  needs->scratch = 2 * real_bytes * (size_t)(blocks * block); /* scale and shift, each padded */
  if (!s) return NULL;
  measure(query, s);
  s->affine = ((const row_kernel *)query->tactic->kernel)->affine;
  s->units = x->shape.dim[0] * blocks;
  s->grain = hn_cpu_grain(s->units, 2 * (double)hn_bytes(x) * HN_CPU_NS_PER_BYTE);
  return NULL;
}

static const char *plan_group(const hone_query *query, void *memory, hone_needs *needs) {
  const row_kernel *kernel = query->tactic->kernel;
  HN_TRY_REASON(check_tensors(query, 2));
  const hone_type *x = &query->in[0].type;
  if (!hn_elems(&x->shape)) return "it is empty";
  if (x->format != HONE_PLAIN &&
      x->format != hn_storage_format(query->tactic->storages[1].in)) /* a kernel's vectors fill its blocks */
    return "it has another format";
  const int64_t channels = x->shape.dim[1], block = hn_format_block(x->format);
  const int64_t groups = hn_attr_has(query->attrs, "num_groups") ? hn_attr_int(query->attrs, "num_groups") : channels;
  if (groups < 1 || channels % groups != 0) return "the groups do not divide the channels";
  const int64_t members = channels / groups;
  if (block > 1 && block % members != 0 && members % block != 0) return "a group ends inside a channel block";
  state *s = memory;
  needs->state = sizeof *s;
  if (!s) return NULL;
  measure(query, s);
  s->group = block > 1 ? kernel->blocked : kernel->plain;
  s->groups = groups;
  const hn_group_norm_args args = {.channels = channels, .groups = groups, .block = s->block};
  s->units = x->shape.dim[0] * (block > 1 ? hn_ceil_div(channels, block) / hn_group_norm_blocks(&args) : groups);
  s->grain = hn_cpu_grain(s->units, (double)hn_elems(&x->shape) * NS_PER_ELEMENT);
  return NULL;
}

typedef struct job {
  const state *state;
  hn_channel_affine_args affine;
  hn_group_norm_args group;
} job;

static void body_batch(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  j->state->affine(&j->affine, begin, end);
}

static void body_group(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  j->state->group(&j->group, begin, end);
}

static double real_at(const hone_tensor *tensor, int64_t at, bool wide) {
  return wide ? ((const double *)tensor->data)[at] : (double)((const float *)tensor->data)[at];
}

static void put_real(void *to, int64_t at, bool wide, double x) {
  if (wide)
    ((double *)to)[at] = x;
  else
    ((float *)to)[at] = (float)x;
}

static hone_status launch_batch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  const hone_tensor *gamma = &launch->in[1], *beta = &launch->in[2], *mean = &launch->in[3], *variance = &launch->in[4];
  const int64_t padded = hn_ceil_div(s->channels, s->block) * s->block;
  char *scale = launch->scratch, *shift = scale + (size_t)padded * (s->wide ? sizeof(double) : sizeof(float));
  for (int64_t c = 0; c < padded; ++c) {
    const bool there = c < s->channels;
    const double factor = there ? real_at(gamma, c, s->wide) / sqrt(real_at(variance, c, s->wide) + s->epsilon) : 0;
    put_real(scale, c, s->wide, factor);
    put_real(shift, c, s->wide, there ? real_at(beta, c, s->wide) - real_at(mean, c, s->wide) * factor : 0);
  }
  job j = {.state = s,
           .affine = {.x = launch->in[0].data,
                      .y = launch->out[0].data,
                      .scale = scale,
                      .shift = shift,
                      .channels = s->channels,
                      .pixels = s->pixels,
                      .block = s->block}};
  hn_pool_run(hn_stream_pool(stream), s->units, s->grain, body_batch, &j);
  return HONE_OK;
}

static hone_status launch_group(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  job j = {.state = s,
           .group = {.x = launch->in[0].data,
                     .y = launch->out[0].data,
                     .scale = launch->in[1].data,
                     .bias = launch->in[2].data,
                     .channels = s->channels,
                     .groups = s->groups,
                     .pixels = s->pixels,
                     .epsilon = s->epsilon,
                     .block = s->block}};
  hn_pool_run(hn_stream_pool(stream), s->units, s->grain, body_group, &j);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_norm_channels[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.batch_norm.f32.avx512", .version = 1, .op = "batch_norm", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}},
     .plan = plan_batch, .launch = launch_batch, .kernel = &(const row_kernel){.affine = hn_channel_affine_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.instance_norm.f32.avx512", .version = 1, .op = "instance_norm",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}}, .plan = plan_group, .launch = launch_group,
     .kernel = &(const row_kernel){NULL, hn_group_norm_f32_avx512, hn_group_norm_blocked_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.group_norm.f32.avx512", .version = 1, .op = "group_norm", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW16C, HONE_NCHW16C}},
     .plan = plan_group, .launch = launch_group,
     .kernel = &(const row_kernel){NULL, hn_group_norm_f32_avx512, hn_group_norm_blocked_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.batch_norm.bf16.avx512", .version = 1, .op = "batch_norm",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}}, .plan = plan_batch,
     .launch = launch_batch, .kernel = &(const row_kernel){.affine = hn_channel_affine_bf16_avx512}},
    {sizeof(hone_tactic), .name = "cpu.instance_norm.bf16.avx512", .version = 1, .op = "instance_norm",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}}, .plan = plan_group,
     .launch = launch_group,
     .kernel = &(const row_kernel){NULL, hn_group_norm_bf16_avx512, hn_group_norm_blocked_bf16_avx512}},
    {sizeof(hone_tactic), .name = "cpu.group_norm.bf16.avx512", .version = 1, .op = "group_norm",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}}, .plan = plan_group,
     .launch = launch_group,
     .kernel = &(const row_kernel){NULL, hn_group_norm_bf16_avx512, hn_group_norm_blocked_bf16_avx512}},
    {sizeof(hone_tactic), .name = "cpu.batch_norm.f16.avx512", .version = 1, .op = "batch_norm", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan_batch,
     .launch = launch_batch, .kernel = &(const row_kernel){.affine = hn_channel_affine_f16_avx512}},
    {sizeof(hone_tactic), .name = "cpu.instance_norm.f16.avx512", .version = 1, .op = "instance_norm",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan_group,
     .launch = launch_group,
     .kernel = &(const row_kernel){NULL, hn_group_norm_f16_avx512, hn_group_norm_blocked_f16_avx512}},
    {sizeof(hone_tactic), .name = "cpu.group_norm.f16.avx512", .version = 1, .op = "group_norm", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan_group,
     .launch = launch_group,
     .kernel = &(const row_kernel){NULL, hn_group_norm_f16_avx512, hn_group_norm_blocked_f16_avx512}},
    {sizeof(hone_tactic), .name = "cpu.batch_norm.f64.avx512", .version = 1, .op = "batch_norm", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan_batch,
     .launch = launch_batch, .kernel = &(const row_kernel){.affine = hn_channel_affine_f64_avx512}},
    {sizeof(hone_tactic), .name = "cpu.instance_norm.f64.avx512", .version = 1, .op = "instance_norm",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .plan = plan_group, .launch = launch_group, .kernel = &(const row_kernel){NULL, hn_group_norm_f64_avx512, NULL}},
    {sizeof(hone_tactic), .name = "cpu.group_norm.f64.avx512", .version = 1, .op = "group_norm", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan_group,
     .launch = launch_group, .kernel = &(const row_kernel){NULL, hn_group_norm_f64_avx512, NULL}},
    {sizeof(hone_tactic), .name = "cpu.batch_norm.f32.avx2", .version = 1, .op = "batch_norm", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .plan = plan_batch, .launch = launch_batch, .kernel = &(const row_kernel){.affine = hn_channel_affine_f32_avx2}},
    {sizeof(hone_tactic), .name = "cpu.instance_norm.f32.avx2", .version = 1, .op = "instance_norm",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}}, .plan = plan_group, .launch = launch_group,
     .kernel = &(const row_kernel){NULL, hn_group_norm_f32_avx2, hn_group_norm_blocked_f32_avx2}},
    {sizeof(hone_tactic), .name = "cpu.group_norm.f32.avx2", .version = 1, .op = "group_norm", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .plan = plan_group, .launch = launch_group,
     .kernel = &(const row_kernel){NULL, hn_group_norm_f32_avx2, hn_group_norm_blocked_f32_avx2}},
    {sizeof(hone_tactic), .name = "cpu.batch_norm.bf16.avx2", .version = 1, .op = "batch_norm", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}}, .plan = plan_batch,
     .launch = launch_batch, .kernel = &(const row_kernel){.affine = hn_channel_affine_bf16_avx2}},
    {sizeof(hone_tactic), .name = "cpu.instance_norm.bf16.avx2", .version = 1, .op = "instance_norm",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}}, .plan = plan_group,
     .launch = launch_group,
     .kernel = &(const row_kernel){NULL, hn_group_norm_bf16_avx2, hn_group_norm_blocked_bf16_avx2}},
    {sizeof(hone_tactic), .name = "cpu.group_norm.bf16.avx2", .version = 1, .op = "group_norm", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}}, .plan = plan_group,
     .launch = launch_group,
     .kernel = &(const row_kernel){NULL, hn_group_norm_bf16_avx2, hn_group_norm_blocked_bf16_avx2}},
    {sizeof(hone_tactic), .name = "cpu.batch_norm.f16.avx2", .version = 1, .op = "batch_norm", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan_batch,
     .launch = launch_batch, .kernel = &(const row_kernel){.affine = hn_channel_affine_f16_avx2}},
    {sizeof(hone_tactic), .name = "cpu.instance_norm.f16.avx2", .version = 1, .op = "instance_norm",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan_group,
     .launch = launch_group,
     .kernel = &(const row_kernel){NULL, hn_group_norm_f16_avx2, hn_group_norm_blocked_f16_avx2}},
    {sizeof(hone_tactic), .name = "cpu.group_norm.f16.avx2", .version = 1, .op = "group_norm", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan_group,
     .launch = launch_group,
     .kernel = &(const row_kernel){NULL, hn_group_norm_f16_avx2, hn_group_norm_blocked_f16_avx2}},
    {sizeof(hone_tactic), .name = "cpu.batch_norm.f64.avx2", .version = 1, .op = "batch_norm", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan_batch,
     .launch = launch_batch, .kernel = &(const row_kernel){.affine = hn_channel_affine_f64_avx2}},
    {sizeof(hone_tactic), .name = "cpu.instance_norm.f64.avx2", .version = 1, .op = "instance_norm",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},
     .plan = plan_group, .launch = launch_group, .kernel = &(const row_kernel){NULL, hn_group_norm_f64_avx2, NULL}},
    {sizeof(hone_tactic), .name = "cpu.group_norm.f64.avx2", .version = 1, .op = "group_norm", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan_group,
     .launch = launch_group, .kernel = &(const row_kernel){NULL, hn_group_norm_f64_avx2, NULL}},
#endif
    {sizeof(hone_tactic), .name = "cpu.batch_norm.f32.c", .version = 1, .op = "batch_norm", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .plan = plan_batch, .launch = launch_batch, .kernel = &(const row_kernel){.affine = hn_channel_affine_f32_c}},
    {sizeof(hone_tactic), .name = "cpu.instance_norm.f32.c", .version = 1, .op = "instance_norm", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .plan = plan_group, .launch = launch_group,
     .kernel = &(const row_kernel){NULL, hn_group_norm_f32_c, hn_group_norm_blocked_f32_c}},
    {sizeof(hone_tactic), .name = "cpu.group_norm.f32.c", .version = 1, .op = "group_norm", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW8C, HONE_NCHW8C}},
     .plan = plan_group, .launch = launch_group,
     .kernel = &(const row_kernel){NULL, hn_group_norm_f32_c, hn_group_norm_blocked_f32_c}},
    {sizeof(hone_tactic), .name = "cpu.batch_norm.bf16.c", .version = 1, .op = "batch_norm", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}}, .plan = plan_batch,
     .launch = launch_batch, .kernel = &(const row_kernel){.affine = hn_channel_affine_bf16_c}},
    {sizeof(hone_tactic), .name = "cpu.instance_norm.bf16.c", .version = 1, .op = "instance_norm", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}}, .plan = plan_group,
     .launch = launch_group, .kernel = &(const row_kernel){NULL, hn_group_norm_bf16_c, hn_group_norm_blocked_bf16_c}},
    {sizeof(hone_tactic), .name = "cpu.group_norm.bf16.c", .version = 1, .op = "group_norm", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN}, {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C}}, .plan = plan_group,
     .launch = launch_group, .kernel = &(const row_kernel){NULL, hn_group_norm_bf16_c, hn_group_norm_blocked_bf16_c}},
    {sizeof(hone_tactic), .name = "cpu.batch_norm.f16.c", .version = 1, .op = "batch_norm", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan_batch,
     .launch = launch_batch, .kernel = &(const row_kernel){.affine = hn_channel_affine_f16_c}},
    {sizeof(hone_tactic), .name = "cpu.instance_norm.f16.c", .version = 1, .op = "instance_norm", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan_group,
     .launch = launch_group, .kernel = &(const row_kernel){NULL, hn_group_norm_f16_c, hn_group_norm_blocked_f16_c}},
    {sizeof(hone_tactic), .name = "cpu.group_norm.f16.c", .version = 1, .op = "group_norm", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_F16_PLAIN, HONE_F16_PLAIN}, {HONE_F16_NCHW32C, HONE_F16_NCHW32C}}, .plan = plan_group,
     .launch = launch_group, .kernel = &(const row_kernel){NULL, hn_group_norm_f16_c, hn_group_norm_blocked_f16_c}},
    {sizeof(hone_tactic), .name = "cpu.batch_norm.f64.c", .version = 1, .op = "batch_norm", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan_batch,
     .launch = launch_batch, .kernel = &(const row_kernel){.affine = hn_channel_affine_f64_c}},
    {sizeof(hone_tactic), .name = "cpu.instance_norm.f64.c", .version = 1, .op = "instance_norm", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan_group,
     .launch = launch_group, .kernel = &(const row_kernel){NULL, hn_group_norm_f64_c, NULL}},
    {sizeof(hone_tactic), .name = "cpu.group_norm.f64.c", .version = 1, .op = "group_norm", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}}, .plan = plan_group,
     .launch = launch_group, .kernel = &(const row_kernel){NULL, hn_group_norm_f64_c, NULL}},
    {0}};
