/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - max_pool and average_pool of plain f32. */
#include "backend/cuda/conv/sliding.h"

enum { THREADS = 256 };

typedef struct state {
  hn_cuda_window args;
} state;

static const char *plan(const hone_query *query, state *s) {
  const hone_attr *kernel = hn_cuda_attr(query->attrs, "kernel_shape");
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  if (x->dtype != HONE_F32 || x->format != HONE_PLAIN || y->format != HONE_PLAIN) return "it is not plain f32";
  if (query->out_count > 1 && query->out[1].type.kind != HONE_ABSENT) return "indices are requested";
  if (!kernel || kernel->kind != HONE_ATTR_INTS || kernel->count != x->shape.rank - 2) return "no kernel_shape";
  const char *reason = hn_cuda_sliding(query, &x->shape, &y->shape, kernel->ints, &s->args);
  s->args.count_pads = hn_cuda_attr_int(query->attrs, "count_include_pad", 0) != 0;
  return reason;
}

static const char *reject(const hone_query *query) {
  state s;
  return plan(query, &s);
}
static size_t state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(state);
}
static hone_status prepare(hone_unit *unit, const hone_query *query, void *s, hone_diagnostics *diag) {
  const char *reason = plan(query, s);
  return reason ? unit->host->fail(diag, HONE_UNSUPPORTED, reason) : HONE_OK;
}
static hone_status run(state *s, hn_cuda_builtin kernel, hone_stream *stream, const hone_launch *launch) {
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data, &s->args};
  return hn_cuda_launch(stream, kernel, (hn_cuda_grid){(s->args.count + THREADS - 1) / THREADS, 1, 1}, THREADS,
                        arguments);
}
static hone_status launch_max_pool(void *s, hone_stream *stream, const hone_launch *launch) {
  return run(s, HN_CUDA_max_pool, stream, launch);
}
static hone_status launch_average_pool(void *s, hone_stream *stream, const hone_launch *launch) {
  return run(s, HN_CUDA_average_pool, stream, launch);
}

#define ROW(row)                                                                                                       \
  const hone_tactic hn_tactic_cuda_##row = {                                                                           \
      .struct_size = sizeof(hone_tactic),                                                                              \
      .name = "cuda." #row ".f32",                                                                                     \
      .version = 1,                                                                                                    \
      .op = #row,                                                                                                      \
      .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,                                                        \
      .reject = reject,                                                                                                \
      .state_bytes = state_bytes,                                                                                      \
      .prepare = prepare,                                                                                              \
      .launch = launch_##row,                                                                                          \
  };
ROW(max_pool)
ROW(average_pool)
