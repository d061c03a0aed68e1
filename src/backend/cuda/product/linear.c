/* SPDX-License-Identifier: Apache-2.0 */
/* linear.c - linear layers of few rows, cut along k so that they fill the device. */
#include "backend/cuda/product/slices.h"

enum { X, W, BIAS, RESIDUAL, LEAST_K = 64, MOST_ROWS = 2048 };

static const hn_cuda_builtin kernels[HN_CUDA_TILES][2] = {{HN_CUDA_product_128_64, HN_CUDA_product_128_64_t},
                                                          {HN_CUDA_product_64_64, HN_CUDA_product_64_64_t},
                                                          {HN_CUDA_product_128_128, HN_CUDA_product_128_128_t}};

typedef struct state {
  hn_cuda_sliced sliced;
  hn_cuda_builtin kernel;
  bool has_bias, has_residual;
} state;

static const char *read(const hone_query *query, hn_cuda_sliced *s) {
  HN_TRY_REASON(hn_cuda_sliced_begin(query, s));
  const hone_shape *x = &query->in[X].type.shape, *w = &query->in[W].type.shape;
  const bool transposed = hn_cuda_attr_int(query->attrs, "transpose_w", 0) != 0;
  const int64_t k = x->dim[x->rank - 1], n = w->dim[!transposed], m = k ? hn_cuda_elements(x) / k : 0;
  if (m < 1 || m > MOST_ROWS) return "it has no rows, or more than 2048";
  if (k % 4 || n % 4 || k < LEAST_K || n < 4) return "its extents are not multiples of 4, or are small";
  if (k > 1 << 20 || n > 1 << 20 || m * n > INT32_MAX / 2) return "an extent is too large";
  s->args.m = (int)m, s->args.n = (int)n, s->args.k = (int)k;
  return NULL;
}

static int variants(const hone_query *query, hone_params *out, int room) {
  hn_cuda_sliced s;
  return read(query, &s) ? 0 : hn_cuda_sliced_variants(&s, out, room);
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  HN_TRY_REASON(read(query, &s->sliced));
  HN_TRY_REASON(hn_cuda_sliced_plan(query, &s->sliced, needs));
  needs->state = sizeof *s;
  s->kernel = kernels[s->sliced.tile][hn_cuda_attr_int(query->attrs, "transpose_w", 0) != 0];
  s->has_bias = hn_cuda_given(query, BIAS);
  s->has_residual = hn_cuda_given(query, RESIDUAL);
  return NULL;
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  hn_cuda_product_args *args = &s->sliced.args;
  const void *sums = launch->scratch, *bias = s->has_bias ? launch->in[BIAS].data : NULL;
  const void *residual = s->has_residual ? launch->in[RESIDUAL].data : NULL;
  void *multiply[] = {(void *)&sums, (void *)(uintptr_t)&launch->in[X].data, (void *)(uintptr_t)&launch->in[W].data,
                      args};
  void *finish[] = {&launch->out[0].data, (void *)&sums, (void *)&bias, (void *)&residual, args};
  const unsigned fours = (unsigned)args->m * (unsigned)args->n / 4;
  const hone_status status = hn_cuda_launch(stream, s->kernel, s->sliced.grid, s->sliced.threads, multiply);
  if (status != HONE_OK) return status;
  return hn_cuda_launch(stream, HN_CUDA_product_finish, (hn_cuda_grid){(fours + 255) / 256, 1, 1}, 256, finish);
}

const hone_tactic hn_tactics_cuda_linear[] = {{sizeof(hone_tactic), .name = "cuda.linear.f32.slices", .version = 1,
                                               .op = "linear", .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
                                               .variants = variants, .plan = plan, .launch = launch},
                                              {0}};
