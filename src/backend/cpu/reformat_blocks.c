/* SPDX-License-Identifier: Apache-2.0 */
/* reformat_blocks.c - f32 from one block size to another, by way of the plain format in scratch memory: rare, since
 * the layers of a model mostly agree. */
#include "kernels/cpu/reorder/reorder.h"
#include "backend/cpu/cpu.h"

typedef struct state {
  hn_reorder_f32_fn *from, *to;
  hn_reorder_args unblock, block; /* without pointers */
} state;

static const char *reject(const hone_query *query) {
  const char *reason = hn_cpu_check(query, 1, 1, 1);
  if (reason) return reason;
  const hone_type *in = &query->in[0].type, *out = &query->out[0].type;
  if (in->dtype != HONE_F32 || out->dtype != HONE_F32) return "it is not f32";
  if (in->shape.rank < 2 || !hn_shape_equal(&in->shape, &out->shape)) return "the shapes differ or have no channels";
  if (in->format == HONE_PLAIN || out->format == HONE_PLAIN || in->format == out->format)
    return "the formats are not blocks of different sizes";
  return NULL;
}

static size_t scratch(const hone_query *query) { return (size_t)hn_elems(&query->in[0].type.shape) * sizeof(float); }

static size_t state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(state);
}

static hone_status prepare(const hone_query *query, state *s, hn_reorder_f32_fn *to, hn_reorder_f32_fn *from) {
  const hone_shape *shape = &query->in[0].type.shape;
  s->from = from;
  s->to = to;
  s->unblock = (hn_reorder_args){.images = shape->dim[0], .channels = shape->dim[1], .pixels = 1};
  for (int i = 2; i < shape->rank; ++i) s->unblock.pixels *= shape->dim[i];
  s->block = s->unblock;
  s->unblock.block = hn_format_block(query->in[0].type.format);
  s->block.block = hn_format_block(query->out[0].type.format);
  return HONE_OK;
}

typedef struct job {
  hn_reorder_f32_fn *kernel;
  hn_reorder_args args;
} job;

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  const job *j = arg;
  j->kernel(&j->args, begin, end);
}

static void run(hone_stream *stream, hn_reorder_f32_fn *kernel, const hn_reorder_args *args, const float *x, float *y) {
  job j = {kernel, *args};
  j.args.x = x;
  j.args.y = y;
  const int64_t units = hn_reorder_units(args);
  const double bytes = 8.0 * (double)(args->images * args->channels) * (double)args->pixels;
  if (units) hn_pool_run(hn_stream_pool(stream), units, hn_cpu_grain(units, bytes * HN_CPU_NS_PER_BYTE), body, &j);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  run(stream, s->from, &s->unblock, launch->in[0].data, launch->scratch);
  run(stream, s->to, &s->block, launch->scratch, launch->out[0].data);
  return HONE_OK;
}

#define ROW(suffix, ISA)                                                                                               \
  static hone_status prepare_##suffix(hone_unit *unit, const hone_query *query, void *s, hone_diagnostics *diag) {     \
    (void)unit, (void)diag;                                                                                            \
    return prepare(query, s, hn_reorder_to_blocked_f32_##suffix, hn_reorder_from_blocked_f32_##suffix);                \
  }                                                                                                                    \
  const hone_tactic hn_tactic_cpu_reformat_f32_blocks_##suffix = {                                                     \
      .struct_size = sizeof(hone_tactic),                                                                              \
      .name = "cpu.reformat.f32.blocks." #suffix,                                                                      \
      .version = 1,                                                                                                    \
      .op = "reformat",                                                                                                \
      .isa = HONE_ISA_##ISA,                                                                                           \
      .flags = HONE_TACTIC_REPEATABLE,                                                                                 \
      .formats = {{HONE_NCHW8C, HONE_NCHW16C}, {HONE_NCHW16C, HONE_NCHW8C}},                                           \
      .reject = reject,                                                                                                \
      .scratch = scratch,                                                                                              \
      .state_bytes = state_bytes,                                                                                      \
      .prepare = prepare_##suffix,                                                                                     \
      .launch = launch,                                                                                                \
  };
HN_EACH_ISA(ROW)
