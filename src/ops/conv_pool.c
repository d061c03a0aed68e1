/* SPDX-License-Identifier: Apache-2.0 */
/* conv_pool.c - a convolution and the maximum or mean under windows of what it makes. The layers are those of
 * src/ops/conv.c, max_pool.c and average_pool.c; the pool's attributes begin with pool_. */
#include "ops/common_region.h"

extern const hone_op hn_op_conv, hn_op_max_pool, hn_op_average_pool;

enum { X, W, B, PORTS };

static const hone_op *pool_of(const hone_attrs *attrs) {
  return hn_name_equal(hn_attr_text(attrs, "pool"), "average") ? &hn_op_average_pool : &hn_op_max_pool;
}

/* conv and pool in turn. */
static void read_layers(const hone_attrs *attrs, hn_layer *layers) {
  hn_layer_make(&layers[0], &hn_op_conv, attrs, "conv_", 0);
  hn_layer_make(&layers[1], pool_of(attrs), attrs, "pool_", 0);
}

static hone_status infer(hone_infer *infer) {
  static const hone_fact absent = {.type = {.kind = HONE_ABSENT}};
  hn_layer layers[2];
  hone_fact middle, out;
  HN_TRY(hn_want_text(infer, "pool", "max average"));
  read_layers(infer->attrs, layers);
  const hone_fact in[PORTS] = {infer->in[X], infer->in[W], hn_in_given(infer, B) ? infer->in[B] : absent};
  HN_TRY(hn_layer_infer(infer, &layers[0], PORTS, in, &middle));
  if (middle.type.shape.rank < 0) return HONE_OK;
  HN_TRY(hn_layer_infer(infer, &layers[1], 1, &middle, &out));
  infer->out[0].type.shape = out.type.shape;
  return HONE_OK;
}

/* The convolution's output; the pool keeps images and channels. */
static bool middle_shape(const hone_attrs *attrs, const hone_shape *x, const hone_shape *w, hone_shape *out) {
  hn_layer layers[2];
  hn_sliding sliding;
  read_layers(attrs, layers);
  if (w->rank < 3 || hn_sliding_make(NULL, NULL, &layers[0].attrs, x, w->dim + 2, &sliding) != HONE_OK) return false;
  *out = *x;
  out->dim[1] = w->dim[0];
  for (int i = 0; i < sliding.spatial; ++i) out->dim[2 + i] = sliding.out[i];
  return true;
}

static size_t scratch(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)out, (void)out_count;
  hone_shape shape;
  if (in_count <= W || !middle_shape(attrs, &in[X].type.shape, &in[W].type.shape, &shape)) return 0;
  return hn_layer_tensor(in[X].type.dtype, &shape, NULL).bytes;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  static const hone_tensor absent = {.type = {.kind = HONE_ABSENT}};
  HN_TRY(hn_eval_begin(eval));
  hn_layer layers[2];
  hone_shape shape;
  hn_sliding sliding;
  read_layers(eval->attrs, layers);
  if (!middle_shape(eval->attrs, &eval->in[X].type.shape, &eval->in[W].type.shape, &shape)) return HONE_INTERNAL;
  hone_tensor middle = hn_layer_tensor(eval->in[X].type.dtype, &shape, eval->scratch);
  const hone_eval pool = {.op = layers[1].op, .attrs = &layers[1].attrs, .diagnostics = eval->diagnostics};
  HN_TRY(hn_eval_sliding(&pool, &middle, NULL, &sliding));
  const hone_tensor in[PORTS] = {eval->in[X], eval->in[W], hn_eval_given(eval, B) ? eval->in[B] : absent};
  const hone_shape *y = &eval->out[0].type.shape;
  int64_t row = 1, first, last;
  for (int i = 3; i < y->rank; ++i) row *= y->dim[i];
  const int64_t rows = y->dim[2];
  hn_window_range(eval, window, 0, &first, &last);
  while (first < last) { /* a plane, or the window's part of it */
    const int64_t plane = first / (rows * row), end = last < (plane + 1) * rows * row ? last : (plane + 1) * rows * row;
    int64_t begin_row, end_row;
    hn_rows_read(&sliding, first / row % rows, (end - 1) / row % rows + 1, &begin_row, &end_row);
    HN_TRY(hn_layer_eval_rows(eval, &layers[0], PORTS, in, &middle, plane, begin_row, end_row));
    HN_TRY(hn_layer_eval(eval, &layers[1], 1, &middle, &eval->out[0], first, end));
    first = end;
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  const hone_shape *w = &in[W].type.shape;
  const int64_t *kernel;
  hone_shape shape;
  double flops = 0, taps = 1;
  const int axes = hn_attr_ints(attrs, "pool_kernel_shape", &kernel);
  for (int i = 0; i < axes; ++i) taps *= (double)kernel[i];
  if (middle_shape(attrs, &in[X].type.shape, w, &shape))
    flops = 2.0 * (double)hn_elems(&shape) * (double)hn_elems(w) / (w->dim[0] > 0 ? (double)w->dim[0] : 1);
  return hn_cost_work(flops + taps * (double)hn_elems(&out[0].type.shape), in, in_count, out, out_count);
}

const hone_op hn_op_conv_pool = {
    .struct_size = sizeof(hone_op),
    .name = "conv_pool",
    .doc = "convolution with bias and activation, then the maximum or mean under a sliding window",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0},
           {"w", 't', HONE_TYPES_FLOAT, HONE_PORT_PARAM},
           {"b", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | HONE_PORT_PARAM}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HONE_STRING_ATTR("pool", "max"), HONE_STRING_ATTR("conv_act", ""), HONE_FLOAT_ATTR("conv_act_alpha", 0.0),
             HONE_FLOAT_ATTR("conv_act_beta", 0.0), HONE_STRING_ATTR("conv_auto_pad", "NOTSET"),
             HONE_OPTIONAL_ATTR("conv_dilations", HONE_ATTR_INTS), HONE_INT_ATTR("conv_group", 1),
             HONE_OPTIONAL_ATTR("conv_pads", HONE_ATTR_INTS), HONE_OPTIONAL_ATTR("conv_strides", HONE_ATTR_INTS),
             HONE_INT_ATTR("pool_ceil_mode", 0), HONE_INT_ATTR("pool_count_include_pad", 0),
             HONE_OPTIONAL_ATTR("pool_dilations", HONE_ATTR_INTS),
             HONE_NEEDED_ATTR("pool_kernel_shape", HONE_ATTR_INTS), HONE_OPTIONAL_ATTR("pool_pads", HONE_ATTR_INTS),
             HONE_OPTIONAL_ATTR("pool_strides", HONE_ATTR_INTS)},
    .traits = HONE_WINDOWS_APART,
    .infer = infer,
    .eval = eval,
    .eval_scratch = scratch,
    .cost = cost,
    .report_class = "Convolution",
};
