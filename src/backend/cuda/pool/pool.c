/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - max_pool and average_pool of plain f32. */
#include "backend/cuda/conv/sliding.h"

enum { THREADS = 256 };

typedef struct state {
  hn_cuda_window args;
  hn_cuda_builtin kernel;
} state;

typedef struct row_kernel {
  hn_cuda_builtin run;
} row_kernel;

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  const hone_attr *kernel = hn_cuda_attr(query->attrs, "kernel_shape");
  const hone_type *x = &query->in[0].type, *y = &query->out[0].type;
  if (x->dtype != HONE_F32 || x->format != HONE_PLAIN || y->format != HONE_PLAIN) return "it is not plain f32";
  if (query->out_count > 1 && query->out[1].type.kind != HONE_ABSENT) return "indices are requested";
  if (!kernel || kernel->kind != HONE_ATTR_INTS || kernel->count != x->shape.rank - 2) return "no kernel_shape";
  HN_TRY_REASON(hn_cuda_sliding(query, &x->shape, &y->shape, kernel->ints, &s->args));
  needs->state = sizeof *s;
  s->args.count_pads = hn_cuda_attr_int(query->attrs, "count_include_pad", 0) != 0;
  s->kernel = ((const row_kernel *)query->tactic->kernel)->run;
  return NULL;
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[0].data, &s->args};
  return hn_cuda_launch(stream, s->kernel, (hn_cuda_grid){(s->args.count + THREADS - 1) / THREADS, 1, 1}, THREADS,
                        arguments);
}

const hone_tactic hn_tactics_cuda_pool[] = {
    {sizeof(hone_tactic), .name = "cuda.max_pool.f32", .version = 1, .op = "max_pool",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){HN_CUDA_max_pool}},
    {sizeof(hone_tactic), .name = "cuda.average_pool.f32", .version = 1, .op = "average_pool",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .plan = plan, .launch = launch,
     .kernel = &(const row_kernel){HN_CUDA_average_pool}},
    {0}};
