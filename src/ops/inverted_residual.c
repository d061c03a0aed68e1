/* SPDX-License-Identifier: Apache-2.0 */
/* inverted_residual.c - a 1x1 convolution that makes more channels, a depthwise one, a 1x1 convolution that makes
 * fewer, and what is added to that; the first or the last may be left out. Source: Sandler et al., MobileNetV2,
 * arXiv:1801.04381, section 3.3. Each layer is a conv of src/ops/conv.c with attributes of its own. */
#include "ops/common_region.h"

extern const hone_op hn_op_conv;

enum { X, EXPAND, EXPAND_BIAS, DEPTHWISE, DEPTHWISE_BIAS, PROJECT, PROJECT_BIAS, RESIDUAL };
enum { LAYER_PORTS = 4 };

/* The chain of one query; a layer that is left out has weights 0. */
typedef struct chain {
  hn_layer layer[3];
  int weights[3];
} chain;

static void read_chain(const hone_attrs *attrs, bool expands, bool projects, int64_t channels, chain *out) {
  hn_layer_make(&out->layer[0], &hn_op_conv, attrs, "expand_", 1);
  hn_layer_make(&out->layer[1], &hn_op_conv, attrs, "depthwise_", channels);
  hn_layer_make(&out->layer[2], &hn_op_conv, attrs, "project_", 1);
  out->weights[0] = expands ? EXPAND : 0;
  out->weights[1] = DEPTHWISE;
  out->weights[2] = projects ? PROJECT : 0;
}

static hone_status infer(hone_infer *infer) {
  const bool expands = hn_in_given(infer, EXPAND), projects = hn_in_given(infer, PROJECT);
  static const hone_fact absent = {.type = {.kind = HONE_ABSENT}};
  chain c;
  if (!projects && (hn_in_given(infer, PROJECT_BIAS) || hn_in_given(infer, RESIDUAL)))
    return HN_INFER_FAIL(infer, "there is no w_project, but a bias or a residual for it");
  if (!expands && hn_in_given(infer, EXPAND_BIAS))
    return HN_INFER_FAIL(infer, "there is no w_expand, but a bias for it");
  HN_TRY(hn_want_rank(infer, DEPTHWISE, 3, HONE_MAX_RANK));
  const hone_shape *w = hn_in_shape(infer, DEPTHWISE);
  if (w->rank < 0 || HONE_SYMBOLIC(w->dim[0])) return HN_INFER_FAIL(infer, "the shape of w_depthwise is not known");
  read_chain(infer->attrs, expands, projects, w->dim[0], &c);
  hone_fact at = infer->in[X];
  for (int i = 0; i < 3; ++i) {
    if (!c.weights[i]) continue;
    const int port = c.weights[i];
    const hone_fact in[LAYER_PORTS] = {at, infer->in[port], hn_in_given(infer, port + 1) ? infer->in[port + 1] : absent,
                                       i == 2 && hn_in_given(infer, RESIDUAL) ? infer->in[RESIDUAL] : absent};
    HN_TRY(hn_layer_infer(infer, &c.layer[i], LAYER_PORTS, in, &at));
  }
  infer->out[0].type.shape = at.type.shape;
  return HONE_OK;
}

static size_t whole_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* What the depthwise layer reads and writes. */
static void middle_shapes(const hone_shape *x, const hone_shape *w, const hone_shape *y, hone_shape *out_expanded,
                          hone_shape *out_filtered) {
  *out_expanded = *x;
  *out_filtered = *y;
  out_expanded->dim[1] = out_filtered->dim[1] = w->dim[0];
}

enum { PIXELS = 64 }; /* that are summed side by side */

/* What the layers leave between them, then the inputs of PIXELS sums as doubles. */
static size_t scratch(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs, (void)out_count;
  hone_shape expanded, filtered;
  if (in_count <= DEPTHWISE) return 0;
  middle_shapes(&in[X].type.shape, &in[DEPTHWISE].type.shape, &out[0].type.shape, &expanded, &filtered);
  const hone_tensor e = hn_layer_tensor(in[X].type.dtype, &expanded, NULL);
  const hone_tensor f = hn_layer_tensor(in[X].type.dtype, &filtered, NULL);
  const int64_t channels = in[X].type.shape.dim[1] > expanded.dim[1] ? in[X].type.shape.dim[1] : expanded.dim[1];
  return whole_lines(e.bytes) + whole_lines(f.bytes) + (size_t)channels * PIXELS * sizeof(double);
}

/* The layer port is a matrix product for each pixel: conv's own eval, which goes element by element, would take longer
 * than everything else that building a network does. columns: [channels of x][PIXELS]. */
