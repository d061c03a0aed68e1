/* SPDX-License-Identifier: Apache-2.0 */
/* max_roi_pool.c - the largest element in each cell of a region (Girshick 2015). Source: ONNX operator MaxRoiPool.
 * A region is image, x0, y0, x1, y1, both ends included; an empty cell gives 0. */
#include "ops/common_nn.h"
#include <math.h>

enum { X, ROIS };

static hone_status infer(hone_infer *infer) {
  const int64_t *cells = NULL;
  const int count = hn_attr_ints(infer->attrs, "pooled_shape", &cells);
  HN_TRY(hn_want_rank(infer, X, 4, 4));
  HN_TRY(hn_want_rank(infer, ROIS, 2, 2));
  HN_TRY(hn_want_dim(infer, ROIS, 1, 5, "the numbers of a region"));
  if (count != 2 || cells[0] < 1 || cells[1] < 1 || cells[0] > INT32_MAX || cells[1] > INT32_MAX)
    return HN_INFER_FAIL(infer, "pooled_shape expects two numbers from 1 to 2^31 - 1");
  if (hn_in_rank(infer, X) < 0 || hn_in_rank(infer, ROIS) < 0) return HONE_OK;
  const int64_t dim[4] = {hn_in_shape(infer, ROIS)->dim[0], hn_in_shape(infer, X)->dim[1], cells[0], cells[1]};
  hn_out_shape(infer, 0, 4, dim);
  return HONE_OK;
}

/* Rows (axis 0) or columns (axis 1) of a cell, cut to the image: [*first, *last). */
static bool cell_range(const hone_eval *eval, int64_t roi, int axis, int64_t cell, int64_t *first, int64_t *last) {
  const double scale = hn_attr_float(eval->attrs, "spatial_scale");
  const double begin = round(hn_real(&eval->in[ROIS], roi * 5 + 2 - axis) * scale);
  const double end = round(hn_real(&eval->in[ROIS], roi * 5 + 4 - axis) * scale);
  const double size = fmax(end - begin + 1, 1) / (double)hn_eval_dim(&eval->out[0], 2 + axis);
  const double extent = (double)hn_eval_dim(&eval->in[X], 2 + axis);
  if (!isfinite(begin) || !isfinite(end)) return false;
  *first = (int64_t)fmin(fmax(floor((double)cell * size) + begin, 0), extent);
  *last = (int64_t)fmin(fmax(ceil(((double)cell + 1) * size) + begin, 0), extent);
  return true;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[X];
  const int64_t width = hn_eval_dim(x, 3), plane = hn_eval_dim(x, 2) * width;
  int64_t first, last, at[HONE_MAX_RANK];
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    int64_t row, row_end, column, column_end;
    hn_unflatten(&eval->out[0].type.shape, flat, at);
    const double image = hn_real(&eval->in[ROIS], at[0] * 5);
    if (!(image >= 0 && image < (double)hn_eval_dim(x, 0)) || !cell_range(eval, at[0], 0, at[2], &row, &row_end) ||
        !cell_range(eval, at[0], 1, at[3], &column, &column_end))
      return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "region %lld names no image or is not finite",
                     (long long)at[0]);
    const int64_t base = ((int64_t)image * hn_eval_dim(x, 1) + at[1]) * plane;
    double best = row < row_end && column < column_end ? -(double)INFINITY : 0;
    for (int64_t r = row; r < row_end; ++r)
      for (int64_t c = column; c < column_end; ++c) best = fmax(best, hn_real(x, base + r * width + c));
    hn_store_real(&eval->out[0], flat, best);
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs;
  return hn_cost_work(4.0 * (double)hn_elems(&out[0].type.shape), in, in_count, out, out_count);
}

const hone_op hn_op_max_roi_pool = {
    .struct_size = sizeof(hone_op),
    .name = "max_roi_pool",
    .doc = "the largest element in each cell of a region",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0}, {"rois", 't', HONE_TYPES_FLOAT, 0}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HONE_NEEDED_ATTR("pooled_shape", HONE_ATTR_INTS), HONE_FLOAT_ATTR("spatial_scale", 1.0)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .report_class = "Pooling",
    .onnx = {{.name = "MaxRoiPool", .first = 1, .last = HONE_LATEST}},
};
