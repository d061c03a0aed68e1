/* SPDX-License-Identifier: Apache-2.0 */
/* einsum.c - sums of products over named axes. Source: ONNX operator Einsum (numpy's notation).
 * The axes of an ellipsis broadcast. */
#include "tensor/einsum.h"
#include "ops/common_nn.h"
#include <string.h>

enum { LABELS = HN_EINSUM_LABELS, MAX_INPUTS = HN_EINSUM_INPUTS };
typedef hn_einsum equation;

static hone_status infer(hone_infer *infer) {
  equation eq = {0};
  int ranks[MAX_INPUTS];
  int64_t dim[HONE_MAX_RANK];
  if (infer->in_count > MAX_INPUTS) return HN_INFER_UNSUPPORTED(infer, "einsum of more than %d inputs", MAX_INPUTS);
  for (int i = 0; i < infer->in_count; ++i)
    if ((ranks[i] = hn_in_rank(infer, i)) < 0) return HONE_OK;
  HN_TRY(hn_einsum_read(infer->diagnostics, hn_attr_text(infer->attrs, "equation"), infer->in_count, ranks, &eq));
  for (int i = 0; i < LABELS; ++i) eq.extent[i] = 1;
  for (int i = 0; i < infer->in_count; ++i)
    for (int axis = 0; axis < eq.in[i].count; ++axis) {
      int64_t *extent = &eq.extent[eq.in[i].label[axis]];
      HN_TRY_NOTE(infer->diagnostics, hn_infer_join(infer, *extent, hn_in_shape(infer, i)->dim[axis], extent),
                  "at axis %d of input %d", axis, i);
    }
  for (int i = 0; i < eq.out.count; ++i) dim[i] = eq.extent[eq.out.label[i]];
  hn_out_shape(infer, 0, eq.out.count, dim);
  return HONE_OK;
}

/* How far each label moves in each input; axes of extent 1 broadcast. */
static void strides_of(const hone_eval *eval, equation *eq, int64_t (*stride)[LABELS]) {
  for (int i = 0; i < LABELS; ++i) eq->extent[i] = 1;
  for (int i = 0; i < eval->in_count; ++i) {
    const hone_shape *shape = &eval->in[i].type.shape;
    int64_t step = 1;
    memset(stride[i], 0, sizeof stride[i]);
    for (int axis = shape->rank - 1; axis >= 0; step *= shape->dim[axis--]) {
      if (shape->dim[axis] == 1) continue;
      stride[i][eq->in[i].label[axis]] += step;
      eq->extent[eq->in[i].label[axis]] = shape->dim[axis];
    }
  }
}

static void add_product(const hone_eval *eval, const int64_t *at, bool whole, double *sum, uint64_t *total) {
  double product = 1;
  uint64_t exact = 1;
  for (int i = 0; i < eval->in_count; ++i)
    if (whole)
      exact *= (uint64_t)hn_int(&eval->in[i], at[i]);
    else
      product *= hn_real(&eval->in[i], at[i]);
  *sum += product, *total += exact;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  equation eq = {0};
  int ranks[MAX_INPUTS], summed[LABELS], summed_count = 0;
  int64_t stride[MAX_INPUTS][LABELS], first, last, index[HONE_MAX_RANK], terms = 1;
  for (int i = 0; i < eval->in_count; ++i) ranks[i] = eval->in[i].type.shape.rank;
  HN_TRY(hn_einsum_read(eval->diagnostics, hn_attr_text(eval->attrs, "equation"), eval->in_count, ranks, &eq));
  strides_of(eval, &eq, stride);
  for (int i = 0; i < eq.out.count; ++i) eq.used[eq.out.label[i]] = false;
  for (int i = 0; i < LABELS; ++i) {
    if (!eq.used[i]) continue;
    summed[summed_count++] = i;
    if (!hn_mul_i64(terms, eq.extent[i], &terms))
      return HN_FAIL(eval->diagnostics, HONE_LIMIT, "einsum would sum more than 2^63 terms");
  }
  const bool whole = hn_dtype_is_int(eval->out[0].type.dtype);
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    double sum = 0;
    uint64_t total = 0;
    hn_unflatten(&eval->out[0].type.shape, flat, index);
    for (int64_t t = 0; t < terms && !hn_eval_ends(eval, t); ++t) {
      int64_t at[MAX_INPUTS] = {0}, rest = t;
      for (int i = 0; i < eval->in_count; ++i)
        for (int k = 0; k < eq.out.count; ++k) at[i] += index[k] * stride[i][eq.out.label[k]];
      for (int k = summed_count - 1; k >= 0; rest /= eq.extent[summed[k--]])
        for (int i = 0; i < eval->in_count; ++i) at[i] += rest % eq.extent[summed[k]] * stride[i][summed[k]];
      add_product(eval, at, whole, &sum, &total);
    }
    if (whole)
      hn_store_int(&eval->out[0], flat, (int64_t)total);
    else
      hn_store_real(&eval->out[0], flat, sum);
  }
  return HONE_OK;
}

/* All labels' extents multiplied, for a loop over them all; pairwise orders do better, this is the upper bound. */
static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  equation eq = {0};
  int ranks[MAX_INPUTS];
  double terms = 1;
  for (int i = 0; i < LABELS; ++i) eq.extent[i] = 1;
  for (int i = 0; i < in_count && i < MAX_INPUTS; ++i) ranks[i] = in[i].type.shape.rank;
  if (in_count <= MAX_INPUTS && !hn_einsum_read(NULL, hn_attr_text(attrs, "equation"), in_count, ranks, &eq))
    for (int i = 0; i < in_count; ++i)
      for (int axis = 0; axis < eq.in[i].count; ++axis)
        if (in[i].type.shape.dim[axis] != 1) eq.extent[eq.in[i].label[axis]] = in[i].type.shape.dim[axis];
  for (int i = 0; i < LABELS; ++i) terms *= (double)eq.extent[i];
  return hn_cost_work(terms * in_count, in, in_count, out, out_count);
}

const hone_op hn_op_einsum = {
    .struct_size = sizeof(hone_op),
    .name = "einsum",
    .doc = "sums of products over named axes",
    .in = {{"inputs", 't', HONE_TYPES_NUMBER, HONE_PORT_VARIADIC}},
    .out = {{"output", 't', 0, 0}},
    .attr = {HONE_NEEDED_ATTR("equation", HONE_ATTR_STRING)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .report_class = "Matrix product",
    .onnx = {{.name = "Einsum", .first = 12, .last = HONE_LATEST}},
};
