/* SPDX-License-Identifier: Apache-2.0 */
/* roi_align.c - samples a region of a feature map on a grid, bilinearly (He et al. 2017). Source: ONNX operator
 * RoiAlign. mode max takes the largest weighted corner of all samples, as the operator's reference does. */
#include "ops/common_nn.h"
#include <math.h>

enum { X, ROIS, BATCHES };

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_text(infer, "mode", "avg max"));
  HN_TRY(hn_want_text(infer, "coordinate_transformation_mode", "half_pixel output_half_pixel"));
  HN_TRY(hn_want_int(infer, "output_height", 1, INT32_MAX));
  HN_TRY(hn_want_int(infer, "output_width", 1, INT32_MAX));
  HN_TRY(hn_want_int(infer, "sampling_ratio", 0, 1 << 20));
  HN_TRY(hn_want_rank(infer, X, 4, 4));
  HN_TRY(hn_want_rank(infer, ROIS, 2, 2));
  HN_TRY(hn_want_rank(infer, BATCHES, 1, 1));
  HN_TRY(hn_want_dim(infer, ROIS, 1, 4, "the numbers of a region"));
  const hone_shape *x = hn_in_shape(infer, X), *rois = hn_in_shape(infer, ROIS);
  if (x->rank < 0 || rois->rank < 0) return HONE_OK;
  HN_TRY(hn_want_dim(infer, BATCHES, 0, rois->dim[0], "the number of regions"));
  const int64_t dim[4] = {rois->dim[0], x->dim[1], hn_attr_int(infer->attrs, "output_height"),
                          hn_attr_int(infer->attrs, "output_width")};
  hn_out_shape(infer, 0, 4, dim);
  return HONE_OK;
}

/* The four weighted corners around a place; false when it lies outside. */
static bool corners(const hone_tensor *x, int64_t plane, double row, double column, double *out) {
  const int64_t height = hn_eval_dim(x, 2), width = hn_eval_dim(x, 3);
  if (!(row >= -1 && row <= (double)height && column >= -1 && column <= (double)width)) return false;
  row = fmax(row, 0), column = fmax(column, 0);
  int64_t r0 = (int64_t)row, c0 = (int64_t)column;
  if (r0 >= height - 1) r0 = height - 1, row = (double)r0;
  if (c0 >= width - 1) c0 = width - 1, column = (double)c0;
  const int64_t r1 = r0 + 1 < height ? r0 + 1 : r0, c1 = c0 + 1 < width ? c0 + 1 : c0;
  const double dr = row - (double)r0, dc = column - (double)c0;
  const int64_t base = plane * height * width;
  out[0] = (1 - dr) * (1 - dc) * hn_real(x, base + r0 * width + c0);
  out[1] = (1 - dr) * dc * hn_real(x, base + r0 * width + c1);
  out[2] = dr * (1 - dc) * hn_real(x, base + r1 * width + c0);
  out[3] = dr * dc * hn_real(x, base + r1 * width + c1);
  return true;
}

typedef struct bins {
  double start[2], size[2]; /* first row and column, and one bin's height and width */
  int64_t grid[2];
} bins;

static hone_status bins_of(const hone_eval *eval, int64_t roi, bins *out) {
  const double scale = hn_attr_float(eval->attrs, "spatial_scale");
  const bool half = hn_name_equal(hn_attr_text(eval->attrs, "coordinate_transformation_mode"), "half_pixel");
  const int64_t ratio = hn_attr_int(eval->attrs, "sampling_ratio");
  for (int i = 0; i < 2; ++i) { /* a region is x0, y0, x1, y1 */
    const double start = hn_real(&eval->in[ROIS], roi * 4 + 1 - i) * scale - (half ? 0.5 : 0);
    double extent = hn_real(&eval->in[ROIS], roi * 4 + 3 - i) * scale - (half ? 0.5 : 0) - start;
    if (!half) extent = fmax(extent, 1);
    const double size = extent / (double)hn_eval_dim(&eval->out[0], 2 + i);
    if (!(fabs(start) < 1e9 && size < 1e6))
      return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "region %lld is too large or not a number", (long long)roi);
    out->start[i] = start, out->size[i] = size;
    out->grid[i] = ratio > 0 ? ratio : (int64_t)ceil(size);
  }
  return HONE_OK;
}

static double pool(const hone_eval *eval, const bins *b, int64_t plane, int64_t row, int64_t column, bool largest) {
  double sum = 0, best = 0, corner[4];
  bool any = false;
  for (int64_t i = 0; i < b->grid[0]; ++i)
    for (int64_t j = 0; j < b->grid[1] && !hn_eval_ends(eval, j); ++j) {
      const double r = b->start[0] + b->size[0] * ((double)row + ((double)i + 0.5) / (double)b->grid[0]);
      const double c = b->start[1] + b->size[1] * ((double)column + ((double)j + 0.5) / (double)b->grid[1]);
      if (!corners(&eval->in[X], plane, r, c, corner)) corner[0] = corner[1] = corner[2] = corner[3] = 0;
      for (int k = 0; k < 4; ++k) {
        sum += corner[k];
        best = any ? fmax(best, corner[k]) : corner[k];
        any = true;
      }
    }
  return largest ? best : sum / fmax((double)(b->grid[0] * b->grid[1]), 1);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const bool largest = hn_name_equal(hn_attr_text(eval->attrs, "mode"), "max");
  const int64_t batch = hn_eval_dim(&eval->in[X], 0), channels = hn_eval_dim(&eval->in[X], 1);
  const bool empty = hn_eval_dim(&eval->in[X], 2) == 0 || hn_eval_dim(&eval->in[X], 3) == 0;
  int64_t first, last, at[HONE_MAX_RANK];
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    bins b;
    hn_unflatten(&eval->out[0].type.shape, flat, at);
    const int64_t image = hn_int(&eval->in[BATCHES], at[0]);
    if (image < 0 || image >= batch || empty)
      return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "batch_indices[%lld] is %lld, expected 0 to %lld",
                     (long long)at[0], (long long)image, (long long)batch - 1);
    HN_TRY(bins_of(eval, at[0], &b));
    hn_store_real(&eval->out[0], flat, pool(eval, &b, image * channels + at[1], at[2], at[3], largest));
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  const int64_t ratio = hn_attr_int(attrs, "sampling_ratio");
  const double samples = ratio > 0 ? (double)ratio * (double)ratio : 4;
  return hn_cost_work(20 * samples * (double)hn_elems(&out[0].type.shape), in, in_count, out, out_count);
}

const hone_op hn_op_roi_align = {
    .struct_size = sizeof(hone_op),
    .name = "roi_align",
    .doc = "samples regions of a feature map on a grid",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0},
           {"rois", 't', HONE_TYPES_FLOAT, 0},
           {"batch_indices", 0, HONE_BIT(HONE_I64), 0}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HONE_STRING_ATTR("coordinate_transformation_mode", "half_pixel"), HONE_STRING_ATTR("mode", "avg"),
             HONE_INT_ATTR("output_height", 1), HONE_INT_ATTR("output_width", 1), HONE_INT_ATTR("sampling_ratio", 0),
             HONE_FLOAT_ATTR("spatial_scale", 1.0)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .report_class = "Pooling",
    .onnx = {{.name = "RoiAlign", .first = 16, .last = HONE_LATEST},
             {.name = "RoiAlign", .first = 10, .last = 15, .set = "coordinate_transformation_mode=output_half_pixel"}},
};
