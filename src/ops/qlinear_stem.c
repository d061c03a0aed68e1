/* SPDX-License-Identifier: Apache-2.0 */
/* qlinear_stem.c - how a network of bytes begins: an image is quantised, convolved, and may leave the maxima under
 * windows of what that makes. The layers are those of src/ops/quantize_linear.c, qlinear_conv.c and max_pool.c; the
 * convolution's attributes begin with conv_, the pool's with pool_. */
#include "ops/common_quant.h"
#include "ops/common_region.h"

extern const hone_op hn_op_quantize_linear, hn_op_qlinear_conv, hn_op_max_pool;

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, B, PORTS };
enum { QUANTISES = 3 }; /* ports of quantize_linear */

typedef struct layers {
  hn_layer quantize, conv, pool;
  bool pools;
} layers;

static void read_layers(const hone_attrs *attrs, layers *out) {
  hn_layer_make(&out->quantize, &hn_op_quantize_linear, attrs, "quantize_", 0);
  hn_layer_make(&out->conv, &hn_op_qlinear_conv, attrs, "conv_", 0);
  hn_layer_make(&out->pool, &hn_op_max_pool, attrs, "pool_", 0);
  out->pools = hn_attr_has(attrs, "pool_kernel_shape");
}

static hone_status infer(hone_infer *infer) {
  static const hone_fact absent = {.type = {.kind = HONE_ABSENT}};
  layers l;
  hone_fact image, middle, out;
  read_layers(infer->attrs, &l);
  for (int i = X_SCALE; i <= X_ZERO; ++i) HN_TRY(hn_want_scalar_or(infer, i, 1, "one"));
  image = infer->in[X];
  image.type.dtype = infer->in[X_ZERO].type.dtype;
  hone_fact in[PORTS] = {image};
  for (int i = X_SCALE; i < PORTS; ++i) in[i] = hn_in_given(infer, i) ? infer->in[i] : absent;
  HN_TRY(hn_layer_infer(infer, &l.conv, PORTS, in, &middle));
  infer->out[0].type.shape = middle.type.shape;
  if (middle.type.shape.rank < 0 || !l.pools) return HONE_OK;
  middle.type.dtype = infer->in[Y_ZERO].type.dtype;
  HN_TRY(hn_layer_infer(infer, &l.pool, 1, &middle, &out));
  infer->out[0].type.shape = out.type.shape;
  return HONE_OK;
}

/* The convolution's output; a pool keeps images and channels. */
static bool middle_shape(const layers *l, const hone_shape *x, const hone_shape *w, hone_shape *out,
                         hn_sliding *sliding) {
  if (w->rank < 3 || hn_sliding_make(NULL, NULL, &l->conv.attrs, x, w->dim + 2, sliding) != HONE_OK) return false;
  *out = *x;
  out->dim[1] = w->dim[0];
  for (int i = 0; i < sliding->spatial; ++i) out->dim[2 + i] = sliding->out[i];
  return true;
}

static size_t scratch(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)out, (void)out_count;
  layers l;
  hone_shape shape;
  hn_sliding sliding;
  read_layers(attrs, &l);
  if (in_count <= Y_ZERO || !middle_shape(&l, &in[X].type.shape, &in[W].type.shape, &shape, &sliding)) return 0;
  return (size_t)(hn_elems(&in[X].type.shape) + hn_elems(&shape)); /* bytes */
}