static hone_status eval_pointwise(hone_eval *eval, const hn_layer *layer, int port, const hone_tensor *x,
                                  hone_tensor *y, double *columns) {
  const hone_tensor *w = &eval->in[port], *bias = hn_eval_given(eval, port + 1) ? &eval->in[port + 1] : NULL;
  const hone_tensor *residual = port == PROJECT && hn_eval_given(eval, RESIDUAL) ? &eval->in[RESIDUAL] : NULL;
  const int64_t ins = hn_eval_dim(x, 1), outs = hn_eval_dim(y, 1), images = hn_eval_dim(x, 0);
  const int64_t pixels = images * ins > 0 ? hn_elems(&x->type.shape) / (images * ins) : 0;
  hn_epilogue epilogue;
  const hone_eval one = {.op = layer->op, .attrs = &layer->attrs, .diagnostics = eval->diagnostics};
  HN_TRY(hn_epilogue_read(&one, -1, &epilogue));
  for (int64_t image = 0; image < images; ++image)
    for (int64_t first = 0; first < pixels; first += PIXELS) {
      const int64_t count = pixels - first < PIXELS ? pixels - first : PIXELS;
      for (int64_t i = 0; i < ins; ++i)
        for (int64_t p = 0; p < count; ++p)
          columns[i * PIXELS + p] = hn_real(x, (image * ins + i) * pixels + first + p);
      for (int64_t o = 0; o < outs; ++o) {
        const int64_t at = (image * outs + o) * pixels + first;
        double sum[PIXELS] = {0};
        for (int64_t i = 0; i < ins; ++i) {
          const double factor = hn_real(w, o * ins + i);
          for (int p = 0; p < PIXELS; ++p) sum[p] += factor * columns[i * PIXELS + p];
        }
        for (int64_t p = 0; p < count; ++p) {
          if (bias) sum[p] += hn_real(bias, o);
          if (residual) sum[p] += hn_real(residual, at + p);
          hn_store_real(y, at + p, hn_epilogue_apply(&epilogue, sum[p], o));
        }
      }
    }
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  static const hone_tensor absent = {.type = {.kind = HONE_ABSENT}};
  (void)window;
  HN_TRY(hn_eval_begin(eval));
  hone_shape expanded, filtered;
  chain c;
  const hone_tensor *x = &eval->in[X];
  const hone_dtype dtype = x->type.dtype;
  uint8_t *memory = eval->scratch;
  middle_shapes(&x->type.shape, &eval->in[DEPTHWISE].type.shape, &eval->out[0].type.shape, &expanded, &filtered);
  read_chain(eval->attrs, hn_eval_given(eval, EXPAND), hn_eval_given(eval, PROJECT), expanded.dim[1], &c);
  hone_tensor wide = hn_layer_tensor(dtype, &expanded, memory);
  hone_tensor narrow = hn_layer_tensor(dtype, &filtered, memory + whole_lines(wide.bytes));
  double *columns = (double *)(void *)(memory + whole_lines(wide.bytes) + whole_lines(narrow.bytes));
  if (!c.weights[2]) narrow = eval->out[0];
  if (c.weights[0]) {
    HN_TRY(eval_pointwise(eval, &c.layer[0], EXPAND, x, &wide, columns));
    x = &wide;
  }
  const hone_tensor in[LAYER_PORTS] = {*x, eval->in[DEPTHWISE],
                                       hn_eval_given(eval, DEPTHWISE_BIAS) ? eval->in[DEPTHWISE_BIAS] : absent, absent};
  HN_TRY(hn_layer_eval(eval, &c.layer[1], LAYER_PORTS, in, &narrow, 0, hn_elems(&filtered)));
  return c.weights[2] ? eval_pointwise(eval, &c.layer[2], PROJECT, &narrow, &eval->out[0], columns) : HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs;
  hone_shape expanded, filtered;
  middle_shapes(&in[X].type.shape, &in[DEPTHWISE].type.shape, &out[0].type.shape, &expanded, &filtered);
  const double wide = (double)hn_elems(&expanded), narrow = (double)hn_elems(&filtered);
  const double channels = expanded.dim[1] > 0 ? (double)expanded.dim[1] : 1;
  double flops = 2.0 * narrow * (double)hn_elems(&in[DEPTHWISE].type.shape) / channels;
  if (in[EXPAND].type.kind != HONE_ABSENT) flops += 2.0 * wide * (double)in[X].type.shape.dim[1];
  if (in_count > PROJECT && in[PROJECT].type.kind != HONE_ABSENT)
    flops += 2.0 * narrow * (double)out[0].type.shape.dim[1];
  return hn_cost_work(flops, in, in_count, out, out_count);
}

#define WEIGHTS HONE_PORT_PARAM

const hone_op hn_op_inverted_residual = {
    .struct_size = sizeof(hone_op),
    .name = "inverted_residual",
    .doc = "1x1 convolution, depthwise convolution, 1x1 convolution, residual; the first or the last may be absent",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0},
           {"w_expand", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | WEIGHTS},
           {"b_expand", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | WEIGHTS},
           {"w_depthwise", 't', HONE_TYPES_FLOAT, WEIGHTS},
           {"b_depthwise", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | WEIGHTS},
           {"w_project", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | WEIGHTS},
           {"b_project", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | WEIGHTS},
           {"residual", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | HONE_PORT_AS_OUT}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HN_LAYER_ACTIVATION("expand"), HN_LAYER_ACTIVATION("depthwise"), HN_LAYER_ACTIVATION("project"),
             HONE_STRING_ATTR("depthwise_auto_pad", "NOTSET"),
             HONE_OPTIONAL_ATTR("depthwise_dilations", HONE_ATTR_INTS),
             HONE_OPTIONAL_ATTR("depthwise_pads", HONE_ATTR_INTS),
             HONE_OPTIONAL_ATTR("depthwise_strides", HONE_ATTR_INTS)},
    .traits = HONE_WHOLE,
    .infer = infer,
    .eval = eval,
    .eval_scratch = scratch,
    .cost = cost,
    .report_class = "Convolution",
};
