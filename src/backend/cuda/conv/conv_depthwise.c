/* SPDX-License-Identifier: Apache-2.0 */
/* conv_depthwise.c - convolutions of one channel a group, plain f32. */
#include "backend/cuda/product/slices.h"
#include "backend/cuda/conv/sliding.h"

enum { X, W, BIAS, RESIDUAL, THREADS = 256 };

typedef struct state {
  hn_cuda_window window;
  hn_cuda_product_args args; /* the activation */
  bool has_bias, has_residual;
} state;

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  hn_cuda_sliced sliced;
  HN_TRY_REASON(hn_cuda_sliced_begin(query, &sliced));
  const hone_shape *x = &query->in[X].type.shape, *w = &query->in[W].type.shape, *y = &query->out[0].type.shape;
  if (x->rank < 3 || x->rank > 4 || w->rank != x->rank) return "it has not one or two axes";
  if (hn_cuda_attr_int(query->attrs, "group", 1) != x->dim[1] || w->dim[1] != 1 || w->dim[0] != x->dim[1])
    return "its groups have more than one channel";
  if (hn_cuda_given(query, RESIDUAL) && !hn_cuda_same_shape(&query->in[RESIDUAL].type.shape, y))
    return "the residual is broadcast";
  needs->state = sizeof *s;
  s->args = sliced.args;
  s->has_bias = hn_cuda_given(query, BIAS);
  s->has_residual = hn_cuda_given(query, RESIDUAL);
  return hn_cuda_sliding(query, x, y, w->dim + 2, &s->window);
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  const void *bias = s->has_bias ? launch->in[BIAS].data : NULL;
  const void *residual = s->has_residual ? launch->in[RESIDUAL].data : NULL;
  void *arguments[] = {&launch->out[0].data,
                       (void *)(uintptr_t)&launch->in[X].data,
                       (void *)(uintptr_t)&launch->in[W].data,
                       (void *)&bias,
                       (void *)&residual,
                       &s->window,
                       &s->args};
  return hn_cuda_launch(stream, HN_CUDA_conv_depthwise, (hn_cuda_grid){(s->window.count + THREADS - 1) / THREADS, 1, 1},
                        THREADS, arguments);
}

const hone_tactic hn_tactics_cuda_conv_depthwise[] = {
    {sizeof(hone_tactic), .name = "cuda.conv.f32.depthwise", .version = 1, .op = "conv",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .plan = plan, .launch = launch},
    {0}};
