/* SPDX-License-Identifier: Apache-2.0 */
/* linear.c - linear layers of few rows by the kernel of kernels/cuda/product: k is cut into slices, so that a product
 * of 128 rows fills the device. How many, and which tile, is measured; neither changes from run to run. */
#include "backend/cuda/cuda.h"
#include "kernels/cuda/args.h"
#include <string.h>

enum { X, W, BIAS, RESIDUAL, DEPTH = 16, LEAST_BLOCKS = 100, MOST_BLOCKS = 540, LEAST_SLICE = 64, MOST_ROWS = 2048 };
static const int64_t most_scratch_bytes = (int64_t)256 << 20;

static const struct {
  int rows, columns;
  hn_cuda_builtin kernel, transposed;
} tiles[] = {{128, 64, HN_CUDA_product_128_64, HN_CUDA_product_128_64_t},
             {64, 64, HN_CUDA_product_64_64, HN_CUDA_product_64_64_t},
             {128, 128, HN_CUDA_product_128_128, HN_CUDA_product_128_128_t}};

/* Those that kernels know by number. */
static const struct {
  const char *name;
  int number;
} acts[] = {{"", HN_CUDA_ACT_NONE},     {"relu", HN_CUDA_ACT_RELU}, {"gelu", HN_CUDA_ACT_GELU},
            {"silu", HN_CUDA_ACT_SILU}, {"tanh", HN_CUDA_ACT_TANH}, {"clip", HN_CUDA_ACT_CLIP}};

typedef struct state {
  hn_cuda_product_args args;
  hn_cuda_builtin kernel;
  hn_cuda_grid grid;
  unsigned threads;
  bool has_bias, has_residual;
} state;

static bool plain_f32(const hone_fact *fact) {
  return fact->type.kind == HONE_TENSOR && fact->type.dtype == HONE_F32 && fact->type.format == HONE_PLAIN;
}

static const char *plan(const hone_query *query, state *s) {
  *s = (state){.args.act = -1};
  for (int i = 0; i < query->in_count; ++i)
    if (hn_cuda_given(query, i) && !plain_f32(&query->in[i])) return "an input is not plain f32";
  if (!plain_f32(&query->out[0])) return "the output is not plain f32";
  for (size_t i = 0; i < sizeof acts / sizeof *acts; ++i)
    if (strcmp(acts[i].name, hn_cuda_activation(query)) == 0) s->args.act = acts[i].number;
  if (s->args.act < 0) return "its activation is not the kernel's own";
  const hone_shape *x = &query->in[X].type.shape, *w = &query->in[W].type.shape;
  const bool transposed = hn_cuda_attr_int(query->attrs, "transpose_w", 0) != 0;
  const int64_t k = x->dim[x->rank - 1], n = w->dim[!transposed], m = k ? hn_cuda_elements(x) / k : 0;
  if (m < 1 || m > MOST_ROWS) return "it has no rows, or more than 2048";
  if (k % 4 || n % 4 || k < LEAST_SLICE || n < 4) return "its extents are no multiples of 4, or small";
  if (k > 1 << 20 || n > 1 << 20 || m * n > INT32_MAX / 2) return "an extent is too large";
  s->args.m = (int)m, s->args.n = (int)n, s->args.k = (int)k;
  s->args.alpha = (float)hn_cuda_attr_float(query->attrs, "act_alpha", 0);
  s->args.beta = (float)hn_cuda_attr_float(query->attrs, "act_beta", 0);
  s->has_bias = hn_cuda_given(query, BIAS);
  s->has_residual = hn_cuda_given(query, RESIDUAL);
  return NULL;
}

/* false: these slices would be too small, or too many for their scratch. */
static bool cut(state *s, int slices) {
  hn_cuda_product_args *a = &s->args;
  const int each = (a->k + slices - 1) / slices;
  a->slice = (each + DEPTH - 1) / DEPTH * DEPTH;
  a->slices = (a->k + a->slice - 1) / a->slice;
  return (slices == 1 || a->slice >= LEAST_SLICE) &&
         (int64_t)a->slices * a->m * a->n * (int64_t)sizeof(float) <= most_scratch_bytes;
}

static int tiles_of(const state *s, size_t tile) {
  return ((s->args.m + tiles[tile].rows - 1) / tiles[tile].rows) *
         ((s->args.n + tiles[tile].columns - 1) / tiles[tile].columns);
}

