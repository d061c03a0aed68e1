/* SPDX-License-Identifier: Apache-2.0 */
/* spread.c - conv_transpose of images in halves with their channels last, where windows lie side by side (kernel and
 * strides are equal, nothing is padded): the enlarging layers of U-Nets. Variants: pixels of a tile. */
#include "backend/cuda/image/image.h"
#include "backend/cuda/product/tiles.h"
#include <string.h>

enum { X, W, BIAS, COLUMNS = 64, DEPTH = 64, THREADS = 128, TILES = 3, MOST_ROWS = 65535 * 32 };

/* Stages of DEPTH values and 8 beside them, as the kernel has them. */
typedef struct tile {
  int rows, stages;
  hn_cuda_builtin f16, bf16;
} tile;
static const tile tiles[TILES] = {{32, 4, HN_CUDA_spread_f16_32, HN_CUDA_spread_bf16_32},
                                  {64, 4, HN_CUDA_spread_f16_64, HN_CUDA_spread_bf16_64},
                                  {128, 3, HN_CUDA_spread_f16_128, HN_CUDA_spread_bf16_128}};

typedef struct state {
  hn_cuda_spread args;
  hn_cuda_builtin kernel;
  int tile_rows;
  unsigned shared_bytes;
} state;

static const char *check(const hone_query *query) {
  const hone_shape *x = &query->in[X].type.shape, *w = &query->in[W].type.shape, *y = &query->out[0].type.shape;
  const hone_attr *strides = hn_cuda_attr(query->attrs, "strides"),
                  *dilations = hn_cuda_attr(query->attrs, "dilations");
  const hone_attr *pads = hn_cuda_attr(query->attrs, "pads");
  for (int64_t i = 0; pads && pads->kind == HONE_ATTR_INTS && i < pads->count; ++i)
    if (pads->ints[i]) return "it has pads";
  if (x->rank < 3 || x->rank > 4 || w->rank != x->rank || y->rank != x->rank) return "it has not one or two axes";
  if (hn_cuda_attr_int(query->attrs, "group", 1) != 1) return "it has groups";
  if (!hn_cuda_is_weight(query, W) || (hn_cuda_given(query, BIAS) && !hn_cuda_is_weight(query, BIAS)))
    return "its weights are not constants";
  for (int d = 2; d < x->rank; ++d) {
    const int64_t stride = strides && strides->kind == HONE_ATTR_INTS ? strides->ints[d - 2] : 1;
    const int64_t dilation = dilations && dilations->kind == HONE_ATTR_INTS ? dilations->ints[d - 2] : 1;
    if (w->dim[d] != stride || y->dim[d] != x->dim[d] * stride || (dilation != 1 && stride != 1))
      return "its windows do not lie side by side";
  }
  return w->dim[0] == x->dim[1] && w->dim[1] == y->dim[1] ? NULL : "the weights do not fit the channels";
}

/* The largest tile that gives each multiprocessor a block. */
static int best_tile(const hn_cuda_spread *a) {
  int t = TILES - 1;
  while (t > 0 &&
         (a->rows + tiles[t].rows - 1) / tiles[t].rows * ((a->columns + COLUMNS - 1) / COLUMNS) < HN_CUDA_UNITS)
    --t;
  return t;
}

static const char *read(const hone_query *query, hn_cuda_spread *out) {
  const hone_dtype held = hn_cuda_held(query, &query->in[X]);
  const hn_activation act = hn_cuda_activation(query);
  hn_cuda_image x, y;
  HN_TRY_REASON(check(query));
  HN_TRY_REASON(hn_cuda_image_of(&query->in[X], held, &x));
  HN_TRY_REASON(hn_cuda_image_of(&query->out[0], held, &y));
  if (act == HN_ACTIVATION_PRELU || act == HN_ACTIVATION_COUNT) return "its activation is not the kernel's own";
  const hone_shape *w = &query->in[W].type.shape;
  const int kernel_w = (int)w->dim[w->rank - 1], kernel_h = w->rank > 3 ? (int)w->dim[2] : 1;
  *out = (hn_cuda_spread){.rows = x.n * x.h * x.w,
                          .columns = kernel_h * kernel_w * y.pitch,
                          .depth = (x.pitch + DEPTH - 1) / DEPTH * DEPTH,
                          .pitch = x.pitch,
                          .c = y.c,
                          .y_pitch = y.pitch,
                          .in_h = x.h,
                          .in_w = x.w,
                          .kernel_h = kernel_h,
                          .kernel_w = kernel_w,
                          .act = (int)act,
                          .alpha = (float)hn_cuda_attr_float(query->attrs, "act_alpha", 0),
                          .beta = (float)hn_cuda_attr_float(query->attrs, "act_beta", 0)};
  return out->rows > MOST_ROWS ? "too many pixels for one grid" : NULL;
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked, *s = state_memory ? state_memory : &asked;
  HN_TRY_REASON(read(query, &s->args));
  const int64_t rows = hn_cuda_first_param(query);
  const tile *t = &tiles[best_tile(&s->args)];
  for (int i = 0; i < TILES; ++i)
    if (tiles[i].rows == rows) t = &tiles[i];
  const int steps = s->args.depth / DEPTH, stages = steps < t->stages ? steps : t->stages;
  s->kernel = query->tactic->compute == HONE_F16 ? t->f16 : t->bf16;
  s->tile_rows = t->rows;
  s->shared_bytes = (unsigned)(stages * (t->rows + COLUMNS) * (DEPTH + 8) * 2);
  needs->state = sizeof *s;
  needs->packed = (size_t)s->args.columns * ((size_t)s->args.depth * 2 + 4);
  return NULL;
}

