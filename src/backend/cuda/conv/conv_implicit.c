/* SPDX-License-Identifier: Apache-2.0 */
/* conv_implicit.c - convolutions of one group as products of the weights with what each output sees, cut along k: with
 * small images and one of them, whole tiles leave most of the device idle. Needs no library. */
#include "backend/cuda/product/slices.h"
#include "backend/cuda/conv/sliding.h"

enum { X, W, BIAS, RESIDUAL };

static const hn_cuda_builtin kernels[HN_CUDA_TILES][2] = {{HN_CUDA_implicit_128_64, HN_CUDA_implicit_128_64_f},
                                                          {HN_CUDA_implicit_64_64, HN_CUDA_implicit_64_64_f},
                                                          {HN_CUDA_implicit_128_128, HN_CUDA_implicit_128_128_f}};

typedef struct planned {
  hn_cuda_sliced sliced;
  hn_cuda_window window;
} planned;

typedef struct state {
  planned p;
  hn_cuda_builtin kernel;
  bool has_bias, has_residual;
} state;

static const char *plan(const hone_query *query, planned *p) {
  const char *reason = hn_cuda_sliced_begin(query, &p->sliced);
  if (reason) return reason;
  const hone_shape *x = &query->in[X].type.shape, *w = &query->in[W].type.shape, *y = &query->out[0].type.shape;
  if (x->rank < 3 || x->rank > 4 || w->rank != x->rank) return "it has not one or two axes";
  if (hn_cuda_attr_int(query->attrs, "group", 1) != 1 || w->dim[1] != x->dim[1] || w->dim[0] != y->dim[1])
    return "it has groups";
  if (hn_cuda_given(query, RESIDUAL) && !hn_cuda_same_shape(&query->in[RESIDUAL].type.shape, y))
    return "the residual is broadcast";
  reason = hn_cuda_sliding(query, x, y, w->dim + 2, &p->window);
  if (reason) return reason;
  const hn_cuda_window *v = &p->window;
  const int64_t k = x->dim[1] * v->kernel_h * v->kernel_w, n = (int64_t)v->out_h * v->out_w;
  if (k > 1 << 24 || n < 1 || n > 1 << 24 || x->dim[0] < 1 || x->dim[0] > 1000) return "an extent is too large";
  p->sliced.batch = (int)x->dim[0];
  p->sliced.args.m = (int)y->dim[1], p->sliced.args.n = (int)n, p->sliced.args.k = (int)k;
  return NULL;
}

static int variants(const hone_query *query, hone_params *out, int room) {
  planned p;
  return plan(query, &p) ? 0 : hn_cuda_sliced_variants(&p.sliced, out, room);
}

static const char *reject(const hone_query *query) {
  planned p;
  hone_params one;
  const char *reason = plan(query, &p);
  if (reason) return reason;
  return hn_cuda_sliced_variants(&p.sliced, &one, 1) ? NULL : "it is too large to be cut into slices";
}

static size_t scratch(const hone_query *query) {
  planned p;
  return plan(query, &p) || hn_cuda_sliced_read(query, &p.sliced) ? 0 : hn_cuda_sliced_scratch(&p.sliced);
}

static size_t state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(state);
}

static hone_status prepare(hone_unit *unit, const hone_query *query, void *made, hone_diagnostics *diag) {
  state *s = made;
  const char *reason = plan(query, &s->p);
  if (!reason) reason = hn_cuda_sliced_read(query, &s->p.sliced);
  if (reason) return unit->host->fail(diag, HONE_UNSUPPORTED, reason);
  const hn_cuda_window *v = &s->p.window;
  const bool flat = v->kernel_h * v->kernel_w == 1 && v->stride_h == 1 && v->stride_w == 1 && v->pad_h == 0 &&
                    v->pad_w == 0 && v->in_h == v->out_h && v->in_w == v->out_w;
  s->kernel = kernels[s->p.sliced.tile][flat];
  s->has_bias = hn_cuda_given(query, BIAS);
  s->has_residual = hn_cuda_given(query, RESIDUAL);
  return HONE_OK;
}

static hone_status launch(void *made, hone_stream *stream, const hone_launch *launch) {
  state *s = made;
  hn_cuda_sliced *sliced = &s->p.sliced;
  const void *sums = launch->scratch, *bias = s->has_bias ? launch->in[BIAS].data : NULL;
  const void *residual = s->has_residual ? launch->in[RESIDUAL].data : NULL;
  unsigned rows = (unsigned)(sliced->batch * sliced->args.m);
  const unsigned fours = rows * ((unsigned)(sliced->args.n + 3) / 4);
  void *multiply[] = {(void *)&sums, (void *)(uintptr_t)&launch->in[X].data, (void *)(uintptr_t)&launch->in[W].data,
                      &sliced->args, &s->p.window};
  void *finish[] = {&launch->out[0].data, (void *)&sums, (void *)&bias, (void *)&residual, &rows, &sliced->args};
  const hone_status status = hn_cuda_launch(stream, s->kernel, sliced->grid, sliced->threads, multiply);
  if (status != HONE_OK) return status;
  return hn_cuda_launch(stream, HN_CUDA_implicit_finish, (hn_cuda_grid){(fours + 255) / 256, 1, 1}, 256, finish);
}

const hone_tactic hn_tactic_cuda_conv_implicit = {
    .struct_size = sizeof(hone_tactic),
    .name = "cuda.conv.f32.implicit",
    .version = 1,
    .op = "conv",
    .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
    .reject = reject,
    .variants = variants,
    .scratch = scratch,
    .state_bytes = state_bytes,
    .prepare = prepare,
    .launch = launch,
};
