/* SPDX-License-Identifier: Apache-2.0 */
/* reformat.c - f32 between plain and channel-blocked formats. */
#include "kernels/cpu/reorder/reorder.h"
#include "backend/cpu/cpu.h"

typedef struct state {
  hn_reorder_f32_fn *kernel;
  hn_reorder_args args; /* without pointers */
  int64_t grain;
} state;

static const char *reject(const hone_query *query) {
  const char *reason = hn_cpu_check(query, 1, 1, 1);
  if (reason) return reason;
  const hone_type *in = &query->in[0].type, *out = &query->out[0].type;
  if (in->dtype != HONE_F32 || out->dtype != HONE_F32) return "it is not f32";
  if (in->shape.rank < 2 || !hn_shape_equal(&in->shape, &out->shape)) return "the shapes differ or have no channels";
  if ((in->format == HONE_PLAIN) == (out->format == HONE_PLAIN)) return "one format must be plain, the other blocked";
  return NULL;
}

static size_t state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(state);
}

static hone_status prepare(const hone_query *query, state *s, hn_reorder_f32_fn *to, hn_reorder_f32_fn *from) {
  const hone_type *in = &query->in[0].type, *out = &query->out[0].type;
  const bool to_blocked = in->format == HONE_PLAIN;
  s->kernel = to_blocked ? to : from;
  s->args = (hn_reorder_args){.images = in->shape.dim[0],
                              .channels = in->shape.dim[1],
                              .pixels = 1,
                              .block = hn_format_block(to_blocked ? out->format : in->format)};
  for (int i = 2; i < in->shape.rank; ++i) s->args.pixels *= in->shape.dim[i];
  s->grain = hn_cpu_grain(hn_reorder_units(&s->args), 8.0 * (double)hn_elems(&in->shape) * HN_CPU_NS_PER_BYTE);
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

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  job j = {s->kernel, s->args};
  j.args.x = launch->in[0].data;
  j.args.y = launch->out[0].data;
  hn_pool_run(hn_stream_pool(stream), hn_reorder_units(&j.args), s->grain, body, &j);
  return HONE_OK;
}

/* A reformat's ports take the formats of the tensors that it connects; the pairs are those that it can. */
#define ROW(suffix, ISA)                                                                                               \
  static hone_status prepare_##suffix(hone_unit *unit, const hone_query *query, void *s, hone_diagnostics *diag) {     \
    (void)unit, (void)diag;                                                                                            \
    return prepare(query, s, hn_reorder_to_blocked_f32_##suffix, hn_reorder_from_blocked_f32_##suffix);                \
  }                                                                                                                    \
  const hone_tactic hn_tactic_cpu_reformat_f32_##suffix = {                                                            \
      .struct_size = sizeof(hone_tactic),                                                                              \
      .name = "cpu.reformat.f32." #suffix,                                                                             \
      .version = 1,                                                                                                    \
      .op = "reformat",                                                                                                \
      .isa = HONE_ISA_##ISA,                                                                                           \
      .flags = HONE_TACTIC_REPEATABLE,                                                                                 \
      .formats = {{HONE_PLAIN, HONE_NCHW16C},                                                                          \
                  {HONE_NCHW16C, HONE_PLAIN},                                                                          \
                  {HONE_PLAIN, HONE_NCHW8C},                                                                           \
                  {HONE_NCHW8C, HONE_PLAIN}},                                                                          \
      .reject = reject,                                                                                                \
      .state_bytes = state_bytes,                                                                                      \
      .prepare = prepare_##suffix,                                                                                     \
      .launch = launch,                                                                                                \
  };
HN_EACH_ISA(ROW)