/* The best guess first, as the lowest levels time no other. */
static int variants(const hone_query *query, hone_params *out, int room) {
  hn_cuda_spread a;
  int count = 0;
  if (read(query, &a)) return 0;
  const int best = best_tile(&a);
  for (int i = 0; i < TILES && count < room; ++i)
    out[count++] = (hone_params){.count = 1, .items[0] = {.name = "rows", .value = tiles[(best + i) % TILES].rows}};
  return count;
}

static hone_status pack(const hone_query *query, void *to) {
  const hone_shape *shape = &query->in[W].type.shape;
  const hone_tensor *weights = query->in[W].constant;
  const hone_tensor *bias = query->in_count > BIAS && hn_cuda_given(query, BIAS) ? query->in[BIAS].constant : NULL;
  const hone_dtype held = hn_cuda_held(query, &query->in[X]);
  const int64_t from = shape->dim[0], c = shape->dim[1], taps = hn_cuda_elements(shape) / from / c;
  const int64_t pitch = (c + 7) / 8 * 8, depth = (from + DEPTH - 1) / DEPTH * DEPTH;
  uint16_t *rows = to;
  float *sums = (float *)(rows + taps * pitch * depth);
  memset(to, 0, (size_t)(taps * pitch) * ((size_t)depth * sizeof *rows + sizeof *sums));
  for (int64_t t = 0; t < taps; ++t)
    for (int64_t o = 0; o < c; ++o) {
      uint16_t *row = rows + (t * pitch + o) * depth;
      for (int64_t k = 0; k < from; ++k)
        row[k] = hn_cuda_half_of(held, hn_cuda_weight(weights, (k * c + o) * taps + t));
      if (bias) sums[t * pitch + o] = hn_cuda_weight(bias, o);
    }
  return HONE_OK;
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  state *s = state_memory;
  void *arguments[] = {&launch->out[0].data, (void *)(uintptr_t)&launch->in[X].data, (void *)(uintptr_t)&launch->packed,
                       &s->args};
  return hn_cuda_launch_shaped(
      stream, s->kernel,
      &(hn_cuda_shape){.grid = {(unsigned)(s->args.columns + COLUMNS - 1) / COLUMNS,
                                (unsigned)((s->args.rows + s->tile_rows - 1) / s->tile_rows), 1},
                       .threads = THREADS,
                       .shared_bytes = s->shared_bytes,
                       .dependent = true},
      arguments);
}

const hone_tactic hn_tactics_cuda_spread[] = {
    {sizeof(hone_tactic), .name = "cuda.conv_transpose.f16.spread", .version = 2, .op = "conv_transpose",
     .isa = HN_CUDA_SM80, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = 1 << W | 1 << BIAS,
     .compute = HONE_F16, .storages = {{HONE_F16_NHWC, HONE_F16_NHWC}}, .plan = plan, .variants = variants,
     .pack = pack, .launch = launch},
    {sizeof(hone_tactic), .name = "cuda.conv_transpose.bf16.spread", .version = 2, .op = "conv_transpose",
     .isa = HN_CUDA_SM80, .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE, .pack_mask = 1 << W | 1 << BIAS,
     .compute = HONE_BF16, .storages = {{HONE_BF16_NHWC, HONE_BF16_NHWC}}, .plan = plan, .variants = variants,
     .pack = pack, .launch = launch},
    {0}};