static int variants(const hone_query *query, hone_params *out, int room) {
  static const int slices[] = {1, 2, 3, 4, 5, 6, 8, 11, 16, 22};
  state s;
  int count = 0;
  if (plan(query, &s)) return 0;
  for (size_t t = 0; t < sizeof tiles / sizeof *tiles; ++t)
    for (size_t i = 0; i < sizeof slices / sizeof *slices && count < room; ++i) {
      const int blocks = tiles_of(&s, t) * slices[i];
      if (blocks < LEAST_BLOCKS || blocks > MOST_BLOCKS || !cut(&s, slices[i]) || s.args.slices != slices[i]) continue;
      out[count] = (hone_params){.count = 2};
      strcpy(out[count].items[0].name, "tile");
      out[count].items[0].value = (int64_t)t;
      strcpy(out[count].items[1].name, "slices");
      out[count++].items[1].value = slices[i];
    }
  return count;
}

static const char *reject(const hone_query *query) {
  state s;
  hone_params one;
  const char *reason = plan(query, &s);
  return reason ? reason : variants(query, &one, 1) ? NULL : "it is too small, or too large, to be cut into slices";
}

static const char *read(const hone_query *query, state *s, size_t *out_tile) {
  const char *reason = plan(query, s);
  if (reason) return reason;
  if (!query->params || query->params->count != 2) return "no tile and slices are given";
  *out_tile = (size_t)query->params->items[0].value;
  const int64_t slices = query->params->items[1].value;
  if (*out_tile >= sizeof tiles / sizeof *tiles || slices < 1 || slices > 64 || !cut(s, (int)slices))
    return "no such tile or slices";
  return NULL;
}

static size_t scratch(const hone_query *query) {
  state s;
  size_t tile;
  if (read(query, &s, &tile)) return 0;
  return (size_t)s.args.slices * (size_t)s.args.m * (size_t)s.args.n * sizeof(float);
}

static size_t state_bytes(const hone_query *query) {
  (void)query;
  return sizeof(state);
}

static hone_status prepare(hone_unit *unit, const hone_query *query, void *made, hone_diagnostics *diag) {
  state *s = made;
  size_t tile;
  const char *reason = read(query, s, &tile);
  if (reason) return unit->host->fail(diag, HONE_UNSUPPORTED, reason);
  const bool transposed = hn_cuda_attr_int(query->attrs, "transpose_w", 0) != 0;
  s->kernel = transposed ? tiles[tile].transposed : tiles[tile].kernel;
  s->grid = (hn_cuda_grid){(unsigned)((s->args.n + tiles[tile].columns - 1) / tiles[tile].columns),
                           (unsigned)((s->args.m + tiles[tile].rows - 1) / tiles[tile].rows), (unsigned)s->args.slices};
  s->threads = (unsigned)(tiles[tile].rows * tiles[tile].columns / 64);
  return HONE_OK;
}

static hone_status launch(void *made, hone_stream *stream, const hone_launch *launch) {
  state *s = made;
  const void *sums = launch->scratch, *bias = s->has_bias ? launch->in[BIAS].data : NULL;
  const void *residual = s->has_residual ? launch->in[RESIDUAL].data : NULL;
  void *multiply[] = {(void *)&sums, (void *)(uintptr_t)&launch->in[X].data, (void *)(uintptr_t)&launch->in[W].data,
                      &s->args};
  void *finish[] = {&launch->out[0].data, (void *)&sums, (void *)&bias, (void *)&residual, &s->args};
  const unsigned fours = (unsigned)s->args.m * (unsigned)s->args.n / 4;
  const hone_status status = hn_cuda_launch(stream, s->kernel, s->grid, s->threads, multiply);
  if (status != HONE_OK) return status;
  return hn_cuda_launch(stream, HN_CUDA_product_finish, (hn_cuda_grid){(fours + 255) / 256, 1, 1}, 256, finish);
}

const hone_tactic hn_tactic_cuda_linear_slices = {
    .struct_size = sizeof(hone_tactic),
    .name = "cuda.linear.f32.slices",
    .version = 1,
    .op = "linear",
    .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
    .reject = reject,
    .variants = variants,
    .scratch = scratch,
    .state_bytes = state_bytes,
    .prepare = prepare,
    .launch = launch,
};
