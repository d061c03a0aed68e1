/* SPDX-License-Identifier: Apache-2.0 */
/* max_unpool.c - puts elements back where max_pool found them, zeros elsewhere. Source: ONNX operator MaxUnpool. */
#include "ops/common_nn.h"
#include <string.h>

static hone_status default_shape(hone_infer *infer, const hone_shape *x, int64_t *dim) {
  const int64_t *kernel = NULL, *pads = NULL, *strides = NULL;
  const int spatial = x->rank - 2, kernels = hn_attr_ints(infer->attrs, "kernel_shape", &kernel);
  const int pad_count = hn_attr_ints(infer->attrs, "pads", &pads),
            stride_count = hn_attr_ints(infer->attrs, "strides", &strides);
  if (kernels != spatial || (pad_count && pad_count != 2 * spatial) || (stride_count && stride_count != spatial))
    return HN_INFER_FAIL(infer, "kernel_shape, pads or strides do not fit %d spatial axes", spatial);
  for (int i = 0; i < spatial; ++i) {
    const int64_t stride = stride_count ? strides[i] : 1, begin = pad_count ? pads[i] : 0;
    const int64_t end = pad_count ? pads[spatial + i] : 0;
    if (kernel[i] < 1 || kernel[i] > INT32_MAX || stride < 1 || stride > INT32_MAX || begin < 0 || begin > INT32_MAX ||
        end < 0 || end > INT32_MAX)
      return HN_INFER_FAIL(infer, "kernel_shape, pads or strides are out of range on spatial axis %d", i);
    const int64_t steps = hn_dim_mul(infer->dims, hn_dim_sub(infer->dims, x->dim[2 + i], 1), stride);
    dim[2 + i] = hn_dim_add(infer->dims, steps, kernel[i] - begin - end);
    if (!HONE_SYMBOLIC(dim[2 + i]) && dim[2 + i] < 0)
      return HN_INFER_FAIL(infer, "spatial axis %d would have %lld elements", i, (long long)dim[2 + i]);
  }
  return HONE_OK;
}

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_rank(infer, 0, 3, HONE_MAX_RANK));
  const hone_shape *x = hn_in_shape(infer, 0);
  if (x->rank < 0) return HONE_OK;
  HN_TRY(hn_want_rank(infer, 1, x->rank, x->rank));
  for (int i = 0; i < x->rank; ++i) HN_TRY(hn_want_dim(infer, 1, i, x->dim[i], "that of x"));
  int64_t dim[HONE_MAX_RANK] = {x->dim[0], x->dim[1]}, count = 0;
  HN_TRY(default_shape(infer, x, dim));
  if (!hn_in_given(infer, 2)) {
    hn_out_shape(infer, 0, x->rank, dim);
    return HONE_OK;
  }
  const int64_t *value = hn_in_value(infer, 2, &count);
  if (!value) return hn_out_after_run(infer, 0, x->rank, INT64_MAX);
  if (count != x->rank)
    return HN_INFER_FAIL(infer, "output_shape has %lld numbers, expected %d", (long long)count, x->rank);
  for (int i = 0; i < x->rank; ++i)
    if (!HONE_SYMBOLIC(value[i]) && (value[i] < 0 || value[i] > (int64_t)1 << 40))
      return HN_INFER_FAIL(infer, "output_shape[%d] is %lld", i, (long long)value[i]);
  hn_out_shape(infer, 0, x->rank, value);
  return HONE_OK;
}

/* Indices speak of the shape without output_shape; the same coordinates are used in a larger output. -1: outside. */
static int64_t target(const hone_shape *plain, const hone_shape *y, int64_t index) {
  int64_t at[HONE_MAX_RANK], flat = 0;
  if (index < 0 || index >= hn_elems(plain)) return -1;
  hn_unflatten(plain, index, at);
  for (int i = 0; i < y->rank; ++i) {
    if (at[i] >= y->dim[i]) return -1;
    flat = flat * y->dim[i] + at[i];
  }
  return flat;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  hone_tensor *y = &eval->out[0];
  hone_shape plain = y->type.shape;
  hone_dims dims;
  (void)window; /* any element may go anywhere */
  hn_dims_init(&dims, NULL);
  hone_infer numbers = {.op = eval->op, .attrs = eval->attrs, .dims = &dims, .diagnostics = eval->diagnostics};
  HN_TRY(default_shape(&numbers, &eval->in[0].type.shape, plain.dim));
  if (!hn_elems_checked(&plain, &(int64_t){0}))
    return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "the unpooled tensor is too large");
  memset(y->data, 0, hn_bytes(&y->type));
  for (int64_t i = 0; i < hn_elems(&eval->in[0].type.shape); ++i) {
    const int64_t index = hn_int(&eval->in[1], i), at = target(&plain, &y->type.shape, index);
    if (at < 0)
      return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "i[%lld] is %lld, which is outside the output", (long long)i,
                     (long long)index);
    hn_copy_element(y, at, &eval->in[0], i);
  }
  return HONE_OK;
}

const hone_op hn_op_max_unpool = {
    .struct_size = sizeof(hone_op),
    .name = "max_unpool",
    .doc = "puts elements back where max_pool found them",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0},
           {"i", 0, HONE_BIT(HONE_I64), 0},
           {"output_shape", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL}},
    .out = {{"output", 't', 0, 0}},
    .attr = {HONE_NEEDED_ATTR("kernel_shape", HONE_ATTR_INTS), HONE_OPTIONAL_ATTR("pads", HONE_ATTR_INTS),
             HONE_OPTIONAL_ATTR("strides", HONE_ATTR_INTS)},
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .report_class = "Pooling",
    .onnx = {{.name = "MaxUnpool", .first = 9, .last = HONE_LATEST}},
};
