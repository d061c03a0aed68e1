/* SPDX-License-Identifier: Apache-2.0 */
/* conv_implicit.c - convolutions of one group as products of the weights with what each output sees, cut along k: with
 * small images and one of them, whole tiles leave most of the device idle. Needs no library. */
#include "backend/cuda/product/slices.h"
#include "backend/cuda/conv/sliding.h"

enum { X, W, BIAS, RESIDUAL };

enum { TILES = 3 };
static const hn_cuda_slice_tile tiles[TILES] = {{128, 64, 1, 0}, {64, 64, 1, 0}, {128, 128, 1, 0}};
static const hn_cuda_builtin kernels[TILES][2] = {{HN_CUDA_implicit_128_64, HN_CUDA_implicit_128_64_f},
                                                  {HN_CUDA_implicit_64_64, HN_CUDA_implicit_64_64_f},
                                                  {HN_CUDA_implicit_128_128, HN_CUDA_implicit_128_128_f}};

typedef struct state {
  hn_cuda_sliced sliced;
  hn_cuda_window window;
  hn_cuda_builtin kernel;
  bool has_bias, has_residual;
} state;

static const char *read(const hone_query *query, state *s) {
  HN_TRY_REASON(hn_cuda_sliced_begin(query, &s->sliced));
  const hone_shape *x = &query->in[X].type.shape, *w = &query->in[W].type.shape, *y = &query->out[0].type.shape;
  if (x->rank < 3 || x->rank > 4 || w->rank != x->rank) return "it has not one or two axes";
  if (hn_cuda_attr_int(query->attrs, "group", 1) != 1 || w->dim[1] != x->dim[1] || w->dim[0] != y->dim[1])
    return "it has groups";
  if (hn_cuda_given(query, RESIDUAL) && !hn_cuda_same_shape(&query->in[RESIDUAL].type.shape, y))
    return "the residual is broadcast";
  HN_TRY_REASON(hn_cuda_sliding(query, x, y, w->dim + 2, &s->window));
  const hn_cuda_window *v = &s->window;
  const int64_t k = x->dim[1] * v->kernel_h * v->kernel_w, n = (int64_t)v->out_h * v->out_w;
  if (k > 1 << 24 || n < 1 || n > 1 << 24 || x->dim[0] < 1 || x->dim[0] > 1000) return "an extent is too large";
  s->sliced.batch = (int)x->dim[0], s->sliced.tiles = tiles, s->sliced.tile_count = TILES;
  s->sliced.args.m = (int)y->dim[1], s->sliced.args.n = (int)n, s->sliced.args.k = (int)k;
  return NULL;
}

static int variants(const hone_query *query, hone_params *out, int room) {
  state s;
  return read(query, &s) ? 0 : hn_cuda_sliced_variants(&s.sliced, out, room);
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  HN_TRY_REASON(read(query, s));
  HN_TRY_REASON(hn_cuda_sliced_plan(query, &s->sliced, needs));
  needs->state = sizeof *s;
  const hn_cuda_window *v = &s->window;
  const bool flat = v->kernel_h * v->kernel_w == 1 && v->stride_h == 1 && v->stride_w == 1 && v->pad_h == 0 &&
                    v->pad_w == 0 && v->in_h == v->out_h && v->in_w == v->out_w;
  s->kernel = kernels[s->sliced.tile][flat];
  s->has_bias = hn_cuda_given(query, BIAS);
  s->has_residual = hn_cuda_given(query, RESIDUAL);
  return NULL;
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  hn_cuda_sliced *sliced = &s->sliced;
  const void *sums = launch->scratch, *bias = s->has_bias ? launch->in[BIAS].data : NULL;
  const void *residual = s->has_residual ? launch->in[RESIDUAL].data : NULL;
  unsigned rows = (unsigned)(sliced->batch * sliced->args.m);
  const unsigned fours = rows * ((unsigned)(sliced->args.n + 3) / 4);
  void *multiply[] = {(void *)&sums, (void *)(uintptr_t)&launch->in[X].data, (void *)(uintptr_t)&launch->in[W].data,
                      &sliced->args, &s->window};
  void *finish[] = {&launch->out[0].data, (void *)&sums, (void *)&bias, (void *)&residual, &rows, &sliced->args};
  const hone_status status = hn_cuda_launch(stream, s->kernel, sliced->grid, sliced->threads, multiply);
  if (status != HONE_OK) return status;
  return hn_cuda_launch(stream, HN_CUDA_implicit_finish, (hn_cuda_grid){(fours + 255) / 256, 1, 1}, 256, finish);
}

const hone_tactic hn_tactics_cuda_conv_implicit[] = {
    {sizeof(hone_tactic), .name = "cuda.conv.f32.implicit", .version = 1, .op = "conv",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .variants = variants, .plan = plan, .launch = launch},
    {0}};
