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

/* What the depthwise layer reads and writes, of one image. */
static void middle_shapes(const hone_shape *x, const hone_shape *w, const hone_shape *y, hone_shape *out_expanded,
                          hone_shape *out_filtered) {
  *out_expanded = *x;
  *out_filtered = *y;
  out_expanded->dim[0] = out_filtered->dim[0] = 1;
  out_expanded->dim[1] = out_filtered->dim[1] = w->dim[0];
}

enum { PIXELS = 64 }; /* that are summed side by side */

/* What the layers leave between them of one image, then the inputs of PIXELS sums as doubles. */
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

/* Elements [first, last) of an image, [C, d...], and the part that makes them: whole rows and channels. */
typedef struct part {
  int64_t first, last, image, pixels; /* pixels: of a plane */
  int64_t begin_row, end_row, begin_channel, end_channel;
} part;

static part part_of(const hone_tensor *y, int64_t image, int64_t first, int64_t last) {
  const hone_shape *shape = &y->type.shape;
  part p = {.first = first, .last = last, .image = image, .pixels = 1};
  for (int i = 2; i < shape->rank; ++i) p.pixels *= shape->dim[i];
  const int64_t row = p.pixels / shape->dim[2];
  p.begin_channel = first / p.pixels;
  p.end_channel = (last - 1) / p.pixels + 1;
  p.end_row = shape->dim[2];
  if (p.end_channel - p.begin_channel == 1) { /* else the rows of one are not those of the other */
    p.begin_row = first % p.pixels / row;
    p.end_row = (last - 1) % p.pixels / row + 1;
  }
  return p;
}

/* One image of several. */
static hone_tensor image_of(const hone_tensor *images, int64_t image) {
  hone_tensor one = *images;
  one.type.shape.dim[0] = 1;
  one.bytes = hn_bytes(&one.type);
  one.data = (char *)images->data + (size_t)image * one.bytes;
  return one;
}

/* One 1x1 layer: input and output of one image, the pixels and channels that are made, the elements that are stored. */
typedef struct pointwise {
  const hn_layer *layer;
  const hone_tensor *x, *w, *bias, *residual; /* NULL: there is none */
  hone_tensor *y;
  int64_t begin_pixel, end_pixel, begin_channel, end_channel, first, last;
  double *columns; /* [channels of x][PIXELS] */
} pointwise;

/* The layer is a matrix product for each pixel: conv's own eval, which goes element by element, would take longer
 * than everything else that building a network does. */
static hone_status eval_pointwise(const hone_eval *eval, const pointwise *l) {
  const int64_t ins = hn_eval_dim(l->x, 1), pixels = hn_elems(&l->x->type.shape) / (ins > 0 ? ins : 1);
  hn_epilogue epilogue;
  const hone_eval one = {.op = l->layer->op, .attrs = &l->layer->attrs, .diagnostics = eval->diagnostics};
  HN_TRY(hn_epilogue_read(&one, -1, &epilogue));
  for (int64_t first = l->begin_pixel; first < l->end_pixel && !hn_eval_stopped(eval); first += PIXELS) {
    const int64_t count = l->end_pixel - first < PIXELS ? l->end_pixel - first : PIXELS;
    for (int64_t i = 0; i < ins; ++i)
      for (int64_t p = 0; p < count; ++p) l->columns[i * PIXELS + p] = hn_real(l->x, i * pixels + first + p);
    for (int64_t o = l->begin_channel; o < l->end_channel; ++o) {
      const int64_t at = o * pixels + first;
      double sum[PIXELS] = {0};
      for (int64_t i = 0; i < ins; ++i) {
        const double factor = hn_real(l->w, o * ins + i);
        for (int p = 0; p < PIXELS; ++p) sum[p] += factor * l->columns[i * PIXELS + p];
      }
      for (int64_t p = 0; p < count; ++p) {
        if (at + p < l->first || at + p >= l->last) continue;
        if (l->bias) sum[p] += hn_real(l->bias, o);
        if (l->residual) sum[p] += hn_real(l->residual, at + p);
        hn_store_real(l->y, at + p, hn_epilogue_apply(&epilogue, sum[p], o));
      }
    }
  }
  return HONE_OK;
}

static const hone_tensor *given_or_null(const hone_eval *eval, int port) {
  return hn_eval_given(eval, port) ? &eval->in[port] : NULL;
}

/* The rows of the depthwise layer's input that rows of its output read. */
static hone_status rows_read(const hone_eval *eval, const hn_layer *layer, const hone_tensor *wide, const part *p,
                             int64_t *out_begin, int64_t *out_end) {
  const hone_eval one = {.op = layer->op, .attrs = &layer->attrs, .diagnostics = eval->diagnostics};
  hn_sliding sliding;
  HN_TRY(hn_eval_sliding(&one, wide, &eval->in[DEPTHWISE].type.shape, &sliding));
  hn_rows_read(&sliding, p->begin_row, p->end_row, out_begin, out_end);
  return HONE_OK;
}

