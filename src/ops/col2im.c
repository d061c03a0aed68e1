/* SPDX-License-Identifier: Apache-2.0 */
/* col2im.c - adds columns of blocks back into an image: the reverse of a convolution's gather.
 * Source: ONNX operator Col2Im. */
#include "ops/common_nn.h"

enum { COLUMNS, IMAGE, BLOCK };

typedef struct geometry {
  int spatial;
  int64_t block[HN_MAX_SPATIAL], image[HN_MAX_SPATIAL], count[HN_MAX_SPATIAL]; /* count: block positions */
  int64_t stride[HN_MAX_SPATIAL], dilation[HN_MAX_SPATIAL], pad[HN_MAX_SPATIAL];
  int64_t taps, positions;
} geometry;

static hone_status geometry_make(hone_diagnostics *diag, const hone_attrs *attrs, int spatial, const int64_t *image,
                                 const int64_t *block, geometry *g) {
  const int pads = hn_attr_ints(attrs, "pads", &(const int64_t *){NULL});
  *g = (geometry){.spatial = spatial, .taps = 1, .positions = 1};
  if (pads != 0 && pads != 2 * spatial)
    return HN_FAIL(diag, HONE_MALFORMED, "pads has %d numbers, expected %d", pads, 2 * spatial);
  for (int i = 0; i < spatial; ++i) {
    g->image[i] = image[i], g->block[i] = block[i];
    g->stride[i] = hn_attr_ints_at(attrs, "strides", i, 1), g->dilation[i] = hn_attr_ints_at(attrs, "dilations", i, 1);
    g->pad[i] = hn_attr_ints_at(attrs, "pads", i, 0);
    const int64_t end = hn_attr_ints_at(attrs, "pads", spatial + i, 0), most = (int64_t)1 << 30;
    const bool fits = image[i] >= 1 && image[i] <= most && block[i] >= 1 && block[i] <= most && g->stride[i] >= 1 &&
                      g->stride[i] <= most && g->dilation[i] >= 1 && g->dilation[i] <= most && g->pad[i] >= 0 &&
                      g->pad[i] <= most && end >= 0 && end <= most;
    if (!fits)
      return HN_FAIL(diag, HONE_MALFORMED, "image, block, strides, dilations or pads are out of range on axis %d", i);
    const int64_t span = image[i] + g->pad[i] + end - (g->block[i] - 1) * g->dilation[i] - 1;
    if (span < 0) return HN_FAIL(diag, HONE_MALFORMED, "the block is larger than the padded image on axis %d", i);
    g->count[i] = span / g->stride[i] + 1;
    if (!hn_mul_i64(g->taps, block[i], &g->taps) || !hn_mul_i64(g->positions, g->count[i], &g->positions))
      return HN_FAIL(diag, HONE_MALFORMED, "image or block are too large");
  }
  return HONE_OK;
}

static hone_status infer(hone_infer *infer) {
  int64_t spatial = 0, blocks = 0, dim[HONE_MAX_RANK];
  HN_TRY(hn_want_rank(infer, COLUMNS, 3, 3));
  const int64_t *image = hn_in_value(infer, IMAGE, &spatial), *block = hn_in_value(infer, BLOCK, &blocks);
  if (!image && hn_in_rank(infer, IMAGE) == 1 && !HONE_SYMBOLIC(hn_in_shape(infer, IMAGE)->dim[0])) {
    spatial = hn_in_shape(infer, IMAGE)->dim[0];
    if (spatial >= 1 && spatial <= HN_MAX_SPATIAL) return hn_out_after_run(infer, 0, 2 + (int)spatial, INT64_MAX);
  }
  if (!image) return HONE_OK;
  if (spatial < 1 || spatial > HN_MAX_SPATIAL || (block && blocks != spatial))
    return HN_INFER_FAIL(infer, "image_shape and block_shape must have the same 1 to %d numbers", HN_MAX_SPATIAL);
  bool numbers = block != NULL;
  for (int i = 0; numbers && i < spatial; ++i) numbers = !HONE_SYMBOLIC(image[i]) && !HONE_SYMBOLIC(block[i]);
  if (!numbers || hn_in_rank(infer, COLUMNS) < 0) return hn_out_after_run(infer, 0, 2 + (int)spatial, INT64_MAX);
  geometry g;
  HN_TRY(geometry_make(infer->diagnostics, infer->attrs, (int)spatial, image, block, &g));
  const hone_shape *columns = hn_in_shape(infer, COLUMNS);
  HN_TRY(hn_want_dim(infer, COLUMNS, 2, g.positions, "the number of block positions"));
  if (!HONE_SYMBOLIC(columns->dim[1]) && columns->dim[1] % g.taps)
    return HN_INFER_FAIL(infer, "input has %lld rows, which is not a multiple of the block's %lld elements",
                         (long long)columns->dim[1], (long long)g.taps);
  dim[0] = columns->dim[0], dim[1] = hn_dim_floor_div(infer->dims, columns->dim[1], g.taps);
  for (int i = 0; i < spatial; ++i) dim[2 + i] = image[i];
  hn_out_shape(infer, 0, 2 + (int)spatial, dim);
  return HONE_OK;
}

/* The block position whose tap number `tap` falls on the image element, or -1. */
static int64_t position(const geometry *g, const int64_t *at, int64_t tap) {
  int64_t flat = 0, step = 1;
  for (int i = g->spatial - 1; i >= 0; --i) {
    const int64_t from = at[i] + g->pad[i] - tap % g->block[i] * g->dilation[i];
    if (from < 0 || from % g->stride[i] || from / g->stride[i] >= g->count[i]) return -1;
    tap /= g->block[i];
    flat += from / g->stride[i] * step;
    step *= g->count[i];
  }
  return flat;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_shape *y = &eval->out[0].type.shape;
  int64_t block[HN_MAX_SPATIAL], first, last, at[HONE_MAX_RANK];
  geometry g;
  for (int i = 0; i < y->rank - 2; ++i) block[i] = hn_int(&eval->in[BLOCK], i);
  HN_TRY(geometry_make(eval->diagnostics, eval->attrs, y->rank - 2, y->dim + 2, block, &g));
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    double sum = 0;
    hn_unflatten(y, flat, at);
    for (int64_t tap = 0; tap < g.taps; ++tap) {
      const int64_t from = position(&g, at + 2, tap);
      if (from >= 0)
        sum += hn_real(&eval->in[COLUMNS], ((at[0] * y->dim[1] + at[1]) * g.taps + tap) * g.positions + from);
    }
    hn_store_real(&eval->out[0], flat, sum);
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs;
  return hn_cost_work((double)hn_elems(&in[0].type.shape), in, in_count, out, out_count);
}

const hone_op hn_op_col2im = {
    .struct_size = sizeof(hone_op),
    .name = "col2im",
    .doc = "adds columns of blocks back into an image",
    .in = {{"input", 't', HONE_TYPES_NUMBER, 0},
           {"image_shape", 0, HONE_BIT(HONE_I64), 0},
           {"block_shape", 0, HONE_BIT(HONE_I64), 0}},
    .out = {{"output", 't', 0, 0}},
    .attr = {HONE_OPTIONAL_ATTR("dilations", HONE_ATTR_INTS), HONE_OPTIONAL_ATTR("pads", HONE_ATTR_INTS),
             HONE_OPTIONAL_ATTR("strides", HONE_ATTR_INTS)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .onnx = {{.name = "Col2Im", .first = 18, .last = HONE_LATEST}},
};
