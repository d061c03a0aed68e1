/* SPDX-License-Identifier: Apache-2.0 */
/* affine_grid.c - the places in [-1, 1] that an affine map gives to the elements of an image: the grid of grid_sample.
 * Source: ONNX operator AffineGrid. A single element lies at 0. */
#include "ops/common_nn.h"

enum { THETA, SIZE };

static hone_status infer(hone_infer *infer) {
  int64_t count = 0;
  const int64_t *size = hn_in_value(infer, SIZE, &count);
  HN_TRY(hn_want_rank(infer, THETA, 3, 3));
  if (!size) {
    if (hn_in_rank(infer, SIZE) != 1 || HONE_SYMBOLIC(hn_in_shape(infer, SIZE)->dim[0])) return HONE_OK;
    count = hn_in_shape(infer, SIZE)->dim[0];
  }
  if (count != 4 && count != 5)
    return HN_INFER_FAIL(infer, "size has %lld numbers, expected 4 (2-D) or 5 (3-D)", (long long)count);
  HN_TRY(hn_want_dim(infer, THETA, 1, count - 2, "the number of spatial axes"));
  HN_TRY(hn_want_dim(infer, THETA, 2, count - 1, "the number of spatial axes and one"));
  if (!size) return hn_out_after_run(infer, 0, (int)count, INT64_MAX);
  HN_TRY(hn_want_dim(infer, THETA, 0, size[0], "the batch size"));
  int64_t dim[5] = {size[0]};
  for (int i = 0; i < count; ++i)
    if (!HONE_SYMBOLIC(size[i]) && (size[i] < 0 || size[i] > (int64_t)1 << 40))
      return HN_INFER_FAIL(infer, "size[%d] is %lld", i, (long long)size[i]);
  for (int i = 2; i < count; ++i) dim[i - 1] = size[i];
  dim[count - 1] = count - 2;
  hn_out_shape(infer, 0, (int)count, dim);
  return HONE_OK;
}

static double place(int64_t at, int64_t count, bool corners) {
  if (!corners) return (2 * (double)at + 1) / (double)count - 1;
  return count > 1 ? 2 * (double)at / ((double)count - 1) - 1 : 0;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_shape *grid = &eval->out[0].type.shape;
  const int spatial = grid->rank - 2;
  const bool corners = hn_attr_int(eval->attrs, "align_corners") != 0;
  int64_t first, last, at[HONE_MAX_RANK];
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    hn_unflatten(grid, flat, at);
    const int64_t row = (at[0] * spatial + at[spatial + 1]) * (spatial + 1); /* of theta */
    double sum = hn_real(&eval->in[THETA], row + spatial);
    for (int i = 0; i < spatial; ++i) { /* theta speaks of x, y, z: the last axis first */
      const int axis = spatial - i;
      sum += hn_real(&eval->in[THETA], row + i) * place(at[axis], grid->dim[axis], corners);
    }
    hn_store_real(&eval->out[0], flat, sum);
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs;
  return hn_cost_work(8.0 * (double)hn_elems(&out[0].type.shape), in, in_count, out, out_count);
}

const hone_op hn_op_affine_grid = {
    .struct_size = sizeof(hone_op),
    .name = "affine_grid",
    .doc = "places that an affine map gives to the elements of an image",
    .in = {{"theta", 't', HONE_TYPES_FLOAT, 0}, {"size", 0, HONE_BIT(HONE_I64), 0}},
    .out = {{"grid", 't', 0, 0}},
    .attr = {HONE_INT_ATTR("align_corners", 0)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .report_class = "Resize",
    .onnx = {{.name = "AffineGrid", .first = 20, .last = HONE_LATEST}},
};