static hone_status filter(hone_eval *eval, const hn_layer *layer, const part *p, const hone_tensor *wide,
                          hone_tensor *narrow, bool projects) {
  static const hone_tensor absent = {.type = {.kind = HONE_ABSENT}};
  const hone_tensor in[LAYER_PORTS] = {*wide, eval->in[DEPTHWISE],
                                       hn_eval_given(eval, DEPTHWISE_BIAS) ? eval->in[DEPTHWISE_BIAS] : absent, absent};
  if (!projects) return hn_layer_eval(eval, layer, LAYER_PORTS, in, narrow, p->first, p->last);
  for (int64_t plane = 0; plane < hn_eval_dim(narrow, 1); ++plane)
    HN_TRY(hn_layer_eval_rows(eval, layer, LAYER_PORTS, in, narrow, plane, p->begin_row, p->end_row));
  return HONE_OK;
}

/* A part of one image through all layers: of those before the last, what its rows need. */
static hone_status eval_part(hone_eval *eval, const chain *c, const part *p) {
  uint8_t *memory = eval->scratch;
  hone_shape expanded, filtered;
  hone_tensor x = image_of(&eval->in[X], p->image), y = image_of(&eval->out[0], p->image), residual;
  middle_shapes(&x.type.shape, &eval->in[DEPTHWISE].type.shape, &y.type.shape, &expanded, &filtered);
  hone_tensor wide = hn_layer_tensor(x.type.dtype, &expanded, memory);
  hone_tensor narrow = hn_layer_tensor(x.type.dtype, &filtered, memory + whole_lines(wide.bytes));
  double *columns = (double *)(void *)(memory + whole_lines(wide.bytes) + whole_lines(narrow.bytes));
  const bool expands = c->weights[0], projects = c->weights[2];
  if (expands) {
    int64_t begin, end;
    HN_TRY(rows_read(eval, &c->layer[1], &wide, p, &begin, &end));
    const int64_t count = hn_elems(&expanded), row = count / expanded.dim[1] / expanded.dim[2];
    const pointwise first = {.layer = &c->layer[0],
                             .x = &x,
                             .w = &eval->in[EXPAND],
                             .bias = given_or_null(eval, EXPAND_BIAS),
                             .y = &wide,
                             .begin_pixel = begin * row,
                             .end_pixel = end * row,
                             .begin_channel = projects ? 0 : p->begin_channel,
                             .end_channel = projects ? expanded.dim[1] : p->end_channel,
                             .last = count,
                             .columns = columns};
    HN_TRY(eval_pointwise(eval, &first));
  }
  if (!projects) return filter(eval, &c->layer[1], p, expands ? &wide : &x, &y, false);
  HN_TRY(filter(eval, &c->layer[1], p, expands ? &wide : &x, &narrow, true));
  if (hn_eval_given(eval, RESIDUAL)) residual = image_of(&eval->in[RESIDUAL], p->image);
  const int64_t row = p->pixels / y.type.shape.dim[2];
  const pointwise last = {.layer = &c->layer[2],
                          .x = &narrow,
                          .w = &eval->in[PROJECT],
                          .bias = given_or_null(eval, PROJECT_BIAS),
                          .residual = hn_eval_given(eval, RESIDUAL) ? &residual : NULL,
                          .y = &y,
                          .begin_pixel = p->begin_row * row,
                          .end_pixel = p->end_row * row,
                          .begin_channel = p->begin_channel,
                          .end_channel = p->end_channel,
                          .first = p->first,
                          .last = p->last,
                          .columns = columns};
  return eval_pointwise(eval, &last);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *y = &eval->out[0];
  const int64_t images = hn_eval_dim(y, 0), of_image = images > 0 ? hn_elems(&y->type.shape) / images : 0;
  chain c;
  read_chain(eval->attrs, hn_eval_given(eval, EXPAND), hn_eval_given(eval, PROJECT),
             eval->in[DEPTHWISE].type.shape.dim[0], &c);
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t end; first < last; first = end) {
    const int64_t image = first / of_image, begin = image * of_image;
    end = last < begin + of_image ? last : begin + of_image;
    const part p = part_of(y, image, first - begin, end - begin);
    HN_TRY(eval_part(eval, &c, &p));
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs;
  hone_shape expanded, filtered;
  middle_shapes(&in[X].type.shape, &in[DEPTHWISE].type.shape, &out[0].type.shape, &expanded, &filtered);
  const double images = (double)in[X].type.shape.dim[0];
  const double wide = images * (double)hn_elems(&expanded), narrow = images * (double)hn_elems(&filtered);
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
    .traits = HONE_WINDOWS_APART,
    .infer = infer,
    .eval = eval,
    .eval_scratch = scratch,
    .cost = cost,
    .report_class = "Convolution",
};