/* Rows [begin, end) of a plane of what is convolved, from the image's rows that they read. */
static hone_status convolve(hone_eval *eval, const layers *l, const hn_sliding *sliding, hone_tensor *image,
                            hone_tensor *middle, int64_t plane, int64_t begin, int64_t end) {
  static const hone_tensor absent = {.type = {.kind = HONE_ABSENT}};
  const int64_t channels = image->type.shape.dim[1], outs = middle->type.shape.dim[1];
  int64_t first, last;
  hn_rows_read(sliding, begin, end, &first, &last);
  const hone_tensor quantised[QUANTISES] = {eval->in[X], eval->in[X_SCALE], eval->in[X_ZERO]};
  for (int64_t c = 0; c < channels; ++c)
    HN_TRY(
        hn_layer_eval_rows(eval, &l->quantize, QUANTISES, quantised, image, plane / outs * channels + c, first, last));
  hone_tensor in[PORTS] = {*image};
  for (int i = X_SCALE; i < PORTS; ++i) in[i] = hn_eval_given(eval, i) ? eval->in[i] : absent;
  return hn_layer_eval_rows(eval, &l->conv, PORTS, in, middle, plane, begin, end);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  layers l;
  hone_shape shape;
  hn_sliding conv, pool;
  read_layers(eval->attrs, &l);
  const hone_shape *x = &eval->in[X].type.shape, *y = &eval->out[0].type.shape;
  if (!middle_shape(&l, x, &eval->in[W].type.shape, &shape, &conv)) return HONE_INTERNAL;
  hone_tensor image = hn_layer_tensor(eval->in[X_ZERO].type.dtype, x, eval->scratch);
  hone_tensor middle =
      hn_layer_tensor(eval->in[Y_ZERO].type.dtype, &shape, (char *)eval->scratch + (size_t)hn_elems(x));
  const hone_eval asked = {.op = l.pool.op, .attrs = &l.pool.attrs, .diagnostics = eval->diagnostics};
  if (l.pools)
    HN_TRY(hn_eval_sliding(&asked, &middle, NULL, &pool));
  else
    middle.data = eval->out[0].data; /* the same elements */
  int64_t row = 1, first, last;
  for (int i = 3; i < y->rank; ++i) row *= y->dim[i];
  const int64_t rows = y->dim[2];
  hn_window_range(eval, window, 0, &first, &last);
  while (first < last) { /* a plane, or the window's part of it */
    const int64_t plane = first / (rows * row), end = last < (plane + 1) * rows * row ? last : (plane + 1) * rows * row;
    int64_t begin_row = first / row % rows, end_row = (end - 1) / row % rows + 1;
    if (l.pools) hn_rows_read(&pool, begin_row, end_row, &begin_row, &end_row);
    HN_TRY(convolve(eval, &l, &conv, &image, &middle, plane, begin_row, end_row));
    if (l.pools) HN_TRY(hn_layer_eval(eval, &l.pool, 1, &middle, &eval->out[0], first, end));
    first = end;
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  const hone_shape *w = &in[W].type.shape;
  layers l;
  hone_shape shape;
  hn_sliding sliding;
  double flops = 0;
  read_layers(attrs, &l);
  if (middle_shape(&l, &in[X].type.shape, w, &shape, &sliding))
    flops = 2.0 * (double)hn_elems(&shape) * (double)hn_elems(w) / (w->dim[0] > 0 ? (double)w->dim[0] : 1);
  return hn_cost_work(flops, in, in_count, out, out_count);
}

const hone_op hn_op_qlinear_stem = {
    .struct_size = sizeof(hone_op),
    .name = "qlinear_stem",
    .doc = "an image quantised and convolved, then perhaps the largest byte under a sliding window",
    .in = {{"x", 0, HONE_BIT(HONE_F32), 0},
           {"x_scale", 0, HONE_BIT(HONE_F32), HONE_PORT_PARAM},
           {"x_zero_point", 'x', HN_TYPES_BYTE, 0},
           {"w", 'w', HN_TYPES_BYTE, HONE_PORT_PARAM},
           {"w_scale", 0, HONE_BIT(HONE_F32), HONE_PORT_PARAM},
           {"w_zero_point", 'w', HN_TYPES_BYTE, 0},
           {"y_scale", 0, HONE_BIT(HONE_F32), HONE_PORT_PARAM},
           {"y_zero_point", 'y', HN_TYPES_BYTE, 0},
           {"b", 0, HONE_BIT(HONE_I32), HONE_PORT_OPTIONAL | HONE_PORT_PARAM}},
    .out = {{"y", 'y', 0, 0}},
    .attr = {HONE_STRING_ATTR("conv_auto_pad", "NOTSET"), HONE_OPTIONAL_ATTR("conv_dilations", HONE_ATTR_INTS),
             HONE_INT_ATTR("conv_group", 1), HONE_OPTIONAL_ATTR("conv_pads", HONE_ATTR_INTS),
             HONE_OPTIONAL_ATTR("conv_strides", HONE_ATTR_INTS), HONE_INT_ATTR("conv_low", INT32_MIN),
             HONE_INT_ATTR("conv_high", INT32_MAX), HONE_INT_ATTR("pool_ceil_mode", 0),
             HONE_OPTIONAL_ATTR("pool_dilations", HONE_ATTR_INTS),
             HONE_OPTIONAL_ATTR("pool_kernel_shape", HONE_ATTR_INTS), HONE_OPTIONAL_ATTR("pool_pads", HONE_ATTR_INTS),
             HONE_OPTIONAL_ATTR("pool_strides", HONE_ATTR_INTS)},
    .infer = infer,
    .eval = eval,
    .eval_scratch = scratch,
    .cost = cost,
    .report_class = "Convolution",
};
