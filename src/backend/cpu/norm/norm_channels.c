/* SPDX-License-Identifier: Apache-2.0 */
/* norm_channels.c - normalisation by channel of f32, plain or blocked: batch norm with given moments, instance norm and
 * group norm. */
#include "kernels/cpu/norm/norm.h"
#include "backend/cpu/cpu.h"
#include <math.h>

#define NS_PER_ELEMENT 0.4

typedef struct state {
  hn_channel_affine_f32_fn *affine; /* of batch norm, */
  hn_group_norm_f32_fn *group;      /* of the others */
  int64_t channels, groups, pixels, units, grain;
  float epsilon;
  int block;
} state;

static const char *check_tensors(const hone_query *query, int operands) {
  const char *reason = hn_cpu_check(query, 1 + operands, 1 + operands, 5);
  if (reason) return reason;
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  for (int i = 1; i < query->out_count; ++i)
    if (query->out[i].type.kind != HONE_ABSENT) return "the moments are requested as outputs";
  if (x->dtype != HONE_F32 || y->dtype != HONE_F32) return "it is not f32";
  if (x->format != y->format || !hn_shape_equal(&x->shape, &y->shape)) return "the output has another type";
  if (x->shape.rank < 2) return "it has no channels";
  for (int i = 1; i <= operands; ++i) {
    const hone_fact *operand = &query->in[i];
    if (!hn_cpu_is(operand, HONE_F32, HONE_PLAIN)) return "a parameter is not plain f32";
    if (operand->type.shape.rank != 1 || operand->type.shape.dim[0] != x->shape.dim[1])
      return "a parameter does not have one number for each channel";
  }
  return NULL;
}

static const char *reject_batch(const hone_query *query) {
  const char *reason = check_tensors(query, 4);
  if (reason) return reason;
  return hn_attr_int(query->attrs, "training_mode") ? "it computes the moments (training mode)" : NULL;
}

static int64_t groups_of(const hone_query *query) {
  return hn_attr_has(query->attrs, "num_groups") ? hn_attr_int(query->attrs, "num_groups")
                                                 : query->in[0].type.shape.dim[1];
}

/* A kernel's vectors are no longer than its blocks. */
static const char *reject_group(const hone_query *query, hone_format blocked) {
  const char *reason = check_tensors(query, 2);
  if (reason) return reason;
  const hone_type *x = &query->in[0].type;
  if (!hn_elems(&x->shape)) return "it is empty";
  if (x->format != HONE_PLAIN && x->format != blocked) return "it has another format";
  const int64_t groups = groups_of(query), block = hn_format_block(x->format);
  if (groups < 1 || x->shape.dim[1] % groups != 0) return "the groups do not divide the channels";
  const int64_t members = x->shape.dim[1] / groups;
  return block == 1 || block % members == 0 || members % block == 0 ? NULL : "a group ends inside a channel block";
}

static size_t state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(state);
}

static int64_t padded_channels(const hone_query *query) {
  const hone_type *x = &query->in[0].type;
  const int64_t block = hn_format_block(x->format);
  return hn_ceil_div(x->shape.dim[1], block) * block;
}

/* Scale and shift, each padded. */
static size_t scratch_batch(const hone_query *query) { return 2 * sizeof(float) * (size_t)padded_channels(query); }

static void measure(const hone_query *query, state *s) {
  const hone_type *x = &query->in[0].type;
  s->block = hn_format_block(x->format);
  s->channels = x->shape.dim[1];
  s->pixels = 1;
  for (int i = 2; i < x->shape.rank; ++i) s->pixels *= x->shape.dim[i];
  s->epsilon = (float)hn_attr_float(query->attrs, "epsilon");
}

static hone_status prepare_batch(const hone_query *query, state *s, hn_channel_affine_f32_fn *kernel) {
  measure(query, s);
  s->affine = kernel;
  s->units = query->in[0].type.shape.dim[0] * (padded_channels(query) / s->block);
  s->grain = hn_cpu_grain(s->units, 2 * (double)hn_bytes(&query->in[0].type) * HN_CPU_NS_PER_BYTE);
  return HONE_OK;
}

static hone_status prepare_group(const hone_query *query, state *s, hn_group_norm_f32_fn *plain,
                                 hn_group_norm_f32_fn *blocked) {
  measure(query, s);
  s->group = s->block > 1 ? blocked : plain;
  s->groups = groups_of(query);
  const hn_group_norm_args args = {.channels = s->channels, .groups = s->groups, .block = s->block};
  const int64_t units = s->block > 1 ? hn_ceil_div(s->channels, s->block) / hn_group_norm_blocks(&args) : s->groups;
  s->units = query->in[0].type.shape.dim[0] * units;
  s->grain = hn_cpu_grain(s->units, (double)hn_elems(&query->in[0].type.shape) * NS_PER_ELEMENT);
  return HONE_OK;
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

static hone_status launch_batch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  const float *gamma = launch->in[1].data, *beta = launch->in[2].data, *mean = launch->in[3].data,
              *variance = launch->in[4].data;
  const int64_t padded = hn_ceil_div(s->channels, s->block) * s->block;
  float *scale = launch->scratch, *shift = scale + padded;
  for (int64_t c = 0; c < padded; ++c) {
    const double factor = c < s->channels ? (double)gamma[c] / sqrt((double)variance[c] + (double)s->epsilon) : 0;
    scale[c] = (float)factor;
    shift[c] = c < s->channels ? (float)((double)beta[c] - (double)mean[c] * factor) : 0;
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

#define BLOCKED_c HONE_NCHW8C
#define BLOCKED_avx2 HONE_NCHW8C
#define BLOCKED_avx512 HONE_NCHW16C
#define ROW_OF(op_name, kind, suffix, ISA, prepared, ...)                                                              \
  HN_CPU_ROW(op_name, f32, suffix, ISA, prepared, .flags = HONE_TACTIC_REPEATABLE, .state_bytes = state_bytes,         \
             .launch = launch_##kind, .formats = HN_CPU_FORMATS_##suffix, __VA_ARGS__)
#define ROW(suffix, ISA)                                                                                               \
  static const char *reject_group_##suffix(const hone_query *query) { return reject_group(query, BLOCKED_##suffix); }  \
  ROW_OF(batch_norm, batch, suffix, ISA, prepare_batch(query, s, hn_channel_affine_f32_##suffix),                      \
         .reject = reject_batch, .scratch = scratch_batch)                                                             \
  ROW_OF(instance_norm, group, suffix, ISA,                                                                            \
         prepare_group(query, s, hn_group_norm_f32_##suffix, hn_group_norm_blocked_f32_##suffix),                      \
         .reject = reject_group_##suffix)                                                                              \
  ROW_OF(group_norm, group, suffix, ISA,                                                                               \
         prepare_group(query, s, hn_group_norm_f32_##suffix, hn_group_norm_blocked_f32_##suffix),                      \
         .reject = reject_group_##suffix)
HN_EACH_ISA(ROW)
