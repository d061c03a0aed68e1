/* SPDX-License-Identifier: Apache-2.0 */
/* linear.c - linear layers of few rows, cut along k so that they fill the device. */
#include "backend/cuda/product/slices.h"

enum { X, W, BIAS, RESIDUAL, LEAST_K = 64, MOST_ROWS = 2048 };

enum { TILES = 4, CLUSTER_TILES = 2 };

typedef struct row_kernel {
  bool clusters;
  int tile_count;
  hn_cuda_slice_tile tiles[TILES];
  hn_cuda_builtin kernels[TILES][2]; /* w as it lies, and transposed */
} row_kernel;

static const row_kernel scratch_row = {.tile_count = TILES,
                                       .tiles = {{128, 64, 1, 4}, {64, 64, 1, 4}, {128, 128, 1, 3}, {128, 64, 2, 3}},
                                       .kernels = {{HN_CUDA_product_128_64, HN_CUDA_product_128_64_t},
                                                   {HN_CUDA_product_64_64, HN_CUDA_product_64_64_t},
                                                   {HN_CUDA_product_128_128, HN_CUDA_product_128_128_t},
                                                   {HN_CUDA_product_128_64_2, HN_CUDA_product_128_64_2_t}}};

static const row_kernel cluster_row = {
    .clusters = true,
    .tile_count = CLUSTER_TILES,
    .tiles = {{64, 64, 4, 3}, {64, 96, 4, 3}},
    .kernels = {{HN_CUDA_product_cluster_64_64_4, HN_CUDA_product_cluster_64_64_4_t},
                {HN_CUDA_product_cluster_64_96_4, HN_CUDA_product_cluster_64_96_4_t}}};

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
  const row_kernel *row = query->tactic->kernel;
  s->tiles = row->tiles, s->tile_count = row->tile_count, s->clusters = row->clusters;
  s->args.early = query->constant_mask >> W & 1;
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
  const bool transposed = hn_cuda_attr_int(query->attrs, "transpose_w", 0) != 0;
  s->kernel = ((const row_kernel *)query->tactic->kernel)->kernels[s->sliced.tile][transposed];
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
  const hn_cuda_shape shape = {
      .grid = s->sliced.grid, .threads = s->sliced.threads, .shared_bytes = s->sliced.shared_bytes, .dependent = true};
  const hone_status status = hn_cuda_launch_shaped(stream, s->kernel, &shape, multiply);
  if (status != HONE_OK) return status;
  return hn_cuda_launch(stream, HN_CUDA_product_finish, (hn_cuda_grid){(fours + 255) / 256, 1, 1}, 256, finish);
}

static hone_status launch_cluster(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  const hn_cuda_sliced *sliced = &s->sliced;
  const void *bias = s->has_bias ? launch->in[BIAS].data : NULL;
  const void *residual = s->has_residual ? launch->in[RESIDUAL].data : NULL;
  void *arguments[] = {&launch->out[0].data,
                       (void *)(uintptr_t)&launch->in[X].data,
                       (void *)(uintptr_t)&launch->in[W].data,
                       (void *)&bias,
                       (void *)&residual,
                       &s->sliced.args};
  const hn_cuda_shape shape = {.grid = sliced->grid,
                               .threads = sliced->threads,
                               .shared_bytes = sliced->shared_bytes,
                               .cluster = (unsigned)sliced->args.slices,
                               .dependent = true};
  return hn_cuda_launch_shaped(stream, s->kernel, &shape, arguments);
}

const hone_tactic hn_tactics_cuda_linear[] = {
    {sizeof(hone_tactic), .name = "cuda.linear.f32.slices", .version = 2, .op = "linear",
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .variants = variants, .plan = plan, .launch = launch,
     .kernel = &scratch_row},
    {sizeof(hone_tactic), .name = "cuda.linear.f32.cluster", .version = 1, .op = "linear", .isa = HN_CUDA_SM90,
     .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .variants = variants, .plan = plan,
     .launch = launch_cluster, .kernel = &cluster_row},
    {0}};
